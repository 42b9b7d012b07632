"""Panels of several models in rows and columns, with shared scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from diaghoi.plots.labels import fitted, text_width
from diaghoi.plots.style import SINGLE_COLUMN, ink_on

NARROWEST = 1.5  # inches: least width of a panel, with its share of the scale
MOST_COLUMNS = 4
TITLE_SIZE, SMALL_TITLE_SIZE = 7.0, 6.0  # points
LABEL_SIZE = 8.0
SCALE, GAP = 0.45, 0.12  # inches: left of the first panel, and between panels


def set_title(ax: Axes, title: str, inches: float, size: float = TITLE_SIZE) -> None:
    """Write a title above the left edge of a panel, shortened to some inches."""
    # Labels of models may contain dollar signs, which are not mathematics.
    ax.set_title(fitted(title, inches, size), loc="left", fontsize=size, parse_math=False)


def one_panel(ax: Axes | None, height: float) -> tuple[Axes, Axes | Figure]:
    """Return the axes of a figure with one panel.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Given axes; None for a new figure of the width of one column.
    height : float
        Height of the new figure in inches.

    Returns
    -------
    ax : Axes
        Where to draw.
    target : Axes or Figure
        What the legend goes above: a new figure, which can grow, or the given axes.
    """
    if ax is not None:
        return prepared(ax), ax
    figure = Figure(figsize=(SINGLE_COLUMN, height), layout="constrained")
    return figure.add_subplot(), figure


def write_cells(
    ax: Axes,
    cells: ScalarMappable,
    values: npt.NDArray[Any],
    text: Callable[[Any], str],
    size: float,
    corner: float = 0.0,
) -> None:
    """Write into the cells of a heat map, in black or white.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where it is drawn.
    cells : matplotlib.cm.ScalarMappable
        Its colours.
    values : (R, C) array
        Numbers of the cells; those of NaN are white.
    text : callable
        Formats a number; nothing is written for an empty text.
    size : float
        Font size in points.
    corner : float
        Distance from the place of a cell to its middle.
    """
    shades = cells.to_rgba(values)
    for (row, column), value in np.ndenumerate(values):
        if written := text(value):
            ax.text(
                column + corner,
                row + corner,
                written,
                ha="center",
                va="center",
                fontsize=size,
                color="black" if np.isnan(value) else ink_on(shades[row, column]),
            ).set_in_layout(False)  # hundreds of numbers inside the axes would slow the layout


def shape_of(panels: int, width: float, narrowest: float = NARROWEST) -> tuple[int, int]:
    """Return rows and columns of some panels in a width in inches, as even as possible."""
    columns = min(panels, MOST_COLUMNS, max(1, int(width / narrowest)))
    rows = ceil(panels / columns)
    return rows, ceil(panels / rows)  # five panels are 3 + 2, not 4 + 1


def set_fitting_title(ax: Axes, title: str, inches: float) -> None:
    """Write a title as :func:`set_title`, in smaller letters before it is shortened."""
    size = TITLE_SIZE if text_width(title, TITLE_SIZE) <= inches else SMALL_TITLE_SIZE
    set_title(ax, title, inches, size)


def panel_of(target: Axes | Figure, height: float = 0.0) -> Axes:
    """Return given axes, or those of an empty figure, which gets a height unless it is 0."""
    if isinstance(target, Axes):
        return target
    if height:
        target.set_figheight(height)
    return target.add_subplot()


def prepared(ax: Axes) -> Axes:
    """Prepare axes that the caller made, perhaps outside of the style of these figures.

    Grids lie below bars, and a figure without a layout gets one that leaves room for names at the
    sides and legends above.
    """
    ax.set_axisbelow(True)
    figure = ax.get_figure(root=True)
    if figure is not None and figure.get_layout_engine() is None:
        # Matplotlib refuses where the figure already has a colour bar.
        with suppress(RuntimeError):
            figure.set_layout_engine("constrained")
    return ax


def panel_grid(
    target: Axes | Figure,
    titles: Sequence[str],
    labels: tuple[str, str],
    row_height: float,
    narrowest: float = NARROWEST,
    *,
    share_x: bool = True,
) -> list[Axes]:
    """Divide a figure into panels, as many per row as fit; each further row makes it higher.

    Parameters
    ----------
    target : Axes or Figure
        An empty figure of its final width, and of the height of one row; or axes to draw into,
        which get labels and no title.
    titles : sequence of str
        One per panel, empty for none; long ones are shortened.
    labels : tuple of str
        Labels of the x-axis and of the y-axis. If the first is wider than a panel, only the middle
        panel of a row has it.
    row_height : float
        Height of each further row in inches.
    narrowest : float
        Least width of a panel in inches.
    share_x : bool
        Whether all panels have the same x-axis.

    Returns
    -------
    list of Axes
        In reading order, with shared scales and tick labels only at the left and at the bottom;
        where x-axes are not shared, below each panel.
    """
    if isinstance(target, Axes):
        target.set(xlabel=labels[0], ylabel=labels[1])
        return [target]
    figure = target
    rows, columns = shape_of(len(titles), figure.get_figwidth(), narrowest)
    figure.set_figheight(figure.get_figheight() + row_height * (rows - 1))
    grid = figure.subplots(rows, columns, sharex=share_x, sharey=True, squeeze=False)
    width = (figure.get_figwidth() - SCALE) / columns - GAP
    panels: list[Axes] = grid.ravel().tolist()
    for ax in panels[len(titles) :]:
        ax.remove()
    wide = text_width(labels[0], LABEL_SIZE) > width
    for number, title in enumerate(titles):
        ax = panels[number]
        set_fitting_title(ax, title, width)
        if number + columns >= len(titles):  # also where the row below ends before this panel
            ax.tick_params(labelbottom=True)
            ax.set_xlabel("" if wide and number % columns != columns // 2 else labels[0])
        if number % columns == 0:
            ax.set_ylabel(labels[1])
    return panels[: len(titles)]
