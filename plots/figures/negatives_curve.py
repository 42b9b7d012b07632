"""Precision against recall of rejecting pairs that match no annotated one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.diagnosis.curves import Curve
from diaghoi.diagnosis.curves import negatives_curve as curve_of
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.plots.figure import (
    FigureKind,
    ModelData,
    Models,
    NotApplicable,
    diagnosis_of,
    drawn,
    tables_of,
)
from diaghoi.plots.labels import fitted, inches_of, text_width
from diaghoi.plots.legend import MARK, legend_above, model_lines
from diaghoi.plots.panels import panel_of
from diaghoi.plots.style import model_style

HEIGHT = 2.1  # inches


class NegativesCurve(NamedTuple):
    """The curve of one model.

    Parameters
    ----------
    curve : Curve
        Envelope of precision against recall of the pairs that localise no annotated pair.
    ap : float
        Average precision, a fraction.
    chance : float
        Share of these pairs among all pairs, the precision of random guessing.
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
        missing = "pair is negative" if not scores["negatives"] else "score of pairs is there"
        raise NotApplicable(f"no {missing}, so that none can be rejected")
    return NegativesCurve(
        curve=curve_of(diagnosis.negative_pairs).thinned(),
        ap=scores["ap"],
        chance=scores["negatives"] / scores["pairs"],
    )


def negatives_curve(diagnoses: Models, ax: Axes | None = None) -> Axes:
    """Draw precision against recall of rejecting pairs that match no annotated one.

    There is one line per model. The legend gives average precision and the share of such pairs.
    That share is the precision of guessing, and high, as most pairs match none. Markers at the ends
    of the lines distinguish models in grey print.

    Parameters
    ----------
    diagnoses : Diagnosis or sequence of Diagnosis
        One or more detectors; or the :func:`negatives_curve_table` of each by its label.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        Nothing is shown or saved; see :func:`diaghoi.plots.save`.

    Raises
    ------
    InputError
        If there is no model.
    """
    return drawn(NEGATIVES_CURVE, diagnoses, ax)


def _lines(ax: Axes, tables: Sequence[NegativesCurve]) -> None:
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
    # The scale starts below the lowest line, but spans at least one point: noise should not look
    # like a slope.
    bottom = min(100 - 1.12 * 100 * (1 - lowest), 99.0)
    ax.set_ylim(max(bottom, 0), 100 + 0.02 * (100 - max(bottom, 0)))
    ax.set_xlim(0, 100)
    ax.set_xlabel("Recall of pairs that match no annotated one (%)")
    ax.set_ylabel("Precision (%)")
    ax.grid(True, color="0.9", linewidth=0.5)


def _draw(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    tables = tables_of(models)
    _lines(panel_of(target), list(tables.values()))
    scores = [f" {100 * table.ap:.2f} / {100 * table.chance:.2f}" for table in tables.values()]
    room = inches_of(target) - 0.5 - text_width(max(scores, key=len), 7.0)
    labels = [fitted(label, room, 7.0) + own for label, own in zip(tables, scores, strict=True)]
    legend_above(target, model_lines(labels), "AP / share of such pairs (%)", mark=MARK)


NEGATIVES_CURVE = FigureKind(
    name="negatives_curve",
    title="How well pairs that match no annotated one are rejected",
    needs="diagnoses",
    data=lambda source: negatives_curve_table(diagnosis_of(source)),
    draw=_draw,
    height=HEIGHT,
)
