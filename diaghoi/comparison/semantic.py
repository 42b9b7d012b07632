"""Comparison of the semantic evaluations of several detectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diaghoi.comparison.comparable import (
    check_comparable,
    number_of_images,
    shared_notes,
    shared_signature,
)
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.results import Result, figure, part, text
from diaghoi.comparison.study import StudyModel
from diaghoi.comparison.tables import table_of
from diaghoi.data.protocol import phrases_of
from diaghoi.data.table import Cell, Column, Table, shown
from diaghoi.evaluation.means import TITLES
from diaghoi.exceptions import InputError

FIGURES = {"map": "mAP", "soft_map": "Soft mAP", "mf1": "mF1"}
RATES = {"gt_miss_rate": "GT", "prediction_miss_rate": "Prediction"}
# Keys of a measure that detectors without scores lack, and keys derived from other keys.
OF_SCORES = ("scores", "signature", "threshold", "soft_ap")


def compare_semantic(results: Sequence[Result], models: Sequence[StudyModel]) -> Comparison:
    """Compare the semantic evaluations of detectors.

    Parameters
    ----------
    results : sequence of mapping
        As from :meth:`diaghoi.semantic.SemanticEvaluation.to_dict`.
    models : sequence of StudyModel
        Descriptions of the models.

    Returns
    -------
    Comparison
        With one table: mAP, soft mAP and mF1 of each split, and the miss rates of annotated
        triplets and of the predictions of mF1. A detector without scores has only mF1 and miss
        rates.

    Raises
    ------
    InputError
        If data sets, protocols, measures or similarity tables differ, or a result cannot be used.
    """
    results = [
        {**result, "label": model.label} for model, result in zip(models, results, strict=True)
    ]
    caveats = [*check_comparable(results)]
    for result in results[1:]:
        _check_same("measures", _measure, results[0], result)
        _check_same("tables of similarity", similarity_tables, results[0], result)
    without = [str(result["label"]) for result in results if not _scored(result)]
    if 0 < len(without) < len(results):
        caveats.append(f"for models without scores, all predictions count ({', '.join(without)})")
    return Comparison(
        dataset=text(results[0], "dataset"),
        protocol=text(results[0], "protocol", "name"),
        signature=shared_signature(results),
        images=number_of_images(results),
        models=tuple(models),
        tables=(_table(models, results),),
        caveats=tuple(caveats),
        notes=shared_notes(results),
    )


def _table(models: Sequence[StudyModel], results: Sequence[Result]) -> Table:
    splits = [*part(results[0], "splits", "mf1")]
    places: list[tuple[Column, tuple[str, ...]]] = [
        (
            Column(
                key=f"{key}.{split}", title=title, better="higher", group=TITLES.get(split, split)
            ),
            ("splits", key, split),
        )
        for split in splits
        for key, title in FIGURES.items()
    ]
    places += [
        (Column(key=key, title=title, better="lower", group="Miss rate"), (key,))
        for key, title in RATES.items()
    ]
    return table_of(
        models,
        [column for column, _ in places],
        [[Cell(value=figure(result, *path)) for _, path in places] for result in results],
        key="semantic",
        title="Semantic evaluation",
        unit="%",
        caption=_caption(results),
    )


def _caption(results: Sequence[Result]) -> str:
    """Describe what the numbers are based on."""
    first = next(filter(_scored, results), results[0])
    number = shown(figure(first, "class_set", "number"), "count")
    sentences = [
        f"Classes: {text(first, 'class_set', 'name')} ({number}); means over the annotated "
        "classes.",
        *measured_by(first),
        *_unlike(first),
        "Miss rate: share of the annotated triplets (GT), and of the predictions of mF1, without "
        "a match.",
    ]
    return "\n".join(sentences)


def measured_by(result: Result) -> list[str]:
    """Describe the measure and the similarity tables of a result, one sentence each."""
    return [
        f"Measure: {'; '.join(phrases_of(text(result, 'measure', 'signature')))}.",
        f"Similarity: {' and '.join(similarity_tables(result))}.",
    ]


def _unlike(result: Result) -> list[str]:
    """Explain how mAP and soft mAP differ for reasons other than similarity."""
    if not _scored(result):
        return []
    differs = result.get("map_differs") or []
    rules = "Soft mAP and mAP have different rules for false positives, so that not all of their"
    return [
        f"{rules} difference is due to similarity.",
        *([f"mAP has {' and '.join(differs)}."] if differs else []),
    ]


def _scored(result: Result) -> bool:
    return bool(part(result, "measure").get("scores"))


def _measure(result: Result) -> list[str]:
    chosen = {"matching": "boxes", **part(result, "measure")}
    return [f"{key} {value}" for key, value in chosen.items() if key not in OF_SCORES]


def similarity_tables(result: Result) -> list[str]:
    """Name the similarity tables of a result, with their sources."""
    return [
        f"{text(result, 'similarity', what, 'name')} ({text(result, 'similarity', what, 'source')})"
        for what in ("verbs", "objects")
    ]


def _check_same(what: str, of: Callable[[Result], list[str]], one: Result, other: Result) -> None:
    mine, its = of(one), of(other)
    if mine != its:
        here, there = ([each for each in a if each not in b] for a, b in ((mine, its), (its, mine)))
        raise InputError(
            f"results with different {what} cannot be compared: '{one['label']}' has "
            f"{', '.join(here)}, '{other['label']}' has {', '.join(there)}; evaluate the models "
            "again with equal settings"
        )
