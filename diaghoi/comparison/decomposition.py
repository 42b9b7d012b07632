"""Split a difference in mAP into parts due to true positives and to each kind of false positive.

At a recall level, precision is ``n / (n + F)``: ``n`` is the number of true positives so far, and
``F`` the number of false positives that rank above the last true positive. Two detectors that both
reach the level differ in ``n`` and in the number of false positives of each kind. The change due to
false positives is the mean of two changes, with the ``n`` of each detector (the Shapley value for
two players). The difference

    n / (n + F1) - n / (n + F2) = n (F2 - F1) / ((n + F1) (n + F2))

is linear in the number of false positives, so each kind has its own share, whatever the order of
the kinds. The rest of the difference is due to true positives. At a level that only one detector
reaches, the whole difference is due to true positives. Means over levels and classes add up to the
difference in mAP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.data.protocol import Protocol
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.alignment import check_same_annotations
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.average_precision import envelopes, needed_for
from diaghoi.evaluation.errors import LABELS, TRUE_POSITIVE
from diaghoi.evaluation.ledger import Ledger
from diaghoi.evaluation.means import counts_in_mean
from diaghoi.oracles.localised import labels_by_pair

KINDS = len(LABELS)
CLASSES = "classes"
PARTS = (*LABELS, CLASSES)
"""Parts of a difference in mAP. The last part is due to different classes in the mean, under
protocols that omit classes without true positives.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class ApDifference:
    """The difference in average precision between two detectors, and its parts.

    Parameters
    ----------
    labels : tuple of two str
        The detectors. Differences are second minus first.
    vocabulary : Vocabulary
        The data set.
    of_class : (C,) float64 array
        The difference in AP of each class; NaN for classes without annotated triplets.
    parts : (C, 7) float64 array
        Changes due to true positives and to each kind of false positives, in the order of
        :data:`diaghoi.evaluation.errors.LABELS`, with errors on found pairs
        (:func:`diaghoi.oracles.localised.labels_by_pair`). The changes sum to the difference in
        each class.
    means : dict of str to dict of str to float
        For each split, the difference in mAP (``total``), and the :data:`PARTS` that sum to the
        difference. NaN if either detector has no mAP.
    """

    labels: tuple[str, str]
    vocabulary: Vocabulary
    of_class: FloatArray
    parts: FloatArray
    means: dict[str, dict[str, float]]

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain values, for the annotated classes; None if undefined."""
        return {
            "labels": list(self.labels),
            "means": {
                split: {name: _plain(value) for name, value in means.items()}
                for split, means in self.means.items()
            },
            "classes": [
                {"class": self.vocabulary.class_name(hoi), "total": float(self.of_class[hoi])}
                | dict(zip(LABELS, self.parts[hoi].tolist(), strict=True))
                for hoi in np.flatnonzero(~np.isnan(self.of_class)).tolist()
            ],
        }


def ap_difference(first: Diagnosis, second: Diagnosis) -> ApDifference:
    """Split the difference in AP of two detectors.

    Parameters
    ----------
    first, second : Diagnosis
        Diagnoses on the same annotations under the same protocol.

    Raises
    ------
    InputError
        If the diagnoses differ in protocol or in annotated triplets.
    """
    check_same_annotations(first, second)
    positives, protocol = first.ledger.positives, first.protocol
    group, needed, weight = _levels(positives, protocol)
    one, other = (_reached(each.ledger, protocol, group, needed) for each in (first, second))
    parts = np.zeros((len(positives), KINDS))
    np.add.at(parts, group, _split(one, other) * weight[:, None])
    parts[positives == 0] = np.nan
    scores = [each.class_scores for each in (first, second)]
    means = {}
    for split, members in first.splits.items():
        counted = [counts_in_mean(each, protocol, split, members) for each in scores]
        shared = np.nan_to_num(parts[counted[0] & counted[1]])
        before, after = first.mean_ap[split], second.mean_ap[split]
        total = np.nan if before is None or after is None else after - before
        row = shared.mean(axis=0) if len(shared) else np.zeros(KINDS)
        means[split] = {
            "total": float(total),
            **dict(zip(LABELS, row.tolist(), strict=True)),
            CLASSES: float(total - row.sum()) if (counted[0] != counted[1]).any() else 0.0,
        }
    return ApDifference(
        labels=(first.label, second.label),
        vocabulary=first.vocabulary,
        of_class=scores[1].average_precision - scores[0].average_precision,
        parts=parts,
        means=means,
    )


def _plain(value: float) -> float | None:
    return None if value != value else value


def _levels(positives: IntArray, protocol: Protocol) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the class, the number of true positives and the weight in AP of each recall level."""
    classes = np.flatnonzero(positives)
    if protocol.levels is None:
        group = np.repeat(classes, positives[classes])
        first = np.cumsum(positives[classes]) - positives[classes]
        needed = np.arange(len(group)) - np.repeat(first, positives[classes]) + 1
        return group, needed, 1 / positives[group]
    needed = np.concatenate([needed_for(level, positives[classes]) for level in protocol.levels])
    group = np.tile(classes, len(protocol.levels))
    return group, needed, np.full(len(group), 1 / len(protocol.levels))


def _reached(ledger: Ledger, protocol: Protocol, group: IntArray, needed: IntArray) -> IntArray:
    """For each recall level, count each kind of prediction up to the best precision from there.

    Returns
    -------
    (levels, 7) int array
        True positives and false positives of each kind; zeros if a level is not reached.
    """
    counts = np.zeros((len(group), KINDS), dtype=np.int64)
    for classes, part in ledger.parts():
        label, row_class = labels_by_pair(part), part.row_class
        if protocol.ranking != "by score":
            order = np.lexsort((label == TRUE_POSITIVE, row_class))
            label, row_class = label[order], row_class[order]
        curves = envelopes(
            row_class, label == TRUE_POSITIVE, ledger.positives, protocol.top_of_class
        )
        # For each step of the envelope, the last true positive of the step.
        ends = np.flatnonzero(curves.ends)
        best = np.repeat(ends, np.diff(ends, prepend=-1))
        mine = np.flatnonzero((group >= classes.start) & (group < classes.stop))
        mine = mine[needed[mine] <= curves.found[group[mine]]]
        last = curves.true[best[curves.start[group[mine]] + needed[mine] - 1]]
        for kind in range(KINDS):
            before = np.append(0, np.cumsum(label == kind))
            counts[mine, kind] = before[last + 1] - before[curves.bounds[group[mine]]]
    return counts


def _split(one: IntArray, other: IntArray) -> FloatArray:
    """Split the difference in precision at each level; see the module docstring."""
    true = one[:, TRUE_POSITIVE], other[:, TRUE_POSITIVE]
    all_ = one.sum(axis=1), other.sum(axis=1)
    false = all_[0] - true[0], all_[1] - true[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = (np.nan_to_num(n / rows) for n, rows in zip(true, all_, strict=True))
        slope = sum(n / ((n + false[0]) * (n + false[1])) for n in true) / 2
    both = (true[0] > 0) & (true[1] > 0)
    parts = -(other - one) * np.where(both, slope, 0.0)[:, None]
    parts[:, TRUE_POSITIVE] = 0.0
    parts[:, TRUE_POSITIVE] = after - before - parts.sum(axis=1)
    return np.asarray(parts)
