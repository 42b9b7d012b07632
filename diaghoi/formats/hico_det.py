"""The annotations of HICO-DET as JSON: by triplet, and by HOI class.

Boxes with the same coordinates and category in one image are one box.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, hico_det
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import Rows, check_names, image_name, key_names, shown, whole_number
from diaghoi.formats.content import Content, begins
from diaghoi.formats.flat import Flat
from diaghoi.formats.records import Images, RecordTable

_SIDES = "boxes_h", "boxes_o"


class HicoInstances(Format):
    """Read ``instances_test2015.json``: a dict of lists, one entry per image.

    ``filenames``, ``size`` ([width, height]) and ``annotation`` with ``boxes_h``, ``boxes_o``,
    ``hoi`` (and ``object`` and ``verb``), one entry per triplet; beside them the names ``objects``
    and ``verbs``, and ``correspondence``, the rows (HOI id, object id, verb id). Objects are
    numbered alphabetically (HICO-80). Boxes are xyxy counted from one.
    """

    name = "hico-instances"
    title = "HICO-DET annotations as one JSON"
    kinds = ("annotations",)
    keys = ("annotation", "filenames", "objects", "verbs", "correspondence")

    def recognise(self, content: Content) -> Kind | None:
        """Look for the annotations and the rows that number HOI classes."""
        if not content.plain or not isinstance(content.value, dict):
            return None
        known = {"annotation", "correspondence"} <= content.value.keys()
        return "annotations" if known else None

    def dataset(self, content: Content) -> str | None:
        """Name HICO-DET if the verbs are its own."""
        verbs = content.value.get("verbs")
        named = isinstance(verbs, list) and all(isinstance(verb, str) for verb in verbs)
        return "hico-det" if named and tuple(verbs) == hico_det().verbs else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        """Read triplets, whose classes are matched by the names of their object and verb."""
        value, file = content.value, content.file
        for key in self.keys:
            if not isinstance(value.get(key), list):
                problem = "is not a list" if key in value else "is missing"
                raise InputError(f"{file}: the key {key!r} {problem}; it belongs to this format")
        names, annotations = check_names(file, value["filenames"], "filenames"), value["annotation"]
        if len(names) != len(annotations):
            raise InputError(
                f"{file}: 'filenames' has {len(names)} images and 'annotation' "
                f"{len(annotations)}; both need one entry per image"
            )
        known, classes = _classes(file, value, options.vocabulary)
        images = Images(file, annotations, names.tolist(), content.size)
        table = images.columns({key: key for key in (*_SIDES, "hoi")}, "triplet")
        ids = table.integers("hoi")
        row = np.searchsorted(known, ids)
        if (known[row] != ids).any():
            bad = int(np.argmax(known[row] != ids))
            problem = f"unknown HOI id {int(ids[bad])}; it is not in 'correspondence'"
            raise table.rows.error(bad, "hoi", problem)
        boxes = {key: table.boxes(key) for key in _SIDES}
        sizes = _instance_sizes(images, value.get("size"))
        return Flat(table.rows, options, origin=1).scenes(boxes, sizes=sizes, hoi=classes[row])


def _positions(file: str, key: str, names: list[Any], known: tuple[str, ...]) -> IntArray:
    """Return the position in the vocabulary of each name that the file lists."""
    number = {name: n for n, name in enumerate(known)}
    # Other values than strings may not be hashable.
    unknown = [name for name in names if not (isinstance(name, str) and name in number)]
    if unknown:
        raise InputError(
            f"{file}: {key}: unknown name {shown(unknown[0])}"
            f"{close_matches(str(unknown[0]), known)}; the file belongs to another data set"
        )
    return np.array([number[name] for name in names], dtype=np.int64)


def _classes(file: str, value: dict[str, Any], vocabulary: Vocabulary) -> tuple[IntArray, IntArray]:
    """Return the HOI ids of the file, ascending up to one that no file has, and their classes."""
    objects = _positions(file, "objects", value["objects"], vocabulary.objects)
    verbs = _positions(file, "verbs", value["verbs"], vocabulary.verbs)
    ids, classes = [np.iinfo(np.int64).max], [-1]
    for row in value["correspondence"]:
        try:
            hoi, object_id, verb_id = map(whole_number, row)
            if object_id < 0 or verb_id < 0:
                raise IndexError
            place = int(vocabulary.class_of[objects[object_id], verbs[verb_id]])
        except (TypeError, ValueError, IndexError):
            raise InputError(
                f"{file}: correspondence: {shown(row)} is not an HOI id, an object id and a verb id"
            ) from None
        if place < 0:
            raise InputError(
                f"{file}: correspondence: {shown(row)}: {vocabulary.name} has no class "
                f"{value['verbs'][verb_id]!r} {value['objects'][object_id]!r}"
            )
        ids.append(hoi)
        classes.append(place)
    # Sorted, not a dict: many numbers with one hash would take hours. The last of each id counts.
    known, last = np.unique(np.array(ids[::-1], dtype=np.int64), return_index=True)
    return known, np.array(classes[::-1], dtype=np.int64)[last]


def _instance_sizes(images: Images, sizes: Any) -> IntArray | None:
    """Return the (N, 2) width and height of each image, None where the file has no sizes."""
    file, names = images.file, images.names
    if sizes is None:
        return None
    if not isinstance(sizes, list) or len(sizes) != len(names):
        raise InputError(f"{file}: size: is {shown(sizes)}; give [width, height] for each image")
    for n, size in enumerate(sizes):
        if not (isinstance(size, list) and len(size) == 2):
            raise InputError(
                f"{file}: {image_name(names, n)}: size: {shown(size)} is not [width, height]"
            )
    rows = Rows(file, names, "size", np.full(len(names), 2))
    return RecordTable(sizes, rows).integers().reshape(-1, 2)


_NAME, _HOIS, _SIZE, _PAIRS = "global_id", "hois", "image_size", "connections"
_BOXES = ("human_bboxes", "object_bboxes")
_TRAINING = "train2015"


class AnnoList(Format):
    """Read ``anno_list.json`` of no_frills, QAHOI, GGNet, PMN and VSGNet: one dict per image.

    ``global_id`` (the name of the image without its ending), ``image_size`` (height, width,
    channels) and ``hois``, one entry per annotated HOI class: ``id`` (from 1, as a number or with
    three digits), ``human_bboxes`` and ``object_bboxes`` (xyxy counted from zero), and
    ``connections``, pairs of positions in these two lists. It holds both splits of HICO-DET; images
    of the training split are left out where the file has others, as in the evaluators of these code
    bases.
    """

    name = "anno-list"
    title = "HICO-DET annotations by HOI class (no_frills, QAHOI)"
    kinds = ("annotations",)
    keys = (_NAME, _HOIS, *_BOXES, _PAIRS)

    def recognise(self, content: Content) -> Kind | None:
        """Look for the keys of an image."""
        return "annotations" if content.plain and {_NAME, _HOIS} <= content.first.keys() else None

    def dataset(self, content: Content) -> str | None:
        """Name HICO-DET if the first image is called after it."""
        return "hico-det" if begins(content.first[_NAME], "HICO_") else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        """Read a triplet for each connection of a class."""
        images, notes = Images.of(content, content.value, _NAME), []
        kept = [n for n, name in enumerate(images.names) if _TRAINING not in name]
        if 0 < len(kept) < len(images.rows):
            left_out = len(images.rows) - len(kept)
            notes.append(f"{content.file}: {left_out:,} training images are left out")
            rows, names = [images.rows[n] for n in kept], [images.names[n] for n in kept]
            images = replace(images, rows=rows, names=names)
        pairs_of_images = [
            {_PAIRS: [pair for k, hoi in enumerate(hois) for pair in _pairs(images, n, k, hoi)]}
            for n, hois in enumerate(images.table(_HOIS).lists)
        ]
        pairs = replace(images, rows=pairs_of_images).table(_PAIRS)
        flat = Flat(pairs.rows, options, notes=notes)
        hoi = flat.classes(pairs.integers("id"), None, "id", first=1)
        boxes = {key: pairs.boxes(key) for key in _BOXES}
        return flat.scenes(boxes, hoi=hoi, sizes=_image_sizes(images))


def _pairs(images: Images, image: int, place: int, hoi: Any) -> Iterator[dict[str, Any]]:
    """Give the class and both boxes of each annotated triplet of one class in an image."""
    where = f"{images.file}: {image_name(images.names, image)}: {_HOIS}[{place}]"
    if not isinstance(hoi, dict):
        raise InputError(f"{where}: is {shown(hoi)}; give a dict")
    for key in ("id", *_BOXES, _PAIRS):
        if key not in hoi:
            hint = close_matches(key, key_names(hoi))
            raise InputError(f"{where}: the key {key!r} is missing{hint}")
        if key != "id" and not isinstance(hoi[key], list | tuple):
            raise InputError(f"{where}: {key}: is {shown(hoi[key])}; give a list")
    number = hoi["id"]
    if isinstance(number, str) and number.isdecimal() and len(number) <= len("600"):
        number = int(number)
    for pair in hoi[_PAIRS]:
        try:
            human, object_box = map(whole_number, pair)
            if min(human, object_box) < 0:
                raise IndexError
            boxes = hoi[_BOXES[0]][human], hoi[_BOXES[1]][object_box]
        except (TypeError, ValueError, OverflowError, IndexError):
            counts = " and ".join(f"{len(hoi[key])} {key}" for key in _BOXES)
            raise InputError(
                f"{where}: {_PAIRS}: {shown(pair)} is not a human box and an object box, counted "
                f"from 0; there are {counts}"
            ) from None
        yield {"id": number, **dict(zip(_BOXES, boxes, strict=True))}


def _image_sizes(images: Images) -> IntArray | None:
    """Return the (N, 2) width and height of each image, None where one does not say."""
    sizes = [row.get(_SIZE) for row in images.rows]
    try:
        listed = [[whole_number(size[1]), whole_number(size[0])] for size in sizes if size]
    except (TypeError, ValueError, OverflowError, IndexError, KeyError):
        return None
    return np.array(listed, dtype=np.int64) if len(listed) == len(sizes) > 0 else None
