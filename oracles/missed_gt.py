"""Forgiveness of annotations that nothing attempts to find."""

from dataclasses import replace

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import oracle


@oracle("Missed")
def missed_gt(ledger: Ledger) -> Ledger:
    """Take annotated triplets without a true or an assigned prediction out of the positives.

    A class that is left with none drops out of the mean.
    """
    return replace(ledger, annotation_counts=ledger.annotation_counts & ~ledger.missed)
