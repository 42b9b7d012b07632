"""Comparisons as a terminal shows them and a log file keeps them."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from diaghoi.comparison.joint import AnyComparison
from diaghoi.data.protocol import phrases_of
from diaghoi.exceptions import number_of
from diaghoi.report.terminal import print_line, print_table, wrapped


def to_text(comparison: AnyComparison, width: int = 80) -> str:
    """Write a comparison as plain text, with its notes; stars mark the best.

    Parameters
    ----------
    comparison : Comparison or JointComparison
        What to show.
    width : int
        Columns of a line; tables that are wider are continued below.
    """
    text = StringIO()
    console = Console(file=text, width=width, highlight=False, color_system=None)
    print_comparison(comparison, console)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


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
