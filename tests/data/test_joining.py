"""Images with other names, boxes that are fractions, and annotations that differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, image, scenes

from diaghoi import diagnose
from diaghoi.data.joining import differences, join, named_alike
from diaghoi.data.scenes import Scenes

BOXES = [(PERSON, (0.0, 0.0, 9.0, 9.0)), (BICYCLE, (5.0, 5.0, 19.0, 19.0))]
FULL = ["HICO_test2015_00000001.jpg", "HICO_test2015_00000012.jpg"]


def named(*names: str, scored: bool = False, verb: int = RIDE) -> Scenes:
    triplet = (0, 1, verb, 0.5) if scored else (0, 1, verb)
    return scenes([image(name, BOXES, [triplet]) for name in names], scored=scored)


@pytest.mark.parametrize(
    "names",
    [
        ["HICO_test2015_00000012", "HICO_test2015_00000001"],
        ["12", "1"],
        ["00000012.png", "00000001.png"],
        ["test/HICO_test2015_00000012.jpg", "test/HICO_test2015_00000001.jpg"],
    ],
)
def test_images_are_found_by_stem_and_by_number(names: list[str]) -> None:
    found = named_alike(named(*FULL), named(*names, scored=True))
    assert found.names.tolist() == FULL[::-1]
    _, _, joined = join(named(*FULL), named(*names, scored=True))
    assert joined.annotated.all()
    assert joined.predicted.all()


@pytest.mark.parametrize(
    ("annotated", "predicted"),
    [
        (FULL, [FULL[0], "12"]),  # one name is shared: the other image is another
        (FULL, ["1", "01"]),  # two would have one name
        (["a_1.jpg", "b_1.jpg"], ["1"]),  # one would have two
        (["one.jpg"], ["two.jpg"]),
        (FULL, ["HICO_train2015_00000001.jpg", "HICO_train2015_00000012.jpg"]),
    ],
)
def test_names_in_doubt_stay(annotated: list[str], predicted: list[str]) -> None:
    found = named_alike(named(*annotated), named(*predicted, scored=True))
    assert found.names.tolist() == predicted


def test_differences_are_counted_on_both_sides() -> None:
    assert not any(differences(named(*FULL), named(*FULL)))
    found = differences(named(*FULL), named(FULL[0], verb=HOLD))
    assert (found.triplets, found.other_triplets) == (2, 1)
    assert (found.images, found.other_images) == (1, 0)
    moved = named(*FULL)
    moved = replace(moved, box_xyxy=np.asarray(moved.box_xyxy) + 30)
    assert differences(named(*FULL), moved).triplets == 2


WIDE, TALL = (200, 100), (50, 400)
HUMAN, BIKE = (0.0, 0.25, 0.5, 1.0), (0.5, 0.0, 1.0, 0.5)


def in_size(box: tuple[float, ...], size: tuple[int, int]) -> tuple[float, ...]:
    return tuple(edge * length for edge, length in zip(box, size * 2, strict=True))


def sized(sizes: dict[str, tuple[int, int]], *, scored: bool) -> Scenes:
    score = (0.5,) if scored else ()
    return scenes(
        [
            image(
                name,
                [(PERSON, in_size(HUMAN, size)), (BICYCLE, in_size(BIKE, size))],
                [(0, 1, RIDE, *score)],
            )
            for name, size in sizes.items()
        ],
        scored=scored,
    )


TRUTH = replace(sized({"a.jpg": WIDE, "b.jpg": TALL}, scored=False), sizes=np.array([WIDE, TALL]))
FRACTIONS = sized({"b.jpg": (1, 1), "a.jpg": (1, 1)}, scored=True)


def test_fractions_become_pixels_of_their_own_image() -> None:
    _, joined, _ = join(TRUTH, FRACTIONS)
    assert (
        joined.box_xyxy.tolist()
        == sized({"a.jpg": WIDE, "b.jpg": TALL}, scored=True).box_xyxy.tolist()
    )
    diagnosis = diagnose(TRUTH, FRACTIONS)
    assert diagnosis.mean_ap["full"] == 1
    assert any("boxes are fractions of the image" in note for note in diagnosis.notes)


def test_a_single_box_may_be_a_fraction() -> None:
    alone = scenes([image("a.jpg", [(PERSON, (0.5, 0.5, 1.0, 1.0))], [])], scored=True)
    _, joined, _ = join(TRUTH, alone)
    assert joined.box_xyxy.tolist() == [[WIDE[0] / 2, WIDE[1] / 2, *WIDE]]


@pytest.mark.parametrize(
    ("truth", "predictions"),
    [
        (replace(TRUTH, sizes=None), FRACTIONS),
        (replace(TRUTH, sizes=np.array([(0, 0), (0, 0)])), FRACTIONS),
        (TRUTH, replace(FRACTIONS, box_xyxy=FRACTIONS.box_xyxy * 2)),
        (TRUTH, sized({}, scored=True)),
    ],
    ids=["no sizes", "sizes unknown", "pixels", "nothing"],
)
def test_others_stay_as_they_are(truth: Scenes, predictions: Scenes) -> None:
    _, joined, _ = join(truth, predictions)
    assert joined.box_xyxy.tolist() == predictions.box_xyxy.tolist()
    assert not joined.notes


def test_one_image_without_annotations_does_not_keep_the_others() -> None:
    more = sized({"c.jpg": (1, 1), "a.jpg": (1, 1), "b.jpg": (1, 1)}, scored=True)
    diagnosis = diagnose(TRUTH, more)
    assert diagnosis.errors["true_positive"] == 2


def test_images_without_names_are_joined_by_position() -> None:
    nameless = replace(FRACTIONS, names=np.array(["", ""]))
    _, joined, _ = join(TRUTH, nameless)
    assert joined.box_xyxy[0].tolist() == list(in_size(HUMAN, WIDE))
