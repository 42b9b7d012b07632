"""Boxes as (N, 4) arrays xyxy in pixels: areas and intersection over union."""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays.division import ratios
from diaghoi.data.arrays.types import FloatArray


def area(xyxy: FloatArray, margin: float) -> FloatArray:
    """Areas of (N, 4) boxes; ``margin`` is 1 where boxes cover whole pixels, else 0."""
    return np.asarray(
        (xyxy[:, 2] - xyxy[:, 0] + margin) * (xyxy[:, 3] - xyxy[:, 1] + margin), dtype=np.float64
    )


def iou(first: FloatArray, second: FloatArray, margin: float) -> FloatArray:
    """Intersection over union of boxes row by row.

    Parameters
    ----------
    first, second : (N, 4) float64 array
        Boxes xyxy in pixels.
    margin : float
        1 for inclusive boxes (width = x2 - x1 + 1), 0 for continuous ones.

    Returns
    -------
    (N,) float64 array
        In [0, 1]; 0 where boxes without area meet.
    """
    side = np.minimum(first[:, 2:], second[:, 2:])
    side -= np.maximum(first[:, :2], second[:, :2])
    side += margin
    np.maximum(side, 0, out=side)
    shared = side[:, 0] * side[:, 1]
    union = area(first, margin) + area(second, margin) - shared
    # Two boxes without area have no union; they do not overlap.
    return ratios(shared, union, undefined=0.0)
