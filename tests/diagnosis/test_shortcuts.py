"""How much of mAP the object alone gives: priors of verbs on the pairs of a detector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from support.scenes import BICYCLE, CAR, HOLD, PERSON, RIDE, VOCABULARY, WASH, image, problems
from support.scenes import scenes as make

from diaghoi import InputError, diagnose, simulate
from diaghoi.data.arrays import FloatArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import v_coco
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.shortcuts import BEST, DETECTION, NEVER, RATIO
from diaghoi.diagnosis.verb_prior import VerbPrior, verb_prior

MAN = (PERSON, (0.0, 0.0, 9.0, 9.0))
BIKE = (BICYCLE, (20.0, 0.0, 29.0, 9.0))
AUTO = (CAR, (40.0, 0.0, 49.0, 9.0))
EVERY = np.ones(len(VOCABULARY), dtype=bool)
TRAINING = make(
    [
        image("t1.jpg", [MAN, BIKE], [(0, 1, RIDE), (0, 1, HOLD)]),
        image("t2.jpg", [MAN, BIKE, AUTO], [(0, 1, RIDE), (0, 2, WASH)]),
    ],
    scored=False,
)


def p(annotations: Scenes, category: int, verb: int, without: int = -1, **how: bool) -> float:
    prior = verb_prior(annotations, EVERY, **how)
    return prior.probability(*(np.array([each]) for each in (category, verb, without))).item()


def test_shares_of_annotated_pairs() -> None:
    assert p(TRAINING, BICYCLE, RIDE) == 1
    assert p(TRAINING, BICYCLE, HOLD) == 1 / 2
    assert p(TRAINING, CAR, WASH) == 1
    assert p(TRAINING, PERSON, HOLD) == 0
    assert p(TRAINING, BICYCLE, RIDE, by_object=False) == pytest.approx(2 / 3)
    assert p(TRAINING, PERSON, WASH, by_object=False) == pytest.approx(1 / 3)
    # Without the first image, and without the only one with a car.
    assert p(TRAINING, BICYCLE, HOLD, 0) == 0
    assert p(TRAINING, BICYCLE, RIDE, 0) == 1
    assert p(TRAINING, CAR, WASH, 1) == 0


def test_the_first_verb_of_the_first_category_counts_as_any_other() -> None:
    data, boxes = v_coco(), [MAN, (0, BIKE[1])]
    rows = [[(0, 1, 0), (0, 1, 1)], [], [(0, 1, 1)]]
    images = [image(f"t{n}.jpg", boxes, triplets) for n, triplets in enumerate(rows)]
    training = replace(make(images, scored=False), vocabulary=data)
    prior = verb_prior(training, np.ones(len(data), dtype=bool))
    nothing = np.zeros(4, dtype=np.int64)
    shares = prior.probability(nothing, nothing, np.array([-1, 0, 1, 2]))
    assert shares.tolist() == [1 / 2, 0, 1 / 2, 1]


def test_nothing_is_likely_where_nothing_counts() -> None:
    prior = verb_prior(TRAINING, ~EVERY)
    assert prior.probability(np.array([BICYCLE]), np.array([RIDE]), np.array([-1])) == [0]


def test_pairs_without_an_object_are_apart_from_the_last_category() -> None:
    data = v_coco()
    last = len(data.objects) - 1
    walk, hold = (data.verbs.index(name) for name in ("walk agent", "hold obj"))
    boxes = [MAN, (last, BIKE[1])]
    rows = [(0, 1, hold), (0, -1, walk)]
    training = replace(make([image("t.jpg", boxes, rows)], scored=False), vocabulary=data)
    prior = verb_prior(training, np.ones(len(data), dtype=bool))
    categories, verbs = np.array([last, last, -1, -1]), np.array([hold, walk, hold, walk])
    assert prior.probability(categories, verbs, np.full(4, -1)).tolist() == [1, 0, 0, 1]


@given(problems())
def test_without_an_image_is_the_prior_of_the_others(drawn) -> None:
    truth, _ = drawn
    category, verb = np.meshgrid([PERSON, BICYCLE, CAR], [RIDE, HOLD, WASH])
    category, verb = category.ravel(), verb.ravel()
    for by_object in (True, False):
        prior = verb_prior(truth, EVERY, by_object=by_object)
        for left in range(len(truth)):
            others = verb_prior(
                truth.take([n for n in range(len(truth)) if n != left]), EVERY, by_object=by_object
            )
            nothing = np.full(len(verb), -1)
            np.testing.assert_array_equal(
                prior.probability(category, verb, np.full(len(verb), left)),
                others.probability(category, verb, nothing),
            )


def on_one_bicycle(*verbs: tuple[int, float]) -> Diagnosis:
    """Diagnose verbs on a man who holds a bicycle."""
    truth = make([image("a.jpg", [MAN, BIKE], [(0, 1, HOLD)])], scored=False)
    triplets = [(0, 1, verb, 0.5 * score, score) for verb, score in verbs]
    found = make([image("a.jpg", [MAN, BIKE], triplets)], scored=True)
    return diagnose(truth, found, label="x")


def test_the_prior_lists_as_many_verbs_as_the_detector() -> None:
    # Ride is more frequent, so that with one verb the prior misses what the detector found.
    one = on_one_bicycle((HOLD, 0.9)).shortcuts(TRAINING)
    assert (one.mean_ap["full"], one.object.mean_ap["full"], one.object.lift["full"]) == (1, 0, 1)
    two = on_one_bicycle((RIDE, 0.9), (HOLD, 0.5)).shortcuts(TRAINING)
    assert (two.object.mean_ap["full"], two.object.lift["full"]) == (1, 0)
    # Whatever verb the detector says, its pair is what the prior starts from.
    wrong = on_one_bicycle((RIDE, 0.9), (WASH, 0.5)).shortcuts(TRAINING)
    assert (wrong.mean_ap["full"], wrong.object.lift["full"]) == (0, -1)
    found = wrong.to_dict()
    assert found["classes"]["hold bicycle"]["object"] == {"ap": 1, "lift": -1}
    assert found["classes"]["wash car"]["object"] == {"ap": None, "lift": None}
    assert "map_all_images" not in found["object"]


def test_its_own_annotations_are_left_out() -> None:
    diagnosis = on_one_bicycle((HOLD, 0.9))
    found = diagnosis.shortcuts()
    # With the only image left out, nothing is known of any verb; with it, holding is.
    assert found.object.all_images == pytest.approx({"full": 1, "rare": None, "non_rare": 1})
    assert any("the prior is too low if each image" in note for note in found.notes)
    truth, _ = diagnosis.scenes[0]
    shared = diagnosis.shortcuts(truth)
    assert shared.shared == 1
    assert shared.object.mean_ap == found.object.mean_ap
    assert any(
        note.startswith("shortcuts: the prior's annotations include 1 image of")
        for note in shared.notes
    )


@pytest.fixture(scope="module")
def drawn() -> tuple[Scenes, Scenes, Scenes]:
    """Draw annotations of a test and a training set, and a detector."""
    both = simulate.annotations(80, np.random.default_rng(4))
    truth = both.between(0, 40)
    return (
        truth,
        both.between(40, 80),
        simulate.detect(truth, simulate.TWO_STAGE, np.random.default_rng(5)),
    )


@pytest.mark.parametrize("source", [RATIO, DETECTION, BEST])
@pytest.mark.parametrize("by_object", [True, False])
def test_a_detector_that_is_the_prior_has_no_lift(drawn, source: str, by_object: bool) -> None:
    truth, training, found = drawn
    prior = verb_prior(training, VOCABULARY.interacting, by_object=by_object)
    sure = found.box_score[found.pair_human] * found.box_score[found.pair_object]
    listed = _every_verb(found, prior, sure)
    listed = replace(
        listed,
        triplet_action_score=listed.triplet_action_score if source == RATIO else None,
        box_score=found.box_score if source == DETECTION else None,
    )
    shortcuts = diagnose(truth, listed).shortcuts(training)
    assert shortcuts.confidence == source
    lift = (shortcuts.object if by_object else shortcuts.verb).lift
    assert lift == pytest.approx({"full": 0, "rare": 0, "non_rare": 0}, abs=1e-12)
    assert shortcuts.mean_ap["full"] > 0


def _every_verb(found: Scenes, prior: VerbPrior, sure: FloatArray) -> Scenes:
    """List every verb that the object of a pair allows, by its prior."""
    possible = np.append(VOCABULARY.interacting, False)[VOCABULARY.class_of]
    pair, verb = np.nonzero(possible[found.pair_label])
    share = prior.probability(found.pair_label[pair], verb, np.full(len(pair), -1))
    share = np.maximum(share, NEVER)
    return replace(
        found,
        triplet_pair=pair,
        triplet_verb=verb,
        triplet_score=sure[pair] * share,
        triplet_action_score=share,
    )


def test_a_sum_has_the_priors_of_all_its_images(drawn) -> None:
    truth, training, found = drawn
    whole = diagnose(truth, found).shortcuts(training).to_dict()
    parts = [diagnose(truth.take(some), found.take(some)) for some in (range(15), range(15, 40))]
    assert Diagnosis.sum(parts).shortcuts(training).to_dict() == whole


def test_a_data_set_whose_detectors_name_no_objects() -> None:
    truth = simulate.v_coco_annotations(30, np.random.default_rng(0))
    found = simulate.v_coco_detect(truth, np.random.default_rng(1))
    found = replace(found, box_label=np.full_like(found.box_label, -1))
    shortcuts = diagnose(truth, found).shortcuts()
    assert shortcuts.objects == "annotated boxes"
    assert any("do not name objects" in note for note in shortcuts.notes)
    assert 0 < shortcuts.object.all_images["full"] < 1
    assert shortcuts.verb.mean_ap["full"] > 0


def test_what_cannot_be_held_against_a_prior(drawn) -> None:
    diagnosis = on_one_bicycle((HOLD, 0.9))
    with pytest.raises(InputError, match=r"are of v-coco, but the predictions are for hico-det"):
        diagnosis.shortcuts(simulate.v_coco_annotations(2, np.random.default_rng(0)))
    with pytest.raises(InputError, match="no annotated triplet is evaluated"):
        diagnosis.shortcuts(make([image("b.jpg", [MAN, BIKE], [])], scored=False))
    with pytest.raises(InputError, match="diagnosis does not include"):
        replace(diagnosis, scenes=()).shortcuts()
    truth, found = diagnosis.scenes[0]
    answers = replace(found, unread=np.zeros((1, 3), dtype=np.int64))
    with pytest.raises(InputError, match="gives no scores"):
        diagnose(truth, answers).shortcuts()
