"""What each error means, and what each table and figure of the page shows, in a sentence or two."""

from __future__ import annotations

from collections.abc import Mapping

from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.oracles import ORACLES

MEANINGS: Mapping[str, str] = {
    "human_box": "The object box is right; the human box overlaps no annotated person enough.",
    "object_box": "The human box is right; the object box overlaps no annotated box{category} "
    "enough.",
    "both_boxes": "Neither box overlaps an annotated box{category} enough.",
    "association": "Both boxes are right, but no annotated triplet joins these two.",
    "action": "The boxes are those of an annotated pair, but the verb is not annotated for it.",
    "duplicate": "The triplet is right, but a prediction with a higher score has found it already.",
    "missed_gt": "An annotated triplet that nothing found, and that no wrong prediction can be "
    "said to attempt.",
    "false_positive": "All wrong predictions together.",
    "false_negative": "All annotated triplets that were not found.",
}
"""What a prediction with each error is; for missed and false negative, what an annotation is.

``{category}`` stands where the category of the box may count, too.
"""

TABLES = (
    "Mean average precision over the HOI classes: by the rules of the benchmark itself, and by the "
    "protocol that the rest of this page goes by.",
    "How often each error occurs, and what it costs: an oracle repairs all errors of one kind, mAP "
    "is computed again, and the difference is ΔmAP. It is signed, and the differences do not add "
    "up to what is missing to 100, because repairing two errors at once gains more than repairing "
    "each alone.",
    "The two halves of the detector alone: finding the pairs that interact, rejecting all others, "
    "and naming the actions of pairs that were found.",
)
"""What each table of the summary shows, in the order of the tables."""

FIGURES: Mapping[str, str] = {
    "delta_map": "In points of the mean over the classes that count, by the published rule. "
    "False positives and false negatives are errors of several kinds together, on a scale of "
    "their own.",
    "error_shares": "All predictions are ranked by score, the most confident ones are on the left. "
    "The dashed line marks as many predictions as there are annotated triplets: a perfect "
    "detector has nothing but true positives before it.",
    "error_profile_verb": "Shares in percent of the predictions of a verb, of those verbs that "
    "have most annotated triplets.",
    "class_ap": "Each mark is an HOI class, a triangle if it is rare; the line is the median of "
    "classes with about as many annotated triplets.",
    "confusions": "Predicted → annotated verb of the same pair: what repairing this confusion "
    "alone adds to mAP. Paler bars are confusions of similar verbs.",
}
"""What each figure shows, by its name in the registry."""


def meaning_of(error: str, *, categories_count: bool) -> str:
    """Say what an error is; empty for one that is not known here.

    Parameters
    ----------
    error : str
        An oracle or label.
    categories_count : bool
        Whether boxes are compared with boxes of their own category alone.
    """
    category = " of its category" if categories_count else ""
    return MEANINGS.get(error, "").format(category=category)


def order_of_cases(diagnosis: Diagnosis) -> str:
    """Say which cases of an error are shown first."""
    wrong = "the predictions with the highest scores come first"
    if diagnosis.answers is not None:
        wrong = "the predictions, which have no scores, are in the order of their list"
    return (
        f"Of each error, {wrong}; missed triplets are those of the classes with the highest AP. "
        "Of one image there are two cases at most."
    )


def definition_of(oracle: str) -> str:
    """Say what an oracle repairs, in one line; empty for one that is not known here."""
    definition = ORACLES[oracle].definition if oracle in ORACLES else ""
    return " ".join(definition.replace("`", "").split())


def in_unicode(words: str) -> str:
    """Return words that a file in UTF-8 can hold: names of files may be any bytes."""
    return words.encode(errors="replace").decode()
