"""Sums of counts of images under weights are exact, however large."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diaghoi.evaluation.weighted_ap import ImageCounts


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
    st.lists(st.sampled_from([0, 1, 7, 2**12, 2**15, 2**21, 2**24 + 1]), min_size=1, max_size=6),
)
def test_sums_under_weights_are_exact(images: list[int], weights: list[int]) -> None:
    counts = np.bincount(images, minlength=len(weights))
    given_weights = np.resize(np.array(weights, dtype=np.int32), (len(counts), 2))
    row = np.zeros(len(images), dtype=np.int64)
    found = ImageCounts.of(row, np.array(images), (2, len(counts))).under(given_weights)
    expected = [
        sum(int(count) * int(weight) for count, weight in zip(counts, column, strict=True))
        for column in given_weights.T
    ]
    assert found.tolist() == [expected, [0, 0]]


def test_many_images_of_one_row_each_add_up_beyond_small_integers() -> None:
    images = np.arange(40_000)
    counts = ImageCounts.of(np.zeros_like(images), images, (1, len(images)))
    assert counts.under(np.ones((len(images), 1), dtype=np.int32)).tolist() == [[40_000]]


def test_nothing_to_add_up_gives_no_sums() -> None:
    none = np.zeros(0, dtype=np.int64)
    weights = np.ones((3, 2), dtype=np.int32)
    assert ImageCounts.of(none, none, (0, 3)).under(weights).shape == (0, 2)
    assert ImageCounts.of(none, none, (4, 0)).under(weights[:0]).tolist() == [[0, 0]] * 4
