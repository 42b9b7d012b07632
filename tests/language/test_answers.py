"""Files that grow while a model is asked, and scores that are kept as models give them."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from diaghoi.exceptions import InputError
from diaghoi.language.answers import AnswerFile, AnswerStore

LINES = [{"image": f"{number}.jpg", "reply": "é\u2028\n\ud83d"} for number in range(3)]


def written(path: Path, lines: list[dict[str, str]]) -> bytes:
    with AnswerFile(path) as file:
        for line in lines:
            file.keep(line)
    return path.read_bytes() if path.exists() else b""


def test_lines_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()  # an empty file is a beginning
    written(path, LINES[:2])
    written(path, LINES[2:])
    assert [json.loads(line) for line in path.read_text().splitlines()] == LINES
    with AnswerFile(path) as file:
        assert (file.lines, file.kept) == (LINES, 0)


def test_a_line_is_on_the_disk_when_keep_returns(tmp_path: Path, monkeypatch) -> None:
    synced: list[bytes] = []
    path = tmp_path / "a.jsonl"
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(path.read_bytes()))
    with AnswerFile(path) as file:
        file.keep(LINES[0])
        assert json.loads(synced[-1]) == LINES[0]


def test_a_line_torn_at_any_byte_is_repaired(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole.jsonl", LINES)
    ends = [place + 1 for place, byte in enumerate(whole) if byte == ord("\n")]
    path = tmp_path / "a.jsonl"
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        # What lacks nothing but its end is whole.
        count = sum(cut >= end - 1 for end in ends)
        with AnswerFile(path) as file:
            assert file.lines == LINES[:count], cut
            assert path.read_bytes() == whole[:cut]
            file.repair()
            for line in LINES[count:]:
                file.keep(line)
        assert path.read_bytes() == whole, cut


def test_what_a_lost_disk_left_at_the_end_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with AnswerFile(path) as file:
        file.repair()
    assert list(tmp_path.iterdir()) == []  # the file is made with its first line
    whole = written(path, LINES[:1])
    path.write_bytes(whole + b"\0" * 40)
    with AnswerFile(path) as file:
        file.repair()
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"my notes", "line 1: b'my notes' is not a line of answers"),
        (b"my notes\n", "line 1: b'my notes' is not a line of answers"),
        (b'{"HICO_0.jpg": {}}\n', "line 1: .* is not a line of answers"),
        (b'{"HICO_0.jpg": {', "line 1: .* is not a line of answers"),
        (b'{"image": "a"}\n\xff\xfe\n{"image": "b"}\n', "line 2"),
        (b'[{"image": "a"}]\n', "line 1"),
        (b"\x80\x04", "line 1: .* is not a line of answers"),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path, content, message) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        AnswerFile(path)
    assert path.read_bytes() == content


def test_two_runs_do_not_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with AnswerFile(path) as one, AnswerFile(path) as other:
        one.keep(LINES[0])
        for _ in range(2):
            with pytest.raises(InputError, match="another run is writing to it; let it finish"):
                other.keep(LINES[1])
        with pytest.raises(InputError, match="another run is writing to it"):
            AnswerFile(path)
    assert len(path.read_bytes().splitlines()) == 1


def test_what_another_run_finished_meanwhile_is_not_added_to(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with AnswerFile(path) as file:
        written(path, LINES[:1])
        for _ in range(2):
            with pytest.raises(InputError, match="another run wrote to it; run the command again"):
                file.keep(LINES[1])
    assert len(path.read_bytes().splitlines()) == 1


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with AnswerFile(path) as file:

        def work(thread: int) -> None:
            for number in range(10):
                file.keep({"image": f"{thread} {number}", "reply": "x" * 5000})

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert file.kept == 80
    names = {json.loads(line)["image"] for line in path.read_text().splitlines()}
    assert names == {f"{thread} {number}" for thread in range(8) for number in range(10)}


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.jsonl"
    whole = written(path, LINES[:1])
    real = os.write

    def full(file: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return real(file, data[:10])

    with AnswerFile(path) as file:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(
            InputError, match=r"cannot be written \(No space left .*free some space"
        ):
            file.keep(LINES[1])
        monkeypatch.undo()
        assert path.read_bytes() == whole
        file.keep(LINES[1])
        assert file.lines == LINES[:2]
    assert len(path.read_bytes().splitlines()) == 2


def test_what_cannot_be_written_is_told_and_stays(tmp_path: Path, monkeypatch) -> None:
    nowhere = AnswerFile(tmp_path / "no" / "a.jsonl")
    with pytest.raises(InputError, match="cannot be written"):
        nowhere.keep(LINES[0])
    path = tmp_path / "a.jsonl"
    torn = written(path, LINES)[:-5]
    path.write_bytes(torn)

    def full(file: int, length: int) -> None:
        raise OSError(28, "No space left on device")

    with AnswerFile(path) as file:
        monkeypatch.setattr(os, "ftruncate", full)
        with pytest.raises(
            InputError, match=r"cannot be written \(No space left .*free some space"
        ):
            file.repair()
        monkeypatch.undo()
    assert path.read_bytes() == torn


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
def test_other_stores_are_refused_left_alone_and_closed(tmp_path, content, message) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    for _ in range(2):  # a file that stayed open would be in use
        with pytest.raises(InputError, match=message):
            AnswerStore(path)
    assert path.read_bytes() == content


def test_a_store_that_cannot_be_written_fails_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written .*give another `store`"):
        AnswerStore(tmp_path / "no" / "a.jsonl")
