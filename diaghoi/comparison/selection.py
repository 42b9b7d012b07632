"""Less than a whole comparison: some of its tables, or one table for the column of a paper."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
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
    rows = [
        Row(titles=(model.label,), cells=tuple(_cell(*found, model.label) for found in columns))
        for model in comparison.models
    ]
    table = Table(
        key="compact",
        title="mAP in % and ΔmAP in points",
        heads=("Model",),
        columns=tuple(new for *_, new in columns),
        row_groups=(RowGroup(rows=tuple(rows)),),
        caption=" ".join([*meanings, _costs(comparison), comparison.mark]).rstrip(),
        best=f"best of its column; of ΔmAP the smallest{TOLD if comparison.differences else ''}",
        narrow=True,
    )
    return replace(comparison, tables=(table,), listings=())


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
