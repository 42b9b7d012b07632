"""The sheet: one page with the essentials of one detector, or of two detectors side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from diaghoi.cases.cases import Case
from diaghoi.cases.typical import typical_cases
from diaghoi.comparison.results import figure as figure_at
from diaghoi.data.table import has_width, percent
from diaghoi.data.vocabulary import printed_name
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.saved import as_one, scenes_of
from diaghoi.evaluation.errors import LABELS
from diaghoi.exceptions import InputError
from diaghoi.formats.pictures import Pictures
from diaghoi.oracles import ERRORS, TOTALS, error_title
from diaghoi.plots.boxes import Image
from diaghoi.plots.figure import FIGURES, ModelData, NotApplicable, Source, figure, shown_names
from diaghoi.plots.figures.confusions import NAMES as CONFUSION_NOTE
from diaghoi.plots.figures.confusions import SCALE as CONFUSION_SCALE
from diaghoi.plots.figures.confusions import ConfusionCost, confusion_bars
from diaghoi.plots.figures.delta_map import DeltaBar, delta_bars, draw_costs, intervals_note
from diaghoi.plots.figures.error_shares import ErrorShares, error_shares
from diaghoi.plots.figures.picture_panels import GAP as POINTS
from diaghoi.plots.figures.picture_panels import Caption, case_cell, draw_row, laid_out
from diaghoi.plots.labels import fitted, points, protocol_of, split_title, text_width
from diaghoi.plots.panels import bar_legend, bars, name_rows, set_title
from diaghoi.plots.style import add_note, colour

WIDE, TALL = 8.27, 11.69  # inches: A4
MARGIN, GAP = 0.5, 0.15  # inches: margin around the page, and gap between pictures
ROOM = WIDE - 2 * MARGIN
HEAD, LINE, COSTS, SHARES, FRAME, BAR = 0.4, 0.14, 1.9, 1.8, 0.65, 0.15  # inches: heights
TALLEST = 1.5  # largest factor by which charts are stretched to fill a page
SIZE, SMALL = 7.0, 6.0  # points
SCALE = 0.5  # inches: room for the scale left of the bars
BESIDE = 0.58  # share of a row's width for the bars; the panel of ranks takes the rest
SHEET_MODELS = 2
"""Maximum number of detectors on a sheet."""
CASES = 4  # in a row
LEAST = 5  # least number of annotated triplets of a class that is shown
NAMES, NUMBER = 1.6, 0.4  # inches: room for the names of a table's rows, and for a number
CLASS_ROOM = 1.25  # inches: room for the name of a class
LIST_ROOM = ROOM / 2 - CLASS_ROOM - 2 * GAP  # inches: room for the list beside the names
PER_IMAGE = "pairs.per_image"
NUMBERS = {
    "pairs.recall": "Pair recall",
    "pairs.precision": "Pair precision",
    PER_IMAGE: "Pairs per image",
    "pairs.human_recall": "Human recall",
    "pairs.object_recall": "Object recall",
    "negatives.ap": "Rejecting wrong pairs, AP",
    "actions.map": "Actions on found pairs, mAP",
}
KEPT = (
    *("dataset", "protocol", "counts", "official", "map", "errors", "oracles"),
    *("pairs", "negatives", "actions", "intervals", "bootstrap"),
)
SHARES_NOTE = (
    "Predictions by error: shares among all predictions and, in the same colours, at each rank; "
    "the dashed line marks the number of annotated triplets."
)
CLASSES_NOTE = (
    f"Classes of lowest AP among those with at least {LEAST} annotated triplets (their number in "
    "brackets), and the error whose single repair adds most to it, in points."
)
CASES_NOTE = (
    "Pictures: for each of the costliest errors, the first case of the class with most of these "
    "errors, among images with a picture; predictions are solid, annotations dashed."
)


class _Part(NamedTuple):
    """A part of a row of the page, with its share of the width."""

    width: float
    draw: Callable[[Axes], None]


class WeakClass(NamedTuple):
    """A class of low AP, in percent, and the error whose single repair adds most to it."""

    name: str
    annotated: int
    ap: float
    error: str
    delta: float


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Page content of a detector; for a saved result, only the parts that the result has."""

    result: Mapping[str, Any]
    shares: ErrorShares | None = None
    confusions: Sequence[ConfusionCost] = ()
    classes: Sequence[WeakClass] = ()
    cases: Sequence[tuple[Case, Image | None]] = ()


def weak_classes(diagnosis: Diagnosis, most: int = 10) -> list[WeakClass]:
    """List the classes with the lowest AP, lowest first, except classes with few annotations."""
    table = diagnosis.classes
    rows = np.flatnonzero((table["annotated"] >= LEAST) & np.isfinite(table["ap"]))
    order = np.lexsort((-table["annotated"][rows], table["ap"][rows]))
    found = []
    for row in rows[order][:most].tolist():
        deltas = {name: float(np.nan_to_num(table[f"delta_{name}"][row])) for name in ERRORS}
        error = max(deltas, key=deltas.__getitem__)
        name, annotated = str(table["name"][row]), int(table["annotated"][row])
        ap, delta = 100 * float(table["ap"][row]), 100 * deltas[error]
        found.append(WeakClass(name, annotated, ap, error, delta))
    return found


def _data(source: Source) -> Sheet:
    sheet = Sheet(result={key: source.result.get(key) for key in KEPT})
    with suppress(NotApplicable):
        sheet = replace(sheet, confusions=FIGURES["confusions"].data(source))
    with suppress(NotApplicable):
        sheet = replace(sheet, shares=FIGURES["error_shares"].data(source))
    if source.diagnosis is not None:
        sheet = replace(sheet, classes=weak_classes(source.diagnosis))
        if source.images is not None:
            cases = _cases(source.diagnosis, sheet.result, Pictures(source.images))
            sheet = replace(sheet, cases=cases)
    return sheet


def _cases(
    diagnosis: Diagnosis, result: Mapping[str, Any], pictures: Pictures
) -> list[tuple[Case, Image | None]]:
    """Choose a typical case of each of the costliest errors, among images with a picture."""
    there = [name for name in diagnosis.names.tolist() if pictures.find(name) is not None]
    if not there:
        raise InputError(
            f"{pictures.folder}: has no picture of the images; give the folder of the pictures"
        )
    costs = {bar.oracle: bar.delta or 0.0 for bar in delta_bars({"": result}, oracles=list(ERRORS))}
    whole, errors = as_one(diagnosis), sorted(costs, key=costs.__getitem__, reverse=True)
    cases = typical_cases(whole, *scenes_of(whole), errors, images=there)[:CASES]
    return [(case, pictures.read(case.image, case.size).image) for case in cases]


@figure(
    "sheet",
    "Summary on one page",
    data=_data,
    needs="results",
    width=WIDE,
    height=TALL,
    usual=True,
    published=True,
)
def _sheet(figure: Figure, models: Sequence[ModelData]) -> None:
    if len(models) > SHEET_MODELS:
        raise NotApplicable(f"the sheet shows one or two detectors, and there are {len(models)}")
    names = shown_names(models)
    sheets: dict[str, Sheet] = {n: m.data for n, m in zip(names, models, strict=True)}
    results = {name: sheet.result for name, sheet in sheets.items()}
    cells = [
        replace(cell, captions=(Caption(name), *cell.captions)) if len(sheets) > 1 else cell
        for name, sheet in sheets.items()
        for cell in (case_cell(*case) for case in sheet.cases[: CASES // len(sheets)])
    ]
    costs, counted = delta_bars(results), list(_counted(results))
    means = _means(next(iter(results.values())))
    ranked = {name: sheet.shares for name, sheet in sheets.items() if sheet.shares is not None}
    shown = 10 if len(sheets) == 1 else 6 if cells else 8
    lists: list[_Part] = [
        *(
            _Part(0.5, partial(_confusions, name, sheet.confusions[:shown]))
            for name, sheet in sheets.items()
            if sheet.confusions
        ),
        *(
            _Part(0.5, partial(_classes, name, sheet.classes[:shown]))
            for name, sheet in sheets.items()
            if sheet.classes
        ),
    ]
    lines = max(len(means), len(NUMBERS))
    tables: list[_Part] = [
        _Part(0.5, partial(_table, "mAP (%)", results, means, lines)),
        _Part(0.5, partial(_table, "Pairs and actions (%)", results, NUMBERS, lines)),
    ]
    fixed: list[tuple[float, list[_Part]]] = [
        (HEAD, [_Part(1.0, partial(_head, results))]),
        (LINE * (lines + 3), tables),
    ]
    wide = BESIDE if ranked else 1.0
    narrow = (1 - wide) / max(len(ranked), 1)
    shares = [
        _bars("Predictions by error", "Predictions (%)", counted, wide),
        *(_Part(narrow, partial(_shares, name, table, narrow)) for name, table in ranked.items()),
    ]
    charts: list[tuple[float, list[_Part]]] = [
        (COSTS, [_bars("Each error repaired alone", "ΔmAP (points)", costs, 1.0)]),
        (SHARES, shares),
        *((FRAME + BAR * shown, lists[n : n + 2]) for n in range(0, len(lists), 2)),
    ]
    column = (ROOM - GAP - (CASES - 1) * POINTS / 72) / CASES
    pictures = laid_out(cells, column) if cells else None
    below = pictures.height + GAP if pictures else 0.0
    left = TALL - 2 * MARGIN - below - sum(height for height, _ in fixed)
    stretch = min(TALLEST, left / sum(height for height, _ in charts))
    rows = [*fixed, *((stretch * height, parts) for height, parts in charts)]
    heights = [height for height, _ in rows]
    layout = figure.get_layout_engine()
    if isinstance(layout, ConstrainedLayoutEngine):
        used = sum(heights) / TALL
        rect = (MARGIN / WIDE, 1 - MARGIN / TALL - used, ROOM / WIDE, used)
        layout.set(rect=rect, w_pad=GAP / 2, h_pad=GAP / 4, wspace=0, hspace=0)
    grid = figure.add_gridspec(len(rows), 1, height_ratios=heights)
    for row, (_, parts) in enumerate(rows):
        widths = [part.width for part in parts]
        if sum(widths) < 0.99:
            widths.append(1 - sum(widths))
        within = grid[row].subgridspec(1, len(widths), width_ratios=widths)
        for number, part in enumerate(parts):
            part.draw(figure.add_subplot(within[number]))
    if pictures is not None:
        draw_row(figure, pictures, column, MARGIN + GAP / 2, TALL - MARGIN - pictures.height)
        add_note(figure, CASES_NOTE)
    if lines_are := intervals_note(list(results.values())):
        add_note(figure, f"{lines_are} Ranges beside numbers are intervals, too.")


def _counted(results: Mapping[str, Mapping[str, Any]]) -> Iterator[DeltaBar]:
    """Return the shares of errors among all predictions, in percent."""
    for name, result in results.items():
        counts = {label: result["errors"][label] for label in LABELS}
        for label, count in counts.items():
            low, high = _interval(result, f"shares.{label}") or (0.0, 0.0)
            interval = (100 * low, 100 * high) if high else None
            yield DeltaBar(name, label, 100 * count / max(sum(counts.values()), 1), interval)


def _means(result: Mapping[str, Any]) -> dict[str, str]:
    """Return titles of the means in a result, by path."""
    rows = {}
    for setting, means in (result["official"] or {}).items():
        title = setting.replace("_", " ").title()
        for split in means:
            if split in result["map"]:
                rows[f"official.{setting}.{split}"] = f"{title}, {_short(split)}"
            elif split == "ap" and setting != "agent":
                rows[f"official.{setting}.ap"] = f"Role AP, {title.lower()}"
    for split in result["map"]:
        rows[f"map.{split}"] = f"Protocol, {_short(split)}"
    return rows


def _short(split: str) -> str:
    return split_title(split).removesuffix(" classes").lower()


def _interval(result: Mapping[str, Any], path: str) -> tuple[float, float] | None:
    bounds = (result["intervals"] or {}).get(path)
    return (bounds[0], bounds[1]) if bounds is not None and has_width(bounds) else None


def _head(results: Mapping[str, Mapping[str, Any]], ax: Axes) -> None:
    """Write the title: detectors, data set and protocol."""
    ax.set_axis_off()
    first = next(iter(results.values()))
    counts = {key: f"{first['counts'][key]:,}" for key in ("images", "annotated_triplets")}
    about = [printed_name(str(first["dataset"]))]
    about += dict.fromkeys(protocol_of(result, "name") for result in results.values())
    about += [f"{count} {key.replace('_', ' ')}" for key, count in counts.items()]
    ax.text(0, 0, " · ".join(about), fontsize=SIZE, color="0.3", parse_math=False)
    if len(results) == 1:
        (name,) = results
        ax.text(0, 0.55, fitted(name, ROOM, 10), fontsize=10, weight="bold", parse_math=False)
    else:
        bar_legend(ax, list(results), inches=ROOM)
        if (legend := ax.get_legend()) is not None:
            legend.set_loc("upper left")
            legend.set_in_layout(False)


def _table(
    title: str,
    results: Mapping[str, Mapping[str, Any]],
    rows: Mapping[str, str],
    lines: int,
    ax: Axes,
) -> None:
    """Write numbers with intervals, one per row."""
    ax.set_axis_off()
    ax.set(xlim=(0, ROOM / 2), ylim=(lines, -1.2))
    step = (ROOM / 2 - NAMES) / SHEET_MODELS
    ax.text(0, -1.1, title, fontsize=SIZE, weight="bold", va="center")
    ax.plot([0, NAMES + len(results) * step - GAP], [-0.5] * 2, color="0.6", linewidth=0.6)
    for row, (path, name) in enumerate(rows.items()):
        ax.text(0, row, fitted(name, NAMES, SIZE), fontsize=SIZE, va="center", parse_math=False)
        for column, result in enumerate(results.values()):
            value, place = figure_at(result, *path.split(".")), NAMES + column * step
            # Numbers end where their intervals start.
            text = f"{value:.1f}" if path == PER_IMAGE and value is not None else percent(value)
            ax.text(place + NUMBER, row, text, fontsize=SIZE, va="center", ha="right")
            if bounds := _interval(result, path):
                unit = 1 if path == PER_IMAGE else 100
                low, high = (f"{unit * bound:.1f}" for bound in bounds)
                text = f"{low}–{high}"
                ax.text(place + NUMBER + 0.05, row, text, fontsize=SMALL, color="0.35", va="center")
    for column, name in enumerate(results if len(results) > 1 else ()):
        text = fitted(name, step - GAP, SIZE)
        place = NAMES + column * step
        ax.text(place, -1.1, text, fontsize=SIZE, va="center", parse_math=False)


def _bars(title: str, scale: str, rows: Sequence[DeltaBar], width: float) -> _Part:
    names = list(dict.fromkeys(row.oracle for row in rows))

    def draw(ax: Axes) -> None:
        draw_costs(ax, rows, (ROOM * width - SCALE) / len(names))
        if names[-2:] == list(TOTALS):
            ax.axvline(len(names) - 2.5, color="0.6", linewidth=0.6, linestyle=":")
        ax.set_ylabel(scale)
        set_title(ax, title, ROOM / 2)

    return _Part(width, draw)


def _shares(name: str, table: ErrorShares, width: float, ax: Axes) -> None:
    error_shares(table, ax, legend=False)  # the bars beside this panel explain the colours
    ax.set_ylabel("")
    _title(ax, "By rank", name, ROOM * width - SCALE)
    add_note(ax, SHARES_NOTE)


def _title(ax: Axes, what: str, name: str, inches: float) -> None:
    """Write a panel's title: its content and the detector's name, which may be shortened."""
    room = inches - text_width(f"{what}, ", SIZE)
    set_title(ax, f"{what}, {fitted(name, room, SIZE)}", inches)


def _confusions(name: str, costs: Sequence[ConfusionCost], ax: Axes) -> None:
    confusion_bars(ax, costs)
    ax.set_xlabel(CONFUSION_SCALE)
    add_note(ax, CONFUSION_NOTE)
    _title(ax, "Wrong verbs", name, LIST_ROOM)


def _classes(name: str, classes: Sequence[WeakClass], ax: Axes) -> None:
    texts = []
    for each in classes:
        gain = f"  {error_title(each.error)} {points(each.delta, signed=True)}"
        texts.append(f"{each.ap:.1f}{gain if each.delta > 0 else ''}")
    right: dict[str, Any] = {"color": colour("true_positive"), "edgecolor": "none"}
    bars(ax, range(len(classes)), [c.ap for c in classes], 0.72, texts, across=True, **right)
    labels = [f" ({each.annotated})" for each in classes]
    room = [CLASS_ROOM - text_width(label, SMALL) for label in labels]
    names = [fitted(each.name, inches, SMALL) for each, inches in zip(classes, room, strict=True)]
    name_rows(ax, [name + label for name, label in zip(names, labels, strict=True)])
    ax.xaxis.grid(False)
    ax.set_xlim(0, 150)
    ax.set_xticks([0, 50, 100])
    ax.spines.bottom.set_bounds(0, 100)
    ax.set_xlabel("AP (%)", x=1 / 3)
    _title(ax, "Classes of lowest AP", name, LIST_ROOM)
    add_note(ax, CLASSES_NOTE)
