"""Rebuild the tensors in files of ``torch.save`` as NumPy arrays.

The pickle in a file of ``torch.save`` refers to storages by persistent ids. A storage is a sequence
of numbers of one type. A tensor is a view of a storage with an offset and strides; since strides
may be 0 or overlap, a few bytes can describe an array of any size. Each tensor must lie within its
storage, and the full size of the tensor counts towards the limit of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pickle import UnpicklingError
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array
from diaghoi.formats.pickle import (
    NAMES,
    Beside,
    Constructor,
    Inert,
    Limit,
    container,
    is_shape,
    size_of,
)

# NumPy type of each storage; bfloat16, which NumPy lacks, is read as 16-bit integers.
_REAL = {
    "Double": "f8", "Float": "f4", "Half": "f2", "BFloat16": "u2", "Long": "i8", "Int": "i4",
    "Short": "i2", "Char": "i1", "Byte": "u1", "Bool": "u1",
}  # fmt: skip


class _Storage(Inert):
    """A storage: a sequence of numbers, which one or more tensors share."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: Array) -> None:
        self.numbers = numbers


class _Ordered(dict[Any, Any]):
    """An ``OrderedDict``, without the attributes that dicts of weights have."""

    __slots__ = ()

    def __setstate__(self, state: object) -> None:
        if not isinstance(state, dict):
            raise UnpicklingError("the attributes of a dict are not in a dict")


# Name in messages; `reprlib` also uses it to shorten nested dicts.
_Ordered.__name__, _Ordered.__module__ = "dict", "builtins"


def _ordered_dict(limit: Limit, *content: object) -> _Ordered:
    return _Ordered(container(dict, limit, *content))


def _size(limit: Limit, lengths: object) -> tuple[int, ...]:
    if not is_shape(lengths):
        raise UnpicklingError("a size is not given as a few whole numbers")
    return lengths


def _tensor(
    limit: Limit, storage: object, offset: Any, shape: Any, strides: Any, *more: Any
) -> Array:
    """Rebuild a tensor; its hooks and ``requires_grad`` do not matter and are ignored."""
    if not isinstance(storage, _Storage) or type(offset) is not int or offset < 0:
        raise UnpicklingError("a tensor has no storage, or no valid offset in one")
    # The last argument, a dict, marks conjugated and negated views. Values are not hashed, because
    # hashing nested tuples could take forever.
    if any(more[1:]) or not all(isinstance(value, bool | dict) for value in more):
        raise UnpicklingError("a tensor is not in PyTorch's layout")
    size, numbers = size_of(shape), storage.numbers
    if not is_shape(strides) or len(strides) != len(shape):
        raise UnpicklingError("the strides of a tensor do not fit its shape")
    limit.build(size * numbers.itemsize)
    if not size:
        return np.zeros(shape, numbers.dtype)
    # The stride of an axis of length 1 is never used, and may be too large for NumPy.
    steps = [step if length > 1 else 0 for length, step in zip(shape, strides, strict=True)]
    if offset + sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) >= len(numbers):
        raise UnpicklingError(f"a tensor of shape {shape!r:.60} reaches beyond its storage")
    places = [step * numbers.itemsize for step in steps]
    tensor: Array = np.ndarray(shape, numbers.dtype, numbers, offset * numbers.itemsize, places)
    tensor.flags.writeable = False
    return tensor


_NAMES = NAMES | {
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("collections", "OrderedDict"): _ordered_dict,
    ("torch", "Size"): _size,
    **{("torch", f"{name}Storage"): name for name in _REAL},
}


def storages(read: Callable[[str], Array], size: int, *, big: bool) -> Beside:
    """Return what the unpickler needs to load the storages of a ``torch.save`` file.

    Parameters
    ----------
    read : callable
        Returns the (bytes,) uint8 array under a key; raises ``pickle.UnpicklingError`` if the key
        is missing.
    size : int
        Total size in bytes.
    big : bool
        Whether numbers are stored in big-endian order.
    """
    content = cache(read)  # a storage is read when a tensor first refers to it

    @cache
    def numbers(kind: str, key: str) -> Array:
        real = np.dtype(_REAL[kind]).newbyteorder(">" if big else "<")
        data = content(key)
        data = data[: len(data) // real.itemsize * real.itemsize].view(real)
        values: Array = np.asarray(data, dtype=real.newbyteorder("="))
        if kind == "BFloat16":  # bfloat16 is the upper half of float32
            return np.asarray(values.astype(np.uint32) << 16, dtype=np.uint32).view(np.float32)
        # In NumPy, boolean bytes other than 0 and 1 are invalid.
        return np.asarray(values != 0) if kind == "Bool" else values

    def load(pid: Any) -> _Storage:
        """Return the storage of a persistent id (type, key, device and number of values)."""
        kinds = (str, Constructor, str, str, int)
        is_storage = type(pid) is tuple and tuple(map(type, pid)) == kinds
        if not is_storage or pid[0] != "storage" or pid[1].make not in _REAL:
            raise UnpicklingError("a storage is not named in PyTorch's way")
        _, kind, key, _, count = pid
        values = numbers(kind.make, key)
        if not 0 <= count <= len(values):
            raise UnpicklingError(
                f"the storage {key!r:.40} has {len(values)} numbers, but {count} are announced"
            )
        return _Storage(values[:count])

    return Beside(_NAMES, load, size)
