"""The report that a terminal shows and a log file keeps: at most 80 columns, no colour needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from diaghoi.comparison.results import error_count, only_interactions
from diaghoi.data.arrays.division import ratio
from diaghoi.data.protocol import phrases_of
from diaghoi.evaluation.means import TITLES as TITLES
from diaghoi.exceptions import number_of, printable
from diaghoi.oracles import ORACLES
from diaghoi.report.further import Sheet, further_sheets
from diaghoi.report.numbers import shown
from diaghoi.report.variants import CAPTION, HEADS, variant_rows
from diaghoi.report.verdict import verdict

# Widths that make the splits of all tables stand below one another.
NAME, COUNT, SPLIT, GAP = 40, 10, 9, 3
WIDTH = NAME + 3 * (SPLIT + GAP)
Result = Mapping[str, Any]


def percent(value: float | None, *, signed: bool = False) -> str:
    """Show a fraction in percent with two decimals; a dash for None."""
    return shown(value, "percent", signed=signed)


def print_report(result: Result, console: Console | None = None, *, notes: bool = True) -> None:
    """Print the report of one detector.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`, or read from a JSON file.
    console : rich.console.Console, optional
        Where to print; by default on stdout. Tables keep their 76 columns on a narrower one, so
        that no number is cut.
    notes : bool
        Print the notes, too.
    """
    console = Console(highlight=False) if console is None else console
    protocol = result["protocol"]
    print_line(console, f"{heading(result)} ({protocol['name']})", style="bold")
    print_line(console, verdict(result))
    print_line(console, counts_line(result))
    for table in report_tables(result):
        console.print()
        print_table(console, table)
    print_line(console, pairs_line(result))
    for table in further_tables(result):
        console.print()
        print_table(console, table)
    console.print()
    choices = phrases_of(protocol["signature"])
    for line in wrapped([f"Protocol {protocol['name']}: {choices[0]}", *choices[1:]], console):
        print_line(console, line)
    for note in result["notes"] if notes else []:
        print_line(console, f"Note: {note}")


def heading(result: Result) -> str:
    """Name the detector and the data set."""
    return f"{result['label'] or 'Predictions'} on {result['dataset']}"


def counts_line(result: Result) -> str:
    """Say how many images and triplets count."""
    counts = result["counts"]
    return (
        f"{number_of('image', counts['images'])}, {counts['annotated_triplets']:,} annotated and "
        f"{number_of('predicted triplet', counts['predicted_triplets'])}"
    )


def report_tables(result: Result) -> tuple[Table, Table, Table]:
    """Make the tables of the report: mAP, errors, and the parts of the detector alone."""
    return _mean_ap(result), _errors(result), _parts(result)


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


def print_line(console: Console, line: str, style: str = "") -> None:
    """Print a line of prose, broken at words where the console is narrower."""
    # As Text, square brackets in names are not taken for markup.
    for part in Text(printable(line), style=style).wrap(console, console.width):
        part.rstrip()
        console.print(part, soft_wrap=True)


def print_table(console: Console, table: Table) -> None:
    """Print a table without trailing blanks, in its whole width also on a narrower console."""
    endless = console.options.update_width(10 * WIDTH)
    needed = console.measure(table, options=endless).maximum
    options = console.options.update_width(max(needed, console.width))
    for row in console.render_lines(table, options):
        line = Text.assemble(*((printable(part.text), part.style or "") for part in row))
        line.rstrip()
        console.print(line, soft_wrap=True)


def _table(title: str, columns: Mapping[str, int]) -> Table:
    """Make an empty table: its title heads the first column, numbers stand right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    numbers = sum(width + GAP for width in columns.values())
    table.add_column(title, min_width=max(WIDTH - numbers, 0), vertical="bottom")
    for column, width in columns.items():
        table.add_column(column, justify="right", min_width=width, vertical="bottom")
    return table


def _splits(result: Result) -> dict[str, str]:
    """Titles of the groups of classes that the result holds."""
    return {split: TITLES.get(split, split) for split in result["map"]}


def _mean_ap(result: Result) -> Table:
    splits = _splits(result)
    table = _table("mAP, %", dict.fromkeys(splits.values(), SPLIT))
    for name, scores in (
        *_official(result),
        (f"Protocol {result['protocol']['name']}", result["map"]),
        ("  mean of the highest recalls", result["max_recall"]),
    ):
        table.add_row(name, *(percent(scores.get(split)) for split in splits))
    known_object = result["official"].get("known_object")
    if known_object is not None:
        _caption(table, f"Known Object: by {known_object['source']}.")
    return table


def _official(result: Result) -> Iterator[tuple[str, Mapping[str, float | None]]]:
    """Name the figures of the benchmark: of HICO-DET's two settings, or of V-COCO."""
    official = result["official"]
    classes = " (interactions)" if only_interactions(result) else ""
    for key, name in (("default", "Default"), ("known_object", "Known Object")):
        if key in official:
            yield f"Official, {name}{classes}", official[key]
    if "agent" in official:
        yield "Official, agent", {"full": official["agent"]["ap"]}
    for key in ("scenario_1", "scenario_2"):
        if key in official:
            scores, roles = official[key], len(official[key]["classes"])
            name = key.replace("_", " ")
            yield f"Official, {name} ({roles} roles)", {"full": scores["ap"]}
            without = {"full": scores["ap_without_point"]}
            yield f"  without point ({roles - 1} roles)", without


def _caption(table: Table, caption: str) -> None:
    table.caption, table.caption_justify, table.caption_style = caption, "left", ""


def _errors(result: Result) -> Table:
    splits = _splits(result)
    heads = {f"ΔmAP\n{name}": SPLIT for name in splits.values()}
    table = _table("Errors", {"Count": COUNT, "Share, %": COUNT} | heads)
    table.add_row("True positive", *_count(result, "true_positive"), *[""] * len(splits))
    for name, outcome in result["oracles"].items():
        if name == "false_positive":
            if "ignored" in result["errors"]:
                table.add_row("Ignored", f"{result['errors']['ignored']:,}", *[""] * len(heads))
            table.add_section()
        title = ORACLES[name].title if name in ORACLES else name
        delta = (percent(outcome["delta_map"][split], signed=True) for split in splits)
        table.add_row(title, *_count(result, name), *delta)
    caption = "Share of the predictions; of the annotations for missed and false negative."
    if "ignored" in result["errors"]:
        caption += "\nIgnored: of people without annotated actions; not among the predictions."
    _caption(table, caption)
    return table


def _count(result: Result, name: str) -> tuple[str, str]:
    """Show how many there are of an error, and their share; nothing for a user's own oracle."""
    counted = error_count(result, name)
    return ("", "") if counted is None else (shown(counted[0], "count"), percent(ratio(*counted)))


def _parts(result: Result) -> Table:
    splits = _splits(result)
    table = _table("Pairs, negatives, actions, %", dict.fromkeys(splits.values(), SPLIT))
    pairs, negatives, actions = result["pairs"], result["negatives"], result["actions"]

    def add(name: str, part: Mapping[str, Any], key: str) -> None:
        others = (part.get(split, {}).get(key) for split in splits if split != "full")
        table.add_row(name, percent(part[key]), *map(percent, others))

    add("Pair recall", pairs, "recall")
    add("Pair precision", pairs, "precision")
    for name, value in (
        ("  recall of human boxes", pairs["human_recall"]),
        ("  recall of object boxes", pairs["object_recall"]),
        ("Negatives: AP of rejecting other pairs", negatives["ap"]),
        ("  as published (at most 91.82)", negatives["ap_published"]),
    ):
        table.add_row(name, percent(value))
    add("Actions: mAP on localised pairs", actions, "map")
    return table


def pairs_line(result: Result) -> str:
    """Say how many pairs there are, and where they come from."""
    pairs = result["pairs"]
    an_image = "" if pairs["per_image"] is None else f", {pairs['per_image']:.1f} an image"
    source = "as listed by the detector" if pairs["source"] == "pairs" else "those of the triplets"
    number = number_of("predicted pair", result["counts"]["predicted_pairs"])
    return f"{number}{an_image}: {source}."


def further_tables(result: Result) -> list[Table]:
    """Set what a report holds beyond the diagnosis: variants, intervals, costs, causes."""
    variants = [_variants(result)] if "variants" in result else []
    return variants + [sheet_table(each) for each in further_sheets(result, _splits(result))]


def sheet_table(sheet: Sheet) -> Table:
    """Set a table of texts as wide as its cells need."""
    columns = zip(*(cells for _, cells in sheet.rows), strict=True)
    widths = {
        head: max(len(cell) for cell in (*head.split("\n"), *cells))
        for head, cells in zip(sheet.heads, columns, strict=True)
    }
    table = _table(sheet.title, widths)
    for name, cells in sheet.rows:
        if name == "Sum":
            table.add_section()
        table.add_row(name, *cells)
    if sheet.caption:
        _caption(table, sheet.caption)
    return table


def _variants(result: Result) -> Table:
    """Set the variants of the run beside it."""
    name, *heads = HEADS
    widths = {head: max(SPLIT, *map(len, head.splitlines())) for head in heads}
    table = _table(name, widths)
    for row in variant_rows(result):
        table.add_row(*row)
    _caption(table, CAPTION)
    return table
