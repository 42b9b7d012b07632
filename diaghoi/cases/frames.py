"""Convert the tables of a diagnosis to pandas data frames."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from diaghoi.cases.cases import worst_cases
from diaghoi.data.table import data_frame
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.saved import as_one, scenes_of
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import ORACLES, error_title

FRAMES = ("classes", "images", "errors", "cases")
CASES = 100  # maximum number for each kind of error


def to_frame(diagnosis: Diagnosis, of: str = "classes") -> Any:
    """Return a table of a diagnosis; see :meth:`diaghoi.Diagnosis.to_frame`.

    Raises
    ------
    InputError
        If pandas is not installed, the table is unknown, or cases are requested from a diagnosis
        without its annotations and predictions.
    """
    if of not in FRAMES:
        raise InputError(
            f"of: '{of}' is not known{close_matches(of, FRAMES)}; give one of {', '.join(FRAMES)}"
        )
    if of == "errors":
        return data_frame(_errors(diagnosis))
    if of == "cases":
        return data_frame(_cases(diagnosis))
    return data_frame(getattr(diagnosis, of))


def _errors(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Create a row for each oracle; ``number`` is undefined for oracles without a label."""
    errors, right = diagnosis.errors, diagnosis.errors["true_positive"]
    numbers = errors | {
        "false_positive": len(diagnosis.ledger.row_class) - right,
        "false_negative": int(diagnosis.ledger.annotation_counts.sum()) - right,
    }
    return [
        {
            "error": name,
            "title": error_title(name),
            "number": numbers.get(name),
            **{f"delta_map_{split}": gain for split, gain in outcome["delta_map"].items()},
        }
        for name, outcome in diagnosis.oracles.items()
    ]


def _cases(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    single = as_one(diagnosis)
    scenes = scenes_of(single)
    return [
        asdict(case)
        for error in ORACLES
        if error in diagnosis.errors
        for case in worst_cases(single, *scenes, error, top=CASES)
    ]
