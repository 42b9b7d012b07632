"""Predictions and annotations by HOI class: what is wrong with a file is named."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest

from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations, read_predictions

EIGHT = [10.0, 20.0, 50.0, 80.0, 30.0, 40.0, 90.0, 95.0]
PREDICTED: dict[str, dict[Any, Any]] = {
    "scores": {153: [0.5, 0.9], 4: []},
    "boxes": {153: [EIGHT, EIGHT], 4: []},
    "keys": {153: [7, "3"], 4: []},
}


def refused(read: Any, path: Path, content: Any) -> str:
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(InputError) as refusal:
        read(path, dataset="hico-det")
    return str(refusal.value)


def test_images_are_numbers_also_as_text(tmp_path: Path) -> None:
    path = tmp_path / "preds.pkl"
    path.write_bytes(pickle.dumps(PREDICTED))
    found = read_predictions(path, dataset="hico-det")
    assert found.names.tolist() == ["3", "7"]
    assert found.scores.tolist() == [0.9, 0.5]


@pytest.mark.parametrize(
    ("part", "value", "problem"),
    [
        (
            "keys",
            {153: [7, 3]},
            "HOI class '4': the key 'keys' is missing; has: scores, boxes",
        ),
        ("scores", {153: 0.5, 4: []}, "HOI class '153': scores: is 0.5; give a list"),
        ("scores", {153: [0.5], 4: []}, "HOI class '153': lengths differ: scores 1, boxes 2,"),
        ("scores", {153: [0.5, "x"], 4: []}, "HOI class '153': scores[1]: 'x' is not a number"),
        (
            "boxes",
            {153: [[1, 2, 3, 4]] * 2, 4: []},
            "HOI class '153': boxes[0]: [1, 2, 3, 4] is not eight numbers, four for each box",
        ),
        ("keys", {153: [7, -3], 4: []}, "keys[1]: -3.0 is not a whole number from 0"),
        ("keys", {153: [7, "a"], 4: []}, "HOI class '153': keys[1]: 'a' is not a number"),
    ],
)
def test_bad_predictions(part: str, value: Any, problem: str, tmp_path: Path) -> None:
    changed = copy.deepcopy(PREDICTED) | {part: value}
    assert problem in refused(read_predictions, tmp_path / "preds.pkl", changed)


def test_bad_annotations(tmp_path: Path) -> None:
    for images, problem in (
        ({"a.jpg": [EIGHT]}, "image[0]: 'a.jpg' is not a number"),
        ({7: 5}, "image '7': boxes: is 5; give a list"),
        ({7: [EIGHT[:7]]}, "is not eight numbers, four for each box"),
    ):
        assert problem in refused(read_annotations, tmp_path / "gt.pkl", {153: images})
