"""False positives by patterns that incomplete annotations show, and their cost in mAP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.cases import causes as cases
from diaghoi.cases.causes import CAUSES
from diaghoi.diagnosis.saved import as_one, scenes_of
from diaghoi.exceptions import InputError
from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import (
    FigureKind,
    ModelData,
    Models,
    NotApplicable,
    Source,
    drawn,
    reading,
    tables_of,
)
from diaghoi.plots.labels import points
from diaghoi.plots.legend import EDGE, GREY, bar_legend, hatch, paleness
from diaghoi.plots.style import lighter

# Inches:
BAR, BETWEEN = 0.105, 0.09  # height of a bar, and gap between causes
THINNEST = 0.085  # bars from this height on have a number at their end, in 6 pt type
FRAME = 0.75  # legend above; x-axis and protocol below the bars
MOST_BARS = 4.6  # height of all bars; those of many models become thinner
NUMBER_SIZE, NAME_SIZE = 6.0, 7.0  # points
NUMBERED = "bars of each cause from top to bottom"  # order of more than four models
PANELS = {"share": "False positives (%)", "delta": "ΔmAP (points)"}
NOTE = (
    "Patterns prove no cause: pairs and objects that are left out of the annotations fall under "
    "none. ΔmAP of removing these predictions: had they been right it could be higher."
)


class CauseShare(NamedTuple):
    """One cause of one model.

    Parameters
    ----------
    cause : str
        Name of the cause: see :data:`diaghoi.cases.causes.CAUSES`.
    share : float
        Share of all false positives, in percent.
    delta : float or None
        In percent points, mAP without these false positives minus mAP; None if undefined.
    """

    cause: str
    share: float
    delta: float | None


def causes_table(result: Mapping[str, Any], split: str = "full") -> list[CauseShare]:
    """Extract the data of :func:`annotation_causes` from a result, in the order of precedence.

    The cause ``model``, which is the rest, is left out.

    Parameters
    ----------
    result : mapping
        With the key ``annotation_causes``: see :meth:`diaghoi.cases.causes.Causes.to_dict`.
    split : str
        Which mean over classes.

    Raises
    ------
    NotApplicable
        If there are no causes, or no false positives.
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


def annotation_causes(diagnoses: Models, ax: Axes | None = None, of: str = "share") -> Axes:
    """Draw the share of each cause among false positives, or their cost in mAP.

    Parameters
    ----------
    diagnoses : Diagnosis, mapping, or sequence of these
        One or more detectors, or their results with this part; or the :func:`causes_table` of each
        by its label.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.
    of : {"share", "delta"}
        What the bars show.

    Raises
    ------
    InputError
        If there is no model, or bars cannot show this.
    """
    if of not in PANELS:
        raise InputError(f"of: '{of}' is not known; give one of {', '.join(PANELS)}")
    return drawn(ANNOTATION_CAUSES, diagnoses, ax, shown=(of,))


def _shown(tables: Sequence[Sequence[CauseShare]]) -> list[str]:
    """List the causes that occur in any model, in the order of precedence."""
    some = {row.cause for table in tables for row in table if row.share}
    return [name for name in CAUSES if name in some]


def _bar(models: int, causes: int) -> float:
    """Return the height of one bar in inches."""
    return min(BAR, (MOST_BARS / causes - BETWEEN) / models)


def _height(tables: Sequence[Sequence[CauseShare]]) -> float:
    causes = len(_shown(tables))
    return causes * (BETWEEN + len(tables) * _bar(len(tables), causes))


def _bars(ax: Axes, tables: Sequence[Sequence[CauseShare]], of: str) -> None:
    """Draw the bars of a panel, from the first cause and model at the top."""
    names, models = _shown(tables), len(tables)
    bar = _bar(models, len(names))
    room = bar * models + BETWEEN
    for number, table in enumerate(tables):
        for row in table:
            value: float | None = getattr(row, of)
            if row.cause not in names or value is None:
                continue
            place = names.index(row.cause) + (number - (models - 1) / 2) * bar / room
            ax.barh(
                place,
                value,
                0.94 * bar / room,
                color=lighter(GREY, paleness(number, models)),
                edgecolor=EDGE,
                hatch=hatch(number, models),
            )
            if bar >= THINNEST:
                ax.annotate(
                    points(value),
                    (max(value, 0), place),
                    xytext=(2.0, -0.3),
                    textcoords="offset points",
                    va="center_baseline",
                    fontsize=NUMBER_SIZE,
                )
    ax.set_yticks(range(len(names)), [CAUSES[name].title for name in names], fontsize=NAME_SIZE)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.16)
    ax.axvline(0, color="black", linewidth=0.6, zorder=3)
    ax.spines["left"].set_visible(False)
    ax.xaxis.grid(True, color="0.9", linewidth=0.5)
    ax.set_xlabel(PANELS[of])


def _data(source: Source) -> list[CauseShare]:
    if source.diagnosis is None or not source.diagnosis.scenes:
        return causes_table(source.result)
    diagnosis = as_one(source.diagnosis)
    found = cases.annotation_causes(diagnosis, *scenes_of(diagnosis))
    return causes_table({"annotation_causes": found.to_dict()})


def _draw(
    target: Axes | Figure, models: Sequence[ModelData], shown: Sequence[str] = tuple(PANELS)
) -> None:
    tables = tables_of(models)
    if isinstance(target, Axes):
        panels = [target]
    else:
        target.set_figheight(FRAME + _height(list(tables.values())))
        panels = target.subplots(1, len(shown), sharey=True, squeeze=False).ravel().tolist()
    for ax, of in zip(panels, shown, strict=True):
        _bars(ax, list(tables.values()), of)
    bar_legend(target, list(tables), numbered=NUMBERED)
    add_note(target, NOTE)


ANNOTATION_CAUSES = FigureKind(
    name="annotation_causes",
    title="False positives that may be due to the annotations, and what they cost",
    needs="results",
    data=_data,
    draw=_draw,
)
