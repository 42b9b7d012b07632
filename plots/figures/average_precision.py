"""AP of each class and of each verb."""

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
from diaghoi.oracles.localised import LEFT_OUT
from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import (
    FigureKind,
    Model,
    ModelData,
    Models,
    NotApplicable,
    Source,
    data_of,
    diagnosis_of,
    drawn,
    shown_names,
    tables_of,
)
from diaghoi.plots.labels import split_title
from diaghoi.plots.legend import legend_above, model_lines
from diaghoi.plots.panels import panel_grid, panel_of
from diaghoi.plots.style import model_style

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


def _class_dots(ax: Axes, rows: Sequence[ClassAP], styles: Mapping[str, dict[str, Any]]) -> None:
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


def _draw_classes(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    tables = [model.data for model in models]
    styles, medians = _styles(tables), [running_median(table) for table in tables]
    panels = panel_grid(target, shown_names(models), LABELS, FURTHER_ROW)
    for number, ax in enumerate(panels):
        for other, median in enumerate(medians):
            if other != number:
                ax.plot(*median, **OTHER_MEDIAN)
        _class_dots(ax, tables[number], styles)
        ax.plot(*medians[number], **MEDIAN)
    legend_above(target, _handles(styles, len(models)), mark=1.6)


def _class_data(source: Source) -> list[ClassAP]:
    rows = class_ap_table(diagnosis_of(source))
    if not rows:
        raise NotApplicable("no class has annotations")
    return rows


CLASS_AP = FigureKind(
    name="class_ap",
    title="AP of each class against the number of its annotated triplets",
    needs="diagnoses",
    data=_class_data,
    draw=_draw_classes,
    height=HEIGHT,
)


VERBS = 25
NOTE = "In brackets: annotated triplets of the verb."
ROW = 0.125  # inches: height of a row, which fits 7 pt names
NEARLY = 1.5  # percent: dots of models that are nearer stand apart
APART, SPREAD = 0.4, 0.9  # rows: between two such dots, and all of them at most
FRAME = 0.77  # inches: legend above; x-axis, note and protocol below the rows
LEAST = 1.2  # inches: least height


class ActionAP(NamedTuple):
    """One dot of the figure.

    Parameters
    ----------
    verb : str
        Its name.
    annotated : int
        Annotated triplets of the verb that count.
    ap : float or None
        Action AP in percent; None if no pair of the verb was localised.
    pairing : {"triplet", "person"}
        That of the protocol; by the person (V-COCO), wrong actions with an object are left out.
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


def action_ap(diagnoses: Models, ax: Axes | None = None, verbs: int = VERBS) -> Axes:
    """Draw the action AP of each verb, one row per verb and one dot per model.

    It shows the verbs with the most annotated triplets, sorted by their mean AP over the models,
    best first. The number of annotated triplets follows the name of the verb.

    Parameters
    ----------
    diagnoses : Diagnosis or sequence of Diagnosis
        One or more detectors; or the :func:`action_ap_table` of each by its label.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.
    verbs : int
        Maximum number of verbs.

    Raises
    ------
    InputError
        If there is no model, or ``verbs`` is below 1.
    """
    if verbs < 1:
        raise InputError(f"verbs: {verbs} cannot be shown; give 1 or more")
    return drawn(ACTION_AP, diagnoses, ax, verbs=verbs)


def shown_verbs(tables: Sequence[Sequence[ActionAP]], verbs: int = VERBS) -> list[str]:
    """Choose and order the verbs of the figure.

    Parameters
    ----------
    tables : sequence
        One :func:`action_ap_table` per model.
    verbs : int
        Maximum number of verbs.

    Returns
    -------
    list of str
        Those with the most annotated triplets, from the highest to the lowest mean AP.
    """
    annotated: dict[str, int] = {}
    scores: dict[str, list[float]] = {}
    for row in (row for table in tables for row in table):
        annotated[row.verb] = max(annotated.get(row.verb, 0), row.annotated)
        scores.setdefault(row.verb, []).extend([] if row.ap is None else [row.ap])
    common = sorted(annotated, key=lambda verb: -annotated[verb])[:verbs]
    # Verbs without any AP come last: 1 is above all negated means.
    return sorted(common, key=lambda verb: -np.mean(scores[verb]) if scores[verb] else 1.0)


def _note(tables: Sequence[Sequence[ActionAP]]) -> str:
    """Say what the numbers in brackets are, and what V-COCO leaves out."""
    of_people = any(row.pairing == "person" for table in tables for row in table)
    return NOTE + (f" {LEFT_OUT[:1].upper()}{LEFT_OUT[1:]}." if of_people else "")


def _apart(tables: Sequence[Mapping[int, float]]) -> list[dict[int, float]]:
    """Return the height of each dot, by model and row: dots of nearly equal AP stand apart."""
    heights: list[dict[int, float]] = [{} for _ in tables]
    for row in dict.fromkeys(row for table in tables for row in table):
        models = [number for number, table in enumerate(tables) if row in table]
        for number in models:
            near = [m for m in models if abs(tables[m][row] - tables[number][row]) < NEARLY]
            step = min(APART, SPREAD / len(near))
            heights[number][row] = row + step * (near.index(number) - (len(near) - 1) / 2)
    return heights


def _verb_dots(ax: Axes, tables: Sequence[Sequence[ActionAP]], shown: Sequence[str]) -> None:
    place = {verb: number for number, verb in enumerate(shown)}
    found: dict[int, list[float]] = {}
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
        for row, ap in known.items():
            found.setdefault(row, []).append(ap)
    ax.hlines(
        list(found),
        [min(aps) for aps in found.values()],
        [max(aps) for aps in found.values()],
        color="0.75",
        linewidth=0.8,
        zorder=2,
    )
    annotated = {row.verb: row.annotated for table in tables for row in table}
    ax.set_yticks(range(len(shown)), [f"{verb} ({annotated[verb]:,})" for verb in shown])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, 100)
    ax.set_xlabel("Action AP (%)")
    ax.spines["left"].set_visible(False)
    ax.grid(True, color="0.92", linewidth=0.5)


def _draw_verbs(target: Axes | Figure, models: Sequence[ModelData], verbs: int = VERBS) -> None:
    tables = tables_of(models)
    shown = shown_verbs(list(tables.values()), verbs)
    ax = panel_of(target, max(FRAME + ROW * len(shown), LEAST))
    _verb_dots(ax, list(tables.values()), shown)
    legend_above(target, model_lines(list(tables), linestyle=""), mark=1.0)
    add_note(target, _note(list(tables.values())))


ACTION_AP = FigureKind(
    name="action_ap",
    title="Action AP of the most frequent verbs (with annotated triplets), on localised pairs",
    needs="diagnoses",
    data=lambda source: action_ap_table(diagnosis_of(source)),
    draw=_draw_verbs,
)
