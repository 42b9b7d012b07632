"""Heat maps: errors by verb or object, and the fates of triplets under two models."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from diaghoi.comparison.transitions import FATES, Fates, Transitions, fates
from diaghoi.comparison.transitions import transitions as transitions_of
from diaghoi.data.arrays import FloatArray, ratios
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.oracles import error_title
from diaghoi.oracles.localised import OWN_OBJECT
from diaghoi.plots.figure import (
    FIGURES,
    FUNCTIONS,
    Model,
    ModelData,
    NotApplicable,
    Source,
    diagnosis_of,
    drawn,
    figure,
    shown_names,
)
from diaghoi.plots.labels import MINUS, fitted, text_width
from diaghoi.plots.panels import NAME_SIZE, TALLEST, one_panel, set_title, write_cells
from diaghoi.plots.style import add_note, colour, paper

MOST = 25  # rows, by default
OTHERS = "all others"
ENOUGH = 12  # cells have numbers only if a page then holds at least this many rows
# Inches:
ROW = 0.115  # height of a row
CELL = 0.23  # width of a cell with a number
NARROW = 0.115  # width of a cell without a number
WIDEST_NAME = 1.05
BESIDE, GAP = 0.25, 0.08  # margins beside all panels, and between panels
ABOVE, BELOW, BAR = 0.2, 0.85, 0.45  # room for titles, error names and colour bar
NUMBER_SIZE = 5.5  # points


class ErrorProfile(NamedTuple):
    """Labels of the predictions of each verb or object.

    Parameters
    ----------
    names : tuple of str
        The G verbs or objects with annotated triplets or predictions.
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
        """(G, 7) share of each label among the predictions; NaN without predictions."""
        return ratios(self.counts, self.counts.sum(axis=1, keepdims=True))


def error_profile_table(
    diagnosis: Diagnosis, by: Literal["verb", "object"] = "verb"
) -> ErrorProfile:
    """Compute the data of :func:`error_profile` for one model.

    Parameters
    ----------
    diagnosis : Diagnosis
        Diagnosis of one model.
    by : {"verb", "object"}
        Grouping of the predictions.

    Raises
    ------
    NotApplicable
        If the classes of the data set are actions with roles, as in V-COCO. V-COCO predictions name
        no object and assign every action to every person, so all verbs have the same errors apart
        from a few correct predictions.
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
    diagnosis: Model | ErrorProfile, ax: Axes | None = None, by: Literal["verb", "object"] = "verb"
) -> Axes:
    """Draw label shares as a heat map: one row per verb or object, one column per label.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector, or its :func:`error_profile_table`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.
    by : {"verb", "object"}
        Kind of the rows: the 25 verbs or the 25 objects with the most annotated triplets.
    """
    return drawn(FIGURES[f"error_profile_{by}"], diagnosis, ax)


FUNCTIONS[error_profile.__name__] = error_profile


def _heat_map(
    ax: Axes, shares: FloatArray, names: Sequence[str], most: float, *, written: bool, signed: bool
) -> None:
    """Draw shares in percent, or their differences; ``most`` has the darkest colour."""
    import seaborn

    seaborn.heatmap(
        shares,
        ax=ax,
        vmin=-most if signed else 0,
        vmax=most,
        cmap="vlag" if signed else "rocket_r",
        cbar=False,
        linewidths=0.3,
        yticklabels=[fitted(name.replace("_", " "), WIDEST_NAME, NAME_SIZE) for name in names],
        xticklabels=[error_title(name) for name in LABELS],
    )
    ax.tick_params(length=0, labelsize=NAME_SIZE)
    ax.tick_params(axis="y", rotation=0)
    ax.tick_params(axis="x", rotation=90, pad=4)
    # Each column is marked in the colour that its error has in all figures.
    for column, name in enumerate(LABELS):
        place = (column + 0.06, len(names) + 0.12)
        ax.add_patch(Rectangle(place, 0.88, 0.22, color=colour(name), linewidth=0, clip_on=False))
    if written:
        write_cells(ax, ax.collections[0], shares, _percent, NUMBER_SIZE, 0.5)


def most_annotated(tables: Sequence[ErrorProfile], most: int) -> list[str]:
    """Return the names that all models share, most annotated triplets first."""
    first = tables[0]
    order = np.argsort(-first.annotated, kind="stable")
    shared = set(first.names).intersection(*(table.names for table in tables[1:]))
    return [first.names[row] for row in order if first.names[row] in shared][:most]


def with_others(table: ErrorProfile, names: Sequence[str]) -> ErrorProfile:
    """Return the rows of the given names, plus one row for all others."""
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


def _percent(share: float) -> str:
    """Format a share in whole percent."""
    return "" if np.isnan(share) else f"{round(share)}".replace("-", MINUS)


def _layout(panels: int, names: int, width: float) -> tuple[int, int, bool]:
    """Return panels per row, names per panel, and whether cells have room for numbers.

    Cells are made wide enough for numbers if enough rows still fit on a page; names that do not fit
    on the page are omitted.
    """
    for cell in (CELL, NARROW):
        columns = min(panels, max(1, int(width / (len(LABELS) * cell + GAP))))
        rows = ceil(panels / columns)
        fitting = min(names, int(((TALLEST - 0.4 - BELOW) / rows - ABOVE) / ROW))
        if fitting >= min(names, ENOUGH):
            break
    return ceil(panels / rows), max(fitting, 3), cell == CELL


def _profile(target: Axes | Figure, models: Sequence[ModelData], by: str) -> None:
    tables: list[ErrorProfile] = [model.data for model in models]
    names = most_annotated(tables, MOST)
    if not names:
        raise NotApplicable(f"the models share no {by}s")
    if isinstance(target, Axes):
        own = 100 * _rows(tables[0], names)
        most = float(np.nanmax(own, initial=1.0))
        _heat_map(target, own, names, most, written=True, signed=False)
        return
    others = any(len(table.names) > len(names) for table in tables)
    titles = shown_names(models)
    widest = max(text_width(name, NAME_SIZE) for name in names)
    width = target.get_figwidth() - BESIDE - min(WIDEST_NAME, widest)
    # Two models also get a panel of their difference if all three panels fit in one row.
    if len(models) == 2 and _layout(3, len(names) + others, width)[0] == 3:
        titles.append("Second minus first (points)")
    columns, fitting, written = _layout(len(titles), len(names) + others, width)
    if fitting < len(names) + others:
        names, others = names[: fitting - 1], True
    label = f"The {len(names)} most annotated {by}s{' and all others' if others else ''}"
    if others:
        tables = [with_others(table, names) for table in tables]
        names = [*names, OTHERS]
    shares = [100 * _rows(table, names) for table in tables]
    rows = ceil(len(titles) / columns)
    target.set_figheight(rows * (len(names) * ROW + ABOVE) + BELOW + (0 if written else BAR))
    grid = target.subplots(rows, columns, squeeze=False)
    most = max(float(np.nanmax(each, initial=0.01)) for each in shares)
    for number, (ax, title) in enumerate(zip(grid.flat, titles, strict=False)):
        signed = number == len(models)
        values = shares[1] - shares[0] if signed else shares[number]
        darkest = float(np.nanmax(np.abs(values), initial=1.0)) if signed else most
        _heat_map(ax, values, names, darkest, written=written, signed=signed)
        set_title(ax, title, width / columns - BESIDE)
        ax.tick_params(
            labelleft=number % columns == 0,
            labelbottom=number + columns >= len(titles),
        )
    for ax in grid.flat[len(titles) :]:
        ax.remove()
    share = "share of the predictions (%)"
    label = f"{label}: {share}" if written else label
    target.supylabel(fitted(label, target.get_figheight(), NAME_SIZE), fontsize=NAME_SIZE)
    if not written:
        cells = grid.flat[0].collections[0]
        bar = target.colorbar(cells, ax=target.axes, location="bottom", fraction=0.05, aspect=40)
        bar.set_label(share.capitalize(), fontsize=NAME_SIZE)
        bar.ax.tick_params(labelsize=NAME_SIZE)


def _profile_of(by: Literal["verb", "object"]) -> None:
    """Register the figure of verbs or of objects."""

    @figure(
        f"error_profile_{by}",
        f"Errors in the predictions of the most annotated {by}s",
        data=lambda source: error_profile_table(diagnosis_of(source), by),
        single=True,
    )
    def _draw(target: Axes | Figure, models: Sequence[ModelData]) -> None:
        _profile(target, models, by)


_profile_of("verb")
_profile_of("object")


CELL_HEIGHT, LOW = 0.27, 0.2  # inches: height of a cell, in one row of matrices or several
AROUND = 0.95  # inches: height of the names of the columns and the title of the axis
ABOVE_MATRIX = 0.2  # inches: height of the title of a matrix below other matrices
MATRIX = 1.3  # inches: least width of a matrix, without the names of its rows
ROW_NAMES = 0.65  # inches
NOTE = (
    "Annotated triplets. Framed: the same fate under both models. On found pairs: an attempt is "
    "another prediction with the same person box and object, or with the same object box, or a "
    "wrong action on the pair; missed triplets have no attempt."
)


def transitions(found: Transitions | Sequence[Diagnosis], ax: Axes | None = None) -> Axes:
    """Draw the number of annotated triplets by fate under the first and the second model.

    Parameters
    ----------
    found : Transitions or sequence of two Diagnosis
        The models.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.

    Returns
    -------
    matplotlib.axes.Axes
        Axes with one row per fate under the first model and one column per fate under the second
        model.

    Raises
    ------
    InputError
        If the models' annotations or protocols differ.
    """
    if not isinstance(found, Transitions):
        found = transitions_of(*found)
    with paper():
        ax, target = one_panel(ax, len(FATES) * CELL_HEIGHT + AROUND)
        _matrix(ax, found, 3.25 - ROW_NAMES)
        _label_matrix(ax, found.labels[0])
        add_note(target, _read(found.pairing))
    return ax


def _read(pairing: str) -> str:
    """Explain how errors are counted, and how wrong actions are counted on V-COCO."""
    own = f" {OWN_OBJECT[:1].upper()}{OWN_OBJECT[1:]}." if pairing == "person" else ""
    return NOTE + own


def _matrix(ax: Axes, found: Transitions, width: float) -> None:
    """Draw the counts, with the name of the second model above."""
    counts = found.matrix()
    # Most triplets are found by both models, so a square-root scale keeps the other cells
    # distinguishable.
    norm = PowerNorm(0.5, vmin=0, vmax=max(1, int(counts.max())))
    cells = ax.pcolormesh(counts, cmap="Blues", norm=norm, edgecolor="white", linewidth=0.5)
    room = width / len(FATES)

    def written(count: int) -> str:
        if not count:
            return "·"
        text = f"{int(count):,}"
        fits = text_width(text, NUMBER_SIZE) < room
        return text if fits else f"{count / 1000:.0f}k"

    write_cells(ax, cells, counts, written, NUMBER_SIZE, 0.5)
    for place in range(len(FATES)):
        frame: dict[str, Any] = {"fill": False, "edgecolor": "0.15", "linewidth": 0.7}
        ax.add_patch(Rectangle((place, place), 1, 1, zorder=3, clip_on=False, **frame))
    ax.set_ylim(len(FATES), 0)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.xaxis.set_ticks_position("top")
    ax.xaxis.set_label_position("top")
    name = fitted(f"Under {found.labels[1] or 'the second'}", width, 7.0)
    ax.set_xlabel(name, fontsize=7.0, parse_math=False)  # model labels are not formulas


def _label_matrix(ax: Axes, first: str, rows: bool = True, columns: bool = True) -> None:
    """Write the names of the fates on the left and above, and the name of the first model."""
    places = np.arange(len(FATES)) + 0.5
    names = ["Found", *map(error_title, FATES[1:])]
    ax.set_yticks(places, names if rows else [], fontsize=NAME_SIZE)
    ax.set_xticks(places, names if columns else [], fontsize=NAME_SIZE, rotation=45, ha="left")
    if rows:
        name = fitted(f"Under {first or 'the first'}", len(FATES) * LOW, 7.0)
        ax.set_ylabel(name, fontsize=7.0, parse_math=False)


def _fates(source: Source) -> Fates:
    diagnosis = diagnosis_of(source)
    # Images are matched by name, because files may list images in different orders. The sort is
    # stable, so images without names keep their order.
    number = np.empty(len(diagnosis.names), dtype=np.int64)
    number[np.argsort(diagnosis.names, kind="stable")] = np.arange(len(number))
    return fates(diagnosis, number)


@figure(
    "transitions",
    "Fate of each annotated triplet under the first and another model",
    data=_fates,
    usual=True,
)
def _transitions(figure: Figure, models: Sequence[ModelData]) -> None:
    if len(models) < 2:
        raise NotApplicable(
            "a transition is from one model to another: it needs at least two models"
        )
    names = shown_names(models)
    first: Fates = models[0].data
    pairs = []
    for name, model in zip(names[1:], models[1:], strict=True):
        other: Fates = model.data
        same = np.array_equal(first.annotation_class, other.annotation_class)
        if not same or not np.array_equal(first.annotation_image, other.annotation_image):
            raise NotApplicable(f"{name} was diagnosed with other annotations than {names[0]}")
        pairs.append(
            Transitions(
                labels=(names[0], name),
                fate=np.stack([first.fate, other.fate]),
                annotation_class=first.annotation_class,
                annotation_image=first.annotation_image,
                pairing=first.pairing,
            )
        )
    room = min(figure.get_figwidth() - ROW_NAMES, 3.0 * len(pairs))
    columns = min(len(pairs), int(room / MATRIX))
    rows = ceil(len(pairs) / columns)
    cell = CELL_HEIGHT if rows == 1 else LOW
    cell = min(cell, (TALLEST - AROUND) / rows / len(FATES) - ABOVE_MATRIX / len(FATES))
    figure.set_figheight(AROUND + rows * len(FATES) * cell + (rows - 1) * ABOVE_MATRIX)
    grid = figure.subplots(rows, columns, squeeze=False)
    for number, (ax, pair) in enumerate(zip(grid.flat, pairs, strict=False)):
        _matrix(ax, pair, room / columns)
        _label_matrix(ax, names[0], number % columns == 0, number < columns)
    for ax in grid.flat[len(pairs) :]:
        ax.remove()
    if room < figure.get_figwidth() - ROW_NAMES:
        engine: Any = figure.get_layout_engine()
        wide = (room + ROW_NAMES) / figure.get_figwidth()
        engine.set(rect=((1 - wide) / 2, 0, wide, 1))
    add_note(figure, _read(first.pairing))
