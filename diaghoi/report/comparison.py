"""Comparisons as a terminal shows them and a log file keeps them."""

from __future__ import annotations

from functools import partial

from rich.console import Console
from rich.text import Text

from diaghoi._version import __version__
from diaghoi.comparison.joint import AnyComparison
from diaghoi.comparison.selection import difference_in_words, overview
from diaghoi.data.protocol import phrases_of, short_signature
from diaghoi.exceptions import number_of
from diaghoi.report.terminal import WIDTH, captured, folded, print_line, print_table, wrapped
from diaghoi.report.text import GAP, MARKS


def to_text(comparison: AnyComparison, width: int = 80) -> str:
    """Write a comparison as plain text, with its notes; stars mark the best.

    Parameters
    ----------
    comparison : Comparison or JointComparison
        What to show.
    width : int
        Columns of a line; tables that are wider are continued below.
    """
    return captured(partial(print_comparison, comparison), width)


def print_overview(comparison: AnyComparison, console: Console | None = None) -> None:
    """Print a sentence and a table for each data set of a comparison, and what was asked.

    Parameters
    ----------
    comparison : Comparison or JointComparison
        With all its tables, which :func:`print_comparison` prints.
    console : rich.console.Console, optional
        As for :func:`print_comparison`.
    """
    console = Console(highlight=False) if console is None else console
    width = max(console.width, WIDTH)
    for number, part in enumerate(comparison.parts):
        if number:
            console.print()
        models = number_of("model", len(part.models))
        print_line(console, f"{models} on {part.subject}", style="bold")
        if sentence := difference_in_words(part):
            print_line(console, sentence)
        for caveat in part.caveats[:MARKS]:
            for line in folded(f"! {caveat}", width, 2):
                print_line(console, line)
        shown = overview(part)
        for table in (*shown.tables, *shown.listings):
            console.print()
            print_table(console, table)
        told = (each for each in part.differences if each.path == "map.full" or each.significant)
        asked = [f"{each.sentence}." for each in told]
        for said in (*(each.sentence for each in part.explained), *asked):
            print_line(console, said)
        signature = short_signature(part.protocol, part.signature)
        for line in wrapped([f"{signature}|diaghoi.{__version__}", "more: --detail"], width, GAP):
            console.print(Text(line), soft_wrap=True)


def print_comparison(
    comparison: AnyComparison, console: Console | None = None, *, notes: bool = True
) -> None:
    """Print the tables of a comparison.

    Parameters
    ----------
    comparison : Comparison or JointComparison
        What to show.
    console : rich.console.Console, optional
        Where to print; by default on stdout. The best are bold, and where the console has no bold
        type they have a star.
    notes : bool
        Print the notes, too.
    """
    console = Console(highlight=False) if console is None else console
    for part in comparison.parts:
        models = number_of("model", len(part.models))
        print_line(console, f"{models} on {part.subject}", style="bold")
    for caveat in comparison.caveats:
        print_line(console, f"Caution: {caveat}.")
    for table in (*comparison.tables, *comparison.listings):
        console.print()
        print_table(console, table)
    if comparison.statements:
        console.print()
    for statement in comparison.statements:
        print_line(console, statement)
    console.print()
    for part in comparison.parts:
        choices = phrases_of(part.signature)
        head = f"Protocol {part.protocol}: {choices[0]}"
        for line in wrapped([head, *choices[1:]], console.width):
            print_line(console, line)
    for note in comparison.notes if notes else ():
        print_line(console, f"Note: {note}")
