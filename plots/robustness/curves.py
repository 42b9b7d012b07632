"""Cost or frequency of each error over the severity of corruptions.

A study of few models has one panel per model and group of corruptions, with one line per error; a
study of many models has one panel per error and group, with one line per model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from diaghoi.data.arrays import FloatArray
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import ERRORS, error_title
from diaghoi.plots.captions import INCOMPLETE, add_note, explained, marked, noted
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, Source, shown_names
from diaghoi.plots.labels import fitted, text_width, wrapped
from diaghoi.plots.legend import MARK, legend_above, model_lines
from diaghoi.plots.panels import one_panel
from diaghoi.plots.style import MODEL_MARKERS, colour, model_style, paper
from diaghoi.statistics.bootstrap import FEW

Quantity = Literal["delta_map", "shares"]

# Inches:
HEIGHT, TITLE, AROUND = 1.1, 0.11, 0.55  # of a panel, of a title line, of all labels
LOW = 0.72  # height of a panel if each error has one
NARROWEST = 1.2  # width of a panel in which all errors can be distinguished
SCALE, WIDE_SCALE = 0.45, 0.7  # left of the first panel, without and with the name of its error
GAP = 0.06  # beside each panel
LABEL_SIZE, NAME_SIZE, TICK_SIZE = 7.0, 6.0, 6.0  # points
MOST_ROWS = 4  # of panels, if each model has its own
WITH_BANDS = 5  # models whose bands can be distinguished in one panel
PALE = 0.16  # opacity of a band
SEVERITY, SHORT = "Severity (0: clean)", "Severity"
AXES: dict[Quantity, str] = {"delta_map": "ΔmAP (points)", "shares": "Share of predictions (%)"}
# The paper's short names of its groups of corruptions, by the labels that results carry.
ABBREVIATIONS = {
    "Optical system": "OS",
    "Sensor, compression, transmission": "SCT",
    "Environment": "EI",
    "Geometry and scene": "G&S",
}
OF_ANNOTATED = "of annotated"  # missed triplets are no predictions, so their share has another base


class ErrorCurves(NamedTuple):
    """Errors of one model, mean over the corruptions of each group.

    Parameters
    ----------
    quantity : {"delta_map", "shares"}
        Cost of the errors, or their frequency.
    errors : tuple of str
        Names of E oracles.
    groups : tuple of str
        Labels of G groups of corruptions.
    severities : tuple of int
        S severities, 0 for clean pictures first.
    values : (E, G, S) float64 array
        Percent points, or percent; NaN without a result.
    low, high : (E, G, S) float64 array
        Interval of each value of a group with a single corruption; NaN if there is none. Intervals
        of several corruptions do not tell that of their mean.
    confidence : float or None
        Share of the resamples within the intervals, if it is known.
    partial : tuple of bool
        Of which groups some means are over a part of the corruptions.
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
        """Whether some values of a group with intervals have none, as too little carries them."""
        unknown = np.isnan(self.low) & ~np.isnan(self.values)
        return bool(unknown[:, ~np.isnan(self.low).all(axis=(0, 2))].any())


def robustness_curves_table(
    model: Mapping[str, Any], quantity: Quantity = "delta_map"
) -> ErrorCurves:
    """Extract the data of :func:`robustness_curves` from the result of a model.

    Parameters
    ----------
    model : mapping
        As for :func:`diaghoi.plots.robustness.scores.robustness_drops_table`, also with the
        ``severities`` of the study.
    quantity : {"delta_map", "shares"}
        Cost of the errors, or their frequency.

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
        raise NotApplicable("it needs results of two severities, of which clean pictures are one")
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
    """Return the mean of an error over some conditions."""
    known = [cell[quantity][error] for cell in cells if cell[quantity][error] is not None]
    return 100 * float(np.mean(known)) if known else np.nan


def _interval(cell: Mapping[str, Any], quantity: Quantity, error: str) -> FloatArray:
    """Return the bounds of an error under a single condition."""
    bounds = cell.get("intervals", {}).get(quantity, {}).get(error)
    return np.full(2, np.nan) if bounds is None else 100 * np.array(bounds)


def robustness_curves(table: ErrorCurves, group: str, ax: Axes | None = None) -> Axes:
    """Draw the errors of one model under one group of corruptions over the severity.

    Parameters
    ----------
    table : ErrorCurves
        Data of the model.
    group : str
        Label of the group.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        Bands show the intervals of a group with a single corruption, if there are any.

    Raises
    ------
    InputError
        If the study has no such group.
    """
    if group not in table.groups:
        raise InputError(
            f"group: '{group}' is not in the study{close_matches(group, table.groups)}; give one "
            f"of {', '.join(map(repr, table.groups))}"
        )
    with paper():
        ax, target = one_panel(ax, 2 * HEIGHT)
        number = table.groups.index(group)
        _errors(ax, table, number)
        ax.set_xlabel(SEVERITY)
        ax.set_ylabel(AXES[table.quantity])
        legend_above(target, [*_error_marks(table), *_band_mark([table])], mark=MARK)
        add_note(target, noted("", [table.partial[number]]))
    return ax


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
    ax.tick_params(labelsize=TICK_SIZE, pad=2)
    ax.grid(True, color="0.92", linewidth=0.5)
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
    """Explain the bands, if there are any."""
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
    figure.supylabel(AXES[models[0].data.quantity], fontsize=LABEL_SIZE)
    note = " ".join(filter(None, (names, models[0].note)))
    add_note(figure, noted(note, [any(table.partial) for table in tables]))


def _columns(figure: Figure, groups: int) -> int:
    """Return the number of panels in a row if each shows all errors."""
    return max(1, min(groups, int((figure.get_figwidth() - SCALE) / NARROWEST)))


def _draw_few(figure: Figure, names: Sequence[str], tables: Sequence[ErrorCurves]) -> str:
    """Draw one panel per model and group, with one scale for all; explain abbreviations."""
    columns = _columns(figure, len(tables[0].groups))
    width = (figure.get_figwidth() - SCALE) / columns - GAP
    titles = _titles(tables[0].groups, width)
    each = ceil(len(titles) / columns)
    rows = each * len(tables)
    lines = _lines(titles) + (len(tables) > 1)
    figure.set_figheight(AROUND + rows * (HEIGHT + TITLE * lines))
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
    figure.set_figheight(AROUND + TITLE * _lines(titles) + LOW * len(errors))
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
    names = marked(names, [any(table.partial) for table in tables])
    legend_above(figure, [*model_lines(names), *bands], mark=MARK)
    return _explained(titles, groups)


def _titles(groups: Sequence[str], room: float) -> list[str]:
    """Return the names of groups, or the abbreviations of the paper if a word does not fit."""
    words = [word for group in groups for word in group.split()]
    if all(text_width(word, NAME_SIZE) <= room for word in words):
        return ["\n".join(wrapped(group, room, NAME_SIZE)) for group in groups]
    return [ABBREVIATIONS.get(group, group) for group in groups]


def _explained(titles: Sequence[str], groups: Sequence[str]) -> str:
    """Say what abbreviated titles mean."""
    return explained(
        {" ".join(title.split()): group for title, group in zip(titles, groups, strict=True)}
    )


def _lines(titles: Sequence[str]) -> int:
    return 1 + max(title.count("\n") for title in titles)


def _name_severities(panels: Sequence[Axes], room: float) -> None:
    name = SEVERITY if text_width(SEVERITY, LABEL_SIZE) <= room else SHORT
    for ax in panels:
        ax.set_xlabel(name, fontsize=LABEL_SIZE, labelpad=2)


def _data(quantity: Quantity) -> Callable[[Source], ErrorCurves]:
    return lambda source: robustness_curves_table(source.result, quantity)


_KIND = partial(FigureKind, needs="results", draw=_draw, height=AROUND + HEIGHT + TITLE)
ROBUSTNESS_COSTS = _KIND(
    name="robustness_costs",
    title="What each error costs at each severity",
    data=_data("delta_map"),
)
ROBUSTNESS_SHARES = _KIND(
    name="robustness_shares",
    title="How frequent each error is at each severity",
    data=_data("shares"),
)
