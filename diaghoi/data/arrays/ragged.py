"""Rows that belong together without a Python loop: the index arithmetic of the whole package."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, starmap

import numpy as np

from diaghoi.data.arrays.types import Array, BoolArray, IntArray


def expand(start: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """List every (owner, position) with ``start[owner] <= position < start[owner] + count[owner]``.

    Parameters
    ----------
    start, count : (N,) int array
        The run of consecutive positions that each owner has.

    Returns
    -------
    owner, position : (sum(count),) int array
        Ordered by owner, then by position.
    """
    owner = np.repeat(np.arange(len(count)), count)
    shift = np.asarray(start) - (np.cumsum(count) - count)
    return owner, np.arange(len(owner)) + shift[owner]


# Positions expanded at once: few enough for arrays to stay in the cache.
EXPANDED = 200_000


def expand_in_parts(
    start: IntArray, count: IntArray, size: int | None = None
) -> Iterator[tuple[IntArray, IntArray]]:
    """Give what :func:`expand` gives, in parts that end with an owner.

    What is compared all with all, as the boxes of an image, can be too much for memory.

    Parameters
    ----------
    start, count : (N,) int array
        The run of consecutive positions that each owner has.
    size : int, optional
        Positions of a part, :data:`EXPANDED` by default; an owner with more has a part of its own,
        or ends one.

    Yields
    ------
    owner, position : int array
        Of at least one part, which may be empty.
    """
    bounds = np.append(0, np.cumsum(count))
    for part in batches(bounds, EXPANDED if size is None else size) or [range(0)]:
        some = slice(part.start, part.stop)
        owner, position = expand(start[some], count[some])
        yield owner + part.start, position


def runs(sorted_keys: IntArray, wanted: IntArray) -> tuple[IntArray, IntArray]:
    """Find the run of each wanted key among sorted keys.

    Returns
    -------
    start, count : (len(wanted),) int array
        The run of positions with that key; ``count`` 0 where the key is absent.
    """
    start = np.searchsorted(sorted_keys, wanted, side="left")
    return start, np.searchsorted(sorted_keys, wanted, side="right") - start


def first_of_run(keys: Array) -> BoolArray:
    """Mark the first row of every run of equal neighbours."""
    first = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return first


def batches(bounds: IntArray, size: int, groups: range | None = None) -> list[range]:
    """Cut groups of rows into runs of groups with about ``size`` rows each.

    Parameters
    ----------
    bounds : (N + 1,) int array
        First row of each group, and the number of rows.
    size : int
        Rows of a run; a group with more is a run of its own, or ends one.
    groups : range, optional
        Consecutive groups; all of them by default.
    """
    groups = range(len(bounds) - 1) if groups is None else groups
    # Groups whose first rows lie in the same stretch of `size` rows go together.
    number = bounds[groups.start : groups.stop] // size
    first = (np.flatnonzero(first_of_run(number)) + groups.start).tolist()
    return list(starmap(range, pairwise([*first, groups.stop])))


def slices(rows: int, size: int) -> list[slice]:
    """Cut rows into runs of ``size``, the last of which may be shorter; one empty run of none."""
    return [slice(first, first + size) for first in range(0, max(rows, 1), size)]


def place_in_group(groups: IntArray) -> IntArray:
    """Count the rows of each group from zero; the rows of a group must be neighbours."""
    start = np.flatnonzero(first_of_run(groups))
    return np.arange(len(groups)) - np.repeat(start, np.diff(np.append(start, len(groups))))


def marked(positions: IntArray, length: int) -> BoolArray:
    """Return a (length,) mask that is true at the positions."""
    marks = np.zeros(length, dtype=bool)
    marks[positions] = True
    return marks
