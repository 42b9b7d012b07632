"""The sentence at the head of a report."""

from __future__ import annotations

import pytest

from diaghoi.oracles import ORACLES, Oracle
from diaghoi.report.verdict import TOTALS, WORDS, verdict


def test_the_largest_gain_is_named(result) -> None:
    assert verdict(result) == (
        "mAP 56.75. Wrong actions cost most: repaired, they would add 11.68."
    )


def test_totals_of_many_kinds_do_not_count(result) -> None:
    result["oracles"]["false_positive"]["delta_map"]["full"] = 0.9
    assert "Wrong actions" in verdict(result)


def test_every_oracle_has_words() -> None:
    assert set(WORDS) | set(TOTALS) == set(ORACLES)
    for name in WORDS:
        assert len(f"mAP 56.75. {WORDS[name]} cost most: repaired, they would add 11.68.") <= 80


def test_nothing_to_gain(result) -> None:
    for outcome in result["oracles"].values():
        outcome["delta_map"]["full"] = 0.00004
    assert verdict(result) == "mAP 56.75. Repairing one kind of error alone would add nothing."
    for outcome in result["oracles"].values():
        outcome["delta_map"]["full"] = None
    assert verdict(result) == "mAP 56.75. Repairing one kind of error alone would add nothing."


def test_no_class_and_no_predictions(result) -> None:
    result["counts"]["predicted_triplets"] = 0
    result["map"]["full"] = 0.0
    assert verdict(result) == (
        "mAP 0.00. There are no predictions of these classes: everything is missed."
    )
    result["map"]["full"] = None
    assert verdict(result) == "mAP is undefined: no class of the protocol is annotated."


def test_an_oracle_of_the_user(result, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"map": {}, "delta_map": {"full": 0.2, "rare": None, "non_rare": None}}
    result["oracles"]["small_objects"] = own
    assert "'small objects' errors cost most" in verdict(result)
    oracle = Oracle(name="small_objects", title="Small things", definition="", repair=lambda x: x)
    monkeypatch.setitem(ORACLES, oracle.name, oracle)
    assert "'Small things' errors cost most" in verdict(result)
