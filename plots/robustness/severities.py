"""Scores over the severity of the corruptions that cost most, or of chosen ones.

The data are those of figure 2 (b) of the RoHOI paper, which is a radar chart. Severities are
ordered, and in a circle the strongest one of a corruption would join the weakest one of the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, drawn, tables_of
from diaghoi.plots.labels import inches_of, text_width
from diaghoi.plots.legend import MARK, legend_above, model_lines
from diaghoi.plots.panels import panel_of
from diaghoi.plots.robustness.notes import explained, marked, noted
from diaghoi.plots.style import model_style

HEIGHT = 2.2  # inches
SHOWN = 3  # corruptions
SCORE, SEVERITY = "Score (%)", "Severity (0: clean)"
NAME_SIZE = 7.0  # points
BELOW = 13.0  # points: from the axis to the names of corruptions, below the severities


class SeverityScore(NamedTuple):
    """The score of one model at one severity of one corruption.

    Parameters
    ----------
    corruption : str
        Name in the registry.
    abbreviation : str
        Its abbreviation.
    severity : int
        The severity; 0 for clean pictures.
    score : float or None
        In percent.
    drop : float or None
        Share of the clean score that the corruption costs on average.
    chosen : bool
        Whether the corruption is shown whatever it costs.
    partial : bool
        Whether some severity of the corruption has no score.
    """

    corruption: str
    abbreviation: str
    severity: int
    score: float | None
    drop: float | None
    chosen: bool = False
    partial: bool = False


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
        For a single severity, or without a drop from a clean score.
    """
    cells = {(cell["corruption"], cell["severity"]): cell["score"] for cell in model["cells"]}
    rows = []
    for each in model["corruptions"]:
        for severity in (0, *model["severities"]):
            score = cells.get((each["name"], severity)) if severity else model["clean"]
            rows.append(
                SeverityScore(
                    each["name"],
                    each["abbreviation"],
                    severity,
                    None if score is None else 100 * score,
                    model["drops"][each["name"]],
                    bool(model.get("chosen")),
                    model["indices"]["corruptions"][each["name"]]["partial"],
                )
            )
    if len(model["severities"]) < 2:
        raise NotApplicable("it needs several severities")
    if all(row.drop is None for row in rows) and not model.get("chosen"):
        raise NotApplicable("without a score on clean pictures none can be said to cost most")
    return rows


def robustness_severities(
    models: Mapping[str, Sequence[SeverityScore]], ax: Axes | None = None
) -> Axes:
    """Draw the scores at each severity of the chosen corruptions, or the three that cost most.

    Parameters
    ----------
    models : mapping
        The :func:`robustness_severities_table` of each model, by its label.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        One line per model and corruption, from clean pictures to the strongest corruption. Nothing
        is shown or saved; see :func:`diaghoi.plots.save`.

    Raises
    ------
    InputError
        If there is no model.
    """
    return drawn(ROBUSTNESS_SEVERITIES, models, ax)


def _lines(ax: Axes, tables: Sequence[Sequence[SeverityScore]]) -> tuple[list[bool], str]:
    """Draw the corruptions side by side, all over the same severities.

    Returns
    -------
    partial : list of bool
        Of which models some of the scores are missing.
    names : str
        What abbreviations mean, if there are any.
    """
    chosen = {row.corruption for row in tables[0] if row.chosen} or _most_costly(tables)
    severities = sorted({row.severity for row in tables[0]})
    names = {row.corruption: row.abbreviation for row in tables[0] if row.corruption in chosen}
    room = len(severities)  # a corruption takes its severities and half a step at both sides
    for number, table in enumerate(tables):
        for block, corruption in enumerate(names):
            scores = [row.score for row in table if row.corruption == corruption]
            ax.plot(
                block * room + np.arange(room),
                [np.nan if score is None else score for score in scores],
                **model_style(number),
                linewidth=1.0,
                markersize=2.5,
                clip_on=False,
            )
    for block in range(1, len(names)):
        ax.axvline(block * room - 0.5, color="0.7", linewidth=0.6)
    ax.set_xticks(np.arange(room * len(names)), [str(s) for s in severities] * len(names))
    # The middle of an odd number of severities is one of them, whose name would hide the other.
    ax.xaxis.remove_overlapping_locs = False
    centres = np.arange(len(names)) * room + (room - 1) / 2
    shown = _names(names, inches_of(ax) / len(names))
    ax.set_xticks(centres, shown, minor=True)
    ax.tick_params(axis="x", which="minor", length=0, pad=BELOW, labelsize=NAME_SIZE)
    ax.set_xlim(-0.5, room * len(names) - 0.5)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    ax.yaxis.grid(True, color="0.9", linewidth=0.5)
    ax.set_xlabel(SEVERITY)
    ax.set_ylabel(SCORE)
    partial = [any(row.partial for row in table if row.corruption in names) for table in tables]
    return partial, explained(dict(zip(shown, map(_plain, names), strict=True)))


def _names(names: Mapping[str, str], room: float) -> list[str]:
    """Return the names of corruptions, or the abbreviations where one does not fit."""
    full = [_plain(name) for name in names]
    fits = all(text_width(name, NAME_SIZE) <= 0.95 * room for name in full)
    return full if fits else list(names.values())


def _plain(name: str) -> str:
    return name.replace("_", " ")


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


def _draw(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    tables = tables_of(models)
    partial, names = _lines(panel_of(target), list(tables.values()))
    legend_above(target, model_lines(marked(list(tables), partial)), mark=MARK)
    add_note(target, noted(" ".join(filter(None, (names, models[0].note))), partial))


ROBUSTNESS_SEVERITIES = FigureKind(
    name="robustness_severities",
    title="Scores by severity of single corruptions",
    needs="results",
    data=lambda source: robustness_severities_table(source.result),
    draw=_draw,
    height=HEIGHT,
)
