"""Read files that list each triplet's class, score, and eight numbers for both boxes.

Objects, verbs and HOI classes are numbered from zero in the data set's official order; boxes are
zero-based xyxy. The files have no separate verb scores. Within an image, boxes with the same
coordinates and category are merged. If images are named by numbers, each number is the one at the
end of the image's file name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Doubts, Format, Kind, Options
from diaghoi.formats.checks import (
    EXACT,
    Rows,
    check_amount,
    check_lengths,
    check_names,
    check_range,
    check_whole,
    image_name,
    is_list,
    key_names,
    rows_of_numbers,
    shown,
)
from diaghoi.formats.content import SMALL, Content, begins
from diaghoi.formats.flat import Flat
from diaghoi.formats.hico_mat import check_complete, objects_of_files
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.matlab import read_variable, variables
from diaghoi.formats.numbering import TripletNumbers
from diaghoi.formats.records import Images, lists_of, table_of

_SCORES, _BOXES, _KEYS = "scores", "boxes", "keys"
_COLUMNS = (_SCORES, _BOXES, _KEYS)
_EIGHT = 8
_NO_BOXES = "is not eight numbers, four for each box"
HICO_CLASSES = 600
# Maximum number of digits of a class; Python cannot convert very long numbers.
_DIGITS = 18
# Index of the score and of the first number of the boxes in a row, by the length of the row.
_PLACES = {10: (1, 2), 11: (9, 1)}
_ROWS = {
    10: "HOI id, score, and the two boxes: ten numbers",
    11: "HOI id, the two boxes, score, and a running number: eleven numbers",
}
# How many numbers each cell of a converted row holds: boxes, image, class, score.
_CELLS = (4, 4, 1, 1, 1)
_SCALE = 1000.0


class CmdSe(Format):
    """Read the results of CMD-SE and INP-CC by HOI class: ``preds.pkl`` and ``dets.pkl``.

    A dict of ``scores``, ``boxes`` and ``keys``, each ``{HOI class: list}`` with one entry per
    prediction: the score, the human and object boxes, and the image number. ``gts`` contains the
    annotations: ``{HOI class: {image number: (n, 8) array}}``. The classes are HOI classes of
    HICO-DET or SWIG-HOI. :class:`SwigHoi` reads files in which the predictions of these detectors
    are grouped by image.
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
        """Return HICO-DET if the file lists each of its 600 classes, SWIG-HOI if it lists more."""
        classes = [int(key) for key in content.value.get(_SCORES, content.value) if _is_class(key)]
        if len(classes) == HICO_CLASSES and max(classes) - min(classes) == HICO_CLASSES - 1:
            return "hico-det"
        return "swig-hoi" if max(classes, default=0) > HICO_CLASSES else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        file, value = content.file, content.value
        if kind == "predictions":
            classes: Sequence[Any] = list(dict.fromkeys(chain.from_iterable(value.values())))
            by_class = [
                {name: part[hoi] for name, part in value.items() if hoi in part} for hoi in classes
            ]
            images = Images(file, by_class, key_names(classes), content.size, "HOI class")
            table = images.columns(_COLUMNS, "prediction")
            image, score = table.integers(_KEYS, 0), table.numbers(_SCORES)
        else:
            parts = [(hoi, *part) for hoi, images in value.items() for part in images.items()]
            classes, numbers, lists = zip(*parts, strict=True) if parts else ((), (), ())
            by_image = [{_BOXES: rows} for rows in lists]
            images = Images(file, by_image, key_names(numbers), content.size)
            table = images.columns([_BOXES], "triplet")
            image = table_of(file, "image", list(numbers)).integers(None, 0)[table.rows.image]
            score = np.zeros(len(image))
        hoi = table_of(file, "HOI class", classes).integers(None, 0)[table.rows.image]
        return _scenes(
            file,
            _BOXES,
            (hoi, image, table.vectors(_BOXES, _EIGHT, _NO_BOXES), score),
            options,
            numbered=True,
            scored=kind == "predictions",
        )


class Converted(Format):
    """Read the files of GEN-VLKT's converter for the MATLAB evaluator: ``detections_XX.mat``.

    As in :mod:`diaghoi.formats.hico_mat`, there is one file per object, numbered from one in COCO
    order. However, ``all_boxes`` lists predictions: rows of five cells with the human box, the
    object box, the image number, the class (its index among the object's classes in official order,
    from 0), and the score times 1000.
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
        except InputError:  # the format of :mod:`hico_mat`, tried next, reports the problem
            return None
        return "predictions" if tuple(np.size(cell) for cell in row) == _CELLS else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        words, folder = options.vocabulary, content.file
        check_complete(folder, content.value, len(words.objects))
        tables = {number: _cells(path) for number, path in sorted(content.value.items())}
        needed = {number: int(table[:, 9].max(initial=-1)) + 1 for number, table in tables.items()}
        objects = objects_of_files(folder, needed, words, options.objects, all_classes=False)
        parts = []
        for number, table in tables.items():
            image, place = table[:, 8:10].astype(np.int64).T
            hoi = np.flatnonzero(words.class_object == objects[number])[place]
            parts.append((hoi, image, table[:, :_EIGHT], table[:, 10]))
        return _scenes(folder, "all_boxes", _joined(parts), options, scale=_SCALE)


def _cells(path: Path) -> FloatArray:
    """Read the rows of a file as (rows, 11) numbers."""
    cells: Array = read_variable(path, "all_boxes")
    if not cells.size:
        return np.zeros((0, sum(_CELLS)))
    rows = Rows(str(path), (), "all_boxes", np.array([len(cells)]))
    numbers = np.concatenate([np.ravel(cell) for row in cells for cell in row])
    real = numbers.dtype.kind in "biuf"
    for number, row in enumerate(cells):
        real_row = real or np.concatenate([np.ravel(cell) for cell in row]).dtype.kind in "biuf"
        if tuple(map(np.size, row)) != _CELLS or not real_row:
            problem = "is not two boxes, the image, the class and the score, as real numbers"
            raise rows.error(number, "", problem)
    values = numbers.astype(np.float64).reshape(-1, sum(_CELLS))
    for column, name in ((8, "image"), (9, "class")):
        check_whole(rows, values[:, column], name, 0)
    return values


_Columns = Sequence[Any]


def _joined(parts: Iterable[_Columns]) -> _Columns:
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def _scenes(
    file: str,
    field: str,
    columns: _Columns,
    options: Options,
    *,
    names: Sequence[str] | None = None,
    numbered: bool = False,
    scored: bool = True,
    scale: float = 1.0,
    notes: Sequence[str] = (),
) -> Scenes:
    """Sort triplets by image, then by descending score, then by class.

    The columns are class, image, both boxes, score, and optionally the scores of the human box,
    object box and action. The number of an image is the number in the image name or, if ``names``
    is given, the index of the image in ``names``.
    """
    order = np.lexsort((columns[0], -columns[3], columns[1]))
    hoi, image, boxes, score, *others = (column[order] for column in columns)
    del columns
    if names is None:
        numbers, count = np.unique(image, return_counts=True)
        names = list(map(str, numbers.tolist()))
    else:
        count = np.bincount(image, minlength=len(names))
    flat = Flat(Rows(file, names, field, count), options, notes=notes)
    return flat.scenes(
        _sides(boxes),
        hoi=flat.classes(hoi, score) if numbered else hoi,
        score=score / scale if scored else None,
        box_scores=(others[0], others[1]) if others else None,
        action_score=others[2] if others else None,
    )


def _sides(boxes: FloatArray) -> dict[str, FloatArray]:
    return {"human": boxes[:, :4], "object": boxes[:, 4:_EIGHT]}


def _is_class(key: Any) -> bool:
    return type(key) is int or (isinstance(key, str) and key.isdecimal() and len(key) <= _DIGITS)


class SwigHoi(Format):
    """Read SWIG-HOI's annotations, and predictions by image (SWIG-HOI, CMD-SE, THID).

    Annotations are a list of one dict per image: ``img_id`` (or ``file_name``), ``box_annotations``
    (``{bbox, category_id}``) and ``hoi_annotations`` (``{subject_id, object_id, action_id}``),
    where subject and object are box indices within the image; optionally ``width`` and ``height``.
    Predictions are ``{image: [[HOI id, score, 8 box numbers], ...]}``; image numbers may also be
    strings. CMD-SE and INP-CC also write predictions for HICO-DET, with its 600 HOI classes, in
    this layout: if images are named by numbers, a file may be for HICO-DET or for SWIG-HOI. THID's
    ``hico_interaction_results.pkl`` is a list indexed by image number, with rows of eleven numbers:
    HOI id, human box, object box, score, running number. Rows of ten and of eleven numbers are read
    both from dicts and from lists.
    """

    name = "swig-hoi"
    title = "SWIG-HOI's annotations, and predictions by image (SWIG-HOI, CMD-SE, THID)"
    kinds = ("annotations", "predictions")
    keys = ("img_id", "box_annotations", "hoi_annotations")
    marks = ("box_annotations", "hoi_annotations")

    def recognise(self, content: Content) -> Kind | None:
        listed = content.plain and _width(_rows_by_image(content)) in _PLACES
        return super().recognise(content) or ("predictions" if listed else None)

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
            # Rows are repeated far beyond the size of the file; the reader rejects the file.
            return Doubts()
        rows = chain.from_iterable(images)
        first = (row[0] for row in rows if is_list(row) and len(row) in _PLACES)
        if any(isinstance(hoi, int | float) and hoi > HICO_CLASSES for hoi in first):
            return Doubts()
        return Doubts(either=("hico-det", "swig-hoi"))

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        if kind == "annotations":
            return _swig_annotations(content, options)
        by_image, file = _rows_by_image(content), content.file
        names = check_names(file, list(by_image), "image").tolist()
        parts = [{"rows": rows} for rows in by_image.values()]
        table = Images(file, parts, names, content.size).columns(["rows"], "row")
        width = _width(by_image)
        score_place, first = _PLACES[width]
        values = table.vectors("rows", width, f"is not a row; give {_ROWS[width]}")
        flat, score = Flat(table.rows, options), values[:, score_place]
        hoi = flat.classes(check_whole(table.rows, values[:, 0], "HOI class"), score)
        return flat.scenes(_sides(values[:, first:]), hoi=hoi, score=score)


def _rows_by_image(content: Content) -> dict[Any, Any]:
    """Return the rows by image. Lists are indexed by image number; empty entries have no rows."""
    value = content.value
    if isinstance(value, list | tuple) and not content.first:
        return {place: rows for place, rows in enumerate(value) if not is_list(rows) or len(rows)}
    return value if isinstance(value, dict) else {}


def _width(images: dict[Any, Any]) -> int:
    """Count the values in the first row of the first image that has rows; 0 for other content.

    Rows of eleven values may also begin with something other than a class.
    """
    first: Any = next((rows[0] for rows in images.values() if is_list(rows) and len(rows)), None)
    if not is_list(first) or (len(first) and isinstance(first[0], str)):
        return 0
    return len(first)


def _is_number(name: Any) -> bool:
    return name.isdigit() if isinstance(name, str) else type(name) is int and name >= 0


def _swig_annotations(content: Content, options: Options) -> Scenes:
    layout = ListLayout(
        name="img_id" if "img_id" in content.first else "file_name",
        boxes="box_annotations",
        triplets="hoi_annotations",
        verb="action_id",
        scored=False,
        objects=options.vocabulary.name,
        numbers=TripletNumbers("verb", 0),
    )
    scenes = read_listed(content, layout, options)
    sizes = [(row.get("width", 0), row.get("height", 0)) for row in content.value]
    if not all(type(length) is int and 0 <= length <= EXACT for size in sizes for length in size):
        return scenes
    return replace(scenes, sizes=np.array(sizes, dtype=np.int64).reshape(-1, 2))


_BOUNDS, _BOXES_SCORES = "start_end_ids", "human_obj_boxes_scores"
_NINE = 9


class VsgNet(Format):
    """Read the results of VSGNet, SCG and no_frills: each image's rows, sorted by HOI class.

    A dict from image to ``human_obj_boxes_scores``, (n, 9) or wider: human box, object box, score;
    and ``start_end_ids``, (600, 2): the first row of each class, and one past its last row. The
    keys come from no_frills' HDF5 files. A row may belong to several classes or to none.
    """

    name = "vsgnet"
    title = "rows of an image sorted by HOI class (VSGNet, no_frills)"
    kinds = ("predictions",)
    keys = (_BOUNDS, _BOXES_SCORES)
    marks = keys
    only = "hico-det"

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        images = Images.of(content, content.value, "filename")
        classes, total, parts = len(options.vocabulary), 0, []
        for place, image in enumerate(images.rows):
            where = f"{content.file}: {image_name(images.names, place)}"
            rows = _matrix(where, image, _BOXES_SCORES, _NINE, wider=True)
            bounds = _matrix(where, image, _BOUNDS, 2)
            start, stop = bounds[:, 0], bounds[:, 1]
            right = (bounds == np.floor(bounds)).all() and (start >= 0).all()
            fits = right and (stop >= start).all() and (stop <= len(rows)).all()
            if not fits or len(bounds) != classes:
                problem = f"give {classes} pairs of row bounds, from 0 to {len(rows)}"
                raise InputError(f"{where}: {_BOUNDS}: {problem}")
            count: IntArray = (stop - start).astype(np.int64)
            total += int(count.sum())
            check_amount(content.file, _BOUNDS, total, content.size)
            classed = np.repeat(np.arange(classes), count)
            # Rows of a class are consecutive.
            first = start.astype(np.int64) - np.cumsum(count) + count
            row = first[classed] + np.arange(len(classed))
            image_of_row = np.full(len(row), place)
            parts.append((classed, image_of_row, rows[row, :_EIGHT], rows[row, _EIGHT]))
        file, names, notes = content.file, images.names, images.notes
        return _scenes(file, _BOXES_SCORES, _joined(parts), options, names=names, notes=notes)


def _matrix(where: str, record: Any, key: str, width: int, *, wider: bool = False) -> FloatArray:
    """Return rows of ``width`` numbers, or wider rows if allowed and the first row is wider."""
    value = lists_of(where, record, [key])[key]
    if not len(value):
        return np.zeros((0, width))
    columns = max(width, len(value[0])) if wider and is_list(value[0]) else width
    numbers = rows_of_numbers(value, columns)
    if numbers is None:
        raise InputError(f"{where}: {key}: is {shown(value)}; give rows of {width} numbers")
    return numbers


_IDN_KEYS = ("keys", "bboxes", "scores", "hdet", "odet")


class Idn(Format):
    """Read the results of IDN: ``result.pkl``, lists by object.

    A dict of lists with one entry for each of the 80 objects in COCO order: ``keys`` (n,), the
    image number of each pair; ``bboxes`` (n, 8), its human and object boxes; ``scores`` (n, k) for
    the object's k HOI classes in official order, multiplied by both box scores, which are ``hdet``
    and ``odet`` (n,); and ``sel``, the pairs that count for each of the 600 classes, or None if all
    of them count. The separate verb score is the score divided by the box scores.
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
        lists = lists_of(file, value, _IDN_KEYS)
        check_lengths(file, lists | {words.name: words.objects}, "object")
        by_object = [
            dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)
        ]
        objects = Images(file, by_object, words.objects, content.size, "object")
        pairs = objects.columns(_IDN_KEYS, "pair")
        chosen = value.get("sel")
        if not is_list(chosen) or len(chosen) != len(words):
            chosen = [None] * len(words)
        amount = pairs.rows.count[words.class_object]
        of_class = [
            {"sel": np.arange(count) if rows is None else rows}
            for count, rows in zip(amount.tolist(), chosen, strict=True)
        ]
        names = list(map(str, range(len(words))))
        classes = Images(file, of_class, names, content.size, "HOI class")
        table = classes.columns(["sel"], "pair")
        hoi = table.rows.image
        row = check_range(table.rows, table.integers("sel"), amount[hoi], "sel", "pair")
        score, stop = np.empty(len(row)), table.rows.start + table.rows.count
        for place, thing in enumerate(by_object):
            of_object = np.flatnonzero(words.class_object == place).tolist()
            where = f"{file}: object {words.objects[place]!r}"
            scores = _matrix(where, thing, "scores", len(of_object))
            for column, one in enumerate(of_object):
                part = slice(table.rows.start[one], stop[one])
                score[part] = scores[row[part], column]
        pair = row + pairs.rows.start[words.class_object[hoi]]
        boxes = pairs.vectors("bboxes", _EIGHT, _NO_BOXES)
        of_human, of_object = (pairs.numbers(key)[pair] for key in ("hdet", "odet"))
        with np.errstate(all="ignore"):
            both = of_human * of_object
            action = np.where(both > 0, score / both, 0.0)
        image = pairs.integers("keys", 0)[pair]
        columns = hoi, image, boxes[pair], score, of_human, of_object, action
        return _scenes(file, "bboxes", columns, options)
