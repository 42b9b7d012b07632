"""Files in the layout of ``torch.save``, written without PyTorch."""

from __future__ import annotations

import io
import pickle
import struct
import tempfile
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np


class Name:
    """A global name in a pickle, whether or not it can be imported."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Call:
    def __init__(self, function: Name, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments


class Pid:
    def __init__(self, value: Any) -> None:
        self.value = value


class _Pickler(pickle._Pickler):  # the one in Python, which can be taught to write such names
    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        if isinstance(obj, Name):
            self.write(f"c{obj.module}\n{obj.name}\n".encode())
        elif isinstance(obj, Call):
            self.save(obj.function)
            self.save(obj.arguments)
            self.write(pickle.REDUCE)
        elif isinstance(obj, Pid):
            self.save(obj.value)
            self.write(pickle.BINPERSID)
        else:
            super().save(obj, save_persistent_id)


def pickled(value: Any) -> bytes:
    """Pickle a value with names, calls and persistent ids in it, as ``torch.save`` does."""
    stream = io.BytesIO()
    _Pickler(stream, protocol=2).dump(value)
    return stream.getvalue()


def storage(kind: str, key: str, count: int, device: str = "cpu") -> Pid:
    """Refer to a storage of a type: ``FloatStorage``, ``storage.UntypedStorage``."""
    module, _, name = f"torch.{kind}".rpartition(".")
    return Pid(("storage", Name(module, name), key, device, count))


def tensor(
    of: Any, shape: tuple[int, ...], strides: tuple[int, ...] | None = None, offset: int = 0
) -> Call:
    """Build a tensor as ``_rebuild_tensor_v2`` does; by default contiguous."""
    if strides is None:
        strides = tuple(int(np.prod(shape[n + 1 :])) for n in range(len(shape)))
    rebuild = Name("torch._utils", "_rebuild_tensor_v2")
    return Call(rebuild, of, offset, shape, strides, False, OrderedDict())


def write_torch(
    path: Path,
    value: Any,
    storages: Mapping[str, bytes],
    *,
    order: str | None = "little",
    packed: bool = False,
) -> Path:
    """Write a value and its storages; entries are padded to 64 bytes, as PyTorch does."""
    parts = {"data.pkl": value if isinstance(value, bytes) else pickled(value)}
    parts |= {"byteorder": order.encode()} if order is not None else {}
    parts |= {f"data/{key}": data for key, data in storages.items()} | {"version": b"3\n"}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            entry = zipfile.ZipInfo(f"{path.stem}/{name}")
            entry.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
            here = archive.fp.tell() + 30 + len(entry.filename)
            fill = -(here + 4) % 64
            entry.extra = struct.pack("<2sH", b"FB", fill) + b"Z" * fill
            archive.writestr(entry, data)
    return path


def saved(path: Path, value: Any) -> Path:
    """Write lists and dicts whose NumPy arrays become tensors."""
    kinds = {"f8": "Double", "f4": "Float", "f2": "Half", "i8": "Long", "i4": "Int", "b1": "Bool"}
    storages: dict[str, bytes] = {}

    def converted(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: converted(each) for key, each in part.items()}
        if isinstance(part, list | tuple):
            return type(part)(map(converted, part))
        if not isinstance(part, np.ndarray):
            return part
        if part.dtype.str[1:] not in kinds:
            return part.tolist()
        key = str(len(storages))
        storages[key] = np.ascontiguousarray(part).tobytes()
        return tensor(storage(f"{kinds[part.dtype.str[1:]]}Storage", key, part.size), part.shape)

    return write_torch(path, converted(value), storages)


def torch_bytes(value: Any) -> bytes:
    """Return the content of such a file; other arrays than of plain numbers become lists."""
    with tempfile.TemporaryDirectory() as folder:
        return saved(Path(folder, "x.pkl"), value).read_bytes()
