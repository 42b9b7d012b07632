"""Recognise boxes that miss annotated boxes because of another layout, scale or image order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, expand
from diaghoi.data.boxes import LAYOUTS, box_iou, corners_of
from diaghoi.data.scenes import Scenes

CLOSE = 0.75
# Another reading is suggested if under it at least the share MOST of the annotated boxes is close
# to a predicted box, and at least BETTER times the share under the current reading. By chance,
# fewer than a tenth of the boxes are close.
MOST, BETTER = 0.15, 2
# Tolerance, in log scale, between the scales implied by a box's location and by its size, and
# between the scales of the boxes of an image.
OF_BOX, OF_IMAGE = 0.1, 0.05
# Scales that differ by less than this count as equal, across images and between width and height.
UNIFORM = 0.08
# A single scale for all images is reported if it fits nearly as many boxes (the share ONE_SCALE) as
# a scale per image. Inexact boxes can spread the scales of the images by up to SPREAD.
ONE_SCALE, SPREAD = 0.9, 0.3
# Factors by which boxes may be too small or too large around their centres.
SIZES = (0.4, 0.5, 0.6, 0.75, 1.3, 1.6, 2.0, 2.5, 3.2)
# Tolerance in pixels between the image widths implied by two mirrored boxes of one image.
MIRRORED = 15
# Images with more pairs of an annotated and a predicted box than this are not searched for scales.
COMPARED = 50_000


class BoxReading(NamedTuple):
    """Another way to read boxes, under which they would match the annotated boxes.

    Parameters
    ----------
    text : str
        Describes the other reading, the share of boxes that would fit, and what to do.
    share : float
        Share of the annotated boxes that would fit.
    misread : bool
        Whether the boxes were read wrongly, rather than made too small or too large.
    """

    text: str
    share: float
    misread: bool = True


class _Boxes(NamedTuple):
    image: IntArray
    corners: FloatArray


def best_box_reading(annotations: Scenes, predictions: Scenes) -> BoxReading | None:
    """Find a reading of the predicted boxes under which they match the annotated boxes.

    The search tries other orders and meanings of the four numbers, mirrored images, the previous
    and the next image, a separate scale for each image, and other sizes around the box centres.
    Categories are ignored.

    Parameters
    ----------
    annotations, predictions : Scenes
        Annotations and predictions of the same images.

    Returns
    -------
    BoxReading or None
        None if no other reading fits much better than the current reading.
    """
    found = _Boxes(predictions.box_image, predictions.box_xyxy)
    readings = [_resized(annotations, found), *_scaled(annotations, predictions)]
    for what, advice, boxes in _other_readings(annotations, predictions):
        share = _share_close(annotations, boxes)
        readings.append(BoxReading(f"{what}, {100 * share:.0f} % would: {advice}", share))
    best = max(readings, key=lambda each: each.share)
    return best if best.share >= max(MOST, BETTER * _share_close(annotations, found)) else None


def _share_close(annotations: Scenes, found: _Boxes) -> float:
    """Return the share of annotated boxes to which a predicted box is close."""
    bounds = annotations.bounds["box"]
    owner, annotated = expand(bounds[found.image], np.diff(bounds)[found.image])
    value = box_iou(found.corners[owner], annotations.box_xyxy[annotated], margin=1.0)
    return len(np.unique(annotated[value >= CLOSE])) / max(len(annotations.box_label), 1)


def _other_readings(annotations: Scenes, predictions: Scenes) -> Iterator[tuple[str, str, _Boxes]]:
    """Yield the description, the advice and the resulting boxes of each possible reading."""
    image, box = predictions.box_image, predictions.box_xyxy
    write = "write x1, y1, x2, y2 in pixels of the original image"
    # V-COCO's official layout allows no other form of boxes.
    option = "" if annotations.vocabulary.agents is not None else "give --read boxes={}, or "
    # If boxes were read as left, top, width and height, a note may say so; without a note, they may
    # also have been read as corners.
    numbers_as = {
        "xyxy": box,
        "xywh": np.concatenate([box[:, :2], box[:, 2:] - box[:, :2]], axis=1),
    }
    if any(f"boxes are {LAYOUTS['xywh']}" in note for note in predictions.notes):
        del numbers_as["xyxy"]
    for read_as, numbers in numbers_as.items():
        for layout, words in LAYOUTS.items():
            if layout != read_as:
                corners = corners_of(numbers, layout)
                corners = np.concatenate(
                    [corners[:, :2], np.maximum(corners[:, :2], corners[:, 2:])], axis=1
                )
                yield f"read as {words}", option.format(layout) + write, _Boxes(image, corners)
    width = _widths(annotations, predictions)[image]
    mirrored = np.column_stack([width - box[:, 2], box[:, 1], width - box[:, 0], box[:, 3]])
    yield "mirrored from left to right", "mirror them back", _Boxes(image, mirrored)
    for step, which in ((1, "next"), (-1, "previous")):
        other = image + step
        inside = (other >= 0) & (other < len(annotations))
        moved = _Boxes(other[inside], box[inside])
        yield f"used for the {which} image", "give each image its own boxes", moved


def _resized(annotations: Scenes, found: _Boxes) -> BoxReading:
    """Find the scale factor, applied about the box centres, at which the boxes fit best."""
    centre = (found.corners[:, :2] + found.corners[:, 2:]) / 2
    half = (found.corners[:, 2:] - found.corners[:, :2]) / 2

    def share(size: float) -> float:
        corners = np.concatenate([centre - size * half, centre + size * half], axis=1)
        return _share_close(annotations, _Boxes(found.image, corners))

    share_of = {size: share(size) for size in SIZES}
    best = max(share_of, key=share_of.__getitem__)
    much = "small" if best > 1 else "large"
    text = (
        f"about {best:g} times as wide and high around their centres, {100 * share_of[best]:.0f} "
        f"% would: they are in pixels of the original image, but too {much}; check how their "
        "width and height are computed"
    )
    return BoxReading(text, share_of[best], misread=False)


def _images(
    annotations: Scenes, predictions: Scenes
) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Yield the annotated and the predicted boxes of the images that do not have too many boxes."""
    mine, theirs = annotations.bounds["box"], predictions.bounds["box"]
    for image in range(len(annotations)):
        true, found = (
            scenes.box_xyxy[bounds[image] : bounds[image + 1]]
            for scenes, bounds in ((annotations, mine), (predictions, theirs))
        )
        if len(true) >= 2 and len(true) * len(found) <= COMPARED:
            yield image, true, found


def _agreeing(
    votes: FloatArray, annotated: IntArray, found: IntArray, tolerance: float
) -> tuple[FloatArray, int]:
    """Find the value on which most boxes agree, and their count; 0 if fewer than two agree."""
    best, count = votes[:0], 1
    for vote in votes:
        agree = np.abs(votes - vote).max(axis=1) < tolerance
        # Two annotated boxes can be nearly equal, so that one predicted box fits both boxes.
        members = min(len(np.unique(annotated[agree])), len(np.unique(found[agree])))
        if members > count:
            best, count = np.median(votes[agree], axis=0), members
    return best, count if len(best) else 0


def _widths(annotations: Scenes, predictions: Scenes) -> FloatArray:
    """Return the image widths, (N,); unknown widths are inferred from mirrored boxes."""
    if annotations.sizes is not None and annotations.sizes[:, 0].any():
        return annotations.sizes[:, 0].astype(np.float64)
    widths = np.zeros(len(annotations))
    for image, true, found in _images(annotations, predictions):
        off = np.abs(_logarithms(true)[:, None, 1:] - _logarithms(found)[None, :, 1:])
        mine, theirs = np.nonzero(off.max(axis=-1) < OF_BOX)
        sums = true[mine][:, [0, 2]] + found[theirs][:, [2, 0]]
        vote, count = _agreeing(sums.mean(axis=1, keepdims=True), mine, theirs, MIRRORED)
        if count:
            widths[image] = vote[0]
    return widths


def _scaled(annotations: Scenes, predictions: Scenes) -> list[BoxReading]:
    """Find scales at which two or more boxes of an image fit in both location and size."""
    scales, fitting, boxes = [], 0, 0
    for _, true, found in _images(annotations, predictions):
        boxes += len(true)
        ratio = _logarithms(true)[:, None] - _logarithms(found)[None]
        mine, theirs = np.nonzero(np.abs(ratio[..., :2] - ratio[..., 2:]).max(axis=-1) < OF_BOX)
        vote, count = _agreeing(ratio[mine, theirs][:, 2:], mine, theirs, OF_IMAGE)
        if count:
            scales.append(vote)
            fitting += count
    if not scales:
        return []
    return [_in_words(annotations, predictions, np.array(scales), fitting / boxes)]


def _in_words(
    annotations: Scenes, predictions: Scenes, scales: FloatArray, share: float
) -> BoxReading:
    """Describe the factors by which boxes must be multiplied, given (N, 2) logarithms."""
    across, down = np.exp(np.median(scales, axis=0)).tolist()
    by = f"{across:.3g}" if abs(across / down - 1) < UNIFORM else f"{across:.3g} x {down:.3g}"
    corners = predictions.box_xyxy * [across, down, across, down]
    one = _share_close(annotations, _Boxes(predictions.box_image, corners))
    spread = np.exp(np.quantile(scales[:, 0], [0.1, 0.9]))
    if spread[1] / spread[0] - 1 > (SPREAD if one >= ONE_SCALE * share else UNIFORM):
        by = f"{spread[0]:.3g} to {spread[1]:.3g}, another number for each image"
    share = max(share, one)
    text = f"multiplied by {by}, {100 * share:.0f} % would: scale them back to the original image"
    return BoxReading(text, share)


def _logarithms(corners: FloatArray) -> FloatArray:
    """Return the logarithms of the centres and sizes of boxes, (N, 4)."""
    centre, size = (corners[:, :2] + corners[:, 2:]) / 2, corners[:, 2:] - corners[:, :2]
    return np.asarray(np.log(np.maximum(np.concatenate([centre, size], axis=1), 1e-6)))
