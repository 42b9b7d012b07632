"""Align annotations and predictions on one list of images; compare two annotation files."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePath
from typing import NamedTuple, TypeVar, cast

import numpy as np

from diaghoi.data.arrays import BoolArray, StrArray
from diaghoi.data.boxes import in_pixels
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes, SceneSource, Source, filled_in
from diaghoi.exceptions import InputError

# The number of an image at the end of its name, before the file suffix.
_TRAILING = re.compile(r"(\d+)(?:\.\w+)?$")
_Truth = TypeVar("_Truth", bound=SceneSource)


def join(
    annotations: _Truth, predictions: Source, protocol: Protocol | None = None
) -> tuple[_Truth, Source, Joined]:
    """Align annotations and predictions on one common list of images.

    The annotated images come first, in stored order, as in official evaluators; equal scores are
    ranked in that order. Images that are not annotated follow, sorted by name. Results thus do not
    depend on the image order of the prediction file. Images are joined by name, as in
    :func:`named_alike`, or by position if a file has no names. Boxes that are fractions of their
    image become pixels (:func:`in_pixels`). Predictions are changed to those that the ``protocol``
    evaluates (:func:`under`).

    Raises
    ------
    InputError
        If no image is shared, or images without names differ in number.
    """
    predictions = alike(annotations, under(protocol, predictions))
    by_position = not (annotations.named and predictions.named)
    if by_position:
        if len(annotations) != len(predictions):
            raise InputError(
                f"{predictions.source or 'predictions'}: images can only be joined by index, "
                f"because one of the files has no image names, but there are {len(predictions)} "
                f"predicted and {len(annotations)} annotated images; add a 'filename' to each "
                "image"
            )
        everything = annotations.names if annotations.named else predictions.names
        annotations = annotations.with_names(everything)
        predictions = predictions.with_names(everything)
    if by_position or np.array_equal(annotations.names, predictions.names):
        everywhere = np.ones(len(annotations), dtype=bool)
        return annotations, predictions, Joined(annotated=everywhere, predicted=everywhere)

    position = {name: row for row, name in enumerate(predictions.names.tolist())}
    names = annotations.names.tolist()
    # Predicted images that remain in `position` are not annotated; row -1 gives an empty image.
    rows = [position.pop(name, -1) for name in names]
    # Without this error, predictions for the wrong split would make all numbers zero.
    if position and names and max(rows) < 0:
        raise InputError(
            f"{predictions.source or 'predictions'}: none of the {len(predictions)} images is "
            f"annotated in {annotations.source or 'the annotations'}; the first image is "
            f"'{predictions.names[0]}' in the predictions and '{names[0]}' in the annotations; "
            "are the predictions for another split or data set?"
        )
    everything, further = annotations.names, sorted(position)
    if further:
        everything = np.array([*names, *further], dtype=np.str_)
        annotations = annotations.with_names(everything)
    images = np.array(rows + [position[name] for name in further], dtype=np.int64)
    joined = Joined(annotated=np.arange(len(images)) < len(names), predicted=images >= 0)
    return annotations, predictions.arranged(images, everything), joined


def under(protocol: Protocol | None, predictions: Source) -> Source:
    """Return the predictions that the protocol evaluates, including filled-in values if needed.

    On V-COCO, the published Diag-HOI code treats values that a file fills in for missing classes as
    predictions (:func:`~diaghoi.data.scenes.filled_in`). Protocols that reproduce the published
    code do, too.
    """
    if protocol is None or protocol.fitting_boxes == "own":
        return predictions
    return cast("Source", filled_in(predictions.load())[0])


def alike(annotations: SceneSource, predictions: Source) -> Source:
    """Give predictions the names and the unit of the annotations.

    See :func:`named_alike` and :func:`~diaghoi.data.boxes.in_pixels`.
    """
    return in_pixels(annotations, named_alike(annotations, predictions))


def named_alike(annotations: SceneSource, predictions: Source) -> Source:
    """Rename predicted images whose names are stems or numbers of annotated names.

    Some code bases shorten ``HICO_test2015_00000683.jpg`` to ``HICO_test2015_00000683`` or 683.
    Nothing is renamed if the files share a name, or if two images would get the same name. Numbers
    are used only if all names of one file are numbers, because images of other splits have the same
    numbers.
    """
    theirs, mine = annotations.names.tolist(), predictions.names.tolist()
    if not (mine and theirs) or not (annotations.named and predictions.named):
        return predictions
    if not set(mine).isdisjoint(theirs):
        return predictions
    numbers = any(all(map(str.isdigit, map(_stem, names))) for names in (mine, theirs))
    for short in (_stem, _number) if numbers else (_stem,):
        full = {short(name): name for name in theirs}
        names = [full.get(short(name), name) for name in mine]
        unique = len(full) == len(theirs) and len(set(names)) == len(names)
        if None not in full and unique and names != mine:
            return predictions.with_names(np.array(names, dtype=np.str_))
    return predictions


def _stem(name: str) -> str:
    return PurePath(name).stem


def _number(name: str) -> str | None:
    found = _TRAILING.search(name)
    return found[1].lstrip("0") if found else None


def shared_images(*names: StrArray) -> StrArray:
    """Return the sorted names of the images that are in all files.

    Predicted images must have the names that :func:`alike` returns.

    Raises
    ------
    InputError
        If a file has no image names.
    """
    if not all(each.all() for each in names):
        raise InputError(
            "one of the files has no image names, so the common images are unknown; add a "
            "'filename' to each image"
        )
    shared = np.unique(names[0])
    for each in names[1:]:
        shared = np.intersect1d(shared, each)
    return shared


def only_images(scenes: Source, names: StrArray) -> Source | Scenes:
    """Keep the images with the given names, in stored order."""
    kept = np.isin(scenes.names, names)
    return scenes if kept.all() else scenes.take(np.flatnonzero(kept))


class Joined(NamedTuple):
    """Mark the images of joined scenes that are annotated, and the images that are predicted."""

    annotated: BoolArray
    predicted: BoolArray


class Differences(NamedTuple):
    """Number of images and annotated triplets that are in only one of two annotation files."""

    images: int
    other_images: int
    triplets: int
    other_triplets: int


def differences(annotations: Scenes, others: Scenes) -> Differences:
    """Count the images and annotated triplets that are in only one of two annotation files.

    Triplets are the same if image, HOI class and boxes (to the pixel) are equal.
    """
    others = named_alike(annotations, others)
    mine, theirs = (set(scenes.names.tolist()) for scenes in (annotations, others))
    here, there = _triplets(annotations), _triplets(others)
    return Differences(
        images=len(mine - theirs),
        other_images=len(theirs - mine),
        triplets=(here - there).total(),
        other_triplets=(there - here).total(),
    )


def _triplets(scenes: Scenes) -> Counter[tuple[object, ...]]:
    pair = scenes.triplet_pair
    human, objects = scenes.pair_human[pair], scenes.pair_object[pair]
    # Boxes are compared in whole pixels, because clipping and the choice of counting from zero or
    # one can change coordinates by less than a pixel.
    box = np.concatenate([scenes.box_xyxy, np.full((1, 4), -1.0)]).round()
    rows = np.column_stack([scenes.triplet_class, scenes.triplet_verb, box[human], box[objects]])
    names = scenes.names[scenes.triplet_image].tolist()
    return Counter((name, *row) for name, row in zip(names, rows.tolist(), strict=True))
