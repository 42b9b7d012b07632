"""Whether scores can be read as probabilities: reliability diagrams of one or more detectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, NullLocator

from diaghoi.data.arrays import FloatArray
from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import (
    FigureKind,
    ModelData,
    Models,
    NotApplicable,
    Source,
    drawn,
    reading,
    tables_of,
)
from diaghoi.plots.legend import MARK, legend_above, model_lines
from diaghoi.plots.panels import prepared
from diaghoi.plots.style import model_style
from diaghoi.statistics.calibration import measure_calibration

HEIGHT = 2.9  # inches
RATIOS = (3.0, 1.0)  # heights of diagram and histogram
LABELS = ("Triplet score (%)", "True positives (%)", "Predictions")
# Bins of fewer predictions get hollow marks: at 100 predictions the standard error of a precision
# of one half is 5 percent points.
FEW = 100
# A share of fewer predictions says nothing: one prediction is 0 or 100 %.
LEAST = 10
LEFT_OUT = f"Bins of fewer than {LEAST} predictions are not drawn"
THOUSANDS = EngFormatter(sep="")  # 10, 1k, 100k
CALIBRATED: dict[str, Any] = {"color": "0.5", "linewidth": 0.7, "linestyle": (0, (1, 1.5))}


class Reliability(NamedTuple):
    """The line of one model.

    Parameters
    ----------
    edges : (B + 1,) float64 array
        Bounds of the bins.
    counts : (B,) int array
        Predictions in each bin.
    scores, precisions : (B,) float64 array
        Mean score and share of true positives of each bin; NaN where it is empty.
    ece : float
        Expected calibration error.
    """

    edges: FloatArray
    counts: npt.NDArray[np.int64]
    scores: FloatArray
    precisions: FloatArray
    ece: float


def calibration_table(result: Mapping[str, Any]) -> Reliability:
    """Extract the data of :func:`calibration` from a result.

    Parameters
    ----------
    result : mapping
        With the key ``calibration``: see
        :meth:`diaghoi.statistics.calibration.Calibration.to_dict`.

    Raises
    ------
    NotApplicable
        If there are no values, for instance because scores are not probabilities.
    InputError
        If the result is malformed.
    """
    found = result.get("calibration")
    if found is None:
        raise NotApplicable("the saved result has no calibration; give the predictions")
    with reading(result, "calibration", "diaghoi.statistics.calibration"):
        if found["ece"] is None:
            raise NotApplicable(str(found["note"]).removeprefix("calibration: "))
        bins = found["bins"]
        edges = [bins[0]["low"], *(each["high"] for each in bins)]
        return Reliability(
            edges=np.array(edges, dtype=np.float64),
            counts=np.array([each["count"] for each in bins], dtype=np.int64),
            scores=np.array([each["mean_score"] for each in bins], dtype=np.float64),
            precisions=np.array([each["precision"] for each in bins], dtype=np.float64),
            ece=float(found["ece"]),
        )


def calibration(diagnoses: Models, ax: Axes | None = None, histogram: Axes | None = None) -> Axes:
    """Draw the share of true positives against the score, one line per model.

    Bins of fewer than ten predictions are left out, and those of fewer than a hundred are hollow.
    A calibrated detector follows the dotted diagonal; below it the detector is overconfident. The
    legend gives the expected calibration error in percent points.

    Parameters
    ----------
    diagnoses : Diagnosis, mapping, or sequence of these
        One or more detectors, or their results with this part; or the :func:`calibration_table` of
        each by its label.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column, with the number of
        predictions in each bin below.
    histogram : matplotlib.axes.Axes, optional
        Where to draw the number of predictions in each bin, where ``ax`` is given.

    Returns
    -------
    matplotlib.axes.Axes
        That of the diagram.

    Raises
    ------
    InputError
        If there is no model.
    """
    return drawn(CALIBRATION, diagnoses, ax, histogram=histogram)


def _note(tables: Sequence[Reliability]) -> str:
    counts = np.concatenate([table.counts for table in tables])
    return f"{LEFT_OUT}." if ((counts > 0) & (counts < LEAST)).any() else ""


def _lines(ax: Axes, tables: Sequence[Reliability]) -> None:
    drawn = [table.counts >= LEAST for table in tables]
    highest = 100 * max(
        max(table.edges[1:][table.counts > 0].max(), table.precisions[shown].max(initial=0))
        for table, shown in zip(tables, drawn, strict=True)
    )
    ax.plot([0, highest], [0, highest], **CALIBRATED)
    for number, (table, filled) in enumerate(zip(tables, drawn, strict=True)):
        style = model_style(number)
        score, precision = 100 * table.scores[filled], 100 * table.precisions[filled]
        ax.plot(score, precision, **(style | {"marker": ""}), zorder=3)
        few = table.counts[filled] < FEW
        for some, fill in ((~few, style["color"]), (few, "white")):
            if not some.any():
                continue  # unclipped marks without any take room at the edge of the figure
            ax.plot(
                score[some],
                precision[some],
                **(style | {"linestyle": ""}),
                markerfacecolor=fill,
                markersize=3.0,
                markeredgewidth=0.6,
                clip_on=False,
                zorder=4,
            )
    ax.set_xlim(0, highest)
    ax.set_ylim(0, highest)
    ax.grid(True, color="0.9", linewidth=0.5)


def _steps(ax: Axes, tables: Sequence[Reliability]) -> None:
    """Draw the number of predictions in each bin, on a logarithmic scale; empty bins are gaps."""
    for number, table in enumerate(tables):
        counts = np.where(table.counts > 0, table.counts, np.nan)
        style = model_style(number) | {"marker": ""}
        ax.stairs(
            counts,
            100 * table.edges,
            baseline=None,
            color=style["color"],
            linestyle=style["linestyle"],
            linewidth=0.9,
        )
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(numticks=4))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(THOUSANDS)
    ax.grid(True, color="0.9", linewidth=0.5)


def _handles(models: Mapping[str, Reliability]) -> list[Line2D]:
    lines = model_lines([f"{label}: ECE {100 * t.ece:.1f}" for label, t in models.items()])
    lines.append(Line2D([], [], label="calibrated", **CALIBRATED))
    if any(((table.counts >= LEAST) & (table.counts < FEW)).any() for table in models.values()):
        few = Line2D([], [], color="0.3", marker="o", markersize=3.0, markerfacecolor="white")
        few.set(linestyle="", label=f"bin of fewer than {FEW}")
        lines.append(few)
    return lines


def _data(source: Source) -> Reliability:
    if source.diagnosis is None:
        return calibration_table(source.result)
    return calibration_table({"calibration": measure_calibration(source.diagnosis).to_dict()})


def _draw(
    target: Axes | Figure, models: Sequence[ModelData], histogram: Axes | None = None
) -> None:
    by_name = tables_of(models)
    tables = list(by_name.values())
    if isinstance(target, Figure):
        ax, histogram = target.subplots(2, 1, sharex=True, height_ratios=RATIOS)
    else:
        ax, histogram = target, histogram and prepared(histogram)
    _lines(ax, tables)
    ax.set_ylabel(LABELS[1])
    if histogram is not None:
        _steps(histogram, tables)
        histogram.set_ylabel(LABELS[2])
    (histogram or ax).set_xlabel(LABELS[0])
    legend_above(target, _handles(by_name), mark=MARK)
    add_note(histogram or ax, _note(tables))


CALIBRATION = FigureKind(
    name="calibration",
    title="Whether triplet scores can be read as probabilities",
    needs="results",
    data=_data,
    draw=_draw,
    height=HEIGHT,
)
