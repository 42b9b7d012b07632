"""The report that a terminal shows and a log file keeps: at most 80 columns, no colour needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from diaghoi.oracles import ORACLES
from diaghoi.report.verdict import verdict

SPLITS = {"full": "Full", "rare": "Rare", "non_rare": "Non-rare"}
# Widths that make the splits of all tables stand below one another.
NAME, COUNT, SPLIT, GAP = 40, 10, 9, 3
Result = Mapping[str, Any]


def percent(value: float | None, *, signed: bool = False) -> str:
    """Show a fraction in percent with two decimals; a dash for None."""
    if value is None:
        return "–"
    shown = f"{100 * value:{'+' if signed else ''}.2f}"
    # A difference that rounds to nothing has no sign.
    return shown.lstrip("+-") if float(shown) == 0 else shown.replace("-", "−")


def print_report(result: Result, console: Console, *, notes: bool = True) -> None:
    """Print the report of one detector.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.
    console : rich.console.Console
        Where to print.
    notes : bool
        Print the notes, too.
    """
    counts, protocol = result["counts"], result["protocol"]
    title = f"{result['label'] or 'Predictions'} on {result['dataset']} ({protocol['name']})"
    _print(console, title, style="bold")
    _print(console, verdict(result))
    _print(
        console,
        f"{counts['images']:,} images, {counts['annotated_triplets']:,} annotated and "
        f"{counts['predicted_triplets']:,} predicted triplets",
    )
    for table in (_mean_ap(result), _errors(result), _parts(result)):
        console.print()
        console.print(table)
    _print(console, _pairs_line(result))
    console.print()
    choices = protocol["signature"].split(" | ")
    for line in wrapped([f"Protocol {protocol['name']}: {choices[0]}", *choices[1:]], console):
        _print(console, line)
    for note in result["notes"] if notes else []:
        _print(console, f"Note: {note}")


def wrapped(parts: list[str], console: Console) -> list[str]:
    """Join parts with `` | `` to lines that fit the console; no part is broken."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]} | {part}"
        if len(longer) <= console.width - 2:
            lines[-1] = longer
        else:
            lines[-1] += " |"
            lines.append(f"  {part}")
    return lines


def _print(console: Console, line: str, style: str = "") -> None:
    # As Text, square brackets in names are not taken for markup.
    console.print(Text(line, style=style))


def _table(title: str, columns: Mapping[str, int]) -> Table:
    """Make an empty table: its title heads the first column, numbers stand right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    numbers = sum(width + GAP for width in columns.values())
    total = NAME + len(SPLITS) * (SPLIT + GAP)
    table.add_column(title, min_width=total - numbers, vertical="bottom")
    for column, width in columns.items():
        table.add_column(column, justify="right", min_width=width, vertical="bottom")
    return table


def _mean_ap(result: Result) -> Table:
    table = _table("mAP, %", dict.fromkeys(SPLITS.values(), SPLIT))
    official = result["official"]
    source = official["known_object"]["source"]
    for name, scores in (
        ("Official, Default", official["default"]),
        (f"Official, Known Object ({source})", official["known_object"]),
        (f"Protocol {result['protocol']['name']}", result["map"]),
        ("  mean of the highest recalls", result["max_recall"]),
    ):
        table.add_row(name, *(percent(scores[split]) for split in SPLITS))
    return table


def _errors(result: Result) -> Table:
    splits = {f"ΔmAP\n{name}": SPLIT for name in SPLITS.values()}
    table = _table("Errors", {"Count": COUNT, "Share, %": COUNT} | splits)
    table.add_row("True positive", *_count(result, "true_positive"), *[""] * len(SPLITS))
    for name, outcome in result["oracles"].items():
        if name == "false_positive":
            table.add_section()
        title = ORACLES[name].title if name in ORACLES else name
        delta = (percent(outcome["delta_map"][split], signed=True) for split in SPLITS)
        table.add_row(title, *_count(result, name), *delta)
    table.caption = "Share of the predictions; of the annotations for missed and false negative."
    table.caption_justify = "left"
    table.caption_style = ""
    return table


def _count(result: Result, name: str) -> tuple[str, str]:
    """Show how many there are of an error, and their share; nothing for a user's own oracle."""
    errors, counts = result["errors"], result["counts"]
    predicted, annotated = counts["predicted_triplets"], counts["annotated_triplets"]
    if name == "false_positive":
        part, whole = predicted - errors["true_positive"], predicted
    elif name == "false_negative":
        part, whole = annotated - errors["true_positive"], annotated
    elif name in errors:
        part, whole = errors[name], annotated if name == "missed_gt" else predicted
    else:
        return "", ""
    return f"{part:,}", percent(part / whole if whole else None)


def _parts(result: Result) -> Table:
    table = _table("Pairs, negatives, actions, %", dict.fromkeys(SPLITS.values(), SPLIT))
    pairs, negatives, actions = result["pairs"], result["negatives"], result["actions"]
    for name, key in (("Pair recall", "recall"), ("Pair precision", "precision")):
        splits = (percent(pairs[split][key]) for split in ("rare", "non_rare"))
        table.add_row(name, percent(pairs[key]), *splits)
    for name, value in (
        ("  recall of human boxes", pairs["human_recall"]),
        ("  recall of object boxes", pairs["object_recall"]),
        ("Negatives: AP of rejecting other pairs", negatives["ap"]),
        ("  as published, where 91.82 is perfect", negatives["ap_published"]),
        ("Actions: mAP on localised pairs", actions["map"]),
    ):
        table.add_row(name, percent(value))
    return table


def _pairs_line(result: Result) -> str:
    pairs = result["pairs"]
    an_image = "" if pairs["per_image"] is None else f", {pairs['per_image']:.1f} an image"
    source = "as listed by the detector" if pairs["source"] == "pairs" else "those of the triplets"
    return f"{result['counts']['predicted_pairs']:,} predicted pairs{an_image}: {source}."
