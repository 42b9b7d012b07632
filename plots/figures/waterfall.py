"""Waterfall from mAP to mAP after repairing all errors: additive costs of errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.oracles import ERRORS, error_title
from diaghoi.oracles.localised import reading_by_pair
from diaghoi.plots.figure import (
    ModelData,
    NotApplicable,
    Source,
    diagnosis_of,
    figure,
    shown_names,
)
from diaghoi.plots.labels import inches_of, points
from diaghoi.plots.panels import NARROWEST, bars, name_rows, panel_grid
from diaghoi.plots.style import add_note, colour
from diaghoi.statistics.attribution import attribute

HEIGHT = 1.75  # inches: height of a panel
THICKNESS = 0.72  # height of a bar, as a share of the distance between bars
ROOM = 112  # percent: end of the x-axis, with room for the numbers of bars that end at 100
SCALE = "mAP (%)"
ENDS = {"map": "mAP", "map_repaired": "All repaired"}
PERFECT = 99.95  # percent: from this mAP on, "100.0" is written
SHORT_OF_100 = (
    "The last bar stays below 100 if some annotated triplets are attempted only by predictions "
    "that repairs remove, such as duplicates."
)

READING = (
    "These costs are on found pairs: {}. ΔmAP in other figures and tables follows the published "
    "rule."
)


class WaterfallBar(NamedTuple):
    """A bar in the waterfall.

    Parameters
    ----------
    name : str
        An error; `map` for the first bar, `map_repaired` for the last.
    low, high : float
        Ends of the bar, in percent.
    value : float
        Cost in percentage points; mAP for the first and the last bar.
    """

    name: str
    low: float
    high: float
    value: float


def waterfall_table(attribution: Mapping[str, Any]) -> list[WaterfallBar]:
    """Collect the data for :func:`waterfall`, with the errors in the usual order.

    Parameters
    ----------
    attribution : mapping
        As from :meth:`diaghoi.statistics.attribution.Attribution.to_dict`.
    """
    start, end = 100 * attribution["map"], 100 * attribution["map_repaired"]
    steps = [WaterfallBar("map", 0.0, start, start)]
    level = start
    for name in ERRORS:
        value = 100 * attribution[name]
        steps.append(
            WaterfallBar(name, min(level, level + value), max(level, level + value), value)
        )
        level += value
    return [*steps, WaterfallBar("map_repaired", 0.0, end, end)]


def _bars(ax: Axes, steps: Sequence[WaterfallBar]) -> None:
    ends = [step.name in ENDS for step in steps]
    bars(
        ax,
        range(len(steps)),
        [step.high - step.low for step in steps],
        THICKNESS,
        [
            f"{step.value:.1f}" if end else points(step.value, signed=True)
            for step, end in zip(steps, ends, strict=True)
        ],
        across=True,
        tops=[step.high for step in steps],
        left=[step.low for step in steps],
        color=["0.45" if end else colour(s.name) for s, end in zip(steps, ends, strict=True)],
        linewidth=0.4,
    )
    level = 0.0
    for place, step in enumerate(steps[:-1]):
        level = step.value if place == 0 else level + step.value
        reach = [place - THICKNESS / 2, place + 1 + THICKNESS / 2]
        ax.plot([level, level], reach, color="0.4", linewidth=0.5)
    name_rows(ax, [ENDS.get(step.name) or error_title(step.name) for step in steps])
    ax.set_xlim(min(0.0, *(step.low for step in steps)), ROOM)
    ax.set_xticks(range(0, 101, 20) if inches_of(ax) > NARROWEST else (0, 50, 100))


def _data(source: Source) -> Mapping[str, Any]:
    saved = source.result.get("attribution")
    if saved is not None and "map" in saved:
        return dict(saved)
    found = attribute(diagnosis_of(source))
    if found is None:
        raise NotApplicable("mAP is undefined")
    return found.to_dict()


@figure("waterfall", "Costs of the errors that add up", data=_data, height=HEIGHT, single=True)
def waterfall(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    """Draw the cost of each error in turn, from mAP to mAP after repairing all errors.

    Parameters
    ----------
    diagnosis : Diagnosis or mapping
        The detector, a result with its ``attribution``, or the input of :func:`waterfall_table`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.
    """
    costs: list[Mapping[str, Any]] = [model.data for model in models]
    panels = panel_grid(target, shown_names(models), (SCALE, ""), HEIGHT - 0.25)
    for panel, cost in zip(panels, costs, strict=True):
        _bars(panel, waterfall_table(cost))
    # Results saved before costs were counted on found pairs lack the pairing.
    if all("pairing" in cost for cost in costs):
        add_note(target, READING.format(reading_by_pair(costs[0]["pairing"])))
    if any(100 * cost["map_repaired"] < PERFECT for cost in costs):
        add_note(target, SHORT_OF_100)
