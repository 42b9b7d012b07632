"""Means over classes: of several weightings at once as of one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from diaghoi.data.protocol import HICO_DET
from diaghoi.evaluation.average_precision import ClassScores
from diaghoi.evaluation.means import split_means, weighted_split_means
from diaghoi.evaluation.weighted_ap import ImageCounts, WeightedScores

CLASSES, COLUMNS = 6, 3
FRACTIONS = st.one_of(st.just(0.0), st.just(np.nan), st.floats(0, 1))
TABLES = st.lists(FRACTIONS, min_size=CLASSES * COLUMNS, max_size=CLASSES * COLUMNS)
SPLITS = {
    "full": np.ones(CLASSES, dtype=bool),
    "seen": np.arange(CLASSES) < 4,
    "unseen": np.arange(CLASSES) >= 4,
    "nothing": np.zeros(CLASSES, dtype=bool),
}


def alone(values: np.ndarray) -> ClassScores:
    some = np.ones(CLASSES, dtype=int)
    return ClassScores(average_precision=values, max_recall=values, ranked=some, found=some)


@given(TABLES)
def test_each_weighting_has_the_means_of_its_column(values: list[float]) -> None:
    table = np.array(values).reshape(CLASSES, COLUMNS)
    found = np.zeros((CLASSES, COLUMNS), dtype=int)
    rows, weights = csr_array((CLASSES, 1), dtype=np.int32), np.ones((1, COLUMNS), np.int32)
    together = WeightedScores(
        average_precision=table,
        max_recall=1 - table,
        found=found,
        rows=ImageCounts(rows),
        weights=weights,
        top=None,
    )
    for means, column_of in zip(
        weighted_split_means(together, HICO_DET, SPLITS), (table, 1 - table), strict=True
    ):
        assert set(means) == {*SPLITS, "harmonic"}
        for number in range(COLUMNS):
            one = alone(column_of[:, number])
            for name, expected in split_means(one, HICO_DET, SPLITS)[0].items():
                assert means[name][number] == pytest.approx(
                    np.nan if expected is None else expected, nan_ok=True
                )


def test_the_harmonic_mean_by_hand() -> None:
    scores = np.array([0.5, 0.25, 0.75, 0.5, 0.1, 0.3])
    means, _ = split_means(alone(scores), HICO_DET, SPLITS)
    assert means["seen"] == 0.5
    assert means["unseen"] == pytest.approx(0.2)
    assert means["harmonic"] == pytest.approx(2 * 0.5 * 0.2 / 0.7)
    assert means["nothing"] is None
    assert split_means(alone(np.zeros(CLASSES)), HICO_DET, SPLITS)[0]["harmonic"] == 0
