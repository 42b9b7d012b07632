"""In which verbs the difference in mAP of models lies; see :mod:`diaghoi.comparison.shares`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.comparison.shares import LEAST, RESAMPLES, SampledShares, sampled_shares
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
)
from diaghoi.plots.labels import fitted
from diaghoi.plots.legend import legend_above, model_lines
from diaghoi.plots.panels import one_panel
from diaghoi.plots.style import model_style, paper
from diaghoi.statistics.bootstrap import away_from_mean

SHOWN = 16  # verbs
ROW, FURTHER = 0.115, 0.055  # inches: height of a verb, and what each model after two adds
AROUND = 0.45  # inches above and below the rows
NAME_ROOM, NAME_SIZE = 1.2, 6.0  # inches, points
TAIL = 0.025
NOTE = (
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

    Returns
    -------
    matplotlib.axes.Axes
        Nothing is shown or saved; see :func:`diaghoi.plots.save`.

    Raises
    ------
    InputError
        If the models are not of the same annotations.
    """
    if not isinstance(found, Difference):
        found = difference_table(*map(sampled_shares, found))
    with paper():
        ax, target = one_panel(ax, min(SHOWN, len(found.names)) * ROW + AROUND)
        _dots(ax, [found], ["the second minus the first"])
        add_note(target, NOTE)
    return ax


def _dots(ax: Axes, found: Sequence[Difference], names: Sequence[str]) -> None:
    """Draw a dot and an interval of each model beside the names of the verbs."""
    shares = [dict(zip(each.names, each.share.tolist(), strict=True)) for each in found]
    largest = {name: max(abs(own[name]) for own in shares) for name in found[0].names}
    kept = set(sorted(largest, key=lambda name: -largest[name])[:SHOWN])
    shown = [name for name in found[0].names if name in kept]
    step = 0.7 / max(1, len(found))
    for number, each in enumerate(found):
        rows = np.array([each.names.index(name) for name in shown])
        at = np.arange(len(shown)) + step * (number - (len(found) - 1) / 2)
        style = model_style(number + 1) | {"linestyle": "", "markersize": 3.0}
        ax.hlines(at, each.low[rows], each.high[rows], color=style["color"], linewidth=0.8)
        # A dot without an interval must not look like one whose interval is as narrow as a dot.
        certain = ~np.isnan(each.low[rows])
        ax.plot(each.share[rows][certain], at[certain], **style)
        ax.plot(each.share[rows][~certain], at[~certain], **style, markerfacecolor="white")
    ax.set_yticks(
        range(len(shown)),
        [fitted(name, NAME_ROOM, NAME_SIZE) for name in shown],
        fontsize=NAME_SIZE,
    )
    ax.set_ylim(max(len(shown), 2) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.axvline(0, color="0.3", linewidth=0.6, zorder=0)
    ax.xaxis.grid(True, color="0.9", linewidth=0.5)
    ax.set_axisbelow(True)
    what = names[0] if len(names) == 1 else "each model minus the first"
    ax.set_xlabel(fitted(f"Points of mAP: {what}", 2.3, 7.0), fontsize=7.0, parse_math=False)


def _data(source: Source) -> SampledShares:
    diagnosis = diagnosis_of(source)
    if len(diagnosis.names) < 2:
        raise NotApplicable("intervals need at least two images")
    return sampled_shares(diagnosis)


def _draw(figure: Figure, models: Sequence[ModelData]) -> None:
    if len(models) < 2:
        raise NotApplicable("a difference is between models; give at least two")
    names = shown_names(models)
    try:
        found = [difference_table(models[0].data, model.data) for model in models[1:]]
    except InputError as error:
        raise NotApplicable(str(error)) from None
    rows = min(SHOWN, len(found[0].names))
    figure.set_figheight(rows * (ROW + FURTHER * max(0, len(found) - 1)) + AROUND)
    labels = [f"{name} minus {names[0]}" for name in names[1:]]
    _dots(figure.subplots(), found, labels)
    if len(found) > 1:
        legend_above(figure, model_lines(names, linestyle="")[1:], f"Minus {names[0]}")
    add_note(figure, NOTE)


DIFFERENCE = FigureKind(
    name="difference",
    title="In which verbs the difference in mAP to the first model lies",
    needs="diagnoses",
    data=_data,
    draw=_draw,
)
