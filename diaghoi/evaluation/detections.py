"""Precision, recall and F1 of the triplets that a detector lists, or scores highly enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, ratio
from diaghoi.evaluation.ledger import Ledger

Figures = dict[str, float | int | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Detections:
    """What was listed, found and annotated of each class.

    Parameters
    ----------
    predicted, found, annotated : (C,) int array
        Predictions, true positives among them, and annotated triplets.
    """

    predicted: IntArray
    found: IntArray
    annotated: IntArray

    def figures(self, members: BoolArray | int, others: int = 0) -> Figures:
        """Pool some classes: precision, recall, F1 and the counts that they are made of.

        Parameters
        ----------
        members : (C,) bool array or int
            The classes, or one.
        others : int
            Predictions of no class, which are wrong.

        Returns
        -------
        dict
            ``precision``, ``recall`` and ``f1`` as fractions, None where nothing is predicted, is
            annotated, or is either; ``predicted``, ``true_positive`` and ``annotated``.
        """
        predicted, found, annotated = (
            int(column[members].sum()) for column in (self.predicted, self.found, self.annotated)
        )
        predicted += others
        return {
            "precision": ratio(found, predicted),
            "recall": ratio(found, annotated),
            "f1": ratio(2 * found, predicted + annotated),
            "predicted": predicted,
            "true_positive": found,
            "annotated": annotated,
        }


def detections(ledger: Ledger, threshold: float | None = None) -> Detections:
    """Count the predictions of each class with at least some score.

    Which of them are true positives does not depend on those with lower scores.

    Parameters
    ----------
    ledger : Ledger
        The predictions that count, with scores from the highest to the lowest in each class.
    threshold : float or None
        The lowest score; None for all.
    """
    predicted, found = (np.zeros(ledger.classes, dtype=np.int64) for _ in range(2))
    for _, part in ledger.parts():
        kept = slice(None) if threshold is None else part.row_score >= threshold
        of_class = part.row_class[kept]
        predicted += np.bincount(of_class, minlength=ledger.classes)
        found += np.bincount(of_class[part.true[kept]], minlength=ledger.classes)
    return Detections(predicted=predicted, found=found, annotated=ledger.positives)


def best_threshold(ledger: Ledger) -> float | None:
    """Return the score from which on all classes together have the highest F1.

    Among thresholds of equal F1 the highest; None where there is no true positive.
    """
    score = np.concatenate([part.row_score for _, part in ledger.parts()])
    true = np.concatenate([part.true for _, part in ledger.parts()])
    order = np.argsort(-score, kind="stable")
    score, found = score[order], np.cumsum(true[order])
    if not len(score) or not found[-1]:
        return None
    # A threshold takes all rows of a score or none.
    last = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    f1 = 2 * found[last] / (last + 1 + ledger.positives.sum())
    return float(score[last[np.argmax(f1)]])
