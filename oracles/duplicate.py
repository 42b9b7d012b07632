"""Oracle that removes duplicates."""

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import oracle, remove


@oracle("Duplicate")
def duplicate(ledger: Ledger) -> Ledger:
    """Remove predictions of a triplet that a prediction with a higher score has already found."""
    return remove(ledger, "duplicate")
