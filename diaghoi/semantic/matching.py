"""Which prediction each annotated triplet takes, and what each other prediction is closest to.

Algorithms 1 and 2 of the SHOE supplement go through the annotated triplets of an image in turn,
each of which takes the free prediction with the highest similarity. Here all of them choose at
once, from lists that are sorted once; the outcome is that of choosing one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from diaghoi.data.arrays.ragged import expand, first_of_run, runs
from diaghoi.data.arrays.threads import threads
from diaghoi.data.arrays.types import BoolArray, FloatArray, IntArray
from diaghoi.data.iou import box_iou
from diaghoi.data.protocol import Protocol
from diaghoi.evaluation.errors import choose_in_turn
from diaghoi.semantic.instances import Instances
from diaghoi.semantic.measure import Measure
from diaghoi.semantic.tables.similarity import Similarity

# Predictions worked through at once: few enough for the arrays to stay in the processor's cache.
BLOCK = 50_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Tables:
    """Similarity of the verbs and objects of a data set, and how both are combined.

    Parameters
    ----------
    verbs : Similarity
        By the numbers of the verbs.
    objects : Similarity
        By the numbers of the objects.
    measure : Measure
        The choices.
    """

    verbs: Similarity
    objects: Similarity
    measure: Measure

    def sigma(
        self, verb: IntArray, object_: IntArray, other_verb: IntArray, other_object: IntArray
    ) -> FloatArray:
        """Similarity of interactions, pair by pair; where objects are -1 that of the verbs."""
        verbs = self.verbs.at(verb, other_verb)
        compared = (object_ >= 0) & (other_object >= 0)
        if compared.all():
            return self.measure.sigma(verbs, self.objects.at(object_, other_object))
        sigma = np.array(verbs)
        objects = self.objects.at(object_[compared], other_object[compared])
        sigma[compared] = self.measure.sigma(verbs[compared], objects)
        return sigma


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """What meets what: annotated triplets and the predictions that find both of their boxes.

    Parameters
    ----------
    count : (A,) int array
        Number of candidates of each annotated triplet.
    prediction : (K,) int array
        They, one annotated triplet after the other, the most similar first; equally similar ones by
        score and then in their order.
    sigma : (K,) float64 array
        Their similarity.
    predictions : int
        Number of predictions T.
    nearest : (T,) int array
        The first annotated triplet of the image that a prediction is most similar to, wherever its
        boxes are; -1 in images without any.
    nearest_sigma : (T,) float64 array
        Similarity to it; -1 where there is none.
    """

    count: IntArray
    prediction: IntArray
    sigma: FloatArray
    predictions: int
    nearest: IntArray
    nearest_sigma: FloatArray

    def matched(self, taking_part: BoolArray | None = None) -> Matched:
        """Let each annotated triplet in turn take its best free prediction.

        Parameters
        ----------
        taking_part : (T,) bool array, optional
            The predictions that can be taken; by default all.
        """
        count, prediction, sigma = self.count, self.prediction, self.sigma
        if taking_part is not None:
            kept = taking_part[prediction]
            owner = np.repeat(np.arange(len(count)), count)[kept]
            count = np.bincount(owner, minlength=len(count))
            prediction, sigma = prediction[kept], sigma[kept]
        taken = choose_in_turn(count, prediction, choices=self.predictions)
        # A prediction stands once among the candidates of an annotated triplet.
        owner = np.repeat(np.arange(len(count)), count)
        found = np.zeros(len(count))
        hit = np.flatnonzero(taken[owner] == prediction)
        found[owner[hit]] = sigma[hit]
        return Matched(prediction=taken, sigma=found)


@dataclass(frozen=True, kw_only=True, eq=False)
class Matched:
    """What each annotated triplet took.

    Parameters
    ----------
    prediction : (A,) int array
        The prediction, -1 for none.
    sigma : (A,) float64 array
        Its similarity, 0 for none.
    """

    prediction: IntArray
    sigma: FloatArray


def candidates(
    annotated: Instances,
    predicted: Instances,
    score: FloatArray | None,
    tables: Tables,
    protocol: Protocol,
    progress: Callable[[int], Any] | None = None,
) -> Candidates:
    """Find what meets what, block of images by block of images.

    Parameters
    ----------
    annotated, predicted : Instances
        Of the same images.
    score : (T,) float64 array or None
        Ranking scores of the predictions.
    tables : Tables
        Similarity.
    protocol : Protocol
        Whether boxes cover whole pixels.
    progress : callable, optional
        Called with the number of images done since the last call.
    """
    images = len(predicted.scenes)
    in_image = np.bincount(predicted.image, minlength=images)
    first = np.flatnonzero(first_of_run(np.cumsum(in_image) // BLOCK)).tolist()
    bounds = list(pairwise([*first, images]))

    def block(of: tuple[int, int]) -> tuple[Any, ...]:
        return _block(annotated, predicted, score, tables, protocol, of)

    parts = []
    with threads() as pool:
        for of, part in zip(bounds, pool.map(block, bounds), strict=True):
            parts.append(part)
            if progress is not None:
                progress(of[1] - of[0])
    count, prediction, sigma, nearest, nearest_sigma = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return Candidates(
        count=count,
        prediction=prediction,
        sigma=sigma,
        predictions=len(predicted),
        nearest=nearest,
        nearest_sigma=nearest_sigma,
    )


def _block(
    annotated: Instances,
    predicted: Instances,
    score: FloatArray | None,
    tables: Tables,
    protocol: Protocol,
    images: tuple[int, int],
) -> tuple[IntArray, IntArray, FloatArray, IntArray, FloatArray]:
    """Candidates and nearest of some images; rows are counted among all."""
    mine = slice(*np.searchsorted(annotated.image, images).tolist())
    theirs = slice(*np.searchsorted(predicted.image, images).tolist())
    seeker, wish = _meeting(annotated, predicted, mine, theirs, tables.measure.theta, protocol)
    sigma = tables.sigma(
        annotated.verb[seeker],
        annotated.object[seeker],
        predicted.verb[wish],
        predicted.object[wish],
    )
    keys = [wish] if score is None else [wish, -score[wish]]
    order = np.lexsort((*keys, -sigma, seeker))
    count = np.bincount(seeker - mine.start, minlength=mine.stop - mine.start)
    nearest, closeness = _nearest(annotated, predicted, mine, theirs, tables)
    return count, wish[order], sigma[order], nearest, closeness


def _meeting(
    annotated: Instances,
    predicted: Instances,
    mine: slice,
    theirs: slice,
    theta: float,
    protocol: Protocol,
) -> tuple[IntArray, IntArray]:
    """List annotated and predicted triplets of an image whose boxes both meet."""
    wanted, triplet_of = np.unique(annotated.pair[mine], return_inverse=True)
    offered, offer_of = np.unique(predicted.pair[theirs], return_inverse=True)
    truth, found = annotated.scenes, predicted.scenes
    start, count = runs(truth.pair_image[wanted], found.pair_image[offered])
    owner, position = expand(start, count)
    for role in ("pair_human", "pair_object"):
        one = found.box_xyxy[getattr(found, role)[offered[owner]]]
        other = truth.box_xyxy[getattr(truth, role)[wanted[position]]]
        meeting = box_iou(one, other, protocol.margin) >= theta
        owner, position = owner[meeting], position[meeting]
    # From pairs to the triplets of both pairs.
    by_offer = np.argsort(offer_of, kind="stable")
    by_want = np.argsort(triplet_of, kind="stable")
    hit, wish = expand(*runs(offer_of[by_offer], owner))
    again, seeker = expand(*runs(triplet_of[by_want], position[hit]))
    return by_want[seeker] + mine.start, by_offer[wish[again]] + theirs.start


def _nearest(
    annotated: Instances, predicted: Instances, mine: slice, theirs: slice, tables: Tables
) -> tuple[IntArray, FloatArray]:
    """First annotated triplet of its image that each prediction is most similar to, and sigma."""
    image, verb, thing = annotated.image[mine], annotated.verb[mine], annotated.object[mine]
    order = np.lexsort((np.arange(len(image)), verb, thing, image))
    same = np.stack([image, thing, verb])[:, order]
    fresh = np.append(True, (same[:, 1:] != same[:, :-1]).any(axis=0))[: len(order)]
    distinct = np.sort(order[fresh])  # the first of each interaction of an image, in stored order

    start, count = runs(image[distinct], predicted.image[theirs])
    owner, position = expand(start, count)
    choice = distinct[position]
    sigma = tables.sigma(
        verb[choice], thing[choice], predicted.verb[theirs][owner], predicted.object[theirs][owner]
    )
    nearest = np.full(len(count), -1, dtype=np.int64)
    closeness = np.full(len(count), -1.0)
    some = np.flatnonzero(count)
    if len(some):
        first = (np.cumsum(count) - count)[some]
        closeness[some] = np.maximum.reduceat(sigma, first)
        best = np.flatnonzero(sigma == closeness[owner])
        best = best[first_of_run(owner[best])]
        nearest[owner[best]] = choice[best] + mine.start
    return nearest, closeness
