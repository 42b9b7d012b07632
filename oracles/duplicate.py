"""Removal of duplicates."""

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import oracle, remove


@oracle("Duplicate")
def duplicate(ledger: Ledger) -> Ledger:
    """Remove predictions of a triplet that a higher-scored one has already found."""
    return remove(ledger, "duplicate")
