"""One table for every medium: text, Markdown, LaTeX, CSV, pages, notebooks and pandas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from diaghoi.exceptions import InputError

Better = Literal["higher", "lower"]
Unit = Literal["percent", "points", "count", "number", "index", "change"]
UNDEFINED = "–"
# Factor and number of decimals for the values of each unit.
SHOWN: dict[Unit, tuple[int, int]] = {
    "percent": (100, 2),
    "points": (100, 2),
    "count": (1, 0),
    "number": (1, 1),
    "index": (1, 2),
    "change": (1, 1),
}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of numbers.

    Parameters
    ----------
    key, title : str
        Key of the column, unique in the table or empty, and its title, possibly on several lines.
    unit : {"percent", "points", "count", "number", "index", "change"}
        Values in ``percent`` and ``points`` (signed differences) are stored as fractions, an
        ``index`` is shown unscaled, and a ``change`` is the signed difference between two values of
        unit ``number``.
    better : {"higher", "lower"} or None
        Which values are better; None if neither direction is better.
    group : str
        Title shared by neighbouring columns; empty for none.
    width : int
        Minimum width of the column in plain text, so that the columns of several tables line up.
    """

    key: str = ""
    title: str
    unit: Unit = "percent"
    better: Better | None = None
    group: str = ""
    width: int = 0


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A number in a table.

    Parameters
    ----------
    value : float or None
        The value in the result; None if the value is undefined or the table has only texts.
    text, mark : str
        The displayed text, and the mark after it, which the caption explains.
    best : bool
        Whether no other number in the column is better at the displayed precision.
    """

    value: float | None = None
    text: str = ""
    best: bool = False
    mark: str = ""

    @property
    def shown(self) -> str:
        """The text with its mark."""
        return self.text + self.mark


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a table.

    Parameters
    ----------
    titles, cells : tuple of str and of Cell
        One text for each head of the table, and one cell for each column.
    key : str
        The oracle or error label of the row; empty for none.
    kind : {"entry", "mean", "difference"}
        Whether the row shows an entry such as a model, the mean of the entries above, or the
        difference between two means.
    indented : bool
        Whether the row is a part of the row above.
    """

    titles: tuple[str, ...]
    cells: tuple[Cell, ...]
    key: str = ""
    kind: Literal["entry", "mean", "difference"] = "entry"
    indented: bool = False

    @property
    def title(self) -> str:
        """The first of the titles."""
        return self.titles[0]


@dataclass(frozen=True, kw_only=True)
class RowGroup:
    """Rows under a common title such as "One-stage"; a rule separates groups."""

    title: str = ""
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table, independent of its presentation.

    Parameters
    ----------
    key, title : str
        Key and title of the table; empty if not needed.
    unit : str
        Unit of all numbers, shown after the title; empty for none.
    heads : tuple of str
        Titles of the columns of text on the left, such as "Model" and "Backbone".
    columns, row_groups
        Columns of numbers, and rows.
    grouping : str
        Heading of the row groups, such as "Stage".
    caption : str
        Remarks on this table, one line each.
    footnotes : tuple of str
        Remarks shared by several tables, shown once for all of them.
    best : str
        Explains the mark of the best number in a column.
    narrow : bool
        Whether LaTeX sets the table in one column of a paper, even if row names are long.
    beside : bool
        Whether data sets stand side by side as column groups, with the titles of row groups as a
        text column.
    """

    key: str = ""
    title: str = ""
    unit: str = ""
    heads: tuple[str, ...]
    columns: tuple[Column, ...]
    row_groups: tuple[RowGroup, ...]
    grouping: str = ""
    caption: str = ""
    footnotes: tuple[str, ...] = ()
    best: str = ""
    narrow: bool = False
    beside: bool = False

    @property
    def heading(self) -> str:
        """The title with the unit."""
        return ", ".join(filter(None, (self.title, self.unit)))

    @property
    def remarks(self) -> tuple[str, ...]:
        """The lines of the caption, and the footnotes."""
        return (*self.caption.splitlines(), *self.footnotes)

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, without their groups."""
        return tuple(row for group in self.row_groups for row in group.rows)

    @property
    def marked(self) -> bool:
        """Whether any number is marked as the best of its column."""
        return any(cell.best for row in self.rows for cell in row.cells)

    def with_columns(self, places: Sequence[int]) -> Table:
        """Keep the columns at the given positions, in the given order."""

        def kept(row: Row) -> Row:
            return replace(row, cells=tuple(row.cells[place] for place in places))

        columns = tuple(self.columns[place] for place in places)
        groups = (replace(group, rows=tuple(map(kept, group.rows))) for group in self.row_groups)
        return replace(self, columns=columns, row_groups=tuple(groups))

    def with_group_column(self, place: int, *, repeated: bool = True) -> Table:
        """Write the titles of the row groups, if any, into the text column at ``place``.

        The titles appear in all rows of a group if ``repeated``, otherwise only in the first row of
        the group.
        """
        if not any(group.title for group in self.row_groups):
            return self

        def rows(group: RowGroup) -> Iterator[Row]:
            for number, row in enumerate(group.rows):
                title = group.title if repeated or not number else ""
                yield replace(row, titles=(*row.titles[:place], title, *row.titles[place:]))

        heads = (*self.heads[:place], self.grouping, *self.heads[place:])
        groups = (RowGroup(rows=tuple(rows(group))) for group in self.row_groups)
        return replace(self, heads=heads, row_groups=tuple(groups))


def footnotes_of(tables: Sequence[Table], mark: str) -> list[str]:
    """List the remarks below several tables: footnotes, and the meaning of ``mark``."""
    said = [text for table in tables for text in table.footnotes]
    return list(dict.fromkeys((*said, *(f"{mark}: {t.best}." for t in tables if t.marked))))


@dataclass(frozen=True)
class Line:
    """A row of a :class:`TextTable`.

    Parameters
    ----------
    title : str
        Title of the row.
    values : sequence of (float, str or None)
        One cell per column: a number, a dash for None, or a text that is shown unchanged.
    unit : str or None
        Unit of the numbers; by default the unit of each column.
    key, indented
        As in :class:`Row`.
    """

    title: str
    values: Sequence[float | str | None]
    unit: Unit | None = None
    key: str = ""
    indented: bool = False


@dataclass(frozen=True)
class TextTable:
    """A table for display only, defined by the values of its rows.

    Parameters
    ----------
    head : str
        The title of the first column, which names the table.
    columns : sequence of (str or Column)
        The other columns; a plain title declares a percent column.
    groups : sequence of sequence of Line
        The rows; a rule separates groups.
    caption : str
        As in :class:`Table`.
    """

    head: str
    columns: Sequence[str | Column]
    groups: Sequence[Sequence[Line]]
    caption: str = ""

    @property
    def table(self) -> Table:
        """The table with formatted numbers."""
        columns = tuple(Column(title=c) if isinstance(c, str) else c for c in self.columns)

        def row(line: Line) -> Row:
            texts = (
                value if isinstance(value, str) else shown(value, line.unit or column.unit)
                for value, column in zip(line.values, columns, strict=True)
            )
            cells = tuple(Cell(text=text) for text in texts)
            return Row(titles=(line.title,), cells=cells, key=line.key, indented=line.indented)

        groups = tuple(RowGroup(rows=tuple(map(row, lines))) for lines in self.groups if lines)
        return Table(heads=(self.head,), columns=columns, row_groups=groups, caption=self.caption)


def shown(value: float | None, unit: Unit, *, signed: bool = False) -> str:
    """Format a number, which is a fraction for percent and points; None becomes a dash.

    Two decimals for percent, indices and points; none for counts; one for other units. Points and
    changes always have a sign; other units have one if they are ``signed`` differences.
    """
    if value is None:
        return UNDEFINED
    factor, decimals = SHOWN[unit]
    sign = "+" if signed or unit in ("points", "change") else ""
    text = f"{factor * value:{sign},.{decimals}f}"
    # A difference that rounds to zero has no sign.
    return text.replace("-", "−") if any(map(text.__contains__, "123456789")) else text.lstrip("+-")


def percent(value: float | None, *, signed: bool = False) -> str:
    """Format a fraction in percent with two decimals; a dash for None."""
    return shown(value, "percent", signed=signed)


def has_width(interval: Sequence[float]) -> bool:
    """Check whether the ends of an interval of fractions differ when shown in percent."""
    low, high = interval
    return percent(low) != percent(high)


def data_frame(content: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Any:
    """Create a pandas.DataFrame from columns by name, or from rows.

    Raises
    ------
    InputError
        If pandas is not installed; the package does not require it.
    """
    try:
        import pandas
    except ImportError:
        raise InputError("to_frame needs pandas; install it with: pip install pandas") from None
    return pandas.DataFrame(content)
