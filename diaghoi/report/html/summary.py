"""The tables of the text report, as rows for a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rich.table import Table

from diaghoi.oracles import error_title
from diaghoi.report.html.words import TABLES
from diaghoi.report.semantic import semantic_sheets
from diaghoi.report.text import further_tables, report_tables, sheet_table


class Row(NamedTuple):
    """A row of a table of the summary.

    Parameters
    ----------
    name : str
        What heads the row.
    error : str
        The oracle or label that the row is of; empty for none.
    indented : bool
        Whether the row belongs to the one above.
    cells : tuple of str
        What stands in the other columns.
    """

    name: str
    error: str
    indented: bool
    cells: tuple[str, ...]


class Summary(NamedTuple):
    """A table of the summary.

    Parameters
    ----------
    heads : tuple of str
        Headings of all columns.
    blocks : tuple of tuple of Row
        Its rows; a rule stands between two blocks.
    about : str
        What it shows.
    remarks : tuple of str
        What to know about its rows.
    """

    heads: tuple[str, ...]
    blocks: tuple[tuple[Row, ...], ...]
    about: str
    remarks: tuple[str, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows."""
        return tuple(row for block in self.blocks for row in block)


def summaries(result: Mapping[str, Any]) -> tuple[Summary, ...]:
    """Return the tables of the report of one detector: mAP, errors, parts, and what was added.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`.
    """
    errors = {error_title(name): name for name in ("true_positive", *result["oracles"])}
    usual = zip(report_tables(result), TABLES, strict=True)
    further = ((table, "") for table in further_tables(result))
    return tuple(_summary(table, about, errors) for table, about in (*usual, *further))


def semantic_summaries(result: Mapping[str, Any]) -> tuple[Summary, ...]:
    """Return the tables of a semantic evaluation; none where the result holds none.

    Parameters
    ----------
    result : mapping
        Of a report, with that of :meth:`diaghoi.semantic.SemanticEvaluation.to_dict` as
        ``semantic``.
    """
    if "semantic" not in result:
        return ()
    return tuple(
        _summary(sheet_table(sheet), "", {}) for sheet in semantic_sheets(result["semantic"])
    )


def _summary(table: Table, about: str, errors: Mapping[str, str]) -> Summary:
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    blocks: list[list[Row]] = [[]]
    for number, (name, *cells) in enumerate(zip(*columns, strict=True)):
        title = name.strip()
        row = Row(title, errors.get(title, ""), name.startswith(" "), tuple(cells))
        blocks[-1].append(row)
        if table.rows[number].end_section:
            blocks.append([])
    remarks = str(table.caption).splitlines() if table.caption else []
    return Summary(
        heads=tuple(str(column.header) for column in table.columns),
        blocks=tuple(tuple(block) for block in blocks if block),
        about=about,
        remarks=tuple(remarks),
    )
