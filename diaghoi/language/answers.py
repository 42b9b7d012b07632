"""Store answers of language models in a file of JSON lines as they arrive.

A stored line is on disk at once, so a run that is killed at any moment loses no answer that was
paid for. Only the last line can be incomplete; it is removed before the next line is written. The
file is also the result: people read, search and merge such files, and runs resume from them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, ClassVar, TypeVar

from diaghoi.exceptions import InputError
from diaghoi.language.asking import Client, Message

Question = TypeVar("Question")

_SHOWN = 60  # maximum bytes of a line, and letters of a setting, in messages
_LONGEST = 500  # maximum letters of a reply that are kept with its score
_SCORE = ("question", "kind", "a", "b", "score", "reply")


class AnswerFile:
    """A file of JSON lines to which one process at a time appends, from any number of threads.

    The open file is locked against other processes, except on Windows and on file systems without
    locks. ``lines`` has the lines of the file, and ``kept`` counts the lines added since the file
    was opened. ``make`` creates the file immediately rather than with its first line.

    Raises
    ------
    InputError
        If the file has content other than answers, is in use, or cannot be opened.
    """

    # Keys of every line. The first key is written first, to distinguish an incomplete first line
    # from another kind of file.
    keys: ClassVar[tuple[str, ...]] = ("image",)
    option: ClassVar[str] = "--out"

    def __init__(self, path: Path, *, make: bool = False) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []
        self.kept = 0
        self._lock = RLock()
        self._file = -1
        # Number of bytes up to the end of the last complete line, and the line break that it may
        # lack; None if no repair is needed.
        self._end: tuple[int, bytes] | None = (0, b"")
        if make or path.exists():
            self._open()
            try:
                self._read()
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def repair(self) -> None:
        """Remove an incomplete last line, or add the line break that a complete last line lacks.

        Opening a file leaves the file unchanged, because a run may stop after the estimate of its
        cost.

        Raises
        ------
        InputError
            If the file cannot be written to.
        """
        with self._lock:
            if self._file >= 0:
                self._append(b"")

    def keep(self, *lines: Mapping[str, Any]) -> None:
        """Add lines, each with all keys; the lines are on disk when the call returns.

        Raises
        ------
        InputError
            If the file can no longer be written, or another run has started to write it.
        """
        first = self.keys[0]
        data = b"".join(
            json.dumps({first: line[first], **line}).encode("ascii") + b"\n" for line in lines
        )
        with self._lock:
            if self._file < 0:
                self._open()
                # Another run created the file after this run had started, so this run has not read
                # the lines.
                if os.fstat(self._file).st_size:
                    self.close()
                    raise InputError(f"{self.path}: another run wrote to it; run the command again")
            self._append(data)
            for line in lines:
                self._take(dict(line))
            self.kept += len(lines)

    def check(self, recorded: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Raise an ``InputError`` for lines whose settings differ from this run's.

        ``options`` has the settings that must agree, each with its command-line option, which may
        be empty.
        """
        for number, line in enumerate(self.lines, 1):
            where = f"{self.path}: line {number}"
            if not {"model", "prompt"} <= line.keys():
                raise InputError(f"{where}: was not written by this command; give another --out")
            for key, option in options.items():
                if line.get(key) != recorded.get(key):
                    here, there = (f"{of.get(key, 'none')!r:.{_SHOWN}}" for of in (recorded, line))
                    advice = f", or the {option} of that run" if option else ""
                    raise InputError(
                        f"{where}: was asked with {key.replace('_', ' ')} {there}, and this run "
                        f"has {here}; give another --out{advice}"
                    )

    def _take(self, line: dict[str, Any]) -> None:
        self.lines.append(line)

    def _open(self) -> None:
        binary = getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | binary, 0o666)
        except OSError as error:
            raise self._unwritable(error) from None
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.close()
                raise self._refusal("another run is writing to it; let it finish, or") from None
            except OSError:
                pass  # a file system without locks

    def _read(self) -> None:
        """Read the lines, and find the end of the last complete line."""
        beginning = f'{{"{self.keys[0]}": '.encode("ascii")
        whole, read = 0, False
        with self.path.open("rb") as stream:
            for number, text in enumerate(stream, 1):
                line, ended = self._parsed(text), text.endswith(b"\n")
                if line is not None:
                    self._take(line)
                    read = True
                elif not ended and (
                    read or text.startswith(beginning) or beginning.startswith(text)
                ):
                    break
                elif text.strip():
                    start = text.rstrip(b"\r\n")[:_SHOWN]
                    raise self._refusal(f"line {number}: {start!r} is not a line of answers;")
                whole += len(text)
                self._end = whole, b"" if ended else b"\n"

    def _parsed(self, text: bytes) -> dict[str, Any] | None:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        whole = isinstance(value, dict) and all(key in value for key in self.keys)
        return value if whole else None

    def _append(self, data: bytes) -> None:
        """Repair the end of the file, append all data or nothing, and wait for the disk."""
        try:
            if self._end is not None:
                whole, missing = self._end
                os.ftruncate(self._file, whole)
                data = missing + data
            before = os.fstat(self._file).st_size
            try:
                while data:
                    data = data[os.write(self._file, data) :]
                os.fsync(self._file)
            except OSError:
                # A full disk must not leave half a line between complete ones.
                os.ftruncate(self._file, before)
                raise
        except OSError as error:
            raise self._unwritable(error) from None
        self._end = None  # this object writes only complete lines

    def _unwritable(self, error: OSError) -> InputError:
        return self._refusal(f"cannot be written ({error.strerror or error}); free some space, or")

    def _refusal(self, problem: str) -> InputError:
        return InputError(f"{self.path}: {problem} give another {self.option}")


class AnswerStore(AnswerFile):
    """Store of language models' scores, one per line, so that no question is asked twice.

    If a question has several lines, the last one counts. Only the scores are in memory, because
    there may be a million. The file is created at once, so that an unwritable path fails before
    anything is asked.
    """

    keys = ("model", "question", "score")
    option = "--store"

    def __init__(self, path: Path) -> None:
        self._scores: dict[str, dict[str, int | None]] = {}
        super().__init__(path, make=True)

    def keep_scores(
        self, model: str, rows: Iterable[tuple[str, str, str, str, int | None, str]]
    ) -> None:
        """Store the answers of a model; raises the errors of :meth:`keep`.

        Parameters
        ----------
        model : str
            Model that gave the answers.
        rows : iterable of (question, kind, a, b, score, reply)
            The score is None for an unreadable reply.
        """
        lines = [
            {"model": model, **dict(zip(_SCORE, row, strict=True)), "reply": row[-1][:_LONGEST]}
            for row in rows
        ]
        if lines:
            self.keep(*lines)

    def answers(self, model: str) -> dict[str, int | None]:
        """Return a model's scores by question; None if the reply could not be read."""
        return self._scores.get(model, {}).copy()

    def forget_unread(self) -> None:
        """Ignore unreadable replies, so that their questions are asked again."""
        for model, scores in self._scores.items():
            self._scores[model] = {
                question: score for question, score in scores.items() if score is not None
            }

    def _take(self, line: dict[str, Any]) -> None:
        model, question, score = str(line["model"]), str(line["question"]), line["score"]
        if not (score is None or isinstance(score, int)):
            raise InputError(
                f"{self.path}: question {question!r:.60} has the score {score!r:.60}; remove that "
                "line, or give another --store"
            )
        self._scores.setdefault(model, {})[question] = score


def ask_until_read(
    client: Client,
    store: AnswerStore,
    questions: Mapping[str, Question],
    *,
    names: Callable[[Question], tuple[str, str, str]],
    word: Callable[[list[Question], bool], Sequence[Message]],
    read: Callable[[str, int], Sequence[int | None]],
    asks: int,
) -> None:
    """Ask several questions in one message until all replies can be read; store each score.

    Parameters
    ----------
    client, store : Client, AnswerStore
        The model, and the store of its scores. Replies that never become readable are stored as
        None.
    questions : mapping
        Questions by key in the store.
    names, word, read : callable
        Functions that return, in this order: the kind and both names of a question, for the store;
        the messages that ask some questions, given whether earlier replies were unreadable; and the
        scores in a reply, given the number of questions.
    asks : int
        Maximum number of messages.
    """

    def keep(scores: Mapping[str, int | None]) -> None:
        store.keep_scores(
            client.endpoint.model,
            ((key, *names(questions[key]), score, reply) for key, score in scores.items()),
        )

    left, reply = list(questions), ""
    for attempt in range(asks):
        reply = client.ask(word([questions[key] for key in left], attempt > 0))
        scores = dict(zip(left, read(reply, len(left)), strict=True))
        keep({key: score for key, score in scores.items() if score is not None})
        left = [key for key in left if scores[key] is None]
        if not left:
            return
    keep(dict.fromkeys(left))


def read_numbered(reply: str, pattern: re.Pattern[str], number: int) -> list[str | None]:
    """Parse the lines of a reply by a pattern, whose groups are a number and an answer.

    Returns
    -------
    list of str or None
        The answers to questions 1, 2 and so on, in lower case; None for a number without an answer,
        or with two different answers.
    """
    answers: dict[int, set[str]] = {}
    for line in strip_reasoning(reply).strip().splitlines():
        if match := pattern.fullmatch(line):
            answers.setdefault(int(match[1]), set()).add(match[2].lower())
    # A repeated answer counts, but contradictory answers do not.
    said = (answers.get(place, set()) for place in range(1, number + 1))
    return [next(iter(of_one)) if len(of_one) == 1 else None for of_one in said]


_REASONING = r"(?:think|thinking|thought|reasoning|scratchpad|analysis)"
_CLOSING = re.compile(rf"</{_REASONING}>", re.IGNORECASE)
_OPENING = re.compile(rf"<{_REASONING}>", re.IGNORECASE)


def strip_reasoning(reply: str) -> str:
    """Return a reply without the reasoning in tags such as ``<think>``.

    Many servers omit the opening tag: everything before the last closing tag is reasoning, as is
    everything after an unclosed opening tag.
    """
    answer = _CLOSING.split(reply)[-1]
    return _OPENING.split(answer, maxsplit=1)[0]
