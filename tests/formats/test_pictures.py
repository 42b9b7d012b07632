"""Finding and reading pictures: names that annotation and prediction files give, damaged files."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from diaghoi.exceptions import InputError
from diaghoi.formats.pictures import (
    DAMAGED,
    MISSING,
    RESHAPED,
    UNSAFE,
    Pictures,
    leads_outside,
)


@pytest.fixture
def folder(tmp_path):
    """A folder for pictures, beside something that must not be found."""
    (tmp_path / "secret.png").write_bytes(b"x")
    inside = tmp_path / "images"
    inside.mkdir()
    return inside


def put(path, size=(40, 30), ink=(200, 100, 50), **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, ink).save(path, **how)
    return path


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("HICO_test2015_00000001.jpg", "HICO_test2015_00000001.jpg"),
        ("test2015/HICO_test2015_00000001.jpg", "HICO_test2015_00000001.jpg"),
        ("val/1.png", "val/1.png"),
        ("165", "COCO_val2014_000000000165.jpg"),
        ("165", "COCO_train2014_000000000165.jpg"),
        ("165", "000000000165.jpg"),
        ("165", "165.png"),
        ("000000000165", "COCO_val2014_000000000165.jpg"),
        ("COCO_val2014_000000000165.jpg", "000000000165.jpg"),
        ("COCO_train2014_000000000165.jpg", "COCO_train2014_000000000165.jpg"),
        ("zwölf", "zwölf.jpeg"),
    ],
)
def test_names(folder, name, file) -> None:
    path = put(folder / file)
    assert Pictures(folder).find(name) == path
    assert Pictures(folder).read(name, (40, 30)).problem == ""


@pytest.mark.parametrize("name", ["166", "1650", "²", "x.jpg", "HICO", "a" * 5000, "a\udfff.jpg"])
def test_names_of_nothing(folder, name) -> None:
    put(folder / "COCO_val2014_000000000165.jpg")
    assert Pictures(folder).find(name) is None
    picture = Pictures(folder).read(name)
    assert (picture.image, picture.problem) == (None, MISSING)
    assert picture.reason == f"not in {folder}"


OUTSIDE = ["../secret.png", "a/../../secret.png", "/etc/passwd", "..", "..\\secret.png", "a\0.jpg"]
OUTSIDE += ["C:\\secret.png", "C:secret.png", "\\\\host\\share\\secret.png"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_cannot_lead_outside(folder, name) -> None:
    put(folder / "secret.png")  # also not by taking the last part of the name alone
    assert leads_outside(name)
    assert Pictures(folder).find(name) is None
    picture = Pictures(folder).read(name)
    assert (picture.image, picture.problem) == (None, UNSAFE)
    assert "leads out of the folder" in picture.reason


def test_an_absolute_name_of_a_real_picture_is_not_read(folder) -> None:
    assert Pictures(folder).read(str(put(folder.parent / "outside.png"))).image is None


def test_an_image_without_a_name(folder) -> None:
    picture = Pictures(folder).read("")
    assert (picture.problem, picture.reason) == (MISSING, "the image has no name")


def test_colours_are_kept_and_large_pictures_made_smaller(folder) -> None:
    put(folder / "a.png", (400, 200))
    image = Pictures(folder, longest=100).read("a.png", (400, 200)).image
    assert image.shape == (50, 100, 3)
    assert image[10, 10].tolist() == [200, 100, 50]


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1", "LA"])
def test_any_kind_of_picture_becomes_red_green_blue(folder, mode) -> None:
    suffix = "jpg" if mode == "CMYK" else "png"
    Image.new(mode, (40, 30)).save(folder / f"a.{suffix}")
    image = Pictures(folder).read(f"a.{suffix}").image
    assert (image.shape, image.dtype) == ((30, 40, 3), np.uint8)


@pytest.mark.parametrize("content", ["empty", "text", "cut", "other"])
def test_damaged_pictures_are_named_and_not_shown(folder, content) -> None:
    path = put(folder / "a.jpg", (400, 300))
    whole = path.read_bytes()
    contents = {"empty": b"", "text": b"hello" * 100, "cut": whole[: len(whole) // 2]}
    contents["other"] = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"
    path.write_bytes(contents[content])
    picture = Pictures(folder).read("a.jpg")
    assert (picture.image, picture.problem) == (None, DAMAGED)
    assert picture.reason.startswith("cannot be read (")
    assert str(folder) not in picture.reason


def test_a_picture_so_large_that_it_may_be_an_attack_is_not_read(folder, monkeypatch) -> None:
    put(folder / "a.png", (400, 300))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100_000)
    assert Pictures(folder).read("a.png").problem == DAMAGED


def test_a_picture_of_another_shape_is_shown_and_told(folder) -> None:
    put(folder / "a.png", (40, 30))
    picture = Pictures(folder).read("a.png", (640, 360))
    assert picture.problem == RESHAPED
    assert picture.image is not None
    assert picture.reason == "is 40 x 30 pixels and annotated as 640 x 360"
    # A smaller copy has the same shape.
    assert Pictures(folder).read("a.png", (640, 480)).problem == ""
    assert Pictures(folder).read("a.png").problem == ""


def test_a_picture_that_the_camera_turned_is_shown_as_it_was_annotated(folder) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    put(folder / "a.jpg", (40, 30), exif=exif)
    turned = Pictures(folder).read("a.jpg", (30, 40))
    assert (turned.image.shape, turned.problem) == ((40, 30, 3), "")
    stored = Pictures(folder).read("a.jpg", (40, 30))
    assert (stored.image.shape, stored.problem) == ((30, 40, 3), "")


def test_the_folder_must_be_there(folder) -> None:
    with pytest.raises(InputError, match="no such folder; give the folder with the pict"):
        Pictures(folder / "none")
    with pytest.raises(InputError, match="is a file; give the folder"):
        Pictures(put(folder / "a.png"))
