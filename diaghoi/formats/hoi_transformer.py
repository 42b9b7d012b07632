"""The results of HoiTransformer and AS-Net: named triplets with three scores.

A list of one dict per image, in a pickle or JSON, or one JSON object a line: ``image_id`` (the file
name) and ``hoi_list``, of ``{h_box, o_box, h_cls, o_cls, i_cls, o_name, i_name}``. The three
``*_cls`` are scores: ``i_cls`` is that of the verb alone, the product that of the triplet. Names
have spaces or underscores, and those of objects show HOI-A; boxes are xyxy counted from zero. Other
keys are not needed. Each triplet is a pair of its own.
"""

from __future__ import annotations

from itertools import chain

import numpy as np

from diaghoi.data.arrays.types import IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det, hoi_a
from diaghoi.exceptions import close_matches
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import (
    check_amount,
    check_boxes,
    check_scores,
    names_array,
    shown,
)
from diaghoi.formats.content import Content, begins
from diaghoi.formats.flat import from_repeated
from diaghoi.formats.records import Images, RecordTable

_SCORES = ("h_cls", "o_cls", "i_cls")


def _recognise(content: Content) -> Kind | None:
    return "predictions" if "hoi_list" in content.first else None


def _dataset(content: Content) -> str | None:
    if begins(content.first.get("image_id"), "HICO_"):
        return "hico-det"
    lists = [image.get("hoi_list") for image in content.value if isinstance(image, dict)]
    rows = [each for each in lists if isinstance(each, list)]
    check_amount(content.file, "hoi_list", sum(map(len, rows)), content.size)
    given = (row.get("o_name") for row in chain.from_iterable(rows) if isinstance(row, dict))
    names = {name.replace(" ", "_") for name in given if isinstance(name, str)}
    of_hoi_a = names <= set(hoi_a().objects) and not names <= set(hico_det().objects)
    return "hoi-a" if of_hoi_a else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    images = Images.of(content, content.value, "image_id")
    table = images.table("hoi_list")
    human, object_box = (
        check_boxes(table.rows, options.corners(table.boxes(key)), key, origin=options.origin_or(0))
        for key in ("h_box", "o_box")
    )
    scores = {key: check_scores(table.rows, table.numbers(key), key) for key in _SCORES}
    score = scores["h_cls"] * scores["o_cls"] * scores["i_cls"]
    return from_repeated(
        options.vocabulary,
        names=names_array(content.file, images.names),
        image=table.rows.image,
        human=human,
        object_box=object_box,
        category=_named(table, "o_name", options.vocabulary.objects),
        verb=_named(table, "i_name", options.vocabulary.verbs),
        score=check_scores(table.rows, score, "product of the scores"),
        action_score=scores["i_cls"],
        merged=False,
        source=content.file,
        notes=images.notes,
    )


def _named(table: RecordTable, key: str, known: tuple[str, ...]) -> IntArray:
    """Position of each name in the vocabulary."""
    position = {name.replace(" ", "_"): place for place, name in enumerate(known)}
    names = [row.get(key) if isinstance(row, dict) else None for row in table]
    plain = (name.replace(" ", "_") if isinstance(name, str) else "" for name in names)
    found = np.array([position.get(name, -1) for name in plain], dtype=np.int64)
    if len(found) and found.min() < 0:
        bad = int(np.argmin(found))
        raise table.rows.error(
            bad, key, f"unknown name {shown(names[bad])}{close_matches(str(names[bad]), known)}"
        )
    return found


FORMAT = Format(
    name="hoi-transformer",
    title="named triplets with three scores (HoiTransformer, AS-Net)",
    kinds=("predictions",),
    keys=("image_id", "hoi_list"),
    recognise=_recognise,
    read=_read,
    dataset=_dataset,
)
