"""Safe replacements for the types in pickles of plain data: containers, numbers, NumPy arrays.

Their contents are checked, because NumPy assumes that an array holds as much data as its shape
requires. Their total size is limited by that of the file, because one string in a pickle can become
any number of arrays.
"""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO, NoReturn

import numpy as np

from diaghoi.data.arrays.types import Array, StrArray

_PLAIN_DTYPE = re.compile(r"[biufc]\d{1,2}|[SU][1-9]\d{0,8}|O\d?|\?")
_LAST_CHARACTER = 0x10FFFF
_MOST_DIMENSIONS = 64
_LONGEST_NUMBER = 100
# Rows of an array without content: it takes no memory itself, but code that loops over rows does.
_MOST_EMPTY = 1 << 20
# Protocols below 3 write bytes as text, which is built first: hence several bytes per byte read.
# The unpickler looks ahead: what fills the buffer of the file is used before it counts as read.
AHEAD = 1 << 20
_BUILT_PER_BYTE = 4
# Bytes of an item of a list; the shortest item takes two bytes of a pickle.
_ITEM = 8
_BUILT = AHEAD + _BUILT_PER_BYTE * AHEAD


class Limit:
    """How much data may be built: a small multiple of the bytes read from the pickle.

    Parameters
    ----------
    stream : binary file
        At the start of the pickle.
    beside : int
        Bytes of data that the pickle may refer to.
    """

    def __init__(self, stream: BinaryIO, beside: int = 0) -> None:
        self.stream, self.start, self.beside, self.built = stream, stream.tell(), beside, 0

    def build(self, amount: int) -> None:
        """Count bytes of arrays and of the items of containers."""
        self.built += amount
        if self.built > _BUILT:
            read = self.stream.tell() - self.start + self.beside
            if self.built > _BUILT + _BUILT_PER_BYTE * read:
                raise pickle.UnpicklingError("arrays or sets hold more than the file does")


class Inert:
    """A safe type that accepts no state."""

    __slots__ = ("limit",)

    def __init__(self, limit: Limit) -> None:
        self.limit = limit

    def __setstate__(self, state: object) -> NoReturn:
        raise pickle.UnpicklingError("the pickle sets the state of something that has none")


class DtypeState(Inert):
    """A pickled dtype of plain numbers, text or objects; fields and flags are never used."""

    __slots__ = ("real",)

    def __init__(self, real: np.dtype[Any], limit: Limit) -> None:
        super().__init__(limit)
        self.real = real

    def __setstate__(self, state: object) -> None:  # type: ignore[override]
        if not (
            type(state) is tuple
            and len(state) == 8
            and all(each is None for each in state[2:5])
            and all(type(each) is int for each in (state[0], *state[5:]))
        ):
            raise pickle.UnpicklingError("arrays with fields or metadata are not supported")
        if type(state[1]) is str and state[1] in ("<", ">"):
            self.real = self.real.newbyteorder("<" if state[1] == "<" else ">")


class _Dtype(Inert):
    __slots__ = ()

    def __call__(self, code: object, align: object = False, copy: object = False) -> DtypeState:
        if not (isinstance(code, str) and _PLAIN_DTYPE.fullmatch(code)):
            raise pickle.UnpicklingError(f"arrays of type {code!r:.40} are not supported")
        _check_flags(align, copy)
        return DtypeState(np.dtype(code), self.limit)


class _Ndarray(Inert):
    __slots__ = ()


class _Array(np.ndarray[Any, Any]):
    """An array under reconstruction; ``numpy.asarray`` makes a plain one of it."""

    __slots__ = ()

    def __setstate__(self, state: object, /) -> None:
        if not (type(state) is tuple and len(state) == 5 and type(state[2]) is DtypeState):
            raise pickle.UnpicklingError("the state of an array is not in NumPy's layout")
        version, shape, dtype, fortran, data = state
        _check_flags(version, fortran)
        real, limit = dtype.real, dtype.limit
        if real.hasobject:
            # NumPy reads as many objects as the shape requires, even beyond the end of the list.
            if type(data) is not list or len(data) != size_of(shape):
                raise pickle.UnpicklingError("an array of objects has no list of as many of them")
        else:
            data = _as_bytes(data)
            _check_content(data, real, shape)
        limit.build(len(data))
        super().__setstate__((1, shape, real, bool(fortran), data))  # type: ignore[arg-type]


class _Reconstruct(Inert):
    __slots__ = ()

    def __call__(self, subtype: object, shape: object, code: object) -> _Array:
        if type(subtype) is not _Ndarray:
            raise pickle.UnpicklingError("only plain arrays are supported")
        if size_of(shape) > 0 or type(code) not in (bytes, str):
            raise pickle.UnpicklingError("the start of an array is not in NumPy's layout")
        return np.empty(0, dtype=np.int8).view(_Array)


class _FromBuffer(Inert):
    __slots__ = ()

    def __call__(
        self, data: object, dtype: object, shape: Any, order: object, axis_order: Any = None
    ) -> Array:
        real, content = _real(dtype), _as_bytes(data)
        _check_content(content, real, shape)
        self.limit.build(len(content))
        array: Array = np.frombuffer(content, dtype=real)
        if order == "K" and axis_order is not None:
            size_of(axis_order)
            array = array.reshape(shape).transpose(axis_order)
        elif order in ("C", "F"):
            array = array.reshape(shape, order="C" if order == "C" else "F")
        else:
            raise pickle.UnpicklingError("the order of an array is not in NumPy's layout")
        return array


class Scalar(Inert):
    """NumPy's ``scalar``: one number of a type."""

    __slots__ = ()

    def __call__(self, dtype: object, data: object = b"") -> Any:
        """Make one of its bytes."""
        real, content = _real(dtype), _as_bytes(data)
        self.limit.build(real.itemsize)
        return np.frombuffer(content, dtype=real, count=1)[0]


class Encode(Inert):
    """``_codecs.encode``: how older protocols write bytes."""

    __slots__ = ()

    def __call__(self, text: object, codec: object = "latin1") -> bytes:
        """Turn Latin-1 text into bytes."""
        if not (isinstance(text, str) and codec == "latin1"):
            raise pickle.UnpicklingError("only bytes written as latin1 text are supported")
        self.limit.build(len(text))
        return text.encode("latin1")


class _Bytes(Inert):
    __slots__ = ()

    def __call__(self, data: object = b"") -> bytes:
        content = _as_bytes(data)
        self.limit.build(len(content))
        return bytes(content)


class Plain(Inert):
    """A type of containers or numbers."""

    __slots__ = ("kind",)

    def __init__(self, limit: Limit, kind: Callable[..., Any]) -> None:
        super().__init__(limit)
        self.kind = kind

    def __call__(self, *content: object) -> Any:
        """Make one, of numbers or of one list."""
        if self.kind in (int, float, complex, bool):
            self._check_numbers(content)
        elif (
            self.kind is tuple
            or len(content) > 1
            or any(type(each) is not list for each in content)
        ):
            raise pickle.UnpicklingError(f"a {self.kind.__name__} is not made from a list")
        else:
            self._check_items(content[0] if content else [])
        return self.kind(*content)

    def _check_numbers(self, content: tuple[object, ...]) -> None:
        if any(
            type(each) not in (int, float, str)
            or (type(each) is str and len(each) > _LONGEST_NUMBER)
            for each in content
        ):
            raise pickle.UnpicklingError("a number is not made from numbers")

    def _check_items(self, items: Any) -> None:
        self.limit.build(_ITEM * len(items))
        if self.kind is dict:
            items = [each[0] if type(each) in (list, tuple) and each else () for each in items]
        # Nested tuples can take forever to hash, and the check of opcodes does not see these.
        if self.kind is not list and any(type(each) is tuple for each in items):
            raise pickle.UnpicklingError(f"a {self.kind.__name__} is made with tuples")


class _WithDefaults(dict[Any, Any]):
    """A ``defaultdict``; deeply nested ones of the standard library crash the interpreter."""

    __slots__ = ("factory",)

    def __init__(self, factory: Callable[[], Any] | None) -> None:
        self.factory = factory

    def __missing__(self, key: object) -> Any:
        if self.factory is None:
            raise KeyError(key)
        self[key] = self.factory()
        return self[key]

    def __setstate__(self, state: object) -> NoReturn:
        raise pickle.UnpicklingError("the pickle sets the state of a defaultdict")


class _DefaultDict(Inert):
    __slots__ = ()

    def __call__(self, factory: object = None) -> _WithDefaults:
        if factory is None:
            return _WithDefaults(None)
        if not isinstance(factory, Plain):
            raise pickle.UnpicklingError("the default factory of a defaultdict is not a plain type")
        return _WithDefaults(factory.kind)


class CacheTemplate(dict[Any, Any]):
    """Replacement for the class in which UPT and its descendants store V-COCO results.

    A missing ``<action>_agent`` is a score of 0; any other missing key is a tiny box with score 0.
    """

    __slots__ = ()

    def __missing__(self, key: str) -> float | list[float]:
        if key.split("_")[-1] == "agent":
            return 0.0
        return [0.0, 0.0, 0.1, 0.1, 0.0]

    def __setstate__(self, state: object) -> NoReturn:
        raise pickle.UnpicklingError("the pickle sets the state of a CacheTemplate")


class NewCacheTemplate(Inert):
    """Makes an empty :class:`CacheTemplate`, whatever the module of the class was."""

    __slots__ = ()

    def __call__(self) -> CacheTemplate:
        """Make one; the pickle fills it."""
        return CacheTemplate()


_KINDS = (list, tuple, dict, set, frozenset, int, float, complex, bool)
# Exact names of modules and of what they have.
ALLOWED: dict[tuple[str, str], Callable[[Limit], Inert]] = {
    **{(module, kind.__name__): partial(Plain, kind=kind)
       for module in ("builtins", "__builtin__") for kind in _KINDS},
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Reconstruct for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): Scalar for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _FromBuffer for core in ("core", "_core")},
    ("numpy", "ndarray"): _Ndarray,
    ("numpy", "dtype"): _Dtype,
    ("builtins", "bytes"): _Bytes,
    ("__builtin__", "bytes"): _Bytes,
    ("_codecs", "encode"): Encode,
    # A plain dict keeps the order too, and has no attributes that a file could set.
    ("collections", "OrderedDict"): partial(Plain, kind=dict),
    ("collections", "defaultdict"): _DefaultDict,
}  # fmt: skip


def _real(dtype: object) -> np.dtype[Any]:
    if not isinstance(dtype, DtypeState) or dtype.real.hasobject:
        raise pickle.UnpicklingError("the type of an array is not in NumPy's layout")
    return dtype.real


def _as_bytes(data: object) -> bytes | bytearray:
    if isinstance(data, str):  # written by Python 2
        return data.encode("latin1")
    if isinstance(data, bytes | bytearray):
        return data
    raise pickle.UnpicklingError("the content of an array is not given as bytes")


def _check_flags(*flags: object) -> None:
    if any(type(flag) not in (bool, int) for flag in flags):
        raise pickle.UnpicklingError("a flag of an array is neither true nor false")


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
        raise pickle.UnpicklingError("the shape of an array is not given as whole numbers")
    size = math.prod(shape)
    if size == 0 and max(shape) > _MOST_EMPTY:
        raise pickle.UnpicklingError(f"an array of shape {shape!r:.60} holds nothing")
    return size


def _check_content(data: bytes | bytearray, real: np.dtype[Any], shape: object) -> None:
    """Check that an array has the right number of bytes, and that text holds valid characters."""
    if len(data) != size_of(shape) * real.itemsize:
        raise pickle.UnpicklingError(
            f"an array of shape {shape!r:.60} and type {real} is given as {len(data)} bytes"
        )
    if real.kind == "U":
        check_letters(np.frombuffer(data, dtype=real))


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
        raise pickle.UnpicklingError("an array of text holds invalid characters")
