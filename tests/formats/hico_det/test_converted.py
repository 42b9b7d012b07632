"""Results as the official evaluation of HICO-DET wants them: what is wrong with a file is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from diaghoi.exceptions import InputError
from diaghoi.formats import read_predictions

HUMAN, THING = [10.0, 20.0, 50.0, 80.0], [30.0, 40.0, 90.0, 95.0]


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes 80 files, of which the first has the rows that are given."""

    def write(*rows: list[Any]) -> Path:
        for number in range(1, 81):
            given = rows if number == 1 else ()
            cells = np.empty((len(given), 5), dtype=object)
            for place, row in enumerate(given):
                cells[place] = [np.array([each]) if np.ndim(each) == 0 else each for each in row]
            savemat(tmp_path / f"detections_{number:02d}.mat", {"all_boxes": cells})
        return tmp_path

    return write


def test_rows_are_read_by_image_and_score(folder: Callable[..., Path]) -> None:
    found = read_predictions(
        folder([HUMAN, THING, 7, 0, 0.2], [HUMAN, THING, 3, 1, 0.4], [HUMAN, THING, 7, 1, 0.9])
    )
    assert found.names.tolist() == ["3", "7"]
    assert found.triplet_image.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ([HUMAN, THING[:3], 7, 0, 0.2], "[1]: is not two boxes, the image, the class and the scor"),
        ([HUMAN, THING, 7, 0, "x"], "[1]: is not two boxes, the image, the class and the score, a"),
        ([HUMAN, THING, 7, 0, 0.5j], "[1]: is not two boxes, the image, the class and the score,"),
        ([HUMAN, THING, 7.5, 0, 0.2], "[1].image: 7.5 is not a whole number from 0"),
        ([HUMAN, THING, 7, -1, 0.2], "[1].class: -1.0 is not a whole number from 0"),
        ([HUMAN, THING, 7, np.nan, 0.2], "[1].class: nan is not a whole number from 0"),
    ],
)
def test_bad_rows_are_named(row: list[Any], problem: str, folder: Callable[..., Path]) -> None:
    path = folder([HUMAN, THING, 7, 0, 0.2], row)
    with pytest.raises(InputError) as refusal:
        read_predictions(path)
    assert f"detections_01.mat: all_boxes{problem}" in str(refusal.value)


def test_a_class_that_no_numbering_of_objects_has(folder: Callable[..., Path]) -> None:
    path = folder([HUMAN, THING, 7, 599, 0.2])
    with pytest.raises(InputError) as refusal:
        read_predictions(path)
    assert "detections_01.mat: all_boxes: has 600 HOI classes, but '" in str(refusal.value)
