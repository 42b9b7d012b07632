"""A few images seen closely: what each box of a prediction is near to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays.ragged import marked
from diaghoi.data.arrays.types import BoolArray, FloatArray, IntArray
from diaghoi.data.boxes import iou
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.matching import Match, match


@dataclass(frozen=True, kw_only=True)
class Near:
    """The annotated box that a predicted one overlaps most, or the other way round.

    Parameters
    ----------
    box : int
        Row of the box table; -1 where there is no box to compare with.
    iou : float
        Intersection over union, 0 where they do not overlap.
    """

    box: int = -1
    iou: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class CloseUp:
    """Some images of joined scenes, matched again by themselves.

    Parameters
    ----------
    annotations, predictions : Scenes
        Of these images alone.
    matched : Match
        Their match.
    annotation_rows, prediction_rows : (A,) and (T,) int array
        The rows that their triplets have among all, ascending.
    """

    annotations: Scenes
    predictions: Scenes
    matched: Match
    annotation_rows: IntArray
    prediction_rows: IntArray

    @staticmethod
    def of(
        annotations: Scenes, predictions: Scenes, images: IntArray, protocol: Protocol
    ) -> CloseUp:
        """Look closely at some images of joined scenes."""
        images = np.unique(images)
        wanted = marked(images, len(annotations))
        mine, theirs = annotations.take(images), predictions.take(images)
        return CloseUp(
            annotations=mine,
            predictions=theirs,
            matched=match(mine, theirs, protocol),
            annotation_rows=np.flatnonzero(wanted[annotations.triplet_image]),
            prediction_rows=np.flatnonzero(wanted[predictions.triplet_image]),
        )

    @property
    def protocol(self) -> Protocol:
        """The choices."""
        return self.matched.protocol

    def annotated(self, row: int) -> int:
        """Annotated triplet here that is a row among all."""
        return int(np.searchsorted(self.annotation_rows, row))

    def predicted(self, row: int) -> int:
        """Predicted triplet here that is a row among all."""
        return int(np.searchsorted(self.prediction_rows, row))

    def boxes(self, scenes: Scenes, triplet: int) -> tuple[int, int]:
        """Boxes of the human and of the object of a triplet; -1 for no object."""
        pair = scenes.triplet_pair[triplet]
        return int(scenes.pair_human[pair]), int(scenes.pair_object[pair])

    def closest(self, box: int, among: BoolArray | None = None) -> Near:
        """Find the annotated box that a predicted one overlaps most, of those it is compared with.

        Parameters
        ----------
        box : int
            Row of the predicted boxes; -1 is near to nothing.
        among : (Ba,) bool array, optional
            The annotated boxes to look at.
        """
        if box < 0:
            return Near()
        overlap = self.matched.overlap
        run = slice(overlap.start[box], overlap.start[box] + overlap.count[box])
        annotated, value = overlap.annotated[run], overlap.value[run]
        if among is not None:
            annotated, value = annotated[among[annotated]], value[among[annotated]]
        return _largest(annotated, value)

    def closest_of_all(self, box: int) -> Near:
        """Find the annotated box that a predicted one overlaps most, whatever the categories."""
        boxes = np.flatnonzero(self.annotations.box_image == self.predictions.box_image[box])
        mine = np.repeat(self.predictions.box_xyxy[box][None], len(boxes), axis=0)
        return _largest(boxes, iou(mine, self.annotations.box_xyxy[boxes], self.protocol.margin))

    def closest_predicted(self, box: int, among: IntArray) -> Near:
        """Find the predicted box that an annotated one overlaps most, of those compared with it.

        Parameters
        ----------
        box : int
            Row of the annotated boxes.
        among : int array
            The predicted boxes to look at.
        """
        overlap = self.matched.overlap
        owner = np.repeat(np.arange(len(overlap.start)), overlap.count)
        wanted = (overlap.annotated == box) & np.isin(owner, among)
        return _largest(owner[wanted], overlap.value[wanted])

    def iou(self, predicted: int, annotated: int) -> float:
        """Intersection over union of two boxes that are compared."""
        overlap = self.matched.overlap
        return float(overlap.value[overlap.entry(np.array(predicted), np.array(annotated))])


def _largest(boxes: IntArray, values: FloatArray) -> Near:
    if not len(boxes):
        return Near()
    best = int(np.argmax(values))
    return Near(box=int(boxes[best]), iou=float(values[best]))
