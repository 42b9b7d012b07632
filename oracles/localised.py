"""Errors on found pairs: what a wrong prediction attempts to find.

The published rule assigns a wrong prediction to any annotated triplet of the same person or object
that nothing found. Where a detector drops a pair, a wrong prediction of the same person with
another object is assigned to it and counts as a wrong action or association, although nothing asked
for this pair.

Here a wrong prediction *attempts* an annotated triplet only if it shares a right box with it, as by
the published rule, and

- its error is a wrong action, and its pair localises that of the triplet. A pair that already gave
  a true positive of the class does not localise another triplet of it;
- or its error is another one, and it is about the object of the triplet: it names the category, or
  a wrong one at the place of this object. On V-COCO, where predictions name no object, it is of the
  same action and role.

A duplicate and a prediction with two wrong boxes attempt nothing. What is neither found nor
attempted is missed. Predictions of the class of the triplet come first
(:func:`diaghoi.evaluation.errors.attempt`).

The published code for V-COCO calls a wrong action with an object an association, even where the
person does another action with this object. Here that is a wrong action, and an association is a
person with an object that is not theirs.
"""

from dataclasses import replace

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray
from diaghoi.evaluation.errors import ACTION, ASSOCIATION, BOTH_BOXES
from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.action import action
from diaghoi.oracles.association import association
from diaghoi.oracles.human_box import human_box
from diaghoi.oracles.missed_gt import missed_gt
from diaghoi.oracles.object_box import object_box
from diaghoi.oracles.oracle import Oracle


def by_pair(ledger: Ledger) -> Ledger:
    """Return the ledger as this reading has it: every oracle then repairs what it should.

    To read a ledger so twice, or after a repair, changes nothing more.
    """
    return replace(
        ledger,
        row_label=labels_by_pair(ledger),
        row_annotation=ledger.row_attempt,
        annotation_attempted=_attempted(ledger),
    )


def _attempted(ledger: Ledger) -> BoolArray:
    """Mark the annotated triplets that are found or attempted, as (A,) bool array."""
    attempted = np.zeros(len(ledger.annotation_class), dtype=bool)
    for _, part in ledger.parts():
        attempted[part.row_attempt[part.row_attempt >= 0]] = True
    return attempted


def labels_by_pair(ledger: Ledger) -> IntArray:
    """(R,) label of each prediction where another action with a person's own object is an action.

    The published code for V-COCO calls it an association.
    """
    of_pair = (ledger.row_label == ASSOCIATION) & ledger.row_on_pair
    return np.where(of_pair, np.int8(ACTION), ledger.row_label)


def lost_triplets(ledger: Ledger) -> dict[str, int]:
    """Count the triplets that are missed in this reading.

    Returns
    -------
    dict
        ``triplets``: all of them; ``both_boxes``: those for which there is a prediction of their
        class in their image with both boxes wrong, which may be meant for them.
    """
    missed = replace(ledger, annotation_attempted=_attempted(ledger)).missed
    lost = np.flatnonzero(ledger.annotation_counts & missed)
    place = ledger.annotation_image[lost] * np.int64(ledger.classes) + ledger.annotation_class[lost]
    meant = np.zeros(len(lost), dtype=bool)
    for _, part in ledger.parts():
        wrong = part.row_label == BOTH_BOXES
        found = part.row_image[wrong] * np.int64(ledger.classes) + part.row_class[wrong]
        meant |= np.isin(place, found)
    return {"triplets": len(lost), "both_boxes": int(meant.sum())}


ON_FOUND_PAIRS = "on found pairs"
"""What this reading is called wherever people read of it."""
LOST_PAIR = "a triplet whose pair no prediction finds is missed, not a wrong action"
OWN_ATTEMPT = "a wrong prediction stands only for a triplet of its own object"
OWN_OBJECT = "another action with a person's own object is a wrong action"
PUBLISHED = "another action with a person's own object is an association"
"""The same by the published rule of V-COCO."""
LEFT_OUT = "wrong actions with an object box are associations by the published rule, and left out"
"""What the mAP of actions on found pairs does not see on V-COCO."""


def reading_by_pair(pairing: str) -> str:
    """Say what this reading does, as captions do.

    Parameters
    ----------
    pairing : {"triplet", "person"}
        That of the protocol.
    """
    own = (OWN_OBJECT,) if pairing == "person" else ()
    return "; ".join((LOST_PAIR, OWN_ATTEMPT, *own))


def _reading(published: Oracle) -> Oracle:
    """Let an oracle repair a ledger as this reading has it."""
    return replace(
        published,
        name=f"{published.name}_by_pair",
        title=ON_FOUND_PAIRS,
        repair=lambda ledger: published.repair(by_pair(ledger)),
    )


LOCALISED: dict[str, Oracle] = {
    published.name: _reading(published)
    for published in (human_box, object_box, association, action, missed_gt)
}
"""This reading of these errors, by the name of the error."""
