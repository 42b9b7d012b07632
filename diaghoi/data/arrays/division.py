"""Division where there may be nothing to divide by: NaN in arrays, None for single figures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays.types import FloatArray


def ratios(part: npt.ArrayLike, whole: npt.ArrayLike, *, undefined: float = np.nan) -> FloatArray:
    """Divide arrays element by element.

    Parameters
    ----------
    part, whole : array of numbers
        Shapes that broadcast; no ``whole`` is negative.
    undefined : float
        The value where ``whole`` is 0.

    Returns
    -------
    float64 array
        ``part / whole`` in the shape of both.
    """
    part, whole = np.asarray(part), np.asarray(whole)
    quotient = np.full(np.broadcast_shapes(part.shape, whole.shape), undefined, dtype=np.float64)
    # Without `where`, NumPy would warn of every empty class, and warnings are errors in the tests.
    np.divide(part, whole, out=quotient, where=whole > 0)
    return quotient


def ratio(part: float | None, whole: float | None) -> float | None:
    """Return ``part / whole``; None where either is undefined or there is nothing to divide by."""
    return None if part is None or not whole else part / whole
