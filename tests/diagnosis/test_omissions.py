"""What predictions leave out as a whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from diaghoi import diagnose, simulate
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.inspection import inspect
from diaghoi.diagnosis.plausibility import doubts

WORDS = simulate.v_coco_annotations(1, np.random.default_rng(0)).vocabulary
HOLD = WORDS.verbs.index("hold obj")
NO_BOX = "no role has an object box: roles with an annotated object cannot be found"
NO_BOX_OF = "1 role never with an object box, so that annotated objects cannot be found: hold obj"
ALWAYS = "every role has an object box: scenario 1 requires an empty box (zeros or NaN) "


@pytest.fixture(scope="module")
def truth() -> Scenes:
    return simulate.v_coco_annotations(80, np.random.default_rng(0))


@pytest.fixture(scope="module")
def found(truth: Scenes) -> Scenes:
    detector = simulate.PairDetector(pairs=8)
    return simulate.v_coco_detect(truth, np.random.default_rng(1), detector)


def without(found: Scenes, triplets: np.ndarray) -> Scenes:
    columns = ("triplet_pair", "triplet_verb", "triplet_score", "triplet_action_score")
    return replace(found, **{name: getattr(found, name)[~triplets] for name in columns})


def said(truth: Scenes, found: Scenes) -> list[str]:
    """Role warnings, which inspect has, too."""
    texts = [doubt.text for doubt in doubts(truth, found)]
    assert set(texts) <= set(inspect(found, truth).warnings)
    return texts


def test_a_detector_with_all_of_them_is_not_blamed(truth: Scenes, found: Scenes) -> None:
    assert said(truth, found) == []
    assert not any("never predicted" in note for note in diagnose(truth, found).notes)


def test_roles_without_any_object_box(truth: Scenes, found: Scenes) -> None:
    never = replace(found, pair_object=np.full_like(found.pair_object, -1))
    assert said(truth, never) == [NO_BOX]
    boxed = found.pair_object[found.triplet_pair] >= 0
    assert said(truth, without(found, boxed & (found.triplet_verb == HOLD))) == [NO_BOX_OF]


def test_roles_that_always_have_an_object_box(truth: Scenes, found: Scenes) -> None:
    empty = found.pair_object[found.triplet_pair] < 0
    roles = ~WORDS.agents[found.triplet_verb]
    (text,) = said(truth, without(found, empty & roles))
    assert text.startswith(ALWAYS)


def test_verbs_that_are_never_predicted(truth: Scenes, found: Scenes) -> None:
    annotated = int((truth.triplet_verb == HOLD).sum())
    assert annotated >= 10
    (note,) = (
        note
        for note in diagnose(truth, without(found, found.triplet_verb == HOLD)).notes
        if "never predicted" in note
    )
    assert note == (
        f"1 verb never predicted, though {annotated} triplets with it are annotated: hold obj"
    )


@pytest.mark.parametrize(("shift", "word"), [(1, "lower"), (-1, "higher")])
def test_image_numbers_that_are_off_by_one(
    truth: Scenes, found: Scenes, shift: int, word: str
) -> None:
    apart = np.arange(len(truth)) * 10 + 5
    apart[1] = apart[0] + 1  # neighbours, so that one image is shared
    named = replace(truth, names=apart.astype(str))
    other = replace(found, names=(apart + shift).astype(str))
    (doubt,) = doubts(named, other)
    assert doubt.grave
    assert doubt.text == (
        "only 1 of 80 predicted images are annotated, but 80 would be annotated if image numbers "
        "were one " + word
    )
    assert doubt.text in inspect(other, named).warnings


def test_images_of_another_split(truth: Scenes, found: Scenes) -> None:
    names = np.array([f"other{number}" for number in range(len(truth))])
    names[0] = truth.names[0]
    (doubt,) = doubts(truth, replace(found, names=names))
    assert doubt.text == (
        "only 1 of 80 predicted images are annotated: are these predictions for another split?"
    )


def test_a_part_of_the_images_is_no_other_split(truth: Scenes, found: Scenes) -> None:
    assert doubts(truth, found.take(np.arange(3))) == []
    assert doubts(truth.take(np.arange(3)), found) == []
