"""Bars of several models side by side: their greys and hatches, and the legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Patch

from diaghoi.plots.legend import legend_above
from diaghoi.plots.style import lighter

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
