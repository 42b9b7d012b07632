"""Write comparisons as Markdown tables for GitHub."""

from __future__ import annotations

import re

from diaghoi.comparison.joint import AnyComparison
from diaghoi.data.table import Table, footnotes_of

SPECIAL = re.compile(r"([\\`*_\[\]<>|~&$#])")


def to_markdown(comparison: AnyComparison) -> str:
    """Write the tables of a comparison as Markdown, with the best numbers in bold.

    Parameters
    ----------
    comparison : Comparison or JointComparison
        What to show.
    """
    parts = [f"Models on {escaped(comparison.subject)}."]
    parts += [f"**Caution:** {escaped(caveat)}." for caveat in comparison.caveats]
    for table in (*comparison.tables, *comparison.listings):
        remarks = " ".join(table.caption.splitlines())
        parts += [f"### {escaped(table.heading)}", _table(table), *filter(None, [escaped(remarks)])]
    tables = (*comparison.tables, *comparison.listings)
    if said := footnotes_of(tables, "Bold"):
        parts.append(escaped(" ".join(said)))
    if comparison.statements:
        parts.append("\n".join(f"- {escaped(each)}" for each in comparison.statements))
    parts += [
        f"Protocol {escaped(f'{part.protocol}: {part.signature}')}" for part in comparison.parts
    ]
    parts += [f"Note: {escaped(note)}" for note in comparison.notes]
    return "\n\n".join(parts) + "\n"


def escaped(text: str) -> str:
    """Escape text for Markdown, including cells of tables."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _table(table: Table) -> str:
    table = table.with_group_column(0)
    titles = [f"{column.group} {column.title}".strip() for column in table.columns]
    lines = [
        _line([*table.heads, *map(escaped, titles)]),
        _line([*["---"] * len(table.heads), *["---:"] * len(titles)]),
    ]
    for row in table.rows:
        figures = [f"**{cell.shown}**" if cell.best else cell.shown for cell in row.cells]
        lines.append(_line([*map(escaped, row.titles), *figures]))
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
