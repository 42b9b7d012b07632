"""One detector of a described data set, as code bases that count from 0 or from 1 write it."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.described import CLASSES, KITCHEN, annotated, by_class, predicted

from diaghoi import Accumulator, InputError, Scenes, diagnose, read_annotations, read_predictions
from diaghoi.formats import write_triplet_lists

Image = dict[str, Any]


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    (tmp_path / "gt.json").write_text(json.dumps(annotated(first=1)))
    path = tmp_path / "kitchen.toml"
    path.write_text(KITCHEN)
    return path


def saved(folder: Path, content: Any) -> Path:
    path = folder / "preds.pkl"
    path.write_bytes(pickle.dumps(content))
    return path


def evaluated(description: Path, predictions: Path) -> tuple[float, Scenes]:
    words = str(description)
    truth = read_annotations(description.with_name("gt.json"), dataset=words)
    scenes = read_predictions(predictions, dataset=truth.vocabulary)
    return diagnose(truth, scenes).mean_ap["full"], scenes


LAYOUTS: dict[str, Callable[[], Any]] = {
    "PPDM's, from 0": lambda: predicted(first=0, name="file_name"),
    "QPIC's, from 0": lambda: predicted(first=0),
    "QPIC's, from 1": lambda: predicted(first=1),
    "objects from 0, verbs from 1": lambda: predicted(first=0, first_verb=1),
    "GEN-VLKT's": lambda: by_class(predicted(first=0)),
    "GEN-VLKT's, from 1": lambda: by_class(predicted(first=0), first=1),
    "classes, and categories of boxes": lambda: by_class(predicted(first=0), bare=False),
    "with the annotations": lambda: {"preds": predicted(first=0), "gts": annotated(first=0)},
    "classes, with the annotations": lambda: {
        "preds": by_class(predicted(first=0)),
        "gts": by_class(annotated(first=0), bare=False),
    },
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_gives_the_same_figures(layout: str, kitchen: Path, tmp_path: Path) -> None:
    expected, _ = evaluated(kitchen, saved(tmp_path, predicted(first=1, name="file_name")))
    assert 0.2 < expected < 0.9
    found, _ = evaluated(kitchen, saved(tmp_path, LAYOUTS[layout]()))
    assert found == pytest.approx(expected, abs=1e-12)


def test_numbers_of_predictions_are_stated(kitchen: Path, tmp_path: Path) -> None:
    # The person is number 1 in the annotations; a number 1 of these predictions is the knife.
    expected, _ = evaluated(kitchen, saved(tmp_path, predicted(first=1)))
    numbers = {1: 30, 2: 1, 3: 7, 4: 5}
    images = predicted(first=1)
    for image in images:
        for box in image["predictions"]:
            box["category_id"] = numbers[box["category_id"]]
        for row in image["hoi_prediction"]:
            row["category_id"] += 19
    path = saved(tmp_path, images)
    with pytest.raises(InputError, match="unknown object category 30"):
        evaluated(kitchen, path)
    table = f"predictions = {{ objects = {list(numbers.values())}, verbs = 20 }}"
    kitchen.write_text(KITCHEN.replace("verbs = 1 }", f"verbs = 1, {table} }}"))
    found, scenes = evaluated(kitchen, path)
    assert found == pytest.approx(expected, abs=1e-12)
    # What is written is numbered as predictions of this data set are.
    write_triplet_lists(tmp_path / "again.pkl", scenes)
    assert evaluated(kitchen, tmp_path / "again.pkl")[0] == pytest.approx(expected, abs=1e-12)


def test_a_file_that_shows_its_numbers_is_noted(kitchen: Path, tmp_path: Path) -> None:
    path = saved(tmp_path, predicted(first=0))
    _, scenes = evaluated(kitchen, path)
    assert (
        f"{path}: all human boxes have label 0: objects are numbered as kitchen-0" in scenes.notes
    )
    assert f"{path}: triplets are numbered as verbs from 0" in scenes.notes
    _, usual = evaluated(kitchen, saved(tmp_path, predicted(first=1)))
    assert usual.notes == ()


def test_objects_as_subjects_do_not_hide_the_numbers(kitchen: Path, tmp_path: Path) -> None:
    def odd(images: list[Image]) -> list[Image]:
        images[3]["hoi_prediction"][0]["subject_id"] = 1
        return images

    expected, _ = evaluated(kitchen, saved(tmp_path, odd(predicted(first=1))))
    found, _ = evaluated(kitchen, saved(tmp_path, odd(predicted(first=0))))
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_batch_is_numbered_as_described(kitchen: Path) -> None:
    batch = {
        "boxes": np.array([[0, 0, 9, 9], [5, 5, 20, 20]]),
        "labels": np.array([0, 1]),
        "sub_ids": np.array([0]),
        "obj_ids": np.array([1]),
        "verbs": np.array([0]),
        "scores": np.array([0.5]),
    }
    truth = batch | {"labels": np.array([1, 2]), "verbs": np.array([1])}
    del truth["scores"]
    with pytest.raises(InputError, match="unknown object category 0"):
        Accumulator(dataset=str(kitchen)).update(["a"], [batch], [truth])


def test_classes_in_an_order_of_their_own(kitchen: Path, tmp_path: Path) -> None:
    """A fork may count its classes by object: the description lists them in that order."""
    expected, _ = evaluated(kitchen, saved(tmp_path, predicted(first=1, name="file_name")))
    by_object = sorted(CLASSES, key=lambda pair: pair[::-1])
    verbs, objects = ["hold", "wash", "cut with"], ["person", "knife", "cup", "pan"]
    listed = [[verbs[verb], objects[thing]] for verb, thing in by_object]
    table = KITCHEN[KITCHEN.index("[classes]") :]
    kitchen.write_text(f"classes = {json.dumps(listed)}\n" + KITCHEN.replace(table, ""))
    images = by_class(predicted(first=0), classes=by_object)
    figure, _ = evaluated(kitchen, saved(tmp_path, images))
    assert figure == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("classes", [[(0, 1), (0, 3)], [(0, 1), (0, 2), (0, 3)]])
def test_classes_of_the_annotations_where_the_description_lists_none(classes, tmp_path) -> None:
    (tmp_path / "gt.json").write_text(json.dumps(annotated(first=1, classes=classes)))
    path = tmp_path / "kitchen.toml"
    path.write_text(
        'name = "kitchen"\nobjects = ["person", "knife", "cup", "pan"]\nverbs = ["hold"]\n'
        'numbers = { objects = 1, verbs = 1 }\nannotations = "gt.json"\n'
    )
    images = predicted(first=0, classes=classes)
    expected, _ = evaluated(path, saved(tmp_path, images))
    found, scenes = evaluated(path, saved(tmp_path, by_class(images, classes=classes)))
    assert found == pytest.approx(expected, abs=1e-12)
    assert any("HOI classes of the annotations" in note for note in scenes.notes)


def test_a_matrix_of_valid_combinations(kitchen: Path, tmp_path: Path) -> None:
    images = by_class(predicted(first=0))
    expected, _ = evaluated(kitchen, saved(tmp_path, images))
    words = read_annotations(tmp_path / "gt.json", dataset=str(kitchen)).vocabulary
    np.save(tmp_path / "corre_own.npy", words.class_of[:-1].T >= 0)
    table = KITCHEN[KITCHEN.index("[classes]") :]
    kitchen.write_text('classes = "corre_own.npy"\n' + KITCHEN.replace(table, ""))
    assert evaluated(kitchen, saved(tmp_path, images))[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("read", [read_annotations, read_predictions])
def test_a_matrix_is_called_what_it_is(read: Callable[[Path], Scenes], tmp_path: Path) -> None:
    path = tmp_path / "corre_own.npy"
    np.save(path, np.eye(3, 4))
    with pytest.raises(InputError, match=r"matrix of 3 x 4 .*classes = \"corre_own.npy\""):
        read(path)
    with pytest.raises(InputError, match=r"classes = \"corre_own.npy\""):
        read_predictions(path, dataset="corre_own.npy")
