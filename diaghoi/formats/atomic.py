"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diaghoi.exceptions import InputError


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
    if target.is_symlink():
        # Moving a file onto a link would replace the link; what it points to is meant.
        target = Path(os.path.realpath(target))
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise InputError(
            f"{target}: cannot be written: {error.strerror or error}; give another place"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
