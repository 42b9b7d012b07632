"""What became of each annotated triplet under two models, as a matrix of counts."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from diaghoi.comparison.transitions import FATES, Fates, Transitions, fates
from diaghoi.comparison.transitions import transitions as transitions_of
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.oracles import error_title
from diaghoi.oracles.localised import OWN_OBJECT
from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import (
    FigureKind,
    ModelData,
    NotApplicable,
    Source,
    diagnosis_of,
    shown_names,
)
from diaghoi.plots.labels import fitted
from diaghoi.plots.panels import one_panel, write_cells
from diaghoi.plots.style import paper

CELL = 0.27  # inches: height of a cell
AROUND = 0.95  # inches: names of the columns, and the title of the axis
WIDTH = 3.25  # inches that a panel needs
SIZE, NAME_SIZE, TITLE_SIZE = 5.5, 6.0, 7.0  # points
NOTE = (
    "Annotated triplets. Framed: the same under both. Read by the pair: an attempt is another "
    "prediction with the same person box and object, or with the same object box, or a wrong "
    "action on the pair; missed is what has none."
)


def _note(pairing: str) -> str:
    """Say how errors are read; on V-COCO, what a wrong action is."""
    own = f" {OWN_OBJECT[:1].upper()}{OWN_OBJECT[1:]}." if pairing == "person" else ""
    return NOTE + own


def transitions(found: Transitions | Sequence[Diagnosis], ax: Axes | None = None) -> Axes:
    """Draw how many annotated triplets have which fate under the first and the second model.

    Parameters
    ----------
    found : Transitions or sequence of two Diagnosis
        The models.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        A row for each fate under the first model, a column for each under the second.

    Raises
    ------
    InputError
        If the models are not of the same annotations under one protocol.
    """
    if not isinstance(found, Transitions):
        found = transitions_of(*found)
    with paper():
        ax, target = one_panel(ax, len(FATES) * CELL + AROUND)
        _matrix(ax, found, WIDTH)
        add_note(target, _note(found.pairing))
    return ax


def _matrix(ax: Axes, found: Transitions, width: float) -> None:
    counts = found.matrix()
    kinds = len(FATES)
    # Most triplets are found by both: a scale of square roots keeps the others apart.
    norm = PowerNorm(0.5, vmin=0, vmax=max(1, int(counts.max())))
    cells = ax.pcolormesh(counts, cmap="Blues", norm=norm, edgecolor="white", linewidth=0.5)
    write_cells(ax, cells, counts, lambda n: f"{int(n):,}" if n else "·", SIZE, 0.5)
    for place in range(kinds):
        ax.add_patch(
            Rectangle(
                *((place, place), 1, 1),
                fill=False,
                edgecolor="0.15",
                linewidth=0.7,
                zorder=3,
                clip_on=False,
            )
        )
    names = ["Found", *map(error_title, FATES[1:])]
    ax.set_yticks(np.arange(kinds) + 0.5, names, fontsize=NAME_SIZE)
    ax.set_xticks(np.arange(kinds) + 0.5, names, fontsize=NAME_SIZE, rotation=45, ha="left")
    ax.set_ylim(kinds, 0)
    ax.xaxis.set_ticks_position("top")
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    first, second = found.labels
    height = kinds * CELL
    # Labels of models are no formulas.
    style: dict[str, Any] = {"fontsize": TITLE_SIZE, "parse_math": False}
    ax.set_ylabel(fitted(f"Under {first or 'the first'}", height, TITLE_SIZE), **style)
    ax.set_xlabel(fitted(f"Under {second or 'the second'}", width / 2, TITLE_SIZE), **style)


def _data(source: Source) -> Fates:
    diagnosis = diagnosis_of(source)
    # By name: the files of the models may list images in other orders. The sort is stable, so that
    # images without names keep theirs.
    number = np.empty(len(diagnosis.names), dtype=np.int64)
    number[np.argsort(diagnosis.names, kind="stable")] = np.arange(len(number))
    return fates(diagnosis, number)


def _draw(figure: Figure, models: Sequence[ModelData]) -> None:
    if len(models) < 2:
        raise NotApplicable("a transition is from one model to another; give at least two")
    names = shown_names(models)
    first: Fates = models[0].data
    pairs = []
    for name, model in zip(names[1:], models[1:], strict=True):
        other: Fates = model.data
        same = np.array_equal(first.annotation_class, other.annotation_class)
        if not same or not np.array_equal(first.annotation_image, other.annotation_image):
            raise NotApplicable(f"{name} was diagnosed with different annotations than {names[0]}")
        pairs.append(
            Transitions(
                labels=(names[0], name),
                fate=np.stack([first.fate, other.fate]),
                annotation_class=first.annotation_class,
                annotation_image=first.annotation_image,
                pairing=first.pairing,
            )
        )
    columns = min(len(pairs), max(1, round(figure.get_figwidth() / WIDTH)))
    rows = ceil(len(pairs) / columns)
    figure.set_figheight(rows * (len(FATES) * CELL + AROUND) + 0.15)
    grid = figure.subplots(rows, columns, squeeze=False)
    for ax, pair in zip(grid.flat, pairs, strict=False):
        _matrix(ax, pair, figure.get_figwidth() / columns)
    for ax in grid.flat[len(pairs) :]:
        ax.remove()
    add_note(figure, _note(first.pairing))


TRANSITIONS = FigureKind(
    name="transitions",
    title="What became of each annotated triplet under the first and under another model",
    needs="diagnoses",
    data=_data,
    draw=_draw,
    height=len(FATES) * CELL + AROUND,
)
