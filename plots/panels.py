"""Parts of figures: panels with shared scales, legends, bars, dots and cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import to_rgb
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from diaghoi.data.arrays import FloatArray
from diaghoi.plots.labels import MINUS, fitted, inches_of, text_width
from diaghoi.plots.style import MODEL_COLOURS, SINGLE_COLUMN, ink_on, lighter, model_style

TALLEST = 8.9  # inches: height of a figure that leaves room for its caption on a page
NARROWEST = 1.5  # inches: least width of a panel, with its part of the scale
MOST_COLUMNS = 4
TITLE_SIZE, SMALL_TITLE_SIZE = 7.0, 6.0  # points
LABEL_SIZE, NAME_SIZE = 8.0, 6.0
NUMBER_SIZE, LEAST_NUMBER = 6.0, 5.5  # points: numbers at bars, and numbers at thin bars
SCALE, GAP = 0.45, 0.12  # inches: room to the left of the first panel, and between panels
GRID = "0.9"


def set_title(ax: Axes, title: str, inches: float) -> None:
    """Write a title above the left edge of a panel; long titles are smaller and shortened."""
    size = TITLE_SIZE if text_width(title, TITLE_SIZE) <= inches else SMALL_TITLE_SIZE
    # Model labels may contain dollar signs, which are not mathematics.
    ax.set_title(fitted(title, inches, size), loc="left", fontsize=size, parse_math=False)


def one_panel(ax: Axes | None, height: float) -> tuple[Axes, Axes | Figure]:
    """Return the axes of a figure with one panel.

    Parameters
    ----------
    ax : matplotlib.axes.Axes or None
        Given axes; None for a new figure, one column wide.
    height : float
        Height of the new figure in inches.

    Returns
    -------
    ax : Axes
        Where to draw.
    target : Axes or Figure
        What gets a legend above: a new figure, which can grow, or the given axes.
    """
    if ax is not None:
        return prepared(ax), ax
    figure = Figure(figsize=(SINGLE_COLUMN, height), layout="constrained")
    return figure.add_subplot(), figure


def panel_of(target: Axes | Figure, height: float = 0.0) -> Axes:
    """Return given axes, or axes added to an empty figure; height 0 keeps the figure's height."""
    if isinstance(target, Axes):
        return target
    if height:
        target.set_figheight(height)
    return target.add_subplot()


def prepared(ax: Axes) -> Axes:
    """Prepare axes that the caller created, perhaps with another style.

    Grids are drawn below bars, and a figure without a layout gets a layout that leaves room for
    names on the sides and legends above.
    """
    ax.set_axisbelow(True)
    figure = ax.get_figure(root=True)
    if figure is not None and figure.get_layout_engine() is None:
        # Matplotlib refuses a new layout if the figure already has a colour bar.
        with suppress(RuntimeError):
            figure.set_layout_engine("constrained")
    return ax


def shape_of(panels: int, width: float, narrowest: float = NARROWEST) -> tuple[int, int]:
    """Return numbers of rows and columns that fill the rows most evenly, given a width."""
    columns = min(panels, MOST_COLUMNS, max(1, int(width / narrowest)))
    rows = ceil(panels / columns)
    return rows, ceil(panels / rows)  # five panels are 3 + 2, not 4 + 1


def panel_grid(
    target: Axes | Figure,
    titles: Sequence[str],
    labels: tuple[str, str],
    row_height: float,
    narrowest: float = NARROWEST,
    *,
    share_x: bool = True,
    share_y: bool = True,
) -> list[Axes]:
    """Divide a figure into panels, as many per row as fit; more rows make the figure taller.

    Parameters
    ----------
    target : Axes or Figure
        An empty figure with final width and the height of one row, or axes, which get labels but no
        title.
    titles : sequence of str
        One title per panel, empty for none; long titles are shortened.
    labels : tuple of str
        Labels of the x-axis and the y-axis. If the x-label is wider than a panel, only the middle
        panel of a row has it.
    row_height : float
        Height of each further row in inches; less if the figure would be taller than a page.
    narrowest : float
        Minimum width of a panel in inches.
    share_x, share_y : bool
        Whether all panels share an axis, labelled only at the bottom or on the left.

    Returns
    -------
    list of Axes
        The panels, in reading order.
    """
    if isinstance(target, Axes):
        target.set(xlabel=labels[0], ylabel=labels[1])
        return [target]
    figure = target
    rows, columns = shape_of(len(titles), figure.get_figwidth(), narrowest)
    figure.set_figheight(min(figure.get_figheight() + row_height * (rows - 1), TALLEST - 0.6))
    grid = figure.subplots(rows, columns, sharex=share_x, sharey=share_y, squeeze=False)
    width = (figure.get_figwidth() - SCALE) / columns - GAP
    panels: list[Axes] = grid.ravel().tolist()
    for ax in panels[len(titles) :]:
        ax.remove()
    wide = text_width(labels[0], LABEL_SIZE) > width
    for number, title in enumerate(titles):
        ax = panels[number]
        set_title(ax, title, width)
        if number + columns >= len(titles):  # labelled even if the row below ends before this panel
            ax.tick_params(labelbottom=True)
            ax.set_xlabel("" if wide and number % columns != columns // 2 else labels[0])
        if number % columns == 0:
            ax.set_ylabel(labels[1])
    return panels[: len(titles)]


def write_cells(
    ax: Axes,
    cells: ScalarMappable,
    values: npt.NDArray[Any],
    text: Callable[[Any], str],
    size: float,
    corner: float = 0.0,
) -> None:
    """Write text into the cells of a heat map, in black or white.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes of the heat map.
    cells : matplotlib.cm.ScalarMappable
        Colours of the heat map.
    values : (R, C) array
        Numbers of the cells; NaN cells are white.
    text : callable
        Formats a number; an empty text is not written.
    size : float
        Font size in points.
    corner : float
        Offset from the position of a cell to its centre.
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
            ).set_in_layout(False)  # hundreds of numbers inside the axes would slow down the layout


def name_rows(ax: Axes, names: Sequence[str], size: float = NAME_SIZE) -> None:
    """Label rows of bars or dots at 0, 1 and so on from the top, and add a grid."""
    ax.set_yticks(range(len(names)), names, fontsize=size, parse_math=False)
    ax.set_ylim(max(len(names), 2) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.grid(True, color=GRID, linewidth=0.5)


def interval_dots(
    ax: Axes,
    rows: npt.NDArray[Any],
    values: FloatArray,
    bounds: Sequence[FloatArray] | FloatArray,
    number: int,
) -> None:
    """Draw a model's dots and intervals in the given rows; dots without interval are hollow."""
    style = model_style(number) | {"linestyle": "", "markersize": 3.0}
    ax.hlines(rows, *bounds, color=style["color"], linewidth=0.8)
    # A dot without an interval must not look like a dot with a very narrow interval.
    certain = ~np.isnan(bounds[0])
    ax.plot(values[certain], rows[certain], **style)
    if not certain.all():
        ax.plot(values[~certain], rows[~certain], **style, markerfacecolor="white")


# Legends:

GAPS = 1.4  # em: 0.4 between mark and label, 1.0 between columns
LINE = 0.125  # inches: height of a line
MARK = 2.4  # em: width of a line in a legend, long enough to show its dashes


def legend_above(
    target: Axes | Figure,
    marks: Sequence[Artist],
    title: str = "",
    *,
    size: float = 7.0,
    mark: float = 1.4,
    inches: float | None = None,
) -> int:
    """Add a legend; each line after the first makes the figure taller.

    Parameters
    ----------
    target : Axes or Figure
        Figure or axes that get a legend above.
    marks : sequence of matplotlib.artist.Artist
        Legend entries with labels; long labels are shortened.
    title : str
        Title of the legend, empty for none.
    size : float
        Font size in points.
    mark : float
        Width of a marker in em.
    inches : float, optional
        Available width; by default the width of the target before layout.

    Returns
    -------
    int
        Number of lines, including the title.
    """
    inches = inches_of(target) if inches is None else inches
    taken = (mark + GAPS) * size / 72
    labels = [fitted(str(each.get_label()), inches - taken, size) for each in marks]
    widest = taken + max(text_width(label, size) for label in labels)
    lines = ceil(len(marks) / max(1, int(inches / widest)))
    place: dict[str, Any] = {"loc": "outside upper left"}
    if isinstance(target, Axes):
        place = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "borderaxespad": 0.2}
    else:
        target.set_figheight(target.get_figheight() + LINE * (lines - 1 + bool(title)))
    legend = target.legend(
        handles=list(marks),
        labels=labels,
        fontsize=size,
        title=title or None,
        title_fontsize=size,
        alignment="left",
        ncols=ceil(len(marks) / lines),
        handlelength=mark,
        handletextpad=0.4 if mark else 0,
        columnspacing=1.0,
        labelspacing=0.25,
        **place,
    )
    for text in (*legend.get_texts(), legend.get_title()):
        text.set_parse_math(False)
    return lines + bool(title)


def model_lines(labels: Sequence[str], **style: Any) -> list[Line2D]:
    """Create one legend entry per model, for :func:`legend_above`.

    Parameters
    ----------
    labels : sequence of str
        Label of each entry, in the order of the study.
    **style
        Overrides of :func:`diaghoi.plots.style.model_style`, for example ``linestyle=""``.
    """
    return [
        Line2D([], [], label=label, **({"markersize": 3.5} | model_style(number) | style))
        for number, label in enumerate(labels)
    ]


# Bars:

FEW = 4  # at most this many models differ by lightness and hatch; more have their own colours
PALEST = 0.75  # share of white in the bars of the last of few models
PALE = 0.45  # share of white for the second model, whose hatch must show on dark colours
FAINT = 0.25  # share of white for bars in the models' own colours, on which hatches must show
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "----", "++++", "||||", "oooo", "**", "//", "xx")
GREY = (0.35, 0.35, 0.35)
EDGE = "0.15"
LEAN = 0.7  # points: shift of vertical digits, which lie too far left by half a descender
ROOM = 0.105, 0.078  # inches: least width of a bar with a number of either size

Rgb = tuple[float, float, float]


class BarStyle(NamedTuple):
    """Style of a model's bars: share of white in the colour, own colour if any, and hatch."""

    white: float
    colour: str | None
    hatch: str | None

    def on(self, rgb: Rgb) -> Rgb:
        """Return the colour of a bar: that of the error, unless models have their own colours."""
        return lighter(to_rgb(self.colour or rgb), self.white)


def bar_styles(models: int) -> list[BarStyle]:
    """Return the bar style of each model; with many models, each has a colour and a hatch.

    With few models, bars become lighter from model to model, so colours can encode something else.
    """
    if models > FEW:
        palette = [MODEL_COLOURS[number % len(MODEL_COLOURS)] for number in range(models)]
        hatches = [HATCHES[number % len(HATCHES)] or None for number in range(models)]
        return [BarStyle(FAINT, *style) for style in zip(palette, hatches, strict=True)]
    whites = [0.0, *np.linspace(PALE, PALEST, max(models - 1, 1)).tolist()]
    return [BarStyle(whites[number], None, HATCHES[number] or None) for number in range(models)]


def bar_legend(
    target: Axes | Figure, models: Sequence[str], title: str = "", inches: float | None = None
) -> int:
    """Add a legend of bars by model, or the name of a single model; few models have grey marks.

    Parameters
    ----------
    target, title, inches
        As in :func:`legend_above`, which also describes the result.
    models : sequence of str
        Names of the models, in bar order.
    """
    one = len(models) == 1
    marks = [
        Patch(
            facecolor=style.on(GREY),
            edgecolor=EDGE,
            hatch=style.hatch,
            label=model,
            visible=not one,
        )
        for model, style in zip(models, bar_styles(len(models)), strict=True)
    ]
    return legend_above(target, marks, title, mark=0.0 if one else 1.4, inches=inches)


def number_size(inches: float) -> float:
    """Return the font size of numbers at bars of the given width; 0 for no numbers."""
    return NUMBER_SIZE if inches >= ROOM[0] else LEAST_NUMBER if inches >= ROOM[1] else 0.0


def bars(
    ax: Axes,
    places: Sequence[float],
    values: Sequence[float],
    thickness: float,
    texts: Sequence[str] = (),
    *,
    size: float = NUMBER_SIZE,
    flat: bool = True,
    across: bool = False,
    tops: Sequence[float] = (),
    **style: Any,
) -> BarContainer:
    """Draw bars with numbers at their ends.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Axes to draw in.
    places, values, thickness
        Positions, lengths and thickness of the bars.
    texts : sequence of str
        Numbers at the ends; none by default, or if the size is 0.
    size : float
        Font size in points.
    flat : bool
        Whether numbers above bars are horizontal.
    across : bool
        Whether bars are horizontal.
    tops : sequence of float
        Positions of the numbers, if not at the ends.
    **style
        Style of the bars.
    """
    draw = ax.barh if across else ax.bar
    drawn = draw(list(places), list(values), thickness, **{"edgecolor": EDGE, **style})
    ends = [max(value, 0) for value in values] if across else values
    for place, end, text in zip(places, tops or ends, texts if size else (), strict=False):
        below = text.startswith(MINUS) and not across
        where: dict[str, Any] = {"xy": (place, end), "ha": "center"}
        where |= {"xytext": (0 if flat else LEAN, -1.5 if below else 1.5)}
        where |= {"va": "top" if below else "bottom", "rotation": 0 if flat else 90}
        if across:
            where = {"xy": (end, place), "xytext": (2.0, -0.3), "va": "center_baseline"}
        ax.annotate(text, textcoords="offset points", fontsize=size, **where)
    return drawn
