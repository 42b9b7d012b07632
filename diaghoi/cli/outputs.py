"""Check the paths of a command before the work begins, and deliver its result."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from diaghoi.cli import options
from diaghoi.cli.options import options_class
from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError
from diaghoi.formats.containers.atomic import check_link, leftovers_of, remove_leftovers
from diaghoi.report.json import to_json, write_json

STDOUT = Path("-")


@options_class
class ResultOptions:
    """Where the result of a command goes."""

    json: options.Json = None
    quiet: options.Quiet = False

    def deliver(self, result: Mapping[str, Any], show: Callable[[], None]) -> None:
        """Write a result as JSON where that is asked for, and show it unless it is on stdout."""
        if self.json == STDOUT:
            typer.echo(to_json(result))
            return
        if self.json is not None:
            write_json(self.json, result)
        if not self.quiet:
            show()


def is_name(name: str) -> bool:
    """Whether a name can be that of a file in a given folder."""
    return name not in ("", ".", "..") and not set(name) & set("/\\\0")


def check_files(files: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse files that cannot be written or read: :func:`check_outputs`, :func:`check_inputs`.

    Raises
    ------
    InputError
        With what is wrong.
    """
    inputs = list(inputs)
    check_outputs(files, inputs)
    check_inputs(inputs)


def check_outputs(files: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse output files that cannot be written, or that are also read.

    Temporary files that killed runs left behind are removed.

    Parameters
    ----------
    files : iterable of path or None
        Output files; ``-`` is stdout, None is no file.
    inputs : iterable of path or None
        Files that are read.

    Raises
    ------
    InputError
        For a file in a folder that does not exist, a folder, a device, or one of the inputs.
    """
    read = {os.path.realpath(path) for path in inputs if path is not None}
    written: set[str] = set()
    for path in files:
        if path is None or path == STDOUT:
            continue
        target = os.path.realpath(path)
        if target in read:
            raise InputError(f"{path}: would overwrite an input file; give another name")
        if target in written:
            raise InputError(f"{path}: would be written twice; give two names")
        written.add(target)
        check_link(path)
        if path.is_dir():
            raise InputError(f"{path}: cannot be written: it is a folder; give the name of a file")
        if path.exists() and not path.is_file():
            raise InputError(
                f"{path}: cannot be written: it is not an ordinary file; for stdout give --json -"
            )
        folder = Path(target).parent if path.is_symlink() else path.parent
        if not folder.is_dir():
            if folder.exists():
                raise InputError(
                    f"{path}: cannot be written: {folder} is a file, not a folder; give another "
                    "path"
                )
            raise InputError(
                f"{path}: cannot be written: the folder {folder} does not exist; create it first"
            )
        _check_writable(path, folder)
        remove_leftovers(leftovers_of(path))


def check_inputs(files: Iterable[Path | None]) -> None:
    """Refuse input files that cannot be read, before others are.

    Raises
    ------
    InputError
        For a file that does not exist, may not be read, or is a pipe or a device.
    """
    for path in files:
        if path is None:
            continue
        try:
            ordinary(path)
            if not os.access(path, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}; check the path") from None


def check_folder(folder: Path | None) -> None:
    """Refuse an output folder that cannot be created or written to.

    Raises
    ------
    InputError
        If the path, or the first part of it that exists, is not a folder or not writable.
    """
    if folder is None:
        return
    check_link(folder)
    parts = (folder, *folder.absolute().parents)
    existing = next(path for path in parts if os.path.lexists(path))
    if not existing.is_dir():
        what = "a file" if existing.exists() else "a symbolic link to nothing"
        raise InputError(f"{folder}: cannot be the output folder: {existing} is {what}")
    _check_writable(folder, existing)


def _check_writable(path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"{path}: cannot be written: no permission to write to {folder.resolve()}; give "
            "another path"
        )
