"""Files that list a class, a score and the eight numbers of both boxes for each triplet.

Objects, verbs and HOI classes count from zero in the official order of the data set, boxes are xyxy
counted from zero. There is no score of the verb alone. Boxes with the same coordinates and category
in one image are one box. Where an image is named by a number, that is the one at the end of its
file name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Doubts, Format, Kind, Options
from diaghoi.formats.checks import (
    EXACT,
    Rows,
    check_amount,
    check_lengths,
    check_names,
    image_name,
    is_list,
    rows_of_numbers,
    shown,
    whole_number,
)
from diaghoi.formats.content import SMALL, Content, begins
from diaghoi.formats.flat import Flat
from diaghoi.formats.hico_mat import check_complete, file_orders
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.matlab import read_variable, variables
from diaghoi.formats.numbering import TripletNumbers
from diaghoi.formats.records import Images, strictly

_SCORES, _BOXES, _KEYS = "scores", "boxes", "keys"
_COLUMNS = (_SCORES, _BOXES, _KEYS)
_EIGHT = 8
HICO_CLASSES = 600
# Longer numbers are no classes, and Python refuses very long ones.
_DIGITS = 18
# The places of the score, and of the first number of the boxes, in rows of so many numbers.
_PLACES = {10: (1, 2), 11: (9, 1)}
_ROWS = {
    10: "HOI id, score, and the two boxes: ten numbers",
    11: "HOI id, the two boxes, score, and a running number: eleven numbers",
}
# How many numbers the cells of a converted row hold: boxes, image, class, score.
_CELLS = (4, 4, 1, 1, 1)
_SCALE = 1000.0
# HOI class, number of the image, both boxes and score of some triplets.
_Part = tuple[IntArray, IntArray, FloatArray, FloatArray]


class CmdSe(Format):
    """Read the results of CMD-SE and INP-CC by HOI class: ``preds.pkl`` and ``dets.pkl``.

    A dict of ``scores``, ``boxes`` and ``keys``, each ``{HOI class: list}`` with one entry per
    prediction: its score; the human box and the object box; the number of its image. ``gts`` holds
    the annotations: ``{HOI class: {image number: (n, 8) array}}``. Classes are those of HICO-DET or
    of SWIG-HOI. :class:`SwigHoi` reads the same rows before they are accumulated.
    """

    name = "cmd-se"
    title = "predictions by HOI class (CMD-SE, INP-CC)"
    kinds = ("predictions", "annotations")
    keys = _COLUMNS

    def recognise(self, content: Content) -> Kind | None:
        value = content.value
        if not content.plain or not isinstance(value, dict) or not value:
            return None
        if not all(isinstance(part, dict) for part in value.values()):
            return None
        if set(value) == set(_COLUMNS):
            return "predictions"
        return "annotations" if all(map(_is_class, value)) else None

    def dataset(self, content: Content) -> str | None:
        """HICO-DET where the file lists each of its 600 classes, SWIG-HOI where there are more."""
        classes = [int(key) for key in content.value.get(_SCORES, content.value) if _is_class(key)]
        if len(classes) == HICO_CLASSES and max(classes) - min(classes) == HICO_CLASSES - 1:
            return "hico-det"
        return "swig-hoi" if max(classes, default=0) > HICO_CLASSES else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        predicted = kind == "predictions"
        by_class = content.value[_BOXES] if predicted else content.value
        lists = [
            part
            for images in by_class.values()
            for part in (images.values() if isinstance(images, dict) else [images])
        ]
        check_amount(content.file, _BOXES, sum(map(len, filter(is_list, lists))), content.size)
        parts = _predicted(content) if predicted else _annotated(content)
        flat, hoi, boxes, score = _in_order(content.file, _BOXES, parts, options)
        human, object_box = flat.boxes(boxes[:, :4]), flat.boxes(boxes[:, 4:])
        hoi = flat.classes(hoi, score)
        score_or_none = flat.scores(score) if predicted else None
        return flat.scenes(human, object_box, hoi=hoi, score=score_or_none)


class Converted(Format):
    """Read the files of GEN-VLKT's converter for the MATLAB evaluator: ``detections_XX.mat``.

    As in :mod:`diaghoi.formats.hico_mat` there is one file for each object in COCO order
    counted from one, but ``all_boxes`` lists predictions: rows of five cells with the human box,
    the object box, the number of the image, the class among those of the object in official order,
    from 0, and the score times 1000.
    """

    name = "hico-converted-mat"
    title = "files for the official HICO-DET evaluator by GEN-VLKT's converter"
    kinds = ("predictions",)
    only = "hico-det"

    def recognise(self, content: Content) -> Kind | None:
        if content.container != "folder":
            return None
        try:
            filled = None
            for path in content.value.values():
                stored = variables(path).get("all_boxes")
                if stored is None or len(stored.shape) != 2 or stored.shape[1] != len(_CELLS):
                    return None
                filled = path if filled is None and stored.shape[0] else filled
            row = () if filled is None else read_variable(filled, "all_boxes")[0]
        except InputError:  # for the reader of the other files to explain
            return None
        return "predictions" if tuple(np.size(cell) for cell in row) == _CELLS else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        vocabulary, file = options.vocabulary, content.file
        check_complete(file, content.value, len(vocabulary.objects))
        tables = {number: _cells(path) for number, path in sorted(content.value.items())}
        classes = _classes_of_files(file, tables, vocabulary, options.objects)
        parts = (
            (
                classes[number][table[:, 9].astype(np.int64)],
                table[:, 8].astype(np.int64),
                table[:, :8],
                table[:, 10],
            )
            for number, table in tables.items()
        )
        flat, hoi, boxes, score = _in_order(file, "all_boxes", parts, options)
        human, object_box = flat.boxes(boxes[:, :4]), flat.boxes(boxes[:, 4:])
        return flat.scenes(human, object_box, hoi=hoi, score=flat.scores(score / _SCALE))


def _cells(path: Path) -> FloatArray:
    """Read the rows of one file as (rows, 11) numbers."""
    cells: Array = read_variable(path, "all_boxes")
    if not cells.size:
        return np.zeros((0, sum(_CELLS)))
    sizes = np.array([[np.size(cell) for cell in row] for row in cells])
    wrong = (sizes != _CELLS).any(axis=1) if cells.shape[1:] == (len(_CELLS),) else sizes[:, 0] >= 0
    if wrong.any():
        bad = int(np.argmax(wrong))
        raise InputError(
            f"{path}: all_boxes: row {bad + 1} has cells of {', '.join(map(str, sizes[bad]))} "
            "numbers; give two boxes, the image, the class and the score"
        )
    numbers = np.concatenate([np.ravel(cell) for row in cells for cell in row])
    if numbers.dtype.kind not in "biuf":
        raise InputError(f"{path}: all_boxes: holds something else than real numbers")
    values = numbers.astype(np.float64).reshape(-1, sum(_CELLS))
    whole = values[:, 8:10]
    wrong = ~((whole >= 0) & (whole <= EXACT) & (whole == np.floor(whole))).all(axis=1)
    if wrong.any():
        bad = int(np.argmax(wrong))
        raise InputError(
            f"{path}: all_boxes: row {bad + 1}: image {whole[bad, 0]:g} and class "
            f"{whole[bad, 1]:g} must be whole numbers from 0"
        )
    return values


def _classes_of_files(
    folder: str, tables: dict[int, FloatArray], vocabulary: Vocabulary, asked: str | None
) -> dict[int, IntArray]:
    """HOI classes of the object of each file, in the numbering of objects that fits the files."""
    problem = ""
    for name, order in file_orders(asked).items():
        classes: dict[int, IntArray] = {
            n: np.flatnonzero(vocabulary.class_object == order[n]) for n in tables
        }
        bad = next((n for n, t in tables.items() if (t[:, 9] >= len(classes[n])).any()), None)
        if bad is None:
            return classes
        problem = problem or (
            f"{folder}: detections_{bad:02d}.mat: all_boxes: class {tables[bad][:, 9].max():g}, "
            f"but {vocabulary.objects[order[bad]]!r} has {len(classes[bad])} HOI classes ({name})"
        )
    raise InputError(problem)


def _in_order(
    file: str,
    field: str,
    parts: Iterable[_Part],
    options: Options,
    *,
    width: int = _EIGHT,
    names: Sequence[str] | None = None,
) -> tuple[Flat, IntArray, FloatArray, FloatArray]:
    """Sort triplets by image, and in it by falling score, then class.

    Images are numbered by their names, or by their places among them.
    """
    whole = np.zeros(0, dtype=np.int64)
    empty = whole, whole, np.zeros((0, width)), np.zeros(0)
    hoi, image, values, score = map(np.concatenate, zip(empty, *parts, strict=True))
    order = np.lexsort((hoi, -score, image))
    if names is None:
        numbers, count = np.unique(image, return_counts=True)
        names = list(map(str, numbers.tolist()))
    else:
        count = np.bincount(image, minlength=len(names))
    flat = Flat(Rows(file, names, field, count), options)
    return flat, hoi[order], values[order], score[order]


def _predicted(content: Content) -> Iterator[_Part]:
    value = content.value
    keys = {name: set(part) for name, part in value.items()}
    for name in _COLUMNS:
        odd = keys[name] ^ keys[_SCORES]
        if odd:
            problem = f"is in only one of {_SCORES!r} and {name!r}; give each class in all"
            raise _error(content, next(iter(odd)), "", problem)
    for key in value[_SCORES]:
        parts = {name: value[name][key] for name in _COLUMNS}
        for name, part in parts.items():
            _check_list(content, key, name, part)
        lengths = {name: len(part) for name, part in parts.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise _error(content, key, "", f"lengths do not fit: {told}")
        hoi = np.full(lengths[_SCORES], _whole(content, key, "class", key))
        score = _numbers(content, key, _SCORES, parts[_SCORES], 0)
        boxes = _numbers(content, key, _BOXES, parts[_BOXES], _EIGHT)
        images = [_whole(content, key, _KEYS, number) for number in parts[_KEYS]]
        yield hoi, np.array(images, dtype=np.int64), boxes, score


def _annotated(content: Content) -> Iterator[_Part]:
    for key, images in content.value.items():
        for image, part in images.items():
            _check_list(content, key, f"image {shown(image)}", part)
            boxes = _numbers(content, key, f"image {shown(image)}", part, _EIGHT)
            hoi = np.full(len(boxes), _whole(content, key, "class", key))
            number = _whole(content, key, "image", image)
            yield hoi, np.full(len(boxes), number), boxes, np.zeros(len(boxes))


def _is_class(key: Any) -> bool:
    return type(key) is int or (isinstance(key, str) and key.isdecimal() and len(key) <= _DIGITS)


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
    if not is_list(part):
        raise _error(content, key, field, f"is {shown(part)}; give a list")


def _error(content: Content, key: Any, field: str, problem: str) -> InputError:
    where = f": {field}" if field else ""
    return InputError(f"{content.file}: HOI class {shown(key)}{where}: {problem}")


class SwigHoi(Format):
    """Read SWIG-HOI's annotations, and predictions by image (SWIG-HOI, CMD-SE, THID).

    Annotations are a list of one dict per image: ``img_id`` (or ``file_name``), ``box_annotations``
    (``{bbox, category_id}``) and ``hoi_annotations`` (``{subject_id, object_id, action_id}``),
    where subject and object count the boxes of the image; optionally ``width`` and ``height``.
    Predictions are ``{image: [[HOI id, score, 8 box numbers], ...]}``; where an image is named by a
    number, it is the same name as a string. CMD-SE and INP-CC also write such predictions for
    HICO-DET, with its 600 HOI classes: images named by numbers may be of either. THID's
    ``hico_interaction_results.pkl`` is a list whose place is the number of the image, with rows of
    eleven numbers: HOI id, human box, object box, score, running number. Rows of either width are
    read from dicts and from lists.
    """

    name = "swig-hoi"
    title = "SWIG-HOI's annotations, and predictions by image (SWIG-HOI, CMD-SE, THID)"
    kinds = ("annotations", "predictions")
    keys = ("img_id", "box_annotations", "hoi_annotations")

    def recognise(self, content: Content) -> Kind | None:
        if not content.plain:
            return None
        if "box_annotations" in content.first and "hoi_annotations" in content.first:
            return "annotations"
        return "predictions" if _width(_rows_by_image(content)) in _PLACES else None

    def dataset(self, content: Content) -> str | None:
        if begins(next(iter(_rows_by_image(content)), None), "HICO_"):
            return "hico-det"
        return None if self.doubts(content).either else "swig-hoi"

    def doubts(self, content: Content) -> Doubts:
        value = _rows_by_image(content)
        if not value or not all(map(_is_number, value)):
            return Doubts()
        images = [rows for rows in value.values() if is_list(rows)]
        if sum(map(len, images)) > max(content.size, SMALL):
            return Doubts()  # a list that is repeated without limit, which the reader refuses
        rows = chain.from_iterable(images)
        first = (row[0] for row in rows if is_list(row) and len(row) in _PLACES)
        if any(isinstance(hoi, int | float) and hoi > HICO_CLASSES for hoi in first):
            return Doubts()
        return Doubts(either=("hico-det", "swig-hoi"))

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        if kind == "annotations":
            return _swig_annotations(content, options)
        by_image = _rows_by_image(content)
        names = check_names(content.file, list(map(_name, by_image)), "image")
        images = list(by_image.values())
        for name, part in zip(names.tolist(), images, strict=True):
            if not is_list(part):
                raise InputError(
                    f"{content.file}: image {name!r}: is {shown(part)}; give a list of rows"
                )
        count = np.array([len(part) for part in images], dtype=np.int64)
        check_amount(content.file, "image", int(count.sum()), content.size)
        width = _width(by_image)
        score_place, first = _PLACES[width]
        flat = Flat(Rows(content.file, names.tolist(), "row", count), options)
        values = _values(images, flat.rows, width)
        score = flat.scores(values[:, score_place])
        hoi = flat.classes(_class_numbers(values[:, 0], flat.rows), score)
        human, object_box = (
            flat.boxes(values[:, start : start + 4]) for start in (first, first + 4)
        )
        return flat.scenes(human, object_box, hoi=hoi, score=score)


def _rows_by_image(content: Content) -> dict[Any, Any]:
    """Return the rows by image; a list has them by image number, and none where it is empty."""
    value = content.value
    if isinstance(value, list | tuple) and not content.first:
        return {place: rows for place, rows in enumerate(value) if not is_list(rows) or len(rows)}
    return value if isinstance(value, dict) else {}


def _width(images: dict[Any, Any]) -> int:
    """Count the values in the first row of the first image with rows; 0 for anything else.

    Rows of eleven values also name other things than a class first.
    """
    first: Any = next((rows[0] for rows in images.values() if is_list(rows) and len(rows)), None)
    if not is_list(first) or (len(first) and isinstance(first[0], str)):
        return 0
    return len(first)


def _is_number(name: Any) -> bool:
    return name.isdigit() if isinstance(name, str) else type(name) is int and name >= 0


def _swig_annotations(content: Content, options: Options) -> Scenes:
    key = "img_id" if "img_id" in content.first else "file_name"
    images = [
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
    scenes = read_listed(replace(content, value=images), layout, options)
    sizes = [(row.get("width", 0), row.get("height", 0)) for row in images]
    if not all(type(length) is int and 0 <= length <= EXACT for size in sizes for length in size):
        return scenes
    return replace(scenes, sizes=np.array(sizes, dtype=np.int64).reshape(-1, 2))


def _name(image: Any) -> Any:
    """Convert image numbers, which are valid names, to strings."""
    return str(image) if isinstance(image, int) and 0 <= image <= EXACT else image


def _values(images: list[Any], rows: Rows, width: int) -> FloatArray:
    """Return the rows of all images as a (rows, width) array."""
    parts = [np.zeros((0, width))]
    for image, part in enumerate(images):
        if not len(part):
            continue
        values = rows_of_numbers(part, width)
        if values is None:
            bad = next(
                (n for n, row in enumerate(part) if rows_of_numbers([row], width) is None), 0
            )
            problem = f"{shown(part[bad])} is not a row; give {_ROWS[width]}"
            raise rows.error(int(rows.start[image]) + bad, "", problem)
        parts.append(values)
    return np.concatenate(parts)


def _class_numbers(values: FloatArray, rows: Rows) -> IntArray:
    whole = (values == np.floor(values)) & (np.abs(values) <= EXACT)
    if not whole.all():
        bad = int(np.argmin(whole))
        raise rows.error(bad, "", f"unknown HOI class {values[bad]:.16g}; give a whole number")
    return values.astype(np.int64)


_BOUNDS, _BOXES_SCORES = "start_end_ids", "human_obj_boxes_scores"
_NINE = 9


class VsgNet(Format):
    """Read the results of VSGNet, SCG and no_frills: the rows of an image, sorted by HOI class.

    A dict by image of ``human_obj_boxes_scores``, (n, 9) or wider: human box, object box, score;
    and ``start_end_ids``, (600, 2): the first row of each class, and one after its last. The keys
    are those of the HDF5 files of no_frills. A row may belong to several classes, or to none.
    """

    name = "vsgnet"
    title = "rows of an image sorted by HOI class (VSGNet, no_frills)"
    kinds = ("predictions",)
    keys = (_BOUNDS, _BOXES_SCORES)
    only = "hico-det"

    def recognise(self, content: Content) -> Kind | None:
        is_sorted = content.plain and set(self.keys) <= content.first.keys()
        return "predictions" if is_sorted else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        images = Images.of(content, content.value, "filename")
        classes, total, parts = len(options.vocabulary), 0, []
        for place, image in enumerate(images.rows):
            where = f"{content.file}: {image_name(images.names, place)}"
            rows = _matrix(where, image, _BOXES_SCORES, _NINE)
            bounds = _matrix(where, image, _BOUNDS, 2)
            start, stop = bounds[:, 0], bounds[:, 1]
            right = (bounds == np.floor(bounds)).all() and (start >= 0).all()
            if not right or (stop < start).any() or (stop > len(rows)).any():
                problem = f"bounds of rows from 0 to {len(rows)} are needed"
                raise InputError(f"{where}: {_BOUNDS}: {problem}")
            if len(bounds) != classes:
                problem = f"has {len(bounds)} rows; give one for each of {classes} HOI classes"
                raise InputError(f"{where}: {_BOUNDS}: {problem}")
            count: IntArray = (stop - start).astype(np.int64)
            total += int(count.sum())
            check_amount(content.file, _BOUNDS, total, content.size)
            classed = np.repeat(np.arange(classes), count)
            # Rows of a class follow one another.
            first = start.astype(np.int64) - np.cumsum(count) + count
            row = first[classed] + np.arange(len(classed))
            parts.append((classed, np.full(len(row), place), rows[row, :_NINE], rows[row, _EIGHT]))
        flat, hoi, values, score = _in_order(
            content.file, _BOXES_SCORES, parts, options, width=_NINE, names=images.names
        )
        flat.notes += images.notes
        human, object_box = flat.boxes(values[:, :4]), flat.boxes(values[:, 4:_EIGHT])
        return flat.scenes(human, object_box, hoi=hoi, score=flat.scores(score))


def _matrix(where: str, image: dict[str, Any], key: str, width: int) -> FloatArray:
    """Return an array of at least ``width`` numbers in each row."""
    value: Any = image.get(key)
    if is_list(value) and not len(value):
        return np.zeros((0, width))
    columns = len(value[0]) if is_list(value) and is_list(value[0]) else 0
    numbers = rows_of_numbers(value, columns) if columns >= width else None
    if numbers is None:
        raise InputError(f"{where}: {key}: is {shown(value)}; give rows of {width} numbers")
    return numbers


_IDN_KEYS = ("keys", "bboxes", "scores", "hdet", "odet")


class Idn(Format):
    """Read the results of IDN: ``result.pkl``, lists by object.

    A dict of lists with one entry for each of the 80 objects in COCO order: ``keys`` (n,), the
    number of the image of each pair; ``bboxes`` (n, 8), its human box and object box; ``scores``
    (n, k), of the k HOI classes of the object in official order, times those of both boxes, which
    are ``hdet`` and ``odet`` (n,); and ``sel``, the pairs that count for each of the 600 classes,
    None for all. The score of the verb alone is the score without those of the boxes.
    """

    name = "idn"
    title = "pairs by object with scores of its HOI classes (IDN)"
    kinds = ("predictions",)
    keys = _IDN_KEYS
    only = "hico-det"

    def recognise(self, content: Content) -> Kind | None:
        value = content.value
        is_idn = content.plain and isinstance(value, dict) and set(_IDN_KEYS) <= value.keys()
        return "predictions" if is_idn else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        file, words, value = content.file, options.vocabulary, content.value
        for key in _IDN_KEYS:
            if not is_list(value[key]) or len(value[key]) != len(words.objects):
                problem = f"give a list with one entry for each of {len(words.objects)} objects"
                raise InputError(f"{file}: {key}: is {shown(value[key])}; {problem}")
        chosen = value.get("sel")
        if not is_list(chosen) or len(chosen) != len(words):
            chosen = [None] * len(words)
        parts, total = [], 0
        for place, thing in enumerate(words.objects):
            classes = np.flatnonzero(words.class_object == place)
            pairs = _PairsOfObject(f"{file}: object {thing!r}", value, place, len(classes))
            for column, hoi in enumerate(classes.tolist()):
                rows = pairs.rows(chosen[hoi])
                total += len(rows)
                check_amount(file, "scores", total, content.size)
                numbers = np.full(len(rows), hoi)
                parts.append(
                    (numbers, pairs.image[rows], pairs.values[rows], pairs.scores[rows, column])
                )
        flat, hoi, values, score = _in_order(file, "bboxes", parts, options, width=_EIGHT + 2)
        human, object_box = flat.boxes(values[:, :4]), flat.boxes(values[:, 4:_EIGHT])
        of_human, of_object = (flat.scores(values[:, _EIGHT + side]) for side in (0, 1))
        with np.errstate(all="ignore"):
            both = of_human * of_object
            action = np.where(both > 0, score / both, 0.0)
        return flat.scenes(
            human,
            object_box,
            hoi=hoi,
            score=flat.scores(score),
            action_score=flat.scores(action),
            box_scores=(of_human, of_object),
        )


class _PairsOfObject:
    """Check the pairs of one object: image, both boxes with their scores, scores of classes."""

    def __init__(self, where: str, value: dict[str, Any], place: int, classes: int) -> None:
        self._where = where
        parts = {key: value[key][place] for key in _IDN_KEYS}
        for key, part in parts.items():
            if not is_list(part):
                raise InputError(f"{where}: {key}: is {shown(part)}; give an array")
        check_lengths(where, parts, "pair")
        widths = {"bboxes": _EIGHT, "scores": classes}
        arrays = {}
        for key, part in parts.items():
            width = widths.get(key, 1)
            rows = part if key in widths else [[number] for number in part]
            array = rows_of_numbers(rows, width) if len(part) else np.zeros((0, width))
            if array is None:
                problem = f"is {shown(part)}; give {width} numbers for each pair"
                raise InputError(f"{where}: {key}: {problem}")
            arrays[key] = array
        numbers = arrays["keys"][:, 0]
        if not ((numbers == np.floor(numbers)) & (numbers >= 0) & (numbers <= EXACT)).all():
            raise InputError(f"{where}: keys: give whole numbers from 0, the numbers of images")
        self.image = numbers.astype(np.int64)
        self.values = np.hstack([arrays["bboxes"], arrays["hdet"], arrays["odet"]])
        self.scores = arrays["scores"]

    def rows(self, chosen: Any) -> IntArray:
        """Return the pairs that count for a class."""
        if chosen is None:
            return np.arange(len(self.image))
        rows = rows_of_numbers([[row] for row in chosen], 1) if is_list(chosen) else None
        if rows is None and is_list(chosen) and not len(chosen):
            return np.zeros(0, dtype=np.int64)
        if rows is None or (rows != np.floor(rows)).any() or not _within(rows, len(self.image)):
            problem = f"is {shown(chosen)}; give numbers of pairs from 0 to {len(self.image) - 1}"
            raise InputError(f"{self._where}: sel: {problem}")
        return rows[:, 0].astype(np.int64)


def _within(values: FloatArray, stop: int) -> bool:
    return bool(((values >= 0) & (values < stop)).all())
