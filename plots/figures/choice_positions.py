"""Position bias of a model that answers questions: picks of each position minus those expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from diaghoi.exceptions import InputError
from diaghoi.plots.panels import one_panel
from diaghoi.plots.style import MODEL_COLOURS, paper

HEIGHT = 1.9  # inches
LEVEL = 0.05  # of significance
CERTAIN, UNCERTAIN = MODEL_COLOURS[0], "0.75"


class PositionBar(NamedTuple):
    """One bar.

    Parameters
    ----------
    letter : str
        Letter of the position.
    excess : float
        Picks minus expected picks, in percent of how often the position was shown.
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
        With the key ``positions``: see :func:`diaghoi.choice.analyses.position_bias`.

    Raises
    ------
    InputError
        If the answers do not contain the order of their options.
    """
    found = result.get("positions")
    if not found:
        raise InputError(
            f"{result.get('label') or 'the model'}: the answers do not tell in which order their "
            "options were shown; give answers with options and reply"
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
    """Draw how much more or less often than by chance the option at each position is picked.

    Parameters
    ----------
    result : mapping
        As for :func:`choice_positions_table`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        Dark bars differ from chance (corrected p-value below 0.05), light ones do not. Nothing is
        shown or saved; see :func:`diaghoi.plots.save`.
    """
    bars = choice_positions_table(result)
    with paper():
        ax, _ = one_panel(ax, HEIGHT)
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
        ax.grid(True, axis="y", color="0.92", linewidth=0.5)
    return ax
