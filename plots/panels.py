"""Panels of several models side by side and below one another, with the same scales."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.plots.labels import fitted, text_width
from diaghoi.plots.style import SINGLE_COLUMN

NARROWEST = 1.5  # inches, width of a panel with its share of the scale
MOST_COLUMNS = 4
TITLE_SIZE, SMALL_TITLE_SIZE = 7.0, 6.0  # points
LABEL_SIZE = 8.0
SCALE, GAP = 0.45, 0.12  # inches left of the first panel, and beside each


def one_panel(ax: Axes | None, height: float) -> tuple[Axes, Axes | Figure]:
    """Find where to draw one panel.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Where the user wants it; None for a new figure of the width of one column.
    height : float
        Of that figure, in inches.

    Returns
    -------
    ax : Axes
        Where to draw.
    target : Axes or Figure
        What its legend stands above: a figure that is made here, so that it can grow.
    """
    if ax is not None:
        return ax, ax
    figure = Figure(figsize=(SINGLE_COLUMN, height), layout="constrained")
    return figure.add_subplot(), figure


def panel_grid(
    figure: Figure,
    titles: Sequence[str],
    labels: tuple[str, str],
    row_height: float,
    narrowest: float = NARROWEST,
) -> list[Axes]:
    """Divide a figure into as many panels in a row as fit; it grows by the rows below the first.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        An empty figure of its final width, and of the height of one row.
    titles : sequence of str
        One a panel, empty for none; long ones are shortened.
    labels : tuple of str
        Of the scale from left to right, and of that upwards. Where the first is wider than a panel,
        it stands below the middle one alone.
    row_height : float
        Inches of each row below the first.
    narrowest : float
        Inches that a panel takes at least.

    Returns
    -------
    list of Axes
        In reading order, with shared scales whose numbers stand left and at the bottom.
    """
    columns = min(len(titles), MOST_COLUMNS, max(1, int(figure.get_figwidth() / narrowest)))
    rows = ceil(len(titles) / columns)
    columns = ceil(len(titles) / rows)
    figure.set_figheight(figure.get_figheight() + row_height * (rows - 1))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    width = (figure.get_figwidth() - SCALE) / columns - GAP
    panels: list[Axes] = grid.ravel().tolist()
    for ax in panels[len(titles) :]:
        ax.remove()
    wide = text_width(labels[0], LABEL_SIZE) > width
    for number, title in enumerate(titles):
        ax = panels[number]
        size = TITLE_SIZE if text_width(title, TITLE_SIZE) <= width else SMALL_TITLE_SIZE
        ax.set_title(fitted(title, width, size), loc="left", fontsize=size, parse_math=False)
        if number + columns >= len(titles):  # also where the row below ends before this panel
            ax.tick_params(labelbottom=True)
            ax.set_xlabel("" if wide and number % columns != columns // 2 else labels[0])
        if number % columns == 0:
            ax.set_ylabel(labels[1])
    return panels[: len(titles)]
