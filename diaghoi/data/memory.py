"""Memory, threads and temporary files: limits of a process, and storage of large tables."""

from __future__ import annotations

import gc
import mmap
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise, starmap
from typing import Any, BinaryIO, cast

import numpy as np

from diaghoi.data.arrays import Array, FloatArray, IntArray, descending
from diaghoi.exceptions import InputError, running_a_command

# Number of new objects after which Python collects garbage; Python's default is 700 to 2000.
OBJECTS = 50_000
# Parameters of mallopt in glibc.
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8


def give_back_freed_memory() -> None:
    """Return the memory of millions of freed objects to the system, if the C library can do so."""
    if trim := _of_c_library("malloc_trim"):
        trim(0)


def keep_freed_memory() -> None:
    """Let this process reuse the memory of freed arrays.

    The C library of most Linux systems returns large arrays to the system as soon as they are
    freed, so the system has to clear pages for each new array. Without reuse, a sixth of the time
    of resampling is spent on clearing pages. A process that only imports the package is not
    affected.
    """
    if mallopt := _of_c_library("mallopt"):
        # All threads share the main arena, because other arenas hold at most 64 MB and keep no
        # larger arrays.
        mallopt(ARENA_MAX, 1)
        mallopt(MMAP_THRESHOLD, 2**30)
        mallopt(TRIM_THRESHOLD, 2**31 - 1)


def _of_c_library(name: str) -> Callable[..., Any] | None:
    if sys.platform != "linux":
        return None
    import ctypes

    return getattr(ctypes.CDLL(None), name, None)


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Make Python collect garbage cycles less often.

    Drawing figures and subsetting fonts create so many small objects that collection takes a sixth
    of their time.
    """
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


MEMORY_VARIABLE = "DIAGHOI_MEMORY"
"""Environment variable: the budget in megabytes; ``--memory`` sets it."""

DEFAULT_MEGABYTES, MOST_MEGABYTES = 512, 1_000_000
MEGABYTE = 1_000_000


class BudgetError(InputError):
    """The input exceeds the memory budget."""


def budget() -> int:
    """Return the number of bytes that data of unbounded size, such as one image, may occupy.

    Everything else is processed in parts of a few megabytes.

    Raises
    ------
    InputError
        If the variable is not a number of megabytes.
    """
    given = os.environ.get(MEMORY_VARIABLE, "")
    if not given:
        return DEFAULT_MEGABYTES * MEGABYTE
    if not (re.fullmatch("[0-9]{1,7}", given) and 0 < int(given) <= MOST_MEGABYTES):
        raise InputError(
            f"{MEMORY_VARIABLE}={given}: expected megabytes, a whole number up to "
            f"{MOST_MEGABYTES:,}"
        )
    return int(given) * MEGABYTE


@contextmanager
def allowing(megabytes: int) -> Iterator[None]:
    """Set the budget of this process and its children temporarily."""
    before = os.environ.get(MEMORY_VARIABLE)
    os.environ[MEMORY_VARIABLE] = str(megabytes)
    try:
        yield
    finally:
        del os.environ[MEMORY_VARIABLE]
        if before is not None:
            os.environ[MEMORY_VARIABLE] = before


def check_budget(size: int, what: str) -> None:
    """Raise a ``BudgetError`` if ``what`` takes more bytes than the budget allows."""
    if size > budget():
        needed = -(-size // MEGABYTE)
        option = "--memory " if running_a_command() else f"{MEMORY_VARIABLE}="
        raise BudgetError(
            f"{what}: about {needed:,} MB of memory, more than the {budget() // MEGABYTE:,} MB "
            f"allowed; give {option}{needed} or more"
        )


def gathered(parts: Iterable[tuple[Array, ...]], what: str) -> tuple[Array, ...]:
    """Join the columns of one or more parts within the budget (:func:`check_budget`).

    If the parts exceed the budget, no further part is created.
    """
    kept, size = [], 0
    for part in parts:
        kept.append(part)
        size += sum(column.nbytes for column in part)
        check_budget(size, what)
    return tuple(np.concatenate(column) for column in zip(*kept, strict=True))


THREADS_VARIABLE = "DIAGHOI_THREADS"
"""Environment variable: number of threads that a process may use if it shares the cores."""

# More threads would only wait for the interpreter, and every thread holds a block of data in
# memory.
MOST_THREADS = 8


def cores() -> int:
    """Count the processor cores that this process may use, unless ``DIAGHOI_THREADS`` is set."""
    given = os.environ.get(THREADS_VARIABLE, "")
    if given.isdecimal():
        return max(1, int(given))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def share(processes: int) -> dict[str, str]:
    """Return environment variables for processes that share the cores of this process."""
    return {THREADS_VARIABLE: str(max(1, cores() // processes))}


def threads() -> ThreadPoolExecutor:
    """Open a pool with one thread per core, up to :data:`MOST_THREADS`."""
    return ThreadPoolExecutor(min(cores(), MOST_THREADS))


@dataclass(frozen=True, eq=False)
class StoredArray:
    """An array whose rows are read on demand.

    ``runs`` takes the first row and the end (last row + 1) of each run of rows, and returns the
    rows of all runs as one array.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    runs: Callable[[Sequence[tuple[int, int]]], Array]

    def rows(self, first: int, stop: int) -> Array:
        """Return the rows ``first`` to ``stop - 1``."""
        return self.runs([(first, stop)])

    @classmethod
    def in_memory(cls, values: Array) -> StoredArray:
        """Wrap an array that is already in memory."""

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
        """Wrap an array in C order that starts at the given offset in a file.

        ``opened`` opens the file for each read.
        """
        size = int(np.prod(shape[1:])) * dtype.itemsize

        def runs(wanted: Sequence[tuple[int, int]]) -> Array:
            rows, end = np.empty((sum(b - a for a, b in wanted), *shape[1:]), dtype=dtype), 0
            with opened() as file:
                for first, stop in wanted:
                    start, end = end, end + stop - first
                    if start == end or not size:
                        continue
                    file.seek(offset + first * size)
                    if cast(Any, file).readinto(rows[start:end].data) < (end - start) * size:
                        raise OSError("cut off")
            return rows

        return cls(shape, dtype, runs)


class Scratch:
    """Storage that keeps large arrays in unnamed temporary files, unless the disk is full."""

    def __init__(self, *, on_disk: bool) -> None:
        self._on_disk = on_disk
        self._file: BinaryIO | None = None

    def keep(self, table: Mapping[str, Array]) -> dict[str, StoredArray]:
        """Store the columns of a table; until :meth:`close`, their rows are read on demand."""
        return {name: self._kept(values) for name, values in table.items()}

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return a new array, which outlives this object; :func:`release` frees its memory."""
        size = int(np.prod(shape)) * dtype.itemsize
        if self._on_disk and size and hasattr(os, "posix_fallocate"):
            try:
                with tempfile.TemporaryFile(prefix="diaghoi-") as file:
                    # If the disk is full, writing to a mapped array would kill the process.
                    os.posix_fallocate(file.fileno(), 0, size)
                    return np.frombuffer(mmap.mmap(file.fileno(), size), dtype).reshape(shape)
            except OSError:
                self._on_disk = False
        return np.empty(shape, dtype)

    def joined(self, parts: Sequence[StoredArray]) -> Array:
        """Return a new array with the rows of all parts (at least one)."""
        rows, first = sum(part.shape[0] for part in parts), 0
        joined = self.empty((rows, *parts[0].shape[1:]), parts[0].dtype)
        for part in parts:
            stop = first + part.shape[0]
            joined[first:stop] = part.rows(0, part.shape[0])
            first = stop
            release(joined)
        return joined

    def close(self) -> None:
        """Discard the stored columns."""
        if self._file is not None:
            self._file.close()

    def _kept(self, values: Array) -> StoredArray:
        if not self._on_disk:
            return StoredArray.in_memory(values)
        try:
            if self._file is None:
                # The file is unbuffered, so that data for which there was no room is not written
                # again.
                self._file = tempfile.TemporaryFile(buffering=0, prefix="diaghoi-")  # noqa: SIM115
            offset = self._file.seek(0, os.SEEK_END)
            if values.size and self._file.write(np.ascontiguousarray(values).data) < values.nbytes:
                raise OSError("the disk is full")
        except OSError:
            # Arrays on disk stay there; this array and all later arrays stay in memory.
            self._on_disk = False
            return StoredArray.in_memory(values)
        # The file stays open until :meth:`close`; reading does not close it.
        file = self._file
        return StoredArray.in_file(lambda: nullcontext(file), offset, values.shape, values.dtype)


def in_parts(columns: Mapping[str, Array], cuts: Iterable[slice]) -> Iterator[dict[str, Any]]:
    """Yield the columns of a table as views of a few rows at a time.

    The memory of the whole table is released after each part, so that rows on disk need little
    memory.
    """
    for rows in cuts:
        yield {name: values[rows] for name, values in columns.items()}
        release(*columns.values())


def release(*arrays: Array) -> None:
    """Free the memory of arrays that lie on disk; their values are reread on demand."""
    for array in arrays:
        # A view refers only to its base, which may be a view, too; the mapped file is the last
        # base.
        owner: Any = array
        while isinstance(owner, np.ndarray):
            owner = owner.base
        if isinstance(owner, memoryview):
            owner = owner.obj
        if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            owner.madvise(mmap.MADV_DONTNEED)


def merge(table: Mapping[str, Array], bounds: Sequence[int], size: int, scratch: Scratch) -> None:
    """Rank the rows of a table in place, given runs that are already ranked.

    The result equals a stable sort of all rows if the runs follow each other in input order. One of
    the (R, ...) columns is ``score``, without NaN; ``bounds`` contains the first row of each run,
    followed by the number of rows. During the sort, the runs lie in ``scratch``, and memory
    contains ``size`` rows and the scores of one run.
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
    """Cut all runs at the same ranks of the merged order; return row bounds, (cuts, runs, 2).

    Equal scores are split too, since rows of an earlier run precede rows of a later run.
    """
    step = max(size // (2 * len(runs)), 1)
    row = [np.arange(0, len(run), step) for run in runs]
    owner = np.repeat(np.arange(len(runs)), [len(some) for some in row])
    score = np.concatenate([run[::step].copy() for run in _one_by_one(runs)])
    # The number of whole steps between two cuts equals the number of runs; each run adds a partial
    # step.
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
    """Yield the runs, releasing the memory of each run before the next."""
    for run in runs:
        yield run
        release(run)
