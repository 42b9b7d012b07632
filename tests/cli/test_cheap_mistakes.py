"""What costs no reading to notice is said before the predictions are read, which may be large."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import pytest

BAD = "damaged.pkl"
GIVEN = ("--annotations", "gt.pkl")
CASES = ("figures", "cases", BAD, *GIVEN, "--images", "folder", "--out", "o")
REPORT = {
    "annotations that do not exist": (("--annotations", "no.json"), "no.json: No such file or"),
    "a folder without annotations": (
        ("--annotations", "folder", "--dataset", "hico-det"),
        "folder: a folder without instances_test2015.json",
    ),
    "pairs": ((*GIVEN, "--pairs", "no.pkl"), "no.pkl: No such file or directory"),
    "instances": ((*GIVEN, "--read", "instances=no.json"), "no.json: No such file or directory"),
    "image labels": ((*GIVEN, "--image-labels", "no.mat"), "no.mat: No such file or directory"),
    "data set": ((*GIVEN, "--dataset", "hico"), "unknown data set 'hico'"),
    "protocol": ((*GIVEN, "--protocol", "x"), "unknown protocol 'x'"),
    "format": ((*GIVEN, "--read", "format=x"), "unknown format 'x'"),
    "objects": ((*GIVEN, "--read", "objects=coco90"), "--read objects: unknown numbering 'coco90'"),
    "boxes": ((*GIVEN, "--read", "boxes=polar"), "--read boxes: 'polar' is not known; give one of"),
    "split": ((*GIVEN, "--zero-shot", "RF"), "unknown zero-shot split 'RF'"),
    "group": ((*GIVEN, "--groups", "groups.json"), "groups.json: group 'hard': "),
    "group of a data set": (
        (*GIVEN, "--groups", "groups.json", "--dataset", "swig-hoi"),
        "groups.json: group 'hard': ",
    ),
    "no groups": ((*GIVEN, "--groups", "no.json"), "no.json: No such file or directory"),
    "resamples": ((*GIVEN, "--bootstrap", "99"), "--bootstrap 99: too few for intervals"),
    "data set without other evaluators": (
        (*GIVEN, "--also", "rosetta", "--dataset", "swig-hoi"),
        "--also rosetta: compares evaluators of HICO-DET, but the data",
    ),
    "column": (
        (*GIVEN, "--out", "classes.csv", "--sort", "recall"),
        "--sort 'recall': not known",
    ),
    "file": ((*GIVEN, "--out", "c.gif"), "--out c.gif: unknown suffix .gif; give one of ."),
    "analysis": ((*GIVEN, "--also", "cause"), "--also cause: not known (did you mean 'causes'?)"),
    "value": (
        (*GIVEN, "--also", "pair-nms=2"),
        "--also pair-nms=2: must lie between 0 and 1",
    ),
    "confidence": ((*GIVEN, "--confidence", "95"), "--confidence 95: must lie between 0 and 1"),
    "interval": ((*GIVEN, "--interval", "bcaa"), "(did you mean 'bca'?); give one of centred, per"),
    "threshold": ((*GIVEN, "--also", "detection-threshold=nan"), "-threshold=nan: give a number"),
    "score": ((*GIVEN, "--also", "score-threshold=inf"), "--also score-threshold=inf: give a num"),
    "folder of the output": ((*GIVEN, "--json", "no/r.json"), "the folder no does not exist"),
    "output folder": ((*GIVEN, "--out", "gt.pkl/x"), "gt.pkl/x: cannot be the output folder"),
}
COMMANDS = {
    **{
        f"report: {name}": (("report", BAD, *words), said) for name, (words, said) in REPORT.items()
    },
    "compare: one model": (("compare", BAD, *GIVEN, "--significance"), "only one is given"),
    "compare: a saved result": (
        ("compare", BAD, "saved.json", *GIVEN, "--significance"),
        "saved.json: is a saved result, but --significance tests predictions",
    ),
    "compare: a saved result of another data set": (
        ("compare", BAD, "saved.json", *GIVEN, "--dataset", "v-coco"),
        "saved.json: was saved under --dataset hico-det, not v-coco",
    ),
    "compare: annotations": (("compare", BAD, "--annotations", "no.json"), "no.json: No such file"),
    "compare: protocol": (("compare", BAD, *GIVEN, "--protocol", "x"), "unknown protocol 'x'"),
    "compare: another file": (("compare", BAD, "no.pkl", *GIVEN), "no.pkl: No such file"),
    "compare: output": (("compare", BAD, *GIVEN, "--out", "no/t.md"), "the folder no does not"),
    "compare: data set": (("compare", BAD, *GIVEN, "--dataset", "x"), "unknown data set 'x'"),
    "figures: class": (
        ("figures", "study.toml", "--out", "o", "--class", "ride dragon"),
        "class: unknown class 'ride dragon'",
    ),
    "figures: figure": (("figures", "study.toml", "--out", "o", "--only", "x"), "--only 'x'"),
    "figures: annotations": (("figures", "lost.toml", "--out", "o"), "no.json: No such file"),
    "figures: another file": (("figures", "more.toml", "--out", "o"), "no.pkl: No such file"),
    "figures: protocol": (("figures", "odd.toml", "--out", "o"), "unknown protocol 'x'"),
    "figures: output": (
        ("figures", "study.toml", "--out", "gt.pkl"),
        "cannot be the output folder",
    ),
    "inspect: annotations": (("inspect", BAD, "--annotations", "no.json"), "no.json: No such file"),
    "inspect: pairs": (("inspect", BAD, "--pairs", "no.pkl"), "no.pkl: No such file"),
    "inspect: format": (("inspect", BAD, "--read", "format=x"), "unknown format 'x'"),
    "inspect: data set": (("inspect", BAD, "--dataset", "x"), "unknown data set 'x'"),
    "inspect: output": (("inspect", BAD, "--json", "no/i.json"), "the folder no does not exist"),
    "convert: format": (("convert", BAD, "n.npz", "--read", "format=x"), "unknown format 'x'"),
    "convert: data set": (("convert", BAD, "n.npz", "--dataset", "x"), "unknown data set 'x'"),
    "convert: pairs": (("convert", BAD, "n.npz", "--pairs", "no.pkl"), "no.pkl: No such file"),
    "convert: output": (("convert", BAD, "n.pkl"), "n.pkl: the package's own format is .npz"),
    "figures cases: class": (
        (*CASES, "--class", "ride dragon"),
        "--class: unknown class 'ride dragon'",
    ),
    "figures cases: annotations": (
        ("figures", "cases", BAD, "--annotations", "no.json", "--images", "folder", "--out", "o"),
        "no.json: No such file",
    ),
    "figures cases: pictures": (
        ("figures", "cases", BAD, *GIVEN, "--images", "nowhere", "--out", "o"),
        "nowhere: ",
    ),
}


@pytest.fixture(autouse=True)
def files(save, truth, run) -> None:
    save("gt.pkl", truth)
    Path(BAD).write_bytes(b"these are no predictions")
    Path("folder").mkdir()
    Path("folder/one.jpg").write_bytes(b"no picture")
    Path("groups.json").write_text('{"hard": ["ride dragon"]}')
    result = {"oracles": {}, "map": {}, "errors": {}, "dataset": "hico-det", "label": "a"}
    Path("saved.json").write_text(json.dumps(result))
    study = f'annotations = "gt.pkl"\n[[model]]\nlabel = "a"\nfile = "{BAD}"\n'
    Path("study.toml").write_text(study)
    Path("lost.toml").write_text(study.replace("gt.pkl", "no.json"))
    Path("more.toml").write_text(f'{study}[[model]]\nlabel = "b"\nfile = "no.pkl"\n')
    Path("odd.toml").write_text(f'protocol = "x"\n{study}')


@pytest.mark.parametrize("case", COMMANDS)
def test_mistakes_are_said_before_the_predictions_are_read(refuse, case: str) -> None:
    words, said = COMMANDS[case]
    assert said in refuse(*words)


def test_without_the_mistakes_the_predictions_are_read(refuse) -> None:
    for words in (
        ("report", BAD, *GIVEN, "--out", "o", "--bootstrap", "100", "--out", "classes.csv"),
        ("compare", BAD, *GIVEN),
        ("figures", "study.toml", "--out", "o", "--class", "ride bicycle"),
        ("inspect", BAD, *GIVEN),
        ("convert", BAD, "n.npz"),
        (*CASES, "--class", "ride-bicycle"),
    ):
        assert f"{BAD}: starts with 'these are no pre'" in refuse(*words)


def test_a_missing_package(refuse, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for words in (
        ("report", BAD, *GIVEN, "--out", "page.html"),
        (*CASES, "--out", "page.html"),
    ):
        assert "pip install 'diaghoi[html]'" in refuse(*words)


@pytest.mark.parametrize("words", [("report",), ("compare",), ("figures",)])
def test_annotations_that_cannot_be_found(run, found, monkeypatch, words) -> None:
    """The first images show the data set; the rest is not read."""
    monkeypatch.setattr("diaghoi.cli.reading.FIRST", 1000)
    many = [found[0] | {"filename": f"{n}.jpg"} for n in range(6000)]
    Path("long.pkl").write_bytes(pickle.dumps(many)[:-1000])
    Path("study.toml").write_text('[[model]]\nlabel = "a"\nfile = "long.pkl"\n')
    given = ("study.toml", "--out", "o") if words == ("figures",) else ("long.pkl",)
    done = run(*words, *given)
    assert (done.code, done.out) == (2, "")
    if words == ("figures",):
        assert "study.toml: annotations: missing; add 'annotations = \"FILE\"'" in done.err
    else:
        assert "no hico-det annotations found in data/hicodet," in done.err
    read = run("report", "long.pkl", *GIVEN)
    assert "long.pkl: the pickle is cut off" in read.err
