"""Escape text in CSV cells that spreadsheets would interpret as a formula."""

from __future__ import annotations

# First characters of formulas. Some spreadsheets accept full-width characters, too; others skip
# leading line breaks.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def harmless(text: str) -> str:
    """Prefix an apostrophe to text that a spreadsheet would interpret as a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def original(cell: str) -> str:
    """Remove the apostrophe that :func:`harmless` added."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell
