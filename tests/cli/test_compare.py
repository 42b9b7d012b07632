"""``diaghoi compare``: several detectors, from predictions, saved results or a study."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.explorer import page_data_of
from support.results import example

from diaghoi import diagnose, read_annotations, read_predictions, simulate
from diaghoi.formats import write

Save = Callable[..., Path]


@pytest.fixture
def put(alone: Path) -> Save:
    """Return a function that saves a result in the working directory."""

    def saved(name: str, **changes: Any) -> Path:
        path = alone / name
        path.write_text(json.dumps(example(changes.pop("label", path.stem)) | changes))
        return path

    return saved


@pytest.fixture(scope="session")
def detectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("detectors")
    rng = np.random.default_rng(2)
    truth = simulate.annotations(15, rng)
    write(folder / "gt.npz", truth)
    for name, detector in (("one", simulate.ONE_STAGE), ("two", simulate.TWO_STAGE)):
        write(folder / f"{name}.npz", simulate.detect(truth, detector, rng))
    return folder


def test_saved_results_are_compared(run, put) -> None:
    files = put("a.json"), put("b.json", map={"full": 0.6, "rare": None})
    done = run("compare", *files, "--detail")
    assert done.code == 0
    assert done.out.startswith("2 models on HICO-DET, 1,234 images, protocol hico-det-520\n")
    line = next(
        line
        for line in done.out.split("\nmAP under hico-det-520, %\n")[1].splitlines()
        if line[:2] == "b "
    )
    assert line.split()[:3] == ["b", "60.00*", "–"]
    assert done.err == "Note: a note\n"


def test_predictions_are_diagnosed_as_by_report(run, detectors: Path) -> None:
    words = ("--annotations", detectors / "gt.npz", "--json", "-")
    files = [detectors / f"{name}.npz" for name in ("one", "two")]
    tables = json.loads(run("compare", *files, *words).out)["tables"]
    for file in files:
        result = json.loads(run("report", file, *words).out)
        mine = {key: part["models"][file.stem] for key, part in tables.items()}
        assert mine["map"]["map.full"] == result["map"]["full"]
        assert mine["official"]["known_object.rare"] == result["official"]["known_object"]["rare"]
        assert mine["pairs"]["rare.recall"] == result["pairs"]["rare"]["recall"]
        assert mine["negatives_actions"]["actions.map"] == result["actions"]["map"]
        for oracle, outcome in result["oracles"].items():
            assert mine["delta_map_rare"][oracle] == outcome["delta_map"]["rare"]


def test_average_precision_is_taken_as_asked_for(run, detectors: Path) -> None:
    words = ("--annotations", detectors / "gt.npz", "--json", "-")
    file, found = detectors / "one.npz", {}
    for kind in ("11-point", "area", "101-point"):
        done = json.loads(run("compare", file, "--protocol", f"ap={kind}", *words).out)
        result = json.loads(run("report", file, "--protocol", f"ap={kind}", *words).out)
        assert done["protocol"] == result["protocol"]
        assert f"AP: {kind}" in done["protocol"]["signature"]
        found[kind] = done["tables"]["map"]["models"]["one"]["map.full"]
        assert found[kind] == result["map"]["full"]
        official = done["tables"]["official"]["models"]["one"]
        assert official["default.full"] == result["official"]["default"]["full"]
        found[f"official {kind}"] = official["default.full"]
    assert len({found[kind] for kind in ("11-point", "area", "101-point")}) == 3
    # The benchmark takes it in its own way.
    assert found["official 11-point"] == found["official area"] == found["official 101-point"]


@pytest.mark.slow
def test_variants_of_each_model(refuse, run, detectors: Path, alone: Path) -> None:
    """Tables 5 and 6 of the Diag-HOI paper, over models."""
    truth = ("--annotations", detectors / "gt.npz")
    asked = ("--also", "pair-nms=0.5", "--also", "detection-threshold=0.3")
    files = [detectors / f"{name}.npz" for name in ("one", "two")]
    done = run("compare", *files, *truth, *asked, "--json", "all.json", "--detail")
    assert done.code == 0, done.err
    assert "\nWith pair NMS 0.5, %\n" in done.out
    assert "one: pair NMS at 0.5: drops" in done.err
    tables = json.loads(Path("all.json").read_text())["tables"]
    for file in files:
        result = json.loads(run("report", file, *truth, *asked, "--json", "-").out)
        for name, key in (
            ("pair NMS 0.5", "with_pair_nms_0.5"),
            ("detection threshold 0.3", "with_detection_threshold_0.3"),
        ):
            variant, mine = result["variants"][name], tables[key]["models"][file.stem]
            for at, values in (("", variant), ("difference.", variant["difference"])):
                for figure in ("per_image", "recall", "precision"):
                    assert mine[f"{at}pairs.{figure}"] == values["pairs"][figure]
                assert mine[f"{at}map.full"] == values["map"]["full"]
    only = run("compare", *files, *truth, *asked, "--table", "with pair nms 0.5").out
    assert only.count("Pairs/image") == 2

    assert (
        run("report", files[0], *truth, "--also", "pair-nms=0.5", "--json", "s.json", "-q").code
        == 0
    )
    mixed = run("compare", "s.json", files[1], *truth, "--also", "pair-nms=0.5", "--json", "-").out
    assert json.loads(mixed)["tables"]["with_pair_nms_0.5"] == tables["with_pair_nms_0.5"]
    assert "s.json: was saved without detection threshold 0.3; give the predic" in refuse(
        "compare", "s.json", files[1], *truth, *asked
    )


@pytest.fixture
def without_box_scores(detectors: Path, alone: Path) -> list[Path]:
    """Detectors whose files have scores of pairs alone."""
    files = []
    for name in ("one", "two"):
        found = read_predictions(detectors / f"{name}.npz")
        scores = np.linspace(0, 1, len(found.pair_human))
        files.append(alone / f"{name}.npz")
        write(files[-1], replace(found, box_score=None, pair_score=scores))
    return files


def test_a_threshold_of_pair_scores_is_called_that(run, detectors, without_box_scores) -> None:
    pytest.importorskip("jinja2")
    truth = ("--annotations", detectors / "gt.npz", "--also", "detection-threshold=0.3")
    names = [f"x.{suffix}" for suffix in ("tex", "md", "csv", "html")]
    outs = [word for name in names for word in ("--out", name)]
    done = run("compare", *without_box_scores, *truth, *outs)
    assert done.code == 0, done.err
    tex, md, table, page = (Path(name).read_text() for name in names)
    assert "\nwith_pair_score_threshold_0.3," in table
    for text in (done.out, tex, md, page):
        assert "With pair score threshold 0.3" in text
        assert "With detection threshold" not in text
    for text in (done.out, tex, md):
        assert (
            "The threshold applies to pair scores if a file has no detection scores: one, two."
            in " ".join(text.split())
        )


def test_detectors_whose_threshold_is_not_of_the_same_scores(run, detectors, without_box_scores):
    files = without_box_scores[0], detectors / "two.npz"
    truth = ("--annotations", detectors / "gt.npz", "--also", "detection-threshold=0.3")
    text = run("compare", *files, *truth).out
    assert "\nWith detection threshold 0.3, %\n" in text
    assert (
        "The threshold applies to pair scores if a file has no detection scores: one."
        in " ".join(text.split())
    )
    alone = run("report", files[0], *truth).out
    assert "\nPair score threshold 0.3 " in alone
    assert "the file has no detection scores" in alone


def test_saved_diagnoses_are_compared_as_their_predictions(refuse, run, detectors, alone) -> None:
    truth = read_annotations(detectors / "gt.npz")
    diagnosis = diagnose(truth, read_predictions(detectors / "one.npz"), label="one")
    diagnosis.save("saved.npz")
    words = ("--annotations", detectors / "gt.npz", "--json", "-")
    one, two = (detectors / f"{name}.npz" for name in ("one", "two"))
    fresh, saved = (
        json.loads(run("compare", file, two, *words).out) for file in (one, "saved.npz")
    )
    assert saved["tables"] == fresh["tables"]
    assert "saved.npz: is a saved diagnosis; give the predictions themselves, or look" in refuse(
        "report", "saved.npz", "--annotations", detectors / "gt.npz"
    )


def test_predictions_and_results_mix(run, detectors: Path, alone: Path) -> None:
    truth = ("--annotations", detectors / "gt.npz")
    files = [detectors / f"{name}.npz" for name in ("one", "two")]
    assert run("report", files[0], *truth, "--json", "saved.json", "-q").code == 0
    mixed = json.loads(run("compare", "saved.json", files[1], *truth, "--json", "-").out)
    fresh = json.loads(run("compare", *files, *truth, "--json", "-").out)
    assert mixed == fresh


def test_a_page_of_predictions_shows_cases_side_by_side(run, detectors: Path, alone: Path) -> None:
    pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")
    files = [detectors / name for name in ("one.npz", "two.npz")]
    words = (*files, "--annotations", detectors / "gt.npz")
    plain = run("compare", *words, "--json", "a.json")
    done = run("compare", *words, "--json", "b.json", "--out", "c.html")
    assert done.code == 0
    assert done.out == plain.out  # the page changes nothing else
    assert (alone / "a.json").read_bytes() == (alone / "b.json").read_bytes()
    assert done.err.endswith("Wrote b.json, c.html\n")
    data = page_data_of((alone / "c.html").read_text(encoding="utf-8"))
    assert [each["rows"] for each in data["models"]] == [True, True]
    assert [each is not None for each in data["cases"]["models"]] == [True, True]
    assert data["differences"][0]["labels"] == ["one", "two"]


def test_a_page_of_saved_results_shows_what_they_hold(run, put, alone: Path) -> None:
    pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")
    files = put("a"), put("b")
    done = run("compare", *files, "--labels", "x,y", "--out", "c.html")
    assert done.code == 0, done.err
    data = page_data_of((alone / "c.html").read_text(encoding="utf-8"))
    assert [(each["label"], each["rows"]) for each in data["models"]] == [
        ("x", False),
        ("y", False),
    ]


def test_annotations_are_found_as_report_finds_them(refuse, run, detectors, monkeypatch) -> None:
    assert "no hico-det annotations found" in refuse("compare", detectors / "one.npz")
    monkeypatch.setenv("DIAGHOI_DATA", str(detectors / "gt.npz"))
    done = run("compare", detectors / "one.npz", "--detail")
    assert done.code == 0
    assert f"Note: annotations: {detectors / 'gt.npz'}, from DIAGHOI_DATA" in done.err


def test_what_is_told_of_each_model(run, put) -> None:
    files = (put("a.json"), put("b.json"), put("c.json"))
    told = ("--labels", "QPIC,UPT,", "--stage", "one, two,", "--backbone", "R50,,Swin")
    result = json.loads(run("compare", *files, *told, "--json", "-").out)
    assert [(each["label"], each["stage"], each["backbone"]) for each in result["models"]] == [
        ("QPIC", "one", "R50"),
        ("UPT", "two", None),
        ("c", None, "Swin"),
    ]
    assert result["groups"] == {"one": ["QPIC"], "two": ["UPT"]}
    assert "difference" in result["tables"]["map"]["means"]


def test_labels_are_those_of_the_results_or_of_the_files(run, put, detectors: Path) -> None:
    files = (put("x.json", label="My model"), put("y.json", label=""))
    result = json.loads(run("compare", *files, "--json", "-").out)
    assert [model["label"] for model in result["models"]] == ["My model", "y"]


def study(folder: Path, detectors: Path, more: str = "") -> Path:
    path = folder / "study.toml"
    path.write_text(
        f'annotations = "{detectors}/gt.npz"\n{more}\n'
        f'[[model]]\nlabel = "A"\nfile = "{detectors}/one.npz"\nstage = "one"\nbackbone = "R50"\n'
        f'[[model]]\nlabel = "B"\nfile = "{detectors}/two.npz"\nstage = "two"\n'
    )
    return path


def test_a_study_is_compared(run, detectors: Path, alone: Path) -> None:
    done = run("compare", study(alone, detectors), "--detail")
    assert done.code == 0
    assert "\nB " in done.out
    assert done.out.count("\nTwo-stage: B.\n") == 1
    assert "\nDifference " in done.out
    assert "Backbone" in done.out
    assert "Venue" not in done.out


def test_studies_on_several_data_sets_are_compared_together(refuse, run, put, alone: Path) -> None:
    put("a.json")
    put("b.json", dataset="v-coco")
    for name in ("a", "b"):
        (alone / f"{name}.toml").write_text(f'[[model]]\nfile = "{name}.json"\n')
    (alone / "both.toml").write_text('studies = ["a.toml", "b.toml"]\n')
    short = run("compare", "both.toml").out
    assert short.startswith("1 model on HICO-DET, ")
    assert "\n1 model on V-COCO, " in short
    done = run("compare", "both.toml", "--detail")
    assert done.code == 0
    assert "\nHICO-DET\n  a " in done.out
    assert "\nV-COCO\n  b " in done.out
    saved = json.loads(run("compare", "both.toml", "--json", "-").out)
    assert [each["dataset"] for each in saved["studies"]] == ["hico-det", "v-coco"]
    assert "--protocol: both.toml lists studies on several data sets; set the value in" in refuse(
        "compare", "both.toml", "--protocol", "diag-hoi"
    )
    assert "both.toml: studies: lists other studies, but a study with" in refuse(
        "robustness", "both.toml"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("studies = []", "studies: is []; give a list of study files"),
        ("studies = [1]", "studies: is [1]; give a list of study files"),
        ('studies = ["a.toml", "./a.toml"]', "studies: 'a.toml' appears twice"),
        ('studies = ["none.toml"]', "none.toml: No such file"),
        ('studies = ["both.toml"]', "both.toml: studies: lists other studies"),
        ('studies = ["a.toml"]\n[[model]]\nfile = "a"', "model: does not go with studies"),
        ('studies = ["a.toml"]\nprotocol = "hico-det"', "protocol: does not go with studies"),
    ],
)
def test_bad_lists_of_studies(refuse, put, alone: Path, text: str, message: str) -> None:
    put("a.json")
    (alone / "a.toml").write_text('[[model]]\nfile = "a.json"\n')
    (alone / "both.toml").write_text(text)
    assert message in refuse("compare", "both.toml")


def test_what_a_study_says_of_its_models_is_shown(run, put, alone: Path) -> None:
    for name in ("a", "b"):
        put(f"{name}.json")
    (alone / "study.toml").write_text(
        '[[model]]\nfile = "a.json"\nvenue = "CVPR 2022"\ndetector = "DETR"\n'
        '[[model]]\nfile = "b.json"\nbackbone = "R50"\nclassifier = "MLP & GNN"\n'
    )
    heads = {
        "txt": ("Model", "Venue", "Backbone", "Detector", "Classifier"),
        "md": ("| Model | Venue | Backbone | Detector | Classifier |", "MLP \\& GNN"),
        "tex": ("Model & Venue & Backbone & Detector & Classifier &", r"MLP \& GNN"),
        "csv": (
            "model,stage,venue,backbone,detector,classifier,column",
            "a,,CVPR 2022,,DETR,,",
            "b,,,R50,,MLP & GNN,",
        ),
    }
    for kind, texts in heads.items():
        out = run("compare", "study.toml", "--out", f"-.{kind}").out
        assert not [text for text in texts if text not in out]
    first, second = json.loads(run("compare", "study.toml", "--json", "-").out)["models"]
    assert (first["venue"], first["detector"], first["classifier"]) == ("CVPR 2022", "DETR", None)
    assert (second["venue"], second["classifier"]) == (None, "MLP & GNN")


def test_options_change_the_study(run, detectors: Path, alone: Path) -> None:
    path = study(alone, detectors, 'protocol = "hico-det"')
    result = json.loads(run("compare", path, "--json", "-").out)
    assert result["protocol"]["name"] == "hico-det"
    result = json.loads(run("compare", path, "--protocol", "diag-hoi", "--json", "-").out)
    assert result["protocol"]["name"] == "diag-hoi"


def test_pairs_belong_to_models(run, data, found, save) -> None:
    words = ("--annotations", data.annotations, "--labels", "with,without", "--json", "-")
    done = run("compare", data.predictions, data.predictions, "--pairs", f"{data.pairs},", *words)
    assert done.code == 0, done.err
    result = json.loads(done.out)
    pairs = result["tables"]["pairs"]
    assert pairs["models"]["with"]["per_image"] != pairs["models"]["without"]["per_image"]
    assert "as listed by with; taken from the triplets of without" in pairs["caption"]


def test_the_ending_of_the_file_tells_its_format(run, put, alone: Path) -> None:
    starts = {
        "t.md": "Models on",
        "t.TEX": r"\begin{table",
        "t.csv": "topic,dataset,",
        "t.json": "{\n",
        "t.txt": "1 model on",
    }
    a = put("a.json")
    in_files = run("compare", a, *(word for name in starts for word in ("--out", name)))
    assert (in_files.code, in_files.out) == (0, run("compare", a).out)
    for name, start in starts.items():
        written = (alone / name).read_bytes().decode("utf-8")
        assert written.startswith(start)
        assert run("compare", a, "--out", f"-{Path(name).suffix}").out == written


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("### ")]


def test_tables_are_chosen_by_their_headings(run, put, alone: Path) -> None:
    chosen = ("--table", "Official mAP, %, pairs", "--table", "dmap (rare)")
    done = run("compare", put("a.json"), *chosen, "--out", "-.md")
    assert headings(done.out) == [
        *("### Official mAP, %", "### ΔmAP (Rare), percentage points", "### Pairs, %")
    ]
    text = run("compare", put("a.json"), *chosen).out
    assert "\nPairs, %\n" in text
    assert "Share of predictions" not in text
    # JSON holds all, and files what the screen shows.
    run("compare", put("a.json"), *chosen, "--json", "t.json", "--out", "t.md")
    assert len(json.loads((alone / "t.json").read_text("utf-8"))["tables"]) == 9
    assert headings((alone / "t.md").read_text("utf-8")) == headings(done.out)


@pytest.mark.parametrize("format", ["txt", "md", "tex", "csv"])
def test_one_compact_table(run, put, format: str) -> None:
    done = run(
        "compare", put("a.json"), put("b.json"), "--table", "compact", "--out", f"-.{format}"
    )
    assert done.code == 0
    assert "Negatives" not in done.out
    if format == "csv":
        assert len(done.out.splitlines()) == 1 + 2 * 8
    else:
        assert "mAP: official mAP, Default, Full." in done.out
    if format == "txt":
        rows = [line.split() for line in done.out.splitlines()]
        assert ["a", "31.00*", "−0.12*", "0.00*", "0.00*", "5.00*"] in [row[:6] for row in rows]


def test_closing_lines_name_the_models_that_they_hold_for(run, put) -> None:
    signature = example()["protocol"]["signature"]
    cut = {"name": "hico-det-520", "signature": f"{signature} | triplets: top 100 an image"}
    done = run("compare", put("a.json"), put("b.json", protocol=cut), "--table", "map")
    assert "triplets: as given (a); top 100 an image (b)\n" in done.out


def test_a_table_that_an_analysis_adds_is_said_to_be_missing(run, put) -> None:
    done = run("compare", put("a.json"), put("b.json"), "--table", "with")
    assert "--table 'with': this comparison has no such table; add --also pair-nms=" in done.err


def test_out_and_json_together(run, put, alone: Path) -> None:
    done = run("compare", put("a.json"), "--out", "t.csv", "--json", "t.json")
    assert done.code == 0
    result = json.loads((alone / "t.json").read_text("utf-8"))
    rows = list(csv.DictReader(io.StringIO((alone / "t.csv").read_text("utf-8"))))
    assert len(rows) == sum(len(table["columns"]) for table in result["tables"].values())


def test_json_beside_the_tables(run, put, alone: Path) -> None:
    done = run("compare", put("a.json"), "--json", "t.json")
    assert done.out.startswith("1 model on HICO-DET")
    same = run("compare", put("a.json"), "--json", "-").out
    assert (alone / "t.json").read_text("utf-8") == same
    assert run("compare", put("a.json"), "--out", "-.json").out == same


def test_quiet(run, put, alone: Path) -> None:
    done = run("compare", put("a.json"), "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    done = run("compare", put("a.json"), "--quiet", "--out", "-.csv")
    assert done.out.startswith("topic,")
    assert done.err == ""


def test_letters_of_labels_stay_in_latex(run, put) -> None:
    done = run("compare", put("a.json"), "--labels", "日 é", "--out", "-.tex")
    assert "\n日 \\'{e} & " in done.out


def test_caveats_are_told_on_stderr_and_in_the_tables(run, put) -> None:
    counts = example()["counts"] | {"images": 7}
    files = put("a.json"), put("b.json", counts=counts)
    assert "! images differ (a: 1,234; b: 7)\n" in run("compare", *files).out
    done = run("compare", *files, "--detail")
    assert done.code == 0
    assert "Note: images differ (a: 1,234; b: 7)" in done.err
    assert "Caution: images differ (a: 1,234; b: 7)." in done.out


def test_one_name_may_be_no_unicode(run, put, alone: Path) -> None:
    done = run("compare", put("a.json", label="m\udcffodel"), "--out", "t.tex", "--json", "t.json")
    assert done.code == 0
    assert "m?odel" in (alone / "t.tex").read_text("utf-8")
    assert run("compare", put("a.json", label="m\udcffodel")).code == 0


SIGNATURE = {"name": "hico-det-520", "signature": "AP: area"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.json",), "none.json: No such file or directory"),
        (("a.json", "none.pkl"), "none.pkl: No such file or directory"),
        (("a.json", "b.json", "--labels", "x"), "--labels x: has 1 value for 2 models"),
        (("a.json", "--stage", "three"), "stage 'three': give one or two"),
        (("a.json", "--stage", "twoo"), "stage 'twoo' (did you mean 'two'?)"),
        (("a.json", "--backbone", "x,y"), "--backbone x,y: has 2 values for 1 model"),
        (("a.json", "--pairs", "b.json"), "a.json: is a saved result, which includes its pairs, b"),
        (("a.json", "--out", "t.latx"), "--out t.latx: unknown suffix .latx; give one of .json"),
        (("a.json", "--protocol", "hico"), "unknown protocol 'hico'"),
        (
            ("a.json", "--protocol", "diag-hoi"),
            "a.json: was saved under --protocol hico-det-520, not diag-hoi; give the predictions",
        ),
        (("a.json", "--protocol", "ap=COCO"), "protocol.average_precision: is 'COCO'; give '11-po"),
        (
            ("a.json", "--protocol", "hico-det-520,ap=area"),
            "a.json: was saved under --protocol hico-det-520|11pt|iou.5|",
        ),
        (("a.json", "--dataset", "v-coco"), "a.json: was saved under --dataset hico-det, not v-co"),
        (("a.json", "--dataset", "hico"), "unknown data set 'hico'"),
        (("a.json", "zoo.json"), "'a' is on hico-det, 'zoo' on zoo"),
        (("a.json", "area.json"), "'area' has AP: area; diagnose them again under one protocol"),
        (
            ("a.json", "odd.json"),
            "result of 'odd': errors.true_positive is 'x', which is not a numbe",
        ),
        (("a.json", "--json", "a.json"), "a.json: would overwrite an input file"),
        (("a.json", "--out", "no/t.tex"), "the folder no does not exist"),
        (("a.json", "--out", "t.tex", "--json", "t.tex"), "t.tex: would be written twice"),
        (
            ("study.toml", "a.json"),
            "study.toml: a study must be the only file; list the other files in the study",
        ),
        (("study.toml", "--labels", "x"), "--labels: study.toml sets the value for each model"),
        (("none.json", "--table", "pears"), "--table 'pears': there is no such table (did you mea"),
        (("a.json", "--table", "dmap (unseen)"), "give some of Official mAP, mAP under hico-det-5"),
        (("a.json", "--columns", "recal"), "--columns 'recal': there is no such column (did you"),
        (("none.toml",), "none.toml: No such file or directory"),
        (("a.json", "same.json"), "label 'a': used for two models; give each a label of its own"),
        (("a.json", "--also", "shortcuts"), "a.json: was saved without --also shortcuts; give the"),
        (
            ("a.json", "--images", "."),
            "--images: applies to pages, which draw cases on pictures; add --ope",
        ),
        (("a.json", "--out", "c.html", "--images", "no"), "no: no such folder; give the folder"),
    ],
)
def test_bad_input_is_one_line(refuse, put, alone, words, message) -> None:
    put("a.json")
    put("b.json")
    put("zoo.json", dataset="zoo")
    put("area.json", protocol=SIGNATURE)
    put("odd.json", errors={"true_positive": "x"})
    put("same.json", label="a")
    (alone / "study.toml").write_text('[[model]]\nfile = "a.json"\n')
    assert message in refuse("compare", *words)


def test_located_annotations_are_not_overwritten(refuse, detectors, alone, monkeypatch) -> None:
    truth = alone / "gt.npz"
    truth.write_bytes((detectors / "gt.npz").read_bytes())
    monkeypatch.setenv("DIAGHOI_DATA", str(truth))
    assert "would overwrite an input file" in refuse(
        "compare", detectors / "one.npz", "--json", truth
    )


def test_predictions_of_another_data_set(refuse, detectors: Path, alone: Path) -> None:
    rng = np.random.default_rng(0)
    truth = simulate.v_coco_annotations(3, rng)
    write(alone / "v.npz", simulate.v_coco_detect(truth, rng))
    assert "v.npz: is for v-coco, but the annotations are for hico-det" in refuse(
        "compare", detectors / "one.npz", "v.npz", "--annotations", detectors / "gt.npz"
    )


def test_a_data_set_of_ones_own_has_no_official_table(run, save, truth, found, alone: Path) -> None:
    for row in (*truth, *found):
        for triplet in row.get("hoi_annotation", row.get("hoi_prediction")):
            triplet["category_id"] = 1
    words = 'name = "zoo"\nobjects = ["person", "cat"]\nverbs = ["feed", "hold"]\n'
    (alone / "zoo.toml").write_text(f'{words}annotations = "gt.pkl"\n')
    save("gt.pkl", truth)
    files = save("a.pkl", found), save("b.pkl", found[:1])
    done = run("compare", *files, "--dataset", "zoo.toml", "--json", "-")
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert list(result["tables"]) == [
        *("map", "delta_map_full", "localised", "errors", "error_shares"),
        *("pairs", "negatives_actions"),
    ]
    assert result["tables"]["map"]["models"]["b"]["max_recall.full"] == 0.5
    assert result["tables"]["map"]["best"] == {"map.full": ["a"], "max_recall.full": ["a"]}
    (alone / "study.toml").write_text(
        'dataset = "zoo.toml"\n[[model]]\nfile = "a.pkl"\n[[model]]\nfile = "b.pkl"\n'
    )
    assert json.loads(run("compare", "study.toml", "--json", "-").out) == result


# Where a difference comes from.


def test_a_difference_is_explained(run, detectors: Path) -> None:
    files = [detectors / f"{name}.npz" for name in ("one", "two")]
    words = (*files, "--annotations", detectors / "gt.npz", "--also", "explain")
    done = run("compare", *words, "--labels", "A,B", "--table", "difference,annotated")
    assert done.code == 0
    assert "Difference in mAP to A, points" in done.out
    assert "Annotated triplets found" in done.out
    assert "Note: B against A: " in done.err
    saved = json.loads(run("compare", *words, "--labels", "A,B", "--json", "-").out)
    (found,) = saved["explained"]
    means = found["ap"]["means"]["full"]
    values = saved["tables"]["map"]["models"]
    difference = values["B"]["map.full"] - values["A"]["map.full"]
    assert means["total"] == pytest.approx(difference)
    assert sum(means.values()) == pytest.approx(2 * difference)
    matrix = found["annotated"]["matrix"]
    assert sum(sum(row.values()) for row in matrix.values()) == found["annotated"]["annotated"]


def test_where_a_difference_lies_is_listed_and_tested(run, detectors: Path) -> None:
    files = [detectors / f"{name}.npz" for name in ("one", "two", "one")]
    words = (*files, "--labels", "A,B,C", "--annotations", detectors / "gt.npz", "--also=explain")
    tested = ("--significance", "--resamples", 20)
    done = run("compare", *words, *tested, "--table", "shares", "--out", "-.tex")
    assert done.code == 0
    for label, second in (("shares", "B"), ("shares-2", "C")):
        assert f"\\label{{tab:diaghoi-{label}}}" in done.out
        assert f"Where the difference lies: {second} minus A, points" in done.out
    assert "tested together)" in done.out
    saved = json.loads(run("compare", *words, *tested, "--json", "-").out)
    for found in saved["explained"]:
        shares = found["shares"]
        assert shares["confidence"] == 0.95
        total = sum(each["share"] for each in shares["verb"])
        assert total == pytest.approx(found["ap"]["means"]["full"]["total"])
        assert all(1 / 21 <= each["p"] <= 1 for each in shares["object"])
    assert not any(each["share"] for each in saved["explained"][1]["shares"]["class"])


def test_what_cannot_be_explained(refuse, detectors: Path, put) -> None:
    words = (detectors / "one.npz", "--annotations", detectors / "gt.npz", "--also", "explain")
    assert "--also explain: compares models; give at least two" in refuse("compare", *words)
    put("a.json")
    assert "a.json: is a saved result, but --also explain compares single predictions" in refuse(
        "compare", "a.json", *words
    )


def test_lift_over_priors(run, detectors: Path) -> None:
    files = [detectors / "one.npz", detectors / "two.npz"]
    words = ("--annotations", detectors / "gt.npz", "--also", "shortcuts")
    done = run("compare", *files, *words, "--json", "x.json", "--table", "shortcuts")
    assert done.code == 0, done.err
    table = json.loads(Path("x.json").read_text())["tables"]["shortcuts"]["models"]
    for figures in table.values():
        lift = figures["map"] - figures["object.map"]
        assert figures["object.lift.full"] == pytest.approx(lift)
    for file in files:
        report = ("report", file, *words, "--json", f"{file.stem}.json", "--quiet")
        assert run(*report).code == 0
    done = run("compare", "one.json", "two.json", "--json", "y.json", "--table", "shortcuts")
    assert json.loads(Path("y.json").read_text())["tables"]["shortcuts"]["models"] == table


def test_saved_results_have_the_groups_that_they_were_saved_with(refuse, run, detectors) -> None:
    truth = ("--annotations", detectors / "gt.npz")
    for name, words in (("plain", ()), ("split", ("--zero-shot", "RF-UC"))):
        report = ("report", detectors / "one.npz", *truth, *words, "--json", f"{name}.json", "-q")
        assert run(*report).code == 0
    both = ("split.json", detectors / "two.npz", *truth, "--zero-shot", "RF-UC")
    assert run("compare", *both).code == 0
    assert "plain.json: was saved without the groups unseen, seen; give the predictions" in refuse(
        "compare", "plain.json", detectors / "two.npz", *truth, "--zero-shot", "RF-UC"
    )


def test_what_cannot_be_drawn_in_one_figure_is_refused_first(refuse, run, put, alone: Path) -> None:
    put("a.json")
    put("b.json", dataset="v-coco")
    for name in ("a", "b"):
        (alone / f"{name}.toml").write_text(f'[[model]]\nfile = "{name}.json"\n')
    (alone / "both.toml").write_text('studies = ["a.toml", "b.toml"]\n')
    keys = ("soft_map", "mf1", "measure", "similarity", "class_set")
    meaning = {key: {} for key in keys} | {"label": "m", "dataset": "hico-det"}
    (alone / "meaning.json").write_text(json.dumps(meaning))
    for file in ("both.toml", "meaning.json"):
        assert "--out x.pdf: unknown suffix .pdf; give one of .json, .csv" in refuse(
            "compare", file, "--out", "x.pdf"
        )
    done = run("compare", "both.toml", "--out", "all")
    assert done.code == 0, done.err
    assert {path.suffix for path in (alone / "all").iterdir()} >= {".json", ".tex"}
    assert not [*(alone / "all").glob("*.pdf"), *(alone / "all").glob("*.png")]


@pytest.mark.parametrize("command", ["report", "compare"])
def test_the_file_of_groups_is_not_overwritten(refuse, detectors: Path, command: str) -> None:
    Path("groups.json").write_text('{"mine": ["ride bicycle"]}')
    words = ("--annotations", detectors / "gt.npz", "--groups", "groups.json")
    assert "groups.json: would overwrite an input file" in refuse(
        command, detectors / "one.npz", *words, "--json", "groups.json"
    )
    assert Path("groups.json").read_text() == '{"mine": ["ride bicycle"]}'
