"""The annotations of no_frills: what is read, and what is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diaghoi import InputError, read_annotations
from diaghoi.formats import recognise

HUMAN, OTHER, THING = [10.0, 20.0, 50.0, 80.0], [0.0, 0.0, 5.0, 9.0], [30.0, 40.0, 90.0, 95.0]
# Classes 149 and 152, from 1, are both of one object.
IMAGES: list[dict[str, Any]] = [
    {
        "global_id": "HICO_test2015_00000001",
        "image_path_postfix": "test2015/HICO_test2015_00000001.jpg",
        "image_size": [480, 640, 3],
        "hois": [
            {
                "id": "149",
                "human_bboxes": [HUMAN, OTHER],
                "object_bboxes": [THING],
                "connections": [[0, 0], [1, 0]],
                "invis": 0,
            },
            {
                "id": "152",
                "human_bboxes": [HUMAN],
                "object_bboxes": [THING],
                "connections": [[0, 0]],
                "invis": 0,
            },
            {"id": "001", "human_bboxes": [], "object_bboxes": [], "connections": [], "invis": 1},
        ],
    },
    {"global_id": "HICO_test2015_00000002", "image_size": [100, 200, 3], "hois": []},
]


@pytest.fixture
def save(tmp_path: Path) -> Callable[[Any], Path]:
    def write(value: Any) -> Path:
        path = tmp_path / "anno_list.json"
        path.write_text(json.dumps(value))
        return path

    return write


def test_connections_are_triplets_and_equal_boxes_are_one(save: Callable[[Any], Path]) -> None:
    path = save(IMAGES)
    assert (recognise(path).format, recognise(path).dataset) == ("anno-list", "hico-det")
    truth = read_annotations(path)
    assert truth.names.tolist() == ["HICO_test2015_00000001", "HICO_test2015_00000002"]
    assert truth.sizes is not None
    assert truth.sizes.tolist() == [[640, 480], [200, 100]]
    assert truth.triplet_class.tolist() == [148, 148, 151]
    assert sorted(truth.box_xyxy.tolist()) == sorted([HUMAN, OTHER, THING])
    assert truth.triplet_pair.tolist() == [0, 1, 0]


def test_numbers_instead_of_digits(save: Callable[[Any], Path]) -> None:
    images = copy.deepcopy(IMAGES)
    images[0]["hois"][0]["id"] = 149
    assert read_annotations(save(images)).triplet_class.tolist() == [148, 148, 151]


def test_training_images_beside_others_are_left_out(save: Callable[[Any], Path]) -> None:
    training = copy.deepcopy(IMAGES[0]) | {"global_id": "HICO_train2015_00000001"}
    truth = read_annotations(save([training, *IMAGES]))
    assert truth.names.tolist() == [image["global_id"] for image in IMAGES]
    assert any(note.endswith(": 1 training images are omitted") for note in truth.notes)
    alone = read_annotations(save([training]))
    assert alone.names.tolist() == ["HICO_train2015_00000001"]
    assert not alone.notes


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("id", "601", "connections[0].id: unknown HOI class 601; HOI classes of hico-det are"),
        ("id", "000", "connections[0].id: unknown HOI class 0; "),
        ("id", "one", "connections[0].id: 'one' is not a number"),
        ("id", [1], "connections[0].id: [1] is not a number"),
        ("connections", [[2, 0]], "hois[0].connections: [2, 0] is not a human box and an object"),
        ("connections", [[-1, 0]], "hois[0].connections: [-1, 0] is not a human box"),
        ("connections", [[0]], "hois[0].connections: [0] is not a human box"),
        ("connections", [7], "hois[0].connections: 7 is not a human box"),
        ("connections", [["a", 0]], "hois[0].connections: ['a', 0] is not a human box"),
        ("connections", 7, "hois[0]: connections: is 7; give a list"),
        ("human_bboxes", [[1, 2, 3], OTHER], "connections[0].human_bboxes: [1, 2, 3] is not four"),
        ("human_bboxes", [HUMAN[::-1], OTHER], "ends before it begins"),
        ("object_bboxes", [], "there are 2 human_bboxes and 0 object_bboxes"),
        ("object_bboxes", {"a": 1}, "hois[0]: object_bboxes: is {'a': 1}; give a list"),
    ],
)
def test_what_cannot_be_read_is_named(key, value, problem, save) -> None:
    images = copy.deepcopy(IMAGES)
    images[0]["hois"][0][key] = value
    with pytest.raises(InputError) as refusal:
        read_annotations(save(images))
    assert "anno_list.json: image 'HICO_test2015_00000001': " in str(refusal.value)
    assert problem in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda image: image["hois"].append(7), "hois[3]: is 7; give a dict"),
        (lambda image: image["hois"][1].pop("connections"), "hois[1]: the key 'connections' is"),
        (lambda image: image.update(hois=5), "hois: is 5; give a list"),
        (lambda image: image.update(global_id=-5), "global_id: -5 is not the name of an image"),
    ],
)
def test_what_is_missing_is_named(change, problem, save) -> None:
    images = copy.deepcopy(IMAGES)
    change(images[0])
    with pytest.raises(InputError) as refusal:
        read_annotations(save(images))
    assert problem in str(refusal.value)


def test_sizes_that_are_not_all_there_are_left_out(save: Callable[[Any], Path]) -> None:
    images = copy.deepcopy(IMAGES)
    del images[1]["image_size"]
    assert read_annotations(save(images)).sizes is None
