"""The columns of dense arrays: the values of one key, concatenated over all images."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import PurePath
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, IntArray
from diaghoi.exceptions import InputError
from diaghoi.formats.checks import (
    EXACT,
    Rows,
    check_amount,
    check_scores,
    image_name,
    shown,
)
from diaghoi.formats.content import Content
from diaghoi.formats.records import Images

_WIDEST = 8  # bytes of a number

KEYS = ("filename", "boxes", "labels", "verb_scores", "sub_ids", "obj_ids")
_MORE = ("scores", "action_scores")


def listed(content: Content) -> Content:
    """Make a dict of one image per picture a list, in which each image has its name."""
    value = content.value
    first: Any = next(iter(value.values()), None) if isinstance(value, dict) else None
    if not (content.plain and isinstance(first, dict) and "verb_scores" in first):
        return content
    names = [PurePath(key).name for key in value if isinstance(key, str)]
    if len(names) < len(value) or not all(isinstance(image, dict) for image in value.values()):
        return content
    # In several folders pictures may have the same name.
    names = names if len(set(names)) == len(names) else list(value)
    images = zip(names, value.values(), strict=True)
    return replace(content, value=[{"filename": name} | image for name, image in images])


def only_member(content: Content) -> Any:
    """Return the only array of an ``.npz`` as a list of its objects."""
    array = next(iter(content.value.values())).read()
    return array.reshape(-1).tolist() if array.dtype == object else []


def dense_images(content: Content) -> Images:
    """Convert any layout of this format to a list of one dict per image."""
    value: Any = content.value
    if content.container == "npz":
        if "verb_scores" in value:
            value = {key: value[key].read() for key in (*KEYS, *_MORE) if key in value}
        else:
            value = only_member(content)
    if not isinstance(value, dict):
        return Images.of(content, value, "filename")
    columns = {key: value[key] for key in (*KEYS, *_MORE) if key in value}
    lengths = {key: _images_in(column) for key, column in columns.items()}
    if len(set(lengths.values())) > 1 or -1 in lengths.values():
        found = ", ".join(f"{key} {length}" for key, length in lengths.items())
        raise InputError(
            f"{content.file}: the arrays differ in their number of images: {found}; each needs "
            "the images along its first axis"
        )
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return Images.of(content, rows, "filename")


def _images_in(column: Any) -> int:
    """Count the images of a column, whose arrays may differ in size; -1 for other values."""
    if isinstance(column, np.ndarray):
        return len(column) if column.ndim else -1
    return len(column) if isinstance(column, list | tuple) else -1


def _numbers(value: Any, width: int) -> Array:
    """Make an array of integers or floats of at most 64 bits."""
    array = np.asarray(_from_lists(value, width) if isinstance(value, list | tuple) else value)
    if array.dtype.kind in "cmMV":
        raise TypeError
    if array.dtype.kind not in "if" or array.dtype.itemsize > _WIDEST:
        with warnings.catch_warnings(), np.errstate(over="ignore"):
            warnings.simplefilter("error")  # complex numbers among objects
            array = array.astype(np.float64)
    return array


def _from_lists(value: Sequence[Any], width: int) -> Array:
    """Convert lists to a 1-D array, or to a 2-D array if a width is given.

    ``numpy.asarray`` would discover up to 64 dimensions; a hostile file can multiply its size in
    each of them.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if not width or not len(value):
            return np.fromiter(value, dtype=np.float64, count=len(value))
        lengths = set(map(len, value))
        if len(lengths) > 1:
            raise ValueError
        total = len(value) * next(iter(lengths))
        flat = np.fromiter(chain.from_iterable(value), dtype=np.float64, count=total)
    return flat.reshape(len(value), -1) if total else flat


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of an array, or of lists judged by the first; () for anything else."""
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    if not isinstance(value, list | tuple):
        return ()
    first = value[0] if value else None
    if isinstance(first, np.ndarray):
        return (len(value), *first.shape)
    return (len(value), len(first)) if isinstance(first, list | tuple) else (len(value),)


@dataclass(frozen=True, eq=False)
class DenseColumns:
    """The arrays of all images, concatenated."""

    images: Images

    def parts(
        self, key: str, *, like: str | None = None, width: int = 0
    ) -> tuple[list[Array], Rows]:
        """Return one key of each image: ``width`` columns, as many rows as the key ``like``."""
        images = self.images
        parts, total = [], 0
        for n, row in enumerate(images.rows):
            parts.append(self._part(n, row, key, width))
            total += parts[-1].size
            check_amount(images.file, key, total, images.size)
        count = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
        if like is not None:
            other = np.array([_length(row[like]) for row in images.rows], dtype=np.int64)
            if (count != other).any():
                bad = int(np.argmax(count != other))
                raise InputError(
                    f"{images.file}: {image_name(images.names, bad)}: {key}: has {count[bad]} "
                    f"rows, but {like!r} has {other[bad]}; both need one row each for the same "
                    "boxes or pairs"
                )
        return parts, Rows(images.file, images.names, key, count)

    def column(self, key: str, *, like: str | None = None, width: int = 0) -> tuple[Array, Rows]:
        """Concatenate one key of all images."""
        parts, rows = self.parts(key, like=like, width=width)
        empty = np.zeros((0, width) if width else (0,))
        return np.concatenate(parts) if parts else empty, rows

    def integers(self, key: str, *, like: str | None = None) -> tuple[IntArray, Rows]:
        """Concatenate one key of whole numbers."""
        values, rows = self.column(key, like=like)
        if values.dtype.kind in "iu":
            return values.astype(np.int64), rows
        values = values.astype(np.float64, copy=False)
        # Negated, so that NaN fails it, too.
        odd = ~(np.abs(values) <= EXACT) | (values != np.floor(values))
        if odd.any():
            bad = int(np.argmax(odd))
            raise rows.error(bad, "", f"{values[bad]} is not a whole number")
        return values.astype(np.int64), rows

    def has(self, key: str) -> bool:
        """Whether any image has this key."""
        return any(key in row for row in self.images.rows)

    def _part(self, image: int, row: dict[str, Any], key: str, width: int) -> Array:
        where = f"{self.images.file}: {image_name(self.images.names, image)}: {key}"
        if key not in row:
            keys = ", ".join(map(str, row))
            raise InputError(f"{where}: the key is missing; the image has: {keys}")
        amount = math.prod(shape_of(row[key]))
        check_amount(self.images.file, key, amount, self.images.size)
        try:
            array = _numbers(row[key], width)
        except (TypeError, ValueError, OverflowError, Warning):
            raise InputError(
                f"{where}: {shown(row[key])} is not an array of numbers; rows must have equal "
                "lengths"
            ) from None
        if array.size == 0:
            return array.reshape((0, width) if width else (0,))
        if array.ndim != (2 if width else 1) or (width and array.shape[1] != width):
            wanted = f"(rows, {width})" if width else "(rows,)"
            raise InputError(f"{where}: has shape {array.shape}; give {wanted}")
        return array


def _length(value: Any) -> int:
    return (*shape_of(value), 0)[0]


def box_scores(columns: DenseColumns) -> Array | None:
    """Return the scores of the boxes, None if the file has none."""
    if not columns.has("scores"):
        return None
    scores, rows = columns.column("scores", like="boxes")
    return check_scores(rows, scores, "").astype(np.float64)
