"""Which wrong prediction is assigned to which annotated triplet that nothing found."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays.ragged import expand
from diaghoi.data.arrays.types import BoolArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.matching import Match


def assign(
    annotations: Scenes, predictions: Scenes, match: Match, proposers: IntArray, wrong: IntArray
) -> tuple[IntArray, IntArray]:
    """Assign wrong predictions to annotated triplets; return both, row by row.

    The annotated triplets, ``proposers``, choose in their stored order, each the best-ranked
    prediction that fits, is not yet chosen and ranks above its own true positive. ``wrong`` are
    the predictions that can be chosen, in ranking order.
    """
    rank = np.empty(len(match.order), dtype=np.int64)
    rank[match.order] = np.arange(len(match.order))
    # An annotated triplet without a true positive accepts predictions of any rank.
    limit = np.full(len(annotations.triplet_pair), len(rank), dtype=np.int64)
    limit[match.candidates.claimed[match.found]] = rank[match.found]

    # The wrong predictions of an image are one run of `wrong`, cut at the own true positive.
    image = annotations.triplet_image[proposers]
    in_image = np.bincount(predictions.triplet_image[wrong], minlength=len(annotations))
    start = (np.cumsum(in_image) - in_image)[image]
    above = np.searchsorted(rank[wrong], limit[proposers])
    stop = np.minimum(start + in_image[image], above)
    proposer, position = expand(start, np.maximum(stop - start, 0))
    fits = _fits(annotations, predictions, match, wrong[position], proposers[proposer])
    proposer, position = proposer[fits], position[fits]

    chosen = choose_in_turn(
        np.bincount(proposer, minlength=len(proposers)), position, choices=len(wrong)
    )
    matched = chosen >= 0
    return wrong[chosen[matched]], proposers[matched]


def _fits(
    annotations: Scenes, predictions: Scenes, match: Match, wrong: IntArray, annotated: IntArray
) -> BoolArray:
    """Whether a wrong prediction may be assigned to an annotated triplet of its image."""
    predicted_pair = predictions.triplet_pair[wrong]
    annotated_pair = annotations.triplet_pair[annotated]
    fits = np.zeros(len(wrong), dtype=bool)
    for attempts_by, mine, theirs in (
        (match.candidates.attempts_by_human, predictions.pair_human, annotations.pair_human),
        (match.candidates.attempts_by_object, predictions.pair_object, annotations.pair_object),
    ):
        # One box that fits is enough, so what fits by the human is not compared again.
        open_ = np.flatnonzero(attempts_by[wrong] & ~fits)
        fits[open_] = match.overlap.reaches(
            mine[predicted_pair[open_]], theirs[annotated_pair[open_]]
        )
    return fits


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
