"""The words of ``diaghoi report``: ``--protocol``, ``--read`` and ``--also``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import Outcome

import diaghoi
from diaghoi.cli.analyses import ALSO
from diaghoi.cli.reading import READ

HICO_DET = ("preds.pkl", "--annotations", "instances_test2015.json")
V_COCO = ("vcoco_preds.pkl", "--annotations", "vcoco_test.json")
OWN = ("office_preds.json", "--dataset", "office.toml")


@pytest.fixture
def report(run, desk: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    def command(*words: object) -> Outcome:
        monkeypatch.chdir(desk)
        return run("report", *words)

    return command


def line_and_numbers(done: Outcome) -> tuple[str, Any]:
    assert done.code == 0, done.err
    (line,) = re.findall(r"^\S+?\|.*\|diaghoi\.[\w.+]+", done.out, re.MULTILINE)
    return line, numbers()


def numbers() -> Any:
    return {
        key: value
        for key, value in json.loads(Path("r.json").read_text()).items()
        if key != "notes"
    }


LINES = {
    "as is usual": HICO_DET,
    "changes": (*HICO_DET, "--protocol", "diag-hoi,iou=0.55,ap=101-point,rare=test,top=50"),
    "a third": (*HICO_DET, "--protocol", f"iou={1 / 3},strict=true,boxes=continuous"),
    "v-coco changed": (*V_COCO, "--protocol", "v-coco-s2,iou=.4,ap=11pt,considered=7,top=9"),
    "swig-hoi": ("swig_preds.pkl", "--annotations", "swig_test_1000.json"),
    "own data changed": (*OWN, "--protocol", "ap=area,iou=0.6,top=3"),
    "without scores": ("unscored.pkl", *HICO_DET[1:], "--protocol", "iou=0.4"),
}


@pytest.mark.parametrize("name", LINES)
def test_the_line_of_a_report_gives_the_same_numbers(report, name: str) -> None:
    words = LINES[name]
    line, wanted = line_and_numbers(report(*words, "--json", "r.json"))
    files = words[: words.index("--protocol")] if "--protocol" in words else words
    again = report(*files, "--protocol", line, "--json", "r.json")
    assert line_and_numbers(again) == (line, wanted)


@pytest.mark.parametrize(
    ("groups", "protocol"),
    [("--zero-shot RF-UC", "diag-hoi,iou=0.6"), ("--groups groups.json", "upt")],
)
def test_a_line_with_groups_goes_with_the_option_repeated(report, desk, groups, protocol) -> None:
    (desk / "groups.json").write_text('{"a | b (2)|x": ["ride bicycle"], "wheels": [1, 600]}')
    words = (*HICO_DET, *groups.split(), "--json", "r.json")
    line, wanted = line_and_numbers(report(*words, "--protocol", protocol))
    assert line_and_numbers(report(*words, "--protocol", line)) == (line, wanted)
    for other in ((), ("--zero-shot", "UO")):
        done = report(*HICO_DET, "--protocol", line, *other)
        assert (done.code, done.out) == (2, "")
        assert "give the same groups with --zero-shot or --groups" in done.err


def test_a_line_of_dense_arrays_keeps_how_many_were_read(report, shared: Path) -> None:
    folder = shared / "conformance" / "hico_det_official"
    files = (folder / "one_stage_arrays.pkl", "--annotations", folder / "annotations.json")
    for change in ((), ("--protocol", "top=150,rare=test")):
        line, wanted = line_and_numbers(report(*files, *change, "--json", "r.json"))
        assert "|top.1" in line
        again = report(*files, "--protocol", line, "--json", "r.json")
        assert line_and_numbers(again) == (line, wanted)


def test_a_line_is_read_in_python(report) -> None:
    line, wanted = line_and_numbers(report(*LINES["changes"], "--json", "r.json"))
    truth = diaghoi.read_annotations(HICO_DET[2])
    diagnosis = diaghoi.diagnose(
        truth, diaghoi.read_predictions(HICO_DET[0]), diaghoi.protocol(line)
    )
    assert diagnosis.to_dict()["oracles"] == wanted["oracles"]


def test_the_keys_of_each_option_are_listed(report) -> None:
    for option, names in (("--read", READ), ("--also", ALSO), ("--protocol", diaghoi.PROTOCOLS)):
        done = report(option, "help")
        assert (done.code, done.err) == (0, "")
        first = [
            line.split()[0].partition("=")[0].partition("[")[0]
            for line in done.out.splitlines()[1:]
        ]
        assert first[: len(names)] == list(names)
    assert "iou, ap (11-point, area, 101-point), rare (train, test) and top" in done.out
    assert "'dataset'" not in report("--dataset", "help").out


REFUSED = {
    "--protocol nothing": "unknown protocol 'nothing'; known: hico-det, ",
    "--protocol ": "unknown protocol ''; known: hico-det, ",
    "--protocol v-coco-s1": "protocol v-coco-s1 is not for hico-det; choose hico-det, ",
    "--protocol app=area": "--protocol app=area: 'app' is not known (did you mean 'ap'?); give ap,",
    "--protocol iou": "--protocol iou: give a value: iou=VALUE",
    "--protocol iou=2": "protocol.iou: is 2.0; give a number above 0, up to 1",
    "--protocol iou=0": "protocol.iou: is 0.0; give a number above 0, up to 1",
    "--protocol iou=nan": "protocol.iou: is nan; give a number above 0, up to 1",
    "--protocol rare=tests": "is 'tests' (did you mean 'test'?); give 'train' or 'test'",
    "--protocol iou=a": "protocol.iou: is 'a'; give a number",
    "--protocol top=1.5": "protocol.top: is '1.5'; give a whole number",
    "--protocol top=0": "protocol.top: is 0; give a whole number from 1 to 1,000,000,000",
    "--protocol top-of-class=99999999999999999999": "protocol.top_of_class: is 999999999",
    "--protocol iou=.5,iou=.6": "--protocol iou=.6: iou is given twice; give one value",
    "--protocol ap=are": "protocol.average_precision: is 'are' (did you mean 'area'?); give",
    "--protocol hico-det|11pt": "hico-det|11pt: the line is incomplete; copy the protocol line",
    "--protocol hico-det|12pt|zero|iou.5|rare.train": "'12pt' is not a choice of this "
    "protocol; copy the protocol line",
    "--read origi=1": "--read origi: not known (did you mean 'origin'?); give some of format, ",
    "--read origin": "--read origin: give a value: origin=0|1",
    "--read origin=": "--read origin: give a value: origin=0|1",
    "--read origin=2": "--read origin=2: not known; give one of 0, 1",
    "--read origin=1,origin=1": "--read origin: is given twice; give one value",
    "--read origin=1 --read origin=0": "--read origin: is given twice; give one value",
    "--read objects=coco90": "numbering 'coco90'",
    "--read format=lists": "unknown format 'lists' (did you mean 'pair-lists'?); known: ",
    "--read boxes=x": "boxes",
    "--read top=0": "--read top=0: give a whole number from 1 to 1,000,000,000",
    "--read top=1e3": "--read top=1e3: give a whole number from 1 to 1,000,000,000",
    "--read instances=a,b.json": "a,b.json: No such file or directory; check the path",
    "--read ": "--read '': not known; give some of format, ",
    "--also calibrations": "--also calibrations: not known (did you mean 'calibration' or ",
    "--also calibration,caus": "--also caus: not known (did you mean 'causes'?); give some of attr",
    "--also causes=1": "--also causes=1: causes takes no value; leave the value out",
    "--also pair-nms": "--also pair-nms: give a value: pair-nms=IOU",
    "--also pair-nms=x": "--also pair-nms=x: give a number",
    "--also pair-nms=0.5,caus": "--also pair-nms=0.5,caus: give a number",
    "--also pair-nms=2": "--also pair-nms=2: must lie between 0 and 1",
    "--also score-threshold=.1,score-threshold=.2": "--also score-threshold: is given twice; give",
    "--also shortcuts,shortcuts=a.json": "--also shortcuts: is given twice; give one value",
    "--also shortcuts=a,b.json": "a,b.json: No such file or directory; check the path",
    "--also slices=": "--also slices: give a value: slices=FILE.csv",
    "--also slices=a,b.txt": "--also slices=a,b.txt: give 'attributes' or a .csv file with",
    "--also slices=a,b.csv": "a,b.csv: No such file or directory; check the path",
    "--dataset ": "unknown data set ''",
    "--zero-shot XY": "unknown zero-shot split 'XY'",
}


@pytest.mark.parametrize("words", REFUSED)
def test_words_that_are_refused(refuse, desk: Path, monkeypatch, words: str) -> None:
    monkeypatch.chdir(desk)
    message = refuse("report", *HICO_DET, *words.split(" "), "--json", "new.json")
    assert REFUSED[words] in message


@pytest.mark.parametrize("also", [["pair-nms=0.7"], ["calibration"], ["rosetta,causes"]])
def test_what_needs_ranks_is_refused_without_scores(report, also: list[str]) -> None:
    words = ("unscored.pkl", *HICO_DET[1:], "--also", *also)
    done = report(*words)
    assert (done.code, done.out) == (2, "")
    assert f"--also {also[0].split(',')[0].split('=')[0]}: the detector gives no scores" in done.err
    done = report(*words[:3], "--protocol", "top=5")
    assert "--protocol top=5: the detector gives no scores, so none of its" in done.err


def test_commas_in_names_of_files(report, desk: Path) -> None:
    names = diaghoi.read_annotations(desk / "instances_test2015.json").names
    rows = [f"{name},{'sun' if row % 2 else 'rain'}" for row, name in enumerate(names)]
    (desk / "tags, causes.csv").write_text("\n".join(["image,weather", *rows]))
    (desk / "trainval, 2.json").write_bytes((desk / "trainval.json").read_bytes())
    also = "slices=tags, causes.csv,shortcuts=trainval, 2.json, calibration"
    done = report(*HICO_DET, "--also", also, "--out", "a, b.json")
    assert done.code == 0, done.err
    result = json.loads(Path("a, b.json").read_text())
    assert [each["name"] for each in result["slices"]["slices"]] == ["rain", "sun"]
    assert result["shortcuts"]["shared_images"] == 0
    assert "calibration" in result
    assert "annotation_causes" not in result
    for name in ("instances_vcoco_all_2014.json", "vcoco_test.ids"):
        (desk / f"x, {name}").write_bytes((desk / name).read_bytes())
    read = "instances=x, instances_vcoco_all_2014.json,ids=x, vcoco_test.ids"
    done = report(*V_COCO, "--read", read, "--json", "r.json")
    assert done.code == 0, done.err
    assert np.isfinite(json.loads(Path("r.json").read_text())["map"]["full"])


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--iou", "0.75"), "give --protocol iou=VALUE"),
        (("--objects", "coco91"), "give --read objects=VALUE"),
        (("--causes",), "give --also causes."),
        (("--pair-nms", "0.5"), "give --also pair-nms=VALUE"),
    ],
)
def test_a_key_given_as_an_option_is_told_whose_it_is(run, words, hint) -> None:
    done = run("report", "preds.pkl", "--annotations", "gt.pkl", *words)
    assert (done.code, done.out) == (2, "")
    assert hint in done.err


def test_a_changed_protocol_is_named_with_the_change(run, data) -> None:
    words = ("--annotations", data.annotations, "--protocol", "iou=0.75")
    shown = " ".join(run("report", data.predictions, *words).out.split())
    assert re.search(r"ΔmAP starts from mAP \d+\.\d\d under hico-det-520 \(iou\.75\)", shown)
    table = run("compare", data.predictions, *words, "--table", "compact", "--out", "-.tex").out
    assert "protocol hico-det-520 (iou.75)" in table
