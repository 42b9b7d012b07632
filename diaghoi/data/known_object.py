"""Known Object: which images count for the classes of an object."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays.types import BoolArray
from diaghoi.data.scenes import Scenes


def annotated_objects(annotations: Scenes) -> BoolArray:
    """(N, objects) true where an image is annotated with a box of the object category.

    All listed boxes count, also those in no triplet. Every image has people, so the category of
    people needs a person as the object of a triplet.
    """
    vocabulary = annotations.vocabulary
    objects = np.zeros((len(annotations), len(vocabulary.objects)), dtype=bool)
    shown = annotations.box_label != vocabulary.person
    targets = annotations.pair_object[annotations.triplet_pair]
    shown[targets[targets >= 0]] = True
    objects[annotations.box_image[shown], annotations.box_label[shown]] = True
    return objects
