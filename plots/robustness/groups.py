"""Grouped bars of mean scores under each group of corruptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.plots.bar_legend import EDGE, GREY, bar_legend, hatch, paleness
from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, drawn, tables_of
from diaghoi.plots.labels import inches_of, text_width, wrapped
from diaghoi.plots.panels import panel_of
from diaghoi.plots.robustness.notes import MARK, noted
from diaghoi.plots.style import lighter

HEIGHT = 2.2  # inches
GROUP = 0.84  # width of the bars of one group, as a share of the distance between groups
NAME_SIZE = 7.0  # points
CLEAN = "Clean"


class GroupScore(NamedTuple):
    """One bar of one model.

    Parameters
    ----------
    name : str
        GroupScore of corruptions, or clean pictures.
    score : float or None
        In percent.
    partial : bool
        Whether some conditions behind it have no score.
    """

    name: str
    score: float | None
    partial: bool = False


def robustness_groups_table(model: Mapping[str, Any]) -> list[GroupScore]:
    """Extract the data of :func:`robustness_groups` from the result of a model.

    Parameters
    ----------
    model : mapping
        As for :func:`diaghoi.plots.robustness.drops.robustness_drops_table`.

    Raises
    ------
    NotApplicable
        If no group has a score.
    """
    labels = list(dict.fromkeys(each["group"] for each in model["corruptions"]))
    found = model["indices"]["groups"].values()
    rows = [
        GroupScore(label, _percent(index["mri"]), index["partial"] and index["mri"] is not None)
        for label, index in zip(labels, found, strict=True)
    ]
    if all(row.score is None for row in rows):
        raise NotApplicable("no group has a score")
    return [GroupScore(CLEAN, _percent(model["clean"])), *rows]


def robustness_groups(models: Mapping[str, Sequence[GroupScore]], ax: Axes | None = None) -> Axes:
    """Draw the scores on clean pictures and MRI of each group of corruptions, one bar per model.

    Parameters
    ----------
    models : mapping
        The :func:`robustness_groups_table` of each model, by its label.
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
    return drawn(ROBUSTNESS_GROUPS, models, ax)


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _bars(ax: Axes, tables: Sequence[Sequence[GroupScore]]) -> None:
    names = [row.name for row in tables[0]]
    width = GROUP / len(tables)
    for number, table in enumerate(tables):
        for place, row in enumerate(table):
            if row.score is not None:
                middle = place + (number + 0.5) * width - GROUP / 2
                if row.partial:
                    ax.text(middle, row.score, MARK, ha="center", va="bottom", fontsize=NAME_SIZE)
                ax.bar(
                    middle,
                    row.score,
                    width,
                    color=lighter(GREY, paleness(number, len(tables))),
                    edgecolor=EDGE,
                    hatch=hatch(number, len(tables)),
                )
    _label_groups(ax, names, 0.9 * inches_of(ax) / len(names))
    ax.tick_params(axis="x", length=0)
    ax.axvline(0.5, color="0.6", linewidth=0.6, linestyle=":")
    ax.yaxis.grid(True, color="0.88", linewidth=0.5)
    ax.set_ylabel("Mean score (%)")


def _label_groups(ax: Axes, names: Sequence[str], room: float) -> None:
    """Write the names below the bars in several lines, rotated if a word is too long."""
    longest = max(text_width(word, NAME_SIZE) for name in names for word in name.split())
    lines = ["\n".join(wrapped(name, max(room, longest), NAME_SIZE)) for name in names]
    turn = 0 if longest <= room else 90
    ax.set_xticks(range(len(names)), lines, fontsize=NAME_SIZE, rotation=turn)


def _draw(target: Axes | Figure, models: Sequence[ModelData]) -> None:
    tables = tables_of(models)
    _bars(panel_of(target), list(tables.values()))
    bar_legend(target, list(tables))
    partial = [row.partial for table in tables.values() for row in table]
    add_note(target, noted(models[0].note, partial))


ROBUSTNESS_GROUPS = FigureKind(
    name="robustness_groups",
    title="Mean scores under each group of corruptions",
    needs="results",
    data=lambda source: robustness_groups_table(source.result),
    draw=_draw,
    height=HEIGHT,
)
