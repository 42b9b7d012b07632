"""Less than a whole comparison: chosen tables, and the compact one."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from support.results import example

from diaghoi import InputError
from diaghoi.comparison.comparison import Comparison, compare
from diaghoi.comparison.selection import check_table_names, selected
from diaghoi.comparison.study import Model
from diaghoi.data.table import Table
from diaghoi.oracles import ERRORS, ORACLES, Oracle
from diaghoi.report.comparison import to_text
from diaghoi.report.latex import to_latex
from diaghoi.report.markdown import to_markdown
from diaghoi.report.spreadsheet import to_csv
from diaghoi.statistics.significance import Difference

SPLITS = ("Full", "Rare", "Non-rare")


def said(table: Table) -> str:
    return " ".join(table.remarks)


def of(*changes: dict[str, Any]) -> Comparison:
    """Compare models a, b ... with some parts of their results changed."""
    models = [Model(label=chr(97 + n), file=Path("x"), stage="one") for n in range(len(changes))]
    return compare(*(copy.deepcopy(example()) | each for each in changes), models=models)


def differing(path: str, first: float, second: float) -> Difference:
    """Test a number of models a and b, which differ."""
    return Difference(
        path=path,
        title=path,
        labels=("a", "b"),
        first=first,
        second=second,
        difference=second - first,
        interval=(second - first - 0.05, second - first + 0.05),
        p=0.001,
        p_bootstrap=0.001,
        p_holm=0.001,
        sentence="They differ.",
    )


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["Pairs"], ["pairs"]),
        (["pairs", "official mAP"], ["official", "pairs"]),
        (["official"], ["official"]),
        (["mAP"], ["map"]),
        (["mAP under hico-det-520"], ["map"]),
        (["ΔmAP"], ["delta_map_full"]),
        (["dmap"], ["delta_map_full"]),
        (["dmap (rare)", "ΔmAP (Non-rare)"], ["delta_map_rare", "delta_map_non_rare"]),
        (["delta_map_rare"], ["delta_map_rare"]),
        (["Share of predictions"], ["error_shares"]),
        (["number"], ["errors"]),
        (["NEGATIVES"], ["negatives_actions"]),
    ],
)
def test_tables_are_chosen_by_their_headings(names: list[str], keys: list[str]) -> None:
    check_table_names(names)
    assert [table.key for table in selected(of({}), names).tables] == keys


@pytest.mark.parametrize("heading", [table.heading for table in of({}).tables])
def test_every_heading_is_a_name(heading: str) -> None:
    for name in (heading, heading.rpartition(", ")[0] or heading):
        check_table_names([name])
        assert [table.heading for table in selected(of({}), [name]).tables] == [heading]


@pytest.mark.parametrize("name", ["officil map", "", "robustness", "mAPs", "(Rare)"])
def test_other_names_are_refused_before_anything_is_read(name: str) -> None:
    with pytest.raises(InputError, match="there is no such table") as error:
        check_table_names(["pairs", name])
    assert "give some of Official mAP, mAP, ΔmAP, ΔmAP on found pairs," in str(error.value)


def test_a_table_that_another_comparison_has_is_noted() -> None:
    found = selected(of({}), ["pairs", "Slices with other", "with", "shares"])
    assert [table.key for table in found.tables] == ["pairs"]
    assert found.notes[-3:] == (
        "--table 'Slices with other': this comparison has no such table; add --also slices",
        "--table 'with': this comparison has no such table; add --also pair-nms=0.7",
        "--table 'shares': this comparison has no such table; add --also explain",
    )


def test_what_is_no_table_of_models_has_no_data_sets_side_by_side() -> None:
    found = selected(of({}), ["pairs", "slices-by-data-set"])
    assert [table.key for table in found.tables] == ["pairs"]
    assert "--table 'slices-by-data-set': this comparison has no such table" in found.notes[-1]


def test_tables_of_other_splits_are_refused_when_the_splits_are_known() -> None:
    check_table_names(["dmap (unseen)"])
    with pytest.raises(InputError, match=r"give some of .*, ΔmAP \(Non-rare\), "):
        selected(of({}), ["dmap (unseen)"])


def test_the_compact_table_has_the_official_map_and_the_costs_of_each_error() -> None:
    better = example()["official"] | {"default": {"full": 0.5, "rare": None, "non_rare": 0.5}}
    found = selected(of({}, {"official": better}), ["compact"])
    (table,) = found.tables
    assert [column.key for column in table.columns] == ["default.full", *ERRORS]
    rows = [[row.title, *(cell.shown for cell in row.cells)] for row in table.rows]
    assert rows == [
        ["a", "31.00", "−0.12", "0.00", "0.00", "5.00", "11.68", "0.00", "0.00"],
        ["b", "50.00", "−0.12", "0.00", "0.00", "5.00", "11.68", "0.00", "0.00"],
    ]
    assert [row.cells[0].best for row in table.rows] == [False, True]
    assert said(table).startswith("mAP: official mAP, Default, Full. ΔmAP: gain in mAP when ")
    assert "Protocol of ΔmAP: hico-det-520." in said(table)
    assert "Asc: association" in said(table)


def test_the_compact_table_says_over_how_many_classes_its_means_run() -> None:
    def over(official: int, protocol: int = 520) -> dict[str, Any]:
        means = {"classes_in_official": {"full": official}, "classes_in_mean": {"full": protocol}}
        return {"counts": example()["counts"] | means}

    (table,) = selected(of(over(600), over(600)), ["compact"]).tables
    assert said(table).startswith("mAP: official mAP, Default, Full, 600 classes. ΔmAP: gain ")
    assert said(table).endswith("Protocol of ΔmAP: hico-det-520, 520 classes.")
    (table,) = selected(of(over(600), over(599)), ["compact"]).tables
    assert said(table).startswith("mAP: official mAP, Default, Full. ΔmAP: gain ")
    assert said(table).endswith("Protocol of ΔmAP: hico-det-520, 520 classes.")


def test_tables_say_how_many_classes_a_repair_takes_out_of_the_mean() -> None:
    def leaves(**classes: int) -> dict[str, Any]:
        left = {
            name: {"full": full, "rare": full // 10, "non_rare": full - full // 10}
            for name, full in classes.items()
        }
        by_pair = {name: left[name] for name in left if name == "missed_gt"}
        counts = example()["counts"] | {"leave_mean": left, "leave_mean_by_pair": by_pair}
        localised = {"missed_gt": {"delta_map": dict.fromkeys(("full", "rare", "non_rare"), 0.1)}}
        return {"counts": counts, "localised": localised}

    found = of(leaves(missed_gt=1, false_negative=11), leaves(missed_gt=2))
    costs = {table.key: table.caption for table in found.tables}
    gone = "Missed up to 2 classes, False negative up to 11 classes"
    assert (
        f"The repair leaves classes without annotated triplets ({gone}): "
        in costs["delta_map_full"]
    )
    assert "triplets (False negative up to 1 class): " in costs["delta_map_rare"]
    assert (
        "(Missed up to 2 classes, False negative up to 10 classes)" in costs["delta_map_non_rare"]
    )
    assert "triplets (Missed up to 2 classes): " in costs["localised"]
    (table,) = selected(found, ["compact"]).tables
    less = "hico-det-520, except classes left without annotated triplets (Missed up to 2 "
    assert less in said(table)
    assert "False negative" not in said(table)
    assert not any("leaves" in said(table) for table in of(leaves(), {}).tables)


def test_the_compact_table_of_v_coco_has_its_role_ap() -> None:
    scenarios = {
        f"scenario_{n}": {
            "ap": 0.6 + n / 100,
            "ap_without_point": 0.7,
            "classes": {"hit": {}, "point": {}},
        }
        for n in (1, 2)
    }
    (table,) = selected(of({"official": {"agent": {"ap": 0.9}} | scenarios}), ["compact"]).tables
    assert said(table).startswith("S1: official role AP, scenario 1, 2 roles. S2: official")
    heads = [(column.group, column.title) for column in table.columns[:3]]
    assert heads == [("Role AP", "S1"), ("Role AP", "S2"), ("ΔmAP", "Hum")]
    assert [cell.shown for cell in table.rows[0].cells[:2]] == ["61.00", "62.00"]


def test_without_a_benchmark_it_has_the_map_of_the_protocol() -> None:
    (table,) = selected(of({"official": {}}), ["compact"]).tables
    assert (table.columns[0].title, table.rows[0].cells[0].shown) == ("mAP", "56.75")
    assert said(table).startswith("mAP: under protocol hico-det-520.")


def test_an_oracle_of_the_user_has_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Oracle(name="tiny", title="Tiny", definition="Repair tiny.", repair=lambda x: x)
    monkeypatch.setitem(ORACLES, own.name, own)
    oracles = example()["oracles"] | {"tiny": example()["oracles"]["action"]}
    (table,) = selected(of({"oracles": oracles}), ["compact"]).tables
    assert [table.columns[-1].title, table.rows[0].cells[-1].shown] == ["Tiny", "11.68"]


def test_marks_of_differences_are_kept_and_explained() -> None:
    found = of({}, {})
    difference = differing("oracles.action.delta_map.full", 0.1, 0.2)
    (table,) = selected(found.with_differences([difference]), ["compact"]).tables
    marks = [[cell.mark for cell in row.cells] for row in table.rows]
    assert [row.count("†") for row in marks] == [0, 1]
    assert "†: differs from a (p < 0.05, corrected for 1 comparisons)." in said(table)
    assert "not tested" not in said(table)


@pytest.mark.parametrize(("official", "marked"), [((0.3, 0.2), True), ((0.3, 0.201), False)])
def test_the_official_map_is_marked_where_it_is_the_tested_one(
    official: tuple[float, float], marked: bool
) -> None:
    found = of(*({"official": {"default": {"full": value}}} for value in official))
    difference = differing("map.full", 0.3 + 1e-15, 0.2)
    tested = found.with_differences([difference])
    marks = {
        table.key: [row.cells[0].mark for row in table.rows if row.kind == "entry"]
        for table in tested.tables
    }
    assert marks["map"] == ["", "†"]
    assert marks["official"] == ["", "†" if marked else ""]
    (table,) = selected(tested, ["compact"]).tables
    assert [row.cells[0].mark for row in table.rows] == marks["official"]
    untested = "mAP: not tested; the test is of the mAP under hico-det-520."
    assert (untested in said(table)) is not marked


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (["mAP"], ["mAP"]),
        (["map,RARE", "Non-rare"], ["mAP", "Rare", "Non-rare"]),
        (["precision", "mAP"], ["Pairs Precision", "mAP"]),
        (["pairs.recall"], ["Pairs Recall"]),
        (["association"], ["ΔmAP Asc"]),
        (
            ["dmap.association", "ΔmAP.Act", "delta_map.missed"],
            ["ΔmAP Asc", "ΔmAP Act", "ΔmAP Missed"],
        ),
        (["object-box", "object_box", "Obj"], ["ΔmAP Obj"]),
        (["pairs"], ["Pairs Recall", "Pairs Precision"]),
        (["default.rare"], ["Rare"]),
        (["map.rare"], ["mAP under hico-det-520 mAP Rare"]),
        (["official.known object"], [f"Official mAP Known Object {of}" for of in SPLITS]),
        (["dmap (rare).action"], ["ΔmAP (Rare) Action"]),
        (["number.association"], ["Number of predictions Association"]),
        (["per image"], ["Pairs Pairs/image"]),
    ],
)
def test_columns_make_one_table(names: list[str], columns: list[str]) -> None:
    comparison = of({}, {})
    (table,) = selected(comparison, columns=names).tables
    assert table.key == "overview"
    assert [f"{column.group} {column.title}".strip() for column in table.columns] == columns
    assert [row.title for row in table.rows] == ["a", "b"]
    assert ("ΔmAP" in table.best) == any("ΔmAP" in column for column in columns)


def test_columns_of_tables_stand_as_asked_for() -> None:
    found = selected(of({}, {}), ["pairs"], ["mAP", "recall", "rare recall"])
    (table,) = found.tables
    assert [column.key for column in table.columns] == ["map", "recall", "rare.recall"]
    assert [[cell.shown for cell in row.cells][:2] for row in table.rows[:2]] == [
        ["56.75", "70.00"] for _ in "ab"
    ]
    for kind in (to_text, to_markdown, to_latex):
        head = next(
            line for line in kind(found).splitlines() if "Recall" in line and "Model" in line
        )
        assert head.index("mAP") < head.index("Recall")
        assert "Precision" not in head
    assert [row.split(",")[9] for row in to_csv(found).splitlines()[1:4]] == [
        "map",
        "recall",
        "rare.recall",
    ]


def test_views_are_tables_with_names() -> None:
    found = selected(of({}, {}), ["overview", "compact", "pairs"], ["recall", "map", "association"])
    assert [table.key for table in found.tables] == ["pairs", "overview", "compact"]
    assert [[column.key for column in table.columns] for table in found.tables] == [
        ["recall", "map"],
        ["recall", "default.full", "association"],
        ["default.full", "association"],
    ]


@pytest.mark.parametrize(
    ("tables", "columns", "message"),
    [
        ([], ["recal"], r"`columns` 'recal': there is no such column \(did you mean .*[Rr]ecall"),
        ([], [""], "`columns` '': there is no such column; give some of mAP, Rare, Non-rare, ΔmAP"),
        (
            ["pairs"],
            ["association"],
            "'association': there is no such column; give some of Pairs/im",
        ),
        (
            ["pairs", "official"],
            ["recall"],
            "`columns`: 'Official mAP' has none of recall; also give some",
        ),
        (
            ["pears-by-data-set"],
            [],
            r"`table` 'pears-by-data-set': there is no such table.*; give ",
        ),
    ],
)
def test_columns_that_are_not_there_are_refused(
    tables: list[str], columns: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        selected(of({}, {}), tables, columns)


def test_nothing_asked_for_is_all() -> None:
    comparison = of({}, {})
    assert selected(comparison) is comparison
