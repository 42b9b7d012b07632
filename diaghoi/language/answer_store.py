"""Scores from language models, stored one by one so that no question is asked twice."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from diaghoi.exceptions import InputError
from diaghoi.language.answer_file import AnswerFile

_LONGEST = 500  # letters of a reply that are kept, to look at


class AnswerStore:
    """The scores so far, in an :class:`~diaghoi.language.answer_file.AnswerFile`.

    If a question has several lines, the last one counts. Only scores are held in memory: there may
    be a million of them.

    Parameters
    ----------
    path : pathlib.Path
        The file; created if it does not exist, so that an unwritable path fails before anything is
        asked.

    Raises
    ------
    InputError
        If it is something else, in use, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._scores: dict[str, dict[str, int | None]] = {}
        keys = ("model", "question", "score")
        self._file = AnswerFile(path, keys=keys, option="--store", make=True, take=self._take)

    def __enter__(self) -> AnswerStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def keep(self, model: str, rows: Iterable[tuple[str, str, str, str, int | None, str]]) -> None:
        """Store answers; they are on disk when this returns.

        Parameters
        ----------
        model : str
            The model that gave them.
        rows : iterable of (question, kind, a, b, score, reply)
            The score is None for a reply that could not be read.

        Raises
        ------
        InputError
            If the file cannot be written any more.
        """
        lines = [
            {
                "model": model,
                "question": question,
                "kind": kind,
                "a": a,
                "b": b,
                "score": score,
                "reply": reply[:_LONGEST],
            }
            for question, kind, a, b, score, reply in rows
        ]
        if lines:
            self._file.keep(*lines)

    def answers(self, model: str) -> dict[str, int | None]:
        """Scores of a model by question; None where the reply could not be read."""
        return self._scores.get(model, {}).copy()

    def forget_unread(self) -> None:
        """Ignore replies that could not be read, so that their questions are asked again."""
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
