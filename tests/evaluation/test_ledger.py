"""Ranking and average precision."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import reference

from diaghoi import protocol
from diaghoi.data.arrays import descending
from diaghoi.evaluation import negatives
from diaghoi.evaluation.average_precision import average_precision
from diaghoi.evaluation.negatives import PUBLISHED_LEVELS, Negatives, negative_scores

scores = st.lists(st.sampled_from([0.0, 0.1, 0.1 + 1e-16, 0.5, 0.9, -0.0, 1.0]), max_size=30)


@given(scores)
def test_descending_is_a_stable_sort(values: list[float]) -> None:
    array = np.array(values, dtype=float)
    assert descending(array).tolist() == np.argsort(-array, kind="stable").tolist()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=40),
    st.lists(st.integers(0, 40), min_size=4, max_size=4),
    st.sampled_from(["11-point", "area", "101-point"]),
)
def test_average_precision_equals_its_definition(rows, extra, kind) -> None:
    rows.sort(key=lambda row: row[0])
    groups = np.array([row[0] for row in rows], dtype=int)
    true = np.array([row[1] for row in rows], dtype=bool)
    positives = np.bincount(groups[true], minlength=4) + extra
    levels = protocol("hico-det", average_precision=kind).levels
    found = average_precision(groups, true, positives, levels)
    for group in range(4):
        if positives[group] == 0:
            assert np.isnan(found.average_precision[group])
            continue
        expected = reference.average_precision(
            true[groups == group].tolist(), int(positives[group]), kind
        )
        assert found.average_precision[group] == pytest.approx(expected[0], abs=1e-12)
        assert found.max_recall[group] == expected[1]


def test_a_perfect_class_scores_exactly_one() -> None:
    for number in range(1, 200):
        true = np.ones(number, dtype=bool)
        for kind in ("11-point", "101-point"):
            levels = protocol("hico-det", average_precision=kind).levels
            one = average_precision(np.zeros(number, int), true, np.array([number]), levels)
            assert one.average_precision[0] == 1


def test_a_recall_of_three_tenths_does_not_reach_the_fourth_level() -> None:
    # The official evaluators build the level as 3 * 0.1 = 0.30000000000000004.
    true = np.array([True, True, True])
    found = average_precision(np.zeros(3, int), true, np.array([10]), protocol("hico-det").levels)
    assert found.average_precision[0] == pytest.approx(3 / 11)


def test_more_positives_than_levels_can_round() -> None:
    for positives in range(1, 500):
        true = np.ones(positives, dtype=bool)
        found = average_precision(
            np.zeros(positives, int), true[: positives // 2 or 1], np.array([positives]), None
        )
        assert found.max_recall[0] == (positives // 2 or 1) / positives


def test_a_perfect_rejection_of_negatives_has_the_published_ceiling() -> None:
    pairs = Negatives(
        score=np.linspace(0.9, 0.1, 8),
        negative=np.array([True] * 6 + [False] * 2),
        image=np.zeros(8, dtype=np.int32),
    )
    result = negative_scores(pairs)
    assert result["ap"] == 1
    assert result["ap_published"] == pytest.approx(101 / 110)
    assert (result["pairs"], result["negatives"]) == (8, 6)
    assert len(PUBLISHED_LEVELS) == 110


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.booleans()), min_size=1),
    st.integers(1, 5),
    st.integers(1, 5),
)
# The best precision behind the first two ranks is that of the third, not of a later one.
@example([(0.5, mark) for mark in (False, True, True, False, False, False, True)], 5, 2)
def test_rejection_of_negatives_equals_its_definition(rows, looked_at, ranks) -> None:
    pairs = Negatives(
        score=np.array([row[0] for row in rows]),
        negative=np.array([row[1] for row in rows]),
        image=np.zeros(len(rows), dtype=np.int32),
    )
    with patch.multiple(negatives, _SORTED=looked_at, _RANKS=ranks):
        result = negative_scores(pairs)
    ranked = [row[1] for row in sorted(rows, key=lambda row: -row[0])]
    number = sum(ranked)
    if not number:
        assert result["ap"] is None
        return
    precision = [sum(ranked[:rank]) / rank for rank in range(1, len(ranked) + 1)]
    recall = [sum(ranked[:rank]) / number for rank in range(1, len(ranked) + 1)]
    best = [max(precision[rank:]) for rank in range(len(ranked))]
    ap = sum(best[rank] for rank in range(len(ranked)) if ranked[rank]) / number
    sampled = [
        max((p for p, r in zip(precision, recall, strict=True) if r >= level), default=0.0)
        for level in PUBLISHED_LEVELS
    ]
    assert result["ap"] == pytest.approx(ap, rel=1e-12)
    assert result["ap_published"] == pytest.approx(sum(sampled) / 110, rel=1e-12)


def test_a_million_pairs_are_ranked_in_ranges_of_scores() -> None:
    rng = np.random.default_rng(0)
    pairs = Negatives(
        score=rng.permutation(1_100_000) / 1_100_000,
        negative=rng.random(1_100_000) < 0.5,
        image=np.zeros(1_100_000, dtype=np.int32),
    )
    assert np.array_equal(pairs.ranked(), pairs.negative[np.argsort(-pairs.score)])


def test_negatives_without_any_are_undefined() -> None:
    one = np.zeros(1, dtype=np.int32)
    result = negative_scores(
        Negatives(score=np.array([0.5]), negative=np.array([False]), image=one)
    )
    assert result == {"ap": None, "ap_published": None, "pairs": 1, "negatives": 0}
