"""SWIG-HOI against its official evaluation written out as loops, from its files."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import reference_figures, swig
from support.cases import cases

from diaghoi import Scenes, diagnose, protocol, read_annotations, read_predictions

Problem = tuple[list[Any], dict[str, Any]]


@cases()
@given(problem=swig.problems())
def test_equals_the_official_evaluation(problem, tmp_path_factory) -> None:
    diagnosis = diagnose(*read(problem, tmp_path_factory))
    assert diagnosis.protocol.name == "swig-hoi"
    expected = close(swig.mean_ap(*problem))
    assert diagnosis.mean_ap == expected
    assert diagnosis.official == {"default": expected}


@cases()
@given(problem=swig.problems(), most=st.integers(1, 4))
def test_each_class_is_cut_before_and_after_the_oracles(problem, most, tmp_path_factory) -> None:
    truth, found = read(problem, tmp_path_factory)
    cut = protocol("swig-hoi", top_of_class=most)
    diagnosis = diagnose(truth, found, cut)
    assert diagnosis.mean_ap == close(swig.mean_ap(*problem, most))
    # SWIG-HOI has no score of the verb alone, which the loops want.
    scored = replace(found, triplet_action_score=found.triplet_score)
    expected = reference_figures.diagnose(truth, scored, cut)
    errors = {label: count for label, count in diagnosis.errors.items() if count}
    assert errors == {label: count for label, count in expected["errors"].items() if count}
    assert diagnosis.errors == diagnose(truth, found).errors  # of all predictions
    for name, outcome in expected["oracles"].items():
        assert diagnosis.oracles[name]["map"] == close(outcome["map"]), name
        assert diagnosis.oracles[name]["max_recall"] == close(outcome["max_recall"]), name


def read(problem: Problem, folders: pytest.TempPathFactory) -> tuple[Scenes, Scenes]:
    folder = folders.mktemp("swig")
    paths = folder / "gt.json", folder / "preds.pkl"
    paths[0].write_text(json.dumps(problem[0]))
    paths[1].write_bytes(pickle.dumps(problem[1]))
    return read_annotations(paths[0]), read_predictions(paths[1])


def close(expected: dict[str, float | None]) -> dict[str, Any]:
    return {
        name: None if value is None else pytest.approx(value, abs=1e-12)
        for name, value in expected.items()
    }
