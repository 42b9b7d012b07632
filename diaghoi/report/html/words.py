"""Explain each error, table and order of cases on the page in a sentence or two."""

from __future__ import annotations

from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.oracles import ORACLES

MEANINGS = {
    "human_box": "The object box is right; the human box does not overlap any annotated person "
    "enough, or is not a person.",
    "object_box": "The human box is right; the object box overlaps no annotated box of its "
    "category enough.",
    "both_boxes": "Neither box overlaps an annotated box of its category enough.",
    "association": "Both boxes are right, but no annotated triplet joins them.",
    "action": "The boxes match an annotated pair, but the verb is not annotated for it.",
    "duplicate": "The triplet is right, but a prediction with a higher score has already found it.",
    "missed_gt": "An annotated triplet that no prediction found, and to which no wrong prediction "
    "is assigned.",
    "false_positive": "All wrong predictions together.",
    "false_negative": "All annotated triplets that were not found.",
}
"""What each error means: for a prediction, or for an annotation (missed, false negative)."""

BY_PERSON = MEANINGS | {
    "human_box": "The role fits the closest person, often because no object box is predicted or "
    "annotated, but the human box overlaps no annotated box enough.",
    "object_box": "The person is right; the object box overlaps no annotated box enough, or none "
    "is predicted where one is annotated for this role.",
    "both_boxes": "The human box overlaps no annotated person enough, and the role does not fit "
    "the closest person, even if the object box overlaps an annotated box.",
    "association": "The person is right and the object box overlaps an annotated box enough, but "
    "not the box annotated for this role; it may overlap the box of another action of the same "
    "person. "
    "Or the role fits, but the human box is not a person.",
    "action": "The person is right and no object box is predicted, but the action is not annotated "
    "for this person. With an object box, a prediction of such an action counts as an association "
    "or a wrong object box.",
}
"""What each error means by the published rule of V-COCO, which matches predictions by person."""

TABLES = (
    "Mean average precision over the HOI classes: by the rules of the benchmark itself, and by "
    "the protocol used on the rest of this page.",
    "How often each error occurs, and what it costs: an oracle repairs all errors of one kind, mAP "
    "is computed again, and the difference is ΔmAP. Differences may be negative. The differences "
    "do not add up to the gap to 100, because repairing two kinds of error at once gains more than "
    "repairing each alone.",
    "The two halves of the detector, separately: finding the pairs that interact and rejecting all "
    "others, and naming the actions of the found pairs.",
)
"""Description of each table of the summary, in the order of the tables."""


def meaning_of(error: str, *, categories_count: bool) -> str:
    """Describe an error; empty for an unknown error.

    Parameters
    ----------
    error : str
        Name of an oracle or label.
    categories_count : bool
        Whether boxes are compared only with boxes of the same category: true unless predictions are
        matched by person, as on V-COCO.
    """
    return (MEANINGS if categories_count else BY_PERSON).get(error, "")


def order_of_cases(diagnosis: Diagnosis) -> str:
    """Describe which cases of an error are shown first."""
    wrong = "the predictions with the highest scores come first"
    if diagnosis.answers is not None:
        wrong = "the predictions, which have no scores, are in the order of the file"
    return (
        f"For each error, {wrong}. Missed triplets that are described in a sentence come first, "
        "then triplets with a confident assigned prediction. The third case of an image comes "
        "after the first two cases of all other images."
    )


def definition_of(oracle: str) -> str:
    """Describe the repair of an oracle in one line; empty for an unknown oracle."""
    definition = ORACLES[oracle].definition if oracle in ORACLES else ""
    return " ".join(definition.replace("`", "").split())


def in_unicode(words: str) -> str:
    """Return text that UTF-8 can encode, because file names may be arbitrary bytes."""
    return words.encode(errors="replace").decode()
