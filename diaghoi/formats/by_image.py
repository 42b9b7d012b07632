"""Read triplets with both boxes, image by image, under any of the usual key names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import Rows, check_amount, check_lengths, check_names, image_name
from diaghoi.formats.content import Content
from diaghoi.formats.flat import Flat
from diaghoi.formats.named import positions
from diaghoi.formats.numbering import Numbering, TripletNumbers, read_triplets
from diaghoi.formats.records import RecordTable, lists_of

# Possible keys of a triplet's values: lower case, singular, with "box" for "bbox".
_CALLED = {
    "human": ("human_box", "h_box", "sub_box", "subject_box", "person_box", "box_h", "human"),
    "object": ("object_box", "o_box", "obj_box", "box_o", "box_obj"),
    "hoi": ("hoi_id", "hoi", "hoi_class", "hoi_label", "hoi_category_id", "hoi_category"),
    "verb": ("verb", "verb_id", "verb_label", "verb_class", "action", "action_id", "action_label"),
    "category": (
        *("object", "object_label", "object_class", "object_category", "object_category_id"),
        *("obj_label", "obj_class", "obj_category", "o_label", "object_id", "obj_id"),
    ),
    "score": ("score", "hoi_score", "confidence", "conf", "prob"),
    "action_score": ("action_score", "verb_score", "interaction_score"),
    "human_score": ("human_score", "h_score", "sub_score", "person_score"),
    "object_score": ("object_score", "o_score", "obj_score"),
}
_CALLED_AS = {name: role for role, names in _CALLED.items() for name in names}


class ByImage(Format):
    """Read triplets with two boxes, an HOI class and a score, in a dict or a list by image.

    The file is a dict by image name or a list with one entry per image. Each entry is a list with
    one dict per triplet: both boxes, the HOI class (or verb and object, as numbers or names) and,
    in predictions, a score. Entries may also be dicts of lists with one value per triplet. Keys may
    have any of the usual names (``sub_bbox``, ``h_box``, ``human_boxes``); boxes are zero-based
    xyxy, and HOI classes, verbs and objects are numbered from zero unless the triplets show
    otherwise. Boxes of an image with the same coordinates and category are merged.
    """

    name = "by-image"
    title = "triplets by image with both boxes, under any of the usual names"
    kinds = ("predictions", "annotations")
    keys = ("hoi_id", "sub_bbox", "obj_bbox", "score")

    def recognise(self, content: Content) -> Kind | None:
        if not content.plain:
            return None
        keys = _keys(_first_row(content.value))
        if not {"human", "object"} <= keys.keys():
            return None
        if "hoi" not in keys and not {"verb", "category"} <= keys.keys():
            return None
        return "predictions" if "score" in keys else "annotations"

    def dataset(self, content: Content) -> str | None:
        first = next(iter(_images(content)[0]), "")
        return "hico-det" if isinstance(first, str) and first.startswith("HICO_") else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        (labels, images), keys = _images(content), _keys(_first_row(content.value))
        named = isinstance(content.value, dict) or "filename" in content.first
        names = check_names(content.file, labels, "image").tolist()
        if not named:
            names = [""] * len(images)
        lists, total = [], 0
        for place, rows in enumerate(images):
            where = f"{content.file}: {image_name(names, place)}"
            part = rows.values() if isinstance(rows, dict) else [rows]
            total += max(
                (len(values) for values in part if isinstance(values, list | tuple)), default=0
            )
            # Check the amount before copying, because a pickle can refer to the same list any
            # number of times.
            check_amount(content.file, "triplet", total, content.size)
            lists.append(_rows(where, rows))
        count = np.array([len(rows) for rows in lists], dtype=np.int64)
        table = RecordTable(lists, Rows(content.file, names, "triplet", count))
        flat = Flat(table.rows, options)
        if not named:
            flat.notes.append(f"{content.file}: images have no names, so files are joined by index")
        boxes = {keys[side]: table.boxes(keys[side]) for side in ("human", "object")}
        scores = {
            role: table.scores(keys[role])
            for role in ("score", "action_score", "human_score", "object_score")
            if role in keys
        }
        both = "human_score" in scores and "object_score" in scores
        return flat.scenes(
            boxes,
            score=scores.get("score"),
            action_score=scores.get("action_score") if kind == "predictions" else None,
            box_scores=(scores["human_score"], scores["object_score"]) if both else None,
            **_meaning(flat, table, keys, scores.get("score")),
        )


def _images(content: Content) -> tuple[list[Any], list[Any]]:
    """Return the image names, or their indices in a list, and the triplets of each image."""
    value = content.value
    if isinstance(value, dict):
        return list(value), list(value.values())
    names = [
        image.get("filename", n) if isinstance(image, dict) else n for n, image in enumerate(value)
    ]
    return names, list(value)


def _first_row(value: Any) -> Mapping[Any, Any]:
    """Return the first triplet of a file, or the columns of its first image; empty if none."""
    images = value.values() if isinstance(value, dict) else value
    for image in images if isinstance(value, dict | list | tuple) else ():
        if isinstance(image, dict):
            lists = all(
                isinstance(part, list | tuple | np.ndarray | str) for part in image.values()
            )
            return image if lists else {}
        if not isinstance(image, list | tuple):
            return {}
        if image:
            return image[0] if isinstance(image[0], dict) else {}
    return {}


def _keys(row: Mapping[Any, Any]) -> dict[str, str]:
    """Find the key of each value of a triplet."""
    keys: dict[str, str] = {}
    for key in row:
        name = key.lower().replace("bbox", "box") if isinstance(key, str) else ""
        name = name.replace("boxes", "box")
        role = _CALLED_AS.get(name, _CALLED_AS.get(name.removesuffix("s")))
        if role is not None:
            keys.setdefault(role, key)
    return keys


def _rows(where: str, rows: Any) -> Sequence[Any]:
    """Return the triplets of an image as a list of dicts."""
    if isinstance(rows, list | tuple):
        return rows
    given = rows.items() if isinstance(rows, dict) else ()
    columns = lists_of(where, rows, [key for key, part in given if not isinstance(part, str)])
    check_lengths(where, columns, "triplet")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _meaning(flat: Flat, table: RecordTable, keys: dict[str, str], score: Any) -> dict[str, Any]:
    """Return the HOI class of each triplet, or its object category and verb."""
    if "hoi" in keys:
        numbers = table.integers(keys["hoi"])
        return {"hoi": flat.classes(numbers, score, keys["hoi"])}
    vocabulary, options = flat.options.vocabulary, flat.options
    numbering = Numbering.usual(options, predictions=score is not None)
    first: dict[str, Any] = next(chain.from_iterable(table.lists), {})
    if isinstance(first.get(keys["category"]), str):
        category: IntArray = positions(table, keys["category"], vocabulary.objects)
    else:
        labels = table.integers(keys["category"])
        category = numbering.positions(table.rows, labels, keys["category"])
    if isinstance(first.get(keys["verb"]), str):
        return {
            "category": category,
            "verb": positions(table, keys["verb"], vocabulary.verbs),
        }
    category, verb, notes = read_triplets(
        table.rows,
        table.integers(keys["verb"]),
        category,
        score,
        options,
        keys["verb"],
        of_format=TripletNumbers("verb", 0),
        numbering=numbering,
    )
    flat.notes += notes
    return {"category": category, "verb": verb}
