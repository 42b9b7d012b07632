"""Verbs that are confused with one another, and the cost in mAP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from diaghoi.evaluation.errors import ACTION
from diaghoi.exceptions import InputError
from diaghoi.plots.figure import (
    FigureKind,
    Model,
    ModelData,
    NotApplicable,
    Source,
    data_of,
    diagnosis_of,
    shown_names,
)
from diaghoi.plots.labels import fitted
from diaghoi.plots.legend import legend_above
from diaghoi.plots.panels import one_panel, set_title
from diaghoi.plots.style import colour, lighter, paper
from diaghoi.semantic.confusions import costliest_confusions
from diaghoi.semantic.partial_oracle import PartialOracle

SHOWN = 10  # confusions of a model
MANY_ROWS = 2  # rows of panels, above which each panel shows half as many confusions
HEIGHT = 2.3  # inches: height of a single panel
FRAME, BAR, GAP = 0.65, 0.15, 0.25  # inches: above and below the bars, of a bar, beside a panel
NARROWEST = 2.6  # inches: least width of a panel, nearly half of it for the names of verbs
SCALE = "ΔmAP (points)"
NAME_ROOM, NAME_SIZE = 1.25, 6.0  # inches, points
SIMILAR = 0.5
"""Similarity of verbs from which a confusion is near. With the right object (similarity 1) and
equal weights it gives sigma 0.75, the bound of :data:`diaghoi.cases.similarities.NEAR`."""
GREYS = {"near": 0.75, "plausible": 0.4, "wrong": 0.0}
TITLES = {"near": "near", "plausible": "plausible", "wrong": "not similar"}


class ConfusionCost(NamedTuple):
    """One confusion of one model.

    Parameters
    ----------
    predicted, annotated : str
        The verbs.
    delta : float
        ΔmAP of repairing it alone, in percent points.
    similarity : float or None
        Of the verbs; None where no table is known.
    """

    predicted: str
    annotated: str
    delta: float
    similarity: float | None


def confusions_table(found: Sequence[Mapping[str, Any]]) -> list[ConfusionCost]:
    """Extract the data of :func:`confusions` from a semantic diagnosis, the most costly first.

    Parameters
    ----------
    found : sequence of mapping
        ``confusions`` of :meth:`diaghoi.semantic.diagnosis.SemanticDiagnosis.to_dict`.

    Raises
    ------
    InputError
        If the result is malformed.
    """
    try:
        return [
            ConfusionCost(
                str(each["predicted"]),
                str(each["annotated"]),
                100 * float(each["delta_map"]),
                None if each.get("similarity") is None else float(each["similarity"]),
            )
            for each in found
            if each["delta_map"] is not None
        ][:SHOWN]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"confusions cannot be drawn ({type(error).__name__}: {error}); give those of a "
            "semantic diagnosis"
        ) from error


def confusions(diagnosis: Model | Sequence[ConfusionCost], ax: Axes | None = None) -> Axes:
    """Draw what the confusions of verbs cost, the most costly at the top.

    Parameters
    ----------
    diagnosis : Diagnosis or mapping
        The detector, the result of its semantic evaluation, or a :func:`confusions_table`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        The shade of a bar shows the similarity of the verbs, the number at its end its value.
        Nothing is shown or saved; see :func:`diaghoi.plots.save`.

    Raises
    ------
    InputError
        If there is nothing to draw.
    """
    costs = data_of(CONFUSIONS, diagnosis)
    if not costs:
        raise InputError("diagnosis: there is no confusion to draw")
    with paper():
        ax, target = one_panel(ax, HEIGHT)
        _bars(ax, costs)
        ax.set_xlabel(SCALE)
        _legend(target, [costs])
    return ax


def _kind(similarity: float | None) -> str:
    if not similarity:
        return "wrong"
    return "near" if similarity >= SIMILAR else "plausible"


def _bars(ax: Axes, costs: Sequence[ConfusionCost]) -> None:
    for place, cost in enumerate(costs):
        ax.barh(
            place,
            cost.delta,
            0.72,
            color=lighter(colour("action"), GREYS[_kind(cost.similarity)]),
            edgecolor="0.15",
            linewidth=0.4,
        )
        if cost.similarity is not None:
            ax.annotate(
                f"{cost.similarity:.2f}",
                (max(cost.delta, 0.0), place),
                xytext=(2, 0),
                textcoords="offset points",
                va="center",
                fontsize=NAME_SIZE,
            )
    names = [fitted(f"{c.predicted} → {c.annotated}", NAME_ROOM, NAME_SIZE) for c in costs]
    ax.set_yticks(range(len(costs)), names, fontsize=NAME_SIZE)
    ax.set_ylim(max(len(costs), 2) - 0.4, -0.6)
    ax.margins(x=0.2)
    ax.tick_params(axis="y", length=0)
    ax.axvline(0, color="black", linewidth=0.6, zorder=3)
    ax.xaxis.grid(True, color="0.9", linewidth=0.5)


def _legend(target: Axes | Figure, models: Sequence[Sequence[ConfusionCost]]) -> None:
    if not any(cost.similarity is not None for costs in models for cost in costs):
        return
    marks = [
        Patch(
            facecolor=lighter(colour("action"), GREYS[kind]),
            edgecolor="0.15",
            linewidth=0.4,
            label=title,
        )
        for kind, title in TITLES.items()
    ]
    legend_above(target, marks, "", size=7.0, mark=1.4)


def _data(source: Source) -> list[ConfusionCost]:
    # The result of a semantic evaluation, or a report that holds one.
    saved = source.result.get("semantic", source.result).get("diagnosis")
    if isinstance(saved, Mapping) and "confusions" in saved:
        return _some(confusions_table(saved["confusions"]))
    diagnosis = diagnosis_of(source)
    ledger, vocabulary = diagnosis.ledger, diagnosis.vocabulary
    rows = np.flatnonzero((ledger.row_label == ACTION) & (ledger.row_annotation >= 0))
    found = costliest_confusions(
        PartialOracle(diagnosis=diagnosis, error="action"),
        rows,
        vocabulary.class_verb[ledger.row_class[rows]],
        vocabulary.class_verb[ledger.annotation_class[ledger.row_annotation[rows]]],
    )
    verbs = [verb.replace("_", " ") for verb in vocabulary.verbs]
    costs = [
        ConfusionCost(verbs[each.predicted], verbs[each.annotated], 100 * each.delta_map, None)
        for each in found[:SHOWN]
        if each.delta_map is not None
    ]
    return _some(costs)


def _some(costs: list[ConfusionCost]) -> list[ConfusionCost]:
    if not costs:
        raise NotApplicable("no verb is taken for another")
    return costs


def _draw(figure: Figure, models: Sequence[ModelData]) -> None:
    columns = min(len(models), max(1, int(figure.get_figwidth() / NARROWEST)))
    rows = ceil(len(models) / columns)
    shown = SHOWN if rows <= MANY_ROWS else SHOWN // 2
    costs = [model.data[:shown] for model in models]
    figure.set_figheight(rows * (FRAME + BAR * max(map(len, costs))))
    # Each model has its own confusions, so the panels cannot share the names of bars.
    panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for panel in panels[len(models) :]:
        panel.remove()
    width = figure.get_figwidth() / columns - NAME_ROOM - GAP
    for panel, name, of_model in zip(panels, shown_names(models), costs, strict=False):
        _bars(panel, of_model)
        panel.set_xlabel(SCALE)
        set_title(panel, name, width)
    # The same scale everywhere: bars of different models are compared.
    drawn = panels[: len(models)]
    low, high = zip(*(panel.get_xlim() for panel in drawn), strict=True)
    for panel in drawn:
        panel.set_xlim(min(low), max(high))
    _legend(figure, costs)


CONFUSIONS = FigureKind(
    name="confusions",
    title="Verbs that are taken for one another, and what that costs",
    needs="diagnoses",
    data=_data,
    draw=_draw,
    height=HEIGHT,
)
