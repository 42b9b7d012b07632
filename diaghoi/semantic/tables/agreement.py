"""How far people agree with each other, and metrics with people (paper 000, section 5 and 6.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np

from diaghoi.data.arrays.types import BoolArray, FloatArray, IntArray
from diaghoi.exceptions import InputError
from diaghoi.semantic.tables.people import People

RESAMPLES = 10_000
CONFIDENCE = 0.95
_BLOCK = 500  # resamples at once


def weighted_kappa(one: FloatArray, other: FloatArray, highest: int) -> float:
    """Quadratic weighted kappa of two annotators.

    Parameters
    ----------
    one, other : (I,) float64 array
        Whole numbers from 0 to ``highest``; items that one of both did not rate, NaN, do not count.
    highest : int
        Last number of the scale.

    Returns
    -------
    float
        NaN where no item was rated by both, or neither of them ever varied.
    """
    both = ~(np.isnan(one) | np.isnan(other))
    levels = highest + 1
    first, second = one[both].astype(np.int64), other[both].astype(np.int64)
    observed = np.bincount(first * levels + second, minlength=levels**2).reshape(levels, levels)
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0)) / max(len(first), 1)
    step = np.arange(levels)
    weight = ((step[:, None] - step[None, :]) / highest) ** 2
    chance = float((weight * expected).sum())
    return 1.0 - float((weight * observed).sum()) / chance if chance > 0 else math.nan


def closeness(one: FloatArray, other: FloatArray, highest: float) -> float:
    """Agreement as SHOE states it in percent: 1 less the mean absolute difference, scale [0, 1].

    Parameters
    ----------
    one, other : (I,) float64 array
        Ratings on a scale from 0 to ``highest``; items with NaN do not count.
    highest : float
        End of the scale.

    Returns
    -------
    float
        In [0, 1]; NaN where no item counts.

    Notes
    -----
    The supplement prints percentages of agreement and no formula; this is how they are read here.
    """
    both = ~(np.isnan(one) | np.isnan(other))
    if not both.any():
        return math.nan
    return 1.0 - float(np.abs(one[both] - other[both]).mean()) / highest


def alpha(
    ratings: FloatArray, highest: int, level: Literal["ordinal", "interval"] = "ordinal"
) -> float:
    """Krippendorff's alpha.

    Parameters
    ----------
    ratings : (A, I) float64 array
        NaN where somebody did not say.
    highest : int
        Last number of the scale.
    level : {"ordinal", "interval"}
        How disagreement grows: with the ranks between two ratings, or with the square of their
        difference, as the formula in the paper has it.

    Returns
    -------
    float
        NaN where ratings never vary, or no item has two.

    Raises
    ------
    InputError
        Where the package ``krippendorff`` is not there.
    """
    try:
        import krippendorff
    except ImportError:
        raise InputError(
            "Krippendorff's alpha needs the package krippendorff: pip install 'diaghoi[semantic]'"
        ) from None
    paired = (~np.isnan(ratings)).sum(axis=0) > 1
    said = ratings[:, paired]
    if len(np.unique(said[~np.isnan(said)])) < 2:
        return math.nan
    return float(
        krippendorff.alpha(
            reliability_data=said,
            level_of_measurement=level,
            value_domain=list(range(highest + 1)),
        )
    )


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """Spearman's rank correlation of a metric with the mean of the people.

    Parameters
    ----------
    rho : float
        NaN where one of both never varies.
    low, high : float
        Interval by Fisher's transformation; NaN for fewer than four items or a rho of 1.
    p_value : float
        Two-sided, by permutation: (1 + as extreme ones) / (1 + resamples).
    items, resamples : int
        How many.
    """

    rho: float
    low: float
    high: float
    p_value: float
    items: int
    resamples: int


def spearman(
    one: FloatArray,
    other: FloatArray,
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Correlation:
    """Correlate two scores by rank; ties share their mean rank.

    Parameters
    ----------
    one, other : (I,) float64 array
        Items with NaN do not count.
    rng : numpy.random.Generator
        Shuffles the items.
    resamples : int
        Shuffles of the permutation test.
    confidence : float
        Of the interval.
    """
    from scipy.stats import norm, rankdata

    both = ~(np.isnan(one) | np.isnan(other))
    first, second = (_standard(rankdata(each[both])) for each in (one, other))
    items = len(first)
    if not first.any() or not second.any():
        nothing = math.nan
        return Correlation(
            rho=nothing, low=nothing, high=nothing, p_value=nothing, items=items, resamples=0
        )
    rho = float(np.clip(first @ second, -1.0, 1.0))
    low = high = math.nan
    if items > 3 and abs(rho) < 1:
        half = float(norm.ppf(0.5 + confidence / 2)) / math.sqrt(items - 3)
        low, high = (math.tanh(math.atanh(rho) + side * half) for side in (-1, 1))
    extreme = 0
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        shuffled = rng.permuted(np.tile(second, (size, 1)), axis=1)
        # A shuffle that changes nothing is as extreme, whatever the order of the sum.
        extreme += int((np.abs(shuffled @ first) >= abs(rho) - 1e-12).sum())
    return Correlation(
        rho=rho,
        low=low,
        high=high,
        p_value=(1 + extreme) / (1 + resamples),
        items=items,
        resamples=resamples,
    )


def _standard(ranks: FloatArray) -> FloatArray:
    """Centre and scale to length 1, so that a product of two is their correlation."""
    apart = ranks - ranks.mean() if len(ranks) else ranks
    length = float(np.sqrt((apart**2).sum()))
    return apart / length if length > 0 else np.zeros_like(apart)


@dataclass(frozen=True, kw_only=True, eq=False)
class Agreement:
    """Agreement of people with each other, and of metrics with them.

    Parameters
    ----------
    people : People
        The ratings.
    correlations : dict of str to Correlation
        Of each metric with the mean of the people.
    """

    people: People
    correlations: dict[str, Correlation]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of annotators."""
        return list(combinations(range(len(self.people.annotators)), 2))

    @cached_property
    def kappa(self) -> FloatArray:
        """(A, A) quadratic weighted kappa, 1 on the diagonal (figure 4 of the supplement)."""
        ratings, highest = self.people.ratings, self.people.highest
        values = np.eye(len(ratings))
        for a, b in self.pairs:
            values[a, b] = values[b, a] = weighted_kappa(ratings[a], ratings[b], highest)
        return values

    @cached_property
    def closeness(self) -> FloatArray:
        """(A, A) agreement as SHOE states it, 1 on the diagonal."""
        ratings, highest = self.people.ratings, self.people.highest
        values = np.eye(len(ratings))
        for a, b in self.pairs:
            values[a, b] = values[b, a] = closeness(ratings[a], ratings[b], highest)
        return values

    @cached_property
    def distribution(self) -> IntArray:
        """(A, levels) how often each annotator gave each score (figure 2)."""
        return self._counts(np.ones(self.people.ratings.shape[1], dtype=bool))

    @cached_property
    def majority(self) -> IntArray:
        """(I,) most frequent score of each item, the lowest of equally frequent ones; -1 for none.

        Paper 000 does not say what it does with ties.
        """
        levels = np.arange(self.people.highest + 1)
        votes = (self.people.ratings[:, :, None] == levels).sum(axis=0)
        return np.where(votes.any(axis=1), votes.argmax(axis=1), -1)

    @cached_property
    def by_majority(self) -> IntArray:
        """(levels, A, levels) votes of each annotator, by the majority of the item (figure 3)."""
        return np.stack(
            [self._counts(self.majority == level) for level in range(self.people.highest + 1)]
        )

    def _counts(self, items: BoolArray) -> IntArray:
        levels = np.arange(self.people.highest + 1)
        return np.asarray((self.people.ratings[:, items, None] == levels).sum(axis=1))

    @cached_property
    def within(self) -> float:
        """Mean standard deviation of the ratings of an item, of those with at least two."""
        ratings = self.people.ratings
        several = (~np.isnan(ratings)).sum(axis=0) > 1
        if not several.any():
            return math.nan
        return float(np.nanstd(ratings[:, several], axis=0, ddof=1).mean())

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, None for what is undefined."""
        people, names = self.people, self.people.annotators
        highest, mean = people.highest, people.mean
        said = (~np.isnan(people.ratings)).sum(axis=0)
        raters = float(said[said > 0].mean()) if said.any() else math.nan
        return {
            "source": people.source,
            "annotators": list(names),
            "items": people.ratings.shape[1],
            "ratings": int(said.sum()),
            "scale": highest,
            "kappa": self._by_pair(self.kappa),
            "alpha_ordinal": _plain(alpha(people.ratings, highest)),
            "alpha_interval": _plain(alpha(people.ratings, highest, "interval")),
            "agreement": self._by_pair(self.closeness),
            "within_item_deviation": _plain(self.within),
            "standard_error": _plain(self.within / math.sqrt(raters)),
            "metrics": [
                {
                    "name": name,
                    "agreement": _plain(closeness(scores, mean, highest)),
                    **{key: _plain(value) for key, value in vars(self.correlations[name]).items()},
                }
                for name, scores in people.metrics.items()
            ],
            "distribution": dict(zip(names, self.distribution.tolist(), strict=True)),
            "by_majority": [
                dict(zip(names, counts.tolist(), strict=True)) for counts in self.by_majority
            ],
            "notes": list(people.notes),
        }

    def _by_pair(self, values: FloatArray) -> dict[str, Any]:
        names = self.people.annotators
        found = [values[a, b] for a, b in self.pairs]
        defined = [value for value in found if value == value]
        return {
            "mean": float(np.mean(defined)) if defined else None,
            "pairs": [
                {"a": names[a], "b": names[b], "value": _plain(value)}
                for (a, b), value in zip(self.pairs, found, strict=True)
            ],
        }


def _plain(value: Any) -> Any:
    """Turn a NumPy number into Python's, NaN into None."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if value != value else value


def agree(
    people: People,
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Agreement:
    """Judge ratings by people, and metrics by them.

    Parameters
    ----------
    people : People
        The ratings.
    rng : numpy.random.Generator
        For the permutation tests.
    resamples : int
        Shuffles of each test.
    confidence : float
        Of the intervals.
    """
    mean = people.mean
    correlations = {
        name: spearman(scores, mean, rng, resamples=resamples, confidence=confidence)
        for name, scores in people.metrics.items()
    }
    return Agreement(people=people, correlations=correlations)
