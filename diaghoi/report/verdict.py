"""What a diagnosis comes to, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diaghoi.oracles import ORACLES

# Sums of several kinds of error: they say that something is wrong, not what.
TOTALS = ("false_positive", "false_negative")
WORDS = {
    "human_box": "Wrong human boxes",
    "object_box": "Wrong object boxes",
    "both_boxes": "Triplets with both boxes wrong",
    "association": "Wrong associations",
    "action": "Wrong actions",
    "duplicate": "Duplicates",
    "missed_gt": "Missed triplets",
}


def verdict(result: Mapping[str, Any]) -> str:
    """Say which error costs the detector most, with the numbers.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.

    Returns
    -------
    str
        One sentence, mAP in percent. Errors that tie go by the order of the oracles.
    """
    before = result["map"]["full"]
    if before is None:
        return "mAP is undefined: no class of the protocol is annotated."
    if result["counts"]["predicted_triplets"] == 0:
        return "There are no predictions of these classes, so everything is missed."
    gains = {
        name: outcome["delta_map"]["full"]
        for name, outcome in result["oracles"].items()
        if name not in TOTALS and outcome["delta_map"]["full"] is not None
    }
    worst = max(gains, key=lambda name: gains[name], default=None)
    if worst is None or f"{100 * gains[worst]:.2f}" in ("0.00", "-0.00") or gains[worst] < 0:
        return f"No kind of error alone costs anything: mAP is {100 * before:.2f}."
    return (
        f"{_words(worst)} cost most: without them mAP would be "
        f"{100 * (before + gains[worst]):.2f} instead of {100 * before:.2f} "
        f"(+{100 * gains[worst]:.2f})."
    )


def _words(name: str) -> str:
    """Name the errors of an oracle; those of a user's own go by its title."""
    title = ORACLES[name].title if name in ORACLES else name.replace("_", " ")
    return WORDS.get(name, f"'{title}' errors")
