"""Figures of slices: small cases, and the plain definition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, image, problems, scenes

from diaghoi import ORACLES, Diagnosis, InputError, Scenes, diagnose, protocol, simulate
from diaghoi.data.attributes import Slice, attribute_slices
from diaghoi.evaluation.means import split_means
from diaghoi.oracles import ERRORS
from diaghoi.statistics.slice_figures import Sliced, image_names

ANN, BOB = (0.0, 0.0, 9.0, 19.0), (100.0, 0.0, 109.0, 19.0)
ANNS, BOBS = (10.0, 10.0, 29.0, 29.0), (110.0, 10.0, 129.0, 29.0)
FAR = (300.0, 300.0, 319.0, 319.0)
ANNOTATED = [(PERSON, ANN), (PERSON, BOB), (BICYCLE, ANNS), (BICYCLE, BOBS)]
PREDICTED = [*ANNOTATED, (BICYCLE, FAR), (PERSON, FAR)]


def cut(members: list[bool], by: str = "pair") -> Slice:
    return Slice(attribute="x", title="X", name="x", by=by, members=np.array(members))  # type: ignore[arg-type]


def figures(annotations: Scenes, diagnosis: Diagnosis, some: Slice) -> dict[str, float | None]:
    sliced = Sliced(diagnosis, annotations, image_names(annotations, [diagnosis]))
    return sliced.figures(sliced.members(some))


def case(*found: tuple[int, int, int, float], more: Any = ()) -> tuple[Scenes, Diagnosis]:
    """Ann and Bob ride; another image shows Ann holding."""
    truth = [
        image("a.jpg", ANNOTATED, [(0, 2, RIDE), (1, 3, RIDE)]),
        image("b.jpg", ANNOTATED, [(0, 2, RIDE)]),
    ]
    annotations = scenes(truth, scored=False)
    predicted = [image("a.jpg", PREDICTED, list(found)), image("b.jpg", PREDICTED, list(more))]
    return annotations, diagnose(annotations, scenes(predicted, scored=True))


def test_a_true_positive_belongs_to_the_slice_of_its_triplet() -> None:
    annotations, diagnosis = case((0, 2, RIDE, 0.9), (1, 3, RIDE, 0.8))
    # Ann in a.jpg is found at once, and what finds Bob is in another slice.
    assert figures(annotations, diagnosis, cut([True, False, False]))["map"] == 1
    assert figures(annotations, diagnosis, cut([False, True, False]))["map"] == 1
    found = figures(annotations, diagnosis, cut([False, False, True]))
    assert (found["map"], found["pair_recall"], found["f1"]) == (0, 0, 0)
    assert found["delta_map.missed_gt"] is None  # the repair leaves no class


def test_unassigned_false_positives_belong_to_the_slices_of_their_image() -> None:
    annotations, diagnosis = case((5, 4, RIDE, 0.95), (0, 2, RIDE, 0.9))
    wrong = figures(annotations, diagnosis, cut([True, False, False]))
    assert wrong["map"] == pytest.approx(1 / 2)
    # None of them is in b.jpg, and there is nothing of Bob's but them.
    annotations, diagnosis = case((5, 4, RIDE, 0.95), more=[(0, 2, RIDE, 0.5)])
    assert figures(annotations, diagnosis, cut([False, False, True]))["map"] == 1
    assert figures(annotations, diagnosis, cut([False, True, True]))["map"] == pytest.approx(
        6 / 11 * 1 / 2
    )


def test_an_assigned_error_belongs_to_the_slice_of_its_triplet_alone() -> None:
    # Bob holds his bicycle, says the detector: a wrong action, assigned to his riding.
    annotations, diagnosis = case((1, 3, HOLD, 0.95), (0, 2, RIDE, 0.9))
    ann, bob = (
        figures(annotations, diagnosis, cut(each))
        for each in ([True, False, False], [False, True, False])
    )
    assert ann["delta_map.action"] == 0
    assert bob["delta_map.action"] == 1
    assert bob["pair_recall"] == 1


def test_predictions_belong_to_slices_of_classes_by_their_class() -> None:
    boxes = [(PERSON, ANN), (BICYCLE, ANNS)]
    truth = [image("a.jpg", boxes, [(0, 1, RIDE)]), image("b.jpg", boxes, [(0, 1, HOLD)])]
    annotations = scenes(truth, scored=False)
    # Where Ann only holds, riding is wrong, and assigned to what she does.
    found = [image("a.jpg", boxes, [(0, 1, RIDE, 0.8)]), image("b.jpg", boxes, [(0, 1, RIDE, 0.9)])]
    diagnosis = diagnose(annotations, scenes(found, scored=True))
    assert figures(annotations, diagnosis, cut([True, False]))["map"] == 1
    every = np.arange(len(annotations.vocabulary))
    ride, hold = (
        figures(annotations, diagnosis, cut(list(every == hoi), "class"))
        for hoi in annotations.triplet_class
    )
    assert (ride["map"], hold["map"]) == (pytest.approx(1 / 2), 0)
    # Repaired, the wrong action is no longer riding, but holding.
    assert (ride["delta_map.action"], hold["delta_map.action"]) == (pytest.approx(1 / 2), 1)


def test_images_without_annotations_are_in_no_slice() -> None:
    boxes = [(PERSON, ANN), (BICYCLE, ANNS)]
    annotations = scenes([image("a.jpg", boxes, [(0, 1, RIDE)])], scored=False)
    rows = [(0, 1, RIDE, 0.5), (0, 1, RIDE, 0.9)]
    found = [image(name, boxes, [row]) for name, row in zip("ab", rows, strict=True)]
    found[0]["name"], found[1]["name"] = "a.jpg", "b.jpg"
    diagnosis = diagnose(annotations, scenes(found, scored=True))
    assert diagnosis.mean_ap["full"] == pytest.approx(1 / 2)
    assert figures(annotations, diagnosis, cut([True], "image"))["map"] == 1


def test_rare_classes_have_the_figures_of_the_diagnosis() -> None:
    truth = simulate.annotations(60, np.random.default_rng(0))
    diagnosis = diagnose(
        truth, simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(1))
    )
    slices = {each.name: each for each in attribute_slices(truth) if each.attribute == "rarity"}
    for name, split in (("rare", "rare"), ("non-rare", "non_rare")):
        found = figures(truth, diagnosis, slices[name])
        assert found["map"] == pytest.approx(diagnosis.mean_ap[split], abs=1e-12)
        for error in ERRORS:
            expected = diagnosis.oracles[error]["delta_map"][split]
            assert found[f"delta_map.{error}"] == pytest.approx(expected, abs=1e-12)


def plain(diagnosis: Diagnosis, inside: list[bool], images: set[int]) -> dict[str, float | None]:
    """Figures by their definition: the ledger is cut, and then repaired."""
    ledger = diagnosis.ledger
    keep = [
        image in images and (annotation < 0 or inside[annotation])
        for image, annotation in zip(
            ledger.row_image.tolist(), ledger.row_annotation.tolist(), strict=True
        )
    ]
    some = np.array(inside, dtype=bool)
    mine = replace(
        ledger.rows(np.array(keep, dtype=bool)),
        annotation_counts=ledger.annotation_counts & some,
        annotation_examined=ledger.annotation_examined & some,
    )
    own = replace(diagnosis.protocol, class_without_annotation="left out")
    full = {"full": diagnosis.splits["full"]}

    def mean(name: str) -> float | None:
        repaired = ORACLES[name](mine, own) if name else mine
        return split_means(repaired.scores(own), own, full)[0]["full"]

    before = mean("")
    after = {name: mean(name) for name in ERRORS}
    return {"map": before} | {
        f"delta_map.{name}": None if before is None or value is None else value - before
        for name, value in after.items()
    }


@pytest.mark.parametrize(
    "name",
    [
        *("hico-det-520", "cmd-se-600", "hoi-a"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("diag-hoi", "cdn")),
    ],
)
@given(problem=problems())
def test_the_plain_definition(name: str, problem: tuple[Scenes, Scenes]) -> None:
    annotations, predictions = problem
    diagnosis = diagnose(annotations, predictions, protocol(name))
    names = image_names(annotations, [diagnosis])
    sliced = Sliced(diagnosis, annotations, names)
    number = {each: place for place, each in enumerate(names)}
    place = [number[each] for each in diagnosis.names.tolist()]
    ledger = diagnosis.ledger
    for each in attribute_slices(annotations):
        if each.by == "class":
            continue  # cut after the repair
        members = sliced.members(each)
        triplets = sliced.triplet.tolist()
        if each.by == "image":
            images = {
                row for row, at in enumerate(place) if at < len(annotations) and each.members[at]
            }
            inside = [row in images for row in ledger.annotation_image.tolist()]
        else:
            inside = [bool(each.members[triplet]) for triplet in triplets]
            images = {
                row
                for row, mine in zip(ledger.annotation_image.tolist(), inside, strict=True)
                if mine
            }
        expected = plain(diagnosis, inside, images)
        found = sliced.figures(members)
        for key, value in expected.items():
            assert found[key] == (None if value is None else pytest.approx(value, abs=1e-12)), key
        # Weights of one give the same figures.
        one = np.ones((len(names), 1), dtype=np.int32)
        for key, values in sliced.prepared(members).figures(one).items():
            shown = found[key]
            assert values[0] == pytest.approx(np.nan if shown is None else shown, nan_ok=True)


@given(problem=problems())
def test_all_images_have_the_figures_of_the_diagnosis(problem: tuple[Scenes, Scenes]) -> None:
    annotations, predictions = problem
    diagnosis = diagnose(annotations, predictions)
    names = image_names(annotations, [diagnosis])
    found = figures(annotations, diagnosis, cut([True] * len(names), "image"))
    assert found["map"] == diagnosis.mean_ap["full"]
    for name in ERRORS:
        assert found[f"delta_map.{name}"] == diagnosis.oracles[name]["delta_map"]["full"]
    assert found["pair_recall"] == diagnosis.pairs["recall"]
    assert found["f1"] == diagnosis.detections(diagnosis.best_threshold)["full"]["f1"]


def test_other_annotations_are_refused() -> None:
    annotations, diagnosis = case((0, 2, RIDE, 0.9))
    other = scenes([image("a.jpg", ANNOTATED, [(0, 2, HOLD)])], scored=False)
    with pytest.raises(InputError, match="was diagnosed with other annotations"):
        Sliced(diagnosis, other, image_names(other, [diagnosis]))
    assert annotations.names.tolist() == diagnosis.names.tolist()
