"""Assign to each predicted triplet one label and the annotation that it should have found.

The definition comes from the Diag-HOI paper, section 3.1; the published code settles the details.
Two rules decide which annotated triplet a wrong prediction should have found. By the published
rule, a prediction is *assigned* to a triplet if the predicted human box, or else the predicted
object box, is right, whatever object and verb are predicted. By the rule for found pairs, a
prediction *attempts* only triplets that have the predicted object.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import (
    BoolArray,
    IntArray,
    distinct_boxes,
    expand,
    expand_in_parts,
    marked,
    runs,
)
from diaghoi.data.boxes import reaches
from diaghoi.data.memory import gathered
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.matching import Match, among_best
from diaghoi.evaluation.overlap import CROWDED


class Fits(NamedTuple):
    """Wrong predictions that reach the human or object box of an annotated triplet.

    Parameters
    ----------
    proposers : (S,) int array
        The annotated triplets, in stored order.
    wrong : (W,) int array
        The wrong predictions, in ranking order.
    proposer, position : (F,) int array
        Indices into ``proposers`` and ``wrong``, ordered by proposer and then by rank. Each listed
        prediction ranks above the true positive of its proposer, if there is one.
    """

    proposers: IntArray
    wrong: IntArray
    proposer: IntArray
    position: IntArray

    def chosen(self, fit: BoolArray) -> IntArray:
        """Return the index into ``wrong`` that each triplet chooses from the given fits, or -1.

        The triplets take turns; each chooses the best-ranked prediction that is still free.
        """
        count = np.bincount(self.proposer[fit], minlength=len(self.proposers))
        return choose_in_turn(count, self.position[fit], choices=len(self.wrong))

    def taken(self, chosen: IntArray) -> tuple[IntArray, IntArray]:
        """Return the chosen wrong predictions, and the annotated triplets that choose them."""
        taking = np.flatnonzero(chosen >= 0)
        return self.wrong[chosen[taking]], self.proposers[taking]


def fits_of(
    annotations: Scenes,
    predictions: Scenes,
    match: Match,
    proposers: IntArray,
    wrong: IntArray,
    pair: IntArray,
) -> Fits:
    """Find the wrong predictions that reach one of the boxes of each annotated triplet.

    Parameters
    ----------
    annotations, predictions : Scenes
        Annotations and predictions of the same images.
    match : Match
        The match of annotations and predictions.
    proposers, wrong : (S,) and (W,) int array
        See :class:`Fits`.
    pair : (T,) int array
        For each predicted triplet, the pair whose boxes decide where the triplet fits: its own pair
        or, if the protocol says so, the pair from :func:`pair_stored_at_rank`.
    """
    rank = np.empty(len(match.order), dtype=np.int64)
    rank[match.order] = np.arange(len(match.order))
    # An annotated triplet without a true positive accepts predictions of any rank.
    limit = np.full(len(annotations.triplet_pair), len(rank), dtype=np.int64)
    limit[match.candidates.claimed[match.found]] = rank[match.found]

    predicted, annotated = match.overlap.reaching
    by_annotated = np.argsort(annotated, kind="stable")
    of_proposers = annotations.triplet_pair[proposers]

    def fitting() -> Iterator[tuple[IntArray, IntArray]]:
        """Yield indices into the proposers, and into the wrong predictions that fit them."""
        for attempts_by, mine, theirs in (
            (match.candidates.attempts_by_human, predictions.pair_human, annotations.pair_human),
            (match.candidates.attempts_by_object, predictions.pair_object, annotations.pair_object),
        ):
            able = np.flatnonzero(attempts_by[wrong])
            box = mine[pair[wrong[able]]]
            by_box = np.argsort(box, kind="stable")
            reaching = runs(annotated[by_annotated], theirs[of_proposers])
            for owner, place in expand_in_parts(*reaching):
                of_box, position = expand(*runs(box[by_box], predicted[by_annotated[place]]))
                yield owner[of_box], able[by_box[position]]

    proposer, position = gathered(fitting(), CROWDED)
    above = np.searchsorted(rank[wrong], limit[proposers])
    use = position < above[proposer]
    # One fitting box is enough; if both fit, np.unique keeps one entry. np.unique also sorts the
    # fits by proposer and rank.
    fits = np.unique(proposer[use] * np.int64(len(wrong)) + position[use])
    return Fits(proposers, wrong, *np.divmod(fits, max(len(wrong), 1)))


def attempt(
    fits: Fits, fit: BoolArray, same_class: BoolArray, found: BoolArray
) -> tuple[IntArray, IntArray]:
    """Return wrong predictions, and the annotated triplet that each prediction attempts.

    Annotated triplets without a true positive choose first, in stored order: in a first round among
    the predictions of their class, in a second round, if still unmatched, among the other
    predictions. Found triplets choose last, in two similar rounds, from the remaining predictions.

    Parameters
    ----------
    fits : Fits
        Predictions and triplets that share a box.
    fit, same_class, found : (F,) bool array
        Whether the fit is an attempt, whether the prediction has the triplet's class, and whether
        the triplet was found.
    """
    chosen = np.full(len(fits.proposers), -1, dtype=np.int64)
    for turn in (~found & same_class, ~found, same_class, np.ones_like(found)):
        taken = marked(chosen[chosen >= 0], len(fits.wrong))
        left = (chosen[fits.proposer] < 0) & ~taken[fits.position]
        chosen = np.maximum(chosen, fits.chosen(fit & turn & left))
    return fits.taken(chosen)


def pair_stored_at_rank(predictions: Scenes, order: IntArray) -> IntArray:
    """Return the pair that the published code looks up for each predicted triplet on V-COCO.

    Parameters
    ----------
    predictions : Scenes
        Scenes with T triplets.
    order : (T,) int array
        The triplets in ranking order.

    Returns
    -------
    (T,) int array
        For the k-th best triplet of a verb and image, the pair of the k-th stored triplet of that
        verb and image.
    """
    image, verb = predictions.triplet_image, predictions.triplet_verb
    best_first = order[np.lexsort((verb[order], image[order]))]
    pair = np.empty_like(predictions.triplet_pair)
    pair[best_first] = predictions.triplet_pair[np.lexsort((verb, image))]
    return pair


def choose_in_turn(count: IntArray, preference: IntArray, choices: int) -> IntArray:
    """Assign to each proposer in turn the first of its preferences that is still free.

    All proposers propose at once, and each choice accepts the earliest of its proposers; refused
    proposers move on to their next preference (deferred acceptance: Gale and Shapley, 1962). Since
    every choice prefers earlier proposers, a few rounds of array code give the same result as
    choosing one by one.

    Parameters
    ----------
    count : (S,) int array
        Number of preferences of each proposer; earlier proposers choose first.
    preference : (sum(count),) int array
        Preferences of each proposer, best first, one proposer after the other.
    choices : int
        Number of choices.

    Returns
    -------
    (S,) int array
        Choice of each proposer, -1 for none.
    """
    stop = np.cumsum(count)
    turn = stop - count
    holder = np.empty(choices, dtype=np.int64)
    proposing = np.flatnonzero(turn < stop)
    refused = proposing
    while len(refused):
        proposal = preference[turn[proposing]]
        # If several proposers want the same choice, the last assignment wins; the reverse order
        # assigns the earliest proposer last.
        holder[proposal[::-1]] = proposing[::-1]
        refused = proposing[holder[proposal] != proposing]
        turn[refused] += 1
        proposing = proposing[turn[proposing] < stop[proposing]]
    held = np.full(len(count), -1, dtype=np.int64)
    held[proposing] = preference[turn[proposing]]
    return held


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
    """Labels of predicted triplets, and the annotated triplets that they should have found.

    Parameters
    ----------
    label : (T,) int8 array
        Position in ``LABELS``.
    annotation : (T,) int array
        The annotated triplet that a true positive found or that a wrong prediction is assigned to;
        -1 for none.
    attempt : (T,) int array
        The annotated triplet that a true positive found or that a wrong prediction attempts by the
        rule for found pairs (:mod:`diaghoi.oracles.localised`); -1 for none.
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
    """Label every prediction, and assign wrong predictions to annotations.

    Parameters
    ----------
    annotations, predictions : Scenes
        Annotations and predictions of the same images.
    match : Match
        Match of annotations and predictions.
    annotated, predicted : (A,) and (T,) bool array
        Masks of the annotated and predicted triplets that belong to the protocol's classes. Other
        triplets take no part in the assignment, and their labels are meaningless.
    protocol : Protocol
        Determines how many of the best predictions per image may be assigned, whether duplicates
        may be assigned, and which pair's boxes decide where a prediction fits.
    """
    candidates = match.candidates
    human_ok, object_ok = candidates.human_ok, candidates.object_ok
    # The first true condition gives the label, so the order of the conditions defines the labels.
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

    # The limit per image counts predictions of the protocol's classes, true positives included.
    ranked = match.order[predicted[match.order]]
    best = among_best(predictions.triplet_image, ranked, protocol.considered)
    ranked = ranked[best[ranked]]
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
    # By the published rule, annotated triplets choose in stored order.
    assigned, to = published.taken(published.chosen(np.ones(len(published.proposer), dtype=bool)))
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
    """Return the wrong predictions that attempt annotated triplets, and those triplets.

    :mod:`diaghoi.oracles.localised` defines which predictions attempt a triplet.
    """
    row, triplet = fits.wrong[fits.position], fits.proposers[fits.proposer]
    mine, theirs = predictions.triplet_pair[row], annotations.triplet_pair[triplet]
    hoi = annotations.triplet_class[triplet]
    same_class = predictions.triplet_class[row] == hoi

    # A prediction with a wrong action attempts a triplet annotated for its pair, unless a true
    # positive of the triplet's class with the same predicted boxes finds another triplet.
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
        # The triplet must have the prediction's object: the same name or, if the name is wrong, the
        # same location.
        own_object = predictions.pair_label[mine] == annotations.pair_label[theirs]
        place = match.overlap.iou(thing, other)
        own_object |= (label[row] == OBJECT_BOX) & reaches(match.protocol, place)
    else:
        # If categories do not count (V-COCO), the triplet must have the prediction's action and
        # role, and the predicted pair must not be annotated.
        own_object = same_class & ((thing >= 0) | (other < 0)) & ~match.candidates.of_pair[row]
    fit = np.isin(label[row], (HUMAN_BOX, OBJECT_BOX, ASSOCIATION)) & own_object
    fit[some] = by_action
    fit &= ~match.candidates.ignored[row]
    return attempt(fits, fit, same_class, marked(found, triplets)[triplet])


def _equal_pairs(predictions: Scenes, pair: IntArray) -> IntArray:
    """Return a number for each pair, (N,); pairs with equal boxes share a number."""
    human, thing = predictions.pair_human[pair], predictions.pair_object[pair]
    box = np.concatenate([human, thing[thing >= 0]])
    number = np.full(2 * len(pair), -1, dtype=np.int64)
    number[np.concatenate([np.ones(len(pair), dtype=bool), thing >= 0])] = distinct_boxes(
        predictions.box_image[box], predictions.box_label[box], predictions.box_xyxy[box]
    )[1]
    return _key(number[: len(pair)], number[len(pair) :] + 1, len(number) + 1)


def _key(one: IntArray, other: IntArray, others: int) -> IntArray:
    """Encode two columns as one, in 64 bits because pairs times classes can exceed 32 bits."""
    return np.asarray(one * np.int64(others) + other)
