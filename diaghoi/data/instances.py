"""Which boxes show the same person or object, where data sets draw it once per triplet."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays.ragged import expand_in_parts, place_in_group
from diaghoi.data.arrays.types import IntArray
from diaghoi.data.iou import box_iou
from diaghoi.data.scenes import Scenes

SAME_INSTANCE = 0.6
"""IoU from which two annotated boxes of a category show the same instance."""


def instances(scenes: Scenes) -> IntArray:
    """Find the instance that each annotated box shows: (B,) row of the first box that shows it.

    Data sets that annotate every triplet apart draw the same person once per triplet, a few pixels
    off each time. A detector sees one person there.
    """
    label, image = scenes.box_label, scenes.box_image
    order = np.lexsort((np.arange(len(label)), label, image))
    cell = image[order].astype(np.int64) * len(scenes.vocabulary.objects) + label[order]
    before = place_in_group(cell)
    boxes = np.asarray(scenes.box_xyxy[order], dtype=np.float64)
    first = np.arange(len(order))
    for later, earlier in expand_in_parts(first - before, before):
        same = box_iou(boxes[later], boxes[earlier], margin=1.0) >= SAME_INSTANCE
        np.minimum.at(first, later[same], earlier[same])
    while not np.array_equal(first[first], first):
        first = first[first]
    found = np.empty_like(order)
    found[order] = order[first]
    return found
