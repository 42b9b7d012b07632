"""Detectors side by side: what is compared, what is best, and what does not compare."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.results import example

import diaghoi
from diaghoi import InputError, simulate
from diaghoi.comparison.comparison import Comparison, compare
from diaghoi.comparison.study import Model
from diaghoi.comparison.tables import table_of
from diaghoi.data.protocol import Group, protocol
from diaghoi.data.table import Cell, Column, Table
from diaghoi.diagnosis.notes import ONLY_INTERACTIONS
from diaghoi.oracles import ORACLES

HICO = [
    "official",
    "map",
    "delta_map_full",
    "delta_map_rare",
    "delta_map_non_rare",
    "errors",
    "error_shares",
    "pairs",
    "negatives_actions",
]


def model(label: str, stage: str = "", backbone: str = "") -> Model:
    return Model(label=label, file=Path(f"{label}.json"), stage=stage, backbone=backbone)


def put(result: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a result with one figure changed."""
    result = copy.deepcopy(result)
    *keys, last = path.split(".")
    part = result
    for key in keys:
        part = part[key]
    part[last] = value
    return result


def of_values(path: str, *values: Any, stages: str = "") -> Comparison:
    """Compare models a, b ... that differ in one figure."""
    letters = [stages[n] if stages else "" for n in range(len(values))]
    words = {"1": "one", "2": "two", "": "", "-": ""}
    models = [model(chr(97 + n), words[letter]) for n, letter in enumerate(letters)]
    return compare(*[put(example(), path, value) for value in values], models=models)


def table(comparison: Comparison, key: str) -> Table:
    return next(each for each in comparison.tables if each.key == key)


def best(comparison: Comparison, key: str, column: str) -> list[str]:
    return comparison.to_dict()["tables"][key]["best"][column]


def test_topics_of_hico_det() -> None:
    comparison = compare(example(), models=[model("a")])
    assert [each.key for each in comparison.tables] == HICO
    keys = {each.key: [column.key for column in each.columns] for each in comparison.tables}
    splits = ("full", "rare", "non_rare")
    assert keys["official"] == [f"{s}.{n}" for s in ("default", "known_object") for n in splits]
    assert keys["map"] == [f"{s}.{n}" for s in ("map", "max_recall") for n in splits]
    assert keys["delta_map_rare"] == list(ORACLES)
    labels = list(example()["errors"])
    assert keys["errors"] == keys["error_shares"] == [*labels, "false_positive", "false_negative"]
    assert keys["pairs"] == [
        *("per_image", "recall", "precision", "rare.recall", "rare.precision"),
        *("non_rare.recall", "non_rare.precision", "human_recall", "object_recall", "map"),
    ]
    assert keys["negatives_actions"] == [
        *("negatives.ap", "negatives.ap_published"),
        *("actions.map", "actions.rare.map", "actions.non_rare.map"),
    ]


def test_costs_by_pair_are_shown_beside_the_published_ones() -> None:
    """The sentence of a report goes by them."""
    other = put(example(), "localised", {"action": {"delta_map": {"full": 0.02}}})
    found = compare(other, models=[model("a")]).to_dict()["tables"]
    costs = {key: found[key]["models"]["a"] for key in ("delta_map_full", "localised")}
    assert costs["localised"]["action"] == 0.02
    assert costs["delta_map_full"]["action"] == example()["oracles"]["action"]["delta_map"]["full"]
    assert costs["localised"]["human_box"] == costs["delta_map_full"]["human_box"]
    old = compare(other, example(), models=[model("a"), model("b")])
    assert "localised" not in old.to_dict()["tables"]


def test_values_are_those_of_the_results() -> None:
    tables = compare(example(), models=[model("a")]).to_dict()["tables"]
    values = {key: part["models"]["a"] for key, part in tables.items()}
    assert values["official"]["known_object.full"] == 0.35
    assert values["map"] == {
        "map.full": 0.5675,
        "map.rare": None,
        "map.non_rare": 0.5675,
        "max_recall.full": 0.8,
        "max_recall.rare": None,
        "max_recall.non_rare": 0.8,
    }
    assert values["delta_map_full"]["human_box"] == -0.00123
    assert values["delta_map_rare"]["human_box"] is None
    assert values["errors"]["duplicate"] == 50
    assert values["errors"]["false_positive"] == values["errors"]["false_negative"] == 1450
    assert values["error_shares"]["duplicate"] == 0.025
    assert values["error_shares"]["missed_gt"] == 0.0025
    assert values["error_shares"]["false_negative"] == 0.725
    assert values["pairs"]["per_image"] == 80.04
    assert values["pairs"]["precision"] == 0.02
    assert values["pairs"]["human_recall"] == 0.9
    assert values["negatives_actions"]["negatives.ap_published"] == 0.87
    assert values["negatives_actions"]["actions.rare.map"] == 0.125


def test_the_json_of_a_comparison_keeps_all_digits() -> None:
    comparison = of_values("map.full", 0.1 + 0.2, 1 / 3)
    saved = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert saved == comparison.to_dict()
    assert saved["tables"]["map"]["models"]["a"]["map.full"] == 0.1 + 0.2
    assert list(saved) == [
        *("diaghoi", "dataset", "protocol", "images", "models", "groups", "tables"),
        *("caveats", "notes", "differences"),
    ]
    for part in saved["tables"].values():
        assert list(part) == ["title", "caption", "columns", "models", "best", "means"]
        for row in part["models"].values():
            assert list(row) == [column["key"] for column in part["columns"]]
    assert saved["diaghoi"] == diaghoi.__version__
    assert saved["protocol"]["name"] == "hico-det-520"
    assert saved["images"] == 1234
    assert saved["models"] == [
        {
            "label": label,
            "stage": None,
            "venue": None,
            "backbone": None,
            "detector": None,
            "classifier": None,
        }
        for label in ("a", "b")
    ]
    assert saved["groups"] == {}


def test_the_highest_map_is_best() -> None:
    assert best(of_values("map.full", 0.2, 0.4, 0.3), "map", "map.full") == ["b"]


def test_the_smallest_cost_is_best() -> None:
    path = "oracles.action.delta_map.full"
    assert best(of_values(path, 0.2, 0.1, 0.3), "delta_map_full", "action") == ["b"]
    assert best(of_values(path, 0.2, -0.1, 0.0), "delta_map_full", "action") == ["b"]


def test_ties_as_shown_are_all_best() -> None:
    # 40.00, 40.00 and 39.99 percent.
    assert best(of_values("map.full", 0.40001, 0.39998, 0.39994), "map", "map.full") == ["a", "b"]


def test_nothing_is_best_alone_or_undefined() -> None:
    assert best(of_values("map.full", 0.4), "map", "map.full") == []
    assert best(of_values("map.full", 0.4, None), "map", "map.full") == []
    assert best(of_values("map.full", 0.4, None, 0.3), "map", "map.full") == ["a"]
    assert best(of_values("map.full", None, None), "map", "map.full") == []


def test_counts_shares_and_numbers_of_pairs_are_not_marked() -> None:
    comparison = of_values("errors.duplicate", 1, 2)
    for key in ("errors", "error_shares"):
        assert comparison.to_dict()["tables"][key]["best"] == {}
        assert not table(comparison, key).marked
    assert "per_image" not in comparison.to_dict()["tables"]["pairs"]["best"]


def test_models_stand_by_stage_with_means_and_their_difference() -> None:
    comparison = of_values("map.full", 0.1, 0.2, 0.4, 0.7, stages="2112")
    mean_ap = table(comparison, "map")
    shown = [
        (group.title, [(row.title, row.kind, row.cells[0].value) for row in group.rows])
        for group in mean_ap.row_groups
    ]
    assert shown == [
        (
            "One-stage",
            [("b", "entry", 0.2), ("c", "entry", 0.4), ("Mean", "mean", pytest.approx(0.3))],
        ),
        (
            "Two-stage",
            [("a", "entry", 0.1), ("d", "entry", 0.7), ("Mean", "mean", pytest.approx(0.4))],
        ),
        ("", [("Difference", "difference", pytest.approx(0.1))]),
    ]
    assert not any(cell.best for row in mean_ap.rows if row.kind != "entry" for cell in row.cells)
    assert "Difference: two-stage minus one-stage, before rounding." in mean_ap.footnotes
    saved = comparison.to_dict()
    assert saved["groups"] == {"one": ["b", "c"], "two": ["a", "d"]}
    means = {key: row["map.full"] for key, row in saved["tables"]["map"]["means"].items()}
    assert means == pytest.approx({"one": 0.3, "two": 0.4, "difference": 0.1})


def test_one_model_is_its_own_mean() -> None:
    comparison = of_values("map.full", 0.1, 0.4, stages="12")
    rows = [(row.title, row.cells[0].value) for row in table(comparison, "map").rows]
    assert rows == [("a", 0.1), ("b", 0.4), ("Difference", pytest.approx(0.3))]
    assert comparison.to_dict()["tables"]["map"]["means"]["one"]["map.full"] == 0.1


def test_models_without_stage_stand_apart() -> None:
    labels = [
        [(group.title, [row.title for row in group.rows]) for group in of.row_groups]
        for stages in ("-12", "-1-22")
        if (of := table(of_values("map.full", *[0.1] * len(stages), stages=stages), "map"))
    ]
    assert labels == [
        [("", ["b", "c"]), ("", ["Difference"]), ("", ["a"])],
        [
            ("", ["b"]),
            ("Two-stage", ["d", "e", "Mean"]),
            ("", ["Difference"]),
            ("Stage not given", ["a", "c"]),
        ],
    ]


def test_a_group_of_one_model_has_no_heading_but_its_stage_is_said() -> None:
    found = table(of_values("map.full", 0.1, 0.2, 0.4, stages="122"), "map")
    assert [group.title for group in found.row_groups] == ["", "Two-stage", ""]
    assert found.footnotes[0] == "One-stage: a."


def test_one_stage_alone_has_no_difference() -> None:
    comparison = of_values("map.full", 0.1, 0.2, stages="11")
    assert [row.title for row in table(comparison, "map").rows] == ["a", "b", "Mean"]
    assert "Difference" not in table(comparison, "map").caption


def test_without_stages_there_are_no_groups() -> None:
    comparison = of_values("map.full", 0.1, 0.2)
    (group,) = table(comparison, "map").row_groups
    assert group.title == ""
    assert [row.kind for row in group.rows] == ["entry", "entry"]
    assert comparison.to_dict()["tables"]["map"]["means"] == {}


def test_tables_without_means_have_no_rows_for_them() -> None:
    # As the table of differences to the first model, for which the first has none.
    models = [model(name, stage) for name, stage in (("a", "one"), ("b", "one"), ("c", "two"))]
    column = Column(key="x", title="X")
    cells = [[Cell(value=value)] for value in (None, 0.2, 0.4)]
    found = table_of(models, [column], cells, key="k", title="T", caption="C.")
    assert [row.title for row in found.rows] == ["a", "b", "c"]
    assert found.caption == "C."


def test_a_mean_is_undefined_where_a_figure_is() -> None:
    comparison = of_values("map.full", 0.1, None, 0.4, stages="112")
    means = comparison.to_dict()["tables"]["map"]["means"]
    assert means["one"]["map.full"] is None
    assert means["difference"]["map.full"] is None
    assert means["one"]["max_recall.full"] == pytest.approx(0.8)


def test_v_coco_has_agents_and_two_scenarios() -> None:
    rng = np.random.default_rng(0)
    annotations = simulate.v_coco_annotations(20, rng)
    found = simulate.v_coco_detect(annotations, rng)
    result = diaghoi.diagnose(annotations, found).to_dict()
    comparison = compare(result, models=[model("a")])
    titles = [(column.group, column.title) for column in table(comparison, "official").columns]
    assert titles == [
        ("", "Agent"),
        *((f"Scenario {n}", f"{roles} roles") for n in (1, 2) for roles in (25, 24)),
    ]
    values = comparison.to_dict()["tables"]["official"]["models"]["a"]
    assert values["agent.ap"] == result["official"]["agent"]["ap"]
    without = result["official"]["scenario_2"]["ap_without_point"]
    assert values["scenario_2.ap_without_point"] == without
    assert [column.title for column in table(comparison, "map").columns] == [
        *("mAP", "Mean of the highest recalls")
    ]
    assert [column.key for column in table(comparison, "errors").columns][-3:] == [
        *("ignored", "false_positive", "false_negative")
    ]
    assert "ignored" not in [column.key for column in table(comparison, "error_shares").columns]
    groups = [column.group for column in table(comparison, "pairs").columns]
    assert groups == ["", "", "", "Recall of boxes", "Recall of boxes", ""]


def test_a_data_set_without_a_benchmark_has_no_official_table() -> None:
    comparison = compare(example() | {"official": {}}, models=[model("a")])
    assert [each.key for each in comparison.tables] == HICO[1:]


def test_own_groups_have_columns() -> None:
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(20, rng)
    groups = (Group("unseen", tuple(range(100))), Group("seen", tuple(range(100, 600))))
    chosen = protocol("hico-det", groups=groups)
    found = simulate.detect(annotations, simulate.ONE_STAGE, rng)
    result = diaghoi.diagnose(annotations, found, chosen).to_dict()
    comparison = compare(result, models=[model("a")])
    titles = [column.title for column in table(comparison, "map").columns[:6]]
    assert titles == ["Full", "Rare", "Non-rare", "Unseen", "Seen", "Harmonic"]
    values = comparison.to_dict()["tables"]["negatives_actions"]["models"]["a"]
    assert values["actions.unseen.map"] == result["actions"]["unseen"]["map"]
    assert "actions.harmonic.map" not in values


def test_the_oracles_of_a_user_have_columns() -> None:
    result = example()
    result["oracles"]["small_objects"] = result["oracles"]["action"]
    comparison = compare(example(), result, models=[model("a"), model("b")])
    column = table(comparison, "delta_map_full").columns[-1]
    assert (column.key, column.title) == ("small_objects", "Small objects")
    values = comparison.to_dict()["tables"]["delta_map_full"]["models"]
    assert (values["a"]["small_objects"], values["b"]["small_objects"]) == (None, 0.11677)


def test_other_data_sets_do_not_compare() -> None:
    other = example() | {"dataset": "zoo"}
    with pytest.raises(
        InputError, match="data sets cannot be compared: 'a' is on hico-det, 'b' on zoo"
    ):
        compare(example(), other, models=[model("a"), model("b")])


def test_other_protocols_do_not_compare_and_the_choices_are_named() -> None:
    signature = "classes: no_interaction left out | AP: area | IoU >= 0.7"
    other = example() | {"protocol": {"name": "mine", "signature": signature}}
    with pytest.raises(InputError) as caught:
        compare(example(), other, models=[model("a"), model("b")])
    assert str(caught.value) == (
        "results under different protocols cannot be compared: 'a' has protocol hico-det-520 | AP: "
        "11-point | IoU >= 0.5 | rare: < 10 train instances, 'b' has protocol mine | AP: area | "
        "IoU >= 0.7; diagnose them again under one protocol"
    )


def test_a_choice_that_one_lacks() -> None:
    more = put(example(), "protocol.signature", example()["protocol"]["signature"] + " | groups: x")
    with pytest.raises(InputError, match=r"'a' has none of that, 'b' has groups: x;"):
        compare(example(), more, models=[model("a"), model("b")])


@pytest.mark.parametrize(
    ("path", "value", "caveat"),
    [
        ("counts.images", 400, "images differ (a, c: 1,234; b: 400)"),
        ("counts.annotated_triplets", 7, "annotated triplets differ (a, c: 2,000; b: 7)"),
        ("counts.images", None, "images differ (a, c: 1,234; b: unknown)"),
        (
            "protocol.signature",
            example()["protocol"]["signature"] + " | triplets: top 100 per image",
            "triplets per image differ (a, c: as given; b: top 100 per image)",
        ),
        (
            "official.known_object.source",
            "box annotations",
            "images of Known Object differ (a, c: by image labels; b: by box annotations)",
        ),
        (
            "notes",
            [f"{ONLY_INTERACTIONS}: the official means run over 520 classes"],
            "classes of the official means differ (a, c: all; b: interactions)",
        ),
    ],
)
def test_what_may_differ_is_a_caveat(path: str, value: Any, caveat: str) -> None:
    results = [example(), put(example(), path, value), example()]
    comparison = compare(*results, models=[model("a"), model("b"), model("c")])
    assert caveat in comparison.caveats
    assert compare(*results[1:2], models=[model("a")]).caveats == ()
    if path == "counts.images":
        assert comparison.images is None
        assert comparison.subject == "HICO-DET, protocol hico-det-520"


def test_interactions_alone_are_named_in_the_title() -> None:
    result = example() | {"notes": [f"{ONLY_INTERACTIONS}: x"]}
    official = table(compare(result, models=[model("a")]), "official")
    assert official.heading == "Official mAP of the interactions, %"


def test_notes_say_whose_they_are() -> None:
    first = example() | {"notes": ["both", "mine", "mine"]}
    second = example() | {"notes": ["yours", "both"]}
    comparison = compare(first, second, models=[model("a"), model("b")])
    assert comparison.notes == ("both", "a: mine", "b: yours")


def test_where_pairs_come_from_is_told() -> None:
    results = [example(), put(example(), "pairs.source", "triplets"), example()]
    models = [model("a"), model("b"), model("c")]
    assert (
        "Pairs: as listed by the detectors."
        in table(compare(*results[:1], models=models[:1]), "pairs").caption
    )
    caption = table(compare(*results, models=models), "pairs").caption
    assert "Pairs: as listed by a, c; taken from the triplets of b." in caption


def test_labels_are_those_of_the_models() -> None:
    comparison = compare(example("x"), example("x"), models=[model("a"), model("b")])
    assert [row.title for row in table(comparison, "map").rows] == ["a", "b"]


def test_labels_twice_are_refused() -> None:
    with pytest.raises(InputError, match=r"label 'a': used for two models; give each a label of"):
        compare(example(), example(), models=[model("a"), model("a")])


def test_there_must_be_a_model() -> None:
    with pytest.raises(InputError, match="no model to compare"):
        compare()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("map.full", "high", "map.full is 'high', which is not a number"),
        ("map.full", True, "map.full is True, which is not a number"),
        ("map.full", float("nan"), "map.full is nan, which is not a number"),
        ("map.full", float("inf"), "map.full is inf, which is not a number"),
        ("map.full", 10**400, "map.full is 1000000000"),
        ("map", None, "map is missing"),
        ("map", 0.3, "map is 0.3, which has no parts"),
        ("official", None, "official is missing"),
        ("official.known_object", [], "official.known_object is [], which has no parts"),
        (
            "official.known_object.source",
            1,
            "official.known_object.source is 1, which is not a text",
        ),
        ("oracles.action", 1, "oracles.action is 1, which has no parts"),
        ("oracles.action.delta_map", "x", "oracles.action.delta_map is 'x'"),
        ("errors.duplicate", None, "errors.duplicate is missing"),
        ("errors.true_positive", None, "errors.true_positive is missing"),
        ("counts.predicted_triplets", None, "counts.predicted_triplets is missing"),
        ("counts", [], "counts is [], which has no parts"),
        ("protocol", None, "protocol is missing"),
        ("protocol.name", 7, "protocol.name is 7, which is not a text"),
        ("protocol.signature", None, "protocol.signature is None, which is not a text"),
        ("dataset", None, "dataset is None, which is not a text"),
        ("pairs", None, "pairs is missing"),
    ],
)
def test_results_that_cannot_be_used_are_named(path: str, value: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        compare(example(), put(example(), path, value), models=[model("good"), model("odd")])
    assert str(caught.value).startswith("result of 'odd': ")
    assert message in str(caught.value)
    assert "write the result again with 'diaghoi report --json'" in str(caught.value)


def test_figures_that_are_not_there_are_undefined() -> None:
    """Results that were saved before a figure was added."""
    result = example()
    del result["actions"]["rare"], result["negatives"]["ap"], result["notes"]
    comparison = compare(example(), result, models=[model("a"), model("b")])
    values = comparison.to_dict()["tables"]["negatives_actions"]["models"]["b"]
    assert values["actions.rare.map"] is None
    assert values["negatives.ap"] is None
    assert values["actions.map"] == 0.46


def test_choices_that_differ_name_their_models() -> None:
    """The closing lines of a comparison hold for all models, or say for which they do."""
    results = [example() for _ in range(3)]
    signature = results[0]["protocol"]["signature"]
    top = f"{signature} | triplets: top 100 an image"
    results[1]["protocol"] = results[1]["protocol"] | {"signature": top}
    found = compare(*results, models=[model("a"), model("b"), model("c")])
    assert found.signature == f"{signature} | triplets: as given (a, c); top 100 an image (b)"
    ranked = f"{top} | predictions of a class: all of one rank"
    results[2]["protocol"] = results[2]["protocol"] | {"signature": ranked}
    assert compare(*results, models=[model("a"), model("b"), model("c")]).signature == (
        f"{signature} | triplets: as given (a); top 100 an image (b, c) | "
        "predictions of a class: ranked by score (a, b); all of one rank (c)"
    )
    assert compare(results[0], results[0], models=[model("a"), model("b")]).signature == signature
