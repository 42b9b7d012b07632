"""Scenes from formats that repeat both boxes in every triplet."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays.distinct import distinct, distinct_boxes
from diaghoi.data.arrays.types import FloatArray, IntArray, StrArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary


def from_repeated(
    vocabulary: Vocabulary,
    *,
    names: StrArray,
    sizes: IntArray | None = None,
    image: IntArray,
    human: FloatArray,
    object_box: FloatArray,
    hoi: IntArray,
    score: FloatArray | None = None,
    source: str,
    notes: tuple[str, ...] = (),
) -> Scenes:
    """Merge equal boxes of an image, and equal pairs of boxes.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    names : (N,) str array
        Image names.
    sizes : (N, 2) int array or None
        Width and height.
    image : (T,) int array
        Image of each triplet, ascending.
    human, object_box : (T, 4) float64 array
        Its boxes, counted from zero.
    hoi : (T,) int array
        Its HOI class.
    score : (T,) float64 array or None
        Its score.
    source : str
        The file.
    notes : tuple of str
        Notes about how it was read.

    Returns
    -------
    Scenes
        Boxes with the same coordinates and category in one image are one box; pairs are the
        distinct pairs of distinct boxes, in the order of first use.
    """
    # Interleave human and object, so that the boxes keep their order in the file.
    category = vocabulary.class_object[hoi].astype(np.int64)
    label = np.stack([np.full_like(category, vocabulary.person), category], axis=1).reshape(-1)
    xyxy = np.stack([human, object_box], axis=1).reshape(-1, 4)
    image_of_box = np.repeat(image, 2)
    first, box = distinct_boxes(image_of_box, label, xyxy)
    used, pair = distinct(box[0::2] * np.int64(max(len(first), 1)) + box[1::2])
    return Scenes(
        vocabulary=vocabulary,
        names=names,
        sizes=sizes,
        box_image=image_of_box[first],
        box_xyxy=xyxy[first],
        box_label=label[first],
        pair_human=box[0::2][used],
        pair_object=box[1::2][used],
        triplet_pair=pair,
        triplet_verb=vocabulary.class_verb[hoi].astype(np.int64),
        triplet_score=score,
        source=source,
        notes=notes,
    )
