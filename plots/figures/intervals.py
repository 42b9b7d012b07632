"""Dots with intervals: mAP in slices of the annotations, and verbs where models differ.

See :mod:`diaghoi.comparison.slices` and :mod:`diaghoi.comparison.shares`.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from diaghoi.plots.figure import (
    FUNCTIONS,
    ModelData,
    NotApplicable,
    Source,
    diagnosis_of,
    figure,
    shown_names,
    sources_of,
)
from diaghoi.plots.labels import fitted
from diaghoi.plots.panels import (
    GRID,
    NAME_SIZE,
    interval_dots,
    legend_above,
    model_lines,
    name_rows,
    one_panel,
    panel_of,
)
from diaghoi.plots.style import add_note, paper
from diaghoi.statistics.bootstrap import away_from_mean

SLICE_ROWS = 26  # largest number of rows for one or two models, headings included
ROW, FURTHER = 0.115, 0.055  # inches: height of a row, and what each further model adds
HIGHEST = 4.4  # inches of rows
AROUND = 0.45  # inches above and below the rows
NAME_ROOM = 1.3  # inches
SPREAD = 0.7  # in rows: distance between the dots of the first and the last model
SLICE_NOTE = (
    "mAP over the classes of each slice, and 95 % intervals. Only the attributes whose "
    "slices differ most clearly are shown. Slices of images and pairs have fewer false positives "
    "of a class than all images."
)


def _row(models: int) -> float:
    """Return the height of a row in inches."""
    return ROW + FURTHER * max(0, models - 2)


def _beside(number: int, models: int) -> float:
    return SPREAD / models * (number - (models - 1) / 2)


def _sampled(source: Source) -> Diagnosis:
    """Return a diagnosis with enough images for resampling."""
    diagnosis = diagnosis_of(source)
    if len(diagnosis.names) < 2:
        raise NotApplicable("intervals need at least two images")
    return diagnosis


def slices(found: Slices | Diagnosis | Sequence[Diagnosis], ax: Axes | None = None) -> Axes:
    """Draw mAP in slices of the annotations, with intervals.

    Parameters
    ----------
    found : Slices, Diagnosis or sequence of Diagnosis
        The detectors in slices, with intervals; or the detectors, to be sliced by the attributes of
        their annotations.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.

    Raises
    ------
    InputError
        If no slice has an interval.
    """
    if not isinstance(found, Slices):
        given = [diagnosis_of(source) for source in sources_of(found)]
        found = sliced(*given, search=False, figures=())
    models = [(found, place) for place in range(len(found.labels))]
    with paper():
        ax, target = one_panel(ax, AROUND)
        _slice_dots(target, ax, models, found.labels)
    return ax


FUNCTIONS[slices.__name__] = slices

Sliced = Sequence[tuple[Slices, int]]
"""Detectors, each given as slices and the index of the detector in the slices."""


def _clearest(models: Sliced) -> list[list[int]]:
    """Choose attributes whose slices differ clearly, and list the indices of their slices."""
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
        raise NotApplicable("no two slices of an attribute have enough images for intervals")
    room = min(SLICE_ROWS, int(HIGHEST / _row(len(models))))
    kept: set[str] = set()
    for attribute in sorted(clear, key=lambda each: -clear[each]):
        room -= len(groups[attribute]) + 1
        # Stop at the first attribute that does not fit: slices of later attributes differ less
        # clearly.
        if kept and room < 0:
            break
        kept.add(attribute)
    return [places for attribute, places in groups.items() if attribute in kept]


def _bounds(each: SliceResult, number: int) -> tuple[float, float] | None:
    return each.models[number].intervals.get("map")


def _apart(one: SliceResult, other: SliceResult, number: int) -> float:
    """Return the difference between two slices in units of their interval half-widths."""
    values = [each.models[number].figures["map"] or 0.0 for each in (one, other)]
    widths = [np.diff(_bounds(each, number) or (0, 0))[0] / 2 for each in (one, other)]
    return float(abs(values[0] - values[1]) / max(np.hypot(*widths), 1e-3))


def _slice_dots(target: Axes | Figure, ax: Axes, models: Sliced, names: Sequence[str]) -> None:
    """Draw a dot and an interval for each model next to the names of the slices."""
    first, groups = models[0][0], _clearest(models)
    # A heading is as high as a row with two models, however many models are drawn.
    heading = ROW / _row(len(models))
    ticks: list[tuple[float, str, bool]] = []
    places: list[int] = []
    below = 0.0
    for group in groups:
        ax.axhline(below, color="0.85", linewidth=0.5, zorder=0)
        ticks.append((below + heading / 2, first.slices[group[0]].title, True))
        below += heading
        ticks += [(below + row + 0.5, first.slices[p].name, False) for row, p in enumerate(group)]
        below += len(group)
        places += group
    at = np.array([place for place, _, head in ticks if not head])
    for number, (of, column) in enumerate(models):
        own = [of.slices[place] for place in places]
        bounds = 100 * np.array([_bounds(each, column) or (np.nan, np.nan) for each in own]).T
        means = 100 * np.array([each.models[column].figures["map"] or 0.0 for each in own])
        interval_dots(ax, at + _beside(number, len(models)), means, bounds, number)
    shown = [fitted(name, NAME_ROOM, NAME_SIZE) for _, name, _ in ticks]
    ax.set_yticks([place for place, _, _ in ticks], shown, fontsize=NAME_SIZE)
    for label, (_, _, head) in zip(ax.get_yticklabels(), ticks, strict=True):
        label.set(color="0.35" if head else "black", fontstyle="italic" if head else "normal")
    ax.set_ylim(below, 0)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.grid(True, color=GRID, linewidth=0.5)
    ax.set_xlabel("mAP (%)", fontsize=7.0)
    if isinstance(target, Figure):
        target.set_figheight(below * _row(len(models)) + AROUND)
    if len(models) > 1:
        legend_above(target, model_lines(list(names), linestyle=""))
    attributes = [first.slices[group[0]].attribute for group in groups]
    rare = rare_text(attributes, first.rare_below)
    add_note(target, " ".join(filter(None, (SLICE_NOTE, rare))))


@figure(
    "slices",
    "mAP in slices of the annotations",
    data=lambda source: sliced(_sampled(source), search=False, figures=()),
)
def _slices(figure: Figure, models: Sequence[ModelData]) -> None:
    cuts = {
        tuple((each.attribute, each.name, each.annotated) for each in model.data.slices)
        for model in models
    }
    if len(cuts) > 1:
        raise NotApplicable("the models were diagnosed with different annotations")
    found = [(model.data, 0) for model in models]
    _slice_dots(figure, figure.add_subplot(), found, shown_names(models))


SHOWN_VERBS = 16
TAIL = 0.025
SHARE_NOTE = (
    "Shares of a verb's classes (V-COCO: of a role) in the difference in mAP, and their 95 % "
    f"intervals ({RESAMPLES} resamples, not corrected for the number of verbs). Hollow: no "
    "interval, as the "
    f"verb is annotated in fewer than {LEAST} images. "
    "The verbs with the largest shares; the shares of all verbs sum to the difference."
)


class Difference(NamedTuple):
    """Shares of verbs in the difference between two models.

    Parameters
    ----------
    names : tuple of str
        Names of the K verbs.
    share, low, high : (K,) float64 array
        Shares and bounds, in points of mAP; bounds are NaN for verbs annotated in fewer than
        :data:`diaghoi.comparison.shares.LEAST` images.
    """

    names: tuple[str, ...]
    share: FloatArray
    low: FloatArray
    high: FloatArray


def difference_table(first: SampledShares, second: SampledShares) -> Difference:
    """Compute the data of :func:`difference`, from the largest gain to the largest loss.

    Raises
    ------
    NotApplicable
        If the models have different annotations.
    """
    if first.names != second.names or first.drawn.shape != second.drawn.shape:
        raise NotApplicable("the models were diagnosed with different annotations")
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
    """Draw how the mAP difference between two models is distributed over verbs.

    Parameters
    ----------
    found : Difference or sequence of two Diagnosis
        The shares of the verbs, or the two models. The difference is second minus first.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure one column wide.

    Raises
    ------
    InputError
        If the models have different annotations.
    """
    if not isinstance(found, Difference):
        found = difference_table(*map(sampled_shares, found))
    with paper():
        ax, target = one_panel(ax, AROUND)
        _difference_dots(target, ax, [found], "the second minus the first")
    return ax


def _difference_dots(
    target: Axes | Figure, ax: Axes, found: Sequence[Difference], what: str
) -> None:
    """Draw a dot and an interval for each model next to the names of the verbs."""
    shares = [dict(zip(each.names, each.share.tolist(), strict=True)) for each in found]
    largest = {name: max(abs(own[name]) for own in shares) for name in found[0].names}
    row = _row(len(found) + 1)
    kept = sorted(largest, key=lambda name: -largest[name])[: min(SHOWN_VERBS, int(HIGHEST / row))]
    shown = [name for name in found[0].names if name in kept]
    at: npt.NDArray[Any] = np.arange(len(shown))
    for number, each in enumerate(found):
        rows = np.array([each.names.index(name) for name in shown])
        places = at + _beside(number, len(found))
        interval_dots(ax, places, each.share[rows], (each.low[rows], each.high[rows]), number + 1)
    name_rows(ax, [fitted(name, NAME_ROOM, NAME_SIZE) for name in shown])
    ax.axvline(0, color="0.3", linewidth=0.6, zorder=0)
    ax.set_xlabel(fitted(f"Points of mAP: {what}", 2.3, 7.0), fontsize=7.0, parse_math=False)
    if isinstance(target, Figure):
        target.set_figheight(len(shown) * row + AROUND)
    add_note(target, SHARE_NOTE)


@figure(
    "difference",
    "Verbs that account for the difference in mAP from the first model",
    data=lambda source: sampled_shares(_sampled(source)),
    usual=True,
)
def _difference(figure: Figure, models: Sequence[ModelData]) -> None:
    if len(models) < 2:
        raise NotApplicable("a difference needs at least two models")
    first, *others = shown_names(models)
    found = [difference_table(models[0].data, model.data) for model in models[1:]]
    what = f"{others[0]} minus {first}" if len(found) == 1 else "each model minus the first"
    _difference_dots(figure, panel_of(figure), found, what)
    if len(found) > 1:
        legend_above(figure, model_lines([first, *others], linestyle="")[1:], f"Minus {first}")
