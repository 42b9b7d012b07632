"""Print comparisons as text for terminals and log files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from diaghoi._version import __version__
from diaghoi.comparison.joint import AnyComparison
from diaghoi.comparison.selection import difference_in_words, overview
from diaghoi.data.protocol import phrases_of, short_signature
from diaghoi.data.table import RowGroup, Table, footnotes_of
from diaghoi.exceptions import number_of, printable
from diaghoi.report.terminal import (
    LONGEST,
    WIDTH,
    blocks_of,
    captured,
    folded,
    mark_of,
    print_footnotes,
    print_line,
    print_table,
    wrapped,
)
from diaghoi.report.text import GAP, marked
from diaghoi.report.verdict import unusual

# Maximum number of lines of a comparison's first screen, and of the sentence on that screen;
# minimum length of a shortened name.
LINES, MOST_LINES, LEAST = 30, 4, 8


def to_text(comparison: AnyComparison, width: int = 80) -> str:
    """Write a comparison as plain text, with its notes; stars mark the best numbers.

    Parameters
    ----------
    comparison : Comparison or JointComparison
        What to show.
    width : int
        Characters per line; wider tables continue below.
    """
    return captured(partial(print_comparison, comparison), width)


def print_overview(comparison: AnyComparison, console: Console | None = None) -> None:
    """Print a sentence and a table for each data set of a comparison, and the requested tables.

    Long model names are shortened so that six models take at most 30 lines of 80 characters; the
    full names follow if there is room for them.

    Parameters
    ----------
    comparison : Comparison or JointComparison
        A comparison with all its tables, which :func:`print_comparison` prints.
    console : rich.console.Console, optional
        As for :func:`print_comparison`.
    """
    console = Console(highlight=False) if console is None else console
    width = max(console.width, WIDTH)
    for number, part in enumerate(comparison.parts):
        if number:
            console.print()
        shown = overview(part)
        view = shown.tables[0]
        # The caption is a single paragraph, which takes fewer lines than several paragraphs.
        caption = " ".join((*view.caption.splitlines(), *footnotes_of([view], mark_of(console))))
        labels = [model.label for model in part.models]
        table, names = _fitted(console, replace(view, caption=caption), labels)
        models = number_of("model", len(part.models))
        first = Text(printable(f"{models} on {part.subject}"), style="bold").wrap(console, width)
        sentence = folded(difference_in_words(part, names), width, MOST_LINES)
        signature = short_signature(part.protocol, part.signature)
        last = wrapped([f"{signature}|diaghoi.{__version__}", "more: --detail"], width, GAP)
        taken = len(first) + len(sentence) + sum(-(-cell_len(line) // width) for line in last)
        room = LINES - taken - 1 - _lines(console, table)
        caveats = marked([*part.caveats, *unusual(part.notes)], width, room)
        full = [f"{short}: {label}" for label, short in names.items() if short != label]
        left = room - len(caveats) - sum(-(-cell_len(line) // width) for line in full)
        for line in (*first, *map(Text, (*sentence, *caveats))):
            console.print(line, soft_wrap=True)
        console.print()
        print_table(console, table, footnotes=False)
        for line in full if left >= 0 else ():
            print_line(console, line)
        for asked in (*shown.tables[1:], *shown.listings):
            console.print()
            print_table(console, asked)
        told = (each for each in part.differences if each.path == "map.full" or each.significant)
        tested = [f"{each.sentence}." for each in told]
        for said in (*(each.sentence for each in part.explained), *tested):
            print_line(console, said)
        for line in last:
            console.print(Text(line), soft_wrap=True)


def _fitted(console: Console, table: Table, labels: Sequence[str]) -> tuple[Table, dict[str, str]]:
    """Shorten model names only as far as needed to split the table into the fewest blocks."""
    longest = min(LONGEST, max(map(cell_len, labels)))
    fitted = []
    for size in range(longest, min(longest, LEAST) - 1, -1):
        names = dict(zip(labels, shortened(labels, size), strict=True))
        rows = (replace(row, titles=(names[row.title], *row.titles[1:])) for row in table.rows)
        group = RowGroup(rows=tuple(rows))
        fitted.append((replace(table, row_groups=(group,)), names))
    return min(fitted, key=lambda each: len(blocks_of(each[0], console.width)[1]))


def _lines(console: Console, table: Table) -> int:
    with console.capture() as capture:
        print_table(console, table, footnotes=False)
    return capture.get().count("\n")


def shortened(labels: Sequence[str], size: int) -> list[str]:
    """Shorten labels in the middle to at most the given width, keeping them distinct.

    Parameters
    ----------
    labels : sequence of str
        Distinct labels.
    size : int
        Maximum width of a label in characters; at least 8 if a label is wider.

    Returns
    -------
    list of str
        Shortened labels, with leading numbers if the shortened labels would not be distinct.
    """
    if all(cell_len(label) <= size for label in labels):
        return list(labels)
    for tail in sorted(range(1, size - 1), key=lambda tail: abs(tail - size // 2)):
        short = [_cut(label, size, tail) for label in labels]
        if len(set(short)) == len(labels):
            return short
    width = len(str(len(labels)))
    return [
        f"{number:{width}} {_cut(label, size - width - 1, size // 2)}"
        for number, label in enumerate(labels, 1)
    ]


def _cut(label: str, size: int, tail: int) -> str:
    if cell_len(label) <= size:
        return label
    # If a wide character is cut in half, a blank replaces it.
    start, end = set_cell_size(label, size - tail - 1), set_cell_size(label[::-1], tail)[::-1]
    return f"{start.rstrip()}…{end.lstrip()}"


def print_comparison(
    comparison: AnyComparison, console: Console | None = None, *, notes: bool = True
) -> None:
    """Print the tables of a comparison.

    Parameters
    ----------
    comparison : Comparison or JointComparison
        What to show.
    console : rich.console.Console, optional
        Console to print on; by default stdout. The best numbers are bold, or starred if the console
        has no bold type.
    notes : bool
        Whether to print the notes, too.
    """
    console = Console(highlight=False) if console is None else console
    for part in comparison.parts:
        models = number_of("model", len(part.models))
        print_line(console, f"{models} on {part.subject}", style="bold")
    for caveat in comparison.caveats:
        print_line(console, f"Caution: {caveat}.")
    tables = (*comparison.tables, *comparison.listings)
    for table in tables:
        console.print()
        print_table(console, table, footnotes=len(tables) == 1)
    if len(tables) > 1 and any(table.footnotes or table.marked for table in tables):
        console.print()
        print_footnotes(console, tables)
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
