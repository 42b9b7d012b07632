"""Cases of each error: the right boxes, the right words, the worst first."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import v_coco
from support.scenes import (
    BICYCLE,
    CAR,
    EAT,
    HOLD,
    HUG,
    NO_INTERACTION,
    PERSON,
    RIDE,
    VOCABULARY,
    WASH,
    image,
    one_image,
    problems,
    scenes,
)

from diaghoi import Diagnosis, InputError, diagnose, protocol
from diaghoi.cases.cases import ERRORS, PER_IMAGE, Case, worst_cases
from diaghoi.cases.own_pairs import paired_with_itself
from diaghoi.cases.similarities import KINDS, Similarities
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import swig_hoi
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.evaluation.errors import LABELS
from diaghoi.formats.description import read_description

CARRY = VOCABULARY.verbs.index("carry")
# Two people with a bicycle each, and a car of nobody's.
ANN, BOB = (0.0, 0.0, 9.0, 19.0), (100.0, 0.0, 109.0, 19.0)
ANNS, BOBS = (10.0, 10.0, 29.0, 29.0), (110.0, 10.0, 129.0, 29.0)
SPARE = (50.0, 50.0, 89.0, 69.0)
FAR = (300.0, 300.0, 319.0, 319.0)
BOXES = [(PERSON, ANN), (PERSON, BOB), (BICYCLE, ANNS), (BICYCLE, BOBS), (CAR, SPARE)]
TRUTH = [(0, 2, RIDE), (1, 3, RIDE), (1, 3, HOLD)]
FOUND_BY_BOB = (BOB, BICYCLE, BOBS, RIDE, 0.75)


def cases(
    rows: list[tuple[Any, ...]],
    error: str,
    boxes: Any = BOXES,
    truth: Any = TRUTH,
    name: str = "hico-det-520",
    **options: Any,
) -> list[Case]:
    """Cases of predictions given as (human box, object label, object box, verb, score)."""
    annotations, predictions = one_image(rows, boxes, truth)
    diagnosis = diagnose(annotations, predictions, name)
    return worst_cases(diagnosis, annotations, predictions, error, **options)


def only(rows: list[tuple[Any, ...]], error: str, **options: Any) -> Case:
    found = cases(rows, error, **options)
    assert len(found) == 1
    return found[0]


# What each error looks like.


def test_a_true_positive() -> None:
    case = only([(ANN, BICYCLE, ANNS, RIDE, 0.75)], "true_positive")
    assert case == Case(
        error="true_positive",
        image="a.jpg",
        size=None,
        name="ride bicycle",
        score=0.75,
        human=ANN,
        object=ANNS,
        annotated="ride bicycle",
        annotated_human=ANN,
        annotated_object=ANNS,
        sentence="Both boxes are right (IoU 1.00 and 1.00), and 'ride bicycle' is annotated for "
        "this pair.",
        repair="stays as it is",
    )


def test_a_human_box_that_reaches_too_little() -> None:
    # Eight of Ann's twenty rows, and less than half as much.
    near = (0.0, 0.0, 9.0, 7.0)
    case = only([(near, BICYCLE, ANNS, WASH, 0.5)], "human_box")
    assert (case.name, case.human, case.object) == ("wash bicycle", near, ANNS)
    assert (case.annotated, case.annotated_human) == ("ride bicycle", ANN)
    assert case.sentence == (
        "The object box is right (IoU 1.00), but the human box reaches at most IoU 0.40 with any "
        "annotated person (0.5 is needed)."
    )
    assert case.repair == "becomes a true positive of ride bicycle (IoU 0.40 and 1.00)"


def test_a_subject_that_is_no_person_is_called_by_its_name() -> None:
    """Paired with its own box, it is not "one annotated person" either."""
    annotations = scenes([image("a.jpg", BOXES, TRUTH)], scored=False)
    car = [label for label, _ in BOXES].index(CAR)
    rows = [(car, 2, RIDE, 0.9), (car, car, WASH, 0.8)]
    predictions = scenes([image("a.jpg", BOXES, rows)], scored=True)
    diagnosis = diagnose(annotations, predictions)
    first, second = worst_cases(diagnosis, annotations, predictions, "human_box")
    said = (
        "The object box is right (IoU 1.00), but the subject is called car, not person; its box "
        "fits a box annotated as car (IoU 1.00)."
    )
    assert [first.sentence, second.sentence] == [said, said]
    assert paired_with_itself(diagnosis, annotations, predictions)["count"] == 0


def test_an_object_box_in_the_void_shows_the_triplet_of_its_human() -> None:
    case = only([(BOB, BICYCLE, FAR, RIDE, 0.5)], "object_box")
    assert (case.annotated, case.annotated_human) == ("ride bicycle", BOB)
    assert case.annotated_object == BOBS
    assert case.sentence.endswith("the object box overlaps no annotated bicycle.")


def test_an_object_of_another_category_is_named() -> None:
    rows = [(ANN, CAR, ANNS, WASH, 0.5)]
    case = only(rows, "object_box")
    assert case.sentence == (
        "The human box is right (IoU 1.00), but the object box overlaps no annotated car; it fits "
        "a box annotated as bicycle (IoU 1.00)."
    )
    without_car = only(rows, "object_box", boxes=BOXES[:4])
    assert without_car.sentence.endswith(
        "the object box fits a box annotated as bicycle (IoU 1.00); no box is annotated as car."
    )
    nowhere = only([(ANN, CAR, FAR, WASH, 0.5)], "object_box", boxes=BOXES[:4])
    assert nowhere.sentence.endswith("but no box is annotated as car.")


def test_two_wrong_boxes_show_what_they_are_near_to() -> None:
    near = (95.0, 0.0, 104.0, 19.0)
    case = only([(near, BICYCLE, FAR, RIDE, 0.5)], "both_boxes")
    assert (case.annotated, case.annotated_human, case.annotated_object) == (None, BOB, None)
    assert case.sentence == (
        "The human box reaches at most IoU 0.33 with any annotated person (0.5 is needed), and the "
        "object box overlaps no annotated bicycle."
    )
    assert case.repair == "is removed"


def test_boxes_in_an_image_without_annotations() -> None:
    boxes = [(PERSON, ANN), (BICYCLE, ANNS)]
    truth = scenes([image("a.jpg", BOXES, TRUTH)], scored=False)
    found = scenes(
        [image("a.jpg", [], []), image("b.jpg", boxes, [(0, 1, RIDE, 0.9)])], scored=True
    )
    (case,) = worst_cases(diagnose(truth, found), truth, found, "both_boxes")
    assert (case.image, case.sentence) == ("b.jpg", "Nothing is annotated in this image.")


def test_an_association_that_stands_for_a_triplet() -> None:
    case = only([FOUND_BY_BOB, (BOB, BICYCLE, ANNS, HOLD, 0.875)], "association")
    assert case.sentence == (
        "Both boxes are right (IoU 1.00 and 1.00), but no annotated triplet joins them."
    )
    assert (case.annotated, case.annotated_object) == ("ride bicycle", BOBS)
    assert case.repair == (
        "becomes a true positive of ride bicycle (IoU 1.00 and 0.00), in place of the true "
        "positive with score 0.75"
    )


def test_a_person_who_is_paired_with_himself() -> None:
    lower = (0.0, 1.0, 9.0, 20.0)
    rows: list[tuple[Any, ...]] = [(ANN, PERSON, lower, HUG, 0.9), (ANN, PERSON, BOB, HUG, 0.8)]
    alone, two = cases(rows, "association")
    assert alone.sentence == (
        "Both boxes are those of one annotated person (IoU 1.00 and 0.90), who is paired with "
        "himself or herself."
    )
    assert two.sentence.startswith("Both boxes are right (IoU 1.00 and 1.00), but no annotated")


def test_an_association_that_stands_for_nothing_shows_the_boxes_that_it_reaches() -> None:
    # Ann's only triplet is found by something better.
    case = only([(ANN, BICYCLE, ANNS, RIDE, 0.9), (ANN, BICYCLE, BOBS, RIDE, 0.8)], "association")
    assert (case.annotated, case.annotated_human, case.annotated_object) == (None, ANN, BOBS)
    assert case.repair == "is removed"


def test_an_action_names_those_that_are_annotated() -> None:
    case = only([(BOB, BICYCLE, BOBS, WASH, 0.5)], "action")
    assert case.sentence == (
        "The boxes match an annotated pair (IoU 1.00 and 1.00), but 'wash' is not annotated "
        "for it, only 'ride', 'hold'."
    )
    assert case.annotated == "ride bicycle"


def test_an_action_names_those_of_all_pairs_that_its_boxes_reach() -> None:
    """HICO-DET annotates the boxes of a pair anew for every verb."""
    again = [(PERSON, (0.0, 1.0, 9.0, 19.0)), (BICYCLE, (10.0, 10.0, 28.0, 29.0))]
    truth = [*TRUTH, (5, 6, HOLD), (5, 6, CARRY)]
    case = only([(ANN, BICYCLE, ANNS, WASH, 0.5)], "action", boxes=[*BOXES, *again], truth=truth)
    assert case.sentence == (
        "The boxes match 3 annotated triplets (the best with IoU 1.00 and 1.00), but "
        "'wash' is annotated in none of them, only 'ride', 'hold', 'carry'."
    )
    assert case.repair == "becomes a true positive of ride bicycle (IoU 1.00 and 1.00)"


def test_an_action_may_stand_for_a_pair_that_its_boxes_do_not_reach() -> None:
    rows = [(ANN, BICYCLE, ANNS, RIDE, 0.9), (ANN, BICYCLE, ANNS, WASH, 0.8)]
    case = only(rows, "action", truth=[*TRUTH, (0, 3, HOLD)])
    assert case.sentence.endswith("'wash' is not annotated for it, only 'ride'.")
    assert case.repair == (
        "becomes a true positive of hold bicycle (IoU 1.00 and 0.00), for a pair that the "
        "predicted boxes do not reach"
    )


def test_an_action_that_stands_for_nothing_shows_its_pair() -> None:
    rows = [(ANN, BICYCLE, ANNS, RIDE, 0.9), (ANN, BICYCLE, ANNS, WASH, 0.8)]
    # no_interaction is not among the classes of the protocol.
    truth = [*TRUTH, (0, 2, NO_INTERACTION)]
    case = only(rows, "action", truth=truth)
    assert (case.annotated, case.annotated_human, case.annotated_object) == (None, ANN, ANNS)
    assert case.sentence.endswith("'wash' is not annotated for it, only 'ride'.")


def test_a_duplicate_shows_the_triplet_that_it_repeats_also_where_it_stands_for_another() -> None:
    # The second one is assigned to Bob's holding, which its oracle does not care for.
    rows = [FOUND_BY_BOB, (BOB, BICYCLE, BOBS, RIDE, 0.5)]
    case = only(rows, "duplicate")
    assert case.sentence == (
        "A prediction that ranks higher (score 0.75) has already found 'ride bicycle' for this "
        "pair."
    )
    assert (case.annotated, case.annotated_human) == ("ride bicycle", BOB)
    assert case.repair == "is removed"


def test_a_missed_triplet_says_how_close_predictions_come() -> None:
    truth = [(0, 2, RIDE), (1, 3, RIDE)]
    case = only([FOUND_BY_BOB], "missed_gt", truth=truth)
    assert case == Case(
        error="missed_gt",
        image="a.jpg",
        size=None,
        name=None,
        score=None,
        human=None,
        object=None,
        annotated="ride bicycle",
        annotated_human=ANN,
        annotated_object=ANNS,
        sentence="Nothing finds this triplet, and no wrong prediction is assigned to it: no "
        "person box of a predicted pair overlaps the annotated box and no bicycle box of a "
        "predicted pair overlaps the annotated box.",
        repair="no longer counts among the annotated triplets of ride bicycle",
    )
    (case, _) = cases([], "missed_gt")
    assert case.sentence.endswith("is assigned to it: the image has no predicted triplet.")
    near = (0.0, 0.0, 9.0, 7.0)
    case = only([(near, CAR, SPARE, WASH, 0.5)], "missed_gt", truth=[(0, 2, RIDE)])
    assert case.sentence.endswith(
        "the best person box of a predicted pair reaches IoU 0.40 and no bicycle box is in a "
        "predicted pair."
    )


def test_overlap_is_rounded_unless_it_would_seem_enough() -> None:
    # 499 of 1000 pixels: not enough, and not to be shown as 0.50.
    boxes = [(PERSON, (0.0, 0.0, 9.0, 99.0)), (BICYCLE, ANNS)]
    rows = [((0.0, 0.0, 9.0, 48.9), BICYCLE, ANNS, RIDE, 0.5)]
    case = only(rows, "human_box", boxes=boxes, truth=[(0, 1, RIDE)])
    assert "at most IoU 0.499 with" in case.sentence
    better = [((0.0, 0.0, 9.0, 85.7), BICYCLE, FAR, RIDE, 0.5)]
    case = only(better, "object_box", boxes=boxes, truth=[(0, 1, RIDE)])
    assert case.sentence.startswith("The human box is right (IoU 0.87), but")
    touching = [((0.0, 99.0, 9.0, 198.0), BICYCLE, ANNS, RIDE, 0.5)]
    case = only(touching, "human_box", boxes=boxes, truth=[(0, 1, RIDE)])
    assert "reaches less than IoU 0.01 with any annotated person (0.5 is needed)" in case.sentence
    half = [((0.0, 0.0, 9.0, 49.0), BICYCLE, ANNS, RIDE, 0.5)]
    case = only(half, "human_box", boxes=boxes, truth=[(0, 1, RIDE)], name="upt")
    assert "(more than 0.5 is needed)" in case.sentence


# Which are chosen.


def many(images: int, truth: bool = False) -> list[dict[str, Any]]:
    """Images of which each has three duplicates; scores fall from image to image."""
    boxes = [(PERSON, ANN), (BICYCLE, ANNS)]
    described = []
    for number in range(images):
        score = 0.9 - number / 100
        rows = [(0, 1, RIDE)] if truth else [(0, 1, RIDE, score - n / 1000) for n in range(4)]
        described.append(image(f"{number}.jpg", boxes, rows))
    return described


def test_the_most_confident_come_first_and_few_of_one_image() -> None:
    annotations, predictions = scenes(many(5, True), scored=False), scenes(many(5), scored=True)
    diagnosis = diagnose(annotations, predictions)
    found = worst_cases(diagnosis, annotations, predictions, "duplicate", top=7)
    assert [case.image for case in found] == [f"{n // PER_IMAGE}.jpg" for n in range(7)]
    assert [case.score for case in found[:3]] == pytest.approx([0.899, 0.898, 0.889])
    assert len(worst_cases(diagnosis, annotations, predictions, "duplicate")) == 5 * PER_IMAGE


def test_equal_scores_keep_the_order_of_the_input() -> None:
    rows = [(FAR, CAR, FAR, WASH, 0.5), (FAR, BICYCLE, FAR, RIDE, 0.5)]
    assert [case.name for case in cases(rows, "both_boxes")] == ["wash car", "ride bicycle"]


def test_cases_of_a_detector_without_scores_have_none() -> None:
    """Its file has no scores; those that fill the table must not be shown."""
    boxes = [(PERSON, ANN), (BICYCLE, ANNS), (BICYCLE, FAR)]
    annotations = scenes([image("a.jpg", boxes[:2], [(0, 1, RIDE)])], scored=False)
    triplets = [(0, 2, RIDE, 1.0), (0, 1, RIDE, 1.0)]
    predictions = scenes([image("a.jpg", boxes, triplets)], scored=True)
    predictions = replace(predictions, unread=np.zeros((1, 3), dtype=np.int64))
    diagnosis = diagnose(annotations, predictions)
    (case,) = worst_cases(diagnosis, annotations, predictions, "object_box")
    assert (case.name, case.score) == ("ride bicycle", None)
    assert "score" not in f"{case.sentence} {case.repair}"
    assert case.repair.endswith("in place of the true positive that found it")


def test_missed_triplets_of_the_best_classes_come_first() -> None:
    boxes = [(PERSON, ANN), (BICYCLE, ANNS)]
    annotated = [
        image("a.jpg", boxes, [(0, 1, HOLD)]),
        image("b.jpg", boxes, [(0, 1, RIDE)]),
        image("c.jpg", boxes, [(0, 1, RIDE)]),
    ]
    found = [image("a.jpg", [], []), image("b.jpg", [], [])]
    found.append(image("c.jpg", boxes, [(0, 1, RIDE, 0.5)]))
    truth, predicted = scenes(annotated, scored=False), scenes(found, scored=True)
    missed = worst_cases(diagnose(truth, predicted), truth, predicted, "missed_gt")
    assert [case.annotated for case in missed] == ["ride bicycle", "hold bicycle"]


def test_one_class() -> None:
    rows = [(FAR, CAR, FAR, WASH, 0.5), (FAR, BICYCLE, FAR, RIDE, 0.25)]
    truth = scenes([image("a.jpg", BOXES, TRUTH)], scored=False)
    ride = int(truth.triplet_class[0])
    assert only(rows, "both_boxes", hoi=ride).name == "ride bicycle"
    missed = cases(rows, "missed_gt", hoi=ride)
    assert [case.annotated for case in missed] == ["ride bicycle"] * 2


def test_images_are_found_again_whatever_their_order_and_number() -> None:
    names = [f"{n}.jpg" for n in range(4)]
    annotations = scenes(
        [image(name, [(PERSON, ANN), (BICYCLE, ANNS)], [(0, 1, RIDE)]) for name in names],
        scored=False,
        sizes=np.array([[100 + n, 200] for n in range(4)]),
    )
    boxes = [(PERSON, ANN), (BICYCLE, FAR)]
    predictions = scenes(
        [
            image("3.jpg", boxes, [(0, 1, EAT, 0.9), (0, 1, RIDE, 0.2)]),
            image("x.jpg", boxes, []),
            image("1.jpg", boxes, [(0, 1, RIDE, 0.4)]),
        ],
        scored=True,
    )
    diagnosis = diagnose(annotations, predictions)
    found = worst_cases(diagnosis, annotations, predictions, "object_box")
    assert [(case.image, case.size, case.score) for case in found] == [
        ("1.jpg", (101, 200), 0.4),
        ("3.jpg", (103, 200), 0.2),
    ]
    missed = worst_cases(diagnosis, annotations, predictions, "missed_gt")
    assert [(case.image, case.size) for case in missed] == [
        ("0.jpg", (100, 200)),
        ("2.jpg", (102, 200)),
    ]


def test_an_unknown_size_is_none() -> None:
    described = [image("a.jpg", BOXES, TRUTH)]
    annotations = scenes(described, scored=False, sizes=np.zeros((1, 2), dtype=int))
    predictions = scenes([image("a.jpg", [], [])], scored=True, sizes=np.array([[640, 480]]))
    diagnosis = diagnose(annotations, predictions)
    assert worst_cases(diagnosis, annotations, predictions, "missed_gt")[0].size == (640, 480)
    predictions = replace(predictions, sizes=None)
    assert worst_cases(diagnosis, annotations, predictions, "missed_gt")[0].size is None


# Whatever the scenes are.


@given(problems(), st.sampled_from(["hico-det", "hico-det-520", "diag-hoi", "upt"]))
def test_every_error_can_be_told(problem: tuple[Scenes, Scenes], name: str) -> None:
    check(diagnose(*problem, name), *problem)


@given(v_coco.problems(), st.sampled_from([1, 2]))
def test_every_error_can_be_told_of_v_coco(problem, scenario) -> None:
    truth, found = v_coco.annotations(problem[0]), v_coco.predictions(problem[1])
    check(diagnose_images(truth, found, protocol(f"v-coco-s{scenario}")), truth, found)


def check(diagnosis: Diagnosis, truth: Scenes, found: Scenes) -> None:
    ledger = diagnosis.ledger
    for error in (*LABELS, "missed_gt"):
        cases = worst_cases(diagnosis, truth, found, error)
        assert bool(cases) == bool(diagnosis.errors[error])
        assert len(cases) <= diagnosis.errors[error]
        scores = [case.score for case in cases if case.score is not None]
        assert all(first >= second for first, second in pairwise(scores))
        for case in cases:
            assert (case.name is None) == (error == "missed_gt")
            assert "-1" not in case.sentence
            assert case.sentence.endswith(".")
            if "becomes" in case.repair:
                assert str(case.annotated) in case.repair
        if error != "missed_gt" and cases:
            assert cases[0].score == ledger.row_score[ledger.row_label == LABELS.index(error)].max()


# Data sets.


PERSON_BOX, OTHER = (0, 0, 9, 9), (30, 0, 39, 9)
CUP, VOID = (20, 0, 29, 9), (60, 60, 69, 69)
V_COCO = [
    {
        "people": [
            {"box": PERSON_BOX, "doing": {"hold": [0]}, "ignored": False},
            {"box": OTHER, "doing": {"sit": [-1]}, "ignored": False},
        ],
        "things": [CUP],
    }
]


@pytest.mark.parametrize(
    ("box", "verb", "role", "error", "words"),
    [
        (PERSON_BOX, "hold obj", CUP, "true_positive", "the object box fits (IoU 1.00), and 'hold"),
        (OTHER, "sit instr", None, "true_positive", "(IoU 1.00), no object box is annotated, and"),
        (PERSON_BOX, "sit instr", None, "action", "annotated for this person, only 'hold obj'."),
        (PERSON_BOX, "hold obj", OTHER, "association", "fits a box annotated as person (IoU 1.00)"),
        (PERSON_BOX, "hold obj", OTHER, "association", "annotated object is a different one (IoU"),
        (PERSON_BOX, "hold obj", PERSON_BOX, "association", "object box fits the same person (IoU"),
        (OTHER, "hold obj", CUP, "association", "but 'hold obj' is not annotated for this person"),
        (OTHER, "sit instr", CUP, "association", "but the annotation has no object box"),
        (CUP, "hold obj", CUP, "association", "overlaps no annotated person, but fits a box annot"),
        (PERSON_BOX, "hold obj", VOID, "object_box", "object box overlaps no annotated box."),
        (PERSON_BOX, "hold obj", None, "object_box", "but no object box is predicted where one is"),
        (VOID, "hold obj", CUP, "human_box", "overlaps no annotated person; the object box"),
        ((3, 0, 19, 9), "sit instr", None, "human_box", "(IoU 0.35); there is no object box."),
        ((33, 0, 49, 9), "sit instr", CUP, "both_boxes", "(IoU 0.35), and the annotation has no"),
        ((3, 0, 19, 9), "hold obj", None, "both_boxes", "and no object box is predicted where"),
        (VOID, "hold obj", None, "both_boxes", "so no object box can be right."),
    ],
)  # fmt: skip
def test_v_coco(box: Any, verb: str, role: Any, error: str, words: str) -> None:
    found = v_coco.predictions([[{"box": box, "scores": {verb: (role, 0.5)}}]])
    truth = v_coco.annotations(V_COCO)
    # As in HICO-DET, names tell images apart.
    truth, found = (replace(each, names=np.array(["165"])) for each in (truth, found))
    (case,) = worst_cases(diagnose(truth, found, "v-coco-s1"), truth, found, error)
    assert words in case.sentence
    assert (case.name, case.human) == (verb, box)
    assert case.object == role


def test_v_coco_counts_people_and_roles_alone() -> None:
    rows = [{"box": PERSON_BOX, "scores": {"hold agent": (None, 0.5), "hold obj": (None, 0.4)}}]
    truth, found = v_coco.annotations(V_COCO), v_coco.predictions([rows])
    diagnosis = diagnose(truth, found)
    assert [c.name for c in worst_cases(diagnosis, truth, found, "object_box")] == ["hold obj"]
    missed = worst_cases(diagnosis, truth, found, "missed_gt")
    assert [(c.annotated, c.annotated_object) for c in missed] == [("sit instr", None)]
    assert missed[0].sentence.endswith(
        "is assigned to it: no human box of a predicted pair overlaps the annotated box."
    )


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ((28, 8, 36, 16), "the best object box of a predicted pair reaches IoU 0.02."),
        (VOID, "no object box of a predicted pair overlaps the annotated box."),
        (
            (-100, -100, 20, 0),
            "the best object box of a predicted pair reaches less than IoU 0.01.",
        ),
    ],
)
def test_v_coco_roles_without_a_box_are_no_boxes_near_a_missed_triplet(role: Any, words: str):
    """A prediction without an object box stands beside one with a box."""
    rows = [
        {"box": VOID, "scores": {"sit instr": (None, 0.5)}},
        {"box": (70, 60, 79, 69), "scores": {"hold obj": (role, 0.4)}},
    ]
    truth, found = v_coco.annotations(V_COCO), v_coco.predictions([rows])
    missed = worst_cases(diagnose(truth, found), truth, found, "missed_gt")
    (case,) = [case for case in missed if case.annotated == "hold obj"]
    assert case.sentence.endswith(
        f"no human box of a predicted pair overlaps the annotated box and {words}"
    )


@pytest.mark.parametrize("kind", ["swig-hoi", "described"])
def test_other_data_sets(kind: str, tmp_path: Any) -> None:
    if kind == "swig-hoi":
        words = swig_hoi()
        hoi = int(np.flatnonzero(words.evaluated)[0])
    else:
        path = tmp_path / "own.toml"
        path.write_text('name = "own"\nobjects = ["person", "tea_cup"]\nverbs = ["lift_up"]\n')
        words, hoi = read_description(path), 1
    thing, verb = int(words.class_object[hoi]), int(words.class_verb[hoi])
    boxes = [(words.person, ANN), (thing, ANNS)]
    truth = replace(scenes([image("a", boxes, [(0, 1, verb)])], scored=False), vocabulary=words)
    boxes[1] = (thing, FAR)
    found = replace(scenes([image("a", boxes, [(0, 1, verb, 0.5)])], scored=True), vocabulary=words)
    (case,) = worst_cases(diagnose(truth, found), truth, found, "object_box")
    name = words.class_name(hoi)
    assert (case.name, case.annotated) == (name, name)
    assert case.repair == f"becomes a true positive of {name} (IoU 1.00 and 0.00)"
    assert f"overlaps no annotated {words.objects[thing].replace('_', ' ')}." in case.sentence


# What cannot be answered.


def test_questions_that_have_no_answer() -> None:
    for error, options, message in (
        ("asociation", {}, r"error 'asociation': .* \(did you mean 'association'.*give one of"),
        ("false_positive", {}, "error 'false_positive': has no cases"),
        ("action", {"hoi": 600}, "hoi 600: the classes of hico-det are 0 to 599"),
        ("action", {"hoi": -1}, "hoi -1: "),
        ("action", {"top": 0}, "top 0: the number of cases must be at least 1"),
    ):
        with pytest.raises(InputError, match=message):
            cases([FOUND_BY_BOB], error, **options)


def test_a_sum_or_another_diagnosis_is_refused() -> None:
    annotated, found = many(4, True), many(4)
    parts = [
        (scenes(annotated[half], scored=False), scenes(found[half], scored=True))
        for half in (slice(0, 2), slice(2, 4))
    ]
    whole = scenes(annotated, scored=False), scenes(found, scored=True)
    message = "it is a sum; cases need the result of a single diagnose"
    # The second half knows rows by their place in its own file.
    total = diagnose(*parts[1]) + diagnose(*parts[0])
    with pytest.raises(InputError, match=message):
        worst_cases(total, *whole, "duplicate")
    with pytest.raises(InputError, match=message):
        worst_cases(diagnose(*parts[0]), *parts[1], "duplicate")
    other = replace(whole[1], triplet_score=whole[1].scores[::-1].copy())
    with pytest.raises(InputError, match=message):
        worst_cases(diagnose(*whole), whole[0], other, "duplicate")


def test_a_sum_that_left_rows_out_is_refused() -> None:
    # `eat bicycle` is no class, so the rows of the ledger are not those of the file.
    boxes = [(PERSON, ANN), (BICYCLE, FAR)]
    truth = scenes([image("a.jpg", BOXES, TRUTH), image("b.jpg", BOXES, TRUTH)], scored=False)
    rows = [(0, 1, EAT, 0.9), (0, 1, RIDE, 0.8)]
    found = scenes([image("a.jpg", boxes, rows), image("b.jpg", boxes, rows)], scored=True)
    parts = [diagnose(truth.between(n, n + 1), found.between(n, n + 1)) for n in (0, 1)]
    with pytest.raises(InputError, match="or it is a sum"):
        worst_cases(Diagnosis.sum(parts), truth, found, "object_box")


def test_the_fields_of_a_case_and_the_errors() -> None:
    assert [field.name for field in fields(Case)] == [
        *("error", "image", "size", "name", "score", "human", "object"),
        *("annotated", "annotated_human", "annotated_object", "sentence", "repair"),
        *("repaired", "similarity", "kind", "meant"),
    ]
    assert (*LABELS[1:], "missed_gt") == ERRORS


# How similar they are.

WRONG_VERBS = [(BOB, BICYCLE, BOBS, WASH, 0.9), (BOB, BICYCLE, BOBS, EAT, 0.8)]


def similar(values: list[float], kinds: list[str], meant: list[int]) -> Similarities:
    return Similarities(
        value=np.array(values),
        kind=np.array([list(KINDS).index(kind) if kind else -1 for kind in kinds]),
        meant=np.array(meant),
        names=("hold bicycle",),
        sigma="sigma = S_v",
        tables={"verbs": {"name": "v", "source": "v.csv"}},
    )


def test_cases_tell_how_similar_they_are_to_what_is_annotated() -> None:
    rows = [*WRONG_VERBS[:1], (ANN, BICYCLE, FAR, WASH, 0.7), (BOB, BICYCLE, BOBS, HOLD, 0.6)]
    known = similar([0.875, np.nan, np.nan], ["near", "nothing", ""], [0, -1, -1])
    case = only(rows, "action", similarities=known)
    assert (case.similarity, case.kind, case.meant) == (0.875, "near", "hold bicycle")
    plain = only(rows, "action")
    assert case.sentence == f"{plain.sentence} Similarity to hold bicycle 0.875: near."
    (case,) = cases(rows, "object_box", similarities=known)
    assert (case.similarity, case.kind, case.meant) == (None, "nothing", None)
    assert case.sentence.endswith("No annotated triplet is near enough to compare.")
    # What is right is not compared, and what is missed is no prediction.
    assert only(rows, "true_positive", similarities=known).kind is None
    missed = cases(rows[:1], "missed_gt", similarities=similar([0.875], ["near"], [0]))
    assert [case.kind for case in missed] == [None, None]


def test_cases_of_some_kinds_alone() -> None:
    rows = [(BOB, BICYCLE, BOBS, verb, 0.9 - n / 10) for n, verb in enumerate((WASH, CARRY, RIDE))]
    known = similar([0.1, 0.9, np.nan], ["wrong", "near", ""], [0, 0, -1])

    def names(*kinds: str) -> list[str | None]:
        return [each.name for each in cases(rows, "action", similarities=known, kinds=kinds)]

    assert names() == names("near", "wrong") == ["wash bicycle", "carry bicycle"]
    assert names("near") == ["carry bicycle"]
    assert names("plausible") == []


def test_kinds_need_similarities_of_these_predictions() -> None:
    known = similar([0.1], ["wrong"], [0])
    with pytest.raises(InputError, match="kinds near: only the errors action and object_box"):
        cases(WRONG_VERBS[:1], "action", kinds=("near",))
    with pytest.raises(InputError, match="have a kind; give one of these errors"):
        cases(WRONG_VERBS[:1], "duplicate", similarities=known, kinds=("near",))
    with pytest.raises(
        InputError, match="are of 1 predicted triplets, but the predictions have 2: give"
    ):
        cases(WRONG_VERBS, "action", similarities=known)
    with pytest.raises(InputError, match=r"kind 'nar': not known \(did you mean 'near'\?\)"):
        cases(WRONG_VERBS[:1], "action", similarities=known, kinds=("nar",))
