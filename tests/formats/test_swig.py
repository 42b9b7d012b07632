"""SWIG-HOI's files: what is read, and what is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.swig import CAR, CLASSES, WORDS

from diaghoi import InputError, Scenes, diagnose, read_annotations, read_predictions
from diaghoi.formats import recognise

FIRST = CLASSES[0]
VERB = int(WORDS.class_verb[FIRST])
HUMAN, THING = [0, 0, 9, 9], [20.5, 0, 29, 9]
Save = Callable[[Any], Path]


@pytest.fixture
def annotated() -> list[dict[str, Any]]:
    return [
        {
            "img_id": "one.jpg",
            "width": 640,
            "height": 480,
            "box_annotations": [
                {"bbox": HUMAN, "category_id": 0},
                {"bbox": THING, "category_id": CAR},
                {"bbox": HUMAN, "category_id": 0},
            ],
            "hoi_annotations": [
                {"subject_id": 2, "object_id": 1, "action_id": VERB},
                {"subject_id": 0, "object_id": 1, "action_id": VERB},
            ],
        },
        {
            "img_id": "two.jpg",
            "width": 100,
            "height": 200,
            "box_annotations": [],
            "hoi_annotations": [],
        },
    ]


@pytest.fixture
def predicted() -> dict[str, Any]:
    return {
        "one.jpg": [
            [FIRST, 0.5, *HUMAN, *THING],
            [FIRST, 0.25, *HUMAN, 1, 2, 3, 4],
            [FIRST, 0.75, *HUMAN, *THING],
        ],
        "none.jpg": [],
    }


def check_annotations(scenes: Scenes) -> None:
    assert scenes.vocabulary is WORDS
    assert scenes.names.tolist() == ["one.jpg", "two.jpg"]
    assert scenes.box_image.tolist() == [0, 0, 0]  # listed boxes stay as they are
    assert scenes.box_xyxy.tolist() == [HUMAN, THING, HUMAN]
    assert scenes.box_label.tolist() == [0, CAR, 0]
    assert scenes.pair_human.tolist() == [2, 0]
    assert scenes.pair_object.tolist() == [1, 1]
    assert scenes.triplet_class.tolist() == [FIRST, FIRST]
    assert scenes.triplet_score is None


def check_predictions(scenes: Scenes) -> None:
    assert scenes.names.tolist() == ["one.jpg", "none.jpg"]
    assert scenes.box_xyxy.tolist() == [HUMAN, THING, [1, 2, 3, 4]]  # equal boxes are one box
    assert scenes.box_label.tolist() == [0, CAR, CAR]
    assert scenes.pair_human.tolist() == [0, 0]
    assert scenes.pair_object.tolist() == [1, 2]
    assert scenes.triplet_pair.tolist() == [0, 1, 0]
    assert scenes.triplet_class.tolist() == [FIRST] * 3
    assert scenes.triplet_score.tolist() == [0.5, 0.25, 0.75]
    assert scenes.triplet_action_score is None
    assert scenes.pair_score is None
    assert scenes.sizes is None


KINDS: dict[str, Callable[[Any], Any]] = {
    "lists": lambda value: value,
    "numbers of NumPy": lambda value: np.float32(value) if isinstance(value, float) else value,
    "boxes as arrays": lambda value: np.array(value) if value in (HUMAN, THING) else value,
}


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a change to all parts of a value, the innermost first."""
    if isinstance(value, dict):
        value = {key: changed(part, change) for key, part in value.items()}
    elif isinstance(value, list) and value not in (HUMAN, THING):
        value = [changed(part, change) for part in value]
    return change(value) if not isinstance(value, dict) else value


@pytest.mark.parametrize("kind", KINDS)
def test_annotations(kind: str, annotated: Any, saved: Save, tmp_path: Path) -> None:
    path = saved(changed(annotated, KINDS[kind]))
    found = recognise(path)
    assert (found.format, found.kind, found.dataset) == ("swig-hoi", "annotations", "swig-hoi")
    scenes = read_annotations(path)
    check_annotations(scenes)
    assert scenes.sizes is not None
    assert scenes.sizes.tolist() == [[640, 480], [100, 200]]
    assert scenes.source == str(path)
    assert scenes.notes == ()


def test_annotations_as_json(annotated: Any, tmp_path: Path) -> None:
    path = tmp_path / "swig_test_1000.json"
    path.write_text(json.dumps(annotated))
    check_annotations(read_annotations(path))


def test_images_may_be_named_by_file(annotated: Any, saved: Save) -> None:
    for image in annotated:
        image["file_name"] = image.pop("img_id")
    check_annotations(read_annotations(saved(annotated)))
    for image in annotated:
        del image["file_name"]
    scenes = read_annotations(saved(annotated))
    assert scenes.names.tolist() == ["", ""]
    assert scenes.notes == (f"{scenes.source}: images have no names, so files are joined by index",)


@pytest.mark.parametrize("size", [None, 640.5, "640", -1, 10**400, 2**53 + 1])
def test_sizes_that_are_no_sizes_are_not_known(size: Any, annotated: Any, saved: Save) -> None:
    annotated[0]["width"] = size
    scenes = read_annotations(saved(annotated))
    check_annotations(scenes)
    assert scenes.sizes is None


def test_sizes_may_be_left_out(annotated: Any, saved: Save) -> None:
    del annotated[1]["width"]
    scenes = read_annotations(saved(annotated))
    assert scenes.sizes is not None
    assert scenes.sizes.tolist() == [[640, 480], [0, 200]]


ROWS: dict[str, Callable[[list[Any]], Any]] = {
    "lists": lambda rows: rows,
    "tuples": lambda rows: tuple(map(tuple, rows)),
    "an array for each row": lambda rows: [np.array(row) for row in rows],
    "one array": lambda rows: np.array(rows).reshape(-1, 10),
    "32 bits": lambda rows: np.array(rows, dtype=np.float32).reshape(-1, 10),
    "80 bits": lambda rows: np.array(rows, dtype=np.longdouble).reshape(-1, 10),
    "whole numbers are integers": lambda rows: [
        [int(value) if value == int(value) else value for value in row] for row in rows
    ],
}


@pytest.mark.parametrize("kind", ROWS)
def test_predictions(kind: str, predicted: Any, saved: Save) -> None:
    path = saved({name: ROWS[kind](rows) for name, rows in predicted.items()})
    found = recognise(path)
    assert (found.format, found.kind, found.dataset) == ("swig-hoi", "predictions", "swig-hoi")
    scenes = read_predictions(path)
    check_predictions(scenes)
    assert scenes.source == str(path)
    assert scenes.notes == ()


def test_predictions_as_json(predicted: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(predicted))
    check_predictions(read_predictions(path))


def test_numbers_and_strings_name_the_same_images(annotated, predicted, saved) -> None:
    for number, image in enumerate(annotated):
        image["img_id"] = number
    truth = read_annotations(saved(annotated))
    for names in ((0, 7), ("0", "7")):
        found = read_predictions(saved(dict(zip(names, predicted.values(), strict=True))))
        assert found.names.tolist() == ["0", "7"]
        assert diagnose(truth, found).to_dict()["errors"]["true_positive"] == 1
    assert truth.names.tolist() == ["0", "1"]


def test_the_first_images_may_be_empty(predicted: Any, saved: Save) -> None:
    for nothing in ([], (), np.zeros((0, 10))):
        scenes = read_predictions(saved({"empty.jpg": nothing} | predicted))
        assert scenes.names.tolist() == ["empty.jpg", "one.jpg", "none.jpg"]
        assert scenes.triplet_image.tolist() == [1, 1, 1]


def test_boxes_may_be_counted_from_one(annotated: Any, predicted: Any, saved: Save) -> None:
    truth = read_annotations(saved(annotated), origin=1)
    found = read_predictions(saved(predicted), origin=1)
    assert truth.box_xyxy[0].tolist() == found.box_xyxy[0].tolist() == [-1, -1, 8, 8]


def in_row(row: int, column: int, value: Any) -> Callable[[Any], None]:
    def change(predicted: Any) -> None:
        predicted["one.jpg"][row][column] = value

    return change


ROW = "is not a row; give HOI id, score, and the two boxes: ten numbers"
BAD_ROWS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "nine values": (
        lambda p: p["one.jpg"][1].pop(),
        f"image 'one.jpg': rows[1]: [{FIRST}, 0.25, 0, 0, 9, 9, ...] {ROW}",
    ),
    "no list": (lambda p: p["one.jpg"].append(7), f"image 'one.jpg': rows[3]: 7 {ROW}"),
    "nothing": (in_row(2, 9, None), "image 'one.jpg': row[2].object: the box [20.5, 0.0, 29.0, na"),
    "complex": (
        in_row(0, 1, 1j),
        f"image 'one.jpg': rows[0]: [{FIRST}, 1j, 0, 0, 9, 9, ...] {ROW}",
    ),
    "rows of eleven in an array": (
        lambda p: p.update({"none.jpg": np.zeros((2, 11))}),
        "image 'none.jpg': rows[0]: array([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0.]) is not a r",
    ),
    "complex array": (
        lambda p: p.update({"none.jpg": np.zeros((1, 10), dtype=complex)}),
        "image 'none.jpg': rows[0]: array([0.+0.j, 0.+0.j, ",
    ),
    "no rows": (
        lambda p: p.update({"none.jpg": None}),
        "image 'none.jpg': rows: is None; give a list",
    ),
    "HOI id too large": (
        in_row(1, 0, 14_130),
        "image 'one.jpg': row[1]: unknown HOI class 14130; HOI classes of swig-hoi are numbered "
        "0 to 14129 in this format",
    ),
    "fraction of an HOI id": (in_row(2, 0, 1.5), "image 'one.jpg': row[2].HOI class: 1.5 is not a"),
    "huge HOI id": (
        in_row(2, 0, 1e300),
        "image 'one.jpg': row[2].HOI class: 1e+300 is too large",
    ),
    "no score": (in_row(1, 1, float("nan")), "image 'one.jpg': row[1].score: the score is nan; gi"),
    "turned box": (
        in_row(2, 4, -1),
        "image 'one.jpg': row[2].human: the box [0.0, 0.0, -1.0, 9.0] ends before it begins",
    ),
    "name twice": (
        lambda p: p.update({1: [], "1": []}),
        "image '1': image: used for two images, numbers 2 and 3 (counted from 0); drop repeats, ",
    ),
}


@pytest.mark.parametrize(("change", "problem"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_predictions(change, problem, predicted, saved) -> None:
    change(predicted)
    path = saved(predicted)
    with pytest.raises(InputError) as error:
        read_predictions(path)
    message = str(error.value)
    assert message.startswith(f"{path}: {problem}")
    assert len(message) < 400


def in_image(table: str, row: int, **values: Any) -> Callable[[Any], None]:
    def change(annotated: Any) -> None:
        annotated[0][table][row] = annotated[0][table][row] | values

    return change


BAD_ANNOTATIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "unknown object": (
        in_image("box_annotations", 1, category_id=1000),
        "image 'one.jpg': box_annotations[1].category_id: unknown object category 1000; swig-hoi "
        "objects are numbered 0 to 999",
    ),
    "unknown verb": (
        in_image("hoi_annotations", 1, action_id=407),
        "image 'one.jpg': hoi_annotations[1].action_id: unknown verb 407; verbs of swig-hoi are "
        "numbered 0 to 406",
    ),
    "no object": (
        in_image("hoi_annotations", 0, object_id=-1),
        "image 'one.jpg': hoi_annotations[0].object_id: there is no box in 'box_annotations' -1; "
        "there are: 0 to 2",
    ),
}


@pytest.mark.parametrize(("change", "problem"), BAD_ANNOTATIONS.values(), ids=BAD_ANNOTATIONS)
def test_bad_annotations(change, problem, annotated, saved) -> None:
    annotated = copy.deepcopy(annotated)
    change(annotated)
    path = saved(annotated)
    with pytest.raises(InputError) as error:
        read_annotations(path)
    assert str(error.value) == f"{path}: {problem}"


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"one.jpg": []},
        {"one.jpg": None},
        {"one.jpg": [[1, 2], [3]]},
        {"one.jpg": [[[1], [2, 3]]]},
        {"one.jpg": [np.zeros((2, 10))]},
        {"one.jpg": "0123456789"},
        {"one.jpg": ["0123456789"]},
        {"one.jpg": np.zeros(10)},
    ],
)
def test_what_is_no_prediction_is_not_recognised(value: Any, saved: Save) -> None:
    path = saved(value)
    with pytest.raises(InputError) as error:
        read_predictions(path)
    assert str(error.value).startswith(f"{path}: not a known format: a dict in pickle with ")


def test_files_of_swig_hoi_are_for_swig_hoi(annotated: Any, predicted: Any, saved: Save) -> None:
    path = saved(annotated)
    with pytest.raises(InputError) as error:
        read_annotations(path, dataset="hico-det")
    assert str(error.value) == (
        f"{path}: is for swig-hoi (swig-hoi), but hico-det is expected here; give a file for "
        "hico-det, or give `dataset` for the data set of this file"
    )
    with pytest.raises(InputError, match=r"holds predictions \(swig-hoi\), but annotations are"):
        read_annotations(saved(predicted))


def in_thid(rows: Any) -> list[Any]:
    """Give rows of a HICO-DET detector as THID writes them: by the number of the image."""
    images: list[Any] = [[] for _ in range(9)]
    images[7] = [[row[0], *row[2:], row[1], n] for n, row in enumerate(rows)]
    return images


def test_rows_of_thid_stand_at_the_number_of_their_image(saved: Save) -> None:
    rows = [[156, 0.5, *HUMAN, *THING], [149, 0.25, *HUMAN, 1, 2, 3, 4]]
    by_name = read_predictions(saved({"HICO_test2015_00000007.jpg": rows}))
    for images in (in_thid(rows), tuple(in_thid(rows)), {"7": in_thid(rows)[7]}):
        found = read_predictions(saved(images), dataset="hico-det")
        assert found.names.tolist() == ["7"]
        assert found.triplet_class.tolist() == by_name.triplet_class.tolist()
        assert found.box_xyxy.tolist() == by_name.box_xyxy.tolist()
        assert found.scores.tolist() == [0.5, 0.25]
    listed = read_predictions(saved([[], rows]), dataset="hico-det")
    assert (listed.names.tolist(), listed.scores.tolist()) == (["1"], [0.5, 0.25])


def test_a_bad_row_of_thid_is_named(saved: Save) -> None:
    images = in_thid([[156, 0.5, *HUMAN, *THING]] * 2)
    images[7][1].pop()
    with pytest.raises(InputError, match=r"image '7': rows\[1\]: .* a running number: eleven numb"):
        read_predictions(saved(images), dataset="hico-det")
    with pytest.raises(InputError, match=r"image '8': rows: is None; give a list"):
        read_predictions(
            saved([*in_thid([[156, 0.5, *HUMAN, *THING]])[:8], None]), dataset="hico-det"
        )
