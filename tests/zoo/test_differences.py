"""What is said first of two detectors that differ in exactly one way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from diaghoi import Diagnosis, diagnose
from diaghoi.comparison.explained import ExplainedDifference, explained
from diaghoi.comparison.slices import slices
from diaghoi.comparison.transitions import FATES
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, hico_det, v_coco
from diaghoi.oracles import ERROR_WORDS
from zoo import faults

SEEDS = (0, pytest.param(1, marks=pytest.mark.slow))


@pytest.fixture(scope="module", params=["hico-det", "v-coco"])
def words(request: pytest.FixtureRequest) -> Vocabulary:
    return hico_det() if request.param == "hico-det" else v_coco()


@pytest.fixture(scope="module", params=SEEDS)
def truth(request: pytest.FixtureRequest, words: Vocabulary) -> Scenes:
    return faults.annotations(words, int(request.param))


def detectors(
    truth: Scenes, better: Callable[..., None], worse: Callable[..., None]
) -> list[Diagnosis]:
    """Diagnose two detectors that see the same, but for what is changed."""
    diagnoses = []
    for label, change in (("A", better), ("B", worse)):
        images = faults.detected(truth, np.random.default_rng(100))
        change(images, 0.5, np.random.default_rng(7))
        found = faults.predictions(truth.vocabulary, images)
        diagnoses.append(diagnose(truth, found, label=label))
    return diagnoses


def compared(
    truth: Scenes, better: Callable[..., None], worse: Callable[..., None], resamples: int = 0
) -> ExplainedDifference:
    return explained(*detectors(truth, better, worse), resamples)


def nothing(images: list[faults.Image], strength: float, rng: np.random.Generator) -> None:
    """Leave predictions as they are."""


def first_error(found: ExplainedDifference) -> str:
    made = found.sentence.partition("made of ")[2].lower()
    places = {name: made.find(ERROR_WORDS[name].lower()) for name in FATES[1:-1]}
    places["duplicate"] = made.find(ERROR_WORDS["duplicate"].lower())
    return min((name for name in places if places[name] >= 0), key=places.__getitem__)


def largest_loss(found: ExplainedDifference) -> str:
    """What most of the triplets are that only the first detector finds."""
    matrix = found.to_dict()["annotated"]["matrix"]["true_positive"]
    return max((name for name in matrix if name != "true_positive"), key=matrix.__getitem__)


def test_a_verb_that_is_confused_is_named(truth: Scenes) -> None:
    boxed = truth.pair_object[truth.triplet_pair] >= 0
    verb = Counter(truth.triplet_verb[boxed].tolist()).most_common(1)[0][0]

    def confused(images: list[faults.Image], strength: float, rng: np.random.Generator) -> None:
        for one in images:
            kept = [pair for pair in one.pairs if verb not in pair.right]
            some = [pair for pair in one.pairs if verb in pair.right]
            spoilt = faults.Image(one.name, some, one.annotated)
            faults.action([spoilt], 1.0, rng)
            one.pairs[:] = [*kept, *spoilt.pairs]

    found = compared(truth, nothing, confused, 99)
    assert first_error(found) == "action"
    assert largest_loss(found) == "action"
    name = truth.vocabulary.verbs[verb].replace("_", " ")
    assert found.shares.of["verb"][0].name == name
    assert f"out ({name} −" in found.sentence


def test_duplicates_that_are_gone_are_named(truth: Scenes) -> None:
    found = compared(truth, faults.duplicate, nothing)
    assert first_error(found) == "duplicate"
    assert "duplicates +" in found.sentence
    assert found.found["only_first"] == found.found["only_second"] == 0


def off_in_crowds(truth: Scenes) -> list[Diagnosis]:
    """Two detectors; the boxes of people of the second are off in crowded images."""

    def crowded(images: list[faults.Image], strength: float, rng: np.random.Generator) -> None:
        for one in images:
            people = sum(label == truth.vocabulary.person for label, _ in one.annotated)
            for pair in one.pairs if people >= 3 else ():
                left, top, right, bottom = pair.human
                off = 0.6 * (right - left)
                pair.human = (left + off, top, right + off, bottom)

    return detectors(truth, nothing, crowded)


def test_people_that_are_off_in_crowded_images_are_named(truth: Scenes) -> None:
    found = explained(*off_in_crowds(truth))
    assert first_error(found) == "human_box"
    assert largest_loss(found) == "human_box"


@pytest.mark.slow
def test_crowded_images_stand_out_among_slices(truth: Scenes) -> None:
    found = slices(*off_in_crowds(truth), annotations=truth).search
    assert found is not None
    assert found.findings[0].title.startswith("People in the image: 3 to 5")
