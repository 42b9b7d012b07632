"""``diaghoi robustness``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from support.robustness import CORRUPTIONS, IMAGES, link_study, write_study

from diaghoi import read_predictions
from diaghoi.formats import write_triplet_lists
from diaghoi.robustness.corruptions import CORRUPTIONS as KNOWN


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_study(tmp_path_factory.mktemp("study"))


@pytest.fixture
def study(written: Path, alone: Path) -> Path:
    return link_study(written, alone) / "study.toml"


@pytest.fixture
def occluded(study: Path) -> Path:
    first, *_ = study.read_text().rpartition("\n[[model]]")
    study.write_text(first.replace(str(list(CORRUPTIONS)), '["occlusion"]'))
    return study


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def evaluate(run, study: Path, kept: Path):
    """Return a function that evaluates the study, each run once for all tests."""

    def command(*words: object):
        return run("robustness", study, *ALONE, "--cache", kept, *words)

    return command


FIGURES = [
    f"robustness_{name}" for name in ("costs", "drops", "errors", "groups", "severities", "shares")
]
ALONE = ("--workers", "1")


def test_the_first_screen_says_what_is_kept_and_what_costs_most(evaluate, study: Path) -> None:
    done = evaluate()
    assert done.code == 0, done.err
    assert done.out.startswith(f"2 models on HICO-DET, {IMAGES} images, 3 of 20 corruptions (")
    lines = done.out.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    told = " ".join(done.out.split())
    models = json.loads(evaluate("--json", "-").out)["models"]
    for model in models:
        clean, index = model["clean"], model["indices"]["all"]
        assert f" {100 * index['mri'] / clean:.0f} % " in told
        assert f" ({100 * clean:.2f} to {100 * index['mri']:.2f})" in told
        assert f"{index['cri']:.2f}" in told
    costs = {name: sum(model["drops"][name] for model in models) for name in CORRUPTIONS}
    dearest = max(costs, key=costs.__getitem__)
    label = KNOWN[dearest].label
    assert f"{label} costs most, {50 * costs[dearest]:.0f} % on average." in told
    assert "MRI of the costliest" in told
    assert "not comparable with MRI and CRI over all 20 corruptions" in told
    assert told.endswith("more: --detail, --also errors, --out FOLDER")
    assert re.fullmatch(r"\d notes?: --detail\n", done.err)


def test_the_sentences_of_the_screen_are_on_the_greatest_falls(evaluate, study: Path) -> None:
    models = json.loads(evaluate("--json", "-").out)["models"]
    told = " ".join(evaluate().out.split())
    for model in models:
        clean, *cells = [cell["map"] for cell in model["cells"] if cell["severity"] in (0, 5)]
        falls = dict(zip(model["sentences"], cells, strict=True))
        named = [name for name in falls if " ".join(model["sentences"][name].split()) in told]
        assert named == [min(falls, key=lambda name: falls[name] - clean)]


@pytest.mark.slow
def test_six_models_on_one_screen(evaluate, study: Path) -> None:
    head, *models = study.read_text().split("[[model]]")
    labels = [f"a detector of some name {number}" for number in range(6)]
    for number, label in enumerate(labels):
        head += "[[model]]" + models[number % 2].replace('label = "', f'label = "{label}')
    study.write_text(head)
    done = evaluate()
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) <= 30
    assert max(map(len, done.out.splitlines())) <= 80
    assert "Of 6 models, a detector of some name" in " ".join(done.out.split())
    assert all(label in done.out for label in labels)


def test_detail_prints_all(evaluate, study: Path) -> None:
    done = evaluate("--detail")
    assert done.out.startswith(f"2 models on HICO-DET, {IMAGES} images, protocol hico-det-520\n")
    for title in ("Robustness\n", "MRI of each corruption, %", "CRI of each", "MRI of each sev"):
        assert f"\n{title}" in done.out
    assert "growth of ΔmAP" not in done.out
    told = " ".join(done.out.split())
    assert "A, mAP under hico-det-520 Motion blur, severity 5: mAP falls from" in told
    assert told.count(", severity 5: ") == 2 * len(CORRUPTIONS)
    assert "--detail" not in told + done.err
    assert "Note: mAP, ΔmAP and shares of errors follow protocol hico-det-520" in done.err


def test_tables_that_are_asked_for(evaluate, study: Path) -> None:
    done = evaluate("--table", "groups, MRI of each corruption")
    assert done.code == 0, done.err
    assert "\nGroups of corruptions\n" in done.out
    assert "\nMRI of each corruption, %\n" in done.out
    assert "\nRobustness\n" not in done.out
    assert ", severity 5: " not in done.out
    done = evaluate("--table", "growth_action", "--also", "errors", "--out", "-.csv")
    assert {line.split(",")[0] for line in done.out.splitlines()[1:]} == {"growth_action"}


def test_errors_and_json_where_asked_for(evaluate, study: Path) -> None:
    screen = evaluate("--also", "errors").out
    assert "\nAction: growth of ΔmAP, points\n" in screen
    assert "\nClean scores, MRI and CRI\n" in screen
    done = evaluate("--json", "-", "--metric", "map.full")
    told = json.loads(done.out)
    assert told["metric"] == "map.full"
    assert [model["label"] for model in told["models"]] == ["A", "B"]


@pytest.mark.slow
def test_processes_and_dask_give_the_same_json(run, program, occluded: Path) -> None:
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    words = ("robustness", occluded, "--json", "-")
    here = run(*words, *ALONE)
    for more in ((), ("--engine", "dask")):
        there = program(*words, "--workers", "2", "--block", "9", *more)
        assert (there.code, there.out, there.err) == (0, here.out, here.err), there.err


@pytest.mark.slow
def test_a_second_call_takes_what_is_kept(run, study: Path) -> None:
    words = ("robustness", study, *ALONE, "--cache", "kept", "--json", "-")
    first = run(*words)
    assert len(list(Path("kept/results").glob("*.json"))) == 14 + 15  # results and hashes
    kept = {path: path.stat().st_mtime_ns for path in Path("kept").rglob("*.json")}
    assert run(*words).out == first.out
    assert {path: path.stat().st_mtime_ns for path in Path("kept").rglob("*.json")} == kept


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "start"),
    [("t.md", "Models on"), ("t.tex", r"\begin{table"), ("t.csv", "topic,"), ("t.json", "{")],
)
def test_the_ending_of_the_file_tells_its_format(evaluate, study, name, start) -> None:
    done = evaluate("--out", name)
    assert done.code == 0
    assert done.out.startswith("2 models on HICO-DET")
    assert f"Wrote {name}" in done.err
    text = Path(name).read_text("utf-8")
    assert text.startswith(start)
    assert "otion" in text
    if not name.endswith(("csv", "json")):
        assert text.count("severity 5: ") == 5
        evaluate("--out", name, "--detail")
        assert Path(name).read_text("utf-8").count("severity 5: ") == 2 * len(CORRUPTIONS)


@pytest.mark.slow
def test_a_folder_gets_everything(evaluate, study: Path) -> None:
    done = evaluate("--out", "all", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    texts = [f"robustness.{ending}" for ending in ("csv", "json", "md", "tex", "txt")]
    drawn = [f"{name}.{ending}" for name in FIGURES for ending in ("pdf", "png", "svg")]
    assert sorted(path.name for path in Path("all").iterdir()) == sorted([*texts, *drawn])


@pytest.mark.slow
def test_figures_for_one_column_of_chosen_corruptions(evaluate, study: Path) -> None:
    files = ("--out", "groups.png", "--out", "of_severities.svg", "--quiet")
    done = evaluate(*files, "--column", "single", "--corruption", "MB")
    assert done.code == 0, done.err
    with Image.open("groups.png") as picture:
        dpi = picture.info["dpi"][0]
        assert picture.width / dpi == pytest.approx(3.25, abs=0.02)
    drawn = Path("of_severities.svg").read_text("utf-8")
    assert "motion blur" in drawn
    assert "occlusion" not in drawn
    assert re.search(r"official mAP, Default, Full \(\d+ classes\)", drawn)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--corruption", "ZB", "--out", "f"), "the study does not have zoom_blur; give some"),
        (("--corruption", "MB"), "--corruption: applies to figures; add --out FOLDER"),
        (("--column", "single"), "--column: applies to figures; add --out FOLDER"),
        (("--column", "single", "--out", "t.md"), "--column: applies to figures; add --out FOLDER"),
        (("--out", "drops.gif"), "--out drops.gif: unknown suffix .gif; give one of .json,"),
        (("--out", "x.svg"), "--out x.svg: unknown suffix .svg; give one of .json, .csv, .md,"),
        (("--out", "-.pdf"), "--out -.pdf: unknown suffix .pdf"),
        (("--column", "both"), "--column 'both': not known"),
        (("--table", "dmap"), "--table 'dmap': there is no such table; give some of Robus"),
        (("--table", "compact"), "--table 'compact': there is no such table"),
        (("--table", "growth_action"), "'growth_action': there is no such table"),
        (("--also", "error"), "--also error: not known (did you mean 'errors'?)"),
        (("--also", "errors=1"), "--also errors=1: errors takes no value; leave the value out"),
        (("--read", "origin=2"), "--read origin=2: not known; give one of 0, 1"),
        (("--protocol", "hico"), "unknown protocol 'hico'"),
        (("--protocol", "hico-det,iou=2"), "protocol.iou: is 2.0; give a number above 0"),
    ],
)
def test_choices_are_checked_first(run, study: Path, words, wanted: str) -> None:
    before = sorted(study.parent.rglob("*"))
    done = run("robustness", study, *words)
    assert (done.code, done.out) == (2, "")
    assert wanted in " ".join(done.err.split())
    assert sorted(study.parent.rglob("*")) == before


@pytest.mark.slow
def test_figures_that_cannot_be_drawn_are_noted(evaluate, study: Path) -> None:
    text = study.read_text().replace(str(list(CORRUPTIONS)), '["occlusion", "MB"]')
    study.write_text(text)
    done = evaluate("--out", "drops.pdf", "--out", "drops.svg")
    assert done.code == 0, done.err
    assert done.err.count("Note: robustness_drops: not drawn: a radar chart needs 3 corr") == 1
    assert not Path("drops.pdf").exists()


def test_what_is_given_takes_the_place_of_what_the_study_says(run, occluded: Path) -> None:
    plain = json.loads(run("robustness", occluded, *ALONE, "--json", "-").out)
    truth = occluded.parent / "gt.npz"
    truth.rename("truth.npz")
    words = (*ALONE, "--annotations", "truth.npz", "--dataset", "hico-det", "--json", "-")
    moved = json.loads(run("robustness", occluded, *words).out)
    assert moved["models"] == plain["models"]
    strict = run("robustness", occluded, *words, "--protocol", "iou=0.75", "--cache", "kept")
    told = json.loads(strict.out)
    assert "IoU >= 0.75" in told["protocol"]["signature"]
    means = [each["models"][0]["cells"][0]["map"] for each in (plain, told)]
    assert means[0] > means[1]
    # The line that the screen ends with makes the same study.
    screen = run("robustness", occluded, *words[:-2], "--protocol", "iou=0.75", "--cache", "kept")
    line = next(each for each in screen.out.splitlines() if "|iou.75|" in each)
    again = run("robustness", occluded, *words, "--protocol", line)
    assert json.loads(again.out)["models"] == told["models"]


def test_predictions_are_read_as_they_are_said_to_be(run, occluded: Path) -> None:
    for file in sorted(occluded.parent.glob("A/*.npz")):
        if file.stem.startswith(("clean", "occlusion")):
            write_triplet_lists(file.with_suffix(".pkl"), read_predictions(file))
    occluded.write_text(occluded.read_text().replace(".npz", ".pkl").replace("gt.pkl", "gt.npz"))
    cached = (*ALONE, "--cache", "kept", "--json", "-")
    plain, misread = (
        json.loads(run("robustness", occluded, *cached, *words).out)["models"][0]["clean"]
        for words in ((), ("--read", "boxes=cxcywh"))
    )
    assert misread < plain


@pytest.mark.slow
def test_intervals_and_tests(run, occluded: Path) -> None:
    words = ("--bootstrap", "100", "--significance", "--resamples", "2", "--seed", "2")
    done = run("robustness", occluded, *ALONE, *words, "--json", "-")
    assert done.code == 0, done.err
    cells = json.loads(done.out)["models"][0]["cells"]
    assert all("intervals" in cell for cell in cells)
    assert [cell["severity"] for cell in cells if "tests" in cell] == [5]


def test_gaps_are_named_and_do_not_stop(evaluate, study: Path) -> None:
    (study.parent / "A" / "occlusion_5.npz").unlink()
    done = evaluate()
    assert done.code == 0
    assert "\n! A: 1 of 7 files are missing: Occlusion 5; the first is" in done.out
    assert "‡" in done.out
    done = evaluate("--detail")
    assert "Note: A: 1 of 7 files are missing: Occlusion 5; the first is" in done.err


def test_damaged_files_are_named_at_the_end(evaluate, study: Path) -> None:
    damaged = study.parent / "A" / "occlusion_5.npz"
    damaged.unlink()
    damaged.write_bytes(b"PK\x03\x04")
    done = evaluate("--json", "all.json")
    assert done.code == 2
    last = done.err.splitlines()[-1]
    assert last.startswith("diaghoi: error: the numbers leave out 1 file that could not be used: ")
    assert str(damaged) in last
    assert "\nClean scores, MRI and CRI\n" in done.out
    assert len(json.loads(Path("all.json").read_text())["models"][0]["cells"]) == 6


def test_saved_reports_are_evaluated_without_annotations(run, occluded: Path) -> None:
    plain = run("robustness", occluded, *ALONE, "--json", "-")
    for file in sorted(occluded.parent.glob("A/*.npz")):
        if file.stem.startswith(("clean", "occlusion")):
            words = ("--annotations", "gt.npz", "--label", file.parent.name, "--quiet")
            assert run("report", file, *words, "--json", file.with_suffix(".json")).code == 0
    occluded.write_text(occluded.read_text().replace(".npz", ".json").partition("\n")[2])
    done = run("robustness", occluded, *ALONE, "--json", "-")
    assert done.code == 0, done.err
    assert json.loads(done.out)["models"] == json.loads(plain.out)["models"]
    for words, problem in (
        (("--bootstrap", "100"), "is a saved result without intervals; give the predictions"),
        (("--significance",), "A/clean.json: is a saved result; give the predictions themselves"),
    ):
        done = run("robustness", occluded, *ALONE, *words, "--detail")
        assert (problem in done.err) or (problem in done.out)
        assert done.code == (2 if "--bootstrap" in words else 0)
    occluded.write_text(f'protocol = "diag-hoi"\n{occluded.read_text()}')
    done = run("robustness", occluded, *ALONE)
    assert done.code == 2
    assert "is a saved result of protocol hico-det-520, but the study asks for diag-hoi" in done.err


def test_annotations_are_found_like_those_of_reports(evaluate, study: Path, monkeypatch) -> None:
    study.write_text(study.read_text().replace('annotations = "gt.npz"', ""))
    done = evaluate()
    assert done.code == 2
    assert "no hico-det annotations found" in done.err
    monkeypatch.setenv("DIAGHOI_DATA", str(study.parent / "gt.npz"))
    done = evaluate()
    assert done.code == 0, done.err
    assert "gt.npz, from DIAGHOI_DATA" in evaluate("--detail").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--engine", "dusk"), "--engine 'dusk': not known (did you mean 'dask'?); give one of lo"),
        (("--scheduler", "tcp://a:1"), "--scheduler: applies to a Dask cluster; add --engine dask"),
        (
            ("--metric", "map.ful"),
            "--metric map.ful: is not a score of the report (did you",
        ),
        (("--out", "none/x.md"), "none/x.md: cannot be written: the folder none does not exist"),
        (("--json", "gt.npz"), "gt.npz: would overwrite an input file; give another name"),
        (("--json", "A/clean.npz"), "A/clean.npz: would overwrite an input file"),
        (("--cache", "study.toml/x"), "cannot be the output folder"),
        (("--bootstrap", "99"), "give at least 100 resamples"),
        (("--significance", "--resamples", "1"), "--resamples 1: give at least two"),
        (("--bootstrap", "100", "--confidence", "1"), "--confidence 1: must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_used(evaluate, study: Path, words: tuple[str, ...], message: str) -> None:
    done = evaluate(*words)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.splitlines()) == 1
    assert message in done.err
    assert sorted(path.name for path in study.parent.glob("*")) == [
        *("A", "B", "gt.npz"),
        "study.toml",
    ]


def test_files_that_cannot_be_written_are_refused_first(evaluate, study: Path) -> None:
    Path("f/robustness_drops.pdf").mkdir(parents=True)
    done = evaluate("--out", "f", "--json", "all.json", "--quiet")
    assert done.code == 2
    assert "f/robustness_drops.pdf: cannot be written: it is a folder" in done.err
    assert not Path("all.json").exists()


def test_an_unknown_metric_is_told_the_usual_ones(evaluate, study: Path) -> None:
    done = evaluate("--metric", "mAP")
    assert "pairs.recall, pairs.precision" in done.err
    assert "oracles." not in done.err


def test_a_study_that_is_not_there(run) -> None:
    done = run("robustness", "none.toml")
    assert (done.code, done.out) == (2, "")
    assert done.err == "diaghoi: error: none.toml: No such file or directory; check the path\n"


@pytest.fixture
def few_corruptions() -> Iterator[None]:
    """Two of each group, so that nothing takes long."""
    known = dict(KNOWN)
    few = ("MB", "GB", "GauN", "PL", "EXP", "OCC", "MP", "ZB")
    KNOWN.clear()
    KNOWN.update({n: each for n, each in known.items() if each.abbreviation in few})
    yield
    KNOWN.clear()
    KNOWN.update(known)


@pytest.mark.slow
@pytest.mark.usefixtures("few_corruptions")
def test_the_demo_draws_the_whole_chapter(run, alone: Path) -> None:
    done = run("demo", "--robustness", "--out", "d", "--size", 6)
    assert done.code == 0, done.err
    names = sorted(path.name for path in (alone / "d").iterdir())
    assert names == [
        *("annotations.npz", "cache", "one_stage", "robustness.json"),
        *(f"{name}.pdf" for name in FIGURES),
        *("study.toml", "two_stage"),
    ]
    assert f"d holds {', '.join(names)}." in done.out
    told = json.loads((alone / "d" / "robustness.json").read_text())
    assert [model["label"] for model in told["models"]] == ["one_stage", "two_stage"]
    assert (told["missing"], told["failed"]) == ([], [])
    command = done.out.splitlines()[-1].removeprefix("Try: diaghoi ").split()
    again = run(*command, "--json", "-")
    assert json.loads(again.out) == told
