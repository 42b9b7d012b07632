"""Read NumPy's ``.npz`` without trusting its pickles and without needless copies."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from diaghoi.data.arrays.budget import budget, check_budget
from diaghoi.data.arrays.scratch import StoredArray
from diaghoi.data.arrays.types import Array
from diaghoi.exceptions import InputError
from diaghoi.formats.containers.archive import check_unpacked, entries, is_stored, seek_stored
from diaghoi.formats.containers.pickles import load_pickle
from diaghoi.formats.containers.safe_types import check_letters, size_of


@dataclass(frozen=True)
class Member:
    """One array of an ``.npz`` file, not read yet.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    info : zipfile.ZipInfo
        Its entry in the file.
    """

    path: Path
    info: zipfile.ZipInfo

    def read(self) -> Array:
        """Read the array; an array of objects goes through the restricted unpickler.

        Raises
        ------
        InputError
            For an entry that is damaged or not an array.
        """
        with self._entry() as stream:
            start = stream.tell()
            shape, _, dtype = self._header(stream)
            if dtype.kind == "O":
                array = np.asarray(load_pickle(stream, f"{self.path}: {self.info.filename}"))
                if array.shape != shape:
                    raise ValueError(f"shape {array.shape} instead of {shape}")
                return array
            stream.seek(start)
            array = np.lib.format.read_array(stream, allow_pickle=False)
            if dtype.kind == "U":
                check_letters(array)
            return array

    def column(self) -> StoredArray:
        """Return the array with its rows left in the file; one that is compressed is read whole.

        Raises
        ------
        InputError
            As :meth:`read`; reading rows may raise it, too.
        """
        if is_stored(self.info):
            with self._entry() as stream:
                shape, transposed, dtype = self._header(stream)
                if shape and not transposed and dtype.kind in "biuf":
                    return StoredArray.in_file(self._entry, stream.tell(), shape, dtype)
        return StoredArray.in_memory(self.read())

    def rows(self) -> int:
        """Return how many rows the array has, without reading them; 1 for a single value.

        Raises
        ------
        InputError
            As :meth:`read`.
        """
        with self._entry() as stream:
            shape, _, _ = self._header(stream)
            return shape[0] if shape else 1

    @contextmanager
    def _entry(self) -> Iterator[BinaryIO]:
        """Open the entry at its first byte; any error in the block becomes an InputError."""
        try:
            with ExitStack() as stack:
                if not is_stored(self.info):
                    check_unpacked(self.info.file_size, self.info.compress_size)
                    archive = stack.enter_context(zipfile.ZipFile(self.path))
                    yield cast(BinaryIO, stack.enter_context(archive.open(self.info)))
                    return
                stream = stack.enter_context(self.path.open("rb"))
                seek_stored(stream, self.info)
                yield stream
        except InputError:
            raise
        except Exception as error:
            what = " ".join(str(error).split()) or type(error).__name__
            raise InputError(
                f"{self.path}: {self.info.filename}: not a readable array ({what:.120})"
            ) from error

    def _header(self, stream: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        """Read shape, storage order and type, and check that the entry holds all the data."""
        start = stream.tell()
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else (
            np.lib.format.read_array_header_2_0
        )  # fmt: skip
        shape, transposed, dtype = header(stream)
        if not dtype.itemsize:
            raise ValueError(f"its type, {dtype}, holds nothing")
        stored = stream.tell() - start + size_of(shape) * dtype.itemsize
        if dtype.kind != "O" and stored > self.info.file_size:
            raise ValueError(f"{self.info.file_size} bytes where {stored} are announced")
        return shape, transposed, dtype


def _check_unpacked(path: Path, arrays: Mapping[str, Member]) -> None:
    """Refuse a file whose compressed arrays take too much memory; say how many rows it has."""
    packed = [each for each in arrays.values() if not is_stored(each.info)]
    size = sum(each.info.file_size for each in packed)
    if size > budget():
        rows = max(each.rows() for each in packed)
        check_budget(size, f"{path}: {rows:,} rows, which are compressed")


def members(path: Path) -> Mapping[str, Member]:
    """List the arrays of an ``.npz`` file by name, without reading them.

    Raises
    ------
    InputError
        For a damaged archive, one that holds no arrays, or compressed ones beyond the budget.
    """
    arrays = {
        entry.filename[:-4]: Member(path, entry)
        for entry in entries(path)
        if entry.filename.endswith(".npy")
    }
    if not arrays:
        raise InputError(f"{path}: a zip archive without NumPy arrays; give the file inside it")
    _check_unpacked(path, arrays)
    return arrays
