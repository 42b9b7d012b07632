"""Images that files call by other names, and annotations that differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, image, scenes

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
