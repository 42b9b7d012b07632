"""What ``diaghoi report`` adds when it is asked for: files, variants, intervals, costs, causes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.explorer import page_data_of

from diaghoi.diagnosis.rosetta import FAMILIES
from diaghoi.oracles import ERRORS

QUICK = ("--bootstrap", "100")


@pytest.fixture
def report(run, data):
    """Return a function that reports on the small data set and gives JSON, text and notes."""

    def command(*words: object) -> tuple[dict, str, str]:
        usual = ("report", data.predictions, "--annotations", data.annotations)
        done = run(*usual, "--json", "x.json", "--detail", *words)
        assert done.code == 0, done.err
        return json.loads(Path("x.json").read_text()), done.out, done.err

    return command


def test_variants_beside_the_original(report) -> None:
    words = ("--also", "pair-nms=0.5,pair-nms=0.7", "--also", "detection-threshold=0")
    result, text, notes = report(*words)
    assert list(result["variants"]) == ["pair NMS 0.5", "pair NMS 0.7", "detection threshold 0"]
    variant = result["variants"]["pair NMS 0.5"]
    assert variant["pairs"]["per_image"] < result["pairs"]["per_image"]
    difference = variant["map"]["full"] - result["map"]["full"]
    assert variant["difference"]["map"]["full"] == pytest.approx(difference)
    assert "As given" in text
    assert "Pair NMS 0.7" in text
    assert "pair NMS at 0.5: drops" in notes


def test_intervals(report) -> None:
    result, text, _ = report(*QUICK, "--seed", "3")
    assert result["bootstrap"]["resamples"] == 100
    assert result["bootstrap"]["seed"] == 3
    low, high = result["intervals"]["map.full"]
    assert low < result["map"]["full"] < high
    assert "Intervals, 95 %" in text
    assert "From 100 resamples of the images, centred, seed 3." in text
    again, _, _ = report(*QUICK, "--seed", "3")
    assert again["intervals"] == result["intervals"]
    wide, _, _ = report(*QUICK, "--seed", "3", "--confidence", "0.99", "--interval", "percentile")
    assert wide["bootstrap"]["method"] == "percentile"


@pytest.mark.slow
def test_costs_that_add_up(report) -> None:
    result, text, _ = report("--also", "attribution", "--out", "x_attribution.pdf")
    values = result["attribution"]
    assert [name for name in values if name in ERRORS] == list(ERRORS)
    assert sum(values[name] for name in ERRORS) == pytest.approx(values["total"])
    assert values["map"] == result["map"]["full"]
    assert "rare" in values
    assert "Shapley values add up" in text
    assert Path("x_attribution.pdf").read_bytes().startswith(b"%PDF")


def test_causes_and_calibration(report) -> None:
    result, text, _ = report("--also", "causes,calibration")
    causes = result["annotation_causes"]
    false = sum(result["errors"].values()) - sum(
        result["errors"][name] for name in ("true_positive", "missed_gt")
    )
    assert sum(cause["count"] for cause in causes.values()) == false
    assert "False positives by pattern" in text
    assert not re.search("[≤≥]|bounds", text)
    assert "Counting these predictions as correct could gain more" in " ".join(text.split())
    assert result["missed_twins"].keys() == {"count", "share", "delta_map"}
    assert result["paired_with_itself"].keys() == {"count", "share", "delta_map"}
    assert re.search(rf"\nPaired with itself +{result['paired_with_itself']['count']:,} ", text)
    assert re.search(r"\nNone of these patterns +[\d,]+ +[\d.]+ ", text)
    assert re.search(r"\nOther verb +[\d,]+ +[\d.]+ ", text)
    assert result["confusions"].keys() == {"verbs", "objects"}
    assert all(each["not_found"] <= each["count"] for each in result["confusions"]["verbs"])
    kinds = " and ".join(kind for kind, found in result["confusions"].items() if found)
    assert re.search(rf" Annotated\nWrong {kinds} on annotated pairs .* ΔmAP\n", text)
    first = result["confusions"]["verbs"][0]
    row = f"{first['predicted']}, where {first['annotated']} is annotated".replace("_", " ")
    assert re.search(rf"\n{row} +{first['count']} +{first['not_found']} ", text)
    assert "taken for" not in text
    assert "Another prediction may find the annotated word" in " ".join(text.split())
    assert re.search(r"\nNot found, but its twin is +[\d,]+ +[\d.]+ ", text)
    assert 0 < result["calibration"]["ece"] < 1
    assert "Expected calibration error" in text
    rows = text.split("\nScores too high on average ")[1].splitlines()
    gap, *parts = (float(line.split()[-1].replace("−", "-")) for line in rows[:8])
    assert gap == pytest.approx(sum(parts), abs=0.04)
    assert parts == sorted(parts, key=lambda part: -abs(part))
    assert "\nThe rows of errors and true positives add up to the amount by which" in text
    assert "\nOther verb: can cover nearly all action errors, even if no label is missing." in text


def test_the_evaluators_of_code_bases(report) -> None:
    plain, _, _ = report("--protocol", "hico-det")
    result, text, _ = report("--also", "rosetta", "--protocol", "hico-det")
    found = result.pop("rosetta")
    assert result == plain
    assert list(found) == list(FAMILIES)
    assert found["gen-vlkt"] == found["ppdm"] == result["official"]["default"]
    assert found["cmd-se-600"]["full"] < found["cmd-se"]["full"]
    assert "mAP by the evaluators of code bases, %" in text
    assert f"{100 * found['qahoi']['full']:.2f}" in text
    assert "ppdm: nothing." in text
    assert "cdn: images without annotations: left out." in text
    for name in ("cmd-se-520", "qahoi", "upt"):
        alone, _, _ = report("--protocol", name)
        assert alone["map"] == found[name]


def test_hoiclip_leaves_classes_without_predictions_out_of_groups(run, shared: Path) -> None:
    folder = shared / "conformance" / "field"
    if not folder.is_dir():
        pytest.skip("the cases from the field (../shared/conformance/field) are not here")
    words = ("report", folder / "genvlkt_rare_bug.json", "--annotations", folder / "test_hico.json")
    assert run(*words, "--also", "rosetta", "--json", "x.json").code == 0
    found = json.loads(Path("x.json").read_text())["rosetta"]
    printed = {name: [round(100 * ap, 2) for ap in found[name].values()] for name in found}
    assert printed["gen-vlkt"] == [53.02, 50.00, 53.13]
    assert printed["hoiclip"] == [53.02, 100.00, 64.31]
    run(*words, "--protocol", "hoiclip", "--zero-shot", "RF-UC", "--json", "y.json")
    means = json.loads(Path("y.json").read_text())["map"]
    assert means["rare"] == found["hoiclip"]["rare"]
    run(*words, "--protocol", "gen-vlkt", "--zero-shot", "RF-UC", "--json", "y.json")
    other = json.loads(Path("y.json").read_text())["map"]
    assert means["full"] == other["full"]
    assert means["unseen"] > other["unseen"]


def test_the_evaluators_of_code_bases_on_groups_of_classes(report) -> None:
    result, text, _ = report("--also", "rosetta", "--zero-shot", "RF-UC")
    assert result["rosetta"]["gen-vlkt"] == result["official"]["default"]
    assert set(result["rosetta"]["qahoi"]) >= {"rare", "unseen", "seen", "harmonic"}
    assert "Unseen" in text[text.index("mAP by the evaluators of code bases") :]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "annotations"),
    [
        ("canonical_preds.pkl", "canonical_gts.pkl"),
        ("gen_vlkt_dict.json", "canonical_gts.pkl"),
        ("gen_vlkt_list.json", "canonical_gts.pkl"),
        ("ppdm_predictions.json", "test_hico.json"),
        ("cmd_se_preds.pkl", "canonical_gts.pkl"),
        ("cmd_se_by_image.json", "canonical_gts.pkl"),
        ("hoidet.json", "canonical_gts.pkl"),
        ("official_mat", "canonical_gts.pkl"),
    ],
)
def test_the_evaluators_say_of_their_own_files_what_is_said_here(run, shared, file, annotations):
    folder = shared / "conformance" / "code_bases"
    expected = json.loads((folder / "expected.json").read_text())
    words = ("report", folder / file, "--annotations", folder / annotations)
    done = run(*words, "--also", "rosetta", "--json", "x.json")
    assert done.code == 0, done.err
    found = json.loads(Path("x.json").read_text())["rosetta"]
    for name, wanted in {
        "cdn": expected["cdn"]["map"],
        "gen-vlkt": expected["gen-vlkt"]["map"],
        "cmd-se": expected["cmd-se"]["map_of_annotated"],
        "cmd-se-600": expected["cmd-se"]["map_of_600"],
    }.items():
        assert found[name]["full"] == pytest.approx(wanted, abs=1e-9)


def test_nothing_more_is_said_without_being_asked(report) -> None:
    result, text, _ = report()
    further = ("variants", "intervals", "bootstrap", "attribution", "annotation_causes")
    assert not {*further, "calibration", "rosetta"} & set(result)
    assert "Intervals" not in text


def test_a_saved_result_is_said_to_be_one(run, data) -> None:
    usual = ("--annotations", data.annotations)
    assert run("report", data.predictions, *usual, "--json", "saved.json").code == 0
    for what, files in (
        ("predictions", ("saved.json", *usual)),
        ("annotations", (data.predictions, "--annotations", "saved.json")),
    ):
        done = run("report", *files)
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            "diaghoi: error: saved.json: is a saved result of 'diaghoi report --json'; give the "
            f"{what} themselves, or look at saved results with 'diaghoi compare'\n"
        )


@pytest.mark.slow
def test_the_page_holds_all_that_was_added(run, data) -> None:
    pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")
    more = (*QUICK, "--also", "attribution,causes,calibration,pair-nms=0.7", "--detail")
    usual = ("--annotations", data.annotations, "--out", "page.html")
    done = run("report", data.predictions, *usual, *more)
    page = " ".join(Path("page.html").read_text(encoding="utf-8").split())
    for title in (
        "Intervals, 95 %",
        "What errors cost",
        "False positives by pattern",
        "Calibration of triplet scores, %",
        "Variants",
        "From 100 resamples of the images",
    ):
        assert title in done.out
        assert title in page


def test_priors_of_verbs(report, data) -> None:
    result, out, err = report("--also", "shortcuts")
    found = result["shortcuts"]
    for prior in (found["object"], found["verb"]):
        assert prior["map"]["full"] + prior["lift"]["full"] == pytest.approx(result["map"]["full"])
    low, high = (found["object"][key]["full"] for key in ("map", "map_all_images"))
    low, high = (f"{100 * each / result['map']['full']:.2f}" for each in (low, high))
    assert f"The object alone gives {low} to {high} % of mAP" in out
    assert "give the annotations of the training set: --also shortcuts=FILE" in " ".join(
        err.split()
    )
    result, out, _ = report("--also", f"shortcuts={data.annotations}")
    assert result["shortcuts"]["shared_images"] == result["counts"]["images"]
    assert result["shortcuts"]["object"]["map"] == found["object"]["map"]
    assert "with the image itself" not in out


def test_operating_points(report) -> None:
    result, out, _ = report("--also", "operating-points,score-threshold=0.5")
    best = result["operating_points"]["best"]
    threshold = result["detections"]["best"]["threshold"]
    assert f"at a threshold of {threshold:.3g} (precision" in " ".join(out.split())
    # The same as beside the score threshold.
    for key in ("threshold", "precision", "recall", "f1"):
        assert best[key] == result["detections"]["best"][key]
    assert f"{100 * best['f1']:.2f}" in next(s for s in out.splitlines() if s.startswith("Best F1"))
    assert "Errors at the best F1" in out


@pytest.mark.parametrize("tables", ["", "=wordnet", "=v.csv,o.csv"])
def test_how_much_of_the_loss_is_near_in_meaning(run, report, data, alone: Path, tables) -> None:
    (alone / "v.csv").write_text("a,b,score\nride,hold,2\nride,straddle,3\n")
    (alone / "o.csv").write_text("a,b,score\nbicycle,motorcycle,3\n")
    result, text, _ = report("--also", f"semantic{tables}", "--out", "p.html", "--out", "r.txt")
    meaning = result["semantic"]["diagnosis"]
    assert meaning["action"]["delta_map"] == pytest.approx(
        result["oracles"]["action"]["delta_map"]["full"]
    )
    names = {table["name"] for table in result["semantic"]["similarity"].values()}
    expected = {
        "": "ratings of this package, version 1",
        "=wordnet": "WordNet",
        "=v.csv,o.csv": "v",
    }
    assert any(name.startswith(expected[tables]) for name in names)
    for told in (text, (alone / "r.txt").read_text(), (alone / "p.html").read_text()):
        assert "Action errors by meaning" in told
    usual = ("report", data.predictions, "--annotations", data.annotations)
    screen = run(*usual, "--also", f"semantic{tables}").out
    near = sum(
        kind["delta_map"]
        for error in ("action", "object_box")
        for kind in meaning[error]["kinds"]
        if kind["kind"] == "near"
    )
    line = f"of the loss to Action and Object box, {100 * near:.2f} points are near in meaning"
    assert line in " ".join(screen.split())
    assert len(screen.splitlines()) <= 24
    assert max(map(len, screen.splitlines())) <= 80
    assert "near in meaning" not in run(*usual).out
    similar = json.dumps(page_data_of((alone / "p.html").read_text()))
    assert re.search(r"Similarity to [a-z ]+ [01]\.\d{3}: (near|plausible|wrong)\.", similar)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--also", "semantic=v.csv"), "tables 'v.csv': give two tables, VERBS,OBJECTS, or own or"),
        (("--also", "semantic=v.csv,o.csv"), "v.csv: No such file"),
    ],
)
def test_tables_that_a_report_cannot_use(refuse, data, words, message) -> None:
    assert message in refuse("report", data.predictions, "--annotations", data.annotations, *words)


def test_the_option_of_other_commands_names_the_analysis(run, data) -> None:
    done = run("report", data.predictions, "--similarity", "own")
    assert "give --also semantic=VERBS,OBJECTS" in done.err
