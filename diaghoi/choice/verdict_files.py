"""Verdicts in a file: of people, or of a model that was asked elsewhere.

CSV with a header, or JSON lines, one verdict each::

    image,person,verb,object,verdict
    HICO_test2015_00000001.jpg,0,ride,bicycle,negative

``class`` (``ride bicycle``, or the text of an option) may replace ``verb`` and ``object``. The
person is a number, people being counted from 0 from the left as in the ``verdicts.csv`` of a
benchmark, or a box x1, y1, x2, y2 (in CSV with spaces between) as the annotations write it.
Without a person a verdict holds for the image, and for those of its people of whom the file says
nothing. An empty verdict says nothing, and further columns are passed over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.choice.candidates import ImageTargets
from diaghoi.choice.classes import ARTICLE, Interaction, interactions_of, normalised, parse_option
from diaghoi.choice.people import SAME_PERSON
from diaghoi.choice.questions import json_rows, load_if_json
from diaghoi.data.csv_rows import read_rows
from diaghoi.data.iou import box_iou
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.columns.checks import shown

POSITIVE = ("positive", "consistent", "yes", "true", "1")
NEGATIVE = ("negative", "inconsistent", "no", "false", "0")
Verdict = tuple[str, int | None, Interaction]
"""What a verdict is about: image, index of the person or None, and normalised interaction."""


def read_verdicts(
    path: Path,
    image_targets: Sequence[ImageTargets],
    vocabulary: Vocabulary,
    origin: int = 0,
) -> tuple[dict[Verdict, bool], tuple[str, ...]]:
    """Read the verdicts of a file.

    Parameters
    ----------
    path : pathlib.Path
        The file, as described above.
    image_targets : sequence of ImageTargets
        The images that it can be about.
    vocabulary : Vocabulary
        Vocabulary of the data set.
    origin : {0, 1}
        Whether pixels of boxes in the file are counted from zero or one.

    Returns
    -------
    verdicts : dict of bool
        By image, index of the person (None for the image) and normalised interaction.
    notes : tuple of str
        Images that are not asked about.

    Raises
    ------
    InputError
        For a file of another kind, a row that cannot be understood, and two rows that contradict
        each other; the message names file and line.
    """
    margin = vocabulary.protocol.margin
    annotated = {each for image in image_targets for each in image.scene.annotated}
    classes = {
        _plain(each): normalised(each)
        for each in (*interactions_of(vocabulary), *sorted(annotated))
    }
    verdicts: dict[Verdict, bool] = {}
    places: dict[Verdict, str] = {}
    targets = {each.image: each for each in image_targets}
    others: dict[str, None] = {}
    for where, row in _rows(path):
        image, verdict = str(_cell(where, row, "image")), _verdict(where, row)
        if image not in targets:
            others[image] = None
        elif verdict is not None:
            person = _person(where, targets[image], row, origin, margin)
            key = (image, person, _class(where, row, classes))
            if verdicts.setdefault(key, verdict) != verdict:
                raise InputError(
                    f"{where}: contradicts {places[key]} about {key[2].name!r}; keep one of them"
                )
            places.setdefault(key, where.removeprefix(f"{path}: "))
    if not verdicts:
        raise InputError(
            f"{path}: has no verdict on any of the {len(targets)} images that are asked about; "
            f"the first is {some_of(list(targets), 1)} there and "
            f"{some_of(list(others), 1) or 'none'} here"
        )
    note = f"{path}: {len(others)} images in it are not asked about: {some_of(list(others))}"
    return verdicts, (note,) if others else ()


def _class(where: str, row: Mapping[str, Any], classes: Mapping[str, Interaction]) -> Interaction:
    """Find the normalised interaction of a row."""
    if row.get("class") in (None, ""):
        verb, thing = (str(_cell(where, row, key)) for key in ("verb", "object"))
        name = _plain(Interaction(verb, thing))
    else:
        text = str(row["class"])
        name = _plain(parse_option(text) if ARTICLE in text else Interaction(text, ""))
    if name not in classes:
        raise InputError(
            f"{where}: {name!r} is not a class of the data set{close_matches(name, classes)}; give "
            "verb and object, or class, by name"
        )
    return classes[name]


def _person(
    where: str, image: ImageTargets, row: Mapping[str, Any], origin: int, margin: float
) -> int | None:
    """Find the person of a row by number or box."""
    value = row.get("person")
    if value is None or value == "":
        return None
    numbers = _numbers(value)
    if len(numbers) == 1 and numbers[0] in range(len(image.people)):
        return int(numbers[0])
    if len(numbers) == 4:
        boxes = np.array([each.box for each in image.people], dtype=np.float64)
        box = np.broadcast_to(np.array(numbers) - origin, boxes.shape)
        overlap = box_iou(boxes, box, margin)
        if overlap.max() >= SAME_PERSON:
            return int(overlap.argmax())
    raise InputError(
        f"{where}: {shown(value)} is none of the {len(image.people)} annotated people of "
        f"{image.image}; give a number from 0, from the left, or the box x1 y1 x2 y2"
    )


@lru_cache(maxsize=1 << 16)
def _plain(interaction: Interaction) -> str:
    return " ".join(interaction.name.lower().split())


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows, each with its place."""
    content = load_if_json(path)
    if content is not None:
        yield from json_rows(content, "an object; give image, class and verdict")
        return
    (_, heads), *rows = read_rows(path, "verdicts as CSV or JSON lines") or [(1, [])]
    for key in ("image", "verdict"):
        if key not in heads:
            raise InputError(
                f"{path}: the column {key!r} is missing{close_matches(key, heads)}; give image, "
                "person, verb, object, verdict"
            )
    for line, cells in rows:
        yield f"{path}: line {line}", dict(zip(heads, cells, strict=False))


def _cell(where: str, row: Mapping[str, Any], key: str) -> Any:
    value = row.get(key)
    if value is None or value == "":
        raise InputError(
            f"{where}: {key!r} is missing{close_matches(key, map(str, row))}; give image, person, "
            "verb and object or class, verdict"
        )
    return value


def _verdict(where: str, row: Mapping[str, Any]) -> bool | None:
    """Read a verdict; None where its cell is empty."""
    value = row["verdict"] if "verdict" in row else _cell(where, row, "verdict")
    word = "" if value is None else str(value).strip().lower()
    if not word:
        return None
    if word not in POSITIVE + NEGATIVE:
        raise InputError(
            f"{where}: verdict {shown(value)}{close_matches(word, POSITIVE + NEGATIVE)}: give "
            "positive or negative"
        )
    return word in POSITIVE


def _numbers(value: Any) -> list[float]:
    """Read a number or a box; nothing where it is neither."""
    parts = value if isinstance(value, list) else str(value).split()
    try:
        numbers = [float(part) for part in parts]
    except (TypeError, ValueError, OverflowError):
        return []
    return numbers if all(map(math.isfinite, numbers)) else []
