"""Errors on found pairs: a stricter rule for the annotated triplet that a prediction attempts.

The published rule assigns a wrong prediction to any unfound triplet of the same person or object.
So when a detector misses a pair, a prediction of the same person with another object is assigned
to that pair and counts as a wrong action or a wrong association.

By the stricter rule, a wrong prediction *attempts* an annotated triplet only if the two share a
right box, as in the published rule, and one of two conditions holds:

- The error is a wrong action, and the predicted pair localises the annotated pair. A pair with a
  true positive of the class does not localise another triplet of that class.
- The error is not a wrong action, and the prediction names the object category of the triplet, or a
  wrong category at the location of the triplet's object. On V-COCO, where predictions name no
  object, the prediction must have the action and role of the triplet.

Duplicates and predictions with two wrong boxes attempt nothing. A triplet that is neither found nor
attempted is missed. Predictions with the same class as the triplet take precedence
(:func:`diaghoi.evaluation.errors.attempt`).

In the published code for V-COCO, a wrong action with an object counts as an association error, even
if the person does something else with that object. By the rule of this module, a wrong action with
an object of the person is an action error, and an association error pairs a person with an object
that belongs to no action of the person.
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
    """Relabel a ledger by the module's rule, so that oracles can repair the ledger; idempotent."""
    return replace(
        ledger,
        row_label=labels_by_pair(ledger),
        row_annotation=ledger.row_attempt,
        annotation_attempted=_attempted(ledger),
    )


def _attempted(ledger: Ledger) -> BoolArray:
    """Return a mask, (A,), of the annotated triplets that are found or attempted."""
    attempted = np.zeros(len(ledger.annotation_class), dtype=bool)
    for _, part in ledger.parts():
        attempted[part.row_attempt[part.row_attempt >= 0]] = True
    return attempted


def labels_by_pair(ledger: Ledger) -> IntArray:
    """Return labels, (R,), that call a wrong action with a person's own object an action error."""
    of_pair = (ledger.row_label == ASSOCIATION) & ledger.row_on_pair
    return np.where(of_pair, np.int8(ACTION), ledger.row_label)


def lost_triplets(ledger: Ledger) -> dict[str, int]:
    """Count the annotated triplets that count as missed under the rule of this module.

    Returns
    -------
    dict
        ``triplets`` is the number of missed triplets; ``both_boxes`` is the number of missed
        triplets whose image has a prediction of the same class with both boxes wrong, which may
        have been meant for the triplet.
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
"""Name of the module's rule in all output."""
LOST_PAIR = "if no prediction finds a triplet's pair, the triplet is missed, not a wrong action"
OWN_ATTEMPT = "a wrong prediction attempts only triplets of its own object"
OWN_OBJECT = "a wrong action with a person's own object is an action error"
PUBLISHED = "a wrong action with a person's own object is an association error"
"""What the published rule for V-COCO says about a wrong action with a person's own object."""
LEFT_OUT = (
    "wrong actions with an object box are left out: the published rule calls them associations"
)
"""What the mAP of actions on found pairs leaves out on V-COCO."""


def reading_by_pair(pairing: str) -> str:
    """Describe the module's rule for captions, given the pairing of the protocol."""
    own = (OWN_OBJECT,) if pairing == "person" else ()
    return "; ".join((LOST_PAIR, OWN_ATTEMPT, *own))


def _reading(published: Oracle) -> Oracle:
    """Wrap an oracle so that the oracle repairs a ledger relabelled by the module's rule."""
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
"""Oracles under the module's rule, by error name."""
