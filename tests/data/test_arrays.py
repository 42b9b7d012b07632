"""Index arithmetic and division: in parts as at once, and by nothing without a warning."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diaghoi.data import arrays
from diaghoi.data.arrays import expand, expand_in_parts, ratio, ratios

RUNS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=12)


@given(RUNS, st.integers(1, 8))
def test_parts_give_what_is_given_at_once(runs: list[tuple[int, int]], size: int) -> None:
    start, count = np.array(runs, dtype=np.int64).reshape(-1, 2).T
    with patch.object(arrays, "EXPANDED", size):
        parts = list(expand_in_parts(start, count))
    whole = expand(start, count)
    for column, expected in enumerate(whole):
        assert np.concatenate([part[column] for part in parts]).tolist() == expected.tolist()
    assert all(len(owner) < size + max(count) for owner, _ in parts if len(owner))


@pytest.mark.parametrize(
    ("part", "whole", "undefined", "expected"),
    [
        ([1, 0, 3], [2, 0, 4], np.nan, [0.5, np.nan, 0.75]),
        (np.ones((2, 3)), np.array([[4], [0]]), 0.0, [[0.25] * 3, [0.0] * 3]),
        ([0.0, 1.0], 2, np.nan, [0.0, 0.5]),
        ([1.0], [np.nan], np.nan, [np.nan]),
    ],
)
def test_arrays_are_divided_with_a_value_where_there_is_nothing_to_divide_by(
    part: Any, whole: Any, undefined: float, expected: Any
) -> None:
    found = ratios(part, whole, undefined=undefined)
    assert found.dtype == np.float64
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [(1, 4, 0.25), (0, 4, 0.0), (1, 0, None), (None, 4, None), (1, None, None)],
)
def test_a_single_ratio_is_none_where_it_is_undefined(part, whole, expected) -> None:
    assert ratio(part, whole) == expected
