"""Scores that are kept as models give them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diaghoi.exceptions import InputError
from diaghoi.language.answers import AnswerStore


def row(question: str, score: int | None) -> tuple[str, str, str, str, int | None, str]:
    return question, "verb", "ride", "hold", score, "x" * 900


def test_scores_are_found_again_by_model_and_question(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with AnswerStore(path) as store:
        store.keep_scores("m", [row("q1", 3), row("q2", None)])
        store.keep_scores("n", [row("q1", 0)])
        store.keep_scores("n", [])
    with AnswerStore(path) as store:
        assert store.answers("m") == {"q1": 3, "q2": None}
        assert store.answers("n") == {"q1": 0}
        assert store.answers("o") == {}
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(lines) == 3
    assert lines[0] == {
        "model": "m", "question": "q1", "kind": "verb", "a": "ride", "b": "hold", "score": 3,
        "reply": "x" * 500,
    }  # fmt: skip


def test_the_last_answer_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with AnswerStore(path) as store:
        store.keep_scores("m", [row("q1", None), row("q2", None)])
        store.forget_unread()
        assert store.answers("m") == {}
        store.keep_scores("m", [row("q1", 2)])
        assert store.answers("m") == {"q1": 2}
    with AnswerStore(path) as store:
        assert store.answers("m") == {"q1": 2, "q2": None}


def test_files_of_two_runs_can_be_joined(tmp_path: Path) -> None:
    joined = b""
    for number, name in enumerate("ab"):
        with AnswerStore(tmp_path / name) as store:
            store.keep_scores("m", [row(f"q{number}", number)])
        joined += (tmp_path / name).read_bytes()
    (tmp_path / "joined").write_bytes(joined)
    with AnswerStore(tmp_path / "joined") as store:
        assert store.answers("m") == {"q0": 0, "q1": 1}


def test_a_torn_last_line_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with AnswerStore(path) as store:
        store.keep_scores("m", [row("q1", 1), row("q2", 2)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-30])
    with AnswerStore(path) as store:
        assert store.answers("m") == {"q1": 1}
        store.keep_scores("m", [row("q2", 2)])
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no store" * 100, "line 1: b.no store.*is not a line of answers; give another `store`"),
        (b'{"image": "a.jpg", "model": "m", "reply": "A"}\n', "line 1: .* not a line of answers"),
        (b'{"model": "m", "question": "q", "score": "3"}\n', "question 'q' has the score '3'"),
    ],
)
def test_other_files_are_refused_left_alone_and_closed(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    for _ in range(2):  # a file that stayed open would be in use
        with pytest.raises(InputError, match=message):
            AnswerStore(path)
    assert path.read_bytes() == content


def test_what_cannot_be_written_fails_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written .*give another `store`"):
        AnswerStore(tmp_path / "no" / "a.jsonl")
