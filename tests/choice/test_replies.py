"""Replies as models write them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.choice import OPTIONS

from diaghoi.choice import read_reply
from diaghoi.choice.replies import UNREAD

NONE, REFUSAL, EMPTY, UNREADABLE = "none", "refusal", "empty", "unreadable"

LETTERS = [
    ("A", "A"),
    ("a", "A"),
    ("A.", "A"),
    ("(B)", "B"),
    ("'B'", "B"),
    ("[C]", "C"),
    ("**B**", "B"),
    ("*D*", "D"),
    ("`A`", "A"),
    ("$A$", "A"),
    ("_C_", "C"),
    ("A,B", "AB"),
    ("A, B", "AB"),
    ("B,A", "AB"),
    ("A,A,B", "AB"),
    ("A;B", "AB"),
    ("A/B", "AB"),
    ("A & C", "AC"),
    ("A + C", "AC"),
    ("A B", "AB"),
    ("AC", "AC"),
    ("ABD", "ABD"),
    ("A\nB\n", "AB"),
    ("- A\n- C", "AC"),
    ("1. A\n2. C", "AC"),
    ("b, c", "BC"),
    ("(A) (B)", "AB"),
    ("(A), (B), (D)", "ABD"),
    ("[A, C]", "AC"),
    ("A and C", "AC"),
    ("A AND C", "AC"),
    ("A, B, and D", "ABD"),
    ("A or B", "AB"),
    ("Both A and B", "AB"),
    ("A, B, C, D", "ABCD"),
    ("A through C", "ABC"),
    ("A to C", "ABC"),
    ("All of the above", "ABCD"),
    ("all", "ABCD"),
    ("All of the above except D", "ABC"),
    ("All of the above are correct for this picture of a man.", "ABCD"),
    ("Option B", "B"),
    ("Options A and D", "AD"),
    ("Ａ，Ｃ", "AC"),
    ("答案：A、B", "AB"),
    ("选A和C", "AC"),
    ("1, 3", "AC"),
    ("(2)", "B"),
    ("A, E", "A"),
    ("A,B</s>", "AB"),
    ("A,B<|im_end|>", "AB"),
    ("Assistant: A,B", "AB"),
    ('["A","C"]', "AC"),
    ('{"answer": ["B", "D"]}', "BD"),
    ('```json\n{"answer": "A,C"}\n```', "AC"),
    ('{"A": true, "B": false, "C": false, "D": true}', "AD"),
    ("<answer>A</answer>", "A"),
    ("<answer>A,B</answer>\nReasoning: C is wrong.", "AB"),
    ("<ANSWER> B </ANSWER>", "B"),
    ("Reasoning: he rides, so not D.\n<answer>A,B</answer>", "AB"),
    ("<answer>C</answer> No, wait. <answer>A</answer>", "A"),
    ("<answer>B", "B"),
    ("<think>Maybe D? Let me look at A.</think>\nB", "B"),
    ("<think>\nHmm.\n</think>\n\n<answer>C, D</answer>", "CD"),
    (r"\boxed{A, C}", "AC"),
    (r"The answer is $\boxed{\text{B}}$.", "B"),
    ("Answer: A, C", "AC"),
    ("My answer: b", "B"),
    ("The answer is a.", "A"),
    ("A correct answer is B", "B"),
    ("Final Answer: **B, D**", "BD"),
    ("The correct answer is B.", "B"),
    ("The correct answers are (A) and (C) because the person is riding.", "AC"),
    ("Let me think. The man sits. Therefore, the answer is A and B.", "AB"),
    ("A is likely. But B fits better.\nAnswer: B", "B"),
    ("The person holds it, so B.", "B"),
    ("I would choose A since he rides it.", "A"),
    ("I think B", "B"),
    ("Selected: A, B", "AB"),
    ("Looking at the image, a man rides.\n\nA,C", "AC"),
    ("A,C\n\nThe person rides and washes.", "AC"),
    ("A) ride a bicycle", "A"),
    ("A - ride a bicycle", "A"),
    ("A) hold a bicycle", "A"),
    ("B (hold a bicycle)", "B"),
    ("Option A: ride a bicycle", "A"),
    ("A. ride a/an bicycle\nC. wash a/an bicycle", "AC"),
    ("A: Yes\nB: No\nC: Yes\nD: No", "AC"),
    ("✓ A\n✗ B\n✓ C\n✗ D", "AC"),
    ("A ✅\nB ❌\nC ❌\nD ❌", "A"),
    ("A is correct, B is not.", "A"),
    ("Option A is incorrect. Option B is correct.", "B"),
    ("The incorrect options are B and D. The correct options are A and C.", "AC"),
    ("The answer is not A but C.", "C"),
    ("Neither A nor B. C is right.", "C"),
]
TEXTS = [
    ("ride a/an bicycle", "A"),
    ("Ride a bicycle.", "A"),
    ("hold the bicycle", "B"),
    ("no_interaction with a/an bicycle", "D"),
    ("The person is riding a bicycle.", "A"),
    ("A person is riding a bicycle and holding a bicycle.", "AB"),
    ("riding the red bicycle", "A"),
    ("She washes her bicycle", "C"),
    ("The person is riding a bicycle, not holding a bicycle.", "A"),
    ("Answer: A person is washing a bicycle", "C"),
]
NOTHING = [
    ("none of the above", NONE),
    ("None", NONE),
    ("None.", NONE),
    ("N/A", NONE),
    ("[]", NONE),
    ("None of these options apply.", NONE),
    ("There is no correct answer among them.", NONE),
    ("", EMPTY),
    ("   \n", EMPTY),
    ("<answer></answer>", EMPTY),
    ("?", EMPTY),
    ("<think>Maybe D and C", EMPTY),
    ("I'm sorry, but I can't help with that.", REFUSAL),
    ("I cannot determine the interaction from the image.", REFUSAL),
    ("As an AI language model, I am unable to view images.", REFUSAL),
    ("I don't know", REFUSAL),
    ("<answer>I cannot tell</answer>", REFUSAL),
    ("E", UNREADABLE),
    ("7", UNREADABLE),
    ("yes", UNREADABLE),
    ("A person is standing next to a bicycle.", UNREADABLE),
    ("The weather is fine.", UNREADABLE),
]


@pytest.mark.parametrize(("reply", "picked"), LETTERS)
def test_letters_are_read_as_models_write_them(reply: str, picked: str) -> None:
    reading = read_reply(reply, OPTIONS)
    assert (reading.how, "".join("ABCD"[place] for place in reading.picked)) == ("letters", picked)
    assert reading.how not in UNREAD


@pytest.mark.parametrize(("reply", "picked"), TEXTS)
def test_texts_of_options_stand_for_their_letters(reply: str, picked: str) -> None:
    reading = read_reply(reply, OPTIONS)
    assert (reading.how, "".join("ABCD"[place] for place in reading.picked)) == ("text", picked)


@pytest.mark.parametrize(("reply", "how"), NOTHING)
def test_nothing_is_picked_where_nothing_is_said(reply: str, how: str) -> None:
    reading = read_reply(reply, OPTIONS)
    assert (reading.how, reading.picked) == (how, ())
    assert (reading.how not in UNREAD) == (how == NONE)


def test_letters_go_as_far_as_the_options() -> None:
    many = [f"do{number} a/an thing" for number in range(9)]
    assert read_reply("G,I", many).picked == (6, 8)
    assert read_reply("G,I", many[:7]).picked == (6,)
    assert read_reply("I choose B", OPTIONS).picked == (1,)


def test_an_option_called_none_can_be_picked() -> None:
    reading = read_reply("None", ["signing", "giving", "None"])
    assert (reading.how, reading.picked) == ("text", (2,))


def test_options_of_single_verbs_are_found_in_a_sentence() -> None:
    verbs = ["hugging", "kissing", "calming", "examining"]
    assert read_reply("The man hugs and is kissing the woman.", verbs).picked == (0, 1)


def test_the_end_of_a_runaway_reply_counts() -> None:
    assert read_reply("I see a man. " * 50_000 + "\nAnswer: B", OPTIONS).picked == (1,)


HOSTILE = [
    "A " * 50_000,
    "<answer>" * 20_000,
    "\\boxed{" * 20_000,
    "not " * 50_000 + "A",
    "the answer is " * 20_000,
    "(" * 100_000,
    "riding a " * 20_000,
    "\n" * 100_000 + "A",
    "<think>" * 20_000,
    "\ufdfa" * 20_000,
    "\x00\ud800A",
]


@pytest.mark.parametrize("reply", HOSTILE, ids=[ascii(reply[:8]) for reply in HOSTILE])
def test_long_and_odd_replies_are_read_to_the_end(reply: str) -> None:
    assert set(read_reply(reply, OPTIONS).picked) <= {0, 1, 2, 3}


_WORDS = st.sampled_from(
    ["A", "B", "(C)", "D.", "answer", "is", "not", "the", "correct", ",", "\n", "<answer>",
     "</answer>", "\\boxed{", "}", "riding", "a", "bicycle", "none of the above", "I", "all", "1"]
)  # fmt: skip


@given(
    st.one_of(st.text(), st.lists(_WORDS, max_size=30).map(" ".join)),
    st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=26),
)
@example("", [" a/an "])
@example("A", ["\\", "(", "[", "*"])
def test_any_text_is_read_without_failing(reply: str, options: list[str]) -> None:
    reading = read_reply(reply, options)
    assert list(reading.picked) == sorted(set(reading.picked))
    assert all(0 <= place < len(options) for place in reading.picked)
    assert bool(reading.picked) <= (reading.how in ("letters", "text"))
    assert (reading.how in UNREAD) == (reading.how not in ("letters", "text", "none"))
