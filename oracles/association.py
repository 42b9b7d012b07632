"""Oracle that repairs pairs whose boxes are right but do not belong together."""

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import convert, oracle


@oracle("Association", sorts_again=True)
def association(ledger: Ledger) -> Ledger:
    """Correct the pair and the action of predictions assigned to an annotated triplet.

    Unassigned association errors are removed.
    """
    return convert(ledger, "association")
