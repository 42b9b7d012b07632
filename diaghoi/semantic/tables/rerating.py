"""People who rate the same items again, such as with their pictures (paper 000, 6.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.exceptions import InputError, some_of
from diaghoi.semantic.tables.agreement import CONFIDENCE
from diaghoi.semantic.tables.human_ratings import HumanRatings

FEWEST = 10  # changes of which the mean has an interval


@dataclass(frozen=True, kw_only=True)
class Rerating:
    """How many ratings people changed, and by how much.

    Parameters
    ----------
    source : str
        The file of the second ratings.
    people : tuple of str
        Those who rated twice.
    ratings, changed : int
        Ratings given both times, and how many of them differ.
    share, size : tuple of float
        Share of the changed ratings, and their mean absolute change in points of the scale, each
        with the ends of its interval, which take each rating on its own: that of the share is
        Wilson's, that of the mean goes by the normal distribution. NaN where undefined; the mean of
        fewer than ten changes, or of equal ones, has no interval.
    """

    source: str
    people: tuple[str, ...]
    ratings: int
    changed: int
    share: tuple[float, float, float]
    size: tuple[float, float, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; None where undefined."""
        found: dict[str, Any] = {
            "source": self.source,
            "annotators": list(self.people),
            "ratings": self.ratings,
            "changed": self.changed,
        }
        for key, values in (("share", self.share), ("size", self.size)):
            names = (key, f"{key}_low", f"{key}_high")
            found |= {
                name: None if value != value else value
                for name, value in zip(names, values, strict=True)
            }
        return found


def compare_ratings(
    before: HumanRatings, after: HumanRatings, *, confidence: float = CONFIDENCE
) -> Rerating:
    """Compare two ratings of the same items by the same people.

    Parameters
    ----------
    before, after : HumanRatings
        Items are joined by the columns that describe them in both files, or by their order where
        there is none. Further columns, such as one of pictures, and people of one file alone do not
        matter.
    confidence : float
        Confidence level of the intervals.

    Raises
    ------
    InputError
        Where the items or the people are not the same.
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
    return Rerating(
        source=after.source,
        people=people,
        ratings=len(change),
        changed=int((change > 0).sum()),
        share=_share(int((change > 0).sum()), len(change), confidence),
        size=_mean(change[change > 0], confidence),
    )


def _joined(before: HumanRatings, after: HumanRatings) -> IntArray:
    """(I,) item of ``after`` for each item of ``before``."""
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
            f"{after.source}: its {after.ratings.shape[1]:,} items{by} are not the {items:,} of "
            f"{before.source}; give one row for each item, described as there"
        )
    return np.array([place[key] for key in keys[0]], dtype=np.int64)


def _share(changed: int, ratings: int, confidence: float) -> tuple[float, float, float]:
    """Share of the changed ratings and its interval by Wilson, within 0 and 1."""
    from scipy.stats import binomtest

    if not ratings:
        return math.nan, math.nan, math.nan
    interval = binomtest(changed, ratings).proportion_ci(confidence, method="wilson")
    return changed / ratings, float(interval.low), float(interval.high)


def _mean(values: FloatArray, confidence: float) -> tuple[float, float, float]:
    """Mean and interval of some changes."""
    from scipy.stats import norm

    if not len(values):
        return math.nan, math.nan, math.nan
    mean = float(values.mean())
    # The deviation of a few changes, mostly of one point, says nothing.
    if len(values) < FEWEST or not np.ptp(values):
        return mean, math.nan, math.nan
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = float(norm.ppf(0.5 + confidence / 2)) * error
    return mean, mean - half, mean + half
