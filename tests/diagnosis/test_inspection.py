"""What looks wrong with a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.scenes import BICYCLE, CAR, EAT, PERSON, RIDE, image, scenes

from diaghoi import simulate
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det
from diaghoi.diagnosis.inspection import inspect

BOXES = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]


def predicted(*triplets: tuple, boxes=BOXES, name: str = "a.jpg", **more) -> Scenes:
    triplets = triplets or ((0, 1, RIDE, 0.5, 0.7),)
    return scenes([image(name, boxes, list(triplets))], scored=True, **more)


def warned(found: Scenes, truth: Scenes | None = None) -> str:
    (warning,) = inspect(found, truth).warnings
    return warning


@pytest.fixture(scope="module")
def truth() -> Scenes:
    return simulate.annotations(40, np.random.default_rng(0))


@pytest.fixture(scope="module")
def found(truth: Scenes) -> Scenes:
    return simulate.detect(truth, simulate.TWO_STAGE, np.random.default_rng(0))


def moved(found: Scenes, by: float) -> Scenes:
    return replace(found, box_xyxy=found.box_xyxy + by)


def test_nothing_is_wrong_with_good_files(truth, found) -> None:
    assert inspect(found).warnings == ()
    assert inspect(truth).warnings == ()
    assert inspect(found, truth).warnings == ()
    assert inspect(truth, truth).warnings == ()


def test_facts() -> None:
    file = scenes(
        [
            image("a", BOXES, [(0, 1, RIDE, 0.5, 0.7), (0, 1, EAT, 0.25, 0.9)]),
            image("b", [], []),
        ],
        scored=True,
    )
    assert inspect(file).facts == {
        "images": 2,
        "images without triplets": 1,
        "boxes": 2,
        "pairs of the triplets": 1,
        "triplets": 2,
        "HOI classes": 1,
        "triplet score": [0.25, 0.5],
        "action score": [0.7, 0.9],
    }


def test_triplets_that_a_report_leaves_out_are_counted() -> None:
    idle = hico_det().no_interaction
    facts = inspect(predicted((0, 1, RIDE, 0.5, 0.5), (0, 1, idle, 0.25, 0.25))).facts
    assert (facts["triplets"], facts["triplets of no_interaction"]) == (2, 1)
    assert "triplets of no_interaction" not in inspect(predicted()).facts


def test_facts_of_pairs() -> None:
    file = scenes([image("a", BOXES, [], [(0, 1, 0.5), (0, 0, 0.25)])], scored=True)
    assert inspect(file).facts == {
        "images": 1,
        "images without pairs": 0,
        "boxes": 2,
        "pairs": 2,
        "pair score": [0.25, 0.5],
    }


def test_facts_of_triplets_with_listed_pairs() -> None:
    file = scenes(
        [image("a", BOXES, [(0, 1, RIDE, 0.5, 0.7)], [(0, 0, 0.25)])],
        scored=True,
    )
    facts = inspect(file).facts
    assert (facts["pairs"], facts["triplets"]) == (1, 1)


def test_no_images() -> None:
    empty = scenes([], scored=True)
    assert inspect(empty).facts["images"] == 0
    assert inspect(empty).warnings == ("there are no triplets",)


def test_boxes_outside_the_image() -> None:
    sizes = np.array([[15, 20]])
    assert warned(predicted(sizes=sizes)) == (
        "1 of 2 boxes extend past their image; the first is [10, 0, 19, 9] in a 15 x 20 image; "
        "are they in pixels of the original image? (images a.jpg)"
    )
    assert inspect(predicted(sizes=np.array([[0, 0]]))).warnings == ()
    below = predicted(boxes=[(PERSON, (-5, 0, 9, 9)), BOXES[1]], sizes=np.array([[50, 50]]))
    assert "the first is [-5, 0, 9, 9] in a 50 x 50 image" in warned(below)


def test_sizes_come_from_the_annotations() -> None:
    truth = scenes([image("a.jpg", BOXES, [(0, 1, RIDE)])], scored=False)
    truth = replace(truth, sizes=np.array([[15, 20]]))
    assert warned(predicted(), truth).startswith("1 of 2 boxes extend")


def test_boxes_counted_from_one() -> None:
    boxes = [(PERSON, (1, 1, 20, 20)), (BICYCLE, (5, 1, 20, 20))] * 12
    assert warned(predicted(boxes=boxes)) == (
        "boxes look one-based: no left or top edge lies below 1, 36 lie at exactly 1; read them "
        "with --read origin=1"
    )


@pytest.mark.parametrize(("by", "origin"), [(1, 1), (-1, 0)])
def test_shifted_boxes(truth, by: int, origin: int) -> None:
    scored = replace(
        truth,
        sizes=None,
        triplet_score=np.linspace(0, 1, len(truth.triplet_pair)),
        triplet_action_score=np.linspace(0, 1, len(truth.triplet_pair)),
    )
    assert inspect(moved(scored, by), truth).warnings[-1] == (
        "boxes that overlap annotated boxes well are shifted by "
        f"{[float(by)] * 4} pixels (weighted mean): read them with --read origin={origin}"
    )


def test_boxes_in_other_pixels(truth, found) -> None:
    halved = replace(found, box_xyxy=found.box_xyxy / 3 + 900, sizes=None)
    message = inspect(halved, replace(truth, sizes=None)).warnings[-1]
    assert message.endswith(
        "% of the annotated boxes have a predicted box close to them: give x1, y1, x2, y2 in "
        "pixels of the original image, and annotations of these images"
    )


def test_triplets_that_are_no_class() -> None:
    assert warned(predicted((0, 1, RIDE, 0.5, 0.5), (0, 1, EAT, 0.4, 0.4))) == (
        "1 of 2 triplets have an object and a verb that form no HOI class; the first is eat "
        "bicycle; they are not evaluated; if many triplets form no class, objects may be "
        "numbered differently (--read objects=NUMBERING)"
    )
    assert "the first is ride nothing;" in warned(predicted((0, -1, RIDE, 0.5, 0.5)))


def test_subjects_that_are_no_person() -> None:
    assert (
        "the subject of 1 of 1 pairs is not a person; the first is a car; a predicted pair is "
        "right only if the annotations have the same subject"
    ) in warned(predicted(boxes=[(CAR, (0, 0, 9, 9)), BOXES[1]]))


def test_repeated_triplets() -> None:
    assert warned(predicted((0, 1, RIDE, 0.5, 0.5), (0, 1, RIDE, 0.4, 0.4))) == (
        "1 triplets duplicate another triplet with the same boxes and verb"
    )


def test_scores() -> None:
    assert warned(predicted((0, 1, RIDE, 1.5, 0.5))) == (
        "1 triplet scores lie outside [0, 1], for instance 1.5; this affects negatives and "
        "calibration, but not ranking"
    )
    two = ((0, 1, RIDE, 0.5, 0.5), (0, 1, RIDE + 1, 0.5, 0.6))
    assert (
        "all triplet scores are 0.5: the order of the file ranks predictions"
        in inspect(predicted(*two)).warnings
    )
    bare = replace(predicted(), triplet_action_score=None)
    assert warned(bare) == "no action scores: negatives and actions will be undefined"


def test_the_training_split() -> None:
    assert warned(predicted(name="HICO_train2015_1.jpg")) == (
        "1 of 1 image names say 'train': the benchmark is evaluated on the test split"
    )


def test_images_of_the_two_sides() -> None:
    truth = scenes([image(n, BOXES, [(0, 1, RIDE)]) for n in ("a.jpg", "b.jpg")], scored=False)
    found = scenes(
        [image(n, BOXES, [(0, 1, RIDE, 0.5, 0.5)]) for n in ("a.jpg", "c.jpg")],
        scored=True,
    )
    found = replace(
        found, triplet_score=np.array([0.5, 0.4]), triplet_action_score=np.array([0.5, 0.4])
    )
    assert inspect(found, truth).warnings == (
        "1 annotated image not in this file: b.jpg",
        "1 image of this file without annotations: c.jpg",
    )


def test_images_left_empty() -> None:
    names = ("a.jpg", "b.jpg")
    truth = scenes([image(name, BOXES, [(0, 1, RIDE)]) for name in names], scored=False)
    triplets = [(0, 1, RIDE, 0.5, 0.5), (0, 1, RIDE, 0.4, 0.4)]
    found = scenes([image(names[0], BOXES, triplets), image(names[1], BOXES, [])], scored=True)
    assert (
        "1 image of this file without a triplet, although triplets are annotated there: b.jpg"
        in inspect(found, truth).warnings
    )


def test_another_split() -> None:
    truth = scenes([image("test.jpg", BOXES, [(0, 1, RIDE)])], scored=False)
    assert "are the predictions for another split or data set?" in warned(predicted(), truth)


def test_images_without_names() -> None:
    nameless = predicted(name="", sizes=np.array([[15, 20]]))
    assert warned(nameless).endswith("(images number 0)")
