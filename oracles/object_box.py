"""Oracle that repairs wrong object boxes."""

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import convert, oracle


@oracle("Object box", sorts_again=True)
def object_box(ledger: Ledger) -> Ledger:
    """Correct the object box and the action of predictions assigned to an annotated triplet.

    Unassigned object box errors are removed.
    """
    return convert(ledger, "object_box")
