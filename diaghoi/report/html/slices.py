"""The slices of the page: a sheet of their figures, and the images that a click leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from diaghoi.comparison.slice_tables import slice_tables
from diaghoi.comparison.slices import Slices
from diaghoi.data.table import Cell, Table
from diaghoi.report.html.words import in_unicode

KINDS: dict[str, str] = {"count": "count", "percent": "percent", "points": "delta"}
"""How the page shows values of each unit."""


def slice_data(slices: Slices, images: Sequence[str]) -> dict[str, Any]:
    """Collect what the page shows of slices.

    Parameters
    ----------
    slices : Slices
        The detectors of the page in slices of their annotations.
    images : sequence of str
        The images of the page.

    Returns
    -------
    dict
        ``columns`` of the sheet, each with its ``values``, and ``images``: for each slice a digit
        per image of the page, "1" where predictions of the image can belong to the slice.
    """
    place = {name: at for at, name in enumerate(slices.images)}
    # Images without names have the same positions everywhere.
    named = len(place) == len(slices.images)
    order = np.array([place[name] for name in images]) if named else np.arange(len(images))
    names = [in_unicode(f"{each.title}: {each.name}") for each in slices.slices]
    tables = {table.key: table for table in slice_tables(slices.to_dict())}
    titles = {"slices": "{}", "slice_deltas": "ΔmAP {}"}
    if len(slices.labels) > 1:
        titles = {"slices": "mAP {}", "slice_differences": f"{{}} minus {slices.labels[0]}"}
    columns = [column for key, title in titles.items() for column in _columns(tables[key], title)]
    if len(slices.labels) > 2:
        # Intervals of many models leave no room; the tables of the page have them.
        columns = [column for column in columns if column["kind"] != "text"]
    return {
        "columns": [{"key": "name", "title": "Slice", "kind": "name", "values": names}, *columns],
        "images": [
            "".join(map(str, each.members[order].astype(int).tolist())) for each in slices.slices
        ],
    }


def _columns(table: Table, title: str) -> Iterator[dict[str, Any]]:
    """Give the columns of a table without its first row, which is all images."""
    for column, (_, *cells) in zip(
        table.columns, zip(*(row.cells for row in table.rows), strict=True), strict=True
    ):
        # Intervals are words.
        figures = any(cell.value is not None for cell in cells)
        named = figures and column.unit != "count"
        yield {
            "key": f"{table.key}_{column.title}",
            "title": in_unicode(title.format(column.title) if named else column.title),
            "kind": KINDS[column.unit] if figures else "text",
            "values": [_value(cell, column.unit) if figures else cell.shown for cell in cells],
        }


def _value(cell: Cell, unit: str) -> float | None:
    return cell.value if cell.value is None or unit == "count" else round(1e4 * cell.value)
