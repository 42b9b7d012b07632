"""Comparisons on several data sets in one."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from support.results import example

from diaghoi import InputError
from diaghoi.comparison.comparison import Comparison, compare
from diaghoi.comparison.joint import JointComparison
from diaghoi.comparison.selection import selected
from diaghoi.comparison.study import StudyModel
from diaghoi.data.table import Row, Table
from diaghoi.report.comparison import to_text
from diaghoi.report.latex import to_latex
from diaghoi.report.markdown import to_markdown
from diaghoi.report.spreadsheet import to_csv


def part(dataset: str, protocol: str, *labels: str, **more: Any) -> Comparison:
    """Compare models of which each is one point better than the one before."""
    results = []
    for number, _ in enumerate(labels):
        result = example() | {"dataset": dataset, "notes": [f"a note on {dataset}"]} | more
        result["protocol"] = {"name": protocol, "signature": f"AP: area | {protocol}"}
        result["map"] = dict.fromkeys(result["map"], 0.3 + number / 100)
        results.append(result)
    stages = ["one", "two"]
    models = [
        StudyModel(label=label, stage=stages[number % 2], backbone="R50" if "c" in label else "")
        for number, label in enumerate(labels)
    ]
    return compare(*results, models=models)


def zoo(*labels: str) -> Comparison:
    """Compare models on a data set without a benchmark and without groups of classes."""
    full = {"full": 0.5}
    oracles = {
        name: {"map": full, "delta_map": full, "max_recall": full} for name in example()["oracles"]
    }
    return part("zoo", "hico-det", *labels, official={}, map=full, max_recall=full, oracles=oracles)


@pytest.fixture
def both() -> JointComparison:
    return JointComparison(parts=(part("hico-det", "diag-hoi", "a", "b"), zoo("a", "c")))


def table_of(joint: JointComparison, key: str) -> Table:
    return next(table for table in joint.tables if table.key == key)


def shown(row: Row) -> list[str]:
    return [cell.shown for cell in row.cells]


def test_each_table_has_the_rows_of_each_data_set(both: JointComparison) -> None:
    table = table_of(both, "map")
    assert [(group.title, [row.title for row in group.rows]) for group in table.row_groups] == [
        ("HICO-DET", ["a", "b"]),
        ("", ["Difference, HICO-DET"]),
        ("zoo", ["a", "c"]),
        ("", ["Difference, zoo"]),
    ]
    assert table.heads == ("Model", "Backbone")
    assert [row.titles[1] for row in table.rows] == ["", "", "", "", "R50", ""]


def test_columns_that_a_data_set_lacks_are_empty(both: JointComparison) -> None:
    table = table_of(both, "map")
    assert [column.title for column in table.columns] == ["Full", "Rare", "Non-rare"] * 2
    first, *_, last, _ = table.rows
    assert "–" not in shown(first)[:3]
    assert shown(last)[1:3] == ["–", "–"]
    reversed_ = JointComparison(parts=both.parts[::-1])
    assert table_of(reversed_, "map").columns == table.columns


def test_a_table_of_one_data_set_has_its_rows_alone(both: JointComparison) -> None:
    table = table_of(both, "official")
    assert {row.title for row in table.rows} == {"a", "b", "Difference, HICO-DET"}


def test_the_best_are_those_of_their_data_set(both: JointComparison) -> None:
    best = [row.title for row in table_of(both, "map").rows if row.cells[0].best]
    assert best == ["b", "c"]


def test_what_differs_is_said_by_data_set(both: JointComparison) -> None:
    table = table_of(both, "map")
    assert table.heading == "mAP, %"
    assert table.remarks == (
        "Means of AP and of the highest recall over the classes of the protocol.",
        "HICO-DET: mAP under diag-hoi.",
        "zoo: mAP under hico-det.",
        "One-stage: a.",
        "HICO-DET: Two-stage: b.",
        "Difference: two-stage minus one-stage, before rounding.",
        "zoo: Two-stage: c.",
    )
    assert both.notes == ("HICO-DET: a note on hico-det", "zoo: a note on zoo")


def test_a_data_set_twice_is_named_with_the_protocol() -> None:
    parts = (part("hico-det", "diag-hoi", "a"), part("hico-det", "hico-det", "a"))
    assert JointComparison(parts=parts).names == ["HICO-DET (diag-hoi)", "HICO-DET (hico-det)"]
    with pytest.raises(InputError, match=r"two are on hico-det under protocol diag-hoi; list"):
        JointComparison(parts=parts[:1] * 2)


def test_every_presentation_has_both(both: JointComparison) -> None:
    text = to_text(both)
    assert "2 models on HICO-DET, 1,234 images, protocol diag-hoi (area, diag-hoi)\n" in text
    assert "2 models on zoo, 1,234 images, protocol hico-det (area, hico-det)\n" in text
    assert "\nzoo\n  a  " in text
    assert max(map(len, text.splitlines())) <= 80
    markdown = to_markdown(both)
    assert "| Data set | Model | Backbone |" in markdown
    assert "| zoo | c | R50 |" in markdown
    assert r"{@{}l}{\emph{zoo}} \\" in to_latex(both)
    rows = list(csv.DictReader(io.StringIO(to_csv(both))))
    assert {(row["dataset"], row["protocol"], row["model"]) for row in rows} == {
        ("hico-det", "diag-hoi", "a"),
        ("hico-det", "diag-hoi", "b"),
        ("zoo", "hico-det", "a"),
        ("zoo", "hico-det", "c"),
    }
    saved = both.to_dict()
    assert saved["studies"] == [each.to_dict() for each in both.parts]


def test_some_tables_are_chosen_among_those_of_all(both: JointComparison) -> None:
    assert [table.key for table in selected(both, ["mAP", "dmap (rare)"]).tables] == [
        "map",
        "delta_map_rare",
    ]
    with pytest.raises(InputError, match="there is no such table"):
        selected(both, ["mapp"])


def test_the_compact_table_is_one(both: JointComparison) -> None:
    (table,) = selected(both, ["compact"]).tables
    assert [group.title for group in table.row_groups] == ["HICO-DET", "zoo"]
    assert [column.title for column in table.columns][:3] == ["mAP", "mAP", "Hum"]


def beside(**columns: Any) -> JointComparison:
    """Compare three models on two data sets, of which the second has two of them, and another."""
    stages = {"a": "two", "b": "one", "c": "one", "d": "one"}
    parts = []
    for dataset, labels in (("hico-det", "abc"), ("v-coco", "dba")):
        results = [
            example()
            | {"dataset": dataset, "protocol": {"name": dataset, "signature": "AP: area"}}
            | {"pairs": example()["pairs"] | {"recall": 0.7 - place / 10}}
            for place, _ in enumerate(labels)
        ]
        models = [
            StudyModel(
                label=label, stage=stages[label], backbone=columns.get(f"{dataset}{label}", "R")
            )
            for label in labels
        ]
        parts.append(compare(*results, models=models))
    return JointComparison(parts=tuple(parts))


def test_the_tables_of_the_paper_have_data_sets_side_by_side() -> None:
    chosen = selected(beside(), ["pairs-by-data-set", "negatives and actions by data set"])
    pairs, actions = chosen.tables
    titles = ["#Pairs", "Recall", "Precision", "mAP"]
    assert [(column.group, column.title) for column in pairs.columns] == [
        (name, title) for name in ("HICO-DET", "V-COCO") for title in titles
    ]
    assert [(group.title, [row.titles for row in group.rows]) for group in pairs.row_groups] == [
        ("One-stage", [("b", "R"), ("c", "R"), ("d", "R")]),
        ("Two-stage", [("a", "R")]),
    ]
    assert [shown(row)[1::4] for row in pairs.rows] == [
        ["60.00", "60.00"],
        ["50.00", "–"],
        ["–", "70.00"],
        ["70.00", "50.00"],
    ]
    assert [row.title for row in pairs.rows if row.cells[1].best] == ["a"]
    assert [row.title for row in pairs.rows if row.cells[5].best] == ["d"]
    assert [column.title for column in actions.columns] == ["neg. AP", "act. mAP"] * 2
    assert pairs.caption == (
        "Recall and precision of predicted pairs, whatever their verbs; mAP of the protocol. "
        "Pairs: as listed by the detectors."
    )
    text = to_text(chosen)
    assert "Model  Stage      Backbone  " in text
    assert "\na      Two-stage  R  " in text
    assert text.count("*: best of its column.") == 1
    assert "| Two-stage | a | R | 80.0 | **70.00** |" in to_markdown(chosen)
    latex = to_latex(chosen)
    assert r" &  &  & \multicolumn{4}{c}{HICO-DET} & \multicolumn{4}{c}{V-COCO} \\" in latex
    heads = r" & \#Pairs & Recall & Precision & mAP" * 2
    assert f"\nStage & Model & Backbone{heads} \\\\\n" in latex
    assert "\nOne-stage & b & R & 80.0 & 60.00 " in latex
    assert "\n & c & R & 80.0 & 50.00 & 2.00 & 56.75 & -- & -- & -- & -- " in latex.replace(
        r"\textbf{2.00}", "2.00"
    ).replace(r"\textbf{56.75}", "56.75")
    rows = list(csv.DictReader(io.StringIO(to_csv(chosen))))
    assert len(rows) == 2 * 3 * (4 + 2)
    assert {row["topic"] for row in rows} == {"pairs_by_data_set", "negatives_actions_by_data_set"}


def test_columns_of_tables_side_by_side_are_chosen() -> None:
    (table,) = selected(beside(), ["pairs-by-data-set"], ["recall", "precision", "mAP"]).tables
    assert [column.title for column in table.columns] == ["Recall", "Precision", "mAP"] * 2
    (table,) = selected(beside(), ["negatives-by-data-set"], ["negatives.ap_published"]).tables
    assert [column.group for column in table.columns] == ["HICO-DET"]
    assert [shown(row)[0] != "–" for row in table.rows] == [True, True, False, True]
    (table,) = selected(beside(), ["map-by-data-set"]).tables
    assert [column.title for column in table.columns[:3]] == [
        "mAP Full",
        "mAP Rare",
        "mAP Non-rare",
    ]


def test_models_of_one_name_that_are_not_the_same_have_rows_of_their_own() -> None:
    joint = beside(**{"v-cocoa": "R101", "v-cocob": ""})
    (table,) = selected(joint, ["pairs-by-data-set"]).tables
    assert [(row.titles, shown(row)[1::4]) for row in table.rows] == [
        (("b", "R"), ["60.00", "60.00"]),
        (("c", "R"), ["50.00", "–"]),
        (("d", "R"), ["–", "70.00"]),
        (("a", "R"), ["70.00", "–"]),
        (("a", "R101"), ["–", "50.00"]),
    ]


def test_one_data_set_has_the_layout_too() -> None:
    (table,) = selected(beside().parts[0], ["pairs-by-data-set"]).tables
    assert {column.group for column in table.columns} == {"HICO-DET"}
    assert [group.title for group in table.row_groups] == ["One-stage", "Two-stage"]


def test_a_column_that_one_data_set_has_is_empty_in_the_other(both: JointComparison) -> None:
    (table,) = selected(both, columns=["rare", "recall"]).tables
    assert [column.title for column in table.columns] == ["Rare", "Recall"]
    assert [shown(row)[1] for row in table.rows] == ["70.00"] * 4
    assert [shown(row)[0] for row in table.rows][2:] == ["–", "–"]
