"""Detectors without scores: one rank, bounds of mAP over all rankings, precision and recall."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diaghoi import diagnose
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError
from diaghoi.statistics.significance import compare_pair

WORDS = hico_det()
# Two classes of one object: ride and hold a bicycle.
BICYCLE = WORDS.objects.index("bicycle")
VERBS = [WORDS.verbs.index(name) for name in ("ride", "hold")]
PERSON, THING = [0.0, 0.0, 99.0, 199.0], [100.0, 0.0, 199.0, 99.0]
ELSEWHERE = [500.0, 500.0, 599.0, 599.0]


def scenes(rows: list[tuple[int, int, float]], *, scored: bool) -> Scenes:
    """One image with a triplet per row: verb, place and how far its boxes are moved; each has
    boxes of its own."""
    boxes = [
        [edge + 1000 * place + moved for edge in box]
        for _, place, moved in rows
        for box in (PERSON, THING)
    ]
    count = len(rows)
    return Scenes(
        vocabulary=WORDS,
        names=np.array(["1.jpg"]),
        box_image=np.zeros(2 * count, dtype=np.int64),
        box_xyxy=np.array(boxes, dtype=np.float64).reshape(-1, 4),
        box_label=np.array([WORDS.person, BICYCLE] * count, dtype=np.int64),
        pair_human=np.arange(0, 2 * count, 2),
        pair_object=np.arange(1, 2 * count, 2),
        triplet_pair=np.arange(count),
        triplet_verb=np.array([VERBS[verb] for verb, _, _ in rows], dtype=np.int64),
        triplet_score=np.ones(count) if scored else None,
        unread=np.zeros((1, 3), dtype=np.int64) if scored else None,
    )


def with_scores(predictions: Scenes, score: list[float]) -> Scenes:
    return replace(predictions, triplet_score=np.array(score, dtype=np.float64), unread=None)


ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.sampled_from([0.0, 10.0])), max_size=4
)


@pytest.mark.slow
@given(ROWS, ROWS.filter(bool), st.sampled_from(["hico-det", "cmd-se", "upt"]))
def test_bounds_are_those_of_all_rankings(predicted, annotated, protocol: str) -> None:
    truth, found = scenes(annotated, scored=False), scenes(predicted, scored=True)
    result = diagnose(truth, found, protocol).to_dict()
    ranked = [
        diagnose(truth, with_scores(found, list(order)), protocol).to_dict()
        for order in permutations(range(len(predicted)))
    ]
    bounds = result["unscored"]["bounds"]
    for key, of in (
        ("protocol", lambda each: each["map"]["full"]),
        ("default", lambda each: each["official"]["default"]["full"]),
    ):
        values = [of(each) for each in ranked]
        assert bounds[key]["worst"]["full"] == pytest.approx(min(values), abs=1e-12)
        assert bounds[key]["best"]["full"] == pytest.approx(max(values), abs=1e-12)
        assert of(result) <= bounds[key]["worst"]["full"] + 1e-12
    assert all(
        each["errors"]["true_positive"] == result["errors"]["true_positive"] for each in ranked
    )


@given(ROWS, ROWS.filter(bool), st.randoms())
def test_one_rank_does_not_depend_on_the_order_of_the_list(predicted, annotated, random) -> None:
    truth = scenes(annotated, scored=False)
    shuffled = random.sample(predicted, len(predicted))
    one, other = (
        diagnose(truth, scenes(rows, scored=True), "hico-det") for rows in (predicted, shuffled)
    )
    assert one.mean_ap == other.mean_ap
    assert one.official == other.official


def test_one_rank_is_one_point_of_precision_and_recall() -> None:
    """Of two annotated rides one is found, beside a duplicate and one that is wrong."""
    truth = scenes([(0, 0, 0.0), (0, 1, 0.0)], scored=False)
    found = scenes([(0, 0, 0.0), (0, 0, 10.0), (0, 2, 0.0)], scored=True)
    diagnosis = diagnose(truth, found, "hico-det")
    # Recall 1/2 reaches 6 of 11 levels, each at a precision of 1/3.
    assert diagnosis.mean_ap["full"] == pytest.approx(6 / 11 / 3)
    assert diagnosis.official["default"]["full"] == pytest.approx(6 / 11 / 3)
    figures = diagnosis.to_dict()
    bounds = figures["unscored"]["bounds"]["protocol"]
    assert bounds["best"]["full"] == pytest.approx(6 / 11)
    # The wrong one first, then the true positive.
    assert bounds["worst"]["full"] == pytest.approx(6 / 11 / 2)
    full = figures["detections"]["full"]
    assert (full["predicted"], full["true_positive"], full["annotated"]) == (3, 1, 2)
    assert (full["precision"], full["recall"]) == pytest.approx((1 / 3, 1 / 2))
    assert full["f1"] == pytest.approx(2 / 5)
    assert figures["detections"]["classes"] == {"ride bicycle": full}
    assert "all of one rank" in figures["protocol"]["signature"]
    # Repaired, the wrong one is gone and the duplicate, too: nothing but the true positive ranks.
    assert figures["oracles"]["false_positive"]["map"]["full"] == pytest.approx(6 / 11)


def test_at_worst_the_annotation_with_most_predictions_comes_first() -> None:
    """Two predictions of the first ride and one of the other: the duplicate precedes that one."""
    truth = scenes([(0, 0, 0.0), (0, 1, 0.0)], scored=False)
    for places in ([0, 0, 1], [0, 1, 1]):
        found = scenes([(0, place, 5.0 * n) for n, place in enumerate(places)], scored=True)
        bounds = diagnose(truth, found, "hico-det").to_dict()["unscored"]["bounds"]["protocol"]
        assert bounds["best"]["full"] == pytest.approx(1)
        assert bounds["worst"]["full"] == pytest.approx((6 + 5 * 2 / 3) / 11)


def test_what_cannot_be_read_is_wrong_in_all_classes_together() -> None:
    truth = scenes([(0, 0, 0.0)], scored=False)
    found = replace(scenes([(0, 0, 0.0)], scored=True), unread=np.array([[0, 2, 1]]))
    figures = diagnose(truth, found).to_dict()
    assert figures["detections"]["full"]["precision"] == pytest.approx(1 / 4)
    assert figures["detections"]["non_rare"]["precision"] == 1
    assert figures["unscored"]["answers"] == {
        "unreadable": 0,
        "unreadable_triplets": 2,
        "unknown_names": 1,
        "no_class": 0,
        "boxes_outside": 0,
    }
    # The first class is a class.
    airplane = [WORDS.person, WORDS.objects.index("airplane")]
    board = [WORDS.verbs.index("board")]
    first = replace(
        scenes([(0, 0, 0.0)], scored=True),
        box_label=np.array(airplane),
        triplet_verb=np.array(board),
    )
    listed = diagnose(scenes([(0, 0, 0.0)], scored=False), first).to_dict()["unscored"]["answers"]
    assert listed["no_class"] == 0
    assert any(
        each.startswith("3 listed triplets of no HOI class (2 unreadable, 1 with unknown names")
        for each in figures["notes"]
    )


def test_triplets_of_no_class_are_wrong_in_all_classes_together() -> None:
    """Nobody holds an airplane in HICO-DET."""
    found = replace(
        scenes([(0, 0, 0.0), (1, 0, 0.0)], scored=True),
        box_label=np.array([WORDS.person, BICYCLE, WORDS.person, WORDS.objects.index("airplane")]),
        unread=np.array([[0, 2, 1]]),
    )
    full = diagnose(scenes([(0, 0, 0.0)], scored=False), found).to_dict()["detections"]["full"]
    assert (full["true_positive"], full["predicted"]) == (1, 5)


def test_boxes_outside_the_picture_are_counted() -> None:
    truth = replace(scenes([(0, 0, 0.0)], scored=False), sizes=np.array([[250, 200]]))
    found = scenes([(0, 0, 0.0), (0, 1, 0.0)], scored=True)
    figures = diagnose(truth, found).to_dict()
    assert figures["unscored"]["answers"]["boxes_outside"] == 2


def test_diagnoses_without_scores_add_up() -> None:
    truth, found = scenes([(0, 0, 0.0)], scored=False), scenes([(0, 0, 0.0)], scored=True)
    found = replace(found, unread=np.array([[0, 1, 2]]))
    other = [replace(each, names=np.array(["2.jpg"])) for each in (truth, found)]
    both = diagnose(truth, found) + diagnose(*other)
    assert both.to_dict()["unscored"]["answers"]["unknown_names"] == 4
    assert both.detections()["full"]["predicted"] == 8
    assert Diagnosis.sum([both]).answers == both.answers


def test_scores_are_what_a_threshold_is_of() -> None:
    truth = scenes([(0, 0, 0.0), (1, 1, 0.0)], scored=False)
    found = scenes([(0, 0, 0.0), (1, 1, 0.0), (0, 2, 0.0), (1, 2, 0.0)], scored=True)
    diagnosis = diagnose(truth, with_scores(found, [0.9, 0.4, 0.4, 0.1]))
    assert "detections" not in diagnosis.to_dict()
    high, low = diagnosis.detections(0.9), diagnosis.detections(0.4)
    assert (high["full"]["precision"], high["full"]["recall"]) == (1, 0.5)
    assert low["full"]["f1"] == pytest.approx(4 / 5)
    assert diagnosis.best_threshold == 0.4
    assert diagnosis.detections(2.0)["full"]["precision"] is None
    assert diagnosis.detections(2.0)["full"]["f1"] == 0
    assert diagnose(truth, with_scores(scenes([], scored=True), [])).best_threshold is None


def test_no_test_between_detectors_with_and_without_scores() -> None:
    truth, found = scenes([(0, 0, 0.0)], scored=False), scenes([(0, 0, 0.0)], scored=True)
    with pytest.raises(InputError, match="gives no scores"):
        compare_pair(diagnose(truth, found), diagnose(truth, with_scores(found, [0.5])))


@pytest.mark.parametrize("protocol", ["qahoi", "cmd-se"])
def test_nothing_goes_by_the_order_of_the_list(protocol: str) -> None:
    """Neither which annotation is claimed nor which predictions count."""
    rows = [(0, 0, 10.0), (0, 0, 0.0), (1, 0, 0.0), (0, 1, 0.0)]
    truth = scenes([(0, 0, 0.0), (0, 0, 10.0), (1, 1, 0.0)], scored=False)
    one, other = (
        diagnose(truth, scenes(listed, scored=True), protocol_named(protocol, top=1))
        for listed in (rows, rows[::-1])
    )
    assert one.mean_ap == other.mean_ap
    assert one.errors == other.errors
    assert one.detections() == other.detections()
    assert one.counts["predicted_triplets"] == 4
    bounds = one.to_dict()["unscored"]["bounds"]["protocol"]
    assert 0 < bounds["worst"]["full"] <= bounds["best"]["full"]


def test_what_is_listed_of_images_that_do_not_count_does_not_count() -> None:
    truth = scenes([(0, 0, 0.0)], scored=False)
    found = scenes([(0, 0, 0.0)], scored=True)
    elsewhere = replace(found, names=np.array(["2.jpg"]), unread=np.array([[1, 7, 7]]))
    both = replace(Scenes.concatenate([found, elsewhere]), names=np.array(["1.jpg", "2.jpg"]))
    assert diagnose(truth, both, "cdn").detections()["full"]["predicted"] == 1
    assert diagnose(truth, both, "hico-det").detections()["full"]["predicted"] == 16
