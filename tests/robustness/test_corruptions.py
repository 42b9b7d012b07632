"""The corruptions: registry, strengths, and what each of them does to a picture."""

from __future__ import annotations

import inspect
import itertools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from diaghoi.exceptions import InputError
from diaghoi.robustness.corruptions import (
    CORRUPTIONS,
    GROUPS,
    SEVERITIES,
    corrupt,
    find,
    generator,
    strength,
    strengths,
)
from diaghoi.robustness.simulated import FAULTS, under_corruption
from diaghoi.simulate import ONE_STAGE

pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'diaghoi[robustness]'")

Picture = npt.NDArray[np.uint8]
# Table 3 of the paper, and the groups of its section 3.
ABBREVIATIONS = {
    "OS": ["MB", "DB", "GauB", "GB"],
    "SCT": ["GauN", "ShN", "S&P", "JPEG", "SN", "PL"],
    "EI": ["EXP", "RE", "OCC", "VE"],
    "G&S": ["MP", "SC", "ET", "PD", "PIX", "ZB"],
}
# Lower values of these make pictures worse.
FALLING = {("jpeg_artifacts", "quality"), ("shot_noise", "photons"), ("moire_pattern", "period")}
FALLING |= {("vignette_effect", "clear")}


def scene(height: int = 120, width: int = 160) -> Picture:
    """A picture of overlapping boxes of all sizes and colours, with a little texture."""
    rng = np.random.default_rng(5)
    picture = np.full((height, width, 3), 120.0)
    for top, left, tall, wide in rng.random((80, 4)):
        rows = slice(int(top * height), int((top + 0.3 * tall) * height) + 2)
        columns = slice(int(left * width), int((left + 0.3 * wide) * width) + 2)
        picture[rows, columns] = rng.uniform(0, 255, 3)
    picture += 6 * rng.standard_normal((height, width, 1))
    return np.clip(picture, 0, 255).astype(np.uint8)


def psnr(clean: Picture, worse: Picture) -> float:
    error = np.mean((clean.astype(float) - worse) ** 2)
    return float(10 * np.log10(255**2 / max(error, 1e-9)))


def made(image: Picture, name: str, severity: int, picture: str = "a.jpg", seed: int = 0):
    return corrupt(image, name, severity, rng=generator(seed, picture, name))


def _overlap(box: npt.NDArray[np.int64], image: Picture, severity: int, number: int) -> float:
    """IoU of a white box with the box around it after perspective distortion."""
    seen = made(image[..., 0], "perspective_distortion", severity, f"{number}.jpg") > 127
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    if not len(rows):
        return 0.0
    moved = np.array([columns[0], rows[0], columns[-1], rows[-1]])
    first, last = np.maximum(box[:2], moved[:2]), np.minimum(box[2:], moved[2:])
    shared = np.clip(last - first + 1, 0, None).prod()
    areas = [(each[2:] - each[:2] + 1).prod() for each in (box, moved)]
    return float(shared / (sum(areas) - shared))


def of(name: str, image: Picture, seed: int = 0, **parameters: float):
    """What the function behind a corruption returns for chosen strengths."""
    function: Callable[..., npt.NDArray[np.generic]] = CORRUPTIONS[name].function
    return function(image, np.random.default_rng(seed), **parameters)


class TestRegistry:
    def test_names_the_corruptions_of_the_paper_in_their_order(self) -> None:
        assert {group.abbreviation for group in GROUPS.values()} == set(ABBREVIATIONS)
        for name, group in GROUPS.items():
            members = [each.abbreviation for each in CORRUPTIONS.values() if each.group == name]
            assert members == ABBREVIATIONS[group.abbreviation]
        assert [*CORRUPTIONS] == [each.name for each in CORRUPTIONS.values()]
        assert len(CORRUPTIONS) == 20

    def test_is_loaded_without_heavy_libraries(self) -> None:
        code = (
            "import sys, diaghoi.robustness.corruptions\n"
            "print({'cv2', 'PIL', 'matplotlib', 'pycocotools'} & set(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout == "set()\n"

    @pytest.mark.parametrize(
        ("given", "found"),
        [
            (["motion_blur"], ["motion_blur"]),
            (["Motion-Blur", "mb"], ["motion_blur"]),
            (["salt-and-pepper noise", "s&p"], ["salt_and_pepper_noise"]),
            (["jpeg"], ["jpeg_artifacts"]),
            (["EI"], ["exposure", "rainbow_effect", "occlusion", "vignette_effect"]),
            (["ZB", "optical"], [*list(CORRUPTIONS)[:4], "zoom_blur"]),
        ],
    )
    def test_finds_names_abbreviations_and_groups(self, given, found) -> None:
        assert [each.name for each in find(given)] == found

    def test_an_unknown_name_suggests_close_ones(self) -> None:
        with pytest.raises(InputError, match=r"'motion_blurr' \(did you mean 'motion_blur'"):
            find(["motion_blurr"])

    def test_each_function_takes_the_parameters_of_the_table(self) -> None:
        assert [*strengths()] == [*CORRUPTIONS]
        for name, corruption in CORRUPTIONS.items():
            parameters = inspect.signature(corruption.function).parameters.values()
            assert {each.name for each in parameters if each.kind is each.KEYWORD_ONLY} == set(
                strengths()[name]
            )

    def test_strengths_grow_with_severity(self) -> None:
        for name, parameters in strengths().items():
            grow = []
            for parameter, (_, values) in parameters.items():
                steps = np.diff(values) * (-1 if (name, parameter) in FALLING else 1)
                assert (steps >= 0).all(), (name, parameter)
                grow.append((steps > 0).all())
            assert any(grow), name

    def test_lengths_grow_with_the_picture_and_shares_do_not(self) -> None:
        assert strength("rainbow_effect", 1, 960) == {"shift": 3.0, "width": 120, "opacity": 0.12}


@pytest.mark.parametrize("corruption", list(CORRUPTIONS))
def test_the_faults_of_the_group_grow_with_severity_and_no_others(corruption: str) -> None:
    faults = FAULTS[CORRUPTIONS[corruption].group]
    detectors = [ONE_STAGE, *(under_corruption(ONE_STAGE, corruption, s) for s in SEVERITIES)]
    for field in fields(ONE_STAGE):
        values = [getattr(detector, field.name) for detector in detectors]
        if field.name in faults:
            assert sorted(set(values)) == values
        else:
            assert len(set(values)) == 1


@pytest.mark.parametrize("name", CORRUPTIONS)
class TestEach:
    def test_keeps_shape_and_type_and_its_input(self, name) -> None:
        for shape in ((1, 1), (1, 1, 3), (3, 2), (17, 1, 3), (40, 60), (9, 70, 3)):
            image = np.random.default_rng(3).integers(0, 256, shape).astype(np.uint8)
            before = image.copy()
            for severity in (1, 5):
                worse = made(image, name, severity)
                assert (worse.shape, worse.dtype) == (shape, np.uint8)
                np.testing.assert_array_equal(image, before)

    def test_changes_grey_and_coloured_pictures(self, name) -> None:
        colours = scene()
        for image in (colours, colours[..., 0]):
            assert (made(image, name, 3) != image).mean() > 0.05

    @pytest.mark.slow
    def test_psnr_falls_with_severity(self, name, shared: Path) -> None:
        paths = sorted((shared / "data" / "hoi_w" / "images").glob("*.png"))[::3]
        assert len(paths) == 4
        images = dict.fromkeys(("a.jpg", "b.jpg", "c.jpg"), scene(240, 320))
        for path in paths:
            with Image.open(path) as opened:
                images[path.name] = np.asarray(opened.convert("RGB"))[::2, ::2]
        for picture, image in images.items():
            falls = [psnr(image, made(image, name, each, picture)) for each in SEVERITIES]
            assert all(one > other for one, other in itertools.pairwise(falls)), falls

    def test_is_the_same_for_the_same_seed_picture_and_severity(self, name) -> None:
        image = scene()
        first = [made(image, name, severity) for severity in SEVERITIES]
        for severity in reversed(SEVERITIES):
            np.testing.assert_array_equal(made(image, name, severity), first[severity - 1])


@pytest.mark.parametrize(
    "name",
    ["motion_blur", "glass_blur", "gaussian_noise", "packet_loss", "occlusion", "screen_crack"],
)
def test_what_is_random_differs_between_pictures_and_seeds(name) -> None:
    image = scene()
    one = made(image, name, 3)
    assert (one != made(image, name, 3, "b.jpg")).any()
    assert (one != made(image, name, 3, seed=1)).any()


class TestRefuses:
    @pytest.mark.parametrize(
        ("image", "words"),
        [
            (np.zeros((4, 4)), "float64"),
            ([[0]], "list"),
            (np.zeros((4, 4, 4), np.uint8), r"shape \(4, 4, 4\)"),
            (np.zeros((0, 4), np.uint8), r"shape \(0, 4\)"),
            (np.zeros(4, np.uint8), r"shape \(4,\)"),
        ],
    )
    def test_what_is_no_picture(self, image, words) -> None:
        with pytest.raises(InputError, match=words):
            corrupt(image, "occlusion", 1)

    def test_an_unknown_severity_and_a_group(self) -> None:
        with pytest.raises(InputError, match="severity 6: not known; give 1, 2, 3, 4 or 5"):
            corrupt(scene(), "occlusion", 6)
        with pytest.raises(InputError, match="'EI' is a group of corruptions"):
            corrupt(scene(), "EI", 1)

    def test_a_missing_library_by_the_name_that_installs_it(self, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "cv2", None)
        with pytest.raises(
            InputError, match=r"need opencv-python-headless, .* pip install 'diaghoi\[robustness\]"
        ):
            corrupt(scene(), "pixelation", 1)


def point(size: int = 101) -> Picture:
    """One white pixel in the middle of a black picture."""
    image = np.zeros((size, size, 1), dtype=np.uint8)
    image[size // 2, size // 2] = 255
    return image


class TestOptical:
    def test_motion_blur_draws_a_point_out_to_a_line_of_its_length(self) -> None:
        line = of("motion_blur", point(), length=21.0)[..., 0].astype(float)
        assert line.sum() == pytest.approx(255, rel=0.1)
        y, x = np.nonzero(line)
        across, along = np.sort(np.linalg.eigvalsh(np.cov(np.stack([x, y]))))
        assert across < 0.5
        assert np.sqrt(12 * along) == pytest.approx(21, abs=2)

    def test_defocus_blur_spreads_a_point_over_a_disc_of_its_radius(self) -> None:
        disc = of("defocus_blur", point(), radius=4.0)[..., 0]
        assert np.count_nonzero(disc) == pytest.approx(np.pi * 4**2, rel=0.25)
        assert np.ptp(disc[48:53, 48:53]) == 0
        assert (disc[50, 46] > 0, disc[50, 45] > 0, disc[47, 46] > 0) == (True, False, False)

    def test_gaussian_blur_has_its_standard_deviation(self) -> None:
        edge = np.where(np.arange(101) < 50, 0, 255).astype(np.uint8) * np.ones((9, 1), np.uint8)
        steps = np.diff(of("gaussian_blur", edge[..., None], deviation=3.0)[4, :, 0].astype(float))
        offsets = np.arange(100) - 49
        assert np.sqrt((steps * offsets**2).sum() / 255) == pytest.approx(3, rel=0.03)

    def test_glass_blur_moves_pixels_no_farther_than_its_displacements(self) -> None:
        blur = of("glass_blur", point(), displacement=3.0, passes=2, deviation=0.0)[..., 0]
        y, x = np.nonzero(blur)
        assert max(np.abs(x - 50).max(), np.abs(y - 50).max()) <= 6
        edge = np.where(np.arange(100) < 50, 0, 255).astype(np.uint8) * np.ones((100, 1), np.uint8)
        moved = of("glass_blur", edge[..., None], displacement=3.0, passes=1, deviation=0.0)
        assert set(np.unique(moved)) == {0, 255}
        assert 0 < moved[:, 48].mean() < 255
        assert not moved[:, 46].any()


class TestSensor:
    grey = np.full((200, 200, 1), 128, dtype=np.uint8)

    def test_gaussian_noise_has_its_standard_deviation(self) -> None:
        noisy = of("gaussian_noise", self.grey, deviation=0.1)
        assert noisy.std() == pytest.approx(25.5, rel=0.03)
        assert noisy.mean() == pytest.approx(128, abs=0.5)

    def test_shot_noise_counts_photons(self) -> None:
        noisy = of("shot_noise", self.grey, photons=50.0)
        assert noisy.var() == pytest.approx(128 * 255 / 50, rel=0.05)
        assert not of("shot_noise", np.zeros_like(self.grey), photons=50.0).any()

    def test_salt_and_pepper_turns_its_share_of_whole_pixels(self) -> None:
        noisy = of("salt_and_pepper_noise", np.repeat(self.grey, 3, axis=2), share=0.2)
        assert (noisy == noisy[..., :1]).all()
        assert (noisy == 0).mean() == pytest.approx(0.1, abs=0.01)
        assert (noisy == 255).mean() == pytest.approx(0.1, abs=0.01)

    def test_speckle_noise_multiplies(self) -> None:
        for value in (50, 200):
            noisy = of("speckle_noise", np.full_like(self.grey, value), deviation=0.2)
            assert noisy.std() == pytest.approx(0.2 * value, rel=0.03)


class TestTransmission:
    def test_jpeg_keeps_the_order_of_the_colours(self) -> None:
        red = np.full((32, 32, 3), (200, 30, 60), dtype=np.uint8)
        np.testing.assert_allclose(of("jpeg_artifacts", red, quality=30.0)[8, 8], red[0, 0], atol=9)

    def test_packet_loss_conceals_whole_runs_of_blocks(self) -> None:
        image = scene(160, 320)
        lost = of("packet_loss", image, packets=1, length=0.5, rows=1)
        rows = np.flatnonzero((lost != image).any(axis=(1, 2)))
        assert len(rows) <= 16
        assert rows[0] // 16 == rows[-1] // 16
        np.testing.assert_array_equal(np.delete(lost, rows, axis=0), np.delete(image, rows, axis=0))

    def test_packets_are_missing_repeated_or_drawn_out(self) -> None:
        image = scene(160, 320)
        kinds = set()
        for seed in range(12):
            lost = of("packet_loss", image, seed, packets=1, length=0.5, rows=1)
            area = lost[(lost != image).any(axis=2)]
            if (area == 128).all():
                kinds.add("missing")
            else:
                y = np.flatnonzero((lost != image).any(axis=(1, 2)))
                x = np.flatnonzero((lost != image).any(axis=(0, 2)))
                block = lost[y[0] : y[-1] + 1, x[0] : x[-1] + 1]
                kinds.add("drawn out" if (block == block[0]).all() else "repeated")
        assert kinds == {"missing", "drawn out", "repeated"}


class TestEnvironment:
    def test_exposure_multiplies_light_and_goes_either_way(self) -> None:
        image = np.full((2, 2, 1), 188, dtype=np.uint8)  # half of the light of white
        values = {int(of("exposure", image, seed, stops=1.0)[0, 0, 0]) for seed in range(20)}
        assert values == {255, 137}

    def test_rainbow_moves_red_and_blue_apart(self) -> None:
        image = np.repeat(point(), 3, axis=2)
        moved = of("rainbow_effect", image, shift=6.0, width=60.0, opacity=0.0)
        places = [
            np.array([(moved[..., c].sum(axis=a) @ np.arange(101)) for a in (0, 1)])
            / moved[..., c].sum()
            for c in range(3)
        ]
        np.testing.assert_allclose(places[1], 50, atol=0.01)
        assert np.hypot(*(places[0] - 50)) == pytest.approx(6, abs=0.1)
        np.testing.assert_allclose(places[0] + places[2], 100, atol=0.1)

    def test_rainbow_colours_grey_pictures(self) -> None:
        coloured = of("rainbow_effect", point(), shift=0.0, width=20.0, opacity=0.5)
        assert coloured.shape == (101, 101, 3)
        assert np.ptp(coloured, axis=2).max() > 60

    def test_occlusion_covers_its_share_with_black(self) -> None:
        image = np.full((300, 400, 3), 200, dtype=np.uint8)
        hidden = of("occlusion", image, rectangles=1, cover=0.2)
        assert set(np.unique(hidden)) == {0, 200}
        assert (hidden == 0).mean() == pytest.approx(0.2, abs=0.005)
        rows, columns = (np.flatnonzero((hidden[..., 0] == 0).any(axis=axis)) for axis in (1, 0))
        assert (hidden[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] == 0).all()

    def test_vignette_darkens_the_corners_and_not_the_middle(self) -> None:
        image = np.full((301, 401, 1), 200, dtype=np.uint8)
        dark = of("vignette_effect", image, darkening=0.6, clear=0.5)[..., 0]
        assert dark[150, 200] == dark[150, 300] == 200
        np.testing.assert_allclose(dark[[0, 0, -1, -1], [0, -1, 0, -1]], 80, atol=1)
        assert (np.diff(dark[150, 200:]) <= 0).all()


class TestScene:
    def test_moire_waves_about_the_picture_in_its_period(self) -> None:
        image = np.full((256, 256, 1), 128, dtype=np.uint8)
        waves = of("moire_pattern", image, contrast=0.2, period=16.0)[..., 0] - 128.0
        assert abs(waves.mean()) < 5
        assert 40 < np.abs(waves).max() <= 51 + 1e-3
        spectrum = np.abs(np.fft.fft2(waves))
        y, x = np.unravel_index(spectrum.argmax(), spectrum.shape)
        assert np.hypot(min(y, 256 - y), min(x, 256 - x)) == pytest.approx(16, abs=6)

    def test_cracks_reach_out_from_their_impacts(self) -> None:
        image = np.full((200, 300, 1), 128, dtype=np.uint8)
        parameters = {"impacts": 1, "rays": 9, "reach": 0.3, "width": 1.0}
        dark = of("screen_crack", image, glare=0.0, **parameters) < 60
        assert 0.002 < dark.mean() < 0.15
        glaring = of("screen_crack", image, glare=0.6, **parameters)
        assert (glaring > 150).mean() > (
            of("screen_crack", image, glare=0.0, **parameters) > 150
        ).mean()

    def test_elastic_moves_points_as_far_as_it_says(self) -> None:
        x = np.broadcast_to(np.arange(200, dtype=np.uint8), (200, 200))
        ramps = np.stack([x, x.T, x], axis=2)
        moved = of("elastic_transform", np.ascontiguousarray(ramps), displacement=4.0, scale=10.0)
        inner = (slice(30, -30), slice(30, -30))
        steps = (moved.astype(float) - ramps)[inner][..., :2]
        assert np.sqrt((steps**2).sum(axis=2).mean()) == pytest.approx(4, rel=0.25)

    def test_perspective_shows_one_side_shorter_and_black_outside(self) -> None:
        image = np.full((200, 200, 1), 255, dtype=np.uint8)
        seen = of("perspective_distortion", image, tilt=0.4, curvature=0.0)[..., 0] > 127
        lengths = [seen[:, 0].sum(), seen[0].sum(), seen[:, -1].sum(), seen[-1].sum()]
        assert max(lengths) == pytest.approx(200, abs=2)
        near = int(np.argmax(lengths))
        turned = np.rot90(seen, near)  # the near side is now on the left
        columns = turned.sum(axis=0)
        assert np.count_nonzero(columns > 2) == pytest.approx(180, abs=3)
        assert columns[175] == pytest.approx(120, abs=6)
        assert (np.diff(columns.astype(int)) <= 0).all()

    def test_boxes_around_moved_objects_mostly_stay(self) -> None:
        """Boxes are not moved, and the detectors of table 3 keep 75 to 78 % of their score."""
        rng = np.random.default_rng(3)
        kept = []
        for number in range(60):
            size = np.array([640, 480])
            extent = size * rng.uniform(0.04, 0.3, 2)
            corner = (size - extent) * rng.random(2)
            box = np.concatenate([corner, corner + extent - 1]).astype(int)
            image = np.zeros((480, 640, 1), dtype=np.uint8)
            image[box[1] : box[3] + 1, box[0] : box[2] + 1] = 255
            kept.append([_overlap(box, image, severity, number) for severity in SEVERITIES])
        shares = (np.array(kept) >= 0.5).mean(axis=0)
        # Both boxes of a pair must stay: of two that move alone, the square of the share.
        assert (shares**2).mean() >= 0.75
        assert shares[-1] < 1

    def test_the_lens_bends_either_way(self) -> None:
        image = np.full((200, 200, 1), 255, dtype=np.uint8)
        black = {
            bool(of("perspective_distortion", image, seed, tilt=0.0, curvature=0.2)[0, 0, 0] == 0)
            for seed in range(10)
        }
        assert black == {True, False}

    def test_pixelation_makes_blocks_of_one_colour(self) -> None:
        image = scene(120, 160)
        blocks = of("pixelation", image, block=8.0).reshape(15, 8, 20, 8, 3)
        assert (blocks == blocks[:, :1, :, :1]).all()
        expected = image.reshape(15, 8, 20, 8, 3).mean(axis=(1, 3))
        np.testing.assert_allclose(blocks[:, 0, :, 0], expected, atol=0.51)

    def test_zoom_blur_streaks_outwards_from_a_sharp_middle(self) -> None:
        image = np.zeros((101, 101, 1), dtype=np.uint8)
        image[50, 50] = image[50, 80] = 255
        streaks = of("zoom_blur", image, zoom=0.3, layers=30)[..., 0]
        assert streaks[50, 50] > 150
        bright = np.flatnonzero(streaks[50, 60:] > 1) + 60
        assert bright[0] >= 79
        assert bright[-1] == pytest.approx(50 + 30 * 1.3, abs=1.5)
        assert streaks[:40].max() == 0
