"""Scores of detectors by severity, for the corruptions that cost most: a radar chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.exceptions import InputError
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, shown_names
from diaghoi.plots.robustness.polar import HEIGHT, polar_axes, radar, radar_legend
from diaghoi.plots.style import paper

SHOWN = 3  # corruptions
FEWEST = 3  # directions of a radar chart
TITLE = "Score by severity, %"


class Level(NamedTuple):
    """The score of one model at one severity of one corruption.

    Parameters
    ----------
    corruption : str
        Name in the registry.
    name : str
        Abbreviation and severity, like ``MB L3``.
    score : float or None
        In percent.
    drop : float or None
        Share of the clean score that the corruption costs on average.
    """

    corruption: str
    name: str
    score: float | None
    drop: float | None


def robustness_severities_table(model: Mapping[str, Any]) -> list[Level]:
    """Take the data of :func:`robustness_severities` from the result of a model.

    Parameters
    ----------
    model : mapping
        As for :func:`diaghoi.plots.robustness.drops.robustness_drops_table`, also with the
        ``severities`` of the study.

    Raises
    ------
    NotApplicable
        For too few severities and corruptions, or without a drop from a clean score.
    """
    cells = {(cell["corruption"], cell["severity"]): cell["score"] for cell in model["cells"]}
    rows = []
    for each in model["corruptions"]:
        for severity in model["severities"]:
            score = cells.get((each["name"], severity))
            rows.append(
                Level(
                    each["name"],
                    f"{each['abbreviation']} L{severity}",
                    None if score is None else 100 * score,
                    model["drops"][each["name"]],
                )
            )
    if len(model["severities"]) < 2 or len(rows) < FEWEST:
        raise NotApplicable("it needs several severities and three conditions")
    if all(row.drop is None for row in rows):
        raise NotApplicable("without a score on clean pictures none can be said to cost most")
    return rows


def robustness_severities(models: Mapping[str, Sequence[Level]], ax: Axes | None = None) -> Axes:
    """Draw the scores at each severity of the three corruptions that cost most.

    Parameters
    ----------
    models : mapping
        For the label of each model its :func:`robustness_severities_table`.
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
        _radar(ax, list(models), list(models.values()))
        radar_legend(target, list(models), TITLE)
    return ax


def _radar(ax: Any, names: Sequence[str], tables: Sequence[Sequence[Level]]) -> None:
    chosen = _most_costly(tables)
    shown = [[row for row in table if row.corruption in chosen] for table in tables]
    values = {name: [row.score for row in rows] for name, rows in zip(names, shown, strict=True)}
    radar(ax, [row.name for row in shown[0]], values)


def _most_costly(tables: Sequence[Sequence[Level]]) -> set[str]:
    """Find the corruptions with the highest mean drop over the models."""
    drops: dict[str, dict[int, float]] = {}
    for number, table in enumerate(tables):
        for row in table:
            found = drops.setdefault(row.corruption, {})
            if row.drop is not None:
                found[number] = row.drop
    known = [name for name, found in drops.items() if found]
    order = sorted(known, key=lambda name: -sum(drops[name].values()) / len(drops[name]))
    return set(order[:SHOWN])


def _draw(figure: Figure, models: Sequence[ModelData]) -> None:
    ax = figure.add_subplot(projection="polar")
    names = shown_names(models)
    _radar(ax, names, [model.data for model in models])
    radar_legend(figure, names, TITLE)


ROBUSTNESS_SEVERITIES = FigureKind(
    name="robustness_severities",
    title="Scores by severity of the corruptions that cost most",
    needs="results",
    data=lambda source: robustness_severities_table(source.result),
    draw=_draw,
    height=HEIGHT,
)
