"""Boxes that are all off in the same way, among boxes that jitter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.scenes import BICYCLE, PERSON, RIDE, image, scenes

from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.box_bias import box_bias

Box = tuple[float, float, float, float]


def both(of_human: Callable[[Box], Box], of_object: Callable[[Box], Box]) -> tuple[Scenes, Scenes]:
    """Annotations of 80 images, and predictions whose boxes jitter and are changed."""
    rng = np.random.default_rng(0)
    truth, found = [], []
    for number in range(80):
        placed: list[Any] = []
        for label, change in ((PERSON, of_human), (BICYCLE, of_object)):
            x, y = rng.uniform(0, 200, 2)
            wide, high = rng.uniform(60, 200, 2)
            box = (x, y, x + wide, y + high)
            jitter = rng.normal(0, 0.05, 4) * (wide, high, wide, high)
            moved = tuple((np.array(box) + jitter).tolist())
            placed.append(((label, box), (label, change(moved))))
        truth.append(image(f"{number}.jpg", [one for one, _ in placed], [(0, 1, RIDE)]))
        found.append(image(f"{number}.jpg", [one for _, one in placed], [(0, 1, RIDE, 0.5)]))
    return scenes(truth, scored=False), scenes(found, scored=True)


def as_it_is(box: Box) -> Box:
    return box


def narrower(box: Box) -> Box:
    x, y, right, bottom = box
    less = 0.14 * (right - x)
    return (x + less, y, right - less, bottom)


def further_right(box: Box) -> Box:
    x, y, right, bottom = box
    shift = 0.25 * (right - x)
    return (x + shift, y, right + shift, bottom)


@pytest.mark.parametrize(
    ("of_human", "of_object", "sentences"),
    [
        (as_it_is, as_it_is, []),
        (narrower, as_it_is, ["human boxes are 28 % narrower compared"]),
        (
            as_it_is,
            further_right,
            ["object boxes are 25 % of their width too far to the right compared"],
        ),
        (narrower, narrower, ["human boxes are 28 % narrower", "object boxes are 28 % narrower"]),
    ],
)
def test_systematic_differences_are_named(
    of_human: Callable[[Box], Box], of_object: Callable[[Box], Box], sentences: list[str]
) -> None:
    found = box_bias(*both(of_human, of_object))
    assert len(found) == len(sentences)
    for sentence, begin in zip(found, sentences, strict=True):
        said, wanted = (int(text.split(" are ")[1].split(" %")[0]) for text in (sentence, begin))
        assert said == pytest.approx(wanted, abs=3)
        assert sentence.split(" % ")[1].startswith(begin.split(" % ")[1])


def test_few_boxes_say_nothing() -> None:
    truth, found = both(narrower, narrower)
    some = np.arange(20)
    assert box_bias(truth.take(some), found.take(some)) == []
