"""Verbs or objects that are confused, and what each confusion costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays.types import IntArray
from diaghoi.semantic.partial_oracle import PartialOracle

CONSIDERED = 100
"""Confusions whose cost is computed: those with the highest sum of scores, which can cost most."""


@dataclass(frozen=True)
class Confusion:
    """One word predicted in place of another.

    Parameters
    ----------
    predicted, annotated : int
        Indices of the words.
    count : int
        Number of predictions with the confusion.
    delta_map : float or None
        Change of mAP when these predictions alone are repaired; None where undefined.
    """

    predicted: int
    annotated: int
    count: int
    delta_map: float | None


def costliest_confusions(
    oracle: PartialOracle,
    rows: IntArray,
    predicted: IntArray,
    annotated: IntArray,
) -> list[Confusion]:
    """Find the most costly confusions of two words.

    Parameters
    ----------
    oracle : PartialOracle
        The oracle of the error.
    rows : (E,) int array
        Rows of the ledger with the error.
    predicted, annotated : (E,) int array
        The predicted and the annotated word of each row; -1 for none. Rows with equal words or
        without one do not count.

    Returns
    -------
    list of Confusion
        The most costly first.
    """
    ledger = oracle.diagnosis.ledger
    confused = (predicted != annotated) & (annotated >= 0) & (predicted >= 0)
    rows, predicted, annotated = rows[confused], predicted[confused], annotated[confused]
    if not len(rows):
        return []
    size = np.int64(max(predicted.max(), annotated.max()) + 1)
    keys, of_row, count = np.unique(
        predicted * size + annotated, return_inverse=True, return_counts=True
    )
    # A repair gains more the higher the predictions rank, so the sum of scores selects what to try.
    weight = np.bincount(of_row.ravel(), weights=ledger.row_score[rows], minlength=len(keys))
    found = []
    for key in np.argsort(-weight, kind="stable")[:CONSIDERED].tolist():
        chosen = np.zeros(len(ledger.row_class), dtype=bool)
        chosen[rows[of_row.ravel() == key]] = True
        wrong, right = divmod(int(keys[key]), int(size))
        found.append(Confusion(wrong, right, int(count[key]), oracle.delta(chosen)))
    return sorted(found, key=lambda each: -(each.delta_map or 0.0))
