"""Scores under corruptions: by group, by severity, and as shares of the clean score.

The scores by severity are those of figure 2 (b) of the RoHOI paper, which is a radar chart.
Severities are ordered, and in a circle the strongest one of a corruption would join the weakest
one of the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from diaghoi.exceptions import InputError
from diaghoi.plots.captions import INCOMPLETE, add_note, explained, marked, noted
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, drawn, tables_of
from diaghoi.plots.labels import inches_of, text_width, wrapped
from diaghoi.plots.legend import (
    EDGE,
    GREY,
    MARK,
    bar_legend,
    hatch,
    legend_above,
    model_lines,
    paleness,
)
from diaghoi.plots.panels import panel_of
from diaghoi.plots.style import lighter, model_style

FEWEST = 3  # directions of a radar chart
TITLE = "Score under corruption, % of clean"
CIRCLE = 100.0  # the clean score
DIRECTION_SIZE, SCALE_SIZE = 6.5, 5.5  # points
RADAR_HEIGHT = 3.1  # inches
# Broad and pale, without dashes and marks, which models have.
REFERENCE: dict[str, Any] = {"color": "0.55", "linewidth": 1.5, "zorder": 1.9}


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

    Raises
    ------
    InputError
        If there is no model, or axes are not polar.
    """
    if ax is not None and ax.name != "polar":
        raise InputError("ax: is not polar; make it with add_subplot(projection='polar')")
    return drawn(ROBUSTNESS_DROPS, models, ax)


def _radar(ax: Any, names: Sequence[str], rows: Sequence[Sequence[float | None]]) -> None:
    """Draw a closed line for each model, which breaks at None, and a circle of the clean score.

    The area between the circle and the line of a single model is shaded.
    """
    angles = np.linspace(0, 2 * np.pi, len(names), endpoint=False)
    ax.set_theta_zero_location("N")
    ax.set_theta_direction(-1)
    ax.set_xticks(angles, names, fontsize=DIRECTION_SIZE)
    ax.tick_params(axis="x", pad=2)
    ax.tick_params(axis="y", labelsize=SCALE_SIZE, labelcolor="0.35")
    ax.grid(color="0.85", linewidth=0.5)
    ax.spines["polar"].set_color("0.7")
    around = np.append(angles, 2 * np.pi)
    for number, row in enumerate(rows):
        radii = np.array([np.nan if value is None else value for value in row])
        closed = np.append(radii, radii[0])
        style = model_style(number)
        ax.plot(around, closed, **style, linewidth=1.0, markersize=2.2)
        if len(rows) == 1:
            ax.fill_between(around, closed, CIRCLE, color=style["color"], alpha=0.15, lw=0)
    circle = np.linspace(0, 2 * np.pi, 181)
    ax.plot(circle, np.full_like(circle, CIRCLE), **REFERENCE)
    top = 1.05 * max([CIRCLE, *(value for row in rows for value in row if value is not None)])
    ax.set_ylim(0, top)
    # A number near the outer ring would be cut by it, or by the reference.
    ax.set_yticks([tick for tick in MaxNLocator(5).tick_values(0, top) if 0 < tick < 0.85 * top])
    ax.set_rlabel_position(180 / max(len(names), 1))


def _draw_drops(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    tables = tables_of(models)
    ax = target if isinstance(target, Axes) else target.add_subplot(projection="polar")
    directions = [row.name for row in next(iter(tables.values()))]
    _radar(ax, directions, [[row.remaining for row in table] for table in tables.values()])
    partial = [any(row.partial for row in table) for table in tables.values()]
    marks = model_lines(marked(list(tables), partial), linewidth=1.0, markersize=2.5)
    marks.append(Line2D([], [], **REFERENCE, label="clean"))
    legend_above(target, marks, TITLE, mark=2.0)
    add_note(target, noted(models[0].note, partial))


ROBUSTNESS_DROPS = FigureKind(
    name="robustness_drops",
    title="What each corruption leaves of the score",
    needs="results",
    data=lambda source: robustness_drops_table(source.result),
    draw=_draw_drops,
    height=RADAR_HEIGHT,
)


HEIGHT = 2.2  # inches
GROUP = 0.84  # width of the bars of one group, as a share of the distance between groups
NAME_SIZE = 7.0  # points
CLEAN = "Clean"


class GroupScore(NamedTuple):
    """One bar of one model.

    Parameters
    ----------
    name : str
        GroupScore of corruptions, or clean pictures.
    score : float or None
        In percent.
    partial : bool
        Whether some conditions behind it have no score.
    """

    name: str
    score: float | None
    partial: bool = False


def robustness_groups_table(model: Mapping[str, Any]) -> list[GroupScore]:
    """Extract the data of :func:`robustness_groups` from the result of a model.

    Parameters
    ----------
    model : mapping
        As for :func:`diaghoi.plots.robustness.scores.robustness_drops_table`.

    Raises
    ------
    NotApplicable
        If no group has a score.
    """
    labels = list(dict.fromkeys(each["group"] for each in model["corruptions"]))
    found = model["indices"]["groups"].values()
    rows = [
        GroupScore(label, _percent(index["mri"]), index["partial"] and index["mri"] is not None)
        for label, index in zip(labels, found, strict=True)
    ]
    if all(row.score is None for row in rows):
        raise NotApplicable("no group has a score")
    return [GroupScore(CLEAN, _percent(model["clean"])), *rows]


def robustness_groups(models: Mapping[str, Sequence[GroupScore]], ax: Axes | None = None) -> Axes:
    """Draw the scores on clean pictures and MRI of each group of corruptions, one bar per model.

    Parameters
    ----------
    models : mapping
        The :func:`robustness_groups_table` of each model, by its label.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Raises
    ------
    InputError
        If there is no model.
    """
    return drawn(ROBUSTNESS_GROUPS, models, ax)


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _bars(ax: Axes, tables: Sequence[Sequence[GroupScore]]) -> None:
    names = [row.name for row in tables[0]]
    width = GROUP / len(tables)
    for number, table in enumerate(tables):
        for place, row in enumerate(table):
            if row.score is not None:
                middle = place + (number + 0.5) * width - GROUP / 2
                if row.partial:
                    ax.text(
                        middle, row.score, INCOMPLETE, ha="center", va="bottom", fontsize=NAME_SIZE
                    )
                ax.bar(
                    middle,
                    row.score,
                    width,
                    color=lighter(GREY, paleness(number, len(tables))),
                    edgecolor=EDGE,
                    hatch=hatch(number, len(tables)),
                )
    _label_groups(ax, names, 0.9 * inches_of(ax) / len(names))
    ax.tick_params(axis="x", length=0)
    ax.axvline(0.5, color="0.6", linewidth=0.6, linestyle=":")
    ax.yaxis.grid(True, color="0.88", linewidth=0.5)
    ax.set_ylabel("Mean score (%)")


def _label_groups(ax: Axes, names: Sequence[str], room: float) -> None:
    """Write the names below the bars in several lines, rotated if a word is too long."""
    longest = max(text_width(word, NAME_SIZE) for name in names for word in name.split())
    lines = ["\n".join(wrapped(name, max(room, longest), NAME_SIZE)) for name in names]
    turn = 0 if longest <= room else 90
    ax.set_xticks(range(len(names)), lines, fontsize=NAME_SIZE, rotation=turn)


def _draw_groups(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    tables = tables_of(models)
    _bars(panel_of(target), list(tables.values()))
    bar_legend(target, list(tables))
    partial = [row.partial for table in tables.values() for row in table]
    add_note(target, noted(models[0].note, partial))


ROBUSTNESS_GROUPS = FigureKind(
    name="robustness_groups",
    title="Mean scores under each group of corruptions",
    needs="results",
    data=lambda source: robustness_groups_table(source.result),
    draw=_draw_groups,
    height=HEIGHT,
)


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
        As for :func:`diaghoi.plots.robustness.scores.robustness_drops_table`, also with the
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


def _draw_severities(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    tables = tables_of(models)
    partial, names = _lines(panel_of(target), list(tables.values()))
    legend_above(target, model_lines(marked(list(tables), partial)), mark=MARK)
    add_note(target, noted(" ".join(filter(None, (names, models[0].note))), partial))


ROBUSTNESS_SEVERITIES = FigureKind(
    name="robustness_severities",
    title="Scores by severity of single corruptions",
    needs="results",
    data=lambda source: robustness_severities_table(source.result),
    draw=_draw_severities,
    height=HEIGHT,
)
