"""Means over classes: what a protocol makes of the scores of single classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from diaghoi.ledger import ClassScores
from diaghoi.protocol import Protocol

BoolArray = npt.NDArray[np.bool_]

Split = dict[str, float | None]


def split_means(
    scores: ClassScores, protocol: Protocol, splits: dict[str, BoolArray]
) -> tuple[Split, Split]:
    """Mean AP and mean max recall of each split.

    Parameters
    ----------
    scores : ClassScores
        Scores of the C classes.
    protocol : Protocol
        What a class without true positive counts.
    splits : dict
        (C,) mask of each split; "full" is the one in which, where classes without true positive are
        left out, those without any row still count 0.

    Returns
    -------
    mean_ap, max_recall : dict
        Fractions; None for a split without classes. Where there are ``seen`` and ``unseen``, their
        harmonic mean stands beside them as ``harmonic``.
    """
    mean_ap: Split = {}
    max_recall: Split = {}
    annotated = ~np.isnan(scores.average_precision)
    for name, members in splits.items():
        counted = members & annotated
        if protocol.class_without_true_positive == "left out":
            unranked = scores.ranked == 0 if name == "full" else False
            counted = counted & ((scores.found > 0) | unranked)
        mean_ap[name] = _mean(scores.average_precision[counted])
        max_recall[name] = _mean(scores.max_recall[counted])
    for means in (mean_ap, max_recall):
        if {"seen", "unseen"} <= means.keys():
            means["harmonic"] = _harmonic(means["seen"], means["unseen"])
    return mean_ap, max_recall


def _harmonic(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return None
    return 2 * one * other / (one + other) if one + other else 0.0


def _mean(values: npt.NDArray[np.float64]) -> float | None:
    return float(values.mean()) if len(values) else None
