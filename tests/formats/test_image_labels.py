"""Known Object with image labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat
from support.scenes import BICYCLE, CAR, HUG, PERSON, RIDE, WASH, image, scenes

import diaghoi
from diaghoi import InputError, diagnose, read_image_labels
from diaghoi.data.groups import annotated_objects
from diaghoi.data.vocabulary import hico_det

BOXES = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9)), (CAR, (30, 0, 39, 9))]
WORDS = hico_det()


def labels_file(path: Path, positive: dict[str, list[int]]) -> Path:
    labels = np.full((600, len(positive)), np.nan)
    for column, classes in enumerate(positive.values()):
        labels[classes, column] = 1
    names = np.array(list(positive), dtype=object).reshape(-1, 1)
    savemat(path, {"anno_test": labels, "list_test": names})
    return path


def test_image_labels_decide_where_given(tmp_path: Path) -> None:
    with_bicycle = image("a.jpg", BOXES[:2], [(0, 1, RIDE)])
    with_car = image("b.jpg", [BOXES[0], BOXES[2]], [(0, 1, WASH)])
    annotations = scenes([with_bicycle, with_car], scored=False)
    wrong = image("b.jpg", BOXES, [(0, 1, RIDE, 0.9)])
    right = image("a.jpg", BOXES, [(0, 1, RIDE, 0.5), (0, 2, WASH, 0.4)])
    predictions = scenes([right, wrong], scored=True)
    ride, wash = WORDS.class_of[BICYCLE, RIDE], WORDS.class_of[CAR, WASH]

    by_boxes = diagnose(annotations, predictions).official
    assert by_boxes["known_object"]["source"] == "box annotations"
    assert by_boxes["default"]["full"] == pytest.approx((0.5 + 0) / 2)
    assert by_boxes["known_object"]["full"] == pytest.approx((1 + 0) / 2)

    # The labels say that there is a bicycle in b.jpg after all.
    file = labels_file(tmp_path / "anno.mat", {"b.jpg": [ride, wash], "a.jpg": [ride]})
    by_labels = diagnose(annotations, predictions, image_labels=read_image_labels(file)).official
    assert by_labels["known_object"]["source"] == "image labels"
    assert by_labels["known_object"]["full"] == pytest.approx((0.5 + 0) / 2)


def test_listed_boxes_of_no_triplet_count_but_people_need_one() -> None:
    boxes = [*BOXES, (PERSON, (50, 0, 59, 9))]
    some = [image("a.jpg", boxes, [(0, 1, RIDE)]), image("b.jpg", boxes, [(0, 3, HUG)])]
    objects = annotated_objects(scenes(some, scored=False))
    assert objects[:, [PERSON, BICYCLE, CAR]].tolist() == [[False, True, True], [True, True, True]]


@pytest.mark.slow
def test_the_real_image_labels_cover_the_annotations(shared: Path) -> None:
    labels = read_image_labels(shared / "data/hico_det/anno.mat")
    truth = diaghoi.read_annotations(shared / "data/hico_det/instances_test2015.json")
    assert labels.positive.shape == (600, 9658)
    objects = labels.objects(truth)
    annotated = annotated_objects(truth)
    # The official evaluator asserts that every annotated object is labelled.
    assert not (annotated & ~objects).any()
    assert objects.sum() > annotated.sum()


def test_bad_label_files(tmp_path: Path) -> None:
    annotations = scenes([image("a.jpg", BOXES, [(0, 1, RIDE)])], scored=False)
    predictions = replace(
        annotations, triplet_score=np.array([0.5]), triplet_action_score=np.array([0.5])
    )
    other = read_image_labels(labels_file(tmp_path / "anno.mat", {"c.jpg": [0]}))
    with pytest.raises(InputError, match=r"no image labels for 1 of 1 images: a.jpg"):
        diagnose(annotations, predictions, image_labels=other)
    with pytest.raises(InputError, match="no such file"):
        read_image_labels(tmp_path / "none.mat")
    (tmp_path / "text.mat").write_text("this is no MATLAB file at all, only some words" * 10)
    with pytest.raises(InputError, match=r"unreadable .mat file .no header of a MATLAB 5 file"):
        read_image_labels(tmp_path / "text.mat")
    savemat(tmp_path / "lacks.mat", {"anno_test": np.zeros((600, 1))})
    with pytest.raises(InputError, match="no 'list_test'"):
        read_image_labels(tmp_path / "lacks.mat")
    savemat(tmp_path / "shape.mat", {"anno_test": np.zeros((3, 1)), "list_test": ["a.jpg"]})
    with pytest.raises(InputError, match=r"shape \(3, 1\) and type .* 1 images; give"):
        read_image_labels(tmp_path / "shape.mat")
