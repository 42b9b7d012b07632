"""Lines and dots of several models, as a legend explains them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.lines import Line2D

from diaghoi.plots.style import model_style

MARK = 2.4  # widths of a letter m that a line takes in a legend, so that its dashes can be seen


def model_lines(labels: Sequence[str], **style: Any) -> list[Line2D]:
    """Make the marks that :func:`diaghoi.plots.legend.legend_above` explains.

    Parameters
    ----------
    labels : sequence of str
        What the legend says of each model, in the order of the study.
    **style
        What differs from :func:`diaghoi.plots.style.model_style`, for instance ``linestyle=""``.
    """
    return [
        Line2D([], [], label=label, markersize=3.5, **(model_style(number) | style))
        for number, label in enumerate(labels)
    ]
