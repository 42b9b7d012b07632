"""Results on stdout and in files, notes on stderr."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diaghoi.cli import outputs
from diaghoi.exceptions import number_of, printable
from diaghoi.formats.containers.atomic import replacing
from diaghoi.report.json import to_json, write_json

if TYPE_CHECKING:
    from diaghoi.data.table import Table


def print_result(result: dict[str, Any], *, detail: bool = False) -> None:
    """Print one screen of a report on stdout, or in detail all of it and its notes on stderr."""
    from diaghoi.report.text import print_report, print_screen

    if detail:
        print_report(result, notes=False)
        print_notes(result["notes"])
        return
    print_screen(result)
    print_number(result["notes"])


def print_number(notes: Sequence[str]) -> None:
    """Say on stderr how many notes there are."""
    if notes:
        typer.echo(f"{number_of('note', len(notes))}: --detail", err=True)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr."""
    for note in notes:
        typer.echo(f"Note: {printable(note)}", err=True)


def print_written(files: Sequence[Path]) -> None:
    """Name the files that were written on stderr; a figure that was not drawn is not there."""
    there = [str(file) for file in files if file.exists()]
    if there:
        typer.echo(f"Wrote {printable(', '.join(there))}", err=True)


def show_tables(
    result: dict[str, Any], json: Path | None, quiet: bool, tables: Iterable[Table]
) -> None:
    """Write a result as JSON, or print the tables that show it; its notes go to stderr."""
    if json == outputs.STDOUT:
        typer.echo(to_json(result))
        return
    if json is not None:
        write_json(json, result)
    if quiet:
        return
    from rich.console import Console

    from diaghoi.report.terminal import print_table

    console = Console(highlight=False)
    for number, table in enumerate(tables):
        if number:
            console.print()
        print_table(console, table)
    print_notes(result["notes"])


def write_text(path: Path, result: dict[str, Any]) -> None:
    """Write the report of a detector, with its notes, as plain text of 80 columns."""
    from io import StringIO

    from rich.console import Console

    from diaghoi.report.text import print_report

    text = StringIO()
    print_report(result, Console(file=text, width=80, highlight=False, color_system=None))
    with replacing(path) as temporary:
        lines = "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())
        temporary.write_text(lines, encoding="utf-8", errors="replace")


def attribution_figure(figure: Path) -> Path:
    """Name the figure of the additive costs beside that of ΔmAP."""
    return figure.with_name(f"{figure.stem}_attribution{figure.suffix}")


def width_of(column: str) -> float:
    """Return the width in inches of a ``single`` or ``double`` column."""
    from diaghoi import plots

    return plots.SINGLE_COLUMN if column == "single" else plots.DOUBLE_COLUMN


def figures_of(result: dict[str, Any], figure: Path) -> list[Path]:
    """Name the figures of a report: ΔmAP, and the additive costs if it has them."""
    attributed = result.get("attribution", {}).get("map") is not None
    return [figure, attribution_figure(figure)] if attributed else [figure]


def draw_all(result: dict[str, Any], path: Path, column: str) -> list[str]:
    """Draw the figures of a report as wide as a column; return notes on them."""
    notes = draw([result], path, column)
    for other in figures_of(result, path)[1:]:
        notes += _drawn(other, [result], "waterfall", column)
    return notes


def draw(results: Sequence[dict[str, Any]], path: Path, column: str = "double") -> list[str]:
    """Draw the ΔmAP bars of some detectors as wide as a column; return notes on the figure."""
    return _drawn(path, results, "delta_map", column)


def _drawn(path: Path, results: Sequence[dict[str, Any]], name: str, column: str) -> list[str]:
    """Draw a figure as ``diaghoi figures`` does; return notes on letters missing in the font."""
    from diaghoi import plots

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            figure = plots.figure_of(plots.FIGURES[name], results, width_of(column))
        except plots.NotApplicable as reason:
            return [f"{path}: not drawn: {reason}"]
        plots.save(figure, path, caption=plots.caption(results))
    if not lacks_letters(caught):
        return []
    return [f"{path}: the font has not all letters of the label; boxes stand for them"]


def noting_letters(draw: Callable[[], list[str]]) -> list[str]:
    """Draw cases on pictures; return the notes, with one on letters missing in the font."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        notes = draw()
    if lacks_letters(caught):
        notes.append("the font has not all letters of the names; boxes stand for them")
    return notes


def lacks_letters(caught: Iterable[warnings.WarningMessage]) -> bool:
    """Whether Matplotlib warned about letters missing in the font."""
    return any("missing from font" in str(each.message) for each in caught)
