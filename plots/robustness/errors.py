"""Heatmap of the growth of each error under each corruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from diaghoi.data.arrays import FloatArray
from diaghoi.exceptions import InputError
from diaghoi.oracles import error_title
from diaghoi.plots.captions import add_note, marked, noted
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, shown_names
from diaghoi.plots.labels import MINUS, inches_of
from diaghoi.plots.panels import one_panel, set_title, write_cells
from diaghoi.plots.style import paper

# Inches:
ROW, FRAME = 0.14, 0.45  # height of a row, and of title and labels of a panel
CELL = 0.2  # width from which a number fits into a cell
BESIDE = 1.35  # names of errors and colour bar
NUMBER_SIZE, NAME_SIZE = 5.5, 6.0  # points
COLOURS = "RdBu_r"  # diverging, white at zero; red is worse
SCALE = "Growth of ΔmAP (points)"


class ErrorGrowth(NamedTuple):
    """Growth of the cost of errors over clean pictures.

    Parameters
    ----------
    errors : tuple of str
        Names of E oracles.
    corruptions : tuple of str
        Abbreviations of C corruptions.
    growth : (E, C) float64 array
        Mean over the severities, in percent points; NaN where it is undefined.
    partial : bool
        Whether some of the means are over a part of the severities.
    """

    errors: tuple[str, ...]
    corruptions: tuple[str, ...]
    growth: FloatArray
    partial: bool = False


def robustness_errors_table(model: Mapping[str, Any]) -> ErrorGrowth:
    """Extract the data of :func:`robustness_errors` from the result of a model.

    Parameters
    ----------
    model : mapping
        As for :func:`diaghoi.plots.robustness.scores.robustness_drops_table`.

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
        raise NotApplicable("without results on clean pictures no error can be said to grow")
    incomplete = [model["indices"]["corruptions"][name]["partial"] for name in names]
    return ErrorGrowth(
        tuple(grown),
        tuple(each["abbreviation"] for each in model["corruptions"]),
        growth,
        bool((np.array(incomplete) & ~np.isnan(growth).all(axis=0)).any()),
    )


def robustness_errors(table: ErrorGrowth, ax: Axes | None = None) -> Axes:
    """Draw the growth of each error under each corruption: red where it costs more.

    Parameters
    ----------
    table : ErrorGrowth
        Of one model.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Raises
    ------
    InputError
        If there is no error or corruption.
    """
    if not table.growth.size:
        raise InputError("table: there is nothing to draw; give errors and corruptions")
    with paper():
        ax, _ = one_panel(ax, FRAME + ROW * len(table.errors))
        width = inches_of(ax) - BESIDE
        image = _fill(ax, table, _largest([table]), width / len(table.corruptions))
        _scale(image, [ax])
    return ax


def _largest(tables: Sequence[ErrorGrowth]) -> float:
    """Return the end of the scale, symmetric about zero."""
    largest = max(float(np.nanmax(np.abs(table.growth))) for table in tables)
    return largest or 1.0


def _fill(ax: Axes, table: ErrorGrowth, largest: float, cell: float) -> AxesImage:
    image = ax.imshow(table.growth, cmap=COLOURS, vmin=-largest, vmax=largest, aspect="auto")
    errors = [error_title(name) for name in table.errors]
    ax.set_yticks(range(len(errors)), errors, fontsize=NAME_SIZE)
    turned = 90 if cell < CELL else 0
    ax.set_xticks(
        range(len(table.corruptions)), table.corruptions, fontsize=NAME_SIZE, rotation=turned
    )
    ax.tick_params(length=0, pad=2)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if cell >= CELL:
        write_cells(ax, image, table.growth, _points, NUMBER_SIZE)
    return image


def _points(growth: float) -> str:
    # -0.4 rounds to -0, which should read 0.
    text = f"{growth:.0f}".replace("-0", "0").replace("-", MINUS)
    return "" if np.isnan(growth) else text


def _scale(image: AxesImage, panels: Sequence[Axes]) -> None:
    figure = image.get_figure(root=True)
    if figure is not None:
        bar = figure.colorbar(image, ax=list(panels), pad=0.01, aspect=12)
        bar.set_label(SCALE, fontsize=NAME_SIZE)
        bar.ax.tick_params(labelsize=NUMBER_SIZE)
        bar.outline.set_visible(False)


def _draw(figure: Figure, models: Sequence[ModelData]) -> None:
    tables = [model.data for model in models]
    rows = sum(FRAME + ROW * len(table.errors) for table in tables)
    figure.set_figheight(rows)
    panels = figure.subplots(len(models), 1, sharex=True, squeeze=False).ravel().tolist()
    largest, width = _largest(tables), figure.get_figwidth() - BESIDE
    partial = [table.partial for table in tables]
    names = marked(shown_names(models), partial)
    for ax, name, table in zip(panels, names, tables, strict=True):
        image = _fill(ax, table, largest, width / len(table.corruptions))
        set_title(ax, name, width)
    _scale(image, panels)
    add_note(figure, noted(models[0].note, partial))


ROBUSTNESS_ERRORS = FigureKind(
    name="robustness_errors",
    title="Which errors grow under which corruption",
    needs="results",
    data=lambda source: robustness_errors_table(source.result),
    draw=_draw,
    height=FRAME + 7 * ROW,
)
