"""Answers of language models, appended to a file of JSON lines as they arrive.

A line is on disk when :meth:`AnswerFile.keep` returns, so a run that is killed at any moment loses
no answer that was paid for. At most the last line can be incomplete; it is removed before the next
is written. The file is also the result: people read, search and merge such files, and runs resume
from them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

from diaghoi.exceptions import InputError

_SHOWN = 60  # bytes of a line, and letters of a setting, in messages


class AnswerFile:
    """A file of JSON lines that one process at a time adds to, and any number of its threads.

    Other processes are kept out while it is open; on Windows, and on file systems without locks,
    they are not.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    keys : tuple of str
        Keys of every line. The first one is written first, so that an incomplete first line can be
        distinguished from a file of another kind.
    option : str
        The option that names the file, for messages.
    make : bool
        Whether to create the file at once instead of with its first line.
    take : callable, optional
        Called with each line that is read or kept; by default the line is added to ``lines``.

    Attributes
    ----------
    lines : list of dict
        The lines of the file, unless ``take`` is given.
    kept : int
        Number of lines added since the file was opened.

    Raises
    ------
    InputError
        If the file holds something else, is in use, or cannot be opened.
    """

    def __init__(
        self,
        path: Path,
        *,
        keys: tuple[str, ...] = ("image",),
        option: str = "--out",
        make: bool = False,
        take: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.path = path
        self.lines: list[dict[str, Any]] = []
        self.kept = 0
        self._keys = keys
        self._option = option
        self._take = self.lines.append if take is None else take
        self._lock = Lock()
        self._file = -1
        self._whole = 0  # bytes up to the end of the last whole line
        self._unended = False  # the last line lacks only its end
        self._repaired = False
        if make or path.exists():
            self._open()
            try:
                self._read()
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> AnswerFile:
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

    def repair(self) -> None:
        """Remove an incomplete last line, or add a missing line break to a complete one.

        Opening a file does not change it, because a run may stop after its estimate.

        Raises
        ------
        InputError
            If the file cannot be written to.
        """
        with self._lock:
            if self._file >= 0:
                self._repair()

    def keep(self, *lines: Mapping[str, Any]) -> None:
        """Add lines.

        Parameters
        ----------
        *lines : mapping
            Each with all of the keys.

        Raises
        ------
        InputError
            If the file cannot be written any more, or another run has begun to write it.
        """
        first = self._keys[0]
        data = b"".join(
            json.dumps({first: line[first], **line}).encode("ascii") + b"\n" for line in lines
        )
        with self._lock:
            if self._file < 0:
                self._open()
                # Another run has created the file since this one started; its lines were not read.
                if os.fstat(self._file).st_size:
                    self._release()
                    raise InputError(f"{self.path}: another run wrote to it; start again")
            self._repair()
            try:
                self._write(data)
            except OSError as error:
                raise self._unwritable(error) from None
            for line in lines:
                self._take(dict(line))
            self.kept += len(lines)

    def _open(self) -> None:
        try:
            binary = getattr(os, "O_BINARY", 0)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | binary, 0o666)
            _lock(self._file)
        except BlockingIOError:
            self._release()
            raise InputError(
                f"{self.path}: another run writes to it; wait for its end, or give another "
                f"{self._option}"
            ) from None
        except OSError as error:
            raise self._unwritable(error) from None

    def _release(self) -> None:
        os.close(self._file)
        self._file = -1

    def _read(self) -> None:
        """Read the lines, and find the end of the last complete one."""
        found, rest = False, b""
        with self.path.open("rb") as stream:
            for number, text in enumerate(stream, 1):
                if not text.endswith(b"\n"):
                    rest = text
                    break
                self._whole += len(text)
                if text.strip():
                    self._take(self._line(f"line {number}", text.rstrip(b"\r\n")))
                    found = True
        last = self._loaded(rest)
        if last is not None:
            self._take(last)
            self._whole += len(rest)
            self._unended = True
            return
        beginning = f'{{"{self._keys[0]}": '.encode("ascii")
        begun = rest.startswith(beginning) or beginning.startswith(rest)
        if not (found or begun):
            raise InputError(
                f"{self.path}: starts with {rest[:_SHOWN]!r}, and holds no answers; give another "
                f"{self._option}"
            )

    def _line(self, where: str, text: bytes) -> dict[str, Any]:
        line = self._loaded(text)
        if line is None:
            raise InputError(
                f"{self.path}: {where}: {text[:_SHOWN]!r} is not a line of answers; give another "
                f"{self._option}"
            )
        return line

    def _loaded(self, text: bytes) -> dict[str, Any] | None:
        """Parse the object of a line; None for any other line."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        whole = isinstance(value, dict) and all(key in value for key in self._keys)
        return value if whole else None

    def _repair(self) -> None:
        """Repair the end of the file once; lines written by this object are complete."""
        if self._repaired:
            return
        try:
            os.ftruncate(self._file, self._whole)
            if self._unended:
                self._write(b"\n")
        except OSError as error:
            raise self._unwritable(error) from None
        self._repaired = True

    def _write(self, data: bytes) -> None:
        """Append all or nothing, and wait until the data is on disk."""
        before = os.fstat(self._file).st_size
        try:
            rest = data
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError:
            # A full disk must not leave half a line between complete ones.
            os.ftruncate(self._file, before)
            raise

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(
            f"{self.path}: cannot be written ({error.strerror or error}); make room, or give "
            f"another {self._option}"
        )


def check_settings(
    where: str,
    line: Mapping[str, Any],
    recorded: Mapping[str, Any],
    options: Mapping[str, str],
) -> None:
    """Refuse a line that was asked with other settings.

    Parameters
    ----------
    where : str
        File and line, for the message.
    line : mapping
        The line.
    recorded : mapping
        The settings of this run.
    options : mapping
        What must be the same, and the option that gives it; empty for none.

    Raises
    ------
    InputError
        The message says what differs.
    """
    if not {"model", "prompt"} <= line.keys():
        raise InputError(f"{where}: was not written by this command; give another --out")
    for key, option in options.items():
        if line.get(key) != recorded.get(key):
            here, there = (f"{each.get(key, 'none')!r:.{_SHOWN}}" for each in (recorded, line))
            advice = "give another --out"
            if option:
                advice += f", or the {option} of that run"
            raise InputError(
                f"{where}: was asked with {key.replace('_', ' ')} {there}, and this run has "
                f"{here}; {advice}"
            )


def _lock(file: int) -> None:
    """Keep other processes out.

    Raises
    ------
    BlockingIOError
        If another one has it.
    """
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            return  # a file system without locks
