"""Radar chart of scores by severity, for the corruptions that cost most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, tables_of
from diaghoi.plots.panels import check_models
from diaghoi.plots.robustness.polar import HEIGHT, polar_axes, radar, radar_legend
from diaghoi.plots.style import paper

SHOWN = 3  # corruptions
FEWEST = 3  # directions of a radar chart
TITLE = "Score by severity, %"


class SeverityScore(NamedTuple):
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


def robustness_severities_table(model: Mapping[str, Any]) -> list[SeverityScore]:
    """Extract the data of :func:`robustness_severities` from the result of a model.

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
                SeverityScore(
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


def robustness_severities(
    models: Mapping[str, Sequence[SeverityScore]], ax: Axes | None = None
) -> Axes:
    """Draw the scores at each severity of the three corruptions that cost most.

    Parameters
    ----------
    models : mapping
        The :func:`robustness_severities_table` of each model, by its label.
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
        _radar(ax, target, models)
    return ax


def _radar(ax: Any, target: Axes | Figure, models: Mapping[str, Sequence[SeverityScore]]) -> None:
    chosen = _most_costly(list(models.values()))
    shown = {
        label: [row for row in table if row.corruption in chosen] for label, table in models.items()
    }
    values = {label: [row.score for row in rows] for label, rows in shown.items()}
    radar(ax, [row.name for row in next(iter(shown.values()))], values)
    radar_legend(target, list(models), TITLE)


def _most_costly(tables: Sequence[Sequence[SeverityScore]]) -> set[str]:
    """Return the corruptions with the highest mean drop over the models."""
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
    _radar(figure.add_subplot(projection="polar"), figure, tables_of(models))


ROBUSTNESS_SEVERITIES = FigureKind(
    name="robustness_severities",
    title="Scores by severity of the corruptions that cost most",
    needs="results",
    data=lambda source: robustness_severities_table(source.result),
    draw=_draw,
    height=HEIGHT,
)
