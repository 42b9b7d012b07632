"""Agreement of annotators with each other and with metrics (SHOE supplement, sections 5, 6.3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray
from diaghoi.exceptions import InputError, some_of
from diaghoi.semantic.tables.people import HumanRatings

RESAMPLES = 10_000
CONFIDENCE = 0.95
_BLOCK = 500  # resamples at once


def weighted_kappa(one: FloatArray, other: FloatArray, highest: int) -> float:
    """Compute the quadratic weighted kappa of two annotators.

    Parameters
    ----------
    one, other : (I,) float64 array
        Integers from 0 to ``highest``; items that one of the annotators did not rate (NaN) do not
        count.
    highest : int
        Highest score of the scale.

    Returns
    -------
    float
        NaN if no item was rated by both people, or if both people gave all items one and the same
        score.
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
    """Compute agreement as reported by SHOE: 1 - mean absolute difference on the scale [0, 1].

    Parameters
    ----------
    one, other : (I,) float64 array
        Ratings on a scale from 0 to ``highest``; items with NaN do not count.
    highest : float
        Highest score of the scale.

    Returns
    -------
    float
        In [0, 1]; NaN if no item counts.

    Notes
    -----
    The supplement prints percentages of agreement without a formula; this formula is diaghoi's
    interpretation.
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
        NaN if an annotator gave no score.
    highest : int
        Highest score of the scale.
    level : {"ordinal", "interval"}
        Distance between two ratings: the number of ranks between them, or the squared difference,
        as in the paper's formula.

    Returns
    -------
    float
        NaN if ratings never vary, or no item has two ratings.

    Raises
    ------
    InputError
        If the package ``krippendorff`` is missing.
    """
    try:
        import krippendorff
    except ImportError:
        raise InputError(
            "Krippendorff's alpha needs the package krippendorff: pip install 'diaghoi[semantic]'"
        ) from None
    # An item with one rating carries no information on agreement, and the package fails on
    # constants.
    paired = (~np.isnan(ratings)).sum(axis=0) > 1
    rated = ratings[:, paired]
    if len(np.unique(rated[~np.isnan(rated)])) < 2:
        return math.nan
    return float(
        krippendorff.alpha(
            reliability_data=rated,
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
        NaN if the metric or the mean of the people never varies.
    low, high : float
        Interval by the Fisher transformation; NaN for fewer than four items or ``abs(rho)`` = 1.
    p_value : float
        Two-sided permutation p-value: (1 + number of permutations with at least this abs(rho)) / (1
        + resamples).
    items, resamples : int
        Numbers of compared items and of permutations.
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
    """Compute Spearman's rank correlation of two scores; ties share the mean rank.

    Parameters
    ----------
    one, other : (I,) float64 array
        Items with NaN do not count.
    rng : numpy.random.Generator
        Shuffles the items.
    resamples : int
        Number of permutations.
    confidence : float
        Confidence level of the interval.
    """
    from scipy.stats import norm, rankdata

    both = ~(np.isnan(one) | np.isnan(other))
    first, second = (_standard(rankdata(each[both])) for each in (one, other))
    items = len(first)
    if not first.any() or not second.any():
        nan = math.nan
        return Correlation(rho=nan, low=nan, high=nan, p_value=nan, items=items, resamples=0)
    rho = float(np.clip(first @ second, -1.0, 1.0))
    low = high = math.nan
    if items > 3 and abs(rho) < 1:
        half = float(norm.ppf(0.5 + confidence / 2)) / math.sqrt(items - 3)
        low, high = (math.tanh(math.atanh(rho) + side * half) for side in (-1, 1))
    extreme = 0
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        shuffled = rng.permuted(np.tile(second, (size, 1)), axis=1)
        # Thanks to the tolerance, a permutation that changes nothing counts as extreme despite
        # rounding.
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
    """Centre ranks and scale them to length 1, so that dot products are correlations."""
    centred = ranks - ranks.mean() if len(ranks) else ranks
    length = float(np.sqrt((centred**2).sum()))
    return centred / length if length > 0 else np.zeros_like(centred)


@dataclass(frozen=True, kw_only=True, eq=False)
class Agreement:
    """Agreement among annotators, and between metrics and annotators.

    Parameters
    ----------
    people : HumanRatings
        The ratings.
    correlations : dict of str to Correlation
        Correlation of each metric with the mean of the people.
    """

    people: HumanRatings
    correlations: dict[str, Correlation]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of annotators."""
        return list(combinations(range(len(self.people.annotators)), 2))

    @cached_property
    def kappa(self) -> FloatArray:
        """(A, A) quadratic weighted kappa, 1 on the diagonal (figure 4 of the supplement)."""
        return self._of_pairs(weighted_kappa)

    @cached_property
    def closeness(self) -> FloatArray:
        """(A, A) agreement as reported by SHOE, 1 on the diagonal."""
        return self._of_pairs(closeness)

    def _of_pairs(self, agreement: Callable[[FloatArray, FloatArray, int], float]) -> FloatArray:
        ratings = self.people.ratings
        values = np.eye(len(ratings))
        for a, b in self.pairs:
            values[a, b] = values[b, a] = agreement(ratings[a], ratings[b], self.people.highest)
        return values

    @cached_property
    def distribution(self) -> IntArray:
        """(A, levels) number of times each annotator gave each score (figure 2)."""
        return self._counts(np.ones(self.people.ratings.shape[1], dtype=bool))

    @cached_property
    def majority(self) -> IntArray:
        """(I,) most frequent score of each item, the lowest on ties; -1 without ratings.

        The supplement does not say how it breaks ties.
        """
        levels = np.arange(self.people.highest + 1)
        votes = (self.people.ratings[:, :, None] == levels).sum(axis=0)
        return np.where(votes.any(axis=1), votes.argmax(axis=1), -1)

    @cached_property
    def by_majority(self) -> IntArray:
        """(levels, A, levels) votes of each annotator, by majority vote of the item (figure 3)."""
        return np.stack(
            [self._counts(self.majority == level) for level in range(self.people.highest + 1)]
        )

    def _counts(self, items: BoolArray) -> IntArray:
        levels = np.arange(self.people.highest + 1)
        return np.asarray((self.people.ratings[:, items, None] == levels).sum(axis=1))

    @cached_property
    def within(self) -> float:
        """Standard deviation of an item's ratings, averaged over items with several ratings."""
        ratings = self.people.ratings
        several = (~np.isnan(ratings)).sum(axis=0) > 1
        if not several.any():
            return math.nan
        return float(np.nanstd(ratings[:, several], axis=0, ddof=1).mean())

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python values, None if undefined."""
        people, names = self.people, self.people.annotators
        highest, mean = people.highest, people.mean
        given = (~np.isnan(people.ratings)).sum(axis=0)
        raters = float(given[given > 0].mean()) if given.any() else math.nan
        return {
            "source": people.source,
            "annotators": list(names),
            "items": people.ratings.shape[1],
            "ratings": int(given.sum()),
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
        by_pair = [values[a, b] for a, b in self.pairs]
        defined = [value for value in by_pair if value == value]
        return {
            "mean": float(np.mean(defined)) if defined else None,
            "pairs": [
                {"a": names[a], "b": names[b], "value": _plain(value)}
                for (a, b), value in zip(self.pairs, by_pair, strict=True)
            ],
        }


def _plain(value: Any) -> Any:
    """Convert a NumPy number to a Python number, and NaN to None."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if value != value else value


def measure_agreement(
    people: HumanRatings,
    rng: np.random.Generator,
    *,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Agreement:
    """Measure the agreement among annotators, and between metrics and annotators.

    Parameters
    ----------
    people : HumanRatings
        The ratings.
    rng : numpy.random.Generator
        Generator for the permutation tests.
    resamples : int
        Permutations per test.
    confidence : float
        Confidence level of the intervals.
    """
    mean = people.mean
    correlations = {
        name: spearman(scores, mean, rng, resamples=resamples, confidence=confidence)
        for name, scores in people.metrics.items()
    }
    return Agreement(people=people, correlations=correlations)


FEWEST = 10  # changed ratings that an interval of the mean change needs


def compare_ratings(
    before: HumanRatings, after: HumanRatings, *, confidence: float = CONFIDENCE
) -> dict[str, Any]:
    """Compare two ratings of the same items by the same people, such as with and without pictures.

    The comparison follows section 6.2 of the SHOE supplement.

    Parameters
    ----------
    before, after : HumanRatings
        Items are joined by the descriptive columns that both files have, or by order if the files
        share no descriptive column. Further columns, such as pictures, and people who appear in
        only one file are ignored.
    confidence : float
        Confidence level of the intervals.

    Returns
    -------
    dict
        ``source`` (the file of the second ratings), ``annotators`` (who rated twice), ``ratings``
        given both times, and the number that ``changed``; ``share``, the share of changed ratings,
        and ``size``, the mean absolute change in points of the scale, each with the bounds of an
        interval, ``..._low`` and ``..._high``. The intervals assume independent ratings: Wilson's
        interval for the share, a normal interval for the mean. None if undefined; the mean has no
        interval if there are fewer than ten changes or all changes are equal.

    Raises
    ------
    InputError
        If the items or the people of the two ratings differ.
    """
    people = tuple(name for name in before.annotators if name in after.annotators)
    if not people:
        raise InputError(
            f"{after.source}: is rated by {some_of(after.annotators)}, {before.source} by "
            f"{some_of(before.annotators)}; give ratings by the same people"
        )
    rows = _joined(before, after)
    first, second = (
        np.array([each.ratings[each.annotators.index(name)] for name in people])
        for each in (before, after)
    )
    second = second[:, rows]
    both = ~(np.isnan(first) | np.isnan(second))
    change = np.abs(first[both] - second[both])
    changed = int((change > 0).sum())
    intervals = {
        "share": _share(changed, len(change), confidence),
        "size": _mean(change[change > 0], confidence),
    }
    return {
        "source": after.source,
        "annotators": list(people),
        "ratings": len(change),
        "changed": changed,
        **{
            f"{key}{end}": _plain(value)
            for key, values in intervals.items()
            for end, value in zip(("", "_low", "_high"), values, strict=True)
        },
    }


def _joined(before: HumanRatings, after: HumanRatings) -> IntArray:
    """Return the item of ``after`` for each item of ``before``, (I,)."""
    shared = [name for name in before.described if name in after.described]
    keys = [
        [*zip(*(each.described[name] for name in shared), strict=True)] for each in (before, after)
    ]
    items = before.ratings.shape[1]
    if not shared and items == after.ratings.shape[1]:
        return np.arange(items)
    place = {key: row for row, key in enumerate(keys[1])}
    if not shared or len(place) < len(keys[1]) or sorted(keys[0]) != sorted(keys[1]):
        by = f" by {', '.join(shared)}" if shared else ""
        raise InputError(
            f"{after.source}: the items{by} ({after.ratings.shape[1]:,}) differ from those of "
            f"{before.source} ({items:,}); give one row per item, with the same descriptions"
        )
    return np.array([place[key] for key in keys[0]], dtype=np.int64)


def _share(changed: int, ratings: int, confidence: float) -> tuple[float, float, float]:
    """Compute the share of changed ratings and its Wilson interval, within 0 and 1."""
    from scipy.stats import binomtest

    if not ratings:
        return math.nan, math.nan, math.nan
    interval = binomtest(changed, ratings).proportion_ci(confidence, method="wilson")
    return changed / ratings, float(interval.low), float(interval.high)


def _mean(values: FloatArray, confidence: float) -> tuple[float, float, float]:
    """Compute the mean of changes and its interval."""
    from scipy.stats import norm

    if not len(values):
        return math.nan, math.nan, math.nan
    mean = float(values.mean())
    # The standard deviation of only a few changes, most of them by one point, is not meaningful.
    if len(values) < FEWEST or not np.ptp(values):
        return mean, math.nan, math.nan
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = float(norm.ppf(0.5 + confidence / 2)) * error
    return mean, mean - half, mean + half
