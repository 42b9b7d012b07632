"""Comparisons as Markdown: tables as GitHub shows them."""

from __future__ import annotations

import re

from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.tables import Table
from diaghoi.report.numbers import shown_cell

SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$#])")


def to_markdown(comparison: Comparison) -> str:
    """Write the tables of a comparison as Markdown; the best are bold.

    Parameters
    ----------
    comparison : Comparison
        What to show.
    """
    parts = [f"Models on {escaped(comparison.subject)}."]
    parts += [f"**Caution:** {escaped(caveat)}." for caveat in comparison.caveats]
    for table in comparison.tables:
        parts += [f"### {escaped(table.title)}", _table(table, comparison.has_backbones)]
        best = f" Bold: {table.best}." if table.marked else ""
        parts.append(escaped(f"{table.caption}{best}"))
    if comparison.differences:
        lines = (f"- {escaped(each.sentence)}." for each in comparison.differences)
        parts.append("\n".join(lines))
    parts.append(f"Protocol {escaped(f'{comparison.protocol}: {comparison.signature}')}")
    parts += [f"Note: {escaped(note)}" for note in comparison.notes]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Write text so that Markdown shows it as it is, also in the cell of a table."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _table(table: Table, backbones: bool) -> str:
    staged = any(section.title for section in table.sections)
    stubs = [*([table.grouping] if staged else []), "Model", *(["Backbone"] if backbones else [])]
    heads = [f"{column.group} {column.title}".strip() for column in table.columns]
    lines = [
        _line([*stubs, *map(escaped, heads)]),
        _line([*["---"] * len(stubs), *["---:"] * len(heads)]),
    ]
    for section in table.sections:
        for row in section.rows:
            words = [
                *([section.title] if staged else []),
                row.title,
                *([row.backbone] if backbones else []),
            ]
            figures = [
                f"**{text}**" if cell.best else text
                for cell, column in zip(row.cells, table.columns, strict=True)
                for text in [shown_cell(cell, column, row)]
            ]
            lines.append(_line([*map(escaped, words), *figures]))
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
