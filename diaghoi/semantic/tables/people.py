"""Ratings by people: of items by annotators, and of pairs of words or interactions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from diaghoi.data.arrays import FloatArray, ratios
from diaghoi.data.files import (
    Rows,
    as_number,
    check_names,
    check_widths,
    number_in,
    read_rows,
)
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.language.words import plain
from diaghoi.semantic.tables.ratings import SCALES, end_of_scale

METRICS = ("score", "similarity", "metric", "shoe", "model")
"""Columns that hold a metric, not a person, unless columns are given."""
ITEMS = ("", "id", "image", "index", "item", "no", "number", "pair", "question")
"""Columns that number the items, and are not ratings even where all numbers are on the scale."""
MOST_LEVELS = 1000
_PERSON = ("annotator", "rater", "person", "worker")
_GIVEN = ("rating", "score", "value")


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanRatings:
    """Ratings of the same items by people, and possibly scores of metrics.

    Parameters
    ----------
    annotators : tuple of str
        The A people.
    ratings : (A, I) float64 array
        Integers from 0 to ``highest``; NaN where somebody gave no score.
    metrics : dict of str to (I,) float64 array
        Scores of metrics on the scale of the people.
    highest : int
        Highest score of the scale.
    source : str
        The file.
    notes : tuple of str
        How the file was read.
    described : dict of str to (I,) tuple of str
        The columns that describe the items.
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
        """(I,) mean of the people; NaN where nobody gave a score."""
        rated = ~np.isnan(self.ratings)
        return ratios(np.where(rated, self.ratings, 0.0).sum(axis=0), rated.sum(axis=0))


def read_human_ratings(
    path: Path, *, metrics: Sequence[str] = (), highest: int = 4
) -> HumanRatings:
    """Read ratings by people.

    Parameters
    ----------
    path : pathlib.Path
        CSV with a header: one item per row and one column per person, empty where somebody gave no
        score; other columns describe the items. Or one rating per row, with a column
        ``annotator``, a column ``rating`` and the item in the others.
    metrics : sequence of str
        Columns with the scores of metrics; by default those with a usual name.
    highest : int
        Highest score of the scale, which starts at 0; at most 1,000.

    Returns
    -------
    HumanRatings

    Raises
    ------
    InputError
        For a file that cannot be used: line and column, value and what to do.
    """
    if not 1 <= highest <= MOST_LEVELS:
        raise InputError(f"scale {highest}: must be a number from 1 to {MOST_LEVELS:,}")
    columns, known = _columns(path)
    for name in metrics:
        if name not in columns:
            raise InputError(f"{path}: has no column '{name}'{close_matches(name, columns)}")
    chosen = metrics or tuple(
        name for name in columns if name.lower() in METRICS and name not in known
    )
    people = [
        name
        for name, cells in columns.items()
        if name not in chosen and (name in known if known else _rates(name, cells, highest))
    ]
    if len(people) < 2:
        raise InputError(
            f"{path}: ratings of {len(people)} people ({some_of(people) or 'none'}); agreement "
            f"needs columns of two, with whole numbers from 0 to {highest}"
        )
    ratings = [_ratings(path, columns[name], highest) for name in people]
    notes = [
        f"{path.name}: column '{name}' is no rating from 0 to {highest} and describes the items"
        for name, cells in columns.items()
        if name not in people and name not in chosen and _numeric(cells)
    ]
    scores, metric_notes = {}, []
    for name in chosen:
        scores[name], scale = _scaled(path, name, _numbers(path, columns[name]), highest)
        metric_notes.append(f"{path.name}: '{name}' is read as a metric from 0 to {scale:g}")
    return HumanRatings(
        annotators=tuple(people),
        ratings=np.array(ratings),
        metrics=scores,
        highest=highest,
        source=path.name,
        notes=(*notes, *metric_notes),
        described={
            name: tuple(cell.text for cell in cells)
            for name, cells in columns.items()
            if name not in people and name not in chosen
        },
    )


@dataclass(frozen=True)
class _Cell:
    """A cell of a file with its place."""

    line: int
    column: str
    text: str


_Columns = dict[str, list[_Cell]]


def _columns(path: Path) -> tuple[_Columns, list[str]]:
    """Read the cells of each column, one per item, and the people where the file names them."""
    rows = read_rows(path, "one column per person")
    if len(rows) < 2:
        raise InputError(f"{path}: holds no ratings; give a header and one item per row")
    head = rows[0][1]
    check_widths(path, rows)
    check_names(path, head, "people")
    lower = [name.lower() for name in head]
    person = next((lower.index(name) for name in _PERSON if name in lower), None)
    given = next((lower.index(name) for name in _GIVEN if name in lower), None)
    if person is not None and given is not None:
        return _spread(path, rows, person, given)
    return {
        name: [_Cell(line, name, row[at]) for line, row in rows[1:]] for at, name in enumerate(head)
    }, []


def _spread(path: Path, rows: Rows, person: int, given: int) -> tuple[_Columns, list[str]]:
    """Convert one rating per row into one item per row."""
    head = rows[0][1]
    others = [at for at in range(len(head)) if at not in (person, given)]
    items: dict[tuple[str, ...], tuple[int, dict[str, _Cell]]] = {}
    names: dict[str, None] = {}
    for line, row in rows[1:]:
        who, item = row[person], tuple(row[at] for at in others)
        if not who:
            raise InputError(
                f"{path}: line {line}: column '{head[person]}' is empty; name the person"
            )
        if who in head:
            raise InputError(
                f"{path}: line {line}: {head[person]} '{who}' has the name of a column; rename one"
            )
        by_person = items.setdefault(item, (line, {}))[1]
        if who in by_person:
            of = f" of {some_of(item)}" if item else ""
            raise InputError(f"{path}: line {line}: a second rating{of} by {who}; keep one")
        by_person[who] = _Cell(line, head[given], row[given])
        names[who] = None
    columns = {
        head[at]: [_Cell(line, head[at], item[place]) for item, (line, _) in items.items()]
        for place, at in enumerate(others)
    }
    columns |= {
        name: [row.get(name, _Cell(line, name, "")) for line, row in items.values()]
        for name in names
    }
    return columns, list(names)


def _numeric(cells: Sequence[_Cell]) -> bool:
    texts = [cell.text for cell in cells if cell.text]
    return bool(texts) and all(as_number(text) is not None for text in texts)


def _rates(name: str, cells: Sequence[_Cell], highest: int) -> bool:
    """Whether most cells are ratings, so that a typo is reported and does not hide the column."""
    if name.lower() in ITEMS:
        return False
    texts = [cell.text for cell in cells if cell.text]
    values = (as_number(text) for text in texts)
    within = [v for v in values if v is not None and _on_scale(v, highest)]
    return 2 * len(within) > len(texts)


def _on_scale(value: float, highest: int) -> bool:
    return value.is_integer() and 0 <= value <= highest


def _numbers(path: Path, cells: Sequence[_Cell]) -> list[float]:
    return [number_in(path, cell.line, cell.column, cell.text) for cell in cells]


def _ratings(path: Path, cells: Sequence[_Cell], highest: int) -> list[float]:
    values = _numbers(path, cells)
    for cell, value in zip(cells, values, strict=True):
        if value == value and not _on_scale(value, highest):
            raise InputError(
                f"{path}: line {cell.line}, column '{cell.column}': {value:g} is not a whole "
                f"number from 0 to {highest}; correct it, or give another --scale"
            )
    return values


def _scaled(
    path: Path, name: str, values: Sequence[float], highest: int
) -> tuple[FloatArray, float]:
    """Convert a metric to the scale of the people; its own ends at 1 if no score is higher."""
    scores = np.array(values)
    least, most = float(np.nanmin(scores, initial=0.0)), float(np.nanmax(scores, initial=0.0))
    scale = SCALES[0] if most <= SCALES[0] else float(highest)
    if most > scale or least < 0:
        raise InputError(
            f"{path}: column '{name}': a metric must lie between 0 and 1, or between 0 and "
            f"{highest}; it reaches from {least:g} to {most:g}"
        )
    return scores * (highest / scale), scale


# Columns of two words, and of two interactions (verb, object, verb, object), by their headers.
WORDS = (("a", "b"),)
INTERACTIONS = (
    ("verb_a", "object_a", "verb_b", "object_b"),
    ("gt_verb_synset", "gt_object_synset", "pred_verb_synset", "pred_object_synset"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class HumanScores:
    """Scores by people for pairs of words, or pairs of interactions.

    Parameters
    ----------
    words : tuple of tuple of str
        Two words, or verb, object, verb and object, of each of the P pairs.
    mean : (P,) float64 array
        Mean over the people, in [0, 1].
    of_interactions : bool
        Whether the pairs are interactions.
    source : str
        The file.
    notes : tuple of str
        How the file was read.
    """

    words: tuple[tuple[str, ...], ...]
    mean: FloatArray
    of_interactions: bool
    source: str
    notes: tuple[str, ...] = ()


def read_human_scores(path: str | os.PathLike[str], *, scale: float | None = None) -> HumanScores:
    """Read scores by people.

    Parameters
    ----------
    path : path
        CSV with the columns ``a`` and ``b``, or ``verb_a``, ``object_a``, ``verb_b`` and
        ``object_b`` (also in the names of SHOE's user study), followed by one column of scores per
        person, or one ``similarity_level``. Other columns of SHOE's study are skipped.
    scale : float, optional
        Highest score; by default 1 where no score is higher, else 4.

    Raises
    ------
    InputError
        For a file that cannot be used.
    """
    path = Path(path)
    rows = read_rows(path, "a header and one pair per row")
    if len(rows) < 2:
        raise InputError(f"{path}: no ratings; give a header and one pair per row")
    head = rows[0][1]
    named = next((names for names in (*INTERACTIONS, *WORDS) if set(names) <= set(head)), None)
    if named is None:
        raise InputError(
            f"{path}: the columns are {some_of(head, 8)}; give a and b, or verb_a, object_a, "
            "verb_b and object_b, and one column of scores per person"
        )
    check_widths(path, rows)
    place = {name: head.index(name) for name in head}
    last = max(place[name] for name in named)
    people = (
        ["similarity_level"] if "similarity_level" in head else list(filter(None, head[last + 1 :]))
    )
    if not people:
        raise InputError(f"{path}: no column of scores after {named[-1]}")
    check_names(path, [name for name in head if name in (*named, *people)], "people")
    words, scores = [], []
    for line, row in rows[1:]:
        empty = next((name for name in named if not row[place[name]]), None)
        if empty is not None:
            raise InputError(f"{path}: line {line}: column '{empty}' is empty; give a word")
        words.append(tuple(plain(row[place[name]]) for name in named))
        given = [number_in(path, line, who, row[place[who]]) for who in people]
        if np.isnan(given).all():
            raise InputError(f"{path}: line {line}: nobody gave a score; leave the row out")
        scores.append(given)
    lowest, highest = float(np.nanmin(scores)), float(np.nanmax(scores))
    end = end_of_scale(highest, scale)
    if end is None or highest > end or lowest < 0:
        raise InputError(
            f"{path}: scores from {lowest:g} to {highest:g}; give the end of the scale with "
            "--human-scale"
        )
    guessed = f"{path.name}: read as scores from 0 to {end:g} (else give --human-scale)"
    return HumanScores(
        words=tuple(words),
        mean=np.nanmean(scores, axis=1) / end,
        of_interactions=len(named) > 2,
        source=path.name,
        notes=(guessed,) if scale is None else (),
    )
