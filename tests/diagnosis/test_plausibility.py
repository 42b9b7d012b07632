"""Whether predictions meet the annotations at all."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from diaghoi import simulate
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import object_numberings
from diaghoi.diagnosis.plausibility import SAMPLE, check_plausible, doubts
from diaghoi.exceptions import InputError
from diaghoi.robustness.simulated import under_corruption


@pytest.fixture(scope="module")
def truth() -> Scenes:
    return simulate.annotations(2 * SAMPLE, np.random.default_rng(0))


@pytest.fixture(scope="module", params=["ONE_STAGE", "TWO_STAGE", "WEAK"])
def found(request: pytest.FixtureRequest, truth: Scenes) -> Scenes:
    detector = getattr(simulate, request.param)
    return simulate.detect(truth, detector, np.random.default_rng(1))


def widths(found: Scenes) -> np.ndarray:
    boxes = found.box_xyxy.copy()
    boxes[:, 2:] -= boxes[:, :2]
    return boxes


def warned(truth: Scenes, found: Scenes) -> str:
    (doubt,) = doubts(truth, found)
    return doubt.text


def test_nothing_is_wrong_with_good_files(truth, found) -> None:
    assert doubts(truth, found) == []


def test_images_are_joined_by_name(truth, found) -> None:
    assert doubts(truth, found.take(np.arange(len(found))[::-1])) == []
    assert doubts(truth, found.take(np.arange(0, len(found), 3))) == []
    swapped = replace(found, names=np.roll(found.names, 1))
    assert warned(truth, swapped).endswith(" would: give each image its own boxes")
    shuffled = replace(found, names=np.random.default_rng(0).permutation(found.names))
    assert warned(truth, shuffled).endswith(
        "give x1, y1, x2, y2 in pixels of the original image, and annotations of these images"
    )


def test_images_without_names(truth, found) -> None:
    nameless = replace(found, names=np.full(len(found), ""))
    assert doubts(truth, nameless) == []
    assert doubts(truth, nameless.take(np.arange(5))) == []


def test_no_image_in_common(truth, found) -> None:
    assert doubts(truth, replace(found, names=np.char.add(found.names, "x"))) == []


def test_boxes_divided_by_the_image_size(truth, found) -> None:
    size = np.array([700.0, 700.0, 700.0, 700.0])
    message = warned(truth, replace(found, box_xyxy=found.box_xyxy / size))
    assert message.startswith("0.0 % of the annotated boxes have a predicted box close to them: no")
    assert (
        ", so boxes look divided by the image size: multiply boxes by the image size, or give"
    ) in message


def centred(found: Scenes) -> np.ndarray:
    boxes = widths(found)
    boxes[:, :2] += boxes[:, 2:] / 2
    return boxes


def read_as_sized(found: Scenes) -> np.ndarray:
    boxes = centred(found)
    boxes[:, 2:] += boxes[:, :2]
    return boxes


def mirrored(found: Scenes) -> np.ndarray:
    assert found.sizes is not None
    left, top, right, bottom = found.box_xyxy.T
    width = found.sizes[found.box_image, 0]
    return np.column_stack([width - right, top, width - left, bottom])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (widths, ("read as left, top, width, height, ", " would: give --read boxes=xywh")),
        (
            centred,
            ("read as centre x, centre y, width, height, ", ": give --read boxes=cxcywh, or"),
        ),
        (
            read_as_sized,
            ("read as centre x, centre y, width, height, ", ": give --read boxes=cxcywh"),
        ),
        (
            lambda found: found.box_xyxy[:, [1, 0, 3, 2]],
            ("read as y1, x1, y2, x2, ", "--read boxes=yx"),
        ),
        (
            lambda found: widths(found)[:, [1, 0, 3, 2]],
            (
                "read as y1, x1, height, width, ",
                "give --read boxes=yxhw, or write x1, y1, x2, y2 in",
            ),
        ),
        (
            lambda found: centred(found)[:, [1, 0, 3, 2]],
            ("read as centre y, centre x, height, width, ", "give --read boxes=cycxhw, or"),
        ),
        (lambda found: found.box_xyxy[:, [0, 2, 1, 3]], ("read as x1, x2, y1, y2, ", "xxyy, or")),
        (mirrored, ("mirrored from left to right, ", ": mirror them back")),
        (lambda found: found.box_xyxy * 0.5, ("multiplied by 2", "scale them back to the orig")),
        (
            lambda found: found.box_xyxy * [0.25, 0.5, 0.25, 0.5],
            ("multiplied by 4", " x 2", ": scale them back to the original image"),
        ),
        (
            lambda found: found.box_xyxy / (2 + found.box_image[:, None] % 5),
            ("multiplied by 2", " to 6", ", another number for each image, ", ": scale them back"),
        ),
    ],
)
def test_other_readings_of_boxes_are_tried(truth, change, words: tuple[str, ...]) -> None:
    """On predictions that are nearly right."""
    jitter = np.random.default_rng(0).normal(0, 2, truth.box_xyxy.shape)
    near = replace(
        truth,
        box_xyxy=truth.box_xyxy + jitter,
        triplet_score=np.linspace(0, 1, len(truth.triplet_pair)),
    )
    assert doubts(truth, near) == []
    found = replace(near, box_xyxy=np.asarray(change(near), dtype=np.float64))
    (doubt,) = doubts(truth, found)
    assert doubt.grave
    assert " % of the annotated boxes have a predicted box close to them; " in doubt.text
    for each in words:
        assert each in doubt.text


def test_mirrored_boxes_are_told_in_images_of_unknown_size(truth, found) -> None:
    (doubt,) = doubts(replace(truth, sizes=None), replace(found, box_xyxy=mirrored(found)))
    assert doubt.grave
    assert "mirrored from left to right, " in doubt.text


def resized(found: Scenes, size: float) -> np.ndarray:
    centre = (found.box_xyxy[:, :2] + found.box_xyxy[:, 2:]) / 2
    half = size * (found.box_xyxy[:, 2:] - found.box_xyxy[:, :2]) / 2
    return np.concatenate([centre - half, centre + half], axis=1)


@pytest.mark.parametrize(
    ("size", "times", "much"), [(0.5, "2", "small"), (0.63, "1.6", "small"), (1.6, "0.6", "large")]
)
def test_boxes_of_another_size_are_in_pixels_of_the_original_image(
    truth, found, size: float, times: str, much: str
) -> None:
    message = warned(truth, replace(found, box_xyxy=resized(found, size)))
    assert f"; about {times} times as wide and high around their centres, " in message
    assert f"they are in pixels of the original image, but too {much}; check how" in message


def test_boxes_a_little_too_small_get_the_same_advice(truth, found) -> None:
    for doubt in doubts(truth, replace(found, box_xyxy=resized(found, 0.9))):
        assert doubt.text.endswith("check how their width and height are computed")
    scaled = doubts(truth, replace(found, box_xyxy=0.97 * found.box_xyxy))
    assert any(doubt.text.endswith("they are scaled to the original image") for doubt in scaled)


@pytest.mark.parametrize("right", [0.03, 0.1, 0.3])
def test_detectors_with_few_hits_are_not_taken_for_misread(truth, found, right: float) -> None:
    """Most boxes lie somewhere, and so hardly any fits an annotated one; no reading fits better."""
    rng = np.random.default_rng(2)
    assert found.sizes is not None
    size = found.box_xyxy[:, 2:] - found.box_xyxy[:, :2]
    size = rng.permutation(size)
    start = rng.random(size.shape) * (found.sizes[found.box_image] - size).clip(min=1)
    somewhere = np.concatenate([start, start + size], axis=1)
    hit = (rng.random(len(size)) < right)[:, None]
    few = replace(found, box_xyxy=np.where(hit, found.box_xyxy, somewhere))
    for doubt in doubts(truth, few):
        assert " would: " not in doubt.text


@pytest.mark.parametrize("people_too", [True, False])
def test_objects_numbered_otherwise(truth, found, people_too: bool) -> None:
    numbers = {coco: other for other, coco in object_numberings()["hico80"].items()}
    label = np.array([numbers[coco] for coco in range(80)])[found.box_label]
    if not people_too:
        label = np.where(found.box_label == 0, 0, label)
    message = warned(truth, replace(found, box_label=label))
    assert message.startswith("only ")
    assert "have its category (most often '" in message
    assert message.endswith("may be numbered differently (--read objects=NUMBERING)")


def misread(found: Scenes, true: str, read: str) -> Scenes:
    """Give the images whose labels are possible in both numberings, read in the wrong one."""
    numbers = {place: number for number, place in object_numberings()[true].items()}
    table = object_numberings()[read]
    label = np.array([table.get(numbers[place], -1) for place in range(80)])[found.box_label]
    fits = np.setdiff1d(np.arange(len(found)), found.box_image[label < 0])
    return replace(found, box_label=label, numbering=read).take(fits)


@pytest.mark.parametrize(
    ("true", "read"),
    [
        ("coco91-0", "coco80"),
        ("coco80", "coco91-0"),
        ("coco80-1", "coco91"),
        ("coco91", "coco80-1"),
        ("hico80", "coco80"),
    ],
)
def test_the_numbering_that_explains_the_categories(truth, found, true: str, read: str) -> None:
    """Also where it leaves many as they are: bicycle .. fire hydrant of coco80 and coco91-0."""
    message = warned(truth, misread(found, true, read))
    assert f"annotated object, and that {read} and {true} number differently, have its" in message
    share = re.search(
        rf"'\); read as {true}, (\d+\.\d) % would: give --read objects={true}$", message
    )
    assert share is not None
    assert 50 <= float(share[1]) <= 100


@pytest.mark.parametrize("numbering", object_numberings())
def test_a_right_numbering_is_not_doubted(truth, found, numbering: str) -> None:
    assert doubts(truth, replace(found, numbering=numbering)) == []


def test_no_numbering_explains_categories_in_any_order(truth, found) -> None:
    order = np.concatenate([[0], 1 + np.random.default_rng(0).permutation(79)])
    other = replace(found, box_label=order[found.box_label], numbering="coco80")
    assert warned(truth, other).endswith("may be numbered differently (--read objects=NUMBERING)")


def test_boxes_counted_from_one(truth, found) -> None:
    assert "read them with --read origin=1" in warned(
        truth, replace(found, box_xyxy=found.box_xyxy + 1)
    )


def test_a_shift_by_one_pixel(truth) -> None:
    exact = replace(
        truth,
        box_xyxy=truth.box_xyxy - 1,
        triplet_score=np.linspace(0, 1, len(truth.triplet_pair)),
    )
    assert warned(truth, exact) == (
        "boxes that overlap annotated boxes well are shifted by [-1.0, -1.0, -1.0, -1.0] pixels "
        "(weighted mean): read them with --read origin=0"
    )


def test_constant_scores(truth, found) -> None:
    same = replace(found, triplet_score=np.full(len(found.triplet_pair), 0.5))
    assert warned(truth, same) == (
        "all triplet scores are 0.5: the order of the file ranks predictions"
    )


def test_a_shift_by_one_pixel_under_jitter(truth) -> None:
    rng = np.random.default_rng(0)
    size = truth.box_xyxy[:, 2:] - truth.box_xyxy[:, :2]
    jitter = rng.normal(0, 0.03, truth.box_xyxy.shape) * np.tile(size, 2)
    score = np.linspace(0, 1, len(truth.triplet_pair))
    near = replace(truth, box_xyxy=truth.box_xyxy + jitter, triplet_score=score)
    assert doubts(truth, near) == []
    assert warned(truth, replace(near, box_xyxy=near.box_xyxy + 1)).endswith("with --read origin=1")


def test_clipped_scores(truth, found) -> None:
    high = np.quantile(found.scores, 0.8)
    clipped = replace(found, triplet_score=np.minimum(found.scores / high, 1))
    assert " triplet scores are 1, the highest: these predictions are" in warned(truth, clipped)


def test_scores_without_that_of_the_verb(truth, found) -> None:
    of_pair = np.linspace(0, 1, len(found.pair_human))[found.triplet_pair]
    same = replace(found, triplet_score=of_pair)
    assert warned(truth, same).startswith("all verbs have the same triplet score in ")


@pytest.mark.parametrize("share", [1, 2])
def test_verbs_in_another_order(truth, share: int) -> None:
    """All verbs of the data set, or every second one, are numbered in another order."""
    order = np.arange(len(truth.vocabulary.verbs))
    order[::share] = np.roll(order[::share], 7)
    score = np.linspace(0, 1, len(truth.triplet_pair))
    near = replace(truth, triplet_score=score)
    assert doubts(truth, near) == []
    message = warned(truth, replace(near, triplet_verb=order[near.triplet_verb]))
    assert " verbs have the name of another verb: '" in message
    assert message.endswith(": the file may list the verbs in another order")


@pytest.mark.parametrize("seed", [2, 6, 7, 10, 11])
def test_many_predictions_of_few_pairs_are_not_another_order(seed: int) -> None:
    """Each was said to have three verbs in another order, by ten predictions of one pair."""
    rng = np.random.default_rng(seed)
    truth = simulate.annotations(100, rng)
    worse = under_corruption(simulate.ONE_STAGE, "gaussian_noise", 5)
    assert doubts(truth, simulate.detect(truth, worse, rng)) == []


def test_one_verb_for_all_is_not_another_order(truth) -> None:
    score = np.linspace(0, 1, len(truth.triplet_pair))
    always = np.full(len(score), truth.vocabulary.verbs.index("hold"))
    assert doubts(truth, replace(truth, triplet_score=score, triplet_verb=always)) == []


def test_boxes_without_categories(truth, found) -> None:
    """As the role boxes of V-COCO."""
    label = np.where(found.box_label == 0, 0, -1)
    assert doubts(truth, replace(found, box_label=label)) == []


def test_too_few_boxes_say_nothing(truth, found) -> None:
    divided = replace(found, box_xyxy=found.box_xyxy / 700)
    assert doubts(truth.take([0]), divided.take([0])) == []
    empty = simulate.detect(truth.take([]), simulate.WEAK, np.random.default_rng(0))
    assert doubts(truth, empty) == [
        ("holds no predicted triplets, so there is nothing to evaluate", True)
    ]


def test_what_makes_figures_meaningless_is_refused_unless_forced(truth, found) -> None:
    pixels = replace(found, box_xyxy=found.box_xyxy / 700, source="p.pkl")
    with pytest.raises(
        InputError, match=r"^p\.pkl: 0\.0 % .*; give `force` to evaluate the predictions anyway$"
    ):
        check_plausible(truth, pixels, force=False)
    (note,) = check_plausible(truth, pixels, force=True)
    assert "so boxes look divided by the image size" in note
    shifted = replace(found, box_xyxy=found.box_xyxy + 1)
    assert "--read origin=1" in check_plausible(truth, shifted, force=False)[0]


@pytest.mark.parametrize("shift", [1, -1])
def test_verbs_numbered_one_too_high_or_low(truth, found, shift: int) -> None:
    verbs = np.clip(found.triplet_verb + shift, 0, len(truth.vocabulary.verbs) - 1)
    message = warned(truth, replace(found, triplet_verb=verbs))
    low = "low: add 1 to each number, or give --read v"
    repair = "high: give --read verbs=1" if shift > 0 else low
    assert f"to be one too {repair}" in message


def test_classes_numbered_one_too_low(truth, found) -> None:
    words = truth.vocabulary
    hoi = np.maximum(found.triplet_class - 1, 0)
    same = words.class_object[hoi] == words.class_object[found.triplet_class]
    verbs = np.where(same, words.class_verb[hoi], found.triplet_verb)
    message = warned(truth, replace(found, triplet_verb=verbs))
    assert (
        "the numbers of HOI classes were one higher: they seem to be one too low: add 1" in message
    )


def test_subjects_that_are_no_people(truth, found) -> None:
    swapped = replace(found, pair_human=found.pair_object, pair_object=found.pair_human)
    if (found.pair_object < 0).any():
        return
    assert "pairs is not a person: exchange subject and object" in warned(truth, swapped)
    # Some annotated subjects are no people either, as in HOI-A.
    human = truth.pair_human.copy()
    human[:3] = truth.pair_object[:3]
    some = replace(truth, pair_human=human)
    assert "pairs is not a person: exchange subject and object" in warned(some, swapped)
    things = replace(found, pair_human=found.pair_object)
    assert "pairs is not a person: let subjects refer to the boxes" in warned(truth, things)


@pytest.mark.parametrize("seed", [2, 3])
def test_categories_say_nothing_where_they_do_not_count(seed: int) -> None:
    """On V-COCO a person may be what somebody holds; both seeds were refused."""
    rng = np.random.default_rng(seed)
    truth = simulate.v_coco_annotations(80, rng)
    assert doubts(truth, simulate.v_coco_detect(truth, rng)) == []
