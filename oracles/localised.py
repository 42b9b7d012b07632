"""Another reading of two errors: an annotated triplet whose pair nothing localises is missed.

The published rule assigns a wrong prediction to any annotated triplet of the same person or object
that nothing found. Where a detector drops a pair, a wrong action on another pair of the person is
assigned to it, and counts as a wrong action, although no action of this pair was ever asked for.
Here such a triplet is missed, and wrong actions are repaired on localised pairs alone.
"""

from dataclasses import replace

import numpy as np

from diaghoi.evaluation.errors import ACTION, ASSOCIATION, HUMAN_BOX, OBJECT_BOX
from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.action import action
from diaghoi.oracles.oracle import Oracle, oracle


@oracle("found pairs", sorts_again=True)
def action_localised(ledger: Ledger) -> Ledger:
    """Correct the action of predictions that are assigned to a triplet whose pair is localised.

    The other action errors are removed.
    """
    elsewhere = (ledger.row_label == ACTION) & (ledger.row_annotation >= 0)
    elsewhere[elsewhere] = ~ledger.annotation_reachable[ledger.row_annotation[elsewhere]]
    assigned = np.where(elsewhere, np.int32(-1), ledger.row_annotation)
    return action(replace(ledger, row_annotation=assigned))


@oracle("+ lost pairs")
def missed_unlocalised(ledger: Ledger) -> Ledger:
    """Take annotated triplets out of the positives that nothing found or was about to find.

    These are the missed ones, and those whose pair no prediction localises, unless a wrong box or a
    wrong association is assigned to them.
    """
    nearly = np.zeros(len(ledger.annotation_class), dtype=bool)
    for label in (HUMAN_BOX, OBJECT_BOX, ASSOCIATION):
        assigned = ledger.row_annotation[ledger.row_label == label]
        nearly[assigned[assigned >= 0]] = True
    lost = ledger.annotation_examined & ~ledger.found & ~ledger.annotation_reachable & ~nearly
    return replace(ledger, annotation_counts=ledger.annotation_counts & ~(ledger.missed | lost))


LOCALISED: dict[str, Oracle] = {"action": action_localised, "missed_gt": missed_unlocalised}
"""The other reading of these errors, by the name of the error."""
