"""Agreement of annotators: score distributions and kappa (SHOE supplement, figures 2 to 4).

These figures show ratings, not detectors, so they are not in the registry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.plots.panels import one_panel, write_cells
from diaghoi.plots.style import DOUBLE_COLUMN, model_style, paper

HEIGHT = 2.0  # inches
WIDTH = 0.8  # of all bars of one score; neighbouring scores are 1 apart
ACROSS = 3  # panels in a row: with more, the counts above the bars of five annotators overlap
DEEP = 4  # rows of panels at most, for long scales

Result = Mapping[str, Any]


def score_distribution(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw how often each annotator gave each score (figure 2).

    Parameters
    ----------
    result : mapping
        Of :meth:`diaghoi.semantic.tables.agreement.Agreement.to_dict`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure one paper column wide.
    """
    with paper():
        ax, _ = one_panel(ax, HEIGHT)
        _bars(ax, result["distribution"], result["scale"])
        ax.set_xlabel("Score")
        ax.set_ylabel("Ratings")
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(result["distribution"]))
    return ax


def votes_by_majority(result: Result, level: int, *, ax: Axes | None = None) -> Axes:
    """Draw how the annotators voted on the items with one majority score (figure 3).

    Parameters
    ----------
    result : mapping
        Of :meth:`diaghoi.semantic.tables.agreement.Agreement.to_dict`.
    level : int
        The majority score.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure one paper column wide.
    """
    with paper():
        ax, _ = one_panel(ax, HEIGHT)
        for bars in _bars(ax, result["by_majority"][level], result["scale"]):
            ax.bar_label(bars, fontsize=5, padding=1, rotation=90)
        ax.margins(y=0.2)
        ax.set_title(f"Majority {level}")
        ax.set_xlabel("Score")
        ax.set_ylabel("Ratings")
    return ax


def kappa_matrix(result: Result, *, ax: Axes | None = None) -> Axes:
    """Draw the quadratic weighted kappa of each pair of annotators (figure 4).

    Parameters
    ----------
    result : mapping
        Of :meth:`diaghoi.semantic.tables.agreement.Agreement.to_dict`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure one paper column wide.
    """
    names: Sequence[str] = result["annotators"]
    values = np.eye(len(names))
    for pair in result["kappa"]["pairs"]:
        a, b = names.index(pair["a"]), names.index(pair["b"])
        values[a, b] = values[b, a] = np.nan if pair["value"] is None else pair["value"]
    with paper():
        ax, _ = one_panel(ax, HEIGHT)
        cells = ax.imshow(values, cmap="Blues", vmin=0, vmax=1)
        write_cells(ax, cells, values, lambda k: "–" if np.isnan(k) else f"{k:.2f}", 6)
        ax.set_xticks(range(len(names)), names)
        ax.set_yticks(range(len(names)), names)
        ax.set_title("Quadratic weighted kappa")
    return ax


def agreement_figure(result: Result) -> Figure:
    """Draw all figures of the agreement together, two paper columns wide.

    Parameters
    ----------
    result : mapping
        Of :meth:`diaghoi.semantic.tables.agreement.Agreement.to_dict`.
    """
    levels = result["scale"] + 1
    deep = min(-(-levels // ACROSS), DEEP)
    across = -(-levels // deep)
    with paper():
        figure = Figure(figsize=(DOUBLE_COLUMN, (1 + deep) * HEIGHT), layout="constrained")
        rows: Any = figure.subfigures(2, 1, height_ratios=(1, deep))
        one, other = rows[0].subplots(1, 2, width_ratios=(2, 1))
        score_distribution(result, ax=one)
        kappa_matrix(result, ax=other)
        panels = rows[1].subplots(deep, across, sharey=True, squeeze=False).ravel()
        for level, ax in enumerate(panels[:levels]):
            votes_by_majority(result, level, ax=ax)
            if level % across:
                ax.set_ylabel("")
        for ax in panels[levels:]:
            ax.remove()
    return figure


def _bars(ax: Axes, counts: Mapping[str, Sequence[int]], highest: int) -> list[Any]:
    """Draw the counts of the annotators side by side at each score."""
    width = WIDTH / max(len(counts), 1)
    drawn = []
    for number, (name, values) in enumerate(counts.items()):
        shift = (number - (len(counts) - 1) / 2) * width
        places = np.arange(highest + 1) + shift
        colour = model_style(number)["color"]
        drawn.append(ax.bar(places, values, width, label=name, color=colour))
    ax.set_xticks(range(highest + 1))
    return drawn
