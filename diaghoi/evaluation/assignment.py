"""Which wrong prediction stands for which annotated triplet that nothing found.

There are two rules. By the published one a wrong prediction is *assigned*: it has the right human
box, or else the right object box, and may be of any object and verb. In the second reading it
*attempts* a triplet of its own object only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, expand, expand_in_parts, marked, runs
from diaghoi.data.memory import gathered
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.matching import Match
from diaghoi.evaluation.overlap import CROWDED


class Fits(NamedTuple):
    """Wrong predictions that share a right box with an annotated triplet.

    Parameters
    ----------
    proposers : (S,) int array
        The annotated triplets, in their stored order.
    wrong : (W,) int array
        The wrong predictions, in ranking order.
    proposer, position : (F,) int array
        Places among both, ordered by proposer and then by rank. Each such prediction ranks above
        the true positive of the triplet, if there is one.
    """

    proposers: IntArray
    wrong: IntArray
    proposer: IntArray
    position: IntArray

    def chosen(self, fit: BoolArray) -> IntArray:
        """(S,) the place among ``wrong`` that each triplet takes, of some of the fits; -1: none.

        The triplets choose in turn, each the best-ranked prediction that is not yet chosen.
        """
        count = np.bincount(self.proposer[fit], minlength=len(self.proposers))
        return choose_in_turn(count, self.position[fit], choices=len(self.wrong))


def fits_of(
    annotations: Scenes,
    predictions: Scenes,
    match: Match,
    proposers: IntArray,
    wrong: IntArray,
    pair: IntArray,
) -> Fits:
    """Find the wrong predictions that share a right box with each annotated triplet.

    Parameters
    ----------
    annotations, predictions : Scenes
        Of the same images.
    match : Match
        Their match.
    proposers, wrong : (S,) and (W,) int array
        See :class:`Fits`.
    pair : (T,) int array
        The pair by whose boxes each predicted triplet fits: its own, or, by a choice of the
        protocol, :func:`pair_stored_at_rank`.
    """
    rank = np.empty(len(match.order), dtype=np.int64)
    rank[match.order] = np.arange(len(match.order))
    # An annotated triplet without a true positive accepts predictions of any rank.
    limit = np.full(len(annotations.triplet_pair), len(rank), dtype=np.int64)
    limit[match.candidates.claimed[match.found]] = rank[match.found]

    above = np.searchsorted(rank[wrong], limit[proposers])
    fitting = _fitting(annotations, predictions, match, proposers, wrong, pair)
    proposer, position = gathered(fitting, CROWDED)
    use = position < above[proposer]
    # One box that fits is enough, and both may. Sorted, by proposer and then by rank.
    fits = np.unique(proposer[use] * np.int64(len(wrong)) + position[use])
    return Fits(proposers, wrong, *np.divmod(fits, max(len(wrong), 1)))


def assign(fits: Fits) -> tuple[IntArray, IntArray]:
    """Assign wrong predictions to annotated triplets by the published rule; return both.

    The annotated triplets choose in their stored order.
    """
    chosen = fits.chosen(np.ones(len(fits.proposer), dtype=bool))
    taking = np.flatnonzero(chosen >= 0)
    return fits.wrong[chosen[taking]], fits.proposers[taking]


def attempt(
    fits: Fits, fit: BoolArray, same_class: BoolArray, found: BoolArray
) -> tuple[IntArray, IntArray]:
    """Say which annotated triplet each wrong prediction attempts; return both, row by row.

    The annotated triplets that nothing found choose first, in their stored order: all of them among
    the predictions of their class, then those that are left among the others. A triplet that was
    found can take what is left.

    Parameters
    ----------
    fits : Fits
        What shares a box.
    fit, same_class, found : (F,) bool array
        Which of them are attempts, which are of the class of the triplet, and of which the triplet
        was found.
    """
    chosen = np.full(len(fits.proposers), -1, dtype=np.int64)
    for turn in (~found & same_class, ~found, same_class, np.ones_like(found)):
        taken = marked(chosen[chosen >= 0], len(fits.wrong))
        left = (chosen[fits.proposer] < 0) & ~taken[fits.position]
        chosen = np.maximum(chosen, fits.chosen(fit & turn & left))
    taking = np.flatnonzero(chosen >= 0)
    return fits.wrong[chosen[taking]], fits.proposers[taking]


def pair_stored_at_rank(predictions: Scenes, order: IntArray) -> IntArray:
    """Give each predicted triplet the pair that the published code looks up for it on V-COCO.

    Parameters
    ----------
    predictions : Scenes
        With T triplets.
    order : (T,) int array
        The triplets in ranking order.

    Returns
    -------
    (T,) int array
        For the k-th best triplet of its verb and image, the pair of the k-th stored one.
    """
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
