"""Collect the data of the page in one object of plain values, from the results of detectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from diaghoi.cases.cases import ERRORS, MISSED
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.results import by_person
from diaghoi.comparison.slice_tables import slice_tables
from diaghoi.comparison.slices import Slices
from diaghoi.comparison.transitions import FATES
from diaghoi.data.arrays import Array, FloatArray, IntArray
from diaghoi.data.table import Cell, Table
from diaghoi.data.vocabulary import printed_name
from diaghoi.diagnosis.curves import curve_corners
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.evaluation.means import TITLES
from diaghoi.oracles import ORACLES, TOTALS, error_title
from diaghoi.report.html.cases import case_data
from diaghoi.report.html.models import AlignedModel, PageModel, aligned
from diaghoi.report.html.words import definition_of, in_unicode, meaning_of
from diaghoi.report.verdict import by_cost

STEPS = 100
"""Maximum number of score thresholds on the page."""
KNOWN = ("classes", "curves", "thresholds", "annotations", "images", "cases", "slices")
"""Parts of the data that need individual predictions."""
KINDS: dict[str, str] = {"count": "count", "percent": "percent", "points": "delta"}
"""How the page formats the values of each unit."""
FINE = 500
"""Number of steps from 0 to 1 to which recall and precision in curves are rounded."""


def page_data(
    models: Sequence[PageModel],
    comparison: Comparison | None = None,
    *,
    images: int | None = None,
    slices: Slices | None = None,
) -> dict[str, Any]:
    """Collect all data of the page.

    Parameters
    ----------
    models : sequence of PageModel
        The detectors, evaluated on the same annotations under one protocol.
    comparison : Comparison, optional
        A comparison of the detectors, which explains the differences if requested.
    images : int, optional
        Number of images with drawings, starting with the most informative cases; by default all.
    slices : Slices, optional
        Results of the detectors in slices of their annotations.

    Raises
    ------
    InputError
        If the annotations or protocols of the detectors differ.

    Returns
    -------
    dict
        Plain values for JSON. Scores and counts are unchanged; percent and points are integers, in
        hundredths of the displayed value, or None if undefined. Positions count from zero.

        - ``dataset``;
        - ``models``: ``label``, ``map`` by split, ``delta``, ``found_pairs`` (ΔmAP on found pairs,
          for the errors that have it) and ``delta_intervals`` by oracle and split, and ``rows``
          (whether the predictions are known, rather than only the result);
        - ``splits``: ``key``, ``title`` and ``classes`` (rows of ``classes``, None for all);
        - ``errors``: for each oracle, ``name``, ``title``, ``meaning``, ``definition``, ``colour``
          and ``kind`` ("prediction", "annotation", "total" or "own");
        - ``classes``: ``number``, ``name``, ``verb``, ``annotated``, and for each model
          (``models``) ``ap``, ``max_recall``, ``predicted``, the count of each label and of missed
          triplets, and ``delta`` by oracle; None if no model's predictions are known;
        - ``curves``: for each model, by oracle ("" for none), the corners of all curves: ``start``
          (first corner of each class, then the number of corners), and ``recall`` and
          ``precision``, as multiples of 1 / ``fine``;
        - ``thresholds``: ``score`` in rising order, and for each model (``models``) and label, the
          counts of predictions with at least that score, class by class;
        - ``annotations``: ``class`` and ``image`` of each annotated triplet, and for each model the
          fates of the triplets, one digit per triplet (index into ``fates``);
        - ``images``: ``name``, ``annotated``, and for each model the columns of
          :attr:`diaghoi.Diagnosis.images`;
        - ``differences``: ``labels`` and ``classes`` (by part), for each model whose difference
          from the first is explained;
        - ``cases``: see :func:`diaghoi.report.html.cases.case_data`;
        - ``slices``: ``columns`` of the slice sheet with their ``values``, and ``images`` (for each
          slice, one digit per image of the page); None without slices.
    """
    all_models = aligned(models)
    known = next((each for each in all_models if each is not None), None)
    data: dict[str, Any] = {
        "dataset": in_unicode(printed_name(str(models[0].result["dataset"]))),
        "models": [_model(each) for each in models],
        "splits": _splits(models),
        "errors": _errors(models),
        "fine": FINE,
        "fates": list(FATES),
        "labels": [*LABELS, MISSED],
        **dict.fromkeys(KNOWN),
        "differences": _differences(comparison, None if known is None else known.model),
    }
    if known is None:
        return data
    place, classes = _class_places(known.diagnosis), known.model.classes
    data["classes"] = {
        "number": classes["class"].tolist(),
        "name": _texts(classes["name"]),
        "verb": _texts(classes["verb"]),
        "annotated": classes["annotated"].tolist(),
        "models": [_class_columns(each.classes) for each in models],
    }
    data["curves"] = [_curves(each, place) for each in models]
    data["thresholds"] = _thresholds(models)
    data["annotations"] = {
        "class": place[known.fates.annotation_class].tolist(),
        "image": known.fates.annotation_image.tolist(),
        "models": [
            None if each is None else "".join(map(str, each.fates.fate.tolist()))
            for each in all_models
        ],
    }
    data["images"] = {
        "name": _texts(known.model.images["image"]),
        "annotated": known.model.images["annotated"].tolist(),
        "models": [None if each is None else _counts(each) for each in all_models],
    }
    data["cases"] = case_data(all_models, place, images)
    if slices is not None:
        data["slices"] = _slice_data(slices, known.diagnosis.names.tolist())
    return data


def hundredths(fractions: FloatArray) -> list[int | None]:
    """Convert fractions to hundredths of a percent; None for NaN."""
    whole = np.rint(1e4 * np.nan_to_num(fractions)).astype(np.int64).tolist()
    known = ~np.isnan(fractions)
    return [value if is_known else None for value, is_known in zip(whole, known, strict=True)]


def _hundredth(value: float | None) -> int | None:
    return None if value is None else round(1e4 * value)


def _bounds(result: Mapping[str, Any], path: str) -> list[int | None] | None:
    found = result.get("intervals", {}).get(path)
    return None if found is None else [_hundredth(bound) for bound in found]


def _texts(values: Array) -> list[str]:
    return [in_unicode(str(value)) for value in values.tolist()]


def _model(model: PageModel) -> dict[str, Any]:
    result = model.result
    splits = list(result["map"])
    return {
        "label": in_unicode(model.label),
        "map": {split: _hundredth(value) for split, value in result["map"].items()},
        "delta": {
            name: {split: _hundredth(value) for split, value in outcome["delta_map"].items()}
            for name, outcome in result["oracles"].items()
        },
        "found_pairs": {
            name: {split: _hundredth(value) for split, value in outcome["delta_map"].items()}
            for name, outcome in result.get("localised", {}).items()
        },
        "delta_intervals": {
            name: {split: _bounds(result, f"oracles.{name}.delta_map.{split}") for split in splits}
            for name in result["oracles"]
            if "intervals" in result
        },
        "rows": model.diagnosis is not None,
    }


def _splits(models: Sequence[PageModel]) -> list[dict[str, Any]]:
    known = next((each.diagnosis for each in models if each.diagnosis is not None), None)
    found = []
    for key in models[0].result["map"]:
        rows = None
        if known is not None and key != "full" and key in known.splits:
            rows = np.flatnonzero(known.splits[key][known.splits["full"]]).tolist()
        title = in_unicode(TITLES.get(key, key))
        found.append({"key": in_unicode(key), "title": title, "classes": rows})
    return found


def _errors(models: Sequence[PageModel]) -> list[dict[str, Any]]:
    from diaghoi.plots.style import COLOURS, OTHER_COLOUR

    categories = not by_person(models[0].result)
    found = []
    first = models[0].result
    for name in by_cost(first) if len(models) == 1 else first["oracles"]:
        kind = "own"
        if name in ERRORS:
            kind = "annotation" if name == MISSED else "prediction"
        elif name in TOTALS:
            kind = "total"
        found.append(
            {
                "name": name,
                "title": error_title(name),
                "meaning": meaning_of(name, categories_count=categories),
                "definition": definition_of(name),
                "colour": COLOURS.get(name, OTHER_COLOUR),
                "kind": kind,
            }
        )
    return found


def _differences(comparison: Comparison | None, known: PageModel | None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for each in comparison.explained if comparison is not None and known is not None else ():
        counted = known.classes["class"] - 1 if known is not None else np.zeros(0, dtype=int)
        parts = each.ap.parts[counted]
        found.append(
            {
                "labels": [in_unicode(label) for label in each.labels],
                "classes": {
                    "total": hundredths(each.ap.of_class[counted]),
                    **{label: hundredths(parts[:, column]) for column, label in enumerate(LABELS)},
                },
            }
        )
    return found


def _class_places(diagnosis: Diagnosis) -> IntArray:
    """Return the row of each HOI class in the table, (C,); -1 if the class does not count."""
    counted = diagnosis.splits["full"]
    return np.where(counted, np.cumsum(counted) - 1, -1)


def _class_columns(table: Mapping[str, Array]) -> dict[str, Any] | None:
    if not table:
        return None
    percents = ("ap", "max_recall")
    return {
        "predicted": table["predicted"].tolist(),
        **{key: hundredths(table[key]) for key in percents},
        **{key: table[key].tolist() for key in (*LABELS, MISSED)},
        "delta": {
            name: hundredths(table[f"delta_{name}"]) for name in ORACLES if f"delta_{name}" in table
        },
    }


def _counts(model: AlignedModel) -> dict[str, Any]:
    """Count predictions and errors per image, with images in the order of the first detector."""
    order = np.argsort(model.image)
    return {key: model.model.images[key][order].tolist() for key in ("predicted", *LABELS, MISSED)}


def _curves(model: PageModel, place: IntArray) -> dict[str, Any] | None:
    if model.diagnosis is None:
        return None
    found = {}
    diagnosis = model.diagnosis
    corners_of = curve_corners(diagnosis.ledger, diagnosis.protocol, ORACLES)
    for name, corners in corners_of.items():
        group = place[corners.of_class]
        points = np.stack(
            [
                group,
                np.rint(FINE * corners.recall).astype(np.int64),
                np.rint(FINE * corners.precision).astype(np.int64),
            ]
        )
        points = points[:, (group >= 0) & (corners.recall <= 1)]
        # Corners that coincide after rounding are merged.
        last = np.ones(points.shape[1], dtype=bool)
        for shared in ([0, 1], [0, 2]):
            kept = np.flatnonzero(last)
            same = (points[:, kept][shared][:, 1:] == points[:, kept][shared][:, :-1]).all(axis=0)
            last[kept[:-1][same]] = False
        points = points[:, last]
        start = np.searchsorted(points[0], np.arange(place.max() + 2))
        found[name] = {
            "start": start.tolist(),
            "recall": points[1].tolist(),
            "precision": points[2].tolist(),
        }
    return found


def _thresholds(models: Sequence[PageModel]) -> dict[str, Any] | None:
    """Count the predictions of each label and class at or above each threshold."""
    ranked = [
        each.diagnosis
        for each in models
        if each.diagnosis is not None
        and each.diagnosis.answers is None
        and len(each.diagnosis.ledger.row_score)
    ]
    if not ranked:
        return None
    levels = np.linspace(0, 1, STEPS // (2 * len(ranked)) + 1)
    grid = [np.zeros(0)]
    for each in ranked:
        ledger = each.ledger
        for scores in (ledger.row_score, ledger.row_score[ledger.true]):
            if len(scores):
                grid.append(np.quantile(scores, levels))
        if each.best_threshold is not None:
            grid.append(np.array([each.best_threshold]))
    # Scores are rounded down to a few digits, so that the lowest threshold keeps all predictions.
    found = np.concatenate(grid)
    exponent = np.floor(np.log10(np.maximum(np.abs(found), 1e-300))) - 2
    rounded = np.floor(found / 10**exponent + 1e-9) * 10**exponent
    best = [each.best_threshold for each in ranked if each.best_threshold is not None]
    shown = np.unique([float(f"{value:.3g}") for value in rounded.tolist()] + best)
    return {
        "score": shown.tolist(),
        "models": [_kept(each.diagnosis, shown) for each in models],
    }


def _kept(diagnosis: Diagnosis | None, scores: FloatArray) -> list[list[int]] | None:
    if diagnosis is None or diagnosis.answers is not None:
        return None
    place, steps = _class_places(diagnosis), len(scores) + 1
    classes = int(place.max()) + 1
    counts = np.zeros(len(LABELS) * classes * steps, dtype=np.int64)
    for _, part in diagnosis.ledger.parts():
        # Number of thresholds that each prediction reaches.
        reached = np.searchsorted(scores, part.row_score, side="right")
        group = place[part.row_class]
        cell = (part.row_label.astype(np.int64) * classes + group) * steps + reached
        counts += np.bincount(cell[group >= 0], minlength=len(counts))
    table = counts.reshape(len(LABELS), classes, steps)[:, :, ::-1].cumsum(axis=2)[:, :, -2::-1]
    return [each.ravel().tolist() for each in table]


def _slice_data(slices: Slices, images: Sequence[str]) -> dict[str, Any]:
    """Return the columns of the slice sheet, and one digit per slice and image.

    The digit is "1" if predictions of the image can belong to the slice.
    """
    place = {name: at for at, name in enumerate(slices.images)}
    # Images without names have the same indices in the slices and on the page.
    named = len(place) == len(slices.images)
    order = np.array([place[name] for name in images]) if named else np.arange(len(images))
    names = [in_unicode(f"{each.title}: {each.name}") for each in slices.slices]
    tables = {table.key: table for table in slice_tables(slices.to_dict())}
    titles = {"slices": "{}", "slice_deltas": "ΔmAP {}"}
    if len(slices.labels) > 1:
        titles = {"slices": "mAP {}", "slice_differences": f"{{}} minus {slices.labels[0]}"}
    columns = [column for key, title in titles.items() for column in _columns(tables[key], title)]
    if len(slices.labels) > 2:
        # Intervals of many models take too much room in the slice sheet; the tables on the page
        # show these intervals.
        columns = [column for column in columns if column["kind"] != "text"]
    return {
        "columns": [{"key": "name", "title": "Slice", "kind": "name", "values": names}, *columns],
        "images": [
            "".join(map(str, each.members[order].astype(int).tolist())) for each in slices.slices
        ],
    }


def _columns(table: Table, title: str) -> Iterator[dict[str, Any]]:
    """Yield the columns of a table without its first row, which is for all images."""
    for column, (_, *cells) in zip(
        table.columns, zip(*(row.cells for row in table.rows), strict=True), strict=True
    ):
        # Cells with intervals have a text, but no value.
        figures = any(cell.value is not None for cell in cells)
        named = figures and column.unit != "count"
        yield {
            "key": f"{table.key}_{column.title}",
            "title": in_unicode(title.format(column.title) if named else column.title),
            "kind": KINDS[column.unit] if figures else "text",
            "values": [_value(cell, column.unit) if figures else cell.shown for cell in cells],
        }


def _value(cell: Cell, unit: str) -> float | None:
    return cell.value if cell.value is None or unit == "count" else round(1e4 * cell.value)
