"""Files of ``torch.save``, read without PyTorch and without running code.

Such a file is a zip archive: ``PREFIX/data.pkl``, a pickle that refers to storages by persistent
ids; the bytes of each in ``PREFIX/data/KEY``; and ``PREFIX/byteorder``. Tensors become NumPy arrays
on the bytes of their storage, whatever device they were on: those of bfloat16 and of 8-bit floats
become float32.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.arrays.types import Array
from diaghoi.exceptions import InputError
from diaghoi.formats.containers.archive import check_unpacked, is_stored, seek_stored
from diaghoi.formats.containers.pickles import load_pickle
from diaghoi.formats.containers.safe_types import Inert, Limit
from diaghoi.formats.containers.torch_types import NAMES, Storage, StorageKind

_PICKLE = "data.pkl"


def is_torch(listed: Iterable[zipfile.ZipInfo]) -> bool:
    """Whether an archive with these entries was written by ``torch.save``."""
    return any(_is_pickle(entry.filename) for entry in listed)


def _is_pickle(name: str) -> bool:
    return name.rpartition("/")[2] == _PICKLE


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
        As of :func:`diaghoi.formats.containers.pickles.load_pickle`; tensors are NumPy arrays, some
        of them read-only.
    size : int
        Bytes that the archive unpacks to.

    Raises
    ------
    InputError
        For an archive or a pickle that is damaged, hostile, or holds other objects.
    """
    found = {entry.filename: entry for entry in listed}
    pickles = list(filter(_is_pickle, found))
    if len(pickles) != 1:
        raise InputError(
            f"{path}: an archive with {len(pickles)} files {_PICKLE}; torch.save writes one"
        )
    prefix = pickles[0].removesuffix(_PICKLE)
    try:
        with ExitStack() as stack:
            archive = _Archive(path, found, stack)
            order, marker = b"little", f"{prefix}byteorder"
            if marker in found:
                order = archive.read(marker).tobytes()
            if order not in (b"little", b"big"):
                raise ValueError(f"the byte order is {order!r:.40}")
            storages = _Storages(archive, f"{prefix}data/", big=order == b"big")
            stream = io.BytesIO(archive.read(pickles[0]).data)
            return load_pickle(stream, f"{path}: {_PICKLE}", storages), archive.size
    except InputError:
        raise
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{path}: not a readable file of torch.save ({what:.120}); write it again"
        ) from error


class _Archive:
    """The entries of an archive, whose sizes are checked together before any is read."""

    def __init__(self, path: Path, found: Mapping[str, zipfile.ZipInfo], stack: ExitStack) -> None:
        self.found = found
        stored = sum(entry.file_size for entry in found.values() if is_stored(entry))
        packed = [entry for entry in found.values() if not is_stored(entry)]
        unpacked = sum(entry.file_size for entry in packed)
        on_disk = path.stat().st_size
        # Entries may share bytes of the archive, so that it holds less than their sum.
        if stored + sum(entry.compress_size for entry in packed) > on_disk:
            raise ValueError("its entries are larger than the file")
        check_unpacked(unpacked, on_disk)
        self.size = stored + unpacked
        self.stream = stack.enter_context(path.open("rb"))
        self.zip = stack.enter_context(zipfile.ZipFile(path)) if packed else None

    def read(self, name: str) -> Array:
        """Read the bytes of one entry."""
        entry = self.found[name]
        if self.zip is not None and not is_stored(entry):
            data = np.frombuffer(self.zip.read(entry), dtype=np.uint8)
        else:
            seek_stored(self.stream, entry)
            data = np.fromfile(self.stream, dtype=np.uint8, count=entry.file_size)
        if len(data) != entry.file_size:
            raise ValueError(f"{name} has {len(data)} of its {entry.file_size} bytes")
        return data


class _Storages:
    """The storages beside the pickle, each read when a tensor first refers to it."""

    names: Mapping[tuple[str, str], Callable[[Limit], Inert]] = NAMES

    def __init__(self, archive: _Archive, prefix: str, *, big: bool) -> None:
        self.archive, self.prefix, self.big = archive, prefix, big
        self.size = archive.size
        self.bytes: dict[str, Array] = {}

    def load(self, pid: object) -> Storage:
        """Give the storage of a persistent id: its type, key, device and number of values."""
        if not (type(pid) is tuple and len(pid) == 5 and pid[0] == "storage"):
            raise pickle.UnpicklingError("a storage is not named in PyTorch's way")
        _, kind, key, device, count = pid
        if not (
            isinstance(kind, StorageKind)
            and (type(key), type(device), type(count)) == (str, str, int)
        ):
            raise pickle.UnpicklingError("a storage is not named in PyTorch's way")
        name = f"{self.prefix}{key}"
        if name not in self.archive.found:
            raise pickle.UnpicklingError(f"the storage {key!r:.40} is missing")
        if key not in self.bytes:
            self.bytes[key] = self.archive.read(name)
        size, data = count * kind.itemsize, self.bytes[key]
        if not 0 <= size <= len(data):
            raise pickle.UnpicklingError(
                f"the storage {key!r:.40} has {len(data)} bytes, and {size} are announced"
            )
        return Storage(kind.limit, data[:size], kind.dtype, big=self.big)
