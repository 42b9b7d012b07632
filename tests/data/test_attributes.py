"""What annotations say of images and pairs, and how they are cut into slices; tags of users."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.scenes import BICYCLE, CAR, HOLD, PERSON, RIDE, WASH, image, scenes

from diaghoi import InputError, simulate
from diaghoi.data.attributes import attribute_slices, range_names, read_tags, tag_slices
from diaghoi.data.scenes import Scenes

# Two people on one bicycle, one of them drawn twice; a car far off that the second one washes.
ANN, AGAIN, BOB = (0, 0, 49, 199), (1, 0, 50, 199), (40, 0, 139, 199)
BIKE, FAR = (0, 100, 139, 299), (600, 440, 619, 459)
BOXES = [(PERSON, ANN), (PERSON, AGAIN), (PERSON, BOB), (BICYCLE, BIKE), (CAR, FAR)]
TRIPLETS = [(0, 3, RIDE), (1, 3, HOLD), (2, 3, RIDE), (2, 4, WASH)]
SECOND = image("b.jpg", [(PERSON, ANN), (CAR, FAR)], [(0, 1, WASH)])


def two_images(**more: Any) -> Scenes:
    first = image("a.jpg", BOXES, TRIPLETS)
    return scenes([first, SECOND], scored=False, sizes=np.array([[640, 480], [1, 2]]), **more)


def of(found: Scenes) -> dict[str, dict[str, list[int]]]:
    slices: dict[str, dict[str, list[int]]] = {}
    for each in attribute_slices(found):
        slices.setdefault(each.attribute, {})[each.name] = np.flatnonzero(each.members).tolist()
    return slices


def test_what_images_hold() -> None:
    found = of(two_images())
    assert found["people"] == {"1": [1], "2": [0]}
    assert found["objects"] == {"1": [1], "2": [0]}
    assert found["triplets"] == {"1": [1], "4 to 7": [0]}
    assert found["image_size"] == {"below 0.2 MP": [1], "0.2 to 0.4 MP": [0]}
    assert found["image_shape"] == {"upright": [1], "wide": [0]}


def test_what_pairs_are() -> None:
    found = of(two_images())
    # Instances count, however often they are drawn: Ann rides and holds the bicycle.
    assert found["pair_triplets"] == {"1": [2, 3, 4], "2": [0, 1]}
    assert found["person_triplets"] == {"1": [4], "2 to 3": [0, 1, 2, 3]}
    assert found["object_people"] == {"1": [3, 4], "2": [0, 1, 2]}
    # Bob covers 10 of Ann's 50 columns, she covers 11 of his 100, drawn for the second time.
    assert found["crowding"] == {"not at all": [4], "up to 0.25": [0, 1, 2, 3]}
    assert found["object_area"] == {"small": [3, 4], "large": [0, 1, 2]}
    assert "human_aspect" not in found  # all are as tall
    assert found["overlap"]["0"] == [3, 4]
    assert found["distance"]["0.4 or more"] == [3, 4]


def test_classes_that_are_rare_or_time_sensitive() -> None:
    truth = two_images()
    rare = truth.vocabulary.rare
    assert rare is not None
    marked = of(truth).get("rarity", {}).get("rare", [])
    assert marked == np.flatnonzero(rare[truth.triplet_class]).tolist()


def test_what_annotations_do_not_say_gives_no_slices() -> None:
    first = image("a.jpg", BOXES, TRIPLETS)
    found = of(scenes([first, SECOND], scored=False))
    assert {"image_size", "image_shape", "distance"}.isdisjoint(found)
    # One image alone differs from nothing.
    alone = of(scenes([SECOND], scored=False))
    assert alone == {}


def test_pairs_without_an_object_are_in_no_slice_of_objects() -> None:
    truth = simulate.v_coco_annotations(10, np.random.default_rng(0))
    found = of(truth)
    without = np.flatnonzero(truth.pair_object[truth.triplet_pair] < 0).tolist()
    assert without
    assert found["object_box"]["none"] == without
    for attribute in ("object_area", "object_aspect", "overlap", "object_people"):
        inside = {row for rows in found.get(attribute, {}).values() for row in rows}
        assert inside.isdisjoint(without)


def test_slices_of_an_attribute_share_nothing() -> None:
    truth = two_images()
    found = attribute_slices(truth)
    for attribute in {each.attribute for each in found}:
        members = [each.members for each in found if each.attribute == attribute]
        assert len(members) > 1
        assert np.sum(members, axis=0).max() == 1


@pytest.mark.parametrize(
    ("starts", "unit", "names"),
    [
        ((0, 1, 2, 3, 6), "", ("0", "1", "2", "3 to 5", "6 or more")),
        ((0, 0.1, 0.4), "", ("below 0.1", "0.1 to 0.4", "0.4 or more")),
        ((0, 1, 2), " MP", ("below 1 MP", "1 to 2 MP", "2 MP or more")),
    ],
)
def test_names_of_ranges(starts: Any, unit: str, names: Any) -> None:
    assert range_names(starts, unit) == names


NAMES = np.array(["a.jpg", "b.jpg", "c.jpg"])


def members(own: Any) -> dict[str, list[bool]]:
    return {each.key: each.members.tolist() for each in tag_slices(NAMES, own)[0]}


def test_tags_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tags.csv"
    path.write_text('image,weather,city\na.jpg,"sun; dry",Bonn\nb.jpg,,Bonn\nz.jpg,rain,\n')
    slices, notes = tag_slices(NAMES, read_tags(path), str(path))
    assert {each.key: each.members.tolist() for each in slices} == {
        "weather: dry": [True, False, False],
        "weather: sun": [True, False, False],
        "city: Bonn": [True, True, False],
    }
    assert all(each.by == "image" for each in slices)
    assert notes == [
        f"{path}: 1 image not annotated: z.jpg",
        f"{path}: weather: 2 images without a tag: b.jpg, c.jpg",
        f"{path}: city: 1 image without a tag: c.jpg",
    ]


@pytest.mark.parametrize(
    ("own", "found"),
    [
        ({"early": lambda name: name < "b"}, {"early: early": [True, False, False]}),
        (
            {"part": lambda name: "x" if name == "a.jpg" else ["x", "y"]},
            {"part: x": [True, True, True], "part: y": [False, True, True]},
        ),
        ({"part": {"a": "x", "c": "x"}}, {"part: x": [True, False, True]}),  # stems
        (
            {"part": {"a.jpg": ("x", "y")}},
            {"part: x": [True, False, False]} | {"part: y": [True, False, False]},
        ),
        ({"night": {"a.jpg": True, "b.jpg": False}}, {"night: night": [True, False, False]}),
    ],
)
def test_tags_from_python(own: Any, found: dict[str, list[bool]]) -> None:
    assert members(own) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a header such as 'image,weather'"),
        ("image\na.jpg\n", "expected a header such as 'image,weather'"),
        ("image,x\na.jpg\n", "line 2: 1 columns where the first line has 2"),
        ("image,x,x\na.jpg,1,2\n", "line 1: each column needs a name of its own"),
        ("image,x\na.jpg,1\n\na.jpg,2\n", "line 4: image 'a.jpg' appears twice; write several tag"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "tags.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_tags(path)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"x": {"k.png": "y"}}, "x: none of its 1 images is annotated \\('k.png', for example"),
        ({"x": {}}, "x: none of its 0 images is annotated"),
        ({"x": {"a.jpg": ""}}, "x: no image has a tag"),
        ({"x": lambda name: False}, "x: no image has a tag"),
        ({"x": 3}, "x: expected a mapping or a function, found 3"),
    ],
)
def test_bad_tags(own: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tag_slices(NAMES, own)
