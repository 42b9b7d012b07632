"""Files that are read: ordinary ones."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def ordinary(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file or a folder; opening a pipe or a device may never end.

    Raises
    ------
    OSError
        For anything else, as opening it does if it does not exist.
    """
    path = Path(path)
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "Not an ordinary file but a pipe or a device", str(path))
    return path
