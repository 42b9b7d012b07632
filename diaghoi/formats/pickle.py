"""Unpickle untrusted files: only containers, numbers and NumPy arrays.

A pickle is a program that may name any importable object and call it. This unpickler looks up every
name in a fixed table of exact (module, name) pairs. Instead of the named object, the table contains
a constructor that can only build plain data: a pickle that calls this constructor or sets its state
can do nothing else. The unpickler has no fallback with fewer restrictions. Array contents are
checked, because NumPy assumes that an array holds as much data as its shape requires. The file size
limits the total size of arrays, because one string in a pickle can become any number of arrays.

Opcodes, which can do harm even without names, are checked before loading. Python's unpickler
allocates whatever size a pickle announces. Python hashes nested tuples without a depth limit, and
again wherever they occur, so that a few bytes used as a dict key can crash the interpreter or keep
it busy forever.
"""

from __future__ import annotations

import copyreg
import gc
import io
import math
import mmap
import os
import pickle
import pickletools
import re
import reprlib
import struct
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, BinaryIO, NoReturn, TypeGuard

import numpy as np

from diaghoi.data.arrays import Array, StrArray
from diaghoi.exceptions import InputError

AHEAD = 1 << 20
"""Size in bytes of the buffer for reading files."""

_PLAIN_DTYPE = re.compile(r"[biufc]\d{1,2}|[SU][1-9]\d{0,8}|O\d?|\?")
# Type names of individual numbers in the module struct.
_FORMATS = {
    "f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B",
    "u2": "H", "u4": "I", "u8": "Q", "b1": "?",
}  # fmt: skip
_LAST_CHARACTER = 0x10FFFF
_MOST_DIMENSIONS = 64
_LONGEST_NUMBER = 100
# Maximum number of rows in an array without content. An array without content takes no memory, but
# code that loops over the rows of the array takes memory.
_MOST_EMPTY = 1 << 20
# Protocols below 3 write bytes as text; the text is built first and takes several times as much
# memory as the bytes.
_BUILT, _BUILT_PER_BYTE = 1 << 22, 4
# Bytes per list item; the shortest item takes two bytes of a pickle.
_ITEM = 8
_ATOMS = (str, bytes, int, float, bool, type(None))


class Limit:
    """The limit on the data that may be built: a small multiple of the file size."""

    def __init__(self, size: int) -> None:
        self.left = _BUILT + _BUILT_PER_BYTE * size

    def build(self, amount: int) -> None:
        """Count the bytes of arrays and container items."""
        self.left -= amount
        if self.left < 0:
            raise UnpicklingError(
                "arrays or sets would hold more data than a file of this size can"
            )


class Inert:
    """A value without state."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "an object without content"

    def __setstate__(self, state: object) -> NoReturn:
        raise UnpicklingError("the pickle sets the state of something that has none")


class Constructor(Inert):
    """A constructor of plain data: a pickle can only call it.

    Parameters
    ----------
    make : callable or str
        Function that is called with the limit and the arguments from the pickle. A string is the
        name of a class that pickles may mention but not call.
    limit : Limit
        The limit for this pickle.
    """

    __slots__ = ("limit", "make")

    def __init__(self, make: Any, limit: Limit) -> None:
        self.make, self.limit = make, limit

    def __call__(self, *arguments: Any) -> Any:
        return self.make(self.limit, *arguments)


class _Scalar(Constructor):
    """NumPy's ``scalar``: a number, returned as a Python number if Python has the type.

    Pickles of ``list(array)`` call this for every number, so it does as little as possible.
    """

    __slots__ = ()

    def __call__(self, dtype: Any, data: Any = b"") -> Any:
        if type(dtype) is _Dtype and dtype.unpack is not None and type(data) is bytes:
            return dtype.unpack(data)[0]
        real, content = _real(dtype), _as_bytes(data)
        self.limit.build(real.itemsize)
        return np.frombuffer(content, dtype=real, count=1)[0].item()


def _number(kind: Callable[..., Any], limit: Limit, *content: Any) -> Any:
    for value in content:
        if type(value) not in (int, float, str) or len(str(value)) > _LONGEST_NUMBER:
            raise UnpicklingError("a number is not made from numbers")
    return kind(*content)


def container(kind: type, limit: Limit, *content: Any) -> Any:
    """Create a list, dict or set from a list."""
    name, items = kind.__name__, content[0] if content else []
    if kind is tuple or len(content) > 1 or type(items) is not list:
        raise UnpicklingError(f"a {name} is not made from a list")
    limit.build(_ITEM * len(items))
    keys = [] if kind is list else items
    if kind is dict:
        keys = [item[0] if type(item) in (list, tuple) and item else () for item in items]
    # The opcode check does not see keys that come in a list, and keys of types other than _ATOMS
    # can take forever to hash or compare.
    for key in keys:
        if type(key) not in _ATOMS:
            raise UnpicklingError(f"a {name} is made with a {type(key).__name__}")
    # A frozenset becomes a set, because a set cannot be hashed.
    return set(items) if kind is frozenset else kind(items)


def _encode(limit: Limit, text: Any, codec: object = "latin1") -> bytes:
    """Return bytes that older protocols write as text."""
    if not (isinstance(text, str) and codec == "latin1"):
        raise UnpicklingError("only bytes written as latin1 text are supported")
    limit.build(len(text))
    return text.encode("latin1")


class _Dtype(Inert):
    """A dtype of plain numbers, text or objects; fields and flags are not used."""

    __slots__ = ("limit", "real", "unpack")

    def __init__(self, real: np.dtype[Any], limit: Limit) -> None:
        code, order = _FORMATS.get(real.str[1:]), ">" if real.str[0] == ">" else "<"
        self.unpack = None if code is None else struct.Struct(order + code).unpack
        self.real, self.limit = real, limit

    def __setstate__(self, state: Any) -> None:  # type: ignore[override]
        if not (
            type(state) is tuple
            and len(state) == 8
            and all(part is None for part in state[2:5])
            and all(type(part) is int for part in (state[0], *state[5:]))
        ):
            raise UnpicklingError("arrays with fields or metadata are not supported")
        if type(state[1]) is str and state[1] in ("<", ">"):
            _Dtype.__init__(self, self.real.newbyteorder(state[1]), self.limit)  # type: ignore[arg-type]


def _dtype(limit: Limit, code: object, align: object = False, copy: object = False) -> _Dtype:
    if not (isinstance(code, str) and _PLAIN_DTYPE.fullmatch(code)):
        shown = repr(code) if isinstance(code, str) else type(code).__name__
        raise UnpicklingError(f"arrays of type {shown:.40} are not supported")
    _check_flags(align, copy)
    return _Dtype(np.dtype(code), limit)


class _Array(np.ndarray[Any, Any]):
    """An array under reconstruction; ``numpy.asarray`` converts it to a plain array."""

    __slots__ = ()

    def __repr__(self) -> str:
        if self.dtype.hasobject:  # objects may be nested lists that take forever to print
            return f"array({reprlib.repr(self.tolist())}, dtype=object)"
        return repr(np.asarray(self))

    def __setstate__(self, state: object, /) -> None:
        if not (type(state) is tuple and len(state) == 5 and type(state[2]) is _Dtype):
            raise UnpicklingError("the state of an array is not in NumPy's layout")
        version, shape, dtype, fortran, data = state
        _check_flags(version, fortran)
        if dtype.real.hasobject:
            # NumPy reads as many objects as the shape requires, even past the end of the list.
            if type(data) is not list or len(data) != size_of(shape):
                raise UnpicklingError("an array of objects has no list of as many objects")
        else:
            data = _content(data, dtype.real, shape)
        dtype.limit.build(len(data))
        super().__setstate__((1, shape, dtype.real, bool(fortran), data))  # type: ignore[arg-type]
        self.flags.writeable = False


def _reconstruct(limit: Limit, subtype: object, shape: object, code: object) -> _Array:
    if not (isinstance(subtype, Constructor) and subtype.make == "ndarray"):
        raise UnpicklingError("only plain arrays are supported")
    if type(shape) is not tuple or shape != (0,) or type(code) not in (bytes, str):
        raise UnpicklingError("the start of an array is not in NumPy's layout")
    array = np.empty(0, dtype=np.int8).view(_Array)
    # A pickle could set items to nested lists, which NumPy converts to arrays of any size.
    array.flags.writeable = False
    return array


def _from_buffer(
    limit: Limit, data: object, dtype: object, shape: Any, order: Any, axes: Any = None
) -> Array:
    real = _real(dtype)
    content = _content(data, real, shape)
    limit.build(len(content))
    array: Array = np.frombuffer(content, dtype=real)
    if order == "K" and axes is not None:
        size_of(axes)
        array = array.reshape(shape)
        return np.asarray(array.transpose(axes))
    if order not in ("C", "F"):
        raise UnpicklingError("the order of an array is not in NumPy's layout")
    return np.asarray(array.reshape(shape, order="C" if order == "C" else "F"))


def _bytes(limit: Limit, data: object = b"") -> bytes:
    content = _as_bytes(data)
    limit.build(len(content))
    return bytes(content)


class _WithDefaults(dict[Any, Any]):
    """Replace ``defaultdict``, because a deeply nested ``defaultdict`` crashes the interpreter."""

    __slots__ = ("factory",)
    __setstate__ = Inert.__setstate__

    def __init__(self, factory: Callable[[], Any] | None) -> None:
        self.factory = factory

    def __missing__(self, key: object) -> Any:
        if self.factory is None:
            raise KeyError(key)
        self[key] = self.factory()
        return self[key]


def _default_dict(limit: Limit, factory: Any = None) -> _WithDefaults:
    if factory is None:
        return _WithDefaults(None)
    if not (isinstance(factory, Constructor) and isinstance(factory.make, partial)):
        raise UnpicklingError("the default factory of a defaultdict is not a plain type")
    return _WithDefaults(factory.make.args[0])


class CacheTemplate(dict[Any, Any]):
    """The replacement for the class in which UPT and its descendants store V-COCO results.

    A missing ``<action>_agent`` is a score of 0; any other missing key is a tiny box with score 0.
    """

    __slots__ = ()
    __setstate__ = Inert.__setstate__

    def __missing__(self, key: str) -> float | list[float]:
        if key.split("_")[-1] == "agent":
            return 0.0
        return [0.0, 0.0, 0.1, 0.1, 0.0]


def _cache_template(limit: Limit) -> CacheTemplate:
    return CacheTemplate()


# Messages show the name of the class; `reprlib` also uses the name to shorten nested dicts.
_Array.__name__ = "ndarray"
for _kind in (_WithDefaults, CacheTemplate):
    _kind.__name__, _kind.__module__ = "dict", "builtins"


def _real(dtype: object) -> np.dtype[Any]:
    if not isinstance(dtype, _Dtype) or dtype.real.hasobject:
        raise UnpicklingError("the type of an array is not in NumPy's layout")
    return dtype.real


def _as_bytes(data: object) -> bytes | bytearray:
    if isinstance(data, str):  # written by Python 2
        return data.encode("latin1")
    if isinstance(data, bytes | bytearray):
        return data
    raise UnpicklingError("the content of an array is not given as bytes")


def _check_flags(*flags: object) -> None:
    if not {bool, int}.issuperset(map(type, flags)):
        raise UnpicklingError("a flag of an array is neither true nor false")


def is_shape(value: object) -> TypeGuard[tuple[int, ...]]:
    """Check whether a value is a tuple of a few whole numbers."""
    return (
        type(value) is tuple
        and len(value) <= _MOST_DIMENSIONS
        and {int}.issuperset(map(type, value))
        and min(value, default=0) >= 0
    )


def size_of(shape: object) -> int:
    """Return the number of values in an array of the given shape.

    Raises
    ------
    pickle.UnpicklingError
        If the shape is invalid, or a long array has no content.
    """
    if not is_shape(shape):
        raise UnpicklingError("the shape of an array is not given as whole numbers")
    size = math.prod(shape)
    if size == 0 and max(shape) > _MOST_EMPTY:
        raise UnpicklingError(f"an array of shape {shape!r:.60} holds nothing")
    return size


def _content(data: object, real: np.dtype[Any], shape: object) -> bytes | bytearray:
    """Check that an array has the right number of bytes, and that its text is valid."""
    content = _as_bytes(data)
    if len(content) != size_of(shape) * real.itemsize:
        raise UnpicklingError(
            f"an array of shape {shape!r:.60} and type {real} is given as {len(content)} bytes"
        )
    if real.kind == "U":
        check_letters(np.frombuffer(content, dtype=real))
    return content


def check_letters(text: StrArray) -> None:
    """Check that a text array contains only valid characters, which NumPy does not check.

    Raises
    ------
    pickle.UnpicklingError
        If the text holds invalid characters.
    """
    order = np.dtype("u4").newbyteorder(">" if text.dtype.byteorder == ">" else "<")
    letters = np.ascontiguousarray(text).reshape(-1).view(order)
    if letters.max(initial=0) > _LAST_CHARACTER:
        raise UnpicklingError("an array of text holds invalid characters")


# Constructors of plain data by exact module and attribute name.
NAMES: dict[tuple[str, str], Any] = {
    **{(module, kind.__name__): partial(make, kind)
       for module in ("builtins", "__builtin__")
       for make, kinds in ((container, (list, tuple, dict, set, frozenset)),
                           (_number, (int, float, complex, bool)))
       for kind in kinds},
    **{(f"numpy.{core}.{module}", name): make
       for core in ("core", "_core") for module, name, make in (
           ("multiarray", "_reconstruct", _reconstruct), ("multiarray", "scalar", _Scalar),
           ("numeric", "_frombuffer", _from_buffer))},
    ("numpy", "ndarray"): "ndarray",
    ("numpy", "dtype"): _dtype,
    ("builtins", "bytes"): _bytes,
    ("__builtin__", "bytes"): _bytes,
    ("_codecs", "encode"): _encode,
    # A plain dict keeps the order like an OrderedDict, and has no attributes that a file could set.
    ("collections", "OrderedDict"): partial(container, dict),
    ("collections", "defaultdict"): _default_dict,
}  # fmt: skip


@dataclass(frozen=True)
class Beside:
    """References from a pickle to the archive that contains it.

    Parameters
    ----------
    names : mapping
        Names allowed instead of :data:`NAMES`.
    load : callable
        Function that returns the object with the given persistent id.
    size : int
        Total size in bytes.
    """

    names: Mapping[tuple[str, str], Any]
    load: Callable[[object], Any]
    size: int


# Maximum bytes of an integer: Python does not keep the hash of an integer, so long integers as keys
# would take long.
_LONGEST_INTEGER = 1 << 12
_DEEPEST = 100
# Number of tuple items that hashing may visit: a number for each byte of the pickle, plus a fixed
# number.
_VISITS_PER_BYTE, _VISITS = 20, 1_000_000
SECONDS = 3.0
"""Seconds of computing that any pickle may take, in addition to the time for its bytes."""
SECONDS_PER_BYTE = 5e-7
# Bytes passed to the unpickler at a time, and maximum size of its stack in bytes; one step can turn
# the whole stack into a dict or set.
_PIECE, _TALLEST = 1 << 14, 8 << 14
MEMORY, MEMORY_PER_BYTE = 1 << 27, 20
"""Bytes that loading may add to this process: a fixed number, and a number per byte read.
Predictions as lists of dicts take 5 to 15 bytes for each byte read; an empty set takes 224 bytes
for its one byte."""

# Most of a pickle consists of numbers, short texts, lists and dicts, which one regular expression
# skips in long runs. Tuples of a few numbers, and tuples that the next opcode consumes (in arrays),
# are harmless, too. Python allocates a slot for each memo index and all lower indices: indices of
# three bytes allow slots of 128 MB.
_SHORT_TEXT = 32


def _of_each_length(field: int) -> bytes:
    """Match a length field of ``field`` bytes, followed by a short text of that length."""
    lengths = ((length, length.to_bytes(field, "little")) for length in range(_SHORT_TEXT + 1))
    return b"|".join(re.escape(size) + b".{%d}" % length for length, size in lengths)


def _plain() -> re.Pattern[bytes]:
    """Return a pattern that matches a run of up to 2000 harmless opcode sequences.

    The more the pattern matches without alternatives, the faster it is.
    """
    put = rb"(?:\x94|q.|r...\x00|p\d{1,6}\n)"
    real = rb"G........"
    number = rb"(?:%b|K.|M..|J....|[N\x88\x89]|I-?\d{1,19}\n|F[^\n]{1,40}\n|L-?\d{1,19}L?\n)" % real
    parts = (
        # Dict items under a memorised key, NumPy scalars, and boxes.
        rb"h.(?:K.h.)*+(?:K.(?=[hu])|%b(?=[hu])|h.C\x04....\x94\x86\x94R\x94)?+" % real,
        rb"\((?:%b[et]|%b{0,8}+t)?+" % (4 * real, number),
        rb"[]})\x94easudlRbo012\x81\x8f\x90\x92\x93\x98]++",
        # At least as many numbers as a tuple of up to three items takes, followed by the opcode of
        # the tuple.
        rb"%b(?:\x85|%b(?:[\x85\x86]|%b++[\x85-\x87]?+)?+)?+" % (number, number, number),
        rb"[\x85-\x87t]%b?+[Rb\x81Q]" % put,
        rb"j.{4}|g\d{1,9}\n|\x80.|S[^\n]*\n",
        put,
        rb"[\x8cCU](?:%b)|[XBT](?:%b)" % (_of_each_length(1), _of_each_length(4)),
    )
    run = rb"(?:" + rb"|".join(parts) + rb"){1,2000}+"
    if sys.version_info < (3, 11, 5):
        # Possessive quantifiers save the memory of backtracking. Python 3.10 has none, and up to
        # 3.11.4 they can match where greedy quantifiers do not (python/cpython#106052).
        run = re.sub(rb"([*?+}])\+", rb"\1", run)
    return re.compile(run, re.DOTALL)


_PLAIN = _plain()
_HASHED = ("TUPLE1", "TUPLE2", "TUPLE3", "TUPLE", "FROZENSET")
_PUTS = ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT")
_GETS = ("GET", "BINGET", "LONG_BINGET")
# Opcodes that add to an object that stays on the stack.
_KEEPING = ("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD")
_FRAME_HEADER = 9


def _checked(data: bytes, *, cut: bool = False, quick: bool = True) -> tuple[int, list[int]]:
    """Check the opcodes of a pickle.

    The regular expression alone passes most pickles. Only pickles with tuples that the regular
    expression does not match are followed step by step.

    Parameters
    ----------
    data : bytes
        The pickle and whatever follows it.
    cut : bool
        Whether the pickle may be truncated.
    quick : bool
        Whether a match of the regular expression is enough.

    Returns
    -------
    length : int
        Number of bytes up to the opcode that ends the pickle, or at which the pickle is truncated.
    frames : list of int
        Where frames begin.

    Raises
    ------
    EOFError, UnpicklingError, ValueError
        If the pickle is truncated or hostile, or has unknown opcodes.
    """
    frames: list[int] = []
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    visits = stop = 0
    stream = io.BytesIO(data)
    try:
        for opcode, argument, place in pickletools.genops(stream):
            name, at, stop = opcode.name, place or 0, stream.tell()
            if name == "STOP":
                return at, frames
            if name == "FRAME":
                frames.append(at)
                if (argument or 0) > len(data) - stop and not cut:
                    raise EOFError
            elif name in _PUTS and argument is not None and argument > max(at, 255):
                raise UnpicklingError(f"the memo index {argument} is too high")
            elif isinstance(argument, int) and argument.bit_length() > 8 * _LONGEST_INTEGER:
                raise UnpicklingError("a whole number is too long")
            if quick:
                while run := _PLAIN.match(data, stop):
                    stop = stream.seek(run.end())
                if name in _HASHED:
                    break
                continue
            new = _followed(opcode, argument, stack, memo)
            visits += new[1]
            if new[0] > _DEEPEST or visits > _VISITS + _VISITS_PER_BYTE * at:
                raise UnpicklingError("tuples hold tuples too deep or too often; write lists")
    except ValueError as error:
        if stream.tell() < len(data) or isinstance(error, UnicodeError):
            raise
    else:  # the regular expression did not match everything
        return _checked(data, cut=cut, quick=False)
    if cut:
        return stop, frames
    raise EOFError


def _followed(
    opcode: pickletools.OpcodeInfo, argument: Any, stack: list[Any], memo: dict[int, Any]
) -> tuple[int, int]:
    """Apply one opcode to a model of the unpickler's stack.

    For a tuple or frozenset, the model holds the depth and the number of items that hashing visits;
    for a mark, the text mark; for anything else, None. Returns the depth and the number of items
    for a new tuple or frozenset, and zeros for anything else.
    """
    name, before = opcode.name, list(opcode.stack_before)
    if name in _PUTS:
        memo[len(memo) if argument is None else argument] = stack[-1]
        return 0, 0
    if name == "DUP":
        stack.append(stack[-1])
        return stack[-1] if isinstance(stack[-1], tuple) else (0, 0)
    if name in _KEEPING:
        del before[0]
    items = []
    if pickletools.markobject in before:
        while (item := stack.pop()) != "mark":
            items.append(item)
        before = before[: before.index(pickletools.markobject)]
    items += [stack.pop() for _ in before]
    if name in _KEEPING or not opcode.stack_after:
        return 0, 0
    new = memo.get(argument) if name in _GETS else "mark" if name == "MARK" else None
    if name in _HASHED:
        tuples = [item for item in items if isinstance(item, tuple)]
        # Python keeps the hash of a frozenset, but comparing two equal frozensets looks up every
        # item.
        if tuples and name == "FROZENSET":
            raise UnpicklingError("a frozenset holds tuples or frozensets; write lists")
        depth = 1 + max((item[0] for item in tuples), default=0)
        new = depth, 1 + len(items) - len(tuples) + sum(item[1] for item in tuples)
    stack.append(new)
    return new if isinstance(new, tuple) else (0, 0)


def _memory() -> int:
    """Return the approximate memory of this process in bytes."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * mmap.PAGESIZE
    except OSError:  # not Linux; most objects of a pickle take at least a block of 64 bytes
        return 48 * sys.getallocatedblocks()


class _Pieces(io.RawIOBase):
    """The stream of a pickle, in small chunks and without frame headers.

    Python's unpickler reads each frame in one go and handles no signals meanwhile. The stream also
    limits the time and the memory: keys can be chosen such that a dict compares each new key with
    all others, and a single byte can create an object.
    """

    def __init__(self, stream: BinaryIO, frames: list[int], size: int, file: str) -> None:
        self.start = start = stream.tell()
        self.stream, self.frames = stream, [start + frame for frame in reversed(frames)]
        self.file, self.before = file, _memory()
        self.until = time.thread_time() + SECONDS + SECONDS_PER_BYTE * size
        self.stack: Any = b""
        # The size of the unpickler includes the memo and the marks.
        self.unpickler: Callable[[], Any] = bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        # The unpickler would treat an UnpicklingError as the end of the file.
        if time.thread_time() > self.until:
            raise ValueError("it takes far too long for its size: keys are slow to compare")
        if self.stack.__sizeof__() > _TALLEST:
            raise ValueError("it nests lists too deep, or a tuple is too long; write short lists")
        at = self.stream.tell()
        # A memorised object takes two bytes of the file, and up to two slots.
        if self.unpickler().__sizeof__() > _TALLEST + 8 * (at - self.start):
            raise ValueError("it opens millions of lists, and closes none")
        taken, read = _memory() - self.before, at - self.start
        if taken > MEMORY + MEMORY_PER_BYTE * read:
            raise InputError(
                f"{self.file}: its first {read / 1e6:,.1f} MB take {taken / 1e6:,.0f} MB of "
                "memory: it consists of empty or tiny lists, dicts or sets; write each image's "
                "numbers as arrays or lists"
            )
        while self.frames and at == self.frames[-1]:
            at = self.stream.seek(self.frames.pop() + _FRAME_HEADER)
        left = self.frames[-1] - at if self.frames else len(buffer)
        return self.stream.readinto(memoryview(buffer)[:left])  # type: ignore[attr-defined, no-any-return]


class _Unpickler(pickle.Unpickler):
    """The C unpickler, changed to look names up in a table instead of importing them."""

    def __init__(
        self, stream: BinaryIO, frames: list[int], size: int, file: str, beside: Beside | None
    ) -> None:
        size += 0 if beside is None else beside.size
        pieces = _Pieces(stream, frames, size, file)
        super().__init__(io.BufferedReader(pieces, _PIECE), encoding="latin1")
        # The size of the unpickler shows how many values are waiting to be put into a tuple or a
        # dict.
        pieces.stack = next(
            (part for part in gc.get_referents(self) if type(part).__name__ == "Pdata"), b""
        )
        pieces.unpickler = weakref.ref(self)
        self.file, self.beside, self.limit = file, beside, Limit(size)
        self.names = NAMES if beside is None else beside.names

    def find_class(self, module: str, name: str, /) -> Any:
        make = self.names.get((module, name))
        if name == "CacheTemplate":  # whatever module the class is from
            make = _cache_template
        if make is not None:
            return (_Scalar if make is _Scalar else Constructor)(make, self.limit)
        asked = f"{module}.{name}"
        if asked.startswith(("torch.", "torch_", "__torch__.")):
            instead = "arrays instead: tensor.numpy()" if self.beside is None else "dense tensors"
            raise InputError(
                f"{self.file}: holds PyTorch objects ({asked!r:.120}), which are not read; "
                f"save {instead}"
            )
        raise InputError(
            f"{self.file}: the pickle asks for {asked!r:.120}, which is not on the list of "
            "harmless types, so it is not read; save plain lists, dicts, numbers and NumPy arrays"
        )

    def persistent_load(self, pid: Any, /) -> Any:
        if self.beside is not None:
            return self.beside.load(pid)
        raise InputError(
            f"{self.file}: the pickle refers to objects outside the file (a persistent id), as "
            "files of torch.save do; save plain lists, dicts, numbers and NumPy arrays"
        )


@contextmanager
def collector_off() -> Iterator[None]:
    """Disable Python's garbage collector for the block, and restore its state.

    The collector would repeatedly traverse millions of new objects, none of which is garbage; this
    traversal takes more than half the time of a plain ``pickle.load``.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def load_pickle(stream: BinaryIO, file: str, beside: Beside | None = None) -> Any:
    """Read a pickle with the restricted unpickler.

    Parameters
    ----------
    stream : binary file
        Buffered and seekable; read up to the end of the pickle.
    file : str
        Name of the file, for messages.
    beside : Beside, optional
        Data outside the pickle to which the pickle may refer; by default there is none.

    Returns
    -------
    object
        Containers, numbers, strings and NumPy arrays. An ``OrderedDict`` becomes a ``dict``, and a
        NumPy scalar becomes a Python number.

    Raises
    ------
    InputError
        If the pickle is truncated or invalid, uses a name that is not allowed, or needs far more
        memory than its data.
    """
    # Extension codes that this process resolved earlier would bypass ``find_class``.
    copyreg.clear_extension_cache()
    try:
        with collector_off():
            start = stream.tell()
            size = stream.seek(0, os.SEEK_END) - start
            stream.seek(start)
            length, frames = _checked(stream.read(size))
            stream.seek(start)
            value = _Unpickler(stream, frames, length, file, beside).load()
            stream.seek(start + length + 1)
            return value
    except InputError:
        raise
    except EOFError as error:
        raise InputError(f"{file}: the pickle is cut off; copy or write it again") from error
    except MemoryError as error:
        raise InputError(
            f"{file}: the pickle asks for more memory than there is; it may be damaged"
        ) from error
    except Exception as error:
        # A damaged pickle can raise any error; the problem is the same for the user.
        what = " ".join(str(error).split()) or type(error).__name__
        if "truncated" in what:
            what = "cut off"
        raise InputError(f"{file}: not a readable pickle ({what:.120}); write it again") from error


# Start of a pickled list or dict, in all protocols.
_START = re.compile(rb"(?:\x80.)?(?:\x95.{8})?(?:[\]}]|\([ld])(?:\x94|q\x00|p0\n)", re.DOTALL)


def load_first(stream: BinaryIO, file: str, most: int) -> Any:
    """Read the first items of a pickled list or dict.

    Python writes a thousand items at a time, and stores the list or dict under number 0 in the
    memo. The opcodes up to any point, followed by an opcode that returns this memo entry, therefore
    form a pickle of the items that are complete at this point.

    Parameters
    ----------
    stream, file
        As for :func:`load_pickle`.
    most : int
        Number of bytes to read; more bytes are read if the first bytes hold no complete item.

    Returns
    -------
    list or dict or None
        None if the pickle holds anything else, or no complete items before its end.
    """
    start = stream.tell()
    size = stream.seek(0, os.SEEK_END) - start
    value = None
    while not value and most < size:
        stream.seek(start)
        data = stream.read(most)
        most *= 2
        if not _START.match(data):
            return None
        # Errors are reported later, when the whole file is read.
        with suppress(Exception), collector_off():
            length, frames = _checked(data, cut=True)
            if data[length : length + 1] == b".":  # the pickle ends
                return None
            part = io.BytesIO(data[:length] + b"g0\n.")
            value = _Unpickler(part, frames, length, file, None).load()
            continue
        return None
    return value or None
