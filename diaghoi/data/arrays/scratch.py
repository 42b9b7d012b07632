"""Rows that are too many to keep in memory: in temporary files without a name."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from diaghoi.data.arrays.types import Array


@dataclass(frozen=True, eq=False)
class Column:
    """An array whose rows are read when they are needed.

    Parameters
    ----------
    shape : tuple of int
        Shape of the whole array.
    dtype : numpy.dtype
        Its type.
    rows : callable
        Takes the first row and the one after the last, and returns what is between.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    rows: Callable[[int, int], Array]


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

    def keep(self, table: Mapping[str, Array]) -> dict[str, Column]:
        """Put the columns of a table away; until :meth:`close`, their rows are read when needed."""
        return {name: self._kept(values) for name, values in table.items()}

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return a new array, which outlives this; :func:`let_go` frees its memory."""
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

    def close(self) -> None:
        """Give up the columns that are kept."""
        if self._file is not None:
            self._file.close()

    def _kept(self, values: Array) -> Column:
        if self._on_disk:
            try:
                return self._written(values)
            except OSError:
                self._on_disk = False
        return Column(values.shape, values.dtype, lambda first, stop: values[first:stop])

    def _written(self, values: Array) -> Column:
        if self._file is None:
            # Without a buffer, so that what did not fit is not tried again.
            self._file = tempfile.TemporaryFile(buffering=0, prefix="diaghoi-")  # noqa: SIM115
        offset = self._file.seek(0, os.SEEK_END)
        if values.size and self._file.write(np.ascontiguousarray(values).data) < values.nbytes:
            raise OSError("the disk is full")
        rows = partial(_read, self._file, offset, values.shape[1:], values.dtype)
        return Column(values.shape, values.dtype, rows)


def _read(
    file: BinaryIO, offset: int, row: tuple[int, ...], dtype: np.dtype[Any], first: int, stop: int
) -> Array:
    rows = np.empty((stop - first, *row), dtype=dtype)
    if rows.size:
        file.seek(offset + first * int(np.prod(row)) * dtype.itemsize)
        if file.readinto(rows.data) < rows.nbytes:  # type: ignore[attr-defined]
            raise OSError("rows that were kept on disk cannot be read back")
    return rows


def let_go(*arrays: Array) -> None:
    """Free the memory of arrays that lie on disk; their values are read again when needed."""
    for array in arrays:
        owner: Any = array
        while isinstance(owner, np.ndarray):
            owner = owner.base
        if isinstance(owner, memoryview):
            owner = owner.obj
        if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            owner.madvise(mmap.MADV_DONTNEED)
