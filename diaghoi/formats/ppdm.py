"""The results of PPDM and GGNet, for HICO-DET with COCO's own ids, and for HOI-A and HOI-W.

A list of one dict per image: ``file_name``, ``predictions`` (``{bbox, category_id}``) and
``hoi_prediction`` (``{subject_id, object_id, category_id, score}``). Objects carry COCO's own ids
(1-90 with gaps, person 1), verbs count from 1, as in the annotations ``test_hico.json``
(:mod:`diaghoi.formats.hico_det.cdn_json`); boxes are xyxy counted from zero. For HOI-A and HOI-W
objects count from 1 to 11 and verbs from 1 to 10 (:mod:`diaghoi.formats.hoi_a`).
"""

from __future__ import annotations

from diaghoi.data.scenes import Scenes
from diaghoi.formats import hoi_a
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.content import Content
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.numbering import TripletNumbers

_LAYOUT = ListLayout(
    name="file_name",
    boxes="predictions",
    triplets="hoi_prediction",
    scored=True,
    objects="coco91",
    numbers=TripletNumbers("verb", 1),
)


def _recognise(content: Content) -> Kind | None:
    if not content.plain:
        return None
    found = {"file_name", "hoi_prediction"} <= content.first.keys()
    return "predictions" if found else None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    return read_listed(content, _LAYOUT, options)


FORMAT = Format(
    name="ppdm",
    title="lists of boxes and triplets with COCO ids (PPDM, GGNet)",
    kinds=("predictions",),
    keys=("file_name", "predictions", "hoi_prediction"),
    recognise=_recognise,
    read=_read,
    dataset=lambda content: content.benchmark or hoi_a.found(content, _LAYOUT),
    either=lambda content: hoi_a.either(content, _LAYOUT),
    evidence=lambda content: hoi_a.evidence(content, _LAYOUT),
    misfit=lambda content: hoi_a.misfit(content, _LAYOUT),
)
