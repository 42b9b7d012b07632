"""Figures of detectors under corruptions: scores, and the cost and frequency of errors.

Figure 2 (b) of the RoHOI paper shows the scores by severity as a radar chart. This module draws
severities along an axis, because in a circle the strongest severity of a corruption would connect
to the weakest severity of the next corruption.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from diaghoi.comparison.semantic import measured_by
from diaghoi.data.arrays import FloatArray
from diaghoi.oracles import ERRORS, error_title
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, Source, shown_names
from diaghoi.plots.labels import MINUS, fitted, inches_of, text_width, wrapped
from diaghoi.plots.panels import (
    GREY,
    GRID,
    LEAST_NUMBER,
    MARK,
    NAME_SIZE,
    TALLEST,
    bar_legend,
    bar_styles,
    bars,
    legend_above,
    model_lines,
    set_title,
    write_cells,
)
from diaghoi.plots.style import MODEL_MARKERS, add_note, colour, model_style
from diaghoi.statistics.bootstrap import FEW

ROBUSTNESS_FIGURES: dict[str, FigureKind] = {}
"""Figures of a robustness study by name, in drawing order."""


def _figure(name: str, title: str, data: Any, draw: Any, **settings: Any) -> FigureKind:
    """Register a figure."""
    kind = FigureKind(
        name=name,
        title=title,
        data=lambda source: data(source.result),
        draw=draw,
        needs="results",
        **settings,
    )
    ROBUSTNESS_FIGURES[name] = kind
    return kind


INCOMPLETE = "‡"
INCOMPLETE_NOTE = f"{INCOMPLETE}: computed over the available conditions only."


def _marked(models: Sequence[ModelData], partial: Sequence[bool]) -> list[str]:
    """Return the names of models, marked if their data are incomplete."""
    names = zip(shown_names(models), partial, strict=True)
    return [f"{name}{INCOMPLETE}" if some else name for name, some in names]


def _add_notes(
    figure: Figure, models: Sequence[ModelData], partial: Iterable[bool], names: str = ""
) -> None:
    """Explain abbreviations, scores and the mark for incomplete data."""
    mark = INCOMPLETE_NOTE if any(partial) else ""
    add_note(figure, " ".join(filter(None, (names, models[0].note, mark))))


def explained(names: Mapping[str, str]) -> str:
    """Spell out abbreviations; other names are omitted."""
    short = [f"{name}: {full}" for name, full in names.items() if name != full]
    return f"{'; '.join(short)}." if short else ""


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


# Share of the score that remains under each corruption:

FEWEST = 3  # least number of directions of a radar chart
TITLE = "Score under corruption, % of clean"
CIRCLE = 100.0  # the clean score
DIRECTION_SIZE, SCALE_SIZE = 6.5, 5.5  # points
# The reference line is wide and pale, without the dashes and markers of models.
REFERENCE: dict[str, Any] = {"color": "0.55", "linewidth": 1.5, "zorder": 1.9}


class RemainingScore(NamedTuple):
    """A corruption, which is a direction of the radar chart, for one model.

    Parameters
    ----------
    corruption : str
        Name in the registry.
    name : str
        Abbreviation.
    remaining : float or None
        Mean score over the severities, in percent of the clean score.
    partial : bool
        Whether any severity has no score.
    """

    corruption: str
    name: str
    remaining: float | None
    partial: bool = False


def robustness_drops_table(model: Mapping[str, Any]) -> list[RemainingScore]:
    """Extract the data of the figure from a model's result.

    Parameters
    ----------
    model : mapping
        An entry of ``models`` in :meth:`diaghoi.robustness.evaluation.Robustness.to_dict`, with the
        ``corruptions`` of the study.

    Raises
    ------
    NotApplicable
        If there are fewer than three corruptions, or no clean score.
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


def _radar(ax: Any, names: Sequence[str], rows: Sequence[Sequence[float | None]]) -> None:
    """Draw a closed line per model, with gaps at None, and a circle at the clean score.

    The area between the circle and a single model's line is shaded.
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
    # Numbers close to the outer ring or the reference line are omitted, because the line would cut
    # through them.
    ax.set_yticks([tick for tick in MaxNLocator(5).tick_values(0, top) if 0 < tick < 0.85 * top])
    ax.set_rlabel_position(180 / max(len(names), 1))


def _draw_drops(figure: Figure, models: Sequence[ModelData]) -> None:
    tables: list[list[RemainingScore]] = [model.data for model in models]
    names = [row.name for row in tables[0]]
    ax = figure.add_subplot(projection="polar")
    _radar(ax, names, [[row.remaining for row in table] for table in tables])
    partial = [any(row.partial for row in table) for table in tables]
    marks = model_lines(_marked(models, partial), linewidth=1.0, markersize=2.5)
    marks.append(Line2D([], [], **REFERENCE, label="clean"))
    legend_above(figure, marks, TITLE, mark=2.0)
    _add_notes(figure, models, partial)


ROBUSTNESS_DROPS = _figure(
    "robustness_drops",
    "Share of the clean score that remains under each corruption",
    robustness_drops_table,
    _draw_drops,
    height=3.1,
)


# Mean scores of groups of corruptions:

HEIGHT = 2.2  # inches
GROUP = 0.84  # width of the bars of one group, as a share of the distance between groups
CLEAN = "Clean"


class GroupScore(NamedTuple):
    """A bar for one model.

    Parameters
    ----------
    name : str
        Group of corruptions, or clean pictures.
    score : float or None
        Score in percent.
    partial : bool
        Whether any condition of the group has no score.
    """

    name: str
    score: float | None
    partial: bool = False


def robustness_groups_table(model: Mapping[str, Any]) -> list[GroupScore]:
    """Extract the data of the figure from a model's result.

    Parameters
    ----------
    model : mapping
        As for :func:`robustness_drops_table`.

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


def _draw_groups(figure: Figure, models: Sequence[ModelData]) -> None:
    tables: list[list[GroupScore]] = [model.data for model in models]
    ax, names, width = figure.add_subplot(), [row.name for row in tables[0]], GROUP / len(tables)
    for number, (table, style) in enumerate(zip(tables, bar_styles(len(tables)), strict=True)):
        first = (number + 0.5) * width - GROUP / 2
        known = [(first + place, r) for place, r in enumerate(table) if r.score is not None]
        bars(
            ax,
            [place for place, _ in known],
            [row.score for _, row in known if row.score is not None],
            width,
            [INCOMPLETE if row.partial else "" for _, row in known],
            size=7.0,
            color=style.on(GREY),
            hatch=style.hatch,
        )
    room = 0.9 * inches_of(ax) / len(names)
    longest = max(text_width(word, 7.0) for name in names for word in name.split())
    lines = ["\n".join(wrapped(name, max(room, longest), 7.0)) for name in names]
    ax.set_xticks(range(len(names)), lines, rotation=0 if longest <= room else 90)
    ax.tick_params(axis="x", length=0)
    ax.axvline(0.5, color="0.6", linewidth=0.6, linestyle=":")
    ax.yaxis.grid(True, color=GRID, linewidth=0.5)
    ax.set_ylabel("Mean score (%)")
    bar_legend(figure, shown_names(models))
    _add_notes(figure, models, [row.partial for table in tables for row in table])


ROBUSTNESS_GROUPS = _figure(
    "robustness_groups",
    "Mean scores under each group of corruptions",
    robustness_groups_table,
    _draw_groups,
    height=HEIGHT,
)


# Scores by severity:

SHOWN = 3  # corruptions
SEVERITY, SHORT = "Severity (0: clean)", "Severity"
BELOW = 13.0  # points: distance from the axis to the names of corruptions below the severities


class SeverityScore(NamedTuple):
    """Score of one model under one corruption at one severity.

    Parameters
    ----------
    corruption : str
        Name in the registry.
    abbreviation : str
        Abbreviation of the corruption.
    severity : int
        The severity; 0 for clean pictures.
    score : float or None
        Score in percent.
    drop : float or None
        Average share of the clean score that the corruption costs.
    chosen : bool
        Whether the corruption is shown regardless of its cost.
    partial : bool
        Whether any severity of the corruption has no score.
    """

    corruption: str
    abbreviation: str
    severity: int
    score: float | None
    drop: float | None
    chosen: bool = False
    partial: bool = False


def robustness_severities_table(model: Mapping[str, Any]) -> list[SeverityScore]:
    """Extract the data of the figure from a model's result.

    Parameters
    ----------
    model : mapping
        As in :func:`robustness_drops_table`, also with the ``severities`` of the study.

    Raises
    ------
    NotApplicable
        If there is a single severity, or no drop from a clean score.
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
        raise NotApplicable("the figure needs several severities")
    if all(row.drop is None for row in rows) and not model.get("chosen"):
        raise NotApplicable("without a score on clean pictures the costliest corruption is unknown")
    return rows


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


def _draw_severities(figure: Figure, models: Sequence[ModelData]) -> None:
    """Draw corruptions side by side, all with the same severities."""
    tables: list[list[SeverityScore]] = [model.data for model in models]
    ax, first = figure.add_subplot(), tables[0]
    chosen = {row.corruption for row in first if row.chosen} or _most_costly(tables)
    severities = sorted({row.severity for row in first})
    names = {row.corruption: row.abbreviation for row in first if row.corruption in chosen}
    # Steps of a corruption: between severities, plus half a step on both sides.
    room = len(severities)
    for number, table in enumerate(tables):
        for block, corruption in enumerate(names):
            scores = [row.score for row in table if row.corruption == corruption]
            heights = [np.nan if score is None else score for score in scores]
            style = model_style(number) | {"linewidth": 1.0, "markersize": 2.5}
            ax.plot(block * room + np.arange(room), heights, **style, clip_on=False)
    for block in range(1, len(names)):
        ax.axvline(block * room - 0.5, color="0.7", linewidth=0.6)
    ax.set_xticks(np.arange(room * len(names)), [str(s) for s in severities] * len(names))
    # With an odd number of severities, Matplotlib would hide the corruption's name at the tick of
    # the middle severity.
    ax.xaxis.remove_overlapping_locs = False
    full = {name: name.replace("_", " ") for name in names}
    wide = 0.95 * inches_of(ax) / len(names)
    fits = all(text_width(name, 7.0) <= wide for name in full.values())
    shown = full if fits else names
    centres = np.arange(len(names)) * room + (room - 1) / 2
    ax.set_xticks(centres, list(shown.values()), minor=True)
    ax.tick_params(axis="x", which="minor", length=0, pad=BELOW, labelsize=7.0)
    ax.set_xlim(-0.5, room * len(names) - 0.5)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    ax.yaxis.grid(True, color=GRID, linewidth=0.5)
    ax.set(xlabel=SEVERITY, ylabel="Score (%)")
    partial = [any(row.partial for row in table if row.corruption in names) for table in tables]
    legend_above(figure, model_lines(_marked(models, partial)), mark=MARK)
    _add_notes(figure, models, partial, explained({shown[name]: full[name] for name in names}))


ROBUSTNESS_SEVERITIES = _figure(
    "robustness_severities",
    "Scores at each severity of single corruptions",
    robustness_severities_table,
    _draw_severities,
    height=HEIGHT,
)


# Growth of errors:

# Inches:
ROW, HEAD, FOOT = 0.14, 0.22, 0.25  # heights of a row, a title, and the labels below
LOWEST = 0.1  # least height of a row whose name has the usual size
CELL = 0.2  # least width of a cell with a number
BESIDE = 1.35  # width of the names of errors and of the colour bar
NUMBER_SIZE = 5.5  # points
COLOURS = "RdBu_r"  # diverging, white at zero; red is worse


class ErrorGrowth(NamedTuple):
    """Growth of the cost of errors relative to clean pictures.

    Parameters
    ----------
    errors : tuple of str
        Names of E oracles.
    corruptions : tuple of str
        Abbreviations of C corruptions.
    growth : (E, C) float64 array
        Mean over the severities, in percentage points; NaN if it is undefined.
    partial : bool
        Whether any mean covers only some of the severities.
    """

    errors: tuple[str, ...]
    corruptions: tuple[str, ...]
    growth: FloatArray
    partial: bool = False


def robustness_errors_table(model: Mapping[str, Any]) -> ErrorGrowth:
    """Extract the data of the figure from a model's result.

    Parameters
    ----------
    model : mapping
        As for :func:`robustness_drops_table`.

    Raises
    ------
    NotApplicable
        If nothing can be compared with clean pictures.
    """
    grown, names = model["growth"], [each["name"] for each in model["corruptions"]]
    values = [
        [np.nan if row[name] is None else 100 * row[name] for name in names]
        for row in grown.values()
    ]
    growth = np.array(values, dtype=np.float64).reshape(len(grown), len(names))
    if np.isnan(growth).all():
        raise NotApplicable("without results on clean pictures the growth of errors is unknown")
    incomplete = [model["indices"]["corruptions"][name]["partial"] for name in names]
    return ErrorGrowth(
        tuple(grown),
        tuple(each["abbreviation"] for each in model["corruptions"]),
        growth,
        bool((np.array(incomplete) & ~np.isnan(growth).all(axis=0)).any()),
    )


def _points(growth: float) -> str:
    # -0.4 rounds to -0, which should be shown as 0.
    text = f"{growth:.0f}".replace("-0", "0").replace("-", MINUS)
    return "" if np.isnan(growth) else text


def _draw_growth(figure: Figure, models: Sequence[ModelData]) -> None:
    tables: list[ErrorGrowth] = [model.data for model in models]
    errors = len(tables[0].errors)
    row = min(ROW, ((TALLEST - FOOT) / len(tables) - HEAD) / errors)
    figure.set_figheight(FOOT + len(tables) * (HEAD + row * errors))
    panels = figure.subplots(len(models), 1, sharex=True, squeeze=False).ravel().tolist()
    # The scale is symmetric about zero.
    largest = max(float(np.nanmax(np.abs(table.growth))) for table in tables) or 1.0
    width = figure.get_figwidth() - BESIDE
    partial = [table.partial for table in tables]
    for ax, name, table in zip(panels, _marked(models, partial), tables, strict=True):
        ends = {"vmin": -largest, "vmax": largest}
        cells = ax.imshow(table.growth, cmap=COLOURS, aspect="auto", **ends)
        titles, names = [error_title(name) for name in table.errors], table.corruptions
        written = width / len(names) >= CELL
        size = NAME_SIZE if row >= LOWEST else LEAST_NUMBER
        ax.set_yticks(range(errors), titles, fontsize=size)
        ax.set_xticks(range(len(names)), names, fontsize=NAME_SIZE, rotation=0 if written else 90)
        ax.tick_params(length=0, pad=2)
        ax.spines[:].set_visible(False)
        if written:
            write_cells(ax, cells, table.growth, _points, NUMBER_SIZE)
        set_title(ax, name, width)
    bar = figure.colorbar(cells, ax=panels, pad=0.01, aspect=12)
    bar.set_label("Growth of ΔmAP (points)", fontsize=NAME_SIZE)
    bar.ax.tick_params(labelsize=NUMBER_SIZE)
    bar.outline.set_visible(False)
    _add_notes(figure, models, partial)


ROBUSTNESS_ERRORS = _figure(
    "robustness_errors",
    "Growth of errors under each corruption",
    robustness_errors_table,
    _draw_growth,
)


# Cost and frequency of errors. With few models, there is one panel per model and group of
# corruptions, with one line per error; with many models, there is one panel per error and group,
# with one line per model.

Quantity = Literal["delta_map", "shares"]

# Inches:
PANEL, TITLE_LINE, AROUND = 1.1, 0.11, 0.55  # heights: panel, title line, and all labels
LOW = 0.72  # height of a panel if each error has a panel
NARROWEST = 1.2  # least width of a panel in which all errors can be distinguished
SCALE, WIDE_SCALE = 0.45, 0.7  # room to the left of the first panel, without and with an error name
GAP = 0.06  # beside each panel
MOST_ROWS = 4  # largest number of rows of panels, if each model has its own panels
WITH_BANDS = 5  # largest number of models whose bands can be distinguished in one panel
PALE = 0.16  # opacity of a band
AXES: dict[Quantity, str] = {"delta_map": "ΔmAP (points)", "shares": "Share of predictions (%)"}
# The paper's abbreviations of groups of corruptions, by label in results.
ABBREVIATIONS = {
    "Optical system": "OS",
    "Sensor, compression, transmission": "SCT",
    "Environment": "EI",
    "Geometry and scene": "G&S",
}
OF_ANNOTATED = "of annotated"  # missed triplets are a share of the annotated triplets


class ErrorCurves(NamedTuple):
    """Errors of one model, averaged over the corruptions of each group.

    Parameters
    ----------
    quantity : {"delta_map", "shares"}
        Quantity shown: cost or frequency of errors.
    errors : tuple of str
        Names of E oracles.
    groups : tuple of str
        Labels of the G groups of corruptions.
    severities : tuple of int
        S severities, starting with 0 for clean pictures.
    values : (E, G, S) float64 array
        Percentage points or percent; NaN without a result.
    low, high : (E, G, S) float64 array
        Interval of each value for groups with a single corruption; NaN if there is none. Intervals
        of several corruptions do not determine the interval of their mean.
    confidence : float or None
        Confidence level of the intervals, if known.
    partial : tuple of bool
        Groups whose means cover only some of the corruptions.
    """

    quantity: Quantity
    errors: tuple[str, ...]
    groups: tuple[str, ...]
    severities: tuple[int, ...]
    values: FloatArray
    low: FloatArray
    high: FloatArray
    confidence: float | None = None
    partial: tuple[bool, ...] = ()

    @property
    def banded(self) -> bool:
        """Whether there are intervals to draw."""
        return not np.isnan(self.low).all()

    @property
    def partly_banded(self) -> bool:
        """Whether a group with intervals also has a value without one: too few carry the cost."""
        unknown = np.isnan(self.low) & ~np.isnan(self.values)
        return bool(unknown[:, ~np.isnan(self.low).all(axis=(0, 2))].any())


def robustness_curves_table(
    model: Mapping[str, Any], quantity: Quantity = "delta_map"
) -> ErrorCurves:
    """Extract the data of the figure from a model's result.

    Parameters
    ----------
    model : mapping
        As in :func:`robustness_drops_table`, also with the ``severities`` of the study.
    quantity : {"delta_map", "shares"}
        Quantity shown: cost or frequency of errors.

    Raises
    ------
    NotApplicable
        If fewer than two severities have results.
    """
    cells = {(cell["corruption"], cell["severity"]): cell for cell in model["cells"]}
    groups: dict[str, list[str]] = {}
    for each in model["corruptions"]:
        groups.setdefault(each["group"], []).append(each["name"])
    severities = (0, *model["severities"])
    partial = [False] * len(groups)
    rows = np.full((3, len(ERRORS), len(groups), len(severities)), np.nan)
    for column, names in enumerate(groups.values()):
        for place, severity in enumerate(severities):
            conditions = [(name, severity) for name in names] if severity else [(None, 0)]
            found = [cells[each] for each in conditions if each in cells]
            partial[column] |= 0 < len(found) < len(conditions)
            for number, error in enumerate(ERRORS):
                rows[0, number, column, place] = _mean(found, quantity, error)
                if len(names) == 1 and found:
                    rows[1:, number, column, place] = _interval(found[0], quantity, error)
    if (~np.isnan(rows[0]).all(axis=(0, 1))).sum() < 2:
        raise NotApplicable(
            "the figure needs results at two severities, such as clean pictures and severity 1"
        )
    confidence = (model.get("bootstrap") or {}).get("confidence")
    values, low, high = rows
    return ErrorCurves(
        quantity=quantity,
        errors=tuple(ERRORS),
        groups=tuple(groups),
        severities=severities,
        values=values,
        low=low,
        high=high,
        confidence=confidence,
        partial=tuple(partial),
    )


def _mean(cells: Sequence[Mapping[str, Any]], quantity: Quantity, error: str) -> float:
    """Return the mean of an error over the given conditions."""
    known = [cell[quantity][error] for cell in cells if cell[quantity][error] is not None]
    return 100 * float(np.mean(known)) if known else np.nan


def _interval(cell: Mapping[str, Any], quantity: Quantity, error: str) -> FloatArray:
    """Return the bounds of an error under a single condition."""
    bounds = cell.get("intervals", {}).get(quantity, {}).get(error)
    return np.full(2, np.nan) if bounds is None else 100 * np.array(bounds)


def _errors(ax: Axes, table: ErrorCurves, group: int) -> None:
    for number, error in enumerate(table.errors):
        _line(ax, table, number, group, _error_style(error))
    _scales(ax, table)


def _models(ax: Axes, tables: Sequence[ErrorCurves], error: int, group: int) -> None:
    for number, table in enumerate(tables):
        _line(ax, table, error, group, model_style(number), banded=len(tables) <= WITH_BANDS)
    _scales(ax, tables[0])


def _line(
    ax: Axes,
    table: ErrorCurves,
    error: int,
    group: int,
    style: Mapping[str, Any],
    *,
    banded: bool = True,
) -> None:
    values, low, high = (each[error, group] for each in (table.values, table.low, table.high))
    if banded and not np.isnan(low).all():
        ax.fill_between(table.severities, low, high, color=style["color"], alpha=PALE, linewidth=0)
    ax.plot(table.severities, values, **style, linewidth=0.9, markersize=2.2)


def _scales(ax: Axes, table: ErrorCurves) -> None:
    ax.set_xticks(table.severities)
    ax.tick_params(labelsize=NAME_SIZE, pad=2)
    ax.grid(True, color=GRID, linewidth=0.5)
    if table.quantity == "delta_map":
        ax.axhline(0, color="0.5", linewidth=0.5, zorder=0.9)


def _error_style(error: str) -> dict[str, Any]:
    return {"color": colour(error), "marker": MODEL_MARKERS[ERRORS.index(error)]}


def _error_marks(table: ErrorCurves) -> list[Line2D]:
    return [
        Line2D([], [], label=_title(error, table.quantity), markersize=3.0, **_error_style(error))
        for error in table.errors
    ]


def _band_mark(tables: Sequence[ErrorCurves]) -> list[Patch]:
    """Explain the bands, if any."""
    banded = [table for table in tables if table.banded]
    if not banded:
        return []
    share = "" if banded[0].confidence is None else f"{100 * banded[0].confidence:g} % "
    label = f"band: {share}interval"
    if any(table.partly_banded for table in banded):
        label += f", if {FEW} or more carry the cost"
    return [Patch(color="0.3", alpha=2 * PALE, linewidth=0, label=label)]


def _title(error: str, quantity: Quantity) -> str:
    title = error_title(error)
    return f"{title} ({OF_ANNOTATED})" if (quantity, error) == ("shares", "missed_gt") else title


def _draw(figure: Figure, models: Sequence[ModelData]) -> None:
    groups = len(models[0].data.groups)
    few = len(models) * ceil(groups / _columns(figure, groups)) <= MOST_ROWS
    draw = _draw_few if few else _draw_many
    tables = [model.data for model in models]
    names = draw(figure, shown_names(models), tables)
    figure.supylabel(AXES[models[0].data.quantity], fontsize=7.0)
    _add_notes(figure, models, [any(table.partial) for table in tables], names)


def _columns(figure: Figure, groups: int) -> int:
    """Return the number of panels per row if each shows all errors."""
    return max(1, min(groups, int((figure.get_figwidth() - SCALE) / NARROWEST)))


def _draw_few(figure: Figure, names: Sequence[str], tables: Sequence[ErrorCurves]) -> str:
    """Draw one panel per model and group, with a common scale; explain abbreviations."""
    columns = _columns(figure, len(tables[0].groups))
    width = (figure.get_figwidth() - SCALE) / columns - GAP
    titles = _titles(tables[0].groups, width)
    each = ceil(len(titles) / columns)
    rows = each * len(tables)
    lines = _lines(titles) + (len(tables) > 1)
    figure.set_figheight(AROUND + rows * (PANEL + TITLE_LINE * lines))
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for first, name, table in zip(range(0, rows, each), names, tables, strict=True):
        panels: list[Axes] = grid[first : first + each].ravel().tolist()
        for ax in panels[len(titles) :]:
            ax.remove()
        for number, (ax, title) in enumerate(zip(panels, titles, strict=False)):
            _errors(ax, table, number)
            title = f"{title}{INCOMPLETE}" if table.partial[number] else title
            above = f"{fitted(name, width, NAME_SIZE)}\n" if number == 0 and len(tables) > 1 else ""
            ax.set_title(above + title, loc="left", fontsize=NAME_SIZE, parse_math=False)
        for ax in panels[len(titles) - columns : len(titles)]:
            ax.tick_params(labelbottom=True)
    _name_severities(panels[len(titles) - columns : len(titles)], width)
    legend_above(figure, [*_error_marks(tables[0]), *_band_mark(tables)], mark=MARK)
    return _explained(titles, tables[0].groups)


def _draw_many(figure: Figure, names: Sequence[str], tables: Sequence[ErrorCurves]) -> str:
    """Draw one panel per error and group, with one scale per error; explain abbreviations."""
    errors, groups = tables[0].errors, tables[0].groups
    width = (figure.get_figwidth() - WIDE_SCALE) / len(groups) - GAP
    titles = _titles(groups, width)
    figure.set_figheight(AROUND + TITLE_LINE * _lines(titles) + LOW * len(errors))
    grid = figure.subplots(len(errors), len(groups), sharex=True, sharey="row", squeeze=False)
    for row, error in enumerate(errors):
        for column, ax in enumerate(grid[row]):
            _models(ax, tables, row, column)
        label = _title(error, tables[0].quantity).replace(" (", "\n(")
        grid[row, 0].set_ylabel(label, fontsize=NAME_SIZE)
    for ax, title in zip(grid[0], titles, strict=True):
        ax.set_title(title, loc="left", fontsize=NAME_SIZE)
    figure.align_ylabels()
    _name_severities(grid[-1].tolist(), width)
    bands = _band_mark(tables) if len(tables) <= WITH_BANDS else []
    marks = zip(names, tables, strict=True)
    names = [f"{name}{INCOMPLETE}" if any(table.partial) else name for name, table in marks]
    legend_above(figure, [*model_lines(names), *bands], mark=MARK)
    return _explained(titles, groups)


def _titles(groups: Sequence[str], room: float) -> list[str]:
    """Return the names of groups, or the paper's abbreviations if a word does not fit."""
    words = [word for group in groups for word in group.split()]
    if all(text_width(word, NAME_SIZE) <= room for word in words):
        return ["\n".join(wrapped(group, room, NAME_SIZE)) for group in groups]
    return [ABBREVIATIONS.get(group, group) for group in groups]


def _explained(titles: Sequence[str], groups: Sequence[str]) -> str:
    """Explain abbreviated titles."""
    return explained(
        {" ".join(title.split()): group for title, group in zip(titles, groups, strict=True)}
    )


def _lines(titles: Sequence[str]) -> int:
    return 1 + max(title.count("\n") for title in titles)


def _name_severities(panels: Sequence[Axes], room: float) -> None:
    name = SEVERITY if text_width(SEVERITY, 7.0) <= room else SHORT
    for ax in panels:
        ax.set_xlabel(name, fontsize=7.0, labelpad=2)


_curves = partial(_figure, draw=_draw)
ROBUSTNESS_COSTS = _curves(
    "robustness_costs",
    "Cost of each error at each severity",
    partial(robustness_curves_table, quantity="delta_map"),
)
ROBUSTNESS_SHARES = _curves(
    "robustness_shares",
    "Frequency of each error at each severity",
    partial(robustness_curves_table, quantity="shares"),
)


# Data from the result of a study:

OF_SCORES = (ROBUSTNESS_DROPS, ROBUSTNESS_GROUPS, ROBUSTNESS_SEVERITIES)
OVER_CORRUPTIONS = (ROBUSTNESS_COSTS, ROBUSTNESS_SHARES)
OVER_SEVERITIES = (ROBUSTNESS_DROPS, ROBUSTNESS_ERRORS)
BY_CORRUPTION = (ROBUSTNESS_DROPS, ROBUSTNESS_SEVERITIES, ROBUSTNESS_ERRORS)


def models_of(
    kind: FigureKind, result: Mapping[str, Any], corruptions: Collection[str] = ()
) -> list[ModelData]:
    """Extract the data of a figure from a study's result.

    Parameters
    ----------
    kind : FigureKind
        One of :data:`ROBUSTNESS_FIGURES`.
    result : mapping
        A result of :meth:`diaghoi.robustness.evaluation.Robustness.to_dict`, possibly saved.
    corruptions : collection of str
        Names of the corruptions in figures that show corruptions individually; by default all, or
        the costliest.

    Returns
    -------
    list of ModelData
        The models that the figure can show.

    Raises
    ------
    NotApplicable
        If the figure can show no model; the message gives the reason for the last model.
    """
    shared = {key: result[key] for key in ("corruptions", "severities")}
    shared["bootstrap"] = result.get("bootstrap")
    if corruptions and kind in BY_CORRUPTION:
        shown = [each for each in result["corruptions"] if each["name"] in corruptions]
        shared |= {"corruptions": shown, "chosen": True}
    found: list[ModelData] = []
    reason = NotApplicable("there is no model")
    for model in result["models"]:
        try:
            data = kind.data(Source(result={**model, **shared}))
        except NotApplicable as error:
            reason = error
            continue
        found.append(
            ModelData(
                label=model["label"],
                data=data,
                stage=model["stage"] or "",
                backbone=model["backbone"] or "",
                protocol=result["protocol"]["name"],
                score=result["metric_title"] if kind in OF_SCORES else "",
                note=_note(kind, result, shared["corruptions"]),
            )
        )
    if not found:
        raise reason
    return found


def _note(
    kind: FigureKind, result: Mapping[str, Any], corruptions: Sequence[Mapping[str, Any]]
) -> str:
    """Explain abbreviations, the scope of means, and the basis of soft scores."""
    names = {each["abbreviation"]: each["label"] for each in corruptions}
    parts = [explained(names)] if kind in OVER_SEVERITIES else []
    parts.append(_scope(kind, result))
    if kind in OF_SCORES and "similarity" in result:
        parts += measured_by(result)
    return " ".join(filter(None, parts))


def _scope(kind: FigureKind, result: Mapping[str, Any]) -> str:
    """Explain the scope of means if the scope differs from the scope in the paper."""
    scope = result.get("scope", {"complete": True})
    if scope["complete"]:
        return ""
    if kind is ROBUSTNESS_GROUPS:
        return f"Means over {scope['corruptions']}, {scope['severities']}."
    if kind in OVER_CORRUPTIONS:
        return f"Means over {scope['corruptions']}."
    if len(result["severities"]) == 1:
        return f"At {scope['severities']}." if kind in OVER_SEVERITIES else ""
    return f"Means over {scope['severities']}." if kind in OVER_SEVERITIES else ""
