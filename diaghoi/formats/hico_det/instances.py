"""HICO-DET annotations as one JSON: ``instances_test2015.json``.

A dict of lists, one entry per image: ``filenames``, ``size`` ([width, height]) and ``annotation``
with ``boxes_h``, ``boxes_o``, ``hoi`` (and ``object`` and ``verb``), one entry per triplet; beside
them the names ``objects`` and ``verbs``, and ``correspondence``, the rows (HOI id, object id, verb
id). Objects are numbered alphabetically (HICO-80). Boxes are xyxy counted from one, and repeated in
every triplet: boxes with the same coordinates and category in one image are one box.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, hico_det
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import (
    Rows,
    check_boxes,
    check_names,
    image_name,
    shown,
    whole_number,
)
from diaghoi.formats.content import Content
from diaghoi.formats.flat import from_repeated
from diaghoi.formats.records import Images, RecordTable

_KEYS = ("annotation", "filenames", "objects", "verbs", "correspondence")


def _recognise(content: Content) -> Kind | None:
    if not content.plain or not isinstance(content.value, dict):
        return None
    return "annotations" if {"annotation", "correspondence"} <= content.value.keys() else None


def _dataset(content: Content) -> str | None:
    verbs = content.value.get("verbs")
    if not (isinstance(verbs, list) and all(isinstance(verb, str) for verb in verbs)):
        return None
    return "hico-det" if verbs == list(hico_det().verbs) else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    value, file = content.value, content.file
    for key in _KEYS:
        if not isinstance(value.get(key), list):
            problem = "is not a list" if key in value else "is missing"
            raise InputError(f"{file}: the key {key!r} {problem}; it belongs to this format")
    names = check_names(file, value["filenames"], "filenames")
    if len(names) != len(value["annotation"]):
        raise InputError(
            f"{file}: 'filenames' has {len(names)} images and 'annotation' "
            f"{len(value['annotation'])}; both need one entry per image"
        )
    classes = _classes(file, value, options.vocabulary)
    images = _images(content, value["annotation"], names.tolist())
    tables = {key: images.table(key) for key in ("boxes_h", "boxes_o", "hoi")}
    _check_equal_counts(tables)
    hoi = _hoi(tables["hoi"], *classes)
    origin = options.origin_or(1)
    human, object_box = (
        check_boxes(tables[key].rows, options.corners(tables[key].boxes()), "", origin=origin)
        for key in ("boxes_h", "boxes_o")
    )
    return from_repeated(
        options.vocabulary,
        names=names,
        sizes=_sizes(file, value.get("size"), names.tolist()),
        image=tables["hoi"].rows.image,
        human=human,
        object_box=object_box,
        hoi=hoi,
        source=file,
    )


def _images(content: Content, rows: list[Any], names: list[str]) -> Images:
    bad = next((n for n, row in enumerate(rows) if not isinstance(row, dict)), -1)
    if bad >= 0:
        raise InputError(
            f"{content.file}: {image_name(names, bad)}: annotation: is {shown(rows[bad])}; give a "
            "dict"
        )
    return Images(content.file, rows, names, content.size)


def _check_equal_counts(tables: dict[str, RecordTable]) -> None:
    hoi = tables["hoi"].rows
    for key, table in tables.items():
        if (table.rows.count != hoi.count).any():
            bad = int(np.argmax(table.rows.count != hoi.count))
            raise InputError(
                f"{hoi.file}: {image_name(hoi.names, bad)}: {key}: has "
                f"{table.rows.count[bad]} entries, but 'hoi' has {hoi.count[bad]}; both need one "
                "entry per triplet"
            )


def _positions(file: str, key: str, names: list[Any], known: tuple[str, ...]) -> IntArray:
    """Position in the vocabulary of each name that the file lists."""
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
    """HOI ids of the file, ascending, and the class of the vocabulary of each, matched by name."""
    objects = _positions(file, "objects", value["objects"], vocabulary.objects)
    verbs = _positions(file, "verbs", value["verbs"], vocabulary.verbs)
    ids, classes = [], []
    for row in value["correspondence"]:
        try:
            hoi, object_id, verb_id = map(whole_number, row)
            if object_id < 0 or verb_id < 0:
                raise IndexError
            found = int(vocabulary.class_of[objects[object_id], verbs[verb_id]])
        except (TypeError, ValueError, IndexError):
            raise InputError(
                f"{file}: correspondence: {shown(row)} is not an HOI id, an object id and a verb id"
            ) from None
        if found < 0:
            raise InputError(
                f"{file}: correspondence: {shown(row)}: {vocabulary.name} has no class "
                f"{value['verbs'][verb_id]!r} {value['objects'][object_id]!r}"
            )
        ids.append(hoi)
        classes.append(found)
    # Sorted, not a dict: many numbers with one hash would take hours. The last of each id counts.
    known, last = np.unique(np.array(ids[::-1], dtype=np.int64), return_index=True)
    return known, np.array(classes[::-1], dtype=np.int64)[last]


def _hoi(table: RecordTable, known: IntArray, classes: IntArray) -> IntArray:
    """Translate HOI ids to classes of the vocabulary."""
    ids = table.integers()
    position = np.minimum(np.searchsorted(known, ids), max(len(known) - 1, 0))
    unknown = known[position] != ids if len(known) else np.ones(len(ids), dtype=bool)
    if unknown.any():
        bad = int(np.argmax(unknown))
        raise table.rows.error(
            bad, "", f"unknown HOI id {int(ids[bad])}; it is not in 'correspondence'"
        )
    return classes[position]


def _sizes(file: str, sizes: Any, names: list[str]) -> IntArray | None:
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


FORMAT = Format(
    name="hico-instances",
    title="HICO-DET annotations as one JSON",
    kinds=("annotations",),
    keys=_KEYS,
    recognise=_recognise,
    read=_read,
    dataset=_dataset,
)
