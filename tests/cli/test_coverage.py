"""Predictions for some of the annotated images, or for another split: said first, never ranked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi import diagnose, simulate
from diaghoi.data.scenes import Scenes
from diaghoi.formats import write

IMAGES = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write annotations, and predictions for all of them, for most and for few."""
    folder = tmp_path_factory.mktemp("coverage")
    rng = np.random.default_rng(4)
    truth = simulate.annotations(IMAGES, rng)
    write(folder / "gt.npz", truth)
    found = simulate.detect(truth, simulate.ONE_STAGE, rng)
    other = simulate.detect(truth, simulate.TWO_STAGE, rng)
    for name, scenes, images in (
        ("all", found, range(IMAGES)),
        ("most", found, range(80)),
        ("few", found, range(30)),
        ("others", other, range(20, 50)),
    ):
        write(folder / f"{name}.npz", scenes.take(list(images)))
    return folder


@pytest.fixture
def report(run, folder: Path):
    def command(name: str, *words: object, code: int = 0):
        done = run(
            *("report", folder / f"{name}.npz", "--annotations", folder / "gt.npz", *words),
        )
        assert done.code == code, done.err
        return done

    return command


def as_json(done) -> Any:
    return json.loads(done.out)


def test_all_images_need_no_word(report) -> None:
    lines = report("all", "--detail").out.splitlines()
    assert lines[0] == "all on HICO-DET (hico-det-520)"
    assert lines[1].startswith("Official mAP ")
    assert "coverage" not in as_json(report("all", "--json", "-"))


def test_few_images_are_said_first_and_nothing_is_ranked(report) -> None:
    lines = report("few", "--detail").out.splitlines()
    words = "predictions for 30 of 120 annotated images"
    assert lines[0] == f"few on HICO-DET, {words} (hico-det-520)"
    text = " ".join(lines[1:6])
    assert text.startswith(f"P{words[1:]}: Official mAP ")
    assert "Errors are not ranked by cost:" in text
    assert "--only-predicted-images" in text
    assert "cost most" not in " ".join(lines)
    coverage = as_json(report("few", "--json", "-"))["coverage"]
    assert (coverage["annotated_images"], coverage["shared_images"]) == (120, 30)


def test_the_screen_says_which_images_a_mean_covers(report) -> None:
    assert "mAP (90 of 120 images missing) " in report("few").out
    assert "mAP on 30 of 120 images " in report("few", "--only-predicted-images").out


def test_missed_triplets_of_other_images_are_not_ranked(report, folder: Path) -> None:
    done = report("most", "--detail")
    lines = done.out.splitlines()
    assert lines[0] == "most on HICO-DET, predictions for 80 of 120 annotated images (hico-det-520)"
    result = as_json(report("most", "--json", "-"))
    costs = {name: each["delta_map"]["full"] for name, each in result["localised"].items()}
    others = {name: each["delta_map"]["full"] for name, each in result["oracles"].items()}
    for total in ("false_positive", "false_negative"):
        del others[total]
    # By cost alone the missing images would be named.
    assert max(others | costs, key=(others | costs).__getitem__) == "missed_gt"
    text = " ".join(done.out.split())
    assert "Missed" not in text.split("ΔmAP")[0].split("cost most")[0]
    left = result["coverage"]["triplets_elsewhere"]
    words = f"leaves out {left} annotated triplets in images that the file lacks"
    assert f"This ranking of costs {words}" in text
    held = result["coverage"]["localised"]["missed_gt"]["delta_map"]["full"]
    assert 0 <= held < costs["missed_gt"]


def test_only_predicted_images_are_evaluated(report, folder: Path) -> None:
    done = report("few", "--only-predicted-images", "--detail")
    lines = done.out.splitlines()
    assert lines[0] == "few on HICO-DET, 30 of 120 annotated images (hico-det-520)"
    assert lines[1].startswith("30 of 120 annotated images: Official mAP ")
    assert "cost most" in " ".join(lines[:6])
    assert (
        "evaluates only 30 images that all files share; left out are 90 annotated images"
        in done.err
    )
    result = as_json(report("few", "--only-predicted-images", "--json", "-"))
    assert result["coverage"] == {
        "annotated_images": 120,
        "predicted_images": 30,
        "shared_images": 30,
        "only_predicted_images": True,
    }
    truth, found = (read(folder, name) for name in ("gt", "few"))
    assert result["map"] == diagnose(truth.take(list(range(30))), found).to_dict()["map"]
    assert result["counts"]["images"] == 30


def read(folder: Path, name: str) -> Scenes:
    from diaghoi import read_annotations, read_predictions

    reader = read_annotations if name == "gt" else read_predictions
    return reader(folder / f"{name}.npz")


def test_several_files_are_evaluated_on_their_images(report, run, folder: Path) -> None:
    words = ("--only-predicted-images", "--json", "-")
    (folder / "parts").mkdir(exist_ok=True)
    whole = read(folder, "few")
    for name, images in (("one", range(10)), ("two", range(10, 30))):
        write(folder / "parts" / f"{name}.npz", whole.take(list(images)))
    pattern = folder / "parts" / "*.npz"
    done = run("report", pattern, "--annotations", folder / "gt.npz", *words)
    assert done.code == 0, done.err
    one, several = as_json(report("few", *words)), as_json(done)
    assert several["map"] == one["map"]
    assert several["coverage"] == one["coverage"]


def test_a_comparison_takes_the_images_of_all_files(run, folder: Path) -> None:
    files = [folder / f"{name}.npz" for name in ("few", "others")]
    words = ("--annotations", folder / "gt.npz")
    done = run("compare", *files, *words)
    assert "predictions for 30 of 120 annotated images (few, others)" in done.out
    done = run("compare", *files, *words, "--only-predicted-images")
    assert "10 of 120 annotated images (few, others)" in done.out
    done = run("compare", *files, *words, "--only-predicted-images", "--json", "-")
    found = as_json(done)
    assert found["images"] == 10
    assert any(
        "--only-predicted-images: evaluates only 10 images that all files" in note
        for note in found["notes"]
    )
    images = list(range(20, 30))
    truth = read(folder, "gt").take(images)
    for name, first in (("few", 20), ("others", 0)):
        scenes = read(folder, name).take(list(range(first, first + 10)))
        wanted = diagnose(truth, scenes).mean_ap["full"]
        assert found["tables"]["map"]["models"][name]["map.full"] == pytest.approx(wanted)


def test_saved_results_keep_their_images(refuse, run, report, folder: Path, alone: Path) -> None:
    report("few", "--json", alone / "few.json")
    assert "is a saved result, but --only-predicted-images leaves out images; give the" in refuse(
        "compare", alone / "few.json", "--only-predicted-images"
    )
    assert "predictions for 30 of 120" in run("compare", alone / "few.json").out


def test_no_shared_image_is_refused(refuse, folder: Path, alone: Path) -> None:
    found = read(folder, "few")
    write("other.npz", found.with_names(np.array([f"o{n}.jpg" for n in range(len(found))])))
    for words in ((), ("--only-predicted-images",)):
        assert "another split" in refuse(
            "report", "other.npz", "--annotations", folder / "gt.npz", *words
        )


def test_another_split_is_said_as_inspect_says_it(run, alone: Path) -> None:
    rng = np.random.default_rng(0)
    names = np.array(["165", "436", "294", "1"])  # of val, val, test, and neither
    truth = simulate.v_coco_annotations(4, rng)
    write("gt.npz", truth.with_names(names))
    write("preds.npz", simulate.v_coco_detect(truth, rng).with_names(names))
    said = (
        "3 of 4 images are not in V-COCO's test split, on which the benchmark is evaluated: "
        "2 in val and 1 in train or unknown ("
    )
    assert said in run("inspect", "preds.npz", "--annotations", "gt.npz").out
    done = run("report", "preds.npz", "--annotations", "gt.npz", "--detail")
    assert said in done.err
    assert done.out.startswith("preds on V-COCO, 3 of 4 images not in the test split (v-coco-s1)\n")
    words = ("preds.npz", "preds.npz", "--labels", "A,B", "--annotations", "gt.npz")
    caution = "3 of 4 images not in the test split (A, B)"
    assert f"! {caution}\n" in run("compare", *words).out
    run("compare", *words, "--out", "t.tex")
    assert f"Caution: {caution}." in Path("t.tex").read_text()
