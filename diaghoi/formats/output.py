"""Write files completely or not at all."""

from __future__ import annotations

import errno
import os
import pickle
import re
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray, runs
from diaghoi.exceptions import InputError

# Pattern of temporary file names, and age in seconds at which such a file counts as abandoned.
LEFTOVER = re.compile(r"\..+\.[0-9a-f]{8}(\.\w+)?")
ABANDONED = 60.0


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Provide a temporary path that is renamed to ``path`` if the block succeeds.

    The temporary file is in the same folder, so that renaming is atomic. If the block fails, the
    temporary file is removed, and an existing file at ``path`` is unchanged.

    Parameters
    ----------
    path : path
        The finished file. Symbolic links are kept, and their targets are replaced.

    Yields
    ------
    pathlib.Path
        Where to write. The temporary file has the suffix of ``path``.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written to, or ``path`` is a folder, a special
        file or a symbolic link to itself.
    """
    target = Path(path)
    check_link(target)
    if target.is_dir():
        raise InputError(f"{target}: cannot be written: it is a folder; give the name of a file")
    if target.exists() and not target.is_file():
        raise InputError(
            f"{target}: cannot be written: it is a device or another special file; give the name "
            "of a regular file"
        )
    target = _pointed_to(target)
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        temporary.replace(target)
    except OSError as error:
        # NumPy reports how much it could not write, but not the reason.
        reason = error.strerror or f"{error} (is the disk full?)"
        raise InputError(f"{target}: cannot be written: {reason}; give another path") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_pickle(path: str | os.PathLike[str], images: list[dict[str, Any]]) -> None:
    """Write a pickle with one dict per image, completely or not at all."""
    with replacing(path) as temporary, temporary.open("wb") as stream:
        pickle.dump(images, stream, protocol=4)


def rows_of_images(image: IntArray, count: int) -> list[slice]:
    """Return the rows of each of ``count`` images in a table sorted by image."""
    start, length = runs(image, np.arange(count))
    return list(map(slice, start.tolist(), (start + length).tolist()))


def check_link(path: Path) -> None:
    """Reject a symbolic link that leads back to itself; the output would replace it.

    Raises
    ------
    InputError
        If the path, or a folder in it, is such a link.
    """
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError(
                f"{path}: cannot be written: a symbolic link leads back to itself; remove it, or "
                "give another path"
            ) from None


def remove_leftovers(paths: Iterable[Path]) -> None:
    """Remove temporary files of killed runs.

    Files changed within the last minute are kept, because another run may be writing them.

    Parameters
    ----------
    paths : iterable of pathlib.Path
        Candidates of any kind; only files created by :func:`replacing` are removed.
    """
    latest = time.time() - ABANDONED
    for path in paths:
        try:
            if LEFTOVER.fullmatch(path.name) and path.stat().st_mtime < latest:
                path.unlink(missing_ok=True)
        except OSError:
            continue  # the file is gone or may not be removed: harmless in either case


def leftovers_of(path: Path) -> Iterator[Path]:
    """Return the temporary files of a target, from this or other runs."""
    target = _pointed_to(path)
    name = re.compile(
        re.escape(f".{target.stem}.") + "[0-9a-f]{8}" + re.escape(target.suffix), re.ASCII
    )
    return (other for other in target.parent.iterdir() if name.fullmatch(other.name))


def _pointed_to(path: Path) -> Path:
    """Follow a link, because renaming a file onto it would replace the link, not its target."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


# The first characters of formulas. Some spreadsheets accept full-width characters, too; others skip
# leading line breaks.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def harmless(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would interpret as a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def original(cell: str) -> str:
    """Remove the apostrophe that :func:`harmless` added."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell
