"""Which false positives may be due to the annotations, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from diaghoi.cases.causes import CAUSES, annotation_causes
from diaghoi.exceptions import InputError
from diaghoi.plots.bar_legend import EDGE, GREY, HATCHES, hatch, paleness
from diaghoi.plots.delta_map import bar_figure
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, Source, shown_names
from diaghoi.plots.legend import legend_above
from diaghoi.plots.panels import one_panel
from diaghoi.plots.style import lighter, paper

BAR, BETWEEN = 0.105, 0.09  # inches, of a bar and between causes
THINNEST = 0.085  # inches of a bar with a figure at its end
FRAME = 0.55  # inches above and below the bars
MOST_BARS = 4.6  # inches
FIGURE_SIZE, NAME_SIZE = 6.0, 7.0  # points
PANELS = {"share": "False positives (%)", "delta": "ΔmAP (points)"}


class CauseShare(NamedTuple):
    """One cause of one model.

    Parameters
    ----------
    cause : str
        Name of the cause: see :data:`diaghoi.cases.causes.CAUSES`.
    share : float
        Among false positives, in percent.
    delta : float or None
        MAP without these false positives less mAP, in percent points; None where undefined.
    """

    cause: str
    share: float
    delta: float | None


def causes_table(result: Mapping[str, Any], split: str = "full") -> list[CauseShare]:
    """Take the data of :func:`causes` from a result, in the order of precedence.

    ``model`` is left out: it is the rest.

    Parameters
    ----------
    result : mapping
        With the key ``annotation_causes``: see :meth:`diaghoi.cases.causes.Causes.to_dict`.
    split : str
        Which mean over classes.

    Raises
    ------
    NotApplicable
        Where there are no causes, or no false positives.
    InputError
        Where what stands there cannot be used.
    """
    found = result.get("annotation_causes")
    if found is None:
        raise NotApplicable("the saved result has no causes; give the predictions")
    try:
        rows = [
            CauseShare(
                name,
                100 * float(found[name]["share"] or 0),
                None if (delta := found[name]["delta_map"][split]) is None else 100 * float(delta),
            )
            for name in CAUSES
            if name in found and name != "model"
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{result.get('label') or 'result'}: 'annotation_causes' cannot be drawn "
            f"({type(error).__name__}: {error}); give what diaghoi.cases.causes writes"
        ) from error
    if not any(row.share for row in rows):
        raise NotApplicable("no false positive has a cause in the annotations")
    return rows


def causes(
    models: Mapping[str, Sequence[CauseShare]], of: str = "share", ax: Axes | None = None
) -> Axes:
    """Draw the share of each cause among false positives, or what these cost, a bar a model.

    Parameters
    ----------
    models : mapping
        For the label of each model its :func:`causes_table`.
    of : {"share", "delta"}
        What the bars show.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default in a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        Nothing is shown or saved; see :func:`diaghoi.plots.save`.

    Raises
    ------
    InputError
        Where there is no model, or bars cannot show this.
    """
    if not models:
        raise InputError("models: there is nothing to draw; give at least one")
    if of not in PANELS:
        raise InputError(f"of: '{of}' is not known; give one of {', '.join(PANELS)}")
    tables = list(models.values())
    with paper():
        ax, target = one_panel(ax, FRAME + _height(tables))
        _bars(ax, tables, of)
        _legend(target, list(models))
    return ax


def _shown(tables: Sequence[Sequence[CauseShare]]) -> list[str]:
    """Causes that any prediction of any model has."""
    some = {row.cause for table in tables for row in table if row.share}
    return [name for name in CAUSES if name in some]


def _bar(models: int, causes: int) -> float:
    """Inches of one bar."""
    return min(BAR, (MOST_BARS / causes - BETWEEN) / models)


def _height(tables: Sequence[Sequence[CauseShare]]) -> float:
    causes = len(_shown(tables))
    return causes * (BETWEEN + len(tables) * _bar(len(tables), causes))


def _bars(ax: Axes, tables: Sequence[Sequence[CauseShare]], of: str) -> None:
    """Draw the bars of a panel, from the first cause and model at the top."""
    names, models = _shown(tables), len(tables)
    bar = _bar(models, len(names))
    room = bar * models + BETWEEN
    for number, table in enumerate(tables):
        for row in table:
            value: float | None = getattr(row, of)
            if row.cause not in names or value is None:
                continue
            place = names.index(row.cause) + (number - (models - 1) / 2) * bar / room
            ax.barh(
                place,
                value,
                0.94 * bar / room,
                color=lighter(GREY, paleness(number, models)),
                edgecolor=EDGE,
                hatch=hatch(number, models),
            )
            if bar >= THINNEST:
                ax.annotate(
                    bar_figure(value),
                    (max(value, 0), place),
                    xytext=(1.5, -0.3),
                    textcoords="offset points",
                    va="center_baseline",
                    fontsize=FIGURE_SIZE,
                )
    ax.set_yticks(range(len(names)), [CAUSES[name].title for name in names], fontsize=NAME_SIZE)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.16)
    ax.axvline(0, color="black", linewidth=0.6, zorder=3)
    ax.spines["left"].set_visible(False)
    ax.xaxis.grid(True, color="0.9", linewidth=0.5)
    ax.set_xlabel(PANELS[of])


def _legend(target: Axes | Figure, labels: Sequence[str]) -> None:
    """Explain the models by greys; many are numbered, one is only named."""
    many, one = len(labels) > len(HATCHES), len(labels) == 1
    marks = [
        Patch(
            facecolor=lighter(GREY, paleness(number, len(labels))),
            edgecolor=EDGE,
            hatch=hatch(number, len(labels)),
            label=f"{number + 1} {label}" if many else label,
            visible=not one,
        )
        for number, label in enumerate(labels)
    ]
    title = "Bars of each cause from top to bottom:" if many else ""
    legend_above(target, marks, title, size=6.0 if many else 7.0, mark=0.0 if one else 1.4)


def _data(source: Source) -> list[CauseShare]:
    diagnosis, annotations, predictions = source.diagnosis, source.annotations, source.predictions
    if diagnosis is None or annotations is None or predictions is None:
        return causes_table(source.result)
    found = annotation_causes(diagnosis, annotations, predictions)
    return causes_table({"annotation_causes": found.to_dict()})


def _draw(figure: Figure, models: Sequence[ModelData]) -> None:
    tables = [model.data for model in models]
    figure.set_figheight(FRAME + _height(tables))
    left, right = figure.subplots(1, 2, sharey=True)
    for ax, of in ((left, "share"), (right, "delta")):
        _bars(ax, tables, of)
    _legend(figure, shown_names(models))


ANNOTATION_CAUSES = FigureKind(
    name="annotation_causes",
    title="False positives that may be due to the annotations, and what they cost",
    needs="results",
    data=_data,
    draw=_draw,
)
