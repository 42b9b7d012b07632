"""Boxes that are fractions of their image."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.scenes import BICYCLE, PERSON, RIDE, image, scenes

from diaghoi import diagnose
from diaghoi.data.joining import join
from diaghoi.data.scenes import Scenes

WIDE, TALL = (200, 100), (50, 400)
HUMAN, BIKE = (0.0, 0.25, 0.5, 1.0), (0.5, 0.0, 1.0, 0.5)


def in_size(box: tuple[float, ...], size: tuple[int, int]) -> tuple[float, ...]:
    return tuple(edge * length for edge, length in zip(box, size * 2, strict=True))


def found(sizes: dict[str, tuple[int, int]], *, scored: bool) -> Scenes:
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


TRUTH = replace(found({"a.jpg": WIDE, "b.jpg": TALL}, scored=False), sizes=np.array([WIDE, TALL]))
FRACTIONS = found({"b.jpg": (1, 1), "a.jpg": (1, 1)}, scored=True)


def test_fractions_become_pixels_of_their_own_image() -> None:
    _, joined, _ = join(TRUTH, FRACTIONS)
    assert (
        joined.box_xyxy.tolist()
        == found({"a.jpg": WIDE, "b.jpg": TALL}, scored=True).box_xyxy.tolist()
    )
    diagnosis = diagnose(TRUTH, FRACTIONS)
    assert diagnosis.mean_ap["full"] == 1
    assert any("boxes are fractions of the image" in note for note in diagnosis.notes)


@pytest.mark.parametrize(
    ("truth", "predictions"),
    [
        (replace(TRUTH, sizes=None), FRACTIONS),
        (replace(TRUTH, sizes=np.array([(0, 0), (0, 0)])), FRACTIONS),
        (TRUTH, replace(FRACTIONS, box_xyxy=FRACTIONS.box_xyxy * 2)),
        (TRUTH, found({}, scored=True)),
    ],
    ids=["no sizes", "sizes unknown", "pixels", "nothing"],
)
def test_others_stay_as_they_are(truth: Scenes, predictions: Scenes) -> None:
    _, joined, _ = join(truth, predictions)
    assert joined.box_xyxy.tolist() == predictions.box_xyxy.tolist()
    assert not joined.notes


def test_one_image_without_annotations_does_not_keep_the_others() -> None:
    more = found({"c.jpg": (1, 1), "a.jpg": (1, 1), "b.jpg": (1, 1)}, scored=True)
    diagnosis = diagnose(TRUTH, more)
    assert diagnosis.errors["true_positive"] == 2


def test_images_without_names_are_joined_by_position() -> None:
    nameless = replace(FRACTIONS, names=np.array(["", ""]))
    _, joined, _ = join(TRUTH, nameless)
    assert joined.box_xyxy[0].tolist() == list(in_size(HUMAN, WIDE))
