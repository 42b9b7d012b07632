"""Read ratings by people: of items, and of pairs of words or interactions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import FloatArray, ratios
from diaghoi.data.files import as_number, check_names, check_widths, number_in, read_rows
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.language.words import plain
from diaghoi.semantic.tables.ratings import SCALES, end_of_scale

METRICS = ("score", "similarity", "metric", "shoe", "model")
"""Columns that hold a metric rather than a person, unless the user names the metric columns."""
ITEMS = ("", "id", "image", "index", "item", "no", "number", "pair", "question")
"""Columns that number the items, and are not ratings even if all numbers are on the scale."""
MOST_LEVELS = 1000
_PERSON = ("annotator", "rater", "person", "worker")
_RATING = ("rating", "score", "value")
# Headers of the columns of two words, and of two interactions (verb, object, verb, object).
PAIRS = (
    ("verb_a", "object_a", "verb_b", "object_b"),
    ("gt_verb_synset", "gt_object_synset", "pred_verb_synset", "pred_object_synset"),
    ("a", "b"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanRatings:
    """Ratings of the same items by people, and possibly scores of metrics.

    Parameters
    ----------
    annotators : tuple of str
        The A people.
    ratings : (A, I) float64 array
        Integers from 0 to ``highest``; NaN if a person gave no score.
    metrics : dict of str to (I,) float64 array
        Scores of metrics, converted to the scale of the people.
    highest : int
        Highest score of the scale.
    source : str
        The file.
    notes : tuple of str
        Remarks on the reading of the file.
    described : dict of str to (I,) tuple of str
        Columns that describe the items.
    """

    annotators: tuple[str, ...]
    ratings: FloatArray
    metrics: dict[str, FloatArray]
    highest: int
    source: str
    notes: tuple[str, ...] = ()
    described: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def mean(self) -> FloatArray:
        """(I,) mean rating of each item; NaN if nobody rated the item."""
        rated = ~np.isnan(self.ratings)
        return ratios(np.where(rated, self.ratings, 0.0).sum(axis=0), rated.sum(axis=0))


class _Cell(NamedTuple):
    line: int
    column: str
    text: str


def read_human_ratings(
    path: Path, *, metrics: Sequence[str] = (), highest: int = 4
) -> HumanRatings:
    """Read ratings by people.

    Parameters
    ----------
    path : pathlib.Path
        CSV with a header: one item per row and one column per person, with empty cells for missing
        scores; other columns describe the items. Alternatively, the CSV has one rating per row,
        with a column ``annotator``, a column ``rating`` and the item in the other columns.
    metrics : sequence of str
        Columns with the scores of metrics; by default the columns named in :data:`METRICS`.
    highest : int
        Highest score of the scale, which starts at 0; at most 1,000.

    Raises
    ------
    InputError
        If the file is unusable; the message has line, column, value and advice.
    """
    if not 1 <= highest <= MOST_LEVELS:
        raise InputError(f"scale {highest}: must be a number from 1 to {MOST_LEVELS:,}")
    columns, named = _item_columns(path)
    for name in metrics:
        if name not in columns:
            raise InputError(f"{path}: has no column '{name}'{close_matches(name, columns)}")
    chosen = metrics or [name for name in columns if name.lower() in METRICS and name not in named]
    others = {name: cells for name, cells in columns.items() if name not in chosen}
    people = {
        name: cells
        for name, cells in others.items()
        if (name in named if named else _rates(name, cells, highest))
    }
    if len(people) < 2:
        raise InputError(
            f"{path}: ratings of {len(people)} people ({some_of([*people]) or 'none'}); agreement "
            f"needs ratings by at least two people, in whole numbers from 0 to {highest}"
        )
    ratings = [_ratings(path, cells, highest) for cells in people.values()]
    described = {name: cells for name, cells in others.items() if name not in people}
    notes = [
        f"{path.name}: column '{name}' has no ratings from 0 to {highest}; it describes the items"
        for name, cells in described.items()
        if None not in _values(cells) and len(_values(cells))
    ]
    scores = {}
    for name in chosen:
        scores[name], scale = _metric(path, name, columns[name], highest)
        notes.append(f"{path.name}: '{name}' is read as a metric from 0 to {scale:g}")
    return HumanRatings(
        annotators=tuple(people),
        ratings=np.array(ratings),
        metrics=scores,
        highest=highest,
        source=path.name,
        notes=tuple(notes),
        described={name: tuple(cell.text for cell in cells) for name, cells in described.items()},
    )


def _item_columns(path: Path) -> tuple[dict[str, list[_Cell]], list[str]]:
    """Read one cell per item for each column, and the people if a column names the people."""
    rows = read_rows(path, "a header and one item per row", least=2)
    head = rows[0][1]
    check_widths(path, rows)
    check_names(path, head, "people")
    lower = [name.lower() for name in head]
    person, rating = (
        next((lower.index(name) for name in names if name in lower), None)
        for names in (_PERSON, _RATING)
    )
    cells = [[_Cell(line, *pair) for pair in zip(head, row, strict=True)] for line, row in rows[1:]]
    if person is None or rating is None:
        return dict(zip(head, map(list, zip(*cells, strict=True)), strict=True)), []
    # With one rating per row, the rows of each item are gathered.
    items: dict[tuple[str, ...], tuple[list[_Cell], dict[str, _Cell]]] = {}
    for row in cells:
        line, column, who = row[person]
        if not who:
            raise InputError(f"{path}: line {line}: column '{column}' is empty; name the person")
        if who in head:
            raise InputError(
                f"{path}: line {line}: {column} '{who}' has the name of a column; rename the "
                "person or the column"
            )
        described = [cell for at, cell in enumerate(row) if at not in (person, rating)]
        item = tuple(cell.text for cell in described)
        by_person = items.setdefault(item, (described, {}))[1]
        if who in by_person:
            of = f" of {some_of(item)}" if item else ""
            raise InputError(f"{path}: line {line}: a second rating{of} by {who}; keep one")
        by_person[who] = row[rating]
    columns: dict[str, list[_Cell]] = {}
    for described, _ in items.values():
        for cell in described:
            columns.setdefault(cell.column, []).append(cell)
    names = dict.fromkeys(row[person].text for row in cells)
    none = _Cell(0, "", "")
    for name in names:
        columns[name] = [by_person.get(name, none) for _, by_person in items.values()]
    return columns, list(names)


def _values(cells: Iterable[_Cell]) -> list[float | None]:
    """Return the numbers in the nonempty cells, and None for text."""
    return [as_number(cell.text) for cell in cells if cell.text]


def _rates(name: str, cells: Sequence[_Cell], highest: int) -> bool:
    """Check whether most cells are ratings; a column of ratings may contain a typo."""
    values = _values(cells)
    return name.lower() not in ITEMS and 2 * sum(_fits(v, highest) for v in values) > len(values)


def _fits(value: float | None, highest: int) -> bool:
    return value is not None and value.is_integer() and 0 <= value <= highest


def _ratings(path: Path, cells: Sequence[_Cell], highest: int) -> list[float]:
    values = [number_in(path, *cell) for cell in cells]
    for cell, value in zip(cells, values, strict=True):
        if value == value and not _fits(value, highest):
            raise InputError(
                f"{path}: line {cell.line}, column '{cell.column}': {value:g} is not a whole "
                f"number from 0 to {highest}; correct it, or give another --scale"
            )
    return values


def _metric(
    path: Path, name: str, cells: Sequence[_Cell], highest: int
) -> tuple[FloatArray, float]:
    """Convert a metric to the people's scale; its own scale ends at 1 if no score is above 1."""
    scores = np.array([number_in(path, *cell) for cell in cells])
    least, most = float(np.nanmin(scores, initial=0.0)), float(np.nanmax(scores, initial=0.0))
    scale = SCALES[0] if most <= SCALES[0] else float(highest)
    if most > scale or least < 0:
        raise InputError(
            f"{path}: column '{name}': a metric must lie between 0 and 1, or between 0 and "
            f"{highest}; its values range from {least:g} to {most:g}"
        )
    return scores * (highest / scale), scale


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanScores:
    """Scores by people for pairs of words or interactions.

    Parameters
    ----------
    words : tuple of tuple of str
        The words of each of the P pairs: two words; or verb, object, verb and object.
    mean : (P,) float64 array
        Mean over the people, in [0, 1].
    source : str
        The file.
    notes : tuple of str
        Remarks on the reading of the file.
    """

    words: tuple[tuple[str, ...], ...]
    mean: FloatArray
    source: str
    notes: tuple[str, ...] = ()

    @property
    def of_interactions(self) -> bool:
        """Whether the pairs are interactions."""
        return len(self.words[0]) > 2


def read_human_scores(path: str | os.PathLike[str], *, scale: float | None = None) -> HumanScores:
    """Read scores by people.

    Parameters
    ----------
    path : path
        CSV with the columns ``a`` and ``b``, or ``verb_a``, ``object_a``, ``verb_b`` and
        ``object_b`` (or the column names of SHOE's user study), followed by one column of scores
        per person, or by one column ``similarity_level``. Other columns of SHOE's study are
        skipped.
    scale : float, optional
        Highest score; by default 1 if no score is higher, otherwise 4.

    Raises
    ------
    InputError
        If a file cannot be used.
    """
    path = Path(path)
    rows = read_rows(path, "a header and one pair per row", least=2)
    head = rows[0][1]
    words_of = next((names for names in PAIRS if set(names) <= set(head)), None)
    if words_of is None:
        raise InputError(
            f"{path}: the columns are {some_of(head, 8)}; give a and b, or verb_a, object_a, "
            "verb_b and object_b, and one column of scores per person"
        )
    check_widths(path, rows)
    place = {name: head.index(name) for name in head}
    last = max(place[name] for name in words_of)
    one_level = "similarity_level" in head
    people = ["similarity_level"] if one_level else [*filter(None, head[last + 1 :])]
    if not people:
        raise InputError(f"{path}: no column of scores after {words_of[-1]}")
    check_names(path, [name for name in head if name in (*words_of, *people)], "people")
    words, scores = [], []
    for line, row in rows[1:]:
        empty = next((name for name in words_of if not row[place[name]]), None)
        if empty is not None:
            raise InputError(f"{path}: line {line}: column '{empty}' is empty; give a word")
        words.append(tuple(plain(row[place[name]]) for name in words_of))
        scores.append([number_in(path, line, who, row[place[who]]) for who in people])
        if np.isnan(scores[-1]).all():
            raise InputError(f"{path}: line {line}: there is no score; remove the row")
    lowest, highest = float(np.nanmin(scores)), float(np.nanmax(scores))
    end = end_of_scale(highest, scale)
    if end is None or highest > end or lowest < 0:
        raise InputError(
            f"{path}: scores from {lowest:g} to {highest:g}; give the end of the scale with "
            "--human-scale"
        )
    guessed = (
        f"{path.name}: read as scores from 0 to {end:g} (if this is wrong, give --human-scale)"
    )
    return HumanScores(
        words=tuple(words),
        mean=np.nanmean(scores, axis=1) / end,
        source=path.name,
        notes=(guessed,) if scale is None else (),
    )
