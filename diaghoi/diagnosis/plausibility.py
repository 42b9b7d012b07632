"""Whether predictions look plausible beside the annotations: what would make every figure zero."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays.ragged import first_of_run
from diaghoi.data.arrays.types import FloatArray, IntArray
from diaghoi.data.protocol import HICO_DET
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.box_bias import box_bias
from diaghoi.evaluation.matching import match
from diaghoi.evaluation.overlap import box_overlap
from diaghoi.exceptions import InputError

# How well boxes must overlap to compare their categories, and their corners; how many it takes.
LOOSE, CLOSE, VERY_CLOSE = 0.5, 0.75, 0.9
ENOUGH = 20
# Boxes are called far off where fewer than this share of those of either side are close to one of
# the other: even a weak detector reaches half, swapped coordinates or images a tenth at most.
LEAST_CLOSE = 0.15
# Categories are said to be numbered differently where fewer than this share of close boxes agree.
AGREEING = 0.2
# Verbs are said to be numbered differently where fewer than this share of the pairs that were found
# have an annotated verb for their best one, or this many times as many would after a shift by one.
SENSIBLE, SHIFTED = 0.04, 2
# Share of the pairs whose subject is no person, in data sets where people alone act.
NO_PEOPLE = 0.5
# Images that show what is wrong with a whole file; fewer where they have very many boxes.
SAMPLE, FEWEST, BOXES = 100, 20, 50_000
# So many are neighbours in the file, which is quicker to read.
NEIGHBOURS = 5


class Doubt(NamedTuple):
    """Something that looks wrong with predictions.

    Parameters
    ----------
    text : str
        One sentence.
    grave : bool
        Whether no figure would mean anything, as the file was read.
    """

    text: str
    grave: bool


def check_plausible(
    annotations: SceneSource, predictions: SceneSource, *, force: bool
) -> list[str]:
    """Refuse predictions that would make all figures of a diagnosis meaningless.

    Parameters
    ----------
    annotations, predictions : Scenes or other source of scenes
        As for :func:`doubts`.
    force : bool
        Refuse nothing.

    Returns
    -------
    list of str
        What else looks wrong, the gravest first.

    Raises
    ------
    InputError
        With what to do.
    """
    found = doubts(annotations, predictions)
    grave = [doubt.text for doubt in found if doubt.grave]
    if grave and not force:
        raise InputError(
            f"{predictions.source or 'predictions'}: {'; '.join(grave)}; --force goes on "
            "nevertheless"
        )
    return [*grave, *(doubt.text for doubt in found if not doubt.grave)]


def doubts(annotations: SceneSource, predictions: SceneSource) -> list[Doubt]:
    """Find what makes figures of a diagnosis meaningless or wrong, by a sample of the images.

    Parameters
    ----------
    annotations, predictions : Scenes or other source of scenes
        As they are read; images that only one of them has are passed over.

    Returns
    -------
    list of Doubt
        Empty where predictions look plausible.
    """
    if not predictions.bounds["triplet"][-1]:
        # A detector without scores may list nothing; what could not be read of it is counted.
        text = "holds no predicted triplet, so that there is nothing to evaluate"
        return [Doubt(text, predictions.ranked)]
    named = annotations.named and predictions.named
    if not named and len(annotations) != len(predictions):
        return []
    if not named or np.array_equal(predictions.names, annotations.names):
        mine = theirs = np.arange(len(annotations))
    else:
        _, mine, theirs = np.intersect1d(predictions.names, annotations.names, return_indices=True)
    in_image = predictions.bounds["box"][-1] // max(len(predictions), 1)
    size = min(SAMPLE, max(FEWEST, BOXES // max(in_image, 1)), len(mine))
    first = np.arange(0, len(mine), max(1, len(mine) * NEIGHBOURS // max(size, 1)))
    chosen = np.unique(np.minimum(np.add.outer(first, np.arange(NEIGHBOURS)), len(mine) - 1))
    sample = predictions.take(mine[chosen])
    # Scores that are all the same are the same in a sample.
    constant = constant_score_warnings(sample) and constant_score_warnings(predictions.load())
    truth = annotations.take(theirs[chosen])
    overlap = overlap_doubts(truth, sample)
    minor = [] if overlap else one_based_warnings(sample)
    if not any(doubt.grave for doubt in overlap):
        minor += box_bias(truth, sample)
    minor += constant
    return [*overlap, *(Doubt(text, False) for text in minor)]


def one_based_warnings(scenes: Scenes) -> list[str]:
    """Warn where boxes look counted from one: many begin at 1, and none before."""
    corner = scenes.box_xyxy[:, :2]
    if len(corner) < ENOUGH or corner.min() != 1 or (corner == 1).sum() < ENOUGH / 4:
        return []
    return [
        f"boxes look one-based: no left or top edge lies below 1, {int((corner == 1).sum())} "
        "lie at exactly 1; read them with --origin 1"
    ]


def constant_score_warnings(scenes: Scenes) -> list[str]:
    """Warn where all triplets of a detector with scores have the same one."""
    if not scenes.ranked:
        return []
    columns = (("triplet", scenes.triplet_score), ("action", scenes.triplet_action_score))
    return [
        f"all {name} scores are {score[0]:g}: the order of the file ranks predictions"
        for name, score in columns
        if score is not None and len(score) > 1 and score.min() == score.max()
    ]


def overlap_doubts(annotations: Scenes, predictions: Scenes) -> list[Doubt]:
    """Find predicted boxes that miss the annotated ones, or are off by a pixel or a category.

    Parameters
    ----------
    annotations, predictions : Scenes
        With the same images.

    Returns
    -------
    list of Doubt
        At most one.
    """
    predicted, annotated, value = _close_boxes(annotations, predictions)

    def shares(least: float) -> list[float]:
        close = value >= least
        return [
            len(np.unique(rows[close])) / len(scenes.box_label)
            if len(scenes.box_label) >= ENOUGH
            else 1.0
            for scenes, rows in ((annotations, annotated), (predictions, predicted))
        ]

    if max(shares(CLOSE)) < LEAST_CLOSE:
        # A detector that localises badly has figures nevertheless.
        return [Doubt(_far(predictions, shares(CLOSE)[0]), max(shares(LOOSE)) < LEAST_CLOSE)]
    near = value >= CLOSE
    predicted, annotated, value = predicted[near], annotated[near], value[near]
    very = value >= VERY_CLOSE
    corners = predictions.box_xyxy[predicted[very]] - annotations.box_xyxy[annotated[very]]
    vocabulary = annotations.vocabulary
    labels = annotations.box_label[annotated], predictions.box_label[predicted]
    return (
        (_other_categories(*labels, vocabulary) if vocabulary.protocol.categories_count else [])
        or _no_people(annotations, predictions)
        or _shift(corners)
        or _other_verbs(annotations, predictions)
    )


def _no_people(annotations: Scenes, predictions: Scenes) -> list[Doubt]:
    """See whether most predicted subjects are no people, though all annotated ones are."""
    person = annotations.vocabulary.person
    mine, theirs = (
        scenes.box_label[scenes.pair_human] != person for scenes in (annotations, predictions)
    )
    if mine.any() or len(theirs) < ENOUGH or theirs.mean() <= NO_PEOPLE:
        return []
    text = (
        f"the subject of {int(theirs.sum())} of {len(theirs)} pairs is not a person: exchange "
        "subject and object, or give --objects"
    )
    return [Doubt(text, True)]


def _close_boxes(annotations: Scenes, predictions: Scenes) -> tuple[IntArray, IntArray, FloatArray]:
    """Find predicted and annotated boxes that overlap well, whatever their categories, and IoU."""
    annotations, predictions = (
        replace(scenes, box_label=np.zeros_like(scenes.box_label))
        for scenes in (annotations, predictions)
    )
    # All boxes have one category here, so that this compares all with all.
    boxes = box_overlap(annotations, predictions, HICO_DET)
    close = np.flatnonzero(boxes.value >= LOOSE)
    owner = np.repeat(np.arange(len(boxes.start)), boxes.count)
    return owner[close], boxes.annotated[close], boxes.value[close]


def _far(predictions: Scenes, share: float) -> str:
    largest = float(predictions.box_xyxy.max())
    what = (
        f"no box reaches beyond {largest:.3g}, so they look divided by the image size: multiply "
        "them, or give annotations that hold the sizes (instances_test2015.json, anno_bbox.mat)"
        if largest <= 2
        else "give x1, y1, x2, y2 in pixels of the original image, and annotations of these images"
    )
    return f"{100 * share:.1f} % of the annotated boxes have a predicted box close to them: {what}"


def _other_categories(
    annotated: IntArray, predicted: IntArray, vocabulary: Vocabulary
) -> list[Doubt]:
    """Find close boxes that have other categories than the annotated ones; people aside."""
    objects = (annotated != vocabulary.person) & (annotated >= 0) & (predicted >= 0)
    annotated, predicted = annotated[objects], predicted[objects]
    agreeing = annotated == predicted
    if len(agreeing) < ENOUGH or agreeing.mean() >= AGREEING:
        return []
    labels = len(vocabulary.objects)
    usual = int(np.bincount(annotated[~agreeing] * labels + predicted[~agreeing]).argmax())
    names = [vocabulary.objects[label] for label in divmod(usual, labels)]
    text = (
        f"only {int(agreeing.sum())} of {len(agreeing)} predicted objects that come close to an "
        f"annotated one have its category (most often '{names[0]}' is called '{names[1]}'): the "
        "categories may be numbered differently (--objects)"
    )
    return [Doubt(text, True)]


def _other_verbs(annotations: Scenes, predictions: Scenes) -> list[Doubt]:
    """See where the best verb of the pairs that were found is hardly ever an annotated one."""
    if predictions.triplet_score is None or not len(predictions.triplet_pair):
        return []
    hits = match(annotations, predictions, annotations.vocabulary.protocol).hits
    order = np.lexsort((-predictions.scores, predictions.triplet_pair))
    pair = predictions.triplet_pair[order]
    first = first_of_run(pair)
    best = np.full(len(predictions.pair_human), -1, dtype=np.int64)
    best[pair[first]] = predictions.triplet_verb[order][first]
    predicted, annotated = hits.predicted, hits.annotated
    real = (best[predicted] >= 0) & (predictions.pair_object[predicted] >= 0)
    predicted, annotated = predicted[real], annotated[real]
    found = np.unique(predicted)
    if len(found) < ENOUGH:
        return []
    vocabulary = annotations.vocabulary
    verbs = len(vocabulary.verbs)
    wanted = annotations.triplet_pair.astype(np.int64) * verbs + annotations.triplet_verb

    def share(verb: IntArray) -> float:
        inside = (verb >= 0) & (verb < verbs)
        right = inside & np.isin(annotated * np.int64(verbs) + verb, wanted)
        return len(np.unique(predicted[right])) / len(found)

    verb, label = best[predicted], predictions.pair_label[predicted]
    own = share(verb)
    shifted = {("verbs", shift): share(verb + shift) for shift in (1, -1)}
    if (vocabulary.class_object >= 0).all():
        shifted |= {
            ("classes", shift): share(_next_class(verb, label, shift, vocabulary))
            for shift in (1, -1)
        }
    what, shift = max(shifted, key=lambda each: shifted[each])
    if shifted[what, shift] > max(SHIFTED * own, AGREEING):
        named = "HOI classes" if what == "classes" else what
        text = (
            f"the best verb of {100 * own:.1f} % of the pairs that were found is annotated, but "
            f"that of {100 * shifted[what, shift]:.1f} % if {named} were one "
            f"{'higher' if shift > 0 else 'lower'}: they look numbered one too "
            f"{_repair_of(what, shift)}"
        )
        return [Doubt(text, True)]
    if own < SENSIBLE:
        text = (
            f"the best verb of only {100 * own:.1f} % of {len(found)} pairs that were found "
            "is annotated: the verbs may be numbered differently"
        )
        return [Doubt(text, False)]
    return []


def _repair_of(what: str, shift: int) -> str:
    """Say what to do where numbers are one too low, for a positive shift, or one too high."""
    if shift > 0:
        return f"low: add 1 to each, or give --{what} 0 if they were read as counted from 1"
    return f"high: give --{what} 1, or subtract 1 from each if they were read so"


def _next_class(verb: IntArray, label: IntArray, shift: int, vocabulary: Vocabulary) -> IntArray:
    """Verb of the HOI class before or after that of each verb and object; -1 for none."""
    hoi = vocabulary.class_of[label, verb]
    other = np.clip(hoi + shift, 0, len(vocabulary) - 1)
    same = (hoi >= 0) & (vocabulary.class_object[other] == label)
    return np.where(same, vocabulary.class_verb[other], -1)


def _shift(difference: FloatArray) -> list[Doubt]:
    """Find out whether boxes that overlap well are shifted by a pixel in all four coordinates."""
    if len(difference) < ENOUGH:
        return []
    shift = np.median(difference, axis=0)
    for pixels, reading in ((1, "--origin 1"), (-1, "--origin 0")):
        if (np.abs(shift - pixels) < 0.3).all():
            text = (
                f"boxes that overlap annotated ones well are shifted by {shift.round(2).tolist()} "
                f"pixels (median): read them with {reading}"
            )
            return [Doubt(text, False)]
    return []
