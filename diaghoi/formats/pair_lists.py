"""Read the pair pickle of the published diagnosis code: the pairs that a detector finds."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import check_boxes, unwrapped
from diaghoi.formats.content import Content
from diaghoi.formats.flat import pair_tables
from diaghoi.formats.numbering import Numbering, numbers_of_files
from diaghoi.formats.output import rows_of_images, write_pickle
from diaghoi.formats.records import Images, RecordTable
from diaghoi.formats.v_coco import image_number


class PairLists(Format):
    """Read a list with one dict per image: ``filename`` and ``box_pairs``.

    The pairs are a list of ``{h_box, o_box, o_label, hoi_score_inter}``. Objects are numbered as in
    COCO-80 with person 0, boxes are zero-based xyxy, and ``hoi_score_inter`` is the highest score
    of any verb except no interaction. The file may also be JSON.

    For V-COCO, images are named by ``image_id``, boxes may be wrapped in a list, ``o_label`` is
    ignored, and ``hoi_score_inter`` may be missing, in which case the score comes from the triplets
    (:mod:`diaghoi.formats.merging`).
    """

    name = "pair-lists"
    title = "lists of scored pairs (Diag-HOI)"
    kinds = ("pairs",)
    keys = ("filename", "box_pairs")

    def recognise(self, content: Content) -> Kind | None:
        """Look for the list of pairs."""
        return "pairs" if content.plain and "box_pairs" in content.first else None

    def dataset(self, content: Content) -> str | None:
        """Return V-COCO if images have numbers, otherwise the data set of the first image."""
        numbered = "image_id" in content.first and "filename" not in content.first
        return "v-coco" if numbered else content.benchmark

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        """Read pairs and their scores; merge equal boxes of an image."""
        vocabulary, value, key = options.vocabulary, content.value, "filename"
        v_coco = vocabulary.name == "v-coco"
        if v_coco and self.dataset(content) == "v-coco":
            value, key = list(map(_numbered, value)), "image_id"
        images = Images.of(content, value, key)
        pairs = images.table("box_pairs")
        human, object_box = (_boxes(pairs, key, options) for key in ("h_box", "o_box"))
        # V-COCO files number object categories differently, but the V-COCO evaluation never
        # compares categories.
        label: IntArray = np.full(len(pairs.rows), -1, dtype=np.int64)
        if not v_coco or options.objects is not None:
            numbering = Numbering.usual(options)
            label = numbering.positions(pairs.rows, pairs.integers("o_label"), "o_label")
        tables = pair_tables(
            vocabulary, image=pairs.rows.image, human=human, object_box=object_box, category=label
        )
        unscored = v_coco and not pairs.has("hoi_score_inter")
        none: IntArray = np.zeros(0, dtype=np.int64)
        return Scenes(
            vocabulary=vocabulary,
            names=np.array(images.names, dtype=np.str_),
            **tables,
            pair_score=None if unscored else pairs.scores("hoi_score_inter"),
            triplet_pair=none,
            triplet_verb=none,
            source=content.file,
            notes=images.notes,
        )


def _numbered(image: Any) -> Any:
    """Name an image by the COCO number at the end of its name, if there is one."""
    if not isinstance(image, dict) or "image_id" not in image:
        return image
    return image | {"image_id": image_number(image["image_id"]) or image["image_id"]}


def _boxes(pairs: RecordTable, key: str, options: Options) -> FloatArray:
    """Read boxes, which may be wrapped in a list."""
    try:
        boxes = pairs.boxes(key)
    except InputError:
        lists = [
            [
                row | {key: unwrapped(row[key])} if isinstance(row, dict) and key in row else row
                for row in image
            ]
            for image in pairs.lists
        ]
        boxes = RecordTable(lists, pairs.rows).boxes(key)
    return check_boxes(pairs.rows, options.corners(boxes), key, origin=options.origin_or(0))


def write_pair_lists(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write a pickle of this format with plain lists and numbers.

    Parameters
    ----------
    path : path
        The file, which is written completely or not at all.
    scenes : Scenes
        Predictions of a detector that lists pairs; pairs that only triplets use are omitted. V-COCO
        images are named by their number, ``image_id``.

    Raises
    ------
    InputError
        If the scenes have no listed pairs, or the file cannot be written.
    """
    if scenes.pair_score is None:
        raise InputError(
            f"{scenes.source or 'predictions'}: no list of pairs, so there is no pair file to "
            "write; read the predictions together with their pair file (--pairs)"
        )
    listed = np.flatnonzero(scenes.listed & (scenes.pair_object >= 0))
    human, object_box = scenes.pair_human[listed], scenes.pair_object[listed]
    written = numbers_of_files(scenes)
    columns = (
        written.box_xyxy[human],
        written.box_xyxy[object_box],
        written.box_label[object_box],
        scenes.pair_score[listed],
    )
    pairs = [
        {"h_box": h, "o_box": o, "o_label": label, "hoi_score_inter": score}
        for h, o, label, score in zip(*(column.tolist() for column in columns), strict=True)
    ]
    images = []
    rows = rows_of_images(scenes.pair_image[listed], len(scenes))
    for name, row in zip(scenes.names.tolist(), rows, strict=True):
        image: dict[str, Any] = {"filename": name} if name else {}
        if scenes.vocabulary.name == "v-coco" and name.isdigit():
            image = {"image_id": int(name)}
        images.append(image | {"box_pairs": pairs[row]})
    write_pickle(path, images)
