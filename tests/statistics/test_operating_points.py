"""Precision, recall, F1 and errors over the score threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, WASH, image, scenes

from diaghoi import InputError, diagnose, simulate
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.statistics.operating_points import operating_points

MAN = (PERSON, (0.0, 0.0, 9.0, 9.0))
BIKE = (BICYCLE, (20.0, 0.0, 29.0, 9.0))
ELSEWHERE = (BICYCLE, (60.0, 0.0, 69.0, 9.0))


@pytest.fixture(scope="module")
def drawn() -> tuple[Scenes, Scenes]:
    truth = simulate.annotations(40, np.random.default_rng(4))
    return truth, simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(5))


def test_four_predictions() -> None:
    truth = scenes([image("a.jpg", [MAN, BIKE], [(0, 1, HOLD), (0, 1, WASH)])], scored=False)
    triplets = [(0, 1, HOLD, 0.9), (0, 1, RIDE, 0.6), (0, 1, WASH, 0.6), (0, 2, HOLD, 0.1)]
    found = scenes([image("a.jpg", [MAN, BIKE, ELSEWHERE], triplets)], scored=True)
    points = diagnose(truth, found).operating_points().to_dict()
    assert (points["images"], points["annotated"]) == (1, 2)
    curve = points["curve"]
    assert curve["threshold"] == [0.9, 0.6, 0.1]
    assert curve["precision"] == pytest.approx([1, 2 / 3, 2 / 4])
    assert curve["recall"] == pytest.approx([1 / 2, 1, 1])
    assert curve["f1"] == pytest.approx([2 / 3, 4 / 5, 2 / 3])
    assert curve["triplets_per_image"] == [1, 3, 4]
    assert curve["pairs_per_image"] == [1, 1, 2]
    errors = {name: counts for name, counts in curve["errors"].items() if any(counts)}
    assert errors == {
        "true_positive": [1, 2, 2],
        "action": [0, 1, 1],
        "object_box": [0, 0, 1],
        "false_negative": [1, 0, 0],
    }
    best = points["best"]
    assert (best["threshold"], best["f1"], best["pairs_per_image"]) == (0.6, 4 / 5, 1)
    assert best["errors"]["action"] == 1
    calibration = best["calibration"]
    assert calibration["mean_score"] == pytest.approx(0.7)
    assert calibration["gap"] == pytest.approx(0.7 - 2 / 3)
    # 0.9 is one bin, of which all is right; of the two at 0.6 one is.
    assert calibration["ece"] == pytest.approx((0.1 + 2 * 0.1) / 3)


def test_predictions_per_image_are_means_over_all_images() -> None:
    names = ["a.jpg", "b.jpg", "c.jpg", "d.jpg"]
    truth = scenes([image(name, [MAN, BIKE], [(0, 1, HOLD)]) for name in names], scored=False)
    triplets = [(0, 1, HOLD, 0.9), (0, 2, RIDE, 0.6), (0, 2, HOLD, 0.6)]
    found = [image(name, [MAN, BIKE, ELSEWHERE], triplets) for name in names[:2]]
    curve = diagnose(truth, scenes(found, scored=True)).operating_points().to_dict()["curve"]
    assert curve["threshold"] == [0.9, 0.6]
    assert curve["triplets_per_image"] == [2 / 4, 6 / 4]
    assert curve["pairs_per_image"] == [2 / 4, 4 / 4]


def test_every_point_is_exact_and_the_best_is_that_of_all_scores(drawn) -> None:
    diagnosis = diagnose(*drawn)
    points = operating_points(diagnosis)
    assert 100 < len(points.thresholds) <= 203
    assert (np.diff(points.thresholds) < 0).all()
    ledger = diagnosis.ledger
    for n in range(0, len(points.thresholds), 7):
        threshold = float(points.thresholds[n])
        expected = diagnosis.detections(threshold)["full"]
        assert points.precision[n] == expected["precision"]
        assert points.recall[n] == expected["recall"]
        assert points.f1[n] == pytest.approx(expected["f1"], abs=1e-15)
        kept = ledger.row_score >= threshold
        assert points.counts[n].tolist() == [
            int((ledger.row_label[kept] == label).sum()) for label in range(len(LABELS))
        ]
        pairs = drawn[1].triplet_pair[ledger.row_input[kept]]
        assert points.pairs[n] == len(np.unique(pairs))
    assert points.best is not None
    f1 = [diagnosis.detections(score)["full"]["f1"] for score in np.unique(ledger.row_score)[::97]]
    assert points.f1[points.best] >= max(f1)
    assert points.thresholds[points.best] == diagnosis.best_threshold
    assert points.counts[-1].sum() == len(ledger.row_class)


def test_a_sum_has_the_points_of_all_its_images(drawn) -> None:
    truth, found = drawn
    parts = [diagnose(truth.take(some), found.take(some)) for some in (range(15), range(15, 40))]
    whole = diagnose(truth, found).operating_points().to_dict()
    assert Diagnosis.sum(parts).operating_points().to_dict() == whole


def test_v_coco() -> None:
    truth = simulate.v_coco_annotations(20, np.random.default_rng(0))
    found = simulate.v_coco_detect(truth, np.random.default_rng(1))
    diagnosis = diagnose(truth, found)
    points = diagnosis.operating_points().to_dict()
    assert 0 < points["best"]["f1"] < 1
    # A person without an object is no pair, here as elsewhere.
    pairs = np.unique(found.triplet_pair[diagnosis.ledger.row_input])
    boxed = found.pair_object[pairs] >= 0
    assert 0 < boxed.sum() < len(pairs)
    assert points["curve"]["pairs_per_image"][-1] == boxed.sum() / len(found)


def test_what_has_no_best_point(drawn) -> None:
    truth, found = drawn
    wrong = diagnose(truth, replace(found, box_xyxy=found.box_xyxy + 5000.0))
    points = wrong.operating_points().to_dict()
    assert points["best"] is None
    assert set(points["curve"]["precision"]) == {0}
    nothing = scenes([image(truth.names[0], [], [])], scored=True)
    assert diagnose(truth, nothing).operating_points().to_dict()["curve"]["threshold"] == []
    logits = diagnose(truth, replace(found, triplet_score=10 * found.scores - 5))
    assert logits.operating_points().to_dict()["best"]["calibration"] is None
    without = replace(diagnose(truth, found), scenes=()).operating_points().to_dict()
    assert without["best"]["pairs_per_image"] is None
    answers = replace(found, unread=np.zeros((len(found), 3), dtype=np.int64))
    with pytest.raises(InputError, match="gives no scores, so there is no threshold"):
        diagnose(truth, answers).operating_points()


def test_a_hundred_quantiles_of_the_scores_are_thresholds() -> None:
    boxes = [(BICYCLE, (0.0, 0.0, 9.0, 9.0 + row)) for row in range(1000)]
    truth = scenes([image("a.jpg", [MAN, BIKE], [(0, 1, HOLD)])], scored=False)
    triplets = [(0, 2 + row, HOLD, (1 + row) / 1000) for row in range(1000)]
    found = scenes([image("a.jpg", [MAN, BIKE, *boxes], triplets)], scored=True)
    thresholds = operating_points(diagnose(truth, found)).to_dict()["curve"]["threshold"]
    assert thresholds == pytest.approx([*np.linspace(1, 0.01, 100), 0.001], abs=0.0011)


def test_pairs_whose_object_is_the_first_box_count() -> None:
    truth = scenes([image("a.jpg", [BIKE, MAN], [(1, 0, HOLD)])], scored=False)
    found = scenes([image("a.jpg", [BIKE, MAN], [(1, 0, HOLD, 0.9)])], scored=True)
    curve = operating_points(diagnose(truth, found)).to_dict()["curve"]
    assert curve["pairs_per_image"] == [1]
