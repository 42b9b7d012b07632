"""Intersection over union of all boxes that share image and category, at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from diaghoi.data.arrays.ragged import expand
from diaghoi.data.arrays.types import BoolArray, FloatArray, IntArray
from diaghoi.data.iou import box_iou, reaches
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes


@dataclass(frozen=True, kw_only=True, eq=False)
class Overlap:
    """IoU of every predicted box with the annotated boxes that it is compared with.

    These are the boxes of its *cell*: of its image and, where categories count, its category.

    Parameters
    ----------
    cell_of_predicted, cell_of_annotated : (Bp,) and (Ba,) int array
        Cell of each box.
    start, count : (Bp,) int array
        The run of each predicted box in ``value`` and ``annotated``.
    annotated : (K,) int array
        Annotated box of each entry.
    value : (K,) float64 array
        IoU of each entry.
    reached : (K,) bool array
        Whether the IoU reaches the threshold of the protocol.
    place : (Ba,) int array
        Position of an annotated box in the runs of the boxes of its cell.
    """

    cell_of_predicted: IntArray
    cell_of_annotated: IntArray
    start: IntArray
    count: IntArray
    annotated: IntArray
    value: FloatArray
    reached: BoolArray
    place: IntArray

    @cached_property
    def reaching(self) -> tuple[IntArray, IntArray]:
        """Predicted and annotated box of each entry that reaches the threshold."""
        owner = np.repeat(np.arange(len(self.start)), self.count)
        return owner[self.reached], self.annotated[self.reached]

    @cached_property
    def reaches_any(self) -> BoolArray:
        """(Bp,) true where a predicted box reaches any annotated box of its cell."""
        hit = np.zeros(len(self.start), dtype=bool)
        hit[self.reaching[0]] = True
        return hit

    def reaches(self, predicted: IntArray, annotated: IntArray) -> BoolArray:
        """Whether predicted boxes reach annotated ones, pair by pair.

        Parameters
        ----------
        predicted, annotated : (N,) int array
            Rows of the box tables; -1 for "no box", which reaches nothing.
        """
        reaches = np.zeros(len(predicted), dtype=bool)
        boxes = np.flatnonzero((predicted >= 0) & (annotated >= 0))
        mine, theirs = predicted[boxes], annotated[boxes]
        # Boxes of different cells have no entry; they reach nothing.
        met = boxes[self.cell_of_predicted[mine] == self.cell_of_annotated[theirs]]
        reaches[met] = self.reached[self.entry(predicted[met], annotated[met])]
        return reaches

    def entry(self, predicted: IntArray, annotated: IntArray) -> IntArray:
        """Entry of each (predicted, annotated) pair of boxes of one cell."""
        return self.start[predicted] + self.place[annotated]


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
    cell_start = np.cumsum(in_cell) - in_cell
    place = np.empty(len(by_cell), dtype=np.intp)
    place[by_cell] = np.arange(len(by_cell)) - cell_start[cell_of_annotated[by_cell]]

    count = in_cell[cell_of_predicted]
    owner, position = expand(cell_start[cell_of_predicted], count)
    annotated = by_cell[position]
    value = box_iou(
        predictions.box_xyxy[owner],
        annotations.box_xyxy[annotated],
        margin=protocol.margin,
        added=protocol.added_to_union,
    )
    return Overlap(
        cell_of_predicted=cell_of_predicted,
        cell_of_annotated=cell_of_annotated,
        start=np.cumsum(count) - count,
        count=count,
        annotated=annotated,
        value=value,
        reached=reaches(protocol, value),
        place=place,
    )


def _cells(scenes: Scenes, protocol: Protocol) -> tuple[int, IntArray]:
    """Return the number of cells, and the cell of each box."""
    if not protocol.categories_count:
        return len(scenes), scenes.box_image
    labels = len(scenes.vocabulary.objects)
    # A label of -1 (V-COCO does not name them) would fall into the cell before; categories do not
    # count there.
    return len(scenes) * labels, scenes.box_image * labels + scenes.box_label
