"""The whole diagnosis: against published figures, and its laws."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, image, problems, scenes

import diaghoi
import diaghoi.data.scenes
from diaghoi import InputError, diagnose, protocol, simulate
from diaghoi.data.memory import allowing
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import swig_hoi
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.oracles import ORACLES

DETECTORS = ("one_stage", "two_stage", "weak")
protocols = st.sampled_from(["hico-det", "hico-det-520", "diag-hoi"])


def assert_equal_figures(one: dict, other: dict) -> None:
    """Compare all figures; notes are words."""
    assert one["counts"] == other["counts"]
    assert one["errors"] == other["errors"]
    for key in ("official", "map", "max_recall", "pairs", "negatives", "actions"):
        assert json.dumps(one[key]) == json.dumps(other[key]), key
    assert json.dumps(one["oracles"]) == json.dumps(other["oracles"])


@pytest.mark.parametrize("detector", DETECTORS)
def test_published_diagnosis(shared: Path, detector: str) -> None:
    folder = shared / "conformance" / "hico_det_diagnosis"
    result = diagnose(
        diaghoi.read_annotations(folder / "gt_wo_nointer.pkl"),
        diaghoi.read_predictions(
            folder / f"{detector}_preds.pkl", pairs=folder / f"{detector}_pairs.pkl"
        ),
        protocol="diag-hoi",
    ).to_dict()
    assert_published(result, json.loads((folder / f"{detector}_expected.json").read_text()))


def assert_published(result: dict, expected: dict) -> None:
    """Compare a result with the figures of the published code to 1e-9."""
    assert result["errors"] == expected["errors"]
    outcomes = {"baseline": {"map": result["map"], "max_recall": result["max_recall"]}}
    for name, wanted in expected["oracles"].items():
        outcome = (outcomes | result["oracles"])[name]
        found = outcome["map"] | {"max_recall": outcome["max_recall"]["full"]}
        assert found["full"] == pytest.approx(wanted["map"], abs=1e-9), name
        for key in ("rare", "non_rare", "max_recall"):
            assert found[key] == pytest.approx(wanted[key], abs=1e-9), (name, key)
    for part in ("actions", "pairs", "negatives"):
        for key, value in expected[part].items():
            assert result[part][key] == pytest.approx(value, abs=1e-9), (part, key)


def test_official_benchmark(shared: Path) -> None:
    folder = shared / "conformance" / "hico_det_official"
    expected = json.loads((folder / "one_stage_expected.json").read_text())
    diagnosis = diagnose(
        diaghoi.read_annotations(folder / "annotations.json"),
        diaghoi.read_predictions(folder / "one_stage_arrays.pkl"),
        protocol="hico-det",
    )
    official = diagnosis.official
    assert official["known_object"]["source"] == "box annotations"
    for setting in ("default", "known_object"):
        for split in ("full", "rare", "non_rare"):
            wanted = expected[setting][split]
            assert official[setting][split] == pytest.approx(wanted, abs=1e-9)
    assert diagnosis.mean_ap == pytest.approx(official["default"], abs=1e-12)
    assert diagnosis.max_recall["full"] == pytest.approx(
        expected["default"]["max_recall"], abs=1e-9
    )


@given(problems(), protocols)
def test_every_prediction_has_one_label(problem: tuple[Scenes, Scenes], name: str) -> None:
    diagnosis = diagnose(*problem, name)
    counted = diagnosis.splits["full"][problem[1].triplet_class] & (problem[1].triplet_class >= 0)
    errors = dict(diagnosis.errors)
    missed = errors.pop("missed_gt")
    assert sum(errors.values()) == counted.sum() == diagnosis.counts["predicted_triplets"]
    assert 0 <= missed <= diagnosis.counts["annotated_triplets"] - errors["true_positive"]


@given(problems(), protocols, st.integers(1, 4))
def test_shards_add_up_exactly(problem: tuple[Scenes, Scenes], name: str, shards: int) -> None:
    annotations, predictions, _ = diaghoi.data.joining.join(*problem)
    whole = diagnose(annotations, predictions, name)
    images = np.array_split(np.arange(len(annotations)), shards)
    parts = [
        diagnose_images(annotations.take(some), predictions.take(some), protocol(name))
        for some in images
    ]
    assert_equal_figures(diaghoi.Diagnosis.sum(parts).to_dict(), whole.to_dict())


@given(problems(), protocols, st.randoms(use_true_random=False))
def test_the_order_of_images_changes_nothing(
    problem: tuple[Scenes, Scenes], name: str, random: object
) -> None:
    annotations, predictions = problem
    # Equal scores keep the order of the input, so scores must differ here.
    distinct = np.linspace(0.9, 0.1, len(predictions.triplet_pair))
    random.shuffle(distinct)
    predictions = replace(
        predictions, triplet_score=distinct, triplet_action_score=distinct[::-1].copy()
    )
    if predictions.pair_score is not None:
        listed = np.linspace(0.8, 0.2, len(predictions.pair_score))
        predictions = replace(predictions, pair_score=np.where(predictions.listed, listed, np.nan))
    order = list(range(len(predictions)))
    random.shuffle(order)
    one = diagnose(annotations, predictions, name).to_dict()
    other = diagnose(annotations, predictions.take(order), name).to_dict()
    assert one["errors"] == other["errors"]
    assert one["pairs"] == other["pairs"]
    assert one["map"] == pytest.approx(other["map"], abs=1e-12)
    for oracle in ORACLES:
        assert one["oracles"][oracle]["map"] == pytest.approx(
            other["oracles"][oracle]["map"], abs=1e-12
        )


@given(problems(), protocols)
def test_oracles_change_nothing_for_a_perfect_detector(
    problem: tuple[Scenes, Scenes], name: str
) -> None:
    annotations, _ = problem
    # Repeated annotations cannot all be found: a taken candidate is not replaced.
    triplets = len(annotations.triplet_pair)
    perfect = replace(
        annotations,
        triplet_score=np.linspace(0.9, 0.5, triplets),
        triplet_action_score=np.linspace(0.9, 0.5, triplets),
    )
    diagnosis = diagnose(annotations, perfect, name)
    repeated = diagnosis.errors["duplicate"]
    if repeated == 0:
        for outcome in diagnosis.oracles.values():
            assert all(delta in (None, 0) for delta in outcome["delta_map"].values())
        assert all(value in (None, 1) for value in diagnosis.mean_ap.values())
        assert sum(diagnosis.errors.values()) == diagnosis.errors["true_positive"]


@given(problems(), st.sampled_from(["hico-det", "hico-det-520"]))
def test_removing_wrong_predictions_never_costs(problem: tuple[Scenes, Scenes], name: str) -> None:
    diagnosis = diagnose(*problem, name)
    for oracle in ("both_boxes", "duplicate", "false_positive"):
        for delta in diagnosis.oracles[oracle]["delta_map"].values():
            assert delta is None or delta >= -1e-12, oracle


def test_rejects_nothing_to_evaluate(shared: Path) -> None:
    folder = shared / "conformance" / "hico_det_diagnosis"
    annotations = diaghoi.read_annotations(folder / "gt_wo_nointer.pkl")
    with pytest.raises(InputError, match="the triplets have no scores"):
        diagnose(annotations, annotations)


def part(name: str, protocol: str = "hico-det", label: str = "") -> diaghoi.Diagnosis:
    """Diagnose one simulated image."""
    truth = simulate.annotations(1, np.random.default_rng(0))
    found = simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(0))
    named = [replace(scenes, names=np.array([name])) for scenes in (truth, found)]
    return diagnose(*named, protocol, label=label)


@pytest.mark.parametrize(("top", "found"), [(None, 1.0), (200, 0.0)])
def test_the_benchmark_keeps_100_triplets_of_files_with_all_scores(top, found: float) -> None:
    """The right one is the 101st of its image; lists of triplets are evaluated as they are."""
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9)), (PERSON, (50, 0, 59, 9))]
    truth = scenes([image("a", boxes[:2], [(0, 1, RIDE)])], scored=False)
    rows = [(2, 1, HOLD, 0.9, 0.9)] * 100 + [(0, 1, RIDE, 0.1, 0.1)]
    predictions = replace(scenes([image("a", boxes, rows)], scored=True), top=top)
    assert diagnose(truth, predictions).official["default"]["full"] == found


def test_progress_counts_images() -> None:
    truth = simulate.annotations(30, np.random.default_rng(0))
    found = simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(1))
    done: list[int] = []
    diagnose(truth, found, progress=done.append)
    assert sum(done) == 30


def test_two_diagnoses_add() -> None:
    one, other = part("a.jpg"), part("b.jpg")
    both = one + other
    assert both.names.tolist() == ["a.jpg", "b.jpg"]
    counts = (each.to_dict()["counts"]["predicted_triplets"] for each in (one, other, both))
    assert [*counts] == [one.to_dict()["counts"]["predicted_triplets"] * n for n in (1, 1, 2)]


def test_diagnoses_that_do_not_add() -> None:
    one = part("a.jpg")
    for parts, problem in (
        ([], "no diagnoses to add; give at least one"),
        ([one, part("a.jpg")], "diagnoses that share images cannot be added: a.jpg"),
        (
            [one, part("b.jpg", "cdn")],
            "diagnoses with different protocol cannot be added: ",
        ),
    ):
        with pytest.raises(InputError) as refusal:
            diaghoi.Diagnosis.sum(parts)
        assert str(refusal.value).startswith(problem)
    words = swig_hoi()
    truth = simulate.annotations(1, np.random.default_rng(0), vocabulary=words)
    swig = diagnose(truth, simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(0)))
    with pytest.raises(InputError) as refusal:
        one + swig
    assert str(refusal.value) == (
        "diagnoses of different data sets cannot be added: hico-det, swig-hoi"
    )


def test_what_a_session_shows_of_a_diagnosis() -> None:
    one = part("a.jpg", label="one-stage")
    full = one.mean_ap["full"]
    assert full is not None
    assert repr(one) == (
        f"<Diagnosis of one-stage on hico-det, 1 images, protocol hico-det: mAP {100 * full:.2f} %>"
    )


def test_the_image_that_takes_too_much_memory_is_named() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (0, 20, 9, 29))]

    def sides(count: int) -> tuple[Scenes, Scenes]:
        numbers = (("a", 1), ("b", 1), ("c", count))
        truth, found = (
            [
                image(name, boxes * n, [(2 * k, 2 * k + 1, RIDE, *score) for k in range(n)])
                for name, n in numbers
            ]
            for score in ((), (0.5,))
        )
        return scenes(truth, scored=False), scenes(found, scored=True)

    with allowing(1):
        assert diagnose(*sides(50)).errors["true_positive"] == 3  # all others are equal
        with pytest.raises(InputError, match=r"^image c: boxes that overlap in the same images"):
            diagnose(*sides(500))
