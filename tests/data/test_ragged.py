"""Rows that belong together: in parts as at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diaghoi.data.arrays import expand, expand_in_parts

RUNS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=12)


@given(RUNS, st.integers(1, 8))
def test_parts_give_what_is_given_at_once(runs: list[tuple[int, int]], size: int) -> None:
    start, count = np.array(runs, dtype=np.int64).reshape(-1, 2).T
    parts = list(expand_in_parts(start, count, size))
    whole = expand(start, count)
    for column, expected in enumerate(whole):
        assert np.concatenate([part[column] for part in parts]).tolist() == expected.tolist()
    assert all(len(owner) < size + max(count) for owner, _ in parts if len(owner))
