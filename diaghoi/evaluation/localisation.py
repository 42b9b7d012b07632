"""Which predicted pairs of boxes localise which annotated pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, expand, expand_in_parts, runs
from diaghoi.data.boxes import reaches
from diaghoi.data.memory import gathered
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.overlap import CROWDED, Overlap

_Hits: TypeAlias = tuple[IntArray, IntArray, FloatArray]


@dataclass(frozen=True, kw_only=True, eq=False)
class PairHits:
    """Predicted pairs that localise annotated pairs: both boxes reach, categories are equal.

    Categories are only compared where the protocol does so.

    Parameters
    ----------
    predicted, annotated : (H,) int array
        Rows of the two pair tables, ordered by predicted, then annotated pair.
    value : (H,) float64 array
        min(IoU_human, IoU_object).
    """

    predicted: IntArray
    annotated: IntArray
    value: FloatArray


def pair_hits(
    annotations: Scenes, predictions: Scenes, boxes: Overlap, protocol: Protocol
) -> PairHits:
    """Find the annotated pairs that each predicted pair localises.

    An annotated pair without an object (V-COCO) is localised by its person, together with what fits
    a missing role.
    """
    hits = _hits_by_both(annotations, predictions, boxes)
    alone = np.flatnonzero(annotations.pair_object < 0)
    if len(alone):
        anything = protocol.missing_role == "anything"
        fitting = np.flatnonzero((predictions.pair_object < 0) | anything)
        by_human = _meeting(boxes, predictions.pair_human, annotations.pair_human, fitting, alone)
        hits = chain(hits, by_human)
    predicted, annotated, value = gathered(hits, CROWDED)
    order = np.lexsort((annotated, predicted))
    return PairHits(predicted=predicted[order], annotated=annotated[order], value=value[order])


def _hits_by_both(annotations: Scenes, predictions: Scenes, boxes: Overlap) -> Iterator[_Hits]:
    human, object_box = predictions.pair_human, predictions.pair_object
    near = boxes.reaches_any
    # Almost all predicted boxes reach nothing: without them few pairs are left to compare.
    possible = np.flatnonzero((object_box >= 0) & near[human] & near[object_box])
    wanted = np.flatnonzero(annotations.pair_object >= 0)
    for predicted, annotated, by_object in _meeting(
        boxes, object_box, annotations.pair_object, possible, wanted
    ):
        mine, theirs = human[predicted], annotations.pair_human[annotated]
        by_human = boxes.iou(mine, theirs)
        # Boxes of different cells are not compared, whatever their IoU.
        both = boxes.cell_of_predicted[mine] == boxes.cell_of_annotated[theirs]
        both &= reaches(boxes.protocol, by_human)
        yield predicted[both], annotated[both], np.minimum(by_human, by_object)[both]


def _meeting(
    boxes: Overlap, mine: IntArray, theirs: IntArray, possible: IntArray, wanted: IntArray
) -> Iterator[_Hits]:
    """List possible and wanted pairs whose boxes reach each other, with their IoU, in parts.

    ``mine`` and ``theirs`` are one box of each predicted and of each annotated pair.
    """
    reaching = np.flatnonzero(boxes.reached)
    by_box = wanted[np.argsort(theirs[wanted], kind="stable")]
    for owner, position in expand_in_parts(*runs(boxes.predicted[reaching], mine[possible])):
        entry = reaching[position]
        of_entry, place = expand(*runs(theirs[by_box], boxes.annotated[entry]))
        yield possible[owner[of_entry]], by_box[place], boxes.value[entry[of_entry]]
