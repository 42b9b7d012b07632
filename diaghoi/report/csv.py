"""Comparisons as CSV: one line for each figure, for data frames and spreadsheets."""

from __future__ import annotations

from diaghoi.comparison import Comparison
from diaghoi.report.spreadsheet import csv_text

FIELDS = ("topic", "model", "stage", "backbone", "column", "value")


def to_csv(comparison: Comparison) -> str:
    """Write the figures of all models in long form; see :func:`csv_text`.

    The fields are ``topic``, ``model``, ``stage``, ``backbone``, ``column`` (the keys of topics and
    columns as in JSON) and ``value``: at full precision, a fraction where people are shown percent,
    empty where it is undefined. Means are left out: they would be counted twice.

    Parameters
    ----------
    comparison : Comparison
        What to write.
    """
    lines = []
    for table in comparison.tables:
        rows = {row.title: row for row in table.rows if row.kind == "model"}
        for model in comparison.models:
            about = (table.key, model.label, model.stage, model.backbone)
            for column, cell in zip(table.columns, rows[model.label].cells, strict=True):
                lines.append((*about, column.key, cell.value))
    return csv_text(FIELDS, lines)
