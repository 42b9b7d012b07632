"""Precision against recall of one HOI class before and after each oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from diaghoi.data.groups import find_class
from diaghoi.diagnosis.curves import Curve, class_curve
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.ledger import deciding
from diaghoi.oracles import ORACLES, TOTALS
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
    source_of,
)
from diaghoi.plots.labels import MINUS
from diaghoi.plots.panels import MARK, legend_above, panel_grid
from diaghoi.plots.style import add_note, colour

HEIGHT = 2.1  # inches
FURTHER_ROW = 1.3  # inches: each row of panels after the first
AP_SIZE = 6.5  # points
LEAST = 20  # least number of annotated triplets of a default class; fewer give coarse curves
LABELS = ("Recall (%)", "Precision (%)")
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.2)), (0, (1.2, 1)))


class RepairedCurve(NamedTuple):
    """A line in the figure.

    Parameters
    ----------
    oracle : str or None
        The repaired error; None before any repair.
    curve : Curve
        Envelope of precision against recall of the class.
    ap : float or None
        AP in percent; None if the oracle leaves no annotated triplet.
    delta : float or None
        Gain in AP, in percentage points.
    """

    oracle: str | None
    curve: Curve
    ap: float | None
    delta: float | None


class ClassCurves(NamedTuple):
    """Lines of one HOI class and model.

    Parameters
    ----------
    name : str
        The class.
    annotated : int
        Number of annotated triplets of the class.
    curves : list of RepairedCurve
        Lines before repairs, and after each oracle alone.
    """

    name: str
    annotated: int
    curves: list[RepairedCurve]

    @property
    def gain(self) -> float:
        """Sum of the gains of individual errors, without totals, which combine the same errors."""
        return sum(line.delta or 0.0 for line in self.curves if line.oracle not in TOTALS)


def oracle_curve_table(diagnosis: Diagnosis, classes: Sequence[int]) -> dict[int, ClassCurves]:
    """Compute the data of :func:`oracle_curve` for one model.

    Parameters
    ----------
    diagnosis : Diagnosis
        The model.
    classes : sequence of int
        HOI classes, counted from zero.
    """
    before = 100 * diagnosis.class_scores.average_precision
    lines: dict[int, list[RepairedCurve]] = {hoi: [] for hoi in classes}
    rows = deciding(diagnosis.ledger, diagnosis.protocol)
    for name in (None, *ORACLES):
        ledger = rows if name is None else ORACLES[name](rows)
        scores = diagnosis.class_scores if name is None else diagnosis.repaired_scores[name]
        after = 100 * scores.average_precision
        for hoi in classes:
            known = not np.isnan(after[hoi])
            lines[hoi].append(
                RepairedCurve(
                    oracle=name,
                    curve=class_curve(ledger, hoi, diagnosis.protocol).thinned(),
                    ap=float(after[hoi]) if known else None,
                    delta=float(after[hoi] - before[hoi]) if known else None,
                )
            )
    positives = diagnosis.ledger.positives
    return {
        hoi: ClassCurves(diagnosis.vocabulary.class_name(hoi), int(positives[hoi]), lines[hoi])
        for hoi in classes
    }


def candidates(diagnosis: Diagnosis) -> list[int]:
    """List the classes with at least 20 annotated triplets, or else the most annotated classes."""
    positives = np.where(diagnosis.splits["full"], diagnosis.ledger.positives, 0)
    least = max(1, min(LEAST, positives.max(initial=0)))
    return [int(hoi) for hoi in np.flatnonzero(positives >= least)]


def most_costly(tables: Sequence[dict[int, ClassCurves]]) -> int:
    """Return the class with the costliest errors, summed over errors and models.

    Parameters
    ----------
    tables : sequence
        One :func:`oracle_curve_table` per model.

    Raises
    ------
    NotApplicable
        If the models share no class.
    """
    shared = [hoi for hoi in tables[0] if all(hoi in table for table in tables)]
    if not shared:
        raise NotApplicable("there is no class with annotations")
    return max(shared, key=lambda hoi: sum(table[hoi].gain for table in tables))


def oracle_curve(diagnosis: Model, ax: Axes | None = None, hoi: str | int | None = None) -> Axes:
    """Precision against recall of one HOI class before and after each oracle.

    A line that an oracle does not change is hidden by the black line. The lines are envelopes (the
    highest precision at the same or a higher recall), from which AP is computed; the legend shows
    the gain of each oracle.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.
    hoi : str or int, optional
        The class by name (``ride bicycle``) or number, from 1. The default is the class with the
        largest sum of ΔAP among the classes with at least 20 annotated triplets; if there are none,
        the most annotated class.
    """
    source = source_of(diagnosis)
    words = diagnosis_of(source).vocabulary
    chosen = None if hoi is None else find_class("hoi", hoi, words)
    return drawn(FIGURES["oracle_curve"], _data(replace(source, hoi=chosen)), ax)


FUNCTIONS[oracle_curve.__name__] = oracle_curve


def _lines(ax: Axes, shown: ClassCurves) -> None:
    for line in (*shown.curves[1:], shown.curves[0]):
        recall, precision = line.curve.recall, line.curve.precision
        ax.plot(
            100 * np.append(0, recall)[: len(recall) + bool(len(recall))],
            100 * np.append(precision[:1], precision),
            drawstyle="steps-pre",
            clip_on=False,
            **_style_of(line.oracle),
        )
    ap = shown.curves[0].ap
    if ap is not None:
        ax.annotate(
            f"AP {ap:.1f}",
            (0, 0),
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=AP_SIZE,
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.5},
        )
    ax.set_xlim(0, 100)
    ax.set_ylim(0, 100)
    ax.grid(True, color="0.92", linewidth=0.5)


def _style_of(oracle: str | None) -> dict[str, Any]:
    if oracle is None:
        return {"color": "black", "linewidth": 1.3}
    dashes = DASHES[list(ORACLES).index(oracle) % len(DASHES)]
    return {"color": colour(oracle), "linestyle": dashes, "linewidth": 1.0}


def _handles(shown: ClassCurves, gains: bool) -> list[Line2D]:
    """Create the legend handles; with ``gains``, add the gain of each oracle."""
    handles = []
    for line in shown.curves:
        label = "Before" if line.oracle is None else ORACLES[line.oracle].title
        if gains and line.oracle is not None and line.delta is not None:
            label += f" {line.delta:+.1f}".replace("-", MINUS)
        handles.append(Line2D([], [], label=label, **_style_of(line.oracle)))
    return handles


def _data(source: Source) -> dict[int, ClassCurves]:
    diagnosis = diagnosis_of(source)
    if source.hoi is None:
        return oracle_curve_table(diagnosis, candidates(diagnosis))
    table = oracle_curve_table(diagnosis, [source.hoi])
    if not table[source.hoi].annotated:
        raise NotApplicable(f"no triplet of '{table[source.hoi].name}' counts")
    return table


@figure(
    "oracle_curve",
    "Precision and recall of one class before and after each oracle",
    data=_data,
    height=HEIGHT,
    single=True,
    published=True,
)
def _draw(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    hoi = most_costly([model.data for model in models])
    shown: list[ClassCurves] = [model.data[hoi] for model in models]
    first = shown[0]
    panels = panel_grid(target, shown_names(models), LABELS, FURTHER_ROW)
    for ax, one in zip(panels, shown, strict=True):
        _lines(ax, one)
    head = f"{first.name} ({first.annotated:,} annotated)"
    legend_above(target, _handles(first, len(models) == 1), head, mark=MARK)
    if any(len(model.data) > 1 for model in models):
        among = f", of those with at least {LEAST} annotated triplets"
        which = "the class with the largest sum of the ΔAP of its errors"
        among = among if all(each.annotated >= LEAST for each in shown) else ""
        add_note(target, f"“{first.name}” is {which}{among}.")
