"""What a result on V-COCO holds."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import v_coco

from diaghoi import Diagnosis, Scenes, diagnose, protocol, read_annotations, read_predictions
from diaghoi.cases.cases import worst_cases
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.formats.v_coco import KEYS


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


@pytest.mark.parametrize("scenario", ["v-coco-s1", "v-coco-s2"])
def test_a_pair_with_the_first_box_as_object_has_an_object(scenario: str) -> None:
    person = {"box": (0, 0, 9, 9), "doing": {"hold": [-1]}, "ignored": False}
    truth = v_coco.annotations([{"people": [person], "things": []}])
    held = {"hold obj": ((30, 0, 39, 9), 0.9)}
    found = v_coco.predictions([[{"box": (0, 0, 9, 9), "scores": held}]])
    turned = replace(
        found,
        box_xyxy=found.box_xyxy[::-1],
        box_label=found.box_label[::-1],
        pair_human=np.array([1]),
        pair_object=np.array([0]),
    )
    actions, same = (
        diagnose_images(truth, each, protocol(scenario)).to_dict()["actions"]
        for each in (found, turned)
    )
    assert same == actions


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


# What the published script prints, run unchanged (Python 3.11, NumPy 1.24).
PUBLISHED_OF_A_FEW = {
    "baseline": 0.02222222,
    "human_box": 0.04333333,
    "object_box": 0.06,
    "both_boxes": 0.02222222,
    "association": 0.02222222,
    "action": 0.02222222,
    "duplicate": 0.02222222,
    "missed_gt": 0.02222222,
    "false_positive": 0.02666667,
    "false_negative": 0.03333334,
}
PUBLISHED = {
    "one_stage": (
        {
            "baseline": 0.38065130,
            "human_box": 0.38222373,
            "object_box": 0.41102937,
            "both_boxes": 0.38673913,
            "association": 0.59108907,
            "action": 0.38819531,
            "duplicate": 0.38065377,
            "missed_gt": 0.40562481,
            "false_positive": 0.70264280,
            "false_negative": 0.53904307,
        },
        54,
    ),
    "two_stage": (
        {
            "baseline": 0.29824832,
            "human_box": 0.30015820,
            "object_box": 0.33558667,
            "both_boxes": 0.30586219,
            "association": 0.56668109,
            "action": 0.30644143,
            "duplicate": 0.29828739,
            "missed_gt": 0.31548625,
            "false_positive": 0.69207400,
            "false_negative": 0.40977642,
        },
        45,
    ),
    # The same triplets in the reverse order, and other costs.
    "one_stage, last dict first": (
        {
            "baseline": 0.38065130,
            "human_box": 0.38151014,
            "object_box": 0.39914548,
            "both_boxes": 0.38673913,
            "association": 0.52353179,
            "action": 0.38679180,
            "duplicate": 0.38065377,
            "missed_gt": 0.41996208,
            "false_positive": 0.70264280,
            "false_negative": 0.53904307,
        },
        79,
    ),
}


def _repaired(diagnosis: Diagnosis) -> dict[str, float | None]:
    """mAP as it is, and after each repair."""
    oracles = {name: outcome["map"]["full"] for name, outcome in diagnosis.oracles.items()}
    return {"baseline": diagnosis.mean_ap["full"], **oracles}


def test_the_published_code_looks_boxes_up_in_the_order_of_the_file() -> None:
    first, second = (0, 0, 9, 19), (40, 0, 49, 19)
    people = [
        {"box": first, "doing": {"hold": [0], "cut": [1, -1]}, "ignored": False},
        {"box": second, "doing": {"hold": [1], "carry": [1]}, "ignored": False},
        {"box": (80, 0, 89, 19), "doing": {}, "ignored": True},
    ]
    ball, bag, nothing, nobody = (12, 0, 19, 9), (52, 0, 61, 9), (60, 60, 69, 69), (20, 50, 29, 69)
    alone = {"box": first, "doing": {"hold": [0]}, "ignored": False}
    annotated = [{"people": people, "things": [ball, bag]}, {"people": [alone], "things": [ball]}]
    verbs = ("hold obj", "carry obj", "cut instr", "cut obj")
    rows = [
        (nobody, (bag, 0.1), (None, 0.45), (None, 0.15), (nothing, 0.7)),
        (nobody, (ball, 0.25), (bag, 0.95), (ball, 0.05), (None, 0.35)),
        (first, (ball, 0.9), (nothing, 0.55), (None, 0.3), (nothing, 0.5)),
        (second, (None, 0.6), (None, 0.65), (None, 0.8), (ball, 0.75)),
    ]
    found = [
        [{"box": box, "scores": dict(zip(verbs, scores, strict=True))} for box, *scores in rows],
        [{"box": first, "scores": {"hold obj": (ball, 0.33)}}],
    ]
    truth, predicted = v_coco.annotations(annotated), v_coco.predictions(found)
    published = diagnose_images(truth, predicted, protocol("v-coco-diag-hoi-published"))
    assert _repaired(published) == pytest.approx(PUBLISHED_OF_A_FEW, abs=1e-6)
    own = diagnose_images(truth, predicted, protocol("v-coco-diag-hoi"))
    assert published.errors == own.errors
    assert _repaired(own)["association"] == pytest.approx(0.04222222)
    # Where the best come first in the file, both take the same boxes.
    ranked = [
        [
            {"box": row["box"], "scores": {verb: row["scores"][verb]}}
            for verb in verbs
            for row in sorted(
                (row for row in image if verb in row["scores"]),
                key=lambda row: -row["scores"][verb][1],
            )
        ]
        for image in found
    ]
    again = diagnose_images(
        truth, v_coco.predictions(ranked), protocol("v-coco-diag-hoi-published")
    )
    assert _repaired(again) == pytest.approx(_repaired(own))


@pytest.mark.parametrize("case", PUBLISHED)
def test_the_published_protocol_has_the_figures_of_the_published_code(
    case: str, shared: Path, tmp_path: Path
) -> None:
    folder = shared / "conformance" / "v_coco"
    detector, _, order = case.partition(", ")
    path = folder / f"{detector}.pkl"
    if order:
        rows = pickle.loads(path.read_bytes())
        path = tmp_path / "turned.pkl"
        path.write_bytes(pickle.dumps(rows[::-1]))
    truth = read_annotations(folder / "vcoco_test.json")
    found = diagnose(truth, read_predictions(path), protocol="v-coco-diag-hoi-published")
    repaired, missed = PUBLISHED[case]
    assert _repaired(found) == pytest.approx(repaired, abs=1e-6)
    assert found.errors["missed_gt"] == missed


SCENARIOS = pytest.mark.parametrize("scenario", ["v-coco-s1", "v-coco-s2"])


def _costs(scenario: str, scores: dict[str, Any]) -> dict[str, float]:
    """What errors cost on found pairs, for a person who holds and carries a thing."""
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
    # Another action with the object of somebody else attempts nothing that this person does.
    costs = _costs(scenario, held | {"kick obj": ((70, 0, 79, 9), 0.9)})
    assert costs["action"] == costs["association"] == 0
    assert costs["missed_gt"] > 0


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
    # The pair is that of holding: nothing attempts the pair of carrying.
    assert diagnosis.localised["action"]["delta_map"]["full"] == 0
    assert diagnosis.localised["association"]["delta_map"]["full"] == 0
    assert diagnosis.lost["triplets"] == 2


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


def test_the_published_protocol_counts_what_a_cache_template_fills_in(tmp_path: Path) -> None:
    # The published code reads every key of every dict, and so what the class answers.
    person = {"box": (0, 0, 9, 9), "doing": {"hold": [0], "carry": [0]}, "ignored": False}
    truth = v_coco.annotations([{"people": [person], "things": [(4, 4, 30, 30)]}])
    name = int(truth.names[0]) if truth.named else 0
    held: dict[str, Any] = {"image_id": name, "person_box": [0.0, 0.0, 9.0, 9.0]}
    held |= {"hold_agent": 0.9, "hold_obj": [4.0, 4.0, 30.0, 30.0, 0.8]}
    full = dict(held)
    for key in KEYS:
        full.setdefault(key, 0.0 if key.endswith("_agent") else [0.0, 0.0, 0.1, 0.1, 0.0])
    found = []
    for row in (held, full):
        (tmp_path / "x.json").write_text(json.dumps([row, row]))
        read = read_predictions(tmp_path / "x.json")
        diagnosis = diagnose(truth, read, protocol="v-coco-diag-hoi-published")
        found.append(diagnosis.to_dict() | {"notes": []})
        found[-1]["cases"] = len(worst_cases(diagnosis, truth, read, "object_box", top=60))
    assert found[0] == found[1]
    assert found[0]["errors"]["duplicate"] == 1
