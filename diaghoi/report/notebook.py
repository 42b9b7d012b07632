"""Show results in Python and notebooks as terminal text.

A notebook gets preformatted HTML without colours, so that its light or dark theme applies.
"""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

from rich.console import Console

from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.selection import has_overview
from diaghoi.comparison.slice_tables import slice_tables
from diaghoi.comparison.slices import Slices
from diaghoi.comparison.transitions import FATES, Transitions
from diaghoi.data.protocol import Protocol, phrases_of
from diaghoi.data.table import Cell, Column, Row, RowGroup, Table
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.oracles import Oracle, error_title
from diaghoi.report.comparison import print_comparison, print_overview
from diaghoi.report.html.words import in_unicode
from diaghoi.report.terminal import captured, print_line, print_table
from diaghoi.report.text import print_screen


class Screen(str):
    """Text that Python and notebooks show unchanged."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f'<pre style="white-space:pre">{escape(in_unicode(self))}</pre>'


def screen(shown: Diagnosis | Comparison, width: int | None = None) -> Screen:
    """Write what a command prints on its first screen; see :meth:`diaghoi.Diagnosis.summary`."""
    if isinstance(shown, Diagnosis):
        show = partial(print_screen, shown.to_dict())
    else:
        show = partial(print_overview if has_overview(shown) else print_comparison, shown)
    return Screen(captured(show, width).rstrip("\n"))


def load_ipython_extension(shell: Any) -> None:
    """Register the display of transitions, slices, protocols and oracles in a notebook.

    Importing diaghoi calls this function. Diagnoses and comparisons define their own display.

    Parameters
    ----------
    shell : IPython.core.interactiveshell.InteractiveShell
        IPython shell of the notebook.
    """
    html = shell.display_formatter.formatters["text/html"]
    for kind, show in (
        (Transitions, _print_transitions),
        (Slices, _print_slices),
        (Protocol, _print_protocol),
        (Oracle, _print_oracle),
    ):
        html.for_type(kind, partial(_html, show))


def _html(show: Any, shown: Any) -> str:
    return Screen(captured(partial(show, shown)).rstrip("\n"))._repr_html_()


def _print_transitions(shown: Transitions, console: Console) -> None:
    """Print the fates of annotated triplets under two detectors, one row per fate."""
    first, second = shown.labels
    titles = ["Found", *map(error_title, FATES[1:])]
    rows = (
        Row(titles=(title,), cells=tuple(Cell(text=f"{count:,}") for count in counts))
        for title, counts in zip(titles, shown.matrix().tolist(), strict=True)
    )
    table = Table(
        title=f"Annotated triplets: rows under {first}, columns under {second}",
        heads=(f"Under {first}",),
        columns=tuple(Column(title=title, unit="count") for title in titles),
        row_groups=(RowGroup(rows=tuple(rows)),),
    )
    print_table(console, table)


def _print_slices(shown: Slices, console: Console) -> None:
    """Print the tables of slices as in a comparison, and the notes."""
    for table in slice_tables(shown.to_dict()):
        print_table(console, table)
        console.print()
    for note in shown.notes:
        print_line(console, note)


def _print_protocol(shown: Protocol, console: Console) -> None:
    for line in (f"Protocol {shown.name}", *phrases_of(shown.signature)):
        print_line(console, line)


def _print_oracle(shown: Oracle, console: Console) -> None:
    paragraphs = shown.definition.replace("`", "").split("\n\n")
    for line in (f"Oracle {shown.title} ({shown.name})", *paragraphs):
        print_line(console, " ".join(line.split()))
