"""Descending order that keeps the input order of equal scores."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays.types import FloatArray, IntArray


def ranking(groups: IntArray, scores: FloatArray) -> IntArray:
    """Sort rows by group and, in a group, by descending score; equal scores keep their order.

    Parameters
    ----------
    groups : (R,) int array
        HOI classes or images, counted from zero.
    scores : (R,) float64 array
        Scores.

    Returns
    -------
    (R,) int array
        The rows in ranking order.
    """
    if len(groups) and groups.max() < 2**16:
        groups = groups.astype(np.uint16)  # a stable sort of 16-bit numbers is a radix sort
    order = np.argsort(groups, kind="stable")
    ranked = scores[order]
    first = 0
    for last in np.cumsum(np.bincount(groups)).tolist():
        if last - first > 1:
            order[first:last] = order[first:last][descending(ranked[first:last])]
        first = last
    return order


def descending(scores: FloatArray) -> IntArray:
    """Order scores from high to low; equal scores keep their order.

    The same as a stable ``argsort(-scores)``, by the faster unstable sort and a second one among
    the equal scores alone.
    """
    order = np.argsort(-scores)
    ranked = scores[order]
    tied = np.zeros(len(order) + 1, dtype=bool)
    tied[1:-1] = ranked[1:] == ranked[:-1]
    in_run = np.flatnonzero(tied[1:] | tied[:-1])
    if len(in_run):
        order[in_run] = order[in_run][np.lexsort((order[in_run], -ranked[in_run]))]
    return order
