"""Convert lists of dicts to columns without a Python function call per row."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, repeat
from operator import contains, itemgetter
from typing import Any, Literal, overload

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.checks import (
    Rows,
    check_amount,
    check_lengths,
    check_names,
    check_scores,
    check_whole,
    image_name,
    is_list,
    key_names,
    shown,
)
from diaghoi.formats.content import Content

# The key of image names in COCO and elsewhere, used if the format's own key is missing.
OTHER_NAME = "file_name"

# Number of images whose rows are converted and freed at a time.
_AT_ONCE = 200
_BAD_ROW = (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError, Warning)


@dataclass(frozen=True, eq=False)
class Images:
    """The images of a file that is a list with one dict per image.

    Parameters
    ----------
    file : str
        The file, for messages.
    rows : sequence of dict
        One dict per image.
    names : sequence of str
        Image names; empty strings if the file has none.
    size : int
        Size of the file in bytes, an upper bound on the number of rows.
    owner : str
        What each dict describes, for messages: ``image`` or another noun.
    """

    file: str
    rows: Sequence[dict[str, Any]]
    names: Sequence[str]
    size: int
    owner: str = "image"

    @classmethod
    def of(cls, content: Content, value: Any, field: str) -> Images:
        """Check the structure of a file and take its image names from ``field``.

        Raises
        ------
        InputError
            If the content is not a list of dicts, or a name is missing or appears twice.
        """
        file = content.file
        if not isinstance(value, list | tuple):
            raise InputError(
                f"{file}: holds a {type(value).__name__}; give a list of one dict per image"
            )
        bad = next((n for n, row in enumerate(value) if not isinstance(row, dict)), -1)
        if bad >= 0:
            raise InputError(
                f"{file}: image {bad} (counted from 0): is {shown(value[bad])}; give a dict"
            )
        if not any(field in row for row in value):
            if not any(OTHER_NAME in row for row in value):
                return cls(file, value, [""] * len(value), content.size)
            field = OTHER_NAME
        bad = next((n for n, row in enumerate(value) if field not in row), -1)
        if bad >= 0:
            problem = missing(value[bad], field, 8)
            raise InputError(f"{file}: image {bad} (counted from 0): {problem}")
        names = check_names(file, [row[field] for row in value], field)
        return cls(file, value, names.tolist(), content.size)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a note if the images have no names."""
        if self.rows and not self.names[0]:
            return (f"{self.file}: images have no names, so files are joined by index",)
        return ()

    def table(self, field: str, arrays: Mapping[str, str] | None = None) -> RecordTable:
        """Return a table with the rows that each image lists under a key.

        Parameters
        ----------
        field : str
            The key.
        arrays : mapping of str, optional
            The arrays from which the columns come, as in :class:`Rows`.

        Raises
        ------
        InputError
            If an image does not have the key.
        """
        lists: list[Any] = [row.get(field) for row in self.rows]
        count: list[int] = []
        try:
            for rows in lists:
                count.append(len(rows))
        except TypeError:
            row, where = self.rows[len(count)], image_name(self.names, len(count), self.owner)
            problem = f"{field}: is {shown(row[field])}; give a list" if field in row else ""
            raise InputError(f"{self.file}: {where}: {problem or missing(row, field, 8)}") from None
        check_amount(self.file, field, sum(count), self.size)
        amounts = np.array(count, dtype=np.int64)
        rows = Rows(self.file, self.names, field, amounts, arrays, self.owner)
        return RecordTable(lists, rows)

    def single(self, field: str, values: Any) -> RecordTable:
        """Return a table with one row for each image."""
        count: IntArray = np.ones(len(self.names), dtype=np.int64)
        return RecordTable([values], Rows(self.file, self.names, field, count, owner=self.owner))

    def columns(self, keys: Sequence[str], unit: str) -> ColumnTable:
        """Return a table of columns that each image stores as lists, one value per row.

        Parameters
        ----------
        keys : sequence of str
            The keys of the columns.
        unit : str
            What the rows describe: ``triplet``, ``pair``.

        Raises
        ------
        InputError
            If an image lacks a list for a column, or the lists differ in length.
        """
        count: list[int] = []
        for place, image in enumerate(self.rows):
            where = f"{self.file}: {image_name(self.names, place, self.owner)}"
            lists = lists_of(where, image, keys)
            check_lengths(where, lists, unit)
            count.append(len(next(iter(lists.values()))))
        check_amount(self.file, unit, sum(count), self.size)
        amounts = np.array(count, dtype=np.int64)
        rows = Rows(self.file, self.names, unit, amounts, {key: key for key in keys}, self.owner)
        return ColumnTable(list(self.rows), rows)


def lists_of(where: str, record: Any, keys: Iterable[str]) -> dict[str, Any]:
    """Return the lists under the given keys of a dict; messages begin with ``where``.

    Raises
    ------
    InputError
        If an image is not a dict, a key is missing, or a value is not a list.
    """
    if not isinstance(record, dict):
        raise InputError(f"{where}: is {shown(record)}; give a dict")
    lists = {}
    for key in keys:
        if key not in record:
            raise InputError(f"{where}: {missing(record, key)}")
        if not is_list(record[key]):
            raise InputError(f"{where}: {key}: is {shown(record[key])}; give a list")
        lists[key] = record[key]
    return lists


def table_of(file: str, field: str, values: Any) -> RecordTable:
    """Return a table with one column for the whole file.

    Raises
    ------
    InputError
        If the value is not a list.
    """
    if not is_list(values):
        raise InputError(f"{file}: {field}: is {shown(values)}; give a list")
    return RecordTable([values], Rows(file, (), field, np.array([len(values)])))


@dataclass(frozen=True, eq=False)
class RecordTable:
    """Rows in one list per image.

    Methods that return a column raise an :class:`InputError`, which names the first row where the
    column is missing or invalid.

    Parameters
    ----------
    lists : sequence of sequence
        The rows of each image: dicts, or values if the table has one column.
    rows : Rows
        Rows from which the lists come.
    columns : mapping of float64 array
        Columns whose first ``done`` rows have been moved out of the lists (:func:`take`).
    done : int
        Number of rows that have been moved.
    """

    lists: list[Any]
    rows: Rows
    columns: Mapping[str, FloatArray] = field(default_factory=dict)
    done: int = 0

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.lists)

    def has(self, key: str) -> bool:
        """Check whether any row has this column; if so, all rows must have the column."""
        return (self.done > 0 and key in self.columns) or any(map(contains, self, repeat(key)))

    def holding(self, key: str) -> int:
        """Count the rows with this column."""
        return self.done * (key in self.columns) + sum(map(contains, self, repeat(key)))

    def numbers(self, key: str | None = None) -> FloatArray:
        """Return a column as float64."""
        return self._column(key, 0, "is not a number")

    @overload
    def scores(self, key: str) -> FloatArray: ...

    @overload
    def scores(self, key: str, *, optional: Literal[True]) -> FloatArray | None: ...

    def scores(self, key: str, *, optional: bool = False) -> FloatArray | None:
        """Return a column of finite numbers; None if the column is optional and no row has it."""
        if optional and not self.has(key):
            return None
        return check_scores(self.rows, self.numbers(key), key)

    def integers(self, key: str | None = None, least: int | None = None) -> IntArray:
        """Return a column of whole numbers of at least ``least`` as int64."""
        return check_whole(self.rows, self.numbers(key), key or "", least)

    def boxes(self, key: str | None = None) -> FloatArray:
        """Return a column of boxes as (rows, 4) float64."""
        return self.vectors(key, 4, "is not four numbers (x1, y1, x2, y2)")

    def vectors(self, key: str | None, width: int, problem: str) -> FloatArray:
        """Return a (rows, width) float64 column; ``problem`` describes a bad row in the error."""
        return self._column(key, width, problem)

    def _column(self, key: str | None, width: int, problem: str) -> FloatArray:
        """Return a column with one or ``width`` numbers per row, or report the first bad row."""
        column = None if key is None else self.columns.get(key)
        try:
            if column is None:
                return self._converted(key, width)
            if self.done < len(column):
                column[self.done :] = _array(self.lists, key, width, len(column) - self.done)
            return column
        except _BAD_ROW:
            pass
        for number, row in enumerate(self, self.done):
            if key is not None and not isinstance(row, dict):
                raise self.rows.error(number, "", f"is {shown(row)}; give a dict")
            if key is not None and key not in row:
                raise self.rows.error(number, "", missing(row, key))
            try:
                _array([[row]], key, width, 1)
            except Exception:
                value = shown(row if key is None else row[key])
                raise self.rows.error(number, key or "", f"{value} {problem}") from None
        raise InputError(f"{self.rows.file}: {self.rows.field}.{key or ''}: a value {problem}")

    def _converted(self, key: str | None, width: int) -> FloatArray:
        return _array(self.lists, key, width, len(self.rows))


class ColumnTable(RecordTable):
    """Rows in columns: ``lists`` are the dicts of the images, with one list per column."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        keys = list(self.rows.arrays or ())
        for image in self.lists:
            for values in zip(*(image[key] for key in keys), strict=True):
                yield dict(zip(keys, values, strict=True))

    def _converted(self, key: str | None, width: int) -> FloatArray:
        return _array([image[key] for image in self.lists], None, width, len(self.rows))


def _array(lists: Sequence[Any], key: str | None, width: int, count: int) -> FloatArray:
    """Convert a column of ``count`` rows: numbers, or vectors if ``width`` is not 0."""

    def values() -> Iterator[Any]:
        rows = chain.from_iterable(lists)
        return rows if key is None else map(itemgetter(key), rows)

    with strictly():
        if key is None and any(map(_is_packed, lists)):
            parts = [
                rows.astype(np.float64)
                if _is_packed(rows)
                else _array([rows], None, width, len(rows))
                for rows in lists
                if len(rows)
            ]
            shape = (0, width) if width else (0,)
            if any(part.shape[1:] != shape[1:] for part in parts):
                raise ValueError
            return np.concatenate([np.zeros(shape), *parts])
        if not width:
            return np.fromiter(values(), dtype=np.float64, count=count)
        if set(map(len, values())) - {width}:
            raise ValueError
        flat = chain.from_iterable(values())
        return np.fromiter(flat, dtype=np.float64, count=width * count).reshape(-1, width)


def _is_packed(rows: Any) -> bool:
    return isinstance(rows, np.ndarray) and rows.dtype.kind in "biuf"


def take(
    images: Images,
    tables: Sequence[RecordTable],
    widths: Sequence[Mapping[str, int]],
    optional: Sequence[Set[str]],
) -> list[RecordTable]:
    """Convert all columns of a file, freeing its images in groups.

    The columns and the lists and dicts, which are much larger, are never all in memory at the same
    time. Conversion stops before the group of images that contains a bad row, or a row with other
    columns than the first row of the file.

    Parameters
    ----------
    images : Images
        The images; the dict of the first image stays, because its name is read later.
    tables : sequence of RecordTable
        All tables of the images.
    widths : sequence of mapping of int
        For each table and possible column, the length of the column's vectors; 0 for a column of
        numbers.
    optional : sequence of set of str
        Optional columns of each table.
    """
    rows, done = images.rows, [0] * len(tables)
    firsts = [next(iter(table), None) for table in tables]
    usual = all(
        row is None or (isinstance(row, dict) and columns.keys() - row.keys() <= left_out)
        for row, columns, left_out in zip(firsts, widths, optional, strict=True)
    )
    if not isinstance(rows, list) or not usual:
        return list(tables)
    taken: list[dict[str, FloatArray]] = [
        {
            key: np.empty((len(table.rows), width) if width else len(table.rows))
            for key, width in columns.items()
            if key in (first or {})
        }
        for table, first, columns in zip(tables, firsts, widths, strict=True)
    ]
    for start in range(0, len(rows), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        stop = list(done)
        try:
            for place, (table, columns) in enumerate(zip(tables, taken, strict=True)):
                lists, count = table.lists[some], int(table.rows.count[some].sum())
                part = RecordTable(lists, table.rows)
                if any(map(part.has, widths[place].keys() - columns.keys())):
                    break
                stop[place] += count
                for key, column in columns.items():
                    values = _array(lists, key, widths[place][key], count)
                    column[done[place] : stop[place]] = values
            else:
                done = stop
        except _BAD_ROW:
            break
        if done is not stop:
            break
        del part, lists
        for table in tables:
            table.lists[some] = [()] * len(rows[some])
            rows[0][table.rows.field] = ()
        rows[max(start, 1) : start + _AT_ONCE] = [{}] * (len(rows[some]) - (start == 0))
    return [
        RecordTable(table.lists, table.rows, columns, end)
        for table, columns, end in zip(tables, taken, done, strict=True)
    ]


@contextmanager
def strictly() -> Iterator[None]:
    """Reject values for which NumPy only warns: complex numbers, arrays of one value."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def missing(row: dict[Any, Any], key: str, most: int = 5) -> str:
    """Report that a key of a dict is missing, and list its keys."""
    keys = key_names(row)
    has = f"has: {some_of(keys, most)}" if keys else "is empty"
    return f"the key {key!r} is missing{close_matches(key, keys)}; {has}"
