"""Read HICO-DET annotations in JSON, listed by triplet or by HOI class.

Boxes of an image with the same coordinates and category are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, hico_det
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import (
    check_amount,
    check_lengths,
    check_names,
    check_range,
    check_whole,
    shown,
    whole_number,
)
from diaghoi.formats.content import Content, begins
from diaghoi.formats.flat import Flat
from diaghoi.formats.named import positions
from diaghoi.formats.records import Images, RecordTable, lists_of, missing, table_of

_SIDES = "boxes_h", "boxes_o"


class HicoInstances(Format):
    """Read ``instances_test2015.json``: a dict of lists, one entry per image.

    The lists are ``filenames``, ``size`` ([width, height]) and ``annotation`` with ``boxes_h``,
    ``boxes_o``, ``hoi`` (and ``object`` and ``verb``), one entry per triplet. The dict also
    contains the names ``objects`` and ``verbs``, and ``correspondence`` with rows of (HOI id,
    object id, verb id). Objects are numbered alphabetically (HICO-80). Boxes are one-based xyxy.
    """

    name = "hico-instances"
    title = "HICO-DET annotations as one JSON"
    kinds = ("annotations",)
    keys = ("annotation", "filenames", "objects", "verbs", "correspondence")

    def recognise(self, content: Content) -> Kind | None:
        if not content.plain or not isinstance(content.value, dict):
            return None
        known = {"annotation", "correspondence"} <= content.value.keys()
        return "annotations" if known else None

    def dataset(self, content: Content) -> str | None:
        verbs = content.value.get("verbs")
        named = isinstance(verbs, list) and all(isinstance(verb, str) for verb in verbs)
        return "hico-det" if named and tuple(verbs) == hico_det().verbs else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        value, file = content.value, content.file
        keys = self.keys if value.get("size") is None else (*self.keys, "size")
        lists = lists_of(file, value, keys)
        of_images = ("filenames", "annotation", "size")
        check_lengths(file, {key: lists[key] for key in of_images if key in lists}, "image")
        names = check_names(file, lists["filenames"], "filenames").tolist()
        images, sizes = Images(file, lists["annotation"], names, content.size), None
        if "size" in lists:
            lengths = images.single("size", lists["size"])
            pairs = lengths.vectors(None, 2, "is not [width, height]")
            sizes = check_whole(lengths.rows, pairs, "", 0)
        known, classes = _classes(file, lists, options.vocabulary)
        table = images.columns((*_SIDES, "hoi"), "triplet")
        ids = table.integers("hoi")
        row = np.searchsorted(known, ids)
        problem = "it is not in 'correspondence'"
        table.rows.refuse(known[row] != ids, "hoi", lambda n: f"unknown HOI id {ids[n]}; {problem}")
        boxes = {key: table.boxes(key) for key in _SIDES}
        return Flat(table.rows, options, origin=1).scenes(boxes, sizes=sizes, hoi=classes[row])


def _classes(file: str, value: dict[str, Any], vocabulary: Vocabulary) -> tuple[IntArray, IntArray]:
    """Return the HOI ids of the file, followed by an unused id, and the class of each id."""
    objects, verbs = (
        positions(table_of(file, key, value[key]), "", names)
        for key, names in (("objects", vocabulary.objects), ("verbs", vocabulary.verbs))
    )
    table = table_of(file, "correspondence", value["correspondence"])
    numbers = table.vectors(None, 3, "is not an HOI id, an object id and a verb id")
    ids, object_id, verb_id = check_whole(table.rows, numbers, "").T
    check_range(table.rows, object_id, len(objects), "", "object")
    check_range(table.rows, verb_id, len(verbs), "", "verb")
    classes = vocabulary.class_of[objects[object_id], verbs[verb_id]]

    def unknown(bad: int) -> str:
        names = f"{value['verbs'][verb_id[bad]]!r} {value['objects'][object_id[bad]]!r}"
        return f"{vocabulary.name} has no class {names}"

    table.rows.refuse(classes < 0, "", unknown)
    # The ids are sorted, because a dict of many numbers with the same hash would take hours. If an
    # id has several rows, the last row counts.
    ids = np.append(ids[::-1], np.iinfo(np.int64).max)
    known, last = np.unique(ids, return_index=True)
    return known, np.append(classes[::-1], -1)[last]


_NAME, _HOIS, _SIZE, _PAIRS = "global_id", "hois", "image_size", "connections"
_BOXES = ("human_bboxes", "object_bboxes")
_TRAINING = "train2015"


class AnnoList(Format):
    """Read ``anno_list.json`` of no_frills, QAHOI, GGNet, PMN and VSGNet: one dict per image.

    The keys are ``global_id`` (the image name without extension), ``image_size`` (height, width,
    channels) and ``hois``, with one entry per annotated HOI class: ``id`` (from 1, as a number or
    with three digits), ``human_bboxes`` and ``object_bboxes`` (zero-based xyxy), and
    ``connections`` (pairs of indices into these two lists). The file covers both splits of
    HICO-DET. Images of the training split are omitted if the file has other images, as in the
    evaluators of these code bases.
    """

    name = "anno-list"
    title = "HICO-DET annotations by HOI class (no_frills, QAHOI)"
    kinds = ("annotations",)
    keys = (_NAME, _HOIS, *_BOXES, _PAIRS)
    marks = (_NAME, _HOIS)

    def dataset(self, content: Content) -> str | None:
        return "hico-det" if begins(content.first[_NAME], "HICO_") else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        images, notes = Images.of(content, content.value, _NAME), []
        kept = [n for n, name in enumerate(images.names) if _TRAINING not in name]
        if 0 < len(kept) < len(images.rows):
            left_out = len(images.rows) - len(kept)
            notes.append(f"{content.file}: {left_out:,} training images are omitted")
            rows, names = [images.rows[n] for n in kept], [images.names[n] for n in kept]
            images = replace(images, rows=rows, names=names)
        table = connected(images.table(_HOIS), _BOXES, _PAIRS, content.size)
        flat = Flat(table.rows, options, notes=notes)
        hoi = flat.classes(table.integers("id"), None, "id", first=1)
        boxes = {key: table.boxes(key) for key in _BOXES}
        return flat.scenes(boxes, hoi=hoi, sizes=_image_sizes(images))


def connected(
    hois: RecordTable, sides: Sequence[str], connections: str, size: int, *, first: int = 0
) -> RecordTable:
    """Return a table of triplets: the ``id`` and both boxes for each connection of an HOI class.

    Parameters
    ----------
    hois : RecordTable
        The annotated HOI classes of each image.
    sides : two str
        The keys of the lists of human and object boxes.
    connections : str
        The key of the index pairs.
    size : int
        Size of the file in bytes.
    first : int
        The index of the first box.

    Raises
    ------
    InputError
        If an HOI class lacks a key, or an index pair refers to boxes that do not exist.
    """
    rows = hois.rows
    hoi_of: list[int] = []
    triplets: list[dict[str, Any]] = []
    for number, hoi in enumerate(hois):
        lists = lists_of(rows.where(number), hoi, (*sides, connections))
        if "id" not in hoi:
            raise rows.error(number, "", missing(hoi, "id"))
        check_amount(rows.file, connections, len(triplets) + len(lists[connections]), size)
        for pair in lists[connections]:
            try:
                human, object_box = (whole_number(place) - first for place in pair)
                if min(human, object_box) < 0:
                    raise IndexError
                boxes = lists[sides[0]][human], lists[sides[1]][object_box]
            except (TypeError, ValueError, OverflowError, IndexError):
                counts = " and ".join(f"{len(lists[side])} {side}" for side in sides)
                problem = (
                    f"{shown(pair)} is not a human box and an object box, counted from {first}; "
                    f"there are {counts}"
                )
                raise rows.error(number, connections, problem) from None
            triplets.append({"id": hoi["id"], **dict(zip(sides, boxes, strict=True))})
            hoi_of.append(number)
    return RecordTable([triplets], rows.of_rows(hoi_of, connections))


def _image_sizes(images: Images) -> IntArray | None:
    """Return the (N, 2) width and height of each image, or None if any is missing."""
    sizes = [row.get(_SIZE) for row in images.rows]
    try:
        listed = [[whole_number(size[1]), whole_number(size[0])] for size in sizes if size]
    except (TypeError, ValueError, OverflowError, IndexError, KeyError):
        return None
    whole = len(listed) == len(sizes) > 0 and min(map(min, listed)) >= 0
    return np.array(listed, dtype=np.int64) if whole else None
