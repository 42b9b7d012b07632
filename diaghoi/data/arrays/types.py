"""The names of array types, once for the whole package.

They say what an array holds, not its shape, which is in the docstrings. Integers of any width
count as :data:`IntArray`, since ledgers keep them as narrow as they can.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.integer]
StrArray: TypeAlias = npt.NDArray[np.str_]
