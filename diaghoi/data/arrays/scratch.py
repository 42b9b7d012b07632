"""Rows that are too many to keep in memory: in temporary files without a name.

All of the policy is here: what lies on disk, how it is read back, and when the memory that it took
is released. Others go through their rows with :func:`in_parts` and need not know where these lie.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, cast

import numpy as np

from diaghoi.data.arrays.types import Array


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array whose rows are read when they are needed.

    Parameters
    ----------
    shape : tuple of int
        Shape of the whole array.
    dtype : numpy.dtype
        Its type.
    runs : callable
        Takes runs of rows, each as its first row and the one after its last, and returns these rows
        one run after the other.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    runs: Callable[[Sequence[tuple[int, int]]], Array]

    def rows(self, first: int, stop: int) -> Array:
        """Return the rows ``first`` to ``stop - 1``."""
        return self.runs([(first, stop)])

    @classmethod
    def in_memory(cls, values: Array) -> StoredArray:
        """Give the rows of an array that is there already."""

        def runs(wanted: Sequence[tuple[int, int]]) -> Array:
            parts = [values[first:stop] for first, stop in wanted]
            return parts[0] if len(parts) == 1 else np.concatenate([values[:0], *parts])

        return cls(values.shape, values.dtype, runs)

    @classmethod
    def in_file(
        cls,
        opened: Callable[[], AbstractContextManager[BinaryIO]],
        offset: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> StoredArray:
        """Give the rows of an array that begins at ``offset`` of a file.

        Parameters
        ----------
        opened : callable
            Opens the file for each read.
        offset : int
            Bytes before the first value; values follow in C order.
        shape, dtype
            Of the whole array.
        """
        return cls(shape, dtype, partial(_read, opened, offset, shape[1:], dtype))


def _read(
    opened: Callable[[], AbstractContextManager[BinaryIO]],
    offset: int,
    row: tuple[int, ...],
    dtype: np.dtype[Any],
    wanted: Sequence[tuple[int, int]],
) -> Array:
    rows = np.empty((sum(stop - first for first, stop in wanted), *row), dtype=dtype)
    size, end = int(np.prod(row)) * dtype.itemsize, 0
    with opened() as file:
        for first, stop in wanted:
            start, end = end, end + stop - first
            if start == end or not size:
                continue
            file.seek(offset + first * size)
            if cast(Any, file).readinto(rows[start:end].data) < (end - start) * size:
                raise OSError("cut off")
    return rows


class Scratch:
    """Keeps arrays: on disk if they are large, unless it is full.

    Parameters
    ----------
    on_disk : bool
        Whether they are large.
    """

    def __init__(self, *, on_disk: bool) -> None:
        self._on_disk = on_disk
        self._file: BinaryIO | None = None

    def keep(self, table: Mapping[str, Array]) -> dict[str, StoredArray]:
        """Put the columns of a table away; until :meth:`close`, their rows are read when needed."""
        return {name: self._kept(values) for name, values in table.items()}

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return a new array, which outlives this; :func:`release` frees its memory."""
        size = int(np.prod(shape)) * dtype.itemsize
        if self._on_disk and size and hasattr(os, "posix_fallocate"):
            try:
                with tempfile.TemporaryFile(prefix="diaghoi-") as file:
                    # Writing to an array without a place on disk would end the process.
                    os.posix_fallocate(file.fileno(), 0, size)
                    return np.frombuffer(mmap.mmap(file.fileno(), size), dtype).reshape(shape)
            except OSError:
                self._on_disk = False
        return np.empty(shape, dtype)

    def joined(self, parts: Sequence[StoredArray]) -> Array:
        """Return a new array of the rows of all parts, of which there is at least one."""
        rows, first = sum(part.shape[0] for part in parts), 0
        joined = self.empty((rows, *parts[0].shape[1:]), parts[0].dtype)
        for part in parts:
            stop = first + part.shape[0]
            joined[first:stop] = part.rows(0, part.shape[0])
            first = stop
            release(joined)
        return joined

    def close(self) -> None:
        """Give up the columns that are kept."""
        if self._file is not None:
            self._file.close()

    def _kept(self, values: Array) -> StoredArray:
        if self._on_disk:
            try:
                return self._written(values)
            except OSError:
                # What is on disk stays there; this array and all later ones stay in memory.
                self._on_disk = False
        return StoredArray.in_memory(values)

    def _written(self, values: Array) -> StoredArray:
        if self._file is None:
            # Without a buffer, so that what did not fit is not tried again.
            self._file = tempfile.TemporaryFile(buffering=0, prefix="diaghoi-")  # noqa: SIM115
        offset = self._file.seek(0, os.SEEK_END)
        if values.size and self._file.write(np.ascontiguousarray(values).data) < values.nbytes:
            raise OSError("the disk is full")
        # The file stays open until :meth:`close`; what is read leaves it so.
        file = self._file
        return StoredArray.in_file(lambda: nullcontext(file), offset, values.shape, values.dtype)


def in_parts(columns: Mapping[str, Array], cuts: Iterable[slice]) -> Iterator[dict[str, Any]]:
    """Go through the rows of a table some at a time, so that those on disk take little memory.

    Parameters
    ----------
    columns : mapping of array
        The columns of the table, by name.
    cuts : iterable of slice
        The rows of each part.

    Yields
    ------
    dict of array
        The columns of a part: views. The memory of the whole table is released after each.
    """
    for rows in cuts:
        yield {name: values[rows] for name, values in columns.items()}
        release(*columns.values())


def release(*arrays: Array) -> None:
    """Free the memory of arrays that lie on disk; their values are read again when needed."""
    for array in arrays:
        # A view knows only the array it is a view of: the mapped file is at the end of the chain.
        owner: Any = array
        while isinstance(owner, np.ndarray):
            owner = owner.base
        if isinstance(owner, memoryview):
            owner = owner.obj
        if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            owner.madvise(mmap.MADV_DONTNEED)
