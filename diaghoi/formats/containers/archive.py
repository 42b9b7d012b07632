"""Zip archives that are not trusted: sizes are checked before anything is read."""

from __future__ import annotations

import os
import struct
import zipfile
from pathlib import Path
from typing import BinaryIO

from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError

_LOCAL_HEADER, _MAGIC = 30, b"PK\x03\x04"
# Limits against zip bombs: 256 MB plus 100 times the compressed size.
_UNPACKED, _TIMES = 1 << 28, 100


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


def is_stored(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry is not compressed, so that it can be read straight from the file."""
    return entry.compress_type == zipfile.ZIP_STORED


def check_unpacked(size: int, compressed: int) -> None:
    """Check what compressed data unpacks to.

    Raises
    ------
    ValueError
        For a zip bomb.
    """
    if size > _UNPACKED + _TIMES * compressed:
        raise ValueError(f"unpacks to {size} bytes")


def seek_stored(stream: BinaryIO, entry: zipfile.ZipInfo) -> None:
    """Move the stream of an archive to the first byte of an entry that is not compressed.

    ``zipfile`` would copy the data and compute a checksum. The local header has its own lengths of
    name and extra field, which may differ from those in the central directory.

    Raises
    ------
    ValueError
        If the entry is not where the directory says.
    """
    stream.seek(entry.header_offset)
    header = stream.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or not header.startswith(_MAGIC):
        raise ValueError("the archive has no entry at its place")
    stream.seek(sum(struct.unpack("<HH", header[26:30])), os.SEEK_CUR)
