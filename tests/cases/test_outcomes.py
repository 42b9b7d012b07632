"""What is right, false and missed on an image; the threshold of best F1; which images to show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from support import v_coco
from support.scenes import (
    BICYCLE,
    CAR,
    HOLD,
    PERSON,
    RIDE,
    WASH,
    image,
    problems,
    scenes,
)

from diaghoi import InputError, diagnose
from diaghoi.cases.outcomes import (
    ImageOutcomes,
    image_outcomes,
    outcome_counts,
    telling,
)
from diaghoi.cases.typical import typical_cases
from diaghoi.data.scenes import Scenes

ANN, BOB = (0.0, 0.0, 9.0, 19.0), (100.0, 0.0, 109.0, 19.0)
ANNS, BOBS = (10.0, 10.0, 29.0, 29.0), (110.0, 10.0, 129.0, 29.0)
BOXES = [(PERSON, ANN), (PERSON, BOB), (BICYCLE, ANNS), (BICYCLE, BOBS)]
TRUTH = [(0, 2, RIDE), (0, 2, HOLD), (1, 3, RIDE), (1, 3, HOLD)]
# Ann's pair is found with both verbs and a wrong one, Bob's with one verb, weakly.
FOUND = [(0, 2, RIDE, 0.9), (0, 2, HOLD, 0.8), (0, 2, WASH, 0.7), (1, 3, RIDE, 0.2)]


def data(*found: Any, truth: Any = TRUTH, boxes: Any = BOXES) -> tuple[Scenes, Scenes]:
    """Annotations and predictions of as many images as there are predictions."""
    names = [f"{number}.jpg" for number in range(len(found))]
    return (
        scenes([image(name, boxes, truth) for name in names], scored=False),
        scenes(
            [image(name, boxes, rows) for name, rows in zip(names, found, strict=True)], scored=True
        ),
    )


def shown(threshold: float, *found: Any, **options: Any) -> list[ImageOutcomes]:
    both = data(*found, **options)
    names = [f"{number}.jpg" for number in range(len(found))]
    return image_outcomes(diagnose(*both), *both, names, threshold)


def outcomes(one: ImageOutcomes) -> list[tuple[str, str, float | None]]:
    return [(pair.outcome, pair.name, pair.score) for pair in one.pairs]


def test_verbs_of_one_pair_with_one_outcome_stand_together() -> None:
    (one,) = shown(0.0, FOUND)
    assert outcomes(one) == [
        ("right", "ride, hold bicycle", 0.9),
        ("right", "ride bicycle", 0.2),
        ("false", "wash bicycle", 0.7),
        ("missed", "hold bicycle", None),
    ]
    assert [(pair.human, pair.object) for pair in one.pairs] == [
        (ANN, ANNS),
        (BOB, BOBS),
        (ANN, ANNS),
        (BOB, BOBS),
    ]


def test_each_verb_of_a_pair_has_its_own_score() -> None:
    (one,) = shown(0.0, FOUND)
    assert [pair.caption for pair in one.pairs] == [
        "ride 0.90, hold 0.80 bicycle",
        "ride bicycle 0.20",
        "wash bicycle 0.70",
        "hold bicycle",
    ]
    (one,) = shown(0.75, FOUND)
    assert one.pairs[1].caption == "ride, hold bicycle"


def test_roles_of_v_coco_have_their_scores_and_no_object() -> None:
    person, cup = (0, 0, 9, 9), (20, 0, 29, 9)
    doing = {"box": person, "doing": {"hold": [0], "sit": [-1]}, "ignored": False}
    truth = v_coco.annotations([{"people": [doing], "things": [cup]}])
    scores = {"hold obj": (cup, 0.5), "cut instr": (cup, 0.25)}
    found = v_coco.predictions([[{"box": person, "scores": scores}]])
    truth, found = (replace(each, names=np.array(["165"])) for each in (truth, found))
    diagnosis = diagnose(truth, found, "v-coco-s1")
    (one,) = image_outcomes(diagnosis, truth, found, ["165"], 0.0)
    assert [pair.caption for pair in one.pairs][:2] == ["hold obj 0.50", "cut instr 0.25"]
    missed = [pair for pair in one.pairs if pair.outcome == "missed"]
    assert [pair.caption for pair in missed] == ["sit instr"]


def test_what_is_found_below_the_threshold_is_missed() -> None:
    (one,) = shown(0.75, FOUND)
    assert outcomes(one) == [
        ("right", "ride, hold bicycle", 0.9),
        ("missed", "ride, hold bicycle", None),
    ]


def test_an_image_without_predictions_is_missed_as_a_whole() -> None:
    one, two = shown(0.0, [], FOUND)
    assert outcomes(one) == [
        ("missed", "ride, hold bicycle", None),
        ("missed", "ride, hold bicycle", None),
    ]
    assert (one.image, two.image, one.size) == ("0.jpg", "1.jpg", None)


def test_pairs_with_several_objects_name_each() -> None:
    boxes = [(PERSON, ANN), (CAR, ANNS), (BICYCLE, BOBS)]
    truth = [(0, 1, WASH), (0, 2, RIDE)]
    (one,) = shown(0.0, [], truth=truth, boxes=boxes)
    assert {pair.name for pair in one.pairs} == {"wash car", "ride bicycle"}


@given(problem=problems())
def test_counts_are_those_of_the_diagnosis(problem: tuple[Scenes, Scenes]) -> None:
    diagnosed = diagnose(*problem)
    right, false, missed = outcome_counts(diagnosed, -np.inf).sum(axis=0).tolist()
    errors = diagnosed.errors
    assert right == errors["true_positive"]
    assert false == sum(errors.values()) - right - errors["missed_gt"]
    assert missed == len(diagnosed.ledger.annotation_class) - right


def test_one_model_is_shown_where_all_happens_in_few_triplets() -> None:
    counts = [[[3, 0, 0], [2, 2, 2], [1, 1, 1], [0, 0, 9]]]
    assert telling(counts, list("abcd"), 3) == ["c", "b", "a"]


def test_two_models_are_shown_where_they_differ_in_turn() -> None:
    first, last = (
        [[3, 0, 0], [1, 0, 0], [0, 0, 2], [1, 1, 1]],
        [[0, 0, 3], [1, 0, 0], [2, 0, 0], [1, 1, 1]],
    )
    assert telling([first, last], list("abcd"), 2) == ["c", "a"]
    assert sorted(telling([first, last], list("abcd"), 9)) == list("abcd")


def test_crowded_images_come_last() -> None:
    first, last = [[9, 0, 0], [0, 0, 1], [0, 0, 8]], [[0, 0, 9], [1, 0, 0], [8, 0, 0]]
    assert telling([first, last], list("abc"), 3) == ["c", "b", "a"]


def test_a_typical_case_is_of_the_class_that_has_the_error_most_often() -> None:
    rows = [(0, 2, WASH, 0.9)], [(0, 2, HOLD, 0.5)], [(0, 2, HOLD, 0.6)]
    both = data(*rows, truth=TRUTH[:1])
    diagnosed = diagnose(*both)
    (case,) = typical_cases(diagnosed, *both, ["action", "duplicate"])
    assert (case.error, case.name, case.image) == ("action", "hold bicycle", "2.jpg")
    (case,) = typical_cases(diagnosed, *both, ["action"], images=["0.jpg"])
    assert (case.name, case.image) == ("wash bicycle", "0.jpg")


def test_a_case_says_what_it_becomes() -> None:
    both = data([(0, 2, WASH, 0.9)], truth=TRUTH[:1])
    (case,) = typical_cases(diagnose(*both), *both, ["action"])
    assert case.repaired == "ride bicycle"
    (missed,) = typical_cases(diagnose(*data([])), *data([]), ["missed_gt"])
    assert missed.repaired is None


def test_a_sum_is_refused() -> None:
    both = data(FOUND)
    other = data([(1, 3, WASH, 0.4)])
    with pytest.raises(InputError, match="does not belong to these annotations"):
        image_outcomes(diagnose(*other), *both, ["0.jpg"], 0.0)
