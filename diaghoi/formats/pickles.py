"""Unpickling files from strangers: containers, numbers and NumPy arrays, and nothing else.

A pickle is a program: it may name any importable object and call it. Here every name is looked up
in a fixed table of exact (module, name) pairs. What the table gives is not the object of that name
but a stand-in of this module that can only build plain data, so that neither calling it nor setting
state on it reaches anything. There is no second attempt with fewer restrictions.
"""

from __future__ import annotations

import copyreg
import gc
import pickle
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NoReturn

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError

_PLAIN_DTYPE = re.compile(r"[biufc]\d{1,2}|[SU]\d{1,9}|O\d?|\?")


class _Inert:
    """A stand-in that holds nothing and takes no state."""

    __slots__ = ()

    def __setstate__(self, state: object) -> NoReturn:
        raise pickle.UnpicklingError("the pickle sets the state of something that has none")


class _DtypeState(_Inert):
    """A pickled dtype: plain numbers, text or objects; never fields or flags from the file."""

    __slots__ = ("real",)

    def __init__(self, real: np.dtype[Any]) -> None:
        self.real = real

    def __setstate__(self, state: object) -> None:  # type: ignore[override]
        if not (isinstance(state, tuple) and len(state) == 8 and state[2:5] == (None,) * 3):
            raise pickle.UnpicklingError("arrays with fields or metadata are not supported")
        if state[1] in ("<", ">"):
            self.real = self.real.newbyteorder(state[1])


class _Dtype(_Inert):
    __slots__ = ()

    def __call__(self, code: object, align: object = False, copy: object = False) -> _DtypeState:
        if not (isinstance(code, str) and _PLAIN_DTYPE.fullmatch(code)):
            raise pickle.UnpicklingError(f"arrays of type {code!r:.40} are not supported")
        return _DtypeState(np.dtype(code))


class _Ndarray(_Inert):
    __slots__ = ()


class _Array(np.ndarray[Any, Any]):
    """An array under reconstruction; ``numpy.asarray`` makes a plain one of it."""

    __slots__ = ()

    def __setstate__(self, state: object, /) -> None:
        if not (isinstance(state, tuple) and len(state) == 5 and type(state[2]) is _DtypeState):
            raise pickle.UnpicklingError("the state of an array is not in NumPy's layout")
        _, shape, dtype, fortran, data = state
        real = dtype.real
        if real.hasobject:
            if type(data) is not list:
                raise pickle.UnpicklingError("an array of objects has no list of them")
        else:
            data = _as_bytes(data)
        super().__setstate__((1, shape, real, bool(fortran), data))  # type: ignore[arg-type]


class _Reconstruct(_Inert):
    __slots__ = ()

    def __call__(self, subtype: object, shape: object, code: object) -> _Array:
        if type(subtype) is not _Ndarray:
            raise pickle.UnpicklingError("only plain arrays are supported")
        return np.empty(0, dtype=np.int8).view(_Array)


class _FromBuffer(_Inert):
    __slots__ = ()

    def __call__(
        self, data: Any, dtype: object, shape: Any, order: Any, axis_order: Any = None
    ) -> npt.NDArray[Any]:
        real = _real(dtype)
        array: npt.NDArray[Any] = np.frombuffer(_as_bytes(data), dtype=real)
        if order == "K" and axis_order is not None:
            array = array.reshape(shape).transpose(axis_order)
        else:
            array = array.reshape(shape, order=order)
        return array


class _Scalar(_Inert):
    __slots__ = ()

    def __call__(self, dtype: object, data: object = b"") -> Any:
        return np.frombuffer(_as_bytes(data), dtype=_real(dtype), count=1)[0]


class _Encode(_Inert):
    """``_codecs.encode``: how older protocols write bytes."""

    __slots__ = ()

    def __call__(self, text: object, codec: object = "latin1") -> bytes:
        if not (isinstance(text, str) and codec == "latin1"):
            raise pickle.UnpicklingError("only bytes written as latin1 text are supported")
        return text.encode("latin1")


class _Bytes(_Inert):
    __slots__ = ()

    def __call__(self, data: object = b"") -> bytes:
        return bytes(_as_bytes(data))


class _DefaultDict(_Inert):
    __slots__ = ()

    def __call__(self, factory: Any = None, *content: Any) -> defaultdict[Any, Any]:
        if factory is not None and not any(factory is kind for kind in _BUILTINS.values()):
            raise pickle.UnpicklingError("the default factory of a defaultdict is no plain type")
        return defaultdict(factory, *content)


class CacheTemplate(dict[Any, Any]):
    """Stand-in for the class of that name in which UPT and its descendants store V-COCO results.

    A missing ``<action>_agent`` is a score of 0, any other missing key a tiny box with score 0.
    """

    __slots__ = ()

    def __missing__(self, key: str) -> float | list[float]:
        if key.split("_")[-1] == "agent":
            return 0.0
        return [0.0, 0.0, 0.1, 0.1, 0.0]

    def __setstate__(self, state: object) -> NoReturn:
        raise pickle.UnpicklingError("the pickle sets the state of a CacheTemplate")


class _CacheTemplate(_Inert):
    __slots__ = ()

    def __call__(self) -> CacheTemplate:
        return CacheTemplate()


_BUILTINS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind for kind in (list, dict, set, frozenset, tuple, int, float, complex, bool)
}
_ALLOWED: dict[tuple[str, str], Any] = {
    **{(module, name): kind for module in ("builtins", "__builtin__")
       for name, kind in _BUILTINS.items()},
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Reconstruct() for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _Scalar() for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _FromBuffer() for core in ("core", "_core")},
    ("numpy", "ndarray"): _Ndarray(),
    ("numpy", "dtype"): _Dtype(),
    ("builtins", "bytes"): _Bytes(),
    ("__builtin__", "bytes"): _Bytes(),
    ("_codecs", "encode"): _Encode(),
    # A plain dict keeps the order too, and has no attributes that a file could set.
    ("collections", "OrderedDict"): dict,
    ("collections", "defaultdict"): _DefaultDict(),
}  # fmt: skip


def _real(dtype: object) -> np.dtype[Any]:
    if not isinstance(dtype, _DtypeState) or dtype.real.hasobject:
        raise pickle.UnpicklingError("the type of an array is not in NumPy's layout")
    return dtype.real


def _as_bytes(data: object) -> bytes | bytearray:
    if isinstance(data, str):  # written by Python 2
        return data.encode("latin1")
    if isinstance(data, bytes | bytearray):
        return data
    raise pickle.UnpicklingError("the content of an array is not given as bytes")


class _Restricted(pickle.Unpickler):
    """The C unpickler with the table in place of imports."""

    def __init__(self, stream: BinaryIO, file: str) -> None:
        super().__init__(stream, encoding="latin1")
        self.file = file

    def find_class(self, module: str, name: str, /) -> Any:
        if (module, name) in _ALLOWED:
            return _ALLOWED[module, name]
        if name == "CacheTemplate":
            return _CacheTemplate()
        asked = f"{module}.{name}"
        if asked.startswith(("torch.", "torch_")):
            raise InputError(
                f"{self.file}: holds PyTorch objects ({asked!r:.120}), which are not read; "
                "save arrays instead: tensor.numpy()"
            )
        raise InputError(
            f"{self.file}: the pickle asks for {asked!r:.120}, which is not on the list of "
            "harmless types, so it is not read; save plain lists, dicts, numbers and NumPy arrays"
        )

    def persistent_load(self, pid: Any, /) -> NoReturn:
        raise InputError(
            f"{self.file}: the pickle refers to objects outside the file (a persistent id), as "
            "files of torch.save do; save plain lists, dicts, numbers and NumPy arrays"
        )


@contextmanager
def collector_off() -> Iterator[None]:
    """Switch Python's garbage collector off for the block, and back to what it was.

    Millions of small new objects, none of them garbage, make it walk them again and again: more
    than half of the time that a bare ``pickle.load`` takes.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def load_pickle(stream: BinaryIO, file: str) -> Any:
    """Read one pickle with the restricted unpickler.

    Parameters
    ----------
    stream : binary file
        Buffered; read up to the end of the pickle.
    file : str
        Name of the file, for messages.

    Returns
    -------
    object
        Containers, numbers, strings and NumPy arrays. An ``OrderedDict`` comes as ``dict``.

    Raises
    ------
    InputError
        For a pickle that is cut off, is none, or asks for anything that is not allowed.
    """
    # Extension codes resolved earlier in this process would bypass ``find_class``.
    copyreg.clear_extension_cache()
    try:
        with collector_off():
            return _Restricted(stream, file).load()
    except InputError:
        raise
    except EOFError as error:
        raise InputError(f"{file}: the pickle is cut off; copy or write it again") from error
    except MemoryError as error:
        raise InputError(
            f"{file}: the pickle asks for more memory than there is; it may be damaged"
        ) from error
    except Exception as error:
        # A damaged pickle can fail in any operation: each is the same finding for the user.
        what = " ".join(str(error).split()) or type(error).__name__
        if "truncated" in what:
            what = "cut off"
        raise InputError(f"{file}: not a readable pickle ({what:.120}); write it again") from error
