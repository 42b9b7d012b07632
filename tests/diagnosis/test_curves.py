"""Precision-recall curves against average precision, and sweeps of pairs against diagnoses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import v_coco
from support.scenes import BICYCLE, PERSON, RIDE, image, problems, scenes

from diaghoi import ORACLES, protocol, simulate
from diaghoi.data.protocol import ELEVEN_LEVELS, Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.curves import (
    BEST_PAIRS,
    DETECTION_THRESHOLDS,
    NMS_OVERLAPS,
    Curve,
    class_curve,
    curve_corners,
    negatives_curve,
    pair_sweeps,
    precision_recall,
)
from diaghoi.diagnosis.diagnose import diagnose, diagnose_images
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.variants import detection_threshold, pair_nms
from diaghoi.evaluation import ledger
from diaghoi.evaluation.average_precision import average_precision
from diaghoi.evaluation.negatives import Negatives


def curve(ranked: str, positives: int) -> Curve:
    """Curve of a ranked list of right (+) and wrong (-) rows."""
    return precision_recall(np.array([row == "+" for row in ranked], dtype=bool), positives)


def area(curve: Curve) -> float:
    return float(np.sum(np.diff(curve.recall, prepend=0.0) * curve.precision))


def eleven_points(curve: Curve) -> float:
    heights = [curve.precision[curve.recall >= level].max(initial=0.0) for level in ELEVEN_LEVELS]
    return float(sum(heights)) / 11


def test_a_thinned_curve_keeps_both_ends() -> None:
    whole = curve("+-" * 20, 20)
    thin = whole.thinned(5)
    assert thin.recall.tolist() == pytest.approx(np.linspace(1 / 20, 1, 5).tolist())
    assert (thin.precision[0], thin.precision[-1]) == (whole.precision[0], whole.precision[-1])


@pytest.fixture(scope="module")
def diagnosis() -> Diagnosis:
    truth = simulate.annotations(40, np.random.default_rng(0))
    found = simulate.detect(truth, simulate.TWO_STAGE, np.random.default_rng(1))
    return diagnose(truth, found)


# Precision against recall


def test_a_point_for_each_right_row() -> None:
    found = curve("+-+--+", 4)
    assert found.recall.tolist() == [0.25, 0.5, 0.75]
    assert found.precision.tolist() == [1, 2 / 3, 1 / 2]


def test_precision_is_the_highest_at_that_recall_or_a_higher_one() -> None:
    assert curve("-++", 2).precision.tolist() == [2 / 3, 2 / 3]


@pytest.mark.parametrize(("ranked", "positives"), [("--", 3), ("", 3), ("--", 0), ("++", 0)])
def test_no_curve_where_nothing_is_found_or_to_be_found(ranked: str, positives: int) -> None:
    found = curve(ranked, positives)
    assert len(found.recall) == len(found.precision) == 0


@given(st.lists(st.booleans(), max_size=40), st.integers(0, 5))
def test_average_precision_is_read_from_the_curve(ranked: list[bool], missed: int) -> None:
    true = np.array(ranked, dtype=bool)
    positives = int(true.sum()) + missed
    assume(positives)
    found = precision_recall(true, positives)
    one_class = np.zeros(len(true), dtype=np.int64)
    for levels, read in ((None, area), (ELEVEN_LEVELS, eleven_points)):
        expected = average_precision(one_class, true, np.array([positives]), levels)
        assert read(found) == pytest.approx(expected.average_precision[0], abs=1e-12)


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(2, 20))
def test_thinned_curves_keep_their_exact_height(ranked: list[bool], points: int) -> None:
    full = precision_recall(np.array(ranked, dtype=bool), len(ranked))
    thin = full.thinned(points)
    assert len(thin.recall) == min(len(full.recall), points)
    for recall, height in zip(thin.recall, thin.precision, strict=True):
        assert height == full.precision[full.recall >= recall].max()
    if len(full.recall):
        ends = (full.recall[0], full.recall[-1])
        assert (thin.recall[0], thin.recall[-1]) == ends


def test_curves_of_classes_give_their_average_precision(diagnosis: Diagnosis) -> None:
    expected = diagnosis.class_scores.average_precision
    annotated = np.flatnonzero(~np.isnan(expected))
    assert len(annotated) > 50
    for hoi in annotated.tolist():
        found = class_curve(diagnosis.ledger, hoi, diagnosis.protocol)
        assert eleven_points(found) == pytest.approx(expected[hoi], abs=1e-12)


@pytest.mark.parametrize("oracle", ORACLES)
def test_curves_of_repaired_ledgers_give_their_average_precision(
    diagnosis: Diagnosis, oracle: str
) -> None:
    ledger = ORACLES[oracle](diagnosis.ledger)
    expected = diagnosis.repaired_scores[oracle].average_precision
    for hoi in np.flatnonzero(diagnosis.ledger.positives >= 2).tolist():
        found = class_curve(ledger, hoi, diagnosis.protocol)
        if np.isnan(expected[hoi]):
            assert not len(found.recall)
        else:
            assert eleven_points(found) == pytest.approx(expected[hoi], abs=1e-12)


def test_only_the_best_rows_of_a_class_count_where_the_protocol_says_so(
    diagnosis: Diagnosis,
) -> None:
    cut = replace(diagnosis.protocol, top_of_class=3)
    expected = diagnosis.ledger.scores(cut)
    hoi = int(np.argmax(diagnosis.ledger.positives))
    found = class_curve(diagnosis.ledger, hoi, cut)
    assert len(found.recall) == expected.found[hoi] <= 3
    assert eleven_points(found) == pytest.approx(expected.average_precision[hoi])


def test_predictions_that_share_one_rank_have_one_precision() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9)), (PERSON, (40, 0, 49, 9))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE)])], scored=False)
    rows = [(0, 1, RIDE, 1.0), (2, 1, RIDE, 1.0), (2, 1, RIDE, 1.0)]
    found = scenes([image("a.jpg", boxes, rows)], scored=True)
    diagnosis = diagnose(truth, replace(found, unread=np.zeros((1, 3), dtype=np.int64)))
    (hoi,) = np.flatnonzero(diagnosis.ledger.positives).tolist()
    assert class_curve(diagnosis.ledger, hoi, diagnosis.protocol).precision.tolist() == [1 / 3]


def test_corners_of_parts_are_those_of_the_whole(
    diagnosis: Diagnosis, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = curve_corners(diagnosis.ledger, diagnosis.protocol, ORACLES)
    monkeypatch.setattr(ledger, "PART", 100)
    assert len(list(diagnosis.ledger.repairable_parts())) > 3
    parts = curve_corners(diagnosis.ledger, diagnosis.protocol, ORACLES)
    for name, corners in whole.items():
        for column, of_parts in zip(corners, parts[name], strict=True):
            np.testing.assert_array_equal(column, of_parts)


def test_a_class_without_rows_has_no_curve(diagnosis: Diagnosis) -> None:
    rows = np.bincount(diagnosis.ledger.row_class, minlength=600)
    absent = int(np.flatnonzero(rows == 0)[0])
    assert not len(class_curve(diagnosis.ledger, absent, diagnosis.protocol).recall)


def test_the_area_under_the_curve_of_negatives_is_their_ap(diagnosis: Diagnosis) -> None:
    assert area(negatives_curve(diagnosis.negative_pairs)) == pytest.approx(
        diagnosis.negatives["ap"], abs=1e-12
    )


def test_negatives_are_ranked_by_their_score() -> None:
    pairs = Negatives(
        score=np.array([0.2, 0.9, 0.5]),
        negative=np.array([False, True, True]),
        image=np.zeros(3, dtype=np.int32),
    )
    found = negatives_curve(pairs)
    assert found.recall.tolist() == [0.5, 1]
    assert found.precision.tolist() == [1, 1]


# Sweeps of pairs


ANN, THING, AWAY = (0, 0, 9, 19), (10, 10, 29, 29), (300, 300, 319, 319)


def two_pairs(right: float, wrong: float, **columns: Any) -> tuple[Scenes, Scenes]:
    """One annotated pair; a prediction of it and one beside it, with these scores."""
    truth = image("a.jpg", [(PERSON, ANN), (BICYCLE, THING)], [(0, 1, RIDE)])
    boxes = [(PERSON, ANN), (BICYCLE, THING), (BICYCLE, AWAY)]
    found = image("a.jpg", boxes, [(0, 1, RIDE, 0.9)], [(0, 1, right), (0, 2, wrong)])
    return scenes([truth], scored=False), replace(scenes([found], scored=True), **columns)


def settings_of(sweeps: Any, sweep: str) -> list[Any]:
    return [point.setting for point in sweeps[sweep]]


@pytest.mark.parametrize(("right", "wrong", "recall"), [(0.9, 0.3, 1), (0.3, 0.9, 0)])
def test_the_best_pairs_are_those_of_the_highest_scores(
    right: float, wrong: float, recall: float
) -> None:
    sweeps = pair_sweeps(*two_pairs(right, wrong), protocol("hico-det-520"))
    assert settings_of(sweeps, "best") == [None, 1]
    everything, best = sweeps["best"]
    assert (everything.per_image, everything.recall, everything.precision) == (2, 1, 0.5)
    assert (best.per_image, best.recall, best.precision) == (1, recall, recall)


def test_pairs_of_equal_scores_are_kept_in_their_order() -> None:
    sweeps = pair_sweeps(*two_pairs(0.5, 0.5), protocol("hico-det-520"))
    assert sweeps["best"][1].recall == 1


def test_the_detection_threshold_goes_by_the_scores_of_boxes() -> None:
    truth, found = two_pairs(0.9, 0.9, box_score=np.array([0.9, 0.35, 0.65]))
    points = pair_sweeps(truth, found, protocol("hico-det-520"))["detection"]
    assert [point.setting for point in points] == [None, *DETECTION_THRESHOLDS]
    by_setting = {point.setting: (point.per_image, point.recall) for point in points}
    assert by_setting[0.3] == (2, 1)
    assert by_setting[0.4] == (1, 0)
    assert by_setting[0.7] == (0, 0)


@pytest.mark.parametrize("scores", [None, np.full(3, np.nan)])
def test_no_detection_sweep_without_scores_of_boxes(scores: Any) -> None:
    sweeps = pair_sweeps(*two_pairs(0.9, 0.3, box_score=scores), protocol("hico-det-520"))
    assert list(sweeps) == ["best", "nms"]


def test_numbers_of_best_pairs_that_keep_all_are_left_out() -> None:
    truth = simulate.annotations(12, np.random.default_rng(0))
    found = simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(1))
    most = int(np.bincount(found.pair_image).max())
    sweeps = pair_sweeps(truth, found, protocol("hico-det-520"))
    expected = [number for number in reversed(BEST_PAIRS) if number < most]
    assert settings_of(sweeps, "best") == [None, *expected]
    assert settings_of(sweeps, "nms") == [None, *NMS_OVERLAPS]
    for sweep in ("best", "detection"):
        numbers = [point.per_image for point in sweeps[sweep]]
        assert numbers == sorted(numbers, reverse=True)


def best_pairs(predictions: Scenes, number: int) -> Scenes:
    """Keep the best listed pairs of each image, pair by pair."""
    score = predictions.pair_score
    if score is None:
        score = np.full(len(predictions.pair_human), -np.inf)
        for pair, of_triplet in zip(
            predictions.triplet_pair.tolist(), predictions.scores.tolist(), strict=True
        ):
            score[pair] = max(score[pair], of_triplet)
    kept = np.zeros(len(score), dtype=bool)
    for one in range(len(predictions)):
        mine = [
            pair
            for pair in np.flatnonzero(predictions.pair_image == one).tolist()
            if predictions.listed[pair]
        ]
        kept[sorted(mine, key=lambda pair: -score[pair])[:number]] = True
    return predictions.keep(kept)


VARIANTS = {"best": best_pairs, "detection": detection_threshold, "nms": pair_nms}


def assert_as_diagnosed(truth: Scenes, found: Scenes, choices: Protocol) -> None:
    """Compare each point of each sweep to a diagnosis of the pairs that are left."""
    for sweep, points in pair_sweeps(truth, found, choices).items():
        for point in points:
            kept = found if point.setting is None else VARIANTS[sweep](found, point.setting)
            pairs = diagnose_images(truth, kept, choices).pairs
            expected = (pairs["per_image"], pairs["recall"], pairs["precision"])
            assert point[1:] == expected, (sweep, point.setting)


@given(
    problems(),
    st.sampled_from(["hico-det-520", "diag-hoi", "upt"]),
    st.sampled_from([None, 2]),
    st.integers(0, 9),
)
def test_sweeps_are_what_diagnoses_of_the_remaining_pairs_say(
    problem: tuple[Scenes, Scenes], name: str, top: int | None, seed: int
) -> None:
    truth, found = problem
    scores = np.random.default_rng(seed).random(len(found.box_label))
    assert_as_diagnosed(truth, replace(found, box_score=scores), protocol(name, top=top))


@given(problems(), st.integers(0, 9))
def test_sweeps_of_images_taken_one_by_one_are_those_of_all(
    problem: tuple[Scenes, Scenes], seed: int
) -> None:
    truth, found = problem
    scores = np.random.default_rng(seed).random(len(found.box_label))
    # The scores of some images are unknown, those of others are not.
    scores[found.box_image % 2 == 0] = np.nan
    found = replace(found, box_score=scores)
    together = pair_sweeps(truth, found, protocol("hico-det-520"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("diaghoi.diagnosis.blocks.BLOCK", 1)
        assert pair_sweeps(truth, found, protocol("hico-det-520")) == together


@given(v_coco.problems(), st.sampled_from([1, 2]))
def test_sweeps_of_v_coco_are_what_diagnoses_say(
    problem: tuple[list[Any], list[Any]], scenario: int
) -> None:
    truth, found = v_coco.annotations(problem[0]), v_coco.predictions(problem[1])
    assert_as_diagnosed(truth, found, protocol(f"v-coco-s{scenario}"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hico-det-520", "diag-hoi"])  # the latter with 32-bit recall
def test_sweeps_of_many_pairs_are_what_diagnoses_say(name: str) -> None:
    truth = simulate.annotations(30, np.random.default_rng(0))
    found = simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(1))
    assert_as_diagnosed(truth, found, protocol(name))
