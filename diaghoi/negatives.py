"""How well a detector rejects pairs that do not interact (Diag-HOI paper, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from diaghoi.average_precision import needed_for
from diaghoi.ranking import descending
from diaghoi.scratch import let_go

# The published code samples the precision at these 110 recalls, of which nine lie beyond 1, so
# that a perfect classifier scores 101/110.
PUBLISHED_LEVELS = np.arange(0, 1.1, 0.01)


@dataclass(frozen=True, kw_only=True, eq=False)
class Negatives:
    """The predicted pairs and whether each is negative.

    Parameters
    ----------
    score : (P,) float64 array
        1 - the highest score of a real verb: how sure the detector is that the pair does *not*
        interact; NaN where the file has no such scores.
    negative : (P,) bool array
        The pair localises no annotated pair.
    image : (P,) int array
        Image of the pair.
    """

    score: npt.NDArray[np.float64]
    negative: npt.NDArray[np.bool_]
    image: npt.NDArray[np.int32]

    @cached_property
    def scored(self) -> bool:
        """Whether every pair has a score."""
        return not np.isnan(self.score).any()

    def ranked(self) -> npt.NDArray[np.bool_]:
        """Return ``negative`` in the order of falling scores."""
        ranges = len(self.score) // _SORTED + 1
        sample = np.sort(self.score[::ranges])
        between = sample[len(sample) * np.arange(1, ranges) // ranges].tolist()
        ranked = []
        for high, low in pairwise([np.inf, *reversed(between), -np.inf]):
            some = np.flatnonzero((self.score >= low) & (self.score < high))
            ranked.append(self.negative[some][descending(self.score[some])])
        return np.concatenate(ranked)

    def let_go(self) -> None:
        """Free the memory of pairs that lie on disk; they are read again when needed."""
        let_go(self.score, self.negative, self.image)

    @classmethod
    def concatenate(cls, parts: Sequence[Negatives], images: Sequence[int]) -> Negatives:
        """Join the pairs of disjoint images; ``images`` is the number of images of each part."""
        first = np.cumsum([0, *images]).astype(np.int32)
        return cls(
            score=np.concatenate([part.score for part in parts]),
            negative=np.concatenate([part.negative for part in parts]),
            image=np.concatenate([part.image + n for part, n in zip(parts, first, strict=False)]),
        )


# Scores that are sorted at once.
_SORTED = 1_000_000


def negative_scores(pairs: Negatives) -> dict[str, float | int | None]:
    """Average precision of finding the negative pairs.

    Returns
    -------
    dict
        ``ap``: area under the envelope of the precision-recall curve. ``ap_published``: the figure
        of the published code, at most 0.918 (see ``PUBLISHED_LEVELS``). Both None where no pair is
        negative or a score is missing. ``pairs`` and ``negatives``: counts.
    """
    negatives = int(pairs.negative.sum())
    ap = published = None
    if negatives and pairs.scored:
        # Most pairs are negative. Precision never falls along a run of them, so that the highest at
        # or beyond each is that at the end of its run or of a later one.
        ranked = pairs.ranked()
        last = ranked.copy()
        last[:-1] &= ~ranked[1:]
        end = np.flatnonzero(last) + 1
        found = end - np.searchsorted(np.flatnonzero(~ranked), end)
        envelope = np.maximum.accumulate((found / end)[::-1])[::-1]
        ap = float((np.diff(found, prepend=0) * envelope).sum() / negatives)
        needed = np.array([needed_for(level, np.array(negatives)) for level in PUBLISHED_LEVELS])
        reached = needed[needed <= negatives]
        published = float(envelope[np.searchsorted(found, reached)].sum() / len(PUBLISHED_LEVELS))
    pairs.let_go()
    return {
        "ap": ap,
        "ap_published": published,
        "pairs": len(pairs.negative),
        "negatives": negatives,
    }
