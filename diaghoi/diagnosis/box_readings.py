"""Boxes that miss the annotated ones because they are laid out, scaled or filed in another way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays.ragged import expand
from diaghoi.data.arrays.types import FloatArray, IntArray
from diaghoi.data.iou import box_iou
from diaghoi.data.scenes import Scenes

CLOSE = 0.75
# Another reading is named where so many annotated boxes come close to a predicted one by it, and
# this many times as many as by the one that was used.
MOST, BETTER = 0.4, 3
# How far logarithms of scales may differ: between place and size of a box, and within an image.
OF_BOX, OF_IMAGE = 0.1, 0.05
# Scales of images that differ by less are one scale, and so are those of width and height.
UNIFORM = 0.08
# Scales are not sought in images with more pairs of an annotated and a predicted box.
COMPARED = 50_000


class BoxReading(NamedTuple):
    """Another way to read boxes, by which they would lie on the annotated ones.

    Parameters
    ----------
    text : str
        What they are, with the share of boxes that would fit, and what to do.
    share : float
        That share of the annotated boxes.
    """

    text: str
    share: float


class _Boxes(NamedTuple):
    image: IntArray
    corners: FloatArray


def best_box_reading(annotations: Scenes, predictions: Scenes) -> BoxReading | None:
    """Find the way to read predicted boxes by which they lie on the annotated ones.

    Tried are other orders and meanings of the four numbers, mirrored images, the image before and
    after, and scales of their own for each image. Categories are passed over.

    Parameters
    ----------
    annotations, predictions : Scenes
        With the same images.

    Returns
    -------
    BoxReading or None
        None where none fits much better than the one that was used.
    """
    found = _Boxes(predictions.box_image, predictions.box_xyxy)
    needed = max(MOST, BETTER * _share_close(annotations, found))
    readings = [
        BoxReading(f"{what}, {100 * share:.0f} % would: {advice}", share)
        for what, advice, boxes in _other_readings(annotations, found)
        if (share := _share_close(annotations, boxes)) >= needed
    ]
    scaled = _scaled(annotations, predictions)
    if scaled is not None and scaled.share >= needed:
        readings.append(scaled)
    return max(readings, key=lambda each: each.share, default=None)


def _share_close(annotations: Scenes, found: _Boxes) -> float:
    """Share of the annotated boxes with one of the others close to them."""
    bounds = annotations.bounds["box"]
    owner, annotated = expand(bounds[found.image], np.diff(bounds)[found.image])
    value = box_iou(found.corners[owner], annotations.box_xyxy[annotated], margin=1.0)
    return len(np.unique(annotated[value >= CLOSE])) / max(len(annotations.box_label), 1)


def _other_readings(annotations: Scenes, found: _Boxes) -> Iterator[tuple[str, str, _Boxes]]:
    """Yield what boxes may be, what to do if they are, and the boxes that they would be."""
    image, box = found
    first, last = box[:, :2], box[:, 2:]
    write = "write x1, y1, x2, y2 in pixels of the original image"
    centred = "read as centre x, centre y, width, height"

    def corners(start: FloatArray, stop: FloatArray) -> _Boxes:
        return _Boxes(image, np.concatenate([start, np.maximum(start, stop)], axis=1))

    yield centred, write, corners(first - last / 2, first + last / 2)
    # They may have been read as left, top, width and height.
    half = (last - first) / 2
    yield centred, write, corners(first - half, last - half)
    yield "read as left, top, width, height", "give --boxes xywh", corners(first, first + last)
    yield "read as y1, x1, y2, x2", write, corners(first[:, ::-1], last[:, ::-1])
    if annotations.sizes is not None:
        width = annotations.sizes[image, 0]
        left, right = width - box[:, 2], width - box[:, 0]
        mirrored = np.column_stack([left, box[:, 1], right, box[:, 3]])
        yield "mirrored from left to right", "mirror them back", _Boxes(image, mirrored)
    for step, which in ((1, "next"), (-1, "previous")):
        other = image + step
        inside = (other >= 0) & (other < len(annotations))
        moved = _Boxes(other[inside], box[inside])
        yield f"taken for those of the {which} image", "give each image its own boxes", moved


def _scaled(annotations: Scenes, predictions: Scenes) -> BoxReading | None:
    """Find scales by which two or more boxes of an image fit at once, in place and size."""
    mine, theirs = annotations.bounds["box"], predictions.bounds["box"]
    scales, fitting, boxes = [], 0, 0
    for image in range(len(annotations)):
        true, found = (
            _logarithms(scenes.box_xyxy[bounds[image] : bounds[image + 1]])
            for scenes, bounds in ((annotations, mine), (predictions, theirs))
        )
        if len(true) < 2 or len(true) * len(found) > COMPARED:
            continue
        boxes += len(true)
        ratio = true[:, None] - found[None]
        consistent = np.abs(ratio[..., :2] - ratio[..., 2:]).max(axis=-1) < OF_BOX
        annotated, _ = np.nonzero(consistent)
        votes = ratio[consistent][:, 2:]
        best, count = None, 1
        for vote in votes:
            agreeing = np.abs(votes - vote).max(axis=1) < OF_IMAGE
            members = len(np.unique(annotated[agreeing]))
            if members > count:
                best, count = np.median(votes[agreeing], axis=0), members
        if best is not None:
            scales.append(best)
            fitting += count
    return _in_words(np.array(scales), fitting / boxes) if scales else None


def _in_words(scales: FloatArray, share: float) -> BoxReading:
    """Say by what boxes would have to be multiplied, from (N, 2) logarithms."""
    across, down = np.exp(np.median(scales, axis=0)).tolist()
    by = f"{across:.3g}" if abs(across / down - 1) < UNIFORM else f"{across:.3g} x {down:.3g}"
    spread = np.exp(np.quantile(scales[:, 0], [0.1, 0.9]))
    if spread[1] / spread[0] - 1 > UNIFORM:
        by = f"{spread[0]:.3g} to {spread[1]:.3g}, another number for each image"
    text = f"multiplied by {by}, {100 * share:.0f} % would: scale them back to the original image"
    return BoxReading(text, share)


def _logarithms(corners: FloatArray) -> FloatArray:
    """(N, 4) logarithms of centre and size."""
    centre, size = (corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]
    return np.asarray(np.log(np.maximum(np.concatenate([centre, size], axis=1), 1e-6)))
