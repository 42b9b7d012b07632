"""Which images are single-person, and which multi-person.

The paper (002, section 2.3) counts images with several annotated people as multi-person, and asks a
model about the others, because annotations do not mark everybody. Its findings are not published:
give them in a file, or use the annotations alone: all annotated people count, those who act and
those who are acted upon.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.choice.joining import by_name, check_named
from diaghoi.choice.questions import Questions
from diaghoi.data.arrays import BoolArray, FloatArray
from diaghoi.data.boxes import box_iou
from diaghoi.data.files import ordinary
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, some_of
from diaghoi.formats import read_annotations
from diaghoi.formats.checks import shown

WORDS = {"single": False, "multi": True}
# Of a number of people: longer ones are mistakes.
DIGITS = 9
SAME_PERSON = 0.5
"""IoU from which two boxes are one person: people are boxed again for each interaction."""


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
        Whose images they are.

    Returns
    -------
    multi_person : dict of bool
        By image; without the images that the file does not list.
    notes : tuple of str
        Where this comes from, and which images are not listed.

    Raises
    ------
    InputError
        For a file that is none of these, or lists none of the images.
    """
    path = Path(path)
    listed = _listed(path)
    notes: list[str] = []
    if listed is None:
        multi_person = _annotated(
            read_annotations(path, dataset=_known_vocabulary(questions)), questions
        )
        notes.append(
            f"{path}: images with several annotated people are multi-person; people who are not "
            "annotated are not seen"
        )
    else:
        multi_person = {name: listed[name] for name in questions.images if name in listed}
    unknown = [name for name in questions.images if name not in multi_person]
    if len(unknown) == len(questions.images):
        raise InputError(
            f"{path}: lists none of the {len(unknown)} images of {questions.file}; the first is "
            f"{unknown[0]!r} there; give a file on these images"
        )
    if unknown:
        notes.append(
            f"{path}: does not tell of {len(unknown)} images, which count overall alone: "
            f"{some_of(unknown)}"
        )
    return multi_person, tuple(notes)


def _known_vocabulary(questions: Questions) -> Vocabulary | None:
    vocabulary = questions.vocabulary
    return vocabulary if vocabulary is not None and vocabulary.known else None


def _listed(path: Path) -> dict[str, bool] | None:
    """Read a list of images; None for a file that may be annotations."""
    try:
        text = ordinary(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return _mapped(path, value) if isinstance(value, dict) else None
    lines = [line for line in text.splitlines() if line.strip()]
    rows = [[cell.strip() for cell in line.replace("\t", ",").split(",")] for line in lines]
    if not rows or any(len(row) != 2 for row in rows):
        return None
    if not _is_answer(rows[0][1]):
        rows = rows[1:]
    return _consistent(path, ((name, _several(f"{path}: {name}", value)) for name, value in rows))


def _mapped(path: Path, value: Mapping[str, Any]) -> dict[str, bool] | None:
    if value and value.keys() <= WORDS.keys():
        pairs = (
            (str(name), WORDS[word])
            for word, names in value.items()
            for name in (names if isinstance(names, list) else [names])
        )
        return _consistent(path, pairs)
    if any(isinstance(each, dict | list) for each in value.values()):
        return None
    return {name: _several(f"{path}: {name}", each) for name, each in value.items()}


def _consistent(path: Path, pairs: Iterable[tuple[str, bool]]) -> dict[str, bool]:
    """Collect the value of each image; refuse a file that contradicts itself."""
    multi_person: dict[str, bool] = {}
    for name, value in pairs:
        if multi_person.setdefault(name, value) != value:
            raise InputError(
                f"{path}: {name}: one person in one place, several in another; keep one of them"
            )
    return multi_person


def _is_answer(value: Any) -> bool:
    return value in WORDS or (isinstance(value, str) and value.isdecimal())


def _several(where: str, value: Any) -> bool:
    if isinstance(value, str) and value in WORDS:
        return WORDS[value]
    short = isinstance(value, str) and value.isdecimal() and len(value) <= DIGITS
    number = int(value) if short else value
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise InputError(f"{where}: {shown(value)}; give single, multi or the number of people")
    return number > 1


def _annotated(scenes: Scenes, questions: Questions) -> dict[str, bool]:
    """Whether several people are annotated, by image."""
    check_named(scenes)
    row = {name: place for place, name in enumerate(scenes.names.tolist())}
    person = scenes.vocabulary.person
    margin = scenes.vocabulary.protocol.margin
    found = {}
    for name in questions.images:
        place = by_name(name, row)
        if place is not None:
            image = scenes.between(place, place + 1)
            found[name] = shows_several_people(image.box_xyxy[image.box_label == person], margin)
    return found


def shows_several_people(people: FloatArray, margin: float) -> bool:
    """Whether the (N, 4) boxes of the people annotated in an image show more than one person.

    All people count, those who act and those who are acted upon.
    """
    boxes = np.unique(people, axis=0)
    return not same_person(boxes, boxes, margin).all()


def distinct_people(boxes: FloatArray, margin: float) -> FloatArray:
    """(N, 4) one box per person, by left edge."""
    ordered = np.array(sorted({tuple(box) for box in boxes.tolist()})).reshape(-1, 4)
    same = same_person(ordered, ordered, margin)
    kept: list[int] = []
    for number in range(len(ordered)):
        if not same[number, kept].any():
            kept.append(number)
    return ordered[kept]


def same_person(people: FloatArray, boxes: FloatArray, margin: float) -> BoolArray:
    """(N, B) mask of the boxes of each person; boxes without area match if they are equal."""
    first, second = np.repeat(people, len(boxes), axis=0), np.tile(boxes, (len(people), 1))
    same = (box_iou(first, second, margin) >= SAME_PERSON) | (first == second).all(axis=1)
    return np.asarray(same.reshape(len(people), len(boxes)))
