"""Facts about a table of similarity: coverage, symmetry, diagonal, and agreement of raters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray
from diaghoi.semantic.tables.ratings import Ratings
from diaghoi.semantic.tables.similarity import fit, mean_similarity

# Bins of the distribution of scores.
BINS = 5


def table_facts(
    ratings: Ratings,
    vocabularies: Mapping[str, Sequence[str]],
    senses: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Describe a table.

    Parameters
    ----------
    ratings : Ratings
        The table with all its raters.
    vocabularies : mapping
        Lists of words by name; each is compared with the table.
    senses : mapping, optional
        The names of words in the table.

    Returns
    -------
    dict
        ``words``, ``pairs`` (of two words; ``above_0`` among them), ``scale``, ``one_sided`` (pairs
        in one order only), ``contradictions``, ``off_diagonal``, ``distribution`` (pairs by their
        mean score), ``raters`` (``name``, ``mean``, ``rated``), ``correlation`` (Pearson, of each
        pair of raters, None where undefined) and ``coverage`` (of each list).
    """
    distinct = ratings.first != ratings.second
    mean = ratings.means()[distinct]
    scores = ratings.scores[distinct]
    edges = np.linspace(0, 1, BINS + 1)
    counts, _ = np.histogram(mean, edges)
    similarity = mean_similarity(ratings)
    coverage = {}
    for name, words in vocabularies.items():
        fitted = fit(similarity, words, senses)
        coverage[name] = {
            "words": len(words),
            "covered": len(words) - len(fitted.missing),
            "missing": list(fitted.missing),
            "ambiguous": list(fitted.ambiguous),
        }
    return {
        "name": ratings.stem,
        "words": len(ratings.names),
        "pairs": int(distinct.sum()),
        "above_0": int((mean > 0).sum()),
        "scale": ratings.scale,
        "one_sided": ratings.one_sided,
        "contradictions": ratings.contradictions,
        "off_diagonal": ratings.off_diagonal,
        "mean": float(mean.mean()) if len(mean) else None,
        "distribution": [
            {"from": float(low), "to": float(high), "pairs": int(count)}
            for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        ],
        "raters": [
            {
                "name": rater,
                "rated": int((~np.isnan(column)).sum()),
                "mean": None if np.isnan(column).all() else float(np.nanmean(column)),
            }
            for rater, column in zip(ratings.raters, scores.T, strict=True)
        ],
        "correlation": _correlations(ratings.raters, scores),
        "coverage": coverage,
        "notes": list(ratings.notes),
    }


def _correlations(raters: Sequence[str], scores: FloatArray) -> list[dict[str, Any]]:
    """Pearson correlation of each pair of raters over the word pairs that both rated."""
    found = []
    for one in range(len(raters)):
        for other in range(one + 1, len(raters)):
            both = ~np.isnan(scores[:, [one, other]]).any(axis=1)
            found.append(
                {
                    "raters": [raters[one], raters[other]],
                    "pairs": int(both.sum()),
                    "pearson": _pearson(scores[both, one], scores[both, other]),
                }
            )
    return found


def _pearson(one: FloatArray, other: FloatArray) -> float | None:
    if len(one) < 2 or not np.ptp(one) or not np.ptp(other):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # squares of tiny scores underflow to 0
        found = float(np.corrcoef(one, other)[0, 1])
    return found if found == found else None
