"""Texts in the cells of CSV files, some of which spreadsheets would take for formulas."""

from __future__ import annotations

# Formulas start like this; wide letters are as good for some spreadsheets, and line ends are passed
# over by others.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def harmless(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def original(cell: str) -> str:
    """Take away the apostrophe that :func:`harmless` put there."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell
