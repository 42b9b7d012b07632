"""What is to be written is looked at, and made room for, before the work begins."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from diaghoi.exceptions import InputError
from diaghoi.formats.containers.atomic import leftovers_of, remove_leftovers

STDOUT = Path("-")


def is_name(name: str) -> bool:
    """Tell whether a name can be that of a file, without leading elsewhere."""
    return name not in ("", ".", "..") and not set(name) & set("/\\\0")


def check_files(files: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse files that could not be written, or that are read.

    What killed runs left of the others is removed.

    Parameters
    ----------
    files : iterable of path or None
        To be written; ``-`` is stdout, None is nothing.
    inputs : iterable of path or None
        To be read.

    Raises
    ------
    InputError
        For a file without a folder, a folder, a device, or one of the inputs.
    """
    read = {path.resolve() for path in inputs if path is not None}
    written: set[Path] = set()
    for path in files:
        if path is None or path == STDOUT:
            continue
        if path.resolve() in read:
            raise InputError(f"{path}: would overwrite what is read; give another name")
        if path.resolve() in written:
            raise InputError(f"{path}: would be written twice; give two names")
        written.add(path.resolve())
        if path.is_dir():
            raise InputError(f"{path}: cannot be written: it is a folder; give the name of a file")
        if path.exists() and not path.is_file():
            raise InputError(
                f"{path}: cannot be written: it is no ordinary file; for stdout give --json -"
            )
        if not path.parent.is_dir():
            if path.parent.exists():
                raise InputError(
                    f"{path}: cannot be written: {path.parent} is a file, not a folder; give "
                    "another place"
                )
            raise InputError(
                f"{path}: cannot be written: there is no folder {path.parent}; create it first"
            )
        _check_writable(path, path.parent)
        remove_leftovers(leftovers_of(path))


def check_folder(folder: Path | None) -> None:
    """Refuse an output folder that could not be made or written to.

    Raises
    ------
    InputError
        Where the path, or the first part of it that exists, is no folder or is closed.
    """
    if folder is None:
        return
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise InputError(f"{folder}: cannot be the output folder: {existing} is a file")
    _check_writable(folder, existing)


def _check_writable(path: Path, folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"{path}: cannot be written: no permission to write to {folder.resolve()}; give "
            "another place"
        )
