"""Bootstrap intervals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from scipy import stats
from support.scenes import BICYCLE, PERSON, RIDE, image, problems, scenes

from diaghoi import Diagnosis, InputError, diagnose, protocol, simulate
from diaghoi.evaluation.errors import LABELS
from diaghoi.statistics.bootstrap import (
    bootstrap,
    bootstrap_of,
    centred_bounds,
    draws,
    resampled,
    stretch_of,
)
from diaghoi.statistics.weighted_figures import MeanPrecisions, Resampler


@pytest.fixture(scope="module")
def diagnosis() -> Diagnosis:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(12, rng)
    return diagnose(truth, simulate.detect(truth, simulate.ONE_STAGE, rng))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """List the numbers of a result by their path."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, f"{path}.{key}".lstrip("."))
    else:
        yield path, value


def assert_figures(diagnosis: Diagnosis) -> None:
    """Compare the figures under equal weights with those of the report."""
    result = dict(leaves(diagnosis.to_dict()))
    ones = np.ones((len(diagnosis.names), 1), dtype=np.int32)
    figures = Resampler.of(diagnosis).figures(ones)
    predicted = sum(result[f"errors.{label}"] for label in LABELS)
    annotated = int(diagnosis.ledger.positives.sum())
    for path, values in figures.items():
        if path.startswith("shares."):
            count = result[f"errors.{path[7:]}"]
            whole = annotated if path == "shares.missed_gt" else predicted
            expected = count / whole if whole else None
        else:
            expected = result[path]
        wanted = np.nan if expected is None else pytest.approx(expected, abs=1e-7)
        assert np.isnan(values[0]) if expected is None else values[0] == wanted, path
    # Everything that is a figure of the images has an interval.
    parts = ("map.", "max_recall.", "oracles.", "errors.", "pairs.", "negatives.", "actions.")
    left_out = {"pairs.source", "errors.ignored", "negatives.pairs", "negatives.negatives"}
    undefined = {path for path, value in result.items() if value is None}
    for path in set(result) - set(figures) - left_out - undefined:
        assert not path.startswith(parts), path


@given(problems())
def test_equal_weights_give_the_figures_of_the_report(problem: tuple) -> None:
    for name in ("hico-det-520", "diag-hoi"):
        assert_figures(diagnose(*problem, name))


def test_equal_weights_give_the_figures_of_v_coco() -> None:
    rng = np.random.default_rng(0)
    truth = simulate.v_coco_annotations(20, rng)
    assert_figures(diagnose(truth, simulate.v_coco_detect(truth, rng)))


def test_groups_of_classes_have_intervals() -> None:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(8, rng)
    found = simulate.detect(truth, simulate.ONE_STAGE, rng)
    from diaghoi.data.groups import zero_shot

    groups = zero_shot("RF-UC", truth.vocabulary)
    intervals = bootstrap(diagnose(truth, found, protocol("hico-det", groups=groups)), 10).intervals
    assert {"map.unseen", "map.seen", "map.harmonic", "official.default.unseen"} <= set(intervals)


def test_a_figure_is_that_of_the_images_drawn(diagnosis: Diagnosis) -> None:
    (weights,) = draws(len(diagnosis.names), 3, seed=0)
    figures = Resampler.of(diagnosis).figures(weights)
    total = diagnosis.image_pairs["full"].columns["predicted"] @ weights
    assert (weights.sum(axis=0) == len(diagnosis.names)).all()
    np.testing.assert_allclose(figures["pairs.per_image"], total / len(diagnosis.names))


@pytest.mark.slow
def test_the_seed_alone_decides(diagnosis: Diagnosis, monkeypatch: pytest.MonkeyPatch) -> None:
    # More resamples than one block has, so that threads share them.
    first = bootstrap(diagnosis, 130, seed=3)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert bootstrap(diagnosis, 130, seed=3) == first
    assert bootstrap(diagnosis, 5, seed=3) != bootstrap(diagnosis, 5, seed=4)


def test_more_resamples_begin_with_the_same_ones() -> None:
    few = next(draws(7, 128, seed=1))
    many = next(draws(7, 300, seed=1))
    np.testing.assert_array_equal(few, many)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["centred", "percentile", "bca"])
def test_bounds_are_ordered_and_wider_with_more_confidence(
    diagnosis: Diagnosis, method: Any
) -> None:
    usual = bootstrap(diagnosis, 60, method=method)
    wide = bootstrap(diagnosis, 60, method=method, confidence=0.99)
    for path, bounds in usual.intervals.items():
        if bounds is not None:
            low, high = bounds
            assert wide.intervals[path][0] <= low <= high <= wide.intervals[path][1], path
    assert usual.to_dict()["bootstrap"]["method"] == method


def test_a_centred_interval_holds_the_figure(diagnosis: Diagnosis) -> None:
    result = diagnosis.to_dict()
    intervals = bootstrap(diagnosis, 50).intervals
    low, high = intervals["map.full"]
    assert low < result["map"]["full"] < high
    low, high = intervals["oracles.duplicate.delta_map.full"]
    assert low < result["oracles"]["duplicate"]["delta_map"]["full"] < high


@pytest.mark.slow
def test_bca_of_a_symmetric_mean_is_near_the_percentiles() -> None:
    # Share of images with pairs: a mean, for which both methods agree.
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    images = [image(str(n), boxes, [(0, 1, RIDE)]) for n in range(80)]
    found = [image(str(n), boxes, [(0, 1, RIDE, 0.5, 0.5)][: n % 2]) for n in range(80)]
    diagnosis = diagnose(scenes(images, scored=False), scenes(found, scored=True))
    plain = bootstrap(diagnosis, 2000, method="percentile").intervals["pairs.recall"]
    corrected = bootstrap(diagnosis, 2000, method="bca").intervals["pairs.recall"]
    assert corrected == pytest.approx(plain, abs=0.02)
    # The normal interval of a share of one half among 80 images.
    assert plain == pytest.approx((0.5 - 1.96 * 0.0559, 0.5 + 1.96 * 0.0559), abs=0.02)


def test_bca_of_a_skewed_mean_is_that_of_scipy() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    share = np.arange(60) % 12 == 0
    images = [image(f"{n:02}", boxes, [(0, 1, RIDE)]) for n in range(60)]
    found = [image(f"{n:02}", boxes, [(0, 1, RIDE, 0.5, 0.5)][: int(share[n])]) for n in range(60)]
    diagnosis = diagnose(scenes(images, scored=False), scenes(found, scored=True))
    drawn = np.concatenate([share @ weights / 60 for weights in draws(60, 400, seed=2)])
    expected = stats.bootstrap(
        (share.astype(float),),
        np.mean,
        n_resamples=0,
        method="BCa",
        bootstrap_result=SimpleNamespace(bootstrap_distribution=drawn),
    ).confidence_interval
    corrected = bootstrap(diagnosis, 400, seed=2, method="bca").intervals["pairs.recall"]
    assert corrected == pytest.approx(tuple(expected), abs=1e-9)


def of_images(values: Any, method: str, resamples: int = 200, **settings: Any) -> Any:
    """Bound a number that is a function of the share of each image in the weights."""
    found = bootstrap_of(
        lambda weights: {"x": values(weights)}, 2, resamples, method=method, **settings
    )
    return found.intervals["x"]


def test_bca_of_two_images_corrects_the_bias_alone() -> None:
    """Two values left out lie as far from their mean, so nothing is accelerated."""

    def skewed(weights: Any) -> Any:
        share = weights[0] / weights.sum(axis=0)
        return np.where(share == 0.5, 0.9, 0.3 - share / 10)

    drawn = np.concatenate([skewed(weights) for weights in draws(2, 200, seed=0)])
    below = (drawn < 0.9).mean() + (drawn == 0.9).mean() / 2
    tails = np.array([0.3, 0.7])
    shifted = stats.norm.cdf(2 * stats.norm.ppf(below) + stats.norm.ppf(tails))
    assert of_images(skewed, "bca", confidence=0.4) == pytest.approx(np.quantile(drawn, shifted))
    assert np.quantile(drawn, shifted)[0] > np.quantile(drawn, tails)[0]


def test_bca_is_the_percentiles_where_all_resamples_exceed_the_number() -> None:
    def above(weights: Any) -> Any:
        whole = weights.shape[1] == 1 and weights.sum() == 2
        return np.zeros(1) if whole else 1.0 + weights[0]

    plain, corrected = (of_images(above, method) for method in ("percentile", "bca"))
    assert plain == corrected == (1, 3)


def test_bounds_of_shares_that_reach_zero_stay_above_it() -> None:
    low, high = of_images(lambda weights: weights[0] / weights.sum(axis=0), "centred")
    assert (low, high) == (0, 1)


def test_figures_that_are_undefined_in_resamples_are_told() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    annotated = [image("a", boxes, [(0, 1, RIDE)]), image("b", boxes, [])]
    found = [image(name, boxes, [(0, 1, RIDE, 0.5, 0.5)]) for name in "ab"]
    diagnosis = diagnose(scenes(annotated, scored=False), scenes(found, scored=True))
    result = bootstrap(diagnosis, 100)
    # A resample without the annotated image has no class with annotations.
    assert 10 < result.undefined["map.full"] < 50
    assert result.intervals["map.rare"] is None
    assert result.undefined["map.rare"] == 100


@pytest.mark.slow
def test_intervals_cover_the_expected_figure() -> None:
    """A 95 % interval holds what other sets of the same size give, near 95 times in a hundred."""
    total, size, sets, paths = 240, 60, 30, ("map.full", "oracles.action.delta_map.full")
    rng = np.random.default_rng(1)
    truth = simulate.annotations(total, rng)
    diagnosis = diagnose(truth, simulate.detect(truth, simulate.TWO_STAGE, rng))
    splits = {"full": diagnosis.splits["full"]}
    means = MeanPrecisions.of(diagnosis.ledger, total, diagnosis.protocol, splits, ["action"])
    points, intervals = [], []
    for _ in range(sets):
        chosen = rng.choice(total, size, replace=False)
        whole = np.zeros((total, 1), dtype=np.int32)
        whole[chosen] = 1
        point = means.figures(whole)
        weights = np.zeros((total, 128), dtype=np.int32)
        weights[chosen] = next(draws(size, 128, seed=int(rng.integers(1000))))
        values = means.figures(weights)
        without = np.repeat(whole, size, axis=1)
        without[chosen, np.arange(size)] = 0
        left_out = means.figures(without)
        points.append([point[path][0] for path in paths])
        intervals.append(
            [
                centred_bounds(values[path], float(point[path][0]), left_out[path], 0.95)
                for path in paths
            ]
        )
    expected = np.mean(points, axis=0)
    for n, path in enumerate(paths):
        held = np.mean([low <= expected[n] <= high for low, high in (i[n] for i in intervals)])
        assert 0.83 <= held <= 1.0, (path, held)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resamples": 1}, "1 resamples: give at least two"),
        ({"confidence": 1.0}, "`confidence` 1: must lie between 0 and 1"),
        ({"confidence": 0.0}, "`confidence` 0: must lie between 0 and 1"),
        ({"method": "normal"}, "intervals 'normal': give one of centred, percentile, bca"),
    ],
)
def test_bad_settings(diagnosis: Diagnosis, changes: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bootstrap(diagnosis, **changes)


def test_a_sum_of_parts_has_the_intervals_of_the_whole() -> None:
    truth = simulate.annotations(12, np.random.default_rng(0))
    found = simulate.detect(truth, simulate.ONE_STAGE, np.random.default_rng(1))
    whole = diagnose(truth, found)
    halves = [diagnose(truth.take(some), found.take(some)) for some in (range(5), range(5, 12))]
    parts = halves[0] + halves[1]
    assert parts.bootstrap(5).intervals == whole.bootstrap(5).intervals


def test_blocks_of_images_do_not_change_intervals(diagnosis: Diagnosis) -> None:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(12, rng)
    found = simulate.detect(truth, simulate.ONE_STAGE, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("diaghoi.diagnosis.blocks.BLOCK", 1)
        blocks = diagnose(truth, found)
    assert blocks.bootstrap(20).intervals == diagnosis.bootstrap(20).intervals


def test_one_image_is_too_few() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    one = diagnose(
        scenes([image("a", boxes, [(0, 1, RIDE)])], scored=False),
        scenes([image("a", boxes, [(0, 1, RIDE, 0.5, 0.5)])], scored=True),
    )
    with pytest.raises(InputError, match="at least two images to draw from, found 1"):
        bootstrap(one)


def test_progress_counts_resamples() -> None:
    done: list[int] = []
    resampled(lambda weights: {"first": weights[0] * 1.0}, draws(7, 130, 0), done.append)
    assert sum(done) == 130
    assert len(done) > 1


def test_the_spread_is_stretched_to_that_between_bootstrap_and_jackknife() -> None:
    values, left_out = np.array([0.4, 0.6]), np.array([0.3, 0.5, 0.7])
    jackknife = np.sqrt(2 / 3 * 0.08)
    assert stretch_of(values, left_out) == pytest.approx(np.sqrt(jackknife / 0.1))
    assert stretch_of(values, np.array([0.5, 0.5])) == 1
    assert stretch_of(np.array([0.5, 0.5]), left_out) == 1
    assert stretch_of(np.array([np.nan, 0.5]), left_out) == 1


def test_bounds_of_shares_stay_shares() -> None:
    values = np.linspace(0.9, 1, 11)
    left_out = 4 * values.std() * np.array([-1, 1])  # stretches by 2
    assert centred_bounds(values, 0.97, left_out, 1.0) == pytest.approx((0.87, 1.0))
    assert centred_bounds(values + 1, 1.95, left_out, 1.0) == pytest.approx((1.85, 2.05))


PAIR = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
FAR = [(PERSON, (50, 50, 59, 59)), (BICYCLE, (60, 50, 69, 59))]


def missing(missed: int, far: int, score: float) -> Diagnosis:
    """Find all but some annotated triplets, and predict some more with two wrong boxes."""
    truth = [image(f"{n}.jpg", PAIR, [(0, 1, RIDE)]) for n in range(80)]
    found = [
        image(
            f"{n}.jpg",
            PAIR + FAR,
            [(0, 1, RIDE, 0.5)] * (n >= missed) + [(2, 3, RIDE, score)] * (n < far),
        )
        for n in range(80)
    ]
    return diagnose(scenes(truth, scored=False), scenes(found, scored=True), "hico-det")


@pytest.mark.parametrize(("missed", "few"), [(29, True), (30, False)])
def test_costs_that_few_triplets_carry_have_no_interval(missed: int, few: bool) -> None:
    diagnosis = missing(missed, 0, 0.1)
    assert diagnosis.errors["missed_gt"] == missed
    drawn = bootstrap(diagnosis, 20)
    path = "oracles.missed_gt.delta_map.full"
    assert (drawn.intervals[path] is None) == few
    assert drawn.few.get(path) == (missed if few else None)
    # What is no cost keeps its interval, that of mAP after the repair too.
    assert drawn.intervals["oracles.missed_gt.map.full"] is not None
    assert drawn.to_dict()["bootstrap"]["few"] == drawn.few != {}


@pytest.mark.parametrize(
    ("far", "score", "few"), [(40, 0.9, None), (29, 0.9, 29), (40, 0.1, 0), (40, 0.5, None)]
)
def test_predictions_below_all_that_is_right_carry_no_cost(
    far: int, score: float, few: int | None
) -> None:
    diagnosis = missing(0, far, score)
    assert diagnosis.errors["both_boxes"] == far
    drawn = bootstrap(diagnosis, 20)
    path = "oracles.both_boxes.delta_map.full"
    assert drawn.few.get(path) == few
    assert (drawn.intervals[path] is None) == (few is not None)


def test_other_classes_do_not_carry_the_cost_of_a_split() -> None:
    drawn = bootstrap(missing(40, 0, 0.1), 20)
    # Riding a bicycle is no rare class, and nothing is annotated of these.
    assert drawn.intervals["oracles.missed_gt.delta_map.non_rare"] is not None
    assert drawn.intervals["oracles.missed_gt.delta_map.rare"] is None
    assert "oracles.missed_gt.delta_map.rare" not in drawn.few
