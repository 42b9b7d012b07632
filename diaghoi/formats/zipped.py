"""Read zip archives of NumPy (``.npz``) and PyTorch (``torch.save``) without trusting them.

Sizes are checked before anything is read, pickles go through the restricted unpickler, and nothing
is copied that need not be. A file of ``torch.save`` has ``PREFIX/data.pkl``, a pickle that refers
to storages by persistent ids; the bytes of each in ``PREFIX/data/KEY``; and ``PREFIX/byteorder``.
Tensors become NumPy arrays, whatever device they were on: those of bfloat16 and of 8-bit floats
become float32.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
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

_LOCAL_HEADER, _MAGIC = 30, b"PK\x03\x04"
UNPACKED, TIMES = 1 << 28, 100
"""Limits against zip bombs: 256 MB plus 100 times the compressed size."""
_PICKLE = "data.pkl"


def entries(path: Path) -> list[zipfile.ZipInfo]:
    """List the entries of an archive, without reading them.

    Raises
    ------
    InputError
        For a damaged archive.
    """
    try:
        with zipfile.ZipFile(ordinary(path)) as archive:
            return archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InputError(
            f"{path}: a cut off or damaged zip archive (.npz or torch.save: {error}); copy or "
            "write it again"
        ) from error


def _is_stored(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry is not compressed, so that it can be read straight from the file."""
    return entry.compress_type == zipfile.ZIP_STORED


def _check_unpacked(size: int, compressed: int) -> None:
    """Refuse compressed data that unpacks to far more."""
    if size > UNPACKED + TIMES * compressed:
        raise ValueError(f"unpacks to {size} bytes")


def _seek_stored(stream: BinaryIO, entry: zipfile.ZipInfo) -> None:
    """Move the stream of an archive to the first byte of an entry that is not compressed.

    ``zipfile`` would copy the data and compute a checksum. The local header has its own lengths of
    name and extra field, which may differ from those in the central directory.
    """
    stream.seek(entry.header_offset)
    header = stream.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or not header.startswith(_MAGIC):
        raise ValueError("the archive has no entry at its place")
    stream.seek(sum(struct.unpack("<HH", header[26:30])), os.SEEK_CUR)


def _check_sum(entry: zipfile.ZipInfo, pieces: Iterable[Any]) -> None:
    """Refuse an uncompressed entry with other bytes than were written, as ``zipfile`` does."""
    total = 0
    for piece in pieces:
        total = zlib.crc32(piece, total)
    # PyTorch can leave the sum out.
    if total != entry.CRC and entry.CRC:
        raise ValueError(f"{entry.filename} is damaged: its check sum is wrong")


@contextmanager
def _readable(where: str, advice: str = "") -> Iterator[None]:
    """Turn any error in the block into an InputError: damaged archives raise all kinds."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{where} ({what:.120}){advice}") from error


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
            self._check(stream, start)
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
        if _is_stored(self.info):
            with self._entry() as stream:
                start = stream.tell()
                shape, transposed, dtype = self._header(stream)
                self._check(stream, start)
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
        where = f"{self.path}: {self.info.filename}: not a readable array"
        with _readable(where), ExitStack() as stack:
            if _is_stored(self.info):
                stream: BinaryIO = stack.enter_context(self.path.open("rb"))
                _seek_stored(stream, self.info)
            else:
                _check_unpacked(self.info.file_size, self.info.compress_size)
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                stream = cast(BinaryIO, stack.enter_context(archive.open(self.info)))
            yield stream

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

    def _check(self, stream: BinaryIO, start: int) -> None:
        """Check the bytes of an uncompressed entry from its start, and return to where it was."""
        if _is_stored(self.info):
            place = stream.tell()
            stream.seek(start)
            left = range(self.info.file_size, 0, -AHEAD)
            _check_sum(self.info, (stream.read(min(size, AHEAD)) for size in left))
            stream.seek(place)


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
    packed = [array for array in arrays.values() if not _is_stored(array.info)]
    size = sum(array.info.file_size for array in packed)
    if size > budget():
        rows = max(array.rows() for array in packed)
        check_budget(size, f"{path}: {rows:,} rows, which are compressed")
    return arrays


def is_torch(listed: Iterable[zipfile.ZipInfo]) -> bool:
    """Whether an archive with these entries was written by ``torch.save``."""
    return bool(_pickles(entry.filename for entry in listed))


def _pickles(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.rpartition("/")[2] == _PICKLE]


def load_torch(path: Path, listed: Iterable[zipfile.ZipInfo]) -> tuple[Any, int]:
    """Read what ``torch.save`` saved.

    Parameters
    ----------
    path : pathlib.Path
        The archive.
    listed : iterable of zipfile.ZipInfo
        Its entries.

    Returns
    -------
    value : object
        As of :func:`diaghoi.formats.pickle.load_pickle`; tensors are NumPy arrays, some of them
        read-only.
    size : int
        Bytes that the archive unpacks to.

    Raises
    ------
    InputError
        For an archive or a pickle that is damaged, hostile, or holds other objects.
    """
    by_name = {entry.filename: entry for entry in listed}
    pickles = _pickles(by_name)
    if len(pickles) != 1:
        raise InputError(
            f"{path}: an archive with {len(pickles)} files {_PICKLE}; torch.save writes one"
        )
    prefix = pickles[0].removesuffix(_PICKLE)
    where = f"{path}: not a readable file of torch.save"
    with _readable(where, "; write it again"), _reading(path, by_name.values()) as read:
        order, marker = b"little", f"{prefix}byteorder"
        if marker in by_name:
            order = read(by_name[marker]).tobytes()
        if order not in (b"little", b"big"):
            raise ValueError(f"the byte order is {order!r:.40}")

        def storage(key: str) -> Array:
            name = f"{prefix}data/{key}"
            if name not in by_name:
                raise pickle.UnpicklingError(f"the storage {key!r:.40} is missing")
            return read(by_name[name])

        size = sum(entry.file_size for entry in by_name.values())
        stream = io.BytesIO(read(by_name[pickles[0]]).data)
        beside = storages(storage, size, big=order == b"big")
        return load_pickle(stream, f"{path}: {_PICKLE}", beside), size


@contextmanager
def _reading(
    path: Path, listed: Collection[zipfile.ZipInfo]
) -> Iterator[Callable[[zipfile.ZipInfo], Array]]:
    """Check the sizes of all entries together, and give what reads the bytes of one."""
    packed = [entry for entry in listed if not _is_stored(entry)]
    on_disk, unpacked = path.stat().st_size, sum(entry.file_size for entry in packed)
    stored = sum(entry.file_size for entry in listed) - unpacked
    # Entries may share bytes of the archive, so that it holds less than their sum.
    if stored + sum(entry.compress_size for entry in packed) > on_disk:
        raise ValueError("its entries are larger than the file")
    _check_unpacked(unpacked, on_disk)
    with path.open("rb") as stream, zipfile.ZipFile(path) if packed else nullcontext() as archive:

        def read(entry: zipfile.ZipInfo) -> Array:
            if archive is None or _is_stored(entry):
                _seek_stored(stream, entry)
                data = np.fromfile(stream, dtype=np.uint8, count=entry.file_size)
            else:
                data = np.frombuffer(archive.read(entry), dtype=np.uint8)
            if len(data) != entry.file_size:
                size = entry.file_size
                raise ValueError(f"{entry.filename} has {len(data)} of its {size} bytes")
            if _is_stored(entry):
                _check_sum(entry, [data])
            return data

        yield read
