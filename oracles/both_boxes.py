"""Oracle that removes predictions with two wrong boxes."""

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import oracle, remove


@oracle("Both boxes")
def both_boxes(ledger: Ledger) -> Ledger:
    """Remove predictions in which neither box is right.

    A prediction with two wrong boxes cannot be linked to an annotated triplet that it attempts to
    find.
    """
    return remove(ledger, "both_boxes")
