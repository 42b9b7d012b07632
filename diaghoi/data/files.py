"""Open regular files; read the rows of hand-written CSV files, with line numbers."""

from __future__ import annotations

import csv
import errno
import math
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from diaghoi.exceptions import InputError, short


def ordinary(path: str | os.PathLike[str]) -> Path:
    """Return the path of a regular file or a folder; reject pipes and devices, which may block.

    Raises
    ------
    OSError
        If the path is neither a regular file nor a folder, or does not exist.
    """
    path = Path(path)
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "Not a regular file but a pipe or a device", str(path))
    return path


Rows = list[tuple[int, list[str]]]
# Number of characters of a cell shown in messages.
_SHOWN = 40


def read_rows(path: Path, give: str, *, least: int = 0) -> Rows:
    """Read the line number and the stripped cells of each non-empty row of a CSV file.

    Raises
    ------
    InputError
        If the file cannot be read, is not CSV, or has fewer rows than ``least``; ``give`` describes
        the expected content.
    """
    rows: Rows = []
    line = 1
    try:
        with ordinary(path).open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream)
            for row in reader:
                cells = [cell.strip() for cell in row]
                if any(cells):
                    rows.append((line, cells))
                line = reader.line_num + 1
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file ({error}); give {give}") from None
    if len(rows) < least:
        what = "has no rows below the header" if rows else "is empty"
        raise InputError(f"{path}: {what}; give {give}")
    return rows


def check_widths(path: Path, rows: Rows) -> None:
    """Raise an ``InputError`` for rows that are longer or shorter than the first row."""
    width = len(rows[0][1])
    for line, cells in rows:
        if len(cells) != width:
            raise InputError(
                f"{path}: line {line}: {len(cells)} columns where the first line has {width}"
            )


def check_names(path: Path, names: Sequence[str], whose: str) -> None:
    """Raise an ``InputError`` if two columns have the same name."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f"{path}: two columns are called '{twice}'; give the {whose} different names"
        )


def number_in(path: Path, line: int, column: str, cell: str) -> float:
    """Read a finite number; an empty cell gives NaN, and anything else raises an ``InputError``."""
    if not cell:
        return math.nan
    value = as_number(cell)
    if value is None:
        raise InputError(
            f"{path}: line {line}, column '{column}': '{short(cell, _SHOWN)}' is not a number; "
            "correct the cell, or leave it empty if there is no number"
        )
    return value


def as_number(cell: str) -> float | None:
    """Read a finite number; None for anything else."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
