"""What is left of the score of a detector under each corruption: a radar chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.exceptions import InputError
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, shown_names
from diaghoi.plots.robustness.polar import HEIGHT, polar_axes, radar, radar_legend
from diaghoi.plots.style import paper

FEWEST = 3  # directions of a radar chart
TITLE = "Score under corruption, % of clean"


class Left(NamedTuple):
    """One direction of one model.

    Parameters
    ----------
    corruption : str
        Name in the registry.
    name : str
        Abbreviation.
    left : float or None
        Mean score over the severities, in percent of the clean score.
    """

    corruption: str
    name: str
    left: float | None


def robustness_drops_table(model: Mapping[str, Any]) -> list[Left]:
    """Take the data of :func:`robustness_drops` from the result of a model.

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
    drops = model["drops"]
    rows = [
        Left(each["name"], each["abbreviation"], None if drop is None else 100 * (1 - drop))
        for each in model["corruptions"]
        for drop in [drops[each["name"]]]
    ]
    if len(rows) < FEWEST:
        raise NotApplicable(f"a radar chart needs {FEWEST} corruptions")
    if all(row.left is None for row in rows):
        raise NotApplicable("without a score on clean pictures there is no drop")
    return rows


def robustness_drops(models: Mapping[str, Sequence[Left]], ax: Axes | None = None) -> Axes:
    """Draw how much of the clean score each corruption leaves; a dashed circle is all of it.

    Parameters
    ----------
    models : mapping
        For the label of each model its :func:`robustness_drops_table`.
    ax : matplotlib.axes.Axes, optional
        Polar axes; by default in a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        Nothing is shown or saved; see :func:`diaghoi.plots.save`.

    Raises
    ------
    InputError
        Where there is no model.
    """
    if not models:
        raise InputError("models: there is nothing to draw; give at least one")
    with paper():
        ax, target = polar_axes(ax)
        rows = next(iter(models.values()))
        values = {label: [row.left for row in each] for label, each in models.items()}
        radar(ax, [row.name for row in rows], values, 100.0)
        radar_legend(target, list(models), TITLE, "clean")
    return ax


def _draw(figure: Figure, models: Sequence[ModelData]) -> None:
    ax = figure.add_subplot(projection="polar")
    names = shown_names(models)
    rows = models[0].data
    values = {
        name: [row.left for row in model.data] for name, model in zip(names, models, strict=True)
    }
    radar(ax, [row.name for row in rows], values, 100.0)
    radar_legend(figure, names, TITLE, "clean")


ROBUSTNESS_DROPS = FigureKind(
    name="robustness_drops",
    title="What each corruption leaves of the score",
    needs="results",
    data=lambda source: robustness_drops_table(source.result),
    draw=_draw,
    height=HEIGHT,
)
