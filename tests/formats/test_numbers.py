"""How files number triplets and write boxes: found from the file, or given by the user."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats import open_file
from diaghoi.formats.numbering import ENOUGH, FEW

WORDS = hico_det()
HUMAN, THING = [10.0, 20.0, 50.0, 80.0], [30.0, 40.0, 90.0, 95.0]
# Some classes of many objects, none of which is a class after a shift of its verb.
CLASSES = np.flatnonzero(
    [
        all(
            0 <= verb + shift < 117 and WORDS.class_of[label, verb + shift] < 0 for shift in (-1, 1)
        )
        for label, verb in zip(WORDS.class_object, WORDS.class_verb, strict=True)
    ]
)[:: 600 // (2 * ENOUGH)]


def images(hoi: Any, verb: int = 0) -> list[dict[str, Any]]:
    """One predicted triplet per image, numbered by verb from ``verb``."""
    return [
        {
            "filename": f"{n}.jpg",
            "predictions": [
                {"bbox": HUMAN, "category_id": 0},
                {"bbox": THING, "category_id": int(WORDS.class_object[each])},
            ],
            "hoi_prediction": [
                {
                    "subject_id": 0,
                    "object_id": 1,
                    "category_id": int(WORDS.class_verb[each]) + verb,
                    "score": 0.5,
                }
            ],
        }
        for n, each in enumerate(hoi)
    ]


def read(tmp_path: Path, value: Any, **reading: Any):
    path = tmp_path / "preds.json"
    path.write_text(json.dumps(value))
    return open_file(path, **reading)


NUMBERED: dict[str, Any] = {
    "verbs from 0": images(CLASSES),
    "verbs from 1": images(CLASSES, 1),
    "HOI classes from 0": images(CLASSES),
    "HOI classes from 1": images(CLASSES),
}
for origin in (0, 1):
    for image, hoi in zip(NUMBERED[f"HOI classes from {origin}"], CLASSES.tolist(), strict=True):
        image["hoi_prediction"][0]["category_id"] = hoi + origin


@pytest.mark.parametrize("numbering", NUMBERED)
def test_numbers_of_triplets_are_found_and_noted(numbering: str, tmp_path: Path) -> None:
    found = read(tmp_path, NUMBERED[numbering])
    assert found.recognised.numbering["triplets"] == numbering
    assert found.scenes.triplet_class.tolist() == CLASSES.tolist()
    notes = [note for note in found.scenes.notes if "numbered" in note]
    assert len(notes) == (numbering != "verbs from 0")
    for note in notes:
        assert f"triplets are numbered as {numbering}: " in note
        shares = "100 % of the best" in note, "as verbs from 0, only 0 % are" in note
        assert shares == (numbering == "verbs from 1",) * 2


def test_what_the_user_gives_counts_whatever_the_file_shows(tmp_path: Path) -> None:
    found = read(tmp_path, images(CLASSES, 1), verbs=0)
    assert (found.scenes.triplet_class < 0).all()
    with pytest.raises(InputError, match="`verbs=2`: the numbers in a file start at 0 or at 1"):
        read(tmp_path, images(CLASSES), verbs=2)


def test_few_triplets_do_not_contradict_a_format(tmp_path: Path) -> None:
    few = CLASSES[: FEW - 1]
    assert read(tmp_path, images(few, 1)).recognised.numbering["triplets"] == "verbs from 0"
    one = images(CLASSES[:1])
    one[0]["hoi_prediction"][0]["category_id"] = 117
    with pytest.raises(InputError, match="unknown verb 117; verbs of hico-det are numbered 0 to"):
        read(tmp_path, one)


def test_a_file_in_doubt_is_refused_with_both_readings(tmp_path: Path) -> None:
    half = len(CLASSES) // 3
    mixed = images(CLASSES[:half]) + images(CLASSES[half:], 1)
    for n, image in enumerate(mixed):
        image["filename"] = f"{n}.jpg"
    with pytest.raises(InputError) as caught:
        read(tmp_path, mixed)
    text = str(caught.value)
    assert "cannot determine how triplets are numbered: as verbs from 0, " in text
    assert text.endswith("give `verbs=0` or `verbs=1`")
    assert read(tmp_path, mixed, verbs=1).recognised.numbering["triplets"] == "verbs from 1"


def test_a_file_of_another_data_set_is_named_as_such(tmp_path: Path) -> None:
    """Some triplets are classes with verbs from one, the others are none in any reading."""
    nobody_does = next(
        (label, verb)
        for label in range(80)
        for verb in range(1, 117)
        if (WORDS.class_of[label, verb - 1 : verb + 1] < 0).all()
        and (WORDS.class_object[verb - 1 : verb + 1] != label).all()
    )
    value = images(CLASSES, 1)
    for image in value[len(value) // 4 :]:
        label, verb = nobody_does
        image["predictions"][1]["category_id"] = label
        image["hoi_prediction"][0]["category_id"] = verb
    with pytest.raises(
        InputError, match=r"at most 2\d % .* does the file belong to another data set\?"
    ):
        read(tmp_path, value)
    assert (read(tmp_path, value, verbs=0).scenes.triplet_class < 0).all()


@pytest.mark.parametrize("origin", [0, 1])
def test_classes_of_lists_by_class(tmp_path: Path, origin: int) -> None:
    """The last class, 600, shows that they count from one."""
    hoi = [599, *range(9)] if origin else [0, 599, *range(9)]
    hoi = [each + origin for each in hoi]
    value = {
        "scores": {str(each): [0.5] for each in set(hoi)},
        "boxes": {str(each): [HUMAN + THING] for each in set(hoi)},
        "keys": {str(each): [7] for each in set(hoi)},
    }
    found = read(tmp_path, value, dataset="hico-det")
    assert found.recognised.numbering["triplets"] == f"HOI classes from {origin}"
    assert sorted(found.scenes.triplet_class.tolist()) == sorted(each - origin for each in set(hoi))
    rows = {"7": [[each, 0.5, *HUMAN, *THING] for each in set(hoi)]}
    found = read(tmp_path, rows, dataset="hico-det")
    assert sorted(found.scenes.triplet_class.tolist()) == sorted(each - origin for each in set(hoi))


def test_rows_by_image_are_of_no_other_data_set(tmp_path: Path) -> None:
    rows = {"7": [[3, 0.5, *HUMAN, *THING]]}
    for reading in ({}, {"dataset": "v-coco"}):
        with pytest.raises(InputError, match="may be for hico-det or swig-hoi: its numbers"):
            read(tmp_path, rows, **reading)


def test_boxes_as_sizes_are_found(tmp_path: Path) -> None:
    value = images(CLASSES)
    sizes = copy.deepcopy(value)
    for image in sizes:
        for box in image["predictions"]:
            left, top, right, bottom = box["bbox"]
            box["bbox"] = [left + 100, top, right - left, bottom - top]
    found = read(tmp_path, sizes)
    assert found.recognised.numbering["boxes"] == "xywh"
    assert found.scenes.box_xyxy[:2].tolist() == [[110, 20, 150, 80], [130, 40, 190, 95]]
    assert any("boxes are left, top, width, height" in note for note in found.scenes.notes)
    with pytest.raises(InputError, match="ends before it begins"):
        read(tmp_path, sizes, boxes="xyxy")
    assert read(tmp_path, value, boxes="xywh").scenes.box_xyxy[0].tolist() == [10, 20, 60, 100]
    with pytest.raises(
        InputError, match="`boxes`: 'polar' is not known; give one of xyxy, xywh, cx"
    ):
        read(tmp_path, value, boxes="polar")


def test_one_turned_box_is_an_error(tmp_path: Path) -> None:
    value = images(CLASSES)
    value[0]["predictions"][0]["bbox"] = [50, 20, 10, 80]
    with pytest.raises(InputError, match=r"0\.jpg.*ends before it begins"):
        read(tmp_path, value)
