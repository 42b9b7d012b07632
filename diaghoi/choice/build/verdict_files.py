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

import csv
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.choice.build.candidates import ImageTargets, Target
from diaghoi.choice.build.judges import JudgeRequest, Verdicts
from diaghoi.choice.classes import (
    ARTICLE,
    Interaction,
    interactions_of,
    normalised,
    parse_option,
)
from diaghoi.choice.people import SAME_PERSON
from diaghoi.data.boxes import box_iou
from diaghoi.data.files import ordinary
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.checks import shown

POSITIVE = ("positive", "consistent", "yes", "true", "1")
NEGATIVE = ("negative", "inconsistent", "no", "false", "0")
_Key = tuple[str, int | None, Interaction]
_Row = tuple[str, dict[str, Any]]


class FileJudge:
    """Gives the verdicts of a file, and none on the rest.

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

    Raises
    ------
    InputError
        For a file of another kind, a row that cannot be understood, and two rows that contradict
        each other; the message names file and line.
    """

    sees_pictures = True

    def __init__(
        self,
        path: Path,
        image_targets: Sequence[ImageTargets],
        vocabulary: Vocabulary,
        origin: int = 0,
    ) -> None:
        self.name = str(path)
        self._margin = vocabulary.protocol.margin
        self._origin = origin
        self._named = _names(image_targets, vocabulary)
        self._verdicts: dict[_Key, bool] = {}
        places: dict[_Key, str] = {}
        known = {each.image: each for each in image_targets}
        others: dict[str, None] = {}
        for where, row in _rows(path):
            image, verdict = str(_cell(where, row, "image")), _verdict(where, row)
            if image not in known:
                others[image] = None
            if verdict is None or image not in known:
                continue
            key = (image, self._person(where, known[image], row), self._class(where, row))
            if self._verdicts.setdefault(key, verdict) != verdict:
                raise InputError(
                    f"{where}: contradicts {places[key]} about {key[2].name!r}; keep one of them"
                )
            places.setdefault(key, where.removeprefix(f"{path}: "))
        self.notes = tuple(self._notes(path, list(known), list(others)))

    def judge(self, asked: Sequence[JudgeRequest]) -> list[Verdicts]:
        """Return the verdicts on the candidates of each target."""
        return [dict(self._verdicts_on(one.target, one.candidates)) for one in asked]

    def _verdicts_on(
        self, target: Target, candidates: Sequence[Interaction]
    ) -> Iterator[tuple[Interaction, bool]]:
        for each in candidates:
            name = normalised(each)
            # A verdict on the person comes before one on the image.
            for person in (target.person, None):
                verdict = self._verdicts.get((target.image, person, name))
                if verdict is not None:
                    yield each, verdict
                    break

    def _notes(self, path: Path, known: list[str], others: list[str]) -> Iterator[str]:
        """Name images that are not asked about; refuse a file that has no others."""
        if not self._verdicts:
            raise InputError(
                f"{path}: has no verdict on any of the {len(known)} images that are asked about; "
                f"the first is {some_of(known, 1)} there and {some_of(others, 1) or 'none'} here"
            )
        if others:
            yield f"{path}: {len(others)} images in it are not asked about: {some_of(others)}"

    def _class(self, where: str, row: Mapping[str, Any]) -> Interaction:
        if row.get("class") in (None, ""):
            verb, name = (str(_cell(where, row, key)) for key in ("verb", "object"))
            found = Interaction(verb, name)
        else:
            text = str(row["class"])
            found = parse_option(text) if ARTICLE in text else Interaction(text, "")
        name = _plain(found)
        if name not in self._named:
            raise InputError(
                f"{where}: {name!r} is not a class of the data set"
                f"{close_matches(name, self._named)}; give verb and object, or class, by name"
            )
        return self._named[name]

    def _person(self, where: str, subject: ImageTargets, row: Mapping[str, Any]) -> int | None:
        """Find the person of a row by number or box."""
        value = row.get("person")
        if value is None or value == "":
            return None
        numbers = _numbers(value)
        if len(numbers) == 1 and numbers[0] in range(len(subject.people)):
            return int(numbers[0])
        if len(numbers) == 4:
            boxes = np.array([each.box for each in subject.people], dtype=np.float64)
            box = np.broadcast_to(np.array(numbers) - self._origin, boxes.shape)
            overlap = box_iou(boxes, box, self._margin)
            if overlap.max() >= SAME_PERSON:
                return int(overlap.argmax())
        raise InputError(
            f"{where}: {shown(value)} is none of the {len(subject.people)} annotated people of "
            f"{subject.image}; give a number from 0, from the left, or the box x1 y1 x2 y2"
        )


def _names(image_targets: Sequence[ImageTargets], vocabulary: Vocabulary) -> dict[str, Interaction]:
    """Map the names of all classes, as written by :func:`_plain`, to normalised interactions."""
    annotated = {each for one in image_targets for each in one.scene.annotated}
    classes = [*interactions_of(vocabulary), *sorted(annotated)]
    return {_plain(each): normalised(each) for each in classes}


@lru_cache(maxsize=1 << 16)
def _plain(found: Interaction) -> str:
    return " ".join(found.name.lower().split())


def _rows(path: Path) -> Iterator[_Row]:
    """Read the rows, each with its place."""
    try:
        text = ordinary(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text; give verdicts as CSV or JSON lines") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}; check the path") from None
    return _json_rows(path, text) if text.lstrip()[:1] == "{" else _csv_rows(path, text)


def _json_rows(path: Path, text: str) -> Iterator[_Row]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}: line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(
                f"{where}: {line!r:.60} is not JSON; give one object per line"
            ) from None
        if not isinstance(row, dict):
            raise InputError(
                f"{where}: {shown(row)} is not an object; give image, class and verdict"
            )
        yield where, row


def _csv_rows(path: Path, text: str) -> Iterator[_Row]:
    reader = csv.DictReader(StringIO(text, newline=""), skipinitialspace=True)
    try:
        found = list(reader.fieldnames or ())
        for key in ("image", "verdict"):
            if key not in found:
                raise InputError(
                    f"{path}: the column {key!r} is missing{close_matches(key, found)}; give "
                    "image, person, verb, object, verdict"
                )
        for row in reader:
            yield f"{path}: line {reader.line_num}", row
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: is not CSV ({error})") from None


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
    if "verdict" not in row:
        _cell(where, row, "verdict")
    value = row["verdict"]
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
