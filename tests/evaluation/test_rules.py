"""Each rule of matching, labelling and assignment on a scene of a few boxes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.scenes import (
    BICYCLE,
    CAR,
    EAT,
    HOLD,
    NO_INTERACTION,
    PERSON,
    RIDE,
    WASH,
    image,
    one_image,
    scenes,
)

from diaghoi import ORACLES, Diagnosis, InputError, Protocol, diagnose, protocol
from diaghoi.evaluation.errors import LABELS
from diaghoi.evaluation.ledger import deciding_rows
from diaghoi.formats.description import vocabulary

# Two people with a bicycle each, and a car of nobody's.
ANN, BOB = (0, 0, 9, 19), (100, 0, 109, 19)
ANNS, BOBS = (10, 10, 29, 29), (110, 10, 129, 29)
SPARE = (50, 50, 89, 69)
FAR = (300, 300, 319, 319)
BOXES = [(PERSON, ANN), (PERSON, BOB), (BICYCLE, ANNS), (BICYCLE, BOBS), (CAR, SPARE)]
TRUTH = [(0, 2, RIDE), (1, 3, RIDE), (1, 3, HOLD)]


def diagnosed(
    rows: list[tuple[Any, ...]],
    boxes: Any = BOXES,
    truth: Any = TRUTH,
    name: str | Protocol = "hico-det-520",
) -> Diagnosis:
    """Diagnose predictions given as (human box, object label, object box, verb, score)."""
    annotations, predictions = one_image(rows, boxes, truth)
    return diagnose(annotations, predictions, name)


def labels(diagnosis: Diagnosis) -> list[str]:
    ledger = diagnosis.ledger
    by_input = ledger.row_input.argsort()
    return [LABELS[label] for label in ledger.row_label[by_input]]


def assigned(diagnosis: Diagnosis) -> list[int]:
    """Annotated triplet of each prediction in the order of the input."""
    ledger = diagnosis.ledger
    return ledger.row_annotation[ledger.row_input.argsort()].tolist()


@pytest.mark.parametrize(
    ("row", "label"),
    [
        ((ANN, BICYCLE, ANNS, RIDE, 0.9), "true_positive"),
        ((ANN, BICYCLE, ANNS, WASH, 0.9), "action"),
        ((ANN, BICYCLE, BOBS, RIDE, 0.9), "association"),
        ((ANN, CAR, SPARE, WASH, 0.9), "association"),  # a box of no triplet is annotated too
        ((ANN, BICYCLE, FAR, RIDE, 0.9), "object_box"),
        ((ANN, CAR, ANNS, WASH, 0.9), "object_box"),  # the right place, the wrong category
        ((FAR, BICYCLE, ANNS, RIDE, 0.9), "human_box"),
        ((FAR, BICYCLE, FAR, RIDE, 0.9), "both_boxes"),
    ],
)
def test_the_label_of_one_prediction(row: tuple[Any, ...], label: str) -> None:
    assert labels(diagnosed([row])) == [label]


@pytest.mark.parametrize("name", ["hico-det-520", "hico-det", "qahoi", "cmd-se"])
@pytest.mark.parametrize("scores", [(0.3, 0.8), (0.5, 0.5), (0.5, 0.9, 0.7)])
def test_the_best_prediction_of_a_triplet_is_true_and_the_others_are_duplicates(scores, name):
    # Of equal scores the first of the input.
    expected = ["duplicate"] * len(scores)
    expected[int(np.argmax(scores))] = "true_positive"
    rows = [(ANN, BICYCLE, ANNS, RIDE, score) for score in scores]
    assert labels(diagnosed(rows, name=name)) == expected


def test_a_taken_candidate_is_not_replaced_by_the_second_best() -> None:
    # Two annotated bicycles overlap; both predictions like the first one better.
    near = (12, 10, 31, 29)
    boxes = [(PERSON, ANN), (BICYCLE, ANNS), (BICYCLE, near)]
    truth = [(0, 1, RIDE), (0, 2, RIDE)]
    rows = [(ANN, BICYCLE, ANNS, RIDE, 0.9), (ANN, BICYCLE, (10, 10, 29, 28), RIDE, 0.8)]
    assert labels(diagnosed(rows, boxes, truth)) == ["true_positive", "duplicate"]


def test_the_candidate_has_the_largest_smaller_overlap() -> None:
    # The first bicycle overlaps better, but with the second the worse of both boxes is better.
    boxes = [(PERSON, (0, 0, 9, 13)), (BICYCLE, ANNS), (PERSON, ANN), (BICYCLE, (10, 10, 29, 26))]
    truth = [(0, 1, RIDE), (2, 3, RIDE)]
    diagnosis = diagnosed([(ANN, BICYCLE, ANNS, RIDE, 0.9)], boxes, truth)
    assert assigned(diagnosis) == [1]


@pytest.mark.parametrize(("right", "label"), [(9, "true_positive"), (8, "object_box")])
def test_boxes_cover_whole_pixels_and_half_is_enough(right: int, label: str) -> None:
    # 20 pixels wide annotated, right + 1 pixels wide predicted.
    boxes = [(PERSON, ANN), (BICYCLE, (0, 0, 19, 19))]
    rows = [(ANN, BICYCLE, (0, 0, right, 19), RIDE, 0.9)]
    assert labels(diagnosed(rows, boxes, [(0, 1, RIDE)])) == [label]


def test_boxes_of_no_interaction_count_as_annotated_but_join_nothing() -> None:
    rows = [(ANN, BICYCLE, ANNS, RIDE, 0.9)]
    truth = [(0, 2, NO_INTERACTION), (1, 3, RIDE)]
    assert labels(diagnosed(rows, BOXES, truth)) == ["association"]


def test_combinations_that_are_no_class_are_left_out_and_noted() -> None:
    diagnosis = diagnosed([(ANN, BICYCLE, ANNS, EAT, 0.9)])
    assert labels(diagnosis) == []
    assert any("1 predicted triplets are left out" in note for note in diagnosis.notes)


def test_the_first_class_is_a_class() -> None:
    hico = vocabulary("hico-det")
    thing, verb = int(hico.class_object[0]), int(hico.class_verb[0])
    boxes, truth = [(PERSON, ANN), (thing, ANNS)], [(0, 1, verb)]
    diagnosis = diagnosed([(ANN, thing, ANNS, verb, 0.9)], boxes, truth, "hico-det")
    assert labels(diagnosis) == ["true_positive"]
    assert not any("left out" in note for note in diagnosis.notes)


def test_an_object_of_two_pairs_is_one_box() -> None:
    # Both ride the first bicycle, which is found; the second, also of a pair, is not.
    truth = [(0, 2, RIDE), (1, 2, RIDE), (1, 3, RIDE)]
    diagnosis = diagnosed([(ANN, BICYCLE, ANNS, RIDE, 0.9)], truth=truth)
    assert diagnosis.pairs["object_recall"] == diagnosis.pairs["mean_object_recall"] == 1 / 2


def test_predictions_on_unannotated_images_are_false_positives() -> None:
    annotations = scenes([image("a.jpg", BOXES, TRUTH)], scored=False)
    boxes = [(PERSON, ANN), (BICYCLE, ANNS)]
    predictions = scenes(
        [
            image("a.jpg", boxes, [(0, 1, RIDE, 0.5)]),
            image("b.jpg", boxes, [(0, 1, RIDE, 0.9)]),
        ],
        scored=True,
    )
    diagnosis = diagnose(annotations, predictions)
    assert labels(diagnosis) == ["true_positive", "both_boxes"]
    # The false positive of the unknown image outranks the true positive.
    ride = diagnosis.classes["name"].tolist().index("ride bicycle")
    assert diagnosis.classes["ap"][ride] == pytest.approx(0.5 * 6 / 11)


def test_one_prediction_of_each_kind_costs_what_its_repair_adds() -> None:
    """Figure 4 of the Diag-HOI paper with the repairs of its appendix B, worked out by hand."""
    truth = [
        *((0, 2, RIDE), (0, 2, HOLD)),
        *((1, 3, RIDE), (1, 3, HOLD), (1, 3, WASH)),
        (0, 4, WASH),  # nothing stands for the washing of the car
    ]
    rows = {
        "both_boxes": (FAR, BICYCLE, FAR, RIDE, 0.95),
        "true_positive": (ANN, BICYCLE, ANNS, RIDE, 0.9),
        "duplicate": (ANN, BICYCLE, ANNS, RIDE, 0.8),
        "action": (ANN, BICYCLE, ANNS, WASH, 0.7),  # becomes Ann's holding
        "association": (BOB, BICYCLE, ANNS, RIDE, 0.6),  # becomes Bob's riding
        "object_box": (BOB, BICYCLE, FAR, HOLD, 0.5),  # Bob's holding
        "human_box": (FAR, BICYCLE, BOBS, RIDE, 0.4),  # Bob's washing
    }
    area = protocol("hico-det-520", average_precision="area")
    diagnosis = diagnosed(list(rows.values()), BOXES, truth, area)
    assert labels(diagnosis) == list(rows)
    assert diagnosis.errors == dict.fromkeys((*rows, "missed_gt"), 1)
    # Riding, with one of two found at rank two, has an AP of 1/4; three more classes have 0.
    assert diagnosis.mean_ap["full"] == pytest.approx(1 / 16)
    gains = {name: found["delta_map"]["full"] for name, found in diagnosis.oracles.items()}
    assert gains == pytest.approx(
        {
            "human_box": 1 / 8,  # washing a bicycle: 1/2
            "object_box": 1 / 8,  # holding: 1/2
            "both_boxes": 1 / 16,  # riding: 1/2
            "association": 1 / 16,  # riding: both found, at ranks two and four
            "action": 1 / 8,  # holding: 1/2
            "duplicate": 0,  # nothing below it is right
            "missed_gt": 1 / 12 - 1 / 16,  # washing a car leaves the mean
            "false_positive": 1 / 16,
            "false_negative": 1 / 2 - 1 / 16,  # of riding alone, one of one at rank two
        }
    )


class TestAssignment:
    """Which annotated triplet a wrong prediction stands for."""

    @pytest.mark.parametrize(
        ("rows", "to"),
        [
            ([(BOB, BICYCLE, FAR, RIDE, 0.9)], [1]),  # that of the human
            # Ann with Bob's bicycle: her own, even where only the object would fit.
            ([(ANN, BICYCLE, BOBS, RIDE, 0.9)], [0]),
            ([(FAR, BICYCLE, BOBS, RIDE, 0.9)], [1]),  # that of the object: the human is wrong
            ([(FAR, BICYCLE, FAR, RIDE, 0.9)], [-1]),  # two wrong boxes fit nothing
            # Annotated triplets choose in their order the best score.
            (
                [
                    (BOB, BICYCLE, FAR, verb, s)
                    for verb, s in ((RIDE, 0.2), (WASH, 0.9), (HOLD, 0.5))
                ],
                [-1, 1, 2],
            ),
            # None behind the own true positive.
            ([(ANN, BICYCLE, thing, RIDE, s) for thing, s in ((ANNS, 0.9), (FAR, 0.8))], [0, -1]),
        ],
    )
    def test_it_shares_a_box(self, rows: list[Any], to: list[int]) -> None:
        assert assigned(diagnosed(rows)) == to

    @pytest.mark.parametrize(("name", "to"), [("hico-det-520", -1), ("diag-hoi", 2)])
    def test_a_duplicate_is_assigned_in_the_published_code_alone(self, name: str, to: int) -> None:
        # The duplicate of Bob's riding outranks nothing of its own, but his holding is not found.
        rows = [(BOB, BICYCLE, BOBS, RIDE, 0.9), (BOB, BICYCLE, BOBS, RIDE, 0.8)]
        diagnosis = diagnosed(rows, name=name)
        assert labels(diagnosis) == ["true_positive", "duplicate"]
        assert assigned(diagnosis) == [1, to]

    def test_a_duplicate_takes_no_repair_from_a_wrong_action(self) -> None:
        rows = [
            (BOB, BICYCLE, BOBS, RIDE, 0.9),
            (BOB, BICYCLE, BOBS, RIDE, 0.8),
            (BOB, BICYCLE, BOBS, WASH, 0.7),
        ]
        gain = {
            duplicates: diagnosed(
                rows, name=protocol("hico-det-520", duplicates=duplicates)
            ).oracles["action"]["delta_map"]["full"]
            for duplicates in ("assigned", "not assigned")
        }
        assert gain == {"assigned": 0.0, "not assigned": pytest.approx(0.5)}

    def test_missed_is_what_nothing_found_and_nothing_stands_for(self) -> None:
        diagnosis = diagnosed([(BOB, BICYCLE, BOBS, RIDE, 0.9)])
        assert diagnosis.ledger.missed.tolist() == [True, False, True]
        assert diagnosis.errors["missed_gt"] == 2


def test_no_predictions_at_all() -> None:
    diagnosis = diagnosed([])
    assert diagnosis.mean_ap == {"full": 0, "rare": None, "non_rare": 0}
    assert diagnosis.errors["missed_gt"] == 3
    assert diagnosis.pairs["recall"] == 0
    assert diagnosis.pairs["precision"] is None
    assert diagnosis.negatives["ap"] is None


def test_diag_hoi_passes_over_images_without_predictions() -> None:
    first, second = image("a.jpg", BOXES, TRUTH), image("b.jpg", BOXES, TRUTH)
    annotations = scenes([first, second], scored=False)
    found = image("a.jpg", [(PERSON, ANN), (BICYCLE, ANNS)], [(0, 1, RIDE, 0.9)])
    predictions = scenes([found, image("b.jpg", [], [])], scored=True)
    passed, counted = (
        diagnose(annotations, predictions, name) for name in ("diag-hoi", "hico-det-520")
    )
    assert (passed.errors["missed_gt"], counted.errors["missed_gt"]) == (2, 5)
    # One of three annotations of riding is left after forgiving what is missed ...
    assert counted.oracles["missed_gt"]["max_recall"]["full"] == 1
    # ... but under diag-hoi the two of the other image stay, also for the false negatives.
    for oracle in ("missed_gt", "false_negative"):
        ride = passed.repaired_scores[oracle].max_recall
        assert ride[passed.classes["class"][0] - 1 :].tolist().count(pytest.approx(1 / 3)) == 1


def test_top_counts_the_best_of_each_image_but_the_official_figures_take_all() -> None:
    rows = [(ANN, BICYCLE, ANNS, RIDE, 0.3), (FAR, BICYCLE, FAR, RIDE, 0.9)]
    boxes = [(PERSON, ANN), (BICYCLE, ANNS), (PERSON, FAR), (BICYCLE, FAR)]
    annotations = scenes([image("a.jpg", BOXES, [(0, 2, RIDE)])], scored=False)
    triplets = [(0, 1, rows[0][3], 0.3), (2, 3, rows[1][3], 0.9)]
    predictions = scenes([image("a.jpg", boxes, triplets)], scored=True)
    diagnosis = diagnose(annotations, predictions, protocol("hico-det-520", top=1))
    assert labels(diagnosis) == ["both_boxes"]
    assert diagnosis.mean_ap["full"] == 0
    assert diagnosis.official["default"]["full"] == pytest.approx(0.5)


def test_a_cut_that_the_reader_made_shows_in_the_signature() -> None:
    annotations = scenes([image("a.jpg", BOXES, TRUTH)], scored=False)
    predictions = scenes([image("a.jpg", [], [])], scored=True, top=100)
    assert "top 100 per image" in diagnose(annotations, predictions).protocol.signature
    stricter = diagnose(annotations, predictions, protocol("hico-det", top=20))
    assert "top 20 per image" in stricter.protocol.signature


def test_missing_action_scores_leave_negatives_and_actions_undefined() -> None:
    annotations = scenes([image("a.jpg", BOXES, TRUTH)], scored=False)
    boxes = [(PERSON, ANN), (BICYCLE, ANNS), (BICYCLE, FAR)]
    predictions = scenes(
        [image("a.jpg", boxes, [(0, 1, RIDE, 0.9), (0, 2, RIDE, 0.8)])], scored=True
    )
    diagnosis = diagnose(annotations, replace(predictions, triplet_action_score=None))
    undefined = {"map": None, "max_recall": None}
    assert diagnosis.actions == undefined | {"rare": undefined, "non_rare": undefined}
    assert diagnosis.negatives == {"ap": None, "ap_published": None, "pairs": 2, "negatives": 1}
    assert "the file has no action scores: negatives and actions are undefined" in diagnosis.notes


def test_missing_action_scores_are_told_also_where_pairs_are_listed() -> None:
    annotations = scenes([image("a.jpg", BOXES, TRUTH)], scored=False)
    boxes = [(PERSON, ANN), (BICYCLE, FAR)]
    found = image("a.jpg", boxes, [(0, 1, RIDE, 0.9)], [(0, 1, 0.7)])
    diagnosis = diagnose(
        annotations, replace(scenes([found], scored=True), triplet_action_score=None)
    )
    assert diagnosis.negatives["ap"] == 1
    assert "the file has no action scores: actions are undefined" in diagnosis.notes


def test_without_a_pair_list_the_pairs_are_those_of_the_triplets_that_count() -> None:
    annotations = scenes([image("a.jpg", BOXES, TRUTH)], scored=False)
    boxes = [(PERSON, ANN), (BICYCLE, ANNS), (BICYCLE, FAR)]
    predictions = scenes(
        [image("a.jpg", boxes, [(0, 1, RIDE, 0.9), (0, 2, RIDE, 0.8)])], scored=True
    )
    diagnosis = diagnose(annotations, predictions, protocol("hico-det-520", top=1))
    assert diagnosis.counts["predicted_pairs"] == diagnosis.negatives["pairs"] == 1
    assert diagnosis.pairs["precision"] == 1


def test_diag_hoi_counts_verbs_without_any_prediction_as_zero() -> None:
    # As the published script does: only verbs with predictions but no hit are left out.
    diagnosis = diagnosed([(BOB, BICYCLE, BOBS, RIDE, 0.9)])
    published = replace(diagnosis, protocol=protocol("diag-hoi"))
    assert published.actions["map"] == pytest.approx(1 / 2)


def test_diag_hoi_turns_equal_scores_round_where_it_repairs() -> None:
    # As the published script does with a stable sort: it sorts an image in rising order, the
    # repaired triplets behind the others, and reverses it.
    wrong = (FAR, BICYCLE, FAR, RIDE, 0.5)
    of_ann = [(0, 2, RIDE)]
    repaired = [wrong, (FAR, BICYCLE, ANNS, RIDE, 0.5)]
    untouched = [(ANN, BICYCLE, ANNS, RIDE, 0.5), wrong]
    for name, first, second in (("hico-det-520", 1 / 2, 1.0), ("diag-hoi", 1.0, 1 / 2)):
        oracles = diagnosed(repaired, truth=of_ann, name=name).oracles
        assert oracles["human_box"]["map"]["full"] == pytest.approx(first)
        oracles = diagnosed(untouched, truth=of_ann, name=name).oracles
        assert oracles["human_box"]["map"]["full"] == pytest.approx(second)
        # The other repairs leave the order alone.
        assert oracles["duplicate"]["map"]["full"] == pytest.approx(1.0)


def test_diag_hoi_turns_the_equal_scores_of_each_class_round_by_themselves() -> None:
    rows = [
        (FAR, BICYCLE, FAR, verb, score)
        for verb, score in ((HOLD, 0.5), (RIDE, 0.7), (RIDE, 0.5), (HOLD, 0.7))
    ]
    rows += [(ANN, BICYCLE, FAR, RIDE, 0.5), (BOB, BICYCLE, FAR, HOLD, 0.5)]
    diagnosis = diagnosed(rows, truth=[(0, 2, RIDE), (1, 3, HOLD)], name="diag-hoi")
    repaired = ORACLES["object_box"](diagnosis.ledger, diagnosis.protocol)
    assert repaired.row_class.tolist() == sorted(repaired.row_class.tolist())
    # In each class: the wrong one of 0.7, the repaired one, the wrong one of 0.5.
    assert repaired.row_score.tolist() == [0.7, 0.5, 0.5] * 2
    assert repaired.true.tolist() == [False, True, False] * 2


def test_diag_hoi_ranks_equal_action_scores_by_the_triplet_scores() -> None:
    annotations = scenes([image("a.jpg", BOXES, [(0, 2, RIDE), (1, 3, HOLD)])], scored=False)
    found = [(1, 3, RIDE, 0.3, 0.5), (0, 2, RIDE, 0.9, 0.5)]
    predictions = scenes([image("a.jpg", BOXES, found)], scored=True)
    for name, expected in (("hico-det-520", 1 / 2), ("diag-hoi", 1.0)):
        actions = diagnose(annotations, predictions, name).actions
        # Nothing names the other verb, which counts 0 under both.
        assert actions["map"] == pytest.approx(expected / 2)


def test_upt_wants_more_than_half_of_the_pixels() -> None:
    # Its code measures continuous boxes, and lowers the right and bottom edge of what it saves.
    boxes = [(PERSON, (30, 0, 49, 19)), (BICYCLE, (0, 0, 19, 19))]
    for right, label in ((9, "object_box"), (9.2, "true_positive")):
        rows = [((30, 0, 30 + right, 19), BICYCLE, (0, 0, 19, 19), RIDE, 0.9)]
        diagnosis = diagnosed(rows, boxes, [(0, 1, RIDE)], "upt")
        assert labels(diagnosis) == [label.replace("object", "human")]
        rows = [((30, 0, 49, 19), BICYCLE, (0, 0, right, 19), RIDE, 0.9)]
        diagnosis = diagnosed(rows, boxes, [(0, 1, RIDE)], "upt")
        assert labels(diagnosis) == [label]


@pytest.mark.parametrize(
    ("name", "counted"), [("upt", 0), ("cdn", 0), ("hico-det", 1), ("gen-vlkt", 1)]
)
def test_predictions_on_images_without_annotations_may_be_left_out(name: str, counted: int) -> None:
    # This raises the mAP: the official evaluator counts them as false positives.
    annotations = scenes([image("a.jpg", BOXES, TRUTH), image("b.jpg", [], [])], scored=False)
    boxes = [(PERSON, ANN), (BICYCLE, ANNS)]
    predictions = scenes(
        [image("a.jpg", boxes, [(0, 1, RIDE, 0.5)]), image("b.jpg", boxes, [(0, 1, RIDE, 0.9)])],
        scored=True,
    )
    diagnosis = diagnose(annotations, predictions, name)
    assert labels(diagnosis) == ["true_positive", *["both_boxes"] * counted]


# Two people on one bicycle, close enough for a box to reach both.
CROWD = [(PERSON, (0, 0, 9, 19)), (PERSON, (2, 0, 11, 19)), (BICYCLE, ANNS)]
ON_IT = [(0, 2, RIDE), (1, 2, RIDE)]


def test_a_triplet_that_has_an_attempt_takes_no_other() -> None:
    """Of two predictions that share a box with the missed ride, the better one attempts it."""
    rows = [(FAR, BICYCLE, ANNS, RIDE, 0.9), (ANN, BICYCLE, FAR, RIDE, 0.8)]
    ledger = diagnosed(rows, truth=[(0, 2, RIDE)]).ledger
    assert ledger.row_attempt[ledger.row_input.argsort()].tolist() == [0, -1]


def test_a_false_positive_with_the_score_of_the_true_one_decides() -> None:
    rows = [(FAR, BICYCLE, FAR, RIDE, 0.5), (ANN, BICYCLE, ANNS, RIDE, 0.5)]
    rows.append((FAR, BICYCLE, FAR, RIDE, 0.4))
    diagnosis = diagnosed(rows, truth=[(0, 2, RIDE)])
    kept = deciding_rows(diagnosis.ledger, diagnosis.protocol)
    assert kept.tolist() == [True, True, False]


def test_the_first_box_of_a_file_may_be_an_object() -> None:
    boxes = [(BICYCLE, ANNS), (PERSON, ANN)]
    diagnosis = diagnosed([(ANN, BICYCLE, ANNS, RIDE, 0.9)], boxes, [(1, 0, RIDE)])
    assert diagnosis.pairs["object_recall"] == diagnosis.pairs["mean_object_recall"] == 1


def test_qahoi_takes_the_first_annotation_that_is_left() -> None:
    rows = [
        ((2, 0, 11, 19), BICYCLE, ANNS, RIDE, 0.9),
        ((2, 0, 11, 19), BICYCLE, ANNS, RIDE, 0.8),
        ((2, 0, 11, 19), BICYCLE, ANNS, RIDE, 0.7),
    ]
    diagnosis = diagnosed(rows, CROWD, ON_IT, "qahoi")
    assert labels(diagnosis) == ["true_positive", "true_positive", "duplicate"]
    assert diagnosis.ledger.row_annotation[:2].tolist() == [0, 1]
    # One that comes too late for all claims the first.
    assert diagnosis.ledger.annotation_claims.tolist() == [2, 1]
    best = diagnosed(rows, CROWD, ON_IT, "hico-det")
    assert labels(best) == ["true_positive", "duplicate", "duplicate"]
    assert best.ledger.row_annotation[0] == 1


def test_qahoi_serves_the_higher_score_first_wherever_it_is_listed() -> None:
    """The first prediction reaches both people, the second, of a higher score, only one."""
    first, second = (0.0, 0.0, 9.0, 19.0), (4.0, 0.0, 13.0, 19.0)
    boxes = [(PERSON, first), (PERSON, second), (BICYCLE, ANNS)]
    rows = [
        ((2.0, 0.0, 11.0, 19.0), BICYCLE, ANNS, RIDE, 0.5),
        ((-1.0, 0.0, 8.0, 19.0), BICYCLE, ANNS, RIDE, 0.9),
    ]
    diagnosis = diagnosed(rows, boxes, [(0, 2, RIDE), (1, 2, RIDE)], "qahoi")
    assert labels(diagnosis) == ["true_positive", "true_positive"]
    assert assigned(diagnosis) == [1, 0]


def test_qahoi_finds_a_triplet_that_is_annotated_twice_twice() -> None:
    rows = [(ANN, BICYCLE, ANNS, RIDE, 0.9), (ANN, BICYCLE, ANNS, RIDE, 0.8)]
    twice = [(0, 2, RIDE), (0, 2, RIDE)]
    for name, second in (("qahoi", "true_positive"), ("hico-det", "duplicate")):
        assert labels(diagnosed(rows, truth=twice, name=name)) == ["true_positive", second]


def test_a_larger_union_lowers_the_overlap() -> None:
    boxes = [(PERSON, ANN), (BICYCLE, (0, 0, 19, 19))]
    rows = [(ANN, BICYCLE, (0, 0, 9, 19), RIDE, 0.9)]
    padded = protocol("hico-det", added_to_union=1e-6)
    for chosen, label in (("hico-det", "true_positive"), (padded, "object_box")):
        assert labels(diagnosed(rows, boxes, [(0, 1, RIDE)], chosen)) == [label]


def test_classes_without_annotation_count_zero_over_all_classes() -> None:
    rows = [(ANN, BICYCLE, ANNS, RIDE, 0.9)]
    scores = {
        name: diagnosed(rows, truth=TRUTH[:1], name=name).mean_ap["full"]
        for name in ("cmd-se", "cmd-se-600", "cmd-se-520")
    }
    assert scores == {"cmd-se": 1, "cmd-se-600": 1 / 600, "cmd-se-520": 1 / 520}


def test_upt_builds_its_recall_levels_from_both_ends() -> None:
    levels = protocol("upt").levels
    official = protocol("hico-det").levels
    assert levels is not None
    assert official is not None
    # A recall of 7/10 reaches the level here, and misses it in the official evaluator.
    assert (levels[7] <= 0.7, official[7] <= 0.7) == (True, False)
    assert (levels[3] <= 0.3, official[3] <= 0.3) == (False, False)


def test_protocols_are_only_used_on_their_data_sets() -> None:
    hico = scenes([image("a.jpg", BOXES, TRUTH)], scored=False)
    found = scenes([image("a.jpg", [], [])], scored=True)
    with pytest.raises(InputError, match="v-coco-s1 is not for hico-det; choose hico-det, hico-"):
        diagnose(hico, found, "v-coco-s1")
    v_coco = replace(hico, vocabulary=vocabulary("v-coco"))
    with pytest.raises(InputError, match="hico-det is not for v-coco; choose v-coco-s1, v-coco-s2"):
        diagnose(v_coco, replace(found, vocabulary=vocabulary("v-coco")), "hico-det")
    with pytest.raises(InputError, match="annotations are of v-coco, the predictions of hico-det"):
        diagnose(v_coco, found)


def test_a_diagnosis_needs_scenes_in_their_order() -> None:
    hico = scenes([image("a.jpg", BOXES, TRUTH)], scored=False)
    found = scenes([image("a.jpg", [], [])], scored=True)
    with pytest.raises(InputError, match="annotations: expected the path of a file or Scenes, f"):
        diagnose([], found)
    with pytest.raises(InputError, match="are swapped"):
        diagnose(found, hico)


@pytest.mark.parametrize(("boxes", "found"), [("inclusive", 1), ("continuous", 0)])
def test_official_figures_measure_boxes_in_their_own_way(boxes: str, found: int) -> None:
    # 100 of 200 pixels; edges 9 and 19 apart are 81 of 171.
    truth = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (50, 50, 59, 59))]
    row = ((0, 0, 9, 19), BICYCLE, (50, 50, 59, 59), RIDE, 0.9)
    chosen = protocol("hico-det", boxes=boxes)
    diagnosis = diagnosed([row], truth, [(0, 1, RIDE)], chosen)
    assert diagnosis.errors["true_positive"] == found
    assert diagnosis.official["default"]["full"] == 1


# Subjects that are no people, as in HOI-A and HOI-W: (human label, human box, object label, ...).


def with_subjects(rows: list[tuple[Any, ...]], truth: Any = TRUTH) -> Diagnosis:
    """Diagnose predictions given as (subject, object, verb, score), places in BOXES."""
    annotations = scenes([image("a.jpg", BOXES, truth)], scored=False)
    return diagnose(annotations, scenes([image("a.jpg", BOXES, rows)], scored=True))


def test_a_subject_that_is_no_person_is_a_wrong_human_box() -> None:
    # The car with a bicycle, with a bicycle that is nowhere, and right.
    far = [*BOXES, (BICYCLE, FAR)]
    annotations = scenes([image("a.jpg", BOXES, TRUTH)], scored=False)
    rows = [(4, 2, RIDE, 0.9), (4, 5, RIDE, 0.8), (0, 2, RIDE, 0.7)]
    diagnosis = diagnose(annotations, scenes([image("a.jpg", far, rows)], scored=True))
    assert labels(diagnosis) == ["human_box", "both_boxes", "true_positive"]
    assert [note for note in diagnosis.notes if "not a person" in note] == [
        "the subject of 2 predicted triplets is not a person (car 2): unless the annotations have "
        "the same triplet, the human box is wrong"
    ]


def test_an_annotated_subject_that_is_no_person_is_found_by_the_same() -> None:
    """The official evaluators compare the categories of both boxes, and ask no more."""
    truth = [(4, 2, RIDE), (0, 2, HOLD)]
    rows = [(4, 2, RIDE, 0.9), (4, 2, RIDE, 0.8), (4, 2, WASH, 0.7), (0, 2, RIDE, 0.6)]
    diagnosis = with_subjects(rows, truth)
    assert labels(diagnosis) == ["true_positive", "duplicate", "human_box", "action"]
    assert diagnosis.mean_ap["full"] is not None
    notes = [note for note in diagnosis.notes if "not a person" in note]
    assert notes[0] == (
        "the subject of 1 annotated triplet is not a person (car 1): only predictions with the "
        "same subject find them"
    )
    assert notes[1].startswith("the subject of 3 predicted triplets is not a person (car 3)")
    both = diagnosis + replace(diagnosis, names=np.char.add(diagnosis.names, "2"))
    assert sum("6 predicted triplets" in note for note in both.notes) == 1


def test_an_image_with_too_many_boxes_to_compare_is_refused() -> None:
    """With its name and their number, not after hours without a word."""
    boxes, triplets = [(PERSON, ANN), (BICYCLE, ANNS)], [(0, 1, RIDE)]
    crowd = boxes + [(PERSON, ANN)] * 40_000
    annotations = scenes([image("a.jpg", crowd, triplets)], scored=False)
    predictions = scenes([image("a.jpg", crowd, [(0, 1, RIDE, 0.5)])], scored=True)
    with pytest.raises(
        InputError, match=r"image 'a\.jpg': .* 40,002 predicted boxes .* 1,600,080,0"
    ):
        diagnose(annotations, predictions)
