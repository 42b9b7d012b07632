"""Files of described data sets: read in every layout, converted, diagnosed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.described import NEEDED

from diaghoi import (
    Accumulator,
    InputError,
    Scenes,
    diagnose,
    protocol,
    read_annotations,
    read_predictions,
)
from diaghoi.data.vocabulary import Vocabulary, swig_hoi
from diaghoi.formats import read, write
from diaghoi.formats.description import read_description

Describe = Callable[..., Path]


# One image in every layout that can be read: a person feeds a cat, which no-one throws.
HUMAN, CAT = (11.0, 21.0, 50.0, 60.0), (31.0, 41.0, 70.0, 80.0)
NUMBERS = "numbers = { objects = [5, 2, 9], verbs = [4, 3] }\n"


def _triplet_lists(boxes: str, triplets: str, **more: float) -> list[dict[str, Any]]:
    return [
        {
            "filename": "a.jpg",
            boxes: [
                {"bbox": list(HUMAN), "category_id": 5},
                {"bbox": list(CAT), "category_id": "2"},
            ],
            triplets: [{"subject_id": 0, "object_id": 1, "category_id": 4} | more],
        }
    ]


LAYOUTS: dict[str, Any] = {
    "triplet-lists": _triplet_lists("annotations", "hoi_annotation"),
    "triplet-lists, predicted": _triplet_lists("predictions", "hoi_prediction", score=0.5),
    "cdn-json": [
        {"file_name": image["filename"]} | image
        for image in _triplet_lists("annotations", "hoi_annotation")
    ],
    "pair-lists": [
        {
            "filename": "a.jpg",
            "box_pairs": [{"h_box": HUMAN, "o_box": CAT, "o_label": 2, "hoi_score_inter": 0.5}],
        }
    ],
    "dense-arrays": [
        {
            "filename": "a.jpg",
            "boxes": np.array([HUMAN, CAT]),
            "labels": np.array([5, 2]),
            "verb_scores": np.array([[0.5, 0.25]]),
            "sub_ids": np.array([0]),
            "obj_ids": np.array([1]),
        }
    ],
    "swig-hoi": [
        {
            "img_id": "a.jpg",
            "box_annotations": [
                {"bbox": HUMAN, "category_id": 5},
                {"bbox": CAT, "category_id": 2},
            ],
            "hoi_annotations": [{"subject_id": 0, "object_id": 1, "action_id": 4}],
        }
    ],
    "swig-hoi, predicted": {"a.jpg": [[1, 0.5, *HUMAN, *CAT]]},
    "hico-instances": {
        "filenames": ["a.jpg"],
        "objects": ["cat", "person"],
        "verbs": ["feed"],
        "correspondence": [[7, 0, 0]],
        "annotation": [{"boxes_h": [HUMAN], "boxes_o": [CAT], "hoi": [7]}],
    },
}
BOXES = {
    "": [HUMAN, CAT],
    "boxes.origin = 1": [(10, 20, 49, 59), (30, 40, 69, 79)],
    'boxes.layout = "xywh"': [(11, 21, 60, 80), (31, 41, 100, 120)],
    'boxes.layout = "xywh"\nprotocol.boxes = "continuous"': [(11, 21, 61, 81), (31, 41, 101, 121)],
    'boxes.layout = "xywh"\nboxes.origin = 1': [(10, 20, 59, 79), (30, 40, 99, 119)],
    'boxes.layout = "xywh"\nboxes.origin = 1\nprotocol = "cmd-se"': [
        *((10, 20, 60, 80), (30, 40, 100, 120)),
    ],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", BOXES)
def test_every_layout_is_read_as_described(layout, text, describe, tmp_path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps(LAYOUTS[layout]))
    found, scenes = read(path, dataset=str(describe(NUMBERS + text)))
    assert (found.format, found.dataset) == (layout.split(",")[0], "zoo")
    assert scenes.box_label.tolist() == [0, 1]
    assert scenes.box_xyxy.tolist() == [list(box) for box in BOXES[text]]
    if layout != "pair-lists":
        # Dense arrays give every verb; the second class does not exist in the others.
        assert scenes.triplet_class.tolist()[0] == 1
        assert scenes.triplet_verb.tolist() == ([0, 1] if layout == "dense-arrays" else [0])


def test_the_user_says_where_boxes_are_counted_from(describe: Describe, tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps(LAYOUTS["triplet-lists"]))
    words = read_description(describe(NUMBERS + "boxes.origin = 1"))
    scenes = read_annotations(path, dataset=words, origin=0)
    assert scenes.box_xyxy[0].tolist() == list(HUMAN)


def test_numbers_that_files_do_not_have(describe: Describe, tmp_path: Path) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps(LAYOUTS["triplet-lists"]))
    objects = describe("numbers = { objects = [5, 6, 9], verbs = [4, 3] }")
    with pytest.raises(InputError) as error:
        read_annotations(path, dataset=str(objects))
    assert str(error.value) == (
        f"{path}: image 'a.jpg': annotations[1].category_id: unknown object category 2; zoo "
        "objects are numbered 5 to 9; if the file numbers objects differently, fix the "
        "description"
    )
    verbs = describe("numbers = { objects = [5, 2, 9], verbs = [6, 1] }")
    with pytest.raises(InputError) as error:
        read_annotations(path, dataset=str(verbs))
    assert str(error.value) == (
        f"{path}: image 'a.jpg': hoi_annotation[0].category_id: unknown verb 4; verbs of zoo are "
        "numbered 1 to 6"
    )
    with pytest.raises(InputError, match="`objects`: unknown numbering 'coco80'; known"):
        read_annotations(path, dataset=str(describe(NUMBERS)), objects="coco80")


def test_numbers_may_be_as_large_as_files_can_hold(describe: Describe, tmp_path: Path) -> None:
    content = _triplet_lists("annotations", "hoi_annotation")
    content[0]["annotations"][0]["category_id"] = 2**53
    path = tmp_path / "x.pkl"
    path.write_bytes(pickle.dumps(content))
    text = f"numbers = {{ objects = [{2**53}, 2, 9], verbs = [4, 3] }}"
    assert read_annotations(path, dataset=str(describe(text))).box_label.tolist() == [0, 1]


def small(words: Vocabulary, **scores: Any) -> Scenes:
    """One image with two boxes and one triplet, predicted where scores are given."""
    left = 3 if scores else 0
    return Scenes(
        vocabulary=words,
        names=np.array(["a.jpg"]),
        box_image=np.array([0, 0]),
        box_xyxy=np.array([[left, 0, left + 9, 9], [20 + left, 0, 29 + left, 9]], dtype=float),
        box_label=np.array([0, 1]),
        pair_human=np.array([0]),
        pair_object=np.array([1]),
        triplet_pair=np.array([0]),
        triplet_verb=np.array([0]),
        **scores,
    )


SCORES = {"triplet_score": np.array([0.5]), "triplet_action_score": np.array([0.5])}


def test_a_described_data_set_is_diagnosed_by_its_own_protocol(describe: Describe) -> None:
    words = read_description(describe("[rare]\nclasses = [2]"))
    truth, found = small(words), small(words, **SCORES)
    result = diagnose(truth, found).to_dict()
    # Moved by 3 of 10 pixels, boxes overlap by 7/13 with whole pixels and by 6/12 without.
    assert result["map"] == {"full": 1.0, "rare": 1.0, "non_rare": None}
    assert result["dataset"] == result["protocol"]["name"] == "zoo"
    assert result["official"] == {}
    strict = read_description(describe('[protocol]\nboxes = "continuous"\nstrict = true'))
    result = diagnose(small(strict), small(strict, **SCORES)).to_dict()
    assert result["map"] == {"full": 0.0}
    assert result["errors"]["both_boxes"] == 1
    assert "IoU > 0.5, continuous boxes" in result["protocol"]["signature"]
    assert diagnose(truth, found, protocol("hico-det", iou=0.6)).mean_ap["full"] == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "",
        'no_interaction = "throw"',
        "rare = { classes = [2] }",
        "rare = { counts = [1, 2, 3, 4, 5, 6], below = 3 }",
    ],
)
def test_nothing_is_said_of_a_benchmark_that_there_is_not(text: str, describe: Describe) -> None:
    words = read_description(describe(text))
    result = diagnose(small(words), small(words, **SCORES)).to_dict()
    assert result["official"] == {}
    assert not [note for note in result["notes"] if "official" in note]
    assert "rare: < 10 train instances" not in result["protocol"]["signature"]


def test_batches_are_numbered_as_files_are(describe: Describe) -> None:
    path = describe(NUMBERS + 'boxes = { origin = 1, layout = "xywh" }')
    arrays = {"boxes": np.array([HUMAN, CAT]), "labels": [5, 2], "sub_ids": [0], "obj_ids": [1]}
    truth = arrays | {"verbs": [4]}
    accumulator = Accumulator(dataset=str(path))
    accumulator.update(["a.jpg"], [truth | {"scores": [0.5]}], [truth])
    diagnosis = accumulator.compute()
    assert diagnosis.protocol.name == "zoo"
    assert diagnosis.errors["true_positive"] == 1
    assert diagnosis.classes["ap"].tolist()[1] == 1.0  # feed cat


def test_diagnoses_survive_pickling_of_their_scenes(describe: Describe) -> None:
    words = read_description(describe())
    truth, found = small(words), small(words, **SCORES)
    copies = [pickle.loads(pickle.dumps(scenes)) for scenes in (truth, found)]
    assert diagnose(*copies).to_dict() == diagnose(truth, found).to_dict()


def test_annotations_and_predictions_of_two_descriptions_do_not_meet(describe: Describe) -> None:
    words = read_description(describe())
    other = read_description(describe("", NEEDED.replace('"cat", "ball"', '"ball", "cat"')))
    with pytest.raises(InputError, match="zoo"):
        diagnose(small(words), small(other, **SCORES))


def test_protocols_for_roles_are_refused(describe: Describe) -> None:
    words = read_description(describe())
    with pytest.raises(InputError, match="protocol v-coco-s2 is not for zoo; choose hico-det, "):
        diagnose(small(words), small(words, **SCORES), "v-coco-s2")
    with pytest.raises(
        InputError, match="zoo has no counts of test instances, so rare classes cannot be"
    ):
        diagnose(small(words), small(words, **SCORES), protocol("hico-det", rare="test"))


def test_converted_files_belong_to_their_description(describe: Describe, tmp_path: Path) -> None:
    first = describe()
    path = tmp_path / "x.npz"
    write(path, small(read_description(first), **SCORES))
    assert read_predictions(path, dataset=str(first)).triplet_class.tolist() == [1]
    with pytest.raises(InputError) as error:
        read_predictions(path)
    assert str(error.value) == (
        f"{path}: is for the data set 'zoo', which is not known; known: hico-det, v-coco, "
        "v-coco-thesis, hoi-a-verbs, swig-hoi, hoi-a; give the description of any other with "
        "`dataset` FILE.toml"
    )
    # The numbers in files have no say in what was converted, other names and classes have.
    numbers = describe("numbers = { objects = 7, verbs = 7 }\nboxes = { origin = 1 }")
    again = read_predictions(path, dataset=str(numbers))
    assert again.box_label.tolist() == [0, 1]
    assert again.box_xyxy[0].tolist() == [3, 0, 12, 9]
    classes = describe('classes = { feed = ["cat"] }')
    with pytest.raises(InputError) as error:
        read_predictions(path, dataset=str(classes))
    assert str(error.value) == (
        f"{path}: fingerprint: was written when 'zoo' had other objects, verbs or classes; "
        "convert the original file again"
    )
    renamed = describe("", NEEDED.replace("zoo", "farm"))
    with pytest.raises(
        InputError, match="is for the data set 'zoo', not for 'farm'; give the right"
    ):
        read_predictions(path, dataset=str(renamed))
    with pytest.raises(InputError, match=r"is for zoo \(diaghoi\), but swig-hoi is expected here"):
        read_predictions(path, dataset=swig_hoi())
