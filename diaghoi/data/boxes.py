"""Boxes: overlap and thresholds, layouts and units in files, and instances."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    expand_in_parts,
    place_in_group,
    ratios,
)
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes, SceneSource, Source


def area(xyxy: FloatArray, margin: float) -> FloatArray:
    """Return the areas of (N, 4) boxes; ``margin`` is 1 if boxes cover whole pixels, else 0."""
    return np.asarray(
        (xyxy[:, 2] - xyxy[:, 0] + margin) * (xyxy[:, 3] - xyxy[:, 1] + margin), dtype=np.float64
    )


def box_iou(first: FloatArray, second: FloatArray, margin: float, added: float = 0.0) -> FloatArray:
    """Compute the (N,) intersection over union of (N, 4) xyxy boxes, row by row.

    The IoU of two boxes without area is 0. ``margin`` is 1 for inclusive boxes, whose width is x2 -
    x1 + 1, and 0 for continuous boxes; a protocol may add square pixels to every union.
    """
    # Each column is computed separately, because NumPy is several times slower on rows of two
    # numbers.
    shared, height = (
        np.minimum(first[:, stop], second[:, stop]) - np.maximum(first[:, start], second[:, start])
        for start, stop in ((0, 2), (1, 3))
    )
    for side in (shared, height):
        side += margin
        np.maximum(side, 0, out=side)
    shared *= height
    union = area(first, margin)
    union += area(second, margin)
    union -= shared
    union += added
    # Two boxes without area have no union; they do not overlap.
    return ratios(shared, union, undefined=0.0)


def iou_of(
    mine: FloatArray,
    one: IntArray,
    theirs: FloatArray,
    other: IntArray,
    margin: float,
    added: float = 0.0,
) -> FloatArray:
    """Compute :func:`box_iou` of rows ``one`` of ``mine`` and rows ``other`` of ``theirs``."""
    # `take` copies rows several times faster than indexing.
    return box_iou(mine.take(one, axis=0), theirs.take(other, axis=0), margin, added)


def reaches(protocol: Protocol, iou: npt.ArrayLike) -> BoolArray:
    """Check whether the IoU reaches the threshold, or exceeds a strict threshold; False for NaN."""
    return np.greater(iou, protocol.iou) if protocol.strict else np.greater_equal(iou, protocol.iou)


LAYOUTS = {
    "xyxy": "left, top, right, bottom",
    "xywh": "left, top, width, height",
    "cxcywh": "centre x, centre y, width, height",
    "yxyx": "y1, x1, y2, x2",
    "yxhw": "y1, x1, height, width",
    "cycxhw": "centre y, centre x, height, width",
    "xxyy": "x1, x2, y1, y2",
}
"""Meaning of the four numbers of a box, by layout name."""

# Whether boxes are fractions is read from this number of images first; and how far fractions may
# reach outside the image.
_FIRST, _OUTSIDE = 50, 0.05


def corners_of(boxes: FloatArray, layout: str, margin: float = 0.0) -> FloatArray:
    """Convert a file's (N, 4) boxes from one of :data:`LAYOUTS` to left, top, right, bottom.

    ``margin`` is 1 if a box of width w starting at x ends with pixel x + w - 1, as when pixels are
    counted inclusively.
    """
    if layout == "xyxy":
        return boxes
    if layout == "xxyy":
        return boxes[:, [0, 2, 1, 3]]
    if layout.startswith(("y", "cy")):
        boxes = boxes[:, [1, 0, 3, 2]]
    first, last = boxes[:, :2], boxes[:, 2:]
    if layout == "yxyx":
        return boxes
    with np.errstate(over="ignore"):  # the readers refuse infinity
        start = first - last / 2 if layout.startswith("c") else first
        return np.concatenate([start, start + last - margin], axis=1)


def in_pixels(annotations: SceneSource, predictions: Source) -> Source:
    """Multiply predicted boxes that are fractions of their image by the annotated image size.

    Annotations and predictions must use the same image names. A note records the conversion.
    Predictions in pixels are unchanged, as are all predictions if the annotations contain no image
    sizes.
    """
    some = predictions.between(0, _FIRST).box_xyxy
    if len(some) and not (_fractions(some) and some.any()):  # a file without boxes contains zeros
        return predictions
    found = predictions.load()
    sizes = _sizes(annotations.load(), found) if _fractions(found.box_xyxy) else None
    if sizes is None or not sizes.any():
        return predictions
    # Images of unknown size are not changed.
    sizes[~sizes.all(axis=1)] = 1
    note = f"{found.source}: boxes are fractions of the image; multiplied by its annotated size"
    scaled = found.box_xyxy * np.tile(sizes, 2)[found.box_image]
    return cast(Source, replace(found, box_xyxy=scaled, notes=(*found.notes, note)))


def _fractions(boxes: FloatArray) -> bool:
    return len(boxes) > 0 and boxes.min() >= -_OUTSIDE and boxes.max() <= 1 + _OUTSIDE


def _sizes(annotations: Scenes, predictions: Scenes) -> FloatArray | None:
    """Return the (N, 2) size of each predicted image; 0 if unknown."""
    if annotations.sizes is None:
        return None
    if not (annotations.named and predictions.named):
        same = len(annotations) == len(predictions)
        return annotations.sizes.astype(np.float64) if same else None
    place = {name: row for row, name in enumerate(annotations.names.tolist())}
    rows = [place.get(name, len(place)) for name in predictions.names.tolist()]
    return np.append(annotations.sizes, [[0, 0]], axis=0)[rows].astype(np.float64)


SAME_INSTANCE = 0.6
"""Lowest IoU at which two annotated boxes of the same category show the same instance."""


def instances(scenes: Scenes) -> IntArray:
    """Find the instance of each annotated box: (B,) row of the first box of the same instance.

    Data sets that annotate every triplet separately draw the same person once per triplet, each
    time shifted by a few pixels. For a detector, all boxes of a person that differ by a few pixels
    are the same person.
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
