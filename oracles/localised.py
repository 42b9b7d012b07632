"""Another reading of three errors, by the pair: it was lost, or found with another action.

The published rule assigns a wrong prediction to any annotated triplet of the same person or object
that nothing found. Where a detector drops a pair, a wrong action on another pair of the person is
assigned to it, and counts as a wrong action, although no action of this pair was ever asked for.
Here such a triplet is missed, and wrong actions are repaired on localised pairs alone.

The published code for V-COCO calls a wrong action with an object an association, even where the
person does another action with this object. Here that is a wrong action, and an association is a
person with an object that is not theirs.
"""

from dataclasses import replace

import numpy as np

from diaghoi.data.arrays.types import BoolArray, IntArray
from diaghoi.evaluation.errors import (
    ACTION,
    ASSOCIATION,
    BOTH_BOXES,
    DUPLICATE,
    HUMAN_BOX,
    OBJECT_BOX,
)
from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.action import action
from diaghoi.oracles.association import association
from diaghoi.oracles.oracle import Oracle, oracle


@oracle("found pairs", sorts_again=True)
def action_localised(ledger: Ledger) -> Ledger:
    """Correct the action of predictions that are assigned to a triplet whose pair is localised.

    The other action errors are removed.
    """
    wrong = _wrong_action(ledger)
    elsewhere = wrong & (ledger.row_annotation >= 0)
    elsewhere[elsewhere] = ~ledger.annotation_reachable[ledger.row_annotation[elsewhere]]
    label = labels_by_pair(ledger)
    assigned = np.where(elsewhere, np.int32(-1), ledger.row_annotation)
    return action(replace(ledger, row_label=label, row_annotation=assigned))


@oracle("other pairs", sorts_again=True)
def association_elsewhere(ledger: Ledger) -> Ledger:
    """Correct predictions of a person with an object that is not of any of their pairs.

    The other such errors are removed.
    """
    label = labels_by_pair(ledger)
    return association(replace(ledger, row_label=label))


@oracle("with lost pairs")
def missed_unlocalised(ledger: Ledger) -> Ledger:
    """Take annotated triplets out of the positives that nothing found or was about to find.

    These are the missed ones, and those whose pair no prediction localises, unless a wrong box or a
    wrong association is assigned to them.
    """
    return replace(ledger, annotation_counts=ledger.annotation_counts & ~_lost(ledger))


def attempts_by_pair(ledger: Ledger) -> tuple[IntArray, IntArray]:
    """Find the wrong predictions that attempt an annotated triplet, in this reading.

    A wrong action attempts a triplet only where a prediction localises its pair. A duplicate and a
    prediction with two wrong boxes, to which the rule of V-COCO may assign a triplet, attempt none.

    Returns
    -------
    rows, label : (N,) int array
        Rows of the ledger that are assigned to a triplet, and their labels.
    """
    label = labels_by_pair(ledger)
    attempts = ~np.isin(label, (DUPLICATE, BOTH_BOXES))
    rows = np.flatnonzero((ledger.row_annotation >= 0) & attempts)
    elsewhere = ~ledger.annotation_reachable[ledger.row_annotation[rows]]
    rows = rows[(label[rows] != ACTION) | ~elsewhere]
    return rows, label[rows]


def labels_by_pair(ledger: Ledger) -> IntArray:
    """(R,) label of each prediction where another action with a person's own object is an action.

    The published code for V-COCO calls it an association.
    """
    return np.where(_wrong_action(ledger), np.int8(ACTION), ledger.row_label)


def lost_triplets(ledger: Ledger) -> dict[str, int]:
    """Count the triplets that :func:`missed_unlocalised` takes out of the positives.

    Returns
    -------
    dict
        ``triplets``: all of them; ``both_boxes``: those for which there is a prediction of their
        class in their image with both boxes wrong, which may be meant for them.
    """
    lost = np.flatnonzero(ledger.annotation_counts & _lost(ledger))
    place = ledger.annotation_image[lost] * np.int64(ledger.classes) + ledger.annotation_class[lost]
    meant = np.zeros(len(lost), dtype=bool)
    for _, part in ledger.parts():
        wrong = part.row_label == BOTH_BOXES
        found = part.row_image[wrong] * np.int64(ledger.classes) + part.row_class[wrong]
        meant |= np.isin(place, found)
    return {"triplets": len(lost), "both_boxes": int(meant.sum())}


def _lost(ledger: Ledger) -> BoolArray:
    """Tell which annotated triplets nothing found or was about to find."""
    nearly = np.zeros(len(ledger.annotation_class), dtype=bool)
    for _, part in ledger.parts():
        near = np.isin(part.row_label, (HUMAN_BOX, OBJECT_BOX, ASSOCIATION)) & ~_wrong_action(part)
        assigned = part.row_annotation[near]
        nearly[assigned[assigned >= 0]] = True
    lost = ledger.annotation_examined & ~ledger.found & ~ledger.annotation_reachable & ~nearly
    return np.asarray(ledger.missed | lost)


def _wrong_action(ledger: Ledger) -> BoolArray:
    """(R,) mark the predictions whose boxes are those of a pair, but whose action is wrong."""
    of_pair = (ledger.row_label == ASSOCIATION) & ledger.row_on_pair
    return np.asarray((ledger.row_label == ACTION) | of_pair)


LOST_PAIR = "a triplet whose pair nothing localises is missed"
OWN_OBJECT = "another action with a person's own object is a wrong action"
PUBLISHED = "another action with a person's own object is an association"
"""The same by the published rule of V-COCO."""
LEFT_OUT = "wrong actions with an object box are associations by the published rule, and left out"
"""What the mAP of actions on localised pairs does not see on V-COCO."""


def reading_by_pair(pairing: str) -> str:
    """Say what this reading does, as captions do.

    Parameters
    ----------
    pairing : {"triplet", "person"}
        That of the protocol.
    """
    return LOST_PAIR + (f"; {OWN_OBJECT}" if pairing == "person" else "")


LOCALISED: dict[str, Oracle] = {
    "association": association_elsewhere,
    "action": action_localised,
    "missed_gt": missed_unlocalised,
}
"""The other reading of these errors, by the name of the error."""
