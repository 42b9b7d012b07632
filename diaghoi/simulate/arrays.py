"""Array helpers of the simulation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from diaghoi.ragged import first_of_run

IntArray = npt.NDArray[np.integer]
FloatArray = npt.NDArray[np.float64]


def rank_in_run(keys: IntArray) -> IntArray:
    """Count, for every row, the rows before it in its run of equal neighbours.

    Parameters
    ----------
    keys : (N,) int array
        Equal keys stand together.

    Returns
    -------
    (N,) int array
        0 for the first row of each run, then 1, 2, ...
    """
    position = np.arange(len(keys))
    return position - np.maximum.accumulate(np.where(first_of_run(keys), position, 0))


def sigmoid(logit: FloatArray) -> FloatArray:
    """Turn logits into scores that lie strictly between 0 and 1."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logit, -12.0, 12.0))))
