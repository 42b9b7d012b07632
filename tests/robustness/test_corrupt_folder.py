"""A folder of pictures: the same result in any order, going on, files as they were."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms

from diaghoi.engines.engine import LOST, Failure, LocalEngine, Task
from diaghoi.exceptions import InputError
from diaghoi.formats.pictures import ORIENTATION
from diaghoi.robustness import corrupt as module
from diaghoi.robustness.corrupt import CorruptedFolder, corrupt_folder, picture_names
from diaghoi.robustness.corruptions import CORRUPTIONS

pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'diaghoi[robustness]'")

FEW = ("motion_blur", "shot_noise", "occlusion")


def save(path: Path, seed: int = 0, size: tuple[int, int] = (40, 30), **options: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    Image.fromarray(noise).resize(size).save(path, **options)
    return path


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Three pictures, one of them in a subfolder."""
    for seed, name in enumerate(("one.jpg", "two.PNG", "more/three.jpeg")):
        save(tmp_path / "images" / name, seed)
    return tmp_path / "images"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def made(folder: Path, name: str, corruption: str = "occlusion", severity: int = 1) -> Path:
    """Corrupt the pictures of a folder in one way, and return what becomes of one of them."""
    corrupt_folder(folder / "images", folder / "out", [corruption], [severity])
    return folder / "out" / corruption / str(severity) / name


class TestSame:
    @pytest.mark.slow
    def test_whatever_the_number_of_workers(self, images: Path, tmp_path: Path) -> None:
        for workers in (1, 2):
            corrupt_folder(images, tmp_path / str(workers), FEW, (1, 4), workers=workers)
        one = contents(tmp_path / "1")
        assert len(one) == 3 * len(FEW) * 2 + 1
        assert contents(tmp_path / "2") == one

    def test_whatever_the_order_and_the_other_pictures(self, images: Path, tmp_path: Path) -> None:
        corrupt_folder(images, tmp_path / "all", FEW, (2, 3))
        (tmp_path / "alone").mkdir()
        shutil.copy(images / "more" / "three.jpeg", tmp_path / "alone")
        for name in reversed(FEW):
            for severity in (3, 2):
                corrupt_folder(tmp_path / "alone", tmp_path / "out", [name], [severity])
        several, alone = contents(tmp_path / "all"), contents(tmp_path / "out")
        for folder in (f"{name}/{severity}/" for name in FEW for severity in (2, 3)):
            assert several[folder + "more/three.jpeg"] == alone[folder + "three.jpeg"]

    def test_and_another_seed_gives_others(self, images: Path, tmp_path: Path) -> None:
        for seed in (0, 1):
            corrupt_folder(images, tmp_path / str(seed), ["occlusion"], [3], seed=seed)
        one, other = contents(tmp_path / "0"), contents(tmp_path / "1")
        assert one["occlusion/3/two.PNG"] != other["occlusion/3/two.PNG"]


class TestFiles:
    def test_names_and_sizes_stay(self, images: Path, tmp_path: Path) -> None:
        (images / "notes.txt").write_text("")
        save(images / "._one.jpg")  # hidden files are no pictures
        done = corrupt_folder(images, tmp_path / "out", severities=[5])
        assert done == CorruptedFolder(pictures=3, written=60, kept=0, damaged={}, notes=())
        for name in CORRUPTIONS:
            folder = tmp_path / "out" / name / "5"
            assert picture_names(folder) == ["more/three.jpeg", "one.jpg", "two.PNG"]
            for picture in picture_names(folder):
                with Image.open(folder / picture) as worse:
                    assert worse.size == (40, 30)

    @pytest.mark.parametrize(
        ("name", "kind"), [("a.jpg", "JPEG"), ("a.png", "PNG"), ("png.jpg", "PNG")]
    )
    def test_kinds_stay_whatever_the_name_says(self, tmp_path: Path, name, kind) -> None:
        save(tmp_path / "images" / name, format=kind)
        with Image.open(made(tmp_path, name)) as worse:
            assert worse.format == kind

    @pytest.mark.parametrize(
        ("mode", "stays"),
        [("L", "L"), ("1", "L"), ("LA", "L"), ("RGB", "RGB"), ("RGBA", "RGB"), ("P", "RGB")],
    )
    def test_grey_stays_grey_and_others_become_colours(self, tmp_path: Path, mode, stays) -> None:
        (tmp_path / "images").mkdir()
        Image.linear_gradient("L").convert(mode).save(tmp_path / "images" / "a.png")
        with Image.open(made(tmp_path, "a.png", "rainbow_effect", 3)) as worse:
            assert worse.mode == stays

    def test_inks_become_colours_without_their_profile(self, tmp_path: Path) -> None:
        (tmp_path / "images").mkdir()
        inks = Image.new("CMYK", (20, 10), (0, 200, 200, 0))
        inks.save(tmp_path / "images" / "a.jpg", icc_profile=b"for inks")
        with Image.open(made(tmp_path, "a.jpg", "gaussian_blur")) as worse:
            assert worse.mode == "RGB"
            assert "icc_profile" not in worse.info
            assert worse.getpixel((5, 5))[0] > 200

    @pytest.mark.parametrize("name", ["a.jpg", "a.png"])
    def test_the_orientation_is_left_alone(self, tmp_path: Path, name) -> None:
        exif = Image.Exif()
        exif[ORIENTATION] = 6
        source = save(tmp_path / "images" / name, exif=exif)
        with Image.open(made(tmp_path, name, "gaussian_blur")) as worse:
            assert worse.getexif()[ORIENTATION] == 6
            assert worse.size == (40, 30)
            with Image.open(source) as clean:
                apart = np.abs(np.asarray(worse, float) - np.asarray(clean, float))
        assert apart.mean() < 8

    @pytest.mark.parametrize("turn", [0, 9, 70_000])
    def test_an_orientation_that_is_none_is_left_out(self, tmp_path: Path, turn: int) -> None:
        entry = struct.pack(">HHHII", 1, ORIENTATION, 4, 1, turn)  # one entry, a long number
        save(tmp_path / "images" / "a.jpg", exif=b"Exif\0\0MM\0*\0\0\0\x08" + entry + bytes(4))
        with Image.open(made(tmp_path, "a.jpg")) as worse:
            assert ORIENTATION not in worse.getexif()

    def test_the_colour_profile_stays(self, tmp_path: Path) -> None:
        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
        save(tmp_path / "images" / "a.jpg", icc_profile=profile)
        with Image.open(made(tmp_path, "a.jpg")) as worse:
            assert worse.info["icc_profile"] == profile

    def test_the_file_adds_little_to_the_corruption(self, tmp_path: Path) -> None:
        save(tmp_path / "images" / "a.jpg", quality=100)
        save(tmp_path / "images" / "a.png")
        made(tmp_path, "a.jpg", "pixelation")
        files = sorted((tmp_path / "out" / "pixelation").rglob("a.*"))
        jpeg, png = (np.asarray(Image.open(file), float) for file in files)
        assert np.abs(jpeg - png).mean() < 3

    def test_multi_picture_files_of_cameras_are_jpeg(self, tmp_path: Path) -> None:
        (tmp_path / "images").mkdir()
        first, second = (Image.new("RGB", (20, 10), (value, 90, 90)) for value in (10, 200))
        file = tmp_path / "images" / "a.jpg"
        first.save(file, format="MPO", save_all=True, append_images=[second])
        with Image.open(made(tmp_path, "a.jpg", "gaussian_blur")) as worse:
            assert worse.format == "JPEG"
            assert abs(worse.getpixel((5, 5))[0] - 10) < 5

    @pytest.mark.parametrize("header", [b"II*\0\x08\0\0\0\xff\xff\0\0", b"neither order of bytes"])
    def test_headers_that_viewers_pass_over_do_not_matter(self, tmp_path: Path, header) -> None:
        save(tmp_path / "images" / "a.jpg", exif=b"Exif\0\0" + header)
        assert made(tmp_path, "a.jpg").is_file()


class TestDamaged:
    def test_pictures_are_named_and_the_others_made(self, images: Path, tmp_path: Path) -> None:
        (images / "text.jpg").write_text("no picture")
        (images / "empty.png").write_bytes(b"")
        half = (images / "one.jpg").read_bytes()
        (images / "half.jpg").write_bytes(half[: len(half) // 2])
        Image.new("I;16", (4, 4)).save(images / "deep.png")
        Image.new("RGB", (4, 4)).save(images / "webp.jpg", format="WEBP")
        save(images / "long.png", size=(33_000, 1))
        done = corrupt_folder(images, tmp_path / "out", ["occlusion"], [1, 2])
        assert (done.pictures, done.written) == (9, 6)
        assert "truncated" in done.damaged.pop("half.jpg").lower()
        assert done.damaged == {
            "deep.png": "has pixels of the kind 'I;16', not of 8 bits per channel",
            "empty.png": "is neither JPEG nor PNG",
            "long.png": "is 33000 x 1 pixels, more than 32766 per side",
            "text.jpg": "is neither JPEG nor PNG",
            "webp.jpg": "is neither JPEG nor PNG",
        }
        folder = tmp_path / "out" / "occlusion" / "1"
        assert picture_names(folder) == ["more/three.jpeg", "one.jpg", "two.PNG"]

    def test_pictures_so_large_that_they_may_be_an_attack(self, images, tmp_path, monkeypatch):
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
        done = corrupt_folder(images, tmp_path / "out", ["occlusion"], [1])
        assert done.written == 0
        assert "decompression bomb" in done.damaged["one.jpg"]


class TestGoingOn:
    def test_makes_what_is_missing_alone(self, images: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        corrupt_folder(images, out, FEW, (1, 2))
        before = contents(out)
        times = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
        missing = out / "shot_noise" / "2" / "one.jpg"
        missing.unlink()
        done = corrupt_folder(images, out, FEW, (1, 2))
        assert (done.written, done.kept) == (1, 17)
        assert contents(out) == before
        assert {p for p, t in times.items() if p.stat().st_mtime_ns != t} <= {missing}

    def test_makes_changed_pictures_again(self, images: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        corrupt_folder(images, out, ["exposure"], [1])
        before = contents(out)
        source = save(images / "two.PNG", seed=9)
        later = time.time() + 5
        os.utime(source, (later, later))
        done = corrupt_folder(images, out, ["exposure"], [1])
        assert (done.written, done.kept) == (1, 2)
        changed = {name for name, data in contents(out).items() if data != before[name]}
        assert changed == {"exposure/1/two.PNG"}

    @pytest.mark.slow
    def test_after_it_was_killed_without_half_written_files(self, tmp_path: Path) -> None:
        for seed in range(8):
            save(tmp_path / "images" / f"{seed}.png", seed, size=(160, 120))
        whole, out = tmp_path / "whole", tmp_path / "out"
        command = [sys.executable, "-m", "diaghoi", "robustness", "corrupt"]
        command += [str(tmp_path / "images"), str(out)]
        command += ["--corruption", "EI", "--workers", "1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            while run.poll() is None and len(list(out.rglob("[!.]*.png"))) < 5:
                time.sleep(0.005)
            run.send_signal(signal.SIGKILL)
            run.wait()
        finished = list(out.rglob("[!.]*.png"))
        assert 5 <= len(finished) < 160
        for path in finished:
            with Image.open(path) as picture:
                picture.load()
        done = corrupt_folder(tmp_path / "images", out, ["EI"])
        assert done.kept == len(finished)
        assert done.written == 160 - len(finished)
        corrupt_folder(tmp_path / "images", whole, ["EI"])
        left = {name: data for name, data in contents(out).items() if "/." not in name}
        assert left == contents(whole)

    def test_removes_old_leftovers_and_leaves_the_files_of_other_runs(self, images, tmp_path):
        out = tmp_path / "out"
        corrupt_folder(images, out, ["exposure"], [1])
        old, new = (out / "exposure" / "1" / f".one.0123456{n}.jpg" for n in (7, 8))
        hidden = old.with_name(".mine.jpg")
        for path in (old, new, hidden):
            path.write_bytes(b"half")
        os.utime(old, (1, 1))
        os.utime(hidden, (1, 1))
        corrupt_folder(images, out, ["exposure"], [1])
        assert (old.exists(), new.exists(), hidden.exists()) == (False, True, True)

    def test_refuses_another_seed_and_other_strengths(self, images, tmp_path, monkeypatch) -> None:
        choices = (images, tmp_path / "out", ["occlusion"], [1])
        corrupt_folder(*choices, seed=3)
        with pytest.raises(InputError, match="was made with seed 3, not 0; use the same"):
            corrupt_folder(*choices)
        monkeypatch.setattr(module, "strengths_digest", lambda: "other")
        with pytest.raises(InputError, match=r"was made with strengths '.*', not 'other'"):
            corrupt_folder(*choices, seed=3)

    def test_notes_other_libraries(self, images: Path, tmp_path: Path) -> None:
        corrupt_folder(images, tmp_path / "out", ["occlusion"], [1])
        file = tmp_path / "out" / "corruptions.json"
        record = json.loads(file.read_text())
        for libraries, words in (({"numpy": "1.0"}, "with {numpy: 1.0} and"), (None, "with null")):
            file.write_text(json.dumps(record | {"libraries": libraries}))
            (note,) = corrupt_folder(images, tmp_path / "out", ["occlusion"], [1]).notes
            assert words in note

    def test_a_folder_in_the_place_of_a_picture_is_not_kept(self, images, tmp_path: Path) -> None:
        corrupt_folder(images, tmp_path / "out", ["occlusion"], [1])
        picture = tmp_path / "out" / "occlusion" / "1" / "one.jpg"
        picture.unlink()
        picture.mkdir()
        with pytest.raises(InputError, match=r"one\.jpg: cannot be written: it is a folder"):
            corrupt_folder(images, tmp_path / "out", ["occlusion"], [1])

    @pytest.mark.parametrize("text", ["{", "[]", "{}", "[" * 100_000])
    def test_refuses_a_record_that_is_none(self, images: Path, tmp_path: Path, text) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "corruptions.json").write_text(text)
        with pytest.raises(InputError, match=r"corruptions.json: is not a record of"):
            corrupt_folder(images, tmp_path / "out", ["occlusion"], [1])

    def test_refuses_pictures_of_unknown_origin(self, images: Path, tmp_path: Path) -> None:
        save(tmp_path / "out" / "occlusion" / "1" / "one.jpg")
        with pytest.raises(InputError, match=r"occlusion/1: exists, but .* does not state how"):
            corrupt_folder(images, tmp_path / "out", ["occlusion"], [1])


class TestRefuses:
    @pytest.mark.parametrize(
        ("folder", "out", "choices", "words"),
        [
            ("none", "out", {}, "there is no such folder"),
            ("images/one.jpg", "out", {}, "is a file"),
            ("empty", "out", {}, "has no pictures; give a folder with .jpg, .jpeg, .png"),
            ("images", "file/out", {}, "file/out: cannot be created: Not a directory"),
            ("images", "images", {}, "is in the folder with the pictures"),
            ("images", "images/worse", {}, "is in the folder with the pictures"),
            ("exposure/1", ".", {"corruptions": ["exposure"]}, r"is inside the output folder"),
            ("images", "out", {"severities": [0]}, "severity 0"),
            ("images", "out", {"severities": []}, "severity none"),
            ("images", "out", {"workers": 0}, "0 workers: give 1 or more"),
        ],
    )
    def test_folders_and_choices(self, images: Path, folder, out, choices, words) -> None:
        (images.parent / "file").write_text("")
        (images.parent / "empty").mkdir()
        save(images.parent / "exposure" / "1" / "a.jpg")
        with pytest.raises(InputError, match=words):
            corrupt_folder(images.parent / folder, images.parent / out, **choices)
        assert not (images.parent / "out").exists()

    def test_a_full_disk_stops_the_run(self, images: Path, tmp_path: Path, monkeypatch) -> None:
        def full(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Image.Image, "save", full)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            corrupt_folder(images, tmp_path / "out", ["occlusion"], [1])
        assert not list((tmp_path / "out" / "occlusion").rglob("*.*"))

    def test_a_worker_that_was_killed(self, images: Path, tmp_path: Path, monkeypatch) -> None:
        def lost(_: LocalEngine, tasks: list[Task]):
            yield tasks[0].key, Failure(LOST)

        monkeypatch.setattr(LocalEngine, "run", lost)
        with pytest.raises(
            InputError, match=r"images/.*: the worker ended, or ran out of memory, .* times"
        ):
            corrupt_folder(images, tmp_path / "out", ["occlusion"], [1], workers=2)
