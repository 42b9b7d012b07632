"""Words that are taken for one another, and what that costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays.types import IntArray
from diaghoi.semantic.repairs import Repairs

CONSIDERED = 100
"""Confusions whose cost is computed: those of the highest scores in sum, which can cost most."""


@dataclass(frozen=True)
class Confusion:
    """One word predicted for another.

    Parameters
    ----------
    predicted, annotated : int
        Numbers of the words.
    count : int
        Predictions with the error.
    delta_map : float or None
        Change of mAP when they alone are repaired; None where it is undefined.
    """

    predicted: int
    annotated: int
    count: int
    delta_map: float | None


def confusions(
    repairs: Repairs,
    rows: IntArray,
    predicted: IntArray,
    annotated: IntArray,
    *,
    considered: int = CONSIDERED,
    progress: Callable[[int], Any] | None = None,
) -> list[Confusion]:
    """Find the confusions of two words that cost most.

    Parameters
    ----------
    repairs : Repairs
        Of the error.
    rows : (E,) int array
        Rows of the ledger with it.
    predicted, annotated : (E,) int array
        The word that each says, and the one that is meant; -1 for none. Equal ones are no
        confusion.
    considered : int
        How many confusions to compute the cost of.
    progress : callable, optional
        Called with the number of confusions done since the last call.

    Returns
    -------
    list of Confusion
        The most costly first.
    """
    ledger = repairs.diagnosis.ledger
    apart = (predicted != annotated) & (annotated >= 0) & (predicted >= 0)
    rows, predicted, annotated = rows[apart], predicted[apart], annotated[apart]
    if not len(rows):
        return []
    size = np.int64(max(predicted.max(), annotated.max()) + 1)
    keys, of_row, count = np.unique(
        predicted * size + annotated, return_inverse=True, return_counts=True
    )
    weight = np.bincount(of_row.ravel(), weights=ledger.row_score[rows], minlength=len(keys))
    found = []
    for key in np.argsort(-weight, kind="stable")[:considered].tolist():
        chosen = np.zeros(len(ledger.row_class), dtype=bool)
        chosen[rows[of_row.ravel() == key]] = True
        said, meant = divmod(int(keys[key]), int(size))
        found.append(Confusion(said, meant, int(count[key]), repairs.delta(chosen)))
        if progress is not None:
            progress(1)
    return sorted(found, key=lambda each: -(each.delta_map or 0.0))
