"""Boxes as code bases keep them: in several orders of four numbers, and as fractions of images."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from diaghoi.data.arrays.types import FloatArray
from diaghoi.data.scenes import Scenes, SceneSource, Source

LAYOUTS = {
    "xyxy": "left, top, right, bottom",
    "xywh": "left, top, width, height",
    "cxcywh": "centre x, centre y, width, height",
    "yxyx": "y1, x1, y2, x2",
    "yxhw": "y1, x1, height, width",
    "cycxhw": "centre y, centre x, height, width",
    "xxyy": "x1, x2, y1, y2",
}
"""What the four numbers of a box may be, by the name of the layout."""

# Images that show whether boxes are fractions; how far most fractions, and all, may reach outside
# their image, and how many are most.
_FIRST, _OUTSIDE, _FAR, _MOST = 50, 0.05, 1.0, 0.98


def corners_of(boxes: FloatArray, layout: str, margin: float = 0.0) -> FloatArray:
    """Convert boxes to left, top, right, bottom.

    Parameters
    ----------
    boxes : (N, 4) float array
        Boxes as they are in a file.
    layout : str
        One of :data:`LAYOUTS`.
    margin : float
        How much the last pixel of a box lies before its left edge plus its width: 1 for pixels that
        are counted inclusively.

    Returns
    -------
    (N, 4) float array
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
    with np.errstate(over="ignore"):  # infinity is refused by the readers
        start = first - last / 2 if layout.startswith("c") else first
        return np.concatenate([start, start + last - margin], axis=1)


def in_pixels(annotations: SceneSource, predictions: Source) -> Source:
    """Multiply predicted boxes that are fractions of their image by its annotated size.

    Parameters
    ----------
    annotations, predictions : Scenes or other source of scenes
        With the same names for the same images.

    Returns
    -------
    Scenes or other source of scenes
        The predictions, with a note where they were fractions; unchanged where they are in pixels,
        or the annotations do not say how large any of the images is.
    """
    some = predictions.between(0, _FIRST).box_xyxy
    if len(some) and not _fractions(some):
        return predictions
    found = predictions.load()
    sizes = _sizes(annotations.load(), found) if _fractions(found.box_xyxy) else None
    if sizes is None or not sizes.any():
        return predictions
    # Images of unknown size stay as they are.
    sizes[~sizes.all(axis=1)] = 1
    note = f"{found.source}: boxes are fractions of the image; multiplied by its annotated size"
    scaled = found.box_xyxy * np.tile(sizes, 2)[found.box_image]
    return cast(Source, replace(found, box_xyxy=scaled, notes=(*found.notes, note)))


def _fractions(boxes: FloatArray) -> bool:
    return len(boxes) > 0 and boxes.min() >= -_OUTSIDE and boxes.max() <= 1 + _OUTSIDE


def _sizes(annotations: Scenes, predictions: Scenes) -> FloatArray | None:
    """(N, 2) size of each predicted image, 0 where it is unknown."""
    if annotations.sizes is None:
        return None
    if not (annotations.named and predictions.named):
        same = len(annotations) == len(predictions)
        return annotations.sizes.astype(np.float64) if same else None
    place = {name: row for row, name in enumerate(annotations.names.tolist())}
    rows = [place.get(name, len(place)) for name in predictions.names.tolist()]
    return np.append(annotations.sizes, [[0, 0]], axis=0)[rows].astype(np.float64)
