"""Setting 3: finding people first."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.choice import HOLD, RIDE, asked
from support.scenes import BICYCLE, PERSON, image, scenes
from support.scenes import RIDE as RIDE_VERB

from diaghoi.choice.people import found_person, read_detections
from diaghoi.choice.prompts import people_text, read_boxes
from diaghoi.data.protocol import HICO_DET
from diaghoi.data.vocabulary import swig_hoi
from diaghoi.exceptions import InputError
from diaghoi.formats import write
from diaghoi.formats.pictures import Frame

FRAME = Frame(width=640, height=480)
ONE, TWO = (1.0, 2.0, 30.0, 40.0), (5.0, 6.0, 70.0, 80.5)

REPLIES = [
    ('{"boxes": [[1, 2, 30, 40], [5, 6, 70, 80.5]]}', (ONE, TWO)),
    ('```json\n{"boxes": [[1, 2, 30, 40],\n [5, 6, 70, 80.5]]}\n```', (ONE, TWO)),
    ('[{"bbox_2d": [1, 2, 30, 40], "label": "person"}]', (ONE,)),
    ("I see two people: (1,2,30,40) and [5.0, 6.0, 70.0, 80.5].", (ONE, TWO)),
    ("<|box_start|>(1,2),(30,40)<|box_end|><|box_start|>(5,6),(70,80.5)<|box_end|>", (ONE, TWO)),
    ("<box>[[1, 2, 30, 40]]</box>", (ONE,)),
    ("<think>maybe [9, 9, 99, 99]?</think>[[1, 2, 30, 40]]", (ONE,)),
    ("[1, 2, 30, 40", None),
    ('{"boxes": []}', ()),
    ("[]", ()),
    ("[[1, 2, 30, 40], [5, 6, 5, 80]]", (ONE,)),
    ("[[30, 40, 1, 2]]", ()),
    ("There is nobody.", None),
    ("I'm sorry, I can't help with that.", None),
    ("", None),
    ("[1, 2, 3]", None),
    ("[a, b, c, d]", None),
    ("[1, 2, nan, inf]", None),
]


@pytest.mark.parametrize(("reply", "boxes"), REPLIES)
def test_boxes_are_read_as_models_write_them(reply: str, boxes: object) -> None:
    assert read_boxes(reply, FRAME) == boxes


def test_thousandths_become_pixels() -> None:
    frame = Frame(width=500, height=2000, unit="thousandths")
    assert read_boxes("[[0, 500, 1000, 1000]]", frame) == ((0.0, 1000.0, 500.0, 2000.0),)


@given(st.text() | st.text(alphabet="[](),. -0123456789{}\n"))
def test_no_reply_is_too_odd(reply: str) -> None:
    boxes = read_boxes(reply, FRAME)
    assert boxes is None or all(x1 < x2 and y1 < y2 for x1, y1, x2, y2 in boxes)


def test_a_long_reply_is_read_in_no_time() -> None:
    for part in ("[", "[1", "[1,2,3,", "[1 , ", "(1,2),", "[ ]", "[-"):
        assert not read_boxes(part * 100_000, FRAME)


def test_the_people_are_asked_for_in_the_numbers_of_the_frame() -> None:
    assert "which is 640 wide and 480 high" in people_text(FRAME)
    assert "thousandths" in people_text(Frame(width=1, height=1, unit="thousandths"))
    # An example that cannot be mistaken for an answer about this picture.
    assert '{"boxes": []}' in people_text(FRAME)


def test_the_box_that_overlaps_most_is_found_from_iou_one_half() -> None:
    person = (0.0, 0.0, 9.0, 9.0)  # 10 x 10 whole pixels
    assert found_person(person, [(0.0, 0.0, 9.0, 4.0)], HICO_DET) == (0.0, 0.0, 9.0, 4.0)
    assert found_person(person, [(0.0, 0.0, 9.0, 3.99)], HICO_DET) is None
    assert found_person(person, [], HICO_DET) is None
    boxes = [(0.0, 0.0, 9.0, 5.0), (0.0, 0.0, 9.0, 8.0), (50.0, 50.0, 60.0, 60.0)]
    assert found_person(person, boxes, HICO_DET) == boxes[1]


def test_boxes_are_compared_as_the_data_set_does() -> None:
    assert asked([([RIDE], [HOLD])]).protocol().boxes == "inclusive"
    swig = asked([(["hug"], ["kiss"])], words=swig_hoi()).protocol()
    assert swig.boxes == "continuous"
    assert found_person((0, 0, 10, 10), [(0, 0, 10, 5)], swig) is not None
    assert found_person((0, 0, 9, 9), [(0, 0, 9, 4)], swig) is None


QUESTIONS = asked([([RIDE], [HOLD])] * 2)


def save(folder: Path, value: object) -> Path:
    path = folder / "people.json"
    path.write_text(json.dumps(value))
    return path


def test_a_plain_file_of_boxes_with_and_without_scores(tmp_path: Path) -> None:
    boxes = [[1, 2, 30, 40], [1, 2, 3, 4, 0.49], [5, 6, 70, 80.5, 0.5]]
    found = read_detections(save(tmp_path, {"HICO_0.jpg": boxes, "HICO_1.jpg": []}), QUESTIONS)
    assert (found.people, found.notes) == ({"HICO_0.jpg": (ONE, TWO), "HICO_1.jpg": ()}, ())
    found = read_detections(save(tmp_path, {"HICO_0.jpg": []}), QUESTIONS)
    assert "HICO_1.jpg" not in found.people
    assert "does not include 1 of 2 images, in which nobody is found: HICO_1.jpg" in found.notes[0]


def test_the_content_is_part_of_the_name(tmp_path: Path) -> None:
    names = set()
    for row in ([1, 2, 30, 40], [1, 2, 30, 41]):
        path = save(tmp_path, {"HICO_0.jpg": [row], "HICO_1.jpg": []})
        names |= {read_detections(path, QUESTIONS).name for _ in range(2)}
    assert len(names) == 2
    assert all(name.startswith("people.json ") for name in names)


def test_people_of_a_prediction_file_count_from_a_score_of_one_half(tmp_path: Path) -> None:
    boxes = [(PERSON, (0, 0, 19, 19)), (PERSON, (2, 2, 9, 9)), (BICYCLE, (30, 30, 49, 49))]
    rows = [image(f"HICO_{n}.jpg", boxes, [(0, 2, RIDE_VERB, 0.9)]) for n in range(2)]
    found, path = scenes(rows, scored=True), tmp_path / "det.npz"
    write(path, found)
    unscored = read_detections(path, QUESTIONS).people["HICO_1.jpg"]
    assert (0.0, 0.0, 19.0, 19.0) in unscored
    assert (30.0, 30.0, 49.0, 49.0) not in unscored
    write(path, replace(found, box_score=np.where(found.box_xyxy[:, 0] == 2, 0.49, 0.5)))
    assert read_detections(path, QUESTIONS).people["HICO_0.jpg"] == ((0.0, 0.0, 19.0, 19.0),)


def test_v_coco_images_may_go_by_number(tmp_path: Path) -> None:
    name = "COCO_val2014_000000000764.jpg"
    questions = asked([(["hold a/an frisbee"], ["kick a/an frisbee"])], images=[name])
    found = read_detections(save(tmp_path, {"764": [[1, 2, 30, 40]]}), questions)
    assert found.people[name] == (ONE,)


BAD = [
    ({"HICO_0.jpg": [[1, 2, 3, "x"]]}, r"image 'HICO_0.jpg': boxes\[0\]: .*give left, top, right"),
    ({"HICO_0.jpg": [[1, 2, 3, 4], [1, 2]]}, r"boxes\[1\]: \[1, 2\] is not a box; give left"),
    ({"HICO_0.jpg": [[1, 2, 3, 4], 5]}, "give left, top, right, bottom, and possibly a score"),
    *(
        ({"HICO_0.jpg": [box]}, "is not a box")
        for box in ([1, 2, 3, 1e999], [1, 2, 3, 10**400], [9, 2, 3, 4])
    ),
    (
        {"x.jpg": [[1, 2, 3, 4]]},
        "none of the 1 images is asked about .*'x.jpg' in this file and 'HICO_0",
    ),
    ({}, "none of the 0 images"),
]


@pytest.mark.parametrize(("value", "message"), BAD)
def test_bad_files_are_refused(tmp_path: Path, value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_detections(save(tmp_path, value), QUESTIONS)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_detections(tmp_path / "no.json", QUESTIONS)
    with pytest.raises(InputError, match=r"people\.json"):
        read_detections(save(tmp_path, {"HICO_0.jpg": {"a": 1}}), QUESTIONS)
