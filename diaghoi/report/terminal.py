"""Print tables and prose for terminals and log files, without colour."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from io import StringIO
from itertools import groupby
from typing import NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from diaghoi.data.table import Column, RowGroup, Table, footnotes_of
from diaghoi.exceptions import printable

# Minimum width of tables without a title: a common width lines up the tables of a report.
WIDTH = 76
# Maximum widths of row titles, such as model names, and of descriptions; longer text is wrapped.
LONGEST, LONGEST_DESCRIPTION = 28, 16
INDENT = "  "
MARK = "*"


class Widths(NamedTuple):
    """Widths of table columns, of the gap before each number, and of the star after a number.

    The gap includes the star.
    """

    texts: list[int]
    figures: list[int]
    gap: int
    star: int


def print_table(console: Console, table: Table, *, footnotes: bool = True) -> None:
    """Print a table with its title above and its caption below.

    A table with a title, as in a comparison, is compact, and columns that do not fit the console
    continue below. Tables without a title keep their width on a narrower console, so that no number
    is cut.

    Parameters
    ----------
    console : rich.console.Console
        Console for output; without bold type, a star marks the best number of a column.
    table : Table
        What to print.
    footnotes : bool
        Whether to print the footnotes; otherwise, use :func:`print_footnotes` to print the
        footnotes of several tables together.
    """
    if table.title:
        print_line(console, table.heading, style="bold")
    if table.beside:
        table = table.with_group_column(1)
    widths = _tight(table) if table.title else _aligned(table)
    texts, blocks = widths.texts, [list(range(len(table.columns)))]
    if table.title:
        texts, blocks = blocks_of(table, console.width)
    total = 0
    for number, block in enumerate(blocks):
        if number:
            console.print()
            texts = texts[:1]
        _print_group_titles(console, table, widths, texts, block)
        grid = _grid(table, widths, texts, block)
        for group in table.row_groups:
            _add_rows(console, grid, group, widths._replace(texts=texts), block)
        total = sum(column.width or 0 for column in grid.columns) + len(grid.columns) - 1
        for line in console.render_lines(grid, console.options.update_width(total)):
            text = Text.assemble(*((printable(part.text), part.style or "") for part in line))
            text.rstrip()
            console.print(text, soft_wrap=True)
    remarks = table.caption.splitlines()
    # The footnotes of a compact table form a paragraph.
    for remark in filter(None, [" ".join(remarks)]) if table.title else remarks:
        print_line(console, remark, width=console.width if table.title else total)
    if footnotes:
        print_footnotes(console, [table])


def print_blocks(console: Console, blocks: Iterable[str | Table]) -> None:
    """Print tables and lines of prose; a leading line of prose is bold.

    An empty line precedes each table.
    """
    for place, block in enumerate(blocks):
        if isinstance(block, Table):
            console.print()
            print_table(console, block)
        else:
            print_line(console, block, style="" if place else "bold")


def blocks_of(table: Table, width: int) -> tuple[list[int], list[list[int]]]:
    """Split a compact table into blocks that fit the given width.

    Returns
    -------
    texts : list of int
        Widths of the text columns.
    blocks : list of list of int
        Indices of the number columns in each block.
    """
    texts, figures, gap, _ = _tight(table)
    needed = [size + gap for size in figures]
    room = width - sum(size + gap for size in texts)
    if len(texts) == 1 or room >= min(width // 3, sum(needed)):
        return texts, column_blocks(table.columns, needed, room)
    # Descriptions that leave no room for numbers get a separate block.
    texts = _narrowed(texts, width - gap * len(texts))
    return texts, [[], *column_blocks(table.columns, needed, width - texts[0] - gap)]


def print_footnotes(console: Console, tables: Sequence[Table]) -> None:
    """Print the footnotes of several tables together."""
    for line in footnotes_of(tables, mark_of(console)):
        print_line(console, line)


def mark_of(console: Console) -> str:
    """Describe how the best number of a column is marked."""
    return MARK if console.color_system is None else "Bold"


def captured(show: Callable[[Console], object], width: int | None = None) -> str:
    """Capture the output of a function, as plain text without trailing spaces.

    Parameters
    ----------
    show : callable
        Function that prints to a console.
    width : int, optional
        Line width; by default the width of the terminal, or 80.
    """
    text = StringIO()
    show(Console(file=text, width=width, highlight=False, color_system=None, force_jupyter=False))
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def print_line(console: Console, line: str, style: str = "", width: int | None = None) -> None:
    """Print a line of prose, wrapped at words to the console width or a narrower width."""
    # A Text prevents square brackets in names from being parsed as markup.
    for part in Text(printable(line), style=style).wrap(console, width or console.width):
        part.rstrip()
        console.print(part, soft_wrap=True)


def wrapped(parts: list[str], width: int, separator: str = " | ") -> list[str]:
    """Join parts with a separator into lines of at most the given width; no part is split."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]}{separator}{part}"
        if cell_len(longer) <= width - 2:
            lines[-1] = longer
        else:
            lines[-1] += separator.rstrip()
            lines.append(f"{INDENT}{part}")
    return lines


def folded(text: str, width: int, most: int) -> list[str]:
    """Wrap prose at words to at most the given number of lines; an ellipsis replaces the rest."""
    room = width - len(INDENT)
    lines = list(Text(printable(text)).wrap(Console(width=width), room))
    if len(lines) > most:
        del lines[most:]
        lines[-1].truncate(room - 2)
        lines[-1] = Text(f"{lines[-1].plain.rpartition(' ')[0]} …")
    return [f"{INDENT if row else ''}{line.plain.rstrip()}" for row, line in enumerate(lines)]


def group_runs(columns: Sequence[Column]) -> Iterator[tuple[str, list[int]]]:
    """Yield the title of each group of neighbouring columns, and the indices of its columns."""
    for group, run in groupby(range(len(columns)), key=lambda place: columns[place].group):
        yield group, list(run)


def widened(columns: Sequence[Column], widths: Sequence[int], gap: int) -> list[int]:
    """Widen the columns of each group whose title is wider than the columns together.

    Parameters
    ----------
    columns : sequence of Column
        Columns of a table.
    widths : sequence of int
        Number of characters that each column needs.
    gap : int
        Width of the gap between two columns.
    """
    wide = list(widths)
    for group, members in group_runs(columns):
        missing = len(group) - sum(wide[place] + gap for place in members) + gap
        for number in range(missing):
            wide[members[number % len(members)]] += 1
    return wide


def column_blocks(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[list[int]]:
    """Split the columns of a table into as few blocks as possible, of similar width.

    Parameters
    ----------
    columns : sequence of Column
        Columns of a group stay together, unless splitting the group saves a block.
    widths : sequence of int
        Widths of the columns, including gaps.
    room : int
        Maximum width of a block. A wider column gets a separate block.

    Returns
    -------
    list of list of int
        Indices of the columns of each block.
    """
    fewest = _filled(columns, widths, room)
    ungrouped = [replace(column, group="") for column in columns]
    if len(_filled(ungrouped, widths, room)) < len(fewest):
        columns, fewest = ungrouped, _filled(ungrouped, widths, room)
    for less in range(1, room):
        found = _filled(columns, widths, less)
        if len(found) == len(fewest):
            return found
    return fewest


def _filled(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[list[int]]:
    """Fill one block after another, splitting column groups only if necessary."""
    runs: list[list[int]] = []
    for group, members in group_runs(columns):
        fits = sum(widths[place] for place in members) <= room
        runs += [members] if group and fits else [[place] for place in members]
    found: list[list[int]] = []
    left = 0
    for members in runs:
        needed = sum(widths[place] for place in members)
        if not found or needed > left:
            found.append([])
            left = room
        found[-1] += members
        left -= needed
    return found


def _aligned(table: Table) -> Widths:
    """Make the table at least as wide as the other tables of a report."""
    needed = [
        max(map(cell_len, (*column.title.split("\n"), *figures)))
        for column, figures in zip(table.columns, _figures(table), strict=True)
    ]
    least = [column.width or width for column, width in zip(table.columns, needed, strict=True)]
    first, *others = _titles(table)
    gap = 3
    first = max(first, WIDTH - sum(width + gap for width in least))
    return Widths([first, *others], list(map(max, needed, least)), gap, 0)


def _tight(table: Table) -> Widths:
    """Make each column as narrow as its numbers and the words of its title allow."""
    figures = [
        max(map(cell_len, (*figures, *column.title.split())))
        for column, figures in zip(table.columns, _figures(table), strict=True)
    ]
    gap = 2
    first, *others = _titles(table)
    titles = [min(first, LONGEST), *(min(each, LONGEST_DESCRIPTION) for each in others)]
    return Widths(titles, widened(table.columns, figures, gap), gap, 1)


def _narrowed(sizes: Sequence[int], room: int) -> list[int]:
    """Narrow the widest column again and again until all columns fit."""
    fitting = list(sizes)
    while sum(fitting) > room and max(fitting) > 1:
        fitting[fitting.index(max(fitting))] -= 1
    return fitting


def _figures(table: Table) -> list[list[str]]:
    """List the formatted numbers of each column."""
    return [[row.cells[place].shown for row in table.rows] for place in range(len(table.columns))]


def _titles(table: Table) -> list[int]:
    """Return the width that each column of row titles needs."""
    first = [table.heads[0], *(group.title for group in table.row_groups)]
    first += [
        _indent(group, row.indented) + row.title for group in table.row_groups for row in group.rows
    ]
    others = [
        (head, *(row.titles[place] for row in table.rows))
        for place, head in enumerate(table.heads[1:], 1)
    ]
    return [max(map(cell_len, texts)) for texts in (first, *others)]


def _indent(group: RowGroup, indented: bool) -> str:
    return INDENT if group.title or indented else ""


def _grid(table: Table, widths: Widths, texts: Sequence[int], block: Sequence[int]) -> Grid:
    """Create a grid without rows for a block of columns of a table."""
    grid = Grid(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 0), header_style="bold"
    )
    for head, size in zip(table.heads, texts, strict=False):
        size += widths.star
        grid.add_column(Text(head), width=size, vertical="bottom", overflow="fold")
    for place in block:
        size = widths.figures[place]
        lines = _title_lines(table.columns[place], size if table.title else 0)
        title = Text("\n".join(line + " " * widths.star for line in lines))
        grid.add_column(title, width=size + widths.gap - 1, justify="right", vertical="bottom")
    return grid


def _title_lines(column: Column, width: int) -> list[str]:
    """Wrap a column title at words to the given width; if the width is 0, only split its lines."""
    if not width:
        return column.title.split("\n")
    return textwrap.wrap(column.title, width, break_on_hyphens=False)


def _add_rows(
    console: Console, grid: Grid, group: RowGroup, widths: Widths, block: Sequence[int]
) -> None:
    if group.title:
        grid.add_row(Text(group.title, style="bold"))
    for row in group.rows:
        indent = _indent(group, row.indented)
        lines = Text(row.title).wrap(console, widths.texts[0] - len(indent))
        title = Text("\n").join(Text(indent) + line for line in lines)
        figures = []
        for cell in (row.cells[place] for place in block):
            star = MARK if cell.best and console.color_system is None else " "
            text = cell.shown + star * widths.star
            figures.append(Text(text, style="bold" if cell.best else ""))
        grid.add_row(title, *map(Text, row.titles[1 : len(widths.texts)]), *figures)
    if not widths.star:
        grid.add_section()


def _print_group_titles(
    console: Console, table: Table, widths: Widths, texts: Sequence[int], block: Sequence[int]
) -> None:
    """Print the titles of column groups, if any, centred over their columns."""
    columns = [table.columns[place] for place in block]
    line = " " * sum(size + widths.gap for size in texts)
    for group, members in group_runs(columns):
        room = sum(widths.figures[block[place]] + widths.gap for place in members) - cell_len(group)
        line += " " * (room - room // 2) + group + " " * (room // 2)
    if line.strip():
        console.print(Text(line.rstrip(), style="bold"), soft_wrap=True)
