"""Radar chart of the score that a detector keeps under each corruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from diaghoi.exceptions import InputError
from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, drawn, tables_of
from diaghoi.plots.legend import legend_above, model_lines
from diaghoi.plots.robustness.notes import marked, noted
from diaghoi.plots.style import model_style

FEWEST = 3  # directions of a radar chart
TITLE = "Score under corruption, % of clean"
CIRCLE = 100.0  # the clean score
NAME_SIZE, SCALE_SIZE = 6.5, 5.5  # points
HEIGHT = 3.1  # inches
# Broad and pale, without dashes and marks, which models have.
REFERENCE: dict[str, Any] = {"color": "0.55", "linewidth": 1.5, "zorder": 1.9}


class RemainingScore(NamedTuple):
    """One direction of one model.

    Parameters
    ----------
    corruption : str
        Name in the registry.
    name : str
        Abbreviation.
    remaining : float or None
        Mean score over the severities, in percent of the clean score.
    partial : bool
        Whether some of the severities have no score.
    """

    corruption: str
    name: str
    remaining: float | None
    partial: bool = False


def robustness_drops_table(model: Mapping[str, Any]) -> list[RemainingScore]:
    """Extract the data of :func:`robustness_drops` from the result of a model.

    Parameters
    ----------
    model : mapping
        One of ``models`` of :meth:`diaghoi.robustness.evaluation.Robustness.to_dict`, with the
        ``corruptions`` of the study.

    Raises
    ------
    NotApplicable
        For fewer than three corruptions, or without a clean score.
    """
    drops, indices = model["drops"], model["indices"]["corruptions"]
    rows = [
        RemainingScore(
            each["name"],
            each["abbreviation"],
            None if drop is None else 100 * (1 - drop),
            drop is not None and indices[each["name"]]["partial"],
        )
        for each in model["corruptions"]
        for drop in [drops[each["name"]]]
    ]
    if len(rows) < FEWEST:
        raise NotApplicable(f"a radar chart needs {FEWEST} corruptions")
    if all(row.remaining is None for row in rows):
        raise NotApplicable("without a score on clean pictures there is no drop")
    return rows


def robustness_drops(
    models: Mapping[str, Sequence[RemainingScore]], ax: Axes | None = None
) -> Axes:
    """Draw the remaining share of the clean score under each corruption; a grey circle is 100 %.

    Parameters
    ----------
    models : mapping
        The :func:`robustness_drops_table` of each model, by its label.
    ax : matplotlib.axes.Axes, optional
        Polar axes; by default in a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        Nothing is shown or saved; see :func:`diaghoi.plots.save`.

    Raises
    ------
    InputError
        If there is no model, or axes are not polar.
    """
    if ax is not None and ax.name != "polar":
        raise InputError("ax: is not polar; make it with add_subplot(projection='polar')")
    return drawn(ROBUSTNESS_DROPS, models, ax)


def _radar(ax: Any, names: Sequence[str], rows: Sequence[Sequence[float | None]]) -> None:
    """Draw a closed line for each model, which breaks at None, and a circle of the clean score.

    The area between the circle and the line of a single model is shaded.
    """
    angles = np.linspace(0, 2 * np.pi, len(names), endpoint=False)
    ax.set_theta_zero_location("N")
    ax.set_theta_direction(-1)
    ax.set_xticks(angles, names, fontsize=NAME_SIZE)
    ax.tick_params(axis="x", pad=2)
    ax.tick_params(axis="y", labelsize=SCALE_SIZE, labelcolor="0.35")
    ax.grid(color="0.85", linewidth=0.5)
    ax.spines["polar"].set_color("0.7")
    around = np.append(angles, 2 * np.pi)
    for number, row in enumerate(rows):
        radii = np.array([np.nan if value is None else value for value in row])
        closed = np.append(radii, radii[0])
        style = model_style(number)
        ax.plot(around, closed, **style, linewidth=1.0, markersize=2.2)
        if len(rows) == 1:
            ax.fill_between(around, closed, CIRCLE, color=style["color"], alpha=0.15, lw=0)
    circle = np.linspace(0, 2 * np.pi, 181)
    ax.plot(circle, np.full_like(circle, CIRCLE), **REFERENCE)
    top = 1.05 * max([CIRCLE, *(value for row in rows for value in row if value is not None)])
    ax.set_ylim(0, top)
    # A number near the outer ring would be cut by it, or by the reference.
    ax.set_yticks([tick for tick in MaxNLocator(5).tick_values(0, top) if 0 < tick < 0.85 * top])
    ax.set_rlabel_position(180 / max(len(names), 1))


def _draw(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    tables = tables_of(models)
    ax = target if isinstance(target, Axes) else target.add_subplot(projection="polar")
    directions = [row.name for row in next(iter(tables.values()))]
    _radar(ax, directions, [[row.remaining for row in table] for table in tables.values()])
    partial = [any(row.partial for row in table) for table in tables.values()]
    marks = model_lines(marked(list(tables), partial), linewidth=1.0, markersize=2.5)
    marks.append(Line2D([], [], **REFERENCE, label="clean"))
    legend_above(target, marks, TITLE, mark=2.0)
    add_note(target, noted(models[0].note, partial))


ROBUSTNESS_DROPS = FigureKind(
    name="robustness_drops",
    title="What each corruption leaves of the score",
    needs="results",
    data=lambda source: robustness_drops_table(source.result),
    draw=_draw,
    height=HEIGHT,
)
