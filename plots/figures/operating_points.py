"""What a detector finds and gets wrong over the score threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from diaghoi.data.arrays import FloatArray
from diaghoi.oracles import ORACLES, error_title
from diaghoi.plots.figure import (
    FigureKind,
    Model,
    ModelData,
    NotApplicable,
    Source,
    data_of,
    drawn,
    reading,
    tables_of,
)
from diaghoi.plots.legend import MARK, legend_above
from diaghoi.plots.panels import GAP, SCALE, prepared, set_fitting_title, shape_of
from diaghoi.plots.style import MODEL_COLOURS, colour
from diaghoi.statistics.operating_points import operating_points as measured

HEIGHT = 3.0  # inches: of one row of models
FURTHER_ROW = 2.3
RATIOS = (3.0, 2.2)  # heights of the shares and of the errors
LABELS = ("Score threshold", "%", "Errors/image")
BEST_SIZE = 6.5  # points
LEAST = 0.01  # errors per image at the foot of their scale
SHARES: dict[str, tuple[str, dict[str, Any]]] = {
    "precision": ("Precision", {"color": MODEL_COLOURS[0], "linestyle": (0, (4, 1.2))}),
    "recall": ("Recall", {"color": MODEL_COLOURS[1], "linestyle": (0, (1.2, 1))}),
    "f1": ("F1", {"color": "black", "linewidth": 1.3}),
}
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.2)), (0, (1.2, 1)))
NOT_ERRORS = ("true_positive", "false_negative")


class Thresholds(NamedTuple):
    """The lines of one model.

    Parameters
    ----------
    threshold : (K,) float64 array
        Falling scores.
    shares : dict of (K,) float64 array
        ``precision``, ``recall`` and ``f1``.
    errors : dict of (K,) float64 array
        Predictions kept per image with each error that occurs.
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
        With the key ``operating_points``: see
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
            raise NotApplicable("no annotated triplet counts")
        errors = {
            name: np.array(counts, dtype=np.float64) / images
            for name, counts in curve["errors"].items()
            if name not in NOT_ERRORS and any(counts)
        }
        return Thresholds(
            threshold=np.array(curve["threshold"], dtype=np.float64),
            shares={key: np.array(curve[key], dtype=np.float64) for key in SHARES},
            errors=errors,
            best=None if best is None else (float(best["threshold"]), float(best["f1"])),
        )


def operating_points(
    diagnosis: Model | Thresholds, ax: Axes | None = None, errors: Axes | None = None
) -> Axes:
    """Draw precision, recall and F1 over the score threshold, and errors below.

    Parameters
    ----------
    diagnosis : Diagnosis or mapping
        The detector, or its result with this part; or its :func:`operating_points_table`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column, with the errors per image
        below.
    errors : matplotlib.axes.Axes, optional
        Where to draw the errors per image, where ``ax`` is given.

    Returns
    -------
    matplotlib.axes.Axes
        That of precision, recall and F1.
    """
    tables = {"": data_of(OPERATING_POINTS, diagnosis)}
    return drawn(OPERATING_POINTS, tables, ax, errors=errors)


def _draw(target: Axes | Figure, models: Sequence[ModelData], errors: Axes | None = None) -> None:
    if isinstance(target, Figure):
        _figure(target, tables_of(models))
        return
    table: Thresholds = models[0].data
    _shares(target, table)
    target.set_ylabel(LABELS[1])
    if errors is not None:
        _errors(prepared(errors), table, _most([table]))
        errors.set_ylabel(LABELS[2])
    (errors or target).set_xlabel(LABELS[0])
    handles = _handles([table] if errors is not None else [])
    if errors is None:
        handles[-1].set_label(_best(table))
    legend_above(target, handles, mark=MARK)


def _figure(figure: Figure, tables: Mapping[str, Thresholds]) -> None:
    """Draw each model in two panels, one above the other."""
    shown, width = list(tables.values()), figure.get_figwidth()
    rows, columns = shape_of(len(shown), width)
    figure.set_figheight(figure.get_figheight() + FURTHER_ROW * (rows - 1))
    grid = figure.subplots(
        2 * rows, columns, sharex=True, sharey="row", squeeze=False, height_ratios=RATIOS * rows
    )
    for ax in grid[-2:, len(shown) - columns * (rows - 1) :].ravel():
        ax.remove()
    inches = (width - SCALE) / columns - GAP
    for number, (name, table) in enumerate(tables.items()):
        row, column = divmod(number, columns)
        ax, errors = grid[2 * row : 2 * row + 2, column]
        set_fitting_title(ax, name, inches)
        _shares(ax, table)
        _errors(errors, table, _most(shown))
        if number + columns >= len(shown):  # also where the row below ends before this panel
            errors.tick_params(labelbottom=True)
            errors.set_xlabel(LABELS[0])
        if column == 0:
            ax.set_ylabel(LABELS[1])
            errors.set_ylabel(LABELS[2])
    legend_above(figure, _handles(shown), mark=MARK)


def _most(tables: Sequence[Thresholds]) -> float:
    """Return the end of the scale of errors: a power of ten."""
    most = max((each.max() for table in tables for each in table.errors.values()), default=1.0)
    return float(10 ** np.ceil(np.log10(max(most, 10 * LEAST))))


def _shares(ax: Axes, table: Thresholds) -> None:
    for key, (_, style) in SHARES.items():
        ax.plot(table.threshold, 100 * table.shares[key], **({"linewidth": 1.0} | style))
    if table.best is not None:
        ax.plot(table.best[0], 100 * table.best[1], color="black", marker="o", markersize=3.0)
    ax.set_ylim(0, 100)
    _threshold(ax, table)


def _errors(ax: Axes, table: Thresholds, most: float) -> None:
    for name, per_image in table.errors.items():
        # A scale of logarithms has no place for none.
        ax.plot(table.threshold, np.where(per_image > 0, per_image, np.nan), **_style(name))
    if table.best is not None:
        # Fewer and fewer errors are kept, so that this corner is empty.
        ax.annotate(
            _best(table),
            (1, 1),
            xycoords="axes fraction",
            xytext=(0, -2),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=BEST_SIZE,
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.5},
        )
    ax.set_yscale("log")
    ax.set_ylim(LEAST, most)
    ax.yaxis.set_major_locator(LogLocator(numticks=5))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    _threshold(ax, table)


def _best(table: Thresholds) -> str:
    if table.best is None:
        return SHARES["f1"][0]
    threshold, f1 = table.best
    return f"F1 {100 * f1:.1f} from {threshold:.2g}"


def _threshold(ax: Axes, table: Thresholds) -> None:
    """Mark the best threshold; the scale of probabilities begins at 0."""
    if table.best is not None:
        ax.axvline(table.best[0], color="0.5", linewidth=0.6, zorder=0.5)
    if table.threshold.min() >= 0 and table.threshold.max() <= 1:
        ax.set_xlim(left=0)
    ax.grid(True, color="0.92", linewidth=0.5)


def _style(error: str) -> dict[str, Any]:
    dashes = DASHES[list(ORACLES).index(error) % len(DASHES)]
    return {"color": colour(error), "linestyle": dashes, "linewidth": 1.0}


def _handles(tables: Sequence[Thresholds]) -> list[Line2D]:
    """Make the handles of the legend, with the errors of the tables that show them."""
    lines = [Line2D([], [], label=label, **style) for label, style in SHARES.values()]
    errors = [name for name in ORACLES if any(name in table.errors for table in tables)]
    return lines + [Line2D([], [], label=error_title(name), **_style(name)) for name in errors]


def _data(source: Source) -> Thresholds:
    if source.diagnosis is None:
        return operating_points_table(source.result)
    if source.diagnosis.answers is not None:
        raise NotApplicable("there are no scores")
    return operating_points_table({"operating_points": measured(source.diagnosis).to_dict()})


OPERATING_POINTS = FigureKind(
    name="operating_points",
    title="Precision, recall, F1 and errors over the score threshold",
    needs="results",
    data=_data,
    draw=_draw,
    height=HEIGHT,
    published=True,
)
