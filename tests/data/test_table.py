"""The one table of every presentation, and how its figures read."""

from __future__ import annotations

import pytest

from diaghoi.data.table import Column, Line, TextTable, shown


def test_shown_numbers() -> None:
    assert shown(0.12345, "percent") == "12.35"
    assert shown(0.12345, "points") == "+12.35"
    assert shown(-0.12345, "points") == "−12.35"
    assert shown(2.34, "change") == "+2.3"
    assert shown(-0.00001, "points") == shown(0.0, "percent", signed=True) == "0.00"
    assert shown(12345, "count") == "12,345"
    assert shown(-1234.5, "count", signed=True) == "−1,234"
    assert shown(63.84, "number") == "63.8"
    assert shown(None, "count") == "–"


def test_a_table_of_values_shows_them_by_their_units() -> None:
    first = Line("a", [0.5, 1234, None], key="action")
    second = Line("b", [-0.25, "", "text"], "points", indented=True)
    columns = ("Share", Column(title="Count", unit="count", width=9), Column(title="Own"))
    table = TextTable("Head", columns, [[first], [], [second]], "x").table
    assert (table.heads, table.caption) == (("Head",), "x")
    assert [(column.title, column.width) for column in table.columns] == [
        ("Share", 0),
        ("Count", 9),
        ("Own", 0),
    ]
    # Groups without rows have no rule.
    assert [[row.title for row in group.rows] for group in table.row_groups] == [["a"], ["b"]]
    assert [[cell.shown for cell in row.cells] for row in table.rows] == [
        ["50.00", "1,234", "–"],
        ["−25.00", "", "text"],
    ]
    assert [(row.key, row.indented) for row in table.rows] == [("action", False), ("", True)]
    assert not table.marked


def test_a_line_has_a_value_for_each_column() -> None:
    with pytest.raises(ValueError, match="zip"):
        _ = TextTable("Head", ["a", "b"], [[Line("c", [1.0])]]).table
