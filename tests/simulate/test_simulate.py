"""The simulated data: statistics, validity, and the effect of every rate of error."""

from dataclasses import fields, replace

import numpy as np
import pytest

from diaghoi import simulate
from diaghoi.data.boxes import instances
from diaghoi.data.scenes import COLUMNS, Scenes
from diaghoi.data.vocabulary import hico_det
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.exceptions import InputError
from diaghoi.simulate import DETECTORS, ONE_STAGE, TWO_STAGE, Detector

LABELS = ("human_box", "object_box", "both_boxes", "association", "action", "duplicate")
NUMBERS = [field.name for field in fields(Detector) if field.name not in ("name", "shared_boxes")]
NOTHING_WRONG = dict.fromkeys(set(NUMBERS) - {"pairs", "triplets", "boxes"}, 0)
PERFECT = Detector(name="perfect", shared_boxes=False, boxes=1, **NOTHING_WRONG)


@pytest.fixture(scope="module")
def world() -> Scenes:
    return simulate.annotations(400, np.random.default_rng(0))


@pytest.fixture(scope="module")
def found(world):
    return {
        name: simulate.detect(world, detector, np.random.default_rng(1))
        for name, detector in DETECTORS.items()
    }


@pytest.fixture(scope="module")
def results(world, found):
    return {name: diagnose(world, scenes).to_dict() for name, scenes in found.items()}


def triplets_an_image(scenes: Scenes):
    return np.bincount(scenes.triplet_image, minlength=len(scenes))


def assert_equal(first: Scenes, second: Scenes):
    for column in COLUMNS:
        np.testing.assert_array_equal(getattr(first, column), getattr(second, column), column)


def assert_sound(scenes: Scenes):
    sizes, boxes = scenes.sizes[scenes.box_image], scenes.box_xyxy
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] >= boxes[:, :2]).all()
    assert (boxes[:, 2:] <= sizes - 1).all()
    for rows, table in (
        (scenes.box_image, scenes.names),
        (scenes.pair_human, scenes.box_image),
        (scenes.pair_object, scenes.box_image),
        (scenes.triplet_pair, scenes.pair_human),
    ):
        assert rows.min() >= 0
        assert rows.max() < len(table)
    assert (scenes.box_label[scenes.pair_human] == scenes.vocabulary.person).all()
    assert (scenes.box_image[scenes.pair_human] == scenes.box_image[scenes.pair_object]).all()
    assert (scenes.pair_human != scenes.pair_object).all()
    assert (scenes.triplet_class >= 0).all()
    for image in (scenes.box_image, scenes.pair_image, scenes.triplet_image):
        assert (np.diff(image) >= 0).all()


def diagnosed(world, **changes):
    detector = replace(PERFECT, **changes)
    return diagnose(world, simulate.detect(world, detector, np.random.default_rng(2)))


def cost(result, oracle):
    return result["oracles"][oracle]["delta_map"]["full"]


# Annotations


def test_annotations_are_sound(world):
    assert_sound(world)
    assert world.names[0] == "demo_000001.jpg"
    assert len(np.unique(world.names)) == len(world)
    assert world.triplet_score is None
    np.testing.assert_array_equal(world.box_xyxy, np.round(world.box_xyxy))
    assert (world.box_xyxy[:, 2:] - world.box_xyxy[:, :2]).min() >= 8


def test_annotations_resemble_hico_det():
    scenes = simulate.annotations(5000, np.random.default_rng(3))
    vocabulary, each = scenes.vocabulary, triplets_an_image(scenes)
    assert 3.1 < each.mean() < 3.8
    assert each.max() == 10
    assert 0.005 < (each == 0).mean() < 0.02
    verbs_a_pair = np.bincount(scenes.triplet_pair)
    assert verbs_a_pair.min() == 1
    assert 1.3 < verbs_a_pair.mean() < 1.6
    idle = scenes.triplet_verb == vocabulary.no_interaction
    assert 0.10 < idle.mean() < 0.16
    assert (verbs_a_pair[scenes.triplet_pair[idle]] == 1).all()
    often = np.bincount(scenes.triplet_class, minlength=len(vocabulary))
    assert np.corrcoef(often, vocabulary.test_instances)[0, 1] > 0.95
    assert (often > 0).sum() > 560


def test_annotations_have_boxes_outside_of_triplets_and_no_triplet_twice(world):
    used = np.union1d(world.pair_human, world.pair_object)
    spare = np.setdiff1d(np.arange(len(world.box_image)), used)
    assert len(spare) > 0.1 * len(world.box_image)
    assert set(np.unique(world.box_label[spare])) > {world.vocabulary.person}
    assert (np.bincount(world.box_image) >= 2).all()
    for rows in (
        np.stack([world.triplet_pair, world.triplet_verb], axis=1),
        np.stack([world.pair_human, world.pair_object], axis=1),
    ):
        assert len(np.unique(rows, axis=0)) == len(rows)


def test_one_image_has_a_triplet():
    for seed in range(20):
        assert len(simulate.annotations(1, np.random.default_rng(seed)).triplet_pair) >= 1


def test_equal_seeds_give_equal_scenes_and_leave_the_input_alone(found, world):
    before = world.box_xyxy.copy()
    for name, detector in DETECTORS.items():
        assert_equal(found[name], simulate.detect(world, detector, np.random.default_rng(1)))
    np.testing.assert_array_equal(world.box_xyxy, before)
    assert_equal(world, simulate.annotations(400, np.random.default_rng(0)))
    other = simulate.annotations(400, np.random.default_rng(1))
    assert not np.array_equal(world.sizes, other.sizes)


@pytest.mark.parametrize("images", [0, -3])
def test_images_must_be_positive(images):
    with pytest.raises(InputError, match=f"images: {images} images cannot be simulated; give 1"):
        simulate.annotations(images, np.random.default_rng(0))


# Detections


@pytest.mark.parametrize("name", DETECTORS)
def test_detections_are_sound(found, world, name):
    scenes, detector = found[name], DETECTORS[name]
    assert_sound(scenes)
    np.testing.assert_array_equal(scenes.names, world.names)
    for score in ("box_score", "pair_score", "triplet_score", "triplet_action_score"):
        values = getattr(scenes, score)
        assert values.min() > 0
        assert values.max() < 1
    assert np.bincount(scenes.pair_image).max() <= detector.pairs
    assert triplets_an_image(scenes).max() <= detector.triplets
    same_image = np.diff(scenes.triplet_image) == 0
    assert (np.diff(scenes.triplet_score)[same_image] <= 0).all()
    rows = np.stack([scenes.triplet_pair, scenes.triplet_verb], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert 58 <= len(scenes.pair_human) / len(scenes) <= 64
    assert 85 <= triplets_an_image(scenes).mean() <= 100
    idle = scenes.triplet_verb == scenes.vocabulary.no_interaction
    assert 0.02 < idle.mean() < 0.2
    pair = scenes.triplet_pair
    boxes = scenes.box_score[scenes.pair_human] * scenes.box_score[scenes.pair_object]
    product = boxes[pair] * scenes.triplet_action_score
    np.testing.assert_allclose(scenes.triplet_score, product, rtol=1e-12)
    assert (scenes.triplet_action_score[~idle] <= scenes.pair_score[pair[~idle]]).all()


def test_boxes_are_shared_or_not(found):
    def uses(scenes):
        return np.bincount(np.concatenate([scenes.pair_human, scenes.pair_object]))

    assert (uses(found["one_stage"]) == 1).all()
    assert uses(found["two_stage"]).mean() > 5
    assert 8 < len(found["two_stage"].box_image) / len(found["two_stage"]) < 16


@pytest.mark.slow
def test_more_images_than_are_worked_on_at_once():
    scenes = simulate.annotations(1100, np.random.default_rng(4))
    found = simulate.detect(scenes, TWO_STAGE, np.random.default_rng(5))
    assert_sound(found)
    assert (triplets_an_image(found) > 0).mean() > 0.99
    assert diagnose(scenes, found).to_dict()["pairs"]["recall"] > 0.8


# What the diagnosis says about the presets


@pytest.mark.parametrize(
    ("name", "map_range", "recall_range"),
    [
        ("one_stage", (0.45, 0.62), (0.75, 0.9)),
        ("two_stage", (0.48, 0.65), (0.84, 0.95)),
        ("weak", (0.3, 0.47), (0.58, 0.74)),
    ],
)
def test_presets_resemble_published_kinds_and_make_every_error(
    results, name, map_range, recall_range
):
    result, counts = results[name], results[name]["errors"]
    assert map_range[0] < result["map"]["full"] < map_range[1]
    assert recall_range[0] < result["pairs"]["recall"] < recall_range[1]
    assert 0.85 < result["negatives"]["ap_published"] < 0.95
    wrong = sum(counts[label] for label in LABELS)
    assert min(counts[label] for label in LABELS) > 0.01 * wrong
    assert counts["missed_gt"] > 0
    assert counts["true_positive"] > 0.015 * wrong


def test_presets_differ_in_a_telling_way(results):
    one, two, weak = (results[name] for name in ("one_stage", "two_stage", "weak"))
    assert cost(one, "duplicate") > cost(two, "duplicate") + 0.04
    assert cost(two, "association") > cost(one, "association") + 0.04
    assert weak["map"]["full"] < min(one["map"]["full"], two["map"]["full"])
    boxes = ("human_box", "object_box")
    assert all(cost(weak, oracle) > cost(two, oracle) for oracle in boxes)


# The effect of every parameter


@pytest.fixture(scope="module")
def perfect(world):
    return diagnosed(world).to_dict()


@pytest.fixture(scope="module")
def noisy(world):
    """With equal scores for right and wrong, no mistake would ever outrank the truth."""
    return diagnosed(world, score_noise=0.7).to_dict()


def test_perfect_detector_finds_everything(perfect):
    assert perfect["map"]["full"] > 0.97
    assert perfect["pairs"]["recall"] == 1
    assert perfect["errors"]["missed_gt"] == 0


@pytest.mark.parametrize(
    ("change", "labels"),
    [
        ({"misplaced": 0.5}, ["object_box", "human_box", "both_boxes"]),
        ({"localisation": 0.25}, ["both_boxes"]),
        ({"missed_persons": 0.5}, ["missed_gt"]),
        ({"missed_objects": 0.5}, ["missed_gt"]),
        ({"confused_labels": 0.5}, ["object_box"]),
        ({"duplicates": 3.0}, ["duplicate"]),
        ({"boxes": 12}, ["human_box", "object_box"]),
    ],
)
def test_rate_adds_its_error(world, perfect, change, labels):
    found = diagnosed(world, **change).errors
    for label in labels:
        assert found[label] > perfect["errors"][label] + 50, label


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "oracle"),
    [
        ({"association": 0.8}, "association"),
        ({"confused_verbs": 0.3}, "action"),
        ({"duplicates": 3.0}, "duplicate"),
        ({"missed_objects": 0.5}, "false_negative"),
        ({"misplaced": 0.5}, "object_box"),
    ],
)
def test_rate_makes_its_oracle_worth_more(world, noisy, change, oracle):
    changed = diagnosed(world, score_noise=0.7, **change).to_dict()
    assert cost(changed, oracle) > cost(noisy, oracle) + 0.02


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_false_pairs_are_believed(world, shared):
    fixed = {"boxes": 16, "score_noise": 1.0, "shared_boxes": shared}
    quiet, eager = diagnosed(world, **fixed), diagnosed(world, **fixed, false_pairs=0.9)
    for label in ("human_box", "object_box"):
        assert eager.errors[label] > quiet.errors[label] + 300
    assert eager.mean_ap["full"] < quiet.mean_ap["full"]
    assert eager.negatives["ap"] < quiet.negatives["ap"] - 0.001


def test_score_noise_lowers_the_map(world, perfect):
    assert diagnosed(world, score_noise=2.0).mean_ap["full"] < perfect["map"]["full"] - 0.1


@pytest.mark.slow
def test_rare_penalty_costs_rare_classes():
    scenes = simulate.annotations(2000, np.random.default_rng(6))
    even = diagnosed(scenes, score_noise=1.0).mean_ap
    hard = diagnosed(scenes, score_noise=1.0, rare_penalty=3.0).mean_ap
    assert hard["rare"] < even["rare"] - 0.03
    assert hard["rare"] - even["rare"] < hard["non_rare"] - even["non_rare"]


def test_pairs_and_triplets_are_bounded(world):
    few = replace(TWO_STAGE, pairs=9, triplets=7)
    for detector in (few, replace(few, shared_boxes=False)):
        scenes = simulate.detect(world, detector, np.random.default_rng(0))
        assert np.bincount(scenes.pair_image).max() == 9
        assert triplets_an_image(scenes).max() == 7


def test_shared_duplicates_are_further_boxes(world):
    once = replace(PERFECT, shared_boxes=True)
    often = replace(once, duplicates=2.0)
    boxes = [
        len(simulate.detect(world, detector, np.random.default_rng(0)).box_image)
        for detector in (once, often)
    ]
    assert boxes[0] == len(np.unique(instances(world)))
    assert boxes[1] > 2 * boxes[0]


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [
        ("misplaced", 1.2, "a rate from 0 to 1"),
        ("association", -0.1, "a rate from 0 to 1"),
        ("missed_persons", float("nan"), "a rate from 0 to 1"),
        ("localisation", -1.0, "0 or more"),
        ("duplicates", float("inf"), "0 or more"),
        ("pairs", 0, "a whole number from 1"),
        ("boxes", 2.5, "a whole number from 1"),
    ],
)
def test_detector_refuses_impossible_numbers(field, value, wanted):
    message = f"simulated detector 'one_stage': {field} is {value}; give {wanted}"
    with pytest.raises(InputError) as caught:
        replace(ONE_STAGE, **{field: value})
    assert str(caught.value) == message


def test_every_number_of_a_detector_is_checked():
    for name in NUMBERS:
        with pytest.raises(InputError, match=f"{name} is -1"):
            replace(ONE_STAGE, **{name: -1})


# Annotations of other shapes


def scene(boxes, labels, pairs=(), verbs=(), **columns):
    pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Scenes(
        vocabulary=hico_det(),
        names=np.array(["a.jpg"]),
        box_image=np.zeros(len(boxes), dtype=np.int64),
        box_xyxy=np.array(boxes, dtype=np.float64).reshape(-1, 4),
        box_label=np.array(labels, dtype=np.int64),
        pair_human=pairs[:, 0],
        pair_object=pairs[:, 1],
        triplet_pair=np.arange(len(verbs)),
        triplet_verb=np.array(verbs, dtype=np.int64),
        **columns,
    )


PERSON = [10, 10, 110, 210]


def test_boxes_of_one_thing_are_recognised():
    near, also_near, far = [12, 9, 113, 208], [14, 12, 116, 206], [80, 10, 180, 210]
    boxes = [PERSON, near, far, near, also_near]
    np.testing.assert_array_equal(instances(scene(boxes, [0, 0, 0, 1, 0])), [0, 0, 2, 3, 0])
    # Annotated boxes include their last pixels: 10 x 6 of 10 x 10 are an IoU of 0.6.
    np.testing.assert_array_equal(instances(scene([[0, 0, 9, 9], [0, 0, 9, 5]], [0, 0])), [0, 0])


@pytest.mark.parametrize("detector", DETECTORS.values(), ids=DETECTORS.keys())
@pytest.mark.parametrize(
    "annotations",
    [
        scene([], []),
        scene([PERSON], [0]),
        scene([PERSON, [50, 50, 90, 90]], [0, 1], [(0, 1)], [87]),
        scene([PERSON], [0], [(0, -1)], [87]),
        scene([PERSON], [0], sizes=np.array([[0, 0]])),
        scene([[0, 0, 0, 0]], [0], sizes=np.array([[1, 1]])),
    ],
    ids=["empty", "alone", "no sizes", "no object", "unknown size", "one pixel"],
)
def test_unusual_annotations(annotations, detector):
    for seed in range(5):
        scenes = simulate.detect(annotations, detector, np.random.default_rng(seed))
        assert len(scenes) == 1
        assert np.isfinite(scenes.box_xyxy).all()
        assert (scenes.box_xyxy[:, 2:] >= scenes.box_xyxy[:, :2]).all()


def test_no_images(world):
    none = simulate.detect(world.between(0, 0), ONE_STAGE, np.random.default_rng(0))
    assert len(none) == 0
    assert len(none.triplet_pair) == 0
