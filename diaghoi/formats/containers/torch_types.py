"""Safe replacements for what ``torch.save`` writes into its pickle: storages and dense tensors.

A storage is a run of numbers of one type; a tensor is a view of it with an offset and strides,
which may overlap and may be 0, so that a few bytes show an array of any size. Tensors become
read-only NumPy arrays on the bytes of the storage. Each is checked to lie inside it, and counts
with its full size towards the limit of the file.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from diaghoi.data.arrays.types import Array
from diaghoi.formats.containers.safe_types import Inert, Limit, Plain, size_of

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


class Storage(Inert):
    """A storage that tensors are views of.

    Parameters
    ----------
    limit : Limit
        That of the file.
    data : (bytes,) uint8 array
        Its bytes.
    dtype : str or None
        PyTorch's name of its numbers; None for bytes, where each tensor names its own.
    big : bool
        Whether the bytes of a number are in big-endian order.
    """

    __slots__ = ("big", "data", "dtype")

    def __init__(self, limit: Limit, data: Array, dtype: str | None, *, big: bool) -> None:
        super().__init__(limit)
        self.data, self.dtype, self.big = data, dtype, big

    def view(
        self, dtype: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> Array:
        """Return the values at an offset and with strides, both counted in values.

        Raises
        ------
        pickle.UnpicklingError
            If one of them is outside the storage.
        """
        real = np.dtype(_REAL[dtype]).newbyteorder(">" if self.big else "<")
        if 0 in shape:
            bits = np.zeros(shape, real)
        else:
            last = offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
            if last >= len(self.data) // real.itemsize:
                raise pickle.UnpicklingError(
                    f"a tensor of shape {shape!r:.60} reaches beyond its storage"
                )
            steps = [step * real.itemsize for step in strides]
            # A stride that is never taken may be too large for NumPy.
            steps = [step if n > 1 else 0 for n, step in zip(shape, steps, strict=True)]
            bits = np.ndarray(shape, real, self.data, offset * real.itemsize, steps)
            bits.flags.writeable = False
        return np.asarray(_numbers(np.asarray(bits, dtype=real.newbyteorder("=")), dtype))


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


class StorageKind(Inert):
    """The type of a storage, which says what its numbers are."""

    __slots__ = ("dtype",)

    def __init__(self, limit: Limit, dtype: str | None) -> None:
        super().__init__(limit)
        self.dtype = dtype

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return 1 if self.dtype is None else np.dtype(_REAL[self.dtype]).itemsize


class _Dtype(Inert):
    """A dtype of PyTorch."""

    __slots__ = ("name",)

    def __init__(self, limit: Limit, name: str) -> None:
        super().__init__(limit)
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class _Tensor(Inert):
    """``_rebuild_tensor`` and its successors, which take more and more.

    What is not used is checked nevertheless: nothing else keeps hashable tuples of tuples out.
    """

    __slots__ = ()

    def __call__(
        self, storage: object, offset: object, shape: Any, strides: Any, *more: Any
    ) -> Array:
        if not isinstance(storage, Storage) or type(offset) is not int or offset < 0:
            raise pickle.UnpicklingError("a tensor has no storage, or no valid offset in one")
        # Version 3 has a dtype before the last argument.
        own = next((each for each in more if isinstance(each, _Dtype)), None)
        dtype = storage.dtype if own is None else own.name
        _check_unused(*more)
        size = size_of(shape)
        if not _whole(strides) or len(strides) != len(shape):
            raise pickle.UnpicklingError("the strides of a tensor do not fit its shape")
        if dtype is None:
            raise pickle.UnpicklingError("a tensor of bytes does not say of what type it is")
        wide = 4 if dtype == "bfloat16" or dtype in _EIGHT_BITS else np.dtype(_REAL[dtype]).itemsize
        self.limit.build(size * wide)
        array, flags = storage.view(dtype, offset, shape, strides), more[-1] if more else None
        # Conjugated and negated views share the storage of the original.
        if isinstance(flags, dict) and flags.get("conj") is True:
            array = np.conjugate(array)
        if isinstance(flags, dict) and flags.get("neg") is True:
            array = np.negative(array)
        return np.asarray(array)


class _Rebuilt(Inert):
    """What has a finished array as its first argument: a parameter, a tensor of another device."""

    __slots__ = ()

    def __call__(self, array: object, *more: object) -> Array:
        if not isinstance(array, np.ndarray):
            raise pickle.UnpicklingError("a tensor is not made from a tensor or an array")
        _check_unused(*more)
        return array


class _TensorType(Inert):
    __slots__ = ()


class _FromType(Inert):
    """``_rebuild_from_type_v2``: a tensor with attributes, which are left out."""

    __slots__ = ()

    def __call__(self, build: object, kind: object, arguments: Any, state: object) -> Array:
        if not isinstance(build, _Tensor | _Rebuilt) or type(arguments) is not tuple:
            raise pickle.UnpicklingError("a tensor is not made in PyTorch's way")
        if not isinstance(kind, _TensorType):
            raise pickle.UnpicklingError("only plain tensors are supported")
        _check_unused(state)
        return build(*arguments)


class _Ordered(dict[Any, Any]):
    """An ``OrderedDict``; that of weights has attributes, which are left out."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        _check_unused(state)


class _OrderedDict(Plain):
    __slots__ = ()

    def __init__(self, limit: Limit) -> None:
        super().__init__(limit, dict)

    def __call__(self, *content: object) -> _Ordered:
        return _Ordered(super().__call__(*content))


class _Size(Inert):
    __slots__ = ()

    def __call__(self, lengths: Any) -> tuple[int, ...]:
        if not _whole(lengths):
            raise pickle.UnpicklingError("a size is not given as whole numbers")
        self.limit.build(len(lengths))
        return tuple(lengths)


class _Device(Inert):
    __slots__ = ()

    def __call__(self, name: object, number: object = None) -> str:
        _check_unused(name, number)
        return str(name)


def _whole(value: object) -> bool:
    return isinstance(value, tuple | list) and all(type(n) is int and n >= 0 for n in value)


def _check_unused(*values: object) -> None:
    """Check what says nothing about the numbers: flags, hooks, devices, attributes."""
    kinds = (bool, int, str, dict, _Dtype, type(None))
    if not all(isinstance(each, kinds) for each in values):
        raise pickle.UnpicklingError("a tensor is not in PyTorch's layout")


NAMES: dict[tuple[str, str], Callable[[Limit], Inert]] = {
    **{("torch._utils", name): _Tensor
       for name in ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3")},
    **{("torch._utils", name): _Rebuilt
       for name in ("_rebuild_parameter", "_rebuild_parameter_with_state",
                    "_rebuild_device_tensor_from_numpy",
                    "_rebuild_device_tensor_from_cpu_tensor")},
    ("torch._tensor", "_rebuild_from_type_v2"): _FromType,
    ("torch", "Tensor"): _TensorType,
    ("torch.nn.parameter", "Parameter"): _TensorType,
    ("collections", "OrderedDict"): _OrderedDict,
    ("torch", "Size"): _Size,
    ("torch", "device"): _Device,
    **{("torch", f"{name}Storage"): partial(StorageKind, dtype=dtype)
       for name, dtype in _STORAGES.items()},
    **{("torch.storage", name): partial(StorageKind, dtype=None)
       for name in ("UntypedStorage", "TypedStorage")},
    **{("torch", name): partial(_Dtype, name=name) for name in _REAL},
}  # fmt: skip
"""Safe types by module and name, beside and instead of those of plain pickles."""
