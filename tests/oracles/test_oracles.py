"""What each oracle does to a ledger."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from support.scenes import (
    BICYCLE,
    CAR,
    HOLD,
    PERSON,
    RIDE,
    VOCABULARY,
    WASH,
    image,
    problems,
    scenes,
)

from diaghoi import ORACLES, diagnose
from diaghoi.comparison.transitions import transitions
from diaghoi.data.arrays import ranking
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.errors import LABELS
from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles import lost_triplets
from diaghoi.report.verdict import verdict


def ledger(rows: list[tuple[int, str, float, int]], annotations: list[int]) -> Ledger:
    """Make a ledger of rows (class, label, score, annotation) and annotations (class)."""
    count = len(annotations)
    group = np.array([row[0] for row in rows])
    score = np.array([row[2] for row in rows])
    order = ranking(group, score)
    return Ledger(
        classes=3,
        row_class=group[order],
        row_input=order,
        row_image=np.zeros(len(rows), dtype=int),
        row_score=score[order],
        row_on_pair=np.zeros(len(rows), dtype=bool),
        row_action_score=score[order],
        row_label=np.array([LABELS.index(rows[n][1]) for n in order], dtype=np.int8),
        row_annotation=np.array([rows[n][3] for n in order]),
        row_attempt=np.array([rows[n][3] for n in order]),
        annotation_class=np.array(annotations),
        annotation_image=np.zeros(count, dtype=int),
        annotation_input=np.arange(count),
        annotation_counts=np.ones(count, dtype=bool),
        annotation_examined=np.ones(count, dtype=bool),
        annotation_attempted=np.isin(
            np.arange(count), [row[3] for row in rows if row[1] != "true_positive"]
        ),
        annotation_reachable=np.ones(count, dtype=bool),
        annotation_pair_found=np.ones(count, dtype=bool),
        annotation_claims=np.zeros(count, dtype=int),
    )


def shown(repaired: Ledger) -> list[tuple[int, str, float]]:
    return [
        (int(group), LABELS[label], float(score))
        for group, label, score in zip(
            repaired.row_class, repaired.row_label, repaired.row_score, strict=True
        )
    ]


@pytest.mark.parametrize("name", ["human_box", "object_box", "association", "action"])
def test_converts_the_assigned_and_removes_the_others(name: str) -> None:
    before = ledger(
        [
            (0, name, 0.9, 1),  # stands for an annotation of class 1, which has a true positive
            (0, name, 0.8, -1),  # stands for nothing
            (0, "both_boxes", 0.7, -1),
            (1, "true_positive", 0.6, 1),
            (1, "true_positive", 0.95, 0),
        ],
        [1, 1],
    )
    after = ORACLES[name](before)
    assert shown(after) == [
        (0, "both_boxes", 0.7),
        (1, "true_positive", 0.95),
        (1, "true_positive", 0.9),
    ]
    assert after.positives.tolist() == [0, 2, 0]


@pytest.mark.parametrize("name", ["both_boxes", "duplicate"])
def test_removes(name: str) -> None:
    before = ledger([(0, name, 0.9, 0), (0, "action", 0.8, -1)], [0])
    assert shown(ORACLES[name](before)) == [(0, "action", 0.8)]


def test_missed_gt_takes_the_missed_out_of_the_positives() -> None:
    before = ledger([(0, "true_positive", 0.9, 0), (1, "action", 0.8, 1)], [0, 0, 0])
    assert ORACLES["missed_gt"](before).positives.tolist() == [2, 0, 0]


def test_false_positive_keeps_only_true_positives() -> None:
    before = ledger([(0, "true_positive", 0.9, 0), (1, "action", 0.8, 0)], [0])
    assert shown(ORACLES["false_positive"](before)) == [(0, "true_positive", 0.9)]


def test_false_negative_counts_only_what_was_found() -> None:
    before = ledger([(0, "true_positive", 0.9, 0), (1, "action", 0.8, 1)], [0, 0, 1])
    assert ORACLES["false_negative"](before).positives.tolist() == [1, 0, 0]


def test_equal_scores_keep_their_place_after_a_move() -> None:
    before = ledger(
        [(1, "both_boxes", 0.5, -1), (0, "action", 0.5, 0), (1, "both_boxes", 0.5, -1)], [1]
    )
    after = ORACLES["action"](before)
    assert [row[1] for row in shown(after)] == ["both_boxes", "true_positive", "both_boxes"]


def test_a_row_that_moves_can_become_the_first_of_all() -> None:
    before = ledger([(0, "true_positive", 0.5, 0), (1, "action", 0.9, 1)], [0, 0])
    after = ORACLES["action"](before)
    assert shown(after) == [(0, "true_positive", 0.9), (0, "true_positive", 0.5)]
    assert after.row_annotation.tolist() == [1, 0]


def test_parts_are_repaired_as_the_whole() -> None:
    before = ledger(
        [
            (0, "action", 0.9, 3),  # these three move to another class, the last of them back
            (1, "action", 0.8, 0),
            (2, "association", 0.7, 1),
            *((hoi, "true_positive", 0.5, 4 + hoi) for hoi in range(3)),
            *((hoi, "both_boxes", 0.6, -1) for hoi in range(3)),
        ],
        [0, 0, 1, 2, 0, 1, 2],
    )
    for oracle in ORACLES.values():
        rows = []
        with patch("diaghoi.evaluation.ledger.PART", 3):
            for classes, part in before.repairable_parts():
                assert len(classes) == 1
                rows += [row for row in shown(oracle(part)) if row[0] in classes]
        assert rows == shown(oracle(before))


def test_each_oracle_says_what_it_does() -> None:
    for name, oracle in ORACLES.items():
        assert oracle.name == name
        assert " " in oracle.definition
        assert oracle.title


@given(problems())
def test_repaired_ledgers_stay_sound(problem: tuple[Scenes, Scenes]) -> None:
    before = diagnose(*problem).ledger
    for name, oracle in ORACLES.items():
        after = oracle(before)
        ranked = np.lexsort((after.row_input, -after.row_score, after.row_class))
        assert (ranked == np.arange(len(ranked))).all(), "rows stay ranked"
        found = after.row_annotation[after.true]
        assert len(np.unique(found)) == len(found), "a triplet has one true positive at most"
        assert (after.annotation_class[found] == after.row_class[after.true]).all()
        assert len(after.row_class) <= len(before.row_class)
        if name in LABELS:
            assert not (after.row_label == LABELS.index(name)).any()


def test_lost_triplets_with_a_prediction_of_the_class_wrong_in_both_boxes() -> None:
    rows = [
        (0, "both_boxes", 0.9, -1),
        (0, "true_positive", 0.8, 0),
        (1, "both_boxes", 0.7, -1),
        (1, "human_box", 0.6, 3),
        (2, "object_box", 0.5, -1),
    ]
    # Of class 0 one is found and one lost, of class 1 one is nearly found, and of class 2 all lost.
    assert lost_triplets(ledger(rows, [0, 0, 2, 1, 2])) == {"triplets": 3, "both_boxes": 1}


def test_the_first_triplet_can_be_attempted() -> None:
    assert lost_triplets(ledger([(0, "human_box", 0.9, 0)], [0, 0]))["triplets"] == 1


# One person, a bicycle, another one far away and a motorcycle; and a bicycle at IoU 0.71.
ANN = (PERSON, (0, 0, 9, 19))
BIKE, FAR_BIKE, TWIN = (
    (BICYCLE, (20, 0, 29, 9)),
    (BICYCLE, (60, 0, 69, 9)),
    (BICYCLE, (20, 0, 29, 6)),
)
NOWHERE = (200, 200, 209, 209)
MOTORCYCLE = VOCABULARY.objects.index("motorcycle")


@pytest.mark.parametrize(
    ("thing", "annotated", "predicted", "fate"),
    [
        # An association: both boxes are right, and the lost pair is of the first bicycle.
        (FAR_BIKE, RIDE, RIDE, "association"),
        (FAR_BIKE, RIDE, HOLD, "association"),
        ((CAR, (60, 0, 69, 9)), RIDE, RIDE, "missed_gt"),
        # A wrong object box.
        ((BICYCLE, NOWHERE), RIDE, HOLD, "object_box"),
        ((CAR, NOWHERE), RIDE, RIDE, "missed_gt"),
        ((MOTORCYCLE, BIKE[1]), RIDE, RIDE, "object_box"),  # named wrongly, at its place
        # A wrong action, on the pair.
        (BIKE, RIDE, HOLD, "action"),
    ],
)
def test_a_wrong_prediction_attempts_a_triplet_of_its_own_object(thing, annotated, predicted, fate):
    boxes = [ANN, BIKE, FAR_BIKE, (CAR, (60, 0, 69, 9))]
    truth = scenes([image("a", boxes, [(0, 1, annotated)])], scored=False)
    found = scenes([image("a", [ANN, thing], [(0, 1, predicted, 0.5)])], scored=True)
    diagnosis = diagnose(truth, found)
    assert diagnosis.errors["missed_gt"] == 0  # by the published rule
    assert diagnosis.lost["triplets"] == (fate == "missed_gt")
    matrix = transitions(diagnosis, diagnosis).to_dict()["matrix"]
    assert matrix[fate][fate] == 1
    read = diagnosis.localised
    assert (read["missed_gt"]["map"]["full"] is None) == (fate == "missed_gt")
    for name in ("object_box", "association", "action"):
        assert read[name]["map"]["full"] == (name == fate), name


def test_predictions_of_its_own_class_come_first() -> None:
    """The second triplet is not left to a better prediction that the first one could take."""
    boxes = [ANN, BIKE, FAR_BIKE, (CAR, (40, 0, 49, 9))]
    truth = scenes([image("a", boxes, [(0, 1, HOLD), (0, 1, RIDE)])], scored=False)
    rows = [(0, 1, RIDE, 0.9), (0, 1, WASH, 0.5)]
    found = scenes([image("a", [ANN, FAR_BIKE], rows)], scored=True)
    ledger = diagnose(truth, found).ledger
    by_input = np.argsort(ledger.row_input)
    assert ledger.row_annotation[by_input].tolist() == [0, 1]
    assert ledger.row_attempt[by_input].tolist() == [1, 0]


def test_a_triplet_that_was_found_leaves_attempts_to_others() -> None:
    truth = scenes([image("a", [ANN, BIKE], [(0, 1, HOLD), (0, 1, RIDE)])], scored=False)
    rows = [(0, 1, WASH, 0.9), (0, 1, HOLD, 0.5)]
    found = scenes([image("a", [ANN, BIKE], rows)], scored=True)
    diagnosis = diagnose(truth, found)
    assert diagnosis.errors["missed_gt"] == 1  # by the published rule, the first takes it
    assert diagnosis.lost["triplets"] == 0
    assert diagnosis.localised["action"]["map"]["full"] == 1


def test_a_pair_that_found_a_triplet_does_not_localise_its_twin() -> None:
    truth = [image("a", [ANN, BIKE, TWIN], [(0, 1, RIDE), (0, 2, RIDE)])]
    rows = [(0, 1, RIDE, 0.9), (0, 1, HOLD, 0.01)]
    found = [image("a", [ANN, BIKE], rows)]
    diagnosis = diagnose(scenes(truth, scored=False), scenes(found, scored=True))
    assert "On found pairs, missed triplets cost most" in verdict(diagnosis.to_dict())
    assert diagnosis.localised["action"]["delta_map"]["full"] == 0
    assert diagnosis.lost["triplets"] == 1
    # A pair of the twin's own does.
    found = [image("a", [ANN, BIKE, TWIN], [rows[0], (0, 2, HOLD, 0.01)])]
    diagnosis = diagnose(scenes(truth, scored=False), scenes(found, scored=True))
    assert verdict(diagnosis.to_dict()).startswith("Wrong actions cost most: ")


def test_lost_triplets_that_a_prediction_with_two_wrong_boxes_may_mean() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (0, 20, 9, 29))]
    far = [(PERSON, (50, 50, 59, 59)), (BICYCLE, (50, 70, 59, 79))]
    truth = [image(name, boxes, [(0, 1, RIDE)]) for name in ("a", "b", "c")]
    # The second alone has such a prediction; that of the first is of another class.
    found = [image("a", far, [(0, 1, HOLD, 0.5)]), image("b", far, [(0, 1, RIDE, 0.5)])]
    found.append(image("c", [], []))
    diagnosis = diagnose(scenes(truth, scored=False), scenes(found, scored=True))
    assert diagnosis.to_dict()["lost"] == {"triplets": 3, "both_boxes": 1}


def test_an_action_on_another_pair_of_the_person_does_not_stand_for_the_first_triplet() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (0, 20, 9, 29)), (BICYCLE, (40, 40, 49, 49))]
    truth = scenes([image("a", boxes, [(0, 1, RIDE), (0, 2, HOLD)])], scored=False)
    found = scenes([image("a", boxes, [(0, 2, RIDE, 0.5)])], scored=True)
    diagnosis = diagnose(truth, found)
    # By the published rule the first is taken for a wrong action, and the second is missed.
    assert diagnosis.ledger.row_annotation.tolist() == [0]
    assert diagnosis.errors["missed_gt"] == 1
    # On found pairs, the wrong action is that of the second.
    assert diagnosis.ledger.row_attempt.tolist() == [1]
    assert diagnosis.lost["triplets"] == 1
