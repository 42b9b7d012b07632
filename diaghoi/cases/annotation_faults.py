"""Annotation faults that turn predictions into false positives, found block by block.

:mod:`diaghoi.cases.causes` decides which fault explains a false positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    expand,
    expand_in_parts,
    first_of_run,
    marked,
    runs,
)
from diaghoi.data.boxes import iou_of, reaches
from diaghoi.data.memory import gathered
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.errors import DUPLICATE, TRUE_POSITIVE
from diaghoi.evaluation.matching import Match
from diaghoi.evaluation.overlap import CROWDED, LEAST

NEAR_DUPLICATE_IOU = 0.7
"""IoU above which two annotated boxes of one category count as one object."""
BACKGROUND_IOU = LEAST
"""IoU below which a person box is background rather than a misplaced box of an annotated person:
the background threshold of TIDE (Bolya et al., 2020).
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledImages:
    """A block of images with the labels of their triplets.

    Parameters
    ----------
    annotations, predictions : Scenes
        The annotations of the block, and the predictions on its images.
    matched : Match
        The match of predictions and annotations.
    label : (T,) int8 array
        Label of each predicted triplet, as an index into :data:`diaghoi.evaluation.errors.LABELS`;
        -1 if the triplet does not count.
    counted, found : (A,) bool array
        Masks of the annotated triplets that count, and of those with a true positive.
    """

    annotations: Scenes
    predictions: Scenes
    matched: Match
    label: npt.NDArray[np.int8]
    counted: BoolArray
    found: BoolArray

    @property
    def protocol(self) -> Protocol:
        """The protocol of the match."""
        return self.matched.protocol

    @property
    def false(self) -> BoolArray:
        """(T,) mask of the triplets that are false positives."""
        return self.label > TRUE_POSITIVE

    def boxes(self, scenes: Scenes, triplets: IntArray) -> tuple[IntArray, IntArray]:
        """Return the human and object boxes of triplets; -1 for no object."""
        pair = scenes.triplet_pair[triplets]
        return scenes.pair_human[pair], scenes.pair_object[pair]


def are_one(annotations: Scenes, one: IntArray, other: IntArray, protocol: Protocol) -> BoolArray:
    """Check for each pair of annotated boxes whether the two boxes show the same object.

    Two equal boxes show one object. Where annotators redraw the boxes for each pair, near
    duplicates of one category also show one object. V-COCO uses the boxes of COCO, where each
    object is drawn once.

    Parameters
    ----------
    annotations : Scenes
        Scenes with the boxes.
    one, other : (N,) int array
        Rows of the box table; -1 for no box, which matches nothing.
    protocol : Protocol
        Protocol that defines the box convention and the matching.
    """
    boxes = (one >= 0) & (other >= 0)
    if protocol.pairing == "person":
        return np.asarray(boxes & (one == other))
    near = iou_of(annotations.box_xyxy, one, annotations.box_xyxy, other, protocol.margin)
    alike = annotations.box_label[one] == annotations.box_label[other]
    return np.asarray(boxes & ((one == other) | (alike & (near > NEAR_DUPLICATE_IOU))))


def fits_near_duplicate(images: LabelledImages) -> tuple[BoolArray, BoolArray]:
    """Find the false positives that would match a triplet if no box were annotated twice.

    Two annotated boxes of one category are *near duplicates* if their IoU exceeds
    :data:`NEAR_DUPLICATE_IOU`. A prediction fits an annotated triplet of its class if each of its
    boxes reaches the triplet's box or a near duplicate of that box, and at least one reaches a near
    duplicate. A duplicate prediction fits a triplet if each box of the triplet equals, or nearly
    duplicates, the box of the triplet that the prediction repeats. In official matching, a
    prediction can find only the triplet that it overlaps most.

    Returns
    -------
    fits, fits_missed : (T,) bool array
        Masks of the predictions that fit any triplet, and of those that fit a triplet without a
        true positive.
    """
    duplicates = _near_duplicates(images.annotations, images.protocol)
    predicted, annotated = _same_class(images)
    repeats = images.label[predicted] == DUPLICATE
    fits = np.where(
        repeats,
        _repeats_candidate(images, duplicates, predicted, annotated),
        _fits_by_near_duplicates(images, duplicates, predicted, annotated),
    )
    predicted, annotated = predicted[fits], annotated[fits]
    triplets = len(images.label)
    return (
        marked(predicted, triplets),
        marked(predicted[~images.found[annotated]], triplets),
    )


def _near_duplicates(annotations: Scenes, protocol: Protocol) -> tuple[IntArray, IntArray]:
    """List all pairs (box, near duplicate), ordered by the first box."""
    # With one key per image and category, only boxes of one category are paired; label -1 (unknown)
    # becomes 0.
    labels = np.int64(len(annotations.vocabulary.objects) + 1)
    cell = annotations.box_image * labels + annotations.box_label + 1
    by_cell = np.argsort(cell, kind="stable")
    xyxy, margin = annotations.box_xyxy, protocol.margin

    def found() -> Iterator[tuple[IntArray, IntArray]]:
        for owner, position in expand_in_parts(*runs(cell[by_cell], cell)):
            other = by_cell[position]
            near = iou_of(xyxy, owner, xyxy, other, margin) > NEAR_DUPLICATE_IOU
            near &= owner != other
            yield owner[near], other[near]

    box, other = gathered(found(), CROWDED)
    return box, other


def _same_class(images: LabelledImages) -> tuple[IntArray, IntArray]:
    """List the pairs of a false positive and a counted annotated triplet of its image and class."""
    classes = np.int64(len(images.annotations.vocabulary))
    false, counted = np.flatnonzero(images.false), np.flatnonzero(images.counted)
    false_keys, counted_keys = (
        scenes.triplet_image[rows] * classes + scenes.triplet_class[rows]
        for scenes, rows in ((images.predictions, false), (images.annotations, counted))
    )
    by_class = np.argsort(counted_keys, kind="stable")
    owner, position = expand(*runs(counted_keys[by_class], false_keys))
    return false[owner], counted[by_class[position]]


def _fits_by_near_duplicates(
    images: LabelledImages,
    duplicates: tuple[IntArray, IntArray],
    predicted: IntArray,
    annotated: IntArray,
) -> BoolArray:
    """Find the rows whose prediction reaches the triplet through at least one near duplicate."""
    overlap, (first, second) = images.matched.overlap, duplicates
    boxes = np.int64(len(images.annotations.box_label))
    reaching, reached = overlap.reaching
    owner, position = expand(*runs(first, reached))
    # Keys (predicted box, annotated box): the predicted box reaches a near duplicate of the
    # annotated box.
    by_duplicate = np.sort(reaching[owner] * boxes + second[position])

    human, obj = images.boxes(images.predictions, predicted)
    annotated_human, annotated_object = images.boxes(images.annotations, annotated)
    human_by_duplicate = _contained(human * boxes + annotated_human, by_duplicate)
    both = (obj >= 0) & (annotated_object >= 0)
    object_by_duplicate = both & _contained(obj * boxes + annotated_object, by_duplicate)
    anything = images.protocol.missing_role == "anything"
    fits_nothing = (annotated_object < 0) & ((obj < 0) | anything)
    human_fits = human_by_duplicate | overlap.reaches(human, annotated_human)
    object_fits = object_by_duplicate | fits_nothing | overlap.reaches(obj, annotated_object)
    return human_fits & object_fits & (human_by_duplicate | object_by_duplicate)


def _repeats_candidate(
    images: LabelledImages,
    duplicates: tuple[IntArray, IntArray],
    predicted: IntArray,
    annotated: IntArray,
) -> BoolArray:
    """Find the rows whose triplet has the same or nearly the same boxes as the repeated triplet."""
    boxes = np.int64(len(images.annotations.box_label))
    keys = np.sort(duplicates[0] * boxes + duplicates[1])
    candidate = images.matched.candidates.claimed[predicted]
    same = np.ones(len(candidate), dtype=bool)
    for mine, theirs in zip(
        images.boxes(images.annotations, candidate),
        images.boxes(images.annotations, annotated),
        strict=True,
    ):
        same &= (mine == theirs) | (
            (mine >= 0) & (theirs >= 0) & _contained(mine * boxes + theirs, keys)
        )
    return same


def _contained(values: IntArray, sorted_keys: IntArray) -> BoolArray:
    """Find the values that occur among sorted keys."""
    place = np.searchsorted(sorted_keys, values)
    # A value above all keys is compared with the appended -1, and so is not found.
    return np.asarray(np.append(sorted_keys, -1)[place] == values)


def other_verbs(
    images: LabelledImages, counterpart: BoolArray | None
) -> tuple[BoolArray, BoolArray]:
    """Find the false positives whose pair is annotated only with other verbs.

    To count, the predicted pair must localise an annotated pair with counted triplets. A pair
    without an object localises only pairs without an object. The verb ``no_interaction`` does not
    count as another verb.

    Parameters
    ----------
    images : LabelledImages
        One block of images.
    counterpart : (C, C) bool array or None
        True if the column's class can look like the row's class in a still picture (a counterpart).

    Returns
    -------
    counterparts, others : (T,) bool array
        Masks of the predictions whose pair has a counterpart of the predicted class, and of the
        predictions whose pair has any other verb.
    """
    annotations, predictions = images.annotations, images.predictions
    real = np.append(annotations.vocabulary.interacting, False)
    given = np.flatnonzero(images.counted & real[annotations.triplet_class])
    given = given[np.argsort(annotations.triplet_pair[given], kind="stable")]
    hits = images.matched.hits
    # The protocol may let a missing object match any object. In this search, either both pairs have
    # an object or neither has one.
    alike = (predictions.pair_object[hits.predicted] < 0) == (
        annotations.pair_object[hits.annotated] < 0
    )
    pair, localised = hits.predicted[alike], hits.annotated[alike]
    owner, position = expand(*runs(annotations.triplet_pair[given], localised))
    pair, hoi = pair[owner], annotations.triplet_class[given[position]]

    unclaimed = images.false & (images.matched.candidates.claimed < 0)
    false = np.flatnonzero(unclaimed & real[predictions.triplet_class])
    owner, position = expand(*runs(pair, predictions.triplet_pair[false]))
    row, hoi = false[owner], hoi[position]
    own = predictions.triplet_class[row]
    # If predictions are matched by person, another person's pair may be annotated with the
    # predicted class.
    annotated = marked(row[hoi == own], len(images.label))
    others = ~annotated[row]
    row, own, hoi = row[others], own[others], hoi[others]
    timed = np.zeros(len(row), dtype=bool) if counterpart is None else counterpart[own, hoi]
    return marked(row[timed], len(images.label)), marked(row, len(images.label))


def unlabelled_people(images: LabelledImages) -> BoolArray:
    """Find the false positives whose person is annotated, but in no triplet.

    A false positive counts if its human box reaches annotated people, but none with a triplet. On
    V-COCO, the result is empty: predictions are matched by person, and people without actions are
    annotated.
    """
    annotations = images.annotations
    people = annotations.box_label == annotations.vocabulary.person
    interacting = _with_interactions(images)
    reaching, reached = images.matched.overlap.reaching
    boxes = len(images.predictions.box_label)
    by_idle = marked(reaching[(people & ~interacting)[reached]], boxes)
    by_interacting = marked(reaching[(people & interacting)[reached]], boxes)
    return _of_triplets(images, by_idle & ~by_interacting)


def confident_people(images: LabelledImages) -> BoolArray:
    """Find the confident false positives whose person is not annotated.

    The confidence of a found annotated person is the highest score of the predictions whose human
    box reaches this person. An unmatched human box has an IoU below :data:`BACKGROUND_IOU` with
    every annotated person. A false positive with an unmatched box is confident if any prediction
    with this box, or with another unmatched box that reaches it, scores at least the lower median
    confidence of the people found in the image.
    """
    annotations, predictions = images.annotations, images.predictions
    overlap = images.matched.overlap
    counted = np.flatnonzero(images.label >= 0)
    best = np.full(len(predictions.box_label), -np.inf)
    human, _ = images.boxes(predictions, counted)
    np.maximum.at(best, human, predictions.scores[counted])

    people = (annotations.box_label == annotations.vocabulary.person)[overlap.annotated]
    near = marked(overlap.predicted[people & (overlap.value >= BACKGROUND_IOU)], len(best))
    usual = _usual_score(images, best)
    of_people = True
    if images.protocol.categories_count:
        of_people = predictions.box_label == annotations.vocabulary.person
    unmatched = np.flatnonzero((best > -np.inf) & ~near & of_people)
    confident = unmatched[best[unmatched] >= usual[predictions.box_image[unmatched]]]
    xyxy, protocol = predictions.box_xyxy, images.protocol
    agreed = np.zeros(len(best), dtype=bool)
    for owner, position in expand_in_parts(
        *runs(predictions.box_image[confident], predictions.box_image[unmatched])
    ):
        box, other = unmatched[owner], confident[position]
        agree = reaches(protocol, iou_of(xyxy, box, xyxy, other, protocol.margin))
        agree |= box == other  # a box without area has an IoU of 0 with itself
        agreed[box[agree]] = True
    return _of_triplets(images, agreed)


def _usual_score(images: LabelledImages, best: FloatArray) -> FloatArray:
    """Return the lower median confidence, (N,), of the people found in each image.

    The value is infinite for an image without found people. ``best`` is the highest score of each
    predicted box as a human.
    """
    annotations = images.annotations
    reaching, reached = images.matched.overlap.reaching
    score = np.full(len(annotations.box_label), -np.inf)
    np.maximum.at(score, reached, best[reaching])
    score[
        ~_with_interactions(images) | (annotations.box_label != annotations.vocabulary.person)
    ] = -np.inf
    found = np.flatnonzero(score > -np.inf)
    ranked = found[np.lexsort((score[found], annotations.box_image[found]))]
    image = annotations.box_image[ranked]
    first = np.flatnonzero(first_of_run(image))
    count = np.diff(np.append(first, len(ranked)))
    usual = np.full(len(annotations), np.inf)
    usual[image[first]] = score[ranked[first + (count - 1) // 2]]
    return usual


def _with_interactions(images: LabelledImages) -> BoolArray:
    """Return a mask of the annotated boxes that belong to an annotated triplet."""
    annotations = images.annotations
    boxes = len(annotations.box_label)
    if images.protocol.pairing == "person":
        return np.ones(boxes, dtype=bool)
    human, obj = images.boxes(annotations, np.arange(len(annotations.triplet_pair)))
    return marked(np.concatenate([human, obj[obj >= 0]]), boxes)


def _of_triplets(images: LabelledImages, boxes: BoolArray) -> BoolArray:
    """Return a mask of the false positives whose human box is selected by ``boxes``."""
    human, _ = images.boxes(images.predictions, np.arange(len(images.label)))
    return images.false & boxes[human]
