"""Match predictions to annotated triplets, and find the closest class of each prediction.

In algorithms 1 and 2 of the SHOE supplement, each annotated triplet of an image in turn takes the
unmatched prediction with the highest similarity. This module sorts the candidates once for all
images, with the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, expand, first_of_run, runs
from diaghoi.data.memory import threads
from diaghoi.data.protocol import Protocol
from diaghoi.evaluation.errors import choose_in_turn
from diaghoi.semantic.measure import Measure
from diaghoi.semantic.tables.similarity import Similarity
from diaghoi.semantic.triplets import (
    EvaluatedTriplets,
    interactions_of,
    of_interactions,
    overlapping,
)

# Number of predictions per block: small enough for the arrays to stay in the CPU cache.
BLOCK = 50_000
CELLS = 2_000_000
"""Number of pairs of a predicted interaction and a class that are compared at once."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SimilarityTables:
    """Verb and object similarity for a data set, and how to combine the two.

    Parameters
    ----------
    verbs : Similarity
        Similarity of verbs by index.
    objects : Similarity
        Similarity of objects by index.
    measure : Measure
        The parameters.
    """

    verbs: Similarity
    objects: Similarity
    measure: Measure

    def sigma(
        self, verb: IntArray, object_: IntArray, other_verb: IntArray, other_object: IntArray
    ) -> FloatArray:
        """Compare two lists of interactions pair by pair, and only by verb if an object is -1."""
        verbs = self.verbs.at(verb, other_verb)
        compared = (object_ >= 0) & (other_object >= 0)
        if compared.all():
            return self.measure.sigma(verbs, self.objects.at(object_, other_object))
        sigma = np.array(verbs)
        objects = self.objects.at(object_[compared], other_object[compared])
        sigma[compared] = self.measure.sigma(verbs[compared], objects)
        return sigma


@dataclass(frozen=True, kw_only=True, eq=False)
class MatchCandidates:
    """Annotated triplets and their candidates: the predictions that match both boxes.

    Parameters
    ----------
    count : (A,) int array
        Number of candidates of each annotated triplet.
    prediction : (K,) int array
        Candidates of each annotated triplet, most similar first; ties are ordered by score, then as
        stored.
    sigma : (K,) float64 array
        Similarity of each candidate.
    predictions : int
        Number of predictions T.
    nearest : (T,) int array
        The interaction that a prediction is most similar to, as
        :attr:`~diaghoi.semantic.triplets.EvaluatedTriplets.interaction`. Depending on the measure,
        the choice is among the interactions annotated anywhere in the image (the first wins ties;
        -1 in images without annotations), or among all interactions of the data set (the
        prediction's own interaction wins ties).
    nearest_sigma : (T,) float64 array
        Similarity of each prediction to the closest interaction; -1 in images without annotations.
    """

    count: IntArray
    prediction: IntArray
    sigma: FloatArray
    predictions: int
    nearest: IntArray
    nearest_sigma: FloatArray

    def matched(self, counted: BoolArray | None = None) -> Matched:
        """Match each annotated triplet in turn to its best unmatched candidate.

        Parameters
        ----------
        counted : (T,) bool array, optional
            The predictions that can be matched; by default all.
        """
        count, prediction, sigma = self.count, self.prediction, self.sigma
        if counted is not None:
            kept = counted[prediction]
            owner = np.repeat(np.arange(len(count)), count)[kept]
            count = np.bincount(owner, minlength=len(count))
            prediction, sigma = prediction[kept], sigma[kept]
        taken = choose_in_turn(count, prediction, choices=self.predictions)
        # A prediction occurs at most once among the candidates of a triplet, so the comparison
        # finds the sigma of the match.
        owner = np.repeat(np.arange(len(count)), count)
        found = np.zeros(len(count))
        hit = np.flatnonzero(taken[owner] == prediction)
        found[owner[hit]] = sigma[hit]
        return Matched(prediction=taken, sigma=found)


@dataclass(frozen=True, kw_only=True, eq=False)
class Matched:
    """Match of each annotated triplet.

    Parameters
    ----------
    prediction : (A,) int array
        The matched prediction, or -1 without a match.
    sigma : (A,) float64 array
        Similarity of the match, or 0 without a match.
    """

    prediction: IntArray
    sigma: FloatArray


def match_candidates(
    annotated: EvaluatedTriplets,
    predicted: EvaluatedTriplets,
    score: FloatArray | None,
    tables: SimilarityTables,
    protocol: Protocol,
    progress: Callable[[int], Any] | None = None,
) -> MatchCandidates:
    """Find the candidates of all annotated triplets, in blocks of images processed in parallel.

    Parameters
    ----------
    annotated, predicted : EvaluatedTriplets
        Triplets of the same images.
    score : (T,) float64 array or None
        Ranking scores of the predictions.
    tables : SimilarityTables
        Similarity of interactions.
    protocol : Protocol
        Determines whether boxes cover whole pixels.
    progress : callable, optional
        Called with the number of images done since the last call.
    """
    images = len(predicted.scenes)
    in_image = np.bincount(predicted.image, minlength=images)
    first = np.flatnonzero(first_of_run(np.cumsum(in_image) // BLOCK)).tolist()
    bounds = list(pairwise([*first, images]))

    def block(images_of: tuple[int, int]) -> tuple[Any, ...]:
        return _block(annotated, predicted, score, tables, protocol, images_of)

    parts = []
    with threads() as pool:
        for (begin, end), part in zip(bounds, pool.map(block, bounds), strict=True):
            parts.append(part)
            if progress is not None:
                progress(end - begin)
    count, prediction, sigma, nearest, nearest_sigma = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    if tables.measure.rule == "figure":
        keys = interactions_of(annotated, protocol)
        nearest, nearest_sigma = _nearest_of(keys, predicted, tables)
    return MatchCandidates(
        count=count,
        prediction=prediction,
        sigma=sigma,
        predictions=len(predicted),
        nearest=nearest,
        nearest_sigma=nearest_sigma,
    )


def _block(
    annotated: EvaluatedTriplets,
    predicted: EvaluatedTriplets,
    score: FloatArray | None,
    tables: SimilarityTables,
    protocol: Protocol,
    images: tuple[int, int],
) -> tuple[IntArray, IntArray, FloatArray, IntArray, FloatArray]:
    """Find candidates and nearest interactions in some images; indices are into all predictions."""
    mine = slice(*np.searchsorted(annotated.image, images).tolist())
    theirs = slice(*np.searchsorted(predicted.image, images).tolist())
    triplet, candidate = overlapping(
        annotated.scenes,
        annotated.pair[mine],
        predicted.scenes,
        predicted.pair[theirs],
        tables.measure.theta,
        protocol.margin,
    )
    triplet, candidate = triplet + mine.start, candidate + theirs.start
    sigma = tables.sigma(
        annotated.verb[triplet],
        annotated.object[triplet],
        predicted.verb[candidate],
        predicted.object[candidate],
    )
    if tables.measure.matching == "class":
        # Without boxes, a prediction with nothing in common with a triplet is not its candidate.
        near = sigma > 0
        triplet, candidate, sigma = triplet[near], candidate[near], sigma[near]
    # The algorithms take the maximum of a list sorted by score, so ties in similarity go to the
    # higher score, then to the earlier prediction.
    keys = [candidate] if score is None else [candidate, -score[candidate]]
    order = np.lexsort((*keys, -sigma, triplet))
    count = np.bincount(triplet - mine.start, minlength=mine.stop - mine.start)
    by_image = tables.measure.rule == "algorithm"
    none = np.empty(0, dtype=np.int64), np.empty(0)
    nearest, closeness = (
        _nearest_in_image(annotated, predicted, mine, theirs, tables) if by_image else none
    )
    return count, candidate[order], sigma[order], nearest, closeness


def _nearest_in_image(
    annotated: EvaluatedTriplets,
    predicted: EvaluatedTriplets,
    mine: slice,
    theirs: slice,
    tables: SimilarityTables,
) -> tuple[IntArray, FloatArray]:
    """Return the image's annotated interaction most similar to each prediction, and sigma."""
    # Triplets of one interaction have equal similarity, and the first wins ties, so one triplet per
    # interaction and image suffices.
    image, verb, object_ = annotated.image[mine], annotated.verb[mine], annotated.object[mine]
    order = np.lexsort((np.arange(len(image)), verb, object_, image))
    keys = np.stack([image, object_, verb])[:, order]
    first_of_key = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(order)]
    distinct = np.sort(order[first_of_key])

    start, count = runs(image[distinct], predicted.image[theirs])
    owner, position = expand(start, count)
    choice = distinct[position]
    sigma = tables.sigma(
        verb[choice],
        object_[choice],
        predicted.verb[theirs][owner],
        predicted.object[theirs][owner],
    )
    nearest = np.full(len(count), -1, dtype=np.int64)
    closeness = np.full(len(count), -1.0)
    compared = np.flatnonzero(count)
    if len(compared):
        first = (np.cumsum(count) - count)[compared]
        closeness[compared] = np.maximum.reduceat(sigma, first)
        best = np.flatnonzero(sigma == closeness[owner])
        best = best[first_of_run(owner[best])]
        nearest[owner[best]] = annotated.interaction[mine][choice[best]]
    return nearest, closeness


def _nearest_of(
    keys: IntArray, predicted: EvaluatedTriplets, tables: SimilarityTables
) -> tuple[IntArray, FloatArray]:
    """Return the most similar interaction for each prediction, and sigma."""
    vocabulary = predicted.scenes.vocabulary
    distinct, of_prediction = np.unique(predicted.interaction, return_inverse=True)
    verb, object_ = of_interactions(vocabulary, keys)
    nearest, closeness = [], []
    for some in np.array_split(distinct, 1 + len(distinct) * len(keys) // CELLS):
        shape = len(some), len(keys)
        mine, its = of_interactions(vocabulary, np.repeat(some, len(keys)))
        sigma = tables.sigma(
            np.tile(verb, len(some)), np.tile(object_, len(some)), mine, its
        ).reshape(shape)
        own = some[:, None] == keys
        # The prediction's own interaction ranks above any other: "ride" is closest to "ride", even
        # if the table equates other verbs with it.
        best = np.argmax(np.where(own, 2.0, sigma), axis=1)
        nearest.append(keys[best])
        closeness.append(np.take_along_axis(sigma, best[:, None], axis=1)[:, 0])
    which = of_prediction.ravel()
    return np.concatenate(nearest)[which], np.concatenate(closeness)[which]
