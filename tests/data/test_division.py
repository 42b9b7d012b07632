"""Division by nothing: NaN, None or a chosen value, without a warning."""

from __future__ import annotations

import numpy as np
import pytest

from diaghoi.data.arrays import ratio, ratios


def test_arrays_are_divided_with_nan_where_there_is_nothing_to_divide_by() -> None:
    found = ratios([1, 0, 3], [2, 0, 4])
    assert found.dtype == np.float64
    assert np.array_equal(found, [0.5, np.nan, 0.75], equal_nan=True)


def test_shapes_broadcast_and_the_undefined_value_can_be_chosen() -> None:
    found = ratios(np.ones((2, 3)), np.array([[4], [0]]), undefined=0.0)
    assert found.tolist() == [[0.25] * 3, [0.0] * 3]
    assert ratios([0.0, 1.0], 2).tolist() == [0.0, 0.5]


def test_nan_divides_nothing() -> None:
    assert np.isnan(ratios([1.0], [np.nan])).all()


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [(1, 4, 0.25), (0, 4, 0.0), (1, 0, None), (None, 4, None), (1, None, None)],
)
def test_a_single_ratio_is_none_where_it_is_undefined(
    part: float | None, whole: float | None, expected: float | None
) -> None:
    assert ratio(part, whole) == expected
