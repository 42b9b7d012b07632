"""Rematch a few images to find the annotated boxes nearest to a prediction's boxes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, marked
from diaghoi.data.boxes import box_iou
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.matching import Match, match


@dataclass(frozen=True, kw_only=True)
class NearestBox:
    """The annotated box that a predicted box overlaps most, or vice versa.

    Parameters
    ----------
    box : int
        Row of the box table; -1 if there is no box to compare with.
    iou : float
        Intersection over union; 0 if the boxes do not overlap.
    """

    box: int = -1
    iou: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class MatchedImages:
    """A few images of joined scenes, matched again separately from the other images.

    Parameters
    ----------
    annotations, predictions : Scenes
        The scenes, restricted to these images.
    matched : Match
        The match of predictions and annotations.
    annotation_rows, prediction_rows : (A,) and (T,) int array
        Row of each triplet in the full scenes, ascending.
    """

    annotations: Scenes
    predictions: Scenes
    matched: Match
    annotation_rows: IntArray
    prediction_rows: IntArray

    @staticmethod
    def of(
        annotations: Scenes, predictions: Scenes, images: IntArray, protocol: Protocol
    ) -> MatchedImages:
        """Select the given images of joined scenes, and match their predictions."""
        images = np.unique(images)
        taken = marked(images, len(annotations))
        mine, theirs = annotations.take(images), predictions.take(images)
        return MatchedImages(
            annotations=mine,
            predictions=theirs,
            matched=match(mine, theirs, protocol),
            annotation_rows=np.flatnonzero(taken[annotations.triplet_image]),
            prediction_rows=np.flatnonzero(taken[predictions.triplet_image]),
        )

    @property
    def protocol(self) -> Protocol:
        """The protocol of the match."""
        return self.matched.protocol

    def annotated(self, row: int) -> int:
        """Convert the row of an annotated triplet in the full scenes to its row in these images."""
        return int(np.searchsorted(self.annotation_rows, row))

    def predicted(self, row: int) -> int:
        """Convert the row of a predicted triplet in the full scenes to its row in these images."""
        return int(np.searchsorted(self.prediction_rows, row))

    def boxes(self, scenes: Scenes, triplet: int) -> tuple[int, int]:
        """Return the human and object boxes of a triplet; -1 for no object."""
        pair = scenes.triplet_pair[triplet]
        return int(scenes.pair_human[pair]), int(scenes.pair_object[pair])

    def closest(self, box: int, among: BoolArray | None = None) -> NearestBox:
        """Find the annotated box of a comparable category that a predicted box overlaps most.

        Parameters
        ----------
        box : int
            Row of the predicted box, or -1 for no box.
        among : (Ba,) bool array, optional
            Mask of the annotated boxes to consider; all by default.
        """
        if box < 0:
            return NearestBox()
        overlap = self.matched.overlap
        compared = overlap.cell_of_annotated == overlap.cell_of_predicted[box]
        annotated = np.flatnonzero(compared if among is None else compared & among)
        return _largest(annotated, overlap.iou(np.full(len(annotated), box), annotated))

    def closest_of_all(self, box: int) -> NearestBox:
        """Find the annotated box of any category that a predicted box overlaps most."""
        boxes = np.flatnonzero(self.annotations.box_image == self.predictions.box_image[box])
        mine = np.repeat(self.predictions.box_xyxy[box][None], len(boxes), axis=0)
        return _largest(
            boxes, box_iou(mine, self.annotations.box_xyxy[boxes], self.protocol.margin)
        )

    def closest_predicted(self, box: int, among: IntArray) -> NearestBox:
        """Find the predicted box of a comparable category that an annotated box overlaps most.

        Parameters
        ----------
        box : int
            Row of the annotated box.
        among : int array
            Rows of the predicted boxes to consider; -1 for no box.
        """
        overlap = self.matched.overlap
        among = np.unique(among[among >= 0])
        among = among[overlap.cell_of_predicted[among] == overlap.cell_of_annotated[box]]
        return _largest(among, overlap.iou(among, np.full(len(among), box)))

    def iou(self, predicted: int, annotated: int) -> float:
        """Return the intersection over union of two boxes of comparable categories."""
        return float(self.matched.overlap.iou(np.array([predicted]), np.array([annotated]))[0])


def _largest(boxes: IntArray, values: FloatArray) -> NearestBox:
    if not len(boxes):
        return NearestBox()
    best = int(np.argmax(values))
    return NearestBox(box=int(boxes[best]), iou=float(values[best]))
