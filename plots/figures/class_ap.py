"""AP of each class against its number of annotated triplets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from diaghoi.data.arrays import FloatArray
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError
from diaghoi.plots.figure import (
    FigureKind,
    Model,
    ModelData,
    NotApplicable,
    Source,
    data_of,
    diagnosis_of,
    drawn,
    shown_names,
)
from diaghoi.plots.labels import split_title
from diaghoi.plots.legend import legend_above
from diaghoi.plots.panels import panel_grid

HEIGHT = 2.1  # inches
FURTHER_ROW = 1.3  # inches: each row of panels after the first
LABELS = ("Annotated triplets", "AP of the class (%)")
SPLIT_STYLES = {
    # Blue, red and yellow of Tol's "high-contrast" scheme, which also differ in grey print.
    "": ("#004488", "o"),
    "non_rare": ("#004488", "o"),
    "rare": ("#BB5566", "v"),
    "zero_shot": ("#DDAA33", "s"),
}
OTHER_STYLES = (("#33AADD", "D"), ("#777777", "o"), ("#997700", "^"))
MEDIAN: dict[str, Any] = {"color": "black", "linewidth": 1.2}
OTHER_MEDIAN: dict[str, Any] = {"color": "0.6", "linewidth": 0.6}
NEIGHBOURS = 1.6  # the median at n annotations is that of the classes with n / 1.6 to 1.6 n
FEWEST = 5  # classes for a median


class ClassAP(NamedTuple):
    """One dot of the figure.

    Parameters
    ----------
    name : str
        Name of the HOI class.
    annotated : int
        Its annotated triplets.
    ap : float
        Its AP in percent.
    split : str
        The group of classes it belongs to, such as ``rare``; empty where there is none.
    """

    name: str
    annotated: int
    ap: float
    split: str


def class_ap_table(diagnosis: Diagnosis) -> list[ClassAP]:
    """Compute the data of :func:`class_ap`: all classes that the mean counts."""
    vocabulary, positives = diagnosis.vocabulary, diagnosis.ledger.positives
    split_of = dict.fromkeys(range(len(vocabulary)), "")
    for split in reversed([name for name in diagnosis.splits if name != "full"]):
        split_of |= dict.fromkeys(np.flatnonzero(diagnosis.splits[split]).tolist(), split)
    ap = diagnosis.class_ap
    shown = np.flatnonzero(~np.isnan(ap)).tolist()
    return [
        ClassAP(
            vocabulary.class_name(hoi), int(positives[hoi]), 100 * float(ap[hoi]), split_of[hoi]
        )
        for hoi in shown
    ]


def running_median(rows: Sequence[ClassAP]) -> tuple[FloatArray, FloatArray]:
    """Compute the running median of AP over the number of annotated triplets.

    Parameters
    ----------
    rows : sequence of ClassAP
        Of one model.

    Returns
    -------
    annotated, ap : (K,) float64 array
        Numbers of annotated triplets of the classes and, for each, the median over the classes with
        that number within a factor of 1.6 to both sides; only where there are at least five.
    """
    number = np.array([row.annotated for row in rows], dtype=np.float64)
    ap = np.array([row.ap for row in rows])
    at = np.unique(number)
    around = [ap[(number >= n / NEIGHBOURS) & (number <= n * NEIGHBOURS)] for n in at]
    median = [
        (n, np.median(near)) for n, near in zip(at, around, strict=True) if len(near) >= FEWEST
    ]
    known, height = np.array(median, dtype=np.float64).reshape(-1, 2).T
    return known, height


def class_ap(diagnosis: Model | Sequence[ClassAP], ax: Axes | None = None) -> Axes:
    """Draw the AP of each class against its number of annotated triplets, with a running median.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector, or its :func:`class_ap_table`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        Nothing is shown or saved; see :func:`diaghoi.plots.save`.

    Raises
    ------
    InputError
        If there is no class.
    """
    table = data_of(CLASS_AP, diagnosis)
    if not table:
        raise InputError("diagnosis: there is nothing to draw; give at least one class")
    return drawn(CLASS_AP, {"": table}, ax)


def _styles(tables: Sequence[Sequence[ClassAP]]) -> dict[str, dict[str, Any]]:
    """Assign colours and markers to groups of classes; known groups always have the same."""
    found = dict.fromkeys(row.split for table in tables for row in table)
    others = [split for split in found if split not in SPLIT_STYLES]
    styles = {split: style for split, style in SPLIT_STYLES.items() if split in found}
    styles |= dict(zip(others, cycle(OTHER_STYLES), strict=False))
    return {
        split: {"color": colour, "marker": marker, "linestyle": "", "markeredgewidth": 0}
        for split, (colour, marker) in styles.items()
    }


def _dots(ax: Axes, rows: Sequence[ClassAP], styles: Mapping[str, dict[str, Any]]) -> None:
    for split, style in styles.items():
        members = [row for row in rows if row.split == split]
        ax.plot(
            [row.annotated for row in members],
            [row.ap for row in members],
            **style,
            # The smaller groups come last and are drawn above the larger ones.
            markersize=2.6 if split == "rare" else 2.2,
            alpha=0.9 if split == "rare" else 0.4,
            clip_on=False,
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(numticks=9))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,g}"))
    ax.set_ylim(0, 100)
    ax.grid(True, color="0.92", linewidth=0.5)


def _handles(styles: Mapping[str, dict[str, Any]], models: int) -> list[Line2D]:
    dots = {split_title(split) if split else "Classes": style for split, style in styles.items()}
    lines = [Line2D([], [], label=label, markersize=3.5, **style) for label, style in dots.items()]
    lines.append(Line2D([], [], label="Running median", **MEDIAN))
    if models > 1:
        lines.append(Line2D([], [], label="Medians of other models", **OTHER_MEDIAN))
    return lines


def _draw(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    tables = [model.data for model in models]
    styles, medians = _styles(tables), [running_median(table) for table in tables]
    panels = panel_grid(target, shown_names(models), LABELS, FURTHER_ROW)
    for number, ax in enumerate(panels):
        for other, median in enumerate(medians):
            if other != number:
                ax.plot(*median, **OTHER_MEDIAN)
        _dots(ax, tables[number], styles)
        ax.plot(*medians[number], **MEDIAN)
    legend_above(target, _handles(styles, len(models)), mark=1.6)


def _data(source: Source) -> list[ClassAP]:
    rows = class_ap_table(diagnosis_of(source))
    if not rows:
        raise NotApplicable("no class has annotations")
    return rows


CLASS_AP = FigureKind(
    name="class_ap",
    title="AP of each class against the number of its annotated triplets",
    needs="diagnoses",
    data=_data,
    draw=_draw,
    height=HEIGHT,
)
