"""The one label of every predicted triplet, and the annotation it should have found.

Diag-HOI paper, section 3.1, in the exact form of the project's specification.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays.ragged import place_in_group
from diaghoi.data.arrays.types import BoolArray, IntArray
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.assignment import assign
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
    """

    label: IntArray
    annotation: IntArray


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
    attempts = ~match.found & (candidates.attempts_by_human | candidates.attempts_by_object)
    if protocol.duplicates == "not assigned":
        attempts &= label != DUPLICATE
    annotation = np.where(match.found, candidates.claimed, -1)
    proposers, wrong = np.flatnonzero(annotated), ranked[attempts[ranked]]
    assigned, to = assign(annotations, predictions, match, protocol, proposers, wrong)
    annotation[assigned] = to
    return Errors(label=label, annotation=annotation)
