"""Scores and thresholds: calibration of detectors, and the effect of a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullLocator

from diaghoi.data.arrays import FloatArray
from diaghoi.oracles import ORACLES, error_title
from diaghoi.plots.figure import ModelData, NotApplicable, Source, figure, reading, tables_of
from diaghoi.plots.labels import fitted
from diaghoi.plots.panels import (
    GAP,
    GRID,
    MARK,
    SCALE,
    TALLEST,
    legend_above,
    model_lines,
    set_title,
    shape_of,
)
from diaghoi.plots.style import MODEL_COLOURS, add_note, colour, model_style
from diaghoi.statistics.calibration import measure_calibration
from diaghoi.statistics.operating_points import operating_points as measured

HEIGHT = 2.9  # inches
RATIOS = (3.0, 1.0)  # heights of diagram and histogram
LABELS = ("Triplet score (%)", "True positives (%)", "Predictions")
# Bins with fewer than FEW predictions get hollow markers: with 100 predictions, the standard error
# of a precision of one half is 5 percentage points.
FEW = 100
# A share among fewer than LEAST predictions is meaningless: a single prediction gives 0 or 100 %.
LEAST = 10
LEFT_OUT = f"Bins of fewer than {LEAST} predictions are not drawn"
THOUSANDS = EngFormatter(sep="")  # 10, 1k, 100k
CALIBRATED: dict[str, Any] = {"color": "0.5", "linewidth": 0.7, "linestyle": (0, (1, 1.5))}


class Reliability(NamedTuple):
    """Line of one model.

    Parameters
    ----------
    edges : (B + 1,) float64 array
        Bounds of the bins.
    counts : (B,) int array
        Number of predictions in each bin.
    scores, precisions : (B,) float64 array
        Mean score and share of true positives of each bin; NaN if the bin is empty.
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
        A result with the key ``calibration``: see
        :meth:`diaghoi.statistics.calibration.Calibration.to_dict`.

    Raises
    ------
    NotApplicable
        If there are no values, for example because scores are not probabilities.
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
                continue  # unclipped lines without points take up space at the edge
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
    ax.grid(True, color=GRID, linewidth=0.5)


def _steps(ax: Axes, tables: Sequence[Reliability]) -> None:
    """Draw the number of predictions in each bin on a logarithmic scale; empty bins are gaps."""
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
    ax.grid(True, color=GRID, linewidth=0.5)


def _handles(models: Mapping[str, Reliability]) -> list[Line2D]:
    lines = model_lines([f"{label}: ECE {100 * t.ece:.1f}" for label, t in models.items()])
    lines.append(Line2D([], [], label="calibrated", **CALIBRATED))
    if any(((table.counts >= LEAST) & (table.counts < FEW)).any() for table in models.values()):
        few = Line2D([], [], color="0.3", marker="o", markersize=3.0, markerfacecolor="white")
        few.set(linestyle="", label=f"bin of fewer than {FEW}")
        lines.append(few)
    return lines


def _calibrated(source: Source) -> Reliability:
    if source.diagnosis is None:
        return calibration_table(source.result)
    return calibration_table({"calibration": measure_calibration(source.diagnosis).to_dict()})


@figure(
    "calibration",
    "Calibration: whether triplet scores can be read as probabilities",
    data=_calibrated,
    height=HEIGHT,
    needs="results",
)
def calibration(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    """Draw the share of true positives against the score, one line per model.

    Bins with fewer than ten predictions are omitted, and bins with fewer than a hundred are hollow.
    A calibrated detector follows the dotted diagonal; below the diagonal, a detector is
    overconfident. The legend shows the expected calibration error in percentage points.

    Parameters
    ----------
    diagnoses : Diagnosis, mapping, or sequence of these
        One or more detectors, their results with ``calibration``, or the :func:`calibration_table`
        of each by label.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide, above a panel of the
        number of predictions in each bin.

    Raises
    ------
    InputError
        If there is no model.
    """
    by_name = tables_of(models)
    tables = list(by_name.values())
    if isinstance(target, Figure):
        ax, last = target.subplots(2, 1, sharex=True, height_ratios=RATIOS)
        _steps(last, tables)
        last.set_ylabel(LABELS[2])
    else:
        ax = last = target
    _lines(ax, tables)
    ax.set_ylabel(LABELS[1])
    last.set_xlabel(LABELS[0])
    legend_above(target, _handles(by_name), mark=MARK)
    counts = np.concatenate([table.counts for table in tables])
    add_note(target, f"{LEFT_OUT}." if ((counts > 0) & (counts < LEAST)).any() else "")


ROW = 2.3  # inches: height of a row of models
SHARE_RATIOS = (3.0, 2.2)  # relative heights of the panel of shares and the panel of errors
THRESHOLD_LABELS = ("Score threshold", "%", "Errors/image")
LOWEST = 0.01  # errors per image at the lower end of the scale
ENOUGH = 20  # least number of predictions for which precision is drawn
SHARES: dict[str, tuple[str, dict[str, Any]]] = {
    "precision": ("Precision", {"color": MODEL_COLOURS[0], "linestyle": (0, (4, 1.2))}),
    "recall": ("Recall", {"color": MODEL_COLOURS[1], "linestyle": (0, (1.2, 1))}),
    "f1": ("F1", {"color": "black", "linewidth": 1.3}),
}
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.2)), (0, (1.2, 1)))
MISSED = "false_negative"
NOT_ERRORS = ("true_positive", MISSED)


class Thresholds(NamedTuple):
    """Lines of one model.

    Parameters
    ----------
    threshold : (K,) float64 array
        Scores in descending order.
    shares : dict of (K,) float64 array
        ``precision``, ``recall`` and ``f1``.
    errors : dict of (K,) float64 array
        Number of kept predictions per image with each error that occurs.
    best : tuple of float or None
        Threshold and value of the highest F1; None without a true positive.
    """

    threshold: FloatArray
    shares: dict[str, FloatArray]
    errors: dict[str, FloatArray]
    best: tuple[float, float] | None


def operating_points_table(result: Mapping[str, Any]) -> Thresholds:
    """Extract the data of :func:`operating_points` from a result.

    Parameters
    ----------
    result : mapping
        A result with the key ``operating_points``: see
        :meth:`diaghoi.statistics.operating_points.OperatingPoints.to_dict`.

    Raises
    ------
    NotApplicable
        If there are no points.
    InputError
        If the result is malformed.
    """
    found = result.get("operating_points")
    if found is None:
        raise NotApplicable("the saved result has no operating points; give the predictions")
    with reading(result, "operating_points", "diaghoi.statistics.operating_points"):
        curve, best, images = found["curve"], found["best"], found["images"]
        if not curve["threshold"]:
            raise NotApplicable("nothing is predicted")
        if not found["annotated"]:
            raise NotApplicable("none of the annotated triplets is counted")
        errors = {
            name: np.array(counts, dtype=np.float64) / images
            for name, counts in curve["errors"].items()
            if name not in NOT_ERRORS and any(counts)
        }
        shares = {key: np.array(curve[key], dtype=np.float64) for key in SHARES}
        kept = sum(np.array(curve["errors"][name]) for name in curve["errors"] if name != MISSED)
        # The precision of a handful of predictions fluctuates.
        shares["precision"] = np.where(kept < ENOUGH, np.nan, shares["precision"])
        return Thresholds(
            threshold=np.array(curve["threshold"], dtype=np.float64),
            shares=shares,
            errors=errors,
            best=None if best is None else (float(best["threshold"]), float(best["f1"])),
        )


def _most(tables: Sequence[Thresholds]) -> float:
    """Return the end of the error scale: a power of ten."""
    most = max((each.max() for table in tables for each in table.errors.values()), default=1.0)
    return float(10 ** np.ceil(np.log10(max(most, 10 * LOWEST))))


def _shares(ax: Axes, table: Thresholds) -> None:
    for key, (_, style) in SHARES.items():
        ax.plot(table.threshold, 100 * table.shares[key], **({"linewidth": 1.0} | style))
    if table.best is not None:
        ax.plot(table.best[0], 100 * table.best[1], color="black", marker="o", markersize=3.0)
    ax.set_ylim(0, 100)
    _threshold(ax, table)


def _errors(ax: Axes, table: Thresholds, most: float) -> None:
    for name, per_image in table.errors.items():
        # A logarithmic scale cannot show zero.
        ax.plot(table.threshold, np.where(per_image > 0, per_image, np.nan), **_error_style(name))
    ax.set_yscale("log")
    ax.set_ylim(LOWEST, most)
    ax.yaxis.set_major_locator(LogLocator(numticks=5))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    _threshold(ax, table)


def _threshold(ax: Axes, table: Thresholds) -> None:
    """Mark the best threshold; if scores are probabilities, start the scale at 0."""
    if table.best is not None:
        ax.axvline(table.best[0], color="0.5", linewidth=0.6, zorder=0.5)
    if table.threshold.min() >= 0 and table.threshold.max() <= 1:
        ax.set_xlim(left=0)
    ax.grid(True, color=GRID, linewidth=0.5)


def _error_style(error: str) -> dict[str, Any]:
    dashes = DASHES[list(ORACLES).index(error) % len(DASHES)]
    return {"color": colour(error), "linestyle": dashes, "linewidth": 1.0}


def _lines_of(tables: Sequence[Thresholds]) -> list[Line2D]:
    """Create the legend handles, including the errors that the tables show."""
    lines = [Line2D([], [], label=label, **style) for label, style in SHARES.values()]
    errors = [name for name in ORACLES if any(name in table.errors for table in tables)]
    return lines + [
        Line2D([], [], label=error_title(name), **_error_style(name)) for name in errors
    ]


def _at_thresholds(source: Source) -> Thresholds:
    if source.diagnosis is None:
        return operating_points_table(source.result)
    if source.diagnosis.answers is not None:
        raise NotApplicable("there are no scores")
    return operating_points_table({"operating_points": measured(source.diagnosis).to_dict()})


@figure(
    "operating_points",
    "Precision, recall, F1 and errors at each score threshold",
    data=_at_thresholds,
    needs="results",
    single=True,
    published=True,
)
def operating_points(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    """Draw precision, recall and F1 against the score threshold, and the errors in a panel below.

    Precision is not drawn where fewer than 20 predictions remain.

    Parameters
    ----------
    diagnosis : Diagnosis or mapping
        The detector, its result with ``operating_points``, or its :func:`operating_points_table`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide, above a panel of the
        errors per image.
    """
    tables = tables_of(models)
    shown: list[Thresholds] = list(tables.values())
    if isinstance(target, Axes):
        _shares(target, shown[0])
        target.set(xlabel=THRESHOLD_LABELS[0], ylabel=THRESHOLD_LABELS[1])
        handles = _lines_of([])
        handles[-1].set_label(_best(shown[0]))
        legend_above(target, handles, mark=MARK)
        return
    width = target.get_figwidth()
    rows, columns = shape_of(len(shown), width)
    target.set_figheight(min(0.7 + ROW * rows, TALLEST - 0.5))
    grid = target.subplots(
        2 * rows,
        columns,
        sharex=True,
        sharey="row",
        squeeze=False,
        height_ratios=SHARE_RATIOS * rows,
    )
    for ax in grid[-2:, len(shown) - columns * (rows - 1) :].ravel():
        ax.remove()
    inches = (width - SCALE) / columns - GAP
    for number, (name, table) in enumerate(tables.items()):
        row, column = divmod(number, columns)
        ax, errors = grid[2 * row : 2 * row + 2, column]
        set_title(ax, fitted(name, inches, 7.0), inches)
        _shares(ax, table)
        _errors(errors, table, _most(shown))
        set_title(errors, _best(table) if table.best else "", inches)
        if number + columns >= len(shown):  # labelled even if the row below ends before this panel
            errors.tick_params(labelbottom=True)
            errors.set_xlabel(THRESHOLD_LABELS[0])
        if column == 0:
            ax.set_ylabel(THRESHOLD_LABELS[1])
            errors.set_ylabel(THRESHOLD_LABELS[2])
    legend_above(target, _lines_of(shown), mark=MARK)


def _best(table: Thresholds) -> str:
    if table.best is None:
        return SHARES["f1"][0]
    threshold, f1 = table.best
    return f"F1 {100 * f1:.1f} from {threshold:.2g}"
