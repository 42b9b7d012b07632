"""Objects that are taken for others: well-placed boxes whose category is wrong, pair by pair."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from diaghoi.cases.cases import check_single
from diaghoi.cases.causes import delta_map
from diaghoi.data.arrays.ragged import expand, slices
from diaghoi.data.arrays.types import IntArray
from diaghoi.data.iou import box_iou, reaches
from diaghoi.data.joining import join
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import BOTH_BOXES, OBJECT_BOX
from diaghoi.oracles import ORACLES

SHOWN = 5
CANDIDATES = 20  # the most frequent ones, whose costs are compared
BOXES = 20_000  # boxes that are compared at once


def taken_objects(
    diagnosis: Diagnosis, annotations: Scenes, predictions: Scenes
) -> list[dict[str, Any]]:
    """Find the categories that cost most where one is taken for another.

    These are the predictions labelled ``object_box`` whose object box reaches an annotated box of
    another category.

    Parameters
    ----------
    diagnosis : Diagnosis
        Of these annotations and predictions; not a sum, because sums do not keep boxes.
    annotations, predictions : Scenes
        What was diagnosed.

    Returns
    -------
    list of dict
        The five that cost most of the twenty most frequent: ``predicted`` and ``annotated``, names
        of categories; ``count`` of predictions, and ``delta_map`` (signed, by split) if these
        object boxes alone were repaired. Empty where categories do not count (V-COCO).

    Raises
    ------
    InputError
        If the diagnosis is a sum, or not that of these annotations and predictions.
    """
    annotations, predictions, _ = join(annotations, predictions)
    check_single(diagnosis, annotations, predictions)
    if not diagnosis.protocol.categories_count:
        return []
    ledger, objects = diagnosis.ledger, diagnosis.vocabulary.objects
    rows = np.flatnonzero(ledger.row_label == OBJECT_BOX)
    pair = predictions.triplet_pair[ledger.row_input[rows]]
    boxes, of_row = np.unique(predictions.pair_object[pair], return_inverse=True)
    found = _label_below(annotations, predictions, boxes, diagnosis.protocol)[of_row]
    rows, taken = rows[found >= 0], found[found >= 0]
    kind = predictions.pair_label[predictions.triplet_pair[ledger.row_input[rows]]]
    kind = kind.astype(np.int64) * len(objects) + taken
    kinds, counts = np.unique(kind, return_counts=True)
    frequent = np.argsort(-counts, kind="stable")[:CANDIDATES]
    confusions = []
    for one, count in zip(kinds[frequent].tolist(), counts[frequent].tolist(), strict=True):
        # All other object boxes stay wrong.
        label = np.where(ledger.row_label == OBJECT_BOX, BOTH_BOXES, ledger.row_label)
        label[rows[kind == one]] = OBJECT_BOX
        alone = replace(ledger, row_label=label.astype(ledger.row_label.dtype))
        repaired = ORACLES["object_box"](alone, diagnosis.protocol)
        predicted, annotated = divmod(one, len(objects))
        confusions.append(
            {
                "predicted": objects[predicted],
                "annotated": objects[annotated],
                "count": count,
                "delta_map": delta_map(diagnosis, repaired),
            }
        )
    confusions.sort(key=lambda each: -(each["delta_map"]["full"] or 0.0))
    return confusions[:SHOWN]


def _label_below(
    annotations: Scenes, predictions: Scenes, boxes: IntArray, protocol: Protocol
) -> IntArray:
    """(B,) category of the annotated box that each box overlaps most, -1 where it reaches none."""
    label = np.full(len(boxes), -1, dtype=np.int64)
    bounds = annotations.bounds["box"]
    for part in slices(len(boxes), BOXES):
        some = boxes[part]
        image = predictions.box_image[some]
        owner, below = expand(bounds[image], bounds[image + 1] - bounds[image])
        iou = box_iou(
            predictions.box_xyxy[some[owner]],
            annotations.box_xyxy[below],
            protocol.margin,
            protocol.added_to_union,
        )
        reached = reaches(protocol, iou)
        owner, below, iou = owner[reached], below[reached], iou[reached]
        # The last one assigned stays: that with the highest overlap.
        by_iou = np.argsort(iou, kind="stable")
        label[part.start + owner[by_iou]] = annotations.box_label[below[by_iou]]
    return label
