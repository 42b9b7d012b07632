"""Where annotations are looked for when they are not given."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from diaghoi.cli.locate import find_annotations
from diaghoi.data.vocabulary import hico_det
from diaghoi.formats import read_annotations

FOLDERS = ["data/hicodet", "hicodet", "data/hico_20160224_det/annotations"]


def found() -> str:
    """Find the annotations as commands do, check that they can be read, and say where they are."""
    located = find_annotations(hico_det())
    assert len(read_annotations(located.path)) == 12
    (note,) = located.notes
    return note


def put(source: Path, *target: str) -> Path:
    path = Path(*target)
    path.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(source, path))


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize(
    "name", ["instances_test2015.json", "anno_bbox.mat", "test_hico.json", "gt_wo_nointer.pkl"]
)
def test_customary_folders(data, folder: str, name: str) -> None:
    """What a file is depends on its content, not on its name."""
    put(data.annotations, folder, name)
    assert found() == f"annotations: {folder}/{name}, from a customary folder"


def test_the_first_customary_folder_wins(data) -> None:
    for folder in FOLDERS[::-1]:
        put(data.annotations, folder, "gt_wo_nointer.pkl")
    assert found().startswith("annotations: data/hicodet/")


def test_variable_with_a_file(data, monkeypatch) -> None:
    put(data.annotations, "hicodet", "gt_wo_nointer.pkl")
    monkeypatch.setenv("DIAGHOI_DATA", str(data.annotations))
    assert found() == f"annotations: {data.annotations}, from DIAGHOI_DATA"


@pytest.mark.parametrize("below", ["", "hicodet", "hico_20160224_det/annotations"])
def test_variable_with_a_folder(data, monkeypatch, tmp_path: Path, below: str) -> None:
    file = put(data.annotations, str(tmp_path), "sets", below, "test_hico.json")
    monkeypatch.setenv("DIAGHOI_DATA", str(tmp_path / "sets"))
    assert found() == f"annotations: {file}, from DIAGHOI_DATA"


def toml(text: str, folder: Path = Path()) -> Path:
    (path := folder / "diaghoi.toml").write_text(text)
    return path


@pytest.mark.parametrize(("above", "place"), [(0, "diaghoi.toml"), (2, "../../diaghoi.toml")])
@pytest.mark.parametrize("value", ["sets/test_hico.json", "sets"])
def test_toml(data, monkeypatch, alone: Path, above: int, place: str, value: str) -> None:
    """Paths start from the file, which lies in the working directory or in one of its parents."""
    put(data.annotations, "sets", "test_hico.json")
    toml(f'[hico-det]\nannotations = "{value}"\n[v-coco]\n')
    below = Path(*"ab"[:above])
    below.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(below)
    put(data.annotations, "hicodet", "gt_wo_nointer.pkl")
    file = Path(place).parent / "sets/test_hico.json"
    assert found() == f"annotations: {file}, from {place}"
    toml("", alone / below)
    assert found() == ("annotations: hicodet/gt_wo_nointer.pkl, from a customary folder")


def test_order(run, data, monkeypatch, tmp_path: Path) -> None:
    """The option, then the variable, then the file, then the customary folders."""
    copies = [put(data.annotations, str(tmp_path), f"{n}.pkl") for n in range(3)]
    put(data.annotations, "hicodet", "gt_wo_nointer.pkl")
    monkeypatch.setenv("DIAGHOI_DATA", str(copies[1]))
    toml(f'[hico-det]\nannotations = "{copies[2]}"')
    done = run("report", data.predictions, "--annotations", copies[0])
    assert "annotations:" not in done.err
    assert found().startswith(f"annotations: {copies[1]}, ")
    monkeypatch.delenv("DIAGHOI_DATA")
    assert found().startswith(f"annotations: {copies[2]}, ")
    toml("[hico-det]")
    assert found().startswith("annotations: hicodet/gt_wo_nointer.pkl, ")


def test_what_was_passed_over_is_said(run, data, monkeypatch) -> None:
    monkeypatch.setenv("DIAGHOI_DATA", "/no/such/folder")
    put(data.annotations, "hicodet", "gt_wo_nointer.pkl")
    done = run("report", data.predictions, "--json", "-")
    assert done.code == 0, done.err
    assert json.loads(done.out)["notes"][0] == (
        "annotations: hicodet/gt_wo_nointer.pkl, from a customary folder, because there are none "
        "in DIAGHOI_DATA (/no/such/folder)"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[hico-det]\nannotations = "gone.pkl"',
            "diaghoi.toml: [hico-det] annotations: gone.pkl: no such file; correct the path, which "
            "is relative to diaghoi.toml",
        ),
        (
            '[hico-det]\nannotations = "."',
            "diaghoi.toml: [hico-det] annotations: .: a folder without instances_test2015.json or "
            "anno_bbox.mat or test_hico.json or gt_wo_nointer.pkl; give the file itself",
        ),
        (
            "[hico]",
            "diaghoi.toml: hico: unknown key (did you mean 'hico-det'?); known: hico-det, v-coco, "
            "v-coco-thesis, hoi-a-verbs, swig-hoi, hoi-a",
        ),
        (
            '[hico-det]\nanotations = "a"',
            "diaghoi.toml: [hico-det]: anotations: unknown key (did you mean 'annotations'?); "
            "known: annotations, image-labels",
        ),
        ('[v-coco]\nimage-labels = "a"', "diaghoi.toml: [v-coco]: image-labels: unknown key; know"),
        ("hico-det = 1", "diaghoi.toml: hico-det: is 1; write a table: the line [hico-det]"),
        ("[hico-det]\nannotations = 1", "diaghoi.toml: [hico-det]: annotations: is 1; give a stri"),
        ("[hico-det", "diaghoi.toml: not valid TOML (Expected ']' at the end of a table declar"),
    ],
)
def test_a_toml_with_mistakes(refuse, data, text: str, message: str) -> None:
    toml(text)
    put(data.annotations, "hicodet", "gt_wo_nointer.pkl")
    assert refuse("report", data.predictions).startswith(f"{message}")


def test_a_folder_for_the_annotations(run, data, tmp_path: Path) -> None:
    file = put(data.annotations, str(tmp_path), "sets", "test_hico.json")
    done = run("report", data.predictions, "--annotations", file.parent, "--detail")
    assert done.err.startswith(f"Note: annotations: {file}\n")


def test_found_annotations_are_named_on_stderr(run, data) -> None:
    put(data.annotations, "hicodet", "gt_wo_nointer.pkl")
    done = run("report", data.predictions, "--detail")
    assert done.err.startswith(
        "Note: annotations: hicodet/gt_wo_nointer.pkl, from a customary folder\n"
    )


def test_nothing_found(run, data) -> None:
    done = run("report", data.predictions)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "diaghoi: error: no hico-det annotations found in data/hicodet, hicodet, "
        "data/hico_20160224_det/annotations; get instances_test2015.json (UPT and SCG code bases) "
        "or anno_bbox.mat (HICO-DET itself) or test_hico.json (QPIC, CDN) or gt_wo_nointer.pkl "
        "(CDN and the published diagnosis code) and give it with --annotations FILE, or "
        "permanently in diaghoi.toml, here or in a folder above: the line "
        '[hico-det], and below it the line annotations = "FILE"\n'
    )
    put(data.annotations, "FILE")
    toml("\n".join(re.search(r"the line (\S+), and below it the line (.*)", done.err).groups()))
    assert run("report", data.predictions).code == 0


def test_nothing_found_names_the_variable(refuse, data, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DIAGHOI_DATA", str(tmp_path))
    assert f"in DIAGHOI_DATA ({tmp_path}), data/hicodet, hicodet, " in refuse(
        "report", data.predictions
    )


def test_unknown_data_set_comes_first(run, data) -> None:
    done = run("report", data.predictions, "--dataset", "hico")
    assert done.err == (
        "diaghoi: error: unknown data set 'hico' (did you mean 'hico-det'?); known: hico-det, "
        "v-coco, v-coco-thesis, hoi-a-verbs, swig-hoi, hoi-a, and any data set that a .toml "
        "file describes\n"
    )
