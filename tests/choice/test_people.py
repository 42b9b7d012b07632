"""Which images show one person, and which several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.choice import HOLD, RIDE, asked
from support.scenes import BICYCLE, HUG, PERSON, image, scenes
from support.scenes import RIDE as RIDE_VERB

from diaghoi import InputError, read_annotations
from diaghoi.choice import read_people
from diaghoi.choice.candidates import targets_in_images
from diaghoi.choice.people import shows_several_people
from diaghoi.formats import write, write_triplet_lists

QUESTIONS = asked([([RIDE], [HOLD])] * 3)
EXPECTED = {"HICO_0.jpg": False, "HICO_1.jpg": True}


@pytest.mark.parametrize(
    "text",
    [
        '{"HICO_0.jpg": "single", "HICO_1.jpg": "multi", "other.jpg": "multi"}',
        '{"HICO_0.jpg": 1, "HICO_1.jpg": 3}',
        '{"single": ["HICO_0.jpg"], "multi": ["HICO_1.jpg"]}',
        "HICO_0.jpg,single\nHICO_1.jpg,multi\n",
        "image\tpeople\nHICO_0.jpg\t1\nHICO_1.jpg\t2\n",
    ],
)
def test_people_are_told_in_json_and_in_lines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "people"
    path.write_text(text)
    several, notes = read_people(path, QUESTIONS)
    assert several == EXPECTED
    assert (
        "does not cover 1 images, which count only in the overall numbers: HICO_2.jpg" in notes[0]
    )


def test_people_are_counted_in_annotations(tmp_path: Path) -> None:
    def shown(name: str, *people: tuple[float, float, float, float]) -> dict[str, Any]:
        boxes = [*((PERSON, box) for box in people), (BICYCLE, (50, 50, 60, 60))]
        return image(name, boxes, [(row, len(people), RIDE_VERB) for row in range(len(people))])

    path = tmp_path / "annotations.pkl"
    truth = [
        # The same person twice, drawn not quite alike.
        shown("HICO_0.jpg", (0, 0, 20, 20), (0, 0, 20, 21)),
        shown("HICO_1.jpg", (0, 0, 20, 20), (30, 0, 50, 20)),
    ]
    write_triplet_lists(path, scenes(truth, scored=False))
    several, notes = read_people(path, QUESTIONS)
    assert several == EXPECTED
    assert "as multi-person; people without annotations are not considered" in notes[0]


def test_people_that_something_is_done_to_are_counted_in_images_with_names(tmp_path: Path) -> None:
    boxes = [(PERSON, (0, 0, 20, 20)), (PERSON, (30, 0, 50, 20))]
    path = tmp_path / "annotations.pkl"
    write_triplet_lists(path, scenes([image("HICO_0.jpg", boxes, [(0, 1, HUG)])], scored=False))
    assert read_people(path, QUESTIONS)[0] == {"HICO_0.jpg": True}
    write_triplet_lists(path, scenes([image("", boxes, [(0, 1, HUG)])], scored=False))
    street = asked([([RIDE], [HOLD])], ["HICO_street.jpg"])
    with pytest.raises(InputError, match=r"annotations\.pkl: the images have no names"):
        read_people(path, street)


@pytest.mark.parametrize("people", [[], [0], [0, 30], [0, 3, 6]])
def test_several_people_are_two_boxes_that_are_not_of_one(people: list[int]) -> None:
    boxes = [(PERSON, (left, 0, left + 9, 9)) for left in people * 2]
    # The first and the last of three in a row do not overlap enough, though both do the second.
    annotations = scenes([image("HICO_0.jpg", boxes, [])], scored=False)
    assert shows_several_people(annotations, 0) is (len(people) > 1)


def test_annotations_and_the_file_of_a_benchmark_tell_the_same(tmp_path, shared) -> None:
    truth = read_annotations(shared / "conformance/hico_det_diagnosis/gt_wo_nointer.pkl")
    told = {each.image: each.multi_person for each in targets_in_images(truth)}
    about = asked([([RIDE], [HOLD])] * len(told), list(told))
    path = tmp_path / "truth.npz"
    write(path, truth)
    assert read_people(path, about)[0] == told
    assert 0 < sum(told.values()) < len(told)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"HICO_0.jpg": "many"}', "HICO_0.jpg: 'many'; give single, multi or the number"),
        ('{"HICO_0.jpg": 0}', "HICO_0.jpg: 0; give single, multi or the number"),
        ('{"HICO_0.jpg": true}', "HICO_0.jpg: True; give single"),
        ("HICO_0.jpg,1\nHICO_1.jpg,several\n", "HICO_1.jpg: 'several'; give single"),
        (f"HICO_0.jpg,{'1' * 5000}\n", "HICO_0.jpg: '111.*; give single"),
        ("HICO_0.jpg,1\nHICO_0.jpg,2\n", "HICO_0.jpg: has one person in one entry, and"),
        (
            '{"single": ["HICO_0.jpg"], "multi": ["HICO_0.jpg"]}',
            "HICO_0.jpg: has one person in one entry",
        ),
        (None, "No such file"),
        ('{"a.jpg": "single"}', "none of the 1 images is asked about in questions.json"),
    ],
)
def test_bad_people_are_named(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "people.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        read_people(path, QUESTIONS)
    assert str(caught.value).startswith(str(path))
