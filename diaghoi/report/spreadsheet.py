"""CSV for spreadsheets and data frames (RFC 4180)."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from diaghoi.comparison.joint import AnyComparison
from diaghoi.comparison.study import DESCRIPTIONS
from diaghoi.formats.output import harmless

CsvValue = str | int | float | bool | None


def csv_text(head: Sequence[str], rows: Iterable[Sequence[CsvValue]]) -> str:
    """Write rows as CSV.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences
        Format one cell per column: numbers at full precision, ``true``, ``false``, empty for None.
        An apostrophe precedes text that a spreadsheet would interpret as a formula.

    Returns
    -------
    str
        Lines that end with CR LF, with quoted cells where necessary.
    """
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(map(harmless, head))
    writer.writerows([_shown(cell) for cell in row] for row in rows)
    return text.getvalue()


def _shown(cell: CsvValue) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return harmless(cell)
    return "" if cell is None else repr(cell)


FIELDS = ("topic", "dataset", "protocol", "model", "stage", *DESCRIPTIONS, "column", "value")


def to_csv(comparison: AnyComparison) -> str:
    """Write the numbers of all models in long form; see :func:`csv_text`.

    The fields are ``topic``, ``dataset``, ``protocol``, ``model``, ``stage``, ``venue``,
    ``backbone``, ``detector``, ``classifier``, ``column`` (the keys of tables and columns as in
    JSON) and ``value``: at full precision, a fraction where other output shows percent, empty if
    undefined. Means are omitted, because they would count twice.

    Parameters
    ----------
    comparison : Comparison or JointComparison
        What to write.
    """
    lines = []
    for part, table in ((each, table) for each in comparison.parts for table in each.tables):
        rows = {row.title: row for row in table.rows if row.kind == "entry"}
        for model in part.models:
            described = model.label, model.stage, *model.descriptions.values()
            about = table.key, part.dataset, part.protocol, *described
            for column, cell in zip(table.columns, rows[model.label].cells, strict=True):
                lines.append((*about, column.key, cell.value))
    return csv_text(FIELDS, lines)
