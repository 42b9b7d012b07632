"""Annotated triplets that are missed because their boxes were drawn twice."""

from __future__ import annotations

from typing import Any

import pytest
from support.scenes import BICYCLE, PERSON, RIDE, WASH, image, scenes

from diaghoi import diagnose
from diaghoi.cases.twins import missed_twins

ANN, AGAIN, BOB = (0, 0, 99, 199), (2, 0, 101, 199), (300, 0, 399, 199)
THING = (100, 100, 299, 299)
BOXES = [(PERSON, ANN), (PERSON, AGAIN), (PERSON, BOB), (BICYCLE, THING)]


@pytest.mark.parametrize(
    ("truth", "found", "count"),
    [
        ([(0, 3, RIDE), (1, 3, RIDE)], [(0, 3, RIDE, 0.9)], 1),
        ([(0, 3, RIDE), (1, 3, WASH)], [(0, 3, RIDE, 0.9)], 0),  # another class
        ([(0, 3, RIDE), (2, 3, RIDE)], [(0, 3, RIDE, 0.9)], 0),  # another person
        ([(0, 3, RIDE), (1, 3, RIDE)], [(2, 3, RIDE, 0.9)], 0),  # nothing is found
        ([(0, 3, RIDE), (1, 3, RIDE)], [(0, 3, RIDE, 0.9), (1, 3, RIDE, 0.8)], 0),
    ],
)
def test_what_is_a_twin(truth: Any, found: Any, count: int) -> None:
    annotations = scenes([image("a.jpg", BOXES, truth)], scored=False)
    predictions = scenes([image("a.jpg", BOXES, found)], scored=True)
    diagnosis = diagnose(annotations, predictions)
    twins = missed_twins(diagnosis, annotations, predictions)
    assert twins["count"] == count
    assert twins["share"] == count / 2
    # Without it, the annotated triplet that is left is found.
    expected = 1 - diagnosis.mean_ap["full"] if count else 0.0
    assert twins["delta_map"]["full"] == pytest.approx(expected)
