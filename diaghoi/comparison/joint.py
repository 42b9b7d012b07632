"""Comparisons on several data sets in one: each table once, with the rows of each data set."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from diaghoi._version import __version__
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.figures import HEADINGS
from diaghoi.data.table import UNDEFINED, Cell, Column, Row, RowGroup, Table
from diaghoi.data.vocabulary import printed_name
from diaghoi.exceptions import InputError


@dataclass(frozen=True, kw_only=True)
class JointComparison:
    """Comparisons on several data sets, shown together; no figure is taken over two of them.

    Parameters
    ----------
    parts : tuple of Comparison
        The comparison on each data set, in the order in which they are shown.
    """

    parts: tuple[Comparison, ...]

    def __post_init__(self) -> None:
        self.names  # noqa: B018 - refuses parts that cannot be told apart

    @property
    def names(self) -> list[str]:
        """What each data set is called."""
        return data_set_names([(part.dataset, part.protocol) for part in self.parts])

    @property
    def subject(self) -> str:
        """Data sets and protocols in a few words."""
        return "; ".join(part.subject for part in self.parts)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables of all parts; those of one key are joined."""
        found: dict[str, list[tuple[str, Table]]] = {}
        for name, part in zip(self.names, self.parts, strict=True):
            for table in part.tables:
                found.setdefault(table.key, []).append((name, table))
        return tuple(map(_joined, found.values()))

    @property
    def listings(self) -> tuple[Table, ...]:
        """Those of all parts; each says of which data set it is."""
        return tuple(
            replace(table, title=f"{name}: {table.title}")
            for name, part in zip(self.names, self.parts, strict=True)
            for table in part.listings
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """Those of all parts; each says of which data set it is, unless it is of all."""
        return self._said(lambda part: part.caveats)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of all parts, as the caveats."""
        return self._said(lambda part: part.notes)

    @property
    def statements(self) -> tuple[str, ...]:
        """What the tests of all parts found, as the caveats."""
        return self._said(lambda part: part.statements)

    def each(self, change: Callable[[Comparison], Comparison]) -> JointComparison:
        """Change each part."""
        return JointComparison(parts=tuple(map(change, self.parts)))

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain Python values: the JSON of ``diaghoi compare --json``.

        Returns
        -------
        dict
            ``diaghoi`` (version) and ``studies``: for each data set
            :meth:`diaghoi.comparison.comparison.Comparison.to_dict`.
        """
        return {"diaghoi": __version__, "studies": [part.to_dict() for part in self.parts]}

    def _said(self, texts: Callable[[Comparison], Sequence[str]]) -> tuple[str, ...]:
        given = zip(self.names, map(texts, self.parts), strict=True)
        return _attributed([(name, text) for name, each in given for text in each], self.names)


AnyComparison = Comparison | JointComparison
"""What can be shown: the tables of one data set or of several."""


def data_set_names(studies: Sequence[tuple[str, str]]) -> list[str]:
    """Name the data sets of some studies, with the protocol where a data set appears twice.

    Parameters
    ----------
    studies : sequence of tuple
        Data set and protocol of each.

    Raises
    ------
    InputError
        Where two have the same of both.
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


def _attributed(said: Sequence[tuple[str, str]], names: Sequence[str]) -> tuple[str, ...]:
    """Say of which data sets texts are, unless they are of all."""
    owners: dict[str, list[str]] = {}
    for name, text in said:
        owners.setdefault(text, []).append(name)
    return tuple(
        text if len(of) == len(names) else f"{', '.join(of)}: {text}" for text, of in owners.items()
    )


def _joined(named: Sequence[tuple[str, Table]]) -> Table:
    """Put the rows of tables with one key below each other, under the names of data sets."""
    tables = [table for _, table in named]
    first = tables[0]
    columns = _columns(tables)
    heads = tuple(dict.fromkeys(head for table in tables for head in table.heads))
    title, captions = first.title, [(name, table.caption) for name, table in named]
    if any(table.title != title for table in tables):
        title = f"{HEADINGS.get(first.key, first.key)}, {title.rpartition(', ')[2]}"
        captions = [
            (name, f"{table.title.rpartition(', ')[0]}. {table.caption}") for name, table in named
        ]
    staged = any(group.title for table in tables for group in table.row_groups)
    return replace(
        first,
        title=title,
        heads=heads,
        columns=tuple(columns),
        row_groups=tuple(
            RowGroup(
                title=_group_title(name, group),
                rows=tuple(_row(row, name, table, heads, columns) for row in group.rows),
            )
            for name, table in named
            for group in table.row_groups
        ),
        grouping="Data set, stage" if staged else "Data set",
        caption=_caption(captions),
        # More columns than one data set has are too many for one column of a paper.
        narrow=first.narrow and len(columns) == len(first.columns),
    )


def _caption(captions: Sequence[tuple[str, str]]) -> str:
    """Join captions: the sentences that all share, then the others of each."""
    sentences = [(name, re.split(r"(?<=[.]) (?=[A-ZΔ])", caption)) for name, caption in captions]
    shared = [each for each in sentences[0][1] if all(each in own for _, own in sentences)]
    own = [(name, [each for each in of if each not in shared]) for name, of in sentences]
    return " ".join([*shared, *(f"{name}: {' '.join(rest)}" for name, rest in own if rest)])


def _columns(tables: Sequence[Table]) -> list[Column]:
    """Collect the columns of all tables; one that a table adds stays beside its neighbours."""
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
                # A data set with several groups of classes titles the column for them.
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
