"""Repair of wrong actions of a pair that was found."""

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import convert, oracle


@oracle("Action", sorts_again=True)
def action(ledger: Ledger) -> Ledger:
    """Correct the action of assigned predictions, or the pair where theirs is another one.

    The other action errors are removed.
    """
    return convert(ledger, "action")
