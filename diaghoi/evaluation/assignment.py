"""Which wrong prediction is assigned to which annotated triplet that nothing found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from diaghoi.data.arrays.budget import gathered
from diaghoi.data.arrays.ragged import expand, expand_in_parts, runs
from diaghoi.data.arrays.types import IntArray
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.matching import Match
from diaghoi.evaluation.overlap import CROWDED


def assign(
    annotations: Scenes,
    predictions: Scenes,
    match: Match,
    protocol: Protocol,
    proposers: IntArray,
    wrong: IntArray,
) -> tuple[IntArray, IntArray]:
    """Assign wrong predictions to annotated triplets; return both, row by row.

    The annotated triplets, ``proposers``, choose in their stored order, each the best-ranked
    prediction that fits, is not yet chosen and ranks above its own true positive. ``wrong`` are
    the predictions that can be chosen, in ranking order. The protocol says by whose boxes they fit.
    """
    rank = np.empty(len(match.order), dtype=np.int64)
    rank[match.order] = np.arange(len(match.order))
    # An annotated triplet without a true positive accepts predictions of any rank.
    limit = np.full(len(annotations.triplet_pair), len(rank), dtype=np.int64)
    limit[match.candidates.claimed[match.found]] = rank[match.found]

    above = np.searchsorted(rank[wrong], limit[proposers])
    pair = predictions.triplet_pair
    if protocol.fitting_boxes == "stored at the rank":
        pair = _pair_stored_at_rank(predictions, match.order)
    fitting = _fitting(annotations, predictions, match, proposers, wrong, pair)
    proposer, position = gathered(fitting, CROWDED)
    use = position < above[proposer]
    # One box that fits is enough, and both may. Sorted, by proposer and then by rank.
    fits = np.unique(proposer[use] * np.int64(len(wrong)) + position[use])
    proposer, position = np.divmod(fits, len(wrong))
    chosen = choose_in_turn(
        np.bincount(proposer, minlength=len(proposers)), position, choices=len(wrong)
    )
    matched = chosen >= 0
    return wrong[chosen[matched]], proposers[matched]


def _pair_stored_at_rank(predictions: Scenes, order: IntArray) -> IntArray:
    """(T,) pair of the k-th stored triplet of its verb and image, for the k-th best one."""
    image, verb = predictions.triplet_image, predictions.triplet_verb
    best_first = order[np.lexsort((verb[order], image[order]))]
    pair = np.empty_like(predictions.triplet_pair)
    pair[best_first] = predictions.triplet_pair[np.lexsort((verb, image))]
    return pair


def _fitting(
    annotations: Scenes,
    predictions: Scenes,
    match: Match,
    proposers: IntArray,
    wrong: IntArray,
    pair: IntArray,
) -> Iterator[tuple[IntArray, IntArray]]:
    """Find the wrong predictions that may be assigned to each proposer, by human and by object.

    Yields places among the proposers, and among the wrong predictions.
    """
    predicted, annotated = match.overlap.reaching
    by_annotated = np.argsort(annotated, kind="stable")
    of_proposers = annotations.triplet_pair[proposers]
    for attempts_by, mine, theirs in (
        (match.candidates.attempts_by_human, predictions.pair_human, annotations.pair_human),
        (match.candidates.attempts_by_object, predictions.pair_object, annotations.pair_object),
    ):
        able = np.flatnonzero(attempts_by[wrong])
        box = mine[pair[wrong[able]]]
        by_box = np.argsort(box, kind="stable")
        reaching = runs(annotated[by_annotated], theirs[of_proposers])
        for owner, place in expand_in_parts(*reaching):
            among = runs(box[by_box], predicted[by_annotated[place]])
            of_box, position = expand(*among)
            yield owner[of_box], able[by_box[position]]


def choose_in_turn(count: IntArray, preference: IntArray, choices: int) -> IntArray:
    """Let each proposer in turn take the first of its preferences that is still free.

    All propose at once and the earliest proposer of a choice keeps it; whoever was refused proposes
    its next preference (deferred acceptance: Gale and Shapley, 1962). Since every choice prefers
    earlier proposers, the outcome is that of choosing one by one, in a few rounds of array code.

    Parameters
    ----------
    count : (S,) int array
        Number of preferences of each proposer; earlier proposers choose first.
    preference : (sum(count),) int array
        Their preferences, one proposer after the other, best first.
    choices : int
        Number of choices.

    Returns
    -------
    (S,) int array
        What each proposer gets, -1 for nothing.
    """
    stop = np.cumsum(count)
    turn = stop - count
    holder = np.empty(choices, dtype=np.int64)
    proposing = np.flatnonzero(turn < stop)
    refused = proposing
    while len(refused):
        proposal = preference[turn[proposing]]
        # Where several propose to one, the last assignment wins: in reverse, that of the earliest.
        holder[proposal[::-1]] = proposing[::-1]
        refused = proposing[holder[proposal] != proposing]
        turn[refused] += 1
        proposing = proposing[turn[proposing] < stop[proposing]]
    held = np.full(len(count), -1, dtype=np.int64)
    held[proposing] = preference[turn[proposing]]
    return held
