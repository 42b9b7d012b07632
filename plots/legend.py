"""Legends above what they explain, in as many columns as fit: of lines and dots, and of bars."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from diaghoi.plots.labels import fitted, inches_of, text_width
from diaghoi.plots.style import lighter, model_style

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


PALEST = 0.75  # share of white in the bars of the last model
PALE = 0.45  # the same of the second of few models: its hatch must show on dark colours too
HATCHES = ("", "////", "....", "xxxx")  # for up to four models; more bars are too thin for hatches
STAGE_HATCHES = {"one": None, "two": HATCHES[1]}
GREY = (0.35, 0.35, 0.35)
EDGE = "0.15"


def paleness(model: int, models: int) -> float:
    """Return the share of white in the bars of a model: 0 for the first, then increasing."""
    if model == 0:
        return 0.0
    if models > len(HATCHES):
        return PALEST * model / (models - 1)
    return PALE + (PALEST - PALE) * (model - 1) / max(models - 2, 1)


def hatch(model: int, models: int) -> str | None:
    """Return the hatch of the bars of a model, None for no hatch."""
    return HATCHES[model] or None if models <= len(HATCHES) else None


class BarStyle(NamedTuple):
    """How the bars of a model look: their share of white, and their hatch or None."""

    white: float
    hatch: str | None


def bar_styles(models: int, stages: Sequence[str] = ()) -> list[BarStyle]:
    """Return the style of the bars of each model.

    Parameters
    ----------
    models : int
        How many there are.
    stages : sequence of str
        The stage of each, "one" or "two". If there are both, bars of two-stage models are hatched,
        and models of one stage differ in their lightness; otherwise hatches differ by model.
    """
    if not both_stages(stages):
        return [BarStyle(paleness(n, models), hatch(n, models)) for n in range(models)]
    styles = []
    for number, stage in enumerate(stages):
        # Hatched bars are never of the full colour, on which hatches would not show.
        hatched = STAGE_HATCHES[stage] is not None
        place, alike = stages[:number].count(stage) + hatched, stages.count(stage) + hatched
        styles.append(BarStyle(paleness(place, alike), STAGE_HATCHES[stage]))
    return styles


def both_stages(stages: Sequence[str]) -> bool:
    """Whether all of some models are one-stage or two-stage, and there are both."""
    return set(stages) == set(STAGE_HATCHES)


def bar_legend(
    target: Axes | Figure,
    models: Sequence[str],
    title: str = "",
    inches: float | None = None,
    stages: Sequence[str] = (),
    *,
    numbered: str = "bars of each error from left to right",
) -> Legend:
    """Explain the models by greys above the bars.

    Many greys are hard to distinguish, so more than four models are numbered in the order of their
    bars. A single model is only named.

    Parameters
    ----------
    target, title, inches
        See :func:`diaghoi.plots.legend.legend_above`.
    models : sequence of str
        Their names, in the order of the bars.
    stages
        See :func:`bar_styles`.
    numbered : str
        How the bars of numbered models are ordered, for the title.
    """
    many, one = len(models) > len(HATCHES), len(models) == 1
    if many:
        title = f"{title}; {numbered}:" if title else f"{numbered[0].upper()}{numbered[1:]}:"
    styles = bar_styles(len(models), stages)
    marks = [
        Patch(
            facecolor=lighter(GREY, styles[number].white),
            edgecolor=EDGE,
            hatch=styles[number].hatch,
            label=f"{number + 1} {model}" if many else model,
            visible=not one,
        )
        for number, model in enumerate(models)
    ]
    return legend_above(
        target, marks, title, size=6.0 if many else 7.0, mark=0.0 if one else 1.4, inches=inches
    )
