"""Pictures in rows and columns: what they show of images, and room for all words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.figures import complaints

from diaghoi.cases.cases import Case
from diaghoi.cases.outcomes import ImageOutcomes, PairOutcome
from diaghoi.plots.boxes import PictureFrame, crop
from diaghoi.plots.figures.picture_panels import (
    balanced,
    corruption_panel,
    error_panel,
    outcome_panel,
)
from diaghoi.plots.style import COLOURS

WHOLE = PictureFrame(-0.5, -0.5, 639.5, 479.5)
IMAGE = np.full((480, 640, 3), 128, np.uint8)
ANN, THING = (100.0, 100.0, 200.0, 300.0), (180.0, 150.0, 300.0, 290.0)
sides = st.tuples(st.floats(0, 630), st.floats(1, 300))


@given(across=sides, down=sides, ratio=st.sampled_from([0.5, 0.75, 1.0, 1.5]))
def test_a_crop_shows_all_boxes_within_the_image(across, down, ratio) -> None:
    box = (
        across[0],
        min(down[0], 470.0),
        min(across[0] + across[1], 639.0),
        min(down[0] + down[1], 479.0),
    )
    frame = crop([box], WHOLE, ratio)
    slack = 1e-6
    assert frame.left <= box[0] + slack
    assert frame.top <= box[1] + slack
    assert frame.right >= box[2] - slack
    assert frame.bottom >= box[3] - slack
    assert frame.left >= WHOLE.left - slack
    assert frame.top >= WHOLE.top - slack
    assert frame.right <= WHOLE.right + slack
    assert frame.bottom <= WHOLE.bottom + slack
    # Never more than eight times as large as the whole image shows it.
    assert frame.right - frame.left >= 640 / 8 - slack


def test_without_boxes_a_crop_is_the_image() -> None:
    assert crop([], WHOLE, 0.75) == WHOLE
    assert crop([(float("nan"),) * 4], WHOLE, 0.75) == WHOLE


@pytest.mark.parametrize(
    ("pictures", "columns", "expected"), [(1, 3, 1), (4, 3, 2), (7, 3, 3), (7, 4, 4), (6, 4, 3)]
)
def test_rows_are_as_full_as_they_can_be(pictures: int, columns: int, expected: int) -> None:
    assert balanced(pictures, columns) == expected


def outcomes(name: str, pairs: int) -> ImageOutcomes:
    kinds = ("right", "false", "missed")
    return ImageOutcomes(
        image=name,
        size=(640, 480),
        pairs=tuple(
            PairOutcome(
                outcome=kinds[number % 3],
                human=ANN,
                object=None if number == 4 else THING,
                name="straddle, sit on, hop on motorcycle",
                caption="straddle 0.12, sit on 0.10, hop on 0.01 motorcycle",
                score=None if number % 3 == 2 else 0.123,
            )
            for number in range(pairs)
        ),
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [3.25, 6.875])
@pytest.mark.parametrize(("models", "images"), [(1, 1), (2, 3), (6, 2)])
def test_words_of_models_have_room(width: float, models: int, images: int) -> None:
    shown = {
        f"A detector with a long name {number}": [
            outcomes(f"{image}.jpg", 3 * image + 2) for image in range(images)
        ]
        for number in range(models)
    }
    figure = outcome_panel(shown, [IMAGE] * images, width=width)
    assert figure.get_size_inches()[0] == width
    assert complaints(figure) == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [3.25, 6.875])
@pytest.mark.parametrize("repairs", [False, True])
def test_words_of_errors_have_room(width: float, repairs: bool) -> None:
    errors = list(COLOURS)[1:8]
    cases = [
        Case(
            error=error,
            image="a.jpg",
            size=(640, 480),
            name=None if error == "missed_gt" else "straddle motorcycle",
            score=0.5,
            human=None if error == "missed_gt" else ANN,
            object=None if error == "missed_gt" else THING,
            annotated="hop on motorcycle",
            annotated_human=ANN,
            annotated_object=THING,
            sentence="",
            repair="",
            repaired="hop on motorcycle" if error == "action" else None,
        )
        for error in errors
    ]
    figure = error_panel(cases, [None, *[IMAGE] * 6], width=width, repairs=repairs)
    assert len(figure.axes) == 14 if repairs else 7
    assert complaints(figure) == []


@pytest.mark.parametrize("width", [3.25, 6.875])
@pytest.mark.parametrize("severities", [[3], [1, 2, 3, 4, 5]])
def test_words_of_corruptions_have_room(width: float, severities: list[int]) -> None:
    names = ("Motion blur", "Salt-and-pepper noise", "Perspective distortion", "JPEG artifacts")
    pictures = {name: [IMAGE[:120, :160]] * len(severities) for name in names}
    assert complaints(corruption_panel(pictures, severities, width=width)) == []
