"""How multiple-choice questions are put to a model."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.choice import HOLD, RIDE, WASH, asked

from diaghoi.choice import Questions, read_answers, read_questions
from diaghoi.choice.prompts import question_text, shown_order
from diaghoi.choice.questions import Question
from diaghoi.formats.pictures import Frame, message

FRAME = Frame(width=640, height=480)
OPTIONS = (RIDE, HOLD, WASH, "no_interaction with a/an bicycle")


def question(image: str = "a.jpg", name: str = "QA_0", count: int = 4) -> Question:
    options = tuple(f"option {number}" for number in range(count))
    return Question(image=image, name=name, right=options[:1], wrong=options[1:])


def test_the_order_depends_on_seed_image_and_question_alone() -> None:
    first = shown_order(question(), 0)
    for seed in (1, 0, 2, 0):
        shown_order(question("other.jpg"), seed)
    assert shown_order(question(), 0) == first
    assert Counter(first) == Counter(question().options)
    for differs in (
        lambda n: shown_order(question(), n),
        lambda n: shown_order(question(f"{n}.jpg"), 0),
        lambda n: shown_order(question(name=f"QA_{n}"), 0),
    ):
        assert len({differs(number) for number in range(200)}) == 24


def test_every_option_comes_to_every_place_equally_often() -> None:
    runs = 2400
    places = np.array([shown_order(question(f"{n}.jpg"), 0).index("option 0") for n in range(runs)])
    counts = np.bincount(places, minlength=4)
    assert ((counts - runs / 4) ** 2 / (runs / 4)).sum() < 16.3  # chi-square, p = 0.001


@pytest.mark.parametrize(("count", "fillers"), [(1, 3), (3, 1), (4, 0), (7, 0)])
def test_missing_options_are_filled_up_behind_the_others(count, fillers, tmp_path) -> None:
    shown = shown_order(question(count=count), 5)
    assert len(shown) == count + fillers
    assert shown[count:] == ("None",) * fillers
    line = {"image": "a.jpg", "options": shown, "reply": "none"}
    (tmp_path / "a.jsonl").write_text(json.dumps(line))
    questions = Questions(file="q.json", questions=(question(count=count),))
    (answer,) = read_answers(tmp_path / "a.jsonl", questions).answers
    assert answer.shown == shown[:count] + ("",) * fillers


def test_setting_1_asks_about_the_picture_in_the_published_words() -> None:
    lines = question_text(OPTIONS, FRAME).splitlines()
    assert lines[:6] == [
        "Question: Which of the following properly describes the interactions in the image?",
        "Choices:",
        "(A) ride a/an bicycle",
        "(B) hold a/an bicycle",
        "(C) wash a/an bicycle",
        "(D) no_interaction with a/an bicycle",
    ]
    text = question_text(("hug", "kiss"), FRAME)
    assert "best describes the human-human interactions in the image?" in text


def test_the_instruction_is_the_one_that_the_paper_prints_unless_another_is_given() -> None:
    text = question_text(OPTIONS, FRAME)
    (printed,) = text.splitlines()[6:]
    assert printed == (
        "IMPORTANT: Reply with the letter(s) ONLY, separated by commas if multiple. For example, "
        "if the correct answers are (A) and (B), your output must be: A,B. Do NOT include any "
        "brackets or other symbols."
    )
    own = question_text(OPTIONS, FRAME, instruction="Letters, please.")
    assert own == text.replace(printed, "Letters, please.")


def test_setting_2_tells_the_box_in_the_published_words() -> None:
    person = (9.6, 20, 300, 400)
    assert "in pixels of the picture, which is 640 wide and 480 high" in FRAME.words
    assert question_text(OPTIONS, FRAME, person=person).splitlines()[:4] == [
        "Context: You are given an image and a target person with a bounding box "
        "[10, 20, 300, 400].",
        f"Boxes are {FRAME.words}.",
        "Question: Which of the following describes the interactions between the target person and "
        "any object in the image?",
        "Choices:",
    ]
    both = question_text(OPTIONS, FRAME, person=person, object_box=(1, 2, 3, 4))
    assert both.splitlines()[:5] == [
        "Context: You are given an image and two bounding boxes:",
        "- Person bbox: [10, 20, 300, 400]",
        "- Object bbox: [1, 2, 3, 4]",
        f"Boxes are {FRAME.words}.",
        "Question: Which of the following properly describes the interaction between the person "
        "and the object?",
    ]


def test_thousandths_are_of_the_sides() -> None:
    frame = Frame(width=640, height=480, unit="thousandths")
    assert frame.written((64, 48, 640, 240)) == "[100, 100, 1000, 500]"
    assert frame.read([100, 100, 1000, 500]) == (64, 48, 640, 240)
    assert "in thousandths of the width and height" in frame.words
    text = question_text(OPTIONS, frame, person=(64, 48, 640, 240))
    assert f"[100, 100, 1000, 500].\nBoxes are {frame.words}.\nQuestion" in text


def test_verbs_alone_are_about_other_people() -> None:
    text = question_text(("hug", "kiss"), FRAME, person=(1, 2, 3, 4))
    assert (
        "Which of the following best describes the interactions between the target person and any "
        "other persons in the image?"
    ) in text
    both = question_text(("hug", "kiss"), FRAME, person=(1, 2, 3, 4), object_box=(5, 6, 7, 8))
    assert "two human bounding boxes:\n- Subject bbox: [1, 2, 3, 4]\n- Object bbox: [5" in both
    assert "best describes the human-human interaction between the subject and the object?" in both


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        ("no_interaction a/an sports ball", "no_interaction with a/an sports ball"),
        ("no_interaction with a/an sports ball", "no_interaction with a/an sports ball"),
        ("no_interaction with a/an sports_ball", "no_interaction with a/an sports ball"),
        ("no interaction with a/an sports ball", "no interaction with a/an sports ball"),
    ],
)
def test_no_interaction_is_written_in_one_way(option: str, shown: str) -> None:
    assert f"(A) {shown}\n" in question_text((option,), FRAME)


def test_right_options_are_not_told_from_wrong_ones() -> None:
    """Exchanging right and wrong changes the order at most."""
    one, other = asked([(OPTIONS[:2], OPTIONS[2:]), (OPTIONS[2:], OPTIONS[:2])]).questions
    texts = [question_text(shown_order(each, 0), FRAME) for each in (one, other)]
    lines = [sorted(line.partition(") ")[2] for line in text.splitlines()[2:6]) for text in texts]
    assert lines[0] == lines[1]


def test_a_message_holds_the_picture_and_the_text() -> None:
    ((sent),) = message("data:x", "Why?")
    picture = {"type": "image_url", "image_url": {"url": "data:x"}}
    assert sent == {"role": "user", "content": [picture, {"type": "text", "text": "Why?"}]}


@given(box=st.tuples(*[st.floats(0, 2000)] * 4), size=st.tuples(*[st.integers(1, 4000)] * 2))
def test_what_is_told_is_read_to_half_a_unit(box, size) -> None:
    for unit, step in (("pixels", 1.0), ("thousandths", max(size) / 1000)):
        frame = Frame(width=size[0], height=size[1], unit=unit)  # type: ignore[arg-type]
        numbers = [float(each) for each in frame.written(box)[1:-1].split(",")]
        assert np.abs(np.subtract(frame.read(numbers), box)).max() <= step / 2 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["hicodet", "vcoco", "swighoi"])
def test_all_published_questions_can_be_put_and_their_letters_read(shared, tmp_path, folder):
    for path in sorted((shared / "data" / "choice" / folder).glob("*.json")):
        questions, lines = read_questions(path), []
        for each in questions.questions:
            options = shown_order(each, 3)
            text = question_text(options, FRAME, person=each.human)
            assert text.count("\n(") == len(options)
            right = ["ABCDEFG"[place] for place, o in enumerate(options) if o in each.right]
            line = {"image": each.image, "question": each.name, "options": options}
            lines.append(json.dumps(line | {"reply": ",".join(right) or "none"}))
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        for each, answer in read_answers(tmp_path / "a.jsonl", questions).pairs:
            assert set(answer.picked) == set(each.right)
