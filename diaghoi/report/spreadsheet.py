"""Write CSV for spreadsheets and data frames (RFC 4180)."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from io import StringIO

from diaghoi.comparison.comparison import Comparison, place_of
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
        One cell per column. Numbers are written at full precision, booleans as ``true`` and
        ``false``, and None as an empty cell. An apostrophe precedes text that a spreadsheet would
        interpret as a formula.

    Returns
    -------
    str
        The CSV, in which lines end with CR LF and cells are quoted where necessary.
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


FIELDS = (
    *("topic", "dataset", "protocol", "model", "stage", *DESCRIPTIONS, "column", "value"),
    *("low", "high", "difference", "difference_low", "difference_high", "p_holm"),
)


def to_csv(comparison: AnyComparison) -> str:
    """Write the numbers of all models in long form; see :func:`csv_text`.

    The fields are ``topic``, ``dataset``, ``protocol``, ``model``, ``stage``, ``venue``,
    ``backbone``, ``detector``, ``classifier``, ``column`` and ``value``. ``topic`` and ``column``
    are the keys of tables and columns in JSON. A value has full precision, is a fraction where
    other output shows percent, and is empty if undefined. ``low`` and ``high`` are the bounds of
    the value, if results have intervals. Tested numbers also have ``difference`` (from the first
    model), its bounds, and ``p_holm``. Means over models are omitted, so that no value counts
    twice.

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
            sure = _certainty(part, model.label)
            for column, cell in zip(table.columns, rows[model.label].cells, strict=True):
                certainty = sure.get((table.key, column.key), [None] * 6)
                lines.append((*about, column.key, cell.value, *certainty))
    return csv_text(FIELDS, lines)


def _certainty(part: Comparison, label: str) -> dict[tuple[str, str], list[float | None]]:
    """Return the intervals and test results of a model, keyed by table and column."""
    bounds = part.intervals.get(label, {})
    tests = {each.path: each for each in part.differences if each.labels[1] == label}
    found = {}
    for path in {**bounds, **tests}:
        test = tests.get(path)
        tested = (
            (None,) * 4
            if test is None
            else (test.difference, *(test.interval or (None, None)), test.p_holm)
        )
        found[place_of(path)] = [*(bounds.get(path) or (None, None)), *tested]
    return found
