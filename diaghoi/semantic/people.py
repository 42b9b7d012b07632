"""Ratings by people: whom and what a file holds, as a table of items and annotators."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.semantic.ratings import SCALES

FloatArray = npt.NDArray[np.float64]

METRICS = ("score", "similarity", "metric", "shoe", "model")
"""Columns that are taken as those of a metric, not of a person, where nobody says."""
_PERSON = ("annotator", "rater", "person", "worker")
_GIVEN = ("rating", "score", "value")


@dataclass(frozen=True, kw_only=True, eq=False)
class People:
    """What people, and possibly metrics, said of the same items.

    Parameters
    ----------
    annotators : tuple of str
        The A people.
    ratings : (A, I) float64 array
        Whole numbers from 0 to ``highest``; NaN where somebody did not say.
    metrics : dict of str to (I,) float64 array
        Scores of metrics on the scale of the people.
    highest : int
        Last number of the scale.
    source : str
        The file.
    notes : tuple of str
        How the file was understood.
    """

    annotators: tuple[str, ...]
    ratings: FloatArray
    metrics: dict[str, FloatArray]
    highest: int
    source: str
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> FloatArray:
        """(I,) mean of the people; NaN where nobody said."""
        said = ~np.isnan(self.ratings)
        mean = np.full(self.ratings.shape[1], np.nan)
        total = np.where(said, self.ratings, 0.0).sum(axis=0)
        np.divide(total, said.sum(axis=0), out=mean, where=said.any(axis=0))
        return mean


def read_people(path: Path, *, metrics: Sequence[str] = (), highest: int = 4) -> People:
    """Read ratings by people.

    Parameters
    ----------
    path : pathlib.Path
        CSV with a header: one item a row and one column a person, an empty cell where somebody did
        not say; other columns describe the items. Or one rating a row, with a column
        ``annotator``, one ``rating`` and the item in the others.
    metrics : sequence of str
        Columns with the scores of metrics; by default those with a customary name.
    highest : int
        Last number of the scale, which starts at 0.

    Returns
    -------
    People

    Raises
    ------
    InputError
        For a file that cannot be used: line and column, value and what to do.
    """
    head, rows = _read(path)
    small = [name.lower() for name in head]
    person = next((small.index(name) for name in _PERSON if name in small), None)
    given = next((small.index(name) for name in _GIVEN if name in small), None)
    if person is not None and given is not None:
        head, rows = _spread(path, head, rows, person, given)
    for name in metrics:
        if name not in head:
            raise InputError(f"{path}: has no column '{name}'{close_matches(name, head)}")
    chosen = metrics or tuple(name for name in head if name.lower() in METRICS)
    columns = {name: [row[at] for _, row in rows] for at, name in enumerate(head)}
    people = [name for name in head if name not in chosen and _rates(columns[name], highest)]
    if len(people) < 2:
        raise InputError(
            f"{path}: ratings of {len(people)} people ({some_of(people) or 'none'}); agreement "
            f"needs columns of two, with whole numbers from 0 to {highest}"
        )
    lines = [line for line, _ in rows]
    ratings = [_ratings(path, name, lines, columns[name], highest) for name in people]
    notes = [
        f"{path.name}: column '{name}' is no rating from 0 to {highest} and describes the items"
        for name in head
        if name not in people and name not in chosen and _numeric(columns[name])
    ]
    scores, told = {}, []
    for name in chosen:
        values = _numbers(path, name, lines, columns[name])
        scores[name], scale = _scaled(path, name, values, highest)
        told.append(f"{path.name}: '{name}' is read as a metric from 0 to {scale:g}")
    return People(
        annotators=tuple(people),
        ratings=np.array(ratings),
        metrics=scores,
        highest=highest,
        source=path.name,
        notes=(*notes, *told),
    )


_Rows = list[tuple[int, list[str]]]


def _read(path: Path) -> tuple[list[str], _Rows]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = [(number, row) for number, row in enumerate(csv.reader(stream), 1) if any(row)]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file ({error}); give one column a person") from None
    if len(lines) < 2:
        raise InputError(f"{path}: holds no ratings; give a header and one item a row")
    head = [cell.strip() for cell in lines[0][1]]
    twice = next((name for name in head if head.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path}: two columns are called '{twice}'; give people two names")
    for number, row in lines[1:]:
        if len(row) != len(head):
            raise InputError(
                f"{path}: line {number}: {len(row)} columns where the header has {len(head)}"
            )
    return head, [(number, [cell.strip() for cell in row]) for number, row in lines[1:]]


def _spread(
    path: Path, head: list[str], rows: _Rows, person: int, given: int
) -> tuple[list[str], _Rows]:
    """Turn one rating a row into one item a row."""
    others = [at for at in range(len(head)) if at not in (person, given)]
    names = list(dict.fromkeys(row[person] for _, row in rows))
    items: dict[tuple[str, ...], tuple[int, dict[str, str]]] = {}
    for number, row in rows:
        item = tuple(row[at] for at in others)
        said = items.setdefault(item, (number, {}))[1]
        if row[person] in said:
            raise InputError(
                f"{path}: line {number}: a second rating of {some_of(item)} by {row[person]}; "
                "keep one"
            )
        said[row[person]] = row[given]
    spread = [
        (number, [*item, *(said.get(name, "") for name in names)])
        for item, (number, said) in items.items()
    ]
    return [*(head[at] for at in others), *names], spread


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _numeric(cells: Sequence[str]) -> bool:
    said = [cell for cell in cells if cell]
    return bool(said) and all(_number(cell) is not None for cell in said)


def _rates(cells: Sequence[str], highest: int) -> bool:
    """Whether a column is mostly ratings: a slip in one of them shall be told, not hide it."""
    said = [cell for cell in cells if cell]
    within = [
        v for v in map(_number, said) if v is not None and v.is_integer() and 0 <= v <= highest
    ]
    return 2 * len(within) > len(said)


def _numbers(path: Path, name: str, lines: Sequence[int], cells: Sequence[str]) -> list[float]:
    values = []
    for line, cell in zip(lines, cells, strict=True):
        value = _number(cell) if cell else math.nan
        if value is None:
            raise InputError(
                f"{path}: line {line}, column '{name}': {cell!r:.40} is not a number; correct it, "
                "or leave it empty"
            )
        values.append(value)
    return values


def _ratings(
    path: Path, name: str, lines: Sequence[int], cells: Sequence[str], highest: int
) -> list[float]:
    values = _numbers(path, name, lines, cells)
    for line, value in zip(lines, values, strict=True):
        if value == value and not (value.is_integer() and 0 <= value <= highest):
            raise InputError(
                f"{path}: line {line}, column '{name}': {value:g} is no whole number from 0 to "
                f"{highest}; correct it, or give another --scale"
            )
    return values


def _scaled(
    path: Path, name: str, values: Sequence[float], highest: int
) -> tuple[FloatArray, float]:
    """Bring a metric to the scale of the people; 1 where no score is higher, else theirs."""
    scores = np.array(values)
    most = float(np.nanmax(scores, initial=0.0))
    scale = SCALES[0] if most <= SCALES[0] else float(highest)
    if most > scale or np.nanmin(scores, initial=0.0) < 0:
        raise InputError(
            f"{path}: column '{name}': a metric must lie between 0 and 1, or between 0 and "
            f"{highest}; it reaches {most:g}"
        )
    return scores * (highest / scale), scale
