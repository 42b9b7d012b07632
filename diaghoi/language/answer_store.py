"""Answers of language models in an SQLite file: kept one by one, so that no run asks twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from types import TracebackType

from diaghoi.exceptions import InputError

_LAYOUT = 1
_LONGEST = 500  # letters of a reply that are kept, to look at


class AnswerStore:
    """The answers so far. One process at a time; any number of threads.

    An answer is in the file when :meth:`keep` returns: a process that is killed then loses nothing.

    Parameters
    ----------
    path : pathlib.Path
        The file; made where there is none.

    Raises
    ------
    InputError
        Where it is something else, in use, or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        try:
            self._file = sqlite3.connect(path, timeout=0.2, check_same_thread=False)
            try:
                self._open()
            except sqlite3.Error:
                self.close()
                raise
        except sqlite3.Error as error:
            busy = "locked" in str(error)
            advice = "another run uses it; wait for its end" if busy else "give another --store"
            raise InputError(f"{path}: cannot hold the answers ({error}); {advice}") from None

    def _open(self) -> None:
        self._file.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        (layout,) = self._file.execute("PRAGMA user_version").fetchone()
        tables = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if layout != _LAYOUT and tables:
            raise sqlite3.DatabaseError("is not a store of answers")
        with self._file:
            self._file.execute(f"PRAGMA user_version = {_LAYOUT}")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS answers (rater TEXT, question TEXT, kind TEXT, "
                "a TEXT, b TEXT, score INTEGER, reply TEXT, PRIMARY KEY (rater, question)) "
                "WITHOUT ROWID"
            )

    def __enter__(self) -> AnswerStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def keep(self, rater: str, rows: Iterable[tuple[str, str, str, str, int | None, str]]) -> None:
        """Keep answers.

        Parameters
        ----------
        rater : str
            The model that gave them.
        rows : iterable of (question, kind, a, b, score, reply)
            The score is None for a reply that could not be read.

        Raises
        ------
        InputError
            Where the file cannot be written any more.
        """
        values = [(rater, *row[:-1], row[-1][:_LONGEST]) for row in rows]
        try:
            with self._lock, self._file:
                self._file.executemany(
                    "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", values
                )
        except sqlite3.Error as error:
            raise InputError(
                f"{self.path}: cannot be written any more ({error}); make room and start again"
            ) from None

    def answers(self, rater: str) -> dict[str, int | None]:
        """Scores of a model by question; None where the reply could not be read."""
        with self._lock:
            rows = self._file.execute(
                "SELECT question, score FROM answers WHERE rater = ?", (rater,)
            ).fetchall()
        return dict(rows)

    def forget_unread(self) -> int:
        """Drop the replies that could not be read, so that they are asked again; count them."""
        with self._lock, self._file:
            return self._file.execute("DELETE FROM answers WHERE score IS NULL").rowcount
