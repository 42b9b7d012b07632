"""Rankings of parts of a table become the ranking of the whole, with few rows in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, starmap

import numpy as np

from diaghoi.data.arrays.ranking import descending
from diaghoi.data.arrays.scratch import Scratch, release
from diaghoi.data.arrays.types import Array, FloatArray, IntArray


def merge(table: Mapping[str, Array], bounds: Sequence[int], size: int, scratch: Scratch) -> None:
    """Rank the rows of a table anew, in place, where runs of them are ranked already.

    The same as a stable sort of all rows, as long as the input order of the runs is that in which
    they follow each other.

    Parameters
    ----------
    table : mapping of (R, ...) array
        Columns, one of which is ``score``; no score is NaN.
    bounds : sequence of int
        The first row of each run, and the number of rows.
    size : int
        The number of rows in memory, beside the scores of one run.
    scratch : Scratch
        Where the runs lie meanwhile.
    """
    runs = list(starmap(slice, pairwise(bounds)))
    ranked = {name: scratch.empty(values.shape, values.dtype) for name, values in table.items()}
    for run in runs:
        for name, values in table.items():
            ranked[name][run] = values[run]
            release(values, ranked[name])
    first = 0
    for cut in _cuts([ranked["score"][run] for run in runs], size):
        rows = [slice(*(run.start + some).tolist()) for run, some in zip(runs, cut, strict=True)]
        order = descending(np.concatenate([ranked["score"][some] for some in rows]))
        stop = first + len(order)
        for name, values in table.items():
            values[first:stop] = np.concatenate([ranked[name][some] for some in rows])[order]
            release(values, ranked[name])
        first = stop


def _cuts(runs: Sequence[FloatArray], size: int) -> IntArray:
    """Cut all runs at rows of the whole ranking: (cuts, runs, 2) first row and one after the last.

    Equal scores are cut too, since rows of an earlier run precede those of a later one.
    """
    step = max(size // (2 * len(runs)), 1)
    row = [np.arange(0, len(run), step) for run in runs]
    owner = np.repeat(np.arange(len(runs)), [len(some) for some in row])
    score = np.concatenate([run[::step].copy() for run in _one_by_one(runs)])
    # Between two of these lie as many whole steps as there are runs, and of each run one in part.
    at = descending(score)[:: len(runs)]
    ends = np.empty((len(at) + 1, len(runs)), dtype=np.int64)
    for number, run in enumerate(_one_by_one(runs)):
        falling = -run
        above, not_below = (
            np.searchsorted(falling, -score[at], side) for side in ("left", "right")
        )
        ends[:-1, number] = np.where(number < owner[at], not_below, above)
        mine = owner[at] == number
        ends[:-1][mine, number] = np.concatenate(row)[at[mine]]
        ends[-1, number] = len(falling)
    return np.stack([ends[:-1], ends[1:]], axis=-1)


def _one_by_one(runs: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """Give the runs, the memory of each of which is released before the next."""
    for run in runs:
        yield run
        release(run)
