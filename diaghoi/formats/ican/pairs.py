"""The listed pairs of iCAN's files: at least six values each, numbers and arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.exceptions import InputError
from diaghoi.formats.checks import (
    Rows,
    check_amount,
    check_names,
    shown,
    whole_number,
)
from diaghoi.formats.content import Content

VALUES = ("human box", "object box", "object class", "scores", "human score", "object score")


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """The pairs of all images.

    Parameters
    ----------
    lists : sequence of sequence
        The pairs of each image, each the list of ``VALUES`` and further values.
    rows : Rows
        Their origin.
    size : int
        Size of the file in bytes, an upper limit for the number of values.
    """

    lists: Sequence[Sequence[Sequence[Any]]]
    rows: Rows
    size: int

    @classmethod
    def of(cls, content: Content) -> ListedPairs:
        """Check the structure of a file.

        Raises
        ------
        InputError
            If an image appears twice or is not a list, or a pair is not a list of six values.
        """
        names = check_names(content.file, [str(int(key)) for key in content.value], "image")
        lists = list(content.value.values())
        for name, pairs in zip(names.tolist(), lists, strict=True):
            if not is_list(pairs):
                raise InputError(
                    f"{content.file}: image {name!r}: is {shown(pairs)}; give a list of pairs"
                )
        count = np.array([len(pairs) for pairs in lists], dtype=np.int64)
        check_amount(content.file, "pair", int(count.sum()), content.size)
        table = cls(lists, Rows(content.file, names.tolist(), "pair", count), content.size)
        for number, pair in enumerate(table):
            if not is_list(pair) or len(pair) < len(VALUES):
                problem = f"is {shown(pair)}; give a list: {', '.join(VALUES)}"
                raise table.rows.error(number, "", problem)
        return table

    def __iter__(self) -> Iterator[Sequence[Any]]:
        return (pair for pairs in self.lists for pair in pairs)

    def boxes(self, name: str) -> FloatArray:
        """Return one of the boxes of each pair as (P, 4) float64.

        Raises
        ------
        InputError
            For anything but four numbers.
        """
        place, values = VALUES.index(name), np.zeros((len(self.rows), 4))
        for number, pair in enumerate(self):
            box = vector(pair[place])
            if box is None or len(box) != values.shape[1]:
                problem = f"{shown(pair[place])} is not a box; give four numbers"
                raise self.rows.error(number, name, problem)
            values[number] = box
        return values

    def numbers(self, name: str) -> FloatArray:
        """Return a number of each pair, which may be an array of one, as float64.

        Raises
        ------
        InputError
            For anything but a number.
        """
        place, values = VALUES.index(name), np.zeros(len(self.rows))
        for number, pair in enumerate(self):
            value = single(pair[place])
            if value is None:
                raise self.rows.error(number, name, f"{shown(pair[place])} is not a number")
            values[number] = value
        return values

    def integers(self, name: str) -> IntArray:
        """Return a whole number of each pair.

        Raises
        ------
        InputError
            For anything but a whole number.
        """
        values = self.numbers(name)
        for number, value in enumerate(values.tolist()):
            try:
                whole_number(value)
            except (ValueError, OverflowError):
                raise self.rows.error(number, name, f"{value} is not a whole number") from None
        return values.astype(np.int64)


def is_list(value: Any) -> bool:
    """Whether a value is a list; tuples are."""
    return isinstance(value, list | tuple)


def size(value: Any) -> int:
    """Count the values of an array or a list; -1 for anything else."""
    if isinstance(value, np.ndarray):
        return value.size
    return len(value) if is_list(value) else -1


def vector(value: Any) -> FloatArray | None:
    """Convert an array of numbers, or a list of them, to float64; None for anything else."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "iuf":
            return None
        with np.errstate(over="ignore"):  # infinity is refused later
            return value.reshape(-1).astype(np.float64)
    if not is_list(value) or not all(map(_is_plain, value)):
        return None
    try:
        with np.errstate(over="ignore"):
            return np.fromiter(map(float, value), dtype=np.float64, count=len(value))
    except OverflowError:
        return None


def single(value: Any) -> float | None:
    """Convert a number, or an array or list of one, to a float; None for anything else."""
    if _is_plain(value):
        value = [value]
    if size(value) != 1:
        return None
    converted = vector(value)
    return None if converted is None else float(converted[0])


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
