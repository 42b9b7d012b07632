"""What raters said of pairs of words: the tables that similarity is made of.

As CSV a header and one pair a row, ``a,b,score`` or ``a,b,RATER,RATER,...``: an empty cell where a
rater did not say. As ``.npz`` the arrays ``names`` (N,) and ``values`` (N, N), or (R, N, N) with
``raters`` (R,); or, where few pairs are similar, ``row``, ``column`` (P,) and ``value`` (P,) or
(P, R).
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.cells import original
from diaghoi.formats.npz import Member, members

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.integer]

SCALES = (1.0, 4.0)
"""Highest scores of the scales that are recognised."""
NAMELESS = ("score", "similarity", "value", "values")
# Words that differ by less than this were not rated in contradiction.
ROUNDING = 1e-9


def plain(word: str) -> str:
    """Write a word in the way in which words are compared: small letters, single underscores."""
    return "_".join(word.replace("_", " ").lower().split())


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """Scores of pairs of words by one or several raters.

    Parameters
    ----------
    names : tuple of str
        The N words, as :func:`plain` writes them.
    first, second : (P,) int array
        The two words of each pair, ``first <= second``; every pair stands once.
    scores : (P, R) float64 array
        In [0, 1]; NaN where a rater did not say.
    raters : tuple of str
        The R raters.
    scale : float
        Highest score of the scale in the file.
    stem : str
        Name of the file without its ending.
    source : str
        The file.
    notes : tuple of str
        Contradictions, and how the file was understood.
    one_sided : int
        Pairs that stand in the file in one order alone, (a, b) or (b, a).
    contradictions : int
        Pairs that stand more than once with different scores; their mean counts.
    off_diagonal : int
        Words that the file does not call identical to themselves.
    """

    names: tuple[str, ...]
    first: IntArray
    second: IntArray
    scores: FloatArray
    raters: tuple[str, ...]
    scale: float
    stem: str
    source: str
    notes: tuple[str, ...] = ()
    one_sided: int = 0
    contradictions: int = 0
    off_diagonal: int = 0

    @property
    def provenance(self) -> str:
        """The raters and the file, for results."""
        if self.raters[0] in NAMELESS and len(self.raters) == 1:
            return self.source
        many = f"mean of {len(self.raters)} raters: " if len(self.raters) > 1 else "rated by "
        return f"{many}{', '.join(self.raters)} ({self.source})"

    def means(self, raters: Sequence[int] | None = None) -> FloatArray:
        """(P,) mean score of each pair over some raters, or all; 0 where none of them said."""
        chosen = self.scores if raters is None else self.scores[:, list(raters)]
        said = ~np.isnan(chosen)
        total = np.where(said, chosen, 0.0).sum(axis=1)
        mean = np.zeros(len(chosen))
        np.divide(total, said.sum(axis=1), out=mean, where=said.any(axis=1))
        return mean


def read_ratings(path: str | os.PathLike[str], *, scale: float | None = None) -> Ratings:
    """Read a table of similarity with all its raters.

    Parameters
    ----------
    path : path
        A ``.csv`` or ``.npz`` file.
    scale : float, optional
        Highest score of the scale. By default 1 where no score is higher, else 4.

    Returns
    -------
    Ratings

    Raises
    ------
    InputError
        For a file that cannot be used: line and column, value and what to do.
    """
    path = Path(path)
    if scale is not None and not (math.isfinite(scale) and scale > 0):
        raise InputError(f"scale {scale:g}: must be a positive number, like 4")
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        raise InputError(f"{path}: {what}; give a table of similarity, .csv or .npz")
    raw = _read_npz(path) if path.suffix.lower() == ".npz" else _read_csv(path)
    if not raw.first:
        raise InputError(f"{path}: no pair of words; give rows of two words and their scores")
    return _completed(raw, scale)


@dataclass
class _Raw:
    """Pairs as they stand in a file, in the scale of the file."""

    path: Path
    words: list[str]
    first: list[int]
    second: list[int]
    scores: Any
    raters: list[str]


def _read_csv(path: Path) -> _Raw:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = list(csv.reader(stream))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not a CSV file ({error}); give a,b,score") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    numbered = [(number, row) for number, row in enumerate(lines, 1) if any(map(str.strip, row))]
    if not numbered:
        raise InputError(f"{path}: is empty; give rows of a,b,score")
    head = [original(cell.strip()) for cell in numbered[0][1]]
    if len(head) < 3:
        raise InputError(
            f"{path}: line {numbered[0][0]}: {len(head)} columns; give a,b,score, or a,b and one "
            "column a rater"
        )
    raters = head[2:]
    if all(map(_is_number, raters)):  # there is no header
        raters = ["score"] if len(raters) == 1 else [f"rater {n + 1}" for n in range(len(raters))]
    else:
        numbered = numbered[1:]
    _check_raters(path, raters)
    place: dict[str, int] = {}
    first, second, scores = [], [], []
    for number, row in numbered:
        if len(row) != len(head):
            raise InputError(
                f"{path}: line {number}: {len(row)} columns where the first line has {len(head)}"
            )
        pair = plain(original(row[0])), plain(original(row[1]))
        if not all(pair):
            raise InputError(f"{path}: line {number}: a word is missing; give two words")
        first.append(place.setdefault(pair[0], len(place)))
        second.append(place.setdefault(pair[1], len(place)))
        scores.append([_score(path, number, *cell) for cell in zip(raters, row[2:], strict=True)])
    return _Raw(path, list(place), first, second, np.array(scores, dtype=np.float64), raters)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _score(path: Path, line: int, rater: str, cell: str) -> float:
    if not cell.strip():
        return math.nan
    try:
        score = float(cell)
    except ValueError:
        raise InputError(
            f"{path}: line {line}, column '{rater}': {cell!r:.40} is not a number; give a score, "
            "or nothing where there is none"
        ) from None
    if not math.isfinite(score):
        raise InputError(f"{path}: line {line}, column '{rater}': {cell} is no score")
    return score


def _check_raters(path: Path, raters: Sequence[str]) -> None:
    if not all(raters):
        raise InputError(f"{path}: column {raters.index('') + 3} has no name; name the rater")
    twice = sorted({rater for rater in raters if raters.count(rater) > 1})
    if twice:
        raise InputError(f"{path}: two columns are called '{twice[0]}'; give raters two names")


def _read_npz(path: Path) -> _Raw:
    arrays = members(path)
    if "names" not in arrays:
        raise InputError(f"{path}: has no array 'names'; it has {some_of(list(arrays))}")
    words = [plain(name) for name in _texts(path, "names", arrays["names"])]
    twice = sorted({word for word in words if words.count(word) > 1}) if _repeats(words) else []
    if twice:
        raise InputError(f"{path}: names: '{twice[0]}' stands twice; give every word once")
    if {"row", "column", "value"} <= arrays.keys():
        first, second = (arrays[key].read().ravel() for key in ("row", "column"))
        scores = _floats(path, "value", arrays["value"])
        scores = scores[:, None] if scores.ndim == 1 else scores
        inside = scores.ndim == 2 and all(
            len(rows) == len(scores) and rows.dtype.kind in "iu" and _within(rows, len(words))
            for rows in (first, second)
        )
        if not inside:
            raise InputError(
                f"{path}: row, column and value do not fit {len(words)} names; give positions of "
                "names and one score, or one score a rater, for each"
            )
    elif "values" in arrays:
        square = _floats(path, "values", arrays["values"])
        shape = square.shape
        square = square[None] if square.ndim == 2 else square
        if square.ndim != 3 or square.shape[1:] != (len(words), len(words)):
            raise InputError(
                f"{path}: values: shape {shape} does not fit {len(words)} names; give "
                f"({len(words)}, {len(words)})"
            )
        first, second = np.nonzero((square != 0).any(axis=0))
        scores = square[:, first, second].T
    else:
        raise InputError(
            f"{path}: has no array 'values', nor row, column and value; it has "
            f"{some_of(list(arrays))}"
        )
    if np.isinf(scores).any():
        raise InputError(f"{path}: holds infinite scores")
    raters = ["score"] if scores.shape[1] == 1 else [f"rater {n + 1}" for n in range(len(scores.T))]
    if "raters" in arrays:
        raters = _texts(path, "raters", arrays["raters"])
        if len(raters) != scores.shape[1]:
            raise InputError(f"{path}: {len(raters)} raters for {scores.shape[1]} tables")
    _check_raters(path, raters)
    return _Raw(path, words, first.tolist(), second.tolist(), scores, raters)


def _floats(path: Path, name: str, member: Member) -> FloatArray:
    array = member.read()
    if array.dtype.kind not in "biuf":
        raise InputError(f"{path}: {name}: of type {array.dtype}; give numbers")
    return array.astype(np.float64)


def _texts(path: Path, name: str, member: Member) -> list[str]:
    array = member.read()
    if array.dtype.kind not in "UO" or not all(isinstance(each, str) for each in array.flat):
        raise InputError(f"{path}: {name}: of type {array.dtype}; give strings")
    return [str(each) for each in array.flat]


def _repeats(words: list[str]) -> bool:
    return len(set(words)) < len(words)


def _within(rows: IntArray, stop: int) -> bool:
    return not len(rows) or bool(rows.min() >= 0 and rows.max() < stop)


def _completed(raw: _Raw, scale: float | None) -> Ratings:
    """Bring scores to [0, 1] and every pair to one row."""
    highest = _scale(raw, scale)
    scores = raw.scores / highest
    one, other = np.array(raw.first, dtype=np.int64), np.array(raw.second, dtype=np.int64)
    size = np.int64(len(raw.words))
    key = np.minimum(one, other) * size + np.maximum(one, other)
    pairs, row = np.unique(key, return_inverse=True)
    low, high, mean = _spread(scores, row.ravel(), len(pairs))
    first, second = pairs // size, pairs % size
    apart = (np.nan_to_num(high - low) > ROUNDING).any(axis=1)
    itself = first == second
    with_itself = np.nan_to_num(mean[itself], nan=1.0)
    off = (with_itself < 1 - ROUNDING).any(axis=1)
    notes = []
    if scale is None:
        notes.append(f"{raw.path.name}: read as scores from 0 to {highest:g} (else give --scale)")
    if apart.any():
        named = [
            f"{raw.words[first[n]]} and {raw.words[second[n]]} "
            f"({np.nanmin(low[n]) * highest:g}, {np.nanmax(high[n]) * highest:g})"
            for n in np.flatnonzero(apart).tolist()
        ]
        notes.append(
            f"{raw.path.name}: {len(named)} pairs stand there more than once with different "
            f"scores; their mean counts: {some_of(named)}"
        )
    if off.any():
        named = [raw.words[word] for word in first[itself][off].tolist()]
        notes.append(
            f"{raw.path.name}: {len(named)} words are not rated as identical to themselves; they "
            f"count as identical: {some_of(named)}"
        )
    order = np.zeros((len(pairs), 2), dtype=bool)
    order[row.ravel(), (one > other).astype(np.intp)] = True
    return Ratings(
        names=tuple(raw.words),
        first=first,
        second=second,
        scores=mean,
        raters=tuple(raw.raters),
        scale=highest,
        stem=raw.path.stem,
        source=raw.path.name,
        notes=tuple(notes),
        one_sided=int((~itself & ~order.all(axis=1)).sum()),
        contradictions=int(apart.sum()),
        off_diagonal=int(off.sum()),
    )


def _scale(raw: _Raw, given: float | None) -> float:
    """Find the highest score of the scale, and check that all scores lie in it."""
    said = raw.scores[~np.isnan(raw.scores)]
    highest = float(said.max(initial=0.0))
    scale = given or next((scale for scale in SCALES if highest <= scale), None)
    if scale is None:
        raise InputError(
            f"{raw.path}: the highest score is {highest:g}; say with --scale what the scale ends at"
        )
    bad = np.argwhere((raw.scores < 0) | (raw.scores > scale))
    if len(bad):
        pair, rater = bad[0].tolist()
        raise InputError(
            f"{raw.path}: '{raw.words[raw.first[pair]]}' and '{raw.words[raw.second[pair]]}', "
            f"column '{raw.raters[rater]}': {raw.scores[pair, rater]:g} lies outside 0 to "
            f"{scale:g}; correct it, or give another --scale"
        )
    return scale


def _spread(
    scores: FloatArray, row: IntArray, rows: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Lowest, highest and mean score of each pair and rater; NaN where there is none."""
    low, high = np.full((2, rows, scores.shape[1]), np.nan)
    np.fmin.at(low, row, scores)
    np.fmax.at(high, row, scores)
    said = ~np.isnan(scores)
    total, number = np.zeros((2, rows, scores.shape[1]))
    np.add.at(total, row, np.where(said, scores, 0.0))
    np.add.at(number, row, said)
    # What stands there once is not touched by the division of its sum.
    mean = np.full_like(total, np.nan)
    np.divide(total, number, out=mean, where=number > 0)
    return low, high, mean
