"""Which prediction claims which annotation.

How a prediction meets its annotation is a choice of the protocol (``pairing``, ``claim``); what
follows is the same for all: a *candidate* is the one annotated triplet that a prediction may find,
and a true positive is the best-ranked prediction of its candidate. In the official evaluators a
taken candidate is never replaced by another, so no loop over predictions is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, marked, place_in_group, ranking
from diaghoi.data.protocol import MATCHING, MEASURING, OVERLAPPING, Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.candidates import Candidates, by_person, by_triplet
from diaghoi.evaluation.localisation import PairHits, pair_hits
from diaghoi.evaluation.overlap import Overlap, box_overlap


@dataclass(frozen=True, kw_only=True, eq=False)
class Match:
    """What meets what in some images.

    Parameters
    ----------
    protocol : Protocol
        The choices.
    overlap : Overlap
        IoU of boxes.
    hits : PairHits
        Pairs that localise pairs.
    candidates : Candidates
        What each prediction has right, and its candidate.
    image : (T,) int array
        Image of each predicted triplet.
    order : (T,) int array
        Predicted triplets image by image, in each image from the highest to the lowest score; equal
        scores keep the order of the input.
    found : (T,) bool array
        Whether the prediction is a true positive.
    """

    protocol: Protocol
    overlap: Overlap
    hits: PairHits
    candidates: Candidates
    image: IntArray
    order: IntArray
    found: BoolArray

    def among_best(self, top: int | None) -> BoolArray:
        """(T,) mark the ``top`` best-scored predictions of each image; all where it is None."""
        return among_best(self.image, self.order, top)


def among_best(image: IntArray, order: IntArray, top: int | None) -> BoolArray:
    """(T,) mark the ``top`` best triplets of each image; all where it is None.

    Parameters
    ----------
    image : (T,) int array
        Image of each triplet.
    order : int array
        See :func:`score_order`; of all triplets, or of those that are left.
    top : int or None
        How many.
    """
    if top is None:
        return np.ones(len(image), dtype=bool)
    return marked(order[place_in_group(image[order]) < top], len(image))


def match(
    annotations: Scenes, predictions: Scenes, protocol: Protocol, others: Sequence[Match] = ()
) -> Match:
    """Match the predictions of all HOI classes to the annotations of the same images.

    Parameters
    ----------
    annotations, predictions : Scenes
        With the same images.
    protocol : Protocol
        How predictions meet annotations.
    others : sequence of Match
        Matches of the same scenes under other protocols, of which as much is used as is the same.
    """
    # Benchmarks mostly differ from the protocol in the classes that count alone, which changes no
    # true positive.
    for other in others:
        if protocol.agrees(other.protocol, MATCHING):
            return other
    boxes = _overlap(annotations, predictions, protocol, others)
    # The order depends on the scores alone, not on the protocol.
    order = others[0].order if others else score_order(predictions)
    hits = pair_hits(annotations, predictions, boxes, protocol)
    find = by_triplet if protocol.pairing == "triplet" else by_person
    candidates = find(annotations, predictions, boxes, hits, protocol, order)
    return Match(
        protocol=protocol,
        overlap=boxes,
        hits=hits,
        candidates=candidates,
        image=predictions.triplet_image,
        order=order,
        found=_best_of_each(candidates.claimed, order),
    )


def _overlap(
    annotations: Scenes, predictions: Scenes, protocol: Protocol, others: Sequence[Match]
) -> Overlap:
    """Take the overlap of boxes from another match, as far as it is the same, or compute it."""
    for other in others:
        if protocol.agrees(other.protocol, OVERLAPPING):
            return other.overlap
    for other in others:
        same = protocol.agrees(other.protocol, MEASURING)
        if same and protocol.iou >= other.overlap.least:
            return other.overlap.under(protocol)
    return box_overlap(annotations, predictions, protocol)


def score_order(predictions: Scenes) -> IntArray:
    """Order the triplets of each image by descending score; equal scores keep their order."""
    image, score = predictions.triplet_image, predictions.scores
    # Most files store the triplets of an image by falling score already; to see that is much
    # cheaper than to sort.
    in_order = (image[1:] != image[:-1]) | (score[1:] <= score[:-1])
    return np.arange(len(score)) if in_order.all() else ranking(image, score)


def _best_of_each(candidate: IntArray, order: IntArray) -> BoolArray:
    """Mark the best-ranked prediction of every candidate."""
    found = np.zeros(len(candidate), dtype=bool)
    claimants = order[candidate[order] >= 0]
    # np.unique gives the first place of each value: claimants are in rank order, so the best-
    # ranked. A later one is a duplicate, even if its boxes overlap more.
    _, first = np.unique(candidate[claimants], return_index=True)
    found[claimants[first]] = True
    return found
