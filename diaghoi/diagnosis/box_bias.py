"""Detect boxes that faulty code makes systematically too large, too small or shifted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, first_of_run
from diaghoi.data.protocol import HICO_DET
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.overlap import box_overlap

# Minimum IoU of two boxes that show the same object, and minimum number of boxes to report on.
SAME, ENOUGH = 0.15, 50
# A median is reported if it is at least this far from zero, as a share and in standard errors.
SHARE, ERRORS = 0.05, 6
# A shift counts as one pixel if it differs from one pixel by at most this much. Boxes that deviate
# by more than the share SAME_BOX of their size are ignored.
PIXEL, SAME_BOX = 0.35, 0.15
# Images with more pairs of an annotated and a predicted box than this are skipped.
COMPARED = 500_000
# Words for deviations of width, height and centre, in both directions.
WORDS = (
    ("wider", "narrower"),
    ("taller", "shorter"),
    ("of their width too far to the right", "of their width too far to the left"),
    ("of their height too far down", "of their height too far up"),
)


def box_bias(annotations: Scenes, predictions: Scenes) -> list[str]:
    """Find systematic differences between predicted boxes and the annotated boxes that they cover.

    Each annotated box is compared with the predicted box that overlaps it most: human boxes with
    human boxes, and object boxes with object boxes of any category. Medians are taken over the
    boxes of people and over all other boxes.

    Parameters
    ----------
    annotations, predictions : Scenes
        Annotations and predictions of the same images.

    Returns
    -------
    list of str
        One sentence each for people and objects whose boxes are off in width, height or centre by
        at least 5 % of the box.
    """
    annotations, predictions = without_crowds(annotations, predictions)
    mine, theirs = _partners(annotations, predictions)
    true, found = annotations.box_xyxy[mine], predictions.box_xyxy[theirs]
    size = true[:, 2:] - true[:, :2] + 1
    scale = np.log((found[:, 2:] - found[:, :2] + 1) / size)
    shift = (found[:, 2:] + found[:, :2] - true[:, 2:] - true[:, :2]) / (2 * size)
    off = np.column_stack([scale, shift])
    person = annotations.box_label[mine] == annotations.vocabulary.person
    sentences = []
    for name, members in (("human", person), ("object", ~person)):
        said = _in_words(off[members])
        if said:
            # If the boxes were on another scale, their centres would be off, too.
            sized = all(each.split()[-1] in WORDS[0] + WORDS[1] for each in said)
            made = "their width and height are computed" if sized else "they are scaled"
            where = "" if sized else " to the original image"
            sentences.append(
                f"{name} boxes are {' and '.join(said)} compared with annotated boxes (medians "
                f"over {int(members.sum())} boxes): check how {made}{where}"
            )
    return sentences


def pixel_shift(true: FloatArray, found: FloatArray) -> list[str]:
    """Detect boxes that are shifted by one pixel, allowing for random errors.

    Parameters
    ----------
    true, found : (N, 4) float64 array
        Annotated boxes, and predicted boxes that overlap the annotated boxes well.

    Returns
    -------
    list of str
        One sentence if all four coordinates are shifted by one pixel, otherwise none.
    """
    off = found - true
    size = np.maximum(true[:, 2:] - true[:, :2], 1)
    known = np.flatnonzero((np.abs(off) < SAME_BOX * np.tile(size, 2)).all(axis=1))
    if len(known) < ENOUGH:
        return []
    # Random errors grow with the size of a box, so small boxes are the most informative.
    weight = np.tile(1.0 / size[known] ** 2, 2)
    weight /= weight.sum(axis=0)
    shift = (weight * off[known]).sum(axis=0)
    error = np.sqrt((weight**2 * (off[known] - shift) ** 2).sum(axis=0))
    for pixels, reading in ((1, "origin=1"), (-1, "origin=0")):
        near = np.abs(shift - pixels) < np.maximum(PIXEL, 2 * error)
        mean, sure = pixels * shift.mean(), ERRORS * np.sqrt((error**2).sum()) / 4
        if near.all() and abs(mean - 1) < PIXEL and mean > sure:
            return [
                f"boxes that overlap annotated boxes well are shifted by {shift.round(2).tolist()} "
                f"pixels (weighted mean): read them with --read {reading}"
            ]
    return []


def without_crowds(annotations: Scenes, predictions: Scenes) -> tuple[Scenes, Scenes]:
    """Skip images with so many boxes that comparing all of them would take too long.

    Parameters
    ----------
    annotations, predictions : Scenes
        Annotations and predictions of the same images.
    """
    boxes = (np.diff(scenes.bounds["box"]).astype(float) for scenes in (annotations, predictions))
    small = np.prod([*boxes], axis=0) <= COMPARED
    if small.all():
        return annotations, predictions
    images = np.flatnonzero(small)
    return annotations.take(images), predictions.take(images)


def _partners(annotations: Scenes, predictions: Scenes) -> tuple[IntArray, IntArray]:
    """Match each annotated box with the predicted box that overlaps it most."""
    person = annotations.vocabulary.person
    # People are compared with people, and objects with objects of any category.
    annotations, predictions = (
        replace(scenes, box_label=(scenes.box_label == person).astype(scenes.box_label.dtype))
        for scenes in (annotations, predictions)
    )
    boxes = box_overlap(annotations, predictions, HICO_DET)
    same = np.flatnonzero(boxes.value >= SAME)
    order = same[np.lexsort((-boxes.value[same], boxes.annotated[same]))]
    best = order[first_of_run(boxes.annotated[order])]
    return boxes.annotated[best], boxes.predicted[best]


def _in_words(off: FloatArray) -> list[str]:
    """Describe how boxes deviate, given (N, 4) logarithms of scale and shares of size."""
    if len(off) < ENOUGH:
        return []
    median = np.median(off, axis=0)
    # Standard error of a median, estimated from the median absolute deviation of normally
    # distributed values.
    error = 1.858 * np.median(np.abs(off - median), axis=0) / np.sqrt(len(off))
    share = np.append(np.exp(median[:2]) - 1, median[2:])
    certain = (np.abs(share) >= SHARE) & (np.abs(median) >= ERRORS * error)
    return [
        f"{100 * abs(share[n]):.0f} % {words[int(share[n] < 0)]}"
        for n, words in enumerate(WORDS)
        if certain[n]
    ]
