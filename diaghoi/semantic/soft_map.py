"""Soft average precision and soft F1: algorithms 1 and 2 of the SHOE supplement, after matching."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, ranking
from diaghoi.data.protocol import ELEVEN_LEVELS
from diaghoi.evaluation.average_precision import envelope_of
from diaghoi.semantic.measure import Integrator


def soft_average_precision(
    row_class: IntArray,
    row_score: FloatArray,
    row_credit: FloatArray,
    positives: IntArray,
    integrator: Integrator = "area",
) -> FloatArray:
    """Compute the average precision of each class with graded credit.

    Parameters
    ----------
    row_class : (R,) int array
        Class of each row, in the order of the algorithm's list.
    row_score : (R,) float64 array
        Confidence; equal scores keep their order.
    row_credit : (R,) float64 array
        Soft true positive of each row, in [0, 1].
    positives : (K,) int array
        Number of annotated triplets of each class, at least 1.
    integrator : {"area", "trapezoid", "11-point"}
        As for :class:`diaghoi.semantic.Measure`. With trapezoids, the curve starts at recall 0 with
        the precision of the first row.

    Returns
    -------
    (K,) float64 array

    Notes
    -----
    The paper's small constant against division by zero is omitted, because no divisor is 0: ranks
    and numbers of annotated triplets are at least 1. Recall and precision rise only at rows with
    credit, so only rows with credit are visited.
    """
    order = ranking(row_class, row_score)
    row_class, credit = row_class[order], row_credit[order]
    bounds = np.searchsorted(row_class, np.arange(len(positives) + 1))
    credited = np.flatnonzero(credit)
    of_class, credit = row_class[credited], credit[credited]
    stop = np.searchsorted(of_class, np.arange(len(positives)), side="right")
    start = np.append(0, stop[:-1])[: len(stop)]
    total = np.empty(len(credit))
    # One sum per class, because a running sum over all classes would round differently.
    for first, end in zip(start.tolist(), stop.tolist(), strict=True):
        np.cumsum(credit[first:end], out=total[first:end])
    rank = credited + 1 - bounds[of_class]
    precision = total / rank
    if integrator == "trapezoid":
        # Between two successive rows with credit, recall is constant and precision falls.
        before = np.where(rank > 1, (total - credit) / np.maximum(rank - 1, 1), precision)
        height = (before + precision) / 2
        return np.bincount(of_class, weights=credit * height, minlength=len(positives)) / positives
    envelope = envelope_of(precision, start, stop)
    if integrator == "11-point":
        recall = total / positives[of_class]
        highest = [
            np.append(envelope[first:end], 0.0)[np.searchsorted(recall[first:end], ELEVEN_LEVELS)]
            for first, end in zip(start.tolist(), stop.tolist(), strict=True)
        ]
        return np.asarray(np.sum(highest, axis=1) / len(ELEVEN_LEVELS))
    area = np.bincount(of_class, weights=credit * envelope, minlength=len(positives))
    return np.asarray(area / positives)


EPSILON = 1e-8
"""Constant that the paper adds to divisors, and that the published numbers include."""


class SoftF1(NamedTuple):
    """Scores of K classes, all (K,) float64 arrays.

    Parameters
    ----------
    precision, recall, f1
        Fractions.
    """

    precision: FloatArray
    recall: FloatArray
    f1: FloatArray


def soft_f1(
    annotation_class: IntArray, matched: BoolArray, sigma: FloatArray, false_positive: IntArray
) -> SoftF1:
    """Compute precision, recall and F1 of each class with graded credit.

    Parameters
    ----------
    annotation_class : (A,) int array
        Class of each annotated triplet.
    matched : (A,) bool array
        Whether each annotated triplet has a match.
    sigma : (A,) float64 array
        Similarity of the match, or 0 without a match: the share that counts as a true positive. The
        remaining share of a match counts as a false positive.
    false_positive : (K,) int array
        Number of unmatched predictions that count as false positives of each class.
    """
    classes = len(false_positive)
    rest = np.where(matched, 1 - sigma, 0.0)
    true = np.bincount(annotation_class, weights=sigma, minlength=classes)
    false = np.bincount(annotation_class, weights=rest, minlength=classes) + false_positive
    missed = np.bincount(annotation_class[~matched], minlength=classes)
    precision = true / (true + false + EPSILON)
    recall = true / (true + missed + EPSILON)
    f1 = 2 * precision * recall / (precision + recall + EPSILON)
    return SoftF1(precision, recall, f1)
