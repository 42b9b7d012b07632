"""Unpickle untrusted files: containers, numbers and arrays of NumPy and PyTorch, and nothing else.

A pickle is a program: it may name any importable object and call it. Here every name is looked up
in a fixed table of exact (module, name) pairs. The table does not give the object of that name, but
a constructor that can only build plain data: calling it or setting its state reaches nothing else.
There is no second attempt with fewer restrictions. The contents of arrays are checked, because
NumPy assumes that an array holds as much data as its shape requires, and their total size is
limited by that of the file, because one string in a pickle can become any number of arrays.

What a pickle can do without names shows in its opcodes, which are checked before it is loaded.
Python's unpickler allocates the sizes that a pickle announces, and Python's hash of tuples assumes
that nobody writes pickles by hand: a tuple of tuples of tuples is hashed without a depth limit, and
again wherever it occurs, so that a few bytes used as the key of a dict crash the interpreter or
keep it busy forever.

Only the pickle in a file of ``torch.save`` has a few more names, and may refer to data beside
itself. A storage there is a run of numbers of one type; a tensor is a view of it with an offset and
strides, which may overlap and may be 0, so that a few bytes show an array of any size. Tensors
become read-only NumPy arrays on the bytes of the storage. Each is checked to lie inside it, and
counts with its full size towards the limit of the file.
"""

from __future__ import annotations

import copyreg
import gc
import io
import math
import os
import pickle
import pickletools
import re
import reprlib
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pickle import UnpicklingError
from typing import Any, BinaryIO, NoReturn

import numpy as np

from diaghoi.data.arrays import Array, StrArray
from diaghoi.exceptions import InputError

AHEAD = 1 << 20
"""Bytes of the buffer in which files are read."""

_PLAIN_DTYPE = re.compile(r"[biufc]\d{1,2}|[SU][1-9]\d{0,8}|O\d?|\?")
# What the module struct calls the types of single numbers.
_FORMATS = {
    "f2": "e", "f4": "f", "f8": "d", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B",
    "u2": "H", "u4": "I", "u8": "Q", "b1": "?",
}  # fmt: skip
_LAST_CHARACTER = 0x10FFFF
_MOST_DIMENSIONS = 64
_LONGEST_NUMBER = 100
# Rows of an array without content: it takes no memory itself, but code that loops over rows does.
_MOST_EMPTY = 1 << 20
# Protocols below 3 write bytes as text, which is built first: hence several bytes per byte.
_BUILT, _BUILT_PER_BYTE = 1 << 22, 4
# Bytes of an item of a list; the shortest item takes two bytes of a pickle.
_ITEM = 8
_ATOMS = (str, bytes, int, float, bool, type(None))


class _Limit:
    """How much data may be built: a small multiple of the bytes of the pickle and beside it."""

    def __init__(self, size: int) -> None:
        self.left = _BUILT + _BUILT_PER_BYTE * size

    def build(self, amount: int) -> None:
        """Count bytes of arrays and of the items of containers."""
        self.left -= amount
        if self.left < 0:
            raise UnpicklingError("arrays or sets hold more than the file does")


class _Inert:
    """A value that accepts no state."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "an object without content"

    def __setstate__(self, state: object) -> NoReturn:
        raise UnpicklingError("the pickle sets the state of something that has none")


class _Constructor(_Inert):
    """A constructor of plain data: a pickle can call it, and do nothing else with it."""

    __slots__ = ("limit", "make")

    def __init__(self, make: Any, limit: _Limit) -> None:
        self.make, self.limit = make, limit

    def __call__(self, *arguments: Any) -> Any:
        return self.make(self.limit, *arguments)

    def makes(self, *names: object) -> bool:
        """Whether this is the constructor of one of some functions or names."""
        return self.make in names


class _Plain(_Constructor):
    """A type of containers or numbers, made of numbers or of one list."""

    __slots__ = ()

    def __call__(self, *content: Any) -> Any:
        if self.makes(int, float, complex, bool):
            if any(
                type(value) not in (int, float, str)
                or (type(value) is str and len(value) > _LONGEST_NUMBER)
                for value in content
            ):
                raise UnpicklingError("a number is not made from numbers")
            return self.make(*content)
        name, items = self.make.__name__, content[0] if content else []
        if self.make is tuple or len(content) > 1 or type(items) is not list:
            raise UnpicklingError(f"a {name} is not made from a list")
        self.limit.build(_ITEM * len(items))
        if self.make is list:
            return list(items)
        keys = items
        if self.make is dict:
            keys = [item[0] if type(item) in (list, tuple) and item else () for item in items]
        # The check of opcodes does not see these, and others can take forever to hash or compare.
        for key in keys:
            if type(key) not in _ATOMS:
                raise UnpicklingError(f"a {name} is made with a {type(key).__name__}")
        # A set cannot be hashed in turn.
        return dict(items) if self.make is dict else set(items)


class _Scalar(_Constructor):
    """NumPy's ``scalar``: one number of a type, as a number of Python where it has that type.

    Pickles of ``list(array)`` call it for every number, so it does nothing that it need not.
    """

    __slots__ = ()

    def __call__(self, dtype: Any, data: Any = b"") -> Any:
        if type(dtype) is _Dtype and dtype.unpack is not None and type(data) is bytes:
            return dtype.unpack(data)[0]
        real, content = _real(dtype), _as_bytes(data)
        self.limit.build(real.itemsize)
        return np.frombuffer(content, dtype=real, count=1)[0].item()


class _Encode(_Constructor):
    """``_codecs.encode``, which older protocols call for all bytes, also those of a number."""

    __slots__ = ()

    def __call__(self, text: Any, codec: object = "latin1") -> bytes:
        if not (isinstance(text, str) and codec == "latin1"):
            raise UnpicklingError("only bytes written as latin1 text are supported")
        self.limit.build(len(text))
        return text.encode("latin1")


class _Dtype(_Inert):
    """A dtype of plain numbers, text or objects; fields and flags are never used."""

    __slots__ = ("limit", "real", "unpack")

    def __init__(self, real: np.dtype[Any], limit: _Limit) -> None:
        self.limit = limit
        self._become(real)

    def _become(self, real: np.dtype[Any]) -> None:
        code = _FORMATS.get(real.str[1:])
        order = ">" if real.str[0] == ">" else "<"
        self.real, self.unpack = real, None if code is None else struct.Struct(order + code).unpack

    def __setstate__(self, state: Any) -> None:  # type: ignore[override]
        if not (
            type(state) is tuple
            and len(state) == 8
            and all(part is None for part in state[2:5])
            and all(type(part) is int for part in (state[0], *state[5:]))
        ):
            raise UnpicklingError("arrays with fields or metadata are not supported")
        if type(state[1]) is str and state[1] in ("<", ">"):
            self._become(self.real.newbyteorder("<" if state[1] == "<" else ">"))


def _dtype(limit: _Limit, code: object, align: object = False, copy: object = False) -> _Dtype:
    if not (isinstance(code, str) and _PLAIN_DTYPE.fullmatch(code)):
        shown = repr(code) if isinstance(code, str) else type(code).__name__
        raise UnpicklingError(f"arrays of type {shown:.40} are not supported")
    _check_flags(align, copy)
    return _Dtype(np.dtype(code), limit)


class _Array(np.ndarray[Any, Any]):
    """An array under reconstruction; ``numpy.asarray`` makes a plain one of it."""

    __slots__ = ()

    def __repr__(self) -> str:
        if self.dtype.hasobject:  # they may be lists in lists that take forever to write
            return f"array({reprlib.repr(self.tolist())}, dtype=object)"
        return repr(np.asarray(self))

    def __setstate__(self, state: object, /) -> None:
        if not (type(state) is tuple and len(state) == 5 and type(state[2]) is _Dtype):
            raise UnpicklingError("the state of an array is not in NumPy's layout")
        version, shape, dtype, fortran, data = state
        _check_flags(version, fortran)
        if dtype.real.hasobject:
            # NumPy reads as many objects as the shape requires, even beyond the end of the list.
            if type(data) is not list or len(data) != size_of(shape):
                raise UnpicklingError("an array of objects has no list of as many of them")
        else:
            data = _content(data, dtype.real, shape)
        dtype.limit.build(len(data))
        super().__setstate__((1, shape, dtype.real, bool(fortran), data))  # type: ignore[arg-type]
        self.flags.writeable = False


def _reconstruct(limit: _Limit, subtype: object, shape: object, code: object) -> _Array:
    if not (isinstance(subtype, _Constructor) and subtype.makes("ndarray")):
        raise UnpicklingError("only plain arrays are supported")
    if size_of(shape) > 0 or type(code) not in (bytes, str):
        raise UnpicklingError("the start of an array is not in NumPy's layout")
    array = np.empty(0, dtype=np.int8).view(_Array)
    # A pickle could set its items to nested lists, of which NumPy makes arrays of any size.
    array.flags.writeable = False
    return array


def _from_buffer(
    limit: _Limit, data: object, dtype: object, shape: Any, order: Any, axes: Any = None
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


def _bytes(limit: _Limit, data: object = b"") -> bytes:
    content = _as_bytes(data)
    limit.build(len(content))
    return bytes(content)


class _WithDefaults(dict[Any, Any]):
    """A ``defaultdict``; deeply nested ones of the standard library crash the interpreter."""

    __slots__ = ("factory",)
    __setstate__ = _Inert.__setstate__

    def __init__(self, factory: Callable[[], Any] | None) -> None:
        self.factory = factory

    def __missing__(self, key: object) -> Any:
        if self.factory is None:
            raise KeyError(key)
        self[key] = self.factory()
        return self[key]


def _default_dict(limit: _Limit, factory: object = None) -> _WithDefaults:
    if factory is not None and not isinstance(factory, _Plain):
        raise UnpicklingError("the default factory of a defaultdict is not a plain type")
    return _WithDefaults(None if factory is None else factory.make)


class CacheTemplate(dict[Any, Any]):
    """Replacement for the class in which UPT and its descendants store V-COCO results.

    A missing ``<action>_agent`` is a score of 0; any other missing key is a tiny box with score 0.
    """

    __slots__ = ()
    __setstate__ = _Inert.__setstate__

    def __missing__(self, key: str) -> float | list[float]:
        if key.split("_")[-1] == "agent":
            return 0.0
        return [0.0, 0.0, 0.1, 0.1, 0.0]


def _cache_template(limit: _Limit) -> CacheTemplate:
    return CacheTemplate()


class _Ordered(dict[Any, Any]):
    """An ``OrderedDict``; that of weights has attributes, which are left out."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        _check_unused(state)


# What messages call them; by this name, `reprlib` shortens dicts in dicts, too.
_Array.__name__ = "ndarray"
for _kind in (_WithDefaults, CacheTemplate, _Ordered):
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
    if any(type(flag) not in (bool, int) for flag in flags):
        raise UnpicklingError("a flag of an array is neither true nor false")


def size_of(shape: object) -> int:
    """Return how many values an array of a shape has.

    Raises
    ------
    pickle.UnpicklingError
        For an invalid shape, and for a long array without content.
    """
    if (
        type(shape) is not tuple
        or len(shape) > _MOST_DIMENSIONS
        or any(type(length) is not int or length < 0 for length in shape)
    ):
        raise UnpicklingError("the shape of an array is not given as whole numbers")
    size = math.prod(shape)
    if size == 0 and max(shape) > _MOST_EMPTY:
        raise UnpicklingError(f"an array of shape {shape!r:.60} holds nothing")
    return size


def _content(data: object, real: np.dtype[Any], shape: object) -> bytes | bytearray:
    """Check that an array has the right number of bytes, and that text holds valid characters."""
    content = _as_bytes(data)
    if len(content) != size_of(shape) * real.itemsize:
        raise UnpicklingError(
            f"an array of shape {shape!r:.60} and type {real} is given as {len(content)} bytes"
        )
    if real.kind == "U":
        check_letters(np.frombuffer(content, dtype=real))
    return content


def check_letters(text: StrArray) -> None:
    """Check that an array of text holds only valid characters, which NumPy does not check.

    Raises
    ------
    pickle.UnpicklingError
        If it holds anything else.
    """
    order = np.dtype("u4").newbyteorder(">" if text.dtype.byteorder == ">" else "<")
    letters = np.ascontiguousarray(text).reshape(-1).view(order)
    if letters.max(initial=0) > _LAST_CHARACTER:
        raise UnpicklingError("an array of text holds invalid characters")


_Names = dict[tuple[str, str], tuple[type[_Constructor], Any]]
_KINDS = (list, tuple, dict, set, frozenset, int, float, complex, bool)
# Constructors by the exact names of modules and of what they have.
_NAMES: _Names = {
    **{(module, kind.__name__): (_Plain, kind)
       for module in ("builtins", "__builtin__") for kind in _KINDS},
    **{(f"numpy.{core}.{module}", name): (constructor, make)
       for core in ("core", "_core") for module, name, constructor, make in (
           ("multiarray", "_reconstruct", _Constructor, _reconstruct),
           ("multiarray", "scalar", _Scalar, None),
           ("numeric", "_frombuffer", _Constructor, _from_buffer))},
    ("numpy", "ndarray"): (_Constructor, "ndarray"),
    ("numpy", "dtype"): (_Constructor, _dtype),
    ("builtins", "bytes"): (_Constructor, _bytes),
    ("__builtin__", "bytes"): (_Constructor, _bytes),
    ("_codecs", "encode"): (_Encode, None),
    # A plain dict keeps the order too, and has no attributes that a file could set.
    ("collections", "OrderedDict"): (_Plain, dict),
    ("collections", "defaultdict"): (_Constructor, _default_dict),
}  # fmt: skip

# The NumPy type of each dtype of PyTorch; of those that NumPy lacks, that of their bits.
_REAL = {
    "float64": "f8", "float32": "f4", "float16": "f2", "bfloat16": "u2",
    "int64": "i8", "int32": "i4", "int16": "i2", "int8": "i1",
    "uint64": "u8", "uint32": "u4", "uint16": "u2", "uint8": "u1",
    "bool": "u1", "complex64": "c8", "complex128": "c16",
    "float8_e4m3fn": "u1", "float8_e4m3fnuz": "u1",
    "float8_e5m2": "u1", "float8_e5m2fnuz": "u1",
}  # fmt: skip
_STORAGES = {
    "Double": "float64", "Float": "float32", "Half": "float16", "BFloat16": "bfloat16",
    "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
    "Bool": "bool", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
}  # fmt: skip
# Bits of the exponent, and its bias, of the types of eight bits.
_EIGHT_BITS = {
    "float8_e4m3fn": (4, 7), "float8_e4m3fnuz": (4, 8),
    "float8_e5m2": (5, 15), "float8_e5m2fnuz": (5, 16),
}  # fmt: skip


@dataclass(frozen=True)
class Storages:
    """The data beside the pickle in a file of ``torch.save``.

    Parameters
    ----------
    read : callable
        Returns the (bytes,) uint8 array under a key, and raises ``pickle.UnpicklingError`` where
        there is none.
    size : int
        Bytes of all.
    big : bool
        Whether the bytes of a number are in big-endian order.
    """

    read: Callable[[str], Array]
    size: int
    big: bool

    def load(self, pid: object) -> _Storage:
        """Give the storage of a persistent id: its type, key, device and number of values."""
        types = str, _StorageKind, str, str, int
        if type(pid) is not tuple or tuple(map(type, pid)) != types or pid[0] != "storage":
            raise UnpicklingError("a storage is not named in PyTorch's way")
        _, kind, key, _, count = pid
        data = self.read(key)
        size = count * (1 if kind.make is None else np.dtype(_REAL[kind.make]).itemsize)
        if not 0 <= size <= len(data):
            raise UnpicklingError(
                f"the storage {key!r:.40} has {len(data)} bytes, and {size} are announced"
            )
        return _Storage(data[:size], kind.make, ">" if self.big else "<")


class _Storage(_Inert):
    """A run of numbers that tensors are views of; without a type, each tensor names its own."""

    __slots__ = ("data", "dtype", "order")

    def __init__(self, data: Array, dtype: str | None, order: str) -> None:
        self.data, self.dtype, self.order = data, dtype, order


class _StorageKind(_Constructor):
    """The type of a storage, which says what its numbers are: PyTorch's name, None for bytes."""

    __slots__ = ()


class _TorchDtype(_Constructor):
    """A dtype of PyTorch."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.{self.make}"


def _tensor(
    limit: _Limit, storage: object, offset: Any, shape: Any, strides: Any, *more: Any
) -> Array:
    """Rebuild a tensor; ``_rebuild_tensor`` and its successors take more and more.

    What is not used is checked nevertheless: nothing else keeps hashable tuples of tuples out.
    """
    if not isinstance(storage, _Storage) or type(offset) is not int or offset < 0:
        raise UnpicklingError("a tensor has no storage, or no valid offset in one")
    # Version 3 has a dtype before the last argument.
    own = next((value for value in more if isinstance(value, _TorchDtype)), None)
    dtype = storage.dtype if own is None else own.make
    _check_unused(*more)
    size = size_of(shape)
    if not _whole(strides) or len(strides) != len(shape):
        raise UnpicklingError("the strides of a tensor do not fit its shape")
    if dtype is None:
        raise UnpicklingError("a tensor of bytes does not say of what type it is")
    real = np.dtype(_REAL[dtype]).newbyteorder("<" if storage.order == "<" else ">")
    limit.build(size * (4 if dtype == "bfloat16" or dtype in _EIGHT_BITS else real.itemsize))
    if size:
        last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if last >= len(storage.data) // real.itemsize:
            raise UnpicklingError(f"a tensor of shape {shape!r:.60} reaches beyond its storage")
        # A stride that is never taken may be too large for NumPy.
        steps = [
            step * real.itemsize if n > 1 else 0 for n, step in zip(shape, strides, strict=True)
        ]
        bits: Array = np.ndarray(shape, real, storage.data, offset * real.itemsize, steps)
        bits.flags.writeable = False
    else:
        bits = np.zeros(shape, real)
    array = _numbers(np.asarray(bits, dtype=real.newbyteorder("=")), dtype)
    # Conjugated and negated views share the storage of the original.
    flags = more[-1] if more and isinstance(more[-1], dict) else {}
    if flags.get("conj") is True:
        array = np.asarray(np.conjugate(array))
    return np.asarray(np.negative(array)) if flags.get("neg") is True else array


def _numbers(bits: Array, dtype: str) -> Array:
    """Make numbers of the bits of a type that NumPy lacks."""
    if dtype == "bool":
        return np.asarray(bits != 0)  # in NumPy, any byte but 0 and 1 is invalid
    if dtype == "bfloat16":  # the upper half of float32
        return np.asarray(bits.astype(np.uint32) << 16, dtype=np.uint32).view(np.float32)
    return np.asarray(_table(dtype)[bits]) if dtype in _EIGHT_BITS else bits


@cache
def _table(dtype: str) -> Array:
    """Return the (256,) float32 values of a type of eight bits."""
    width, bias = _EIGHT_BITS[dtype]
    above = np.arange(128)
    exponent, fraction = above >> (7 - width), (above % (1 << (7 - width))) / (1 << (7 - width))
    half = np.ldexp(fraction + (exponent > 0), np.maximum(exponent, 1) - bias)
    if dtype == "float8_e5m2":
        half[124:] = np.inf, np.nan, np.nan, np.nan
    elif dtype == "float8_e4m3fn":
        half[127] = np.nan
    table: Array = np.concatenate([half, -half]).astype(np.float32)
    if dtype.endswith("fnuz"):
        table[128] = np.nan  # instead of a negative zero
    return table


def _rebuilt(limit: _Limit, array: object, *more: object) -> Array:
    """Return the finished array of a parameter, or of a tensor of another device."""
    if not isinstance(array, np.ndarray):
        raise UnpicklingError("a tensor is not made from a tensor or an array")
    _check_unused(*more)
    return array


def _from_type(limit: _Limit, build: Any, kind: Any, arguments: Any, state: object) -> Any:
    """Rebuild a tensor with attributes, which are left out."""
    makes = isinstance(build, _Constructor) and build.makes(_tensor, _rebuilt)
    if not makes or type(arguments) is not tuple:
        raise UnpicklingError("a tensor is not made in PyTorch's way")
    if not (isinstance(kind, _Constructor) and kind.makes("Tensor")):
        raise UnpicklingError("only plain tensors are supported")
    _check_unused(state)
    return build(*arguments)


def _ordered_dict(limit: _Limit, *content: object) -> _Ordered:
    return _Ordered(_Plain(dict, limit)(*content))


def _size(limit: _Limit, lengths: Any) -> tuple[int, ...]:
    if not _whole(lengths) or len(lengths) > _MOST_DIMENSIONS:
        raise UnpicklingError("a size is not given as a few whole numbers")
    return tuple(lengths)


def _device(limit: _Limit, name: object, number: object = None) -> str:
    _check_unused(number)
    if not isinstance(name, str | int):
        raise UnpicklingError("a device is not given by its name")
    return str(name)


def _whole(value: object) -> bool:
    return isinstance(value, tuple | list) and all(type(n) is int and n >= 0 for n in value)


def _check_unused(*values: object) -> None:
    """Check what says nothing about the numbers: flags, hooks, devices, attributes."""
    if not all(isinstance(v, bool | int | str | dict | _TorchDtype | None) for v in values):
        raise UnpicklingError("a tensor is not in PyTorch's layout")


# The names of plain pickles, and those of PyTorch beside and instead of them.
_TORCH_NAMES: _Names = _NAMES | {
    **{("torch._utils", f"_rebuild_{name}"): (_Constructor, _tensor)
       for name in ("tensor", "tensor_v2", "tensor_v3")},
    **{("torch._utils", f"_rebuild_{name}"): (_Constructor, _rebuilt)
       for name in ("parameter", "parameter_with_state", "device_tensor_from_numpy",
                    "device_tensor_from_cpu_tensor")},
    ("torch._tensor", "_rebuild_from_type_v2"): (_Constructor, _from_type),
    ("torch", "Tensor"): (_Constructor, "Tensor"),
    ("torch.nn.parameter", "Parameter"): (_Constructor, "Tensor"),
    ("collections", "OrderedDict"): (_Constructor, _ordered_dict),
    ("torch", "Size"): (_Constructor, _size),
    ("torch", "device"): (_Constructor, _device),
    **{("torch", f"{name}Storage"): (_StorageKind, dtype) for name, dtype in _STORAGES.items()},
    **{("torch.storage", name): (_StorageKind, None)
       for name in ("UntypedStorage", "TypedStorage")},
    **{("torch", name): (_TorchDtype, name) for name in _REAL},
}  # fmt: skip

# Bytes of an integer, and how many integers may take more than eight: those can be chosen to have
# equal hashes, which makes a dict or set quadratically slow.
_LONGEST_INTEGER, _WIDE_INTEGERS = 1 << 12, 1000
_DEEPEST = 100
# Tuple items that hashing may visit: per byte of the pickle, and in addition.
_VISITS_PER_BYTE, _VISITS = 20, 1_000_000
SECONDS = 3.0
"""Seconds of computing that any pickle may take, beside what it may take for each of its bytes."""
SECONDS_PER_BYTE = 5e-7
# Bytes that the unpickler gets at once, and of its stack: a dict or set gets what is on it at once.
_PIECE, _TALLEST = 1 << 14, 8 << 14
MEMORY = 1 << 28
"""Memory that any pickle may take, in bytes, beside what it may take for each of its bytes."""
# Predictions as lists of dicts take 5 to 15 bytes per byte, images without any as empty lists 40;
# an empty set takes 224 for its one byte.
_MEMORY_PER_BYTE = 48
# Bytes that an opcode allocates at most, with the place on the stack or in a container that its
# result takes; 16 for all others. Items that make a container grow are counted by the opcode that
# adds them. They are kept in units of eight bytes, so that a byte holds them.
_ALLOCATED = bytearray([2] * 256)
for _codes, _allocation in {
    b"]l": 64, b"}": 72, b"\x8f": 224, b"\x90\x91": 512, b"a": 40, b"sud": 200, b"b": 128,
    b"R\x81oi\x92": 256, b"\x85\x86\x87t": 64, b"MJIL": 40, b"GF": 32, b"\x93": 96,
    b"\x8cCUXBT": 80,
}.items():  # fmt: skip
    for _code in _codes:
        _ALLOCATED[_code] = _allocation // 8
# All letters of a text take as much as the widest.
_WIDEST = 4

# Most of a pickle is numbers, short texts, lists and dicts, which one regular expression skips in
# long runs. Tuples of a few numbers, and tuples that the next opcode consumes (those of arrays),
# are harmless, too. Memo indices are limited: Python allocates a slot for each lower index.
_SHORT_TEXT = 32
# Beyond this many bytes memo indices of three bytes are no higher than their number.
_FAR = 1 << 24


def _of_each_length(field: int) -> bytes:
    """Match a length field of so many bytes, and as many bytes of text after it."""
    lengths = ((length, length.to_bytes(field, "little")) for length in range(_SHORT_TEXT + 1))
    return b"|".join(re.escape(size) + b".{%d}" % length for length, size in lengths)


@cache
def _plain(far: bool) -> re.Pattern[bytes]:
    """Return the pattern of up to 2000 sequences of opcodes that can do no harm."""
    put = rb"(?:\x94|q.|r..%b\x00)" % (b"." if far else rb"[\x00-\x3f]")
    get = rb"(?:h.|j.{4})"
    text = rb"(?:[\x8cCU](?:%b)|[XBT](?:%b))" % (_of_each_length(1), _of_each_length(4))
    number = rb"(?:G.{8}|K.|M..|J.{4}|[N\x88\x89]|I-?\d{1,19}\n|F[^\n]{1,40}\n|L-?\d{1,19}L?\n)"
    # As many numbers as a tuple of up to three items takes, or more, and the tuple.
    few = rb"%b(?:\x85|%b(?:[\x85\x86]|%b++[\x85-\x87]?+)?+)?+" % ((number,) * 3)
    parts = (
        # The most frequent sequences, of dicts and lists of numbers, and NumPy's scalars.
        rb"[\x94\]}(eu]{0,16}+(?:(?:%b|%b%b?+)(?:%b|\]%b?+\((?:G.{8})++e|(?:\x86%b?+R%b?+)++)?+)++"
        % (get, text, put, few, put, put, put),
        few,
        rb"[\x94\]}eu]++|\)R%b?+" % put,
        rb"\((?:%b{0,8}+t)?+" % number,
        rb"[)asld012Rbo\x81\x8f\x90\x92\x93\x98]|g\d{1,9}\n|\x80.|p\d{1,6}\n|" + put,
        rb"[\x85-\x87t](?:%b|p\d{1,6}\n)?[Rb\x81Q]" % put,
    )
    run = rb"(?:" + rb"|".join(parts) + rb"){1,2000}+"
    if sys.version_info < (3, 11):
        # No possessive quantifiers yet, which save the memory of backtracking.
        run = re.sub(rb"([*?+}])\+", rb"\1", run)
    return re.compile(run, re.DOTALL)


# Bytes of the length field before strings, arrays and long integers; lines of arguments; bytes of
# other opcodes.
_COUNTED = {
    **dict.fromkeys((b"U", b"\x8c", b"C", b"\x8a"), 1),
    **dict.fromkeys((b"T", b"X", b"B", b"\x8b"), 4),
    **dict.fromkeys((b"\x8d", b"\x8e", b"\x96"), 8),
}
_LINES = {b"c": 2, b"i": 2, **dict.fromkeys((b"P", b"S", b"V", b"F", b"I", b"L", b"p", b"g"), 1)}
_FIXED = {b"Q": 1, b"\x82": 2, b"\x83": 3, b"\x84": 5, b"\x97": 1, b"r": 5, b"\x95": 9}
_HASHED = (b"\x85", b"\x86", b"\x87", b"t", b"\x91")  # tuples and frozensets
_PUTS = ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT")
_GETS = ("GET", "BINGET", "LONG_BINGET")
# Opcodes that add to an object which stays on the stack.
_KEEPING = ("APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD")


def _scan(data: bytes, frames: list[int], *, cut: bool = False) -> tuple[int, bool]:
    """Check announced sizes in the opcodes of a pickle, without building anything.

    Parameters
    ----------
    data : bytes
        The pickle, and whatever follows it.
    frames : list of int
        Where frames begin is added to it.
    cut : bool
        Whether the last frame may be cut off.

    Returns
    -------
    length : int
        Bytes up to the last opcode, which is left to the unpickler: it ends the pickle, or is none.
    harmless : bool
        Whether all tuples are, and there are no frozensets.

    Raises
    ------
    EOFError
        If the data ends within an opcode, with the place where that starts.
    pickle.UnpicklingError
        For lengths that no pickler writes.
    """
    at = wide = 0
    harmless, plain = True, _plain(len(data) > _FAR)
    while at < len(data):
        if run := plain.match(data, at):
            at = run.end()
            continue
        code, length = data[at : at + 1], 0
        if code in _COUNTED:
            stop = at + 1 + _COUNTED[code]
            length = int.from_bytes(data[at + 1 : stop], "little")
            stop += length
        elif code in _LINES:
            stop = at + 1
            for _ in range(_LINES[code]):
                stop = data.find(b"\n", stop) + 1
                if not stop:
                    raise EOFError(at)
            length = (stop - at) // 2  # 2.4 digits per byte
        elif code in _HASHED:
            harmless, stop = False, at + 1
        elif code in _FIXED:
            stop = at + _FIXED[code]
        else:
            break
        if code in (b"\x8a", b"\x8b", b"L", b"I"):
            wide += length > 8
            if length > _LONGEST_INTEGER or wide > _WIDE_INTEGERS:
                raise UnpicklingError("whole numbers of more than 64 bits are too long or many")
        if code in (b"r", b"p"):
            _check_index(data[at + 1 : stop], at, text=code == b"p")
        if code == b"\x95":
            frames.append(at)
            length = 0 if cut else int.from_bytes(data[at + 1 : stop], "little")
        if at + length >= len(data) or stop > len(data):
            raise EOFError(at)
        at = stop
    return at, harmless


def _check_index(index: bytes, at: int, *, text: bool) -> None:
    """Refuse a memo index higher than the number of bytes so far, which no pickler writes."""
    # Python parses the number only up to a zero byte, so anything but digits is refused.
    if text and not index.strip().isdigit():
        raise UnpicklingError("a memo index is not a number")
    number = int(index[:20]) if text else int.from_bytes(index, "little")
    if number > at:
        raise UnpicklingError(f"the memo index {number} is too high")


def _checked(data: bytes, file: str) -> tuple[int, list[int]]:
    """Check what a pickle does without names; return its length and where its frames begin.

    Most pickles pass at a glance: the memory of their opcodes is counted as if each byte of their
    arguments were one, too. Only others are followed step by step.
    """
    frames: list[int] = []
    length, harmless = _scan(data, frames)
    most = MEMORY + _MEMORY_PER_BYTE * length
    at_most = 0
    for start in range(0, length, AHEAD):
        units = data[start : min(start + AHEAD, length)].translate(_ALLOCATED)
        at_most += 8 * int(np.frombuffer(units, dtype=np.uint8).sum())
    if harmless and at_most <= most:
        return length, frames
    if not _followed(data, most):
        raise InputError(
            f"{file}: holds {length / 1e6:,.0f} MB, but would take more than {most / 1e9:.1f} GB "
            "of memory: it consists of millions of empty or tiny lists, dicts or sets; write "
            "the numbers of each image as arrays or lists"
        )
    return length, frames


def _followed(data: bytes, most: int) -> bool:
    """Follow a pickle step by step, and return whether it takes no more than so much memory.

    The stack mirrors that of the unpickler; it holds the depth of each tuple or frozenset and how
    many items its hash visits, and None for all else.

    Raises
    ------
    pickle.UnpicklingError
        For tuples and frozensets that would take too long to hash or to compare.
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    visits = memory = 0
    for opcode, argument, place in pickletools.genops(data):
        name, before = opcode.name, opcode.stack_before
        memory += 8 * _ALLOCATED[ord(opcode.code)]
        if isinstance(argument, str | bytes | bytearray):
            memory += _WIDEST * len(argument)
        if memory > most:
            return False
        if name in _PUTS:
            memo[len(memo) if argument is None else argument] = stack[-1]
            continue
        new: Any = None
        if name == "DUP":
            new, before = stack[-1], []
        elif name in _GETS:
            new = memo.get(argument or 0)
        elif name == "MARK":
            new = "mark"
        items = _taken(stack, before[1:] if name in _KEEPING else before)
        if name in _KEEPING or not opcode.stack_after:
            continue
        if opcode.code.encode("latin1") in _HASHED:
            tuples = [item for item in items if isinstance(item, tuple)]
            depth = 1 + max((item[0] for item in tuples), default=0)
            # The hash of a frozenset is kept, but comparing two equal ones looks up every item.
            if tuples and name == "FROZENSET":
                raise UnpicklingError("a frozenset holds tuples or frozensets; write lists")
            new = depth, 1 + len(items) - len(tuples) + sum(item[1] for item in tuples)
        stack.append(new)
        if isinstance(new, tuple):
            visits += new[1]
            if new[0] > _DEEPEST or visits > _VISITS + _VISITS_PER_BYTE * (place or 0):
                raise UnpicklingError("tuples hold tuples too deep or too often; write lists")
    return True


def _taken(stack: list[Any], operands: list[Any]) -> list[Any]:
    """Pop the operands of an opcode: back to the last mark, and what is below, if it takes one."""
    items = []
    if pickletools.markobject in operands:
        while (item := stack.pop()) != "mark":
            items.append(item)
        operands = operands[: operands.index(pickletools.markobject)]
    return items + [stack.pop() for _ in operands]


class _Pieces:
    """The stream of a pickle, in small pieces and without the headers of frames.

    Python's unpickler takes a frame at once, and heeds no signal meanwhile. Keys can be chosen such
    that a dict compares each new one with all others, so time is limited here, too.
    """

    def __init__(self, stream: BinaryIO, frames: list[int], size: int) -> None:
        self.stream, start = stream, stream.tell()
        self.frames = iter([*(start + frame for frame in frames), sys.maxsize])
        self.frame, self.piece = next(self.frames), b""
        self.until = time.thread_time() + SECONDS + SECONDS_PER_BYTE * size
        self.stack: Any = None

    def _left(self) -> int:
        """Skip headers, and return how many bytes there are up to the next."""
        while (at := self.stream.tell()) == self.frame:
            self.stream.seek(_FIXED[b"\x95"], os.SEEK_CUR)
            self.frame = next(self.frames)
        return self.frame - at

    def peek(self, size: int) -> bytes:
        # The unpickler takes an UnpicklingError for the end of the file.
        if time.thread_time() > self.until:
            raise ValueError("it takes far too long for its size: keys are slow to compare")
        if self.stack.__sizeof__() > _TALLEST:
            raise ValueError("it nests lists too deep, or a tuple is too long; write short lists")
        self.piece = self.piece or self.stream.read(min(_PIECE, self._left()))
        return self.piece

    def read(self, size: int) -> bytes:
        piece, self.piece = self.piece[:size], self.piece[size:]
        while more := self.stream.read(min(size - len(piece), self._left())):
            piece += more
        return piece

    def readinto(self, buffer: Any) -> int:
        data = memoryview(buffer)
        done = len(piece := self.read(min(len(data), len(self.piece))))
        data[:done] = piece
        while done < len(data):
            more = self.stream.readinto(data[done : done + self._left()])  # type: ignore[attr-defined]
            if not more:
                break
            done += more
        return done

    def readline(self) -> bytes:
        piece, self.piece = self.piece, b""
        return piece + self.stream.readline()


class _Unpickler(pickle.Unpickler):
    """The C unpickler, which looks names up in a table instead of importing them."""

    def __init__(self, pieces: _Pieces, size: int, file: str, beside: Storages | None) -> None:
        super().__init__(pieces, encoding="latin1")
        # The only view of how many values wait there for a tuple or the items of a dict.
        pieces.stack = next(
            (part for part in gc.get_referents(self) if type(part).__name__ == "Pdata"), b""
        )
        self.file, self.beside, self.limit = file, beside, _Limit(size)
        self.names = _NAMES if beside is None else _TORCH_NAMES

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) in self.names:
            constructor, make = self.names[module, name]
            return constructor(make, self.limit)
        if name == "CacheTemplate":  # whatever the module of the class was
            return _Constructor(_cache_template, self.limit)
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

    Millions of small new objects, none of them garbage, make the collector traverse them again and
    again: more than half of the time of a bare ``pickle.load``.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def load_pickle(stream: BinaryIO, file: str, beside: Storages | None = None) -> Any:
    """Read one pickle with the restricted unpickler.

    Parameters
    ----------
    stream : binary file
        Buffered and seekable; read up to the end of the pickle.
    file : str
        Name of the file, for messages.
    beside : Storages, optional
        Data beside the pickle that it may refer to; by default it must not.

    Returns
    -------
    object
        Containers, numbers, strings and NumPy arrays. An ``OrderedDict`` becomes a ``dict``, a
        scalar of NumPy a number of Python.

    Raises
    ------
    InputError
        For a pickle that is cut off or invalid, uses a name that is not allowed, or would take far
        more memory than it holds data.
    """
    # Extension codes resolved earlier in this process would bypass ``find_class``.
    copyreg.clear_extension_cache()
    try:
        with collector_off():
            start = stream.tell()
            size = stream.seek(0, os.SEEK_END) - start
            stream.seek(start)
            length, frames = _checked(stream.read(size), file)
            stream.seek(start)
            size = length + (0 if beside is None else beside.size)
            value = _Unpickler(_Pieces(stream, frames, size), size, file, beside).load()
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
        # A damaged pickle can raise anything; for the user it is always the same problem.
        what = " ".join(str(error).split()) or type(error).__name__
        if "truncated" in what:
            what = "cut off"
        raise InputError(f"{file}: not a readable pickle ({what:.120}); write it again") from error


# How pickles of a list or dict start, in all protocols.
_START = re.compile(rb"(?:\x80.)?(?:\x95.{8})?(?:[\]}]|\([ld])(?:\x94|q\x00|p0\n)", re.DOTALL)


def load_first(stream: BinaryIO, file: str, most: int) -> Any:
    """Read the first items of the list or dict in a pickle.

    Python writes a thousand items at a time, and numbers the list or dict itself 0: the opcodes up
    to some place, and one that returns number 0, make a pickle of the items that are complete.

    Parameters
    ----------
    stream, file
        As for :func:`load_pickle`.
    most : int
        Bytes of the pickle to read; more if no item is complete in them.

    Returns
    -------
    list or dict or None
        None for a pickle of anything else, or one without complete items before its end.
    """
    start = stream.tell()
    size = stream.seek(0, os.SEEK_END) - start
    stream.seek(start)
    is_container = _START.match(stream.read(32))
    while is_container and most < size:
        stream.seek(start)
        data = stream.read(most)
        most *= 2
        frames: list[int] = []
        try:
            length, _ = _scan(data, frames, cut=True)
            if len(data) - length >= _FIXED[b"\x95"]:  # no opcode that is cut: the pickle ends
                return None
        except EOFError as cut:
            length = cut.args[0]
        except UnpicklingError:
            return None
        part = bytearray(data[:length] + b"g0\n.")
        for frame in frames:
            part[frame + 1 : frame + 9] = bytes(8)  # the last one ends earlier now
        try:
            value = load_pickle(io.BytesIO(part), file)
        except InputError:
            return None
        if value:
            return value
    return None
