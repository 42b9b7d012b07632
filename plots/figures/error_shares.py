"""Shares of errors from the most to the least confident predictions."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import EngFormatter

from diaghoi.data.arrays import FloatArray
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.oracles import error_title
from diaghoi.plots.figure import ModelData, NotApplicable, diagnosis_of, figure, shown_names
from diaghoi.plots.labels import inches_of
from diaghoi.plots.panels import legend_above, panel_grid
from diaghoi.plots.style import HATCHES, colour

BINS = 6  # number of bins per decade of ranks
BEST = 100  # predictions in the first bin; fewer if there are fewer than 1,000 in all
PANEL = 1.25  # inches: height of each row of panels after the first
AXES = ("Rank by score", "Predictions (%)")
ANNOTATED: dict[str, Any] = {"color": "black", "linewidth": 0.9, "linestyle": (0, (3, 1.5))}
INCHES_PER_RANK = 0.3  # least distance of tick labels on the x-axis
INCHES_BESIDE_FIRST = 0.18  # least distance between the first rank's label and the next label
RANKS = EngFormatter(sep="")  # 100, 1k, 10k
HEIGHT = 2.0  # inches


class ErrorShares(NamedTuple):
    """Shares of the labels among predictions of similar rank.

    Parameters
    ----------
    edges : (B + 1,) int array
        Bin b contains the predictions at ranks ``edges[b] + 1`` to ``edges[b + 1]``, where rank 1
        has the highest score; the first edge is 0.
    shares : (B, 7) float64 array
        Share of each label of :data:`diaghoi.evaluation.errors.LABELS` in a bin, in [0, 1].
    annotated : int
        Number of annotated triplets: up to this rank, all predictions of a perfect detector are
        true positives.
    """

    edges: npt.NDArray[np.int64]
    shares: FloatArray
    annotated: int


def error_shares_table(diagnosis: Diagnosis) -> ErrorShares:
    """Compute the data of :func:`error_shares` for one model.

    All counted predictions of all classes are ranked together by score, with ties in input order.
    Bins are equally wide in the logarithm of the rank, because precision falls over orders of
    magnitude; the first bin contains all better ranks, so that no share is based on a handful of
    predictions. Shares refer to one bin and are not cumulative: cumulative shares at the last ranks
    would mostly reflect earlier ranks.

    Raises
    ------
    NotApplicable
        If there is no prediction, or the detector has no scores.
    """
    if diagnosis.answers is not None:
        raise NotApplicable("the predictions have no scores")
    ledger = diagnosis.ledger
    rows = len(ledger.row_label)
    if not rows:
        raise NotApplicable("there are no predictions")
    order = np.lexsort((ledger.row_input, -ledger.row_score))
    label = ledger.row_label[order].astype(np.int64)
    edges = _edges(rows)
    bin_of_rank = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    counts = np.bincount(
        bin_of_rank * len(LABELS) + label, minlength=(len(edges) - 1) * len(LABELS)
    ).reshape(-1, len(LABELS))
    return ErrorShares(
        edges=edges,
        shares=counts / np.diff(edges)[:, np.newaxis],
        annotated=int(ledger.positives.sum()),
    )


def _fill(ax: Axes, table: ErrorShares) -> None:
    ranks = _ranks(table.edges)
    tops = 100 * np.cumsum(table.shares, axis=1)
    below = np.zeros(len(tops))
    for number, name in enumerate(LABELS):
        steps = ax.fill_between(
            ranks,
            _steps(below),
            _steps(tops[:, number]),
            step="post",
            label=error_title(name),
            **_look(name),
        )
        steps.set_gid(name)
        below = tops[:, number]
    if ranks[0] < table.annotated < ranks[-1]:
        # A white line below the dashes makes them visible on dark colours.
        ax.axvline(table.annotated, color="white", linewidth=2.0)
        ax.axvline(table.annotated, **ANNOTATED)
    ax.set_xscale("log")
    ax.set_xlim(ranks[0], ranks[-1])
    ax.set_ylim(0, 100)


def _look(name: str) -> dict[str, Any]:
    hatch = HATCHES.get(name)
    return {"facecolor": colour(name), "edgecolor": "white", "linewidth": 0.3, "hatch": hatch}


def _edges(rows: int) -> npt.NDArray[np.int64]:
    """Return the bin edges; the first bin has at most a tenth of the predictions."""
    first = min(BEST, 10 ** max(int(np.log10(rows)) - 1, 0))
    bins = round(np.log10(rows / first) * BINS)
    edges = np.round(np.geomspace(first, rows, bins + 1)).astype(np.int64)
    return np.unique(np.concatenate([[0], edges, [rows]]))


def _label_ranks(ax: Axes) -> None:
    """Label the first rank and as many powers of ten as fit; exponents would be too small."""
    left, right = ax.get_xlim()
    first, last = np.log10([left, right])
    step = ceil(INCHES_PER_RANK * (last - first) / inches_of(ax))
    # A label too close to the label of the first rank would touch that label.
    start = ceil(first + INCHES_BESIDE_FIRST * (last - first) / inches_of(ax))
    ranks = 10.0 ** np.arange(start, int(last) + 1, step)
    ax.set_xticks([left, *ranks], ["1", *(RANKS(rank) for rank in ranks)])
    ax.minorticks_off()


def _ranks(edges: npt.NDArray[np.int64]) -> FloatArray:
    """Return the edges on the axis; the first bin is drawn twice as wide as all other bins."""
    return np.asarray(np.maximum(edges, edges[1] * 10 ** (-2 / BINS)))


def _steps(values: FloatArray) -> FloatArray:
    return np.append(values, values[-1])


@figure(
    "error_shares",
    "Errors of the predictions at each rank",
    data=lambda source: error_shares_table(diagnosis_of(source)),
    height=HEIGHT,
    usual=True,
    single=True,
    published=True,
)
def error_shares(target: Axes | Figure, models: Sequence[ModelData], legend: bool = True) -> None:
    """Draw the shares of one model as stacked steps against the rank.

    True positives are at the bottom, with the errors above them in oracle order. A dashed line
    marks the number of annotated triplets.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector, or its :func:`error_shares_table`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.
    legend : bool
        Whether to explain the colours above the axes.
    """
    panels = panel_grid(target, shown_names(models), AXES, PANEL)
    for ax, model in zip(panels, models, strict=True):
        _fill(ax, model.data)
    edges = [_ranks(model.data.edges) for model in models]
    panels[0].set_xlim(min(ranks[0] for ranks in edges), max(ranks[-1] for ranks in edges))
    for ax in panels:
        _label_ranks(ax)
    if legend:
        marks = [Patch(**_look(name), label=error_title(name)) for name in LABELS]
        line = Line2D([], [], **ANNOTATED, label="Number of annotations")
        legend_above(target, [*marks, line])
