"""The tables of boxes and pairs from formats that repeat both boxes in every pair."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, distinct_boxes, runs_of_images
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
        # Some images at a time: a table of all boxes, one after the other, would be as large as
        # the file.
        columns: dict[str, list[Any]] = {each.name: [] for each in fields(cls)}
        boxes = 0
        for start, stop in runs_of_images(image):
            rows = slice(start, stop)
            scores = None if box_scores is None else (box_scores[0][rows], box_scores[1][rows])
            sides = human[rows], object_box[rows]
            part = _tables(vocabulary, image[rows], sides, category[rows], scores, merged)
            moved = replace(part, human=part.human + boxes, object=part.object + boxes)
            for name, column in columns.items():
                column.append(getattr(moved, name))
            boxes += len(part.box_image)
        joined: dict[str, Any] = {}
        while columns:  # each column is freed as soon as it is joined
            name, column = columns.popitem()
            joined[name] = None if column[0] is None else np.concatenate(column)
        return cls(**joined)


def _tables(
    vocabulary: Vocabulary,
    image: IntArray,
    sides: tuple[FloatArray, FloatArray],
    category: IntArray,
    box_scores: tuple[FloatArray, FloatArray] | None,
    merged: bool,
) -> PairTables:
    """Make the tables of some images."""
    # Interleave human and object, so that the boxes keep their order in the file.
    people = np.full_like(category, vocabulary.person)
    label = np.stack([people, category], axis=1).reshape(-1)
    xyxy = np.stack(sides, axis=1).reshape(-1, 4)
    image_of_box = np.repeat(image, 2)
    first: IntArray = np.arange(len(label))
    box = first
    if merged:
        first, box = distinct_boxes(image_of_box, label, xyxy)
    return PairTables(
        box_image=image_of_box[first],
        box_xyxy=xyxy[first],
        box_label=label[first],
        box_score=None if box_scores is None else np.stack(box_scores, 1).reshape(-1)[first],
        human=box[0::2],
        object=box[1::2],
    )
