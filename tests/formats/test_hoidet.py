"""Predictions in columns per image: what is wrong with a file is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from diaghoi.exceptions import InputError
from diaghoi.formats import read_predictions

IMAGE: dict[str, Any] = {
    "image_id": "a.jpg",
    "boxes": [[10, 20, 50, 80], [30, 40, 90, 95]],
    "h_idx": [0],
    "o_idx": [1],
    "hoi_class": [153],
    "hoi_score": [0.5],
}


def test_an_image_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([IMAGE]))
    found = read_predictions(tmp_path / "x.json")
    assert (found.names.tolist(), found.scores.tolist()) == (["a.jpg"], [0.5])
    assert found.triplet_class.tolist() == [153]


@pytest.mark.parametrize(
    ("image", "problem"),
    [
        (7, "x.json: image 1 (counted from 0): is 7; give a dict"),
        (IMAGE | {"h_idx": 0}, "x.json: image 1 (counted from 0)"),
    ],
)
def test_bad_images(image: Any, problem: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps([IMAGE, image]))
    with pytest.raises(InputError) as refusal:
        read_predictions(tmp_path / "x.json")
    assert problem in str(refusal.value)
