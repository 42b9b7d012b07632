"""Figures as people read them."""

from __future__ import annotations

from diaghoi.comparison.figures import SHOWN, Column, Unit
from diaghoi.comparison.tables import Cell, Row

UNDEFINED = "–"


def shown(value: float | None, unit: Unit, *, signed: bool = False) -> str:
    """Show a figure; a dash for None.

    Parameters
    ----------
    value : float or None
        A fraction where the unit is percent or points.
    unit : {"percent", "points", "count", "number"}
        Two decimals for percent and points, which always has a sign; none for counts; one for other
        numbers.
    signed : bool
        Show the sign of positive figures too, because this is a difference.
    """
    if value is None:
        return UNDEFINED
    factor, decimals = SHOWN[unit]
    text = f"{factor * value:{'+' if signed or unit == 'points' else ''},.{decimals}f}"
    # A difference that rounds to nothing has no sign.
    return (
        text.replace("-", "−") if any(digit in text for digit in "123456789") else text.lstrip("+-")
    )


def shown_cell(cell: Cell, column: Column, row: Row) -> str:
    """Show a figure of a table, with its mark; differences with their sign."""
    return shown(cell.value, column.unit, signed=row.kind == "difference") + cell.mark
