"""Checks that all readers share, applied to whole columns.

The offending row is looked up only after a check fails, so that the message can name the file, the
image, the field and the value.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, FloatArray, IntArray, StrArray
from diaghoi.exceptions import InputError, short
from diaghoi.formats.content import SMALL

# Largest bound up to which float64 represents all whole numbers exactly.
EXACT = 2**53
# NumPy pads every name to the length of the longest. The padded names may have LETTERS letters,
# plus UNEVEN times the letters in the names.
LETTERS, UNEVEN = 1 << 24, 16
# The largest coordinate of a box. Detectors compute in float32, which cannot represent larger
# numbers, and the areas of larger boxes may not be finite in float64.
LARGEST = float(np.finfo(np.float32).max)
TURNED = "ends before it begins; boxes are left, top, right, bottom (x1, y1, x2, y2)"
TOO_LARGE = "is larger than any image; give coordinates in pixels, or remove such boxes"

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


def shown(value: object) -> str:
    """Format a value from a file for a message, shortened to one line."""
    try:
        return " ".join(_SHORT.repr(value).split())
    except Exception:
        # repr() itself can fail, for example on very long integers.
        return f"a {type(value).__name__}"


def key_names(row: Iterable[Any]) -> list[str]:
    """List the keys of a dict from a file for a message; the keys need not be strings."""
    return [key if isinstance(key, str) else shown(key) for key in row]


def whole_number(value: Any) -> int:
    """Return a single whole number as an int.

    Raises
    ------
    ValueError
        If a number is a fraction, NaN or infinite, or not exact in float64.
    TypeError
        If a value is not a number.
    """
    if isinstance(value, complex | np.complexfloating | np.ndarray):
        raise TypeError
    number = value if isinstance(value, int) else float(value)
    if not abs(number) <= EXACT or number != int(number):
        raise ValueError
    return int(number)


def is_list(value: Any) -> bool:
    """Check whether a value from a file is a list, a tuple or an array."""
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def rows_of_numbers(value: Any, width: int) -> FloatArray | None:
    """Convert rows of ``width`` numbers to a (rows, width) array; return None for anything else.

    Text, bool, complex numbers and rows of a different width are not accepted. A value without rows
    must be an array, because only an array shows a width without rows.
    """
    if isinstance(value, np.ndarray) and value.dtype != object:
        right = value.ndim == 2 and value.shape[1] == width and value.dtype.kind in "iuf"
        with np.errstate(over="ignore"):  # infinity is rejected later
            return value.astype(np.float64) if right else None
    try:
        if set(map(len, value)) != {width} or not _are_numbers(chain.from_iterable(value)):
            return None
        flat = np.fromiter(chain.from_iterable(value), dtype=np.float64, count=width * len(value))
    except (TypeError, ValueError, OverflowError):
        return None
    return flat.reshape(-1, width)


def _are_numbers(values: Iterable[Any]) -> bool:
    """Check whether all values are numbers; bools and strings do not count as numbers."""
    return all(
        issubclass(kind, int | float | np.integer | np.floating) and kind is not bool
        for kind in set(map(type, values))
    )


def unwrapped(value: Any) -> Any:
    """Flatten an array of up to four values, and unwrap an array or list of one value.

    Larger arrays are not flattened, because a file can refer to the same array any number of times.
    """
    if isinstance(value, np.ndarray) and value.size <= 4:
        value = value.reshape(-1)
    return value[0] if is_list(value) and len(value) == 1 else value


def image_name(names: Sequence[str], image: int, owner: str = "image") -> str:
    """Name an image in a message, by its index if the file has no names."""
    name = short(names[image])
    return f"{owner} {name!r}" if name else f"{owner} {image} (counted from 0)"


def check_amount(file: str, field: str, amount: int, size: int) -> None:
    """Reject a file with more rows or values than its size allows.

    A pickle may refer to the same list any number of times and thus expand without limit.

    Raises
    ------
    InputError
        If there are more rows or values than bytes in the file.
    """
    if amount > max(size, SMALL):
        raise InputError(
            f"{file}: {field}: {amount:,} rows or values in a file of {size:,} bytes: the file "
            "repeats the same lists; write a separate list for each image"
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Where in a file the rows of a table come from, for messages.

    Parameters
    ----------
    file : str
        The file, for messages.
    names : sequence of str
        Image names; empty for a table that covers the whole file.
    field : str
        Name of the table in the file.
    count : (N,) int array
        Number of rows of each image.
    arrays : mapping of str or None
        Name of each column's array if the columns were given as separate arrays.
    owner : str
        What the rows belong to, if not an image.
    """

    file: str
    names: Sequence[str]
    field: str
    count: IntArray
    arrays: Mapping[str, str] | None = None
    owner: str = "image"

    @cached_property
    def start(self) -> IntArray:
        """(N,) index of the first row of each image."""
        return np.asarray(np.cumsum(self.count) - self.count)

    @cached_property
    def image(self) -> IntArray:
        """(rows,) image of each row."""
        return np.repeat(np.arange(len(self.count)), self.count)

    def __len__(self) -> int:
        return int(self.count.sum())

    def error(self, row: int, column: str, problem: str) -> InputError:
        """Create the error for a row."""
        return InputError(f"{self.where(row, column)}: {problem}")

    def refuse(self, wrong: Array, column: str, problem: Callable[[int], str]) -> None:
        """Raise an error for the first wrong row of a (rows,) or (rows, values) bool array."""
        if wrong.any():
            bad = int(np.argmax(wrong.reshape(len(wrong), -1).any(axis=1)))
            raise self.error(bad, column, problem(bad))

    def of_rows(self, rows: Any, field: str) -> Rows:
        """Return the origin of another table in which each row belongs to a row of this table."""
        count = np.bincount(self.image[rows], minlength=len(self.count))
        return replace(self, field=field, count=count, arrays=None)

    def where(self, row: int, column: str = "") -> str:
        """Name a row, or a value in it, for a message."""
        image = int(np.searchsorted(self.start + self.count, row, side="right"))
        number = row - int(self.start[image])
        where = f"{self.field}[{number}]" + (f".{column}" if column else "")
        if self.arrays is not None and column in self.arrays:
            where = f"{self.arrays[column]}[{number}]"
        if len(self.names):
            where = f"{image_name(self.names, image, self.owner)}: {where}"
        return f"{self.file}: {where}"


def check_names(file: str, names: Sequence[Any], field: str) -> StrArray:
    """Return the image names as an array; they must be distinct and not empty.

    Names are strings or whole numbers from 0 (the number at the end of the file name).

    Raises
    ------
    InputError
        If a name is neither a string nor such a number, is empty, or appears twice.
    """
    names = [str(name) if type(name) is int and 0 <= name <= EXACT else name for name in names]
    bad = next((row for row, name in enumerate(names) if not (isinstance(name, str) and name)), -1)
    if bad >= 0:
        raise InputError(
            f"{file}: image {bad} (counted from 0): {field}: {shown(names[bad])} is not the name "
            "of an image; give the file name as a string"
        )
    row = first_repeated(names)
    if row >= 0:
        raise InputError(
            f"{file}: image {names[row]!r}: {field}: used for two images, numbers "
            f"{names.index(names[row])} and {row} (counted from 0); drop repeats, such as those "
            "from a distributed sampler, or put all rows of an image together"
        )
    return names_array(file, names)


def check_lengths(where: str, columns: Mapping[str, Any], unit: str) -> None:
    """Reject columns of different lengths, and values that are not columns.

    Parameters
    ----------
    where : str
        The file and image, for the message.
    columns : mapping of list or array
        The columns by key.
    unit : str
        What each value of a column belongs to: ``triplet``, ``pair``.

    Raises
    ------
    InputError
        If a value is not a list, or the lengths differ; the message gives all lengths.
    """
    bad = next((key for key, column in columns.items() if not is_list(column)), None)
    if bad is not None:
        raise InputError(f"{where}: {key_names([bad])[0]}: is {shown(columns[bad])}; give a list")
    lengths = {key: len(column) for key, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{key} {length}" for key, length in lengths.items())
        raise InputError(f"{where}: lengths differ: {told}; give one value per {unit}")


def first_repeated(names: Sequence[Hashable]) -> int:
    """Return the index of the first repeated name, -1 if all names differ."""
    seen: set[Hashable] = set()
    for place, name in enumerate(names if len(set(names)) < len(names) else ()):
        if name in seen:
            return place
        seen.add(name)
    return -1


def names_array(file: str, names: Sequence[str]) -> StrArray:
    """Return the image names as an array, in which all names are padded to the longest.

    Raises
    ------
    InputError
        If one name is so long that padding the others would fill the memory.
    """
    longest, total = max(map(len, names), default=0), sum(map(len, names))
    if longest * len(names) > LETTERS + UNEVEN * total:
        bad = next(name for name in names if len(name) == longest)
        raise InputError(
            f"{file}: image {shown(bad)}: the name has {longest:,} letters, far more than all "
            "others; give file names"
        )
    return np.array(list(names), dtype=np.str_)


def first_not_finite(values: Array) -> int:
    """Return the index of the first row with a NaN or infinite value, -1 if there is none."""
    with np.errstate(all="ignore"):
        # If the sum is finite, all terms are finite; if not, check each value, because the sum may
        # have overflowed.
        if np.isfinite(np.add.reduce(values, axis=None)):
            return -1
    return _first(~np.isfinite(values).reshape(len(values), -1).all(axis=1))


def _first(rows: Any) -> int:
    return int(np.argmax(rows)) if rows.any() else -1


def check_scores(rows: Rows, scores: Array, column: str) -> Array:
    """Return the scores, which must be finite numbers.

    Raises
    ------
    InputError
        If a number is NaN or infinite.
    """
    bad = first_not_finite(scores)
    if bad >= 0:
        raise rows.error(bad, column, f"the score is {scores[bad]}; give a finite number")
    return scores


def check_whole(rows: Rows, values: FloatArray, column: str, least: int | None = None) -> IntArray:
    """Return the values as int64; they must be whole numbers of at least ``least``.

    Each row has one or more values.

    Raises
    ------
    InputError
        If a number is a fraction, NaN, infinite, too small, or not exact in float64.
    """
    # 16-bit numbers would overflow when compared with the bound.
    with np.errstate(invalid="ignore", over="ignore"):
        whole = values.astype(np.int64)
        large = np.abs(values) > EXACT
    wrong = (values != whole) | large | (whole < (whole if least is None else least))
    several, start = values.ndim > 1, "" if least is None else f" from {least}"

    def problem(bad: int) -> str:
        if np.any(large[bad] & np.isfinite(values[bad])):
            return f"{values[bad].tolist()} {'are' if several else 'is'} too large"
        kind = "are not whole numbers" if several else "is not a whole number"
        return f"{values[bad].tolist()} {kind}{start}"

    rows.refuse(wrong, column, problem)
    return whole


def check_boxes(
    rows: Rows, xyxy: Array, column: str, *, origin: int, least: float = 0.0
) -> FloatArray:
    """Return the boxes in zero-based coordinates.

    Parameters
    ----------
    rows : Rows
        The file and images from which the boxes come, for messages.
    xyxy : (B, 4) array
        Left, top, right, bottom.
    column : str
        Name of the column in this file.
    origin : {0, 1}
        Whether the file numbers pixels from zero or one.
    least : float
        Smallest allowed width and height; -1 for files whose writer subtracts 1 from the right and
        bottom edges, which may give boxes without pixels.

    Raises
    ------
    InputError
        If a coordinate is NaN or infinite, a box ends before it begins, or a coordinate is beyond
        float32.
    """

    def refuse(bad: int, problem: str) -> None:
        if bad >= 0:
            raise rows.error(bad, column, f"the box {xyxy[bad].tolist()} {problem}")

    with np.errstate(over="ignore"):
        # Convert before any arithmetic: in NumPy 1, float32 with a scalar stays float32.
        boxes = xyxy.astype(np.float64, copy=False)
        refuse(first_not_finite(boxes), "is not finite; remove such boxes")
        width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
        refuse(_first((width < least) | (height < least)), TURNED)
    if boxes.size and max(boxes.max(), -boxes.min()) > LARGEST:
        refuse(_first((np.abs(boxes) > LARGEST).any(axis=1)), TOO_LARGE)
    # Adding zero turns -0.0 into 0.0, so that equal boxes are identical bit by bit.
    return np.asarray(boxes - np.float64(origin) + 0.0, dtype=np.float64)


def check_range(
    rows: Rows, ids: IntArray, stop: Any, column: str, what: str, *, first: int = 0
) -> IntArray:
    """Return the ids after checking that each is at least 0 and below ``stop``.

    Parameters
    ----------
    rows : Rows
        The file and images from which the ids come, for messages.
    ids : (R,) int array
        The ids.
    stop : int or (R,) int array
        One more than the highest allowed id, for all rows or per row.
    column, what : str
        Name of the column in the file, and what the ids refer to, for messages.
    first : int
        Row index of the first id.

    Raises
    ------
    InputError
        If an id is out of range.
    """
    outside: Array = np.asarray((ids < 0) | (ids >= stop))
    if outside.any():
        bad = int(np.argmax(outside))
        limit = int(np.broadcast_to(stop, ids.shape)[bad])
        known = f"0 to {limit - 1}" if limit else "none"
        problem = f"there is no {what} {int(ids[bad])}; there are: {known}"
        raise rows.error(first + bad, column, problem)
    return ids


def rows_of_boxes(
    rows: Rows, places: IntArray, boxes: Rows, column: str, *, optional: bool = False
) -> IntArray:
    """Convert indices of an image's boxes to rows of the box table.

    If the box is optional, -1 means no box and is kept.

    Raises
    ------
    InputError
        If an index is out of range for the image.
    """
    missing = (places == -1) & optional
    # For the check only, an existing box replaces a missing box.
    stop = np.where(missing, 1, boxes.count[rows.image])
    check_range(rows, np.where(missing, 0, places), stop, column, f"box in {boxes.field!r}")
    return np.where(missing, -1, places + boxes.start[rows.image])
