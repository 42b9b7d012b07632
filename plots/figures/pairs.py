"""Pairs regardless of actions: recall with fewer pairs, and rejection of false pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.curves import DETECTION_THRESHOLDS, NMS_OVERLAPS, Curve, pair_sweeps
from diaghoi.diagnosis.curves import negatives_curve as curve_of
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.saved import scenes_of
from diaghoi.exceptions import InputError, close_matches
from diaghoi.plots.figure import (
    ModelData,
    NotApplicable,
    Source,
    diagnosis_of,
    figure,
    shown_names,
    tables_of,
)
from diaghoi.plots.labels import fitted, inches_of, text_width
from diaghoi.plots.panels import MARK, legend_above, model_lines, panel_grid, panel_of
from diaghoi.plots.style import add_note, model_style

RECALL_HEIGHT = 2.0  # inches
NARROWEST = 1.0  # inches: least width of a panel
INCHES_FOR_LONG_TITLES = 1.8  # width of a panel
LABELS = ("Pairs per image", "Pair recall (%)")
THRESHOLDS = f"{DETECTION_THRESHOLDS[0]:g}–{DETECTION_THRESHOLDS[-1]:g}"
OVERLAPS = f"{NMS_OVERLAPS[0]:g}–{NMS_OVERLAPS[-1]:g}"
SWEEPS = {"best": "Best pairs", "detection": "Threshold", "nms": "Pair NMS"}
LONG_TITLES = {
    "best": "Best pairs of each image",
    "detection": f"Detection threshold {THRESHOLDS}",
    "nms": f"Pair NMS at overlap {OVERLAPS}",
}
KEPT = {
    "best": "the best ones",
    "detection": f"those above a detection threshold of {THRESHOLDS}",
    "nms": f"those after pair NMS at {OVERLAPS}",
}
REASONS = {
    "best": "the images{} have too few pairs",
    "detection": "the predictions{} have no detection scores",
}
"""Reasons for omitting a sweep."""
FEWEST = 0.9  # pairs per image: lines end here, because recall is near zero below
# Ticks per decade, from coarse to fine.
STEPS = ((1, 3), (1, 2, 5), (1, 2, 3, 5, 7), tuple(range(1, 10)))
FEWEST_TICKS = 3
LEAST_SPAN = 0.5  # share of the axis between the first and the last tick
EVEN_BELOW = 3.0  # ticks are evenly spaced if the ends of the axis have a smaller ratio


class KeptPairs(NamedTuple):
    """A point in the figure.

    Parameters
    ----------
    sweep : {"best", "detection", "nms"}
        Way of dropping pairs; see :func:`diaghoi.diagnosis.curves.pair_sweeps`.
    setting : float or None
        Pairs per image, detection score or overlap; None for all pairs of the detector.
    per_image : float
        Predicted pairs per image.
    recall : float
        Pair recall in percent.
    """

    sweep: str
    setting: float | None
    per_image: float
    recall: float


def pair_recall_table(
    annotations: Scenes, predictions: Scenes, protocol: Protocol
) -> list[KeptPairs]:
    """Compute the data of :func:`pair_recall` for one model.

    Parameters
    ----------
    annotations, predictions : Scenes
        Scenes, as passed to :func:`diaghoi.diagnose`.
    protocol : Protocol
        Protocol of the diagnosis.

    Raises
    ------
    NotApplicable
        If no pair is annotated or none is predicted.
    """
    rows = [
        KeptPairs(sweep, point.setting, point.per_image, 100 * point.recall)
        for sweep, points in pair_sweeps(annotations, predictions, protocol).items()
        for point in points
        if point.recall is not None and point.per_image
    ]
    if not rows:
        raise NotApplicable("there is no annotated or no predicted pair")
    return rows


def _recall_lines(ax: Axes, tables: Sequence[Sequence[KeptPairs]], sweep: str) -> None:
    """Draw the lines of one sweep; each starts at a large marker, which stands for all pairs."""
    for number, table in enumerate(tables):
        rows = [row for row in table if row.sweep == sweep]
        rows = [row for row in rows if row.per_image >= min(FEWEST, rows[0].per_image)]
        style = model_style(number)
        ax.plot(
            [row.per_image for row in rows],
            [row.recall for row in rows],
            **style,
            markersize=2.2,
            label=sweep,
        )
        ax.plot(
            [row.per_image for row in rows[:1]],
            [row.recall for row in rows[:1]],
            **(style | {"linestyle": ""}),
            markersize=4.5,
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(_ticks(*ax.get_xlim())))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}"))
    ax.grid(True, color="0.9", linewidth=0.5)


def _ticks(low: float, high: float) -> list[float]:
    """Choose round ticks: the coarsest steps with at least three ticks, or evenly spaced ticks."""
    ticks: list[float] = []
    for steps in STEPS:
        every = [step * 10.0**power for power in range(-2, 6) for step in steps]
        ticks = [number for number in every if low <= number <= high]
        if len(ticks) >= FEWEST_TICKS and ticks[-1] / ticks[0] >= (high / low) ** LEAST_SPAN:
            return ticks
    if len(ticks) > 1 and high / low > EVEN_BELOW:
        return ticks
    return list(map(float, MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high)))


def _sweeps(models: Sequence[ModelData]) -> list[str]:
    """List the sweeps that at least one model has."""
    found = {row.sweep for model in models for row in model.data}
    return [name for name in SWEEPS if name in found]


def _lacking(models: Sequence[ModelData]) -> str:
    """Describe which panels or lines are omitted, and why."""
    sentences = []
    for sweep, reason in REASONS.items():
        without = [
            name
            for name, model in zip(shown_names(models), models, strict=True)
            if not any(row.sweep == sweep for row in model.data)
        ]
        if without:
            whom = "" if len(without) == len(models) else f" of {', '.join(without)}"
            sentences.append(f"{LONG_TITLES[sweep]}: not drawn, {reason.format(whom)}.")
    return " ".join(sentences)


def _data(source: Source) -> list[KeptPairs]:
    diagnosis = diagnosis_of(source)
    if not diagnosis.scenes:
        raise NotApplicable("the figure needs the predictions themselves")
    return pair_recall_table(*scenes_of(diagnosis), diagnosis.protocol)


@figure(
    "pair_recall",
    "Pair recall when fewer pairs are kept",
    data=_data,
    height=RECALL_HEIGHT,
    parts=lambda models: ", ".join(KEPT[sweep] for sweep in _sweeps(models)),
    usual=True,
)
def pair_recall(target: Axes | Figure, models: Sequence[ModelData], sweep: str = "") -> None:
    """Draw pair recall against the number of kept pairs, one line per model.

    Parameters
    ----------
    diagnoses : Diagnosis or sequence of Diagnosis
        One or more detectors, or the :func:`pair_recall_table` of each by label.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.
    sweep : {"best", "detection", "nms"}
        Way of dropping pairs; by default, the best pairs are kept.

    Raises
    ------
    InputError
        If there is no model, or the sweep is unknown.
    """
    if sweep and sweep not in SWEEPS:
        raise InputError(
            f"sweep: '{sweep}' is not known{close_matches(sweep, SWEEPS)}; "
            f"give one of {', '.join(SWEEPS)}"
        )
    sweeps = [sweep] if sweep else _sweeps(models)
    titles = [""]
    if isinstance(target, Axes):
        sweeps = [sweep or "best"]
    elif not sweep:
        wide = target.get_figwidth() >= INCHES_FOR_LONG_TITLES * len(sweeps)
        titles = [(LONG_TITLES if wide else SWEEPS)[name] for name in sweeps]
    # Thresholds and suppression keep more pairs than a sweep of the best pairs, so on a common
    # scale their lines would be squeezed into a corner.
    panels = panel_grid(target, titles, LABELS, 0.0, narrowest=NARROWEST, share_x=False)
    for ax, name in zip(panels, sweeps, strict=True):
        _recall_lines(ax, [model.data for model in models], name)
    everything = Line2D([], [], color="0.5", marker="o", markersize=4.5, linestyle="")
    everything.set_label("large marks: all pairs")
    marks = [*model_lines(shown_names(models)), everything]
    legend_above(target, marks, "" if titles[0] else LONG_TITLES[sweeps[0]], mark=MARK)
    add_note(target, _lacking(models) if titles[0] else "")


NEGATIVES_HEIGHT = 2.1  # inches


class NegativesCurve(NamedTuple):
    """Curve of one model.

    Parameters
    ----------
    curve : Curve
        Envelope of precision against recall of the pairs that localise no annotated pair.
    ap : float
        Average precision, a fraction.
    chance : float
        Of all pairs, the share that localises no annotated pair: the precision of random guessing.
    """

    curve: Curve
    ap: float
    chance: float


def negatives_curve_table(diagnosis: Diagnosis) -> NegativesCurve:
    """Compute the data of :func:`negatives_curve` for one model.

    Raises
    ------
    NotApplicable
        If no predicted pair is negative, or pairs have no score.
    """
    scores = diagnosis.negatives
    if scores["ap"] is None:
        missing = "pair is negative" if not scores["negatives"] else "pair has a score"
        raise NotApplicable(f"no {missing}, so no pair can be rejected")
    return NegativesCurve(
        curve=curve_of(diagnosis.negative_pairs).thinned(),
        ap=scores["ap"],
        chance=scores["negatives"] / scores["pairs"],
    )


def _negatives_lines(ax: Axes, tables: Sequence[NegativesCurve]) -> None:
    for number, table in enumerate(tables):
        curve, style = table.curve, model_style(number)
        ax.plot(
            100 * np.append(0, curve.recall),
            100 * np.append(curve.precision[:1], curve.precision),
            drawstyle="steps-pre",
            **(style | {"marker": ""}),
            linewidth=1.1,
        )
        ax.plot(
            100 * curve.recall[-1:],
            100 * curve.precision[-1:],
            **(style | {"linestyle": ""}),
            markersize=3.5,
            clip_on=False,
            zorder=3,
        )
    lowest = min(float(table.curve.precision.min()) for table in tables)
    # The scale starts below the lowest line, but spans at least one point, so that noise does not
    # look like a slope.
    bottom = min(100 - 1.12 * 100 * (1 - lowest), 99.0)
    ax.set_ylim(max(bottom, 0), 100 + 0.02 * (100 - max(bottom, 0)))
    ax.set_xlim(0, 100)
    ax.set_xlabel("Recall of pairs that match no annotated pair (%)")
    ax.set_ylabel("Precision (%)")
    ax.grid(True, color="0.9", linewidth=0.5)


@figure(
    "negatives_curve",
    "Rejection of pairs that match no annotated pair",
    data=lambda source: negatives_curve_table(diagnosis_of(source)),
    height=NEGATIVES_HEIGHT,
)
def negatives_curve(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    """Draw precision against recall of rejecting pairs that match no annotated pair.

    The figure has one line per model. The legend gives average precision, and the share of pairs
    that match no annotated pair: the precision of random guessing. Random guessing is precise,
    because most pairs match no annotated pair. Markers at the line ends distinguish models in
    greyscale.

    Parameters
    ----------
    diagnoses : Diagnosis or sequence of Diagnosis
        One or more detectors, or the :func:`negatives_curve_table` of each by label.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.

    Raises
    ------
    InputError
        If there is no model.
    """
    tables = tables_of(models)
    _negatives_lines(panel_of(target), list(tables.values()))
    scores = [f" {100 * table.ap:.2f} / {100 * table.chance:.2f}" for table in tables.values()]
    room = inches_of(target) - 0.5 - text_width(max(scores, key=len), 7.0)
    labels = [fitted(label, room, 7.0) + own for label, own in zip(tables, scores, strict=True)]
    legend_above(target, model_lines(labels), "AP / share of such pairs (%)", mark=MARK)
