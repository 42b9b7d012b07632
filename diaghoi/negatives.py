"""How well a detector rejects pairs that do not interact (Diag-HOI paper, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from diaghoi.ledger import average_precision
from diaghoi.ranking import descending

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

    @classmethod
    def concatenate(cls, parts: Sequence[Negatives], images: Sequence[int]) -> Negatives:
        """Join the pairs of disjoint images; ``images`` is the number of images of each part."""
        first = np.cumsum([0, *images]).astype(np.int32)
        return cls(
            score=np.concatenate([part.score for part in parts]),
            negative=np.concatenate([part.negative for part in parts]),
            image=np.concatenate([part.image + n for part, n in zip(parts, first, strict=False)]),
        )


def negative_scores(pairs: Negatives) -> dict[str, float | int | None]:
    """Average precision of finding the negative pairs.

    Returns
    -------
    dict
        ``ap``: area under the envelope of the precision-recall curve. ``ap_published``: the figure
        of the published code, at most 0.918 (see ``PUBLISHED_LEVELS``). Both None where no pair is
        negative or a score is missing. ``pairs`` and ``negatives``: counts.
    """
    negative = pairs.negative[descending(pairs.score)]
    one_class = np.zeros(len(negative), dtype=np.int64)
    positives = np.array([negative.sum()])
    ap, published = (
        average_precision(one_class, negative, positives, levels).average_precision[0]
        for levels in (None, PUBLISHED_LEVELS)
    )
    undefined = positives[0] == 0 or np.isnan(pairs.score).any()
    return {
        "ap": None if undefined else float(ap),
        "ap_published": None if undefined else float(published),
        "pairs": len(negative),
        "negatives": int(positives[0]),
    }
