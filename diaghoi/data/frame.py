"""Data frames of pandas, which is not installed with the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from diaghoi.exceptions import InputError


def data_frame(content: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Any:
    """Make a data frame.

    Parameters
    ----------
    content : mapping of columns, or sequence of mapping
        The columns by name, or the rows.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    InputError
        Where pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise InputError("to_frame needs pandas; install it with: pip install pandas") from None
    return pandas.DataFrame(content)
