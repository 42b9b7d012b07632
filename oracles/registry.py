"""List all oracles, in the order of reports, tables and figures."""

from diaghoi.oracles.action import action
from diaghoi.oracles.association import association
from diaghoi.oracles.both_boxes import both_boxes
from diaghoi.oracles.duplicate import duplicate
from diaghoi.oracles.false_negative import false_negative
from diaghoi.oracles.false_positive import false_positive
from diaghoi.oracles.human_box import human_box
from diaghoi.oracles.missed_gt import missed_gt
from diaghoi.oracles.object_box import object_box
from diaghoi.oracles.oracle import Oracle

ORACLES: dict[str, Oracle] = {
    oracle.name: oracle
    for oracle in (
        human_box,
        object_box,
        both_boxes,
        association,
        action,
        duplicate,
        missed_gt,
        false_positive,
        false_negative,
    )
}

# Errors are disjoint; false positives and false negatives are totals over several errors.
TOTALS = ("false_positive", "false_negative")
ERRORS: tuple[str, ...] = tuple(name for name in ORACLES if name not in TOTALS)


ERROR_WORDS = {
    "human_box": "Wrong human boxes",
    "object_box": "Wrong object boxes",
    "both_boxes": "Pairs wrong in both boxes",
    "association": "Wrong associations",
    "action": "Wrong actions",
    "duplicate": "Duplicates",
    "missed_gt": "Missed triplets",
}
"""Names of the errors in the plural, for use in sentences."""


def error_title(name: str) -> str:
    """Return the display name of an error, a true positive or an oracle: ``Object box``."""
    return ORACLES[name].title if name in ORACLES else name.replace("_", " ").capitalize()
