"""Oracle that repairs wrong actions on found pairs."""

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import convert, oracle


@oracle("Action", sorts_again=True)
def action(ledger: Ledger) -> Ledger:
    """Correct the action, or the pair, of predictions assigned to an annotated triplet.

    Unassigned action errors are removed.
    """
    return convert(ledger, "action")
