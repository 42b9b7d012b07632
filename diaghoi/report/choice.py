"""The multiple-choice evaluation of a model as a terminal shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from diaghoi.report.further import Sheet
from diaghoi.report.numbers import UNDEFINED, shown
from diaghoi.report.text import heading, percent, print_line, print_table, sheet_table

Result = Mapping[str, Any]
# Rows of each table of the diagnosis; all are in the JSON.
SHOWN = 10
FIGURES = {
    "instance_f1": "Instance-F1",
    "macro_f1": "Macro-F1",
    "micro_f1": "Micro-F1",
    "micro_precision": "  precision",
    "micro_recall": "  recall",
    "exact_match": "Exact match",
}
WAYS = {
    "letters": "letters",
    "text": "texts of options",
    "none": "none of them",
    "chosen": "chosen options",
    "detected": "detected",
    "refusal": "refusals",
    "empty": "empty",
    "unreadable": "unreadable",
    "missing": "missing",
}


def print_choice(result: Result, console: Console | None = None, *, notes: bool = True) -> None:
    """Print the multiple-choice evaluation of one model.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.choice.ChoiceEvaluation.to_dict`, or read from a JSON file; with
        ``intervals``, ``selection``, ``positions`` and ``distractors`` where these were asked for.
    console : rich.console.Console, optional
        Where to print; by default on stdout.
    notes : bool
        Print the notes, too.
    """
    console = Console(highlight=False) if console is None else console
    print_line(console, f"{heading(result)}, multiple choice", style="bold")
    ways = ", ".join(f"{number:,} {WAYS[how]}" for how, number in result["answers"].items())
    print_line(
        console,
        f"{result['questions']:,} questions on {result['images']:,} images, "
        f"{result['macro_classes']:,} classes; answers: {ways}",
    )
    for sheet in choice_sheets(result):
        console.print()
        print_table(console, sheet_table(sheet))
    if "positions" in result:
        told = result["positions"]
        print_line(
            console,
            "The answers do not tell the order of their options."
            if told is None
            else f"{told['sentence'][:1].upper()}{told['sentence'][1:]}.",
        )
    for note in result["notes"] if notes else ():
        print_line(console, f"Note: {note}")


def choice_sheets(result: Result) -> list[Sheet]:
    """Make the tables of the evaluation of a model."""
    sheets = [_figures(result)]
    if "selection" in result:
        sheets.append(_selection(result["selection"]))
    if "distractors" in result:
        sheets += _distractors(result["distractors"])
    if result.get("positions") is not None:
        sheets.append(_positions(result["positions"]))
    return sheets


def _figures(result: Result) -> Sheet:
    parts = {"": "Overall"} | {
        part: title
        for part, title in (("single", "Single"), ("multi", "Multi"))
        if result[part] is not None
    }
    rows: list[tuple[str, Sequence[str]]] = [
        (title, [percent((result[part] if part else result)[key]) for part in parts])
        for key, title in FIGURES.items()
    ]
    heads = tuple(parts.values())
    caption = ""
    if "intervals" in result:
        how = result["bootstrap"]
        heads += (f"{100 * how['confidence']:g} % of resamples",)
        rows = [
            (title, [*cells, _bounds(result["intervals"].get(key))])
            for (title, cells), key in zip(rows, FIGURES, strict=True)
        ]
        caption = (
            f"Overall, from {how['resamples']:,} resamples of the images, {how['method']}, seed "
            f"{how['seed']}."
        )
    return Sheet("Figures, %", heads, rows, caption)


def _bounds(bounds: Sequence[float] | None) -> str:
    return UNDEFINED if bounds is None else f"{percent(bounds[0])} to {percent(bounds[1])}"


def _selection(found: Result) -> Sheet:
    named = [("All questions", found)] + [
        (f"  {row['right_options']} right", row) for row in found["by_right"]
    ]
    rows: list[tuple[str, Sequence[str]]] = [
        (
            name,
            (
                shown(row["questions"], "count"),
                f"{row['picked']:.2f}",
                *(percent(row[key]) for key in ("right_picked", "wrong_picked", "under", "over")),
            ),
        )
        for name, row in named
    ]
    return Sheet(
        "What is picked",
        (
            "Number",
            "Picked",
            "Of the\nright, %",
            "Of the\nwrong, %",
            "Too few,\n%",
            "Too many,\n%",
        ),
        rows,
        f"Picked options a question, where {found['right']:.2f} are right on average; none are "
        f"picked in {percent(found['empty'])} %.",
    )


def _distractors(found: Result) -> list[Sheet]:
    """Tables of the wrong options that fool the model."""
    sheets = []
    for key, title, name in (
        ("classes", "Wrong options picked most", "class"),
        ("verbs", "Verbs of wrong options", "verb"),
        ("objects", "Objects of wrong options", "object"),
    ):
        rows: list[tuple[str, Sequence[str]]] = [
            (row[name].replace("_", " "), _fooled(row)) for row in found[key][:SHOWN]
        ]
        sheets.append(Sheet(title, ("Shown", "Picked", "Rate, %"), rows))
    for key, title in (("confused_verbs", "verbs"), ("confused_objects", "objects")):
        rows = [
            (
                f"{row['picked_for']} → {row['right']}".replace("_", " "),
                (*_fooled(row), shown(row["instead"], "count")),
            )
            for row in found[key][:SHOWN]
        ]
        sheets.append(
            Sheet(
                f"Confusions of {title}",
                ("Shown", "Picked", "Rate, %", "Instead"),
                rows,
                f"Wrong → right option{' of the same object' if title == 'verbs' else ''}. "
                "Instead: the right one was not picked.",
            )
        )
    return [sheet for sheet in sheets if sheet.rows]


def _fooled(row: Result) -> tuple[str, str, str]:
    return shown(row["shown"], "count"), shown(row["picked"], "count"), percent(row["rate"])


def _positions(found: Result) -> Sheet:
    rows: list[tuple[str, Sequence[str]]] = [
        (
            row["position"],
            (
                shown(row["shown"], "count"),
                shown(row["picked"], "count"),
                shown(row["expected"], "number"),
                shown(row["excess"], "points"),
                UNDEFINED if row["p_holm"] is None else f"{row['p_holm']:.3f}",
            ),
        )
        for row in found["positions"]
    ]
    return Sheet(
        "Position",
        ("Shown", "Picked", "Expected", "Excess, %", "p, corrected"),
        rows,
    )
