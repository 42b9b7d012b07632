"""The report that a terminal shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from diaghoi.oracles import ORACLES

SPLITS = {"full": "Full", "rare": "Rare", "non_rare": "Non-rare"}
Result = Mapping[str, Any]


def percent(value: float | None, *, signed: bool = False) -> str:
    """Show a fraction in percent with two decimals; a dash for None."""
    if value is None:
        return "–"
    shown = f"{100 * value:{'+' if signed else ''}.2f}"
    # A difference that rounds to nothing has no sign.
    return shown.lstrip("+-") if float(shown) == 0 else shown.replace("-", "−")


def print_report(result: Result, console: Console) -> None:
    """Print the report of one detector.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.
    console : rich.console.Console
        Where to print.
    """
    counts = result["counts"]
    title = result["label"] or "Predictions"
    console.print(Text(f"{title} on {result['dataset']}", style="bold"))
    console.print(
        f"{counts['images']:,} images, {counts['annotated_triplets']:,} annotated triplets, "
        f"{counts['predicted_triplets']:,} predicted triplets, "
        f"{counts['predicted_pairs']:,} predicted pairs"
    )
    console.print(f"Protocol {result['protocol']['name']}: {result['protocol']['signature']}")
    for table in (_mean_ap(result), _errors(result), _halves(result)):
        console.print()
        console.print(table)
    for note in result["notes"]:
        console.print(Text(f"Note: {note}"))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    return table


def _mean_ap(result: Result) -> Table:
    table = _table("Mean average precision, %", "", *SPLITS.values())
    official = result["official"]
    source = official["known_object"]["source"]
    for name, scores in (
        ("Official, Default", official["default"]),
        (f"Official, Known Object ({source})", official["known_object"]),
        (f"mAP ({result['protocol']['name']})", result["map"]),
        ("Mean of the highest recall", result["max_recall"]),
    ):
        table.add_row(name, *(percent(scores[split]) for split in SPLITS))
    return table


def _errors(result: Result) -> Table:
    table = _table(
        "Errors, and what repairing each would gain",
        "",
        "Count",
        "Share, %",
        *(f"ΔmAP {name}" for name in SPLITS.values()),
    )
    errors = result["errors"]
    predicted = result["counts"]["predicted_triplets"]
    annotated = result["counts"]["annotated_triplets"]
    table.add_row("True positive", *_share(errors["true_positive"], predicted), *[""] * len(SPLITS))
    for name, outcome in result["oracles"].items():
        if name == "false_positive":
            table.add_section()
            wrong = predicted - errors["true_positive"]
            share = _share(wrong, predicted)
        elif name == "false_negative":
            share = _share(annotated - errors["true_positive"], annotated)
        elif name == "missed_gt":
            share = _share(errors[name], annotated)
        else:
            share = _share(errors[name], predicted)
        title = ORACLES[name].title if name in ORACLES else name
        delta = (percent(outcome["delta_map"][split], signed=True) for split in SPLITS)
        table.add_row(title, *share, *delta)
    table.caption = "Share of predictions; of annotations for missed and false negative."
    table.caption_justify = "left"
    return table


def _share(part: int, whole: int) -> tuple[str, str]:
    return f"{part:,}", percent(part / whole if whole else None)


def _halves(result: Result) -> Table:
    table = _table("The two halves of the detector, %", "", "")
    pairs, negatives, actions = result["pairs"], result["negatives"], result["actions"]
    per_image = pairs["per_image"]
    for name, value in (
        ("Pair recall", percent(pairs["recall"])),
        ("Pair precision", percent(pairs["precision"])),
        ("Pairs an image", "–" if per_image is None else f"{per_image:.1f}"),
        ("Human recall", percent(pairs["human_recall"])),
        ("Object recall", percent(pairs["object_recall"])),
        ("AP of rejecting pairs without interaction", percent(negatives["ap"])),
        ("  as published (a perfect detector has 91.82)", percent(negatives["ap_published"])),
        ("Action mAP on localised pairs", percent(actions["map"])),
    ):
        table.add_row(name, value)
    return table
