"""Which predictions decide average precision: the highest precision at each true positive.

A false positive behind all true positives of its class changes none. Detectors list many more
predictions than they find triplets, so most of their rows are of this kind.
"""

from __future__ import annotations

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, expand, first_of_run
from diaghoi.data.protocol import Protocol
from diaghoi.evaluation.ledger import Ledger


def up_to_last_true(row_class: IntArray, row_true: BoolArray) -> IntArray:
    """Find the rows up to the last true positive of each class.

    Parameters
    ----------
    row_class : (R,) int array
        Class of each row; rows sorted by class and descending score.
    row_true : (R,) bool array
        Whether the row is a true positive.
    """
    true = np.flatnonzero(row_true)
    if not len(true):
        return true
    last = true[np.roll(first_of_run(row_class[true]), -1)]
    start = np.searchsorted(row_class, row_class[last])
    return expand(start, last + 1 - start)[1]


def deciding(ledger: Ledger, protocol: Protocol) -> Ledger:
    """Return a ledger without the rows that decide nothing; see :func:`deciding_rows`."""
    rows = deciding_rows(ledger, protocol)
    return ledger if rows.all() else ledger.rows(rows)


def deciding_rows(ledger: Ledger, protocol: Protocol) -> BoolArray:
    """(R,) mark the rows that may decide average precision, whatever is repaired.

    A repair makes true positives of rows that are assigned to an annotated triplet, or attempt one,
    in the class of the triplet. In each class those that score below all rows that are or may
    become true positives are left out.

    Parameters
    ----------
    ledger : Ledger
        Of the protocol, before any repair.
    protocol : Protocol
        Where it asks whether classes have any rows, or lets all share one rank, all rows decide.
    """
    if not counts_only_found(protocol) or protocol.ranking != "by score":
        return np.ones(len(ledger.row_class), dtype=bool)
    lowest, possible = np.full(ledger.classes, np.inf), np.zeros(len(ledger.row_class), dtype=bool)
    for meant in (ledger.row_annotation, ledger.row_attempt):
        some = meant >= 0
        possible |= some
        np.minimum.at(lowest, ledger.annotation_class[meant[some]], ledger.row_score[some])
    # Not `>=`, which would drop rows of unknown score (NaN).
    return np.asarray(possible | ~(ledger.row_score < lowest[ledger.row_class]))


def counts_only_found(protocol: Protocol) -> bool:
    """Whether means are the same however many predictions a class has without a true positive."""
    found_alone = protocol.class_without_true_positive != "left out"
    return found_alone and protocol.class_without_prediction == "counted"
