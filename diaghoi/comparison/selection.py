"""Less than a whole comparison: some of its tables, or one table for the column of a paper."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from diaghoi.comparison.comparison import TOLD, Comparison
from diaghoi.comparison.figures import HEADINGS
from diaghoi.comparison.joint import JointComparison
from diaghoi.comparison.results import CHANGED, WITHOUT
from diaghoi.data.protocol import choices_of
from diaghoi.data.table import Cell, Column, Row, RowGroup, Table, shown
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import TOTALS, error_title
from diaghoi.oracles.localised import PUBLISHED

Shown = TypeVar("Shown", Comparison, JointComparison, Comparison | JointComparison)

# The official numbers that papers print first, by the keys of their columns: title and group in the
# compact table, and what they are.
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
"""Titles of the errors in the compact table."""
OVERVIEW = {
    "delta_map_full": {error: (title, "ΔmAP") for error, title in SHORT.items()},
    "pairs": {"recall": ("Recall", "Pairs"), "precision": ("Precision", "Pairs")},
    "negatives_actions": {
        "negatives.ap": ("Negatives", ""),
        "actions.map": ("Actions", ""),
    },
}
"""Columns of other tables in the overview: title and group by the key of each."""
USUAL = (
    *("official", "map", "delta_map", "localised", "errors", "error_shares", "pairs"),
    "negatives_actions",
)
"""How the keys of the tables begin that every comparison has."""


def check_table_names(names: Iterable[str]) -> None:
    """Refuse names of tables that no comparison has, before anything is read.

    Parameters
    ----------
    names : iterable of str
        As for :func:`chosen`.

    Raises
    ------
    InputError
        With the names that there are.
    """
    for name in names:
        spelt = _spelt(name)
        if not any(f"{spelt} ".startswith(f"{_spelt(each)} ") for each in _all(HEADINGS)):
            _of_name(name, HEADINGS)


def chosen(comparison: Shown, names: Iterable[str]) -> Shown:
    """Keep some tables of a comparison.

    Parameters
    ----------
    comparison : Comparison
        Of some models.
    names : iterable of str
        Headings of tables without the unit, or how a heading begins, or keys: ``ΔmAP (Rare)``,
        ``mAP``, ``delta_map_rare``. Case, hyphens and brackets do not matter, and Δ may be ``d``.

    Returns
    -------
    Comparison
        Its tables in their order, with a note on tables that another comparison has.

    Raises
    ------
    InputError
        For a name that no table of any comparison has.
    """
    headings = {
        table.key: table.title.rpartition(", ")[0] or table.title
        for table in (*comparison.tables, *comparison.listings)
    }
    kept: set[str] = set()
    without: list[str] = []
    for name in names:
        try:
            kept.update(_of_name(name, headings))
        except InputError:
            # That of the slices that stand out, for example, where none does.
            if not _found(_spelt(name), HEADINGS):
                raise
            without.append(f"--only '{name}': this comparison has no such table")

    def keep(part: Comparison) -> Comparison:
        return replace(
            part,
            notes=(*part.notes, *without),
            tables=tuple(each for each in part.tables if each.key in kept),
            listings=tuple(each for each in part.listings if each.key in kept),
        )

    return comparison.each(keep)


def _of_name(name: str, headings: Mapping[str, str]) -> Collection[str]:
    """Find the keys of the tables that a name means."""
    found = _found(_spelt(name), headings)
    if found:
        return found
    raise InputError(
        f"--only '{name}': there is no such table{close_matches(name, _all(headings))}; give some "
        f"of {', '.join(headings.values())}"
    )


def _found(spelt: str, headings: Mapping[str, str]) -> list[str]:
    names = {key: (_spelt(key), _spelt(heading)) for key, heading in headings.items()}
    exact = [key for key, each in names.items() if spelt in each]
    begun = [k for k, each in names.items() if any(n.startswith(f"{spelt} ") for n in each)]
    return exact or begun


def _all(headings: Mapping[str, str]) -> list[str]:
    return [*headings.values(), *headings]


def _spelt(name: str) -> str:
    """Write a name in one way: lower case, words, ``d`` for Δ."""
    return " ".join(re.findall(r"\w+", name.lower().replace("δ", "d").replace("_", " ")))


def compact(comparison: Shown) -> Shown:
    """Replace the tables of a comparison by one: a row for each model, mAP and what errors cost.

    Parameters
    ----------
    comparison : Comparison
        Of some models.

    Returns
    -------
    Comparison
        Its only table, ``compact``, has the official mAP, or that of the protocol where the data
        set has no benchmark, and ΔmAP of each error.
    """
    return comparison.each(_compact)


def _compact(comparison: Comparison) -> Comparison:
    tables = {table.key: table for table in comparison.tables}
    official = tables["official"].columns if "official" in tables else ()
    first = [column for column in official if column.key in OFFICIAL]
    # It says where the means run over the interactions alone.
    heading = tables["official"].title.rpartition(",")[0].replace("Off", "off") if official else ""
    columns, meanings = [], []
    for column in first:
        title, group, meaning = OFFICIAL[column.key]
        columns.append((tables["official"], column, replace(column, title=title, group=group)))
        over = column.title if group else comparison.classes.get("classes_in_official")
        meaning = meaning.replace("official mAP", heading)
        meanings.append(f"{', '.join(filter(None, (f'{title}: {meaning}', over)))}.")
    if not first:
        own = tables["map"].columns[0]
        columns.append((tables["map"], own, replace(own, title="mAP", group="")))
        meanings.append(f"mAP: of protocol {comparison.protocol}.")
    means = [
        comparison.official(each) for each in comparison.differences if each.path == "map.full"
    ]
    untested = [OFFICIAL[each.key][0] for each in first if not all(each.key in m for m in means)]
    if untested:
        meanings.append(
            f"{' and '.join(untested)}: not tested; the test is of the mAP under "
            f"{comparison.protocol}."
        )
    costs = tables["delta_map_full"]
    for column in costs.columns:
        if column.key not in TOTALS:
            title = SHORT.get(column.key, column.title)
            # In percent they have no plus, for which the column of a paper has no room.
            new = replace(column, title=title, group="ΔmAP", unit="percent")
            columns.append((costs, column, new))
    table = replace(
        _of_columns(comparison, columns),
        key="compact",
        title="mAP in % and ΔmAP in points",
        caption=" ".join([*meanings, _costs(comparison), comparison.mark]).rstrip(),
        narrow=True,
    )
    return replace(comparison, tables=(table,), listings=())


def has_overview(comparison: Comparison) -> bool:
    """Whether there is an overview of a comparison: not of one by meaning, or without tables."""
    return {"map", "delta_map_full"} <= {table.key for table in comparison.tables}


def overview(comparison: Comparison) -> Comparison:
    """Replace the usual tables of a comparison by one, with all that sets detectors apart.

    Parameters
    ----------
    comparison : Comparison
        Of some models, with all its tables.

    Returns
    -------
    Comparison
        Its first table, ``overview``, has a row for each model: mAP, also of groups of classes,
        ΔmAP of each error, pair recall and precision, negatives and actions. Tables that were
        asked for follow.
    """
    tables = {table.key: table for table in comparison.tables}
    means = tables.get("official", tables["map"])
    columns = []
    for column in means.columns:
        of, _, split = column.key.partition(".")
        if column.key in OFFICIAL or of in ("default", "map"):
            title, group, _ = OFFICIAL.get(column.key, (column.title, "", ""))
            title = "mAP" if (of, split) == ("map", "full") else title
            columns.append((means, column, replace(column, title=title, group=group)))
    for key, wanted in OVERVIEW.items():
        for column in tables[key].columns:
            if column.key in wanted:
                title, group = wanted[column.key]
                new = replace(column, title=title, group=group, unit="percent")
                columns.append((tables[key], column, new))
    source = "official" if "official" in tables else f"under {comparison.protocol}"
    table = _of_columns(comparison, columns)
    mark = comparison.mark if any(cell.mark for row in table.rows for cell in row.cells) else ""
    table = replace(
        table,
        key="overview",
        title="mAP, pairs, negatives and actions in %, ΔmAP in points",
        caption=f"mAP: {source}. ΔmAP: what repairing all errors of a kind adds to mAP under "
        f"{comparison.protocol}. {mark}".rstrip(),
    )
    asked = (each for key, each in tables.items() if not key.startswith(USUAL))
    return replace(comparison, tables=(table, *asked))


def difference_in_words(comparison: Comparison) -> str:
    """Say which models differ most in mAP, by how much, and in which error, in 40 words at most.

    Parameters
    ----------
    comparison : Comparison
        Of some models, with all its tables; empty where fewer than two have a mAP.
    """
    tables = {table.key: table for table in comparison.tables}
    means = tables.get("official", tables["map"])
    keys = [column.key for column in means.columns]
    key = next((each for each in OFFICIAL if each in keys), "map.full")
    values, own = _values(means, key), _values(tables["map"], "map.full")
    if len(values) < 2:
        return ""
    high, low = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
    what = OFFICIAL[key][2].partition(", Default")[0] if key in OFFICIAL else "mAP"
    points = shown(values[high] - values[low], "percent")
    if not points.strip("0."):
        return f"All have the same {what}, {shown(values[high], 'percent')}."
    said = f"{high} has {points} points of {what} more than {low}"
    remarks = [f"under {comparison.protocol}"]
    if key in OFFICIAL and {high, low} <= own.keys():
        remarks = [f"{shown(own[high] - own[low], 'points')} under {comparison.protocol}"]
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
    """Take the defined values of a column by model."""
    place = [column.key for column in table.columns].index(key)
    rows = ((row.title, row.cells[place].value) for row in table.rows if row.kind == "entry")
    return {label: value for label, value in rows if value is not None}


def _of_columns(comparison: Comparison, columns: Sequence[tuple[Table, Column, Column]]) -> Table:
    """Make a table with a row for each model of columns of others, each with its new form."""
    rows = [
        Row(titles=(model.label,), cells=tuple(_cell(*found, model.label) for found in columns))
        for model in comparison.models
    ]
    return Table(
        heads=("Model",),
        columns=tuple(new for *_, new in columns),
        row_groups=(RowGroup(rows=tuple(rows)),),
        best=f"best of its column; of ΔmAP the smallest{TOLD if comparison.differences else ''}",
    )


def _cell(table: Table, column: Column, new: Column, label: str) -> Cell:
    """Take the cell of a model over from another table."""
    row = next(row for row in table.rows if row.kind == "entry" and row.title == label)
    cell = row.cells[table.columns.index(column)]
    return replace(cell, text=shown(cell.value, new.unit))


def _costs(comparison: Comparison) -> str:
    classes, gone = (comparison.classes.get(key) for key in ("classes_in_mean", "leave_mean"))
    protocol = filter(None, (comparison.protocol, classes))
    fewer = f", less what a repair leaves without annotated triplets ({gone})" if gone else ""
    names = ", ".join(f"{short}: {error_title(error).lower()}" for error, short in SHORT.items())
    if choices_of(comparison.signature).get(WITHOUT) == "left out":
        fewer += f". {CHANGED.rstrip('.')}"
    own = f" By this rule {PUBLISHED}." if comparison.dataset == "v-coco" else ""
    return (
        "ΔmAP: gain of mAP when all errors of one kind are repaired by the published rule "
        f"({names}).{own} Protocol of ΔmAP: {', '.join(protocol)}{fewer}."
    )
