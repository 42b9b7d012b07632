"""What is annotated at the place of a prediction, whatever the categories of its boxes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from diaghoi.data.arrays import IntArray, expand, expand_in_parts, runs
from diaghoi.data.boxes import iou_of
from diaghoi.data.groups import counted_classes
from diaghoi.data.memory import gathered
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.matching import closest_person
from diaghoi.evaluation.overlap import CROWDED, box_overlap
from diaghoi.semantic.triplets import EvaluatedTriplets


def overlapping(
    truth: Scenes,
    truth_pair: IntArray,
    found: Scenes,
    found_pair: IntArray,
    theta: float,
    margin: float,
) -> tuple[IntArray, IntArray]:
    """List annotated and predicted triplets of an image whose boxes both reach the IoU theta.

    Parameters
    ----------
    truth, found : Scenes
        With the same images.
    truth_pair, found_pair : (A,) and (T,) int array
        The pair of each triplet, a row of the pair table of its scenes.
    theta : float
        The threshold.
    margin : float
        1 where boxes cover whole pixels, else 0.

    Returns
    -------
    annotated, predicted : (K,) int array
        Positions in ``truth_pair`` and in ``found_pair``.
    """
    # Boxes are compared once per pair of pairs: many triplets share a pair.
    truth_pairs, truth_row = np.unique(truth_pair, return_inverse=True)
    found_pairs, found_row = np.unique(found_pair, return_inverse=True)
    start, count = runs(truth.pair_image[truth_pairs], found.pair_image[found_pairs])

    def meeting() -> Iterator[tuple[IntArray, IntArray]]:
        for owner, position in expand_in_parts(start, count):
            for role in ("pair_human", "pair_object"):
                one = getattr(found, role)[found_pairs[owner]]
                other = getattr(truth, role)[truth_pairs[position]]
                reached = iou_of(found.box_xyxy, one, truth.box_xyxy, other, margin) >= theta
                owner, position = owner[reached], position[reached]
            yield owner, position

    owner, position = gathered(meeting(), CROWDED)
    # From pairs to the triplets of both pairs.
    by_found = np.argsort(found_row, kind="stable")
    by_truth = np.argsort(truth_row, kind="stable")
    hit, candidate = expand(*runs(found_row[by_found], owner))
    again, triplet = expand(*runs(truth_row[by_truth], position[hit]))
    return by_truth[triplet], by_found[candidate[again]]


def at_both_boxes(
    annotated: EvaluatedTriplets, found: Scenes, triplet: IntArray, theta: float, margin: float
) -> tuple[IntArray, IntArray]:
    """List the annotated triplets both of whose boxes a prediction reaches.

    Parameters
    ----------
    annotated : EvaluatedTriplets
        The annotated triplets.
    found : Scenes
        The predictions, of the same images.
    triplet : (E,) int array
        The predicted triplets; one without an object box reaches nothing.
    theta, margin
        See :func:`overlapping`.

    Returns
    -------
    owner, annotated : (K,) int array
        Position in ``triplet``, and row of the annotated triplet in its scenes.
    """
    pair = found.triplet_pair[triplet]
    boxed = np.flatnonzero(found.pair_object[pair] >= 0)
    there, owner = overlapping(annotated.scenes, annotated.pair, found, pair[boxed], theta, margin)
    return boxed[owner], annotated.rows[there]


def of_the_person(
    truth: Scenes, found: Scenes, triplet: IntArray, protocol: Protocol
) -> tuple[IntArray, IntArray]:
    """List the triplets of the annotated person that a prediction reaches.

    Parameters
    ----------
    truth, found : Scenes
        With the same images.
    triplet : (E,) int array
        The predicted triplets.
    protocol : Protocol
        Which classes count, and how boxes are compared.

    Returns
    -------
    owner, annotated : (K,) int array
        Position in ``triplet``, and row of the annotated triplet.
    """
    person, _ = closest_person(truth, box_overlap(truth, found, protocol))
    counted = counted_classes(protocol, truth.vocabulary)[truth.triplet_class]
    actor = truth.pair_human[truth.triplet_pair]
    by_actor = np.flatnonzero(counted)
    by_actor = by_actor[np.argsort(actor[by_actor], kind="stable")]
    owner, place = expand(
        *runs(actor[by_actor], person[found.pair_human[found.triplet_pair[triplet]]])
    )
    return owner, by_actor[place]
