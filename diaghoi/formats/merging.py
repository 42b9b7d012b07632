"""Merge a detector's triplets and listed pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diaghoi.data.arrays import Array, BoolArray, IntArray, distinct, distinct_boxes
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError

UNSCORED = (
    "pairs without scores; the score of a pair is the highest action score of the triplets with "
    "the same two boxes, or 0 if there are none"
)


# A detector's pair file contains nearly all pairs of its triplets.
_USUAL = 0.5
# If at least this many triplet pairs are all missing from the listed pairs, the files belong to
# different detectors.
_MANY = 20
# Number of images to merge at a time.
_IMAGES = 1000


def merge(triplets: Scenes, pairs: Scenes) -> Scenes:
    """Join a detector's triplets and listed pairs.

    Boxes that are identical bit by bit (same image, label and coordinates) are merged. In each
    image the listed pairs come first, in stored order and with their scores, followed by the pairs
    that only triplets use, with score NaN. Two listed pairs with the same boxes remain separate;
    triplets refer to the first of the two. Images are joined by name, or by index if neither file
    has names; images in only one of the files are kept. If labels do not matter (V-COCO, whose
    triplets do not name the object), boxes with the same image and coordinates are equal.

    Pairs without scores take the highest action score of all triplets with the same two boxes, or 0
    if there are none.

    The images of ``triplets`` come first, followed by images that only ``pairs`` has.

    Raises
    ------
    InputError
        If the images cannot be joined, or the file of triplets lists pairs itself.
    """
    if triplets.pair_score is not None:
        raise InputError(f"{triplets.source}: already lists scored pairs; leave out the pair file")
    triplets, pairs = _same_images(triplets, pairs)
    notes = triplets.notes + tuple(note for note in pairs.notes if note not in triplets.notes)
    if len(pairs.pair_human) and pairs.pair_score is None:
        if triplets.vocabulary.agents is None:
            raise InputError(f"{pairs.source}: lists no scored pairs; give a pair file")
        notes += (f"{pairs.source}: {UNSCORED}",)
    parts: list[BoolArray] = []
    # Images are merged in groups, because boxes are sorted several times.
    merged = Scenes.concatenate(
        _merged(
            triplets.between(first, first + _IMAGES), pairs.between(first, first + _IMAGES), parts
        )
        for first in range(0, max(len(triplets), 1), _IMAGES)
    )
    inside = np.concatenate(parts)
    if len(pairs.pair_human) == 0:
        notes += (f"{pairs.source}: lists no pairs",)
    elif len(inside) >= _MANY and not inside.any():
        raise InputError(
            f"{pairs.source}: none of the {len(inside):,} pairs of the triplets is listed: the "
            "boxes come from another detector or follow another convention; give the pair file of "
            "this detector, or leave it out"
        )
    elif len(inside) and inside.mean() < _USUAL:
        notes += (
            f"only {100 * inside.mean():.0f} % of the pairs of the triplets are in {pairs.source}; "
            "do both files belong to the same detector?",
        )
    return replace(merged, notes=notes)


def _merged(triplets: Scenes, pairs: Scenes, inside: list[BoolArray]) -> Scenes:
    """Join triplets and pairs of images; append a mask of listed triplet pairs to ``inside``."""
    scenes, box = _joined_boxes(triplets, pairs)
    # Each pair's key combines the rows of its two boxes; object rows are shifted by 1 because -1
    # means no object.
    base = np.int64(len(scenes.box_image) + 1)

    def keys(number: IntArray, human: IntArray, object_box: IntArray) -> IntArray:
        found = np.append(number, -1)[object_box]
        return np.asarray(number[human] * base + found + 1)

    old = len(triplets.box_image)
    listed = keys(box[old:], pairs.pair_human, pairs.pair_object)
    mentioned = keys(box[:old], triplets.pair_human, triplets.pair_object)
    # `row` gives each triplet pair's row in a table of all listed pairs and then the distinct
    # unlisted pairs (`extra`). Of equal listed pairs, the first one counts.
    first, number = distinct(np.concatenate([listed, mentioned]))
    new = first >= len(listed)
    extra, row = first[new] - len(listed), first.copy()
    row[new] = len(listed) + np.arange(len(extra))
    row = row[number[len(listed) :]]
    inside.append((row < len(listed))[triplets.pair_object >= 0])
    score = pairs.pair_score
    if score is None:
        score = _from_triplets(triplets, row, listed)
    image = np.concatenate([pairs.pair_image, triplets.pair_image[extra]])
    order = np.argsort(image, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    chosen = np.concatenate([listed, mentioned[extra]])[order]
    return replace(
        scenes,
        pair_human=chosen // base,
        pair_object=chosen % base - 1,
        pair_score=np.concatenate([score, np.full(len(extra), np.nan)])[order],
        # To save memory, `triplet_pair` keeps its type if the type can number all pairs.
        triplet_pair=place[row].astype(np.result_type(triplets.triplet_pair.dtype, np.int32))[
            triplets.triplet_pair
        ],
    )


def _from_triplets(triplets: Scenes, row: IntArray, listed: IntArray) -> Array:
    """Return the score of each listed pair, taken from the triplets with the same two boxes.

    ``row`` gives, for each pair of ``triplets``, the row among the listed pairs, or a row past the
    end.
    """
    scores = triplets.triplet_action_score
    best = np.full(max(len(listed), int(row.max(initial=-1)) + 1), -np.inf)
    np.maximum.at(best, row[triplets.triplet_pair], triplets.scores if scores is None else scores)
    first, number = distinct(listed)
    best = best[first][number]
    return np.where(np.isinf(best), 0.0, best)


def _joined_boxes(triplets: Scenes, pairs: Scenes) -> tuple[Scenes, IntArray]:
    """Add all boxes of both files to ``triplets``, and return the new row of each old box."""
    image = np.concatenate([triplets.box_image, pairs.box_image])
    order = np.argsort(image, kind="stable")
    image = image[order]
    label = np.concatenate([triplets.box_label, pairs.box_label])[order]
    xyxy = np.concatenate([triplets.box_xyxy, pairs.box_xyxy])[order]
    nameless = triplets.vocabulary.agents is not None
    first, number = distinct_boxes(image, np.zeros_like(label) if nameless else label, xyxy)
    labels = label[first]
    if nameless:
        # A merged box takes its first known category: NumPy keeps the last of several assignments,
        # so the order is reversed.
        labels = np.full(len(first), -1, dtype=label.dtype)
        known = np.flatnonzero(label >= 0)[::-1]
        labels[number[known]] = label[known]
    box = np.empty(len(order), dtype=np.int64)
    box[order] = number
    score = None
    if triplets.box_score is not None:
        unknown = np.full(len(pairs.box_image), np.nan)
        score = np.concatenate([triplets.box_score, unknown])[order][first]
    image, xyxy = image[first], xyxy[first]
    return replace(triplets, box_image=image, box_label=labels, box_xyxy=xyxy, box_score=score), box


def _same_images(triplets: Scenes, pairs: Scenes) -> tuple[Scenes, Scenes]:
    """Give triplets and pairs the same images in the same order."""
    names = triplets.names if triplets.named else pairs.names
    if len(pairs) == 0:
        return triplets, pairs.arranged(np.full(len(triplets), -1), triplets.names)
    if triplets.named and pairs.named and not np.array_equal(triplets.names, pairs.names):
        position = {name: row for row, name in enumerate(pairs.names.tolist())}
        rows = [position.pop(name, -1) for name in triplets.names.tolist()]
        if rows and max(rows) < 0:
            raise InputError(
                f"{pairs.source}: none of its images is in {triplets.source}; the first image is "
                f"{str(pairs.names[0])!r} in the former and {str(triplets.names[0])!r} in the "
                "latter; do both "
                "files belong to the same detector and split?"
            )
        further = list(position.values())
        names = np.concatenate([triplets.names, pairs.names[further]])
        kept = np.append(np.arange(len(rows)), np.full(len(further), -1))
        pairs = pairs.arranged(np.array(rows + further, dtype=np.int64), names)
        return triplets.arranged(kept, names), pairs
    if len(triplets) != len(pairs):
        raise InputError(
            f"{pairs.source}: has {len(pairs)} images and {triplets.source} has {len(triplets)}; "
            "without image names in both files, images are joined by index, which requires the "
            "same number of images; add a 'filename' to each image"
        )
    return replace(triplets, names=names), replace(pairs, names=names)
