"""Read zip archives of NumPy (``.npz``) and PyTorch (``torch.save``) without trusting them.

Sizes are checked before anything is read, and pickles are loaded by the restricted unpickler. A
file of ``torch.save`` has ``PREFIX/data.pkl``, a pickle that refers to storages by persistent ids;
the bytes of each storage in ``PREFIX/data/KEY``; and ``PREFIX/byteorder``. Tensors become NumPy
arrays, whatever their device; bfloat16 becomes float32.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from diaghoi.data.arrays import Array
from diaghoi.data.files import ordinary
from diaghoi.data.memory import StoredArray, budget, check_budget
from diaghoi.exceptions import InputError
from diaghoi.formats.pickle import AHEAD, check_letters, load_pickle, size_of
from diaghoi.formats.torch import storages

UNPACKED, TIMES = 1 << 28, 100
"""Limits against zip bombs: 256 MB plus 100 times the compressed size."""
_PICKLE = "data.pkl"


def entries(path: Path) -> list[zipfile.ZipInfo]:
    """List the entries of an archive without reading them.

    Raises
    ------
    InputError
        If the archive is damaged.
    """
    try:
        with zipfile.ZipFile(ordinary(path)) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InputError(
            f"{path}: a truncated or damaged zip archive (.npz, or from torch.save): {error}; copy "
            "or write it again"
        ) from error


def _is_stored(entry: zipfile.ZipInfo) -> bool:
    """Check whether an entry is uncompressed, so that it can be read directly from the file."""
    return entry.compress_type == zipfile.ZIP_STORED


def _check_unpacked(size: int, compressed: int) -> None:
    """Reject compressed data that unpacks to far more."""
    if size > UNPACKED + TIMES * compressed:
        raise ValueError(f"unpacks to {size} bytes")


@contextmanager
def _readable(where: str, advice: str = "") -> Iterator[None]:
    """Convert any error in the block, whatever its type, to an InputError."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{where} ({what:.120}){advice}") from error


def _opened(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> BinaryIO:
    """Open an entry; the checksum, if there is one, is verified after the last byte."""
    if hasattr(entry, "CRC") and not entry.CRC:
        del entry.CRC
    return cast(BinaryIO, archive.open(entry))


@dataclass(frozen=True)
class Member:
    """An array, not yet read, in an ``.npz`` file.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    info : zipfile.ZipInfo
        Entry in the file.
    """

    path: Path
    info: zipfile.ZipInfo

    def read(self) -> Array:
        """Read the array; object arrays are loaded by the restricted unpickler.

        Raises
        ------
        InputError
            If the entry is damaged or not an array.
        """
        with self._entry() as stream:
            shape, _, dtype = self._header(stream)
            if dtype.kind == "O":
                content = io.BytesIO(stream.read())
                array = np.asarray(load_pickle(content, f"{self.path}: {self.info.filename}"))
                if array.shape != shape:
                    raise ValueError(f"shape {array.shape} instead of {shape}")
                return array
        with self._entry() as stream:
            array = np.lib.format.read_array(stream, allow_pickle=False)
            stream.read()
            if dtype.kind == "U":
                check_letters(array)
            return array

    def column(self) -> StoredArray:
        """Return the array, leaving its rows in the file unless they are compressed.

        Raises
        ------
        InputError
            As for :meth:`read`; reading rows later may also raise this error.
        """
        if _is_stored(self.info):
            with self._entry() as stream:
                shape, transposed, dtype = self._header(stream)
                offset = stream.tell()
                while stream.read(AHEAD):
                    pass
            if shape and not transposed and dtype.kind in "biuf":
                with self._stored() as stream:
                    offset += stream.tell()
                return StoredArray.in_file(self._stored, offset, shape, dtype)
        return StoredArray.in_memory(self.read())

    def rows(self) -> int:
        """Return the number of rows without reading them; 1 for an individual value.

        Raises
        ------
        InputError
            As :meth:`read`.
        """
        with self._entry() as stream:
            shape, _, _ = self._header(stream)
            return shape[0] if shape else 1

    @contextmanager
    def _stored(self) -> Iterator[BinaryIO]:
        """Open the file at the first byte of this uncompressed entry."""
        with self._readable(), self.path.open("rb") as stream:
            # The lengths of the name and the extra field may differ from the lengths in the central
            # directory.
            stream.seek(self.info.header_offset + 26)
            stream.seek(sum(struct.unpack("<HH", stream.read(4))), os.SEEK_CUR)
            yield stream

    @contextmanager
    def _entry(self) -> Iterator[BinaryIO]:
        """Open the entry; convert any error in the block to an InputError."""
        with self._readable(), zipfile.ZipFile(self.path) as archive:
            _check_unpacked(self.info.file_size, self.info.compress_size)
            with _opened(archive, self.info) as stream:
                yield stream

    def _readable(self) -> Any:
        return _readable(f"{self.path}: {self.info.filename}: not a readable array")

    def _header(self, stream: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        """Read the shape, storage order and type, and check that the entry holds all the data."""
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else (
            np.lib.format.read_array_header_2_0
        )  # fmt: skip
        shape, transposed, dtype = header(stream)
        if not dtype.itemsize:
            raise ValueError(f"its type, {dtype}, has a size of 0 bytes")
        stored = stream.tell() + size_of(shape) * dtype.itemsize
        if dtype.kind != "O" and stored > self.info.file_size:
            raise ValueError(f"{self.info.file_size} bytes, although the header announces {stored}")
        return shape, transposed, dtype


def members(path: Path) -> Mapping[str, Member]:
    """List the arrays of an ``.npz`` file by name without reading them.

    Raises
    ------
    InputError
        If the archive is damaged or contains no arrays, or its compressed arrays exceed the memory
        budget.
    """
    arrays = {
        entry.filename[:-4]: Member(path, entry)
        for entry in entries(path)
        if entry.filename.endswith(".npy")
    }
    if not arrays:
        raise InputError(
            f"{path}: a zip archive without NumPy arrays; give the file inside the archive"
        )
    packed = [array for array in arrays.values() if not _is_stored(array.info)]
    size = sum(array.info.file_size for array in packed)
    if size > budget():
        rows = max(array.rows() for array in packed)
        check_budget(size, f"{path}: {rows:,} rows, which are compressed")
    return arrays


def is_torch(listed: Iterable[zipfile.ZipInfo]) -> bool:
    """Check whether an archive with these entries was written by ``torch.save``."""
    return bool(_pickles(entry.filename for entry in listed))


def _pickles(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.rpartition("/")[2] == _PICKLE]


def load_torch(path: Path, listed: Iterable[zipfile.ZipInfo]) -> tuple[Any, int]:
    """Read a file of ``torch.save``.

    Parameters
    ----------
    path : pathlib.Path
        The archive.
    listed : iterable of zipfile.ZipInfo
        Entries of the archive.

    Returns
    -------
    value : object
        As for :func:`diaghoi.formats.pickle.load_pickle`; tensors are NumPy arrays, some of them
        read-only.
    size : int
        Unpacked size of the archive in bytes.

    Raises
    ------
    InputError
        If the archive or the pickle is damaged or hostile, or contains objects that are not plain
        data or tensors.
    """
    by_name = {entry.filename: entry for entry in listed}
    pickles = _pickles(by_name)
    if len(pickles) != 1:
        raise InputError(
            f"{path}: an archive with {len(pickles)} files {_PICKLE}; torch.save writes one"
        )
    prefix = pickles[0].removesuffix(_PICKLE)
    size = sum(entry.file_size for entry in by_name.values())
    where = f"{path}: not a readable file of torch.save"
    with _readable(where, "; write it again"), zipfile.ZipFile(path) as archive:
        packed = [entry for entry in by_name.values() if not _is_stored(entry)]
        on_disk, unpacked = path.stat().st_size, sum(entry.file_size for entry in packed)
        # Entries may share bytes of the archive, which is then smaller than their sum.
        if size - unpacked + sum(entry.compress_size for entry in packed) > on_disk:
            raise ValueError("its entries are larger than the file")
        _check_unpacked(unpacked, on_disk)

        def read(name: str) -> bytes:
            entry = by_name[name]
            with _opened(archive, entry) as stream:
                data = stream.read(entry.file_size)
            if len(data) != entry.file_size:
                raise ValueError(f"{name} has {len(data)} of its {entry.file_size} bytes")
            return data

        def storage(key: str) -> Array:
            name = f"{prefix}data/{key}"
            if name not in by_name:
                raise pickle.UnpicklingError(f"the storage {key!r:.40} is missing")
            return np.frombuffer(read(name), dtype=np.uint8)

        marker = f"{prefix}byteorder"
        order = read(marker) if marker in by_name else b"little"
        if order not in (b"little", b"big"):
            raise ValueError(f"the byte order is {order!r:.40}")
        beside = storages(storage, size, big=order == b"big")
        return load_pickle(io.BytesIO(read(pickles[0])), f"{path}: {_PICKLE}", beside), size
