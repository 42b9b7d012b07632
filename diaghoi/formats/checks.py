"""The checks that every reader goes through, whole columns at a time.

Only when a check fails is the offending row looked up, so that the message can name the file, the
image, the field and the value.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError, some_of
from diaghoi.vocabulary import Vocabulary, object_numberings

Array = npt.NDArray[Any]
IntArray = npt.NDArray[np.integer]

# Whole numbers up to here are exact in float64.
EXACT = 2**53

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60


def shown(value: object) -> str:
    """Show a value that was found in a file, on one line and never long."""
    try:
        return " ".join(_SHORT.repr(value).split())
    except Exception:
        # Objects from a file may have no readable form at all, for example very long integers.
        return f"a {type(value).__name__}"


def whole_number(value: Any) -> int:
    """Return a single whole number as an int.

    Raises
    ------
    ValueError
        For fractions, NaN, infinity, and numbers that float64 does not hold exactly.
    TypeError
        For what is no number.
    """
    if isinstance(value, complex | np.complexfloating | np.ndarray):
        raise TypeError
    number = value if isinstance(value, int) else float(value)
    if not abs(number) <= EXACT or number != int(number):
        raise ValueError
    return int(number)


def image_name(names: Sequence[str], image: int) -> str:
    """Name an image in a message, by its number where the file has no names."""
    return f"image {names[image]!r}" if names[image] else f"image {image} (counted from 0)"


@dataclass(frozen=True, eq=False)
class Rows:
    """Where the rows of one table of a file come from.

    Parameters
    ----------
    file : str
        The file, for messages.
    names : sequence of str
        Image names.
    field : str
        What the file calls the table.
    count : (N,) int array
        Number of rows of each image.
    """

    file: str
    names: Sequence[str]
    field: str
    count: IntArray

    @cached_property
    def start(self) -> IntArray:
        """(N,) number of the first row of each image."""
        return np.asarray(np.cumsum(self.count) - self.count)

    @cached_property
    def image(self) -> IntArray:
        """(rows,) image of each row."""
        return np.repeat(np.arange(len(self.count)), self.count)

    def __len__(self) -> int:
        return int(self.count.sum())

    def error(self, row: int, column: str, problem: str) -> InputError:
        """Make the error for one row."""
        image = int(np.searchsorted(self.start + self.count, row, side="right"))
        where = f"{self.field}[{row - int(self.start[image])}]" + (f".{column}" if column else "")
        return InputError(f"{self.file}: {image_name(self.names, image)}: {where}: {problem}")


def check_names(file: str, names: Sequence[Any], field: str) -> npt.NDArray[np.str_]:
    """Return the image names as an array; all must be different, non-empty strings.

    Raises
    ------
    InputError
        For a name that is no string or is used twice.
    """
    bad = next((row for row, name in enumerate(names) if not (isinstance(name, str) and name)), -1)
    if bad >= 0:
        raise InputError(
            f"{file}: image {bad} (counted from 0): {field}: {shown(names[bad])} is not the name "
            "of an image; give the file name as a string"
        )
    if len(set(names)) < len(names):
        seen: dict[str, int] = {}
        for row, name in enumerate(names):
            if name in seen:
                raise InputError(
                    f"{file}: image {name!r}: {field}: used for two images, numbers {seen[name]} "
                    f"and {row} (counted from 0); put all rows of an image together"
                )
            seen[name] = row
    return np.array(list(names), dtype=np.str_)


def first_not_finite(values: Array) -> int:
    """Return the first row with a NaN or infinite value, -1 where there is none."""
    with np.errstate(all="ignore"):
        # A finite sum has finite terms; only an odd sum is looked at value by value.
        if np.isfinite(np.add.reduce(values, axis=None)):
            return -1
    bad = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
    return int(np.argmax(bad)) if bad.any() else -1


def check_scores(rows: Rows, scores: Array, column: str) -> Array:
    """Return the scores, which must be finite numbers.

    Raises
    ------
    InputError
        For NaN and infinity.
    """
    bad = first_not_finite(scores)
    if bad >= 0:
        raise rows.error(bad, column, f"the score is {scores[bad]}; give a finite number")
    return scores


def check_boxes(
    rows: Rows, xyxy: Array, column: str, *, origin: int, least: float = 0.0
) -> npt.NDArray[np.float64]:
    """Return the boxes counted from zero.

    Parameters
    ----------
    rows : Rows
        Where they come from.
    xyxy : (B, 4) array
        Left, top, right, bottom.
    column : str
        What the file calls them.
    origin : {0, 1}
        Whether the file counts pixels from zero or from one.
    least : float
        The least allowed difference between right and left, and bottom and top. -1 for files
        whose writer subtracts 1 from the right and bottom edge: such a box covers no pixel.

    Raises
    ------
    InputError
        For NaN and infinity, and for boxes that end before they begin.
    """
    given = xyxy
    with np.errstate(over="ignore"):
        # Before any arithmetic: float32 stays float32 with a scalar in NumPy 1.
        xyxy = xyxy.astype(np.float64, copy=False)
    bad = first_not_finite(xyxy)
    if bad < 0:
        with np.errstate(over="ignore"):
            turned = (xyxy[:, 2] - xyxy[:, 0] < least) | (xyxy[:, 3] - xyxy[:, 1] < least)
        bad = int(np.argmax(turned)) if turned.any() else -1
        problem = "ends before it begins; boxes are left, top, right, bottom (x1, y1, x2, y2)"
    else:
        problem = "is not finite; leave such boxes out"
    if bad >= 0:
        raise rows.error(bad, column, f"the box {given[bad].tolist()} {problem}")
    # Adding zero turns -0.0 into 0.0, so that equal boxes are equal to the last bit.
    return np.asarray(xyxy - np.float64(origin) + 0.0, dtype=np.float64)


def check_range(rows: Rows, ids: IntArray, stop: Any, column: str, what: str) -> IntArray:
    """Return the ids, each of which must be at least 0 and less than ``stop``.

    Parameters
    ----------
    rows : Rows
        Where they come from.
    ids : (R,) int array
        The ids.
    stop : int or (R,) int array
        One more than the highest allowed id, for all rows or each.
    column, what : str
        What the file calls them, and what they number, for messages.

    Raises
    ------
    InputError
        For an id out of range.
    """
    outside: Array = np.asarray((ids < 0) | (ids >= stop))
    if outside.any():
        bad = int(np.argmax(outside))
        limit = int(np.broadcast_to(stop, ids.shape)[bad])
        known = f"0 to {limit - 1}" if limit else "none"
        raise rows.error(bad, column, f"there is no {what} {int(ids[bad])}; there are: {known}")
    return ids


def check_verbs(
    rows: Rows, verbs: IntArray, vocabulary: Vocabulary, column: str, *, origin: int = 0
) -> IntArray:
    """Return the verbs counted from zero.

    Raises
    ------
    InputError
        For a verb that the vocabulary does not have.
    """
    outside = (verbs < origin) | (verbs >= origin + len(vocabulary.verbs))
    if outside.any():
        bad = int(np.argmax(outside))
        last = origin + len(vocabulary.verbs) - 1
        raise rows.error(
            bad,
            column,
            f"unknown verb {int(verbs[bad])}; verbs of {vocabulary.name} are numbered "
            f"{origin} to {last} in this format",
        )
    return verbs - origin


_NUMBERED = "objects are numbered as "


def find_numbering(
    file: str, human_labels: IntArray, *, given: str | None, fixed: str | None
) -> tuple[str, tuple[str, ...]]:
    """Decide how a file numbers the object categories.

    What the user gives wins; then the label that all human boxes carry tells (0, 1, 49); then
    what the format prescribes.

    Parameters
    ----------
    file : str
        The file, for messages.
    human_labels : (R,) int array
        Labels of the human boxes of pairs.
    given : str or None
        Numbering that the user asks for.
    fixed : str or None
        Numbering that the format prescribes, None where it prescribes none.

    Returns
    -------
    numbering : str
        ``coco80``, ``coco91`` or ``hico80``.
    notes : tuple of str
        Says so, where the numbering is not that of the format.

    Raises
    ------
    InputError
        Where ``given`` is unknown, or nothing tells.
    """
    person = {name: _person(table) for name, table in object_numberings().items()}
    if given is not None:
        if given not in person:
            raise InputError(
                f"unknown object numbering {given!r} for --objects; known: {', '.join(person)}"
            )
        return given, ()
    labels = np.unique(human_labels[:1])
    uniform = len(labels) == 1 and bool((human_labels == labels[0]).all())
    found = next((n for n, label in person.items() if uniform and label == labels[0]), None)
    if found is not None and found != (fixed or "coco80"):
        note = f"all human boxes have label {int(labels[0])}: {_NUMBERED}{found}"
        return found, (f"{file}: {note}",)
    if found or fixed or len(human_labels) == 0:
        return found or fixed or "coco80", ()
    kinds = some_of([str(label) for label in np.unique(human_labels).tolist()])
    raise InputError(
        f"{file}: how objects are numbered cannot be told: the human boxes of the pairs have "
        f"labels {kinds}, and a person is {', '.join(f'{p} in {n}' for n, p in person.items())}; "
        "say which with --objects"
    )


def numbering_told(notes: Sequence[str]) -> str | None:
    """Return the numbering that :func:`find_numbering` says in a note, None where it says none."""
    for note in notes:
        numbering = note.rpartition(_NUMBERED)[2]
        if numbering != note and numbering in object_numberings():
            return numbering
    return None


def check_labels(
    rows: Rows,
    labels: IntArray,
    vocabulary: Vocabulary,
    column: str,
    numbering: str,
    *,
    unknown: bool = False,
) -> IntArray:
    """Return the object categories as positions in the vocabulary.

    Parameters
    ----------
    rows : Rows
        Where they come from.
    labels : (R,) int array
        Categories as the file numbers them.
    vocabulary : Vocabulary
        The data set.
    column : str
        What the file calls them.
    numbering : str
        ``coco80``, ``coco91`` or ``hico80``.
    unknown : bool
        Whether -1 may say that a category is not known; it stays.

    Raises
    ------
    InputError
        For a category that the numbering does not have.
    """
    table = object_numberings()[numbering]
    position = np.full(max(table) + 2, -1, dtype=np.int64)
    position[list(table)] = list(table.values())
    translated = position[np.clip(labels, -1, len(position) - 1)]
    wrong = (translated < 0) & ~((labels == -1) & unknown)
    if wrong.any():
        bad = int(np.argmax(wrong))
        raise rows.error(
            bad,
            column,
            f"unknown object category {int(labels[bad])}; {vocabulary.name} objects are numbered "
            f"{min(table)} to {max(table)} as {numbering}; if the file numbers them otherwise, "
            "say so with --objects",
        )
    return translated


def _person(table: dict[int, int]) -> int:
    return next(number for number, position in table.items() if position == 0)
