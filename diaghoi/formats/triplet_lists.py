"""The pickles of CDN and the published diagnosis code: ``gt_wo_nointer.pkl``, ``preds.pkl``.

A list of one dict per image: ``filename``; ``annotations`` or ``predictions``, a list of
``{bbox, category_id}`` (and optionally ``score``); ``hoi_annotation`` or ``hoi_prediction``, a list
of ``{subject_id, object_id, category_id}``, for predictions with ``score`` and optionally
``action_score``. Objects are numbered as COCO-80 with person 0, verbs from 0; boxes are xyxy
counted from zero. Also read as JSON.
"""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np

from diaghoi.data.arrays import runs
from diaghoi.data.scenes import Scenes
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.content import Content
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.numbering import TripletNumbers, numbers_of_files
from diaghoi.formats.output import replacing

_LAYOUTS = {
    "annotations": ListLayout(
        name="filename",
        boxes="annotations",
        triplets="hoi_annotation",
        scored=False,
        objects="coco80",
        numbers=TripletNumbers("verb", 0),
    ),
    "predictions": ListLayout(
        name="filename",
        boxes="predictions",
        triplets="hoi_prediction",
        scored=True,
        objects="coco80",
        numbers=TripletNumbers("verb", 0),
    ),
}


def _recognise(content: Content) -> Kind | None:
    if not content.plain:
        return None
    if isinstance(content.value, list) and not content.value:
        return "predictions"
    if "hoi_prediction" in content.first:
        return "predictions"
    if "hoi_annotation" in content.first and "file_name" not in content.first:
        return "annotations"
    return None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    return read_listed(content, _LAYOUTS[kind], options)


FORMAT = Format(
    name="triplet-lists",
    title="lists of boxes and triplets (CDN, Diag-HOI)",
    kinds=("annotations", "predictions"),
    keys=("filename", "annotations", "hoi_annotation", "predictions", "hoi_prediction"),
    recognise=_recognise,
    read=_read,
    dataset=lambda content: content.benchmark,
)


def write_triplet_lists(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write the pickle of this format, with plain lists and numbers.

    Parameters
    ----------
    path : path
        The file; it appears complete or not at all.
    scenes : Scenes
        Annotations if triplets have no score, else predictions. The format cannot store pairs
        without a triplet, image sizes and ignored people.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    scenes = numbers_of_files(scenes)
    kind = "annotations" if scenes.triplet_score is None else "predictions"
    layout = _LAYOUTS[kind]
    images = []
    columns, rows = _triplet_columns(scenes), _slices(scenes)
    for name, box, triplet in zip(scenes.names.tolist(), *rows, strict=True):
        boxes = {"bbox": scenes.box_xyxy[box], "category_id": scenes.box_label[box]}
        if scenes.box_score is not None:
            boxes["score"] = scenes.box_score[box]
        triplets = {key: column[triplet] for key, column in columns.items()}
        image = {"filename": name} if name else {}
        images.append({**image, layout.boxes: _dicts(boxes), layout.triplets: _dicts(triplets)})
    with replacing(path) as temporary, temporary.open("wb") as stream:
        pickle.dump(images, stream, protocol=4)


def _triplet_columns(scenes: Scenes) -> dict[str, Any]:
    """Columns of the triplets, with boxes counted within their image."""
    start, _ = runs(scenes.box_image, np.arange(len(scenes)))
    offset = start[scenes.triplet_image]
    object_box = scenes.pair_object[scenes.triplet_pair]
    columns: dict[str, Any] = {
        "subject_id": scenes.pair_human[scenes.triplet_pair] - offset,
        "object_id": np.where(object_box < 0, -1, object_box - offset),
        "category_id": scenes.triplet_verb,
        "score": scenes.triplet_score,
        "action_score": scenes.triplet_action_score,
    }
    return {key: column for key, column in columns.items() if column is not None}


def _slices(scenes: Scenes) -> tuple[list[slice], list[slice]]:
    """Return the rows of each image in the box and the triplet table."""
    every = np.arange(len(scenes))
    found = []
    for image in (scenes.box_image, scenes.triplet_image):
        start, count = runs(image, every)
        pairs = zip(start.tolist(), (start + count).tolist(), strict=True)
        found.append([slice(*pair) for pair in pairs])
    return found[0], found[1]


def _dicts(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Turn columns into one dict per row, of plain numbers and lists."""
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
