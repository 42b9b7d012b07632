"""Read lists of boxes, and of triplets that refer to the boxes by index, in one dict per image.

CDN, QPIC, GEN-VLKT, PPDM, HOIDet and the published diagnosis code share this layout
(:mod:`diaghoi.formats.listed`), in pickles or JSON. Boxes are zero-based xyxy.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.arrays import runs
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det, hoi_a, object_numberings
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Doubts, Format, Kind, Options
from diaghoi.formats.checks import check_amount, check_lengths
from diaghoi.formats.content import Content, begins
from diaghoi.formats.listed import ListLayout, read_listed
from diaghoi.formats.numbering import (
    CLEAR,
    ENOUGH,
    FEW,
    GENUINE,
    LEAST,
    READINGS,
    TripletNumbers,
    most_confident,
    numbers_of_files,
    percent,
)
from diaghoi.formats.output import rows_of_images, write_pickle
from diaghoi.formats.records import Images, lists_of
from diaghoi.formats.v_coco import is_v_coco, misfit, read_qpic

_PREDICTED = ListLayout(name="filename")
_ANNOTATED = ListLayout(
    name="filename", boxes="annotations", triplets="hoi_annotation", scored=False
)
_COCO: dict[str, Any] = {
    "name": "file_name",
    "objects": "coco91",
    "numbers": TripletNumbers("verb", 1),
}
_HOI_A, _HICO = "hoi-a", "hico-det"


class _Lists(Format):
    """Read lists of boxes and triplets; ``layouts`` has one layout for each of the ``kinds``.

    ``kept`` is true if the data set is inferred from the numbers, because the lists are then read
    twice.
    """

    layouts: tuple[ListLayout, ...]
    kept = False

    def dataset(self, content: Content) -> str | None:
        return content.benchmark

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        layout = self.layouts[self.kinds.index(kind)]
        return read_listed(content, layout, options, keep=self.kept)


class TripletLists(_Lists):
    """Read the pickles of CDN and the diagnosis code: ``gt_wo_nointer.pkl``, ``preds.pkl``.

    The keys are ``filename``; ``annotations`` or ``predictions``, a list of ``{bbox, category_id}``
    (and optionally ``score``); ``hoi_annotation`` or ``hoi_prediction``, a list of ``{subject_id,
    object_id, category_id}`` (in predictions also ``score`` and optionally ``action_score``).
    Objects are numbered as in COCO-80 with person 0, and verbs are numbered from 0.
    """

    name = "triplet-lists"
    title = "lists of boxes and triplets (CDN, Diag-HOI)"
    kinds = ("annotations", "predictions")
    keys = ("filename", "annotations", "hoi_annotation", "predictions", "hoi_prediction")
    layouts = (_ANNOTATED, _PREDICTED)

    def recognise(self, content: Content) -> Kind | None:
        empty = isinstance(content.value, list) and not content.value
        if content.plain and (empty or "hoi_prediction" in content.first):
            return "predictions"
        annotated = "hoi_annotation" in content.first and "file_name" not in content.first
        return "annotations" if content.plain and annotated else None


class GenVlkt(_Lists):
    """Read the results of GEN-VLKT, HOICLIP, SL-HOI and GroupHOI: boxes have no categories.

    The keys are ``filename``, ``predictions`` (``{bbox}``) and ``hoi_prediction`` (``{subject_id,
    object_id, category_id, score}``), where ``category_id`` is the HOI class, from 0 in official
    order. Subjects are people, and objects have the category of the class. The code bases write
    ``{"preds": [...], "gts": [...]}`` in Python notation within a JSON string. The annotations in
    these files have box categories (COCO-80), also use the HOI class as ``category_id`` of
    triplets, and are read as :class:`TripletLists`.
    """

    name = "gen-vlkt"
    title = "lists of boxes and HOI classes (GEN-VLKT, HOICLIP)"
    kinds = ("predictions",)
    keys = ("filename", "predictions", "hoi_prediction")
    layouts = (replace(_PREDICTED, numbers=TripletNumbers("class", 0), labelled=False),)

    def recognise(self, content: Content) -> Kind | None:
        if not content.plain or "hoi_prediction" not in content.first:
            return None
        lists = (image.get("predictions") for image in content.value if isinstance(image, dict))
        box = next((boxes[0] for boxes in lists if isinstance(boxes, list) and boxes), None)
        bare = isinstance(box, dict) and "bbox" in box and "category_id" not in box
        return "predictions" if bare else None


class _CocoLists(_Lists):
    """Distinguish HOI-A from HICO-DET in lists that do not name their data set.

    Both data sets use PPDM's layout. HOI-A, like HOI-W after it, numbers objects from 1 to 11 and
    verbs from 1 to 10; HICO-DET has COCO's ids and verbs from 1 to 117, so a HICO-DET file may also
    contain only such low numbers. Combinations of object and verb distinguish the data sets: only a
    few are HOI classes of both.
    """

    kept = True

    def dataset(self, content: Content) -> str | None:
        """Return the data set of the first image, or HOI-A if the file clearly belongs to it."""
        return content.benchmark or (_HOI_A if self._shares(content).is_hoi_a else None)

    def doubts(self, content: Content) -> Doubts:
        """Return both data sets unless HICO-DET clearly fits; say why if HOI-A or neither fits."""
        shares, scored = self._shares(content), self.layouts[0].scored
        told = (
            f"{percent(shares.hoi_a)} of the {'best ' if scored else ''}triplets are its HOI "
            f"classes, {percent(shares.hico_det)} are HOI classes of {_HICO}"
        )
        evidence = (
            f"taken for {_HOI_A}: no object is above {len(hoi_a().objects)}, no verb above "
            f"{len(hoi_a().verbs)}, and {told}"
        )
        misfit = (
            f"of the {'best' if scored else 'annotated'} triplets {percent(shares.hoi_a)} are HOI "
            f"classes of {_HOI_A}, and {percent(shares.hico_det)} of {_HICO}"
        )
        return Doubts(
            either=() if shares.is_hico_det else (_HOI_A, _HICO),
            evidence=(evidence,) if shares.is_hoi_a else (),
            misfit=misfit if max(shares.hoi_a, shares.hico_det) < GENUINE else "",
        )

    def _shares(self, content: Content) -> _Shares:
        return _shares_of_classes(content, self.layouts[0])


class Ppdm(_CocoLists):
    """Read the results of PPDM and GGNet, for HICO-DET, HOI-A and HOI-W.

    The keys are ``file_name``, ``predictions`` (``{bbox, category_id}``) and ``hoi_prediction``
    (``{subject_id, object_id, category_id, score}``). Objects have COCO's own ids (1-90 with gaps,
    person 1), and verbs are numbered from 1, as in :class:`CdnJson`.
    """

    name = "ppdm"
    title = "lists of boxes and triplets with COCO ids (PPDM, GGNet)"
    kinds = ("predictions",)
    keys = ("file_name", "predictions", "hoi_prediction")
    marks = ("file_name", "hoi_prediction")
    layouts = (replace(_PREDICTED, **_COCO),)


class CdnJson(_CocoLists):
    """Read the annotations of CDN, QPIC and other code bases: ``test_hico.json``.

    The keys are ``file_name``, ``annotations`` (``{bbox, category_id}``) and ``hoi_annotation``
    (``{subject_id, object_id, category_id, hoi_category_id}``). Objects have COCO's own ids (1-90
    with gaps, person 1), and verbs are numbered from 1. ``img_id`` and ``hoi_category_id`` are not
    needed. ``test_hoia.json`` of HOI-A and the files of HOI-W have the same layout, with their own
    numbers, which may be strings. :mod:`diaghoi.formats.v_coco` describes V-COCO.
    """

    name = "cdn-json"
    title = "annotation lists with COCO ids (CDN, QPIC)"
    kinds = ("annotations",)
    keys = ("file_name", "annotations", "hoi_annotation")
    marks = ("file_name", "hoi_annotation")
    layouts = (replace(_ANNOTATED, **_COCO),)

    def dataset(self, content: Content) -> str | None:
        """Return V-COCO if image names or missing objects indicate it."""
        return "v-coco" if is_v_coco(content) else super().dataset(content)

    def doubts(self, content: Content) -> Doubts:
        """Return the evidence that the annotations belong to none of the three data sets."""
        if is_v_coco(content):
            return Doubts(misfit=misfit(content))
        return super().doubts(content)

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        """Read the lists; for V-COCO, add the agent roles of actions."""
        if options.vocabulary.name == "v-coco":
            return read_qpic(content, options)
        layout = self.layouts[0]
        if options.vocabulary.of == "v-coco":
            layout = replace(layout, numbers=TripletNumbers("verb", 0))
        return read_listed(content, layout, options)


class _Shares(NamedTuple):
    """Share of the best triplets that fits each data set, and whether the file is large enough."""

    hoi_a: float
    hico_det: float
    many: bool

    @property
    def is_hoi_a(self) -> bool:
        return self.many and self.hoi_a >= GENUINE and self.hoi_a >= CLEAR * self.hico_det

    @property
    def is_hico_det(self) -> bool:
        return self.hico_det >= LEAST and self.hico_det >= CLEAR * self.hoi_a


def _shares_of_classes(content: Content, layout: ListLayout) -> _Shares:
    """Return the data sets' shares of a file, which counts as HICO-DET if it cannot be HOI-A."""
    hico = _Shares(0.0, 1.0, many=False)
    if begins(content.first.get(layout.name), "HICO_", "COCO_"):
        return hico
    try:
        images = Images.of(content, content.value, layout.name)
        boxes, triplets = images.table(layout.boxes), images.table(layout.triplets)
        label, verb = boxes.integers("category_id"), triplets.integers("category_id")
        index = triplets.integers("object_id")
        score = triplets.scores("score", optional=True) if layout.scored else None
    except InputError:  # the reader reports what is wrong
        return hico
    own, other, image = hoi_a(), hico_det(), triplets.rows.image
    fits = (
        ((label >= 1) & (label <= len(own.objects))).all()
        and ((verb >= 1) & (verb <= len(own.verbs))).all()
        and ((index >= 0) & (index < boxes.rows.count[image])).all()
    )
    if not fits:
        return hico
    best = most_confident(score, len(verb))
    verb, category = verb[best], label[(index + boxes.rows.start[image])[best]] - 1
    coco = object_numberings()["coco91"]
    named = np.array([coco[n + 1] for n in range(len(own.objects))], dtype=np.int64)[category]
    count = max(len(verb), 1)
    # For HICO-DET, use the share under the triplet numbering that fits best.
    of_other = [(reading.classes(verb, named, other) >= 0).sum() / count for reading in READINGS]
    of_own = (own.class_of[category, verb - 1] >= 0).sum() / count
    many = len(images.names) >= FEW and len(index) >= ENOUGH
    return _Shares(float(of_own), float(max(of_other)), many)


_COLUMNS = {
    "subject_id": "h_idx",
    "object_id": "o_idx",
    "category_id": "hoi_class",
    "score": "hoi_score",
}
_LISTS = ("boxes", *_COLUMNS.values())


class HoiDet(Format):
    """Read the results of HOIDet: lists of boxes, and columns of triplets with box indices.

    The keys are ``image_id`` (the number at the end of the file name), ``boxes``, and the columns
    ``h_idx``, ``o_idx`` (indices into ``boxes``), ``hoi_score`` and ``hoi_class`` (0-599 in
    official order). Boxes have no category: subjects are people, and objects have the category of
    the class.
    """

    name = "hoidet"
    title = "lists of boxes and columns of triplets (HOIDet)"
    kinds = ("predictions",)
    keys = ("image_id", "boxes", "h_idx", "o_idx", "hoi_score", "hoi_class")
    marks = ("boxes", "h_idx", "o_idx", "hoi_class")

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        value, total = [], 0
        for number, image in enumerate(content.value):
            where = f"{content.file}: image {number} (counted from 0)"
            lists = lists_of(where, image, _LISTS)
            columns = {key: lists[key] for key in _COLUMNS.values()}
            check_lengths(where, columns, "triplet")
            total += max(map(len, lists.values()))
            check_amount(content.file, "boxes", total, content.size)
            boxes = [{"bbox": box} for box in lists["boxes"]]
            rows = zip(*columns.values(), strict=True)
            triplets = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
            name = image.get("image_id")
            value.append({"image_id": name, "boxes": boxes, "triplets": triplets})
        layout = replace(
            GenVlkt.layouts[0],
            name="image_id",
            boxes="boxes",
            triplets="triplets",
            box_arrays={"bbox": "boxes"},
            triplet_arrays=_COLUMNS,
        )
        return read_listed(replace(content, value=value), layout, options)


def write_triplet_lists(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write a pickle of :class:`TripletLists` with plain lists and numbers.

    Parameters
    ----------
    path : path
        The file, which is written completely or not at all.
    scenes : Scenes
        Annotations if triplets have no scores, otherwise predictions. The format cannot store image
        sizes, ignored people, or pairs without a triplet.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    scenes = numbers_of_files(scenes)
    layout = _PREDICTED if scenes.scored else _ANNOTATED
    boxes = _dicts(bbox=scenes.box_xyxy, category_id=scenes.box_label, score=scenes.box_score)
    offset = runs(scenes.box_image, np.arange(len(scenes)))[0][scenes.triplet_image]
    object_box = scenes.pair_object[scenes.triplet_pair]
    triplets = _dicts(
        subject_id=scenes.pair_human[scenes.triplet_pair] - offset,
        object_id=np.where(object_box < 0, -1, object_box - offset),
        category_id=scenes.triplet_verb,
        score=scenes.triplet_score,
        action_score=scenes.triplet_action_score,
    )
    rows = (
        rows_of_images(table, len(scenes)) for table in (scenes.box_image, scenes.triplet_image)
    )
    images = []
    for name, box, triplet in zip(scenes.names.tolist(), *rows, strict=True):
        image = {"filename": name} if name else {}
        images.append({**image, layout.boxes: boxes[box], layout.triplets: triplets[triplet]})
    write_pickle(path, images)


def _dicts(**columns: np.ndarray | None) -> list[dict[str, Any]]:
    """Convert columns to one dict per row, with plain numbers and lists."""
    values = {key: column.tolist() for key, column in columns.items() if column is not None}
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
