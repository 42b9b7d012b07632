"""The results of GEN-VLKT, HOICLIP, SL-HOI and GroupHOI: lists of boxes without categories.

A list of one dict per image: ``filename``, ``predictions`` (``{bbox}``) and ``hoi_prediction``
(``{subject_id, object_id, category_id, score}``), where ``category_id`` is the HOI class, from 0 in
the official order: subjects are people, and the category of an object is that of the class. Boxes
are xyxy counted from zero. The code bases write ``{"preds": [...], "gts": [...]}`` as the text that
Python prints, in a JSON string; annotations have categories (COCO-80), and the HOI class as
``category_id`` of a triplet, too, and are read by :mod:`diaghoi.formats.triplet_lists`.
"""

from __future__ import annotations

from typing import Any

from diaghoi.data.scenes import Scenes
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.content import Content
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.numbering import TripletNumbers

_LAYOUT = ListLayout(
    name="filename",
    boxes="predictions",
    triplets="hoi_prediction",
    scored=True,
    objects="coco80",
    numbers=TripletNumbers("class", 0),
    labelled=False,
)


def _recognise(content: Content) -> Kind | None:
    if not content.plain or "hoi_prediction" not in content.first:
        return None
    box = next((boxes[0] for boxes in map(_boxes, content.value) if boxes), None)
    bare = isinstance(box, dict) and "bbox" in box and "category_id" not in box
    return "predictions" if bare else None


def _boxes(image: Any) -> list[Any]:
    boxes = image.get("predictions") if isinstance(image, dict) else None
    return [*boxes[:1]] if isinstance(boxes, list) else []


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    return read_listed(content, _LAYOUT, options)


FORMAT = Format(
    name="gen-vlkt",
    title="lists of boxes and HOI classes (GEN-VLKT, HOICLIP)",
    kinds=("predictions",),
    keys=("filename", "predictions", "hoi_prediction"),
    recognise=_recognise,
    read=_read,
    dataset=lambda content: content.benchmark,
)
