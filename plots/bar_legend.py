"""Bars of several models side by side: how each is told apart, and the legend that says so."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Patch

from diaghoi.plots.legend import legend_above
from diaghoi.plots.style import lighter

PALEST = 0.75  # how far the last model's bars are mixed with white
PALE = 0.45  # the same for the second of few, so that its hatch shows on dark colours
HATCHES = ("", "////", "....", "xxxx")  # up to this many models; more bars are too thin for them
GREY = (0.35, 0.35, 0.35)
EDGE = "0.15"


def paleness(model: int, models: int) -> float:
    """How far the bars of a model are mixed with white: 0 for the first one, then more and more."""
    if model == 0:
        return 0.0
    if models > len(HATCHES):
        return PALEST * model / (models - 1)
    return PALE + (PALEST - PALE) * (model - 1) / max(models - 2, 1)


def hatch(model: int, models: int) -> str | None:
    """Hatch of the bars of a model, None where there is none."""
    return HATCHES[model] or None if models <= len(HATCHES) else None


def bar_legend(
    target: Axes | Figure, models: Sequence[str], title: str = "", inches: float | None = None
) -> Legend:
    """Explain the models by greys above the bars.

    Many greys are hard to tell apart, so many models are numbered from left to right. One model is
    only named.

    Parameters
    ----------
    target, title, inches
        See :func:`diaghoi.plots.legend.legend_above`.
    models : sequence of str
        Their names, from left to right.
    """
    many, one = len(models) > len(HATCHES), len(models) == 1
    if many:
        title = f"{title}{'; b' if title else 'B'}ars of each error from left to right:"
    marks = [
        Patch(
            facecolor=lighter(GREY, paleness(number, len(models))),
            edgecolor=EDGE,
            hatch=hatch(number, len(models)),
            label=f"{number + 1} {model}" if many else model,
            visible=not one,
        )
        for number, model in enumerate(models)
    ]
    return legend_above(
        target, marks, title, size=6.0 if many else 7.0, mark=0.0 if one else 1.4, inches=inches
    )
