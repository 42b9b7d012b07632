"""Array helpers of the simulation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def sigmoid(logit: FloatArray) -> FloatArray:
    """Turn logits into scores that lie strictly between 0 and 1."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logit, -12.0, 12.0))))
