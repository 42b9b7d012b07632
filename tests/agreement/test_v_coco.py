"""V-COCO against its definitions written out as loops, from scenes and from official files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import v_coco, v_coco_reference
from support.cases import cases

from diaghoi import Diagnosis, Scenes, protocol, read_annotations, read_predictions
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.evaluation.errors import LABELS
from diaghoi.oracles import ORACLES

Images = tuple[list[Any], list[Any]]
SCENARIOS = st.sampled_from([1, 2])


def close(expected: float | None) -> Any:
    return None if expected is None else pytest.approx(expected, abs=1e-12)


@cases()
@given(v_coco.problems(), SCENARIOS, st.sampled_from([100, 2]), st.booleans())
def test_scenes_have_the_figures_of_the_loops(problem, scenario, considered, in_file_order) -> None:
    truth, found = v_coco.annotations(problem[0]), v_coco.predictions(problem[1])
    expected = v_coco_reference.diagnose(
        *problem, scenario, considered, in_file_order=in_file_order
    )
    boxes = "stored at the rank" if in_file_order else "own"
    result = diagnosis(truth, found, scenario, considered=considered, fitting_boxes=boxes)
    assert_same(result, expected, scenario)


@cases()
@given(problem=v_coco.problems(), scenario=SCENARIOS)
def test_official_files_have_the_figures_of_the_loops(problem, scenario, tmp_path_factory) -> None:
    known = [any(not one["ignored"] for one in image["people"]) for image in problem[0]]
    assume(any(map(all, zip(known, problem[1], strict=True))))
    truth, found = v_coco.write_files(tmp_path_factory.mktemp("v-coco"), *problem)
    read = read_annotations(truth), read_predictions(found)
    # Images without annotated people are not in the split, and come last.
    nothing: dict[str, list[Any]] = {"people": [], "things": []}
    order = sorted(range(len(known)), key=lambda image: not known[image])
    expected = v_coco_reference.diagnose(
        [problem[0][image] if known[image] else nothing for image in order],
        [problem[1][image] for image in order],
        scenario,
    )
    assert_same(diagnosis(*read, scenario), expected, scenario)


def test_ignored_predictions_are_predictions_of_their_image() -> None:
    people = [
        {"box": (0, 0, 9, 9), "doing": {}, "ignored": True},
        {"box": (20, 0, 29, 9), "doing": {"hold": [0]}, "ignored": False},
    ]
    problem = (
        [{"people": people, "things": [(0, 20, 9, 29)]}],
        [[{"box": (0, 0, 9, 9), "scores": {"hold obj": (None, 0.5)}}]],
    )
    truth, found = v_coco.annotations(problem[0]), v_coco.predictions(problem[1])
    expected = v_coco_reference.diagnose(*problem, 1)["actions"]
    assert expected["map"] is None  # no predicted triplet localises the one annotated pair
    assert diagnosis(truth, found, 1).actions["map"] == expected["map"]


def diagnosis(truth: Scenes, found: Scenes, scenario: int, **choices: Any) -> Diagnosis:
    return diagnose_images(truth, found, replace(protocol(f"v-coco-s{scenario}"), **choices))


def assert_same(found: Diagnosis, expected: dict[str, Any], scenario: int) -> None:
    errors = {label: count for label, count in found.errors.items() if count}
    assert errors == {label: count for label, count in expected["errors"].items() if count}
    assert labels(found) == [
        (row["label"], row["annotation"], row["attempt"]) for row in expected["rows"]
    ]
    assert found.ledger.missed.tolist() == [a["missed"] for a in expected["annotated"]]
    assert found.lost["triplets"] == sum(a["lost"] for a in expected["annotated"])
    official = found.official
    agents = {f"{action} agent": ap for action, ap in official["agent"]["classes"].items()}
    by_class = agents | official[f"scenario_{scenario}"]["classes"]
    defined = {name: ap for name, ap in by_class.items() if ap is not None}
    assert defined == pytest.approx(expected["official"], abs=1e-12)
    assert found.mean_ap["full"] == close(expected["map"])
    assert found.max_recall["full"] == close(expected["max_recall"])
    for name in ORACLES:
        for key in ("map", "max_recall"):
            assert found.oracles[name][key]["full"] == close(expected["oracles"][name][key]), name
    for key in ("map", "max_recall"):
        assert found.actions[key] == close(expected["actions"][key])
    counts = found.pair_counts["full"]
    assert {key: getattr(counts, key) for key in expected["pairs"]} == expected["pairs"]
    assert found.negatives["ap"] == close(expected["negatives"])


def labels(found: Diagnosis) -> list[tuple[str, int, int]]:
    """Label, annotation and attempt of each prediction that counts, in the order of the input."""
    ledger = found.ledger
    order = np.argsort(ledger.row_input)
    columns = ledger.row_label, ledger.row_annotation, ledger.row_attempt
    label, annotation, attempt = (column[order].tolist() for column in columns)
    return list(zip([LABELS[one] for one in label], annotation, attempt, strict=True))
