"""Oracle that excludes every annotated triplet that was not found."""

from dataclasses import replace

from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.oracle import oracle


@oracle("False negative")
def false_negative(ledger: Ledger) -> Ledger:
    """Count only the annotated triplets that have a true positive.

    Triplets that the protocol does not examine (`diag-hoi`: in images without predictions) also
    count. A class without remaining triplets drops out of the mean.
    """
    counts = ledger.annotation_counts & (ledger.found | ~ledger.annotation_examined)
    return replace(ledger, annotation_counts=counts)
