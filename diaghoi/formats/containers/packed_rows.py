"""Rows of many images as columns: the lists of dicts in a pickle, in a tenth of their memory.

A dict of four numbers takes about 400 bytes, its numbers in columns 32. Values are kept as they
are: a column holds numbers of one type, or lists or arrays of as many such numbers each, and where
rows are anything else they stay the lists that they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from operator import itemgetter
from typing import Any, NamedTuple, overload

import numpy as np

from diaghoi.data.arrays.types import Array

# More numbers per row than any box has: such lists are something else.
_WIDEST = 8


class _Column(NamedTuple):
    """The values of a key: an array, and whether they were Python's numbers or lists."""

    array: Array
    python: bool

    def value(self, row: int) -> Any:
        found = self.array[row]
        return found.tolist() if self.python else found


@dataclass(frozen=True, eq=False, slots=True)
class PackedRows(Sequence[dict[str, Any]]):
    """The rows of one image among the columns of several; it reads like the list of dicts it was.

    Parameters
    ----------
    columns : mapping of str to column
        The columns of all images that were packed together.
    start, stop : int
        The rows of this image.
    """

    columns: Mapping[str, _Column]
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        rows = range(self.start, self.stop)[index]
        return self._row(rows) if isinstance(rows, int) else [self._row(row) for row in rows]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return map(self._row, range(self.start, self.stop))

    def _row(self, row: int) -> dict[str, Any]:
        return {key: column.value(row) for key, column in self.columns.items()}

    def column(self, key: str) -> Array:
        """Return the values of one key: (rows,) or (rows, width), of the type that they had.

        Raises
        ------
        KeyError
            If the rows do not have the key.
        """
        return self.columns[key].array[self.start : self.stop]


def joined_rows(images: Sequence[PackedRows]) -> list[PackedRows]:
    """Join the rows of images that follow one another in the same columns."""
    joined = [images[0]]
    for image in images[1:]:
        last = joined[-1]
        if image.columns is last.columns and image.start == last.stop:
            joined[-1] = PackedRows(last.columns, last.start, image.stop)
        else:
            joined.append(image)
    return joined


def pack(lists: Sequence[Any]) -> list[PackedRows] | None:
    """Pack the rows of several images.

    Parameters
    ----------
    lists : sequence of list of dict
        The rows of each image.

    Returns
    -------
    list of PackedRows or None
        One per image; None where there is nothing to pack, or a row has other keys than the first,
        or a value that no column holds.
    """
    if set(map(type, lists)) != {list}:
        return None
    rows: list[Any] = list(chain.from_iterable(lists))
    if set(map(type, rows)) != {dict} or len(set(map(len, rows))) != 1:
        return None
    columns = {}
    for key in rows[0]:
        try:
            column = _column(list(map(itemgetter(key), rows)))
        except (KeyError, OverflowError):
            return None
        if column is None:
            return None
        columns[key] = column
    ends = accumulate(map(len, lists), initial=0)
    return [PackedRows(columns, start, stop) for start, stop in pairwise(ends)]


def unpacked(images: Sequence[Any]) -> list[Any]:
    """Return images with their rows as lists of dicts."""
    return [
        {key: list(part) if isinstance(part, PackedRows) else part for key, part in image.items()}
        if isinstance(image, dict)
        else image
        for image in images
    ]


def _column(values: list[Any]) -> _Column | None:
    """Make an array of values of one type that holds each of them exactly."""
    kinds = set(map(type, values))
    if len(kinds) > 1:
        return None
    (kind,) = kinds
    if kind is float:
        return _Column(np.fromiter(values, dtype=np.float64, count=len(values)), python=True)
    if kind is int:
        whole = np.fromiter(values, dtype=np.int64, count=len(values))
        narrow = np.result_type(*map(np.min_scalar_type, (whole.min(), whole.max())))
        return _Column(whole.astype(narrow), python=True)
    if issubclass(kind, np.integer | np.floating):
        return _Column(np.array(values), python=False)
    if kind is list and len(set(map(len, values))) == 1 and 0 < len(values[0]) <= _WIDEST:
        flat = _column(list(chain.from_iterable(values)))
        if flat is not None and flat.python and flat.array.ndim == 1:
            return _Column(flat.array.reshape(len(values), -1), python=True)
    if issubclass(kind, np.ndarray) and len({(each.dtype, each.shape) for each in values}) == 1:
        first = values[0]
        if first.dtype.kind in "iuf" and first.ndim == 1 and 0 < len(first) <= _WIDEST:
            return _Column(np.array(values), python=False)
    return None
