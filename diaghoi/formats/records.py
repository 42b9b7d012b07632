"""Columns from lists of dicts, without a Python function call per row."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from operator import contains, itemgetter
from typing import Any, NoReturn

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.checks import (
    Rows,
    check_amount,
    check_names,
    image_name,
    key_names,
    shown,
)
from diaghoi.formats.content import Content

# The key of image names in COCO and elsewhere; used if the format's own key is missing.
OTHER_NAME = "file_name"

_BAD_ROW = (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError, Warning)


@dataclass(frozen=True, eq=False)
class Images:
    """The images of a file that is a list of one dict per image.

    Parameters
    ----------
    file : str
        The file, for messages.
    rows : sequence of dict
        One per image.
    names : sequence of str
        Image names; empty strings where the file has none.
    size : int
        Size of the file in bytes, an upper limit for the number of rows.
    """

    file: str
    rows: Sequence[dict[str, Any]]
    names: Sequence[str]
    size: int

    @classmethod
    def of(cls, content: Content, value: Any, field: str) -> Images:
        """Check the structure of a file and take its image names from ``field``.

        Raises
        ------
        InputError
            If the content is not a list of dicts, or a name is missing or appears twice.
        """
        file, size = content.file, content.size
        if not isinstance(value, list | tuple):
            raise InputError(
                f"{file}: holds a {type(value).__name__}; give a list of one dict per image"
            )
        bad = next((n for n, row in enumerate(value) if not isinstance(row, dict)), -1)
        if bad >= 0:
            raise InputError(
                f"{file}: image {bad} (counted from 0): is {shown(value[bad])}; give a dict"
            )
        named = sum(map(contains, value, repeat(field)))
        if named == 0 and field != OTHER_NAME and any(OTHER_NAME in row for row in value):
            return cls.of(content, value, OTHER_NAME)
        if named == 0:
            return cls(file, value, [""] * len(value), size)
        if named < len(value):
            bad = next(n for n, row in enumerate(value) if field not in row)
            raise _missing(file, f"image {bad} (counted from 0)", field, value[bad])
        names = check_names(file, [row[field] for row in value], field)
        return cls(file, value, names.tolist(), size)

    @property
    def notes(self) -> tuple[str, ...]:
        """Note if the images have no names."""
        if self.rows and not self.names[0]:
            return (f"{self.file}: images have no names; they are joined by position",)
        return ()

    def table(self, field: str, arrays: Mapping[str, str] | None = None) -> RecordTable:
        """Return one table of the images: the list of rows under a key of each.

        Parameters
        ----------
        field : str
            The key.
        arrays : mapping of str, optional
            The arrays that the columns come from, as in :class:`Rows`.

        Raises
        ------
        InputError
            If an image does not have the key.
        """
        lists: list[Any] = [row.get(field) for row in self.rows]
        try:
            count = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        except TypeError:
            bad = next(n for n, part in enumerate(lists) if not _has_length(part))
            where = image_name(self.names, bad)
            if field not in self.rows[bad]:
                raise _missing(self.file, where, field, self.rows[bad]) from None
            raise InputError(
                f"{self.file}: {where}: {field}: is {shown(lists[bad])}; give a list"
            ) from None
        check_amount(self.file, field, int(count.sum()), self.size)
        return RecordTable(lists, Rows(self.file, self.names, field, count, arrays))


@dataclass(frozen=True, eq=False)
class RecordTable:
    """Rows in lists, one list per image.

    Parameters
    ----------
    lists : sequence of sequence
        The rows of each image: dicts, or values if the table has one column.
    rows : Rows
        Their origin.
    """

    lists: Sequence[Sequence[Any]]
    rows: Rows

    def __iter__(self) -> Iterator[Any]:
        return self._all()

    def has(self, key: str) -> bool:
        """Whether any row has this column; then all rows must have it."""
        return any(map(contains, self._all(), repeat(key)))

    def holding(self, key: str) -> int:
        """Count the rows that have this column."""
        return sum(map(contains, self._all(), repeat(key)))

    def numbers(self, key: str | None = None) -> FloatArray:
        """Return a column as float64.

        Raises
        ------
        InputError
            If a row lacks the column, or its value is not a number.
        """
        try:
            return self._column(key)
        except _BAD_ROW:
            self._blame(key, float, "is not a number")

    def integers(self, key: str | None = None) -> IntArray:
        """Return a column of whole numbers as int64.

        Raises
        ------
        InputError
            If a row lacks the column, or its value is not a whole number.
        """
        values = self.numbers(key)
        with np.errstate(invalid="ignore"):
            whole = values.astype(np.int64)
        if not np.array_equal(values, whole):
            bad = int(np.argmax(values != whole))
            raise self.rows.error(bad, key or "", f"{values[bad]} is not a whole number")
        return whole

    def boxes(self, key: str | None = None) -> FloatArray:
        """Return a column of boxes as (rows, 4) float64.

        Raises
        ------
        InputError
            If a row lacks the column, or its value is not four numbers.
        """
        return self.vectors(key, 4, "is not four numbers (x1, y1, x2, y2)")

    def vectors(self, key: str | None, width: int, problem: str) -> FloatArray:
        """Return a column of ``width`` numbers each as (rows, width) float64.

        Raises
        ------
        InputError
            If a row lacks the column, or with ``problem`` if its value is anything else.
        """
        try:
            return self._column(key, width)
        except _BAD_ROW:
            self._blame(key, partial(_check_numbers, width=width), problem)

    def _all(self) -> Iterator[Any]:
        return chain.from_iterable(self.lists)

    def _column(self, key: str | None, *shape: int) -> FloatArray:
        """Return a column of numbers, or of as many numbers each as ``shape`` says."""

        def values() -> Iterable[Any]:
            return self._all() if key is None else map(itemgetter(key), self._all())

        count = len(self.rows)
        with strictly():
            if not shape:
                return np.fromiter(values(), dtype=np.float64, count=count)
            (width,) = shape
            if any(length != width for length in map(len, values())):
                raise ValueError
            flat = chain.from_iterable(values())
            return np.fromiter(flat, dtype=np.float64, count=width * count).reshape(-1, width)

    def _blame(self, key: str | None, convert: Callable[[Any], Any], problem: str) -> NoReturn:
        """Find the first row that cannot be converted."""
        for number, row in enumerate(self._all()):
            if key is not None and not isinstance(row, dict):
                raise self.rows.error(number, "", f"is {shown(row)}; give a dict")
            if key is not None and key not in row:
                known = key_names(row)
                has = f"has: {some_of(known)}" if known else "is empty"
                hint = close_matches(key, known)
                raise self.rows.error(number, "", f"the key {key!r} is missing{hint}; {has}")
            value = row if key is None else row[key]
            try:
                with strictly():
                    convert(value)
            except Exception:
                raise self.rows.error(number, key or "", f"{shown(value)} {problem}") from None
        raise InputError(f"{self.rows.file}: {self.rows.field}.{key}: a value {problem}")


def _has_length(value: Any) -> bool:
    try:
        len(value)
    except TypeError:  # also arrays without a dimension, which do have __len__
        return False
    return True


@contextmanager
def strictly() -> Iterator[None]:
    """Refuse values that NumPy converts with only a warning: complex numbers, arrays of one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def _check_numbers(value: Any, width: int) -> None:
    if len(value) != width:
        raise ValueError
    np.fromiter(value, dtype=np.float64, count=width)


def _missing(file: str, where: str, field: str, found: dict[Any, Any]) -> InputError:
    keys = key_names(found)
    has = f"has: {some_of(keys, 8)}" if keys else "is empty"
    return InputError(
        f"{file}: {where}: the key {field!r} is missing{close_matches(field, keys)}; {has}"
    )
