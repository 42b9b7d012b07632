"""Kappa, alpha, agreement and correlation against hand-made cases and the figures of the paper."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from diaghoi.exceptions import InputError
from diaghoi.semantic.tables.agreement import (
    alpha,
    closeness,
    measure_agreement,
    spearman,
    weighted_kappa,
)
from diaghoi.semantic.tables.people import HumanRatings

NAN = math.nan
scores = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=30)


def arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.array(pairs, dtype=float).T)  # type: ignore[return-value]


def people(ratings: list[list[float]]) -> HumanRatings:
    names = tuple("abcde"[: len(ratings)])
    return HumanRatings(
        annotators=names, ratings=np.array(ratings), metrics={}, highest=4, source="ratings.csv"
    )


def test_kappa_by_hand() -> None:
    # Squared differences 0, 1, 4 over 9; by chance (0 + 1 + 4 + 1 + 0 + 1 + 4 + 1 + 0) / 9 = 12 / 9
    one, other = np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 1.0])
    assert weighted_kappa(one, other, 4) == pytest.approx(1 - 2 / (12 / 3))
    assert weighted_kappa(one, one, 4) == 1
    assert weighted_kappa(np.array([0.0, 4.0]), np.array([4.0, 0.0]), 4) == -1
    assert math.isnan(weighted_kappa(np.ones(3), np.ones(3), 4))
    assert weighted_kappa(np.append(one, NAN), np.append(other, 4), 4) == pytest.approx(0.5)


@given(scores)
def test_kappa_is_that_of_its_definition(pairs) -> None:
    one, other = arrays(pairs)
    seen = sum((a - b) ** 2 for a, b in pairs) / len(pairs)
    chance = sum((a - b) ** 2 for a, _ in pairs for _, b in pairs) / len(pairs) ** 2
    found = weighted_kappa(one, other, 4)
    assert math.isnan(found) if chance == 0 else found == pytest.approx(1 - seen / chance)


def test_agreement_is_one_less_the_mean_difference() -> None:
    assert closeness(np.array([0.0, 4.0, NAN]), np.array([1.0, 2.0, 3.0]), 4) == 1 - 1.5 / 4
    assert math.isnan(closeness(np.array([NAN]), np.array([1.0]), 4))


def test_alpha_of_krippendorffs_example() -> None:
    """The worked example of Krippendorff (2011), with missing values: ordinal 0.815."""
    krippendorff = pytest.importorskip("krippendorff")
    assert krippendorff is not None
    x = NAN
    data = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, x, x, x],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, x, 3],
        [x, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, x],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, x],
    ]
    ratings = np.array(data, dtype=float)
    assert alpha(ratings, 5) == pytest.approx(0.815, abs=5e-4)
    assert alpha(ratings, 5, "interval") == pytest.approx(0.849, abs=5e-4)
    assert math.isnan(alpha(np.ones((2, 3)), 4))
    assert math.isnan(alpha(np.array([[1.0, NAN], [NAN, 2.0]]), 4))


def test_the_interval_of_the_paper() -> None:
    """Paper 000, section 6.3: rho 0.799 of 500 items has the interval 0.765 to 0.829."""
    rng = np.random.default_rng(0)
    base, noise = rng.normal(size=(2, 500))
    shares = np.linspace(0, 2, 4001)
    rho = [spearmanr(base, base + share * noise).statistic for share in shares[::40]]
    share = shares[::40][int(np.abs(np.array(rho) - 0.799).argmin())]
    found = spearman(base, base + share * noise, rng, resamples=100)
    half = 1.959964 / math.sqrt(497)
    assert found.low == pytest.approx(math.tanh(math.atanh(found.rho) - half))
    assert found.high == pytest.approx(math.tanh(math.atanh(found.rho) + half))
    assert math.tanh(math.atanh(0.799) - half) == pytest.approx(0.765, abs=5e-4)
    assert math.tanh(math.atanh(0.799) + half) == pytest.approx(0.829, abs=5e-4)


@given(scores)
def test_the_correlation_is_that_of_scipy(pairs) -> None:
    one, other = arrays(pairs)
    found = spearman(one, other, np.random.default_rng(0), resamples=20)
    if np.ptp(one) == 0 or np.ptp(other) == 0:
        assert math.isnan(found.rho)
    else:
        assert found.rho == pytest.approx(spearmanr(one, other).statistic)
        assert 1 / 21 <= found.p_value <= 1


def test_the_permutation_test_tells_order_from_chance() -> None:
    rng = np.random.default_rng(1)
    rising = np.arange(30.0)
    assert spearman(rising, rising, rng, resamples=999).p_value == 1 / 1000
    assert spearman(rising, rng.normal(size=30), rng, resamples=999).p_value > 0.05
    # All six orders of three items: two are as extreme as the one that was seen.
    three = spearman(np.arange(3.0), np.arange(3.0), rng, resamples=6000)
    assert three.p_value == pytest.approx(1 / 3, abs=0.03)


def test_distributions_and_majorities() -> None:
    found = measure_agreement(
        people([[0, 4, 2, NAN], [0, 4, 3, NAN], [1, 4, 2, 3]]), np.random.default_rng(0)
    )
    assert found.distribution.tolist() == [[1, 0, 1, 0, 1], [1, 0, 0, 1, 1], [0, 1, 1, 1, 1]]
    assert found.majority.tolist() == [0, 4, 2, 3]
    assert found.by_majority[2].tolist() == [[0, 0, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0]]
    assert found.by_majority.sum(axis=0).tolist() == found.distribution.tolist()
    assert found.within == pytest.approx((math.sqrt(1 / 3) + 0 + math.sqrt(1 / 3)) / 3)


def test_without_two_ratings_of_an_item_nobody_differs() -> None:
    found = measure_agreement(people([[1, NAN], [NAN, 2]]), np.random.default_rng(0))
    assert math.isnan(found.within)


def test_the_package_for_alpha_is_named_where_it_is_missing(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    with pytest.raises(InputError, match=r"needs the package krippendorff: pip install 'diaghoi\["):
        measure_agreement(people([[1, 2], [1, 3]]), np.random.default_rng(0)).to_dict()


def test_undefined_figures_are_none() -> None:
    found = measure_agreement(people([[2, 2], [2, 2]]), np.random.default_rng(0)).to_dict()
    assert found["kappa"]["mean"] is None
    assert found["alpha_ordinal"] is None
    assert found["agreement"]["mean"] == 1
