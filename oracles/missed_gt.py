"""Oracle that excludes the annotated triplets that no prediction attempts to find."""

from dataclasses import replace

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import oracle


@oracle("Missed")
def missed_gt(ledger: Ledger) -> Ledger:
    """Exclude annotated triplets with neither a true positive nor an assigned prediction.

    A class without remaining triplets drops out of the mean.
    """
    return replace(ledger, annotation_counts=ledger.annotation_counts & ~ledger.missed)
