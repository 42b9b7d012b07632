"""Where a difference in mAP lies: shares that add up, and tests that find what is there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, image, problems, scenes

from diaghoi import InputError, diagnose, simulate
from diaghoi.comparison.explained import explained
from diaghoi.comparison.shares import IMAGES, KINDS, LEAST, Shares, sampled_shares, shares
from diaghoi.data.scenes import Scenes
from diaghoi.statistics.significance import step_down

DETECTOR = simulate.TWO_STAGE


def simulated(images: int, seed: int) -> tuple[Scenes, Scenes, Scenes]:
    """Annotations, and what two detectors of one kind predict, which differ by noise alone."""
    rng = np.random.default_rng(seed)
    truth = simulate.annotations(images, rng)
    return truth, *(simulate.detect(truth, DETECTOR, rng) for _ in range(2))


def compared(truth: Scenes, *found: Scenes, **more: int) -> Shares:
    first, second = (
        diagnose(truth, each, label=label) for each, label in zip(found, "AB", strict=True)
    )
    return shares(first, second, **more)


def bicycles(number: int) -> list[tuple[int, tuple[float, float, float, float]]]:
    return [(BICYCLE, (60.0 * n, 50.0, 60.0 * n + 40, 149.0)) for n in range(number)]


def worse_at(predictions: Scenes, verb: int) -> Scenes:
    """Rank the predictions of a verb from the least to the most confident one."""
    mine = predictions.triplet_verb == verb
    score = predictions.scores.copy()
    score[mine] = score[mine].max() - score[mine]
    return replace(predictions, triplet_score=score)


@given(problem=problems(), rows=st.randoms(use_true_random=False))
def test_shares_add_up_to_the_difference(problem, rows) -> None:
    truth, predictions = problem
    order = list(range(len(predictions.scores)))
    rows.shuffle(order)
    other = replace(predictions, triplet_score=predictions.scores[np.array(order, dtype=int)])
    first, second = (diagnose(truth, each) for each in (predictions, other))
    found = shares(first, second)
    if first.mean_ap["full"] is None:
        assert not any(found.of.values())
        return
    total = second.mean_ap["full"] - first.mean_ap["full"]
    for kind in KINDS:
        assert sum(each.share for each in found.of[kind]) == pytest.approx(total, abs=1e-12)
    absolute = [abs(each.share) for each in found.of["class"]]
    assert absolute == sorted(absolute, reverse=True)


@pytest.mark.parametrize("kind", KINDS)
def test_shares_of_a_kind_add_up_to_a_difference_that_is_not_zero(kind: str) -> None:
    truth, one, other = simulated(12, 3)
    total = diagnose(truth, other).mean_ap["full"] - diagnose(truth, one).mean_ap["full"]
    assert abs(total) > 0.01
    found = compared(truth, one, other).of[kind]
    assert sum(each.share for each in found) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("name", ["hico-det-520", "diag-hoi", "cdn"])
def test_what_an_image_decides_is_what_is_gone_without_it(name: str) -> None:
    truth, one, other = simulated(12, 3)
    found = shares(*(diagnose(truth, each, name) for each in (one, other)))

    def difference(images: list[int]) -> float:
        kept = np.array(images)
        first, second = (
            diagnose(truth.take(kept), each.take(kept), name).mean_ap["full"]
            for each in (one, other)
        )
        return second - first

    everything = list(range(12))
    expected = {
        str(truth.names[image]): difference(everything)
        - difference([each for each in everything if each != image])
        for image in everything
    }
    alone = [
        (truth.triplet_image[truth.triplet_class == hoi] == image).all()
        for image, hoi in zip(truth.triplet_image, truth.triplet_class, strict=True)
    ]
    assert any(alone), "some classes leave the mean with an image"
    names = [name for name, _ in found.images]
    assert set(expected) - set(names) <= {
        name for name, gone in expected.items() if abs(gone) < 1e-12
    }
    for name, gone in found.images:
        assert gone == pytest.approx(expected[name], abs=1e-12)
    sizes = [abs(gone) for _, gone in found.images]
    assert sizes == sorted(sizes, reverse=True)


def test_a_verb_that_is_ranked_the_wrong_way_is_named_first() -> None:
    truth, one, _ = simulated(120, 1)
    verb = int(np.bincount(truth.triplet_verb).argmax())
    first, second = (
        diagnose(truth, each, label=label)
        for each, label in ((one, "A"), (worse_at(one, verb), "B"))
    )
    found = explained(first, second, 99)
    worst = found.shares.of["verb"][0]
    name = truth.vocabulary.verbs[verb].replace("_", " ")
    assert worst.name == name
    assert worst.share < 0
    assert worst.p is not None
    assert worst.interval is not None
    assert worst.p < 0.05
    assert worst.interval[0] <= worst.share <= worst.interval[1] < 0
    assert f"lie in 1 verb that stands out ({name} " in found.sentence
    untested = explained(first, second)
    assert f"The verbs that differ most (untested, may be chance): {name} " in untested.sentence
    assert untested.shares.of["verb"][0].interval is None


def test_shares_of_few_images_have_no_interval() -> None:
    truth, one, other = simulated(60, 2)
    found = compared(truth, one, other, resamples=20)
    annotated = np.unique(np.stack([truth.triplet_verb, truth.triplet_image]), axis=1)[0]
    images = np.bincount(annotated, minlength=len(truth.vocabulary.verbs))
    names = [name.replace("_", " ") for name in truth.vocabulary.verbs]
    has = {each.name: each.interval is not None for each in found.of["verb"]}
    assert set(has.values()) == {True, False}
    assert has == {name: images[names.index(name)] >= 10 for name in has}
    assert all(each.p is not None for each in found.of["verb"])


def test_the_order_of_images_does_not_matter() -> None:
    truth, one, other = simulated(10, 2)
    mixed = other.take(np.random.default_rng(0).permutation(10))
    straight, turned = (compared(truth, one, each, resamples=20) for each in (other, mixed))
    for mine, theirs in zip(straight.of["verb"], turned.of["verb"], strict=True):
        assert (mine.name, mine.classes, mine.p) == (theirs.name, theirs.classes, theirs.p)
        assert mine.share == pytest.approx(theirs.share, abs=1e-12)
        assert mine.interval == pytest.approx(theirs.interval, abs=1e-12)


def test_shares_are_those_of_annotated_classes() -> None:
    truth, one, other = simulated(6, 5)
    found = compared(truth, one, other)
    annotated = np.unique(truth.triplet_class).tolist()
    names = {truth.vocabulary.class_name(hoi) for hoi in annotated}
    assert {each.name for each in found.of["class"]} <= names


@pytest.mark.slow
def test_detectors_that_differ_by_noise_alone_show_nothing() -> None:
    # At 5 % together, more than 3 of 14 pairs show something with a probability below 1 %.
    hits = 0
    for seed in range(14):
        found = compared(*simulated(20, seed), resamples=39)
        hits += any(found.standing_out(kind) for kind in KINDS)
    assert hits <= 3


def test_impossible_settings_are_refused() -> None:
    truth, one, other = simulated(3, 0)
    with pytest.raises(InputError, match="1 resamples: give at least two"):
        compared(truth, one, other, resamples=1)
    with pytest.raises(InputError, match="images are in only one of the diagnoses"):
        shares(diagnose(truth, one), diagnose(truth.take(np.arange(2)), other.take(np.arange(2))))


# Corrected together.


def test_step_down_by_hand() -> None:
    chance = np.array([[1.0, -1.0, 1.0, -1.0], [2.0, 2.0, -2.0, -2.0], [0.0, 0.0, 0.0, 0.0]])
    # In units of their spreads, 1 and 2: 3 and 1. The second is only as large as all exchanges.
    np.testing.assert_allclose(step_down(np.array([3.0, 2.0, 5.0]), chance), [0.2, 1.0, 1.0])


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_step_down_is_no_less_than_single_tests(seed: int, tests: int) -> None:
    rng = np.random.default_rng(seed)
    chance = rng.normal(size=(tests, 39))
    differences = rng.normal(size=tests) * 2
    alone = [float(step_down(differences[[k]], chance[[k]])[0]) for k in range(tests)]
    together = step_down(differences, chance)
    assert (together >= np.array(alone) - 1e-12).all()


def test_a_class_of_few_images_has_no_interval_however_often_it_is_annotated() -> None:
    people = [(PERSON, (60.0 * n, 0.0, 60.0 * n + 40, 99.0)) for n in range(LEAST)]
    rides = [(n, LEAST + n, RIDE) for n in range(LEAST)]
    truth = scenes(
        [
            image("many.jpg", [*people, *bicycles(LEAST)], rides),
            *(image(f"{n}.jpg", [people[0], *bicycles(1)], [(0, 1, HOLD)]) for n in range(LEAST)),
        ],
        scored=False,
    )
    found = replace(truth, triplet_score=np.linspace(0.9, 0.1, len(truth.triplet_verb)))
    of = {share.name: share for share in compared(truth, found, found, resamples=20).of["verb"]}
    assert of["ride"].interval is None
    assert of["hold"].interval is not None


def test_the_json_lists_the_images_that_decide_most() -> None:
    truth, one, other = simulated(IMAGES + 20, 5)
    found = compared(truth, one, other)
    assert len(found.images) > IMAGES
    assert len(found.to_dict()["images"]) == IMAGES


def test_shares_of_one_detector_need_resamples() -> None:
    truth, found, _ = simulated(5, 0)
    with pytest.raises(InputError, match="resamples"):
        sampled_shares(diagnose(truth, found), resamples=0)
