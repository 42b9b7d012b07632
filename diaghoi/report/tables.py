"""Comparisons as a terminal shows them and a log file keeps them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from io import StringIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.figures import Column
from diaghoi.comparison.tables import Table
from diaghoi.data.protocol import phrases_of
from diaghoi.exceptions import number_of
from diaghoi.report.layout import blocks, group_runs, widened
from diaghoi.report.numbers import shown_cell
from diaghoi.report.text import print_line, print_table, wrapped

# Longer names of models and backbones are broken.
LONGEST_LABEL, LONGEST_BACKBONE = 28, 16
INDENT, GAP = "  ", 2
MARK = "*"


def to_text(comparison: Comparison, width: int = 80) -> str:
    """Write a comparison as plain text, with its notes; stars mark the best.

    Parameters
    ----------
    comparison : Comparison
        What to show.
    width : int
        Columns of a line; tables that are wider are continued below.
    """
    text = StringIO()
    console = Console(file=text, width=width, highlight=False, color_system=None)
    print_comparison(comparison, console)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def print_comparison(
    comparison: Comparison, console: Console | None = None, *, notes: bool = True
) -> None:
    """Print the tables of a comparison.

    Parameters
    ----------
    comparison : Comparison
        What to show.
    console : rich.console.Console, optional
        Where to print; by default on stdout. The best are bold, and where the console has no bold
        type they have a star.
    notes : bool
        Print the notes, too.
    """
    console = Console(highlight=False) if console is None else console
    models = number_of("model", len(comparison.models))
    print_line(console, f"{models} on {comparison.subject}", style="bold")
    for caveat in comparison.caveats:
        print_line(console, f"Caution: {caveat}.")
    for table in comparison.tables:
        _print(console, table, comparison.has_backbones)
    if comparison.differences:
        console.print()
    for difference in comparison.differences:
        print_line(console, f"{difference.sentence}.")
    console.print()
    choices = phrases_of(comparison.signature)
    head = f"Protocol {comparison.protocol}: {choices[0]}"
    for line in wrapped([head, *choices[1:]], console):
        print_line(console, line)
    for note in comparison.notes if notes else ():
        print_line(console, f"Note: {note}")


def _print(console: Console, table: Table, backbones: bool) -> None:
    """Print a table; what does not fit the console is continued below, without backbones."""
    widths = _widths(table)
    stubs = [_stub("Model", _labels(table), LONGEST_LABEL)]
    if backbones:
        names = [row.backbone for row in table.rows]
        stubs.append(_stub("Backbone", names, LONGEST_BACKBONE))
    console.print()
    print_line(console, table.title, style="bold")
    room = console.width - sum(size + 1 for _, size in stubs)
    spaced = [width + GAP for width in widths]
    for number, block in enumerate(blocks(table.columns, spaced, room)):
        if number:
            console.print()
            stubs = stubs[:1]
        shown_widths = [widths[place] for place in block]
        columns = [table.columns[place] for place in block]
        spans = _spans(columns, shown_widths, sum(size + 1 for _, size in stubs))
        if spans:
            console.print(Text(spans, style="bold"), soft_wrap=True)
        grid = _grid(stubs, columns, shown_widths)
        _add_rows(console, grid, table, block, len(stubs) > 1)
        print_table(console, grid)
    print_line(console, table.caption)
    if table.marked:
        print_line(console, f"{MARK if console.color_system is None else 'Bold'}: {table.best}.")


def _stub(title: str, words: Sequence[str], longest: int) -> tuple[str, int]:
    """Title and width of a column of words; the last place of it is empty."""
    return title, min(max(map(cell_len, (title, *words))), longest) + GAP - 1


def _grid(
    stubs: Sequence[tuple[str, int]], columns: Sequence[Column], widths: Sequence[int]
) -> RichTable:
    """Make an empty table; the last place of each column of figures is that of the star."""
    grid = RichTable(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0), header_style="bold"
    )
    for title, size in stubs:
        grid.add_column(title, width=size, vertical="bottom", overflow="fold")
    for column, width in zip(columns, widths, strict=True):
        lines = textwrap.wrap(column.title, width, break_on_hyphens=False)
        head = Text("\n".join(f"{line} " for line in lines))
        grid.add_column(head, width=width + 1, justify="right", vertical="bottom")
    return grid


def _labels(table: Table) -> list[str]:
    return [section.title for section in table.sections] + [
        f"{INDENT if section.title else ''}{row.title}"
        for section in table.sections
        for row in section.rows
    ]


def _add_rows(
    console: Console, grid: RichTable, table: Table, block: Sequence[int], backbones: bool
) -> None:
    starred = console.color_system is None
    size = (grid.columns[0].width or 0) - GAP + 1
    for section in table.sections:
        indent = INDENT if section.title else ""
        if section.title:
            grid.add_row(Text(section.title, style="bold"))
        for row in section.rows:
            lines = Text(row.title).wrap(console, size - len(indent))
            label = Text("\n").join(Text(indent) + line for line in lines)
            figures = []
            for place in block:
                cell = row.cells[place]
                mark = MARK if cell.best and starred else " "
                text = f"{shown_cell(cell, table.columns[place], row)}{mark}"
                figures.append(Text(text, style="bold" if cell.best else ""))
            grid.add_row(label, *([Text(row.backbone)] if backbones else []), *figures)


def _widths(table: Table) -> list[int]:
    """Columns of the screen that each figure and its title need."""
    widths = []
    for place, column in enumerate(table.columns):
        figures = [shown_cell(row.cells[place], column, row) for row in table.rows]
        widths.append(max(map(cell_len, (*figures, *column.title.split()))))
    return widened(table.columns, widths, GAP)


def _spans(columns: Sequence[Column], widths: Sequence[int], used: int) -> str:
    """Write the titles of groups over the middle of their columns; empty where there are none."""
    line = " " * used
    for group, members in group_runs(columns):
        room = sum(widths[place] + GAP for place in members) - cell_len(group)
        line += " " * (room - room // 2) + group + " " * (room // 2)
    return line.rstrip()
