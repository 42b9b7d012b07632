"""Repair of wrong object boxes."""

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import convert, oracle


@oracle("Object box", sorts_again=True)
def object_box(ledger: Ledger) -> Ledger:
    """Correct the object box and the action of assigned predictions.

    The other object box errors are removed.
    """
    return convert(ledger, "object_box")
