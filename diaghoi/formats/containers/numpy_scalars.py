"""NumPy's scalars in a pickle, replaced by Python's numbers before it is checked and loaded.

``list(array)`` makes NumPy scalars, each of which is a call with a tuple and some bytes in a
pickle: ten times the time and five times the memory of the same numbers as floats. The first bytes
of a pickle show by which numbers it refers to NumPy's types; the calls with these are then found as
sequences of bytes, and replaced by numbers of the same length, wherever they stand. What is checked
and loaded is the outcome, so that a pickle which imitates such a call reads differently, but never
unchecked.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays.types import Array, IntArray
from diaghoi.formats.containers.safe_types import AHEAD, DtypeState, Encode, Scalar

# Bytes that show which types a pickle uses; in smaller ones nothing is replaced.
HEAD = 1 << 16
_BLOCK = AHEAD
# Blocks that are kept from the check until they are loaded.
_KEPT = 128
# No shorter than a call.
_LONGEST = 128
_Bytes = npt.NDArray[np.uint8]
_TUPLE, _CALL, _MEMOIZE, _PUT = b"\x86", b"R", b"\x94", b"r"


class _Call(NamedTuple):
    """How a pickle writes scalars of one type.

    Parameters
    ----------
    before, after : bytes
        Around the length and the content; in what follows them 0xFF stands for any byte.
    field : int
        Bytes of the length.
    memoized : int
        How many objects are kept for later reference without a number of their own; if none is,
        the last five bytes keep the outcome.
    dtype : numpy.dtype
        The type.
    text : bool
        Whether the content is written as text.
    """

    before: bytes
    field: int
    after: bytes
    memoized: int
    dtype: np.dtype[Any]
    text: bool


def plain_numbers(stream: BinaryIO, memo: Mapping[int, Any]) -> BinaryIO:
    """Return a pickle in which the scalars of some types are Python's numbers.

    Parameters
    ----------
    stream : binary file
        At the start of the pickle; seekable.
    memo : mapping
        What the pickle refers to by number, as far as its first bytes show.

    Returns
    -------
    binary file
        As long as the given one, with all else at the same place; the same object where the memo
        has no scalars.
    """
    calls = list(_calls(memo))
    return io.BufferedReader(_Replaced(stream, calls), AHEAD) if calls else stream


def _calls(memo: Mapping[int, Any]) -> Iterator[_Call]:
    latin = [place for place, value in memo.items() if type(value) is str and value == "latin1"]
    types, scalars, encode = (
        [place for place, value in memo.items() if isinstance(value, kind)]
        for kind in (DtypeState, Scalar, Encode)
    )
    for scalar in scalars:
        for dtype, before in ((memo[each].real, _get(scalar) + _get(each)) for each in types):
            # Python has one object for each single byte, and refers to it the second time.
            if dtype.kind not in "fiu" or dtype.itemsize == 1:
                continue
            # Python's pickler numbers what it builds by itself from protocol 4 on.
            implicit = _TUPLE + _MEMOIZE + _CALL + _MEMOIZE
            yield _Call(before + b"C", 1, _MEMOIZE + implicit, 3, dtype, text=False)
            put = _PUT + b"\xff\xff\xff\xff"
            explicit = _TUPLE + put + _CALL + put
            yield _Call(before + b"C", 1, put + explicit, 0, dtype, text=False)
            for name in encode:
                for codec in latin:
                    after = put + _get(codec) + explicit + explicit
                    yield _Call(before + _get(name) + b"X", 4, after, 0, dtype, text=True)


def _get(place: int) -> bytes:
    """Refer to a place of the memo as Python's pickler does."""
    return b"h" + bytes([place]) if place < 256 else b"j" + place.to_bytes(4, "little")


class _Replaced(io.RawIOBase):
    """A pickle with calls replaced, block by block: what a block becomes depends on nothing else.

    So what is checked is what is loaded, in however small pieces either reads.
    """

    def __init__(self, stream: BinaryIO, calls: list[_Call]) -> None:
        super().__init__()
        self._stream, self._calls, self._start = stream, calls, stream.tell()
        self._size = stream.seek(0, io.SEEK_END) - self._start
        self._place, self._number, self._block = 0, -1, b""
        self._kept: dict[int, bytes] = {}

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = base + offset
        return self._place

    def readinto(self, buffer: Any) -> int:
        number, first = divmod(self._place, _BLOCK)
        if number != self._number:
            kept = self._kept.pop(number, None)
            self._number, self._block = number, kept or self._replaced(number * _BLOCK)
            if kept is None and len(self._kept) < _KEPT:
                self._kept[number] = self._block
        part = self._block[first : first + len(buffer)]
        buffer[: len(part)] = part
        self._place += len(part)
        return len(part)

    def _replaced(self, first: int) -> bytes:
        """Read a block with what may reach into it, and replace the calls."""
        start = max(first - _LONGEST, 0)
        self._stream.seek(self._start + start)
        read = self._stream.read(first - start + _BLOCK + _LONGEST)
        data = np.frombuffer(bytearray(read), dtype=np.uint8)
        for call in self._calls:
            if call.before in read:
                _replace(data, call)
        return data[first - start :][:_BLOCK].tobytes()


def _replace(data: _Bytes, call: _Call) -> None:
    """Replace all calls of one kind, in place."""
    size = call.dtype.itemsize
    found = _starting_with(data, call.before)
    head = len(call.before) + call.field
    # As text each byte above 127 takes two.
    for length in range(size, (2 if call.text else 1) * size + 1):
        total = head + length + len(call.after)
        at = found[found + total <= len(data)]
        for n, byte in enumerate(length.to_bytes(call.field, "little")):
            at = at[data[at + len(call.before) + n] == byte]
        for n, byte in enumerate(call.after):
            if byte != 0xFF:
                at = at[data[at + head + length + n] == byte]
        content = data[at[:, None] + head + np.arange(length)]
        if call.text:
            at, content = _encoded(at, content, size)
        _write(data, at, content.view(call.dtype).reshape(-1), total, call.memoized)


def _starting_with(data: _Bytes, text: bytes) -> IntArray:
    """Find where some bytes occur."""
    if len(data) < len(text):
        return np.zeros(0, dtype=np.int64)
    # The second byte is the number of a place, and rarer than the first.
    found = np.flatnonzero(data[1 : len(data) - len(text) + 2] == text[1])
    for n, byte in enumerate(text):
        found = found[data[found + n] == byte]
    return found


def _encoded(at: IntArray, text: _Bytes, size: int) -> tuple[IntArray, _Bytes]:
    """Turn the UTF-8 of Latin-1 text into its bytes, where that gives as many as wanted."""
    continues = (text & 0xC0) == 0x80
    above = np.zeros_like(text)
    above[:, 1:] = (text[:, :-1] == 0xC3) * 0x40
    content = text + above * continues
    leads = text >= 0xC0
    good = (~leads).sum(axis=1) == size
    good &= (continues[:, 1:] == leads[:, :-1]).all(axis=1) & ~continues[:, 0] & ~leads[:, -1]
    return at[good], np.ascontiguousarray(content[good][~leads[good]].reshape(-1, size))


def _write(data: _Bytes, at: IntArray, values: Array, total: int, memoized: int) -> None:
    """Write numbers, what keeps them for later reference, and opcodes without effect."""
    if values.dtype.kind == "f":
        code, written = b"G", values.astype(">f8")
    else:
        code, written = b"J", values.astype("<i4")
        fits = written == values
        at, written = at[fits], written[fits]
    number = written.view(np.uint8).reshape(len(at), written.itemsize)
    put = _MEMOIZE * memoized
    kept = total if memoized else total - 5
    rest = kept - 1 - number.shape[1] - len(put)
    if rest == 1 or rest < 0 or not len(at):
        return
    data[at] = code[0]
    data[at[:, None] + 1 + np.arange(number.shape[1])] = number
    tail = np.frombuffer(put + _without_effect(rest), dtype=np.uint8)
    data[at[:, None] + 1 + number.shape[1] + np.arange(len(tail))] = tail


def _without_effect(length: int) -> bytes:
    """Return opcodes of a length other than 1 that put something on the stack and take it off."""
    if length > 35:  # more than the check of opcodes passes over quickly
        return _without_effect(30) + _without_effect(length - 30)
    if length < 3:
        return b"N0"[:length]
    return b"C" + bytes([length - 3]) + bytes(length - 3) + b"0"
