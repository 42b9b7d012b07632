"""Oracle that removes every false positive."""

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import oracle


@oracle("False positive")
def false_positive(ledger: Ledger) -> Ledger:
    """Keep only true positives."""
    return ledger.rows(ledger.true)
