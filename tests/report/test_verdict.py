"""The two sentences at the head of a report."""

from __future__ import annotations

import pytest

from diaghoi.diagnosis.notes import ONLY_INTERACTIONS
from diaghoi.oracles import ERROR_WORDS, ORACLES, TOTALS, Oracle
from diaghoi.report.verdict import headline, verdict


def test_the_official_number_comes_first(result) -> None:
    assert headline(result) == "Official mAP 31.00 (Default, Full); 56.75 under hico-det-520."
    result["official"]["default"]["full"] = result["map"]["full"] = None
    assert headline(result) == (
        "Official mAP undefined (Default, Full); undefined under hico-det-520."
    )
    result["official"] = {
        "agent": {"ap": 0.7, "classes": {}},
        "scenario_1": {"ap": 0.5, "ap_without_point": 0.52, "classes": {"hit instr": 0.5}},
        "scenario_2": {"ap": 0.6, "ap_without_point": 0.62, "classes": {}},
    }
    result["protocol"]["name"], result["map"] = "v-coco-s1", {"full": 0.5}
    assert headline(result) == (
        "Official role AP 50.00 (scenario 1, 1 roles), 60.00 (scenario 2, 0 roles); "
        "mAP 50.00 under v-coco-s1."
    )
    result["official"] = {}
    assert headline(result) == "mAP 50.00 under v-coco-s1."


def test_numbers_of_interactions_alone_are_named(result) -> None:
    result["notes"] = [f"{ONLY_INTERACTIONS}; more"]
    assert headline(result).startswith("Official mAP 31.00 (Default, Full, interactions); ")


def test_the_largest_gain_is_named(result) -> None:
    assert verdict(result) == "Wrong actions cost most: repaired, they would add 11.68 points."


def test_the_cost_on_found_pairs_stands_beside_the_published_one(result) -> None:
    """Where pairs were dropped, wrong actions on other pairs of the person are assigned to them."""
    result["localised"] = {
        "action": {"delta_map": {"full": 0.02}},
        "missed_gt": {"delta_map": {"full": 0.15}},
    }
    assert verdict(result) == (
        "Wrong actions cost most: repaired, they would add 11.68 points (2.00 on found pairs). "
        "On found pairs, missed triplets cost most (15.00; 0.00 by the published rule)."
    )
    result["localised"]["action"]["delta_map"]["full"] = 0.16
    assert verdict(result) == (
        "Wrong actions cost most: repaired, they would add 11.68 points (16.00 on found pairs)."
    )


@pytest.mark.parametrize(
    ("shares", "sentence"),
    [
        (
            (0.1, 0.2, 0.3),
            "The scores rank wrong predictions above right ones: a right one outranks ",
        ),
        ((0.5, 0.5, 0.5), "The scores hardly tell right predictions from wrong ones: "),
        (
            (0.5, 0.9, 0.9),
            "The scores hardly tell right boxes from wrong ones: a right one outranks ",
        ),
        ((0.9, 0.9, 0.5), "The scores hardly tell right actions from wrong ones: a right one "),
        ((0.9, 0.8, 0.7), ""),
    ],
)
def test_scores_that_do_not_rank_come_before_errors(result, shares, sentence: str) -> None:
    boxes, association, action = shares
    result["errors"] |= {"true_positive": 20, "human_box": 300, "association": 300, "action": 300}
    names = dict.fromkeys(("human_box", "object_box", "both_boxes"), boxes)
    below = names | {"all": 0.5, "association": association, "action": action}
    gain, perfect = 0.11677, {"full": result["map"]["full"] + 0.11677}
    result["ranking"] = {"outranked": below, "map_best_order": perfect}
    result["oracles"]["false_negative"]["delta_map"]["full"] = gain
    assert verdict(result).startswith(sentence or "Wrong actions cost most")
    for few in (19, 701):  # too few to say anything, or fewer wrong ones than right ones
        result["errors"]["true_positive"] = few
        assert verdict(result).startswith("Wrong actions cost most")


@pytest.mark.parametrize("other", ["action", "false_negative"])
def test_scores_are_not_to_blame_for_what_no_ranking_repairs(result, other: str) -> None:
    result["errors"] |= {"true_positive": 20, "action": 300}
    below = dict.fromkeys(("human_box", "object_box", "both_boxes", "association", "action"), 0.5)
    perfect = {"full": result["map"]["full"] + 0.1}
    result["ranking"] = {"outranked": below, "map_best_order": perfect}
    result["oracles"]["false_negative"]["delta_map"]["full"] = 0.1
    assert verdict(result).startswith("The scores hardly tell right predictions from wrong ones: ")
    result["oracles"][other]["delta_map"]["full"] = 0.13
    assert verdict(result).startswith("Wrong actions cost most: ")


def test_missed_triplets_with_a_prediction_wrong_in_both_boxes(result) -> None:
    result["oracles"]["missed_gt"]["delta_map"]["full"] = 0.3
    result["lost"] = {"triplets": 1200, "both_boxes": 600}
    assert verdict(result) == (
        "Missed triplets cost most: repaired, they would add 30.00 points. For 600 of these 1,200, "
        "there is a prediction of the same class with both boxes wrong."
    )
    result["lost"]["both_boxes"] = 599
    assert verdict(result) == "Missed triplets cost most: repaired, they would add 30.00 points."


def test_totals_of_many_kinds_do_not_count(result) -> None:
    result["oracles"]["false_positive"]["delta_map"]["full"] = 0.9
    assert "Wrong actions" in verdict(result)


def test_every_oracle_has_words() -> None:
    assert set(ERROR_WORDS) | set(TOTALS) == set(ORACLES)
    for name in ERROR_WORDS:
        assert len(f"{ERROR_WORDS[name]} cost most: repaired, they would add 11.68 points.") <= 80


def test_nothing_to_gain(result) -> None:
    for outcome in result["oracles"].values():
        outcome["delta_map"]["full"] = 0.00004
    assert verdict(result) == "Repairing any one kind of error would add nothing."
    for outcome in result["oracles"].values():
        outcome["delta_map"]["full"] = None
    assert verdict(result) == "Repairing any one kind of error would add nothing."


def test_no_class_and_no_predictions(result) -> None:
    result["counts"]["predicted_triplets"] = 0
    assert verdict(result) == "There are no predictions for these classes: everything is missed."
    result["map"]["full"] = None
    assert verdict(result) == "No class of the protocol is annotated."


def test_an_oracle_of_the_user(result, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"map": {}, "delta_map": {"full": 0.2, "rare": None, "non_rare": None}}
    result["oracles"]["small_objects"] = own
    assert "'small objects' errors cost most" in verdict(result)
    oracle = Oracle(name="small_objects", title="Small things", definition="", repair=lambda x: x)
    monkeypatch.setitem(ORACLES, oracle.name, oracle)
    assert "'Small things' errors cost most" in verdict(result)


def test_an_error_that_the_published_rule_leaves_undefined(result) -> None:
    result["oracles"]["missed_gt"]["delta_map"]["full"] = None
    result["localised"] = {"missed_gt": {"delta_map": {"full": 0.2}}}
    assert verdict(result).endswith(
        "On found pairs, missed triplets cost most (20.00; undefined by the published rule)."
    )
