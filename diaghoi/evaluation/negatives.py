"""Measure how well a detector rejects non-interacting pairs (Diag-HOI paper, section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, descending, slices
from diaghoi.data.memory import in_parts
from diaghoi.evaluation.average_precision import needed_for
from diaghoi.evaluation.pairs import OfImages

# The published code samples the precision at these 110 recalls, nine of which lie beyond 1; a
# perfect classifier therefore scores 101/110.
PUBLISHED_LEVELS = np.arange(0, 1.1, 0.01)


@dataclass(frozen=True, kw_only=True, eq=False)
class Negatives(OfImages):
    """The predicted pairs, each flagged as negative or not.

    Parameters
    ----------
    score : (P,) float64 array
        1 - the highest score of any verb except no interaction: the confidence that the pair does
        *not* interact; NaN if the file has neither pair scores nor action scores.
    negative : (P,) bool array
        Whether the pair localises no annotated pair.
    image : (P,) int array
        Image of the pair.
    """

    score: FloatArray
    negative: BoolArray

    @cached_property
    def scored(self) -> bool:
        """Whether every pair has a score."""
        return not any(np.isnan(part.score).any() for part in self.parts())

    def ranked(self) -> BoolArray:
        """Return ``negative`` in descending order of scores."""
        # Sorting all pairs would need all scores in memory. Bounds from a sample split the scores
        # into ranges, and each range is sorted separately.
        ranges = len(self.score) // _SORTED + 1
        sample = np.sort(np.concatenate([part.score[::ranges].copy() for part in self.parts()]))
        between = sample[len(sample) * np.arange(1, ranges) // ranges].tolist()
        ranked = []
        for high, low in pairwise([np.inf, *reversed(between), -np.inf]):
            score, negative = [], []
            for part in self.parts():
                some = (part.score >= low) & (part.score < high)
                score.append(part.score[some])
                negative.append(part.negative[some])
            ranked.append(np.concatenate(negative)[descending(np.concatenate(score))])
        return np.concatenate(ranked)

    def parts(self) -> Iterator[Negatives]:
        """Split the pairs into parts, at least one, possibly empty."""
        columns = {"score": self.score, "negative": self.negative, "image": self.image}
        for part in in_parts(columns, slices(len(self.score), _SORTED)):
            yield Negatives(**part)


# Number of pairs examined or sorted at once, and of ranks whose precision is computed at once.
_SORTED, _RANKS = 500_000, 1 << 18


def negative_scores(pairs: Negatives) -> dict[str, float | int | None]:
    """Compute the average precision of finding the negative pairs.

    Returns
    -------
    dict
        ``ap``: area under the envelope of the precision-recall curve. ``ap_published``: the value
        that the published code gives, at most 0.918 (see ``PUBLISHED_LEVELS``). ``ap`` and
        ``ap_published`` are None if no pair is negative or a score is missing. ``pairs`` and
        ``negatives``: counts.
    """
    negatives = sum(int(part.negative.sum()) for part in pairs.parts())
    ap = published = None
    if negatives and pairs.scored:
        ap, published = _areas(pairs.ranked(), negatives)
    return {
        "ap": ap,
        "ap_published": published,
        "pairs": len(pairs.negative),
        "negatives": negatives,
    }


def _areas(ranked: BoolArray, negatives: int) -> tuple[float, float]:
    """Compute the area under the precision envelope, and the published code's sampled mean."""
    needed = np.array([needed_for(level, np.array(negatives)) for level in PUBLISHED_LEVELS])
    # No rank reaches a recall level above 1: such levels add 0 to the sum, but the mean includes
    # them.
    needed = needed[needed <= negatives]
    areas, sampled, found, best = [], [], negatives, 0.0
    for first in reversed(range(0, len(ranked), _RANKS)):
        some = ranked[first : first + _RANKS]
        # Most pairs are negative. Precision never falls along a run of negative pairs, so the
        # highest precision at or beyond a rank is at the end of the run with this rank or of a
        # later run.
        last = some.copy()
        last[:-1] &= ~some[1:]
        before = found - int(some.sum())
        at_end = before + np.cumsum(some)[last]
        precision = at_end / (first + np.flatnonzero(last) + 1)
        envelope = np.maximum.accumulate(np.append(precision, best)[::-1])[::-1]
        areas.append(float((np.diff(at_end, prepend=before) * envelope[:-1]).sum()))
        here = needed > (before if first else -1)
        sampled.append(float(envelope[np.searchsorted(at_end, needed[here])].sum()))
        needed, found, best = needed[~here], before, envelope[0]
    return math.fsum(areas) / negatives, math.fsum(sampled) / len(PUBLISHED_LEVELS)
