"""A ranking from rankings of parts: the same as of all rows at once."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from diaghoi.data.arrays import Array, FloatArray, descending
from diaghoi.data.memory import Scratch, merge

SCORES = st.one_of(st.sampled_from([-0.0, 0.0, 0.5, 1.0]), st.floats(allow_nan=False))
RUNS = st.lists(st.lists(SCORES, max_size=20), min_size=1, max_size=6)


def merged(
    runs: list[FloatArray], size: int, *, on_disk: bool
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Rank all rows at once; and run by run, then merged."""
    score, bounds = np.concatenate(runs), np.cumsum([0, *map(len, runs)]).tolist()
    rows = np.arange(len(score), dtype=np.int32)
    table = {"score": score, "row": rows, "wide": np.stack([rows, -rows], axis=1)}
    whole = {name: values[descending(score)] for name, values in table.items()}
    with closing(Scratch(on_disk=on_disk)) as scratch:
        found = {name: scratch.empty(values.shape, values.dtype) for name, values in table.items()}
        for first, stop in pairwise(bounds):
            order = first + descending(score[first:stop])
            for name, values in table.items():
                found[name][first:stop] = values[order]
        merge(found, bounds, size, scratch)
    return whole, found


@given(RUNS, st.integers(1, 200), st.booleans())
@example([[]], 1, False)
@example([[0.5] * 20] * 6, 12, True)
def test_merged_rankings_are_that_of_all_rows(
    runs: list[list[float]], size: int, on_disk: bool
) -> None:
    whole, found = merged([np.array(run, dtype=float) for run in runs], size, on_disk=on_disk)
    for name, values in whole.items():
        assert values.tobytes() == found[name].tobytes()


@pytest.mark.parametrize("levels", [1, 3, 10_000_000])
def test_few_rows_are_merged_at_once(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    most = []

    def counted(scores: FloatArray) -> Array:
        most.append(len(scores))
        return descending(scores)

    monkeypatch.setattr("diaghoi.data.memory.descending", counted)
    rng = np.random.default_rng(0)
    runs = [rng.integers(0, levels, rows) / levels for rows in (5000, 0, 1, 4000, 3000)]
    whole, found = merged(runs, 1000, on_disk=False)
    assert np.array_equal(whole["row"], found["row"])
    assert max(most) <= 1000
    assert len(most) < 50
