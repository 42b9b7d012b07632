"""Action AP of each verb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.oracles.localised import LEFT_OUT
from diaghoi.plots.figure import ModelData, NotApplicable, diagnosis_of, figure, tables_of
from diaghoi.plots.panels import legend_above, model_lines, name_rows, panel_of
from diaghoi.plots.style import add_note, model_style

VERBS = 25
NOTE = "In brackets: annotated triplets of the verb."
ROW = 0.125  # inches: height of a row, which fits 7 pt names
NEARLY = 1.5  # percent: dots that are closer than this are spread
APART, SPREAD = 0.4, 0.9  # rows: distance of spread dots, and largest height of all in a row
FRAME = 0.6  # inches: legend above, and x-axis below the rows
LEAST = 1.2  # inches: least height


class ActionAP(NamedTuple):
    """A dot in the figure.

    Parameters
    ----------
    verb : str
        Name of the verb.
    annotated : int
        Number of counted annotated triplets of the verb.
    ap : float or None
        Action AP in percent; None if no pair of the verb is localised.
    pairing : {"triplet", "person"}
        Pairing of the protocol; with pairing by person (V-COCO), wrong actions with an object are
        omitted.
    """

    verb: str
    annotated: int
    ap: float | None
    pairing: str = "triplet"


def action_ap_table(diagnosis: Diagnosis) -> list[ActionAP]:
    """Compute the data of :func:`action_ap` for one model: all annotated verbs.

    Raises
    ------
    NotApplicable
        If the file has no action scores.
    """
    if np.isnan(diagnosis.ledger.row_action_score).any():
        raise NotApplicable("the predictions have no action scores")
    vocabulary, ledger = diagnosis.vocabulary, diagnosis.ledger
    pairing = diagnosis.protocol.pairing
    verb = vocabulary.class_verb[ledger.annotation_class[ledger.annotation_counts]]
    annotated = np.bincount(verb, minlength=len(vocabulary.verbs)).tolist()
    scores = diagnosis.verb_scores.average_precision.tolist()
    return [
        ActionAP(name.replace("_", " "), number, None if np.isnan(ap) else 100 * ap, pairing)
        for name, number, ap in zip(vocabulary.verbs, annotated, scores, strict=True)
        if number
    ]


@figure(
    "action_ap",
    "Action AP on localised pairs, for the verbs with the most annotated triplets",
    data=lambda source: action_ap_table(diagnosis_of(source)),
)
def action_ap(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    """Draw the action AP of each verb, one row per verb and one dot per model.

    The figure shows the verbs with the most annotated triplets, sorted by mean AP over the models,
    best first. The number of annotated triplets follows the name of the verb.

    Parameters
    ----------
    diagnoses : Diagnosis or sequence of Diagnosis
        One or more detectors, or the :func:`action_ap_table` of each by label.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.

    Raises
    ------
    InputError
        If there is no model.
    """
    tables = tables_of(models)
    shown = shown_verbs(list(tables.values()))
    ax = panel_of(target, max(FRAME + ROW * len(shown), LEAST))
    _dots(ax, list(tables.values()), shown)
    legend_above(target, model_lines(list(tables), linestyle=""), mark=1.0)
    of_people = any(row.pairing == "person" for table in tables.values() for row in table)
    add_note(target, NOTE + (f" {LEFT_OUT[:1].upper()}{LEFT_OUT[1:]}." if of_people else ""))


def shown_verbs(tables: Sequence[Sequence[ActionAP]]) -> list[str]:
    """List the verbs with the most annotated triplets, in descending order of mean AP."""
    annotated: dict[str, int] = {}
    scores: dict[str, list[float]] = {}
    for row in (row for table in tables for row in table):
        annotated[row.verb] = max(annotated.get(row.verb, 0), row.annotated)
        scores.setdefault(row.verb, []).extend([] if row.ap is None else [row.ap])
    common = sorted(annotated, key=lambda verb: -annotated[verb])[:VERBS]
    # Verbs without AP come last, because 1 exceeds all negated means.
    return sorted(common, key=lambda verb: -np.mean(scores[verb]) if scores[verb] else 1.0)


def _apart(tables: Sequence[Mapping[int, float]]) -> list[dict[int, float]]:
    """Return the height of each dot, by model and row; dots with nearly equal AP are spread."""
    heights: list[dict[int, float]] = [{} for _ in tables]
    for row in dict.fromkeys(row for table in tables for row in table):
        models = [number for number, table in enumerate(tables) if row in table]
        for number in models:
            near = [m for m in models if abs(tables[m][row] - tables[number][row]) < NEARLY]
            step = min(APART, SPREAD / len(near))
            heights[number][row] = row + step * (near.index(number) - (len(near) - 1) / 2)
    return heights


def _dots(ax: Axes, tables: Sequence[Sequence[ActionAP]], shown: Sequence[str]) -> None:
    place = {verb: number for number, verb in enumerate(shown)}
    every = [
        {place[row.verb]: row.ap for row in table if row.verb in place and row.ap is not None}
        for table in tables
    ]
    for number, (known, heights) in enumerate(zip(every, _apart(every), strict=True)):
        ax.plot(
            list(known.values()),
            [heights[row] for row in known],
            **(model_style(number) | {"linestyle": ""}),
            markersize=3.5,
            markeredgecolor="white",
            markeredgewidth=0.3,
            clip_on=False,
            zorder=3,
        )
    aps = {row: [known[row] for known in every if row in known] for row in place.values()}
    ends = [(row, min(own), max(own)) for row, own in aps.items() if own]
    ax.hlines(*np.reshape(ends, (-1, 3)).T, color="0.75", linewidth=0.8, zorder=2)
    annotated = {row.verb: row.annotated for table in tables for row in table}
    name_rows(ax, [f"{verb} ({annotated[verb]:,})" for verb in shown], 7.0)
    ax.set_xlim(0, 100)
    ax.set_xlabel("Action AP (%)")
    ax.spines["left"].set_visible(False)
