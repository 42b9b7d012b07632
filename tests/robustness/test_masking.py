"""Semantic masking: which pixels are hidden at which level."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco

from diaghoi.exceptions import InputError
from diaghoi.robustness import sampl
from diaghoi.robustness.sampl import (
    COVER,
    LEVELS,
    box_mask,
    instance_mask,
    masked,
    semantic_mask,
)

pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'diaghoi[robustness]'")

SIZE = (120, 160)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def extent(mask: npt.NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """Left, top, width and height of what is True."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return columns[0], rows[0], columns[-1] - columns[0] + 1, rows[-1] - rows[0] + 1


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """No dilation, so that sizes can be worked out by hand."""
    monkeypatch.setattr(sampl, "EXPANSION", 0.0)


class TestInstances:
    @pytest.mark.parametrize(
        ("box", "pixels"),
        [
            ([10.5, 20.0, 14.0, 21.9], 5 * 2),
            ([-5, -5, 2, 1], 6),
            ([158, 118, 300, 300], 4),
            ([-9, -9, -3, -3], 0),
            ([200, 5, 210, 9], 0),
        ],
    )
    def test_a_box_covers_the_pixels_that_it_touches(self, box, pixels) -> None:
        assert box_mask(box, SIZE).sum() == pixels

    def test_masks_are_read_as_arrays_codes_and_polygons(self) -> None:
        mask = box_mask([10, 20, 29, 39], SIZE)
        packed = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
        runs = np.flatnonzero(np.diff(np.concatenate([[0], mask.T.ravel(), [0]]).astype(int)))
        counts = np.diff(np.concatenate([[0], runs, [mask.size]])).tolist()
        polygon = [10.0, 20.0, 30.0, 20.0, 30.0, 40.0, 10.0, 40.0]
        for written in (
            mask,
            mask.astype(np.uint8) * 255,
            packed,
            packed | {"counts": packed["counts"].decode()},
            {"size": [*SIZE], "counts": counts},
            [polygon],
        ):
            np.testing.assert_array_equal(instance_mask(written, SIZE), mask)

    def test_polygons_of_one_instance_are_joined(self) -> None:
        parts = [
            [0.0, 0.0, 4.0, 0.0, 4.0, 4.0, 0.0, 4.0],
            [20.0, 0.0, 24.0, 0.0, 24.0, 4.0, 20.0, 4.0],
        ]
        assert instance_mask(parts, SIZE).sum() == 32


@pytest.mark.usefixtures("exact")
class TestEquation3:
    def test_the_clean_level_hides_nothing(self) -> None:
        assert not semantic_mask([box_mask([10, 10, 90, 90], SIZE)], 1, rng()).any()

    @pytest.mark.parametrize(("level", "share"), [(2, 0.4), (3, 0.5), (4, 0.6)])
    def test_a_level_covers_the_share_that_the_paper_found_best(self, level, share) -> None:
        assert COVER[level] == (share, share)
        for seed in range(5):
            hidden = semantic_mask([box_mask([20, 10, 119, 89], SIZE)], level, rng(seed))
            left, top, width, height = extent(hidden)
            assert (width, height) == pytest.approx((share * 100, share * 80), abs=0.5)
            assert left + width / 2 == pytest.approx(70, abs=1)
            assert top + height / 2 == pytest.approx(50, abs=1)
            assert hidden.sum() == width * height

    def test_width_and_height_are_drawn_apart(self) -> None:
        mask = box_mask([20, 10, 119, 109], SIZE)
        cover = {3: (0.4, 0.8)}
        hidden = [semantic_mask([mask], 3, rng(seed), cover=cover) for seed in range(10)]
        sizes = [extent(each)[2:] for each in hidden]
        assert len(set(sizes)) > 5
        assert any(width != height for width, height in sizes)

    def test_the_hull_is_convex(self) -> None:
        corner = box_mask([20, 20, 29, 99], SIZE) | box_mask([20, 90, 99, 99], SIZE)
        hidden = semantic_mask([corner], 4, rng(), cover={4: (1.0, 1.0)})
        assert hidden[65, 50]
        assert not hidden[30, 90]
        assert (hidden & corner).sum() == corner.sum()

    def test_the_hull_has_the_pixels_whose_centres_it_holds(self) -> None:
        corners = np.zeros((9, 9), dtype=bool)
        corners[[0, 0, 8], [0, 8, 0]] = True
        hidden = semantic_mask([corners], 4, rng(), cover={4: (1.0, 1.0)})
        np.testing.assert_array_equal(hidden, np.add.outer(np.arange(9), np.arange(9)) <= 8)

    def test_all_instances_are_hidden_and_empty_ones_change_nothing(self) -> None:
        one, other = box_mask([0, 0, 39, 39], SIZE), box_mask([100, 60, 139, 99], SIZE)
        empty = np.zeros(SIZE, dtype=bool)
        hidden = semantic_mask([one, empty, other], 3, rng())
        assert hidden[20, 20]
        assert hidden[80, 120]
        assert not hidden[50, 80]
        assert not semantic_mask([empty], 4, rng()).any()

    def test_a_single_pixel_can_be_hidden(self) -> None:
        mask = box_mask([5, 5, 5, 5], SIZE)
        np.testing.assert_array_equal(semantic_mask([mask], 2, rng()), mask)


def test_dilation_is_drawn_and_hides_the_outline() -> None:
    mask = box_mask([40, 30, 99, 89], SIZE)
    widths = {
        extent(semantic_mask([mask], 4, rng(seed), cover={4: (1.0, 1.0)}))[2] for seed in range(12)
    }
    assert min(widths) >= 60
    assert max(widths) <= 66
    assert len(widths) > 1


def test_higher_levels_hide_more_on_average() -> None:
    masks = [box_mask([10, 10, 80, 100], SIZE), box_mask([90, 40, 150, 110], SIZE)]
    shares = [
        np.mean([semantic_mask(masks, level, rng(seed)).mean() for seed in range(10)])
        for level in range(1, len(LEVELS) + 1)
    ]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[3] > 2 * shares[1]


def test_the_generator_decides() -> None:
    mask = [box_mask([10, 10, 80, 100], SIZE)]
    one, same, other = (semantic_mask(mask, 3, rng(seed)) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


@given(
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(2, 4),
)
def test_what_is_hidden_lies_in_the_picture_and_near_the_instance(x, y, wide, high, level) -> None:
    mask = box_mask([x, y, x + wide, y + high], (40, 50))
    hidden = semantic_mask([mask], level, rng(x))
    near = box_mask([x - 2, y - 2, x + wide + 2, y + high + 2], (40, 50))
    assert hidden.any()
    assert not (hidden & ~near).any()


@pytest.mark.parametrize("shape", [SIZE, (*SIZE, 3)])
def test_hidden_pixels_are_zero_and_the_picture_is_not_changed(shape) -> None:
    image = np.full(shape, 7, dtype=np.float32)
    mask = box_mask([10, 10, 19, 19], SIZE)
    result = masked(image, mask)
    assert result.dtype == np.float32
    assert not result[mask].any()
    assert (result[~mask] == 7).all()
    assert (image == 7).all()


class TestRefuses:
    whole = np.ones(SIZE, dtype=bool)

    @pytest.mark.parametrize("box", [[1, 2, 3], [1, 2, 3, np.nan], 5, [50, 60, 20, 10]])
    def test_what_is_no_box(self, box) -> None:
        with pytest.raises(InputError, match="is not a box; give x1, y1, x2, y2 in pixels"):
            box_mask(box, SIZE)

    @pytest.mark.parametrize(
        ("instance", "words"),
        [
            (np.ones((3, 4)), r"has shape \(3, 4\), and the picture \(120, 160\)"),
            ({"size": [3, 4], "counts": [0, 12]}, r"has shape \(3, 4\)"),
            ({"size": [3, 4]}, "a mask cannot be read .*run-length"),
            (["x"], "a mask cannot be read"),
            ([], "a mask cannot be read"),
        ],
    )
    def test_what_is_no_mask(self, instance, words) -> None:
        with pytest.raises(InputError, match=words):
            instance_mask(instance, SIZE)

    @pytest.mark.parametrize(
        ("instances", "level", "cover", "words"),
        [
            ([], 2, COVER, "no instances: give a mask for each"),
            ([whole, np.ones((3, 4))], 2, COVER, r"the masks have the shapes \(120, 160\), "),
            ([whole, np.ones(5)], 2, COVER, r"the masks have the shapes \(120, 160\), "),
            ([whole], 5, COVER, "level 5: not known; give one of 1, 2, 3, 4"),
            ([whole], 2, {2: (0.5, 0.2)}, "give ratios from 0 to 1"),
            ([whole], 2, {2: (-0.1, 0.2)}, "give ratios from 0 to 1"),
            ([whole], 2, {2: (0.5, 1.5)}, "give ratios from 0 to 1"),
        ],
    )
    def test_what_cannot_be_hidden(self, instances, level, cover, words) -> None:
        with pytest.raises(InputError, match=words):
            semantic_mask(instances, level, rng(), cover=cover)

    def test_a_mask_of_another_picture(self) -> None:
        with pytest.raises(InputError, match=r"the image is \(4, 5\) and the mask \(120, 160\)"):
            masked(np.ones((4, 5)), self.whole)

    def test_a_missing_library_by_the_name_that_installs_it(self, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "cv2", None)
        with pytest.raises(
            InputError, match=r"need opencv-python-headless, .*'diaghoi\[robustness\]'"
        ):
            semantic_mask([self.whole], 2, rng())
