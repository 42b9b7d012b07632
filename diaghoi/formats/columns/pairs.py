"""The tables of boxes and pairs from formats that repeat both boxes in every pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays.distinct import distinct_boxes
from diaghoi.data.arrays.types import FloatArray, IntArray
from diaghoi.data.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True, eq=False)
class PairTables:
    """Boxes, and the pairs that refer to them.

    Parameters
    ----------
    box_image, box_label : (B,) int array
        Image and category of each box.
    box_xyxy : (B, 4) float64 array
        Coordinates.
    box_score : (B,) float64 array or None
        Detection score.
    human, object : (P,) int array
        Boxes of each pair.
    """

    box_image: IntArray
    box_xyxy: FloatArray
    box_label: IntArray
    box_score: FloatArray | None
    human: IntArray
    object: IntArray

    @classmethod
    def of(
        cls,
        vocabulary: Vocabulary,
        *,
        image: IntArray,
        human: FloatArray,
        object_box: FloatArray,
        category: IntArray,
        box_scores: tuple[FloatArray, FloatArray] | None = None,
        merged: bool = True,
    ) -> PairTables:
        """Merge the boxes with equal coordinates and category in one image; pairs stay as listed.

        Parameters
        ----------
        vocabulary : Vocabulary
            The data set.
        image : (P,) int array
            Image of each pair, ascending.
        human, object_box : (P, 4) float64 array
            Its boxes, counted from zero.
        category : (P,) int array
            Category of its object.
        box_scores : two (P,) float64 arrays or None
            Scores of the human boxes and of the object boxes; that of a merged box is the first.
        merged : bool
            False where each pair has its own two boxes, even if they are equal to others.
        """
        # Interleave human and object, so that the boxes keep their order in the file.
        people = np.full_like(category, vocabulary.person)
        label = np.stack([people, category], axis=1).reshape(-1)
        xyxy = np.stack([human, object_box], axis=1).reshape(-1, 4)
        image_of_box = np.repeat(image, 2)
        first: IntArray = np.arange(len(label))
        box = first
        if merged:
            first, box = distinct_boxes(image_of_box, label, xyxy)
        return cls(
            box_image=image_of_box[first],
            box_xyxy=xyxy[first],
            box_label=label[first],
            box_score=None if box_scores is None else np.stack(box_scores, 1).reshape(-1)[first],
            human=box[0::2],
            object=box[1::2],
        )
