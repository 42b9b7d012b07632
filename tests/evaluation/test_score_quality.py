"""How often a right prediction goes before a wrong one, and the mAP of the best order."""

from __future__ import annotations

import pytest
from support.scenes import BICYCLE, PERSON, RIDE, WASH, image, scenes

from diaghoi import Diagnosis, diagnose

ANN, ANNS = (0, 0, 9, 19), (10, 10, 29, 29)
FAR = (300, 300, 319, 319)
BOXES = [(PERSON, ANN), (BICYCLE, ANNS), (PERSON, FAR), (BICYCLE, FAR)]
RIGHT, HUMAN, OBJECT, BOTH = (0, 1), (2, 1), (0, 3), (2, 3)


def diagnosed(*rows: tuple[tuple[int, int], float], **more: list[float]) -> Diagnosis:
    """Diagnose predictions of riding, each a pair of boxes and a score, and of washing."""
    triplets = [(*pair, RIDE, score) for pair, score in rows]
    triplets += [(*RIGHT, WASH, score) for score in more.get("washing", [])]
    annotations = scenes([image("a.jpg", BOXES[:2], [(0, 1, RIDE)])], scored=False)
    return diagnose(annotations, scenes([image("a.jpg", BOXES, triplets)], scored=True))


def test_the_share_of_wrong_predictions_below_a_right_one() -> None:
    diagnosis = diagnosed((RIGHT, 0.5), (HUMAN, 0.9), (OBJECT, 0.5), (BOTH, 0.1))
    assert diagnosis.ranking["outranked"] == {
        "all": pytest.approx(1.5 / 3),  # one below, and one with the same score
        "human_box": 0.0,
        "object_box": 0.5,
        "both_boxes": 1.0,
        "association": None,
        "action": None,
    }
    assert diagnosis.mean_ap["full"] < 1.0
    assert diagnosis.ranking["map_best_order"]["full"] == 1.0
    assert diagnosis.classes["ap_best_order"][diagnosis.classes["annotated"] > 0] == 1.0


def test_duplicates_are_right() -> None:
    diagnosis = diagnosed((RIGHT, 0.9), (HUMAN, 0.5), (RIGHT, 0.1))
    assert diagnosis.ranking["outranked"]["all"] == 0.5


def test_predictions_of_other_classes_do_not_count() -> None:
    diagnosis = diagnosed((RIGHT, 0.1), (HUMAN, 0.05), washing=[0.9, 0.8])
    assert diagnosis.errors["action"] == 2
    assert diagnosis.ranking["outranked"]["all"] == 1.0
    assert diagnosis.ranking["outranked"]["action"] is None


def test_nothing_to_compare() -> None:
    assert set(diagnosed((RIGHT, 0.9)).ranking["outranked"].values()) == {None}
    assert set(diagnosed((HUMAN, 0.9)).ranking["outranked"].values()) == {None}
