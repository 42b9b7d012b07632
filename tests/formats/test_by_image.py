"""Layouts that are recognised by their shape: by image, by HOI class and by object."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import diaghoi
from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats import recognise
from diaghoi.report.verdict import unusual

FIRST, SECOND = "HICO_test2015_00000001.jpg", "HICO_test2015_00000002.jpg"
HUMAN, THING, OTHER = [10.0, 20, 60, 120], [30.0, 60, 90, 130], [5.0, 5, 15, 25]
WORDS = hico_det()
BICYCLE = WORDS.objects.index("bicycle")
RIDE = WORDS.verbs.index("ride")
CLASS = int(WORDS.class_of[BICYCLE, RIDE])
HOLD = int(WORDS.class_of[BICYCLE, WORDS.verbs.index("hold")])


def written(folder: Path, value: Any, kind: str = "json") -> Path:
    path = folder / f"predictions.{kind}"
    path.write_bytes(json.dumps(value).encode() if kind == "json" else pickle.dumps(value))
    return path


def triplets(path: Path, **reading: Any) -> list[tuple[Any, ...]]:
    """Image, both boxes, HOI class and score of each triplet."""
    scenes = diaghoi.read_predictions(path, **reading)
    pair = scenes.triplet_pair
    label = scenes.box_label[scenes.pair_object[pair]]
    return list(
        zip(
            scenes.names[scenes.triplet_image].tolist(),
            scenes.box_xyxy[scenes.pair_human[pair]].tolist(),
            scenes.box_xyxy[scenes.pair_object[pair]].tolist(),
            scenes.vocabulary.class_of[label, scenes.triplet_verb].tolist(),
            scenes.scores.tolist(),
            strict=True,
        )
    )


RIGHT = [(FIRST, HUMAN, THING, CLASS, 0.5), (FIRST, HUMAN, OTHER, HOLD, 0.25)]
HUMANS, THINGS, SCORES, CLASSES = [HUMAN, HUMAN], [THING, OTHER], [0.5, 0.25], [CLASS, HOLD]
VERBS, VERB_NUMBERS = ["ride", "hold"], [RIDE, WORDS.verbs.index("hold")]


def rows(**columns: list[Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


ROWS = rows(hoi_id=CLASSES, score=SCORES, sub_bbox=HUMANS, obj_bbox=THINGS)
SIDES = {"human_box": HUMANS, "object_box": THINGS}
LISTED = {
    "predictions": rows(bbox=[HUMAN, THING, OTHER], category_id=[0, BICYCLE, BICYCLE]),
    "hoi_prediction": rows(
        subject_id=[0, 0], object_id=[1, 2], category_id=VERB_NUMBERS, score=SCORES
    ),
}
VALUES: dict[str, Any] = {
    "rows": {FIRST: ROWS, SECOND: []},
    "first image without rows": {SECOND: [], FIRST: ROWS},
    "other keys": {FIRST: rows(HOI=CLASSES, scores=SCORES, h_bbox=HUMANS, o_bbox=THINGS)},
    "columns": {
        FIRST: {"human_boxes": HUMANS, "object_boxes": THINGS, "hois": CLASSES, "scores": SCORES}
    },
    "a list of columns": [
        {"filename": FIRST, "boxes_h": HUMANS, "boxes_o": THINGS}
        | {"hoi_class": CLASSES, "score": SCORES}
    ],
    "names": {FIRST: rows(verb=VERBS, object_class=["bicycle"] * 2, score=SCORES, **SIDES)},
    "numbers": {FIRST: rows(verb_id=VERB_NUMBERS, obj_label=[BICYCLE] * 2, score=SCORES, **SIDES)},
    "a known layout by the path of the picture": {f"pictures/{FIRST}": LISTED},
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("kind", ["json", "pkl"])
def test_triplets_by_image_are_read_whatever_their_keys_are(tmp_path, value, kind) -> None:
    assert triplets(written(tmp_path, value, kind)) == RIGHT


def test_a_list_by_image_is_joined_by_position(tmp_path: Path) -> None:
    scenes = diaghoi.read_predictions(written(tmp_path, [[], ROWS]), dataset="hico-det")
    assert scenes.triplet_image.tolist() == [1, 1]
    assert not scenes.named
    assert "files are joined by index" in " ".join(scenes.notes)
    assert not unusual(scenes.notes)  # the first screen leaves out what is normal for the format


def test_triplets_without_scores_are_annotations(tmp_path: Path) -> None:
    path = written(tmp_path, {FIRST: rows(hoi_id=CLASSES, sub_bbox=HUMANS, obj_bbox=THINGS)})
    assert recognise(path).kind == "annotations"
    assert diaghoi.read_annotations(path, dataset="hico-det").triplet_score is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({FIRST: [*ROWS, {"hoi_id": 1}]}, r"triplet\[2\]: the key 'sub_bbox' is missing"),
        ({FIRST: [ROWS[0] | {"hoi_id": 600}]}, "unknown HOI class 600"),
        ({FIRST: [ROWS[0] | {"score": float("nan")}]}, "the score is nan"),
        ({FIRST: [ROWS[0] | {"obj_bbox": [1, 2, 3]}]}, "is not four numbers"),
        ({FIRST: ROWS, SECOND: 5}, "is 5; give a dict"),
        (
            {FIRST: {"h_box": [HUMAN], "o_box": [THING], "hoi": [1, 2], "score": [1]}},
            "lengths differ: h_box 1, o_box 1, hoi 2, score 1; give one value per triplet",
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        diaghoi.read_predictions(written(tmp_path, value, "pkl"), dataset="hico-det")


def sorted_by_class() -> dict[str, Any]:
    bounds = np.zeros((600, 2))
    bounds[min(CLASS, HOLD)] = 0, 1
    bounds[max(CLASS, HOLD)] = 1, 2
    numbers = {CLASS: [*HUMAN, *THING, 0.5], HOLD: [*HUMAN, *OTHER, 0.25]}
    return {
        FIRST: {
            "start_end_ids": bounds,
            "human_obj_boxes_scores": np.array([numbers[hoi] for hoi in sorted(numbers)]),
        },
        SECOND: {"start_end_ids": np.zeros((600, 2)), "human_obj_boxes_scores": np.zeros((0, 9))},
    }


def test_rows_sorted_by_class(tmp_path: Path) -> None:
    path = written(tmp_path, sorted_by_class(), "pkl")
    assert recognise(path).format == "vsgnet"
    assert triplets(path) == RIGHT
    assert diaghoi.read_predictions(path).names.tolist() == [FIRST, SECOND]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (np.full((600, 2), 7), "give 600 pairs of row bounds, from 0 to 2"),
        (np.tile([1, 0], (600, 1)), "give 600 pairs of row bounds"),
        (np.zeros((599, 2)), "give 600 pairs of row bounds"),
        (None, r"start_end_ids: is None; give a list"),
    ],
)
def test_bounds_of_classes_that_do_not_fit(tmp_path: Path, bounds: Any, message: str) -> None:
    value = sorted_by_class()
    value[FIRST]["start_end_ids"] = bounds
    with pytest.raises(InputError, match=message):
        diaghoi.read_predictions(written(tmp_path, value, "pkl"))


def by_object() -> dict[str, Any]:
    """Two pairs with a bicycle; the second does not count for its class "ride"."""
    value: dict[str, Any] = {key: [np.zeros(0)] * 80 for key in ("keys", "bboxes", "scores")}
    value |= {key: [np.zeros(0)] * 80 for key in ("hdet", "odet")}
    value = {key: list(part) for key, part in value.items()}
    classes = np.flatnonzero(WORDS.class_object == BICYCLE)
    value["keys"][BICYCLE] = np.array([1, 1])
    value["bboxes"][BICYCLE] = np.array([[*HUMAN, *THING], [*HUMAN, *OTHER]])
    value["hdet"][BICYCLE], value["odet"][BICYCLE] = np.array([1.0, 1]), np.array([0.5, 0.25])
    value["scores"][BICYCLE] = np.zeros((2, len(classes)))
    value["scores"][BICYCLE][0, classes == CLASS] = 0.5
    value["scores"][BICYCLE][1, classes == HOLD] = 0.25
    value["sel"] = [[] if hoi in classes else None for hoi in range(600)]
    value["sel"][CLASS], value["sel"][HOLD] = np.array([0]), [1]
    return value


def test_pairs_by_object(tmp_path: Path) -> None:
    path = written(tmp_path, by_object(), "pkl")
    assert recognise(path).format == "idn"
    assert triplets(path) == [("1", *row[1:]) for row in RIGHT]
    scenes = diaghoi.read_predictions(path)
    assert scenes.triplet_action_score is not None
    assert scenes.triplet_action_score.tolist() == [1, 1]


def test_all_pairs_of_an_object_count_where_none_are_chosen(tmp_path: Path) -> None:
    value = by_object()
    del value["sel"]
    classes = int((WORDS.class_object == BICYCLE).sum())
    assert len(triplets(written(tmp_path, value, "pkl"))) == 2 * classes


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keys": []}, r"lengths differ: keys 0, .* hico-det 80; give one value per object"),
        ({"hdet": [np.zeros(3)] * 80}, "object 'person': lengths differ: .*hdet 3"),
        ({"keys": [["x"], *[[]] * 79]}, "lengths differ"),
        ({"sel": [[9]] * 600}, r"HOI class '0': sel\[0\]: there is no pair 9; there are: none"),
    ],
)
def test_pairs_by_object_that_do_not_fit(tmp_path, change, message) -> None:
    with pytest.raises(InputError, match=message):
        diaghoi.read_predictions(written(tmp_path, by_object() | change, "pkl"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            [{"filename": FIRST, "predictions": [], "hoi_predictions": []}],
            r"nearest is .*, without 'hoi_prediction' \(here 'hoi_predictions'\)",
        ),
        (
            {FIRST: {"boxes": [HUMAN], "labels": [0], "sub_ids": [0], "obj_ids": [0]}},
            "each a dict with the keys boxes, labels, sub_ids, obj_ids; nearest is dense-arrays, "
            "dense arrays of pairs and verbs, without 'filename', 'verb_scores'",
        ),
        ([{"colour": 3, "pos": 4}], "with the keys colour, pos; known formats"),
    ],
)
def test_the_nearest_format_is_named(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        diaghoi.read_predictions(written(tmp_path, value))


def test_an_array_in_place_of_a_list_of_boxes_is_named(tmp_path: Path) -> None:
    image = {"filename": FIRST, "predictions": np.ones(4), "hoi_prediction": []}
    with pytest.raises(InputError, match=r"predictions\[0\]: is .*1\.0.*; give a dict"):
        diaghoi.read_predictions(written(tmp_path, [image], "pkl"))


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (None, "is None; give a dict"),
        ({"filename": SECOND, "h_box": 0.5}, "h_box: is 0.5; give a list"),
        ({"filename": FIRST, "h_box": [], "o_box": []}, "used for two images"),
        ({"filename": ["a"], "h_box": [], "o_box": []}, "is not the name of an image"),
    ],
)
def test_an_image_of_another_kind_is_named(tmp_path: Path, image: Any, message: str) -> None:
    columns = {"h_box": [HUMAN], "o_box": [THING], "hoi": [CLASS], "score": [0.5]}
    path = written(tmp_path, [{"filename": FIRST} | columns, image])
    with pytest.raises(InputError, match=message):
        diaghoi.read_predictions(path)


def test_lists_that_are_named_again_and_again_are_not_copied(tmp_path: Path) -> None:
    columns = {"h_box": [HUMAN] * 2000, "o_box": [THING] * 2000, "hoi": [1] * 2000}
    for image in (ROWS * 2000, columns | {"score": [0.5] * 2000}):
        path = written(tmp_path, {f"{n}.jpg": image for n in range(2000)}, "pkl")
        with pytest.raises(InputError, match="the file repeats the same lists"):
            diaghoi.read_predictions(path, dataset="hico-det")


def test_numbers_of_a_described_data_set_are_its_own(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('name = "own"\nobjects = ["person", "ball"]\nverbs = ["kick", "see"]\n')
    boxes = {"human_bbox": [0, 0, 5, 5], "object_bbox": [1, 1, 6, 6]}
    file = tmp_path / "x.json"
    file.write_text(json.dumps({"a.jpg": [{"verb": 1, "object_id": 1, "score": 0.5, **boxes}]}))
    scenes = diaghoi.read_predictions(file, dataset=str(own))
    assert (scenes.box_label.tolist(), scenes.triplet_verb.tolist()) == ([0, 1], [1])
