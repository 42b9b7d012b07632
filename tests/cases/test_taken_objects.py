"""Objects whose box is right and whose category is another."""

from __future__ import annotations

from typing import Any

import pytest
from support.scenes import BICYCLE, CAR, HOLD, PERSON, RIDE, image, scenes

from diaghoi import diagnose
from diaghoi.cases.taken_objects import taken_objects

ANN, THING, FAR = (0, 0, 9, 19), (10, 10, 29, 29), (300, 300, 319, 319)
BOXES = [(PERSON, ANN), (BICYCLE, THING)]


def found(*rows: tuple[int, tuple[int, ...]]) -> list[dict[str, Any]]:
    """Look at predictions of riding, given as the category and the box of the object."""
    boxes = [(PERSON, ANN), *rows]
    triplets = [(0, n, RIDE, 1 - n / 10) for n in range(1, len(boxes))]
    annotations = scenes([image("a.jpg", BOXES, [(0, 1, RIDE), (0, 1, HOLD)])], scored=False)
    predictions = scenes([image("a.jpg", boxes, triplets)], scored=True)
    return taken_objects(diagnose(annotations, predictions), annotations, predictions)


def test_the_category_under_the_box_is_named_with_its_cost() -> None:
    (confusion,) = found((BICYCLE, THING), (CAR, THING))
    assert (confusion["annotated"], confusion["predicted"]) == ("bicycle", "car")
    assert confusion["count"] == 1
    # Repaired, it finds the other triplet: 'hold bicycle'.
    assert confusion["delta_map"]["full"] == pytest.approx(1 / 2)


def test_boxes_elsewhere_are_not_taken_for_anything() -> None:
    assert found((CAR, FAR), (BICYCLE, FAR)) == []
    assert found((BICYCLE, THING)) == []


def test_only_the_confusion_itself_is_repaired() -> None:
    (confusion,) = found((BICYCLE, FAR), (CAR, THING))
    assert confusion["count"] == 1
    (alone,) = found((CAR, THING))
    # The box elsewhere ranks first, and is still wrong.
    assert confusion["delta_map"]["full"] <= alone["delta_map"]["full"]
