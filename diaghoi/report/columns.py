"""Write tables with a row per HOI class or per image as CSV or JSON."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from diaghoi.diagnosis.tables import Columns, sorted_table
from diaghoi.exceptions import InputError
from diaghoi.formats.output import replacing
from diaghoi.report.spreadsheet import csv_text

SUFFIXES = (".csv", ".json")


def write_table(
    path: str | PathLike[str], table: Columns, *, sort: str | None = None, descending: bool = False
) -> None:
    """Write a table; the file appears completely or not at all.

    Parameters
    ----------
    path : path
        Ends with ``.csv`` (RFC 4180; undefined cells are empty, and an apostrophe precedes text
        that spreadsheets would take for a formula) or ``.json`` (a list with one object per row,
        ``null`` for undefined values). Fractions are not converted to percent, and are written at
        full precision.
    table : dict of arrays
        :attr:`diaghoi.Diagnosis.classes`, :attr:`diaghoi.Diagnosis.images`, or your own columns.
    sort : str, optional
        Column by which to sort the rows; the default keeps their order.
    descending : bool
        Whether to sort the highest values first; rows without a value always come last.

    Raises
    ------
    InputError
        If the suffix or a column is unknown, or the file cannot be written.
    """
    check_table_file(path)
    text = table_text(table, Path(path).suffix[1:].lower(), sort=sort, descending=descending)
    with replacing(path) as temporary:
        # Image names may be invalid Unicode.
        temporary.write_bytes(text.encode("utf-8", errors="replace"))


def table_text(
    table: Columns, kind: str, *, sort: str | None = None, descending: bool = False
) -> str:
    """Write a table as text.

    Parameters
    ----------
    table, sort, descending
        As in :func:`write_table`.
    kind : {"csv", "json"}
        Format of the text.

    Raises
    ------
    InputError
        If a column is unknown.
    """
    if sort is not None:
        table = sorted_table(table, sort, descending=descending)
    columns = [_cells(column) for column in table.values()]
    return (csv_text if kind == "csv" else _json)(list(table), list(zip(*columns, strict=True)))


def check_table_file(path: str | PathLike[str]) -> None:
    """Check that a file name ends in ``.csv`` or ``.json``.

    Raises
    ------
    InputError
        If the suffix is neither ``.csv`` nor ``.json``.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{path}: tables are written as {' or '.join(SUFFIXES)}; give a file name that ends in "
            "one of these"
        )


def _cells(column: Any) -> list[Any]:
    """Convert a column to plain Python values, None for NaN."""
    cells: list[Any] = column.tolist()
    if column.dtype.kind != "f":
        return cells
    missing = np.isnan(column).tolist()
    return [None if nan else value for value, nan in zip(cells, missing, strict=True)]


def _json(names: list[str], rows: list[tuple[Any, ...]]) -> str:
    objects = (
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, allow_nan=False)
        for row in rows
    )
    return "[\n" + ",\n".join(objects) + "\n]\n"
