"""Ratings of word pairs by raters: the files from which similarity tables are created.

A CSV has a header and one pair per row, ``a,b,score`` or ``a,b,RATER,RATER,...``, with an empty
cell for a missing score. An ``.npz`` has the arrays ``names`` (N,) and ``values`` (N, N), or (R, N,
N) with ``raters`` (R,); or, if few pairs are similar, ``row``, ``column`` (P,) and ``value`` (P,)
or (P, R).
"""

from __future__ import annotations

import csv
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, marked, ratios
from diaghoi.data.files import (
    as_number,
    check_names,
    check_widths,
    number_in,
    read_rows,
)
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats.output import harmless, original, replacing
from diaghoi.formats.zipped import Member, members
from diaghoi.language.words import plain

SCALES = (1.0, 4.0)
"""Highest scores of the recognised scales."""
NAMELESS = ("score", "similarity", "value", "values")
# Largest difference between two scores that do not contradict each other.
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """Scores of word pairs by one or more raters.

    Parameters
    ----------
    names : tuple of str
        The N words, as :func:`plain` writes them.
    first, second : (P,) int array
        The two words of each pair, ``first <= second``; each pair appears once.
    scores : (P, R) float64 array
        In [0, 1]; NaN if a rater gave no score.
    raters : tuple of str
        The R raters.
    scale : float
        Highest score of the scale in the file.
    stem : str
        File name without suffix.
    source : str
        The file.
    notes : tuple of str
        Contradictions, and remarks on the reading of the file.
    one_sided : int
        Number of pairs that the file has in only one order, (a, b) or (b, a).
    contradictions : int
        Number of pairs that appear more than once with different scores; their mean counts.
    off_diagonal : int
        Number of words that the file rates as not identical to themselves.
    square : bool
        Whether the file has a score for every pair; pairs rated 0 are omitted from ``first`` and
        ``second``.
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
    square: bool = False

    @property
    def nameless(self) -> bool:
        """Whether the only rater is unnamed."""
        return len(self.raters) == 1 and self.raters[0] in NAMELESS

    @property
    def provenance(self) -> str:
        """The raters and the file, as results show them."""
        if self.nameless:
            return self.source
        many = f"mean of {len(self.raters)} raters: " if len(self.raters) > 1 else "rated by "
        return f"{many}{', '.join(self.raters)} ({self.source})"


def mean_scores(scores: FloatArray) -> FloatArray:
    """Return the mean, (P,), of (P, R) scores over raters that gave a score; 0 if no rater did."""
    rated = ~np.isnan(scores)
    total = np.where(rated, scores, 0.0).sum(axis=1)
    return ratios(total, rated.sum(axis=1), undefined=0.0)


def read_ratings(path: str | os.PathLike[str], *, scale: float | None = None) -> Ratings:
    """Read a similarity table with all its raters.

    Parameters
    ----------
    path : path
        A ``.csv`` or ``.npz`` file.
    scale : float, optional
        Highest score of the scale. The default is 1 if no score is higher, and otherwise 4.

    Raises
    ------
    InputError
        If the file is unusable; the message has line, column, value and advice.
    """
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        raise InputError(f"{path}: {what}; give a table of similarity, .csv or .npz")
    raw = _read_npz(path) if path.suffix.lower() == ".npz" else _read_csv(path)
    if not raw.first:
        raise InputError(f"{path}: no pair of words; give rows of two words and their scores")
    return _completed(raw, scale)


@dataclass
class _Raw:
    """Pairs as in the file, with scores on the scale of the file."""

    path: Path
    words: list[str]
    first: list[int]
    second: list[int]
    scores: Any
    raters: list[str]
    square: bool = False


def _read_csv(path: Path) -> _Raw:
    rows = read_rows(path, "rows of a,b,score", least=1)
    head = [original(cell) for cell in rows[0][1]]
    if len(head) < 3:
        raise InputError(
            f"{path}: line {rows[0][0]}: {len(head)} columns; give a,b,score, or a,b and one "
            "column per rater"
        )
    check_widths(path, rows)
    raters = head[2:]
    # A first row of numbers is data, unless it starts with "a": rater names may be numbers.
    if plain(head[0]) != "a" and all(as_number(rater) is not None for rater in raters):
        raters = _numbered(len(raters))
    else:
        rows = rows[1:]
    _check_raters(path, raters)
    place: dict[str, int] = {}
    first, second, scores = [], [], []
    for line, row in rows:
        pair = plain(original(row[0])), plain(original(row[1]))
        if not all(pair):
            raise InputError(f"{path}: line {line}: a word is missing; give two words")
        first.append(place.setdefault(pair[0], len(place)))
        second.append(place.setdefault(pair[1], len(place)))
        cells = zip(raters, row[2:], strict=True)
        scores.append([number_in(path, line, rater, cell) for rater, cell in cells])
    return _Raw(path, list(place), first, second, np.array(scores, dtype=np.float64), raters)


def _numbered(raters: int) -> list[str]:
    """Generate names for unnamed raters."""
    return ["score"] if raters == 1 else [f"rater {n + 1}" for n in range(raters)]


def _check_raters(path: Path, raters: Sequence[str]) -> None:
    if not all(raters):
        raise InputError(f"{path}: column {raters.index('') + 3} has no name; name the rater")
    check_names(path, raters, "raters")


def _read_npz(path: Path) -> _Raw:
    arrays = members(path)
    words = [plain(name) for name in _array(path, arrays, "names", "UO").flat]
    if "" in words:
        raise InputError(f"{path}: names: number {words.index('') + 1} is empty; give words")
    if len(set(words)) < len(words):
        twice = Counter(words).most_common(1)[0][0]
        raise InputError(f"{path}: names: '{twice}' appears twice; give every word once")
    listed = {"row", "column", "value"} <= arrays.keys()
    first, second, scores = (_listed if listed else _squared)(path, arrays, len(words))
    infinite = np.flatnonzero(np.isinf(scores).any(axis=1))
    if len(infinite):
        pair = " and ".join(f"'{words[rows[infinite[0]]]}'" for rows in (first, second))
        raise InputError(
            f"{path}: the score of {pair} is infinite; give a number, or NaN for no score"
        )
    raters = _numbered(scores.shape[1])
    if "raters" in arrays:
        raters = _array(path, arrays, "raters", "UO").ravel().tolist()
        if len(raters) != scores.shape[1]:
            raise InputError(
                f"{path}: {len(raters)} raters for {scores.shape[1]} tables; name the rater of "
                "each table"
            )
    _check_raters(path, raters)
    return _Raw(path, words, first.tolist(), second.tolist(), scores, raters, not listed)


def _listed(
    path: Path, arrays: Mapping[str, Member], words: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Read listed pairs: indices of both words, and the scores of each rater."""
    first, second = (_array(path, arrays, name, "iu").ravel() for name in ("row", "column"))
    scores = _floats(path, arrays, "value")
    scores = scores[:, None] if scores.ndim == 1 else scores
    if not (scores.ndim == 2 and scores.shape[1]) or not all(
        len(rows) == len(scores) and ((rows >= 0) & (rows < words)).all()
        for rows in (first, second)
    ):
        raise InputError(
            f"{path}: row, column and value do not fit {words} names; give positions of names and "
            "one score, or one score per rater, for each pair"
        )
    return first, second, scores


def _squared(
    path: Path, arrays: Mapping[str, Member], words: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """List the pairs with a score other than 0 in a square table, or in one table per rater."""
    square = _floats(path, arrays, "values")
    shape = square.shape
    square = square[None] if square.ndim == 2 else square
    if square.ndim != 3 or square.shape[1:] != (words, words):
        raise InputError(
            f"{path}: values: shape {shape} does not fit {words} names; give ({words}, {words})"
        )
    first, second = np.nonzero((square != 0).any(axis=0))
    return first, second, square[:, first, second].T


_KINDS = {"UO": "strings", "iu": "whole numbers", "biuf": "numbers"}


def _array(path: Path, arrays: Mapping[str, Member], name: str, kinds: str) -> Any:
    if name not in arrays:
        raise InputError(f"{path}: has no array '{name}'; it has {some_of(list(arrays))}")
    array = arrays[name].read()
    kind = array.dtype.kind
    if kind not in kinds or (kind == "O" and not all(isinstance(v, str) for v in array.flat)):
        raise InputError(f"{path}: {name}: of type {array.dtype}; give {_KINDS[kinds]}")
    return array


def _floats(path: Path, arrays: Mapping[str, Member], name: str) -> FloatArray:
    with np.errstate(over="ignore"):  # values that are too large become infinite and are refused
        return np.asarray(_array(path, arrays, name, "biuf").astype(np.float64))


def _completed(raw: _Raw, scale: float | None) -> Ratings:
    """Scale scores to [0, 1] and merge the rows of each pair."""
    highest = _scale(raw, scale)
    scores = raw.scores / highest
    one, other = np.array(raw.first, dtype=np.int64), np.array(raw.second, dtype=np.int64)
    keys = _pair_keys(one, other, len(raw.words))
    pairs, row = np.unique(keys, return_inverse=True)
    low, high, mean = _spread(scores, row.ravel(), len(pairs))
    first, second = np.divmod(pairs, len(raw.words))
    contradicted = (np.nan_to_num(high - low) > ROUNDING).any(axis=1)
    itself = first == second
    with_itself = np.nan_to_num(mean[itself], nan=1.0)
    off = (with_itself < 1 - ROUNDING).any(axis=1)
    notes = []
    if scale is None:
        notes.append(
            f"{raw.path.name}: read as scores from 0 to {highest:g} (if this is wrong, give "
            "--scale)"
        )
    if contradicted.any():
        named = [
            f"{raw.words[first[n]]} and {raw.words[second[n]]} "
            f"({np.nanmin(low[n]) * highest:g}, {np.nanmax(high[n]) * highest:g})"
            for n in np.flatnonzero(contradicted).tolist()
        ]
        notes.append(
            f"{raw.path.name}: {len(named)} pairs appear more than once with different scores; "
            f"their mean is used: {some_of(named)}"
        )
    if off.any():
        named = [raw.words[word] for word in first[itself][off].tolist()]
        notes.append(
            f"{raw.path.name}: {len(named)} words are not rated as identical to themselves; they "
            f"are treated as identical: {some_of(named)}"
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
        contradictions=int(contradicted.sum()),
        off_diagonal=int(off.sum()),
        square=raw.square,
    )


def _scale(raw: _Raw, given: float | None) -> float:
    """Find the highest score of the scale, and check that all scores are on the scale."""
    rated = raw.scores[~np.isnan(raw.scores)]
    highest = float(rated.max(initial=0.0))
    scale = end_of_scale(highest, given)
    if scale is None:
        raise InputError(
            f"{raw.path}: the highest score is {highest:g}; give the end of the scale with --scale"
        )
    bad = np.argwhere((raw.scores < 0) | (raw.scores > scale))
    if len(bad):
        pair, rater = bad[0].tolist()
        raise InputError(
            f"{raw.path}: '{raw.words[raw.first[pair]]}' and '{raw.words[raw.second[pair]]}', "
            f"column '{raw.raters[rater]}': {raw.scores[pair, rater]:g} is outside 0 to "
            f"{scale:g}; correct it, or give another --scale"
        )
    return scale


def end_of_scale(highest: float, given: float | None = None) -> float | None:
    """Return the end of the scale; None if the highest score is beyond all known scales.

    Raises
    ------
    InputError
        If the given end is not a positive number.
    """
    if given is None:
        return next((scale for scale in SCALES if highest <= scale), None)
    if not (math.isfinite(given) and given > 0):
        raise InputError(f"scale {given:g}: must be a positive number, like 4")
    return given


def _spread(
    scores: FloatArray, row: IntArray, rows: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the lowest, highest and mean score of each pair and rater; NaN without a score."""
    low, high = np.full((2, rows, scores.shape[1]), np.nan)
    np.fmin.at(low, row, scores)
    np.fmax.at(high, row, scores)
    rated = ~np.isnan(scores)
    total, number = np.zeros((2, rows, scores.shape[1]))
    np.add.at(total, row, np.where(rated, scores, 0.0))
    np.add.at(number, row, rated)
    # A single score stays exact, because dividing by 1 does not round.
    return low, high, ratios(total, number)


def merge_ratings(tables: Sequence[Ratings], *, name: str = "merged") -> Ratings:
    """Merge the raters of several tables into one.

    A pair that a table lacks counts as not rated by the raters of the table. A table that pairs
    every word with itself, such as a square table or one from ``similarity build``, is complete
    except for pairs rated 0: in such a table, a missing pair counts as rated 0. A word of a table
    is always identical to itself. A column called ``score`` is renamed after its file.

    Parameters
    ----------
    tables : sequence of Ratings
        At least one table; scores are in [0, 1] regardless of the files' scales.
    name : str
        Name of the merged table.

    Raises
    ------
    InputError
        If there is no table, or two raters have the same name.
    """
    if not tables:
        raise InputError("there is no table to merge; give at least one")
    raters = [
        rater for table in tables for rater in ((table.stem,) if table.nameless else table.raters)
    ]
    twice = sorted({rater for rater in raters if raters.count(rater) > 1})
    sources = ", ".join(table.source for table in tables)
    if twice:
        raise InputError(
            f"{sources}: rater '{twice[0]}' appears in two tables; rename a column, or a file "
            "whose column is called score"
        )
    names = [*dict.fromkeys(word for table in tables for word in table.names)]
    place = {word: number for number, word in enumerate(names)}
    rows = [np.array([place[word] for word in table.names], dtype=np.int64) for table in tables]
    keys = [
        _pair_keys(row[table.first], row[table.second], len(names))
        for table, row in zip(tables, rows, strict=True)
    ]
    pairs = np.unique(np.concatenate(keys))
    first, second = np.divmod(pairs, len(names))
    columns = []
    for table, row, key in zip(tables, rows, keys, strict=True):
        listed = marked(row, len(names))
        both_listed = listed[first] & listed[second]
        leaves_out_zeros = int((table.first == table.second).sum()) == len(table.names)
        rated = both_listed & (leaves_out_zeros | (first == second))
        default = np.where(rated, first == second, np.nan)
        column = np.repeat(default[:, None], len(table.raters), axis=1)
        column[np.searchsorted(pairs, key)] = table.scores
        columns.append(column)
    return Ratings(
        names=tuple(names),
        first=first,
        second=second,
        scores=np.concatenate(columns, axis=1),
        raters=tuple(raters),
        scale=1.0,
        stem=name,
        source=sources,
        notes=tuple(note for table in tables for note in table.notes),
    )


def _pair_keys(one: IntArray, other: IntArray, words: int) -> IntArray:
    """Encode the two words of each pair, in order, as one number."""
    return np.asarray(np.minimum(one, other) * np.int64(words) + np.maximum(one, other))


def mean_of(ratings: Ratings, name: str) -> Ratings:
    """Return a table with one column, the mean over the raters."""
    return replace(ratings, scores=mean_scores(ratings.scores)[:, None], raters=(name,))


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Return the lower-case suffix of a file to which a table can be written.

    Raises
    ------
    InputError
        If the suffix is neither ``.csv`` nor ``.npz``.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".npz"):
        raise InputError(f"{path}: tables of similarity are written as .csv or .npz")
    return suffix


def write_ratings(path: str | os.PathLike[str], ratings: Ratings) -> None:
    """Write a ``.csv`` or ``.npz`` table, one column per rater, completely or not at all.

    Raises
    ------
    InputError
        If the suffix is unknown, or the file cannot be written.
    """
    write_pairs(path, ratings.names, ratings.first, ratings.second, ratings.scores, ratings.raters)


def write_pairs(
    path: str | os.PathLike[str],
    names: Sequence[str],
    first: IntArray,
    second: IntArray,
    scores: FloatArray,
    raters: Sequence[str],
) -> None:
    """Write (P,) or (P, R) scores of pairs of words, like :func:`write_ratings`."""
    if check_suffix(path) == ".npz":
        with replacing(path) as temporary:
            np.savez_compressed(
                temporary,
                names=np.array(names, dtype=np.str_),
                row=first,
                column=second,
                value=scores,
                raters=np.array(raters, dtype=np.str_),
            )
        return
    cells = [harmless(name) for name in names]
    columns = scores.reshape(len(first), len(raters)).tolist()
    with (
        replacing(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as stream,
    ):
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("a", "b", *map(harmless, raters)))
        for a, b, row in zip(first.tolist(), second.tolist(), columns, strict=True):
            row_cells = ("" if score != score else repr(score) for score in row)
            writer.writerow((cells[a], cells[b], *row_cells))
