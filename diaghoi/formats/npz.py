"""Reading and writing NumPy's ``.npz`` without its pickles and without its copies."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError
from diaghoi.formats.pickles import load_pickle

_LOCAL_HEADER = 30


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

    def read(self) -> npt.NDArray[Any]:
        """Read the array; an array of objects goes through the restricted unpickler.

        Raises
        ------
        InputError
            For an entry that is damaged or no array.
        """
        try:
            if self.info.compress_type != zipfile.ZIP_STORED:
                with zipfile.ZipFile(self.path) as archive, archive.open(self.info) as stream:
                    return self._array(cast(BinaryIO, stream))
            # Straight from the file, without the copies and the checksum of zipfile.
            with self.path.open("rb") as stream:
                stream.seek(self.info.header_offset)
                header = stream.read(_LOCAL_HEADER)
                stream.seek(sum(struct.unpack("<HH", header[26:30])), 1)
                return self._array(cast(BinaryIO, stream))
        except InputError:
            raise
        except Exception as error:
            what = " ".join(str(error).split()) or type(error).__name__
            raise InputError(
                f"{self.path}: {self.info.filename}: not a readable array ({what:.120})"
            ) from error

    def _array(self, stream: BinaryIO) -> npt.NDArray[Any]:
        start = stream.tell()
        version = np.lib.format.read_magic(stream)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else (
            np.lib.format.read_array_header_2_0
        )  # fmt: skip
        shape, _, dtype = header(stream)
        if dtype.kind == "O":
            array = np.asarray(load_pickle(stream, f"{self.path}: {self.info.filename}"))
            if array.shape != shape:
                raise ValueError(f"shape {array.shape} instead of {shape}")
            return array
        stored = stream.tell() - start + int(np.prod(shape, dtype=object)) * dtype.itemsize
        if stored > self.info.file_size:
            raise ValueError(f"{self.info.file_size} bytes where {stored} are announced")
        stream.seek(start)
        return np.lib.format.read_array(stream, allow_pickle=False)


def members(path: Path) -> Mapping[str, Member]:
    """List the arrays of an ``.npz`` file by name, without reading them.

    Raises
    ------
    InputError
        For a damaged archive, or one that holds no arrays.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise InputError(
            f"{path}: a cut off or damaged .npz ({error}); copy or write it again"
        ) from error
    arrays = {
        entry.filename[:-4]: Member(path, entry)
        for entry in entries
        if entry.filename.endswith(".npy")
    }
    if any(entry.filename.endswith("data.pkl") for entry in entries):
        raise InputError(
            f"{path}: a file of torch.save, which is not read; save arrays instead: "
            "numpy.savez or pickle with tensor.numpy()"
        )
    if not arrays:
        raise InputError(f"{path}: a zip archive without NumPy arrays; give the file inside it")
    return arrays
