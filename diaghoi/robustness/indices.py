"""The robustness indices of the RoHOI paper (equations 1 and 2), computed from plain numbers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Scores = Mapping[str, Sequence[float]]


def mean_robustness_index(scores: Scores) -> float | None:
    """Mean over corruptions of the mean over severities (MRI, equation 1).

    Parameters
    ----------
    scores : mapping of sequence of float
        The scores of each corruption at its severities, in any scale. Corruptions without scores
        do not count.

    Returns
    -------
    float or None
        In the scale of the scores; None without scores.
    """
    means = [statistics.mean(values) for values in scores.values() if values]
    return float(statistics.mean(means)) if means else None


def composite_robustness_index(scores: Scores, clean: float | None) -> float | None:
    """Mean over corruptions of relative score times stability (CRI, equation 2).

    A corruption contributes M / M_clean / (ln(1 + sigma) + 1), where M is the mean of its scores
    and sigma their population standard deviation over the severities. Sigma grows with the scale of
    the scores, so the index depends on it.

    Parameters
    ----------
    scores : mapping of sequence of float
        As for :func:`mean_robustness_index`, in percent, as in the paper.
    clean : float or None
        The score without corruption, in percent.

    Returns
    -------
    float or None
        1 if all scores equal the clean one; None without a positive clean score, or without scores.
    """
    terms = [
        statistics.mean(values) / clean / (math.log1p(statistics.pstdev(values)) + 1)
        for values in scores.values()
        if values and clean
    ]
    return float(statistics.mean(terms)) if terms else None


@dataclass(frozen=True, kw_only=True)
class Index:
    """The indices of some conditions.

    Parameters
    ----------
    mri : float or None
        A fraction; None if no condition has a score.
    cri : float or None
        Over the corruptions with scores at several severities; None without such, and without a
        positive clean score.
    conditions, of : int
        Number of conditions with a score, and number of conditions of the study.
    """

    mri: float | None
    cri: float | None
    conditions: int
    of: int

    @property
    def partial(self) -> bool:
        """Whether some condition has no score."""
        return self.conditions < self.of

    def to_dict(self) -> dict[str, float | int | bool | None]:
        """All values as plain Python."""
        return {
            "mri": self.mri,
            "cri": self.cri,
            "conditions": self.conditions,
            "of": self.of,
            "partial": self.partial,
        }


def index_of(scores: Mapping[str, Sequence[float | None]], clean: float | None) -> Index:
    """Compute both indices over the available scores.

    A corruption with a single score does not enter CRI: its deviation of 0 would count as perfectly
    stable, although nothing is known of its stability.

    Parameters
    ----------
    scores : mapping of sequence of float or None
        Fractions, one per severity for each corruption; None for a missing score.
    clean : float or None
        The score without corruption, a fraction.
    """
    known = {name: [each for each in row if each is not None] for name, row in scores.items()}
    percent = {name: [100 * each for each in row] for name, row in known.items() if len(row) > 1}
    whole = None if clean is None else 100 * clean
    return Index(
        mri=mean_robustness_index(known),
        cri=composite_robustness_index(percent, whole),
        conditions=sum(map(len, known.values())),
        of=sum(map(len, scores.values())),
    )
