"""Dots with intervals: mAP in slices of the annotations, and verbs in which models differ.

See :mod:`diaghoi.comparison.slices` and :mod:`diaghoi.comparison.shares`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.comparison.shares import LEAST, RESAMPLES, SampledShares, sampled_shares
from diaghoi.comparison.slice_tables import rare_text
from diaghoi.comparison.slices import SliceResult, Slices
from diaghoi.comparison.slices import slices as sliced
from diaghoi.data.arrays import FloatArray
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError
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
from diaghoi.statistics.bootstrap import away_from_mean

SLICE_ROWS = 26  # headings included, of one or two models
ROW, FURTHER = 0.115, 0.055  # inches: height of a name, and what each further model adds
HIGHEST = 4.4  # inches of rows
AROUND = 0.45  # inches above and below the rows
SLICE_ROOM, NAME_SIZE = 1.3, 6.0  # inches, points
SPREAD = 0.7  # rows: height of the dots of all models
SLICE_NOTE = (
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
        _slice_dots(ax, models, groups)
        if len(models) > 1:
            legend_above(target, model_lines(list(found.labels), linestyle=""))
        add_note(target, _slice_note(found, groups))
    return ax


Models = Sequence[tuple[Slices, int]]
"""Detectors: their slices, and the place of each among the detectors of these."""


def _slice_note(found: Slices, groups: Sequence[Sequence[int]]) -> str:
    attributes = [found.slices[places[0]].attribute for places in groups]
    return " ".join(filter(None, (SLICE_NOTE, rare_text(attributes, found.rare_below))))


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
    room = min(SLICE_ROWS, int(HIGHEST / _row(len(models))))
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


def _slice_dots(ax: Axes, models: Models, groups: Sequence[Sequence[int]]) -> None:
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
        names.append(fitted(first.slices[group[0]].title, SLICE_ROOM, NAME_SIZE))
        below += heading
        for place in group:
            at.append(below + 0.5)
            names.append(fitted(first.slices[place].name, SLICE_ROOM, NAME_SIZE))
            places.append((place, below + 0.5))
            below += 1
    for number, (of, column) in enumerate(models):
        own = [of.slices[place] for place, _ in places]
        rows = np.array([row for _, row in places]) + _beside(number, len(models))
        bounds = 100 * np.array([_bounds(each, column) or (np.nan, np.nan) for each in own]).T
        means = 100 * np.array([each.models[column].figures["map"] or 0.0 for each in own])
        _interval_dots(ax, rows, means, bounds, model_style(number))
    ax.set_yticks(at, names, fontsize=NAME_SIZE)
    labels = ax.get_yticklabels()
    for head in heads:
        labels[head].set_color("0.35")
        labels[head].set_fontstyle("italic")
        ax.axhline(at[head] - heading / 2, color="0.85", linewidth=0.5, zorder=0)
    ax.set_ylim(below, 0)
    ax.set_xlabel("mAP, %", fontsize=7.0)


def _beside(number: int, models: int) -> float:
    return SPREAD / models * (number - (models - 1) / 2)


def _interval_dots(
    ax: Axes,
    rows: npt.NDArray[Any],
    values: FloatArray,
    bounds: Sequence[FloatArray] | FloatArray,
    style: Mapping[str, Any],
) -> None:
    """Draw the dots of a model and their intervals; dots without one are hollow."""
    style = {**style, "linestyle": "", "markersize": 3.0}
    ax.hlines(rows, *bounds, color=style["color"], linewidth=0.8)
    # A dot without an interval must not look like one whose interval is as narrow as a dot.
    certain = ~np.isnan(bounds[0])
    ax.plot(values[certain], rows[certain], **style)
    if not certain.all():
        ax.plot(values[~certain], rows[~certain], **style, markerfacecolor="white")
    ax.tick_params(axis="y", length=0)
    ax.xaxis.grid(True, color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)


def _slice_data(source: Source) -> Slices:
    diagnosis = diagnosis_of(source)
    if len(diagnosis.names) < 2:
        raise NotApplicable("intervals need at least two images")
    return sliced(diagnosis, search=False, figures=())


def _draw_slices(figure: Figure, models: Sequence[ModelData]) -> None:
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
    _slice_dots(figure.subplots(), found, groups)
    if len(models) > 1:
        legend_above(figure, model_lines(names, linestyle=""))
    add_note(figure, _slice_note(models[0].data, groups))


SLICES = FigureKind(
    name="slices",
    title="mAP in slices of the annotations",
    needs="diagnoses",
    data=_slice_data,
    draw=_draw_slices,
)


SHOWN_VERBS = 16  # verbs
NAME_ROOM = 1.2  # inches
TAIL = 0.025
SHARE_NOTE = (
    "Shares of a verb's classes (V-COCO: of a role) in the difference in mAP, and 95 % intervals "
    "of each alone "
    f"({RESAMPLES} resamples, not corrected for the number of verbs). Hollow: no interval, as the "
    f"verb is annotated in fewer than {LEAST} images. "
    "The verbs with the largest shares; those of all verbs sum to the difference."
)


class Difference(NamedTuple):
    """The shares of verbs in the difference of a model to another one.

    Parameters
    ----------
    names : tuple of str
        K verbs.
    share, low, high : (K,) float64 array
        Shares and their bounds, in points of mAP; bounds are NaN for verbs that are annotated in
        fewer than :data:`diaghoi.comparison.shares.LEAST` images.
    """

    names: tuple[str, ...]
    share: FloatArray
    low: FloatArray
    high: FloatArray


def difference_table(first: SampledShares, second: SampledShares) -> Difference:
    """Compute the data of :func:`difference`, from the largest gain to the largest loss.

    Raises
    ------
    InputError
        If the models are not of the same annotations.
    """
    if first.names != second.names or first.drawn.shape != second.drawn.shape:
        raise InputError("the models were diagnosed with different annotations")
    share = 100 * (second.share - first.share)
    bounds = []
    for drawn, left_out in zip(
        100 * (second.drawn - first.drawn), 100 * (second.left_out - first.left_out), strict=True
    ):
        bounds.append(np.quantile(away_from_mean(drawn, left_out), [TAIL, 1 - TAIL]))
    low, high = (share[:, None] + np.array(bounds).reshape(-1, 2)).T
    low[first.images < LEAST] = high[first.images < LEAST] = np.nan
    order = np.argsort(-share, kind="stable")
    return Difference(
        tuple(first.names[place] for place in order), share[order], low[order], high[order]
    )


def difference(found: Difference | Sequence[Diagnosis], ax: Axes | None = None) -> Axes:
    """Draw in which verbs the difference in mAP of two models lies.

    Parameters
    ----------
    found : Difference or sequence of two Diagnosis
        The shares of the verbs; or the models. The difference is the second minus the first.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure of the width of one column.

    Raises
    ------
    InputError
        If the models are not of the same annotations.
    """
    if not isinstance(found, Difference):
        found = difference_table(*map(sampled_shares, found))
    with paper():
        ax, target = one_panel(ax, min(SHOWN_VERBS, len(found.names)) * ROW + AROUND)
        _difference_dots(ax, [found], ["the second minus the first"])
        add_note(target, SHARE_NOTE)
    return ax


def _difference_dots(ax: Axes, found: Sequence[Difference], names: Sequence[str]) -> None:
    """Draw a dot and an interval of each model beside the names of the verbs."""
    shares = [dict(zip(each.names, each.share.tolist(), strict=True)) for each in found]
    largest = {name: max(abs(own[name]) for own in shares) for name in found[0].names}
    kept = set(sorted(largest, key=lambda name: -largest[name])[:SHOWN_VERBS])
    shown = [name for name in found[0].names if name in kept]
    for number, each in enumerate(found):
        rows = np.array([each.names.index(name) for name in shown])
        at = np.arange(len(shown)) + _beside(number, len(found))
        bounds = (each.low[rows], each.high[rows])
        _interval_dots(ax, at, each.share[rows], bounds, model_style(number + 1))
    ax.set_yticks(
        range(len(shown)),
        [fitted(name, NAME_ROOM, NAME_SIZE) for name in shown],
        fontsize=NAME_SIZE,
    )
    ax.set_ylim(max(len(shown), 2) - 0.4, -0.6)
    ax.axvline(0, color="0.3", linewidth=0.6, zorder=0)
    what = names[0] if len(names) == 1 else "each model minus the first"
    ax.set_xlabel(fitted(f"Points of mAP: {what}", 2.3, 7.0), fontsize=7.0, parse_math=False)


def _difference_data(source: Source) -> SampledShares:
    diagnosis = diagnosis_of(source)
    if len(diagnosis.names) < 2:
        raise NotApplicable("intervals need at least two images")
    return sampled_shares(diagnosis)


def _draw_difference(figure: Figure, models: Sequence[ModelData]) -> None:
    if len(models) < 2:
        raise NotApplicable("a difference is between models; give at least two")
    names = shown_names(models)
    try:
        found = [difference_table(models[0].data, model.data) for model in models[1:]]
    except InputError as error:
        raise NotApplicable(str(error)) from None
    rows = min(SHOWN_VERBS, len(found[0].names))
    figure.set_figheight(rows * (ROW + FURTHER * max(0, len(found) - 1)) + AROUND)
    labels = [f"{name} minus {names[0]}" for name in names[1:]]
    _difference_dots(figure.subplots(), found, labels)
    if len(found) > 1:
        legend_above(figure, model_lines(names, linestyle="")[1:], f"Minus {names[0]}")
    add_note(figure, SHARE_NOTE)


DIFFERENCE = FigureKind(
    name="difference",
    title="In which verbs the difference in mAP to the first model lies",
    needs="diagnoses",
    data=_difference_data,
    draw=_draw_difference,
)
