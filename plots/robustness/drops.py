"""Radar chart of the score that a detector keeps under each corruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, tables_of
from diaghoi.plots.panels import check_models
from diaghoi.plots.robustness.notes import marked, noted
from diaghoi.plots.robustness.polar import HEIGHT, polar_axes, radar, radar_legend
from diaghoi.plots.style import paper

FEWEST = 3  # directions of a radar chart
TITLE = "Score under corruption, % of clean"


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
        If there is no model.
    """
    check_models(models)
    with paper():
        ax, target = polar_axes(ax)
        partial = _radar(ax, target, models)
        if isinstance(target, Figure):
            add_note(target, noted("", partial))
    return ax


def _radar(
    ax: Any, target: Axes | Figure, models: Mapping[str, Sequence[RemainingScore]]
) -> list[bool]:
    """Draw lines and legend; return which models are incomplete."""
    directions = [row.name for row in next(iter(models.values()))]
    values = {label: [row.remaining for row in table] for label, table in models.items()}
    radar(ax, directions, values, reference=100.0)
    partial = [any(row.partial for row in table) for table in models.values()]
    radar_legend(target, marked(list(models), partial), TITLE, "clean")
    return partial


def _draw(figure: Figure, models: Sequence[ModelData]) -> None:
    partial = _radar(figure.add_subplot(projection="polar"), figure, tables_of(models))
    add_note(figure, noted(models[0].note, partial))


ROBUSTNESS_DROPS = FigureKind(
    name="robustness_drops",
    title="What each corruption leaves of the score",
    needs="results",
    data=lambda source: robustness_drops_table(source.result),
    draw=_draw,
    height=HEIGHT,
)
