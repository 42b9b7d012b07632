"""Average the class scores as the protocol prescribes."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, ratios
from diaghoi.data.protocol import Protocol
from diaghoi.evaluation.average_precision import ClassScores
from diaghoi.evaluation.weighted_ap import WeightedScores

Split = dict[str, float | None]
# Titles of the splits; groups defined by users keep their names.
TITLES = {
    "full": "Full",
    "rare": "Rare",
    "non_rare": "Non-rare",
    "thesis": "Thesis",
    "zero_shot": "Zero-shot",
    "unseen": "Unseen",
    "seen": "Seen",
    "harmonic": "Harmonic",
}


def split_means(
    scores: ClassScores, protocol: Protocol, splits: dict[str, BoolArray]
) -> tuple[Split, Split]:
    """Compute the mean AP and mean max recall of each split.

    Parameters
    ----------
    scores : ClassScores
        Scores of the C classes.
    protocol : Protocol
        Rules for classes without true positives and for classes without annotations.
    splits : dict
        (C,) mask of each split. In "full", classes without rows count as 0, even if classes without
        true positives are omitted.

    Returns
    -------
    mean_ap, max_recall : dict
        Fractions; None for a split without classes. The harmonic mean of ``seen`` and ``unseen`` is
        added as ``harmonic`` if both exist.
    """
    mean_ap: Split = {}
    max_recall: Split = {}
    for name, members in splits.items():
        counted = counts_in_mean(scores, protocol, name, members)
        mean_ap[name] = _mean(scores.average_precision[counted])
        max_recall[name] = _mean(scores.max_recall[counted])
    for means in (mean_ap, max_recall):
        if {"seen", "unseen"} <= means.keys():
            means["harmonic"] = _harmonic(means["seen"], means["unseen"])
    return mean_ap, max_recall


def counted_classes(
    scores: ClassScores, protocol: Protocol, splits: dict[str, BoolArray]
) -> dict[str, int]:
    """Count, for each split, the classes that :func:`split_means` averages."""
    return {
        name: int(counts_in_mean(scores, protocol, name, members).sum())
        for name, members in splits.items()
    }


def weighted_split_means(
    scores: WeightedScores, protocol: Protocol, splits: dict[str, BoolArray]
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Compute the mean AP and mean max recall of each split under each of B weightings.

    The parameters are as in :func:`split_means`.

    Returns
    -------
    mean_ap, max_recall : dict of (B,) float64 array
        NaN where :func:`split_means` would give None.
    """
    mean_ap: dict[str, FloatArray] = {}
    max_recall: dict[str, FloatArray] = {}
    for name, members in splits.items():
        counted = counts_in_mean(scores, protocol, name, members[:, None])
        mean_ap[name] = column_means(scores.average_precision, counted)
        max_recall[name] = column_means(scores.max_recall, counted)
    for means in (mean_ap, max_recall):
        if {"seen", "unseen"} <= means.keys():
            seen, unseen = means["seen"], means["unseen"]
            harmonic = ratios(2 * seen * unseen, seen + unseen)
            # The harmonic mean of two zeros is 0; NaN is reserved for undefined values.
            means["harmonic"] = np.where(seen + unseen == 0, 0.0, harmonic)
    return mean_ap, max_recall


def counts_in_mean(
    scores: ClassScores | WeightedScores, protocol: Protocol, split: str, members: BoolArray
) -> BoolArray:
    """Return a mask of the classes that count in a split: (C,) or, for weighted scores, (C, 1)."""
    annotated = ~np.isnan(scores.average_precision)
    counted = members & annotated
    if protocol.class_without_true_positive == "left out":
        # The published Diag-HOI code counts classes without predictions as AP 0 in the full mean,
        # and drops them from the rare and non-rare means.
        unranked = scores.ranked == 0 if split == "full" else False
        counted = counted & ((scores.found > 0) | unranked)
    if protocol.class_without_prediction == "left out of groups" and split != "full":
        counted = counted & (scores.ranked > 0)
    zero = {"zero", "zero in groups" if split != "full" else "zero"}
    if protocol.class_without_annotation in zero:
        counted = counted | (members & ~annotated)
    return counted


def ap_in_mean(scores: ClassScores, protocol: Protocol, members: BoolArray) -> FloatArray:
    """Return the AP of each class as shown in tables: NaN if the full mean omits the class."""
    counted = counts_in_mean(scores, protocol, "full", members)
    return np.where(counted, scores.average_precision, np.nan)


def column_means(values: FloatArray, counted: BoolArray) -> FloatArray:
    """Average, in each of B columns, the (R, B) values that a mask counts; NaN counts as 0."""
    total = np.where(counted & ~np.isnan(values), values, 0.0).sum(axis=0)
    return ratios(total, counted.sum(axis=0))


def _harmonic(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return None
    return 2 * one * other / (one + other) if one + other else 0.0


def _mean(values: FloatArray) -> float | None:
    # If a class without annotations still counts, its value is 0.
    return float(np.where(np.isnan(values), 0.0, values).mean()) if len(values) else None
