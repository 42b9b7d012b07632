"""Count annotated triplets that are missed because annotators drew their boxes twice.

Some triplets are annotated twice, with slightly different boxes. A detector that gives each person
and object one box finds only one of the two triplets. The other triplet counts as not found,
whatever the detector does, and no false positive reveals the fault.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from diaghoi.cases.annotation_faults import NEAR_DUPLICATE_IOU
from diaghoi.cases.cases import check_single
from diaghoi.cases.causes import delta_map
from diaghoi.data.arrays import BoolArray, IntArray, expand, marked, ratio, runs
from diaghoi.data.boxes import box_iou
from diaghoi.data.joining import join
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis


def missed_twins(diagnosis: Diagnosis, annotations: Scenes, predictions: Scenes) -> dict[str, Any]:
    """Count the unfound triplets whose twin is found, and measure their cost.

    The twin of a triplet has the same image and class, and each of its boxes overlaps the triplet's
    box by more than :data:`~diaghoi.cases.annotation_faults.NEAR_DUPLICATE_IOU`. A triplet and its
    twin may be the same interaction annotated twice, or interactions of two neighbouring people or
    objects. Unfound triplets have no true positive; they include the triplets of the error
    ``missed_gt``, which also have no assigned prediction.

    Parameters
    ----------
    diagnosis : Diagnosis
        The diagnosis of these annotations and predictions. A sum of diagnoses is refused, because
        sums do not keep boxes.
    annotations, predictions : Scenes
        The scenes that were diagnosed.

    Returns
    -------
    dict
        ``count``, ``share`` (of the annotated triplets) and ``delta_map`` (the signed change in mAP
        when these unfound triplets no longer count as positives, by split).

    Raises
    ------
    InputError
        If the diagnosis is a sum, or belongs to other annotations and predictions.
    """
    annotations, predictions, _ = join(annotations, predictions, diagnosis.protocol)
    check_single(diagnosis, annotations, predictions)
    ledger = diagnosis.ledger
    found = marked(ledger.annotation_input[ledger.found], len(annotations.triplet_pair))
    counts = marked(ledger.annotation_input[ledger.annotation_counts], len(found))
    twins = _with_twin(annotations, counts & ~found, found, diagnosis.protocol.margin)
    twins = twins[ledger.annotation_input]
    after = replace(ledger, annotation_counts=ledger.annotation_counts & ~twins)
    return {
        "count": int(twins.sum()),
        "share": ratio(int(twins.sum()), int(ledger.annotation_counts.sum())),
        "delta_map": delta_map(diagnosis, after),
    }


def _with_twin(scenes: Scenes, rows: BoolArray, others: BoolArray, margin: float) -> BoolArray:
    """Return a mask, (T,), of the triplets in ``rows`` that have a twin in ``others``."""
    classes = np.int64(len(scenes.vocabulary))
    key = scenes.triplet_image * classes + scenes.triplet_class
    mine, theirs = np.flatnonzero(rows), np.flatnonzero(others)
    theirs = theirs[np.argsort(key[theirs], kind="stable")]
    owner, position = expand(*runs(key[theirs], key[mine]))
    first, second = mine[owner], theirs[position]
    pair = scenes.triplet_pair
    same = np.ones(len(first), dtype=bool)
    for column in (scenes.pair_human, scenes.pair_object):
        same &= _same_box(scenes, column[pair[first]], column[pair[second]], margin)
    return marked(first[same], len(rows))


def _same_box(scenes: Scenes, one: IntArray, other: IntArray, margin: float) -> BoolArray:
    """Check whether two boxes show one object; two roles without a box count as equal."""
    overlap = box_iou(scenes.box_xyxy[one], scenes.box_xyxy[other], margin)
    boxes = (one >= 0) & (other >= 0)
    return np.where(boxes, overlap > NEAR_DUPLICATE_IOU, one == other)
