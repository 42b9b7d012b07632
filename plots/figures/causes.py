"""False positives by patterns typical of incomplete annotations, and their cost in mAP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.cases import causes as cases
from diaghoi.cases.causes import CAUSES
from diaghoi.diagnosis.saved import as_one, scenes_of
from diaghoi.exceptions import InputError
from diaghoi.plots.figure import ModelData, NotApplicable, Source, figure, reading, tables_of
from diaghoi.plots.labels import points
from diaghoi.plots.panels import (
    GREY,
    TALLEST,
    bar_legend,
    bar_styles,
    bars,
    name_rows,
    number_size,
)
from diaghoi.plots.style import add_note

# Inches:
BAR, BETWEEN = 0.105, 0.09  # height of a bar, and gap between causes
FRAME = 0.6  # legend above, and x-axis below the bars
PANELS = {"share": "False positives (%)", "delta": "ΔmAP (points)"}
NOTE = (
    "A pattern is no proof, and a missing annotation may follow no pattern. ΔmAP is the gain from "
    "removing these predictions; counting them as correct could gain more."
)


class CauseShare(NamedTuple):
    """A cause for one model.

    Parameters
    ----------
    cause : str
        Name of the cause: see :data:`diaghoi.cases.causes.CAUSES`.
    share : float
        Share of all false positives, in percent.
    delta : float or None
        Change in mAP without the false positives of the cause, in percentage points; None if
        undefined.
    """

    cause: str
    share: float
    delta: float | None


def causes_table(result: Mapping[str, Any], split: str = "full") -> list[CauseShare]:
    """Extract the data of :func:`annotation_causes` from a result, in the order of precedence.

    The cause ``model``, which covers all remaining false positives, is omitted.

    Parameters
    ----------
    result : mapping
        A result with the key ``annotation_causes``: see
        :meth:`diaghoi.cases.causes.Causes.to_dict`.
    split : str
        Group of classes over which mAP is averaged.

    Raises
    ------
    NotApplicable
        If there are no causes or no false positives.
    InputError
        If the result is malformed.
    """
    found = result.get("annotation_causes")
    if found is None:
        raise NotApplicable("the saved result has no causes; give the predictions")
    with reading(result, "annotation_causes", "diaghoi.cases.causes"):
        rows = [
            CauseShare(
                name,
                100 * float(found[name]["share"] or 0),
                None if (delta := found[name]["delta_map"][split]) is None else 100 * float(delta),
            )
            for name in CAUSES
            if name in found and name != "model"
        ]
    if not any(row.share for row in rows):
        raise NotApplicable("no false positive has a cause in the annotations")
    return rows


def _data(source: Source) -> list[CauseShare]:
    if source.diagnosis is None or not source.diagnosis.scenes:
        return causes_table(source.result)
    diagnosis = as_one(source.diagnosis)
    found = cases.annotation_causes(diagnosis, *scenes_of(diagnosis))
    return causes_table({"annotation_causes": found.to_dict()})


@figure(
    "annotation_causes",
    "False positives that may be due to the annotations, and their cost",
    data=_data,
    needs="results",
)
def annotation_causes(
    target: Axes | Figure, models: Sequence[ModelData], of: str = "share"
) -> None:
    """Draw the share of each cause among the false positives, and its cost in mAP.

    Parameters
    ----------
    diagnoses : Diagnosis, mapping, or sequence of these
        One or more detectors, their results with ``annotation_causes``, or the :func:`causes_table`
        of each by label.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.
    of : {"share", "delta"}
        Quantity shown in given axes.

    Raises
    ------
    InputError
        If there is no model, or the quantity is unknown.
    """
    if of not in PANELS:
        raise InputError(f"of: '{of}' is not known; give one of {', '.join(PANELS)}")
    tables = tables_of(models)
    some = {row.cause for table in tables.values() for row in table if row.share}
    names = [name for name in CAUSES if name in some]
    bar = min(BAR, (TALLEST - 2.0) / len(names) / len(tables) - BETWEEN / len(tables))
    if isinstance(target, Figure):
        target.set_figheight(FRAME + len(names) * (BETWEEN + len(tables) * bar))
        panels = dict(zip(PANELS, target.subplots(1, len(PANELS), sharey=True), strict=True))
    else:
        panels = {of: target}
    step = bar / (bar * len(tables) + BETWEEN)
    for key, ax in panels.items():
        styles = bar_styles(len(tables))
        for number, (table, style) in enumerate(zip(tables.values(), styles, strict=True)):
            rows = [(row.cause, getattr(row, key)) for row in table if row.cause in names]
            known = [(names.index(name), value) for name, value in rows if value is not None]
            bars(
                ax,
                [place + (number - (len(tables) - 1) / 2) * step for place, _ in known],
                [value for _, value in known],
                0.94 * step,
                [points(value) for _, value in known],
                size=number_size(bar),
                across=True,
                color=style.on(GREY),
                hatch=style.hatch,
            )
        name_rows(ax, [CAUSES[name].title for name in names], 7.0)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.margins(x=0.16)
        ax.axvline(0, color="black", linewidth=0.6, zorder=3)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(PANELS[key])
    bar_legend(target, list(tables))
    add_note(target, NOTE)
