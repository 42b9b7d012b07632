"""Setting 3: people are found first, by the model itself or a detector.

A question is asked where a box reaches IoU 0.5 with that of the person asked about (paper 002,
section 2.3), with the found box, not the annotated one; where none does, nothing is picked. Of
several the one that overlaps most is taken; the published scripts take the first, and IoU > 0.5 of
continuous boxes where here it is >= 0.5 under the convention of the data set.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.choice.joining import by_name, check_named, no_common_image
from diaghoi.choice.questions import Box, Questions
from diaghoi.data.arrays import FloatArray
from diaghoi.data.boxes import box_iou, reaches
from diaghoi.data.files import ordinary
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats import read_predictions
from diaghoi.formats.checks import shown
from diaghoi.formats.content import load
from diaghoi.formats.locations import content_hash
from diaghoi.formats.pictures.asking import Frame
from diaghoi.language.asking import strip_reasoning

SURE = 0.5
"""Boxes of a detector count from this score, as in the published scripts."""

_NUMBER = r"\s*(-?\d{1,7}(?:\.\d{0,20})?)\s*"
_BOX = re.compile(rf"[\[(]{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}[\])]")
# Two corners, as the first models wrote them that were trained to give boxes.
_CORNERS = re.compile(rf"[\[(]{_NUMBER},{_NUMBER}[\])]\s*,?\s*[\[(]{_NUMBER},{_NUMBER}[\])]")
_NOBODY = re.compile(r"\[\s*\]")


def people_text(frame: Frame) -> str:
    """Word the question for the boxes of all people."""
    return (
        "Find every person in the picture, also those in the background or partly hidden. Give the "
        f"box of each as {frame.words}. Reply with JSON alone, of the form "
        '{"boxes": [[12, 40, 85, 230], [101, 33, 160, 228]]}; if there is nobody, {"boxes": []}.'
    )


def read_boxes(reply: str, frame: Frame) -> tuple[Box, ...] | None:
    """Read the boxes in a reply.

    Parameters
    ----------
    reply : str
        Any text; four numbers in brackets are a box, or two pairs of them. Reasoning before
        them is passed over.
    frame : Frame
        What the numbers mean.

    Returns
    -------
    tuple of Box or None
        In pixels, without those that have no area; None where the reply holds no box, and
        does not say that there is nobody.
    """
    said = strip_reasoning(reply)
    numbers = _BOX.findall(said) or _CORNERS.findall(said)
    if not numbers:
        return () if _NOBODY.search(said) else None
    boxes = (frame.read([float(each) for each in four]) for four in numbers)
    return tuple(box for box in boxes if box[0] < box[2] and box[1] < box[3])


def found_person(person: Box, boxes: Sequence[Box], protocol: Protocol) -> Box | None:
    """Find the box of a person among others.

    Parameters
    ----------
    person : tuple of float
        The box asked about, in pixels counted from zero.
    boxes : sequence of tuple of float
        Those found.
    protocol : Protocol
        Threshold, and what boxes cover.

    Returns
    -------
    tuple of float or None
        The one that overlaps most, if it reaches the threshold.
    """
    if not boxes:
        return None
    asked = np.full((len(boxes), 4), person, dtype=np.float64)
    overlap = box_iou(asked, np.array(boxes, dtype=np.float64), protocol.margin)
    best = int(np.argmax(overlap))
    return boxes[best] if reaches(protocol, float(overlap[best])) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Detections:
    """The people whom a detector found.

    Parameters
    ----------
    name : str
        Name of the file, and the beginning of the hash of its content.
    people : dict of tuple
        Boxes xyxy in pixels counted from zero, by image.
    notes : tuple of str
        What to know about how the file was read.
    """

    name: str
    people: Mapping[str, tuple[Box, ...]]
    notes: tuple[str, ...] = ()

    def of(self, image: str) -> tuple[Box, ...]:
        """Return the boxes in an image; those of V-COCO may also go by number."""
        return by_name(image, self.people) or ()


def read_detections(path: str | PathLike[str], questions: Questions) -> Detections:
    """Read the people whom a detector found.

    Parameters
    ----------
    path : path
        JSON of the form ``{"IMAGE.jpg": [[x1, y1, x2, y2], ...]}``, in pixels counted from zero,
        each box with or without its score behind it; or predictions in any format that is read,
        whose boxes of people are taken. Boxes with a score below 0.5 are left out.
    questions : Questions
        Whose images they are.

    Returns
    -------
    Detections
        Images that the file does not mention are named in the notes.

    Raises
    ------
    InputError
        For a file that is neither, or mentions none of the images.
    """
    people, notes = _read(Path(path), questions)
    missing = [name for name in questions.images if by_name(name, people) is None]
    if len(missing) == len(questions.images):
        raise no_common_image(path, list(people), questions)
    if missing:
        notes += (
            f"{path}: does not mention {len(missing)} of {len(questions.images)} images, in which "
            f"nobody is found: {some_of(missing)}",
        )
    name = f"{Path(path).name} {content_hash(str(path))[:12]}"
    return Detections(name=name, people=people, notes=notes)


def _read(path: Path, questions: Questions) -> tuple[dict[str, tuple[Box, ...]], tuple[str, ...]]:
    if _may_be_plain(path):
        value = load(path).value
        if isinstance(value, dict) and all(map(_is_plain, value.values())):
            return {name: _boxes(f"{path}: image {name!r}", value[name]) for name in value}, ()
    scenes = read_predictions(path, dataset=questions.vocabulary)
    return _people(scenes), scenes.notes


def _may_be_plain(path: Path) -> bool:
    try:
        with ordinary(path).open("rb") as stream:
            return stream.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    except OSError:
        return False  # reported by the reader of predictions, which also knows folders


def _is_plain(value: Any) -> bool:
    return isinstance(value, list) and (
        not value or (isinstance(value[0], list) and len(value[0]) in (4, 5))
    )


def _boxes(where: str, rows: list[Any]) -> tuple[Box, ...]:
    numbers = [_numbers(f"{where}: boxes[{number}]", row) for number, row in enumerate(rows)]
    return as_boxes(row[:4] for row in numbers if len(row) == 4 or row[4] >= SURE)


def _numbers(where: str, row: Any) -> FloatArray:
    """(4,) or (5,) a box, and its score where it has one."""
    try:
        numbers = np.array(row, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        numbers = np.empty(0)
    if numbers.shape not in ((4,), (5,)) or not np.isfinite(numbers).all():
        raise InputError(
            f"{where}: {shown(row)} is not a box; give boxes x1, y1, x2, y2, and possibly a score, "
            "all numbers"
        )
    if numbers[0] > numbers[2] or numbers[1] > numbers[3]:
        raise InputError(
            f"{where}: {shown(row)}: the box ends before it begins; boxes are left, top, right, "
            "bottom"
        )
    return numbers


def _people(scenes: Scenes) -> dict[str, tuple[Box, ...]]:
    """Take the boxes of people, by image."""
    check_named(scenes)
    taken = scenes.box_label == scenes.vocabulary.person
    taken[scenes.pair_human] = True
    if scenes.box_score is not None:
        taken &= ~(scenes.box_score < SURE)
    names = scenes.names.tolist()
    boxes: dict[str, list[FloatArray]] = {name: [] for name in names}
    for place in np.flatnonzero(taken).tolist():
        boxes[names[scenes.box_image[place]]].append(scenes.box_xyxy[place])
    return {name: as_boxes(mine) for name, mine in boxes.items()}


def as_boxes(rows: Iterable[Iterable[float]]) -> tuple[Box, ...]:
    """Make tuples of the rows of an array or list of boxes."""
    return tuple((float(x1), float(y1), float(x2), float(y2)) for x1, y1, x2, y2 in rows)
