"""Suppressing duplicate pairs, and detection thresholds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference import iou
from support.scenes import BICYCLE, CAR, HOLD, PERSON, RIDE, image, problems, scenes

from diaghoi import InputError, diagnose
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.variants import (
    detection_threshold,
    pair_nms,
    thresholds_pairs,
    variant_figures,
    variant_title,
    variants_of,
)

MAN = (PERSON, (0.0, 0.0, 9.0, 9.0))
BIKE = (BICYCLE, (20.0, 0.0, 29.0, 9.0))
SAME_BIKE = (BICYCLE, (20.0, 0.0, 29.0, 8.0))  # IoU 0.9
HALF_BIKE = (BICYCLE, (20.0, 0.0, 29.0, 4.0))  # IoU 0.5
HALF_MAN = (PERSON, (0.0, 0.0, 9.0, 4.0))  # IoU 0.5


def survivors(found: Scenes) -> list[tuple[int, int]]:
    return list(zip(found.pair_human.tolist(), found.pair_object.tolist(), strict=True))


def one_image(boxes: list, triplets: list, pairs: list | None = None, **more: object) -> Scenes:
    return scenes([image("a.jpg", boxes, triplets, pairs)], scored=True, **more)


def pair_nms_by_loops(predictions: Scenes, threshold: float) -> list[int]:
    """Rows of the pairs that stay, as the definition says."""
    rank = []
    for row, human in enumerate(predictions.pair_human):
        of_pair = predictions.triplet_score[predictions.triplet_pair == row]
        listed = -np.inf if predictions.pair_score is None else predictions.pair_score[row]
        listed = -np.inf if np.isnan(listed) else listed
        rank.append((-max(of_pair, default=-np.inf), -listed, row))
        assert human >= 0
    kept = []
    for *_, row in sorted(rank):
        human, thing = predictions.pair_human[row], predictions.pair_object[row]
        repeats = False
        for other in kept:
            whom, what = predictions.pair_human[other], predictions.pair_object[other]
            if min(thing, what) < 0 or predictions.box_image[human] != predictions.box_image[whom]:
                continue
            if predictions.box_label[thing] != predictions.box_label[what]:
                continue
            xyxy = predictions.box_xyxy
            together = iou(xyxy[human], xyxy[whom], 1) * iou(xyxy[thing], xyxy[what], 1) ** 0.5
            repeats |= together > threshold
        if not repeats:
            kept.append(row)
    return sorted(kept)


@given(problems(), st.sampled_from([0.05, 0.3, 0.5, 0.7, 0.999]))
def test_pair_nms_equals_the_plain_loop(problem: tuple[Scenes, Scenes], threshold: float) -> None:
    predictions = problem[1]
    expected = pair_nms_by_loops(predictions, threshold)
    kept = pair_nms(predictions, threshold)
    assert survivors(kept) == [survivors(predictions)[row] for row in expected]


@given(problems())
def test_blocks_do_not_change_pair_nms(problem: tuple[Scenes, Scenes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        whole = pair_nms(problem[1], 0.4)
        patch.setattr("diaghoi.diagnosis.variants.BLOCK", 1)
        assert survivors(pair_nms(problem[1], 0.4)) == survivors(whole)


def test_the_pair_with_the_better_triplet_survives_with_its_triplets() -> None:
    triplets = [(0, 1, RIDE, 0.3), (0, 1, HOLD, 0.2), (0, 2, RIDE, 0.9)]
    # The list of pairs would have it the other way round.
    found = pair_nms(one_image([MAN, BIKE, SAME_BIKE], triplets, [(0, 1, 0.9), (0, 2, 0.1)]), 0.7)
    assert survivors(found) == [(0, 2)]
    assert found.pair_score.tolist() == [0.1]
    assert found.triplet_score.tolist() == [0.9]
    assert found.triplet_pair.tolist() == [0]
    assert len(found.box_label) == 3


def test_pairs_without_triplets_come_last_by_their_pair_score() -> None:
    boxes = [MAN, BIKE, SAME_BIKE, BIKE]
    listed = [(0, 1, 0.5), (0, 2, 0.6), (0, 3, 0.4)]
    assert survivors(pair_nms(one_image(boxes, [], listed), 0.7)) == [(0, 2)]
    assert survivors(pair_nms(one_image(boxes, [(0, 3, RIDE, 0.01)], listed), 0.7)) == [(0, 3)]


def test_humans_weigh_fully_and_objects_by_the_square_root() -> None:
    half_human = one_image([MAN, HALF_MAN, BIKE], [(0, 2, RIDE, 0.9), (1, 2, RIDE, 0.8)])
    half_object = one_image([MAN, BIKE, HALF_BIKE], [(0, 1, RIDE, 0.9), (0, 2, RIDE, 0.8)])
    assert len(pair_nms(half_human, 0.49).pair_human) == 1
    assert len(pair_nms(half_human, 0.5).pair_human) == 2  # more than the threshold is needed
    assert len(pair_nms(half_object, 0.70).pair_human) == 1
    assert len(pair_nms(half_object, 0.71).pair_human) == 2


def test_a_suppressed_pair_suppresses_nothing() -> None:
    things = [(BICYCLE, (20.0, 0.0, 29.0, height - 1.0)) for height in (10, 8, 6)]
    found = one_image([MAN, *things], [(0, n, RIDE, 1 - 0.1 * n) for n in (1, 2, 3)])
    # The second repeats the first, the third only the second.
    assert survivors(pair_nms(found, 0.8)) == [(0, 1), (0, 3)]


def test_only_pairs_of_one_image_and_one_category_suppress_each_other() -> None:
    car = (CAR, BIKE[1])
    one = image("a.jpg", [MAN, BIKE, car], [(0, 1, RIDE, 0.9), (0, 2, RIDE, 0.8)])
    two = image("b.jpg", [MAN, BIKE], [(0, 1, RIDE, 0.7)])
    assert len(pair_nms(scenes([one, two], scored=True), 0.1).pair_human) == 3


def test_pairs_without_an_object_stay() -> None:
    found = one_image([MAN, MAN], [(0, -1, RIDE, 0.9), (1, -1, RIDE, 0.8)])
    assert survivors(pair_nms(found, 0.1)) == [(0, -1), (1, -1)]


def test_boxes_are_measured_as_the_data_set_does() -> None:
    found = one_image([MAN, HALF_MAN, BIKE], [(0, 2, RIDE, 0.9), (1, 2, RIDE, 0.8)])
    words = found.vocabulary
    continuous = replace(words, protocol=replace(words.protocol, boxes="continuous"))
    assert len(pair_nms(found, 0.47).pair_human) == 1  # IoU 50 / 100 of whole pixels
    assert len(pair_nms(replace(found, vocabulary=continuous), 0.47).pair_human) == 2  # 36 / 81


def test_pair_nms_says_what_it_did() -> None:
    found = one_image([MAN, BIKE, SAME_BIKE], [(0, 1, RIDE, 0.9), (0, 2, RIDE, 0.8)])
    assert pair_nms(found, 0.5).notes == (
        "pair NMS at 0.5: drops 1 of 2 pairs that repeat a better pair",
    )
    assert found.notes == ()


def test_the_note_counts_the_pairs_that_the_detector_lists() -> None:
    listed = [(0, 1, 0.9), (0, 2, 0.8)]
    boxes, triplets = [MAN, BIKE, SAME_BIKE, BIKE], [(0, 1, RIDE, 0.9), (0, 3, RIDE, 0.8)]
    (note,) = pair_nms(one_image(boxes, triplets, listed), 0.5).notes
    assert note == "pair NMS at 0.5: drops 1 of 2 pairs that repeat a better pair"


@pytest.mark.parametrize("threshold", [0, 1, -0.5, 70, float("nan")])
def test_pair_nms_wants_a_threshold_between_0_and_1(threshold: float) -> None:
    with pytest.raises(InputError, match=r"pair NMS: .* between 0 and 1, not"):
        pair_nms(one_image([MAN, BIKE], [(0, 1, RIDE, 0.9)]), threshold)


def test_pair_nms_of_nothing_is_nothing() -> None:
    empty = scenes([image("a.jpg", [], [])], scored=True)
    assert len(pair_nms(empty, 0.5)) == 1


TWO = ([MAN, BIKE, SAME_BIKE], [(0, 1, RIDE, 0.9), (0, 2, HOLD, 0.8)])


def test_a_detection_threshold_drops_pairs_by_their_weaker_box() -> None:
    found = one_image(*TWO, box_score=np.array([0.5, 0.4, 0.3]))
    for threshold, expected in ((0.3, 2), (0.31, 1), (0.4, 1), (0.41, 0)):
        kept = detection_threshold(found, threshold)
        assert len(kept.pair_human) == len(kept.triplet_pair) == expected
    kept = detection_threshold(found, 0.35)
    assert survivors(kept) == [(0, 1)]
    assert kept.triplet_verb.tolist() == [RIDE]
    assert kept.notes == (
        "detection threshold 0.35: drops 1 of 2 pairs according to the detection scores of their "
        "boxes",
    )


def test_the_human_decides_as_well() -> None:
    found = one_image(*TWO, box_score=np.array([0.1, 0.9, 0.9]))
    assert survivors(detection_threshold(found, 0.2)) == []


def test_a_pair_without_an_object_goes_by_its_human() -> None:
    found = one_image(
        [MAN, MAN], [(0, -1, RIDE, 0.9), (1, -1, RIDE, 0.8)], box_score=np.array([0.9, 0.2])
    )
    assert survivors(detection_threshold(found, 0.5)) == [(0, -1)]


def test_a_threshold_below_the_file_changes_nothing_and_says_so() -> None:
    found = one_image(*TWO, box_score=np.array([0.5, 0.4, 0.3]))
    kept = detection_threshold(found, 0.05)
    assert survivors(kept) == survivors(found)
    assert kept.notes[-1].endswith(
        "; the lowest is 0.3, and pairs that the detector already omitted cannot be restored"
    )


def test_without_box_scores_the_pair_score_decides_and_a_note_says_so() -> None:
    boxes, triplets = TWO
    found = one_image(boxes, triplets, [(0, 1, 0.9), (0, 2, 0.2)])
    kept = detection_threshold(found, 0.5)
    assert survivors(kept) == [(0, 1)]
    assert kept.notes == (
        "detection threshold 0.5: drops 1 of 2 pairs according to their pair scores, because the "
        "file has no detection scores of boxes",
    )


def test_a_threshold_is_called_by_the_scores_that_it_is_held_against() -> None:
    boxes, triplets = TWO
    without = one_image(boxes, triplets, [(0, 1, 0.9), (0, 2, 0.2)])
    scored = one_image(boxes, triplets, [(0, 1, 0.9), (0, 2, 0.2)], box_score=np.full(3, 0.5))
    unknown = one_image(boxes, triplets, [(0, 1, 0.9)], box_score=np.full(3, np.nan))
    assert [thresholds_pairs(each) for each in (without, scored, unknown)] == [True, False, True]
    name = "detection threshold 0.2"
    of_pairs, of_boxes = ({"of_pair_scores": value} for value in (True, False))
    assert variant_title(name, [of_pairs, of_pairs]) == "pair score threshold 0.2"
    for figures in ([of_boxes], [of_pairs, of_boxes], [{}]):
        assert variant_title(name, figures) == name
    assert variant_title("pair NMS 0.7", [{}]) == "pair NMS 0.7"


def test_unknown_scores_stay() -> None:
    found = one_image(*TWO, box_score=np.array([np.nan, np.nan, 0.3]))
    assert survivors(detection_threshold(found, 0.5)) == [(0, 1)]
    boxes, triplets = TWO
    listed = one_image(boxes, triplets, [(0, 2, 0.2)])  # the triplets mention one pair more
    assert survivors(detection_threshold(listed, 0.5)) == [(0, 1)]


def test_without_any_score_a_threshold_is_refused() -> None:
    found = replace(one_image(*TWO), source="preds.pkl")
    with pytest.raises(InputError, match=r"preds.pkl: no detection scores .* \(`pairs`\)"):
        detection_threshold(found, 0.5)


@pytest.mark.parametrize("threshold", [float("nan"), float("inf")])
def test_a_threshold_is_a_number(threshold: float) -> None:
    with pytest.raises(InputError, match=r"detection threshold: .* is not a score"):
        detection_threshold(one_image(*TWO), threshold)


TRUTH = scenes([image("a.jpg", [MAN, BIKE], [(0, 1, RIDE)])], scored=False)


def test_variants_start_from_the_predictions_as_they_are() -> None:
    found = one_image(*TWO, box_score=np.array([0.5, 0.4, 0.3]))
    made = variants_of(nms=[0.5, 0.95], thresholds=[0.35, 0.45])
    assert {name: len(variant(found).pair_human) for name, variant in made.items()} == {
        "pair NMS 0.5": 1,
        "pair NMS 0.95": 2,
        "detection threshold 0.35": 1,
        "detection threshold 0.45": 0,
    }


def test_figures_of_a_variant_with_their_differences() -> None:
    found = one_image(*TWO, box_score=np.array([0.5, 0.4, 0.3]))
    before, after = diagnose(TRUTH, found), diagnose(TRUTH, detection_threshold(found, 0.35))
    figures = variant_figures(before, after)
    assert figures["pairs"] == after.pairs
    assert figures["map"] == after.mean_ap
    difference = figures["difference"]
    assert difference["pairs"]["per_image"] == -1
    assert difference["pairs"]["precision"] == pytest.approx(1 - 1 / 2)
    assert difference["pairs"]["recall"] == difference["map"]["full"] == 0
    assert set(difference["pairs"]) == set(after.pairs) - {"source"}
    assert figures["notes"] == [
        "detection threshold 0.35: drops 1 of 2 pairs according to the detection scores of their "
        "boxes"
    ]


def test_what_is_undefined_has_no_difference() -> None:
    found = one_image(*TWO, box_score=np.array([0.5, 0.4, 0.3]))
    before, after = diagnose(TRUTH, found), diagnose(TRUTH, detection_threshold(found, 0.9))
    difference = variant_figures(before, after)["difference"]
    assert after.pairs["precision"] is None
    assert difference["pairs"]["precision"] is None
    assert difference["pairs"]["rare"] == {"recall": None, "precision": None}
    assert difference["pairs"]["recall"] == difference["map"]["full"] == -1
