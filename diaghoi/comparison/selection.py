"""Select the displayed parts of a comparison: tables, columns, an overview, paper tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, TypeVar

from diaghoi.comparison.comparison import TOLD, Comparison
from diaghoi.comparison.figures import HEADINGS
from diaghoi.comparison.joint import JointComparison
from diaghoi.comparison.results import CHANGED, PRECISION, WITHOUT
from diaghoi.comparison.study import STAGES
from diaghoi.comparison.tables import by_stage
from diaghoi.data.protocol import choices_of
from diaghoi.data.table import Cell, Column, Row, RowGroup, Table, shown
from diaghoi.data.vocabulary import printed_name
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import TOTALS, error_title
from diaghoi.oracles.localised import PUBLISHED

Shown = TypeVar("Shown", Comparison, JointComparison, Comparison | JointComparison)

# The official numbers that papers print first, by column key: each entry has the title and the
# group in tables with one row per model, and the meaning.
OFFICIAL = {
    "default.full": ("mAP", "", "official mAP, Default, Full"),
    "scenario_1.ap": ("S1", "Role AP", "official role AP, scenario 1"),
    "scenario_2.ap": ("S2", "Role AP", "official role AP, scenario 2"),
}
SHORT = {
    "human_box": "Hum",
    "object_box": "Obj",
    "both_boxes": "Both",
    "association": "Asc",
    "action": "Act",
    "duplicate": "Dup",
    "missed_gt": "Miss",
}
"""Titles of the errors in tables with one row per model."""
OVERVIEW = {
    "pairs": {"recall": ("Recall", "Pairs"), "precision": ("Precision", "Pairs")},
    "negatives_actions": {
        "negatives.ap": ("Negatives", ""),
        "actions.map": ("Actions", ""),
    },
}
"""Additional columns of the overview by source table, each with its title and group."""
PAPER = {
    "pairs": {"per_image": "#Pairs", "recall": "Recall", "precision": "Precision", "map": "mAP"},
    "negatives_actions": {"negatives.ap": "neg. AP", "actions.map": "act. mAP"},
}
"""Column titles in tables 2 and 3 of the paper, by title in the source tables."""
VIEWS = ("overview", "compact")
"""Tables with one row per model that combine columns of several other tables."""
TABLES = HEADINGS | dict(zip(VIEWS, VIEWS, strict=True))
"""Start of the title of each table that can be requested, by the start of the table's key."""
BESIDE = "-by-data-set"
"""Suffix of the name of a table with data sets side by side."""
POINTS = "percentage points|points"
ADDED_BY = {
    **dict.fromkeys(("difference", "annotated", "shares"), "explain"),
    **dict.fromkeys(("slices", "slice_search", "slice_differences", "slice_parts"), "slices"),
    "shortcuts": "shortcuts",
    "with": "pair-nms=0.7",
}
"""Analysis (``--also``) that adds a table, by the start of the table's key."""
USUAL = (
    *("official", "map", "delta_map", "localised", "errors", "error_shares", "pairs"),
    "negatives_actions",
)
"""Key prefixes of the tables that every comparison has."""


class _Taken(NamedTuple):
    """A column of a table, and its counterpart in another table."""

    table: Table
    column: Column
    new: Column

    def cell(self, label: str) -> Cell:
        """Copy the cell of a model."""
        row = next(row for row in self.table.rows if row.kind == "entry" and row.title == label)
        cell = row.cells[self.table.columns.index(self.column)]
        return replace(cell, text=shown(cell.value, self.new.unit))


def selected(comparison: Shown, tables: Iterable[str] = (), columns: Iterable[str] = ()) -> Shown:
    """Keep the requested tables of a comparison, or combine columns into one table.

    Parameters
    ----------
    comparison : Comparison or JointComparison
        A comparison with all its tables.
    tables : iterable of str
        Table headings as printed, with or without the unit, beginnings of headings, or keys: ``ΔmAP
        (Rare)``, ``mAP``, ``delta_map_rare``. Case, hyphens and brackets do not matter, and Δ may
        be ``d``. Also ``overview`` (one row per model), ``compact`` (mAP and ΔmAP of each model,
        for one column of a paper), and any name followed by ``-by-data-set``, which puts data sets
        side by side: ``pairs-by-data-set`` is table 2 of the paper and
        ``negatives-actions-by-data-set`` table 3. A text may contain several names, separated by
        commas.
    columns : iterable of str
        Column titles as printed, or keys, possibly preceded by the name of the table or group:
        ``mAP``, ``rare``, ``dmap.association``, ``pairs.recall``. A group or a table selects all
        its columns. Without ``tables``, the columns form one table, the overview.

    Returns
    -------
    Comparison or JointComparison
        The whole comparison if nothing is requested. Tables keep their order, and columns have the
        requested order. A note names requested tables that only other comparisons have.

    Raises
    ------
    InputError
        If a name is unknown; the message suggests the nearest name and lists all names.
    """
    names, wanted = names_of(tables), names_of(columns)
    if not names and not wanted:
        return comparison
    every = [_all(part) for part in comparison.parts]
    lacking = [name for name in names if not any(_asked(name, tables) for tables in every)]
    for name in lacking:
        # For example, a comparison lacks the table of slices that stand out if no slice stands out.
        if not meant(name, TABLES):
            raise unknown_table(name, _titles(chain(*every)))
    offered = [table for part in comparison.parts for table in _offered(part, names, wanted)]
    for name in wanted:
        if not any(_places(table, name) for table in offered):
            raise _unknown_column(name, offered)
    notes: list[str] = [_lacks(name, [table.key for table in chain(*every)]) for name in lacking]

    def change(part: Comparison) -> Comparison:
        listed = {table.key for table in part.listings}
        chosen = _chosen(part, names, wanted)
        return replace(
            part,
            tables=tuple(table for table in chosen if table.key not in listed),
            listings=tuple(table for table in chosen if table.key in listed),
            notes=(*part.notes, *notes),
        )

    kept = comparison.each(change)
    for table in kept.tables if wanted else ():
        if not table.columns:
            raise InputError(
                f"--columns: '{table.title}' has none of {', '.join(wanted)}; also give some of "
                "its columns, or leave the table out"
            )
    return kept


def names_of(values: Iterable[str]) -> list[str]:
    """Split names at commas, and remove the units of headings."""
    texts = [values] if isinstance(values, str) else values
    parts = (re.sub(rf",\s*(%|{POINTS})\s*(?=,|$)", "", text).split(",") for text in texts)
    return list(dict.fromkeys(name.strip() for of in parts for name in of))


def check_table_names(names: Iterable[str]) -> None:
    """Reject unknown table names before anything is read.

    Parameters
    ----------
    names : iterable of str
        Names as in :func:`selected`.

    Raises
    ------
    InputError
        If a name is unknown; the message lists the known names.
    """
    for name in names_of(names):
        # The name of a split or of a protocol may follow the heading.
        begun = any(f"{_spelt(name)} ".startswith(f"{_spelt(each)} ") for each in _names(TABLES))
        if not begun and not meant(name, TABLES):
            raise unknown_table(name, TABLES)


def unknown_table(name: str, titles: Mapping[str, str]) -> InputError:
    """Create the error for an unknown table name, given the titles of all tables by key."""
    return InputError(
        f"--table '{name}': there is no such table{close_matches(name, _names(titles))}; give some "
        f"of {', '.join(dict.fromkeys(titles.values()))}, or append {BESIDE} to one of them"
    )


def _lacks(name: str, keys: Sequence[str]) -> str:
    """Say that a comparison lacks a known table, and which analysis adds the table."""
    made = {also for key in keys for begin, also in ADDED_BY.items() if key.startswith(begin)}
    added = {ADDED_BY.get(key, "") for key in meant(name, TABLES)}
    advice = "".join(f"; add --also {also}" for also in sorted(added - made - {""}))
    return f"--table '{name}': this comparison has no such table{advice}"


def _unknown_column(name: str, tables: Sequence[Table]) -> InputError:
    columns = [column for table in tables for column in table.columns]
    titles = list(dict.fromkeys(map(_column_title, columns)))
    near = close_matches(name, {*titles, *(column.key for column in columns)})
    return InputError(
        f"--columns '{name}': there is no such column{near}; give some of {', '.join(titles)}"
    )


def _names(titles: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys([*titles.values(), *titles]))


def meant(name: str, titles: Mapping[str, str]) -> list[str]:
    """Find the keys of the tables that a name denotes, given the titles of all tables by key."""
    spelt = _spelt(name).removesuffix(_spelt(BESIDE)).rstrip()
    names = {key: (_spelt(key), _spelt(title)) for key, title in titles.items()}
    exact = [key for key, each in names.items() if spelt in each]
    begun = [k for k, each in names.items() if any(n.startswith(f"{spelt} ") for n in each)]
    return exact or begun


def _spelt(name: str) -> str:
    """Normalise a name: lower case, words, ``d`` for Δ."""
    return " ".join(re.findall(r"\w+", name.lower().replace("δ", "d").replace("_", " ")))


def _wide(name: str) -> bool:
    """Check whether a name requests data sets side by side."""
    return _spelt(name).endswith(_spelt(BESIDE))


def _asked(name: str, tables: Iterable[Table]) -> list[str]:
    """List the keys of the tables that a name requests; only model tables fit side by side."""
    return meant(name, _titles(t for t in tables if not _wide(name) or t.heads[0] == "Model"))


def _offered(part: Comparison, names: Sequence[str], wanted: Sequence[str]) -> list[Table]:
    """List the tables whose columns can be selected; by default, all tables of the comparison."""
    if not names:
        view = [_view(part, _overview_columns(part))] if has_overview(part) else []
        return [*view, *part.tables]
    tables = _all(part)
    alone, beside = (
        {key for name in names if _wide(name) is side for key in _asked(name, tables)}
        for side in (False, True)
    )
    return [table for table in tables if table.key in alone] + [
        _by_data_set(part, table, whole=bool(wanted)) for table in tables if table.key in beside
    ]


def _chosen(part: Comparison, names: Sequence[str], wanted: Sequence[str]) -> list[Table]:
    """Select tables of a comparison and their columns, or combine columns into one table."""
    tables = _offered(part, names, wanted)
    if not wanted:
        return tables
    if not names and has_overview(part):
        own = _overview_columns(part)
        view, *tables = tables
        chosen: list[_Taken] = []
        for name in wanted:
            taken = [own[place] for place in _places(view, name)]
            for table in tables:
                taken = taken or [_taken(table, table.columns[n]) for n in _places(table, name)]
            chosen += [each for each in taken if each not in chosen]
        return [_view(part, chosen)]
    places = ([place for name in wanted for place in _places(t, name)] for t in tables)
    return [
        _with_mark(part, table.with_columns(list(dict.fromkeys(of))))
        for table, of in zip(tables, places, strict=True)
    ]


def _taken(table: Table, column: Column) -> _Taken:
    """Copy a column under the title of its table."""
    title = column.title if column.group in ("", table.title) else _column_title(column)
    new = replace(column, key=f"{table.key}.{column.key}", title=title, group=table.title)
    return _Taken(table, column, new)


def _column_title(column: Column) -> str:
    return f"{column.group} {column.title}".strip()


def _places(table: Table, name: str) -> list[int]:
    """Find the columns that a name denotes: by key, by title, or all of a group or table."""
    plain = _spelt(name).replace(" ", "")
    if not plain:
        return []

    def of(*texts: Callable[[Column], str]) -> list[int]:
        return [
            place
            for place, column in enumerate(table.columns)
            if plain in [_spelt(text(column)).replace(" ", "") for text in texts]
        ]

    found = (
        of(lambda column: column.key, lambda column: f"{column.group} {column.key}")
        or of(lambda column: column.title, _column_title)
        or of(lambda column: column.group)
    )
    if found:
        return found
    if meant(name, _titles([table])):
        return list(range(len(table.columns)))
    of_table, dot, rest = name.partition(".")
    return _places(table, rest) if dot and meant(of_table, _titles([table])) else []


def _all(part: Comparison) -> list[Table]:
    """List the tables that can be requested."""
    views = [_view(part, _overview_columns(part)), _compact(part)] if has_overview(part) else []
    return [*part.tables, *views, *part.listings]


def _titles(tables: Iterable[Table]) -> dict[str, str]:
    """Return the titles of tables by key; the title of a combined table only lists its content."""
    return {each.key: each.key if each.key in VIEWS else each.title for each in tables}


def _by_data_set(part: Comparison, table: Table, *, whole: bool) -> Table:
    """Lay out a table to stand beside that of another data set, whole or as in the paper."""
    titles = PAPER.get(table.key, {})
    heads = [n for n, head in enumerate(table.heads) if not titles or head in ("Model", "Backbone")]
    rows = {
        row.title: replace(row, titles=tuple(row.titles[place] for place in heads))
        for row in table.rows
        if row.kind == "entry"
    }
    groups = by_stage(part.models, [rows[model.label] for model in part.models])
    name = printed_name(part.dataset)
    beside = replace(
        table,
        key=f"{table.key}_{_spelt(BESIDE).replace(' ', '_')}",
        title="mAP" if table.key == "map" else table.title,
        heads=tuple(table.heads[place] for place in heads),
        columns=tuple(
            replace(each, title=titles.get(each.key) or _column_title(each), group=name)
            for each in table.columns
        ),
        row_groups=tuple(
            RowGroup(title=STAGES.get(stage, ""), rows=tuple(of)) for stage, of in groups.items()
        ),
        grouping="Stage",
        footnotes=(),
        narrow=False,
        beside=True,
    )
    if titles and not whole:
        # Tables of the paper show no groups of classes.
        remarks = [remark for remark in table.caption.splitlines() if remark != PRECISION]
        places = [place for place, column in enumerate(table.columns) if column.key in titles]
        beside = replace(beside, caption="\n".join(remarks)).with_columns(places)
    return _with_mark(part, beside)


def _with_mark(part: Comparison, table: Table) -> Table:
    """Explain the mark of significant differences if any cell has it."""
    marked = any(cell.mark for row in table.rows for cell in row.cells)
    footnotes = [each for each in table.footnotes if each != part.mark]
    return replace(table, footnotes=(*footnotes, *([part.mark] if marked and part.mark else [])))


def has_overview(comparison: Comparison) -> bool:
    """Check whether a comparison has an overview, which requires tables and a mAP."""
    return {"map", "delta_map_full"} <= {table.key for table in comparison.tables}


def overview(comparison: Comparison) -> Comparison:
    """Replace the tables of a comparison by one table with all that distinguishes the detectors.

    Parameters
    ----------
    comparison : Comparison
        A comparison with all its tables.

    Returns
    -------
    Comparison
        The first table, ``overview``, has a row for each model: mAP, also of groups of classes,
        ΔmAP of each error, pair recall and precision, negatives and actions. Requested tables
        follow.
    """
    table = _view(comparison, _overview_columns(comparison))
    asked = (each for each in comparison.tables if not each.key.startswith(USUAL))
    return replace(comparison, tables=(table, *asked))


def _overview_columns(comparison: Comparison) -> list[_Taken]:
    tables = {table.key: table for table in comparison.tables}
    means = tables.get("official", tables["map"])
    taken = []
    for column in means.columns:
        of, _, split = column.key.partition(".")
        if column.key in OFFICIAL or of in ("default", "map"):
            title, group, _ = OFFICIAL.get(column.key, (column.title, "", ""))
            title = "mAP" if (of, split) == ("map", "full") else title
            taken.append(_Taken(means, column, replace(column, title=title, group=group)))
    costs = tables["delta_map_full"]
    named = {c.key: (SHORT.get(c.key, c.title), "ΔmAP") for c in costs.columns}
    named = {error: names for error, names in named.items() if error not in TOTALS}
    for key, wanted in ({costs.key: named} | OVERVIEW).items():
        for column in tables[key].columns:
            if column.key in wanted:
                title, group = wanted[column.key]
                # For lack of room, costs in percent have no plus sign.
                new = replace(column, title=title, group=group, unit="percent")
                taken.append(_Taken(tables[key], column, new))
    return taken


def _view(comparison: Comparison, taken: Sequence[_Taken]) -> Table:
    """Create a table with one row per model (the overview or a variant) from other tables.

    The caption explains the usual columns briefly; for other columns, the caption is that of the
    source table.
    """
    official = comparison.tables[0].key == "official"
    said = dict.fromkeys(OVERVIEW, "") | {
        (
            "official" if official else "map"
        ): f"mAP: {'official' if official else _under(comparison)}.",
        "delta_map_full": "ΔmAP: gain in mAP from repairing all errors of a kind "
        f"{_under(comparison)}.",
    }
    topics: dict[str, dict[str, None]] = {}
    for each in taken:
        unit = {"percent": " in %", "points": " in points"}.get(each.column.unit, "")
        topics.setdefault(unit, {})[
            "mAP" if each.table.key in ("official", "map") else each.table.title
        ] = None
    tables = {each.table.key: each.table for each in taken}
    costs = any(key.startswith(("delta_map", "localised")) for key in tables)
    rows = [
        Row(titles=(model.label,), cells=tuple(each.cell(model.label) for each in taken))
        for model in comparison.models
    ]
    table = Table(
        key="overview",
        title=", ".join(f"{', '.join(of)}{unit}" for unit, of in topics.items()),
        heads=("Model",),
        columns=tuple(each.new for each in taken),
        row_groups=(RowGroup(rows=tuple(rows)),),
        caption="\n".join(
            filter(None, (said.get(key, table.caption) for key, table in tables.items()))
        ),
        best="best of its column"
        f"{TOLD if comparison.differences else ''}{'; for ΔmAP, the smallest' if costs else ''}",
    )
    return _with_mark(comparison, table)


def _under(comparison: Comparison) -> str:
    return f"under {comparison.protocol_title}"


def _compact(comparison: Comparison) -> Table:
    """Create a table for one column of a paper: mAP and the costs of errors."""
    first = ("map.full", *OFFICIAL)
    taken = [
        each
        for each in _overview_columns(comparison)
        if each.table.key == "delta_map_full" or each.column.key in first
    ]
    official = [each for each in taken if each.column.key in OFFICIAL]
    meanings = [] if official else [f"mAP: under protocol {comparison.protocol_title}."]
    for each in official:
        # The heading shows whether the means cover only interactions.
        heading = each.table.title.replace("Off", "off")
        meaning = OFFICIAL[each.column.key][2].replace("official mAP", heading)
        over = comparison.classes.get("classes_in_official")
        over = each.column.title if each.new.group else over
        meanings.append(f"{', '.join(filter(None, (f'{each.new.title}: {meaning}', over)))}.")
    means = [
        comparison.official(test) for test in comparison.differences if test.path == "map.full"
    ]
    untested = [
        each.new.title for each in official if not all(each.column.key in keys for keys in means)
    ]
    if untested:
        meanings.append(
            f"{' and '.join(untested)}: not tested; the test is of the mAP under "
            f"{comparison.protocol_title}."
        )
    return replace(
        _view(comparison, taken),
        key="compact",
        caption="\n".join((*meanings, _costs(comparison))),
        narrow=True,
    )


def difference_in_words(comparison: Comparison, names: Mapping[str, str] | None = None) -> str:
    """Describe by how much the best model leads in mAP, and which cost differs most.

    The description has at most 40 words.

    Parameters
    ----------
    comparison : Comparison
        A comparison with all its tables; the description is empty if fewer than two models have a
        mAP.
    names : mapping of str, optional
        Names to use instead of the models' labels.
    """
    tables = {table.key: table for table in comparison.tables}
    means = tables.get("official", tables["map"])
    keys = [column.key for column in means.columns]
    key = next((each for each in OFFICIAL if each in keys), "map.full")
    values, own = _values(means, key), _values(tables["map"], "map.full")
    if len(values) < 2:
        return ""
    high, low, *others = sorted(values, key=values.__getitem__, reverse=True)
    what = OFFICIAL[key][2].partition(", Default")[0] if key in OFFICIAL else "mAP"
    points = shown(values[high] - values[low], "percent")
    if len(set(values.values())) == 1:
        return f"All models have the same {what}, {shown(values[high], 'percent')}."
    names = names or {label: label for label in values}
    said = f"{names[high]} has {points} points more {what} than {names[low]}"
    said += ", the next best" if others else ""
    remarks = [f"under {comparison.protocol_title}"]
    if key in OFFICIAL and {high, low} <= own.keys():
        difference = shown(own[high] - own[low], "points")
        same = difference == shown(values[high] - values[low], "points")
        remarks = [f"{'also' if same else difference} under {comparison.protocol_title}"]
    for test in comparison.differences:
        if test.path == "map.full" and set(test.labels) == {high, low}:
            remarks += [*([] if test.significant else ["not significant"]), test.shown_p]
    said += f" ({', '.join(remarks)})"
    costs = tables["delta_map_full"]
    of = {row.title: row.cells for row in costs.rows if row.kind == "entry"}
    pairs = [
        (abs(mine.value - other.value), column.title, mine.value, other.value)
        for column, mine, other in zip(costs.columns, of[high], of[low], strict=True)
        if column.key not in TOTALS and mine.value is not None and other.value is not None
    ]
    if pairs:
        _, title, *both = max(pairs, key=lambda pair: pair[0])
        costs_of = " against ".join(shown(value, "points") for value in both)
        said += f". The cost that differs most: {title.lower()}, ΔmAP {costs_of}"
    return f"{said}."


def _values(table: Table, key: str) -> dict[str, float]:
    """Return the defined values of a column by model."""
    place = [column.key for column in table.columns].index(key)
    rows = ((row.title, row.cells[place].value) for row in table.rows if row.kind == "entry")
    return {label: value for label, value in rows if value is not None}


def _costs(comparison: Comparison) -> str:
    classes, gone = (comparison.classes.get(key) for key in ("classes_in_mean", "leave_mean"))
    protocol = filter(None, (comparison.protocol_title, classes))
    fewer = f", except classes left without annotated triplets ({gone})" if gone else ""
    names = ", ".join(f"{short}: {error_title(error).lower()}" for error, short in SHORT.items())
    if choices_of(comparison.signature).get(WITHOUT) == "left out":
        fewer += f". {CHANGED.rstrip('.')}"
    own = f" By the published rule, {PUBLISHED}." if comparison.dataset == "v-coco" else ""
    return (
        "ΔmAP: gain in mAP when all errors of one kind are repaired by the published rule "
        f"({names}).{own} Protocol of ΔmAP: {', '.join(protocol)}{fewer}."
    )
