"""Oracle that repairs wrong human boxes."""

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import convert, oracle


@oracle("Human box", sorts_again=True)
def human_box(ledger: Ledger) -> Ledger:
    """Correct the human box and the action of predictions assigned to an annotated triplet.

    Unassigned human box errors are removed.
    """
    return convert(ledger, "human_box")
