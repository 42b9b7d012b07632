"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from diaghoi.exceptions import InputError

# Names of temporary files, and the age, in seconds, of those that nobody writes any more.
LEFTOVER = re.compile(r"\..+\.[0-9a-f]{8}(\.\w+)?")
ABANDONED = 60.0


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path that becomes ``path`` when the block ends well.

    The temporary file lies in the same folder, so that the move is one step of the file system;
    it is removed when the block fails, and whatever stood at ``path`` before is then untouched.

    Parameters
    ----------
    path : path
        Where the finished file shall be. A symbolic link stays, and its target is written.

    Yields
    ------
    pathlib.Path
        Where to write. Its ending is that of ``path``.

    Raises
    ------
    InputError
        Where the folder does not exist or cannot be written to, or ``path`` is a folder or a
        special file.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target}: cannot be written: it is a folder; give the name of a file")
    if target.exists() and not target.is_file():
        raise InputError(
            f"{target}: cannot be written: it is a device or another special file; give the name "
            "of an ordinary file"
        )
    target = _pointed_to(target)
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        temporary.replace(target)
    except OSError as error:
        # NumPy tells how much it could not write, and not why.
        reason = error.strerror or f"{error} (is the disk full?)"
        raise InputError(f"{target}: cannot be written: {reason}; give another path") from error
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(paths: Iterable[Path]) -> None:
    """Remove the unfinished files of runs that were killed.

    Those of the last minute stay: another run may be writing them.

    Parameters
    ----------
    paths : iterable of pathlib.Path
        Where to look: files of any kind, of which those that :func:`replacing` made are removed.
    """
    latest = time.time() - ABANDONED
    for path in paths:
        try:
            if LEFTOVER.fullmatch(path.name) and path.stat().st_mtime < latest:
                path.unlink(missing_ok=True)
        except OSError:
            continue  # it is gone, or it is not ours to remove: it harms nobody


def leftovers_of(path: Path) -> Iterator[Path]:
    """Give the temporary files of one target, of this run or another."""
    target = _pointed_to(path)
    name = re.compile(
        re.escape(f".{target.stem}.") + "[0-9a-f]{8}" + re.escape(target.suffix), re.ASCII
    )
    return (other for other in target.parent.iterdir() if name.fullmatch(other.name))


def _pointed_to(path: Path) -> Path:
    """Follow a link: moving a file onto it would replace it, and what it points to is meant."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path
