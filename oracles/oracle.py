"""The oracle class, and the two repairs that several oracles share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from diaghoi.data.protocol import Protocol
from diaghoi.evaluation.errors import LABELS, TRUE_POSITIVE
from diaghoi.evaluation.ledger import Ledger


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """A named repair of a ledger.

    Parameters
    ----------
    name : str
        Name in the API, in JSON and on the command line.
    title : str
        Name in tables and figures.
    definition : str
        Description of the repair, for users.
    repair : callable
        Pure function from a ledger to the repaired ledger. Large ledgers are repaired in parts
        (:meth:`diaghoi.evaluation.ledger.Ledger.repairable_parts`), so the repair of a prediction
        may depend only on the predictions of its class, on the predictions assigned to its
        annotated triplet, and on all annotated triplets.
    sorts_again : bool
        Whether the published code sorts the predictions of each image again after the repair, so
        that equal scores change order (:attr:`diaghoi.Protocol.repaired_ties`).
    """

    name: str
    title: str
    definition: str
    repair: Callable[[Ledger], Ledger]
    sorts_again: bool = False

    def __call__(self, ledger: Ledger, protocol: Protocol | None = None) -> Ledger:
        """Return the repaired ledger, with equal scores in the order of the protocol."""
        repaired = self.repair(ledger)
        if protocol is None or protocol.repaired_ties == "input" or not self.sorts_again:
            return repaired
        return repaired.ties_turned_round(ledger)


def oracle(
    title: str, *, sorts_again: bool = False
) -> Callable[[Callable[[Ledger], Ledger]], Oracle]:
    """Turn a function into an oracle; the function's docstring is the definition for users."""

    def make(repair: Callable[[Ledger], Ledger]) -> Oracle:
        return Oracle(
            name=repair.__name__,
            title=title,
            definition=inspect.getdoc(repair) or "",
            repair=repair,
            sorts_again=sorts_again,
        )

    return make


def remove(ledger: Ledger, label: str) -> Ledger:
    """Remove the predictions with the given label."""
    return ledger.rows(ledger.row_label != LABELS.index(label))


def convert(ledger: Ledger, label: str) -> Ledger:
    """Turn assigned predictions with a label into true positives; remove unassigned predictions.

    Each prediction keeps its score and moves to the class of its annotated triplet. If the triplet
    already had a true positive, whose score is always lower, that true positive is removed.
    """
    wrong = ledger.row_label == LABELS.index(label)
    repaired = wrong & (ledger.row_annotation >= 0)
    # The last entry of ``settled`` stays False, for rows without an annotated triplet (-1).
    settled = np.zeros(len(ledger.annotation_class) + 1, dtype=bool)
    settled[ledger.row_annotation[repaired]] = True
    superseded = ledger.true & settled[ledger.row_annotation]
    return ledger.edited(
        removed=superseded | (wrong & ~repaired),
        moved=repaired,
        row_class=ledger.annotation_class[ledger.row_annotation[repaired]],
        row_label=np.full(repaired.sum(), TRUE_POSITIVE, dtype=np.int8),
    )
