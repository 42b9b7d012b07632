"""What the tool says first of detectors with exactly one fault, and of one without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.scenes import VOCABULARY

from diaghoi import diagnose
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.plausibility import doubts
from diaghoi.report.verdict import verdict
from diaghoi.semantic.confusions import word_confusions
from diaghoi.statistics.attribution import attribute
from zoo import faults

SEEDS = (0, 1)
ERRORS = {
    "human_box": "human_box",
    "object_box": "object_box",
    "both_boxes": "missed_gt",  # nothing that has a box right can be repaired
    "association": "association",
    "action": "action",
    "duplicate": "duplicate",
    "dropped_pairs": "missed_gt",
    "empty_images": "missed_gt",
    "absent_images": "missed_gt",
}
SENTENCES = {
    "human_box": "Wrong human boxes cost most: ",
    "object_box": "Wrong object boxes cost most: ",
    "association": "Wrong associations cost most: ",
    "action": "Wrong actions cost most: ",
    "duplicate": "Duplicates cost most: ",
    "missed_gt": "Missed triplets cost most: ",
}


@pytest.fixture(scope="module", params=SEEDS)
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module")
def truth(seed: int) -> Scenes:
    return faults.annotations(seed)


def spoilt(truth: Scenes, fault: str, strength: float) -> Scenes:
    """Predictions with a fault."""
    rng = np.random.default_rng(100)
    images = faults.detected(truth, rng)
    if fault:
        getattr(faults, fault)(images, strength, rng)
    return faults.predictions(images)


def test_a_detector_without_a_fault_is_not_blamed(truth: Scenes) -> None:
    found = spoilt(truth, "", 0.0)
    assert verdict(diagnose(truth, found).to_dict()) == (
        "Repairing one kind of error alone would add nothing."
    )
    assert doubts(truth, found) == []


@pytest.mark.slow
@pytest.mark.parametrize("strength", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("fault", ERRORS)
def test_the_error_that_was_planted_is_named_first(
    truth: Scenes, fault: str, strength: float
) -> None:
    diagnosis = diagnose(truth, spoilt(truth, fault, strength))
    found = attribute(diagnosis)
    assert found is not None
    named = verdict(diagnosis.to_dict()), max(found.values, key=lambda name: found.values[name])
    if fault == "association" and strength < 0.2:
        return  # hardly any image has an object of nobody that could be taken
    assert named[0].startswith(SENTENCES[ERRORS[fault]])
    assert named[1] == ERRORS[fault]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("inverted_scores", "The scores rank wrong predictions above right ones: "),
        ("random_scores", "The scores hardly tell right "),
        ("one_score_per_pair", "The scores hardly tell right "),
    ],
)
def test_scores_that_do_not_rank_are_named_before_any_error(
    truth: Scenes, fault: str, sentence: str
) -> None:
    assert verdict(diagnose(truth, spoilt(truth, fault, 1.0)).to_dict()).startswith(sentence)


@pytest.mark.parametrize(
    ("fault", "note"),
    [
        ("empty_images", " of the prediction file without any triplet, though triplets are "),
        ("absent_images", " annotated images are not in the prediction file; "),
    ],
)
def test_images_without_predictions_are_noted(truth: Scenes, fault: str, note: str) -> None:
    notes = diagnose(truth, spoilt(truth, fault, 0.2)).notes
    assert any(note in each for each in notes)


@pytest.mark.parametrize("strength", [0.2, 0.5])
def test_narrow_boxes_are_noted_with_a_number(truth: Scenes, strength: float) -> None:
    (doubt,) = doubts(truth, spoilt(truth, "narrow_people", strength))
    assert doubt.text.startswith("human boxes are ")
    assert int(doubt.text.split()[3]) == pytest.approx(100 * strength, abs=4)
    assert " % narrower compared with the annotated ones" in doubt.text


@pytest.mark.parametrize("strength", [0.2, 0.5])
def test_categories_that_are_taken_for_one_another_are_named(
    truth: Scenes, strength: float
) -> None:
    found: Any = spoilt(truth, "taken_category", strength)
    first, *_ = word_confusions(diagnose(truth, found), truth, found, "object_box")
    names = (VOCABULARY.objects[first.annotated], VOCABULARY.objects[first.predicted])
    assert names == ("motorcycle", "bicycle")
    assert first.delta_map is not None
    assert first.delta_map > 0
