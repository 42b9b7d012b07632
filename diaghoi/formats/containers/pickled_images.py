"""Pickles of a list of images, whose rows are packed while the rest is still in the file.

Python's pickler writes a thousand items of a list at a time, and the unpickler hands each part to
the ``extend`` of the list. Here the list at the top is an object of this module, which packs the
rows of the images in each part (:mod:`diaghoi.formats.containers.packed_rows`) and makes the
unpickler forget what else the part consists of: only one part is in memory as lists and dicts.
Where a later part refers to more of an earlier one than names and types, the pickle has to be
loaded as a whole.
"""

from __future__ import annotations

import io
import marshal
import math
import pickle
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, compress, islice
from typing import Any, BinaryIO

from diaghoi.formats.containers.packed_rows import PackedRows, pack
from diaghoi.formats.containers.safe_types import AHEAD, Inert, Limit

Keys = Callable[[Sequence[Any]], Sequence[str]]
"""From the first images (:func:`first_images`) to the keys of their lists of rows; none for what
is not a list of images."""

# As many items as Python's pickler writes at a time; protocol 0 writes single items.
_PART = 1000
# How a pickle of a list starts, in all protocols: version, length of the first frame, empty list.
_LIST = re.compile(rb"(\x80.)?(?:\x95(.{8}))?(\]|\(l)", re.DOTALL)
# Opcodes that push None, and the object of which it is the persistent id.
_TOP = b"NQ"


# Types of the keys and values of images that are copied.
_SINGLE = {str, int, float, bool, type(None)}


def first_images(images: Sequence[Any]) -> Sequence[Any]:
    """Return the images up to the first with rows, which show what a file holds."""
    for number, image in enumerate(images, 1):
        parts = image.values() if isinstance(image, dict) else ()
        if any(isinstance(part, list | PackedRows) and len(part) for part in parts):
            return images[:number]
    return images


class NotInPartsError(Exception):
    """A pickle that has to be loaded as a whole."""


class Top:
    """A pickle whose list at the top is an :class:`Images`, with all else as in the file.

    What the unpickler needs to know beside the pickle, as of
    :class:`diaghoi.formats.containers.pickles.Beside`.

    Parameters
    ----------
    stream : binary file
        At the start of the pickle.
    keys : callable
        Which lists of an image are packed.
    most : int
        How many rows the file can hold.

    Raises
    ------
    NotInPartsError
        If the pickle is not of a list.
    """

    size = 0
    names: Mapping[tuple[str, str], Callable[[Limit], Inert]] = {}

    def __init__(self, stream: BinaryIO, keys: Keys, most: int) -> None:
        start = stream.tell()
        found = _LIST.match(stream.read(16))
        if found is None:
            raise NotInPartsError
        version, frame, opener = found.groups()
        head = version or b""
        if frame is not None:
            length = int.from_bytes(frame, "little") + len(_TOP) - len(opener)
            head += b"\x95" + length.to_bytes(8, "little")
        head += _TOP
        stream.seek(start + found.end())
        self._moved = start + found.end() - len(head)
        self.stream = io.BufferedReader(_Behind(head, stream), AHEAD)
        self.images = Images(Limit(self.stream), keys, most)
        self._given = False

    @property
    def place(self) -> int:
        """How far the file is read."""
        return self.stream.tell() + self._moved

    def load(self, pid: object) -> Images:
        """Give the list at the top, which the first persistent id stands for."""
        if self._given:
            raise NotInPartsError
        self._given = True
        return self.images


class _Behind(io.RawIOBase):
    """A few bytes, and behind them the rest of a file."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._head, self._rest, self._read = head, rest, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        given = self._head[: len(buffer)]
        if given:
            buffer[: len(given)] = given
            self._head = self._head[len(given) :]
            count = len(given)
        else:
            count = self._rest.readinto(buffer)  # type: ignore[attr-defined]
        self._read += count
        return count

    def tell(self) -> int:
        return self._read


class Images(Inert):
    """The list at the top of a pickle, while it is loaded.

    Parameters
    ----------
    limit : Limit
        As of all safe types.
    keys : callable
        Which lists of an image are packed.
    most : int
        How many rows the file can hold.
    """

    __slots__ = ("_first", "_images", "_keys", "_left", "_part", "memo")

    def __init__(self, limit: Limit, keys: Keys, most: int) -> None:
        super().__init__(limit)
        self._keys, self._left = keys, most
        self._first: list[Any] = []
        self._images: list[Any] = []
        self._part: list[Any] = []
        self.memo: Memo | None = None

    def extend(self, items: Iterable[Any]) -> None:
        """Take the next items; called by the unpickler, which knows lists alone."""
        self._part += items
        if len(self._part) >= _PART:
            names = self._pack()
            if self.memo is not None:
                self.memo.forget(names)

    def all(self) -> list[Any]:
        """Return all items, at the end."""
        self._pack()
        return self._images

    def _pack(self) -> set[Any]:
        """Pack the rows of the images of a part; return the keys of images and rows.

        The first ones stay as they are, for whoever finds out what the file holds.
        """
        part, self._part = self._part, []
        if not self._first:
            self._first = [*first_images(part)]
            self._images, part = self._first[:], part[len(self._first) :]
        if not part or set(map(type, part)) != {dict}:
            self._images += part
            return set()
        names = set().union(*part)
        columns: dict[str, list[PackedRows]] = {}
        for key in self._keys(self._first):
            lists = [image.get(key) for image in part]
            if set(map(type, lists)) != {list}:
                continue
            # A list that many images refer to is packed as often.
            self._left -= sum(map(len, lists))
            if self._left < 0:
                raise NotInPartsError
            packed = pack(lists)
            if packed is not None:
                columns[key] = packed
                names |= packed[0].columns.keys()
                for image in part:
                    image[key] = None
        part = _moved(part)
        for key, packed in columns.items():
            for image, rows in zip(part, packed, strict=True):
                image[key] = rows
        self._images += part
        return names


def _moved(images: list[Any]) -> list[Any]:
    """Copy what is left of images, which is scattered over all the memory of their rows.

    Python frees memory in large pieces, and each of these few objects would keep one.
    """
    # Of anything else marshal may make bytes.
    keys, values = chain.from_iterable(images), chain.from_iterable(map(dict.values, images))
    if not {*map(type, keys), *map(type, values)} <= _SINGLE:
        return images
    copies: list[Any] = marshal.loads(marshal.dumps(images))
    return copies


class Memo:
    """What an unpickler keeps of all that it builds, because the pickle may refer to it by number.

    Parameters
    ----------
    unpickler : pickle.Unpickler
        The C unpickler.
    """

    def __init__(self, unpickler: pickle.Unpickler) -> None:
        self._unpickler = unpickler
        self._kept = _Kept({})
        self._names: set[Any] = set()
        self._parts, self._last = 0, -1

    def forget(self, names: set[Any]) -> None:
        """Drop all but types, names, and the text and bytes of the first time.

        Parameters
        ----------
        names : set
            The keys in what was built since the last time.

        Raises
        ------
        NotInPartsError
            If the unpickler does not go on counting where it was, so that the pickle would refer
            to something else than was meant.
        """
        self._parts += 1
        # The second part shows how the unpickler counts; what later ones add is not referred to,
        # unless they have keys of their own.
        if self._parts <= 2 or not names <= self._names:
            self._names |= names
            self._keep()
        self._unpickler.memo = self._kept.memo

    def _keep(self) -> None:
        # In the order of the numbers, so that what was kept comes first.
        memo, kept = self._unpickler.memo.copy(), self._kept.values
        if next(islice(memo, len(kept), None), math.inf) <= self._last:
            raise NotInPartsError
        self._last = next(reversed(memo), -1)
        # Millions of lists and dicts, which are passed over without a Python loop.
        small = (str, bytes, Inert)
        kinds = [kind for kind in set(map(type, memo.values())) if issubclass(kind, small)]
        few = compress(memo.items(), map(kinds.__contains__, map(type, memo.values())))
        self._kept = _Kept(
            {
                number: value
                for number, value in few
                if number in kept
                or isinstance(value, Inert)
                or self._parts == 1
                or value in self._names
            }
        )


class _Kept(pickle.Unpickler):
    """An unpickler whose memo holds given values by number: another one takes its memo only so."""

    def __init__(self, values: Mapping[int, Any]) -> None:
        # For each value: its number, the value whose persistent id this is, keep it, drop it.
        numbers = [number.to_bytes(4, "little") for number in values]
        code = b"".join(b"J" + number + b"Qr" + number + b"0" for number in numbers)
        super().__init__(io.BytesIO(b"\x80\x02" + code + b"N."))
        self.values = values
        self.load()

    def persistent_load(self, pid: Any, /) -> Any:
        return self.values[pid]
