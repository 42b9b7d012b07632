"""Waterfall from mAP to mAP with all errors repaired: additive costs of the errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.oracles import ERRORS, error_title
from diaghoi.oracles.localised import reading_by_pair
from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import (
    FigureKind,
    Model,
    ModelData,
    NotApplicable,
    Source,
    data_of,
    diagnosis_of,
    drawn,
    shown_names,
)
from diaghoi.plots.labels import points
from diaghoi.plots.panels import panel_grid
from diaghoi.plots.style import colour
from diaghoi.statistics.attribution import attribute

HEIGHT = 2.2  # inches of a panel
NARROWEST = 1.7  # inches: least width of a panel
THICKNESS = 0.72  # height of a bar, as a share of the distance between bars
ROOM = 112  # percent: end of the x-axis, with room for the numbers of bars that end at 100
SCALE = "mAP (%)"
ENDS = {"map": "mAP", "map_repaired": "All repaired"}
PERFECT = 99.95  # percent: mAP from which "100.0" is written
SHORT_OF_100 = (
    "All repaired stays below 100 where annotated triplets are attempted only by predictions that "
    "repairs remove, such as duplicates."
)

READING = "By the pair: {}. delta_map goes by the published rule."


class WaterfallBar(NamedTuple):
    """One bar of the waterfall.

    Parameters
    ----------
    name : str
        An error; `map` for the first bar, `map_repaired` for the last.
    low, high : float
        Ends of the bar, in percent.
    value : float
        Its cost in percent points; for the first and the last bar mAP.
    """

    name: str
    low: float
    high: float
    value: float


def waterfall_table(attribution: Mapping[str, Any]) -> list[WaterfallBar]:
    """Collect the data of :func:`waterfall`, the errors in their usual order.

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


def waterfall(diagnosis: Model, ax: Axes | None = None) -> Axes:
    """Draw the cost of each error, one after the other, from mAP to mAP with all repaired.

    Parameters
    ----------
    diagnosis : Diagnosis or mapping
        The detector, a result with its ``attribution``, or what :func:`waterfall_table` takes.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.
    """
    return drawn(WATERFALL, {"": data_of(WATERFALL, diagnosis)}, ax)


def _bars(ax: Axes, steps: Sequence[WaterfallBar]) -> None:
    level = 0.0
    for place, step in enumerate(steps):
        end = step.name in ENDS
        ax.barh(
            place,
            step.high - step.low,
            left=step.low,
            height=THICKNESS,
            color="0.45" if end else colour(step.name),
            edgecolor="0.15",
            linewidth=0.4,
        )
        ax.annotate(
            f"{step.value:.1f}" if end else points(step.value, signed=True),
            (step.high, place),
            xytext=(2, 0),
            textcoords="offset points",
            va="center",
            fontsize=6,
        )
        level = step.value if end else level + step.value
        if place < len(steps) - 1:
            ends = [place - THICKNESS / 2, place + 1 + THICKNESS / 2]
            ax.plot([level, level], ends, color="0.4", linewidth=0.5)
    ax.set_yticks(range(len(steps)), [ENDS.get(s.name) or error_title(s.name) for s in steps])
    ax.set_ylim(len(steps) - 0.4, -0.6)
    ax.set_xlim(min(0.0, *(step.low for step in steps)), ROOM)
    ax.set_xticks(range(0, 101, 20))
    ax.tick_params(axis="y", length=0)
    ax.xaxis.grid(True, color="0.88", linewidth=0.5)


def _draw(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    names = shown_names(models)
    panels = panel_grid(target, names, (SCALE, ""), HEIGHT, NARROWEST)
    for panel, model in zip(panels, models, strict=True):
        _bars(panel, waterfall_table(model.data))
    add_note(target, _note([model.data for model in models]))


def _note(attributions: Sequence[Mapping[str, Any]]) -> str:
    short = any(100 * each["map_repaired"] < PERFECT for each in attributions)
    # Results that were saved before costs went by the pair do not name the pairing.
    named = all("pairing" in each for each in attributions)
    by_pair = READING.format(reading_by_pair(attributions[0]["pairing"])) if named else ""
    return " ".join(filter(None, (by_pair, SHORT_OF_100 if short else "")))


def _data(source: Source) -> Mapping[str, Any]:
    saved = source.result.get("attribution")
    if saved is not None and "map" in saved:
        return dict(saved)
    found = attribute(diagnosis_of(source))
    if found is None:
        raise NotApplicable("mAP is undefined")
    return found.to_dict()


WATERFALL = FigureKind(
    name="waterfall",
    title="Costs of the errors that add up",
    needs="diagnoses",
    data=_data,
    draw=_draw,
    height=HEIGHT,
)
