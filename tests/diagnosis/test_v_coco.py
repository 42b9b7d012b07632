"""What a result on V-COCO holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import v_coco

from diaghoi import Scenes, protocol
from diaghoi.diagnosis.diagnose import diagnose_images


def test_both_scenarios_and_point_stand_in_every_result() -> None:
    person = {"box": (0, 0, 9, 9), "doing": {"hold": [-1], "stand": []}, "ignored": False}
    annotated = [{"people": [person], "things": []}]
    held = {"hold obj": ((30, 0, 39, 9), 0.9), "hold agent": (None, 0.9)}
    predicted = [[{"box": (0, 0, 9, 9), "scores": held}]]
    result = diagnose_images(
        v_coco.annotations(annotated), v_coco.predictions(predicted), protocol("v-coco-s1")
    ).to_dict()
    official = result["official"]
    assert list(official) == ["agent", "scenario_1", "scenario_2"]
    assert official["agent"]["ap"] == pytest.approx(1 / 2)  # holding found, standing not
    assert len(official["agent"]["classes"]) == 26
    assert (official["scenario_1"]["ap"], official["scenario_2"]["ap"]) == (0, 1)
    assert official["scenario_2"]["ap_without_point"] == 1
    assert len(official["scenario_1"]["classes"]) == 25
    assert result["map"] == {"full": 0}
    assert result["errors"]["ignored"] == 0
    assert result["oracles"]["action"]["delta_map"].keys() == {"full"}


def test_each_scenario_has_bounds_of_its_own_where_there_are_no_scores() -> None:
    person = {"box": (0, 0, 9, 9), "doing": {"hold": [-1], "point": [0]}, "ignored": False}
    truth = v_coco.annotations([{"people": [person], "things": [(20, 0, 29, 9)]}])
    # A box where none is annotated is right in scenario 2 alone; the second person is nobody.
    scores = {"hold obj": ((60, 0, 69, 9), 1.0)}
    people = [{"box": (x, 0, x + 9, 9), "scores": scores} for x in (0, 100)]
    found = v_coco.predictions([people])
    listed = replace(
        found,
        triplet_score=np.ones(len(found.triplet_pair)),
        unread=np.zeros((len(found), 3), dtype=np.int64),
    )
    result = diagnose_images(truth, listed, protocol("v-coco-s1")).to_dict()
    bounds = result["unscored"]["bounds"]
    ap = {
        name: (bounds[name]["worst"]["ap"], bounds[name]["best"]["ap"])
        for name in ("scenario_1", "scenario_2")
    }
    assert ap == {"scenario_1": (0, 0), "scenario_2": (1 / 4, 1 / 2)}
    assert bounds["scenario_2"]["best"]["ap_without_point"] == 1


def test_classes_left_without_annotations_drop_out_of_the_mean_or_count_nothing() -> None:
    # One class is found, and nothing attempts the other; the published script counts that one 0
    # when it is repaired, and all classes that are not annotated as well.
    people = [
        {"box": (0, 0, 9, 9), "doing": {"hold": [-1]}, "ignored": False},
        {"box": (50, 0, 59, 9), "doing": {"carry": [-1]}, "ignored": False},
    ]
    found = [[{"box": (0, 0, 9, 9), "scores": {"hold obj": (None, 0.9)}}]]
    truth = v_coco.annotations([{"people": people, "things": []}])
    for name, before, repaired in (("v-coco-s1", 1 / 2, 1.0), ("v-coco-diag-hoi", 1 / 25, 1 / 25)):
        diagnosis = diagnose_images(truth, v_coco.predictions(found), protocol(name))
        assert diagnosis.mean_ap["full"] == pytest.approx(before)
        for oracle in ("missed_gt", "false_negative"):
            assert diagnosis.oracles[oracle]["map"]["full"] == pytest.approx(repaired)


SCENARIOS = pytest.mark.parametrize("scenario", ["v-coco-s1", "v-coco-s2"])


def _costs(scenario: str, scores: dict[str, Any]) -> dict[str, float]:
    """What errors cost by the second reading, for a person who holds and carries a thing."""
    doing = {"hold": [0], "carry": [0], "point": [-1]}
    person = {"box": (0, 0, 9, 9), "doing": doing, "ignored": False}
    other = {"box": (50, 0, 59, 9), "doing": {"read": [1]}, "ignored": False}
    things = [(20, 0, 29, 9), (70, 0, 79, 9)]
    truth = v_coco.annotations([{"people": [person, other], "things": things}])
    found = v_coco.predictions([[{"box": (0, 0, 9, 9), "scores": scores}]])
    diagnosis = diagnose_images(truth, found, protocol(scenario))
    assert diagnosis.errors["association"] == 1
    return {name: outcome["delta_map"]["full"] for name, outcome in diagnosis.localised.items()}


@SCENARIOS
def test_another_action_with_an_object_of_the_person_is_a_wrong_action(scenario: str) -> None:
    """The published code calls both of these an association."""
    held = {"hold obj": ((20, 0, 29, 9), 0.95)}
    costs = _costs(scenario, held | {"kick obj": ((20, 0, 29, 9), 0.9)})
    assert costs["action"] > 0
    assert costs["association"] == 0
    costs = _costs(scenario, held | {"kick obj": ((70, 0, 79, 9), 0.9)})
    assert costs["action"] == 0
    assert costs["association"] > 0


@SCENARIOS
def test_an_action_of_the_person_with_another_object_is_an_association(scenario: str) -> None:
    held = {"hold obj": ((20, 0, 29, 9), 0.95)}
    costs = _costs(scenario, held | {"carry obj": ((70, 0, 79, 9), 0.9)})
    assert costs["action"] == 0
    assert costs["association"] > 0


def _turned_round(truth: Scenes) -> Scenes:
    """List the triplets of each image from the last to the first."""
    order = np.lexsort((-np.arange(len(truth.triplet_pair)), truth.triplet_image))
    return replace(
        truth, triplet_pair=truth.triplet_pair[order], triplet_verb=truth.triplet_verb[order]
    )


def test_the_first_triplet_of_all_is_one_like_others() -> None:
    person = {"box": (0, 0, 9, 9), "doing": {"hold": [-1]}, "ignored": False}
    found = [[{"box": (0, 0, 9, 9), "scores": {"hold obj": ((30, 0, 39, 9), 0.9)}}]]
    truth = _turned_round(v_coco.annotations([{"people": [person], "things": []}]))
    diagnosis = diagnose_images(truth, v_coco.predictions(found), protocol("v-coco-s2"))
    assert diagnosis.errors["true_positive"] == 1
    # What the person does first of all, with the object of something else.
    person["doing"] = {"carry": [0], "hold": [1]}
    things = [(20, 0, 29, 9), (70, 0, 79, 9)]
    found[0][0]["scores"] = {"carry obj": ((70, 0, 79, 9), 0.9)}
    truth = _turned_round(v_coco.annotations([{"people": [person], "things": things}]))
    assert truth.vocabulary.verbs[truth.triplet_verb[0]] == "carry obj"
    diagnosis = diagnose_images(truth, v_coco.predictions(found), protocol("v-coco-s1"))
    assert diagnosis.localised["action"]["delta_map"]["full"] == 0
    assert diagnosis.localised["association"]["delta_map"]["full"] > 0


@given(v_coco.problems(), st.sampled_from(["v-coco-s1", "v-coco-s2"]))
def test_the_order_of_annotated_triplets_changes_no_label(
    problem: tuple[list[Any], list[Any]], name: str
) -> None:
    truth, found = v_coco.annotations(problem[0]), v_coco.predictions(problem[1])
    other = _turned_round(truth)
    first, second = (diagnose_images(each, found, protocol(name)) for each in (truth, other))
    np.testing.assert_array_equal(first.ledger.row_label, second.ledger.row_label)


@given(v_coco.problems())
def test_pairs_and_negatives_are_those_of_a_person_and_a_box_in_both_scenarios(
    problem: tuple[list[Any], list[Any]],
) -> None:
    truth, found = v_coco.annotations(problem[0]), v_coco.predictions(problem[1])
    first, second = (
        diagnose_images(truth, found, protocol(f"v-coco-s{scenario}")) for scenario in (1, 2)
    )
    assert first.negatives == second.negatives
    assert first.pairs == second.pairs


def test_images_outside_the_split_change_nothing() -> None:
    person = {"box": (0, 0, 9, 9), "doing": {"hold": [0]}, "ignored": False}
    annotated = [{"people": [person], "things": [(20, 0, 29, 9)]}, {"people": [], "things": []}]
    row = {"box": (0, 0, 9, 9), "scores": {"hold obj": ((20, 0, 29, 9), 0.9)}}
    results = []
    for images in (1, 2):
        truth = v_coco.annotations(annotated[:images])
        found = v_coco.predictions([[row]] * images)
        result = diagnose_images(truth, found, protocol("v-coco-s1")).to_dict()
        results.append({key: result[key] for key in ("errors", "map", "pairs", "negatives")})
    assert results[0] == results[1]
