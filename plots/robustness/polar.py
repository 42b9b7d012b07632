"""Radar charts: one closed line per model, one direction per condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from diaghoi.exceptions import InputError
from diaghoi.plots.legend import legend_above, model_lines
from diaghoi.plots.panels import prepared
from diaghoi.plots.style import SINGLE_COLUMN, model_style

NAME_SIZE, SCALE_SIZE = 6.5, 5.5  # points
HEIGHT = 3.1  # inches
# Broad and pale, without dashes and marks, which models have.
REFERENCE: dict[str, Any] = {"color": "0.55", "linewidth": 1.5, "zorder": 1.9}


def polar_axes(ax: Axes | None) -> tuple[Any, Axes | Figure]:
    """Return polar axes: the given ones, or those of a new figure.

    Returns
    -------
    ax : matplotlib.projections.polar.PolarAxes
        Where to draw.
    target : Axes or Figure
        What the legend goes above.

    Raises
    ------
    InputError
        If the axes are not polar.
    """
    if ax is None:
        figure = Figure(figsize=(SINGLE_COLUMN, HEIGHT), layout="constrained")
        return figure.add_subplot(projection="polar"), figure
    if ax.name != "polar":
        raise InputError("ax: is not polar; make it with add_subplot(projection='polar')")
    return prepared(ax), ax


def radar(
    ax: Any,
    names: Sequence[str],
    values: Mapping[str, Sequence[float | None]],
    reference: float | None = None,
) -> None:
    """Draw the values of some models as closed lines.

    Parameters
    ----------
    ax : matplotlib.projections.polar.PolarAxes
        Where to draw.
    names : sequence of str
        Names of the directions, clockwise from the top.
    values : mapping of sequence of float or None
        By model; the line breaks at None.
    reference : float, optional
        Radius of a circle in grey, which no model has. The area between it and the line of a single
        model is shaded.
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
    for number, row in enumerate(values.values()):
        radii = np.array([np.nan if value is None else value for value in row])
        closed = np.append(radii, radii[0])
        style = model_style(number)
        ax.plot(around, closed, **style, linewidth=1.0, markersize=2.2)
        if reference is not None and len(values) == 1:
            ax.fill_between(around, closed, reference, color=style["color"], alpha=0.15, lw=0)
    highest = max(
        (value for row in values.values() for value in row if value is not None), default=1.0
    )
    if reference is not None:
        circle = np.linspace(0, 2 * np.pi, 181)
        ax.plot(circle, np.full_like(circle, reference), **REFERENCE)
        highest = max(highest, reference)
    top = 1.05 * (highest or 1.0)
    ax.set_ylim(0, top)
    # A number near the outer ring would be cut by it, or by the reference.
    ax.set_yticks([tick for tick in MaxNLocator(5).tick_values(0, top) if 0 < tick < 0.85 * top])
    ax.set_rlabel_position(180 / max(len(names), 1))


def radar_legend(
    target: Axes | Figure, models: Sequence[str], title: str, reference: str = ""
) -> None:
    """Explain the lines of :func:`radar`."""
    marks = model_lines(models, linewidth=1.0, markersize=2.5)
    if reference:
        marks.append(Line2D([], [], **REFERENCE, label=reference))
    legend_above(target, marks, title, mark=2.0)
