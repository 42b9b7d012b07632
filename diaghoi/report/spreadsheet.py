"""CSV that spreadsheets and data frames read alike (RFC 4180)."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from diaghoi.formats.cells import harmless

Cell = str | int | float | bool | None


def csv_text(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Write rows as CSV.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences
        One cell a column: numbers in full precision, ``true`` and ``false``, nothing for None; text
        that a spreadsheet would take for a formula with an apostrophe before it.

    Returns
    -------
    str
        Lines that end with CR LF, cells in quotes where they need them.
    """
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(map(harmless, head))
    writer.writerows([_shown(cell) for cell in row] for row in rows)
    return text.getvalue()


def _shown(cell: Cell) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return harmless(cell)
    return "" if cell is None else repr(cell)
