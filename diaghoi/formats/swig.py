"""SWIG-HOI's annotations, and the predictions that its evaluator takes.

Annotations are a list of one dict an image: ``img_id`` (or ``file_name``), ``box_annotations``
(``{bbox, category_id}``) and ``hoi_annotations`` (``{subject_id, object_id, action_id}``), where
subject and object count the boxes of the image; optionally ``width`` and ``height``. Predictions
are ``{image: [[HOI id, score, 8 box numbers], ...]}``, the human box first; where an image is named
by a number, it is the same name as a string. Objects, verbs and HOI ids count from zero, boxes are
xyxy. There is no score of the verb alone. In predictions, boxes with the same coordinates and
category in one image are one box.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import EXACT, Rows, check_boxes, check_names, check_scores, shown
from diaghoi.formats.content import Content
from diaghoi.formats.listed import Layout, read_listed
from diaghoi.formats.repeated import from_repeated
from diaghoi.scenes import Scenes

FloatArray = npt.NDArray[np.float64]

_ROW = 10
_KEYS = ("img_id", "box_annotations", "hoi_annotations")


def _recognise(content: Content) -> Kind | None:
    if content.container not in ("pickle", "json"):
        return None
    if "box_annotations" in content.first and "hoi_annotations" in content.first:
        return "annotations"
    return "predictions" if isinstance(content.value, dict) and _is_rows(content.value) else None


def _is_rows(value: dict[Any, Any]) -> bool:
    """Whether the first row of the first image that has any holds ten values."""
    first: Any = next((rows[0] for rows in value.values() if _is_list(rows) and len(rows)), None)
    return _is_list(first) and len(first) == _ROW


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


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
    layout = Layout(
        name=key,
        boxes="box_annotations",
        triplets="hoi_annotations",
        verb="action_id",
        scored=False,
        objects=options.vocabulary.name,
        verb_origin=0,
    )
    scenes = read_listed(replace(content, value=named), layout, options)
    sizes = [(row.get("width", 0), row.get("height", 0)) for row in named]
    if not all(type(length) is int and 0 <= length <= EXACT for size in sizes for length in size):
        return scenes
    return replace(scenes, sizes=np.array(sizes, dtype=np.int64).reshape(-1, 2))


def _name(given: Any) -> Any:
    """Return numbers, which name images too, as strings."""
    return str(given) if isinstance(given, int) and 0 <= given <= EXACT else given


def _predictions(content: Content, options: Options) -> Scenes:
    names = check_names(content.file, list(map(_name, content.value)), "image")
    images = list(content.value.values())
    for name, rows in zip(names.tolist(), images, strict=True):
        if not _is_list(rows):
            raise InputError(
                f"{content.file}: image {name!r}: is {shown(rows)}; give a list of rows"
            )
    count = np.array([len(rows) for rows in images], dtype=np.int64)
    rows = Rows(content.file, names.tolist(), "row", count)
    values = _values(images, rows)
    hoi = _classes(values[:, 0], rows, len(options.vocabulary))
    check_scores(rows, values[:, 1], "")
    origin = options.origin_or(0)
    human, thing = (
        check_boxes(rows, options.corners(part), "", origin=origin)
        for part in (values[:, 2:6], values[:, 6:])
    )
    return from_repeated(
        options.vocabulary,
        names=names,
        image=rows.image,
        human=human,
        thing=thing,
        hoi=hoi,
        score=values[:, 1],
        source=content.file,
    )


def _values(images: list[Any], rows: Rows) -> FloatArray:
    """Return all rows under one another as (rows, 10)."""
    parts = [np.zeros((0, _ROW))]
    for image, part in enumerate(images):
        if not len(part):
            continue
        if not _are_numbers(part, (len(part), _ROW)):
            bad = next((n for n, row in enumerate(part) if not _are_numbers(row, (_ROW,))), 0)
            raise rows.error(
                int(rows.start[image]) + bad,
                "",
                f"{shown(part[bad])} is not a row; give HOI id, score, and the two boxes: ten "
                "numbers",
            )
        with np.errstate(over="ignore"):  # what is too large is infinite then, and refused
            parts.append(np.asarray(part).astype(np.float64, copy=False))
    return np.concatenate(parts)


def _are_numbers(value: Any, shape: tuple[int, ...]) -> bool:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError):  # rows of different lengths, for instance
        return False
    return array.shape == shape and array.dtype.kind in "iuf"


def _classes(given: FloatArray, rows: Rows, count: int) -> npt.NDArray[np.int64]:
    """Check that every HOI id is one of the data set."""
    unknown = ~np.isin(given, np.arange(count))
    if unknown.any():
        bad = int(np.argmax(unknown))
        raise rows.error(
            bad, "", f"there is no HOI id {given[bad]:.16g}; there are: 0 to {count - 1}"
        )
    return given.astype(np.int64)


FORMAT = Format(
    name="swig-hoi",
    title="SWIG-HOI's annotations, and predictions for its evaluator",
    kinds=("annotations", "predictions"),
    keys=_KEYS,
    recognise=_recognise,
    read=_read,
    dataset=lambda content: "swig-hoi",
)
