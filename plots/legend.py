"""Legends above what they explain, in as many columns as fit."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

from diaghoi.plots.labels import fitted, inches_of, text_width
from diaghoi.plots.style import model_style

GAPS = 1.4  # em: 0.4 between mark and label, 1.0 between columns
LINE = 0.125  # inches: height of a line


def legend_above(
    target: Axes | Figure,
    marks: Sequence[Artist],
    title: str = "",
    *,
    size: float = 7.0,
    mark: float = 1.4,
    inches: float | None = None,
) -> Legend:
    """Add a legend; each of its lines after the first makes the figure higher.

    Parameters
    ----------
    target : Axes or Figure
        What the legend goes above.
    marks : sequence of matplotlib.artist.Artist
        Legend entries with their labels; long labels are shortened.
    title : str
        Title of the legend, empty for none.
    size : float
        Font size in points.
    mark : float
        Width of a mark in em.
    inches : float, optional
        Available width; by default that of the target before layout.
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
    return legend


MARK = 2.4  # em: width of a line in a legend, long enough to show its dashes


def model_lines(labels: Sequence[str], **style: Any) -> list[Line2D]:
    """Make one legend entry per model, for :func:`legend_above`.

    Parameters
    ----------
    labels : sequence of str
        Label of each entry, in the order of the study.
    **style
        Overrides of :func:`diaghoi.plots.style.model_style`, for instance ``linestyle=""``.
    """
    return [
        Line2D([], [], label=label, **({"markersize": 3.5} | model_style(number) | style))
        for number, label in enumerate(labels)
    ]
