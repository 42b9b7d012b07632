"""Association errors that pair what one annotated box shows with itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from support import v_coco
from support.scenes import BICYCLE, HOLD, HUG, PERSON, RIDE, image, problems, scenes

from diaghoi import InputError, diagnose
from diaghoi.cases.cases import worst_cases
from diaghoi.cases.own_pairs import paired_with_itself

ANN, LOWER, BOB = (0, 0, 99, 199), (0, 10, 99, 209), (300, 0, 399, 199)
THING = (100, 100, 299, 299)
BOXES = [(PERSON, ANN), (PERSON, LOWER), (PERSON, BOB), (BICYCLE, THING)]


def found(predicted: Any) -> dict[str, Any]:
    annotated = [BOXES[0], BOXES[2], BOXES[3]]
    truth = scenes([image("a.jpg", annotated, [(0, 2, RIDE), (1, 2, RIDE)])], scored=False)
    predictions = scenes([image("a.jpg", BOXES, predicted)], scored=True)
    return paired_with_itself(diagnose(truth, predictions), truth, predictions)


@pytest.mark.parametrize(
    ("predicted", "count", "share"),
    [
        ([(0, 0, HUG, 0.9)], 1, 1.0),
        ([(0, 1, HUG, 0.9), (1, 0, HUG, 0.8), (0, 2, HUG, 0.7)], 2, 2 / 3),
        ([(0, 2, HUG, 0.9)], 0, 0.0),
        ([(0, 3, RIDE, 0.9), (0, 3, HOLD, 0.8)], 0, None),  # no association error
        ([], 0, None),
    ],
)
def test_what_is_paired_with_itself(predicted: Any, count: int, share: float | None) -> None:
    result = found(predicted)
    assert (result["count"], result["share"]) == (count, pytest.approx(share))


@pytest.mark.parametrize(("shift", "count"), [(10, 1), (25, 0)])
def test_a_person_who_is_drawn_twice_is_one(shift: int, count: int) -> None:
    """IoU 0.82 is that of near duplicates, 0.6 is not."""
    again = (shift, 0, 99 + shift, 199)
    boxes = [(PERSON, ANN), (PERSON, again), (BICYCLE, THING)]
    truth = scenes([image("a.jpg", boxes, [(0, 2, RIDE), (1, 2, HOLD)])], scored=False)
    predicted = scenes([image("a.jpg", boxes, [(0, 1, HUG, 0.9)])], scored=True)
    diagnosis = diagnose(truth, predicted)
    assert paired_with_itself(diagnosis, truth, predicted)["count"] == count
    (case,) = worst_cases(diagnosis, truth, predicted, "association")
    assert ("paired with himself" in case.sentence) == bool(count)


def test_what_they_cost() -> None:
    boxes = [(PERSON, ANN), (PERSON, BOB)]
    truth = scenes([image("a.jpg", boxes, [(0, 1, HUG)])], scored=False)
    predicted = scenes([image("a.jpg", boxes, [(0, 0, HUG, 0.9), (0, 1, HUG, 0.8)])], scored=True)
    diagnosis = diagnose(truth, predicted)
    result = paired_with_itself(diagnosis, truth, predicted)
    assert (result["count"], result["share"]) == (1, 1.0)
    assert result["delta_map"]["full"] == pytest.approx(1 - diagnosis.mean_ap["full"])


def test_people_of_v_coco() -> None:
    person, cup = (0, 0, 9, 9), (20, 0, 29, 9)
    people = [{"box": person, "doing": {"hold": [0]}, "ignored": False}]
    truth = v_coco.annotations([{"people": people, "things": [cup]}])
    rows = [{"box": person, "scores": {"hold obj": (person, 0.5)}}]
    predicted = v_coco.predictions([rows])
    truth, predicted = (replace(each, names=np.array(["165"])) for each in (truth, predicted))
    diagnosis = diagnose(truth, predicted, "v-coco-s1")
    assert paired_with_itself(diagnosis, truth, predicted)["count"] == 1


@given(problems())
def test_as_many_are_counted_as_captions_say(problem: Any) -> None:
    truth, predicted = problem
    diagnosis = diagnose(truth, predicted)
    cases = [
        case
        for name in truth.names.tolist()
        for case in worst_cases(diagnosis, truth, predicted, "association", images=[name], top=999)
    ]
    # Two cases of an image are described at most.
    said = sum("paired with himself" in case.sentence for case in cases)
    count = paired_with_itself(diagnosis, truth, predicted)["count"]
    if len(cases) == diagnosis.errors["association"]:
        assert count == said
    assert count >= said


def test_it_must_be_what_was_diagnosed() -> None:
    truth = scenes([image("a.jpg", BOXES, [(0, 3, RIDE)])], scored=False)
    predicted = scenes([image("a.jpg", BOXES, [(0, 3, RIDE, 0.9)])], scored=True)
    diagnosis = diagnose(truth, predicted)
    other = scenes([image("a.jpg", BOXES, [(0, 3, HOLD, 0.9)])], scored=True)
    with pytest.raises(InputError, match="does not belong to these annotations"):
        paired_with_itself(diagnosis, truth, other)
