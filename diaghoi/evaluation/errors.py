"""The one label of every predicted triplet, and the annotation it should have found.

Diag-HOI paper, section 3.1, in the exact form of the project's specification.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, distinct_boxes, marked, place_in_group
from diaghoi.data.boxes import reaches
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.assignment import (
    Fits,
    assign,
    attempt,
    fits_of,
    pair_stored_at_rank,
)
from diaghoi.evaluation.matching import Match

LABELS = (
    "true_positive",
    "human_box",
    "object_box",
    "both_boxes",
    "association",
    "action",
    "duplicate",
)
(
    TRUE_POSITIVE,
    HUMAN_BOX,
    OBJECT_BOX,
    BOTH_BOXES,
    ASSOCIATION,
    ACTION,
    DUPLICATE,
) = range(len(LABELS))


@dataclass(frozen=True, kw_only=True, eq=False)
class Errors:
    """Labels of the predicted triplets of some images, and what they should have found.

    Parameters
    ----------
    label : (T,) int8 array
        Position in ``LABELS``.
    annotation : (T,) int array
        The annotated triplet that a true positive found or that a wrong prediction is assigned to;
        -1 for none.
    attempt : (T,) int array
        The annotated triplet that a true positive found or that a wrong prediction attempts in the
        second reading (:mod:`diaghoi.oracles.localised`); -1 for none.
    """

    label: IntArray
    annotation: IntArray
    attempt: IntArray


def explain(
    annotations: Scenes,
    predictions: Scenes,
    match: Match,
    annotated: BoolArray,
    predicted: BoolArray,
    protocol: Protocol,
) -> Errors:
    """Label every prediction and assign wrong ones to annotations.

    Parameters
    ----------
    annotations, predictions : Scenes
        With the same images.
    match : Match
        Their match.
    annotated, predicted : (A,) and (T,) bool array
        The annotated and the predicted triplets that belong to the classes of the protocol. Others
        take no part in the assignment, and their labels mean nothing.
    protocol : Protocol
        How many of the best predictions of an image may be assigned, whether duplicates may, and by
        whose boxes they fit.
    """
    candidates = match.candidates
    human_ok, object_ok = candidates.human_ok, candidates.object_ok
    # The first condition that holds gives the label, so their order is the definition.
    label = np.select(
        [
            match.found,
            candidates.claimed >= 0,
            human_ok & object_ok & candidates.joined,
            human_ok & object_ok,
            human_ok,
            object_ok,
        ],
        [TRUE_POSITIVE, DUPLICATE, ACTION, ASSOCIATION, OBJECT_BOX, HUMAN_BOX],
        BOTH_BOXES,
    ).astype(np.int8)

    # The limit counts the predictions of the protocol's classes, true positives included.
    ranked = match.order[predicted[match.order]]
    if protocol.considered is not None:
        ranked = ranked[place_in_group(predictions.triplet_image[ranked]) < protocol.considered]
    assignable = ~match.found & (candidates.attempts_by_human | candidates.attempts_by_object)
    if protocol.duplicates == "not assigned":
        assignable &= label != DUPLICATE
    proposers, wrong = np.flatnonzero(annotated), ranked[assignable[ranked]]
    fits = published = fits_of(
        annotations, predictions, match, proposers, wrong, predictions.triplet_pair
    )
    if protocol.fitting_boxes == "stored at the rank":
        pair = pair_stored_at_rank(predictions, match.order)
        published = fits_of(annotations, predictions, match, proposers, wrong, pair)
    annotation, attempted = (np.where(match.found, candidates.claimed, -1) for _ in range(2))
    assigned, to = assign(published)
    annotation[assigned] = to
    attempting, to = _attempts(annotations, predictions, match, predicted, label, fits)
    attempted[attempting] = to
    return Errors(label=label, annotation=annotation, attempt=attempted)


def _attempts(
    annotations: Scenes,
    predictions: Scenes,
    match: Match,
    predicted: BoolArray,
    label: IntArray,
    fits: Fits,
) -> tuple[IntArray, IntArray]:
    """Find the wrong predictions that attempt an annotated triplet, and these triplets.

    The definition is that of :mod:`diaghoi.oracles.localised`.
    """
    row, triplet = fits.wrong[fits.position], fits.proposers[fits.proposer]
    mine, theirs = predictions.triplet_pair[row], annotations.triplet_pair[triplet]
    hoi = annotations.triplet_class[triplet]
    same_class = predictions.triplet_class[row] == hoi

    # A wrong action attempts what is annotated for its pair, unless this pair already gave a true
    # positive of that class: then it is the pair of another triplet.
    wrong_action = (label == ACTION) | ((label == ASSOCIATION) & match.candidates.on_pair)
    finding = np.flatnonzero(predicted & match.found)
    pair, found = predictions.triplet_pair[finding], match.candidates.claimed[finding]
    hits, pairs = match.hits, len(annotations.pair_human)
    classes, triplets = len(annotations.vocabulary), len(annotations.triplet_pair)
    some = np.flatnonzero(wrong_action[row])
    by_action = np.isin(
        _key(mine[some], theirs[some], pairs), _key(hits.predicted, hits.annotated, pairs)
    )
    wanting, giving = np.split(
        _equal_pairs(predictions, np.concatenate([mine[some], pair])), [len(some)]
    )
    by_action &= ~np.isin(
        _key(wanting, hoi[some], classes), _key(giving, annotations.triplet_class[found], classes)
    ) | np.isin(_key(wanting, triplet[some], triplets), _key(giving, found, triplets))

    thing, other = predictions.pair_object[mine], annotations.pair_object[theirs]
    if match.protocol.categories_count:
        # A triplet of its own object, by its name, or where it has a wrong name by its place.
        own_object = predictions.pair_label[mine] == annotations.pair_label[theirs]
        place = match.overlap.iou(thing, other)
        own_object |= (label[row] == OBJECT_BOX) & reaches(match.protocol, place)
    else:
        # Predictions name no object: one of the same role, unless the pair is an annotated one.
        own_object = same_class & ((thing >= 0) | (other < 0)) & ~match.candidates.of_pair[row]
    fit = np.isin(label[row], (HUMAN_BOX, OBJECT_BOX, ASSOCIATION)) & own_object
    fit[some] = by_action
    fit &= ~match.candidates.ignored[row]
    return attempt(fits, fit, same_class, marked(found, triplets)[triplet])


def _equal_pairs(predictions: Scenes, pair: IntArray) -> IntArray:
    """(N,) one number for pairs of equal boxes: files may repeat the boxes in every triplet."""
    human, thing = predictions.pair_human[pair], predictions.pair_object[pair]
    box = np.concatenate([human, thing[thing >= 0]])
    number = np.full(2 * len(pair), -1, dtype=np.int64)
    number[np.concatenate([np.ones(len(pair), dtype=bool), thing >= 0])] = distinct_boxes(
        predictions.box_image[box], predictions.box_label[box], predictions.box_xyxy[box]
    )[1]
    return _key(number[: len(pair)], number[len(pair) :] + 1, len(number) + 1)


def _key(one: IntArray, other: IntArray, others: int) -> IntArray:
    """(N,) one number for each two; 64 bits, as pairs times classes is beyond 32 bits."""
    return np.asarray(one * np.int64(others) + other)
