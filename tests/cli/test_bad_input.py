"""What a user can get wrong: one line, exit code 2, and nothing half-written."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diaghoi import simulate
from diaghoi.formats import write
from diaghoi.formats.dense import write_dense_arrays

NAN = float("nan")
OLD = "an older output"


def box(**changes: Any):
    return lambda found: found[1]["predictions"][0].update(changes)


IN_IMAGE = "preds.pkl: image 'two.jpg': "
BAD_VALUES: dict[str, tuple[Any, str]] = {
    "NaN in a box": (
        box(bbox=[1.0, NAN, 3.0, 4.0]),
        f"{IN_IMAGE}predictions[0].bbox: the box [1.0, nan, 3.0, 4.0] is not finite",
    ),
    "box beyond float32": (
        box(bbox=[1.0, 2.0, 1e39, 4.0]),
        f"{IN_IMAGE}predictions[0].bbox: the box [1.0, 2.0, 1e+39, 4.0] is larger than any image; "
        "give coordinates in pixels, or remove such boxes",
    ),
    "box without a finite area": (box(bbox=[-1e308, 2.0, 1e308, 4.0]), "1e+308, 4.0] is larger"),
    "unknown verb": (
        lambda found: found[1]["hoi_prediction"][0].update(category_id=117),
        f"{IN_IMAGE}hoi_prediction[0].category_id: unknown verb 117",
    ),
    "another split": (
        lambda found: [image.update(filename=f"train_{image['filename']}") for image in found],
        "preds.pkl: none of the 2 images is annotated in gt.pkl; the first image is "
        "'train_one.jpg' in the predictions and 'one.jpg' in the annotations; are the predictions "
        "for another split or data set?",
    ),
    "missing key": (
        lambda found: found[1]["hoi_prediction"][0].pop("score"),
        f"{IN_IMAGE}hoi_prediction[0]: the key 'score' is missing",
    ),
}


@pytest.fixture
def gt(save, truth) -> Path:
    save("gt.pkl", truth)
    return Path("gt.pkl")


@pytest.mark.parametrize("case", BAD_VALUES)
def test_bad_values(refuse, save, gt, found, alone: Path, case: str) -> None:
    change, message = BAD_VALUES[case]
    change(found)
    save("preds.pkl", found)
    (alone / "r.json").write_text(OLD)
    words = ("preds.pkl", "--annotations", gt, "--json", "r.json", "--out", "out")
    assert message in refuse("report", *words, "--out", "f.pdf")
    assert (alone / "r.json").read_text() == OLD
    if case not in ("another split",):
        assert message in refuse("convert", "preds.pkl", "preds.npz")
        assert message in refuse("inspect", "preds.pkl", "--json", "i.json")


class Foreign:
    """A class of a stranger, which runs a command when it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, ("touch executed",)


BAD_FILES: dict[str, tuple[bytes, str]] = {
    "truncated": (pickle.dumps([{"filename": "one.jpg"}])[:-5], "preds.pkl: "),
    "foreign class": (pickle.dumps([Foreign()]), "system"),
    "something else": (pickle.dumps({"a": 1}), "preds.pkl: not a known format: a dict in pickle"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files(refuse, gt, alone: Path, case: str) -> None:
    content, message = BAD_FILES[case]
    (alone / "preds.pkl").write_bytes(content)
    assert message in refuse("report", "preds.pkl", "--annotations", gt, "--out", "out")
    assert not (alone / "executed").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.pkl",), "nowhere.pkl: No such file or directory; check the path"),
        (("folder",), "folder: "),
        (
            ("preds.pkl", "--image-labels", "preds.pkl"),
            "preds.pkl: holds predictions (triplet-lists), not image labels; image labels are in "
            "HICO's anno.mat",
        ),
        (("preds.pkl", "--image-labels", "text"), "text: not a MATLAB file; image labels are in H"),
        (
            ("preds.pkl", "--annotations", "folder"),
            "folder: a folder without instances_test2015.json or anno_bbox.mat or test_hico.json "
            "or gt_wo_nointer.pkl; give the file itself",
        ),
        (
            ("preds.pkl", "--label", "UPT/R50", "--out", "out"),
            "--label 'UPT/R50': names the files in --out, so it must be a name without '/'; give "
            "another label",
        ),
        (("gt.pkl",), "gt.pkl: holds annotations (triplet-lists), but predicted triplets are"),
        (("preds.pkl", "--annotations", "preds.pkl"), "preds.pkl: holds predictions"),
        (("preds.pkl", "--pairs", "preds.pkl"), "preds.pkl: holds predictions (triplet-lists), "),
        (
            ("preds.pkl", "--read", "format=dense-arrays"),
            "preds.pkl: is not in the format dense-arrays; it looks like triplet-lists",
        ),
        (("preds.pkl", "--json", "gt.pkl/r.json"), "gt.pkl/r.json: cannot be written: gt.pkl is a"),
        (("preds.pkl", "--json", "preds.pkl"), "preds.pkl: would overwrite an input file"),
        (("preds.pkl", "--json", "./gt.pkl"), "gt.pkl: would overwrite an input file"),
        (("preds.pkl", "--json", "/dev/null"), "/dev/null: cannot be written: it is not a regular"),
    ],
)
def test_bad_options(refuse, save, gt, found, alone: Path, words, message: str) -> None:
    save("preds.pkl", found)
    (alone / "folder").mkdir()
    (alone / "text").write_text("these are no labels")
    given = () if "--annotations" in words else ("--annotations", gt)
    assert message in refuse("report", *words, *given)


@pytest.mark.parametrize(
    "words", [("--bootstrap", "half"), ("--seed", "-1"), ("--port", "70000"), ("--nothing",)]
)
def test_usage(run, save, gt, found, words) -> None:
    """These are told by the parser, with the usage."""
    done = run("report", save("preds.pkl", found), "--annotations", gt, *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Usage: diaghoi report")


@pytest.mark.parametrize(
    "words", [("gt.pkl",), ("--gt", "gt.pkl"), ("--annotation", "gt.pkl"), ("--ground-truth", "x")]
)
@pytest.mark.parametrize("command", ["report", "inspect"])
def test_annotations_given_in_another_way(run, command: str, words) -> None:
    done = run(command, "preds.pkl", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("; give annotations with --annotations FILE.\n")


def test_more_than_one_file_of_predictions(run, save, gt, found) -> None:
    for name in ("preds.pkl", "others.pkl"):
        save(name, found)
    done = run("report", "preds.pkl", "others.pkl", "--annotations", gt)
    assert done.code == 2
    assert "'diaghoi compare' accepts several" in done.err


def test_a_study_where_predictions_are_expected(refuse, save, gt, found, alone: Path) -> None:
    save("preds.pkl", found)
    Path("study.toml").write_text('[[model]]\nlabel = "a"\nfile = "preds.pkl"\n')
    told = refuse("report", "study.toml", "--annotations", gt)
    assert told.startswith("study.toml: a TOML file; 'diaghoi compare' and 'diaghoi figures'")
    assert "not TOML, because it is not UTF-8 text" in refuse(
        "figures", "preds.pkl", "--out", "figures"
    )


def test_places_for_output_of_another_kind(refuse, save, gt, found, alone: Path) -> None:
    save("preds.pkl", found)
    study = f'annotations = "{gt}"\n[[model]]\nlabel = "a"\nfile = "preds.pkl"\n'
    Path("study.toml").write_text(study)
    told = refuse("compare", "study.toml", "--out", "tables.docx")
    assert told.startswith("--out tables.docx: unknown suffix .docx; give one of .json, .csv, .md")
    assert "give a folder" in refuse("figures", "study.toml", "--out", "delta_map.pdf")


def test_the_output_folder_must_not_overwrite_the_input(refuse, found, gt, alone: Path) -> None:
    (alone / "preds.json").write_text(json.dumps(found))
    assert "preds.json: would overwrite an input file; give another name" in refuse(
        "report", "preds.json", "--annotations", gt, "--out", "."
    )


def test_folders_without_permission(refuse, save, found, gt, alone: Path, monkeypatch) -> None:
    save("preds.pkl", found)
    closed = alone / "closed"
    closed.mkdir()
    # Tests may run as root, for whom no folder is closed.
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "closed")
    words = ("report", "preds.pkl", "--annotations", gt)
    for option, path in (("--json", "closed/r.json"), ("--out", "closed"), ("--out", "closed/o")):
        assert refuse(*words, option, path) == (
            f"{path}: cannot be written: no permission to write to {closed}; give another path"
        )


def test_unreadable_input(refuse, save, found, gt, monkeypatch) -> None:
    save("preds.pkl", found)
    usual = Path.open

    def closed(path: Path, *words: Any, **more: Any) -> Any:
        if path.name == "preds.pkl":
            raise PermissionError(13, "Permission denied", str(path))
        return usual(path, *words, **more)

    monkeypatch.setattr(Path, "open", closed)
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "preds.pkl")
    assert refuse("report", "preds.pkl", "--annotations", gt) == (
        "preds.pkl: Permission denied; check the path"
    )


def test_a_failed_write_leaves_nothing(run, save, found, gt, alone: Path, monkeypatch) -> None:
    """A full disk, for instance: the older file stays, no temporary file remains."""
    save("preds.pkl", found)
    (alone / "r.json").write_text(OLD)

    def full(self: Path, *_: Any, **__: Any) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    done = run("report", "preds.pkl", "--annotations", gt, "--json", "r.json", "-q")
    assert done.code == 2
    assert done.err == (
        "diaghoi: error: r.json: cannot be written: No space left on device; give another path\n"
    )
    assert (alone / "r.json").read_text() == OLD
    assert sorted(path.name for path in alone.iterdir()) == ["gt.pkl", "preds.pkl", "r.json"]


def test_no_annotations(refuse, save, found, truth, alone: Path) -> None:
    save("preds.pkl", found)
    save("none.pkl", [])
    assert "none.pkl: " in refuse("report", "preds.pkl", "--annotations", "none.pkl")
    for image in truth:
        image["hoi_annotation"] = []
    save("empty.pkl", truth)
    assert refuse("report", "preds.pkl", "--annotations", "empty.pkl") == (
        "empty.pkl: no annotated triplets, so there is nothing to compare with"
    )


def test_pairs_of_another_detector(refuse, save, gt, found) -> None:
    save("preds.pkl", found)
    save("pairs.pkl", [{"filename": "other.jpg", "box_pairs": []}])
    assert "pairs.pkl" in refuse("report", "preds.pkl", "--annotations", gt, "--pairs", "pairs.pkl")


def test_convert(refuse, save, found, alone: Path) -> None:
    save("preds.pkl", found)
    assert "p.pkl: the package's own format is .npz" in refuse("convert", "preds.pkl", "p.pkl")
    assert "no/p.npz: cannot be written: the folder no does not exist" in refuse(
        "convert", "preds.pkl", "no/p.npz"
    )
    (alone / "p.npz").write_bytes(b"")
    assert "p.npz: would overwrite an input file" in refuse("convert", "p.npz", "p.npz")
    assert "p.npz: the file is empty" in refuse("convert", "p.npz", "q.npz")
    assert "preds.pkl: holds predictions" in refuse(
        "convert", "preds.pkl", "q.npz", "--pairs", "./preds.pkl"
    )


def test_inspect(refuse, save, found) -> None:
    save("preds.pkl", found)
    assert "nowhere: No such file" in refuse("inspect", "nowhere")
    assert "preds.pkl: holds predictions" in refuse(
        "inspect", "preds.pkl", "--annotations", "preds.pkl"
    )
    assert "preds.pkl: would overwrite" in refuse("inspect", "preds.pkl", "--json", "preds.pkl")


def test_demo(refuse, run, alone: Path) -> None:
    (alone / "file").write_text(OLD)
    assert "file: cannot be the output folder: file is a file" in refuse("demo", "--out", "file")
    assert "nowhere: No such file" in refuse("demo", "--annotations", "nowhere")
    assert not (alone / "demo").exists()
    for words in (("--seed", -1), ("--size", 0)):
        assert run("demo", *words).code == 2


def test_not_enough_memory(run, save, found, gt, monkeypatch) -> None:
    def hungry(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("diaghoi.diagnosis.diagnose.diagnose", hungry)
    done = run("report", save("preds.pkl", found), "--annotations", gt)
    assert (done.code, done.err) == (2, "diaghoi: error: not enough memory for this input\n")


# What is allowed.


@pytest.fixture
def report(run, save, gt, found):
    def command(*options: str) -> dict[str, Any]:
        file = save("preds.pkl", found)
        done = run("report", file, "--annotations", gt, "--json", "-", *options)
        assert done.code == 0, done.err
        return json.loads(done.out)

    return command


def test_no_predictions_at_all(report, refuse, run, found, gt) -> None:
    for image in found:
        image.update(predictions=[], hoi_prediction=[])
    result = report("--force")
    assert result["map"] == {"full": 0.0, "rare": None, "non_rare": 0.0}
    assert result["errors"] == dict.fromkeys(result["errors"], 0) | {"missed_gt": 2}
    assert result["pairs"]["recall"] == 0.0
    assert result["pairs"]["precision"] is None
    assert result["negatives"] == {"ap": None, "ap_published": None, "pairs": 0, "negatives": 0}
    assert "holds no predicted triplets, so there is nothing to evaluate; give --force" in refuse(
        "report", "preds.pkl", "--annotations", gt
    )
    done = run("report", "preds.pkl", "--annotations", gt, "--out", "o", "--force", "--detail")
    assert done.code == 0
    assert "; 0.00 under hico-det-520.\nThere are no predictions for these" in done.out


def test_boxes_as_large_as_float32_holds(report, found) -> None:
    found[1]["predictions"][0]["bbox"] = [-3e38, -3e38, 3e38, 3e38]
    assert report("--also", "pair-nms=0.5,causes")["errors"]["human_box"] == 1


def test_an_empty_list_of_predictions(report, found) -> None:
    found.clear()
    result = report("--force")
    assert result["map"]["full"] == 0.0
    assert result["errors"]["missed_gt"] == 2
    assert any(
        note.startswith("2 annotated images are not in the prediction file")
        for note in result["notes"]
    )


def test_an_empty_list_takes_the_data_set_of_the_annotations(run, save, alone: Path) -> None:
    file = save("preds.pkl", [])
    write(alone / "gt.npz", simulate.v_coco_annotations(3, np.random.default_rng(0)))
    refused = run("report", file, "--annotations", "gt.npz")
    assert "preds.pkl: holds no predicted triplet" in refused.err
    done = run("report", file, "--annotations", "gt.npz", "--force", "--detail")
    assert done.out.startswith(
        "preds on V-COCO, predictions for 0 of 3 annotated images (v-coco-s1)\n"
    )


def test_images_without_annotations(report, found) -> None:
    found.append({**found[0], "filename": "three.jpg"})
    result = report()
    assert result["counts"]["images"] == 3
    assert result["errors"]["both_boxes"] == 1
    assert (
        "1 predicted images are not in the annotation file; their predictions are false "
        "positives: three.jpg" in result["notes"]
    )


def test_images_missing_from_the_predictions(report, found) -> None:
    del found[0]
    result = report()
    assert result["errors"]["missed_gt"] == 1
    assert (
        "1 annotated images are not in the prediction file; their annotations count as not found: "
        "one.jpg" in result["notes"]
    )


LAYOUTS = {
    "yxyx": lambda x, y, w, h: [y, x, y + h, x + w],
    "cxcywh": lambda x, y, w, h: [x + w / 2, y + h / 2, w, h],
    "yxhw": lambda x, y, w, h: [y, x, h, w],
    "cycxhw": lambda x, y, w, h: [y + h / 2, x + w / 2, h, w],
    "xxyy": lambda x, y, w, h: [x, x + w, y, y + h],
}


def test_boxes_in_another_layout_are_refused_with_the_option_that_reads_them(refuse, run, save):
    rng = np.random.default_rng(0)
    truth = simulate.annotations(60, rng)
    write("gt.npz", truth)
    write_dense_arrays("preds.pkl", simulate.detect(truth, simulate.TWO_STAGE, rng))
    images = pickle.loads(Path("preds.pkl").read_bytes())
    words = ("--annotations", "gt.npz", "--json", "-")
    wanted = json.loads(run("report", "preds.pkl", *words).out)["map"]["full"]
    for layout, rewritten in LAYOUTS.items():
        others = []
        for image in images:
            left, top, right, bottom = image["boxes"].T
            boxes = np.column_stack(rewritten(left, top, right - left, bottom - top))
            others.append(image | {"boxes": boxes})
        other = save("other.pkl", others)
        assert f" would: give --read boxes={layout}, or write x1, y1, x2, y2 in" in refuse(
            "report", other, *words
        )
        read = json.loads(run("report", other, *words, "--read", f"boxes={layout}").out)
        assert read["map"]["full"] == pytest.approx(wanted, abs=0.01)
    assert run("report", other, *words, "--force").code == 0
