"""Measure a list of predictions: how much of it is right, and how well its scores rank it.

Some detectors have no scores. A language model says which triplets it sees, not how sure it is. Its
predictions claim the same annotations whatever their scores, since each claims the annotation that
it overlaps most; only the ranking would depend on scores. So mAP has bounds over all rankings of
the list: it is highest with the true positives of each class first, and lowest with them as late as
possible. All rows in one rank can score even lower, because a duplicate is then beside its true
positive, while every ranking puts it behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, first_of_run, ratio
from diaghoi.evaluation.average_precision import Evaluated
from diaghoi.evaluation.errors import DUPLICATE, LABELS, TRUE_POSITIVE
from diaghoi.evaluation.ledger import Ledger


class Answers(NamedTuple):
    """Counts of the answers that could not be evaluated as they are.

    Parameters
    ----------
    unreadable : int
        Images whose answers could not be read at all.
    unreadable_triplets : int
        Triplets that could not.
    unknown_names : int
        Triplets with an object or a verb that the data set does not have.
    no_class : int
        Triplets whose object and verb form no HOI class.
    boxes_outside : int
        Boxes that reach outside the picture, if its size is known; they are compared as they are.
    """

    unreadable: int
    unreadable_triplets: int
    unknown_names: int
    no_class: int
    boxes_outside: int

    @property
    def outside_classes(self) -> int:
        """Triplets that were listed and are of no class."""
        return self.unreadable_triplets + self.unknown_names + self.no_class

    @classmethod
    def sum(cls, parts: Iterable[Answers | None]) -> Answers | None:
        """Add up the counts of disjoint images; None for detectors with scores."""
        found = [part for part in parts if part is not None]
        return cls(*map(sum, zip(*found, strict=True))) if found else None


def best_ranking(evaluated: Evaluated) -> Evaluated:
    """Rank the true positives of each class first."""
    return evaluated.reordered(np.lexsort((~evaluated.row_true, evaluated.row_class)))


def worst_ranking(evaluated: Evaluated, claims: IntArray) -> Evaluated:
    """Rank the true positives of each class as late as any scores can.

    Predictions that claim no annotation come first. Among predictions that claim the same
    annotation, the first is the true positive and the others are duplicates. They stay together,
    and annotations with the most claims come first: no true positive could come later. ``claims``,
    (A,), says how many predictions claim each annotated instance.
    """
    true, classes = evaluated.row_true, evaluated.annotation_class
    found = np.flatnonzero(claims)
    # The largest group of each class first.
    found = found[np.lexsort((-claims[found], classes[found]))]
    size = claims[found]
    # True positives come behind the predictions without a claim, and behind the groups before.
    count = max(int(classes.max(initial=-1)), int(evaluated.row_class.max(initial=-1))) + 1
    rows = np.bincount(evaluated.row_class, minlength=count)
    claimed = np.bincount(classes[found], weights=size, minlength=count).astype(np.int64)
    first = np.cumsum(rows) - claimed
    before = np.cumsum(size) - size
    start = np.cumsum(claimed) - claimed
    place = first[classes[found]] + before - start[classes[found]]
    # Average precision does not depend on the identity of rows; images follow their rows.
    order = np.empty(len(true), dtype=np.int64)
    late = np.zeros(len(true), dtype=bool)
    late[place] = True
    by_truth = np.lexsort((true, evaluated.row_class))
    order[~late] = by_truth[~true[by_truth]]
    order[late] = by_truth[true[by_truth]]
    return evaluated.reordered(order)


Figures = dict[str, float | int | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Detections:
    """Numbers of listed, found and annotated triplets of each class.

    Parameters
    ----------
    predicted, found, annotated : (C,) int array
        Predictions, true positives among them, and annotated triplets.
    """

    predicted: IntArray
    found: IntArray
    annotated: IntArray

    def figures(self, members: BoolArray | int, others: int = 0) -> Figures:
        """Pool some classes, (C,), or take one; ``others`` are predictions of no class, all wrong.

        Returns
        -------
        dict
            ``precision``, ``recall`` and ``f1`` as fractions, None if nothing is predicted, is
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
    """Count the predictions of each class with at least some score, or all.

    Predictions with lower scores do not affect which ones are true positives.
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

    Among thresholds of equal F1 the highest; None if there is no true positive.
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


RIGHT = (TRUE_POSITIVE, DUPLICATE)
WRONG = tuple(number for number in range(len(LABELS)) if number not in RIGHT)


def outranked(ledger: Ledger) -> dict[str, float | None]:
    """Share of the wrong predictions of its class that a right one outranks, on average.

    True positives and duplicates are right, since the scores decide between them.

    Returns
    -------
    dict
        ``all``, and the same for the wrong predictions with each label: the mean over the right
        predictions of all classes that have such wrong ones. One half is chance; equal scores count
        one half. None if there is nothing to compare.
    """
    wrong: dict[str, Sequence[int]] = {"all": WRONG, **{LABELS[label]: (label,) for label in WRONG}}
    total, count = dict.fromkeys(wrong, 0.0), dict.fromkeys(wrong, 0)
    for _, part in ledger.parts():
        first = first_of_run(part.row_class) | first_of_run(part.row_score)
        right = np.isin(part.row_label, RIGHT)
        for name, labels in wrong.items():
            below = _share_below(part, right, np.isin(part.row_label, labels), first)
            total[name] += float(below.sum())
            count[name] += len(below)
    return {name: total[name] / count[name] if count[name] else None for name in wrong}


def _share_below(
    ledger: Ledger, right: BoolArray, wrong: BoolArray, first: BoolArray
) -> FloatArray:
    """Return the share of the wrong rows of its class that each right row outranks."""
    bounds = ledger.bounds
    before = np.append(0, np.cumsum(wrong))
    of_class = before[bounds[1:]] - before[bounds[:-1]]
    rows = np.flatnonzero(right & (of_class[ledger.row_class] > 0))
    start = np.append(np.flatnonzero(first), len(first))
    run = np.cumsum(first)[rows] - 1
    group = ledger.row_class[rows]
    # Rows above, and half of the rows with the same score.
    above = (before[start[run]] + before[start[run + 1]]) / 2 - before[bounds[group]]
    return np.asarray(1 - above / of_class[group], dtype=np.float64)
