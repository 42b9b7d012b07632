"""The one table of every presentation, and how its figures read."""

from __future__ import annotations

import pytest

from diaghoi.data.table import shown, text_row, text_table


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


def test_a_table_of_texts_has_its_rows_in_groups() -> None:
    first, second = text_row("a", "1", indented=True), text_row("b", "2", key="action")
    table = text_table("Head", ["Column"], [first], [second], caption="x", widths=[9])
    assert table.heads == ("Head",)
    assert [(column.title, column.width) for column in table.columns] == [("Column", 9)]
    assert [group.rows for group in table.row_groups] == [(first,), (second,)]
    assert table.rows == (first, second)
    assert [row.cells[0].shown for row in table.rows] == ["1", "2"]
    assert not table.marked


def test_a_table_of_texts_has_a_width_for_each_column() -> None:
    with pytest.raises(ValueError, match="zip"):
        text_table("Head", ["a", "b"], [], widths=[9])
