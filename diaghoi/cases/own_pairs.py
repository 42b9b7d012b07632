"""Count association errors that pair a person with themselves.

If people can also be objects, a detector that scores all pairs of boxes joins some people with a
second box of the same person. Both boxes are right, but no annotated triplet joins them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diaghoi.cases.annotation_faults import are_one
from diaghoi.cases.cases import check_single
from diaghoi.cases.causes import delta_map
from diaghoi.data.arrays import BoolArray, IntArray, first_of_run, ratio
from diaghoi.data.joining import join
from diaghoi.data.memory import threads
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.blocks import block_bounds
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.evaluation.overlap import Overlap, box_overlap


def paired_with_itself(
    diagnosis: Diagnosis, annotations: Scenes, predictions: Scenes
) -> dict[str, Any]:
    """Count the association errors that pair one annotated object with itself.

    In such an error, each predicted box overlaps some annotated box most, and the two annotated
    boxes show the same object; see :func:`~diaghoi.cases.annotation_faults.are_one`.

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
        ``count``, ``share`` (of the association errors; None if there are none) and ``delta_map``
        (the signed change in mAP when the counted errors are removed, by split).

    Raises
    ------
    InputError
        If the diagnosis is a sum, or belongs to other annotations and predictions.
    """
    annotations, predictions, _ = join(annotations, predictions, diagnosis.protocol)
    check_single(diagnosis, annotations, predictions)
    ledger = diagnosis.ledger

    def block(bounds: tuple[int, int]) -> BoolArray:
        mine, theirs = annotations.between(*bounds), predictions.between(*bounds)
        return _same_box(mine, theirs, diagnosis.protocol)

    with threads() as pool:
        same = np.concatenate(list(pool.map(block, block_bounds(predictions))))
    association = ledger.row_label == LABELS.index("association")
    alone = association & same[ledger.row_input]
    return {
        "count": int(alone.sum()),
        "share": ratio(int(alone.sum()), int(association.sum())),
        "delta_map": delta_map(diagnosis, ledger.rows(~alone)),
    }


def _same_box(annotations: Scenes, predictions: Scenes, protocol: Protocol) -> BoolArray:
    """Return a mask, (T,): both boxes of the triplet overlap the same annotated object most."""
    overlap = box_overlap(annotations, predictions, protocol)
    entries = np.flatnonzero(overlap.reached)
    acting = entries
    if protocol.pairing == "person":
        person = annotations.box_label == annotations.vocabulary.person
        acting = entries[person[overlap.annotated[entries]]]
    # The last position is for "no object", -1.
    human, thing = (np.append(_closest(overlap, each), -1) for each in (acting, entries))
    pair = predictions.triplet_pair
    one, other = human[predictions.pair_human[pair]], thing[predictions.pair_object[pair]]
    return are_one(annotations, one, other, protocol)


def _closest(overlap: Overlap, entries: IntArray) -> IntArray:
    """Return the annotated box that each predicted box overlaps most among entries; -1 if none."""
    closest = np.full(len(overlap.cell_of_predicted), -1, dtype=np.int64)
    # Ties go to the first annotated box.
    order = np.lexsort(
        (overlap.annotated[entries], -overlap.value[entries], overlap.predicted[entries])
    )
    best = entries[order]
    best = best[first_of_run(overlap.predicted[best])]
    closest[overlap.predicted[best]] = overlap.annotated[best]
    return closest
