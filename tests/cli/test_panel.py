"""``diaghoi panel``: pictures in rows and columns, for a paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("cv2")

FAR = [400.0, 300.0, 450.0, 350.0]
HOLD = 36
SIZE = (640, 480)


@pytest.fixture
def images(alone: Path) -> Path:
    """Both pictures of the small data set."""
    folder = alone / "images"
    folder.mkdir()
    for name, grey in (("one.jpg", 90), ("two.jpg", 160)):
        Image.new("RGB", SIZE, (grey, 120, 150)).save(folder / name)
    return folder


@pytest.fixture
def files(save, truth, found, images) -> dict[str, Any]:
    """Two models; the first image of the first has a wrong object box, that of the second none."""
    truth[0]["hoi_annotation"].append({"subject_id": 0, "object_id": 1, "category_id": HOLD})
    better = [dict(each, hoi_prediction=list(each["hoi_prediction"])) for each in found]
    better[0]["hoi_prediction"].append(
        {"subject_id": 0, "object_id": 1, "category_id": HOLD, "score": 0.4, "action_score": 0.4}
    )
    found[0]["predictions"].append({"bbox": FAR, "category_id": 1})
    found[0]["hoi_prediction"].append(
        {"subject_id": 0, "object_id": 2, "category_id": 76, "score": 0.75, "action_score": 0.7}
    )
    return {
        "first": save("first.pkl", found),
        "second": save("second.pkl", better),
        "words": ("--annotations", save("gt.pkl", truth), "--images", images),
    }


def texts(path: Path) -> list[str]:
    """The texts of an SVG file, in their order."""
    found = re.findall(r"<text [^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))
    return [text.replace("&quot;", '"') for text in found]


def pictures(path: Path) -> int:
    return len(re.findall("<image ", path.read_text(encoding="utf-8")))


# Errors.


def test_a_picture_for_each_error(run, files, alone) -> None:
    done = run("panel", "errors", files["first"], *files["words"], "--out", "p.svg")
    assert done.code == 0
    assert "Wrote p.svg" in done.err
    shown = texts(alone / "p.svg")
    assert "ride bicycle 0.75" in shown
    assert [each for each in shown if each in ("Object box", "Missed triplet")]
    assert "no case of" in done.err
    assert "human_box" in done.err
    assert shown[-2:] == ["prediction, coloured by its error", "annotation"]


@pytest.mark.parametrize(("column", "pixels"), [("single", 975), ("double", 2062)])
def test_figures_have_the_width_of_a_column(run, files, alone, column, pixels) -> None:
    words = ("panel", "errors", files["first"], *files["words"], "--column", column)
    assert run(*words, "--out", "p.png").code == 0
    with Image.open(alone / "p.png") as image:
        assert image.width == pixels


def test_one_error_before_and_after_its_repair(run, files, alone) -> None:
    words = ("--error", "object_box", "--repairs", "--out", "p.svg")
    done = run("panel", "errors", files["first"], *files["words"], *words)
    assert (done.code, pictures(alone / "p.svg")) == (0, 2)
    shown = texts(alone / "p.svg")
    # What is repaired takes the place of a weaker true positive.
    assert shown.index("Object box") < shown.index("Repaired") < shown.index("annotation")
    assert shown.count("ride bicycle") == 1


def test_errors_that_are_removed_and_not_counted(run, files, save, truth, found, alone) -> None:
    found[1]["hoi_prediction"].append(found[1]["hoi_prediction"][0] | {"score": 0.3})
    found[0]["hoi_prediction"] = []
    both = save("both.pkl", found)
    words = ("--error", "duplicate,missed_gt", "--repairs", "--out", "p.svg")
    assert run("panel", "errors", both, *files["words"], *words).code == 0
    shown = texts(alone / "p.svg")
    assert {"Removed", "Not counted"} < set(shown)


def test_cases_of_a_chosen_image(run, files, alone) -> None:
    words = ("--image", "two.jpg", "--error", "object_box", "--out", "p.png")
    done = run("panel", "errors", files["first"], *files["words"], *words)
    assert (done.code, (alone / "p.png").exists()) == (2, False)
    assert "no case of object_box on the images asked for" in done.err


def test_only_images_with_a_picture_are_chosen(run, files, images) -> None:
    (images / "one.jpg").unlink()
    done = run("panel", "errors", files["first"], *files["words"], "--out", "p.png")
    assert done.code == 2
    words = ("--image", "one.jpg", "--out", "p.png")
    done = run("panel", "errors", files["first"], *files["words"], *words)
    assert done.code == 0
    assert "pictures are not in" in done.err


# Models.


def test_two_models_on_one_picture(run, files, alone) -> None:
    both = (files["first"], files["second"])
    words = ("--image", "one.jpg", "--threshold", "0.1", "--out", "p.svg")
    done = run("panel", "models", *both, *files["words"], *words)
    assert (done.code, pictures(alone / "p.svg")) == (0, 2)
    shown = texts(alone / "p.svg")
    assert [each for each in shown if re.match(r"\d ", each)] == [
        "1 ride bicycle 0.50",
        "2 ride bicycle 0.75",
        "3 hold bicycle",
        "1 ride 0.50, hold 0.40 bicycle",
    ]
    assert {"first", "second", "right", "false", "missed"} < set(shown)
    assert "from a score of 0.1 (first), 0.1 (second)" in done.err


def test_images_are_chosen_where_models_differ(run, files, alone) -> None:
    both = (files["first"], files["second"])
    words = ("--top", "1", "--out", "p.svg")
    done = run("panel", "models", *both, *files["words"], *words)
    assert done.code == 0
    assert "Images: one.jpg" in (alone / "p.svg").read_text(encoding="utf-8")


def test_the_threshold_is_that_of_best_f1(run, files) -> None:
    done = run("panel", "models", files["second"], *files["words"], "--out", "p.png")
    assert done.code == 0
    assert "predictions from a score of 0.4 (second)" in done.err


def test_many_pairs_are_counted(run, files, save, found, alone) -> None:
    for number in range(7):
        found[1]["predictions"].append({"bbox": [10.0 * number, 200, 99, 300], "category_id": 1})
        found[1]["hoi_prediction"].append(
            {"subject_id": 0, "object_id": 2 + number, "category_id": 76, "score": 0.2}
            | {"action_score": 0.2}
        )
    many = save("many.pkl", found)
    words = ("--image", "two.jpg", "--threshold", "0", "--out", "p.svg")
    assert run("panel", "models", many, *files["words"], *words).code == 0
    assert "and 2 more" in texts(alone / "p.svg")


# Corruptions.


def test_corruptions_and_severities(run, images, alone) -> None:
    picture = images / "one.jpg"
    words = ("--corruption", "MB,JPEG", "--severity", "1,3", "--out", "p.svg")
    assert run("panel", "corruptions", picture, *words).code == 0
    shown = texts(alone / "p.svg")
    assert shown == ["Severity 1", "Severity 3", "Motion blur", "JPEG artifacts"]
    assert pictures(alone / "p.svg") == 4


def test_one_severity_names_each_corruption_below(run, images, alone) -> None:
    words = ("--corruption", "OS", "--severity", "2", "--out", "p.svg", "--quiet")
    done = run("panel", "corruptions", images / "two.jpg", *words)
    assert (done.code, done.out, done.err) == (0, "", "")
    shown = texts(alone / "p.svg")
    assert shown == ["Motion blur", "Defocus blur", "Gaussian blur", "Glass blur"]


def test_a_grey_picture(run, images, alone) -> None:
    Image.fromarray(np.full((60, 80), 99, np.uint8)).save(images / "grey.png")
    words = ("--corruption", "JPEG", "--severity", "1", "--out", "p.png")
    assert run("panel", "corruptions", images / "grey.png", *words).code == 0
    with Image.open(alone / "p.png") as image:
        red, green, blue, *_ = image.convert("RGB").getpixel((400, 300))
    assert abs(red - green) < 3
    assert abs(green - blue) < 3


# Bad input.


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "p.jpg"), "--out p.jpg: the name must end in .pdf, .svg, .png"),
        (("--out", "none/p.png"), "the folder none does not exist"),
        (("--image", "tow.jpg", "--out", "p.png"), "'tow.jpg': no such image"),
        (("--image", "tow.jpg", "--out", "p.png"), "two.jpg"),
        (("--columns", "0", "--out", "p.png"), "--columns"),
        (("--column", "triple", "--out", "p.png"), "--column"),
        (("--protocol", "other", "--out", "p.png"), "other"),
    ],
)
def test_wrong_options(run, files, alone, words, message) -> None:
    for kind in ("errors", "models"):
        done = run("panel", kind, files["first"], *files["words"], *words)
        assert done.code == 2
        assert message in done.err
        assert not (alone / "p.png").exists()


def test_wrong_options_of_models(run, files) -> None:
    words = (*files["words"], "--out", "p.png")
    done = run("panel", "models", files["first"], *words, "--threshold", "nan")
    assert (done.code, "--threshold nan: give a number" in done.err) == (2, True)
    done = run("panel", "models", *[files["first"]] * 7, *words)
    assert (done.code, "7 models: at most 6" in done.err) == (2, True)


def test_models_on_other_images(run, files, save, found) -> None:
    found[1]["filename"] = "three.jpg"
    words = (*files["words"], "--out", "p.png", "--force")
    done = run("panel", "models", files["first"], save("other.pkl", found), *words)
    assert (done.code, "other: has other images than first" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--corruption", "fog"), "unknown corruption 'fog'"),
        (("--severity", "6"), "--severity 6"),
        ((), "none.png"),
    ],
)
def test_wrong_options_of_corruptions(run, images, alone, words, message) -> None:
    picture = images / ("one.jpg" if words else "none.png")
    done = run("panel", "corruptions", picture, *words, "--out", "p.png")
    assert (done.code, message in done.err, (alone / "p.png").exists()) == (2, True, False)


def test_a_damaged_picture(run, images) -> None:
    (images / "bad.png").write_bytes(b"no picture")
    done = run("panel", "corruptions", images / "bad.png", "--out", "p.png")
    assert (done.code, "bad.png: is neither JPEG nor PNG" in done.err) == (2, True)


def test_pictures_without_captions(run, files, alone) -> None:
    words = ("--error", "object_box", "--out")
    both = ("gallery", files["first"], *files["words"])
    assert run(*both, *words, "with").code == run(*both, "--no-captions", *words, "without").code
    tall = []
    for folder in ("with", "without"):
        (path,) = (alone / folder).glob("*.png")
        with Image.open(path) as image:
            tall.append(image.height)
    assert tall[0] > tall[1]
