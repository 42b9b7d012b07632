"""The one label of every predicted triplet, and the annotation it should have found.

Diag-HOI paper, section 3.1, in the exact form of the project's specification.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from diaghoi.matching import Match
from diaghoi.ragged import expand
from diaghoi.scenes import Scenes

IntArray = npt.NDArray[np.integer]
BoolArray = npt.NDArray[np.bool_]

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
    """Labels of the predicted triplets of some images, and their annotated triplets.

    Parameters
    ----------
    label : (T,) int8 array
        Position in ``LABELS``.
    annotation : (T,) int array
        The annotated triplet that a true positive found or that a wrong prediction is assigned to;
        -1 for none.
    """

    label: npt.NDArray[np.int8]
    annotation: IntArray


def explain(
    annotations: Scenes,
    predictions: Scenes,
    match: Match,
    annotated: BoolArray,
    predicted: BoolArray,
) -> Errors:
    """Label every prediction and assign wrong ones to annotations.

    Parameters
    ----------
    annotations, predictions : Scenes
        With the same images.
    match : Match
        Their match.
    annotated, predicted : (A,) and (T,) bool array
        The annotated and the predicted triplets that belong to the classes of the protocol. Other
        annotated triplets join no pair and are assigned nothing; other predictions are assigned
        to nothing (their labels mean nothing).
    """
    reaches = match.overlap.reaches_any
    pair = predictions.triplet_pair
    thing = predictions.pair_object[pair]
    human_ok = reaches[predictions.pair_human[pair]]
    object_ok = reaches[thing] & (thing >= 0)

    joins = np.zeros(len(annotations.pair_human), dtype=bool)
    joins[annotations.triplet_pair[annotated]] = True
    joined = np.zeros(len(predictions.pair_human), dtype=bool)
    joined[match.hits.predicted[joins[match.hits.annotated]]] = True

    label = np.select(
        [
            match.found,
            match.candidate >= 0,
            human_ok & object_ok & joined[pair],
            human_ok & object_ok,
            human_ok,
            object_ok,
        ],
        [TRUE_POSITIVE, DUPLICATE, ACTION, ASSOCIATION, OBJECT_BOX, HUMAN_BOX],
        BOTH_BOXES,
    ).astype(np.int8)

    open_to_assignment = predicted & ~match.found & (human_ok | object_ok)
    annotation = np.where(match.found, match.candidate, -1)
    assigned, to = _assign(annotations, predictions, match, annotated, open_to_assignment, human_ok)
    annotation[assigned] = to
    return Errors(label=label, annotation=annotation)


def _assign(
    annotations: Scenes,
    predictions: Scenes,
    match: Match,
    annotated: BoolArray,
    wrong: BoolArray,
    human_ok: BoolArray,
) -> tuple[IntArray, IntArray]:
    """Assign wrong predictions to annotated triplets; return both, row by row.

    Annotated triplets choose in their stored order, each the best-scored prediction that fits, is
    not yet chosen and stands above its own true positive.
    """
    ranked = match.order[wrong[match.order]]
    seekers = np.flatnonzero(annotated)
    if len(ranked) == 0 or len(seekers) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    rank = np.empty(len(match.order), dtype=np.int64)
    rank[match.order] = np.arange(len(match.order))
    limit = np.full(len(annotations.triplet_pair), len(rank), dtype=np.int64)
    limit[match.candidate[match.found]] = rank[match.found]

    # The wrong predictions of an image are one run of `ranked`, cut at the own true positive.
    image = annotations.triplet_image[seekers]
    in_image = np.bincount(predictions.triplet_image[ranked], minlength=len(annotations))
    start = (np.cumsum(in_image) - in_image)[image]
    above = np.searchsorted(rank[ranked], limit[seekers])
    stop = np.minimum(start + in_image[image], above)
    seeker, position = expand(start, np.maximum(stop - start, 0))
    fits = _fits(annotations, predictions, match, ranked[position], seekers[seeker], human_ok)
    seeker, position = seeker[fits], position[fits]

    chosen = _choose_in_turn(
        np.bincount(seeker, minlength=len(seekers)), position, choices=len(ranked)
    )
    served = chosen >= 0
    return ranked[chosen[served]], seekers[served]


def _fits(
    annotations: Scenes,
    predictions: Scenes,
    match: Match,
    wrong: IntArray,
    annotated: IntArray,
    human_ok: BoolArray,
) -> BoolArray:
    """Tell whether a wrong prediction may stand for an annotated triplet of its image.

    If its human is ok, the human box must match this triplet's human; else the object box must
    match this triplet's object.
    """
    by_human = human_ok[wrong]
    predicted_pair = predictions.triplet_pair[wrong]
    annotated_pair = annotations.triplet_pair[annotated]
    mine = np.where(
        by_human,
        predictions.pair_human[predicted_pair],
        predictions.pair_object[predicted_pair],
    )
    theirs = np.where(
        by_human,
        annotations.pair_human[annotated_pair],
        annotations.pair_object[annotated_pair],
    )
    comparable = np.flatnonzero(
        (theirs >= 0) & (predictions.box_label[mine] == annotations.box_label[theirs])
    )
    fits = np.zeros(len(wrong), dtype=bool)
    entry = match.overlap.entry(mine[comparable], theirs[comparable])
    fits[comparable] = match.overlap.reached[entry]
    return fits


def _choose_in_turn(count: IntArray, wish: IntArray, choices: int) -> IntArray:
    """Let each seeker in turn take the first of its wishes that is still free.

    All seekers propose at once and the earliest keeps; whoever was refused proposes the next wish.
    Since every choice prefers earlier seekers, the outcome is that of choosing one by one.

    Parameters
    ----------
    count : (S,) int array
        Number of wishes of each seeker; earlier seekers choose first.
    wish : (sum(count),) int array
        Their wishes, one seeker after the other, best first.
    choices : int
        Number of things to choose from.

    Returns
    -------
    (S,) int array
        What each seeker got, -1 for nothing.
    """
    stop = np.cumsum(count)
    turn = stop - count
    holder = np.empty(choices, dtype=np.int64)
    seeking = np.flatnonzero(turn < stop)
    refused = seeking
    while len(refused):
        proposal = wish[turn[seeking]]
        holder[proposal[::-1]] = seeking[::-1]
        refused = seeking[holder[proposal] != seeking]
        turn[refused] += 1
        seeking = seeking[turn[seeking] < stop[seeking]]
    got = np.full(len(count), -1, dtype=np.int64)
    got[seeking] = wish[turn[seeking]]
    return got
