"""Find what predictions lack entirely: images, verbs, or the object boxes of roles."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, StrArray
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary, v_coco_images
from diaghoi.evaluation.ledger import Ledger
from diaghoi.exceptions import number_of, some_of

# Minimum number of annotated triplets, predictions or images needed to report an omission.
OFTEN, ENOUGH = 10, 20
# Two files belong to different splits if they share less than this fraction of their images.
SHARED = 0.1


def image_warnings(annotations: SceneSource, predictions: SceneSource) -> list[str]:
    """Warn if hardly any of the predicted images is annotated.

    Parameters
    ----------
    annotations, predictions : Scenes or other source of scenes
        Annotations, and predictions with all their images.
    """
    if not (annotations.named and predictions.named):
        return []
    mine, theirs = set(predictions.names.tolist()), set(annotations.names.tolist())
    shared, fewer = len(mine & theirs), min(len(mine), len(theirs))
    if fewer < ENOUGH or not 0 < shared < SHARED * fewer:
        return []
    warning = f"only {shared} of {number_of('predicted image', len(mine))} are annotated"
    for shift, word in ((1, "higher"), (-1, "lower")):
        moved = {str(int(name) + shift) for name in mine if name.isdecimal()}
        if len(moved & theirs) > shared + fewer / 2:
            return [
                f"{warning}, but {len(moved & theirs)} would be annotated if image numbers were "
                f"one {word}"
            ]
    return [f"{warning}: are these predictions for another split?"]


def split_warnings(vocabulary: Vocabulary, names: StrArray) -> list[str]:
    """Warn about images outside the benchmark's split.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    names : (N,) str array
        Names of the images.
    """
    elsewhere = _elsewhere(vocabulary, names)
    if not elsewhere:
        return []
    if vocabulary.agents is None:
        return [
            f"{len(elsewhere)} of {len(names)} image names say 'train': the benchmark is evaluated "
            "on the test split"
        ]
    val = sum(name in v_coco_images()["val"] for name in elsewhere)
    of = [
        f"{count} in {split}"
        for split, count in (("val", val), ("train or unknown", len(elsewhere) - val))
        if count
    ]
    return [
        f"{len(elsewhere)} of {len(names)} images are not in V-COCO's test split, on which the "
        f"benchmark is evaluated: {' and '.join(of)} ({some_of(elsewhere)})"
    ]


def other_split(vocabulary: Vocabulary, names: StrArray) -> str:
    """Describe the number of images outside the test split; empty if there are none."""
    elsewhere = len(_elsewhere(vocabulary, names))
    images = number_of("image", len(names))
    return f"{elsewhere:,} of {images} not in the test split" if elsewhere else ""


def _elsewhere(vocabulary: Vocabulary, names: StrArray) -> list[str]:
    if vocabulary.agents is None:
        return [name for name in names.tolist() if "train" in name]
    test = v_coco_images()["test"]
    return [name for name in names.tolist() if name and name not in test]


def role_box_warnings(predictions: Scenes) -> list[str]:
    """Warn about roles that never have an object box, or if every role always has an object box.

    Parameters
    ----------
    predictions : Scenes
        The predictions; without roles (all data sets except V-COCO), there is no warning.
    """
    agents = predictions.vocabulary.agents
    if agents is None:
        return []
    verb = predictions.triplet_verb
    boxed = predictions.pair_object[predictions.triplet_pair] >= 0
    total, with_box = (_counts(verb[rows], agents) for rows in (slice(None), boxed))
    often = ~agents & (total >= ENOUGH)
    never = often & (with_box == 0)
    if not often.any():
        return []
    if not never.any():
        always = with_box[~agents].sum() == total[~agents].sum()
        text = (
            "every role has an object box: scenario 1 requires an empty box (zeros or NaN) if "
            "the object is not annotated, so roles without an annotated object are not found"
        )
        return [text] if always else []
    if (never == often).all():
        return ["no role has an object box: roles with an annotated object cannot be found"]
    names = [predictions.vocabulary.verbs[n] for n in np.flatnonzero(never)]
    return [
        f"{number_of('role', len(names))} never with an object box, so that annotated objects "
        f"cannot be found: {some_of(names)}"
    ]


def verb_notes(vocabulary: Vocabulary, ledger: Ledger) -> list[str]:
    """Name the verbs that are often annotated but never predicted.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    ledger : Ledger
        Ledger of the predictions and annotations whose class counts.
    """
    predicted = np.diff(ledger.bounds)
    if not predicted.any():
        return []
    annotated, found = (
        np.bincount(vocabulary.class_verb, weights=counts, minlength=len(vocabulary.verbs))
        for counts in (ledger.positives, predicted)
    )
    never = (annotated >= OFTEN) & (found == 0)
    if not never.any():
        return []
    names = [vocabulary.verbs[n] for n in np.flatnonzero(never)]
    return [
        f"{number_of('verb', len(names))} never predicted, though {int(annotated[never].sum())} "
        f"triplets with {'it' if len(names) == 1 else 'them'} are annotated: {some_of(names)}"
    ]


def _counts(verb: IntArray, agents: BoolArray) -> IntArray:
    return np.bincount(verb, minlength=len(agents))
