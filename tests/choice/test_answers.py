"""Reading answers, and joining them to questions."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.choice import HOLD, NOTHING, OPTIONS, RIDE, WASH, asked

from diaghoi import InputError
from diaghoi.choice import Answers, read_answers
from diaghoi.choice.answers import load_answers

QUESTIONS = asked([([RIDE], [HOLD, WASH, NOTHING]), ([HOLD], [RIDE])])
FIRST = {"image": "HICO_0.jpg", "question": "QA_0", "options": list(OPTIONS), "reply": "A"}


def saved(tmp_path: Path, lines: Sequence[Any]) -> Path:
    path = tmp_path / "model.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def read(tmp_path: Path, *lines: Any) -> Answers:
    return read_answers(saved(tmp_path, lines), QUESTIONS)


def test_letters_are_of_the_order_shown(tmp_path: Path) -> None:
    line = FIRST | {"options": [NOTHING, RIDE, WASH, HOLD], "reply": "A,B"}
    answers = read(tmp_path, line)
    first, second = answers.answers
    assert (first.picked, first.places, first.how) == ((RIDE, NOTHING), (0, 1), "letters")
    assert (second.picked, second.how) == ((), "missing")
    assert answers.label == "model"
    assert "1 of 2 questions have no answer and count as empty: HICO_1.jpg QA_0" in answers.notes[0]


@pytest.mark.parametrize(
    ("lines", "picked", "places"),
    [
        # The name of the only question may be left out.
        ([{key: FIRST[key] for key in ("image", "options", "reply")}], (RIDE,), (0,)),
        ([{"image": "HICO_0.jpg", "chosen": [HOLD, "Ride the bicycle", HOLD]}], (RIDE, HOLD), ()),
        # A filler is no option.
        ([FIRST | {"options": [*OPTIONS, "None of the above"], "reply": "E"}], (), (4,)),
    ],
)
def test_one_line_is_read(tmp_path: Path, lines: list[Any], picked: Any, places: Any) -> None:
    answer = read(tmp_path, *lines).answers[0]
    assert (answer.picked, answer.places) == (picked, places)
    assert answer.how == ("chosen" if "chosen" in lines[0] else "letters")


def test_lists_and_the_layout_of_the_published_scorer_are_read(tmp_path: Path) -> None:
    path = tmp_path / "merged.json"
    path.write_text(json.dumps([FIRST]))
    assert read_answers(path, QUESTIONS).answers == read(tmp_path, FIRST).answers
    published = {"HICO_0.jpg": {"QA_0": [RIDE], "QA_0_reasoning": "A"}, "HICO_1.jpg": {}}
    path.write_text(json.dumps(published))
    answers = read_answers(path, QUESTIONS, label="other")
    assert [each.how for each in answers.answers] == ["chosen", "missing"]
    assert (answers.label, answers.answers[0].picked) == ("other", (RIDE,))


def test_what_cannot_be_read_is_listed(tmp_path: Path) -> None:
    second = {"image": "HICO_1.jpg", "options": [RIDE, HOLD], "reply": None}
    answers = read(tmp_path, FIRST | {"reply": "I am sorry."}, second)
    keys = ("image", "question", "reason", "reply")
    assert [tuple(each[key] for key in keys) for each in answers.unread] == [
        ("HICO_0.jpg", "QA_0", "refusal", "I am sorry."),
        ("HICO_1.jpg", "QA_0", "empty", ""),
    ]
    assert "2 of 2 replies have no readable choice and count" in answers.notes[0]
    assert answers.ways == {"refusal": 1, "empty": 1}


def test_an_option_that_stands_twice_is_picked_once(tmp_path: Path) -> None:
    questions = asked([([RIDE, HOLD], [HOLD])])
    line = FIRST | {"options": [HOLD, RIDE, HOLD], "reply": "A,C"}
    answer = read_answers(saved(tmp_path, [line]), questions).answers[0]
    assert (answer.picked, answer.places) == ((HOLD,), (0, 2))


def test_what_counts_neither_way_is_named(tmp_path: Path) -> None:
    answers = read(tmp_path, FIRST, FIRST | {"image": "other.jpg"}, FIRST | {"question": "QA_7"})
    others = "2 answers are to other questions and are left out: other.jpg QA_0, HICO_0.jpg QA_7"
    assert others in " ".join(answers.notes)
    answers = read(tmp_path, {"image": "HICO_0.jpg", "chosen": [RIDE, "fly a kite", "None"]})
    assert answers.answers[0].picked == (RIDE,)
    assert "1 chosen texts are not options of their question," in " ".join(answers.notes)


LINE = {"image": "HICO_0.jpg"}
BAD = [
    ([[3]], "entry 1: 3 is not a JSON object"),
    ([FIRST, FIRST], "line 2: image 'HICO_0.jpg': QA_0 is already answered, at line 1"),
    ([FIRST, {"imgae": "x", "reply": "A"}], r"line 2: 'image' is missing \(did you mean 'imgae'"),
    ([FIRST | {"image": 3}], "line 1: image: 3; give a name"),
    ([FIRST | {"question": 3}], "line 1: question: 3; give a name"),
    ([FIRST | {"reply": 3}], "line 1: reply: 3 is not text"),
    ([{"image": "HICO_1.jpg", "rply": "A"}], r"'reply' is missing \(did you mean 'rply'"),
    ([LINE], "line 1: 'reply' is missing; there are: image"),
    ([LINE | {"options": [*OPTIONS]}], "line 1: 'reply' is missing; there are: image, options"),
    ([LINE | {"options": [*OPTIONS]}] * 2, "line 1: 'reply' is missing"),
    ([{"imgae": "HICO_0.jpg", "reply": "A"}], r"line 1: 'image' is missing \(did you mean 'imgae'"),
    ([{"HICO_0.jpg": [RIDE]}], r"image 'HICO_0\.jpg': .*; give \{'QA_0': \[chosen options\]\}"),
    (
        [{"image": {"QA_0": []}}],
        "answers none of the 2 questions .* in the file is for image QA_0; give",
    ),
    ([FIRST | {"options": [*OPTIONS, *["None"] * 23]}], "options: a list of 27; .* at most 26"),
    ([FIRST | {"options": "ABC"}], "line 1: options: 'ABC'; give a list of option texts"),
    ([LINE | {"reply": "A"}], "line 1: 'options' is missing; there are: image, reply"),
    ([FIRST | {"options": ["ride a/an bycicle"]}], r"did you mean 'ride a/an bicycle'"),
    (
        [FIRST | {"options": [RIDE]}],
        "a list of 1; .* image 'HICO_0.jpg': QA_0 has the options ride a/an",
    ),
    ([LINE | {"chosen": "A"}], "line 1: chosen: 'A'; give a list of option texts"),
    ([FIRST | {"image": "no.jpg"}], "answers none of the 2 questions of questions.json; the first"),
    ([], "the file is empty"),
]


@pytest.mark.parametrize(("lines", "message"), BAD)
def test_bad_answers_are_named(tmp_path: Path, lines: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, *lines)
    assert "model.jsonl" in str(caught.value)


def test_a_message_counts_empty_lines_and_entries(tmp_path: Path) -> None:
    path, bad = tmp_path / "model.jsonl", FIRST | {"reply": 3}
    questions = asked([([RIDE, HOLD], [WASH, NOTHING])] * 2)
    path.write_text(f"\n{json.dumps(FIRST)}\n\n{json.dumps(bad | {'image': 'HICO_1.jpg'})}\n")
    with pytest.raises(InputError, match="line 4: reply: 3 is not text"):
        read_answers(path, questions)
    path.write_text(json.dumps([FIRST, bad | {"image": "HICO_1.jpg"}], indent=1))
    with pytest.raises(InputError, match="entry 2: reply: 3 is not text"):
        read_answers(path, questions)


def test_several_questions_of_an_image_must_be_told_apart(tmp_path: Path) -> None:
    questions = asked([([RIDE], [HOLD]), ([HOLD], [RIDE])], images=["HICO_0.jpg"] * 2)
    line = {"image": "HICO_0.jpg", "options": [RIDE, HOLD], "reply": "A"}
    with pytest.raises(InputError, match=r"line 1: question: missing; image 'HICO_0\.jpg' has"):
        read_answers(saved(tmp_path, [line]), questions)


def test_answers_are_told_from_predictions(tmp_path: Path) -> None:
    yes = [[FIRST], [{"image": "a.jpg", "chosen": []}]]
    assert all(load_answers(saved(tmp_path, lines)) for lines in yes)
    path = tmp_path / "other.json"
    for value in ({"a.jpg": {"QA_0": []}}, [FIRST]):
        path.write_text(json.dumps(value))
        assert load_answers(path) is not None
    for value in ({"a.jpg": 3}, [{"filename": "a.jpg"}], [3], {"annotation": [{}]}):
        path.write_text(json.dumps(value))
        assert load_answers(path) is None
    path.write_bytes(pickle.dumps([FIRST]))
    assert load_answers(path) is None
    assert load_answers(tmp_path) is None
    assert load_answers(tmp_path / "no.jsonl") is None  # named by the reader of predictions
