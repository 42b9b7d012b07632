"""Answers of detectors, rule by rule."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import choice
from support.reference import iou
from support.scenes import BICYCLE, CAR, HOLD, NO_INTERACTION, PERSON, RIDE, WASH, image, scenes

from diaghoi import InputError, Scenes, read_predictions
from diaghoi.choice import read_questions
from diaghoi.choice.detect import Selection, detected_answers
from diaghoi.choice.questions import Question
from diaghoi.data.vocabulary import swig_hoi, v_coco

# Questions on HICO-DET count pixels from one, predictions from zero.
PERSON_BOX = (1, 1, 20, 20)
OBJECT_BOX = (31, 31, 50, 50)
BOXES = [
    (PERSON, (0, 0, 19, 19)),  # the person asked about
    (PERSON, (60, 0, 79, 19)),  # somebody else
    (BICYCLE, (30, 30, 49, 49)),
    (CAR, (30, 30, 49, 49)),
    (BICYCLE, (80, 80, 99, 99)),
]


def question(**more: Any) -> Any:
    given = {"human": PERSON_BOX, "object": OBJECT_BOX} | more
    return choice.asked([([choice.RIDE, choice.HOLD], [choice.WASH, choice.NOTHING])], **given)


def picked(triplets: list[tuple[Any, ...]], questions: Any = None, **more: Any) -> tuple[str, ...]:
    found = scenes([image("HICO_0.jpg", BOXES, triplets)], scored=True, source="det.pkl")
    return detected_answers(found, questions or question(), **more).answers[0].picked


OTHERS = [(1, 2, WASH, 0.99 - number / 100) for number in range(4)]
FIVE_BEST = [*OTHERS, (0, 2, RIDE, 0.9), (0, 2, HOLD, 0.8)]
ON_PERSON = [
    (0, 2, RIDE, 0.9),
    (1, 2, WASH, 0.99),
    *((0, 3, RIDE, 0.5 + number / 100) for number in range(4)),
    (0, 2, HOLD, 0.1),
]
BOTH_BOXES = [(0, 2, RIDE, 0.9), (0, 4, HOLD, 0.8)]


@pytest.mark.parametrize(
    ("triplets", "more", "expected"),
    [
        # Those on the person are matched to the options, those on others do not count.
        (
            [(0, 2, RIDE, 0.9), (0, 2, NO_INTERACTION, 0.8), (0, 3, HOLD, 0.7)],
            {},
            (choice.RIDE, choice.NOTHING),
        ),
        ([(1, 2, RIDE, 0.9)], {}, ()),
        ([(1, 2, RIDE, 0.9)], {"match": "scene"}, (choice.RIDE,)),
        # The object counts where pairs are asked for.
        (BOTH_BOXES, {}, (choice.RIDE, choice.HOLD)),
        (BOTH_BOXES, {"match": "pair"}, (choice.RIDE,)),
        # The five best of the image, or of those on the person.
        (FIVE_BEST, {}, (choice.RIDE,)),
        (FIVE_BEST, {"selection": Selection("top", 4)}, ()),
        (FIVE_BEST, {"selection": Selection("top", 6)}, (choice.RIDE, choice.HOLD)),
        (ON_PERSON, {"selection": Selection("top_question", 5)}, (choice.RIDE,)),
        (ON_PERSON, {"selection": Selection("top_question", 6)}, (choice.RIDE, choice.HOLD)),
        (
            [(0, 2, RIDE, 0.3), (0, 2, HOLD, 0.29)],
            {"selection": Selection("threshold", 0.3)},
            (choice.RIDE,),
        ),
        # Scores that are not numbers do not answer.
        ([(0, 2, RIDE, np.nan), (0, 2, HOLD, 0.1)], {}, (choice.HOLD,)),
    ],
)
def test_which_triplets_answer(triplets, more, expected) -> None:
    assert picked(triplets, **more) == expected


def test_boxes_are_met_at_half_overlap() -> None:
    # 20 x 20 pixels asked; 20 x 40 pixels found share exactly a half.
    half, less = (0, 0, 19, 39), (0, 0, 19, 40)
    for box, expected in ((half, (choice.RIDE,)), (less, ())):
        boxes = [(PERSON, box), (BICYCLE, (30, 30, 49, 49))]
        found = scenes([image("HICO_0.jpg", boxes, [(0, 1, RIDE, 0.9)])], scored=True)
        assert detected_answers(found, question()).answers[0].picked == expected


def test_questions_without_boxes_are_about_the_whole_image() -> None:
    assert picked([(1, 4, RIDE, 0.9)], question(human=None, object=None)) == (choice.RIDE,)


@pytest.mark.parametrize("way", ["top", "top_question", "top_all"])
def test_what_ties_with_the_last_of_the_best_answers_too(way: str) -> None:
    triplets = [(0, 2, HOLD, 0.5), (0, 2, RIDE, 0.5), (0, 2, NO_INTERACTION, 0.4)]
    selection = Selection(way, 1)
    for order in (triplets, triplets[::-1]):
        assert picked(order, selection=selection) == (choice.RIDE, choice.HOLD)
    selection = Selection(way, 9)
    assert picked([*triplets, (0, 2, WASH, np.nan)], selection=selection) == (
        choice.RIDE,
        choice.HOLD,
        choice.NOTHING,
    )


def test_the_best_of_the_test_set_are_ranked_over_all_images() -> None:
    triplets = [(0, 2, RIDE, 0.5)]
    other = image("elsewhere.jpg", BOXES, [(0, 2, WASH, 0.9), (0, 2, WASH, 0.8)])
    found = scenes([image("HICO_0.jpg", BOXES, triplets), other], scored=True)
    for top, expected in ((2, ()), (3, (choice.RIDE,))):
        selection = Selection("top_all", top)
        answers = detected_answers(found, question(), selection=selection)
        assert answers.answers[0].picked == expected


def test_what_is_missing_is_counted_and_named() -> None:
    found = scenes([image("HICO_0.jpg", BOXES, [(1, 2, RIDE, 0.5)])], scored=True, source="d.pkl")
    rows = [([choice.RIDE], [choice.HOLD])] * 2
    answers = detected_answers(found, choice.asked(rows, human=PERSON_BOX), label="d")
    assert [each.how for each in answers.answers] == ["detected", "missing"]
    assert answers.notes == (
        "d.pkl: 1 of 2 questions are on images without predictions and count as empty: HICO_1.jpg",
        "d.pkl: finds the person in 0 of 2 questions; the answers to all other questions are empty",
    )


def test_v_coco_words_its_actions_as_the_questions_do() -> None:
    words = v_coco()
    verbs = [words.verbs.index(verb) for verb in ("look obj", "sit instr", "hold agent")]
    boxes = [(PERSON, (0, 0, 20, 20)), (words.objects.index("bench"), (30, 30, 49, 49))]
    found = scenes([image("764", boxes, [(0, 1, verb, 0.5) for verb in verbs])], scored=True)
    rows = [(["look at a/an bench", "sit on a/an bench"], ["hold a/an bench"])]
    questions = choice.asked(
        rows, ["COCO_val2014_000000000764.jpg"], words=words, human=(0, 0, 20, 20)
    )
    answers = detected_answers(replace(found, vocabulary=words), questions)
    assert answers.answers[0].picked == ("look at a/an bench", "sit on a/an bench")


@pytest.mark.slow
def test_swig_hoi_asks_for_what_is_done_to_a_person() -> None:
    words = swig_hoi()
    hugging = words.verbs.index("hugging")
    boxes = [
        (words.person, (0, 0, 20, 20)),
        (words.person, (30, 30, 49, 49)),
        (words.person + 1, (5, 5, 9, 9)),
    ]
    questions = choice.asked([(["hugging"], ["kissing"])], ["a.jpg"], words, human=(0, 0, 20, 20))
    for thing, expected in ((1, ("hugging",)), (2, ())):
        found = scenes([image("a.jpg", boxes, [(0, thing, hugging, 0.5)])], scored=True)
        answers = detected_answers(replace(found, vocabulary=words), questions)
        assert answers.answers[0].picked == expected


def test_a_slip_of_the_pen_in_an_option_matches() -> None:
    asked = choice.asked([(["hold_ a/an Bicycle"], [choice.WASH])], human=PERSON_BOX)
    assert picked([(0, 2, HOLD, 0.5)], asked) == ("hold_ a/an Bicycle",)


def test_predictions_that_cannot_answer_are_refused() -> None:
    found = scenes([image("HICO_0.jpg", BOXES, [(0, 2, RIDE, 0.5)])], scored=True, source="d.pkl")
    for problem, columns in (
        ("none of the 1 images is asked about in quest", {"names": np.array(["x.jpg"])}),
        ("the images have no names", {"names": np.array([""])}),
        ("the triplets have no scores", {"triplet_score": None}),
        ("the detector gives no scores, so none", {"unread": np.zeros((1, 3), dtype=int)}),
        (
            "options name objects, but the predictions have no",
            {"box_label": np.full_like(found.box_label, -1)},
        ),
    ):
        with pytest.raises(InputError, match=rf"d\.pkl: {problem}"):
            detected_answers(replace(found, **columns), question())
    for match, questions, problem in (
        ("person", question(human=None), r"QA_0 has no box of the person; .* `match` scene"),
        ("pair", question(object=None), r"QA_0 has no box of the object; .* `match` person"),
        ("persn", question(), r"`match` persn \(did you mean 'person'\?\)"),
    ):
        with pytest.raises(InputError, match=problem):
            detected_answers(found, questions, match=match)  # type: ignore[arg-type]


def test_ways_to_choose_are_described() -> None:
    with pytest.raises(InputError, match="0 triplets: give at least 1"):
        Selection("top", 0)
    with pytest.raises(InputError, match="threshold nan: not a score; give a finite number"):
        Selection("threshold", float("nan"))
    assert Selection().description == "top 5 triplets of each image"
    assert Selection("top_question", 5).description == "top 5 triplets of each question"
    assert Selection("threshold", 0.25).description == "triplets with a score >= 0.25"
    assert Selection("top_all", 1000).description == "top 1,000 triplets of the test set"


def test_the_published_script_picks_the_same_options(shared, tmp_path) -> None:
    found = read_predictions(shared / "conformance/hico_det_diagnosis/one_stage_preds.pkl")
    columns = _published_layout(found)
    path = tmp_path / "hoi_pred.json"
    path.write_text(json.dumps(columns))
    read = read_predictions(path)
    for file, match in (("allscene", "scene"), ("hum_box", "person")):
        questions = read_questions(shared / f"data/choice/hicodet/crosshoi_bench_{file}_final.json")
        answers = detected_answers(read, questions, match=match).answers
        asked = [
            (each, answer.picked)
            for each, answer in zip(questions.questions, answers, strict=True)
            if each.image in columns
        ]
        differ = [
            each.image
            for each, picked in asked
            if set(picked) != _published_picks(columns[each.image], each, match == "person")
        ]
        assert len(asked) == 65
        # It counts the boxes of the questions from zero, and their edges are not pixels.
        assert len(differ) <= 1


def _published_layout(found: Scenes) -> dict[str, dict[str, list[Any]]]:
    words, boxes = found.vocabulary, found.box_xyxy.tolist()
    columns: dict[str, dict[str, list[Any]]] = {}
    for n, (pair, verb) in enumerate(zip(found.triplet_pair, found.triplet_verb, strict=True)):
        verb_name = words.verbs[verb].replace("no_interaction", "no_interaction with")
        thing = words.objects[found.pair_label[pair]].replace(" ", "_")
        row = {
            "h_boxes": boxes[found.pair_human[pair]],
            "o_boxes": boxes[found.pair_object[pair]],
            "ho_scores": float(found.scores[n]),
            "ao_names": f"{verb_name} a/an {thing}",
        }
        image = columns.setdefault(str(found.names[found.triplet_image[n]]), {})
        for key, value in row.items():
            image.setdefault(key, []).append(value)
    return columns


def _published_picks(image: dict[str, list[Any]], question: Question, on_person: bool) -> set[str]:
    """Options that the published script picks, written out as loops."""
    fifth = sorted(image["ho_scores"], reverse=True)[:5][-1]
    picks = set()
    for box, score, name in zip(
        image["h_boxes"], image["ho_scores"], image["ao_names"], strict=True
    ):
        near = not on_person or iou(box, question.human, 0) > 0.5
        if near and score >= fifth and name in question.options:
            picks.add(name)
    return picks
