"""Files of JSON lines that grow while a model is asked: what is in them is never lost.

A line is on the disk when :meth:`AskedFile.keep` returns, so a run that is killed at any moment
loses no answer. At most the last line can be torn; it is taken away before the next is written.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from diaghoi.exceptions import InputError
from diaghoi.formats.columns.checks import shown

# How every line begins that this class writes: a torn one is told from a file of another kind.
BEGINNING = b'{"image": '


class AskedFile:
    """A file of JSON lines that one process at a time adds to, and any number of its threads.

    The file is made with its first line. Other processes are kept out from then on, or from the
    beginning where it is there already; on Windows, and on file systems without locks, they are
    not.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Attributes
    ----------
    lines : list of dict
        What it holds.
    kept : int
        How many of them were added since it was opened.

    Raises
    ------
    InputError
        Where it holds something else, is in use, or cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []
        self.kept = 0
        self._lock = Lock()
        self._file = -1
        self._whole = 0
        self._unended = False
        if path.exists():
            self._open()
            try:
                self._read()
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> AskedFile:
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
        with self._lock:
            if self._file >= 0:
                self._release()

    def mend(self) -> None:
        """Take a torn last line away, and end one that lacks only its end.

        Raises
        ------
        InputError
            Where the file cannot be written to.
        """
        with self._lock:
            if self._file < 0:
                return
            try:
                os.ftruncate(self._file, self._whole)
                if self._unended:
                    self._write(b"\n")
            except OSError as error:
                raise self._unwritable(error) from None
            self._unended = False

    def keep(self, line: Mapping[str, Any]) -> None:
        """Add a line.

        Parameters
        ----------
        line : mapping
            With the name of the image under ``image``, which comes first.

        Raises
        ------
        InputError
            Where the file cannot be written any more, or another run has begun to write it.
        """
        data = json.dumps({"image": line["image"], **line}).encode("ascii") + b"\n"
        with self._lock:
            if self._file < 0:
                self._open()
                if os.fstat(self._file).st_size:
                    self._release()
                    raise InputError(f"{self.path}: another run wrote to it; start again")
            try:
                self._write(data)
            except OSError as error:
                raise self._unwritable(error) from None
            self.lines.append(dict(line))
            self.kept += 1

    def _open(self) -> None:
        try:
            binary = getattr(os, "O_BINARY", 0)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | binary, 0o666)
            _claim(self._file)
        except BlockingIOError:
            self._release()
            raise InputError(
                f"{self.path}: another run writes to it; wait for its end, or give another --out"
            ) from None
        except OSError as error:
            raise self._unwritable(error) from None

    def _release(self) -> None:
        os.close(self._file)
        self._file = -1

    def _read(self) -> None:
        """Read the lines, and find out where the last whole one ends."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        rest = content[whole:]
        for number, text in enumerate(content[:whole].splitlines(), 1):
            if text.strip():
                self.lines.append(self._line(f"line {number}", text))
        last = _loaded(rest)
        if last is not None:
            self.lines.append(last)
            self._whole, self._unended = len(content), True
            return
        begun = rest.startswith(BEGINNING) or BEGINNING.startswith(rest)
        if not (self.lines or begun):
            raise InputError(
                f"{self.path}: starts with {shown(rest)}, and holds no answers; give another --out"
            )
        self._whole = whole

    def _line(self, where: str, text: bytes) -> dict[str, Any]:
        line = _loaded(text)
        if line is None:
            raise InputError(
                f"{self.path}: {where}: {shown(text)} is no line of answers; give another --out"
            )
        return line

    def _write(self, data: bytes) -> None:
        """Write at the end, all or nothing, and wait until it is on the disk."""
        before = os.fstat(self._file).st_size
        try:
            rest = data
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, before)
            raise

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(
            f"{self.path}: cannot be written ({error.strerror or error}); make room, or give "
            "another --out"
        )


def _loaded(text: bytes) -> dict[str, Any] | None:
    """Return the object that a line holds; None for any other line."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and "image" in value else None


def _claim(file: int) -> None:
    """Keep other processes out.

    Raises
    ------
    BlockingIOError
        Where another one has it.
    """
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            return  # a file system without locks
