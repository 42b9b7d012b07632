"""Verbs predicted instead of the annotated verbs, and their cost in mAP.

:mod:`diaghoi.semantic.confusions` defines confusions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from diaghoi.diagnosis.saved import as_one, scenes_of
from diaghoi.plots.figure import (
    ModelData,
    NotApplicable,
    Source,
    diagnosis_of,
    figure,
    reading,
    shown_names,
)
from diaghoi.plots.labels import MINUS, fitted_pair
from diaghoi.plots.panels import (
    EDGE,
    NAME_SIZE,
    TALLEST,
    bars,
    legend_above,
    name_rows,
    panel_grid,
    set_title,
    shape_of,
)
from diaghoi.plots.style import add_note, colour, lighter
from diaghoi.semantic.confusions import word_confusions

SHOWN = 10  # confusions of a model
HEIGHT = 2.3  # inches: height of a single panel
FRAME, HEAD, BAR = 0.4, 0.25, 0.14  # inches: heights of the scale, of a panel's title, and of a bar
NARROWEST = 2.6  # inches: least width of a panel, nearly half of which holds the names of verbs
SCALE = "ΔmAP (points)"
NAME_ROOM = 1.25  # inches
NAMES = (
    "Wrong verb (verb annotated for the pair; V-COCO: on found pairs, without an object box for "
    "the person). Another prediction may find the annotated verb. If several verbs are annotated, "
    "the verb that the prediction is assigned to counts, or else the first. Number: mAP gained by "
    "repairing only these predictions; gains do not add up."
)
SIMILAR = 0.5
"""Least verb similarity at which a bar is pale. With the right object (similarity 1) and equal
weights, this verb similarity gives sigma 0.75, the bound of
:data:`diaghoi.cases.similarities.NEAR`.
"""
SHADES = {
    f"{SIMILAR:g} or more": 0.75,
    f"below {SIMILAR:g}": 0.4,
    "0": 0.0,
}
"""Share of white in a bar, by similarity of its verbs."""
LEGEND = "Similarity of the two verbs"


class ConfusionCost(NamedTuple):
    """A confusion by one model.

    Parameters
    ----------
    predicted, annotated : str
        The verbs.
    delta : float
        ΔmAP of repairing only this confusion, in percentage points.
    similarity : float or None
        Similarity of the verbs; None without a table of similarities.
    """

    predicted: str
    annotated: str
    delta: float
    similarity: float | None


def confusions_table(found: Sequence[Mapping[str, Any]]) -> list[ConfusionCost]:
    """Extract the data of :func:`confusions` from a semantic diagnosis, costliest first.

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


def _shade(similarity: float | None) -> float:
    pale, medium, dark = SHADES.values()
    if not similarity:
        return dark
    return pale if similarity >= SIMILAR else medium


def confusion_bars(ax: Axes, costs: Sequence[ConfusionCost]) -> None:
    """Draw one bar per confusion, the first at the top."""
    bars(
        ax,
        range(len(costs)),
        [cost.delta for cost in costs],
        0.72,
        [_cost(cost.delta) for cost in costs],
        across=True,
        color=[lighter(colour("action"), _shade(cost.similarity)) for cost in costs],
        linewidth=0.4,
    )
    name_rows(ax, [fitted_pair(c.predicted, c.annotated, NAME_ROOM, NAME_SIZE) for c in costs])
    ax.margins(x=0.2)
    ax.axvline(0, color="black", linewidth=0.6, zorder=3)


def _cost(delta: float) -> str:
    """Format percentage points with two decimals, or one significant digit below 0.005."""
    text = f"{delta:.2f}" if abs(delta) >= 0.005 or not delta else f"{delta:.1g}"
    return text.replace("-", MINUS) if "e" not in text else f"{delta:.4f}".replace("-", MINUS)


def _data(source: Source) -> list[ConfusionCost]:
    # The result of a semantic evaluation, or a report that contains one.
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


@figure(
    "confusions",
    "Wrong verbs on annotated pairs, and their cost",
    data=_data,
    height=HEIGHT,
    single=True,
)
def confusions(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    """Draw the costs of confusions of verbs, largest at the top.

    The number at the end of a bar gives the length of the bar, and the shade of the bar shows the
    similarity of the verbs.

    Parameters
    ----------
    diagnosis : Diagnosis or mapping
        The detector, the result of its semantic evaluation, or a :func:`confusions_table`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.

    Raises
    ------
    InputError
        If there is nothing to draw.
    """
    costs: list[list[ConfusionCost]] = [model.data for model in models]
    if isinstance(target, Figure):
        rows, columns = shape_of(len(models), target.get_figwidth(), NARROWEST)
        # Show as many confusions as fit on a page.
        most = int(((TALLEST - 2 * FRAME) / rows - HEAD) / BAR)
        costs = [own[:most] for own in costs]
        height = HEAD + BAR * max(map(len, costs))
        target.set_figheight(FRAME + height)
        titles = [""] * len(models)
        panels = panel_grid(target, titles, (SCALE, ""), height, NARROWEST, share_y=False)
        room = target.get_figwidth() / columns - NAME_ROOM - 0.25
        for panel, name in zip(panels, shown_names(models), strict=True):
            set_title(panel, name, room)
    else:
        panels = panel_grid(target, [""], (SCALE, ""), 0.0)
    for panel, own in zip(panels, costs, strict=True):
        confusion_bars(panel, own)
    if any(cost.similarity is not None for own in costs for cost in own):
        marks = [
            Patch(facecolor=lighter(colour("action"), shade), edgecolor=EDGE, label=title)
            for title, shade in SHADES.items()
        ]
        legend_above(target, marks, LEGEND)
    add_note(target, NAMES)
