"""Simulated V-COCO is valid, repeatable, and has every kind of error."""

from __future__ import annotations

import numpy as np
import pytest

from diaghoi import diagnose
from diaghoi.simulate import PairDetector, v_coco_annotations, v_coco_detect


def test_annotations_are_valid() -> None:
    scenes = v_coco_annotations(200, np.random.default_rng(0))
    words = scenes.vocabulary
    people = scenes.box_label == words.person
    assert people[scenes.pair_human].all()
    assert not scenes.box_ignored[scenes.pair_human].any()
    assert not (scenes.box_ignored & ~people).any()
    key = scenes.pair_human[scenes.triplet_pair] * len(words) + scenes.triplet_verb
    assert len(np.unique(key)) == len(key), "nobody does the same twice"
    agent = words.agents[scenes.triplet_class]
    assert (scenes.pair_object[scenes.triplet_pair[agent]] == -1).all()
    assert (scenes.box_xyxy[:, 2:] > scenes.box_xyxy[:, :2]).all()
    assert (scenes.box_xyxy[:, 2:] <= [639, 479]).all()


def test_a_detector_scores_everything_and_makes_every_error() -> None:
    rng = np.random.default_rng(1)
    annotations = v_coco_annotations(60, rng)
    predictions = v_coco_detect(annotations, rng, PairDetector(pairs=20))
    assert len(predictions.triplet_pair) == 60 * 20 * 51
    result = diagnose(annotations, predictions, "v-coco-s1").to_dict()
    errors = result["errors"]
    assert all(count for name, count in errors.items() if name != "missed_gt")
    assert 0 < result["map"]["full"] < result["official"]["scenario_2"]["ap"] < 1


def test_the_same_seed_gives_the_same_scenes() -> None:
    one, other = (v_coco_annotations(20, np.random.default_rng(5)) for _ in range(2))
    assert one.triplet_verb.tolist() == other.triplet_verb.tolist()
    found = [v_coco_detect(some, np.random.default_rng(6)) for some in (one, other)]
    assert found[0].triplet_score.tolist() == found[1].triplet_score.tolist()


def test_a_sharper_detector_is_better() -> None:
    annotations = v_coco_annotations(80, np.random.default_rng(2))
    mean_ap = [
        diagnose(
            annotations,
            v_coco_detect(annotations, np.random.default_rng(3), PairDetector(sharpness=sharpness)),
            "v-coco-s2",
        ).mean_ap["full"]
        for sharpness in (0, 6)
    ]
    assert mean_ap[1] > mean_ap[0] + 0.05
    assert mean_ap[0] == pytest.approx(0.03, abs=0.03)
