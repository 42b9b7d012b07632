"""How the tables of a comparison are written: text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.present import print_notes
from diaghoi.comparison.joint import AnyComparison
from diaghoi.comparison.selection import Shown, check_table_names, selected
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.containers.atomic import replacing
from diaghoi.report.json import to_json, write_json
from diaghoi.report.latex import to_latex
from diaghoi.report.markdown import to_markdown
from diaghoi.report.spreadsheet import to_csv

FORMATS = ("text", "markdown", "latex", "csv", "json")
ENDINGS = {".txt": "text", ".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json"}

Format = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(FORMATS)} [from the suffix of --out, else text].",
        rich_help_panel=options.FILES,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Write the tables to this file instead of stdout.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]

Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TABLE",
        help="Only this table, by its heading (pairs, 'dmap (rare)'); repeatable, or separated by "
        "commas. JSON holds all.",
        rich_help_panel=options.FILES,
    ),
]
Compact = Annotated[
    bool,
    typer.Option(
        "--compact",
        help="One table for a column of a paper: mAP and ΔmAP of each error. JSON holds all.",
        rich_help_panel=options.FILES,
    ),
]


class Selection(NamedTuple):
    """Which tables of a comparison are printed: some, one compact table, or all."""

    only: list[str]
    compact: bool

    def of(self, comparison: Shown) -> Shown:
        """Select the tables of a comparison."""
        return selected(comparison, ["compact"] if self.compact else self.only)


ALL = Selection([], compact=False)


def selection(only: list[str] | None, compact: bool) -> Selection:
    """Collect which tables are printed.

    Raises
    ------
    InputError
        For a table that no comparison has, and tables beside the compact one.
    """
    names = list(only or ())
    if only is not None and compact:
        raise InputError("--only and --compact: give only one of them")
    check_table_names(names)
    return Selection(names, compact)


def table_format(format: str | None, out: Path | None) -> str:
    """Choose how the tables are written: one of :data:`FORMATS`.

    Raises
    ------
    InputError
        For an unknown format or ending.
    """
    if format is None:
        if out is None or not out.suffix:
            return "text"
        if out.suffix.lower() not in ENDINGS:
            raise InputError(
                f"{out}: unknown suffix {out.suffix}; give one of {', '.join(ENDINGS)}, or --format"
            )
        return ENDINGS[out.suffix.lower()]
    if format not in FORMATS:
        raise InputError(
            f"--format '{format}'{close_matches(format, FORMATS)}: give one of {', '.join(FORMATS)}"
        )
    return format


def written_tables(comparison: AnyComparison, kind: str, selected: Selection = ALL) -> str:
    """Write tables of a comparison in one of :data:`FORMATS`; JSON holds them all."""
    if kind == "json":
        return to_json(comparison.to_dict()) + "\n"
    from diaghoi.report.comparison import to_text

    writers: dict[str, Callable[[AnyComparison], str]] = {
        "text": to_text,
        "markdown": to_markdown,
        "latex": to_latex,
        "csv": to_csv,
    }
    return writers[kind](selected.of(comparison))


def write_comparison(
    comparison: AnyComparison,
    kind: str,
    out: Path | None,
    json: Path | None,
    selected: Selection = ALL,
) -> None:
    """Write the files that are asked for."""
    if json not in (None, outputs.STDOUT):
        write_json(json, comparison.to_dict())
    if out not in (None, outputs.STDOUT):
        with replacing(out) as temporary:
            # Names need not be Unicode.
            text = written_tables(comparison, kind, selected)
            temporary.write_bytes(text.encode("utf-8", errors="replace"))


def show_comparison(
    comparison: AnyComparison,
    kind: str,
    out: Path | None,
    json: Path | None,
    quiet: bool,
    selected: Selection = ALL,
) -> None:
    """Print the tables, unless they are in a file, and what a reader has to know."""
    if json == outputs.STDOUT:
        typer.echo(to_json(comparison.to_dict()))
    elif out in (None, outputs.STDOUT):
        if kind != "text":
            typer.echo(written_tables(comparison, kind, selected), nl=False)
        elif not quiet:
            from diaghoi.report.comparison import print_comparison

            print_comparison(selected.of(comparison), notes=False)
    if quiet:
        return
    print_notes([*comparison.caveats, *comparison.notes])
