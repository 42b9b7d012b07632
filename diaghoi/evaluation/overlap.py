"""Intersection over union of all boxes that share image and category, at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, expand_in_parts, marked
from diaghoi.data.boxes import iou_of, reaches
from diaghoi.data.memory import gathered
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes

LEAST = 0.1
"""IoU below which boxes count as not overlapping, but where people are assigned the closest."""

CROWDED = "boxes that overlap in the same images"
"""What takes memory here, for the message where it is too much."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Overlap:
    """Which boxes overlap, of those that are compared with one another.

    Compared are the boxes of a *cell*: of an image and, where categories count, of a category.

    Parameters
    ----------
    predicted_boxes, annotated_boxes : (Bp, 4) and (Ba, 4) float64 array
        Boxes xyxy in pixels.
    cell_of_predicted, cell_of_annotated : (Bp,) and (Ba,) int array
        Cell of each box.
    predicted, annotated : (K,) int array
        Boxes that overlap by at least ``least``, ordered by predicted, then annotated box.
    value : (K,) float64 array
        Their IoU.
    reached : (K,) bool array
        Whether it reaches the threshold of the protocol.
    least : float
        Boxes that overlap less are left out: there are very many in an image with many boxes.
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
        """(Bp,) true where a predicted box reaches any annotated box of its cell."""
        return marked(self.reaching[0], len(self.cell_of_predicted))

    def reaches(self, predicted: IntArray, annotated: IntArray) -> BoolArray:
        """Whether predicted boxes reach annotated ones, pair by pair.

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
        """(N,) IoU of predicted and annotated boxes, pair by pair, whatever their cells."""
        mine, theirs = self.predicted_boxes, self.annotated_boxes
        return _iou(mine, predicted, theirs, annotated, self.protocol)

    def under(self, protocol: Protocol) -> Overlap:
        """Return the same overlap under another threshold, which is not below ``least``."""
        return replace(self, reached=reaches(protocol, self.value), protocol=protocol)


def box_overlap(annotations: Scenes, predictions: Scenes, protocol: Protocol) -> Overlap:
    """Compute the IoU of all boxes that are compared with one another.

    Parameters
    ----------
    annotations, predictions : Scenes
        With the same images.
    protocol : Protocol
        Box convention, threshold, and whether categories count.
    """
    cells, cell_of_annotated = _cells(annotations, protocol)
    _, cell_of_predicted = _cells(predictions, protocol)

    # Stable: the boxes of a cell keep their stored order, in which the first of equal IoU wins.
    by_cell = np.argsort(cell_of_annotated, kind="stable")
    in_cell = np.bincount(cell_of_annotated, minlength=cells)
    start = (np.cumsum(in_cell) - in_cell)[cell_of_predicted]
    count = in_cell[cell_of_predicted]

    # The closest person may overlap by hardly anything.
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
    # One label more, the first: -1, an unknown category.
    labels = len(scenes.vocabulary.objects) + 1
    return len(scenes) * labels, scenes.box_image * labels + scenes.box_label + 1
