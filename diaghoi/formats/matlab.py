"""Read MATLAB files of level 5 (``save -v7`` and ``-v6``) without trusting their contents.

SciPy's reader uses a damaged data type as an index into its tables, and recurses into nested cells
until the stack overflows; both crash the interpreter. This reader checks every length against the
data. The reader supports numbers, text, cells and structs, but not objects, functions or sparse
matrices.

A file has a header of 128 bytes and one element per variable, usually compressed. An element starts
with its type and length. A matrix consists of elements: flags with the class, the dimensions, the
name, and then the numbers, letters, cells or fields.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from diaghoi.data.arrays import Array
from diaghoi.data.files import ordinary
from diaghoi.exceptions import InputError

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_FLAGS, _INT8, _INT32 = 6, 1, 5
_CELL, _STRUCT, _CHAR = 1, 2, 4
_CLASSES = {
    1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 6: "double", 7: "single",
    8: "int8", 9: "uint8", 10: "int16", 11: "uint16", 12: "int32", 13: "uint32", 14: "int64",
    15: "uint64", 16: "function", 17: "opaque",
}  # fmt: skip
_NUMBERS = range(6, 16)
# Types and lengths of three elements: the flags, two dimensions and an empty name.
_PLAIN = (6, 8, 5, 8, 1, 0)
_COMPLEX = 0x0800
_STORED = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
_LETTERS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
# Number of bytes that suffice for a variable's class, dimensions and name.
_HEAD = 4096
_DEEPEST = 32
# Limits against zip bombs: a variable may unpack to 256 MB plus 100 times its compressed size.
# Variables are unpacked in steps, so that a larger variable is noticed before it fills the memory.
_INFLATED, _TIMES, _STEP = 1 << 28, 100, 1 << 20
_MOST_EMPTY = 1 << 20


@dataclass(frozen=True)
class Variable:
    """A variable in a file.

    Parameters
    ----------
    name : str
        Name of the variable.
    shape : tuple of int
        Dimensions of the array.
    kind : str
        Class in MATLAB.
    place : int
        Offset of the variable's element in the file.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    place: int


def variables(path: str | os.PathLike[str]) -> dict[str, Variable]:
    """List the variables of a file by name without reading them.

    Raises
    ------
    InputError
        If the file is damaged or does not exist.
    """
    with _opened(path) as (stream, order):
        return {variable.name: variable for variable in _listed(stream, order) if variable.name}


def read_variable(path: str | os.PathLike[str], name: str) -> Any:
    """Read one variable.

    Parameters
    ----------
    path : path
        The file.
    name : str
        One of :func:`variables`.

    Returns
    -------
    array
        Numbers keep their stored type. Text becomes an array with one string per row, cell arrays
        become arrays of objects, and struct arrays become arrays of dicts.

    Raises
    ------
    InputError
        If the file is damaged, or the class of the variable is not supported.
    """
    with _opened(path) as (stream, order):
        for variable in _listed(stream, order):
            if variable.name == name:
                stream.seek(variable.place)
                return _Element(_content(stream, order, None), order).matrix()
    raise InputError(f"{path}: the variable {name!r} is missing")


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[BinaryIO, str]]:
    """Open a file, skip its header and detect its byte order; errors become an InputError."""
    try:
        with ordinary(path).open("rb") as stream:
            mark = stream.read(_HEADER)[-2:]
            if mark not in (b"IM", b"MI"):
                raise ValueError("no header of a MATLAB 5 file")
            yield stream, "<" if mark == b"IM" else ">"
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from error
    except (ValueError, struct.error, zlib.error, MemoryError) as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{path}: a damaged or unreadable .mat file ({what:.120}); copy it again"
        ) from error


def _listed(stream: BinaryIO, order: str) -> Iterator[Variable]:
    """Yield the variables of a file, in stored order."""
    end = stream.seek(0, os.SEEK_END)
    place = _HEADER
    while place < end:
        stream.seek(place)
        kind, length = struct.unpack(f"{order}II", stream.read(8))
        if kind not in (_MATRIX, _COMPRESSED) or place + 8 + length > end:
            raise ValueError(f"an element of type {kind} and {length} bytes at {place}")
        stream.seek(place)
        head = _Element(_content(stream, order, _HEAD), order)
        if length and head.size:
            yield head.variable(place)
        place += 8 + length


def _content(stream: BinaryIO, order: str, limit: int | None) -> bytes | bytearray:
    """Return the element at the stream's position, or only its beginning, uncompressed."""
    kind, length = struct.unpack(f"{order}II", stream.read(8))
    if kind == _MATRIX:
        return struct.pack(f"{order}II", kind, length) + stream.read(min(length, limit or length))
    packed = stream.read(min(length, limit or length))
    unpacker = zlib.decompressobj()
    if limit is not None:
        return unpacker.decompress(packed, limit)
    most = _INFLATED + _TIMES * length
    content = bytearray()
    while packed and len(content) <= most:
        content += unpacker.decompress(packed, _STEP)
        packed = unpacker.unconsumed_tail
    if not unpacker.eof:
        many = f"unpacks to more than {most} bytes" if packed else "is cut off"
        raise ValueError(f"a compressed variable {many}")
    return content


class _Element:
    """A matrix and its elements, which are read in order."""

    def __init__(self, data: bytes | bytearray, order: str) -> None:
        self.data, self.order, self.at, self.depth = memoryview(data), order, 0, 0
        self.words, self.plain = struct.Struct(f"{order}II"), struct.Struct(f"{order}14I")
        self.stored = {kind: np.dtype(order + code) for kind, code in _STORED.items()}
        kind, self.size = self.words.unpack_from(data)
        if kind != _MATRIX:
            raise ValueError(f"an element of type {kind} where a matrix is needed")

    def variable(self, place: int) -> Variable:
        """Return the name, class and shape of a variable."""
        self.at = 8
        kind, shape, name = self._beginning()
        return Variable(name, shape, _CLASSES.get(kind & 0xFF, "unknown"), place)

    def _next(self, wanted: int | None = None) -> tuple[int, memoryview]:
        """Return the type and data of the next element; the type must be ``wanted``, if given."""
        kind, length = self.words.unpack_from(self.data, self.at)
        if kind >> 16:  # a small element: up to four bytes of data within the tag
            kind, length, place, end = kind & 0xFFFF, kind >> 16, self.at + 4, self.at + 8
            if length > 4:
                raise ValueError(f"a short element of {length} bytes")
        else:
            place = self.at + 8
            end = place + length + -length % 8
        if place + length > len(self.data):
            raise ValueError("cut off")
        if wanted is not None and kind != wanted:
            raise ValueError(f"an element of type {kind} where {wanted} is needed")
        self.at = end
        return kind, self.data[place : place + length]

    def _letters(self) -> str:
        return str(self._next(_INT8)[1], "latin-1")

    def _beginning(self) -> tuple[int, tuple[int, ...], str]:
        """Read the flags, dimensions and name of a matrix."""
        kind, _ = self.words.unpack_from(self._next(_FLAGS)[1])
        if kind & 0xFF == 17:  # an opaque object has no dimensions
            return kind, (), ""
        dimensions = self._next(_INT32)[1]
        shape = struct.unpack(f"{self.order}{len(dimensions) // 4}i", dimensions)
        if len(shape) < 2 or min(shape) < 0:
            raise ValueError(f"dimensions {shape!r:.40}")
        if 0 in shape and max(shape) > _MOST_EMPTY:
            raise ValueError(f"an empty matrix of dimensions {shape!r:.40}")
        return kind, shape, self._letters()

    def matrix(self) -> Any:
        """Read the matrix that starts at the current position."""
        plain = self._plain() if self.at + 56 <= len(self.data) else None
        if plain is not None:
            return plain
        tag, size = self.words.unpack_from(self.data, self.at)
        end = self.at + 8 + size
        if self.depth > _DEEPEST:
            raise ValueError("cells are nested too deep")
        if tag != _MATRIX or end > len(self.data):
            raise ValueError("a matrix is cut off")
        self.at += 8
        values: Any = np.zeros((0, 0))
        if size:
            self.depth += 1
            flags, shape, _ = self._beginning()
            values = self._values(flags, shape, size)
            self.depth -= 1
        if self.at > end + 7:
            raise ValueError("a matrix is longer than it says")
        self.at = end
        return values

    def _values(self, flags: int, shape: tuple[int, ...], size: int) -> Any:
        """Read the values of a matrix from bytes, given its class and shape."""
        kind, count = flags & 0xFF, math.prod(shape)
        if kind in _NUMBERS:
            numbers = self._numbers(count)
            if flags & _COMPLEX:
                numbers = numbers + 1j * self._numbers(count)
            return numbers.reshape(shape, order="F")
        if kind == _CHAR:
            return self._text(shape)
        if kind not in (_CELL, _STRUCT):
            raise ValueError(f"is of the class {_CLASSES.get(kind, kind)}, which is not supported")
        names = self._field_names() if kind == _STRUCT else []
        if count * max(len(names), 1) * 8 > size:
            raise ValueError(f"{count} cells or structs in {size} bytes")
        values = np.empty(count, dtype=object)
        for place in range(count):
            values[place] = (
                {name: self.matrix() for name in names} if kind == _STRUCT else self.matrix()
            )
        return values.reshape(shape, order="F")

    def _plain(self) -> Array | None:
        """Read an unnamed 2-D numeric matrix in one step; return None for any other matrix.

        The published annotations contain millions of such matrices, so this fast path saves most of
        the time.
        """
        at, size = self.at, len(self.data)
        words = self.plain.unpack_from(self.data, at)
        flags, rows, columns, kind, length = words[4], *words[8:10], *words[12:14]
        if words[0] != _MATRIX or words[2:4] + words[6:8] + words[10:12] != _PLAIN:
            return None
        place = at + 56
        if kind >> 16:
            place, kind, length = at + 52, kind & 0xFFFF, kind >> 16
        dtype, count, end = self.stored.get(kind), rows * columns, at + 8 + words[1]
        if dtype is None or not count or length != count * dtype.itemsize:
            return None
        if flags & 0xFF not in _NUMBERS or flags & _COMPLEX or max(place + length, end) > size:
            return None
        if place + length > end:
            return None
        self.at = end
        return np.frombuffer(self.data, dtype, count, place).reshape((rows, columns), order="F")

    def _numbers(self, count: int) -> Array:
        kind, data = self._next()
        dtype = self.stored.get(kind)
        if dtype is None or len(data) != count * dtype.itemsize:
            raise ValueError(f"{len(data)} bytes for {count} numbers of type {dtype or kind}")
        return np.frombuffer(data, dtype)

    def _text(self, shape: tuple[int, ...]) -> Array:
        """Read letters, which are stored column by column."""
        kind, data = self._next()
        if kind not in _LETTERS or len(shape) > 2:
            raise ValueError(f"text of type {kind} and dimensions {shape!r:.40}")
        codec = _LETTERS[kind]
        codec += "" if kind < 3 or kind == 16 else "-le" if self.order == "<" else "-be"
        letters = str(data, codec, "surrogatepass")
        rows, columns = shape
        if len(letters) != rows * columns:
            raise ValueError(f"{len(letters)} letters for dimensions {shape!r:.40}")
        return np.array(
            [letters[row::rows] for row in range(rows)] if columns else [], dtype=np.str_
        )

    def _field_names(self) -> list[str]:
        (step,) = struct.unpack(f"{self.order}i", self._next(_INT32)[1])
        names = self._letters()
        if not 0 < step <= 256 or len(names) % step:
            raise ValueError(f"{len(names)} letters for field names of {step}")
        return [names[n : n + step].split("\0", 1)[0] for n in range(0, len(names), step)]
