"""The first screen of a report: at most 24 lines, whatever the data set."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len
from support.commands import Outcome

import diaghoi
from diaghoi.data.table import percent
from diaghoi.formats import write
from diaghoi.report.verdict import remarks

HICO_DET = ("--annotations", "instances_test2015.json")
REPORTS = {
    "hico-det": ("preds.pkl", *HICO_DET),
    "v-coco": ("vcoco_preds.pkl", "--annotations", "vcoco_test.json"),
    "swig-hoi": ("swig_preds.pkl", "--annotations", "swig_test_1000.json"),
    "hoi-a": ("hoia_preds.json", "--annotations", "test_hoia.json"),
    "own data": ("office_preds.json", "--dataset", "office.toml"),
    "without scores": ("unscored.pkl", *HICO_DET),
    "few images": ("few.pkl", *HICO_DET),
    "groups": ("preds.pkl", *HICO_DET, "--zero-shot", "RF-UC", "--protocol", "iou=0.75,top=50"),
    "long label": ("few.pkl", *HICO_DET, "--label", "a name of many words " * 9),
}


@pytest.fixture
def report(
    run: Callable[..., Outcome], desk: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    def command(*words: object) -> Outcome:
        monkeypatch.chdir(desk)
        done = run("report", *words)
        assert done.code == 0, done.err
        return done

    return command


def costs(done: Outcome) -> dict[str, str]:
    """ΔmAP of each error, in the order of the screen."""
    lines = done.out.split("If repaired alone")[1].splitlines()[1:8]
    return dict(re.findall(r"^  (\w+(?: \w+)*) +([+−]?[\d.]+|–) ", "\n".join(lines), re.MULTILINE))


@pytest.mark.parametrize(
    ("name", "width"), [*((name, 80) for name in REPORTS), ("hico-det", 120), ("long label", 120)]
)
def test_a_report_is_one_screen(report, monkeypatch, name: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    done = report(*REPORTS[name])
    lines = done.out.splitlines()
    assert sum(max(1, -(-cell_len(line) // width)) for line in lines) <= 24
    result = json.loads(report(*REPORTS[name], "--json", "-").out)
    assert len(costs(done)) == 7
    for text in (f"|diaghoi.{diaghoi.__version__}", "more: --detail", "rejecting wrong pairs"):
        assert text in done.out
    main = [each["value"] for each in result["headline"]] or [result["map"]["full"]]
    for value in (*main, result["pairs"]["recall"], result["pairs"]["precision"]):
        assert f" {percent(value)}" in done.out
    number = len(result["notes"])
    assert done.err == (f"{number} note{'s' * (number != 1)}: --detail\n" if number else "")


@pytest.mark.parametrize("name", ["hico-det", "own data", "without scores"])
def test_python_prints_the_same(report, monkeypatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    predictions, option, path = REPORTS[name]
    own = option == "--dataset"
    annotations, more = ("office_test.json", {"dataset": path}) if own else (path, {})
    printed = report(*REPORTS[name]).out.replace(" \n", "\n")  # and works in the folder
    assert f"{diaghoi.diagnose(annotations, predictions, **more)}\n" == printed


@pytest.mark.parametrize("name", ["v-coco", "without scores"])
def test_all_tables_follow_a_word_more(report, name: str) -> None:
    done = report(*REPORTS[name], "--detail")
    result = json.loads(report(*REPORTS[name], "--json", "-").out)
    for table in ("mAP, %", "Errors  ", "Pairs, negatives, actions, %", "Protocol "):
        assert f"\n{table}" in done.out
    assert done.err.splitlines() == [f"Note: {note}" for note in result["notes"]]


def test_errors_are_in_the_order_of_their_cost(report) -> None:
    done = report(*REPORTS["hico-det"])
    values = [float(cost.replace("−", "-")) for cost in costs(done).values()]
    assert values == sorted(values, reverse=True)
    result = json.loads(report(*REPORTS["hico-det"], "--json", "-").out)
    for name, title in (("human_box", "Human box"), ("action", "Action")):
        assert costs(done)[title] == percent(
            result["oracles"][name]["delta_map"]["full"], signed=True
        )
    second = percent(result["localised"]["action"]["delta_map"]["full"], signed=True)
    assert f"({second} on found pairs)" in done.out


def test_few_images_are_said_and_nothing_is_ranked(report) -> None:
    done = report(*REPORTS["few images"])
    assert done.out.splitlines()[1].startswith("! predictions for 5 of 20 annotated images: errors")
    assert "mAP (15 of 20 images missing) " in done.out
    assert "of predictions, not ranked\n" in done.out
    assert list(costs(done)) == [
        *("Human box", "Object box", "Both boxes", "Association", "Action", "Duplicate", "Missed")
    ]


def test_missed_costs_the_same_on_every_screen_and_in_predicted_images_in_brackets(
    report, run
) -> None:
    done = report("most.pkl", *HICO_DET)
    result = json.loads(report("most.pkl", *HICO_DET, "--json", "-").out)
    words = f"Missed includes {result['coverage']['triplets_elsewhere']} annotated triplets of the"
    assert words in " ".join(done.out.split())
    whole = result["oracles"]["missed_gt"]["delta_map"]["full"]
    held = result["coverage"]["oracles"]["missed_gt"]["delta_map"]["full"]
    assert held < whole
    assert costs(done)["Missed"] == percent(whole, signed=True)
    assert f"({percent(held, signed=True)} in predicted images)\n" in done.out
    gains = [float(gain) for gain in costs(done).values()]
    assert gains == sorted(gains, reverse=True)


@pytest.mark.parametrize(("name", "explained"), [("v-coco", True), ("hico-det", False)])
def test_the_rules_are_explained_if_they_name_different_errors(
    report, name: str, explained: bool
) -> None:
    result = json.loads(report(*REPORTS[name], "--json", "-").out)
    result["oracles"]["association"]["delta_map"]["full"] = 0.4
    result["localised"]["association"]["delta_map"]["full"] = 0.1
    result["localised"]["action"]["delta_map"]["full"] = 0.5
    (told,) = [text for text in remarks(result) if text.startswith("on found pairs")]
    cost = "on found pairs (in brackets), wrong actions cost most (+50.00)"
    rule = "; with an object box, the published rule calls them associations"
    assert told == cost + rule * explained


def test_what_changes_the_numbers_comes_first(report, desk: Path) -> None:
    truth = diaghoi.read_annotations(desk / "instances_test2015.json")
    found = diaghoi.read_predictions(desk / "preds.pkl")
    label = found.box_label.copy()
    label[found.pair_human[:40]] = 1  # some bicycles act
    names = np.char.replace(truth.names, "test", "train")
    write(desk / "gt.npz", truth.with_names(names))
    write(desk / "bicycles.npz", replace(found, box_label=label).with_names(names))
    lines = report("bicycles.npz", "--annotations", "gt.npz").out.splitlines()
    marks = [line for line in lines if line.startswith("! ")]
    assert marks[0].startswith("! 20 of 20 images not in the test split")
    assert re.match(r"! the subject of [\d,]+ predicted triplets is not a person", marks[1])


def test_more_remarks_than_three_are_counted(report, desk: Path) -> None:
    truth = diaghoi.read_annotations(desk / "instances_test2015.json")
    found = diaghoi.read_predictions(desk / "preds.pkl").take(list(range(15)))
    names = np.char.replace(truth.names, "test", "train")
    label = found.box_label.copy()
    label[found.pair_human[:40]] = 1
    same = np.ones_like(found.triplet_score)
    write(desk / "gt.npz", truth.with_names(names))
    found = replace(found, box_label=label, triplet_score=same, triplet_action_score=same)
    write(desk / "four.npz", found.with_names(names[:15]))
    done = report("four.npz", "--annotations", "gt.npz")
    marks = [line for line in done.out.splitlines() if line.startswith("! ")]
    assert len(marks) in (3, 4)
    assert re.fullmatch(r"! \d more remarks? like these: --detail", marks[-1])
    assert len(done.out.splitlines()) <= 24


def test_tables_that_an_option_asks_for_follow(report) -> None:
    done = report(*REPORTS["hico-det"], "--also", "calibration")
    assert "\nCalibration" in done.out.split("more: --detail")[1]


@pytest.mark.parametrize(
    ("files", "width"),
    [(("one.npz", "two.npz"), 120), (("one.npz", "two.npz", "three.json"), 80)],
)
def test_a_comparison_is_one_screen(desk, run, monkeypatch, files, width: int) -> None:
    monkeypatch.chdir(desk)
    monkeypatch.setenv("COLUMNS", str(width))
    done = run("compare", *files, *HICO_DET)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert len(lines) <= 30
    assert max(map(cell_len, lines)) <= width
    sentence = " ".join(done.out.split("\n\n")[0].split("\n", 1)[1].split())
    assert sentence.startswith("one has ")
    assert "points more official mAP than" in sentence
    assert len(sentence.split()) <= 40
    tables = json.loads(run("compare", *files, *HICO_DET, "--json", "-").out)["tables"]
    for label in tables["map"]["models"]:
        told = " ".join(line for line in lines if line.startswith(f"{label} "))
        for key, column in (
            *(("official", f"default.{split}") for split in ("full", "rare", "non_rare")),
            *(("delta_map_full", error) for error in ("human_box", "association", "missed_gt")),
            *(("pairs", "recall"), ("pairs", "precision"), ("negatives_actions", "actions.map")),
        ):
            assert percent(tables[key]["models"][label][column]) in told
    assert "more: --detail" in lines[-1]


def test_a_comparison_says_whether_it_was_tested(desk, run, monkeypatch) -> None:
    monkeypatch.chdir(desk)
    words = ("one.npz", "two.npz", *HICO_DET, "--significance", "--resamples", "100")
    out = " ".join(run("compare", *words).out.split())
    assert re.search(r"under hico-det-520, not significant, p = [\d.]+\)\. The cost that ", out)


@pytest.mark.parametrize("words", [("--detail",), ("--table", "Pairs")])
def test_tables_of_a_comparison_are_there_when_asked_for(desk, run, monkeypatch, words) -> None:
    monkeypatch.chdir(desk)
    done = run("compare", "one.npz", "two.npz", *HICO_DET, *words)
    assert "\nPairs, %\n" in done.out
    assert "more: --detail" not in done.out


def test_equal_models_and_single_ones_need_no_sentence(desk, run, monkeypatch) -> None:
    monkeypatch.chdir(desk)
    assert (
        "\nAll models have the same official mAP, "
        in run("compare", "one.npz", "qpic.npz", *HICO_DET).out
    )
    assert run("compare", "one.npz", *HICO_DET).out.splitlines()[1] == ""
