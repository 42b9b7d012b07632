"""Cost of each error: ΔmAP per oracle as bars, for one or more detectors.

In a study, individual errors and the two totals, false positives and false negatives, have separate
scales, because the totals dwarf their parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from diaghoi.comparison.study import STAGES
from diaghoi.data.table import has_width
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import ERRORS, ORACLES, TOTALS, error_title
from diaghoi.plots.figure import (
    FUNCTIONS,
    ModelData,
    Models,
    NotApplicable,
    Source,
    figure,
    shown_names,
    sources_of,
)
from diaghoi.plots.labels import (
    fitted,
    inches_of,
    model_names,
    points,
    protocol_of,
    split_title,
    text_width,
)
from diaghoi.plots.panels import (
    LINE,
    NUMBER_SIZE,
    ROOM,
    SCALE,
    TALLEST,
    bar_legend,
    bar_styles,
    bars,
    number_size,
    prepared,
    set_title,
)
from diaghoi.plots.style import DOUBLE_COLUMN, add_note, colour, paper
from diaghoi.statistics.bootstrap import TOO_FEW

HEIGHT = 2.4  # inches: height of a new figure
GROUP = 0.84  # width of the bars of one error, as a share of the distance between errors
FLAT, SMALL_FLAT = 0.48, 0.42  # inches: minimum width per error for a name in 7 or 6 pt
# Inches:
BESIDE = 1.0  # width of both y-axes with their labels, and of the gap between the panels
# Heights: a single panel, one of several panels, a title, and a gap.
PANEL, FURTHER, TITLE, GAP = 1.3, 1.0, 0.15, 0.08
BELOW, BELOW_TURNED = 0.3, 0.65  # heights of the errors' names, horizontal or rotated
AROUND = 0.2
MOST_LINES = 3
HARMONIC = "harmonic"  # the mean of two splits, although listed as a split


class DeltaBar(NamedTuple):
    """A bar in the figure.

    Parameters
    ----------
    model : str
        Label of the detector.
    oracle : str
        Name of the oracle.
    delta : float or None
        mAP with the error repaired minus mAP, in percentage points; None if it is undefined.
    interval : tuple of float or None
        Bootstrap interval, in percentage points; None if the result has no interval, or a
        zero-width one.
    """

    model: str
    oracle: str
    delta: float | None
    interval: tuple[float, float] | None = None


def delta_map_table(
    diagnoses: Models,
    split: str = "full",
    oracles: Sequence[str] | None = None,
) -> list[DeltaBar]:
    """Collect the data for :func:`delta_map`, model by model.

    Parameters
    ----------
    diagnoses : Diagnosis, mapping, or sequence of these
        One or more detectors: diagnoses, or results of :meth:`diaghoi.Diagnosis.to_dict`, of which
        ``label``, ``oracles`` and ``intervals`` are used. A model without a label is named by its
        number.
    split : str
        Group of classes over which mAP is averaged: ``full``; ``rare`` and ``non_rare`` on
        HICO-DET, other groups on other data sets.
    oracles : sequence of str, optional
        Errors in displayed order; by default all errors of the results, in oracle order.

    Returns
    -------
    list of DeltaBar
        One row for each model and error.

    Raises
    ------
    InputError
        If there is no result, a result has no oracles, or a split or oracle is unknown.
    """
    results = [source.result for source in sources_of(diagnoses)]
    if not results:
        raise InputError("diagnoses: there is nothing to draw; give at least one diagnosis")
    names = model_names(result.get("label") for result in results)
    return delta_bars(dict(zip(names, results, strict=True)), split, oracles)


def delta_bars(
    results: Mapping[str, Mapping[str, Any]],
    split: str = "full",
    oracles: Sequence[str] | None = None,
) -> list[DeltaBar]:
    """Collect the bars of results by model name: see :func:`delta_map_table`."""
    for model, result in results.items():
        if not isinstance(result.get("oracles"), Mapping):
            raise InputError(
                f"{model}: the result has no 'oracles'; give what diaghoi report --json writes"
            )
    if oracles is None:
        names = dict.fromkeys(name for result in results.values() for name in result["oracles"])
        oracles = [name for name in ORACLES if name in names]
        oracles += [name for name in names if name not in ORACLES]
    return [
        DeltaBar(model, name, _delta(model, result["oracles"], name, split), interval)
        for model, result in results.items()
        for name in oracles
        for interval in [_interval(result, f"oracles.{name}.delta_map.{split}")]
    ]


def delta_map(
    diagnoses: Models,
    ax: Axes | None = None,
    split: str = "full",
    oracles: Sequence[str] | None = None,
) -> Axes:
    """Draw the cost of each error: one group of bars per error, one bar per model.

    With up to four models, colour encodes the error, and lightness and hatch encode the model; with
    more models, each model has its own colour and hatch. Bars for negative differences point down;
    undefined differences are omitted. Lines show bootstrap intervals if the results have them.
    Model labels and the protocol are above the bars.

    Parameters
    ----------
    diagnoses, split, oracles
        See :func:`delta_map_table`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw in; by default, axes of a new figure two columns wide.

    Raises
    ------
    InputError
        As :func:`delta_map_table`.
    """
    results = [source.result for source in sources_of(diagnoses)]
    rows = delta_map_table(results, split, oracles)
    names = list(dict.fromkeys(row.oracle for row in rows))
    with paper():
        target: Axes | Figure
        if ax is None:
            target = Figure(figsize=(DOUBLE_COLUMN, HEIGHT), layout="constrained")
            ax = target.add_subplot()
        else:
            target = prepared(ax)
        draw_costs(ax, rows)
        if names[-2:] == list(TOTALS) and len(names) > len(TOTALS):
            ax.axvline(len(names) - len(TOTALS) - 0.5, color="0.6", linewidth=0.6, linestyle=":")
        of_split = "" if split == "full" else f", {split_title(split).lower()}"
        ax.set_ylabel(f"ΔmAP (points{of_split})")
        _head(ax, list(dict.fromkeys(row.model for row in rows)), results)
        add_note(target, intervals_note(results, split))
    return ax


FUNCTIONS[delta_map.__name__] = delta_map


def draw_costs(ax: Axes, rows: Sequence[DeltaBar], room: float | None = None) -> None:
    """Draw only the bars, the error names below them, and the zero line.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    rows : sequence of DeltaBar
        Data of the bars, one entry per bar.
    room : float, optional
        Width per error in inches, for numbers and names; by default taken from the axes before
        layout.
    """
    models = list(dict.fromkeys(row.model for row in rows))
    names = list(dict.fromkeys(row.oracle for row in rows))
    room = inches_of(ax) / max(len(names), 1) if room is None else room
    width = GROUP / len(models)
    shown = [(row, row.delta) for row in rows if row.delta is not None]
    needed = max((text_width(points(delta), NUMBER_SIZE) for _, delta in shown), default=0.0)
    # All numbers have the same size and direction, or are omitted; 0.03 inches separate neighbours.
    flat = room * width >= needed + 0.03
    size = NUMBER_SIZE if flat else number_size(room * width)
    for number, (model, style) in enumerate(zip(models, bar_styles(len(models)), strict=True)):
        own = [(row, delta) for row, delta in shown if row.model == model]
        beside = (number - (len(models) - 1) / 2) * width
        places = [names.index(row.oracle) + beside for row, _ in own]
        ends = [row.interval or (delta, delta) for row, delta in own]
        drawn = bars(
            ax,
            places,
            [delta for _, delta in own],
            width * 0.92,
            [points(delta) for _, delta in own],
            size=size,
            flat=flat,
            tops=[
                min(delta, low) if delta < 0 and points(delta) != "0" else max(delta, high)
                for (_, delta), (low, high) in zip(own, ends, strict=True)
            ],
            color=[style.on(colour(row.oracle)) for row, _ in own],
            # Edges of very thin bars would hide their fill.
            linewidth=min(0.4, 3.0 * room * width),
            hatch=style.hatch,
        )
        for bar, place, (row, _) in zip(drawn, places, own, strict=True):
            bar.set_gid(f"{row.oracle}/{model}")
            if row.interval is not None:
                caps: dict[str, Any] = {"marker": "_", "markersize": 2.5, "markeredgewidth": 0.6}
                (line,) = ax.plot(
                    [place] * 2, row.interval, color="0.15", linewidth=0.6, zorder=3.5, **caps
                )
                line.set_gid(f"interval/{row.oracle}/{model}")
    ax.margins(x=0.01, y=0.24 if size and not flat else 0.08)
    flat = room >= SMALL_FLAT
    ax.set_xticks(
        range(len(names)),
        [error_title(name).replace(" ", "\n" if flat else " ") for name in names],
        rotation=0 if flat else 60,
        ha="center" if flat else "right",
        rotation_mode="default" if flat else "anchor",
        fontsize=7.0 if room >= FLAT or not flat else 6.0,
    )
    ax.tick_params(axis="x", length=0)
    ax.set_xlim(-0.55, len(names) - 0.45)
    ax.axhline(0, color="black", linewidth=0.6, zorder=3, clip_on=False)
    ax.spines["bottom"].set_visible(False)
    ax.yaxis.grid(True, color="0.88", linewidth=0.5)
    ax.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))


def intervals_note(results: Sequence[Mapping[str, Any]], split: str = "full") -> str:
    """Explain the error bars; empty if no result has intervals."""
    settings = [result["bootstrap"] for result in results if result.get("intervals")]
    levels = sorted({float(each["confidence"]) for each in settings})
    if not levels:
        return ""
    note = f"Lines: {' and '.join(f'{100 * level:g} %' for level in levels)} bootstrap intervals"
    note += "." if len(settings) == len(results) else ", where a result has them."
    few = any(path.endswith(f".{split}") for each in settings for path in each.get("few", ()))
    return f"{note} None where {TOO_FEW}." if few else note


def _interval(result: Mapping[str, Any], path: str) -> tuple[float, float] | None:
    bounds = (result.get("intervals") or {}).get(path)
    if bounds is None or not has_width(bounds):
        return None
    return 100 * float(bounds[0]), 100 * float(bounds[1])


def _delta(model: str, outcome: Mapping[str, Any], oracle: str, split: str) -> float | None:
    """Look up one difference, in percentage points."""
    if oracle not in outcome:
        if oracle in ORACLES:
            return None
        raise InputError(
            f"{model}: the result has no oracle '{oracle}'{close_matches(oracle, outcome)}; "
            f"it has {', '.join(outcome)}"
        )
    try:
        deltas = outcome[oracle]["delta_map"]
        if split not in deltas:
            raise InputError(
                f"{model}: split '{split}' is not known{close_matches(split, deltas)}; "
                f"give one of {', '.join(deltas)}"
            )
        return None if deltas[split] is None else 100.0 * float(deltas[split])
    except InputError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{model}: oracle '{oracle}' has no number in 'delta_map' for '{split}'; "
            "give what diaghoi report --json writes"
        ) from error


def _head(ax: Axes, models: Sequence[str], results: Sequence[Mapping[str, Any]]) -> None:
    """Write models and protocol above the bars; if protocols differ, one protocol per model."""
    protocols = [protocol_of(result, "name") for result in results]
    if len(set(protocols)) > 1:
        bar_legend(ax, [f"{m} ({p})" for m, p in zip(models, protocols, strict=True)])
    elif len(models) > 1:
        bar_legend(ax, models, f"Protocol {protocols[0]}" if protocols[0] else "")
    else:
        title = f"Protocol {protocols[0]}" if protocols[0] else ""
        if results[0].get("label"):
            title = f" ({protocols[0]})" if protocols[0] else ""
            title = fitted(models[0], inches_of(ax) - text_width(title, 7.0), 7.0) + title
        set_title(ax, title, inches_of(ax))


# In a study:


class _Row(NamedTuple):
    """Panels of bars for several models: individual errors and totals, in several lines."""

    title: str
    split: str
    results: Mapping[str, Mapping[str, Any]]


def _draw_rows(figure: Figure, rows: Sequence[_Row], models: Sequence[ModelData]) -> None:
    """Draw rows of panels; individual errors have one scale, and totals have another.

    The figure has one legend if all rows show the same models, and otherwise one legend per row. A
    row of panels has only as many errors as leave room for a number at each bar.
    """
    own_keys = any(list(row.results) != list(rows[0].results) for row in rows)
    room = figure.get_figwidth() - BESIDE
    fitting = max(1, int(room * GROUP / (ROOM[1] * max(len(row.results) for row in rows))))
    count = min(ceil(len(ORACLES) / fitting), MOST_LINES)
    across = ceil(len(ORACLES) / count)
    room /= across
    # A row of panels shows some of the errors, or a legend.
    starts = [*([-1] if own_keys else []), *range(0, len(ORACLES), across)]
    lines = [(row, start) for row in rows for start in starts]
    grid = figure.add_gridspec(len(lines), across)
    heights = [0.0] * len(lines)
    scales: dict[bool, Axes] = {}
    for number, (row, start) in enumerate(lines):
        if start < 0:
            # The legend spans the same columns as the first errors: other spans would narrow all
            # columns.
            ax = figure.add_subplot(grid[number, : min(across, len(ERRORS))])
            heights[number] = _key(ax, row, figure)
            continue
        named = list(ORACLES)[start : start + across]
        errors = sum(name in ERRORS for name in named)
        for totals, first, end in ((False, 0, errors), (True, errors, len(named))):
            if first == end:
                continue
            ax = figure.add_subplot(grid[number, first:end], sharey=scales.get(totals))
            scales.setdefault(totals, ax)
            draw_costs(ax, delta_bars(row.results, row.split, named[first:end]), room)
            ax.set_ylabel("ΔmAP, own scale" if totals else "ΔmAP (points)")
            if totals:  # on the right, because totals are larger than individual errors
                ax.yaxis.set_label_position("right")
                ax.yaxis.tick_right()
                ax.spines.left.set_visible(False)
                ax.spines.right.set_visible(True)
            elif start == 0 and row.title and not own_keys:
                set_title(ax, row.title, figure.get_figwidth() - SCALE)
            if count == 1 and row is not rows[-1]:
                ax.tick_params(labelbottom=False)
    if not any(bar.get_gid() for ax in figure.axes for bar in ax.patches):
        raise NotApplicable("the results have no numbers for this figure")
    panels = heights.count(0.0)
    below = (BELOW if room >= SMALL_FLAT else BELOW_TURNED) * (panels if count > 1 else 1)
    titles = TITLE * len(rows) if rows[0].title and not own_keys else 0.0
    fixed = AROUND + below + titles + GAP * len(lines) + sum(heights)
    tall = min(PANEL if count == 1 else FURTHER, (TALLEST - 0.8 - fixed) / panels)
    each = tall + (below + titles) / panels
    grid.set_height_ratios([height or each for height in heights])
    figure.set_figheight(fixed + tall * panels)
    if not own_keys:
        bar_legend(figure, list(rows[0].results))
        figure.set_figheight(min(figure.get_figheight(), TALLEST))
    stages = {stage: [m.label for m in models if m.stage == stage] for stage in STAGES}
    if all(stages.values()):
        labels = (", ".join(dict.fromkeys(labels)) for labels in stages.values())
        named_stages = zip(STAGES.values(), labels, strict=True)
        add_note(figure, " ".join(f"{title}: {who}." for title, who in named_stages))
    add_note(figure, intervals_note([result for row in rows for result in row.results.values()]))


def _key(ax: Axes, row: _Row, figure: Figure) -> float:
    """Draw a legend of bars in separate axes; return its height in inches."""
    ax.set_axis_off()
    lines = bar_legend(ax, list(row.results), row.title, figure.get_figwidth() - SCALE)
    if (legend := ax.get_legend()) is not None:
        legend.set_loc("upper left")
        # The grid row has the height of the legend, so constrained layout is not needed.
        legend.set_in_layout(False)
    return LINE * lines + TITLE


def _result(source: Source) -> dict[str, Any]:
    """Keep the displayed parts of a result."""
    return {key: source.result.get(key) for key in ("oracles", "intervals", "bootstrap")}


def _by_dataset(models: Sequence[ModelData]) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Group results by data set, with models in the same order; a missing model has no bars.

    A model thus keeps its position, colour and legend entry.
    """
    names = dict.fromkeys(shown_names(models))
    groups: dict[str, dict[str, Mapping[str, Any]]] = {}
    for model, name in zip(models, shown_names(models), strict=True):
        lacking: dict[str, Mapping[str, Any]] = {each: {"oracles": {}} for each in names}
        groups.setdefault(model.dataset, lacking)[name] = model.data
    return groups


_study = partial(figure, needs="results", data=_result, datasets=True, published=True)


@_study("delta_map", "Cost of each error: mAP gained when an oracle repairs it", usual=True)
def _delta_map(figure: Figure, models: Sequence[ModelData]) -> None:
    rows = [_Row(dataset, "full", results) for dataset, results in _by_dataset(models).items()]
    _draw_rows(figure, rows, models)


@_study("delta_map_rare", "Cost of each error among rare and other groups of classes")
def _delta_map_rare(figure: Figure, models: Sequence[ModelData]) -> None:
    rows: list[_Row] = []
    left_out: list[str] = []
    for dataset, results in _by_dataset(models).items():
        each = [_splits_of(result) for result in results.values() if result["oracles"]]
        known = [
            split
            for split in dict.fromkeys(split for splits in each for split in splits)
            if split not in ("full", HARMONIC)
        ]
        shared = [split for split in known if all(split in splits for splits in each)]
        titles = {split: ", ".join(filter(None, (dataset, split_title(split)))) for split in shared}
        rows += [_Row(title, split, results) for split, title in titles.items()]
        others = [split_title(split).lower() for split in known if split not in shared]
        of = f" of {dataset}" if dataset else ""
        if others:
            left_out.append(f"Not all models{of} have {', '.join(others)}.")
        elif dataset and not shared:
            left_out.append(f"{dataset} has no groups of classes.")
    if not rows:
        raise NotApplicable("the models share no groups of classes, such as rare classes")
    _draw_rows(figure, rows, models)
    add_note(figure, " ".join(left_out))


def _splits_of(result: Mapping[str, Any]) -> list[str]:
    """List the groups of classes in a result, if any."""
    try:
        return list(next(iter(result["oracles"].values()))["delta_map"])
    except (AttributeError, KeyError, StopIteration, TypeError):
        return []


@_study("delta_map_backbone", "Cost of each error with different backbones")
def _delta_map_backbone(figure: Figure, models: Sequence[ModelData]) -> None:
    rows: list[_Row] = []
    shown: list[ModelData] = []
    for dataset in dict.fromkeys(model.dataset for model in models):
        for title, members in backbone_groups([m for m in models if m.dataset == dataset]).items():
            results = {name: model.data for name, model in members.items()}
            rows.append(_Row(", ".join(filter(None, (dataset, title))), "full", results))
            shown += members.values()
    if not rows:
        raise NotApplicable(
            "the figure shows models of one name or stage with different backbones, but the study "
            "has no such models: give the keys backbone, and label or stage"
        )
    _draw_rows(figure, rows, shown)
    keys = {model.key for model in shown}
    others = [model.key for model in models if model.key not in keys]
    if others:
        add_note(figure, f"Without another backbone to compare: {', '.join(others)}.")


def backbone_groups(models: Sequence[ModelData]) -> dict[str, dict[str, ModelData]]:
    """Find models that differ only in the backbone.

    Parameters
    ----------
    models : sequence of ModelData
        Models without a backbone are omitted.

    Returns
    -------
    dict of dict of ModelData
        Groups of models by title, each with at least two backbones: families whose labels differ
        only in the backbone, such as ``UPT ResNet-50`` and ``UPT R101``, named by backbone. Without
        families, the groups are the models of each stage, named by label and backbone.
    """
    families: dict[str, list[ModelData]] = {}
    stages: dict[str, list[ModelData]] = {}
    for model in models:
        if model.backbone:
            families.setdefault(_family(model), []).append(model)
            stages.setdefault(STAGES.get(model.stage, ""), []).append(model)
    found: dict[str, dict[str, ModelData]] = {}
    for of_stages, groups in enumerate((families, stages)):
        for title, members in groups.items():
            if len({m.backbone for m in members}) < 2:
                continue
            names = model_names(model.backbone for model in members)
            if of_stages:
                names = [f"{model.label} ({model.backbone})" for model in members]
            found[title] = dict(zip(names, members, strict=True))
        if found:
            break
    return found


def _family(model: ModelData) -> str:
    """Remove the backbone from a model's label, even if it is abbreviated as ``R101``."""
    parts = re.findall(r"[A-Za-z]+|\d+", model.backbone)
    gap = r"[\s_.-]*"
    forms = [gap.join(parts)]
    if len(parts) == 2 and parts[1].isdigit():
        forms += [f"{parts[0][0]}{gap}{parts[1]}"]
    found = rf"[\s_.(/+-]*\b(?:{'|'.join(forms)})\b\)?"
    return re.sub(found, "", model.label.replace("_", " "), flags=re.IGNORECASE).strip() or (
        model.label
    )
