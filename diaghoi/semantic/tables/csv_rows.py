"""Rows of the CSV files that people write, with the lines in which they stand."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from diaghoi.exceptions import InputError, short

Rows = list[tuple[int, list[str]]]
# Of a cell, so many letters are shown.
_SHOWN = 40


def read_rows(path: Path, give: str) -> Rows:
    """Read the rows that are not empty, their cells without spaces around.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    give : str
        What it should hold, for messages.

    Returns
    -------
    list of (int, list of str)
        Number of the first line, and cells, of each row.

    Raises
    ------
    InputError
        For a file that cannot be read or is no CSV.
    """
    rows: Rows = []
    line = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
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
    return rows


def check_widths(path: Path, rows: Rows) -> None:
    """Refuse rows that are longer or shorter than the first one.

    Raises
    ------
    InputError
        With the line.
    """
    width = len(rows[0][1])
    for line, cells in rows:
        if len(cells) != width:
            raise InputError(
                f"{path}: line {line}: {len(cells)} columns where the first line has {width}"
            )


def check_names(path: Path, names: Sequence[str], whose: str) -> None:
    """Refuse columns of one name, of ``whose`` scores they are.

    Raises
    ------
    InputError
        With the name.
    """
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two columns are called '{twice}'; give {whose} two names")


def number_in(path: Path, line: int, column: str, cell: str) -> float:
    """Read a number; an empty cell is NaN.

    Raises
    ------
    InputError
        For anything else, also for what is not finite.
    """
    if not cell:
        return math.nan
    value = as_number(cell)
    if value is None:
        raise InputError(
            f"{path}: line {line}, column '{column}': '{short(cell, _SHOWN)}' is not a number; "
            "correct it, or leave it empty where there is none"
        )
    return value


def as_number(cell: str) -> float | None:
    """Read a finite number; None for anything else."""
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
