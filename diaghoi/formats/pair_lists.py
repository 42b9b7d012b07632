"""The pair pickle of the published diagnosis code: which pairs a detector believes to interact.

A list of one dict an image: ``filename`` and ``box_pairs``, a list of ``{h_box, o_box, o_label,
hoi_score_inter}``. Objects are numbered as COCO-80 with person 0, boxes are xyxy counted from zero,
and ``hoi_score_inter`` is the highest score of a real verb. Also read as JSON.
"""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np

from diaghoi.exceptions import InputError
from diaghoi.formats.atomic import replacing
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import check_boxes, check_labels, check_scores
from diaghoi.formats.content import Content
from diaghoi.formats.distinct import distinct_boxes
from diaghoi.formats.records import Images
from diaghoi.ragged import runs
from diaghoi.scenes import Scenes


def _recognise(content: Content) -> Kind | None:
    if content.container not in ("pickle", "json"):
        return None
    return "pairs" if "box_pairs" in content.first else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    """Read pairs and their scores; equal boxes of an image become one box."""
    vocabulary, origin = options.vocabulary, options.origin_or(0)
    images = Images.of(content.file, content.value, "filename")
    pairs = images.table("box_pairs")
    rows = pairs.rows
    human = check_boxes(rows, pairs.boxes("h_box"), "h_box", origin=origin)
    thing = check_boxes(rows, pairs.boxes("o_box"), "o_box", origin=origin)
    label = check_labels(
        rows, pairs.integers("o_label"), vocabulary, "o_label", options.objects or "coco80"
    )
    score = check_scores(rows, pairs.numbers("hoi_score_inter"), "hoi_score_inter")

    # Human and object in turn, so that the boxes stand in the order in which the file has them.
    image = np.repeat(rows.image, 2)
    xyxy = np.stack([human, thing], axis=1).reshape(-1, 4)
    labels = np.stack([np.full_like(label, vocabulary.person), label], axis=1).reshape(-1)
    first, box = distinct_boxes(image, labels, xyxy)
    return Scenes(
        vocabulary=vocabulary,
        names=np.array(images.names, dtype=np.str_),
        box_image=image[first],
        box_xyxy=xyxy[first],
        box_label=labels[first],
        pair_human=box[0::2],
        pair_object=box[1::2],
        pair_score=score,
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
)


def write_pair_lists(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write the pickle of this format, with plain lists and numbers.

    Parameters
    ----------
    path : path
        The file; it appears complete or not at all.
    scenes : Scenes
        Predictions whose detector lists pairs; pairs that only triplets mention are left out.

    Raises
    ------
    InputError
        Where the scenes have no list of pairs, or the file cannot be written.
    """
    if scenes.pair_score is None:
        raise InputError(
            f"{scenes.source or 'predictions'}: no list of pairs, so there is no pair file to "
            "write; read the predictions together with their pair file (--pairs)"
        )
    listed = np.flatnonzero(scenes.listed)
    human, thing = scenes.pair_human[listed], scenes.pair_object[listed]
    start, count = runs(scenes.pair_image[listed], np.arange(len(scenes)))
    columns = (
        scenes.box_xyxy[human],
        scenes.box_xyxy[thing],
        scenes.box_label[thing],
        scenes.pair_score[listed],
    )
    images = []
    for name, first, rows in zip(scenes.names.tolist(), start, count, strict=True):
        part = (column[first : first + rows].tolist() for column in columns)
        pairs: list[dict[str, Any]] = [
            {"h_box": h, "o_box": o, "o_label": label, "hoi_score_inter": score}
            for h, o, label, score in zip(*part, strict=True)
        ]
        images.append({"filename": name, "box_pairs": pairs} if name else {"box_pairs": pairs})
    with replacing(path) as temporary, temporary.open("wb") as stream:
        pickle.dump(images, stream, protocol=4)
