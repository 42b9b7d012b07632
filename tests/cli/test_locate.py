"""Where annotations are looked for when they are not given."""

from __future__ import annotations

import json
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


def test_settings(run, data, tmp_path: Path) -> None:
    put(data.annotations, "hicodet", "gt_wo_nointer.pkl")
    assert run("config", "set", "hico-det.annotations", data.annotations).code == 0
    file = tmp_path / "config" / "diaghoi" / "config.json"
    assert found() == f"annotations: {data.annotations}, from the settings in {file}"


def test_order(run, data, monkeypatch, tmp_path: Path) -> None:
    """The option, then the variable, then the settings, then the customary folders."""
    copies = [put(data.annotations, str(tmp_path), f"{n}.pkl") for n in range(3)]
    put(data.annotations, "hicodet", "gt_wo_nointer.pkl")
    monkeypatch.setenv("DIAGHOI_DATA", str(copies[1]))
    run("config", "set", "hico-det.annotations", copies[2])
    done = run("report", data.predictions, "--annotations", copies[0])
    assert "annotations:" not in done.err
    assert found().startswith(f"annotations: {copies[1]}, ")
    monkeypatch.delenv("DIAGHOI_DATA")
    assert found().startswith(f"annotations: {copies[2]}, ")
    run("config", "unset", "hico-det.annotations")
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


def test_a_setting_whose_file_is_gone(run, data, tmp_path: Path) -> None:
    gone = put(data.annotations, str(tmp_path), "gone.pkl")
    run("config", "set", "hico-det.annotations", gone)
    gone.unlink()
    put(data.annotations, "hicodet", "gt_wo_nointer.pkl")
    done = run("report", data.predictions)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"diaghoi: error: {gone}: no such file; it is the setting hico-det.annotations: set it "
        "again or remove it with 'diaghoi config unset hico-det.annotations'\n"
    )


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
        "diaghoi: error: no hico-det annotations found; looked for instances_test2015.json, "
        "anno_bbox.mat, test_hico.json, gt_wo_nointer.pkl in data/hicodet, hicodet, "
        "data/hico_20160224_det/annotations; get instances_test2015.json (UPT and SCG code bases), "
        "test_hico.json (QPIC, CDN) or anno_bbox.mat (HICO-DET itself) and give it with "
        "--annotations FILE, or once for all with 'diaghoi config set hico-det.annotations FILE'\n"
    )


def test_nothing_found_names_the_variable(run, data, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DIAGHOI_DATA", str(tmp_path))
    done = run("report", data.predictions)
    assert done.code == 2
    assert f"in DIAGHOI_DATA ({tmp_path}), data/hicodet, hicodet, " in done.err


def test_unknown_data_set_comes_first(run, data) -> None:
    done = run("report", data.predictions, "--dataset", "hico")
    assert done.err == (
        "diaghoi: error: unknown data set 'hico' (did you mean 'hico-det'?); known: hico-det, "
        "v-coco, v-coco-thesis, hoi-a-verbs, swig-hoi, hoi-a, and any that a .toml file "
        "describes\n"
    )
