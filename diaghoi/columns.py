"""Arrays whose rows are read when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Column:
    """An array whose rows are read when they are needed.

    Parameters
    ----------
    shape : tuple of int
        Shape of the whole array.
    dtype : numpy.dtype
        Its type.
    rows : callable
        Takes the first row and the one after the last, and returns what is between.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    rows: Callable[[int, int], npt.NDArray[Any]]
