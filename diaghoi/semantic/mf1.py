"""Soft F1: algorithm 2 of the SHOE supplement, after matching."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.integer]
BoolArray = npt.NDArray[np.bool_]

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
