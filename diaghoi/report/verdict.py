"""What a diagnosis comes to, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diaghoi.oracles import ORACLES, TOTALS

WORDS = {
    "human_box": "Wrong human boxes",
    "object_box": "Wrong object boxes",
    "both_boxes": "Pairs wrong in both boxes",
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
    start = f"mAP {100 * before:.2f}{_in_any_ranking(result)}."
    if result["counts"]["predicted_triplets"] == 0:
        return f"{start} There are no predictions of these classes: everything is missed."
    gains = {
        name: outcome["delta_map"]["full"]
        for name, outcome in result["oracles"].items()
        if name not in TOTALS and outcome["delta_map"]["full"] is not None
    }
    worst = max(gains, key=lambda name: gains[name], default=None)
    if worst is None or round(100 * gains[worst], 2) <= 0:
        return f"{start} Repairing one kind of error alone would add nothing."
    return f"{start} {_words(worst)} cost most: repaired, they would add {100 * gains[worst]:.2f}."


def _in_any_ranking(result: Mapping[str, Any]) -> str:
    """Say what mAP the predictions of a detector without scores would have in any ranking."""
    bounds = result.get("unscored", {}).get("bounds", {}).get("protocol", {})
    if not bounds or bounds["worst"]["full"] is None:
        return ""
    low, high = (100 * bounds[key]["full"] for key in ("worst", "best"))
    return (
        f" with all predictions of a class in one rank; {low:.2f} to {high:.2f} if scores ranked "
        "them, duplicates last"
    )


def _words(name: str) -> str:
    """Name the errors of an oracle; those of a user's own go by its title."""
    title = ORACLES[name].title if name in ORACLES else name.replace("_", " ")
    return WORDS.get(name, f"'{title}' errors")
