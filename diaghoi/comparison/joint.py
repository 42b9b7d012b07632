"""Join comparisons on several data sets: each table appears once, with all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from diaghoi._version import __version__
from diaghoi.comparison.comparable import owned, said_by
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.figures import HEADINGS
from diaghoi.comparison.study import STAGES
from diaghoi.data.table import UNDEFINED, Cell, Column, Row, RowGroup, Table
from diaghoi.data.vocabulary import printed_name
from diaghoi.exceptions import InputError


@dataclass(frozen=True, kw_only=True)
class JointComparison:
    """Comparisons on several data sets, shown together; no number spans data sets.

    Parameters
    ----------
    parts : tuple of Comparison
        The comparison on each data set, in the order shown.
    """

    parts: tuple[Comparison, ...]

    def __post_init__(self) -> None:
        self.names  # noqa: B018 - refuses parts with the same name

    @property
    def names(self) -> list[str]:
        """Name of each data set."""
        return data_set_names([(part.dataset, part.protocol) for part in self.parts])

    @property
    def subject(self) -> str:
        """Short description of data sets and protocols."""
        return "; ".join(part.subject for part in self.parts)

    @property
    def tables(self) -> tuple[Table, ...]:
        """Tables of all parts; tables with the same key are joined."""
        found: dict[str, list[tuple[str, Table]]] = {}
        for name, part in zip(self.names, self.parts, strict=True):
            for table in part.tables:
                found.setdefault(table.key, []).append((name, table))
        return tuple(map(_joined, found.values()))

    @property
    def listings(self) -> tuple[Table, ...]:
        """Listings of all parts, each with the name of its data set in the title."""
        return tuple(
            replace(table, title=f"{name}: {table.title}")
            for name, part in zip(self.names, self.parts, strict=True)
            for table in part.listings
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """Caveats of all parts; a caveat names its data set unless all share it."""
        return self._said(lambda part: part.caveats)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of all parts; a note names its data set unless all data sets share the note."""
        return self._said(lambda part: part.notes)

    @property
    def statements(self) -> tuple[str, ...]:
        """Test results of all parts; a result names its data set unless all data sets share it."""
        return self._said(lambda part: part.statements)

    def each(self, change: Callable[[Comparison], Comparison]) -> JointComparison:
        """Change each part."""
        return JointComparison(parts=tuple(map(change, self.parts)))

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python values: the JSON of ``diaghoi compare --json``.

        Returns
        -------
        dict
            ``diaghoi`` (version) and ``studies``: for each data set
            :meth:`diaghoi.comparison.comparison.Comparison.to_dict`.
        """
        return {"diaghoi": __version__, "studies": [part.to_dict() for part in self.parts]}

    def _said(self, texts: Callable[[Comparison], Sequence[str]]) -> tuple[str, ...]:
        return said_by(list(zip(self.names, map(texts, self.parts), strict=True)))


AnyComparison = Comparison | JointComparison
"""What can be displayed: a comparison on one data set, or on several."""


def data_set_names(studies: Sequence[tuple[str, str]]) -> list[str]:
    """Name the data sets of several studies, with the protocol if a data set appears twice.

    Parameters
    ----------
    studies : sequence of tuple
        Data set and protocol of each study.

    Raises
    ------
    InputError
        If two studies have the same data set and protocol.
    """
    names = []
    for dataset, protocol in studies:
        if studies.count((dataset, protocol)) > 1:
            raise InputError(
                f"studies: two are on {dataset} under protocol {protocol}; list their models in "
                "one study"
            )
        alone = sum(other == dataset for other, _ in studies) == 1
        name = printed_name(dataset)
        names.append(name if alone else f"{name} ({protocol})")
    return names


def _joined(named: Sequence[tuple[str, Table]]) -> Table:
    """Join tables with the same key: stacked under the names of data sets, or side by side.

    Titles, remarks and footnotes that all data sets share appear once.
    """
    tables = [table for _, table in named]
    first = tables[0]
    # If HEADINGS lacks a table, the title of the table only lists the columns.
    alike = first.key not in HEADINGS or all(table.title == first.title for table in tables)
    captions: dict[str, list[str]] = {"": []}
    for of, remark in owned(
        [
            (name, (*([] if alike else [f"{table.title}."]), *table.caption.splitlines()))
            for name, table in named
        ]
    ):
        captions.setdefault(of, []).append(remark)
    joined = replace(
        first,
        title=max((each.title for each in tables), key=len) if alike else HEADINGS[first.key],
        heads=tuple(dict.fromkeys(head for table in tables for head in table.heads)),
        caption="\n".join(
            f"{of}: {' '.join(remarks)}" if of else " ".join(remarks)
            for of, remarks in captions.items()
            if remarks
        ),
        footnotes=said_by([(name, table.footnotes) for name, table in named]),
    )
    return _beside(named, joined) if first.beside else _below(named, joined)


def _below(named: Sequence[tuple[str, Table]], joined: Table) -> Table:
    """Stack the rows of each data set under its name."""
    columns = _columns([table for _, table in named])
    staged = any(group.title for _, table in named for group in table.row_groups)
    return replace(
        joined,
        columns=tuple(columns),
        row_groups=tuple(
            RowGroup(
                title=_group_title(name, group),
                rows=tuple(_row(row, name, table, joined.heads, columns) for row in group.rows),
            )
            for name, table in named
            for group in table.row_groups
        ),
        grouping="Data set, stage" if staged else "Data set",
        # The columns of several data sets do not fit into one column of a paper.
        narrow=joined.narrow and len(columns) == len(joined.columns),
    )


def _beside(named: Sequence[tuple[str, Table]], joined: Table) -> Table:
    """Put columns of data sets side by side: one row per model, dashes for missing values.

    Models are the same if their names are equal and their descriptions do not conflict.
    """
    rows: list[tuple[dict[str, str], dict[str, Row]]] = []
    for name, table in named:
        for group in table.row_groups:
            for row in group.rows:
                said = dict(zip(table.heads, row.titles, strict=True)) | {"": group.title}
                for about, of in rows:
                    if name not in of and all(
                        about.get(head) in (None, "", text) or not text
                        for head, text in said.items()
                    ):
                        about.update({head: text for head, text in said.items() if text})
                        of[name] = row
                        break
                else:
                    rows.append((said, {name: row}))
    groups: dict[str, list[Row]] = {title: [] for title in (*STAGES.values(), "")}
    for about, of in rows:
        cells = (
            of[name].cells if name in of else [Cell(text=UNDEFINED)] * len(table.columns)
            for name, table in named
        )
        titles = tuple(about.get(head, "") for head in joined.heads)
        groups[about[""]].append(Row(titles=titles, cells=tuple(chain.from_iterable(cells))))
    return replace(
        joined,
        columns=tuple(
            replace(column, key=f"{name}.{column.key}", group=name)
            for name, table in named
            for column in table.columns
        ),
        row_groups=tuple(
            RowGroup(title=title, rows=tuple(of)) for title, of in groups.items() if of
        ),
    )


def _columns(tables: Sequence[Table]) -> list[Column]:
    """Collect the columns of all tables; an added column stays next to its neighbours."""
    found: list[Column] = []
    for table in tables:
        own = {column.key for column in table.columns}
        shared = [place for place, column in enumerate(found) if column.key in own]
        place = min(shared, default=len(found))
        for column in table.columns:
            keys = [each.key for each in found]
            if column.key not in keys:
                found.insert(place, column)
            else:
                place = keys.index(column.key)
                # The column comes, if possible, from a data set with several groups of classes.
                found[place] = found[place] if found[place].group else column
            place += 1
    return found


def _row(row: Row, name: str, table: Table, heads: Sequence[str], columns: Sequence[Column]) -> Row:
    titles = dict(zip(table.heads, row.titles, strict=True))
    keys = [column.key for column in table.columns]
    cells = dict(zip(keys, row.cells, strict=True))
    missing = Cell(text=UNDEFINED)
    if row.kind == "difference":
        titles[heads[0]] += f", {name}"
    return replace(
        row,
        titles=tuple(titles.get(head, "") for head in heads),
        cells=tuple(cells.get(column.key, missing) for column in columns),
    )


def _group_title(name: str, group: RowGroup) -> str:
    if any(row.kind == "difference" for row in group.rows):
        return ""
    return f"{name}, {group.title[0].lower()}{group.title[1:]}" if group.title else name
