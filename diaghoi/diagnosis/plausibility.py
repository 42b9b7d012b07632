"""Check predictions against annotations for mistakes that would make every number zero."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, first_of_run
from diaghoi.data.protocol import HICO_DET
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.diagnosis.box_bias import box_bias, pixel_shift, without_crowds
from diaghoi.diagnosis.box_readings import best_box_reading
from diaghoi.diagnosis.object_numbers import category_doubts
from diaghoi.diagnosis.omissions import image_warnings, role_box_warnings
from diaghoi.diagnosis.verb_numbers import verb_doubts
from diaghoi.evaluation.overlap import box_overlap
from diaghoi.exceptions import InputError

# Minimum IoU of two boxes in roughly the same place, and of two boxes whose categories and corners
# are compared; minimum number of boxes for a check.
LOOSE, CLOSE = 0.5, 0.75
ENOUGH = 20
# Boxes are far off if less than this share of the annotated boxes is close to a predicted box, and
# less than this share of the predicted boxes is close to an annotated box. Even a weak detector
# reaches half; swapped coordinates or images reach at most a tenth.
LEAST_CLOSE = 0.15
# Other readings of boxes are tried if less than this share of the annotated boxes is close to a
# predicted box.
SUSPECT = 0.45
# If no coordinate exceeds this, boxes look like fractions of the image size.
RELATIVE = 2
# Limits for the share of triplets that have the highest score, and for the share of pairs whose
# verbs all have the same score.
SATURATED, FLAT = 0.1, 0.9
# Limit for the share of pairs whose subject is not a person, on data sets where only people act.
NO_PEOPLE = 0.5
# Number of images in the sample of a file; fewer if they have very many boxes.
SAMPLE, FEWEST, BOXES = 100, 20, 50_000
# Number of consecutive images in each run of the sample; runs are faster to read.
NEIGHBOURS = 5


class Doubt(NamedTuple):
    """A sign that predictions are wrong.

    Parameters
    ----------
    text : str
        The problem, in one sentence.
    grave : bool
        Whether the problem makes all numbers meaningless.
    """

    text: str
    grave: bool


def check_plausible(
    annotations: SceneSource, predictions: SceneSource, *, force: bool
) -> list[str]:
    """Reject predictions that would make all numbers of a diagnosis meaningless.

    Parameters
    ----------
    annotations, predictions : Scenes or other source of scenes
        As for :func:`doubts`.
    force : bool
        Whether to accept predictions that make all numbers meaningless.

    Returns
    -------
    list of str
        Problems of accepted predictions, the most serious first.

    Raises
    ------
    InputError
        If a check fails; the message says what to do.
    """
    found = doubts(annotations, predictions)
    grave = [doubt.text for doubt in found if doubt.grave]
    if grave and not force:
        raise InputError(
            f"{predictions.source or 'predictions'}: {'; '.join(grave)}; give --force to evaluate "
            "the predictions anyway"
        )
    return [*grave, *(doubt.text for doubt in found if not doubt.grave)]


def doubts(annotations: SceneSource, predictions: SceneSource) -> list[Doubt]:
    """Search a sample of images for problems that make the numbers of a diagnosis meaningless.

    Parameters
    ----------
    annotations, predictions : Scenes or other source of scenes
        Scenes as read from the files. Images that only one side has are skipped.

    Returns
    -------
    list of Doubt
        The problems; empty if the predictions look plausible.
    """
    if not predictions.bounds["triplet"][-1]:
        # A detector without scores may list nothing; answers that could not be read are counted
        # elsewhere.
        text = "holds no predicted triplets, so there is nothing to evaluate"
        return [Doubt(text, predictions.ranked)]
    if isinstance(predictions, Scenes) and predictions.unboxed:
        return []  # evaluations that need boxes refuse files without boxes
    named = annotations.named and predictions.named
    if not named and len(annotations) != len(predictions):
        return []
    if not named or np.array_equal(predictions.names, annotations.names):
        mine = theirs = np.arange(len(annotations))
    else:
        _, mine, theirs = np.intersect1d(predictions.names, annotations.names, return_indices=True)
        # Follow the order of the annotations, so that the sample does not depend on the order of
        # the predictions.
        order = np.argsort(theirs)
        mine, theirs = mine[order], theirs[order]
    if few := image_warnings(annotations, predictions):
        return [Doubt(text, True) for text in few]
    in_image = predictions.bounds["box"][-1] // max(len(predictions), 1)
    size = min(SAMPLE, max(FEWEST, BOXES // max(in_image, 1)), len(mine))
    first = np.arange(0, len(mine), max(1, len(mine) * NEIGHBOURS // max(size, 1)))
    chosen = np.unique(np.minimum(np.add.outer(first, np.arange(NEIGHBOURS)), len(mine) - 1))
    sample = predictions.take(mine[chosen])
    # If all scores are equal, so are the scores of a sample.
    constant = constant_score_warnings(sample) and constant_score_warnings(predictions.load())
    roles = role_box_warnings(sample) and role_box_warnings(predictions.load())
    truth = annotations.take(theirs[chosen])
    overlap = overlap_doubts(truth, sample)
    minor = [] if overlap else one_based_warnings(sample)
    if not overlap:
        minor += box_bias(truth, sample)
    minor += (constant or flat_score_warnings(sample)) + roles
    return [*overlap, *(Doubt(text, False) for text in minor)]


def one_based_warnings(scenes: Scenes) -> list[str]:
    """Warn if boxes look one-based: many start at exactly 1, and none below 1."""
    corner = scenes.box_xyxy[:, :2]
    if len(corner) < ENOUGH or corner.min() != 1 or (corner == 1).sum() < ENOUGH / 4:
        return []
    return [
        f"boxes look one-based: no left or top edge lies below 1, {int((corner == 1).sum())} "
        "lie at exactly 1; read them with --read origin=1"
    ]


def constant_score_warnings(scenes: Scenes) -> list[str]:
    """Warn if all triplets of a detector with scores have the same score."""
    if not scenes.ranked:
        return []
    columns = (("triplet", scenes.triplet_score), ("action", scenes.triplet_action_score))
    return [
        f"all {name} scores are {score[0]:g}: the order of the file ranks predictions"
        for name, score in columns
        if score is not None and len(score) > 1 and score.min() == score.max()
    ]


def flat_score_warnings(scenes: Scenes) -> list[str]:
    """Warn if many triplets share the highest score, or all verbs of a pair share one score."""
    score = scenes.triplet_score
    if not scenes.ranked or score is None or len(score) < ENOUGH:
        return []
    warnings = []
    highest = score == score.max()
    if highest.sum() >= max(ENOUGH, SATURATED * len(score)):
        warnings.append(
            f"{int(highest.sum())} of {len(score)} triplet scores are {score.max():g}, the "
            "highest: these predictions are not ranked; are scores clipped or rounded?"
        )
    order = np.lexsort((score, scenes.triplet_pair))
    pair, score = scenes.triplet_pair[order], score[order]
    first = np.flatnonzero(first_of_run(pair))
    last = np.append(first[1:], len(pair)) - 1
    several = last > first
    alike = int((score[first] == score[last])[several].sum())
    if alike >= max(ENOUGH, FLAT * int(several.sum())):
        warnings.append(
            f"all verbs have the same triplet score in {alike} of {int(several.sum())} pairs with "
            "several verbs: the actions of these pairs are not ranked; is the verb score missing?"
        )
    return warnings


def overlap_doubts(annotations: Scenes, predictions: Scenes) -> list[Doubt]:
    """Detect predicted boxes that miss annotated boxes, or are off by a pixel or a category.

    Parameters
    ----------
    annotations, predictions : Scenes
        Annotations and predictions of the same images.

    Returns
    -------
    list of Doubt
        At most one problem.
    """
    annotations, predictions = without_crowds(annotations, predictions)
    predicted, annotated, value = _close_boxes(annotations, predictions)

    def shares(least: float) -> list[float]:
        close = value >= least
        return [
            len(np.unique(rows[close])) / len(scenes.box_label)
            if len(scenes.box_label) >= ENOUGH
            else 1.0
            for scenes, rows in ((annotations, annotated), (predictions, predicted))
        ]

    close, grave = shares(CLOSE), max(shares(LOOSE)) < LEAST_CLOSE
    said = f"{100 * close[0]:.1f} % of the annotated boxes have a predicted box close to them"
    largest = float(predictions.box_xyxy.max(initial=0.0))
    if max(close) < LEAST_CLOSE and largest <= RELATIVE:
        text = (
            f"{said}: no box reaches beyond {largest:.3g}, so boxes look divided by the image "
            "size: multiply boxes by the image size, or give annotations that hold the sizes "
            "(instances_test2015.json, anno_bbox.mat)"
        )
        return [Doubt(text, grave)]
    other = best_box_reading(annotations, predictions) if close[0] < SUSPECT else None
    if other is not None:
        return [Doubt(f"{said}; {other.text}", grave or other.misread)]
    if max(close) < LEAST_CLOSE:
        # A detector that localises poorly still has valid numbers.
        text = (
            "give x1, y1, x2, y2 in pixels of the original image, and annotations of these images"
        )
        return [Doubt(f"{said}: {text}", grave)]
    near = value >= CLOSE
    predicted, annotated, value = predicted[near], annotated[near], value[near]
    corners = annotations.box_xyxy[annotated], predictions.box_xyxy[predicted]
    labels = annotations.box_label[annotated], predictions.box_label[predicted]
    return (
        [Doubt(text, True) for text in category_doubts(*labels, predictions)]
        or _no_people(annotations, predictions)
        or _objects_as_people(annotations, predictions, annotated, predicted)
        or [Doubt(text, False) for text in pixel_shift(*corners)]
        or [Doubt(*said) for said in verb_doubts(annotations, predictions)]
    )


def _no_people(annotations: Scenes, predictions: Scenes) -> list[Doubt]:
    """Check whether most predicted subjects are not people, although annotated subjects are."""
    person = annotations.vocabulary.person
    mine, theirs = (
        scenes.box_label[scenes.pair_human] != person for scenes in (annotations, predictions)
    )
    few = len(theirs) < ENOUGH or theirs.mean() <= NO_PEOPLE
    if few or (len(mine) and mine.mean() > NO_PEOPLE):
        return []
    exchanged = (predictions.pair_label[theirs] == person).mean() > NO_PEOPLE
    what = (
        "exchange subject and object"
        if exchanged
        else "let subjects refer to the boxes of people in the list of boxes"
    )
    text = (
        f"the subject of {int(theirs.sum())} of {len(theirs)} pairs is not a person: {what}, or "
        "give --read objects=NUMBERING"
    )
    return [Doubt(text, True)]


def _objects_as_people(
    annotations: Scenes, predictions: Scenes, annotated: IntArray, predicted: IntArray
) -> list[Doubt]:
    """Check whether most predicted people lie on annotated objects, for data without categories.

    ``annotated`` and ``predicted`` are boxes that are close to one another.
    """
    vocabulary = annotations.vocabulary
    if vocabulary.protocol.categories_count:
        return []
    paired = predictions.pair_human[predictions.pair_object >= 0]
    people = np.unique(predicted[np.isin(predicted, paired)])
    right = predicted[annotations.box_label[annotated] == vocabulary.person]
    wrong = int((~np.isin(people, right)).sum())
    if len(people) < ENOUGH or wrong <= NO_PEOPLE * len(people):
        return []
    text = (
        f"{wrong} of {len(people)} predicted human boxes that are close to an annotated box "
        "are close only to an object: exchange person and object"
    )
    return [Doubt(text, True)]


def _close_boxes(annotations: Scenes, predictions: Scenes) -> tuple[IntArray, IntArray, FloatArray]:
    """Find predicted and annotated boxes that overlap well in any category, with their IoU."""
    annotations, predictions = (
        replace(scenes, box_label=np.zeros_like(scenes.box_label))
        for scenes in (annotations, predictions)
    )
    # All boxes were given the same category, so each predicted box is compared with each annotated
    # box of its image.
    boxes = box_overlap(annotations, predictions, HICO_DET)
    close = np.flatnonzero(boxes.value >= LOOSE)
    return boxes.predicted[close], boxes.annotated[close], boxes.value[close]
