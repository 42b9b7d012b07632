"""Merge the triplets and the listed pairs of a detector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays import Array, BoolArray, IntArray, distinct, distinct_boxes
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError

UNSCORED = (
    "pairs without scores; the score of a pair is the highest action score of the triplets with "
    "its two boxes, 0 where there are none"
)


# The pair file of the same detector contains nearly all pairs of its triplets.
_USUAL = 0.5
# Pairs of triplets, none of which is listed if the file is of another detector.
_MANY = 20
# Images that are merged at a time.
_IMAGES = 1000


def merge(triplets: Scenes, pairs: Scenes) -> Scenes:
    """Join the triplets and the listed pairs of a detector.

    Boxes that are equal to the last bit (same image, label and coordinates) become one box. In each
    image the listed pairs come first, in stored order and each with its score; then the pairs that
    only triplets mention, with the score NaN. Two listed pairs of the same boxes stay two; triplets
    refer to the first. Images are joined by name, where neither file has names by position; an
    image in only one of the files is kept. Where labels do not count (V-COCO, whose triplets do not
    name the object), boxes are equal by image and coordinates alone.

    A list of pairs without scores gets those of the triplets: the highest action score of all
    triplets with the same two boxes, 0 where there are none.

    Parameters
    ----------
    triplets, pairs : Scenes
        The scenes of the two files.

    Returns
    -------
    Scenes
        The images of ``triplets``, then those that only ``pairs`` has.

    Raises
    ------
    InputError
        If the images cannot be joined, or the triplets have listed pairs already.
    """
    if triplets.pair_score is not None:
        raise InputError(
            f"{triplets.source}: lists its scored pairs itself; leave the pair file out"
        )
    triplets, pairs = _same_images(triplets, pairs)
    notes = triplets.notes + tuple(note for note in pairs.notes if note not in triplets.notes)
    if len(pairs.pair_human) == 0:
        notes += (f"{pairs.source}: lists no pairs",)
    elif pairs.pair_score is None:
        if triplets.vocabulary.agents is None:
            raise InputError(f"{pairs.source}: lists no scored pairs; give a pair file")
        notes += (f"{pairs.source}: {UNSCORED}",)
    inside = [np.zeros(0, dtype=bool)]
    # Some images at a time, because the boxes of a whole file are sorted several times over.
    merged = Scenes.concatenate(
        _merged(
            triplets.between(first, first + _IMAGES), pairs.between(first, first + _IMAGES), inside
        )
        for first in range(0, max(len(triplets), 1), _IMAGES)
    )
    return replace(merged, notes=notes + _other_detector(pairs, np.concatenate(inside)))


def _merged(triplets: Scenes, pairs: Scenes, inside: list[BoolArray]) -> Scenes:
    """Join both in some images; add to ``inside`` which pairs of the triplets are listed."""
    scenes, box = _joined_boxes(triplets, pairs)
    # One key for both boxes; object rows are shifted by 1, because -1 means no object.
    base = np.int64(len(scenes.box_image) + 1)

    def keys(number: IntArray, human: IntArray, object_box: IntArray) -> IntArray:
        found = np.append(number, -1)[object_box]
        return np.asarray(number[human] * base + found + 1)

    old = len(triplets.box_image)
    listed = keys(box[old:], pairs.pair_human, pairs.pair_object)
    mentioned = keys(box[:old], triplets.pair_human, triplets.pair_object)
    row, extra = _listed_first(listed, mentioned)
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
        triplet_pair=place[row].astype(_index_type(triplets))[triplets.triplet_pair],
    )


def _other_detector(pairs: Scenes, inside: BoolArray) -> tuple[str, ...]:
    """Note if most pairs of the triplets are not listed.

    Raises
    ------
    InputError
        If none of many are.
    """
    if len(pairs.pair_human) == 0:
        return ()
    if len(inside) >= _MANY and not inside.any():
        raise InputError(
            f"{pairs.source}: none of the {len(inside):,} pairs of the triplets is listed: the "
            "boxes are those of another detector, or counted in another way; give the pair file of "
            "this one, or leave it out"
        )
    if len(inside) == 0 or inside.mean() >= _USUAL:
        return ()
    return (
        f"only {100 * inside.mean():.0f} % of the pairs of the triplets are in {pairs.source}; is "
        "it of the same detector?",
    )


def _listed_first(listed: IntArray, mentioned: IntArray) -> tuple[IntArray, IntArray]:
    """Find the row of each mentioned pair in the table of all listed, then all other pairs.

    Returns
    -------
    row : (len(mentioned),) int array
        Row in that table; the first of equal listed pairs.
    extra : (K,) int array
        Which of ``mentioned`` are the other pairs, each once.
    """
    first, number = distinct(np.concatenate([listed, mentioned]))
    new = first >= len(listed)
    row = first.copy()
    row[new] = len(listed) + np.arange(int(new.sum()))
    return row[number[len(listed) :]], first[new] - len(listed)


def _from_triplets(triplets: Scenes, row: IntArray, listed: IntArray) -> Array:
    """Score listed pairs, given by a number for their boxes, from the triplets with these boxes.

    ``row`` is the row of each pair of the triplets among the listed ones, or beyond them.
    """
    scores = triplets.triplet_action_score
    scores = triplets.scores if scores is None else scores
    best = np.full(len(row), -np.inf)
    np.maximum.at(best, triplets.triplet_pair, scores)
    found = np.full(len(listed), -np.inf)
    inside = row < len(listed)
    np.maximum.at(found, row[inside], best[inside])
    first, number = distinct(listed)
    found = found[first][number]
    return np.where(np.isinf(found), 0.0, found)


def _index_type(triplets: Scenes) -> npt.DTypeLike:
    """Keep the type of references if it can count all pairs, to save memory."""
    return np.result_type(triplets.triplet_pair.dtype, np.int32)


def _joined_boxes(triplets: Scenes, pairs: Scenes) -> tuple[Scenes, IntArray]:
    """Give ``triplets`` the boxes of both, and the new row of each old box."""
    image = np.concatenate([triplets.box_image, pairs.box_image])
    order = np.argsort(image, kind="stable")
    image = image[order]
    label = np.concatenate([triplets.box_label, pairs.box_label])[order]
    xyxy = np.concatenate([triplets.box_xyxy, pairs.box_xyxy])[order]
    nameless = triplets.vocabulary.agents is not None
    first, number = distinct_boxes(image, np.zeros_like(label) if nameless else label, xyxy)
    box = np.empty(len(order), dtype=np.int64)
    box[order] = number
    score = None
    if triplets.box_score is not None:
        unknown = np.full(len(pairs.box_image), np.nan)
        score = np.concatenate([triplets.box_score, unknown])[order][first]
    scenes = replace(
        triplets,
        box_image=image[first],
        box_label=_known(label, number, len(first)) if nameless else label[first],
        box_xyxy=xyxy[first],
        box_score=score,
    )
    return scenes, box


def _known(label: IntArray, number: IntArray, total: int) -> IntArray:
    """Give each merged box the first known category of its parts, else -1."""
    merged = np.full(total, -1, dtype=label.dtype)
    known = np.flatnonzero(label >= 0)[::-1]
    # NumPy keeps the last of several assignments to a box, hence the reversed order.
    merged[number[known]] = label[known]
    return merged


def _same_images(triplets: Scenes, pairs: Scenes) -> tuple[Scenes, Scenes]:
    """Bring both to the same images in the same order."""
    if len(pairs) == 0:
        nothing = pairs.take(np.full(len(triplets), -1))
        return triplets, replace(nothing, names=triplets.names)
    if triplets.named != pairs.named or not triplets.named:
        if len(triplets) != len(pairs):
            raise InputError(
                f"{pairs.source}: has {len(pairs)} images and {triplets.source} has "
                f"{len(triplets)}; without image names in both they are joined by position, which "
                "needs equal numbers; add a 'filename' to each image"
            )
        names = triplets.names if triplets.named else pairs.names
        return replace(triplets, names=names), replace(pairs, names=names)
    if np.array_equal(triplets.names, pairs.names):
        return triplets, pairs
    position = {name: row for row, name in enumerate(pairs.names.tolist())}
    rows = [position.pop(name, -1) for name in triplets.names.tolist()]
    if rows and len(pairs) and max(rows) < 0:
        raise InputError(
            f"{pairs.source}: none of its images is in {triplets.source}; the first is "
            f"{str(pairs.names[0])!r} here and {str(triplets.names[0])!r} there; are both files of "
            "the same detector and split?"
        )
    only_pairs = list(position.values())
    names = np.concatenate([triplets.names, pairs.names[only_pairs]])
    kept = np.concatenate([np.arange(len(rows)), np.full(len(only_pairs), -1)])
    return (
        replace(triplets.take(kept), names=names),
        replace(pairs.take(rows + only_pairs), names=names),
    )
