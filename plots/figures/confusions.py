"""Wrong verbs where others are annotated, and their cost in mAP.

What a confusion is: see :mod:`diaghoi.semantic.confusions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from diaghoi.diagnosis.saved import as_one, scenes_of
from diaghoi.exceptions import InputError
from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import (
    FigureKind,
    Model,
    ModelData,
    NotApplicable,
    Source,
    data_of,
    diagnosis_of,
    reading,
    shown_names,
)
from diaghoi.plots.labels import MINUS, fitted_pair
from diaghoi.plots.legend import legend_above
from diaghoi.plots.panels import one_panel, set_title
from diaghoi.plots.style import colour, lighter, paper
from diaghoi.semantic.confusions import word_confusions

SHOWN = 10  # confusions of a model
MANY_ROWS = 2  # rows of panels, above which each panel shows half as many confusions
HEIGHT = 2.3  # inches: height of a single panel
FRAME, BAR, GAP = 0.65, 0.15, 0.25  # inches: above and below the bars, of a bar, beside a panel
NARROWEST = 2.6  # inches: least width of a panel, nearly half of it for the names of verbs
SCALE = "ΔmAP (points)"
NAME_ROOM, NAME_SIZE = 1.25, 6.0  # inches, points
NAMES = (
    "Wrong verb (verb annotated for the pair; V-COCO: read by the pair, without an object box for "
    "the person). That one may be found as well; of several, it is the assigned or else the first "
    "one. Number: mAP gained by repairing these predictions alone; gains do not add up."
)
SIMILAR = 0.5
"""Similarity of verbs from which a bar is pale. With the right object (similarity 1) and equal
weights it gives sigma 0.75, the bound of :data:`diaghoi.cases.similarities.NEAR`."""
SHADES = {
    f"{SIMILAR:g} or more": 0.75,
    f"below {SIMILAR:g}": 0.4,
    "0": 0.0,
}
"""Share of white in a bar by the similarity of its verbs."""
LEGEND = "Similarity of the two verbs"


class ConfusionCost(NamedTuple):
    """One confusion of one model.

    Parameters
    ----------
    predicted, annotated : str
        The verbs.
    delta : float
        ΔmAP of repairing it alone, in percent points.
    similarity : float or None
        Of the verbs; None where no table is known.
    """

    predicted: str
    annotated: str
    delta: float
    similarity: float | None


def confusions_table(found: Sequence[Mapping[str, Any]]) -> list[ConfusionCost]:
    """Extract the data of :func:`confusions` from a semantic diagnosis, the most costly first.

    Parameters
    ----------
    found : sequence of mapping
        ``confusions`` of :meth:`diaghoi.semantic.diagnosis.SemanticDiagnosis.to_dict`.

    Raises
    ------
    InputError
        If the result is malformed.
    """
    with reading({}, "confusions", "diaghoi semantic --also diagnose --json"):
        return [
            ConfusionCost(
                str(each["predicted"]),
                str(each["annotated"]),
                100 * float(each["delta_map"]),
                None if each.get("similarity") is None else float(each["similarity"]),
            )
            for each in found
            if each["delta_map"] is not None
        ][:SHOWN]


def confusions(diagnosis: Model | Sequence[ConfusionCost], ax: Axes | None = None) -> Axes:
    """Draw what the confusions of verbs cost, the most costly at the top.

    Parameters
    ----------
    diagnosis : Diagnosis or mapping
        The detector, the result of its semantic evaluation, or a :func:`confusions_table`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        The number at the end of a bar is its length, the shade of a bar the similarity of the
        verbs.

    Raises
    ------
    InputError
        If there is nothing to draw.
    """
    costs = data_of(CONFUSIONS, diagnosis)
    if not costs:
        raise InputError("diagnosis: there is no confusion to draw")
    with paper():
        ax, target = one_panel(ax, HEIGHT)
        _bars(ax, costs)
        ax.set_xlabel(SCALE)
        _legend(target, [costs])
        add_note(target, NAMES)
    return ax


def _shade(similarity: float | None) -> float:
    pale, medium, dark = SHADES.values()
    if not similarity:
        return dark
    return pale if similarity >= SIMILAR else medium


def _bars(ax: Axes, costs: Sequence[ConfusionCost]) -> None:
    for place, cost in enumerate(costs):
        ax.barh(
            place,
            cost.delta,
            0.72,
            color=lighter(colour("action"), _shade(cost.similarity)),
            edgecolor="0.15",
            linewidth=0.4,
        )
        ax.annotate(
            f"{cost.delta:.2f}".replace("-", MINUS),
            (max(cost.delta, 0.0), place),
            xytext=(2, 0),
            textcoords="offset points",
            va="center",
            fontsize=NAME_SIZE,
        )
    names = [fitted_pair(c.predicted, c.annotated, NAME_ROOM, NAME_SIZE) for c in costs]
    ax.set_yticks(range(len(costs)), names, fontsize=NAME_SIZE)
    ax.set_ylim(max(len(costs), 2) - 0.4, -0.6)
    ax.margins(x=0.2)
    ax.tick_params(axis="y", length=0)
    ax.axvline(0, color="black", linewidth=0.6, zorder=3)
    ax.xaxis.grid(True, color="0.9", linewidth=0.5)


def _legend(target: Axes | Figure, models: Sequence[Sequence[ConfusionCost]]) -> None:
    if not any(cost.similarity is not None for costs in models for cost in costs):
        return
    marks = [
        Patch(
            facecolor=lighter(colour("action"), shade),
            edgecolor="0.15",
            linewidth=0.4,
            label=title,
        )
        for title, shade in SHADES.items()
    ]
    legend_above(target, marks, LEGEND, size=7.0, mark=1.4)


def _data(source: Source) -> list[ConfusionCost]:
    # The result of a semantic evaluation, or a report that holds one.
    saved = source.result.get("semantic", source.result).get("diagnosis")
    if isinstance(saved, Mapping) and "confusions" in saved:
        return _some(confusions_table(saved["confusions"]))
    diagnosis = as_one(diagnosis_of(source))
    verbs = [verb.replace("_", " ") for verb in diagnosis.vocabulary.verbs]
    found = word_confusions(diagnosis, *scenes_of(diagnosis))
    costs = [
        ConfusionCost(verbs[each.predicted], verbs[each.annotated], 100 * each.delta_map, None)
        for each in found[:SHOWN]
        if each.delta_map is not None
    ]
    return _some(costs)


def _some(costs: list[ConfusionCost]) -> list[ConfusionCost]:
    if not costs:
        raise NotApplicable("no annotated pair has a wrong verb")
    return costs


def _draw(figure: Figure, models: Sequence[ModelData]) -> None:
    columns = min(len(models), max(1, int(figure.get_figwidth() / NARROWEST)))
    rows = ceil(len(models) / columns)
    shown = SHOWN if rows <= MANY_ROWS else SHOWN // 2
    costs = [model.data[:shown] for model in models]
    figure.set_figheight(rows * (FRAME + BAR * max(map(len, costs))))
    # Each model has its own confusions, so the panels cannot share the names of bars.
    panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for panel in panels[len(models) :]:
        panel.remove()
    width = figure.get_figwidth() / columns - NAME_ROOM - GAP
    for panel, name, of_model in zip(panels, shown_names(models), costs, strict=False):
        _bars(panel, of_model)
        panel.set_xlabel(SCALE)
        set_title(panel, name, width)
    # The same scale everywhere: bars of different models are compared.
    drawn = panels[: len(models)]
    low, high = zip(*(panel.get_xlim() for panel in drawn), strict=True)
    for panel in drawn:
        panel.set_xlim(min(low), max(high))
    _legend(figure, costs)
    add_note(figure, NAMES)


CONFUSIONS = FigureKind(
    name="confusions",
    title="Wrong verbs on annotated pairs, and what they cost",
    needs="diagnoses",
    data=_data,
    draw=_draw,
    height=HEIGHT,
)
