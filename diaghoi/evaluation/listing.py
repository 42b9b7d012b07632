"""Measure how many of the listed predictions are right, and how well their scores rank them.

Some detectors have no scores. A language model says which triplets it sees, but not how certain it
is. Each prediction claims the annotation that it overlaps most, whatever its score; only the
ranking depends on scores. Over all possible rankings, mAP is therefore bounded: mAP is highest if
the true positives of each class come first, and lowest if they come as late as possible. If all
rows share one rank, mAP can be even lower: a duplicate then ties with its true positive, whereas
every ranking puts the duplicate after it.
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
    """Counts of answers that could not be evaluated as given.

    Parameters
    ----------
    unreadable : int
        Images whose answers could not be parsed at all.
    unreadable_triplets : int
        Triplets that could not be parsed.
    unknown_names : int
        Triplets whose object or verb is not in the data set.
    no_class : int
        Triplets whose object and verb form no HOI class.
    boxes_outside : int
        Boxes that extend beyond a picture of known size; they are compared unchanged.
    """

    unreadable: int
    unreadable_triplets: int
    unknown_names: int
    no_class: int
    boxes_outside: int

    @property
    def outside_classes(self) -> int:
        """Number of listed triplets that belong to no class."""
        return self.unreadable_triplets + self.unknown_names + self.no_class

    @classmethod
    def sum(cls, parts: Iterable[Answers | None]) -> Answers | None:
        """Add the counts of disjoint images; None for detectors with scores."""
        found = [part for part in parts if part is not None]
        return cls(*map(sum, zip(*found, strict=True))) if found else None


def best_ranking(evaluated: Evaluated) -> Evaluated:
    """Rank the true positives of each class before its other predictions."""
    return evaluated.reordered(np.lexsort((~evaluated.row_true, evaluated.row_class)))


def worst_ranking(evaluated: Evaluated, claims: IntArray) -> Evaluated:
    """Rank the true positives of each class as late as any scores could place them.

    Predictions that claim no annotation come first. Among predictions that claim the same
    annotation, the first is the true positive and the others are duplicates. The predictions that
    claim one annotation stay together, and annotations with the most claims come first, so that
    true positives come as late as possible. ``claims``, (A,), says how many predictions claim each
    annotated instance.
    """
    true, classes = evaluated.row_true, evaluated.annotation_class
    found = np.flatnonzero(claims)
    # In each class, put the annotation with the most claims first.
    found = found[np.lexsort((-claims[found], classes[found]))]
    size = claims[found]
    # Each group starts with its true positive, after the predictions without a claim and the
    # earlier groups.
    count = max(int(classes.max(initial=-1)), int(evaluated.row_class.max(initial=-1))) + 1
    rows = np.bincount(evaluated.row_class, minlength=count)
    claimed = np.bincount(classes[found], weights=size, minlength=count).astype(np.int64)
    first = np.cumsum(rows) - claimed
    before = np.cumsum(size) - size
    start = np.cumsum(claimed) - claimed
    place = first[classes[found]] + before - start[classes[found]]
    # Average precision does not depend on the order of the true positives among their ranks, so any
    # order will do; each row keeps its image.
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
    """Number of listed, found and annotated triplets of each class.

    Parameters
    ----------
    predicted, found, annotated : (C,) int array
        Number of predictions, of true positives among them, and of annotated triplets.
    """

    predicted: IntArray
    found: IntArray
    annotated: IntArray

    def figures(self, members: BoolArray | int, others: int = 0) -> Figures:
        """Compute precision, recall and F1 of the pooled classes of a (C,) mask, or of one class.

        ``others`` is the number of additional predictions that belong to no class; all are wrong.

        Returns
        -------
        dict
            ``precision``, ``recall`` and ``f1`` as fractions, None where undefined: ``precision``
            without predictions, ``recall`` without annotated triplets, and ``f1`` if there are no
            predictions and no annotated triplets. The dict also contains the counts ``predicted``,
            ``true_positive`` and ``annotated``.
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
    """Count the predictions of each class, or only the predictions that reach a score.

    Whether a prediction is a true positive does not depend on predictions with lower scores.
    """
    predicted, found = (np.zeros(ledger.classes, dtype=np.int64) for _ in range(2))
    for _, part in ledger.parts():
        kept = slice(None) if threshold is None else part.row_score >= threshold
        of_class = part.row_class[kept]
        predicted += np.bincount(of_class, minlength=ledger.classes)
        found += np.bincount(of_class[part.true[kept]], minlength=ledger.classes)
    return Detections(predicted=predicted, found=found, annotated=ledger.positives)


def best_threshold(ledger: Ledger) -> float | None:
    """Return the score threshold at which all classes together have the highest F1.

    If several thresholds tie, return the highest; None if there is no true positive.
    """
    score = np.concatenate([part.row_score for _, part in ledger.parts()])
    true = np.concatenate([part.true for _, part in ledger.parts()])
    order = np.argsort(-score, kind="stable")
    score, found = score[order], np.cumsum(true[order])
    if not len(score) or not found[-1]:
        return None
    # A threshold keeps either all rows with the same score or none of them.
    last = np.flatnonzero(np.append(score[1:] != score[:-1], True))
    f1 = 2 * found[last] / (last + 1 + ledger.positives.sum())
    return float(score[last[np.argmax(f1)]])


RIGHT = (TRUE_POSITIVE, DUPLICATE)
WRONG = tuple(number for number in range(len(LABELS)) if number not in RIGHT)


def outranked(ledger: Ledger) -> dict[str, float | None]:
    """Return the average share of wrong predictions below a right prediction of their class.

    True positives and duplicates both count as right, since only their scores tell them apart.

    Returns
    -------
    dict
        The share for ``all`` wrong predictions and for those with each label, averaged over all
        right predictions whose class has such wrong predictions. One half is chance level; a wrong
        prediction with an equal score counts one half. None if there is nothing to compare.
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
    """Return, for each right row, the share of its class's wrong rows that it outranks."""
    bounds = ledger.bounds
    before = np.append(0, np.cumsum(wrong))
    of_class = before[bounds[1:]] - before[bounds[:-1]]
    rows = np.flatnonzero(right & (of_class[ledger.row_class] > 0))
    start = np.append(np.flatnonzero(first), len(first))
    run = np.cumsum(first)[rows] - 1
    group = ledger.row_class[rows]
    # Count the wrong rows ranked above, plus half of the wrong rows with the same score.
    above = (before[start[run]] + before[start[run + 1]]) / 2 - before[bounds[group]]
    return np.asarray(1 - above / of_class[group], dtype=np.float64)
