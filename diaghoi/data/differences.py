"""What two annotation files of the same images have in common."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from diaghoi.data.joining import named_alike
from diaghoi.data.scenes import Scenes


class Differences(NamedTuple):
    """Counts of what only one of two annotation files has.

    Parameters
    ----------
    images, other_images : int
        Images that only the one or only the other has.
    triplets, other_triplets : int
        Annotated triplets likewise: of the same image, HOI class and boxes to the pixel.
    """

    images: int
    other_images: int
    triplets: int
    other_triplets: int


def differences(annotations: Scenes, others: Scenes) -> Differences:
    """Count the images and annotated triplets that only one of two files has.

    Parameters
    ----------
    annotations, others : Scenes
        Of one data set; images are joined by name, stem or number.
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
    # Boxes to the pixel: code bases clip, and count from zero or one, to less than that.
    box = np.concatenate([scenes.box_xyxy, np.full((1, 4), -1.0)]).round()
    rows = np.column_stack([scenes.triplet_class, scenes.triplet_verb, box[human], box[objects]])
    names = scenes.names[scenes.triplet_image].tolist()
    return Counter((name, *row) for name, row in zip(names, rows.tolist(), strict=True))
