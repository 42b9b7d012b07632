"""Small files of every format, as values that can be spoilt before they are written."""

from __future__ import annotations

import io
import json
import pickle
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from scipy.io import savemat
from support.torch_files import torch_bytes

from fuzz.mutations import PICKLED, PLAIN, spoilt_bytes, spoilt_text, spoilt_value

_BYTES_IN = 3  # of so many cases one is spoilt byte by byte


@dataclass(frozen=True)
class Pickled:
    value: Any

    def spoilt(self, random: Random) -> bytes:
        protocol = random.choice((0, 1, 2, 3, 4, 4, 4, 5))
        if random.randrange(_BYTES_IN) == 0:
            return spoilt_bytes(pickle.dumps(self.value, protocol), random)
        return pickle.dumps(spoilt_value(self.value, random, PLAIN + PICKLED), protocol)


@dataclass(frozen=True)
class Json:
    """A value in a JSON file; ``lines`` where every item has a line of its own."""

    value: Any
    lines: bool = False

    def spoilt(self, random: Random) -> bytes:
        how = random.randrange(4)
        if how > 1:
            return self._text(spoilt_value(self.value, random, PLAIN)).encode("utf-8", "replace")
        text = self._text(self.value)
        if how == 1:
            return spoilt_text(text, random).encode()
        return spoilt_bytes(text.encode(), random)

    def _text(self, value: Any) -> str:
        if self.lines and isinstance(value, list):
            return "\n".join(map(json.dumps, value))
        return json.dumps(value)


@dataclass(frozen=True)
class Printed:
    """A value as the text that Python prints: in a JSON string, or ``bare``."""

    value: Any
    bare: bool = False

    def spoilt(self, random: Random) -> bytes:
        text = repr(spoilt_value(self.value, random, PLAIN))
        if random.randrange(_BYTES_IN) == 0:
            text = spoilt_text(text, random)
        return (text if self.bare else json.dumps(text)).encode("utf-8", "replace")


@dataclass(frozen=True)
class Torch:
    value: Any

    def spoilt(self, random: Random) -> bytes:
        how = random.randrange(_BYTES_IN)
        if how == 0:
            return spoilt_bytes(torch_bytes(self.value), random)
        if how == 1:
            return _with_spoilt_pickle(torch_bytes(self.value), random)
        return torch_bytes(spoilt_value(self.value, random, PLAIN))


def _with_spoilt_pickle(data: bytes, random: Random) -> bytes:
    """Spoil the pickle in an archive, and nothing of the archive around it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as whole, zipfile.ZipFile(stream, "w") as archive:
        for entry in whole.infolist():
            content = whole.read(entry)
            if entry.filename.endswith("data.pkl"):
                content = spoilt_bytes(content, random)
            archive.writestr(zipfile.ZipInfo(entry.filename), content)
    return stream.getvalue()


@dataclass(frozen=True)
class Arrays:
    value: Mapping[str, Any]

    def spoilt(self, random: Random) -> bytes:
        if random.randrange(_BYTES_IN) == 0:
            return spoilt_bytes(archive(dict(self.value), compressed=False), random)
        value = spoilt_value(dict(self.value), random, PLAIN[:40] + PICKLED)
        if not isinstance(value, dict):
            value = {"names": value}
        return archive(value, compressed=random.randrange(4) == 0)


def archive(value: dict[Any, Any], *, compressed: bool = False) -> bytes:
    stream = io.BytesIO()
    arrays = {}
    for key, each in value.items():
        try:
            arrays[_name(key)] = np.asarray(each)
        except ValueError:
            arrays[_name(key)] = np.zeros(3)
    (np.savez_compressed if compressed else np.savez)(stream, **arrays)
    return stream.getvalue()


def _name(key: Any) -> str:
    """Make a key one that NumPy can write."""
    name = str(key).encode("ascii", "ignore").decode().replace("/", "_").replace("\0", "_")
    return name[:100] if name not in ("", "file") else "other"


@dataclass(frozen=True)
class Matlab:
    value: Mapping[str, Any]

    def spoilt(self, random: Random) -> bytes:
        if random.randrange(2) == 0:
            compressed = random.randrange(4) == 0
            return spoilt_bytes(_matlab(self.value, compressed=compressed), random)
        value = spoilt_value(dict(self.value), random, PLAIN[14:40] + PICKLED[17:])
        try:
            return _matlab(value, compressed=False)
        except Exception:  # what MATLAB files cannot hold
            return spoilt_bytes(_matlab(self.value, compressed=False), random)


def _matlab(value: Any, *, compressed: bool) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        savemat(
            stream, {key: cells(each) for key, each in value.items()}, do_compression=compressed
        )
    # The first 116 bytes are free text, in which SciPy writes the time.
    return b"MATLAB 5.0 MAT-file".ljust(116) + stream.getvalue()[116:]


def cells(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: cells(part) for key, part in value.items()}
    if not isinstance(value, list):
        return value
    array = np.empty((1, len(value)), dtype=object)
    for n, part in enumerate(value):
        array[0, n] = cells(part)
    return array


@dataclass(frozen=True)
class Text:
    value: str

    def spoilt(self, random: Random) -> bytes:
        if random.randrange(_BYTES_IN) == 0:
            return spoilt_bytes(self.value.encode(), random)
        return spoilt_text(self.value, random).encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Bytes:
    value: bytes

    def spoilt(self, random: Random) -> bytes:
        return spoilt_bytes(self.value, random)


Seed = Pickled | Json | Printed | Torch | Arrays | Matlab | Text | Bytes
