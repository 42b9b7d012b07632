"""mAP in slices of the annotations; see :mod:`diaghoi.comparison.slices`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.comparison.slice_tables import rare_text
from diaghoi.comparison.slices import SliceResult, Slices
from diaghoi.comparison.slices import slices as sliced
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import (
    FigureKind,
    ModelData,
    NotApplicable,
    Source,
    diagnosis_of,
    shown_names,
    sources_of,
)
from diaghoi.plots.labels import fitted
from diaghoi.plots.legend import legend_above, model_lines
from diaghoi.plots.panels import one_panel
from diaghoi.plots.style import model_style, paper

SHOWN = 26  # rows, headings included, of one or two models
ROW, FURTHER = 0.115, 0.055  # inches: height of a slice, and what each model after two adds
HIGHEST = 4.4  # inches of rows
AROUND = 0.45  # inches above and below the rows
NAME_ROOM, NAME_SIZE = 1.3, 6.0  # inches, points
NOTE = (
    "mAP over the classes of each slice, and 95 % intervals. The attributes whose slices differ "
    "most clearly; slices of images and pairs have fewer false positives of a class than all "
    "images."
)


def slices(found: Slices | Diagnosis | Sequence[Diagnosis], ax: Axes | None = None) -> Axes:
    """Draw mAP in slices of the annotations, with intervals.

    Parameters
    ----------
    found : Slices, Diagnosis or sequence of Diagnosis
        The detectors in slices, with intervals; or the detectors, which are cut by the attributes
        of their annotations.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Returns
    -------
    matplotlib.axes.Axes
        Nothing is shown or saved; see :func:`diaghoi.plots.save`.

    Raises
    ------
    InputError
        If no slice has an interval.
    """
    if not isinstance(found, Slices):
        given = [diagnosis_of(source) for source in sources_of(found)]
        found = sliced(*given, search=False, figures=())
    models = [(found, place) for place in range(len(found.labels))]
    groups = clearest(models)
    with paper():
        ax, target = one_panel(ax, _height(groups, len(models)))
        _dots(ax, models, groups)
        if len(models) > 1:
            legend_above(target, model_lines(list(found.labels), linestyle=""))
        add_note(target, _note(found, groups))
    return ax


Models = Sequence[tuple[Slices, int]]
"""Detectors: their slices, and the place of each among the detectors of these."""


def _note(found: Slices, groups: Sequence[Sequence[int]]) -> str:
    attributes = [found.slices[places[0]].attribute for places in groups]
    return " ".join(filter(None, (NOTE, rare_text(attributes, found.rare_below))))


def clearest(models: Models) -> list[list[int]]:
    """Choose attributes whose slices differ clearly, as many as a figure holds.

    Returns
    -------
    list of list of int
        For each attribute, in their order, the places of its slices.

    Raises
    ------
    NotApplicable
        If no two slices of an attribute have intervals.
    """
    first = models[0][0]
    groups: dict[str, list[int]] = {}
    for place, each in enumerate(first.slices):
        if all(_bounds(of.slices[place], number) is not None for of, number in models):
            groups.setdefault(each.attribute, []).append(place)
    clear = {
        attribute: max(
            _apart(of.slices[one], of.slices[other], number)
            for of, number in models
            for one, other in combinations(places, 2)
        )
        for attribute, places in groups.items()
        if len(places) > 1
    }
    if not clear:
        raise NotApplicable("no two slices of an attribute have as many images as intervals need")
    room = min(SHOWN, int(HIGHEST / _row(len(models))))
    kept: set[str] = set()
    for attribute in sorted(clear, key=lambda each: -clear[each]):
        room -= len(groups[attribute]) + 1
        # What fits after one that does not would differ less clearly than what is left out.
        if kept and room < 0:
            break
        kept.add(attribute)
    return [places for attribute, places in groups.items() if attribute in kept]


def _bounds(each: SliceResult, number: int) -> tuple[float, float] | None:
    return each.models[number].intervals.get("map")


def _apart(one: SliceResult, other: SliceResult, number: int) -> float:
    """Return by how many of their half widths two slices differ."""
    values = [each.models[number].figures["map"] or 0.0 for each in (one, other)]
    widths = [np.diff(_bounds(each, number) or (0, 0))[0] / 2 for each in (one, other)]
    return float(abs(values[0] - values[1]) / max(np.hypot(*widths), 1e-3))


def _row(models: int) -> float:
    return ROW + FURTHER * max(0, models - 2)


def _height(groups: Sequence[Sequence[int]], models: int) -> float:
    return sum(len(places) * _row(models) + ROW for places in groups) + AROUND


def _dots(ax: Axes, models: Models, groups: Sequence[Sequence[int]]) -> None:
    """Draw a dot and an interval of each model beside the names of the slices."""
    first = models[0][0]
    # Headings are as high as the rows of two models, however many models there are.
    heading = ROW / _row(len(models))
    at: list[float] = []
    names: list[str] = []
    heads: list[int] = []
    places: list[tuple[int, float]] = []
    below = 0.0
    for group in groups:
        at.append(below + heading / 2)
        heads.append(len(names))
        names.append(fitted(first.slices[group[0]].title, NAME_ROOM, NAME_SIZE))
        below += heading
        for place in group:
            at.append(below + 0.5)
            names.append(fitted(first.slices[place].name, NAME_ROOM, NAME_SIZE))
            places.append((place, below + 0.5))
            below += 1
    step = 0.7 / len(models)
    for number, (of, column) in enumerate(models):
        own = [of.slices[place] for place, _ in places]
        rows = np.array([row for _, row in places]) + step * (number - (len(models) - 1) / 2)
        low, high = 100 * np.array([_bounds(each, column) or (np.nan, np.nan) for each in own]).T
        style = model_style(number) | {"linestyle": "", "markersize": 3.0}
        ax.hlines(rows, low, high, color=style["color"], linewidth=0.8)
        ax.plot([100 * (each.models[column].figures["map"] or 0.0) for each in own], rows, **style)
    ax.set_yticks(at, names, fontsize=NAME_SIZE)
    labels = ax.get_yticklabels()
    for head in heads:
        labels[head].set_color("0.35")
        labels[head].set_fontstyle("italic")
        ax.axhline(at[head] - heading / 2, color="0.85", linewidth=0.5, zorder=0)
    ax.set_ylim(below, 0)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.grid(True, color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)
    ax.set_xlabel("mAP, %", fontsize=7.0)


def _data(source: Source) -> Slices:
    diagnosis = diagnosis_of(source)
    if len(diagnosis.names) < 2:
        raise NotApplicable("intervals need at least two images")
    return sliced(diagnosis, search=False, figures=())


def _draw(figure: Figure, models: Sequence[ModelData]) -> None:
    names = shown_names(models)
    cuts = {
        tuple((each.attribute, each.name, each.annotated) for each in model.data.slices)
        for model in models
    }
    if len(cuts) > 1:
        raise NotApplicable("the models were diagnosed with different annotations")
    found = [(model.data, 0) for model in models]
    groups = clearest(found)
    figure.set_figheight(_height(groups, len(models)))
    _dots(figure.subplots(), found, groups)
    if len(models) > 1:
        legend_above(figure, model_lines(names, linestyle=""))
    add_note(figure, _note(models[0].data, groups))


SLICES = FigureKind(
    name="slices",
    title="mAP in slices of the annotations",
    needs="diagnoses",
    data=_data,
    draw=_draw,
)
