"""Error profile: shares of the labels among the predictions of each verb or object."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from diaghoi.data.arrays import FloatArray, ratios
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.oracles import error_title
from diaghoi.plots.figure import (
    FigureKind,
    Model,
    ModelData,
    NotApplicable,
    diagnosis_of,
    shown_names,
    source_of,
)
from diaghoi.plots.labels import MINUS, fitted, text_width
from diaghoi.plots.panels import one_panel, set_title, write_cells
from diaghoi.plots.style import colour, paper

MOST = 25  # rows, by default
OTHERS = "all others"
ENOUGH = 12  # rows that a page needs before numbers are written into the cells
# Inches:
PAGE = 8.5  # greatest height of all panels, so that they fit on a page
ROW = 0.115  # height of a row
CELL = 0.23  # width of a cell with its share as a number
NARROW = 0.115  # width of a cell without
WIDEST_NAME = 1.05
BESIDE, GAP = 0.25, 0.08  # beside all panels, and between them
ABOVE, BELOW, BAR = 0.2, 0.85, 0.45  # titles, names of errors, colour bar
NUMBER_SIZE, NAME_SIZE = 5.5, 6.0  # points


class ErrorProfile(NamedTuple):
    """Labels of the predictions of each verb or object.

    Parameters
    ----------
    names : tuple of str
        The G verbs or objects of the data set that have annotated triplets or predictions.
    annotated : (G,) int array
        Number of annotated triplets.
    counts : (G, 7) int array
        Number of predictions with each label of :data:`diaghoi.evaluation.errors.LABELS`.
    """

    names: tuple[str, ...]
    annotated: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @property
    def shares(self) -> FloatArray:
        """(G, 7) share of each label among the predictions; NaN where there are none."""
        return ratios(self.counts, self.counts.sum(axis=1, keepdims=True))


def error_profile_table(
    diagnosis: Diagnosis, by: Literal["verb", "object"] = "verb"
) -> ErrorProfile:
    """Compute the data of :func:`error_profile` for one model.

    Parameters
    ----------
    diagnosis : Diagnosis
        Of one model.
    by : {"verb", "object"}
        What the predictions are grouped by.

    Raises
    ------
    NotApplicable
        If the classes of the data set are actions with roles, as in V-COCO. They name no object,
        and predictions give every person every action, so that the errors of all verbs are the
        same but for the few that are right.
    """
    vocabulary, ledger = diagnosis.vocabulary, diagnosis.ledger
    if vocabulary.any_object:
        reason = "every person is predicted with every verb, so that all verbs have the same errors"
        if by == "object":
            reason = "its classes do not name objects"
        raise NotApplicable(f"{vocabulary.name}: {reason}")
    group_of = vocabulary.class_verb if by == "verb" else vocabulary.class_object
    names = vocabulary.verbs if by == "verb" else vocabulary.objects
    annotated = np.bincount(group_of, weights=ledger.positives, minlength=len(names))
    cell = group_of[ledger.row_class].astype(np.int64) * len(LABELS) + ledger.row_label
    counts = np.bincount(cell, minlength=len(names) * len(LABELS)).reshape(-1, len(LABELS))
    present = np.flatnonzero((annotated > 0) | (counts.sum(axis=1) > 0))
    return ErrorProfile(
        names=tuple(names[group] for group in present),
        annotated=annotated[present].astype(np.int64),
        counts=counts[present],
    )


def error_profile(
    diagnosis: Model | ErrorProfile,
    ax: Axes | None = None,
    *,
    by: Literal["verb", "object"] = "verb",
    names: Sequence[str] | None = None,
    minus: Model | ErrorProfile | None = None,
    written: bool = True,
    most: float | None = None,
) -> Axes:
    """Draw the shares of the labels as a heatmap: one row per verb or object, one column per label.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector, or its :func:`error_profile_table`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.
    by : {"verb", "object"}
        What the rows are, of a diagnosis.
    names : sequence of str, optional
        The rows; by default the 25 with the most annotated triplets.
    minus : Diagnosis, optional
        Another detector, or its table: the heatmap shows the difference to it, in percent points.
    written : bool
        Whether the shares are written into the cells.
    most : float, optional
        Share in percent of the darkest colour; by default the highest share shown.
    """
    import seaborn

    table = _profile(diagnosis, by)
    names = most_annotated([table], MOST) if names is None else names
    shares = 100 * _rows(table, names)
    if minus is not None:
        shares = shares - 100 * _rows(_profile(minus, by), names)
    if most is None:
        most = float(np.nanmax(np.abs(shares), initial=1.0))
    with paper():
        ax, _ = one_panel(ax, len(names) * ROW + BELOW + ABOVE)
        seaborn.heatmap(
            shares,
            ax=ax,
            vmin=0 if minus is None else -most,
            vmax=most,
            cmap="rocket_r" if minus is None else "vlag",
            cbar=False,
            linewidths=0.3,
            yticklabels=[fitted(name.replace("_", " "), WIDEST_NAME, NAME_SIZE) for name in names],
            xticklabels=[error_title(name) for name in LABELS],
        )
        ax.tick_params(length=0, labelsize=NAME_SIZE)
        ax.tick_params(axis="y", rotation=0)
        ax.tick_params(axis="x", rotation=90, pad=4)
        _swatches(ax, len(names))
        if written:
            write_cells(ax, ax.collections[0], shares, _percent, NUMBER_SIZE, 0.5)
    return ax


def _profile(given: Model | ErrorProfile, by: Literal["verb", "object"]) -> ErrorProfile:
    if isinstance(given, ErrorProfile):
        return given
    return error_profile_table(diagnosis_of(source_of(given)), by)


def most_annotated(tables: Sequence[ErrorProfile], most: int) -> list[str]:
    """Return the names that all models share, most annotated triplets first."""
    first = tables[0]
    order = np.argsort(-first.annotated, kind="stable")
    shared = set(first.names).intersection(*(table.names for table in tables[1:]))
    return [first.names[row] for row in order if first.names[row] in shared][:most]


def with_others(table: ErrorProfile, names: Sequence[str]) -> ErrorProfile:
    """Return the rows of some names, and one of all others together."""
    place = {name: row for row, name in enumerate(table.names)}
    rows = np.array([place[name] for name in names], dtype=np.int64)
    others = np.setdiff1d(np.arange(len(table.names)), rows)
    return ErrorProfile(
        names=(*names, OTHERS),
        annotated=np.append(table.annotated[rows], table.annotated[others].sum()),
        counts=np.vstack([table.counts[rows], table.counts[others].sum(axis=0)]),
    )


def _rows(table: ErrorProfile, names: Sequence[str]) -> FloatArray:
    place = {name: row for row, name in enumerate(table.names)}
    return table.shares[[place[name] for name in names]]


def _name_width(name: str) -> float:
    return text_width(name, NAME_SIZE)


def _percent(share: float) -> str:
    """Format a share in whole percent."""
    return "" if np.isnan(share) else f"{round(share)}".replace("-", MINUS)


def _swatches(ax: Axes, rows: int) -> None:
    """Mark the columns with the colours of the errors in all figures."""
    for column, name in enumerate(LABELS):
        ax.add_patch(
            Rectangle(
                (column + 0.06, rows + 0.12),
                0.88,
                0.22,
                facecolor=colour(name),
                edgecolor="none",
                clip_on=False,
            )
        )


class PanelLayout(NamedTuple):
    """Arrangement of the panels of a heatmap.

    Parameters
    ----------
    columns : int
        Panels per row.
    names : int
        Verbs or objects per panel.
    written : bool
        Whether cells are wide enough for numbers.
    """

    columns: int
    names: int
    written: bool


def panel_layout(panels: int, names: int, width: float) -> PanelLayout:
    """Arrange panels, with numbers in the cells if a page then still holds enough rows.

    Parameters
    ----------
    panels, names : int
        How many there are; names beyond the page are left out.
    width : float
        Width of all panels together in inches.
    """
    for cell in (CELL, NARROW):
        columns = min(panels, max(1, int(width / (len(LABELS) * cell + GAP))))
        rows = ceil(panels / columns)
        fitting = min(names, int(((PAGE - BELOW) / rows - ABOVE) / ROW))
        if fitting >= min(names, ENOUGH) or cell == NARROW:
            break
    return PanelLayout(columns=ceil(panels / rows), names=max(fitting, 3), written=cell == CELL)


def _draw(figure: Figure, models: Sequence[ModelData], what: str) -> None:
    tables: list[ErrorProfile] = [model.data for model in models]
    names = most_annotated(tables, MOST)
    if not names:
        raise NotApplicable(f"the models share no {what}")
    others = any(len(table.names) > len(names) for table in tables)
    titles = shown_names(models)
    width = figure.get_figwidth() - BESIDE - min(WIDEST_NAME, max(map(_name_width, names)))
    # Two models also get a panel of their difference, where all three fit into one row.
    rows_at_most = len(names) + others
    both = len(models) == 2 and panel_layout(3, rows_at_most, width).columns == 3
    if both:
        titles.append("Second minus first (points)")
    layout = panel_layout(len(titles), rows_at_most, width)
    if layout.names < rows_at_most:
        names, others = names[: layout.names - 1], True
    order = f"The {len(names)} most annotated {what}"
    if others:
        order += " and all others"
        tables = [with_others(table, names) for table in tables]
        names = [*names, OTHERS]
    rows = ceil(len(titles) / layout.columns)
    figure.set_figheight(rows * (len(names) * ROW + ABOVE) + BELOW + (0 if layout.written else BAR))
    grid = figure.subplots(rows, layout.columns, squeeze=False)
    most = 100 * max(float(np.nanmax(_rows(table, names), initial=0.01)) for table in tables)
    room = width / layout.columns - BESIDE
    for number, (ax, title) in enumerate(zip(grid.flat, titles, strict=False)):
        if number < len(models):
            error_profile(tables[number], ax, names=names, written=layout.written, most=most)
        else:
            error_profile(tables[1], ax, names=names, minus=tables[0])
        set_title(ax, title, room)
        ax.tick_params(
            labelleft=number % layout.columns == 0,
            labelbottom=number + layout.columns >= len(titles),
        )
    for ax in grid.flat[len(titles) :]:
        ax.remove()
    share = "share of the predictions (%)"
    figure.supylabel(f"{order}: {share}" if layout.written else order, fontsize=NAME_SIZE)
    if not layout.written:
        _colour_bar(figure, grid.flat[0].collections[0], share.capitalize())


def _colour_bar(figure: Figure, cells: Collection, label: str) -> None:
    bar = figure.colorbar(cells, ax=figure.axes, location="bottom", fraction=0.05, aspect=40)
    bar.set_label(label, fontsize=NAME_SIZE)
    bar.ax.tick_params(labelsize=NAME_SIZE)


def _kind(by: Literal["verb", "object"]) -> FigureKind:
    return FigureKind(
        name=f"error_profile_{by}",
        title=f"Which errors the predictions of the most annotated {by}s make",
        needs="diagnoses",
        data=lambda source: error_profile_table(diagnosis_of(source), by),
        draw=lambda figure, models: _draw(figure, models, f"{by}s"),
    )


ERROR_PROFILE_VERB, ERROR_PROFILE_OBJECT = _kind("verb"), _kind("object")
