"""Confusions of verbs on V-COCO are on found pairs: wrong actions with one's own object count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import v_coco
from support.semantic import identity

from diaghoi import Diagnosis, Scenes, diagnose, plots, simulate
from diaghoi.diagnosis.saved import scenes_of
from diaghoi.plots.figure import Source
from diaghoi.semantic import evaluate
from diaghoi.semantic.confusions import PartialOracle, word_confusions
from diaghoi.semantic.diagnosis import semantic_diagnosis

CUP, KNIFE = (20, 0, 29, 9), (60, 0, 69, 9)
ANN = (0, 0, 9, 9)


def named(diagnosis: Diagnosis, truth: Scenes, found: Scenes) -> list[tuple[str, str, int]]:
    verbs = diagnosis.vocabulary.verbs
    return [
        (verbs[each.predicted], verbs[each.annotated], each.count)
        for each in word_confusions(diagnosis, truth, found)
    ]


@pytest.mark.parametrize("scenario", ["v-coco-s1", "v-coco-s2"])
def test_another_action_with_the_own_object_is_a_confusion_of_that_pair(scenario: str) -> None:
    person = {"box": ANN, "doing": {"look": [1], "hold": [0]}, "ignored": False}
    truth = v_coco.annotations([{"people": [person], "things": [CUP, KNIFE]}])
    rows = [{"box": ANN, "scores": {"carry obj": (CUP, 0.9)}}]
    found = v_coco.predictions([rows])
    diagnosis = diagnose(truth, found, scenario)
    assert diagnosis.errors["association"] == 1
    # Not with what the person looks at.
    assert named(diagnosis, truth, found) == [("carry obj", "hold obj", 1)]
    elsewhere = [{"box": ANN, "scores": {"carry obj": ((60, 40, 69, 49), 0.9)}}]
    found = v_coco.predictions([elsewhere])
    assert named(diagnose(truth, found, scenario), truth, found) == []


def test_an_action_without_an_object_box_is_one_of_the_person() -> None:
    person = {"box": ANN, "doing": {"hold": [0]}, "ignored": False}
    truth = v_coco.annotations([{"people": [person], "things": [CUP]}])
    found = v_coco.predictions([[{"box": ANN, "scores": {"sit instr": (None, 0.9)}}]])
    diagnosis = diagnose(truth, found)
    assert named(diagnosis, truth, found) == [("sit instr", "hold obj", 1)]


@pytest.fixture(scope="module")
def simulated() -> Diagnosis:
    truth = simulate.v_coco_annotations(60, np.random.default_rng(0))
    return diagnose(truth, simulate.v_coco_detect(truth, np.random.default_rng(1)))


def test_all_confusions_together_cost_what_wrong_actions_cost_by_the_pair(simulated) -> None:
    oracle = PartialOracle(diagnosis=simulated, error="action", by_pair=True)
    whole = oracle.delta(oracle.error_rows)
    expected = simulated.localised["action"]["delta_map"]["full"]
    assert whole == pytest.approx(expected, abs=1e-12)
    assert whole > simulated.oracles["action"]["delta_map"]["full"]
    assert oracle.error_rows.sum() > simulated.errors["action"]
    assert oracle.delta(np.zeros_like(oracle.error_rows)) == 0


def test_report_semantic_evaluation_and_figure_have_the_same_confusions(simulated) -> None:
    truth, found = scenes_of(simulated)
    vocabulary = simulated.vocabulary
    tables = identity(vocabulary.verbs), identity(vocabulary.objects)
    meaning = semantic_diagnosis(evaluate(truth, found, *tables, protocol=simulated.protocol))
    there = [
        (each["predicted"], each["annotated"], each["count"], each["delta_map"])
        for each in meaning.verb_confusions()
    ]
    verbs = [verb.replace("_", " ") for verb in vocabulary.verbs]
    here = [
        (verbs[one.predicted], verbs[one.annotated], one.count, one.delta_map)
        for one in word_confusions(simulated, truth, found)
    ]
    assert here == there
    drawn = plots.FIGURES["confusions"].data(
        Source(result=simulated.to_dict(), diagnosis=simulated)
    )
    assert [tuple(cost)[:2] for cost in drawn] == [each[:2] for each in here[: len(drawn)]]
    assert [cost.delta for cost in drawn] == [100 * each[3] for each in here[: len(drawn)]]


@pytest.mark.parametrize("ignored", [False, True])
def test_predictions_on_people_without_annotated_actions_do_not_count(ignored: bool) -> None:
    people = [
        {"box": ANN, "doing": {"hold": [0]}, "ignored": False},
        {"box": (0, 40, 9, 49), "doing": {}, "ignored": ignored},
    ]
    truth = v_coco.annotations([{"people": people, "things": [CUP]}])
    rows = [
        {"box": each["box"], "scores": {"hold obj": (CUP, score)}}
        for each, score in zip(people, (0.5, 0.9), strict=True)
    ]
    tables = identity(truth.vocabulary.verbs), identity(truth.vocabulary.objects)
    found = evaluate(truth, v_coco.predictions([rows]), *tables)
    assert len(found.predicted.rows) == 2 - ignored
    assert found.soft_map == (1 if ignored else 0.5)
    unscored = replace(v_coco.predictions([rows]), triplet_score=None, triplet_action_score=None)
    assert len(evaluate(truth, unscored, *tables).predicted.rows) == 2 - ignored
