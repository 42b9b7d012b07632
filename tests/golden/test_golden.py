"""No result changes: each is what was kept, but for the version and the last digits of numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from golden.run import GROUPS, differences, kept, run, split

# The study of robustness takes as long as half of the others; `make golden` compares it, too.
ALWAYS = [n for n, group in GROUPS.items() if not group.shared and n != "demo_robustness"]
CONFORMANCE = [name for name, group in GROUPS.items() if group.shared]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALWAYS)
def test_results_on_simulated_data_are_those_kept(name: str) -> None:
    check(name)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", CONFORMANCE)
def test_results_on_the_conformance_inputs_are_those_kept(name: str, shared: Path) -> None:
    check(name)


def check(name: str) -> None:
    """Compare the numbers of a group first, then its words (`make golden ARGS="--write words"`)."""
    for before, now in zip(kept(name), split(run(name)), strict=True):
        assert differences(before, now) == []


def test_numbers_and_words_are_split() -> None:
    value = {
        "title": "mAP, %",
        "tables": {"map": {"columns": [{"key": "full", "title": "Full"}], "title": {"full": 0.5}}},
        "notes": ["a note"],
        "class": "ride bicycle",
    }
    numbers, words = split({"a.json": json.dumps(value)})
    assert json.loads(numbers["a.json"]) == {
        "tables": {"map": {"columns": [{"key": "full"}], "title": {"full": 0.5}}},
        "class": "ride bicycle",
    }
    assert json.loads(words["a.json"]) == {
        "title": "mAP, %",
        "tables.map.columns[0].title": "Full",
        "notes": ["a note"],
    }


def test_a_difference_is_shown_with_its_place() -> None:
    before = {"a.json": json.dumps({"map": {"full": 0.25, "rare": None}, "ap": [1, 2]})}
    after = {"a.json": json.dumps({"map": {"full": 0.5, "rare": None}, "ap": [1]})}
    assert differences(before, before) == []
    assert differences(before, after) == [
        "a.json: map.full: expected 0.25, found 0.5",
        'a.json: ap[1]: expected 2, found "(absent)"',
    ]
    assert differences(before, {}) == ["a.json: is no longer written"]


def test_only_the_last_digits_of_numbers_may_differ() -> None:
    before = {"a.json": '{"x": 0.1234567890123456, "y": [1e-07, 3], "z": "0.5 or 1.25"}'}
    assert differences(before, {"a.json": before["a.json"].replace("3456,", "3457,")}) == []
    for old, new in (
        ("0123456,", "0223456,"),
        ("1e-07", "1.00001e-07"),
        ("3]", "4]"),
        ("1.25", "1.26"),
    ):
        assert len(differences(before, {"a.json": before["a.json"].replace(old, new)})) == 1


def test_the_same_values_written_otherwise_differ() -> None:
    assert differences({"a.json": '{"x": 1, "y": 2}'}, {"a.json": '{"y": 2, "x": 1}'}) == [
        'a.json: line 1: expected {"x": 1, "y": 2}, found {"y": 2, "x": 1}'
    ]
    (line,) = differences({"a.json": '{"x": 1}'}, {"a.json": '{"x": 1.0}'})
    assert line == "a.json: x: expected 1, found 1.0"
