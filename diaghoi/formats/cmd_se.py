"""The results of CMD-SE and INP-CC, by HOI class: ``preds.pkl`` and ``dets.pkl``.

A dict of ``scores``, ``boxes`` and ``keys``, each ``{HOI class: list}`` with one entry per
prediction: its score; eight numbers, the human box and the object box; the number of its image,
which is that at the end of the file name. ``gts`` holds the annotations: ``{HOI class: {image
number: (n, 8) array}}``. Classes count from zero in the official order of HICO-DET, or are those of
SWIG-HOI; boxes are xyxy counted from zero. There is no score of the verb alone. The same rows by
image, before they are accumulated, are read by :mod:`diaghoi.formats.swig`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.columns.checks import (
    Rows,
    check_amount,
    check_boxes,
    check_scores,
    names_array,
    shown,
    whole_number,
)
from diaghoi.formats.columns.numbering import hoi_classes
from diaghoi.formats.columns.records import strictly
from diaghoi.formats.columns.repeated import Meaning, from_repeated
from diaghoi.formats.content import Content

_SCORES, _BOXES, _KEYS = "scores", "boxes", "keys"
_COLUMNS = (_SCORES, _BOXES, _KEYS)
_EIGHT = 8
HICO_CLASSES = 600
# Longer numbers are no classes, and Python refuses very long ones.
_DIGITS = 18


def _recognise(content: Content) -> Kind | None:
    value = content.value
    if not content.plain or not isinstance(value, dict) or not value:
        return None
    if not all(isinstance(part, dict) for part in value.values()):
        return None
    if set(value) == set(_COLUMNS):
        return "predictions"
    return "annotations" if all(map(_is_number, value)) else None


def _is_number(key: Any) -> bool:
    return type(key) is int or (isinstance(key, str) and key.isdecimal() and len(key) <= _DIGITS)


def _dataset(content: Content) -> str | None:
    """HICO-DET where the file lists each of its 600 classes, SWIG-HOI where there are more."""
    classes = [int(key) for key in content.value.get(_SCORES, content.value) if _is_number(key)]
    if len(classes) == HICO_CLASSES and max(classes) - min(classes) == HICO_CLASSES - 1:
        return "hico-det"
    return "swig-hoi" if max(classes, default=0) > HICO_CLASSES else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    by_class = content.value if kind == "annotations" else content.value[_BOXES]
    parts = [
        part
        for images in by_class.values()
        for part in (images.values() if isinstance(images, dict) else [images])
    ]
    check_amount(content.file, _BOXES, sum(map(len, filter(_is_list, parts))), content.size)
    table = _annotated(content) if kind == "annotations" else _predicted(content)
    # By image, and within it by falling score, as code bases list triplets elsewhere.
    order = np.lexsort((table.hoi, -table.score, table.key))
    keys, count = np.unique(table.key, return_counts=True)
    names = names_array(content.file, list(map(str, keys.tolist())))
    rows = Rows(content.file, names.tolist(), _BOXES, count)
    values, score = table.boxes[order], table.score[order]
    origin = options.origin_or(0)
    human, object_box = (
        check_boxes(rows, options.corners(part), "", origin=origin)
        for part in (values[:, :4], values[:, 4:])
    )
    hoi, notes = hoi_classes(rows, table.hoi[order], score, options, "")
    return from_repeated(
        options.vocabulary,
        names=names,
        image=rows.image,
        human=human,
        object_box=object_box,
        meaning=Meaning.of_classes(options.vocabulary, hoi),
        score=None if kind == "annotations" else check_scores(rows, score, ""),
        source=content.file,
        notes=notes,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Table:
    """Rows of all classes: HOI class, image number, (rows, 8) boxes, and score."""

    hoi: IntArray
    key: IntArray
    boxes: FloatArray
    score: FloatArray


def _predicted(content: Content) -> _Table:
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    hoi: list[IntArray] = []
    keys = {name: set(part) for name, part in content.value.items()}
    for name in _COLUMNS:
        odd = keys[name] ^ keys[_SCORES]
        if odd:
            problem = f"is in only one of {_SCORES!r} and {name!r}; give each class in all"
            raise _error(content, next(iter(odd)), "", problem)
    for key in content.value[_SCORES]:
        parts = {name: content.value[name][key] for name in _COLUMNS}
        for name, part in parts.items():
            _check_list(content, key, name, part)
        lengths = {name: len(part) for name, part in parts.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise _error(content, key, "", f"lengths do not fit: {told}")
        hoi.append(np.full(lengths[_SCORES], _whole(content, key, "class", key)))
        columns[_SCORES].append(_numbers(content, key, _SCORES, parts[_SCORES], 0))
        columns[_BOXES].append(_numbers(content, key, _BOXES, parts[_BOXES], _EIGHT))
        columns[_KEYS].append(
            np.array([_whole(content, key, _KEYS, n) for n in parts[_KEYS]], dtype=np.int64)
        )
    return _table(hoi, columns[_KEYS], columns[_BOXES], columns[_SCORES])


def _annotated(content: Content) -> _Table:
    hoi, keys, boxes = [], [], []
    for key, images in content.value.items():
        for image, part in images.items():
            _check_list(content, key, f"image {shown(image)}", part)
            boxes.append(_numbers(content, key, f"image {shown(image)}", part, _EIGHT))
            hoi.append(np.full(len(boxes[-1]), _whole(content, key, "class", key)))
            number = _whole(content, key, "image", image)
            keys.append(np.full(len(boxes[-1]), number, dtype=np.int64))
    return _table(hoi, keys, boxes, [np.zeros(len(part)) for part in boxes])


def _table(
    hoi: Sequence[IntArray],
    keys: Sequence[IntArray],
    boxes: Sequence[FloatArray],
    score: Sequence[FloatArray],
) -> _Table:
    def joined(parts: Sequence[Any], empty: Any) -> Any:
        return np.concatenate([empty, *parts])

    whole = np.zeros(0, dtype=np.int64)
    return _Table(
        hoi=joined(hoi, whole),
        key=joined(keys, whole),
        boxes=joined(boxes, np.zeros((0, _EIGHT))),
        score=joined(score, np.zeros(0)),
    )


def _numbers(content: Content, key: Any, field: str, part: Any, width: int) -> FloatArray:
    """Convert values, or rows of ``width`` values, to float64."""
    shape = (len(part), width) if width else (len(part),)
    try:
        with strictly():
            values = np.array(part if len(part) else np.zeros(shape), dtype=np.float64)
        if values.shape != shape:
            raise ValueError
    except (TypeError, ValueError, OverflowError, Warning):
        wanted = f"{width} numbers per row, for both boxes" if width else "numbers"
        raise _error(content, key, field, f"{shown(part)}; give {wanted}") from None
    return values


def _whole(content: Content, key: Any, field: str, value: Any) -> int:
    """Read a class or the number of an image, also as a string (JSON has no other keys)."""
    try:
        number = whole_number(int(value) if isinstance(value, str) else value)
        if number < 0:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        problem = f"{shown(value)} is not a whole number from 0"
        raise _error(content, key, field, problem) from None
    return number


def _check_list(content: Content, key: Any, field: str, part: Any) -> None:
    if not _is_list(part):
        raise _error(content, key, field, f"is {shown(part)}; give a list")


def _is_list(part: Any) -> bool:
    return isinstance(part, list | tuple) or (isinstance(part, np.ndarray) and part.ndim > 0)


def _error(content: Content, key: Any, field: str, problem: str) -> InputError:
    where = f": {field}" if field else ""
    return InputError(f"{content.file}: HOI class {shown(key)}{where}: {problem}")


FORMAT = Format(
    name="cmd-se",
    title="predictions by HOI class (CMD-SE, INP-CC)",
    kinds=("predictions", "annotations"),
    keys=(_SCORES, _BOXES, _KEYS),
    recognise=_recognise,
    read=_read,
    dataset=_dataset,
)
