"""Calibration of triplet scores: figures by hand, sums that must hold, and simulated detectors."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import v_coco
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, WASH, image, problems, scenes

from diaghoi import Diagnosis, InputError, diagnose, protocol
from diaghoi.data.arrays import ranking
from diaghoi.data.joining import join
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.evaluation.errors import ACTION, DUPLICATE, LABELS, TRUE_POSITIVE
from diaghoi.statistics.calibration import Calibration, measure_calibration

BOXES = [(PERSON, (0, 0, 9, 19)), (BICYCLE, (10, 10, 29, 29))]
TRUTH = scenes([image("a.jpg", BOXES, [(0, 1, RIDE)])], scored=False)
# A true positive, its duplicate, and two other verbs.
ROWS = [(0, 1, RIDE, 0.9), (0, 1, RIDE, 0.8), (0, 1, HOLD, 0.3), (0, 1, WASH, 0.1)]


def diagnosed(rows: list[Any]) -> Diagnosis:
    return diagnose(TRUTH, scenes([image("a.jpg", BOXES, rows)], scored=True))


def judged(score: Any, label: Any, classes: Any = None) -> Diagnosis:
    """Make a diagnosis whose rows have these scores, labels and HOI classes."""
    base = diagnosed([])
    score, label = np.asarray(score, dtype=float), np.asarray(label, dtype=np.int8)
    hoi = np.asarray(np.zeros(len(score)) if classes is None else classes, dtype=np.int16)
    order = ranking(hoi, score)
    ledger = replace(
        base.ledger,
        row_class=hoi[order],
        row_score=score[order],
        row_label=label[order],
        row_input=order.astype(np.int32),
        row_image=np.zeros(len(score), dtype=np.int32),
        row_annotation=np.full(len(score), -1, dtype=np.int32),
        row_attempt=np.full(len(score), -1, dtype=np.int32),
        row_on_pair=np.zeros(len(score), dtype=bool),
        row_action_score=score[order],
    )
    return replace(base, ledger=ledger)


def test_figures_of_four_predictions_in_two_bins() -> None:
    found = measure_calibration(diagnosed(ROWS), bins=2)
    np.testing.assert_array_equal(found.edges, [0, 0.5, 1])
    np.testing.assert_array_equal(found.bin_counts, [2, 2])
    np.testing.assert_allclose(found.mean_scores, [0.2, 0.85])
    np.testing.assert_allclose(found.precisions, [0, 0.5])
    np.testing.assert_allclose(found.gaps, [0.2, 0.35])
    assert found.ece == pytest.approx((0.2 + 0.35) / 2)
    assert found.mce == pytest.approx(0.35)
    assert found.mce_count == 2
    assert found.brier == pytest.approx((0.1**2 + 0.8**2 + 0.3**2 + 0.1**2) / 4)
    # Of the second bin the true positive takes 0.1 / 2 away, and the duplicate adds 0.8 / 2.
    expected = np.zeros((2, len(LABELS)))
    expected[0, ACTION] = 0.2
    expected[1, [TRUE_POSITIVE, DUPLICATE]] = [-0.05, 0.4]
    np.testing.assert_allclose(found.parts, expected)
    np.testing.assert_allclose(found.ece_parts, expected.sum(axis=0) / 2)


def test_figures_in_json() -> None:
    told = measure_calibration(diagnosed(ROWS), bins=4).to_dict()
    assert json.loads(json.dumps(told)) == told
    assert list(told) == [
        *("binning", "count", "ece", "mce", "mce_count", "brier"),
        *("bins", "errors", "verbs", "note"),
    ]
    assert (told["binning"], told["count"], told["note"]) == ("equal width", 4, "")
    assert told["bins"][2] == {
        "low": 0.5,
        "high": 0.75,
        "count": 0,
        "mean_score": None,
        "precision": None,
        "gap": None,
    }
    assert told["bins"][3]["mean_score"] == pytest.approx(0.85)
    assert list(told["errors"]) == list(LABELS)
    action = told["errors"]["action"]
    assert (action["count"], action["counts"]) == (2, [1, 1, 0, 0])
    assert action["mean_score"] == pytest.approx(0.2)
    assert action["gap_parts"] == [pytest.approx(0.1), pytest.approx(0.3), None, 0]
    assert action["ece_part"] == pytest.approx(0.1)
    assert told["errors"]["both_boxes"] == {
        "count": 0,
        "mean_score": None,
        "ece_part": 0,
        "counts": [0, 0, 0, 0],
        "gap_parts": [0, 0, None, 0],
    }
    assert list(told["verbs"]) == ["hold", "ride", "wash"]
    assert told["verbs"]["ride"] == {
        "count": 2,
        "mean_score": pytest.approx(0.85),
        "precision": 0.5,
        "ece": pytest.approx(0.35),
    }


def test_errors_of_a_verb_in_different_bins_do_not_cancel() -> None:
    found = measure_calibration(judged([0.9, 0.1], [ACTION, TRUE_POSITIVE]), bins=2)
    (verb,) = found.verbs.values()
    assert (verb.mean_score, verb.precision) == (0.5, 0.5)
    assert verb.ece == pytest.approx(0.9)
    assert found.ece == pytest.approx(0.9)
    # In one bin they do: that is what bins are for.
    assert measure_calibration(judged([0.9, 0.1], [ACTION, TRUE_POSITIVE]), bins=1).ece == 0


def test_a_bin_holds_its_upper_bound_and_the_first_one_zero() -> None:
    found = measure_calibration(judged([0, 0.25, 0.5, 0.75, 1], [ACTION] * 5), bins=4)
    np.testing.assert_array_equal(found.bin_counts, [2, 1, 1, 1])


def test_bins_of_equal_mass() -> None:
    scores = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9]
    found = measure_calibration(judged(scores, [ACTION] * 8), bins=4, equal_mass=True)
    np.testing.assert_array_equal(found.bin_counts, [2, 2, 2, 2])
    assert (found.edges[0], found.edges[-1]) == (0.1, 0.9)
    assert found.to_dict()["binning"] == "equal mass"


def test_equal_scores_share_a_bin_of_equal_mass() -> None:
    found = measure_calibration(
        judged([0.5] * 6 + [0.6, 0.7], [ACTION] * 8), bins=4, equal_mass=True
    )
    assert found.bin_counts.tolist()[0] == 6
    only = measure_calibration(judged([0.5] * 3, [ACTION] * 3), bins=4, equal_mass=True)
    np.testing.assert_array_equal(only.bin_counts, [3])
    assert only.ece == 0.5


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (
            [0.5, 1.25],
            "calibration: scores run from 0.5 to 1.25, so they are not probabilities",
        ),
        ([-3, 0.5], "calibration: scores run from -3 to 0.5, so they are not probabilities"),
        ([np.nan, 0.5], "calibration: scores run from nan to nan"),
        ([], "calibration: there are no predictions"),
    ],
)
def test_scores_that_are_no_probabilities_have_no_figures(scores: list[float], words: str) -> None:
    found = measure_calibration(judged(scores, [ACTION] * len(scores)))
    assert found.note.startswith(words)
    assert (found.ece, found.mce, found.brier) == (None, None, None)
    assert found.to_dict() == {
        "binning": "equal width",
        "count": 0,
        "ece": None,
        "mce": None,
        "mce_count": None,
        "brier": None,
        "bins": [],
        "errors": {},
        "verbs": {},
        "note": found.note,
    }


@pytest.mark.parametrize("bins", [0, -1, 1001])
def test_an_odd_number_of_bins(bins: int) -> None:
    message = f"bins {bins}: give a number from 1 to 1000, usually 15"
    with pytest.raises(InputError, match=message):
        measure_calibration(diagnosed(ROWS), bins=bins)


def test_a_bin_of_each_prediction() -> None:
    found = measure_calibration(diagnosed(ROWS), bins=1000)
    assert found.bin_counts.max() == 1
    assert found.ece == pytest.approx((0.1 + 0.8 + 0.3 + 0.1) / 4)


# Whatever the scenes are.

BINNINGS = st.tuples(st.integers(1, 20), st.booleans())


@given(problems(), BINNINGS)
def test_parts_sum_and_means_are_those_of_the_rows(
    problem: tuple[Scenes, Scenes], binning: tuple[int, bool]
) -> None:
    diagnosis = diagnose(*problem)
    check(measure_calibration(diagnosis, binning[0], equal_mass=binning[1]), diagnosis)


@given(v_coco.problems(), BINNINGS)
def test_parts_sum_in_v_coco(
    problem: tuple[list[Any], list[Any]], binning: tuple[int, bool]
) -> None:
    truth, found = v_coco.annotations(problem[0]), v_coco.predictions(problem[1])
    diagnosis = diagnose_images(truth, found, protocol("v-coco-s1"))
    check(measure_calibration(diagnosis, binning[0], equal_mass=binning[1]), diagnosis)


def check(found: Calibration, diagnosis: Diagnosis) -> None:
    score, label = diagnosis.ledger.row_score, diagnosis.ledger.row_label
    assert len(found.edges) == len(found.counts) + 1
    if not len(score):
        assert found.note == "calibration: there are no predictions"
        return
    assert found.note == ""
    true = label == TRUE_POSITIVE
    size = []
    for number, (low, high) in enumerate(zip(found.edges, found.edges[1:], strict=False)):
        here = (score > low) & (score <= high)
        here |= (number == 0) & (score == low)
        assert here.sum() == found.bin_counts[number]
        if not here.any():
            assert np.isnan(found.gaps[number])
            continue
        gap = score[here].mean() - true[here].mean()
        size.append(here.mean() * abs(gap))
        assert found.gaps[number] == pytest.approx(gap)
        for kind in range(len(LABELS)):
            part = (score - true)[here & (label == kind)].sum() / here.sum()
            assert found.parts[number, kind] == pytest.approx(part)
    assert found.parts.sum(axis=1) == pytest.approx(
        found.mean_scores - found.precisions, nan_ok=True, abs=1e-12
    )
    assert found.ece == pytest.approx(sum(size), abs=1e-12)
    assert found.ece_parts.sum() == pytest.approx(found.ece)
    assert np.nanmax(np.abs(found.gaps)) == found.mce
    assert found.mce_count in found.bin_counts[np.abs(found.gaps) == found.mce]
    assert found.counts.sum(axis=0).tolist() == np.bincount(label, minlength=7).tolist()
    assert sum(verb.count for verb in found.verbs.values()) == len(score)
    spread = sum(verb.ece * verb.count for verb in found.verbs.values()) / len(score)
    assert spread >= found.ece - 1e-12  # gaps of verbs may cancel in the whole


@given(problems(), st.randoms(use_true_random=False))
def test_permuting_images_or_adding_parts_up_changes_nothing(
    problem: tuple[Scenes, Scenes], random: Any
) -> None:
    truth, found, _ = join(*problem)
    diagnosis = diagnose_images(truth, found, protocol("hico-det-520"))
    whole = measure_calibration(diagnosis)
    order = random.sample(range(len(truth)), len(truth))
    mixed = diagnose_images(truth.take(order), found.take(order), diagnosis.protocol)
    parts = Diagnosis.sum(
        diagnose_images(truth.between(n, n + 1), found.between(n, n + 1), diagnosis.protocol)
        for n in range(len(truth))
    )
    for other in (measure_calibration(mixed), measure_calibration(parts)):
        np.testing.assert_array_equal(other.counts, whole.counts)
        np.testing.assert_allclose(other.score_sums, whole.score_sums, rtol=0, atol=1e-12)
        assert other.brier == pytest.approx(whole.brier)
        assert other.verbs.keys() == whole.verbs.keys()


@pytest.mark.parametrize("equal_mass", [False, True])
def test_scores_that_are_probabilities_have_no_gap_but_that_of_chance(equal_mass: bool) -> None:
    rng = np.random.default_rng(0)
    score = rng.beta(1, 2, 200_000)
    label = np.where(rng.random(len(score)) < score, TRUE_POSITIVE, ACTION)
    found = measure_calibration(judged(score, label), equal_mass=equal_mass)
    # The gap of a bin of n has a standard deviation of at most 1 / (2 sqrt n).
    allowed = 5 / (2 * np.sqrt(found.bin_counts))
    assert (np.abs(found.gaps) < allowed).all()
    assert found.ece is not None
    assert found.ece < (allowed * found.bin_counts).sum() / len(score)
    assert found.brier == pytest.approx(float((score * (1 - score)).mean()), abs=0.005)
    # Overconfident by a known amount, the square root.
    worse = measure_calibration(judged(np.sqrt(score), label), equal_mass=equal_mass)
    expected = float((np.sqrt(score) - score).mean())
    assert worse.ece == pytest.approx(expected, abs=0.005)
    assert worse.ece_parts[ACTION] > 0 > worse.ece_parts[TRUE_POSITIVE]


def test_the_largest_gap_counts_whatever_its_sign() -> None:
    found = measure_calibration(judged([0.9, 0.1], [ACTION, TRUE_POSITIVE]), bins=2)
    np.testing.assert_allclose(found.gaps, [-0.9, 0.9])
    found = measure_calibration(judged([0.6, 0.1], [ACTION, TRUE_POSITIVE]), bins=2)
    assert found.mce == pytest.approx(0.9)
    assert found.mce_count == 1
