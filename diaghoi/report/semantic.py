"""The semantic evaluation of a detector as a terminal shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from diaghoi.cases.similarities import COMPARED, NEAR, PLAUSIBLE, Similarities
from diaghoi.data.protocol import phrases_of
from diaghoi.evaluation.means import TITLES
from diaghoi.report.further import Sheet
from diaghoi.report.numbers import shown
from diaghoi.report.text import (
    counts_line,
    heading,
    percent,
    print_line,
    print_table,
    sheet_table,
    wrapped,
)

Result = Mapping[str, Any]
# Confusions and classes that a report shows; all are in the JSON.
SHOWN = 10


def print_semantic(
    result: Result, console: Console | None = None, *, classes: int = 0, notes: bool = True
) -> None:
    """Print the semantic evaluation of one detector.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.semantic.SemanticEvaluation.to_dict`, or read from a JSON file.
    console : rich.console.Console, optional
        Where to print; by default on stdout.
    classes : int
        How many classes to list: those that gain most from similarity.
    notes : bool
        Print the notes, too.
    """
    console = Console(highlight=False) if console is None else console
    print_line(console, f"{heading(result)}, semantic evaluation", style="bold")
    print_line(console, f"{counts_line(result)}, {result['counts']['classes']:,} classes")
    for sheet in semantic_sheets(result, classes):
        console.print()
        print_table(console, sheet_table(sheet))
    console.print()
    for line in table_lines(result):
        print_line(console, line)
    for title, signature in (
        ("Measure", result["measure"]["signature"]),
        (f"Protocol {result['protocol']['name']}", result["protocol"]["signature"]),
    ):
        first, *rest = phrases_of(signature)
        for line in wrapped([f"{title}: {first}", *rest], console):
            print_line(console, line)
    for note in result["notes"] if notes else ():
        print_line(console, f"Note: {note}")


def table_lines(result: Result) -> list[str]:
    """Name the tables of similarity, where they come from, and how many words they cover."""
    return [
        f"Similarity of {what}: {table['name']}, {table['source']}; covers {table['covered']:,} "
        f"of {table['words']:,} {what}"
        for what, table in result["similarity"].items()
    ]


def similarity_in_words(similarities: Similarities) -> str:
    """Say what action and object errors are compared by, and which kinds of them there are."""
    tables = ", ".join(
        f"{what} by the table {table['name']} ({table['source']})"
        for what, table in similarities.tables.items()
    )
    return (
        "Action and object errors tell their similarity to what is annotated there (other classes "
        "at both boxes; where predictions are matched by the person, what that person does), "
        f"{similarities.sigma}: {tables}. Near from {NEAR:g}, plausible above {PLAUSIBLE:g}, or "
        "else wrong."
    )


def semantic_sheets(result: Result, classes: int = 0) -> list[Sheet]:
    """Make the tables of a semantic evaluation; classes are left out where 0 are asked for."""
    sheets = [_figures(result), _rates(result)]
    if classes:
        sheets.append(_classes(result["classes"], classes))
    if result.get("diagnosis") is not None:
        sheets += _diagnosis(result["diagnosis"])
    return sheets


def _figures(result: Result) -> Sheet:
    splits = list(result["splits"]["mf1"])
    names = {"soft_map": "Soft mAP", "map": "mAP, exact matching", "mf1": "Soft mF1"}
    rows: list[tuple[str, Sequence[str]]] = [
        (name, [percent(result["splits"][key][split]) for split in splits])
        for key, name in names.items()
    ]
    return Sheet("Figures, %", tuple(TITLES.get(split, split) for split in splits), rows)


def _rates(result: Result) -> Sheet:
    tau = result["measure"]["tau"]
    rows: list[tuple[str, Sequence[str]]] = [
        (name, [percent(result[f"{key}{ending}"]) for ending in ("", "_all_predictions")])
        for key, name in (
            ("gt_miss_rate", "Annotated triplets without prediction"),
            ("prediction_miss_rate", "Predictions without annotated triplet"),
        )
    ]
    number = result["counts"]["predicted_triplets_of_mf1"]
    caption = f"mF1 counts {number:,} predictions"
    if result["measure"]["scores"]:
        caption += f", those with a score rank of at least {tau:g}"
    return Sheet("Miss rates, %", ("As in mF1", "All predictions"), rows, f"{caption}.")


def _classes(classes: Sequence[Result], number: int) -> Sheet:
    ranked = sorted(classes, key=lambda one: (one["ap"] or 0) - (one["soft_ap"] or 0))[:number]
    rows: list[tuple[str, Sequence[str]]] = [
        (
            one["name"],
            (
                shown(one["annotated"], "count"),
                percent(one["soft_ap"]),
                percent(one["ap"]),
                percent(one["f1"]),
            ),
        )
        for one in ranked
    ]
    return Sheet("Gain most by similarity, %", ("Annotated", "Soft AP", "AP", "Soft F1"), rows)


def _diagnosis(found: Result) -> list[Sheet]:
    """Tables of what action and object errors mean."""
    head = ("Count", "Share, %", "ΔmAP", "Of ΔmAP, %")
    sheets = []
    for error in (name for name in COMPARED if name in found):
        rows: list[tuple[str, Sequence[str]]] = [
            (
                kind["title"],
                (
                    shown(kind["count"], "count"),
                    percent(kind["share"]),
                    shown(kind["delta_map"], "points"),
                    percent(kind["delta_share"]),
                ),
            )
            for kind in found[error]["kinds"]
            if kind["count"]
        ]
        total = shown(found[error]["delta_map"], "points")
        caption = (
            f"Compared with {found[error]['compared_with']}.\n"
            f"ΔmAP: Shapley values, which add up to the {total} of all of them."
        )
        if rows:
            sheets.append(Sheet(found[error]["title"], head, rows, caption))
    verbs: list[tuple[str, Sequence[str]]] = [
        (
            one["verb"],
            (
                shown(one["count"], "count"),
                *(percent(one["shares"][kind]) for kind in ("near", "plausible", "wrong")),
                shown(one["delta_map"], "points"),
            ),
        )
        for one in found["verbs"][:SHOWN]
    ]
    if verbs:
        sheets.append(
            Sheet(
                "Annotated verbs",
                ("Errors", "Near, %", "Plausible, %", "Wrong, %", "ΔmAP"),
                verbs,
                "Action errors where a triplet of the verb is annotated; ΔmAP of repairing them.",
            )
        )
    sheets += [
        _confusions(what, found[key])
        for what, key in (("verbs", "confusions"), ("objects", "object_confusions"))
        if found[key]
    ]
    return sheets


def _confusions(what: str, found: Sequence[Result]) -> Sheet:
    rows: list[tuple[str, Sequence[str]]] = [
        (
            f"{one['predicted']} → {one['annotated']}",
            (
                shown(one["count"], "count"),
                f"{one['similarity']:.2f}",
                shown(one["delta_map"], "points"),
            ),
        )
        for one in found[:SHOWN]
    ]
    return Sheet(
        f"Confusions of {what} that cost most",
        ("Count", "Similarity", "ΔmAP"),
        rows,
        f"Predicted → annotated; the similarity is that of the {what}.",
    )
