"""People in images: whether there are several, and where a detector finds them.

The CrossHOI-Bench paper (section 2.3) counts images with several annotated people as multi-person,
and asks a model about all other images, because annotations do not include everybody. The paper
does not publish the answers of that model. A file can say which images are multi-person; otherwise
the annotations decide, and all annotated people count, including people who are only acted upon.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.choice.questions import (
    Box,
    Questions,
    box_in,
    check_named,
    load_if_json,
)
from diaghoi.data.arrays import BoolArray, FloatArray
from diaghoi.data.boxes import box_iou, reaches
from diaghoi.data.files import ordinary
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats import read_annotations, read_predictions
from diaghoi.formats.checks import shown
from diaghoi.formats.locations import content_hash

WORDS = {"single": False, "multi": True}
# A larger number of people must be a mistake.
_NUMBER = re.compile(r"0*[1-9]\d{0,8}")
SAME_PERSON = 0.5
"""IoU from which two boxes count as one person, because annotators redraw people."""
SURE = 0.5
"""Lowest score at which a detector's boxes count, as in the published scripts."""


def read_people(
    path: str | PathLike[str], questions: Questions
) -> tuple[dict[str, bool], tuple[str, ...]]:
    """Read which images are multi-person.

    Parameters
    ----------
    path : path
        A JSON object ``{"IMAGE.jpg": "single" or "multi" or a number of people}``, or
        ``{"single": [images], "multi": [images]}``; lines ``IMAGE.jpg,multi``; or annotations.
    questions : Questions
        Questions on the images.

    Returns
    -------
    multi_person : dict of bool
        True for a multi-person image, by name, for the images listed in the file.
    notes : tuple of str
        Notes on the source, and on images that are not listed.

    Raises
    ------
    InputError
        If the file has none of these forms, or lists none of the images.
    """
    listed = _listed(Path(path))
    notes: list[str] = []
    if listed is None:
        words = questions.vocabulary
        scenes = read_annotations(path, dataset=words if words and words.known else None)
        notes.append(
            f"{path}: images with several annotated people count as multi-person; people without "
            "annotations are not considered"
        )
        rows = questions.rows_of(scenes)
        multi_person = {name: shows_several_people(scenes, row) for name, row in rows.items()}
    else:
        multi_person = questions.of_images(path, _multi_person(path, listed))
    unknown = [name for name in questions.images if name not in multi_person]
    if unknown:
        notes.append(
            f"{path}: does not cover {len(unknown)} images, which count only in the overall "
            f"numbers: {some_of(unknown)}"
        )
    return multi_person, tuple(notes)


def _listed(path: Path) -> list[tuple[str, Any]] | None:
    """Read the entry of each image in a file; None for a file that may be annotations."""
    content = load_if_json(path)
    if content is not None:
        value = content.value
        if not isinstance(value, dict):
            return None
        if value and value.keys() <= WORDS.keys():
            lists = [(word, of if isinstance(of, list) else [of]) for word, of in value.items()]
            return [(str(name), word) for word, of in lists for name in of]
        nested = any(isinstance(each, dict | list) for each in value.values())
        return None if nested else list(value.items())
    try:
        lines = ordinary(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        return None  # reported by the annotation reader, which also handles folders
    cells = (line.replace("\t", ",").split(",") for line in lines if line.strip())
    rows = [[cell.strip() for cell in row] for row in cells]
    if not rows or any(len(row) != 2 for row in rows):
        return None
    headed = rows[0][1] not in WORDS and not rows[0][1].isdecimal()
    return [(name, value) for name, value in rows[headed:]]


def _multi_person(path: object, values: Sequence[tuple[str, Any]]) -> dict[str, bool]:
    """Read the value of each image; raise an error for a file that contradicts itself."""
    multi_person: dict[str, bool] = {}
    for name, value in values:
        word = str(value)
        if word not in WORDS and not _NUMBER.fullmatch(word):
            raise InputError(
                f"{path}: {name}: {shown(value)}; give single, multi or the number of people"
            )
        several = WORDS[word] if word in WORDS else int(word) > 1
        if multi_person.setdefault(name, several) != several:
            raise InputError(
                f"{path}: {name}: has one person in one entry, and several in another; keep one "
                "entry"
            )
    return multi_person


def shows_several_people(annotations: Scenes, image: int) -> bool:
    """Check whether an image has several annotated people, acting or acted upon."""
    rows = slice(*annotations.bounds["box"][image : image + 2].tolist())
    people = annotations.box_label[rows] == annotations.vocabulary.person
    boxes = np.unique(annotations.box_xyxy[rows][people], axis=0)
    return not same_person(boxes, boxes, annotations.vocabulary.protocol.margin).all()


def distinct_people(boxes: FloatArray, margin: float) -> FloatArray:
    """Return one box per person, (N, 4), by left edge."""
    ordered = np.array(sorted({tuple(box) for box in boxes.tolist()})).reshape(-1, 4)
    same = same_person(ordered, ordered, margin)
    kept: list[int] = []
    for number in range(len(ordered)):
        if not same[number, kept].any():
            kept.append(number)
    return ordered[kept]


def same_person(people: FloatArray, boxes: FloatArray, margin: float) -> BoolArray:
    """Return a mask, (N, B), of each person's boxes; boxes without area match if equal."""
    first, second = np.repeat(people, len(boxes), axis=0), np.tile(boxes, (len(people), 1))
    same = (box_iou(first, second, margin) >= SAME_PERSON) | (first == second).all(axis=1)
    return np.asarray(same.reshape(len(people), len(boxes)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Detections:
    """People found by a detector: xyxy boxes in zero-based pixels, by image.

    The name combines the file name and the start of a hash of its content.
    """

    name: str
    people: Mapping[str, tuple[Box, ...]]
    notes: tuple[str, ...] = ()


def read_detections(path: str | PathLike[str], questions: Questions) -> Detections:
    """Read the people found by a detector.

    Parameters
    ----------
    path : path
        JSON of the form ``{"IMAGE.jpg": [[x1, y1, x2, y2], ...]}``, in zero-based pixels, with an
        optional score after each box; or predictions in any known format, whose person boxes are
        used. Boxes with a score below 0.5 are omitted.
    questions : Questions
        Questions on the images.

    Raises
    ------
    InputError
        If the file has neither form, or mentions none of the images.
    """
    notes: tuple[str, ...] = ()
    content = load_if_json(path, (b"{",))
    plain = None if content is None else content.value
    if isinstance(plain, dict) and all(map(_is_plain, plain.values())):
        people = {name: _boxes(f"{path}: image {name!r}", rows) for name, rows in plain.items()}
    else:
        scenes = read_predictions(path, dataset=questions.vocabulary)
        people, notes = _predicted(scenes), scenes.notes
    people = questions.of_images(path, people)
    missing = [name for name in questions.images if name not in people]
    if missing:
        notes += (
            f"{path}: does not include {len(missing)} of {len(questions.images)} images, in which "
            f"nobody is found: {some_of(missing)}",
        )
    name = f"{Path(path).name} {content_hash(str(path))[:12]}"
    return Detections(name=name, people=people, notes=notes)


def _is_plain(value: Any) -> bool:
    return isinstance(value, list) and (
        not value or (isinstance(value[0], list) and len(value[0]) in (4, 5))
    )


def _boxes(where: str, rows: list[Any]) -> tuple[Box, ...]:
    boxes = [box_in(f"{where}: boxes[{n}]", row, scored=True) for n, row in enumerate(rows)]
    return tuple(box for box, score in boxes if score >= SURE)


def _predicted(scenes: Scenes) -> dict[str, tuple[Box, ...]]:
    """Collect the person boxes, by image."""
    check_named(scenes)
    taken = scenes.box_label == scenes.vocabulary.person
    taken[scenes.pair_human] = True
    if scenes.box_score is not None:
        taken &= ~(scenes.box_score < SURE)
    first = np.searchsorted(scenes.box_image[taken], np.arange(1, len(scenes)))
    parts = np.split(scenes.box_xyxy[taken], first)
    boxes = (tuple(map(tuple, part.tolist())) for part in parts)
    return dict(zip(scenes.names.tolist(), boxes, strict=True))


def found_person(person: Box, boxes: Sequence[Box], protocol: Protocol) -> Box | None:
    """Find the box that overlaps a person most, if their IoU reaches the threshold."""
    if not boxes:
        return None
    asked = np.full((len(boxes), 4), person, dtype=np.float64)
    overlap = box_iou(asked, np.array(boxes, dtype=np.float64), protocol.margin)
    best = int(np.argmax(overlap))
    return boxes[best] if reaches(protocol, float(overlap[best])) else None
