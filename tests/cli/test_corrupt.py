"""``diaghoi robustness corrupt``: options, words and exit codes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PIL import Image

from diaghoi.robustness.corruptions import CORRUPTIONS, GROUPS

pytest.importorskip("cv2", reason="OpenCV is not installed: pip install 'diaghoi[robustness]'")

CORRUPT = ("robustness", "corrupt")


@pytest.fixture
def images(alone: Path) -> Path:
    folder = alone / "images"
    folder.mkdir()
    for name, colour in (("one.jpg", (200, 60, 60)), ("two.png", (20, 160, 60))):
        Image.new("RGB", (24, 16), colour).save(folder / name)
    return folder


@pytest.mark.slow
def test_all_hundred_are_made_by_a_program(program, images: Path, alone: Path) -> None:
    left = program(*CORRUPT, images, alone / "out", "--workers", 2)
    assert (left.code, left.err) == (0, "")
    assert left.out == (
        f"{alone / 'out'}: 200 pictures written, 0 kept, of 2 pictures in 20 corruptions "
        "and 5 severities\n"
    )
    for name in CORRUPTIONS:
        for severity in range(1, 6):
            folder = alone / "out" / name / str(severity)
            assert sorted(path.name for path in folder.iterdir()) == ["one.jpg", "two.png"]


def test_corruptions_and_severities_are_chosen(run, images: Path) -> None:
    words = ("--corruption", "motion-blur,EXP", "--corruption", "OCC", "--workers", 1)
    left = run(*CORRUPT, images, "out", *words, "--severity", "1-2", "--severity", "2,5")
    assert left.out == (
        "out: 18 pictures written, 0 kept, of 2 pictures in 3 corruptions and 3 severities\n"
    )
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "corruptions.json",
        "exposure",
        "motion_blur",
        "occlusion",
    ]
    assert sorted(path.name for path in Path("out/exposure").iterdir()) == ["1", "2", "5"]


def test_a_second_run_keeps_what_is_there(run, images: Path) -> None:
    words = (*CORRUPT, images, "out", "--corruption", "ZB", "--severity", 3, "--workers", 1)
    run(*words)
    assert run(*words).out == (
        "out: 0 pictures written, 2 kept, of 2 pictures in 1 corruption and 1 severity\n"
    )
    assert run(*words, "--quiet").out == ""


def test_damaged_pictures_are_named_at_the_end(run, images: Path) -> None:
    (images / "bad.jpg").write_text("no picture")
    left = run(*CORRUPT, images, "out", "--corruption", "PIX", "--severity", 1, "--workers", 1)
    assert left.code == 2
    assert "out: 2 pictures written, 0 kept, of 3 pictures" in left.out
    assert left.err == (
        f"diaghoi: error: {images}: 1 of 3 pictures cannot be read and were left out: bad.jpg "
        "(is neither JPEG nor PNG); fix or remove them and run the command again\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--corruption", "fog"), "unknown corruption 'fog'"),
        (("--corruption", "occlusio"), "'occlusio' (did you mean 'occlusion'?)"),
        (("--severity", "6"), "--severity 6: give 1, 2, 3, 4, 5 or a range like 1-3"),
        (("--severity", "3-1"), "--severity 3-1: give 1, 2"),
        (("--severity", ""), "--severity : give 1, 2"),
        (("--severity", "١"), "--severity ١: give 1, 2"),
    ],
)
def test_bad_words_are_refused_in_one_line(run, images: Path, words, message) -> None:
    left = run(*CORRUPT, images, "out", *words)
    assert left.code == 2
    assert left.err.startswith("diaghoi: error: ")
    assert message in left.err
    assert left.err.count("\n") == 1
    assert not Path("out").exists()


def test_bad_folders_and_a_missing_library_are_refused_in_one_line(run, images, monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    for folders, message in (
        (("none", "out"), "none: there is no such folder; give the folder with the pictures"),
        ((images, images / "one.jpg"), "cannot be the output folder"),
        (
            (images, "out"),
            "corruptions and masks need opencv-python-headless, which is not installed: pip "
            "install",
        ),
    ):
        left = run(*CORRUPT, *folders)
        assert (left.code, left.err.count("\n")) == (2, 1)
        assert message in left.err


def test_help_names_all_corruptions_and_groups(run) -> None:
    shown = " ".join(run(*CORRUPT, "--help").out.split())
    for each in (*CORRUPTIONS.values(), *GROUPS.values()):
        assert each.abbreviation in shown
