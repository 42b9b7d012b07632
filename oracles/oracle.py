"""What an oracle is, and the two repairs that several of them share."""

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
        What it repairs, for users.
    repair : callable
        From a ledger to the repaired one; pure. Large ledgers are repaired in parts (see
        :meth:`diaghoi.evaluation.ledger.Ledger.repairable_parts`), so that what becomes of a
        prediction may depend on those of its class and of its annotated triplet, and on all
        annotated triplets.
    sorts_again : bool
        Whether the published code sorts each image again after this repair, which decides between
        equal scores (:attr:`diaghoi.Protocol.repaired_ties`).
    """

    name: str
    title: str
    definition: str
    repair: Callable[[Ledger], Ledger]
    sorts_again: bool = False

    def __call__(self, ledger: Ledger, protocol: Protocol | None = None) -> Ledger:
        """Return the repaired ledger, with equal scores in the order that a protocol wants."""
        repaired = self.repair(ledger)
        if protocol is None or protocol.repaired_ties == "input" or not self.sorts_again:
            return repaired
        return repaired.ties_turned_round(ledger)


def oracle(
    title: str, *, sorts_again: bool = False
) -> Callable[[Callable[[Ledger], Ledger]], Oracle]:
    """Make an oracle of a function; its docstring is the definition that users see."""

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
    """Remove the predictions that carry a label."""
    return ledger.rows(ledger.row_label != LABELS.index(label))


def convert(ledger: Ledger, label: str) -> Ledger:
    """Make true positives of the predictions with a label that are assigned; remove the others.

    The prediction keeps its score and moves to the class of its annotated triplet. The lower-scored
    true positive that the triplet may have had is removed.
    """
    wrong = ledger.row_label == LABELS.index(label)
    repaired = wrong & (ledger.row_annotation >= 0)
    # One place more, so that a row without annotation (-1) looks up False.
    settled = np.zeros(len(ledger.annotation_class) + 1, dtype=bool)
    settled[ledger.row_annotation[repaired]] = True
    # A triplet has one true positive: the repaired row replaces the lower-scored one that it had.
    superseded = ledger.true & settled[ledger.row_annotation]
    return ledger.edited(
        removed=superseded | (wrong & ~repaired),
        moved=repaired,
        row_class=ledger.annotation_class[ledger.row_annotation[repaired]],
        row_label=np.full(repaired.sum(), TRUE_POSITIVE, dtype=np.int8),
    )
