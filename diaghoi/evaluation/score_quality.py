"""How well scores rank: the mAP of the best order, and how often right goes before wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray
from diaghoi.data.protocol import Protocol
from diaghoi.evaluation.average_precision import ClassScores, class_scores
from diaghoi.evaluation.errors import DUPLICATE, LABELS, TRUE_POSITIVE
from diaghoi.evaluation.ledger import Ledger
from diaghoi.evaluation.listing import best_ranking

RIGHT = (TRUE_POSITIVE, DUPLICATE)
WRONG = tuple(number for number in range(len(LABELS)) if number not in RIGHT)


def best_order_scores(ledger: Ledger, protocol: Protocol) -> ClassScores:
    """Average precision of each class if its true positives were ranked before all others.

    Parameters
    ----------
    ledger : Ledger
        Which predictions are true positives does not change.
    protocol : Protocol
        How AP is taken.
    """
    return ClassScores.concatenate(
        [
            (classes, class_scores(best_ranking(part.evaluated), part.classes, protocol))
            for classes, part in ledger.parts()
        ]
    )


def outranked(ledger: Ledger) -> dict[str, float | None]:
    """Share of the wrong predictions of its class that a right one outranks, on average.

    Right are true positives and duplicates: which of them is the true positive is up to the scores.

    Parameters
    ----------
    ledger : Ledger
        The predictions of a detector with scores.

    Returns
    -------
    dict
        ``all``, and the same for the wrong predictions with each label: the mean over the right
        predictions of all classes that have such wrong ones. One half is chance, equal scores count
        one half, and less is worse than chance. None where there is nothing to compare.
    """
    wrong: dict[str, Sequence[int]] = {"all": WRONG, **{LABELS[label]: (label,) for label in WRONG}}
    total, count = dict.fromkeys(wrong, 0.0), dict.fromkeys(wrong, 0)
    for _, part in ledger.parts():
        first = _first_of_runs(part)
        right = np.isin(part.row_label, RIGHT)
        for name, labels in wrong.items():
            below = _share_below(part, right, np.isin(part.row_label, labels), first)
            total[name] += float(below.sum())
            count[name] += len(below)
    return {name: total[name] / count[name] if count[name] else None for name in wrong}


def _first_of_runs(ledger: Ledger) -> BoolArray:
    """(R,) whether a row begins a run of equal scores in its class."""
    first = np.ones(len(ledger.row_class), dtype=bool)
    first[1:] = ledger.row_class[1:] != ledger.row_class[:-1]
    first[1:] |= ledger.row_score[1:] != ledger.row_score[:-1]
    return first


def _share_below(
    ledger: Ledger, right: BoolArray, wrong: BoolArray, first: BoolArray
) -> FloatArray:
    """For each right row the share of the wrong rows of its class that it outranks."""
    bounds = ledger.bounds
    before = np.append(0, np.cumsum(wrong))
    of_class = before[bounds[1:]] - before[bounds[:-1]]
    rows = np.flatnonzero(right & (of_class[ledger.row_class] > 0))
    start = np.append(np.flatnonzero(first), len(first))
    run = np.cumsum(first)[rows] - 1
    group = ledger.row_class[rows]
    # Those above, and half of those with the same score.
    above = (before[start[run]] + before[start[run + 1]]) / 2 - before[bounds[group]]
    return np.asarray(1 - above / of_class[group], dtype=np.float64)
