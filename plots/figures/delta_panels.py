"""Cost of each error in a study of several models: ΔmAP in panels, for a paper.

Single errors and the two totals, false positives and false negatives, are in separate panels with
separate scales, because the totals dwarf the errors that they are made of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diaghoi.comparison.study import STAGES
from diaghoi.oracles import ERRORS, ORACLES, TOTALS
from diaghoi.plots.captions import add_note
from diaghoi.plots.figure import FigureKind, ModelData, NotApplicable, Source, shown_names
from diaghoi.plots.figures.delta_bars import (
    INCHES_FOR_FLAT_LABELS,
    cost_legend,
    delta_map_table,
    draw_costs,
    intervals_note,
)
from diaghoi.plots.labels import inches_of, model_names, split_title

# Inches:
ROOM_OF_SCALES = 1.0  # both y-axes with their labels, and the gap between the panels
SCALE = 0.45  # the left y-axis with its label
PANEL, TITLE, GAP = 1.3, 0.15, 0.08  # heights of a panel, of its title, and of a gap
AROUND, AROUND_TURNED = 0.5, 0.85  # names of errors, horizontal or rotated, and the foot
HARMONIC = "harmonic"  # listed among the splits, but it is the mean of two of them


class PanelRow(NamedTuple):
    """One row of panels.

    Parameters
    ----------
    title : str
        Title above it.
    split : str
        Which mean over classes is shown.
    names : sequence of str
        Names of its models.
    results : sequence of mapping
        Their results, each with its own label.
    stages : sequence of str
        The stage of each.
    """

    title: str
    split: str
    names: Sequence[str]
    results: Sequence[Mapping[str, Any]]
    stages: Sequence[str]


def draw_rows(figure: Figure, rows: Sequence[PanelRow], left_out: str = "") -> None:
    """Draw rows of two panels each, single errors and totals; each column shares one scale.

    There is one legend if all rows show the same models, and otherwise one per row. A note below
    says what is left out.

    Raises
    ------
    NotApplicable
        If no row has a bar.
    """
    own_keys = any(_labels(row) != _labels(rows[0]) for row in rows)
    lines = [
        line
        for number, row in enumerate(rows)
        for line in ([(row, "key")] if number == 0 or own_keys else []) + [(row, "panels")]
    ]
    grid = figure.add_gridspec(len(lines), 2, width_ratios=(len(ERRORS), len(TOTALS) + 0.2))
    room = (figure.get_figwidth() - ROOM_OF_SCALES) / len(ORACLES)
    heights: list[float] = []
    panels: list[list[Axes]] = []
    for line, (row, what) in enumerate(lines):
        if what == "key":
            key = figure.add_subplot(grid[line, :])
            title = row.title if own_keys else ""
            heights.append(_key(key, row, title, figure))
            continue
        above = panels[0] if panels else (None, None)
        panels.append([figure.add_subplot(grid[line, n], sharey=above[n]) for n in range(2)])
        heights.append(PANEL)
        _row(panels[-1], row, room, titled=not own_keys)
    if not any(bar.get_gid() for both in panels for ax in both for bar in (*ax.patches, *ax.lines)):
        raise NotApplicable("the results have no numbers for it")
    for ax in (ax for both in panels[:-1] for ax in both):
        ax.tick_params(labelbottom=False)
    grid.set_height_ratios(heights)
    around = AROUND if room >= INCHES_FOR_FLAT_LABELS else AROUND_TURNED
    if rows[0].title and not own_keys:
        around += TITLE * len(rows)
    figure.set_figheight(sum(heights) + around + GAP * len(lines))
    intervals = intervals_note([result for row in rows for result in row.results])
    add_note(figure, f"{intervals} {left_out}".strip())


def _key(ax: Axes, row: PanelRow, title: str, figure: Figure) -> float:
    """Put the legend of bars into separate axes; return its height in inches."""
    ax.set_axis_off()
    legend = cost_legend(ax, row.names, title, inches_of(figure) - SCALE, row.stages)
    legend.set_loc("upper left")
    # The row of the grid has exactly the height of the legend: constrained layout need not help.
    legend.set_in_layout(False)
    return float(legend.get_window_extent().height / figure.dpi)


def _row(panels: Sequence[Axes], row: PanelRow, room: float, titled: bool) -> None:
    """Draw the two panels of a row, with ``room`` inches per error."""
    for ax, names in zip(panels, (ERRORS, TOTALS), strict=True):
        draw_costs(ax, delta_map_table(row.results, row.split, names), room, row.stages)
    panels[0].set_ylabel("ΔmAP (points)")
    # Totals have a separate scale, on the right, because they are larger than single errors.
    panels[1].yaxis.set_label_position("right")
    panels[1].yaxis.tick_right()
    panels[1].spines.left.set_visible(False)
    panels[1].spines.right.set_visible(True)
    panels[1].set_ylabel("ΔmAP, own scale")
    if titled and row.title:
        panels[0].set_title(row.title, loc="left", fontsize=7)


def _labels(row: PanelRow) -> list[str]:
    return [result["label"] for result in row.results]


def _result(source: Source) -> dict[str, Any]:
    """Keep what the panels show of a result."""
    return {key: source.result.get(key) for key in ("oracles", "intervals", "bootstrap")}


def _results(models: Sequence[ModelData]) -> list[dict[str, Any]]:
    return [model.data | {"label": model.label} for model in models]


def _rows_of(
    models: Sequence[ModelData], splits: Sequence[str], dataset: str = ""
) -> list[PanelRow]:
    """Make a row of each split, with all models."""
    names, results, stages = shown_names(models), _results(models), _stages(models)
    title = len(splits) > 1 or splits[0] != "full"
    return [
        PanelRow(
            ", ".join(filter(None, (dataset, split_title(each) if title else ""))),
            each,
            names,
            results,
            stages,
        )
        for each in splits
    ]


def _by_dataset(models: Sequence[ModelData]) -> list[tuple[str, list[ModelData]]]:
    """Group models by data set, all in one order; one that a data set lacks has no figures there.

    So a model keeps its place, its colour and its part in the legend.
    """
    datasets = list(dict.fromkeys(model.dataset for model in models))
    if len(datasets) == 1:
        return [(datasets[0], list(models))]
    everywhere = {model.label: model for model in reversed(models)}
    order = list(dict.fromkeys(model.label for model in models))
    found = []
    for dataset in datasets:
        own = {model.label: model for model in models if model.dataset == dataset}
        protocol = next(iter(own.values())).protocol
        missing = {
            label: replace(
                everywhere[label], data={"oracles": {}}, dataset=dataset, protocol=protocol
            )
            for label in order
            if label not in own
        }
        found.append((dataset, [own.get(label) or missing[label] for label in order]))
    return found


def _stages(models: Sequence[ModelData]) -> list[str]:
    return [model.stage for model in models]


def _draw_full(figure: Figure, models: Sequence[ModelData]) -> None:
    rows = [
        row
        for dataset, members in _by_dataset(models)
        for row in _rows_of(members, ["full"], dataset)
    ]
    draw_rows(figure, rows)


def _draw_splits(figure: Figure, models: Sequence[ModelData]) -> None:
    rows: list[PanelRow] = []
    left_out: list[str] = []
    for dataset, members in _by_dataset(models):
        each = [_splits_of(model.data) for model in members if model.data["oracles"]]
        known = [
            split
            for split in dict.fromkeys(split for splits in each for split in splits)
            if split not in ("full", HARMONIC)
        ]
        shared = [split for split in known if all(split in splits for splits in each)]
        rows += _rows_of(members, shared, dataset) if shared else []
        others = [split_title(split).lower() for split in known if split not in shared]
        of = f" of {dataset}" if dataset else ""
        if others:
            left_out.append(f"Not all models{of} have {', '.join(others)}.")
        elif dataset and not shared:
            left_out.append(f"{dataset} has no groups of classes.")
    if not rows:
        raise NotApplicable("the models share no groups of classes, such as rare ones")
    draw_rows(figure, rows, " ".join(left_out))


def _splits_of(result: Mapping[str, Any]) -> list[str]:
    """List the groups of classes of a result, where it holds any."""
    try:
        return list(next(iter(result["oracles"].values()))["delta_map"])
    except (AttributeError, KeyError, StopIteration, TypeError):
        return []


def _draw_backbones(figure: Figure, models: Sequence[ModelData]) -> None:
    groups = [
        (", ".join(filter(None, (dataset, title))), names, members)
        for dataset in dict.fromkeys(model.dataset for model in models)
        for title, names, members in backbone_groups([m for m in models if m.dataset == dataset])
    ]
    rows = [
        PanelRow(title, "full", names, _results(members), _stages(members))
        for title, names, members in groups
    ]
    if not rows:
        raise NotApplicable(
            "it shows models of one name or one stage with different backbones, and the study has "
            "none: give backbone, and label or stage"
        )
    shown = {model.key for _, _, members in groups for model in members}
    others = [model.key for model in models if model.key not in shown]
    left_out = f"Without another backbone to compare: {', '.join(others)}." if others else ""
    draw_rows(figure, rows, left_out)


def backbone_groups(
    models: Sequence[ModelData],
) -> list[tuple[str, list[str], list[ModelData]]]:
    """Find models that differ in their backbones.

    Parameters
    ----------
    models : sequence of ModelData
        Those without a backbone are left out.

    Returns
    -------
    list of (title, names, models)
        Families of models whose labels are equal but for the backbone, as ``UPT ResNet-50`` and
        ``UPT R101``, named by their backbones. Where there is no family, the models of each stage,
        named by label and backbone. In each group at least two backbones occur.
    """
    named = [model for model in models if model.backbone]
    families: dict[str, list[ModelData]] = {}
    stages: dict[str, list[ModelData]] = {}
    for model in named:
        families.setdefault(_family(model), []).append(model)
        stages.setdefault(STAGES.get(model.stage, ""), []).append(model)
    groups = [
        (family, model_names(model.backbone for model in members), members)
        for family, members in families.items()
        if _differ(members)
    ]
    if groups:
        return groups
    return [
        (title, [f"{model.label} ({model.backbone})" for model in members], members)
        for title, members in stages.items()
        if _differ(members)
    ]


def _differ(models: Sequence[ModelData]) -> bool:
    return len({model.backbone for model in models}) > 1


def _family(model: ModelData) -> str:
    """Remove the backbone from the label of a model, also abbreviated as in ``R101``."""
    parts = re.findall(r"[A-Za-z]+|\d+", model.backbone)
    gap = r"[\s_.-]*"
    forms = [gap.join(parts)]
    if len(parts) == 2 and parts[1].isdigit():
        forms += [f"{parts[0][0]}{gap}{parts[1]}"]
    found = rf"[\s_.(/+-]*\b(?:{'|'.join(forms)})\b\)?"
    return re.sub(found, "", model.label.replace("_", " "), flags=re.IGNORECASE).strip() or (
        model.label
    )


_KIND = partial(FigureKind, needs="results", data=_result, datasets=True, published=True)
DELTA_MAP = _KIND(
    name="delta_map",
    title="What each error costs: mAP gained where an oracle repairs it",
    draw=_draw_full,
)
DELTA_MAP_SPLITS = _KIND(
    name="delta_map_rare",
    title="What each error costs among rare and other groups of classes",
    draw=_draw_splits,
)
DELTA_MAP_BACKBONE = _KIND(
    name="delta_map_backbone",
    title="What each error costs with different backbones",
    draw=_draw_backbones,
)
