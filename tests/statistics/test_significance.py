"""Paired tests of two detectors."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diaghoi import Diagnosis, InputError, diagnose, protocol, simulate
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.listing import Answers
from diaghoi.statistics.significance import (
    Difference,
    ResampledAlone,
    compare_each,
    compare_pair,
    corrected,
    holm,
    level_of,
    resampled_alone,
    sample_pair,
    shown_p,
    step_down,
)


def simulated(
    images: int, seed: int, *detectors: simulate.Detector, labels: str = "AB"
) -> list[Diagnosis]:
    """Diagnose detectors on simulated images."""
    rng = np.random.default_rng(seed)
    truth = simulate.annotations(images, rng)
    return [
        diagnose(truth, simulate.detect(truth, detector, rng), "hico-det", label=label)
        for label, detector in zip(labels, detectors, strict=True)
    ]


@pytest.fixture(scope="module")
def pair() -> list[Diagnosis]:
    return simulated(40, 0, simulate.ONE_STAGE, simulate.TWO_STAGE)


@pytest.fixture(scope="module")
def small() -> list[Diagnosis]:
    return simulated(10, 0, simulate.ONE_STAGE, simulate.TWO_STAGE)


def test_a_comparison_holds_the_figures_of_both(pair: list[Diagnosis]) -> None:
    first, second = pair
    found = compare_pair(first, second, 20)
    assert [each.path for each in found[:2]] == ["map.full", "oracles.human_box.delta_map.full"]
    assert len(found) == 10
    assert found[0].first == pytest.approx(first.mean_ap["full"], abs=1e-12)
    assert found[0].second == pytest.approx(second.mean_ap["full"], abs=1e-12)
    for each in found:
        assert 1 / 21 <= each.p <= each.p_holm <= 1
        if each.interval is not None:
            assert each.interval[0] <= each.difference <= each.interval[1]
            assert each.to_dict()["interval"] == list(each.interval)


@pytest.mark.slow
def test_the_other_way_round_the_signs_change(small: list[Diagnosis]) -> None:
    one, other = compare_pair(*small, 20), compare_pair(*small[::-1], 20)
    for mine, theirs in zip(one, other, strict=True):
        assert mine.difference == pytest.approx(-theirs.difference, abs=1e-12)
        assert (mine.interval is None) == (theirs.interval is None)
        if mine.interval is not None:
            assert mine.interval == pytest.approx([-bound for bound in theirs.interval[::-1]])


@pytest.mark.slow
def test_the_order_of_images_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(10, rng)
    found = [simulate.detect(truth, each, rng) for each in (simulate.ONE_STAGE, simulate.WEAK)]
    mixed = found[1].take(rng.permutation(10))
    first = diagnose(truth, found[0])
    expected = compare_pair(first, diagnose(truth, found[1]), 20)
    assert compare_pair(first, diagnose(truth, mixed), 20) == expected


def test_equal_detectors_differ_in_no_resample(small: list[Diagnosis]) -> None:
    (mean,) = compare_pair(small[0], small[0], 20, oracles=())
    assert (mean.difference, mean.interval, mean.p) == (0, (0, 0), 1)


@pytest.mark.slow
def test_equal_detectors_do_not_differ(small: list[Diagnosis]) -> None:
    for each in compare_pair(small[0], small[0], 20):
        assert (each.difference, each.p, each.p_holm) == (0, 1, 1)
        assert "no significant difference: A minus A +0.0" in each.sentence


@pytest.mark.slow
def test_the_seed_alone_decides(small: list[Diagnosis], monkeypatch: pytest.MonkeyPatch) -> None:
    # More resamples than one block has, so that threads share them.
    first = compare_pair(*small, 150, seed=5, oracles=["action"])
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert compare_pair(*small, 150, seed=5, oracles=["action"]) == first


def test_several_are_compared_with_the_first_as_each_alone() -> None:
    first, second, third = simulated(
        10, 0, simulate.ONE_STAGE, simulate.TWO_STAGE, simulate.WEAK, labels="ABC"
    )
    together = compare_each(first, [second, third], 20, seed=3, oracles=["action"])
    assert list(together) == [
        compare_pair(first, each, 20, seed=3, oracles=["action"]) for each in (second, third)
    ]


def test_a_plain_sentence(pair: list[Diagnosis]) -> None:
    found = {each.path: each for each in compare_pair(*pair, 100, oracles=("action",))}
    mean = found["map.full"]
    assert mean.p_holm < 0.05
    points, low, high = 100 * mean.difference, *(100 * bound for bound in mean.interval)
    assert mean.sentence == (
        f"B's mAP is higher than that of A by {points:.1f}, 95 % {low:.1f} to {high:.1f} "
        f"uncorrected ({mean.shown_p}, corrected for 2 tests)"
    )


@pytest.mark.parametrize(
    ("difference", "interval", "p", "words"),
    [
        # A bound beyond zero keeps its sign.
        (0.02, (-0.001, 0.05), 0.01, "is higher than that of A by 2.0, 95 % −0.1 to 5.0 uncorr"),
        (-0.02, (-0.05, 0.001), 0.01, "is lower than that of A by 2.0, 95 % −0.1 to 5.0 uncorr"),
        (-0.02, (-0.05, -0.01), 0.01, "is lower than that of A by 2.0, 95 % 1.0 to 5.0 uncorr"),
        (0.02, (-0.001, 0.05), 0.2, "no significant difference"),
        (-0.02, (-0.05, 0.001), 0.2, "no significant difference"),
        # One near zero shows on which side of it it lies.
        (0.0, (-0.0003, 0.00002), 0.5, "B minus A +0.0, 95 % −0.03 to +0.002 uncorrected"),
        (0.0001, (-0.0003, 0.00002), 0.001, "higher than that of A by 0.01, 95 % −0.03 to 0.002 "),
    ],
)
def test_bounds_of_a_difference_in_words(
    difference: float, interval: tuple[float, float], p: float, words: str
) -> None:
    found = Difference(
        path="map.full",
        title="mAP",
        labels=("A", "B"),
        first=0.5,
        second=0.5 + difference,
        difference=difference,
        interval=interval,
        p=p,
        p_bootstrap=0.06,
        p_holm=1.0,
        sentence="",
    )
    assert words in corrected([found])[0].sentence
    # A p-value at the level is not below it.
    assert not corrected([replace(found, p=0.05)])[0].significant
    assert corrected([replace(found, p=0.04)])[0].significant


def test_the_mean_of_a_protocol_is_named_beside_another_official_one() -> None:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(30, rng)
    found = [simulate.detect(truth, each, rng) for each in (simulate.ONE_STAGE, simulate.TWO_STAGE)]
    for name, title in (("hico-det", "mAP"), ("hico-det-520", "mAP under hico-det-520")):
        pair = [diagnose(truth, each, name) for each in found]
        assert compare_pair(*pair, 2, oracles=())[0].title == title


def halves(count: int, seed: int, better: float) -> list[Diagnosis]:
    """Make two detectors that find annotated triplets at random, the second more by ``better``."""
    rng = np.random.default_rng(seed)
    truth = simulate.annotations(count, rng)
    scored = replace(
        truth, triplet_score=rng.random(len(truth.triplet_pair)), pair_score=None, sizes=None
    )
    diagnoses = []
    for chance in (0.5, 0.5 + better):
        kept = rng.random(len(truth.triplet_pair)) < chance
        # What is not found is claimed of another image, so that it is a false positive there.
        verb = np.where(kept, truth.triplet_verb, truth.vocabulary.no_interaction)
        diagnoses.append(diagnose(truth, _with_verbs(scored, verb), "hico-det"))
    return diagnoses


def _with_verbs(scenes: Scenes, verb: np.ndarray) -> Scenes:
    return replace(scenes, triplet_verb=verb, triplet_action_score=scenes.triplet_score)


def rejected(better: float, images: int, trials: int) -> float:
    """Share of trials in which the mAP of two detectors differs at 5 %."""
    # Of 39 exchanges: p is a multiple of 1/40, so that 5 % can be met exactly.
    hits = 0
    for trial in range(trials):
        first, second = halves(images, trial, better)
        hits += compare_pair(first, second, 39, seed=trial, oracles=())[0].p <= 0.05
    return hits / trials


@pytest.mark.slow
def test_without_a_difference_one_in_twenty_is_rejected() -> None:
    # Of 60 trials at 5 %, fewer than 9 are rejected with a probability of 99.7 %.
    assert rejected(0.0, 15, 60) < 9 / 60


@pytest.mark.slow
def test_power_rises_with_the_number_of_images() -> None:
    few, many = rejected(0.25, 6, 16), rejected(0.25, 30, 16)
    assert many > few + 0.2
    assert many >= 0.7


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm(p: list[float]) -> None:
    corrected = holm(p)
    ordered = sorted(range(len(p)), key=lambda n: p[n])
    highest = 0.0
    for rank, n in enumerate(ordered):
        highest = min(max(highest, (len(p) - rank) * p[n]), 1.0)
        assert corrected[n] == pytest.approx(highest)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


@given(
    st.lists(
        st.tuples(st.integers(-9, 9), st.lists(st.integers(-9, 9), min_size=4, max_size=4)),
        min_size=1,
        max_size=5,
    )
)
def test_step_down_is_its_definition(drawn: list[tuple[int, list[int]]]) -> None:
    differences = np.array([each for each, _ in drawn], dtype=float)
    chance = np.array([each for _, each in drawn], dtype=float)
    spread = chance.std(axis=1)
    moving = spread > 0
    if moving.any():
        spread = np.maximum(spread, np.median(spread[moving]))
    spread[~moving] = np.inf
    found = np.abs(differences) / spread
    order = sorted(range(len(found)), key=lambda each: -found[each])
    expected, least = {}, 0.0
    for place, one in enumerate(order):
        beyond = sum(
            max(abs(chance[other, draw]) / spread[other] for other in order[place:])
            >= found[one] * (1 - 1e-9)
            for draw in range(4)
        )
        least = max(least, (1 + beyond) / 5)
        expected[one] = least
    np.testing.assert_allclose(
        step_down(differences, chance), [expected[each] for each in range(len(found))]
    )


def test_an_interval_of_hardly_any_confidence_is_the_median(small: list[Diagnosis]) -> None:
    low, high = compare_pair(*small, 20, confidence=1e-9, oracles=())[0].interval
    assert low == pytest.approx(high)


def test_the_level_of_a_confidence() -> None:
    assert (level_of(0.95), level_of(0.9)) == (0.05, 0.1)


def test_an_exchange_takes_each_image_from_each_model_once() -> None:
    seen = []

    def mixed(weights: np.ndarray) -> dict[str, np.ndarray]:
        seen.append(weights)
        return {"all": weights.mean(axis=0)}

    def alone(weights: np.ndarray) -> dict[str, np.ndarray]:
        return {"all": weights.mean(axis=0)}

    one = resampled_alone(alone, 5, 20)
    sample_pair(one, one, mixed, ["all"])
    for first, second in zip(seen[::2], seen[1::2], strict=True):
        assert set(np.unique(first)) == {0, 1}
        assert (first[:5] + first[5:] == 1).all()
        assert (first + second == 1).all()


def test_deviations_of_a_difference_are_stretched_by_its_own_jackknife() -> None:
    numbers = {"whole": 0.5, "drawn": [0.4, 0.6], "left_out": [0.1, 0.9]}
    one = ResampledAlone(2, 2, 0, *({"all": np.atleast_1d(each)} for each in numbers.values()))
    other = one._replace(drawn={"all": np.array([0.5, 0.9])})
    away, _ = sample_pair(one, other, lambda weights: {"all": weights.mean(axis=0)}, ["all"])["all"]
    # Without a group, both change alike: the difference, 0.1 and 0.3, is not stretched.
    assert away.tolist() == pytest.approx([-0.1, 0.1])


@pytest.mark.parametrize(
    ("p", "shown", "bound"),
    [
        (0.0009, "p < 0.001", "p < 0.001"),
        (0.001, "p = 0.001", "p ≤ 0.001"),
        (0.0412, "p = 0.041", "p ≤ 0.042"),
        (4 / 301, "p = 0.013", "p ≤ 0.014"),
        (10 / 301, "p = 0.033", "p ≤ 0.034"),
        (0.05, "p = 0.050", "p ≤ 0.050"),
        (0.003, "p = 0.003", "p ≤ 0.003"),
        (0.9996, "p = 1.000", "p ≤ 1.000"),
        (1.0, "p = 1.000", "p = 1.000"),
    ],
)
def test_p_values_are_shown_short_and_bounds_rounded_up(p: float, shown: str, bound: str) -> None:
    assert shown_p(p) == shown
    assert shown_p(p, at_most=True) == bound


def test_a_difference_in_one_image_is_chance() -> None:
    """Every exchange of models gives that difference, with one sign or the other."""
    rng = np.random.default_rng(0)
    truth = simulate.annotations(4, rng)
    scores = rng.random(len(truth.triplet_pair))
    found = replace(truth, triplet_score=scores, pair_score=None, sizes=None)
    some = truth.triplet_image == truth.triplet_image[0]
    other = np.where(some, truth.vocabulary.no_interaction, truth.triplet_verb)
    pair = [diagnose(truth, _with_verbs(found, verb)) for verb in (truth.triplet_verb, other)]
    mean = compare_pair(*pair, 40, oracles=())[0]
    assert mean.difference < 0
    assert mean.p == 1


def test_the_smallest_p_value_is_told_as_a_bound() -> None:
    """Of 19 exchanges none may differ as much: p is at most 1/20, and need not be so large."""
    one, other = halves(40, 0, 0.5)
    (far, *_) = compare_pair(one, other, 19)
    assert far.p == far.p_least == 1 / 20
    assert far.p_bootstrap == 1 / 20
    assert "(p ≤ " in far.sentence
    (same, *_) = compare_pair(one, one, 19)
    assert same.p == same.p_bootstrap == 1
    assert "(p = 1.000, corrected for 10 tests)" in same.sentence


def test_what_cannot_be_compared(pair: list[Diagnosis]) -> None:
    first, second = pair
    other = replace(second, protocol=protocol("hico-det-520"))
    with pytest.raises(InputError, match=r"different protocols, hico-det .* and hico-det-520"):
        compare_pair(first, other)
    names = second.names.astype("U40")
    names[0] = "elsewhere.jpg"
    with pytest.raises(InputError, match="2 images are in only one of the diagnoses"):
        compare_pair(first, replace(second, names=names))
    answers = Answers(
        unreadable=0, unreadable_triplets=0, unknown_names=0, no_class=0, boxes_outside=0
    )
    with pytest.raises(InputError, match="B gives no scores"):
        compare_pair(first, replace(second, answers=answers))
    with pytest.raises(InputError, match="A gives no scores"):
        compare_pair(replace(first, answers=answers), second)
    with pytest.raises(InputError, match="'unseen' is not a split; known: full, rare, non_rare"):
        compare_pair(first, second, split="unseen")
    with pytest.raises(InputError, match="1 resamples: give at least two"):
        compare_pair(first, second, 1)
    less = replace(
        second.ledger,
        annotation_class=second.ledger.annotation_class[:-1],
        annotation_image=second.ledger.annotation_image[:-1],
    )
    with pytest.raises(InputError, match="other annotations"):
        compare_pair(first, replace(second, ledger=less))


def test_costs_that_few_carry_have_a_test_but_no_interval() -> None:
    first, second = simulated(40, 0, simulate.ONE_STAGE, simulate.WEAK)
    few = first.bootstrap(2).few.keys() | second.bootstrap(2).few.keys()
    found = compare_pair(first, second, 19)
    for each in found:
        assert (each.interval is None) == (each.path in few), each.path
        assert 0 < each.p <= 1
        assert ("uncorrected" in each.sentence) == (each.interval is not None)
    without = next(each for each in found if each.interval is None)
    why = "no interval: fewer than 30 annotated triplets or predictions carry this cost (p"
    assert why in without.sentence
    assert without.to_dict()["interval"] is None
