"""The annotation JSON of CDN, QPIC and others: ``test_hico.json``.

A list of one dict per image: ``file_name``, ``annotations`` (``{bbox, category_id}``) and
``hoi_annotation`` (``{subject_id, object_id, category_id, hoi_category_id}``). Objects carry COCO's
own ids (1-90 with gaps, person 1), verbs count from 1; boxes are xyxy counted from zero.
``img_id`` and ``hoi_category_id`` are not needed. ``test_hoia.json`` of HOI-A, and the files of
HOI-W, are the same with objects from 1 to 11 and verbs from 1 to 10, also as strings
(:mod:`diaghoi.formats.hoi_a`). For V-COCO see :mod:`diaghoi.formats.v_coco.qpic`.
"""

from __future__ import annotations

from dataclasses import replace

from diaghoi.data.scenes import Scenes
from diaghoi.formats import hoi_a
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.content import Content
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.numbering import TripletNumbers
from diaghoi.formats.v_coco.qpic import is_v_coco, misfit, read_qpic

_LAYOUT = ListLayout(
    name="file_name",
    boxes="annotations",
    triplets="hoi_annotation",
    scored=False,
    objects="coco91",
    numbers=TripletNumbers("verb", 1),
)


def _recognise(content: Content) -> Kind | None:
    if not content.plain:
        return None
    first = content.first
    return "annotations" if "file_name" in first and "hoi_annotation" in first else None


def _dataset(content: Content) -> str | None:
    if is_v_coco(content):
        return "v-coco"
    return content.benchmark or hoi_a.found(content, _LAYOUT)


def _misfit(content: Content) -> str:
    return misfit(content) if is_v_coco(content) else hoi_a.misfit(content, _LAYOUT)


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    if options.vocabulary.name == "v-coco":
        return read_qpic(content, options)
    layout = _LAYOUT
    if options.vocabulary.of == "v-coco":
        layout = replace(layout, numbers=TripletNumbers("verb", 0))
    return read_listed(content, layout, options)


FORMAT = Format(
    name="cdn-json",
    title="annotation lists with COCO ids (CDN, QPIC)",
    kinds=("annotations",),
    keys=("file_name", "annotations", "hoi_annotation"),
    recognise=_recognise,
    read=_read,
    dataset=_dataset,
    either=lambda content: hoi_a.either(content, _LAYOUT),
    evidence=lambda content: hoi_a.evidence(content, _LAYOUT),
    misfit=_misfit,
)
