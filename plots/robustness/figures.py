"""The figures of a robustness study by name, and their data from its result."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from diaghoi.comparison.semantic import measured_by
from diaghoi.plots.captions import explained
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, Source
from diaghoi.plots.robustness.curves import ROBUSTNESS_COSTS, ROBUSTNESS_SHARES
from diaghoi.plots.robustness.errors import ROBUSTNESS_ERRORS
from diaghoi.plots.robustness.scores import (
    ROBUSTNESS_DROPS,
    ROBUSTNESS_GROUPS,
    ROBUSTNESS_SEVERITIES,
)

ROBUSTNESS_FIGURES: dict[str, FigureKind] = {
    kind.name: kind
    for kind in (
        ROBUSTNESS_DROPS,
        ROBUSTNESS_GROUPS,
        ROBUSTNESS_SEVERITIES,
        ROBUSTNESS_ERRORS,
        ROBUSTNESS_COSTS,
        ROBUSTNESS_SHARES,
    )
}
"""In the order in which they are drawn."""
OF_SCORES = (ROBUSTNESS_DROPS, ROBUSTNESS_GROUPS, ROBUSTNESS_SEVERITIES)
OVER_CORRUPTIONS = (ROBUSTNESS_COSTS, ROBUSTNESS_SHARES)
OVER_SEVERITIES = (ROBUSTNESS_DROPS, ROBUSTNESS_ERRORS)
BY_CORRUPTION = (ROBUSTNESS_DROPS, ROBUSTNESS_SEVERITIES, ROBUSTNESS_ERRORS)


def models_of(
    kind: FigureKind, result: Mapping[str, Any], corruptions: Collection[str] = ()
) -> list[ModelData]:
    """Extract the data of a figure from the result of a study.

    Parameters
    ----------
    kind : FigureKind
        One of :data:`ROBUSTNESS_FIGURES`.
    result : mapping
        As from :meth:`diaghoi.robustness.evaluation.Robustness.to_dict`, or a saved one.
    corruptions : collection of str
        Names of those to show in figures that show single corruptions; by default all, or those
        that cost most.

    Returns
    -------
    list of ModelData
        The models that the figure can show.

    Raises
    ------
    NotApplicable
        If it can show none; the reason is that of the last one.
    """
    shared = {key: result[key] for key in ("corruptions", "severities")}
    shared["bootstrap"] = result.get("bootstrap")
    if corruptions and kind in BY_CORRUPTION:
        shown = [each for each in result["corruptions"] if each["name"] in corruptions]
        shared |= {"corruptions": shown, "chosen": True}
    found: list[ModelData] = []
    reason = NotApplicable("there is no model")
    for model in result["models"]:
        try:
            data = kind.data(Source(result={**model, **shared}))
        except NotApplicable as error:
            reason = error
            continue
        found.append(
            ModelData(
                label=model["label"],
                data=data,
                stage=model["stage"] or "",
                backbone=model["backbone"] or "",
                protocol=result["protocol"]["name"],
                score=result["metric_title"] if kind in OF_SCORES else "",
                note=_note(kind, result, shared["corruptions"]),
            )
        )
    if not found:
        raise reason
    return found


def _note(
    kind: FigureKind, result: Mapping[str, Any], corruptions: Sequence[Mapping[str, Any]]
) -> str:
    """Say what short names mean, what means are over, and what soft scores rest on."""
    names = {each["abbreviation"]: each["label"] for each in corruptions}
    parts = [explained(names)] if kind in OVER_SEVERITIES else []
    parts.append(_scope(kind, result))
    if kind in OF_SCORES and "similarity" in result:
        parts += measured_by(result)
    return " ".join(filter(None, parts))


def _scope(kind: FigureKind, result: Mapping[str, Any]) -> str:
    """Say what means are over, where that is not all of the paper."""
    scope = result.get("scope", {"complete": True})
    if scope["complete"]:
        return ""
    if kind is ROBUSTNESS_GROUPS:
        return f"Means over {scope['corruptions']}, {scope['severities']}."
    if kind in OVER_CORRUPTIONS:
        return f"Means over {scope['corruptions']}."
    if len(result["severities"]) == 1:
        return f"At {scope['severities']}." if kind in OVER_SEVERITIES else ""
    return f"Means over {scope['severities']}." if kind in OVER_SEVERITIES else ""
