"""Soft average precision and soft F1: algorithms 1 and 2 of the SHOE supplement, after matching."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays.ranking import ranking
from diaghoi.data.arrays.types import BoolArray, FloatArray, IntArray
from diaghoi.evaluation.average_precision import envelope_of


def soft_average_precision(
    row_class: IntArray, row_score: FloatArray, row_credit: FloatArray, positives: IntArray
) -> FloatArray:
    """Area under the envelope of the precision-recall curve of each class, with graded credit.

    Parameters
    ----------
    row_class : (R,) int array
        Class of each row, in the order in which the algorithm lists them.
    row_score : (R,) float64 array
        Confidence; equal ones keep their order.
    row_credit : (R,) float64 array
        Soft true positive of each row, in [0, 1].
    positives : (K,) int array
        Number of annotated triplets of each class, at least 1.

    Returns
    -------
    (K,) float64 array

    Notes
    -----
    The small constant that the paper adds against division by zero is left out: there is always a
    row and an annotated triplet. The highest precision at a row or beyond stands at a row with
    credit, so only these are visited.
    """
    order = ranking(row_class, row_score)
    row_class, credit = row_class[order], row_credit[order]
    bounds = np.searchsorted(row_class, np.arange(len(positives) + 1))
    given = np.flatnonzero(credit)
    of_class, credit = row_class[given], credit[given]
    stop = np.searchsorted(of_class, np.arange(len(positives)), side="right")
    start = np.append(0, stop[:-1])[: len(stop)]
    total = np.empty(len(credit))
    for first, end in zip(start.tolist(), stop.tolist(), strict=True):
        np.cumsum(credit[first:end], out=total[first:end])
    precision = total / (given + 1 - bounds[of_class])
    envelope = envelope_of(precision, start, stop)
    area = np.bincount(of_class, weights=credit * envelope, minlength=len(positives))
    return np.asarray(area / positives)


EPSILON = 1e-8
"""What the paper adds to divisors; the published figures hold it."""


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
    """Precision, recall and F1 of each class with graded credit.

    Parameters
    ----------
    annotation_class : (A,) int array
        Class of each annotated triplet.
    matched : (A,) bool array
        Whether it took a prediction.
    sigma : (A,) float64 array
        Similarity of that, 0 for none. It is a true positive by so much, and a false one by the
        rest.
    false_positive : (K,) int array
        Unmatched predictions that each class is charged with.
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
