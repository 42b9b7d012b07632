"""Replies as models write them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.choice import OPTIONS

from diaghoi.choice import read_reply
from diaghoi.choice.replies import UNREAD

NONE, REFUSAL, EMPTY, UNREADABLE = "none", "refusal", "empty", "unreadable"

LETTERS = {
    "A": [
        "A", "a", "A.", "`A`", "$A$", "A, E", "<answer>A</answer>",
        "<answer>C</answer> No, wait. <answer>A</answer>", "The answer is a.",
        "I would choose A since he rides it.", "A) ride a bicycle", "A - ride a bicycle",
        "A) hold a bicycle", "Option A: ride a bicycle", "A ✅\nB ❌\nC ❌\nD ❌",
        "A is correct, B is not.",
    ],
    "B": [
        "(B)", "'B'", "**B**", "Option B", "(2)", "<ANSWER> B </ANSWER>", "<answer>B",
        "<think>Maybe D? Let me look at A.</think>\nB", r"The answer is $\boxed{\text{B}}$.",
        "My answer: b", "A correct answer is B", "The correct answer is B.",
        "A is likely. But B fits better.\nAnswer: B", "The person holds it, so B.", "I think B",
        "B (hold a bicycle)", "Option A is incorrect. Option B is correct.",
    ],
    "C": ["[C]", "_C_", "The answer is not A but C.", "Neither A nor B. C is right."],
    "D": ["*D*"],
    "AB": [
        "A,B", "A, B", "B,A", "A,A,B", "A;B", "A/B", "A B", "A\nB\n", "(A) (B)", "A or B",
        "Both A and B", "答案：A、B", "A,B</s>", "A,B<|im_end|>", "Assistant: A,B",
        "<answer>A,B</answer>\nReasoning: C is wrong.",
        "Reasoning: he rides, so not D.\n<answer>A,B</answer>",
        "Let me think. The man sits. Therefore, the answer is A and B.", "Selected: A, B",
    ],
    "AC": [
        "A & C", "A + C", "AC", "- A\n- C", "1. A\n2. C", "[A, C]", "A and C", "A AND C", "Ａ，Ｃ",
        "选A和C", "1, 3", '["A","C"]', '```json\n{"answer": "A,C"}\n```', r"\boxed{A, C}",
        "Answer: A, C", "The correct answers are (A) and (C) because the person is riding.",
        "Looking at the image, a man rides.\n\nA,C", "A,C\n\nThe person rides and washes.",
        "A. ride a/an bicycle\nC. wash a/an bicycle", "A: Yes\nB: No\nC: Yes\nD: No",
        "✓ A\n✗ B\n✓ C\n✗ D", "The incorrect options are B and D. The correct options are A and C.",
    ],
    "ABD": ["ABD", "(A), (B), (D)", "A, B, and D"],
    "BC": ["b, c"],
    "ABCD": [
        "A, B, C, D", "All of the above", "all",
        "All of the above are correct for this picture of a man.",
    ],
    "ABC": ["A through C", "A to C", "All of the above except D"],
    "AD": ["Options A and D", '{"A": true, "B": false, "C": false, "D": true}'],
    "BD": ['{"answer": ["B", "D"]}', "Final Answer: **B, D**"],
    "CD": ["<think>\nHmm.\n</think>\n\n<answer>C, D</answer>"],
}  # fmt: skip
TEXTS = {
    "A": [
        "ride a/an bicycle", "Ride a bicycle.", "The person is riding a bicycle.",
        "riding the red bicycle", "The person is riding a bicycle, not holding a bicycle.",
    ],
    "B": ["hold the bicycle"],
    "D": ["no_interaction with a/an bicycle"],
    "AB": ["A person is riding a bicycle and holding a bicycle."],
    "C": ["She washes her bicycle", "Answer: A person is washing a bicycle"],
}  # fmt: skip
NOTHING = {
    NONE: [
        "none of the above", "None", "None.", "N/A", "[]", "None of these options apply.",
        "There is no correct answer among them.",
    ],
    EMPTY: ["", "   \n", "<answer></answer>", "?", "<think>Maybe D and C"],
    REFUSAL: [
        "I'm sorry, but I can't help with that.",
        "I cannot determine the interaction from the image.",
        "As an AI language model, I am unable to view images.", "I don't know",
        "<answer>I cannot tell</answer>",
    ],
    UNREADABLE: [
        "E", "7", "yes", "A person is standing next to a bicycle.", "The weather is fine.",
    ],
}  # fmt: skip


def cases(groups: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(reply, expected) for expected, replies in groups.items() for reply in replies]


@pytest.mark.parametrize(
    ("how", "reply", "picked"),
    [
        *(("letters", *case) for case in cases(LETTERS)),
        *(("text", *case) for case in cases(TEXTS)),
        *((how, reply, "") for reply, how in cases(NOTHING)),
    ],
)
def test_replies_are_read_as_models_write_them(how: str, reply: str, picked: str) -> None:
    reading = read_reply(reply, OPTIONS)
    assert (reading.how, "".join("ABCD"[place] for place in reading.picked)) == (how, picked)
    assert (reading.how in UNREAD) == (how in (REFUSAL, EMPTY, UNREADABLE))


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
