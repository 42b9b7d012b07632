"""Which predicted pairs of boxes localise which annotated pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays.ragged import expand, runs
from diaghoi.data.arrays.types import FloatArray, IntArray
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.overlap import Overlap


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
    hits = [_hits_by_both(annotations, predictions, boxes)]
    alone = np.flatnonzero(annotations.pair_object < 0)
    if len(alone):
        anything = protocol.missing_role == "anything"
        fitting = np.flatnonzero((predictions.pair_object < 0) | anything)
        hits.append(_hits_by_human(annotations, predictions, boxes, fitting, alone))
    predicted, annotated, value = (np.concatenate(column) for column in zip(*hits, strict=True))
    # Each of the two lists is sorted; only both together need sorting again.
    order = np.lexsort((annotated, predicted)) if len(alone) else slice(None)
    return PairHits(predicted=predicted[order], annotated=annotated[order], value=value[order])


def _hits_by_both(
    annotations: Scenes, predictions: Scenes, boxes: Overlap
) -> tuple[IntArray, IntArray, FloatArray]:
    reaches = boxes.reaches_any
    human, object_box = predictions.pair_human, predictions.pair_object
    # Almost all predicted boxes reach nothing: without them few pairs are left to compare.
    possible = np.flatnonzero((object_box >= 0) & reaches[human] & reaches[object_box])
    wanted = np.flatnonzero(annotations.pair_object >= 0)
    # By the cell of the object: where categories count, it holds far fewer boxes than that of
    # people.
    predicted, annotated = _sharing(
        boxes.cell_of_predicted[object_box],
        boxes.cell_of_annotated[annotations.pair_object],
        possible,
        wanted,
    )
    predicted, annotated, by_human = _by_human(
        annotations, predictions, boxes, predicted, annotated
    )
    by_object = boxes.entry(object_box[predicted], annotations.pair_object[annotated])
    both = boxes.reached[by_human] & boxes.reached[by_object]
    value = np.minimum(boxes.value[by_human[both]], boxes.value[by_object[both]])
    return predicted[both], annotated[both], value


def _hits_by_human(
    annotations: Scenes,
    predictions: Scenes,
    boxes: Overlap,
    possible: IntArray,
    wanted: IntArray,
) -> tuple[IntArray, IntArray, FloatArray]:
    predicted, annotated = _sharing(
        predictions.pair_image, annotations.pair_image, possible, wanted
    )
    predicted, annotated, by_human = _by_human(
        annotations, predictions, boxes, predicted, annotated
    )
    reached = boxes.reached[by_human]
    return predicted[reached], annotated[reached], boxes.value[by_human[reached]]


def _sharing(
    mine: IntArray, theirs: IntArray, possible: IntArray, wanted: IntArray
) -> tuple[IntArray, IntArray]:
    """List all possible and wanted pairs whose cells are the same."""
    cell = theirs[wanted]
    by_cell = np.argsort(cell, kind="stable")
    start, count = runs(cell[by_cell], mine[possible])
    owner, position = expand(start, count)
    return possible[owner], wanted[by_cell[position]]


def _by_human(
    annotations: Scenes,
    predictions: Scenes,
    boxes: Overlap,
    predicted: IntArray,
    annotated: IntArray,
) -> tuple[IntArray, IntArray, IntArray]:
    """Keep the pairs whose humans are compared, with the entry of these."""
    mine, theirs = predictions.pair_human[predicted], annotations.pair_human[annotated]
    same = np.flatnonzero(boxes.cell_of_predicted[mine] == boxes.cell_of_annotated[theirs])
    return predicted[same], annotated[same], boxes.entry(mine[same], theirs[same])
