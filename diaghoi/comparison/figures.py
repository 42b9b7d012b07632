"""Lay out the numbers of results for a comparison, table by table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, product

from diaghoi.comparison.comparable import owners
from diaghoi.comparison.results import (
    CHANGED,
    PRECISION,
    Result,
    actions_remark,
    by_person,
    classes_in,
    error_count,
    figure,
    known_object_remark,
    leaving,
    means_found_classes,
    only_interactions,
    part,
    text,
)
from diaghoi.comparison.study import StudyModel
from diaghoi.comparison.tables import table_of
from diaghoi.data.arrays import ratio
from diaghoi.data.table import Better, Cell, Column, Table, Unit
from diaghoi.diagnosis.variants import variant_title
from diaghoi.evaluation.means import TITLES
from diaghoi.measures import MEASURES, Measure, of_table
from diaghoi.measures.measure import FULL, SPLIT
from diaghoi.oracles import ORACLES, TOTALS, error_title
from diaghoi.oracles.localised import LEFT_OUT, PUBLISHED, reading_by_pair

Value = Callable[[Result], float | None]
_RANDOM = (
    "The AP of a random order is the share of negatives, which rises as a detector finds fewer "
    "annotated pairs, so no value is marked as best."
)
# ``Figure``: a column, and a function that finds the number of the column in a result.
# ``Contents``: the columns and the texts of a table.
Figure = tuple[Column, Value]
Contents = tuple[Sequence[Figure], dict[str, str]]
HEADINGS = {
    "official": "Official mAP",
    "map": "mAP",
    "delta_map": "ΔmAP",
    "localised": "ΔmAP on found pairs",
    "errors": "Number of predictions",
    "error_shares": "Share of predictions",
    "pairs": "Pairs",
    "negatives_actions": "Negatives and actions",
    "shortcuts": "Lift over priors",
    "with": "With",
    "difference": "Difference in mAP",
    "annotated": "Annotated triplets found",
    "shares": "Where the difference lies",
    "slice_search": "Slices with other differences",
    "slices": "mAP in slices",
    "slice_differences": "Difference in mAP in slices",
    "slice_parts": "Pair recall and F1 in slices",
}
"""Start of the title of each table, by the start of the table's key."""
OF_VARIANTS = ("pairs.per_image", "pairs.{}.recall", "pairs.{}.precision", "map.{}")
"""The numbers of a variant of a run."""
CHANGE: dict[Unit, Unit] = {"number": "change", "percent": "points"}
# Parts that every result has.
PARTS = ("official", "map", "max_recall", "oracles", "errors", "pairs", "negatives", "actions")


def comparison_tables(models: Sequence[StudyModel], results: Sequence[Result]) -> tuple[Table, ...]:
    """Create the tables that compare several detectors.

    Parameters
    ----------
    models : sequence of StudyModel
        The detectors.
    results : sequence of mapping
        One result of :meth:`diaghoi.Diagnosis.to_dict` for each model, on one data set and
        protocol.

    Returns
    -------
    tuple of Table
        ``official`` (if the data set has a benchmark), ``map``, ``delta_map_full`` and the same for
        each other split, ``localised`` (if all results have it), ``errors``, ``error_shares``,
        ``pairs`` and ``negatives_actions``; ``shortcuts`` if all results have it; and for each
        variant that all results have, such as ``pair NMS 0.7``, ``with_pair_nms_0.7``.

    Raises
    ------
    InputError
        If a result lacks a part, or a value is not a number.
    """
    first = results[0]
    for result in results:
        for key in PARTS:
            part(result, key)
    splits = list(part(first, "map"))
    pairs = [split for split in splits if split != "harmonic"]
    contents = [
        *([_official(results)] if part(first, "official") else []),
        _mean_ap(results, splits),
        *(_delta_map(results, split) for split in splits),
        *([_localised(results)] if all("localised" in result for result in results) else []),
        _errors(results, shares=False),
        _errors(results, shares=True),
        _pairs(results, pairs),
        _negatives_actions(results, pairs),
        *([_shortcuts(results)] if all("shortcuts" in result for result in results) else []),
        *(_variant(name, models, results) for name in _shared_variants(results)),
    ]
    return tuple(
        table_of(
            models,
            [column for column, _ in figures],
            [[Cell(value=value(result)) for _, value in figures] for result in results],
            **texts,
        )
        for figures, texts in contents
    )


def split_title(split: str) -> str:
    """Return the display name of a split."""
    return TITLES.get(split, split)


def _at(*keys: str) -> Value:
    return lambda result: figure(result, *keys)


def _numbers_of(table: str, results: Sequence[Result], splits: Sequence[str]) -> list[Figure]:
    """List the columns of a registry table, each with the path of its number in a result."""
    first, columns = results[0], []
    for group, neighbours in groupby(_measures(table, first), key=lambda measure: measure.group):
        pairs = [(each, split) for each in neighbours for split in _splits(each, first, splits)]
        if group == SPLIT:
            pairs.sort(key=lambda pair: splits.index(pair[1]))
        columns += [_number(measure, split, splits, first) for measure, split in pairs]
    return columns


def _measures(table: str, result: Result) -> list[Measure]:
    """List the measures of a table for which a result has numbers."""
    return [
        measure
        for measure in of_table(table)
        if measure.dataset in ("", text(result, "dataset"))
        and part(result, *measure.keys()[:-1], needed=False)
    ]


def _splits(measure: Measure, result: Result, splits: Sequence[str]) -> list[str]:
    """Return the groups of classes that a measure has: those in the result, or the usual groups."""
    if measure.path.endswith(SPLIT):
        beside = part(result, *measure.keys()[:-1])
        return [split for split, value in beside.items() if not isinstance(value, str | Mapping)]
    return measure.splits(splits)


def _number(measure: Measure, split: str, splits: Sequence[str], result: Result) -> Figure:
    keys = measure.keys(split)
    inside = keys[1:] if keys[0] == measure.table != "map" else keys
    title, group = measure.named(measure.short or measure.title, result), measure.group
    if group == SPLIT:
        group = split_title(split) if len(splits) > 1 else ""
    elif measure.by_split and (group or len(splits) > 1):
        group = group or title
        title = measure.short if measure.group and split == FULL else ""
        title = title or split_title(split)
    column = Column(
        key=".".join(inside if measure.by_split else [key for key in inside if key != FULL]),
        title=title,
        unit=measure.unit,
        better=measure.better,
        group=group,
    )
    return column, _at(*keys)


def _official(results: Sequence[Result]) -> Contents:
    official = part(results[0], "official")
    caption = "Computed by the rules of the data set's benchmark, independent of the protocol."
    if "agent" in official:
        caption = "The columns with one role fewer omit the role 'point'."
    sources = {
        text(result, "official", "known_object", "source")
        for result in results
        if "known_object" in official
    }
    if len(sources) == 1:
        caption += f"\n{known_object_remark(sources.pop())}"
    of = " of the interactions" if all(map(only_interactions, results)) else ""
    columns = _numbers_of("official", results, ())
    return columns, _texts("official", caption, f"{HEADINGS['official']}{of}")


def _mean_ap(results: Sequence[Result], splits: Sequence[str]) -> Contents:
    columns = _numbers_of("map", results, splits)
    caption = "Means of AP and of the highest recall over the classes of the protocol."
    if means_found_classes(results[0]):
        of_each = ", ".join(f"{text(each, 'label')} {_numbers(each, splits)}" for each in results)
        caption += (
            "\nClasses without a true positive are omitted, which raises the mean. Models may omit "
            f"different classes, so no value is marked as best: {of_each}."
        )
        # The values of two models may be means over different classes.
        columns = [(replace(column, better=None), value) for column, value in columns]
    title = f"{HEADINGS['map']} under {text(results[0], 'protocol', 'name')}"
    return columns, _texts("map", caption, title)


def _numbers(result: Result, splits: Sequence[str]) -> str:
    """Describe the number of classes in the means of a result: ``217 classes (10 rare)``."""
    number = {split: figure(result, "counts", "classes_in_mean", split) for split in splits}
    parts = [
        f"{int(of_split)} {split_title(split).lower()}"
        for split, of_split in number.items()
        if split != "full" and of_split is not None
    ]
    return classes_in(result, "classes_in_mean") + (f" ({', '.join(parts)})" if parts else "")


def _delta_map(results: Sequence[Result], split: str) -> Contents:
    names = _oracles(results)
    classes = "" if split == "full" else f" ({split_title(split)})"
    return _costs(
        results,
        {name: _at("oracles", name, "delta_map", split) for name in names},
        leaving(results, names, split),
        "Cost of errors: gain in mAP when all errors of one kind are repaired."
        f"{_published(results)}",
        f"delta_map_{split}",
        f"{HEADINGS['delta_map']}{classes}",
    )


def _localised(results: Sequence[Result]) -> Contents:
    """Lay out the costs of errors on found pairs."""
    pairing = "person" if by_person(results[0]) else "triplet"
    values = {}
    for name in _oracles(results):
        if name not in TOTALS:
            other = all(name in part(result, "localised") for result in results)
            values[name] = _at("localised" if other else "oracles", name, "delta_map", "full")
    return _costs(
        results,
        values,
        leaving(results, ["missed_gt"], counted="leave_mean_by_pair"),
        f"Cost of errors on found pairs: {reading_by_pair(pairing)}.",
        "localised",
    )


def _costs(
    results: Sequence[Result],
    values: Mapping[str, Value],
    gone: str,
    caption: str,
    key: str,
    title: str = "",
) -> Contents:
    """Lay out the costs of errors, and explain their side effects."""
    better: Better | None = "lower"
    if gone:
        caption += (
            f"\nThe repair leaves classes without annotated triplets ({gone}): these classes drop "
            "out of the mean, which explains part of the gain."
        )
    if means_found_classes(results[0]):
        better = None
        caption += (
            f"\n{CHANGED}\nThe means of models may cover different classes, so no value is marked."
        )
    return [
        (Column(key=name, title=error_title(name), unit="points", better=better), value)
        for name, value in values.items()
    ], _texts(key, caption, title) | {
        "unit": "percentage points",
        "best": "for ΔmAP, the smallest of its column: the model that loses least to the error",
    }


def _published(results: Sequence[Result]) -> str:
    """Explain what the published rule of V-COCO calls an association."""
    return f"\nBy the published rule: {PUBLISHED}." if by_person(results[0]) else ""


def _oracles(results: Sequence[Result]) -> list[str]:
    """List the oracles of all results, with the package's oracles first."""
    names = dict.fromkeys(name for result in results for name in part(result, "oracles"))
    known = [name for name in ORACLES if name in names]
    return known + [name for name in names if name not in ORACLES]


def _errors(results: Sequence[Result], *, shares: bool) -> Contents:
    def value(result: Result, name: str) -> float | None:
        counted = error_count(result, name)
        return None if counted is None else ratio(*counted) if shares else counted[0]

    names = [*part(results[0], "errors"), *TOTALS]
    caption = "Numbers of predicted triplets; missed and false negative count annotated triplets."
    caption += _published(results)
    if "ignored" in names:
        caption += (
            "\nIgnored: predictions on people without annotated actions; no other column counts "
            "these predictions."
        )
    texts = _texts("errors", caption) | {"unit": ""}
    if shares:
        names = [name for name in names if name != "ignored"]
        caption = (
            "Shares of predicted triplets; missed and false negative are shares of "
            "annotated triplets."
        )
        texts = _texts("error_shares", caption)
    unit: Unit = "percent" if shares else "count"
    return [
        (Column(key=name, title=error_title(name), unit=unit), partial(value, name=name))
        for name in names
    ], texts


def _pairs(results: Sequence[Result], splits: Sequence[str]) -> Contents:
    columns = _numbers_of("pairs", results, splits)
    better: Better | None = None if means_found_classes(results[0]) else "higher"
    columns.append((Column(key="map", title="mAP", better=better), _at("map", "full")))
    caption = (
        "Recall and precision of predicted pairs, whatever their verbs; mAP of the protocol.\n"
    )
    caption += f"{PRECISION}\n" if len(splits) > 1 else ""
    return columns, _texts("pairs", caption + _sources(results))


def _sources(results: Sequence[Result]) -> str:
    """Describe the source of each model's pairs."""
    origins = {"pairs": "as listed by", "triplets": "taken from the triplets of"}

    def origin(result: Result) -> str:
        source = str(part(result, "pairs").get("source"))
        return origins.get(source, f"{source} of")

    named = owners(results, origin)
    if len(named) == 1:
        return f"Pairs: {next(iter(named))} the detectors."
    sources = "; ".join(f"{source} {', '.join(labels)}" for source, labels in named.items())
    return f"Pairs: {sources}."


def _negatives_actions(results: Sequence[Result], splits: Sequence[str]) -> Contents:
    own = f": {LEFT_OUT}" if by_person(results[0]) else ""
    columns = _numbers_of("negatives_actions", results, splits)
    published = any(column.key == "negatives.ap_published" for column, _ in columns)
    caption = (
        "AP of rejecting pairs that match no annotated pair"
        f"{' (as published: at most 91.82)' if published else ''}; action mAP on found pairs"
        f"{own}.\n{_RANDOM}\n{actions_remark(results)}"
    )
    return columns, _texts("negatives_actions", caption)


def _shortcuts(results: Sequence[Result]) -> Contents:
    """Lay out how far the mAP of models exceeds that of verb priors."""
    columns = _numbers_of("shortcuts", results, ())
    columns.append((Column(key="map", title="mAP", better="higher"), _at("map", "full")))
    caption = (
        "Prior: mAP of the model's pairs if verbs are scored by their frequency in annotations, "
        "either with the object of the pair or with any object.\nLift: mAP minus the prior, in "
        "percentage points."
    )
    return columns, _texts("shortcuts", caption)


def _shared_variants(results: Sequence[Result]) -> list[str]:
    """List the variants that all results have."""
    first, *others = (part(result, "variants", needed=False) for result in results)
    return [name for name in first if all(name in other for other in others)]


def _variant(name: str, models: Sequence[StudyModel], results: Sequence[Result]) -> Contents:
    """Lay out a variant of the runs, as in the right halves of the paper's tables 5 and 6."""
    columns = []
    for inside, measure in product(((), ("difference",)), map(MEASURES.__getitem__, OF_VARIANTS)):
        keys = (*inside, *measure.keys())
        column = Column(
            key=".".join(keys),
            title=measure.short or measure.title,
            unit=CHANGE[measure.unit] if inside else measure.unit,
            better=None if inside else measure.better,
            group="Change" if inside else "",
        )
        columns.append((column, _at("variants", name, *keys)))
    found = [part(result, "variants", name) for result in results]
    title = variant_title(name, found)
    caption = (
        "Predicted pairs and mAP of the protocol, with their change from the unmodified detectors."
    )
    lacking = [
        model.label for model, each in zip(models, found, strict=True) if each.get("of_pair_scores")
    ]
    if lacking:
        caption += (
            "\nThe threshold applies to pair scores if a file has no detection scores: "
            f"{', '.join(lacking)}."
        )
    key = f"with_{title.lower().replace(' ', '_')}"
    return columns, _texts(key, caption, f"{HEADINGS['with']} {title}")


def _texts(key: str, caption: str, title: str = "") -> dict[str, str]:
    return {"key": key, "title": title or HEADINGS[key], "unit": "%", "caption": caption}
