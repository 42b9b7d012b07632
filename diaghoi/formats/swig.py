"""SWIG-HOI's annotations, and predictions by image, as its evaluator and that of CMD-SE take them.

Annotations are a list of one dict per image: ``img_id`` (or ``file_name``), ``box_annotations``
(``{bbox, category_id}``) and ``hoi_annotations`` (``{subject_id, object_id, action_id}``), where
subject and object count the boxes of the image; optionally ``width`` and ``height``. Predictions
are ``{image: [[HOI id, score, 8 box numbers], ...]}``, the human box first; where an image is named
by a number, it is the same name as a string. CMD-SE and INP-CC also write such predictions for
HICO-DET, with its 600 HOI classes: images named by numbers may be of either. THID's
``hico_interaction_results.pkl`` is a list whose place is the number of the image, with rows of
eleven numbers: HOI id, human box, object box, score, running number. Rows of either width are read
from dicts and from lists. Objects, verbs and HOI ids count from zero, boxes are xyxy. There is no
score of the verb alone. In predictions, boxes with the same coordinates and category in one image
are one box.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.columns.checks import (
    EXACT,
    Rows,
    check_amount,
    check_boxes,
    check_names,
    check_scores,
    shown,
)
from diaghoi.formats.columns.listed import ListLayout, read_listed
from diaghoi.formats.columns.numbering import hoi_classes
from diaghoi.formats.columns.repeated import Meaning, from_repeated
from diaghoi.formats.columns.triplet_numbers import TripletNumbers
from diaghoi.formats.content import SMALL, Content, begins

# The places of the score, and of the first number of the boxes, in rows of so many numbers.
_PLACES = {10: (1, 2), 11: (9, 1)}
_ROWS = {
    10: "HOI id, score, and the two boxes: ten numbers",
    11: "HOI id, the two boxes, score, and a running number: eleven numbers",
}
_KEYS = ("img_id", "box_annotations", "hoi_annotations")


def _recognise(content: Content) -> Kind | None:
    if not content.plain:
        return None
    if "box_annotations" in content.first and "hoi_annotations" in content.first:
        return "annotations"
    return "predictions" if _width(_by_image(content)) in _PLACES else None


def _by_image(content: Content) -> dict[Any, Any]:
    """Return the rows by image; a list has them by image number, and none where it is empty."""
    value = content.value
    if isinstance(value, list | tuple) and not content.first:
        return {place: rows for place, rows in enumerate(value) if not _is_list(rows) or len(rows)}
    return value if isinstance(value, dict) else {}


def _width(images: dict[Any, Any]) -> int:
    """Count the values in the first row of the first image with rows; 0 for anything else.

    Rows of eleven values also name other things than a class first.
    """
    first: Any = next((rows[0] for rows in images.values() if _is_list(rows) and len(rows)), None)
    if not _is_list(first) or (len(first) and isinstance(first[0], str)):
        return 0
    return len(first)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _dataset(content: Content) -> str | None:
    if begins(next(iter(_by_image(content)), None), "HICO_"):
        return "hico-det"
    return None if _is_either(content) else "swig-hoi"


def _is_number(name: Any) -> bool:
    return name.isdigit() if isinstance(name, str) else type(name) is int and name >= 0


def _is_either(content: Content) -> bool:
    """Whether images of either data set may have these numbers and HOI classes."""
    value = _by_image(content)
    if not value or not all(map(_is_number, value)):
        return False
    images = [rows for rows in value.values() if _is_list(rows)]
    if sum(map(len, images)) > max(content.size, SMALL):
        return False  # a list that is repeated without limit, which the reader refuses
    rows = chain.from_iterable(images)
    first = (row[0] for row in rows if _is_list(row) and len(row) in _PLACES)
    return not any(isinstance(hoi, int | float) and hoi > len(hico_det()) for hoi in first)


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    if kind == "annotations":
        return _annotations(content, options)
    return _predictions(content, options)


def _annotations(content: Content, options: Options) -> Scenes:
    key = "img_id" if "img_id" in content.first else "file_name"
    named = [
        row | {key: _name(row[key])} if isinstance(row, dict) and key in row else row
        for row in content.value
    ]
    layout = ListLayout(
        name=key,
        boxes="box_annotations",
        triplets="hoi_annotations",
        verb="action_id",
        scored=False,
        objects=options.vocabulary.name,
        numbers=TripletNumbers("verb", 0),
    )
    scenes = read_listed(replace(content, value=named), layout, options)
    sizes = [(row.get("width", 0), row.get("height", 0)) for row in named]
    if not all(type(length) is int and 0 <= length <= EXACT for size in sizes for length in size):
        return scenes
    return replace(scenes, sizes=np.array(sizes, dtype=np.int64).reshape(-1, 2))


def _name(given: Any) -> Any:
    """Convert image numbers, which are valid names, to strings."""
    return str(given) if isinstance(given, int) and 0 <= given <= EXACT else given


def _predictions(content: Content, options: Options) -> Scenes:
    by_image = _by_image(content)
    names = check_names(content.file, list(map(_name, by_image)), "image")
    images = list(by_image.values())
    for name, rows in zip(names.tolist(), images, strict=True):
        if not _is_list(rows):
            raise InputError(
                f"{content.file}: image {name!r}: is {shown(rows)}; give a list of rows"
            )
    count = np.array([len(rows) for rows in images], dtype=np.int64)
    check_amount(content.file, "image", int(count.sum()), content.size)
    rows = Rows(content.file, names.tolist(), "row", count)
    width = _width(by_image)
    values = _values(images, rows, width)
    score_place, first = _PLACES[width]
    score = check_scores(rows, values[:, score_place], "")
    hoi, notes = hoi_classes(rows, _whole(values[:, 0], rows), score, options, "")
    origin = options.origin_or(0)
    human, object_box = (
        check_boxes(rows, options.corners(part), "", origin=origin)
        for part in (values[:, first : first + 4], values[:, first + 4 : first + 8])
    )
    return from_repeated(
        options.vocabulary,
        names=names,
        image=rows.image,
        human=human,
        object_box=object_box,
        meaning=Meaning.of_classes(options.vocabulary, hoi),
        score=score,
        source=content.file,
        notes=notes,
    )


def _values(images: list[Any], rows: Rows, width: int) -> FloatArray:
    """Return the rows of all images as a (rows, width) array."""
    parts = [np.zeros((0, width))]
    for image, part in enumerate(images):
        if not len(part):
            continue
        values = _numbers(part, width)
        if values is None:
            bad = next((n for n, row in enumerate(part) if _numbers([row], width) is None), 0)
            raise rows.error(
                int(rows.start[image]) + bad,
                "",
                f"{shown(part[bad])} is not a row; give {_ROWS[width]}",
            )
        parts.append(values)
    return np.concatenate(parts)


def _numbers(part: Any, width: int) -> FloatArray | None:
    """Convert rows of ``width`` numbers to an array; None for anything else."""
    if isinstance(part, np.ndarray) and part.dtype != object:
        right = part.ndim == 2 and part.shape[1] == width and part.dtype.kind in "iuf"
        with np.errstate(
            over="ignore"
        ):  # values that overflow become infinite and are refused later
            return part.astype(np.float64) if right else None
    try:
        if set(map(len, part)) != {width} or not _plain(chain.from_iterable(part)):
            return None
        flat = np.fromiter(chain.from_iterable(part), dtype=np.float64, count=width * len(part))
    except (TypeError, ValueError, OverflowError):
        return None
    return flat.reshape(-1, width)


def _plain(values: Iterable[Any]) -> bool:
    """Whether all are numbers; bool and strings would convert, too."""
    return all(
        issubclass(kind, int | float | np.integer | np.floating) and kind is not bool
        for kind in set(map(type, values))
    )


def _whole(given: FloatArray, rows: Rows) -> IntArray:
    """Check that HOI ids are whole numbers."""
    whole = (given == np.floor(given)) & (np.abs(given) <= EXACT)
    if not whole.all():
        bad = int(np.argmin(whole))
        raise rows.error(bad, "", f"unknown HOI class {given[bad]:.16g}; give a whole number")
    return given.astype(np.int64)


FORMAT = Format(
    name="swig-hoi",
    title="SWIG-HOI's annotations, and predictions by image (SWIG-HOI, CMD-SE, THID)",
    kinds=("annotations", "predictions"),
    keys=_KEYS,
    recognise=_recognise,
    read=_read,
    dataset=_dataset,
    either=lambda content: ("hico-det", "swig-hoi") if _is_either(content) else (),
)
