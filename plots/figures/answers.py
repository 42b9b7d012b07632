"""Answers of models and people: multiple-choice metrics, and agreement between annotators.

These figures do not show detectors, so they are not in the registry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.data.table import has_width
from diaghoi.exceptions import InputError
from diaghoi.plots.labels import model_names
from diaghoi.plots.panels import GRID, legend_above, model_lines, one_panel, write_cells
from diaghoi.plots.style import DOUBLE_COLUMN, MODEL_COLOURS, model_style, paper

SCORES_HEIGHT = 2.2  # inches
FIGURES = {
    "instance_f1": "Instance-F1",
    "macro_f1": "Macro-F1",
    "micro_f1": "Micro-F1",
    "exact_match": "Exact match",
}
SPREAD = 0.6  # distance of the first and last model at one metric; metrics are 1 apart


class ModelScores(NamedTuple):
    """Dots of one model.

    Parameters
    ----------
    label : str
        Name of the model.
    values : dict of (float or None)
        Values by metric, in percent.
    bounds : dict of tuple of float
        Intervals by metric, in percent, except missing and zero-width intervals.
    """

    label: str
    values: dict[str, float | None]
    bounds: dict[str, tuple[float, float]]


def choice_scores_table(results: Sequence[Mapping[str, Any]]) -> list[ModelScores]:
    """Extract the data of :func:`choice_scores` from results.

    Parameters
    ----------
    results : sequence of mapping
        A result of :meth:`diaghoi.choice.ChoiceEvaluation.to_dict`, with or without ``intervals``.
    """
    names = model_names(result.get("label") for result in results)
    return [
        ModelScores(
            label=name,
            values={
                key: None if result[key] is None else 100 * float(result[key]) for key in FIGURES
            },
            bounds={
                key: (100 * float(bounds[0]), 100 * float(bounds[1]))
                for key in FIGURES
                if (bounds := result.get("intervals", {}).get(key)) and has_width(bounds)
            },
        )
        for name, result in zip(names, results, strict=True)
    ]


def choice_scores(results: Sequence[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Draw Instance-F1, Macro-F1, Micro-F1 and exact match of models side by side.

    Parameters
    ----------
    results : sequence of mapping
        As in :func:`choice_scores_table`; intervals are drawn if present.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.

    Raises
    ------
    InputError
        If there is no result.
    """
    if not results:
        raise InputError("results: there is nothing to draw; give at least one")
    table = choice_scores_table(results)
    with paper():
        ax, target = one_panel(ax, SCORES_HEIGHT)
        for number, model in enumerate(table):
            shift = SPREAD * ((number + 0.5) / len(table) - 0.5)
            style = model_style(number) | {"linestyle": ""}
            places = [place + shift for place in range(len(FIGURES))]
            heights = [float("nan") if each is None else each for each in model.values.values()]
            ax.plot(places, heights, markersize=3.5, clip_on=False, **style)
            for place, key in zip(places, FIGURES, strict=True):
                if key in model.bounds:
                    ax.plot([place, place], model.bounds[key], color=style["color"], linewidth=0.8)
        ax.set_xticks(range(len(FIGURES)), list(FIGURES.values()))
        ax.set_xlim(-0.5, len(FIGURES) - 0.5)
        ax.set_ylim(0, 100)
        ax.set_ylabel("%")
        ax.grid(True, axis="y", color=GRID, linewidth=0.5)
        ax.tick_params(axis="x", length=0)
        legend_above(target, model_lines([model.label for model in table], linestyle=""), mark=1.6)
    return ax


POSITIONS_HEIGHT = 1.9  # inches
LEVEL = 0.05  # of significance
CERTAIN, UNCERTAIN = MODEL_COLOURS[0], "0.75"


class PositionBar(NamedTuple):
    """One bar.

    Parameters
    ----------
    letter : str
        Letter that marks the position.
    excess : float
        Picks minus expected picks, as a percentage of the times the position was shown.
    certain : bool
        Whether the corrected p-value is below 0.05.
    """

    letter: str
    excess: float
    certain: bool


def choice_positions_table(result: Mapping[str, Any]) -> list[PositionBar]:
    """Extract the data of :func:`choice_positions` from a result.

    Parameters
    ----------
    result : mapping
        A result with the key ``positions``: see :func:`diaghoi.choice.analyses.position_bias`.

    Raises
    ------
    InputError
        If the answers do not record the order of their options.
    """
    found = result.get("positions")
    if not found:
        raise InputError(
            f"{result.get('label') or 'the model'}: the answers do not tell in which order their "
            "options were shown; give answers with the keys options and reply"
        )
    return [
        PositionBar(
            letter=row["position"],
            excess=100 * float(row["excess"]),
            certain=row["p_holm"] is not None and row["p_holm"] < LEVEL,
        )
        for row in found["positions"]
    ]


def choice_positions(result: Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Draw how much more or less often each position is picked than expected by chance.

    Parameters
    ----------
    result : mapping
        As for :func:`choice_positions_table`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.

    Returns
    -------
    matplotlib.axes.Axes
        Axes with dark bars for positions that differ from chance (corrected p-value below 0.05),
        and light bars for other positions.
    """
    bars = choice_positions_table(result)
    with paper():
        ax, _ = one_panel(ax, POSITIONS_HEIGHT)
        ax.bar(
            [bar.letter for bar in bars],
            [bar.excess for bar in bars],
            width=0.6,
            color=[CERTAIN if bar.certain else UNCERTAIN for bar in bars],
        )
        ax.axhline(0, color="black", linewidth=0.6)
        most = max(1.0, *(abs(bar.excess) for bar in bars))
        ax.set_ylim(-1.15 * most, 1.15 * most)
        ax.set_xlabel("Position of the option (dark: p < 0.05)")
        ax.set_ylabel("Picked minus expected\n(% of shown)")
        ax.grid(True, axis="y", color=GRID, linewidth=0.5)
    return ax


HEIGHT = 2.0  # inches
WIDTH = 0.8  # width of all bars of one score; neighbouring scores are 1 apart
ACROSS = 3  # panels in a row; with more, the counts above the bars of five annotators would overlap
DEEP = 4  # largest number of rows of panels, for long scales


def agreement_figure(result: Mapping[str, Any]) -> Figure:
    """Draw the agreement between annotators: figures 2 to 4 of the SHOE supplement together.

    The panels show the frequency of each annotator's scores, the quadratic weighted kappa of each
    pair of annotators, and the votes on the items of each majority score.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.semantic.tables.agreement.Agreement.to_dict`.

    Returns
    -------
    matplotlib.figure.Figure
        Figure two paper columns wide.
    """
    levels = result["scale"] + 1
    deep = min(-(-levels // ACROSS), DEEP)
    across = -(-levels // deep)
    with paper():
        figure = Figure(figsize=(DOUBLE_COLUMN, (1 + deep) * HEIGHT), layout="constrained")
        rows: Any = figure.subfigures(2, 1, height_ratios=(1, deep))
        scores, kappa = rows[0].subplots(1, 2, width_ratios=(2, 1))
        _bars(scores, result["distribution"], levels)
        scores.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(result["distribution"]))
        scores.set(xlabel="Score", ylabel="Ratings")
        _kappa(kappa, result)
        panels = rows[1].subplots(deep, across, sharey=True, squeeze=False).ravel()
        for level, ax in enumerate(panels[:levels]):
            for bars in _bars(ax, result["by_majority"][level], levels):
                ax.bar_label(bars, fontsize=5.5, padding=1, rotation=90)
            ax.margins(y=0.2)
            ax.set_title(f"Majority {level}")
            ax.set(xlabel="Score", ylabel="" if level % across else "Ratings")
        for ax in panels[levels:]:
            ax.remove()
    return figure


def _kappa(ax: Axes, result: Mapping[str, Any]) -> None:
    names: Sequence[str] = result["annotators"]
    values = np.eye(len(names))
    for pair in result["kappa"]["pairs"]:
        a, b = names.index(pair["a"]), names.index(pair["b"])
        values[a, b] = values[b, a] = np.nan if pair["value"] is None else pair["value"]
    cells = ax.imshow(values, cmap="Blues", vmin=0, vmax=1)
    write_cells(ax, cells, values, lambda k: "–" if np.isnan(k) else f"{k:.2f}", 6)
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(names)), names)
    ax.set_title("Quadratic weighted kappa")


def _bars(ax: Axes, counts: Mapping[str, Sequence[int]], levels: int) -> list[Any]:
    """Draw the counts of all annotators side by side at each score."""
    width = WIDTH / max(len(counts), 1)
    drawn = []
    for number, (name, values) in enumerate(counts.items()):
        places = np.arange(levels) + (number - (len(counts) - 1) / 2) * width
        colour = model_style(number)["color"]
        drawn.append(ax.bar(places, values, width, label=name, color=colour))
    ax.set_xticks(range(levels))
    return drawn
