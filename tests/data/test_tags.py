"""Slices of a user's own: tags of images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi import InputError
from diaghoi.data.attributes import read_tags, tag_slices

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
        (
            "image,x\na.jpg,1\n\na.jpg,2\n",
            "line 4: image 'a.jpg' appears twice; write several tags",
        ),
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
        ({"x": {"k.png": "y"}}, "x: none of its 1 images is annotated, 'k.png' for instance"),
        ({"x": {}}, "x: none of its 0 images is annotated"),
        ({"x": {"a.jpg": ""}}, "x: no image has a tag"),
        ({"x": lambda name: False}, "x: no image has a tag"),
        ({"x": 3}, "x: expected a mapping or a function, found 3"),
    ],
)
def test_bad_tags(own: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tag_slices(NAMES, own)
