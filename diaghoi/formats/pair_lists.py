"""The pair pickle of the published diagnosis code: which pairs a detector believes to interact.

A list of one dict per image: ``filename`` and ``box_pairs``, a list of ``{h_box, o_box, o_label,
hoi_score_inter}``. Objects are numbered as COCO-80 with person 0, boxes are xyxy counted from zero,
and ``hoi_score_inter`` is the highest score of a real verb. Also read as JSON.

For V-COCO the images are named by ``image_id``, a box may be wrapped in a list, ``o_label``
is ignored, and ``hoi_score_inter`` may be missing: then the score comes from the triplets
(:mod:`diaghoi.formats.merging`).
"""

from __future__ import annotations

import os
import pickle
from itertools import chain
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, runs
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import check_boxes, check_scores
from diaghoi.formats.content import Content
from diaghoi.formats.flat import PairTables
from diaghoi.formats.numbering import check_labels, numbers_of_files
from diaghoi.formats.output import replacing
from diaghoi.formats.records import Images, RecordTable
from diaghoi.formats.v_coco.keys import image_number


def _recognise(content: Content) -> Kind | None:
    if not content.plain:
        return None
    return "pairs" if "box_pairs" in content.first else None


def _dataset(content: Content) -> str | None:
    if "image_id" in content.first and "filename" not in content.first:
        return "v-coco"
    return content.benchmark


def _images(content: Content, options: Options) -> Images:
    if _dataset(content) != "v-coco" or options.vocabulary.name != "v-coco":
        return Images.of(content, content.value, "filename")
    named = [
        row | {"image_id": image_number(row["image_id"]) or row["image_id"]}
        if isinstance(row, dict) and "image_id" in row
        else row
        for row in content.value
    ]
    return Images.of(content, named, "image_id")


def _nested(row: Any, key: str) -> bool:
    value = row.get(key) if isinstance(row, dict) else None
    if isinstance(value, np.ndarray):
        return value.ndim > 1 and len(value) == 1
    return isinstance(value, list | tuple) and len(value) == 1 and hasattr(value[0], "__len__")


def _boxes(pairs: RecordTable, key: str, options: Options) -> FloatArray:
    """Read boxes, including those wrapped in a list of one."""
    try:
        boxes = pairs.boxes(key)
    except InputError:
        if not any(_nested(row, key) for row in chain(*pairs.lists)):
            raise
        lists = [
            [row | {key: row[key][0]} if _nested(row, key) else row for row in image]
            for image in pairs.lists
        ]
        boxes = RecordTable(lists, pairs.rows).boxes(key)
    return check_boxes(pairs.rows, options.corners(boxes), key, origin=options.origin_or(0))


def _labels(pairs: RecordTable, options: Options) -> IntArray:
    """Read the object categories; V-COCO files number them differently, and never compare them."""
    if options.vocabulary.name == "v-coco" and options.objects is None:
        return np.full(len(pairs.rows), -1, dtype=np.int64)
    return check_labels(
        pairs.rows,
        pairs.integers("o_label"),
        options.vocabulary,
        "o_label",
        options.objects
        or ("coco80" if options.vocabulary.conventions is None else options.vocabulary.name),
    )


def _scores(pairs: RecordTable, options: Options) -> FloatArray | None:
    if options.vocabulary.name == "v-coco" and not pairs.has("hoi_score_inter"):
        return None
    return check_scores(pairs.rows, pairs.numbers("hoi_score_inter"), "hoi_score_inter")


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    """Read pairs and their scores; equal boxes of an image become one box."""
    vocabulary = options.vocabulary
    images = _images(content, options)
    pairs = images.table("box_pairs")
    rows = pairs.rows
    human, object_box = (_boxes(pairs, key, options) for key in ("h_box", "o_box"))
    label = _labels(pairs, options)
    tables = PairTables.of(
        vocabulary, image=rows.image, human=human, object_box=object_box, category=label
    )
    return Scenes(
        vocabulary=vocabulary,
        names=np.array(images.names, dtype=np.str_),
        box_image=tables.box_image,
        box_xyxy=tables.box_xyxy,
        box_label=tables.box_label,
        pair_human=tables.human,
        pair_object=tables.object,
        pair_score=_scores(pairs, options),
        triplet_pair=np.zeros(0, dtype=np.int64),
        triplet_verb=np.zeros(0, dtype=np.int64),
        source=content.file,
        notes=images.notes,
    )


FORMAT = Format(
    name="pair-lists",
    title="lists of scored pairs (Diag-HOI)",
    kinds=("pairs",),
    keys=("filename", "box_pairs"),
    recognise=_recognise,
    read=_read,
    dataset=_dataset,
)


def write_pair_lists(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write the pickle of this format, with plain lists and numbers.

    Parameters
    ----------
    path : path
        The file; it appears complete or not at all.
    scenes : Scenes
        Predictions whose detector lists pairs; pairs that only triplets mention are left out.
        V-COCO images are named by ``image_id``, their number.

    Raises
    ------
    InputError
        If the scenes have no list of pairs, or the file cannot be written.
    """
    if scenes.pair_score is None:
        raise InputError(
            f"{scenes.source or 'predictions'}: no list of pairs, so there is no pair file to "
            "write; read the predictions together with their pair file (--pairs)"
        )
    listed = np.flatnonzero(scenes.listed & (scenes.pair_object >= 0))
    v_coco = scenes.vocabulary.name == "v-coco"
    human, object_box = scenes.pair_human[listed], scenes.pair_object[listed]
    start, count = runs(scenes.pair_image[listed], np.arange(len(scenes)))
    written = numbers_of_files(scenes)
    columns = (
        written.box_xyxy[human],
        written.box_xyxy[object_box],
        written.box_label[object_box],
        scenes.pair_score[listed],
    )
    images = []
    for name, first, rows in zip(scenes.names.tolist(), start, count, strict=True):
        part = (column[first : first + rows].tolist() for column in columns)
        pairs: list[dict[str, Any]] = [
            {"h_box": h, "o_box": o, "o_label": label, "hoi_score_inter": score}
            for h, o, label, score in zip(*part, strict=True)
        ]
        named: dict[str, Any] = {"filename": name} if name else {}
        if v_coco and name.isdigit():
            named = {"image_id": int(name)}
        images.append(named | {"box_pairs": pairs})
    with replacing(path) as temporary, temporary.open("wb") as stream:
        pickle.dump(images, stream, protocol=4)
