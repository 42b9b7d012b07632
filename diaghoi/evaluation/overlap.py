"""Find overlapping boxes, and the predicted pairs that localise annotated pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TypeAlias

import numpy as np

from diaghoi.data.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    expand,
    expand_in_parts,
    marked,
    runs,
)
from diaghoi.data.boxes import iou_of, reaches
from diaghoi.data.memory import gathered
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError

LEAST = 0.1
"""IoU below which boxes count as not overlapping, except where the closest person is assigned."""

MOST = 10**9
"""Largest number of box comparisons per image: this many take about 10 seconds; real data need
thousands of times fewer.
"""

CROWDED = "boxes that overlap in the same images"
"""Subject of the out-of-memory message."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Overlap:
    """Overlap of the boxes that are compared with each other.

    Only boxes of the same *cell* are compared: boxes of the same image and, if categories count, of
    the same category.

    Parameters
    ----------
    predicted_boxes, annotated_boxes : (Bp, 4) and (Ba, 4) float64 array
        Boxes xyxy in pixels.
    cell_of_predicted, cell_of_annotated : (Bp,) and (Ba,) int array
        Cell of each box.
    predicted, annotated : (K,) int array
        Boxes that overlap by at least ``least``, ordered by predicted, then annotated box.
    value : (K,) float64 array
        IoU of the two boxes.
    reached : (K,) bool array
        Whether the IoU reaches the protocol's threshold.
    least : float
        Pairs of boxes with a lower IoU are omitted; an image with many boxes has very many such
        pairs.
    protocol : Protocol
        Box convention and threshold.
    """

    predicted_boxes: FloatArray
    annotated_boxes: FloatArray
    cell_of_predicted: IntArray
    cell_of_annotated: IntArray
    predicted: IntArray
    annotated: IntArray
    value: FloatArray
    reached: BoolArray
    least: float
    protocol: Protocol

    @cached_property
    def reaching(self) -> tuple[IntArray, IntArray]:
        """Predicted and annotated box of each entry that reaches the threshold."""
        return self.predicted[self.reached], self.annotated[self.reached]

    @cached_property
    def reaches_any(self) -> BoolArray:
        """(Bp,) mask of the predicted boxes that reach any annotated box of their cell."""
        return marked(self.reaching[0], len(self.cell_of_predicted))

    def reaches(self, predicted: IntArray, annotated: IntArray) -> BoolArray:
        """Check, pair by pair, whether predicted boxes reach annotated boxes.

        Parameters
        ----------
        predicted, annotated : (N,) int array
            Rows of the box tables; -1 for "no box", which reaches nothing.
        """
        reached = np.zeros(len(predicted), dtype=bool)
        boxes = np.flatnonzero((predicted >= 0) & (annotated >= 0))
        mine, theirs = predicted[boxes], annotated[boxes]
        met = boxes[self.cell_of_predicted[mine] == self.cell_of_annotated[theirs]]
        reached[met] = reaches(self.protocol, self.iou(predicted[met], annotated[met]))
        return reached

    def iou(self, predicted: IntArray, annotated: IntArray) -> FloatArray:
        """Return the (N,) IoU of predicted and annotated boxes, pair by pair, even across cells."""
        mine, theirs = self.predicted_boxes, self.annotated_boxes
        return _iou(mine, predicted, theirs, annotated, self.protocol)

    def under(self, protocol: Protocol) -> Overlap:
        """Return this overlap with another threshold, no lower than ``least``."""
        return replace(self, reached=reaches(protocol, self.value), protocol=protocol)


def box_overlap(annotations: Scenes, predictions: Scenes, protocol: Protocol) -> Overlap:
    """Compute the IoU of all boxes that are compared with each other.

    Parameters
    ----------
    annotations, predictions : Scenes
        Annotations and predictions of the same images.
    protocol : Protocol
        Box convention, threshold, and whether categories count.

    Raises
    ------
    InputError
        If an image has too many boxes to compare in reasonable time.
    """
    cells, cell_of_annotated = _cells(annotations, protocol)
    _, cell_of_predicted = _cells(predictions, protocol)

    # A stable sort keeps the stored order within a cell: of boxes with equal IoU, the first wins.
    by_cell = np.argsort(cell_of_annotated, kind="stable")
    in_cell = np.bincount(cell_of_annotated, minlength=cells)
    start = (np.cumsum(in_cell) - in_cell)[cell_of_predicted]
    count = in_cell[cell_of_predicted]
    in_image = np.bincount(predictions.box_image, weights=count, minlength=1)
    image = int(in_image.argmax())
    if in_image[image] > MOST:
        boxes = np.count_nonzero(predictions.box_image == image)
        raise InputError(
            f"image {str(predictions.names[image])!r}: comparing its {boxes:,} predicted boxes "
            f"with the annotated ones takes {in_image[image]:,.0f} steps, more than {MOST:,}; keep "
            "the boxes with the highest scores, and check that they all belong to one image"
        )

    # The closest person's box may hardly overlap the predicted box, so tiny IoUs are kept.
    least = min(LEAST, protocol.iou) if protocol.pairing == "triplet" else np.nextafter(0, 1)

    def overlapping() -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        for owner, position in expand_in_parts(start, count):
            other = by_cell[position]
            iou = _iou(predictions.box_xyxy, owner, annotations.box_xyxy, other, protocol)
            met = np.flatnonzero(iou >= least)
            yield owner[met], other[met], iou[met]

    predicted, annotated, value = gathered(overlapping(), CROWDED)
    return Overlap(
        predicted_boxes=predictions.box_xyxy,
        annotated_boxes=annotations.box_xyxy,
        cell_of_predicted=cell_of_predicted,
        cell_of_annotated=cell_of_annotated,
        predicted=predicted,
        annotated=annotated,
        value=value,
        reached=reaches(protocol, value),
        least=least,
        protocol=protocol,
    )


def _iou(
    mine: FloatArray, one: IntArray, theirs: FloatArray, other: IntArray, protocol: Protocol
) -> FloatArray:
    return iou_of(mine, one, theirs, other, protocol.margin, protocol.added_to_union)


def _cells(scenes: Scenes, protocol: Protocol) -> tuple[int, IntArray]:
    """Return the number of cells, and the cell of each box."""
    if not protocol.categories_count:
        return len(scenes), scenes.box_image
    # The extra label, which comes first, is for -1, the unknown category.
    labels = len(scenes.vocabulary.objects) + 1
    return len(scenes) * labels, scenes.box_image * labels + scenes.box_label + 1


_Hits: TypeAlias = tuple[IntArray, IntArray, FloatArray]


@dataclass(frozen=True, kw_only=True, eq=False)
class PairHits:
    """Predicted pairs that localise annotated pairs: both boxes match, and categories are equal.

    Categories are compared only if the protocol says so.

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

    An annotated pair without an object (V-COCO) is localised by its person and any box that fits a
    missing role.
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
    # Almost all predicted boxes reach no annotated box; few pairs have two boxes that do.
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
    """Yield, in parts, ``possible`` and ``wanted`` pairs whose boxes reach each other, with IoU.

    ``mine`` has one box of each predicted pair, ``theirs`` one of each annotated pair.
    """
    reaching = np.flatnonzero(boxes.reached)
    by_box = wanted[np.argsort(theirs[wanted], kind="stable")]
    for owner, position in expand_in_parts(*runs(boxes.predicted[reaching], mine[possible])):
        entry = reaching[position]
        of_entry, place = expand(*runs(theirs[by_box], boxes.annotated[entry]))
        yield possible[owner[of_entry]], by_box[place], boxes.value[entry[of_entry]]
