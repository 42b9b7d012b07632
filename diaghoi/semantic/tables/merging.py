"""Merge several tables of similarity, or the raters of one."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.exceptions import InputError
from diaghoi.semantic.tables.ratings import NAMELESS, Ratings
from diaghoi.semantic.tables.table_files import write_pairs


def merge_ratings(tables: Sequence[Ratings], *, name: str = "merged") -> Ratings:
    """Merge the raters of several tables into one.

    A pair that a table does not have is not rated by its raters. Only a table that lists all its
    words with themselves, as those that ``similarity build`` makes and square ones do, leaves out
    no pair but those rated 0: there, a missing pair of its words is rated 0. Words that a table has
    are identical to themselves in any case. A column called ``score`` gets the name of its file.

    Parameters
    ----------
    tables : sequence of Ratings
        At least one; scores are in [0, 1] whatever the scales of the files.
    name : str
        Name of the merged table.

    Raises
    ------
    InputError
        For no table, or two raters of the same name.
    """
    if not tables:
        raise InputError("there is no table to merge; give at least one")
    raters = [rater for table in tables for rater in _named(table)]
    twice = sorted({rater for rater in raters if raters.count(rater) > 1})
    if twice:
        raise InputError(
            f"{', '.join(table.source for table in tables)}: rater '{twice[0]}' appears in two "
            "tables; rename a column, or a file whose column is called score"
        )
    place: dict[str, int] = {}
    for table in tables:
        for word in table.names:
            place.setdefault(word, len(place))
    size = np.int64(len(place))
    rows = [np.array([place[word] for word in table.names], dtype=np.int64) for table in tables]
    keys = [_keys(table, row, size) for table, row in zip(tables, rows, strict=True)]
    pairs = np.unique(np.concatenate(keys))
    first, second = pairs // size, pairs % size
    columns = []
    for table, row, key in zip(tables, rows, keys, strict=True):
        listed = np.zeros(size, dtype=bool)
        listed[row] = True
        known = listed[first] & listed[second]
        rated = known if _leaves_out_zeros(table) else known & (first == second)
        default = np.where(rated, first == second, np.nan)
        column = np.repeat(default[:, None], len(table.raters), axis=1)
        column[np.searchsorted(pairs, key)] = table.scores
        columns.append(column)
    return Ratings(
        names=tuple(place),
        first=first,
        second=second,
        scores=np.concatenate(columns, axis=1),
        raters=tuple(raters),
        scale=1.0,
        stem=name,
        source=", ".join(table.source for table in tables),
        notes=tuple(note for table in tables for note in table.notes),
    )


def _leaves_out_zeros(table: Ratings) -> bool:
    """Whether a table lists all its words with themselves, and thus only pairs above 0."""
    return int((table.first == table.second).sum()) == len(table.names)


def _named(table: Ratings) -> tuple[str, ...]:
    if len(table.raters) == 1 and table.raters[0] in NAMELESS:
        return (table.stem,)
    return table.raters


def _keys(table: Ratings, row: IntArray, size: np.int64) -> IntArray:
    one, other = row[table.first], row[table.second]
    return np.minimum(one, other) * size + np.maximum(one, other)


def mean_of(ratings: Ratings, name: str) -> Ratings:
    """Return a table with one column, the mean over the raters."""
    return Ratings(
        names=ratings.names,
        first=ratings.first,
        second=ratings.second,
        scores=ratings.means()[:, None],
        raters=(name,),
        scale=ratings.scale,
        stem=ratings.stem,
        source=ratings.source,
        notes=ratings.notes,
    )


def write_ratings(path: str | os.PathLike[str], ratings: Ratings) -> None:
    """Write a table with one column per rater, in [0, 1]; the file appears whole or not at all.

    Parameters
    ----------
    path : path
        ``.csv`` or ``.npz``, as :func:`diaghoi.semantic.tables.ratings.read_ratings` reads them.
    ratings : Ratings
        The table.

    Raises
    ------
    InputError
        For another suffix, and a file that cannot be written.
    """
    write_pairs(path, ratings.names, ratings.first, ratings.second, ratings.scores, ratings.raters)
