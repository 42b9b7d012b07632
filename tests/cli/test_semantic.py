"""``diaghoi semantic`` and ``diaghoi similarity``."""

from __future__ import annotations

import csv
import itertools
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from support.explorer import page_data_of

from diaghoi.data.vocabulary import hico_det
from diaghoi.formats.description import vocabulary

VERBS_OF_HICO = hico_det().verbs
VERBS = "a,b,score\nride,hold,2\nride,straddle,3\nwash,clean,4\n"
OBJECTS = "a,b,score\nbicycle,motorcycle,3\ncup,bottle,2\n"


@pytest.fixture
def tables(alone) -> tuple[str, ...]:
    (alone / "verbs.csv").write_text(VERBS)
    (alone / "objects.csv").write_text(OBJECTS)
    return ("--similarity", "verbs.csv,objects.csv")


@pytest.fixture
def words(data, tables) -> tuple[object, ...]:
    return ("semantic", data.predictions, "--annotations", data.annotations, *tables)


def test_golden(run, shared, alone):
    folder = shared / "conformance"
    expected = json.loads((folder / "semantic/one_stage_expected.json").read_text())
    done = run(
        *("semantic", folder / "hico_det_diagnosis/one_stage_preds.pkl"),
        *("--annotations", folder / "hico_det_diagnosis/gt_wo_nointer.pkl"),
        *("--similarity", f"{folder}/semantic/verbs.csv,{folder}/semantic/objects.csv"),
        *("--json", "found.json"),
    )
    assert done.code == 0
    found = json.loads((alone / "found.json").read_text())
    for key in set(expected) - {"images", "classes"}:
        assert found[key] == pytest.approx(expected[key], abs=1e-9), key
    assert found["map"] == pytest.approx(found["splits"]["map"]["full"])
    assert found["similarity"]["verbs"]["name"] == "verbs"
    assert found["similarity"]["objects"]["source"] == "objects.csv"


@pytest.mark.parametrize(
    ("more", "soft", "classes"),
    [
        ((), "59.41", "Classes: all (600); means over 189 annotated classes."),
        (
            ("--protocol", "hico-det-520"),
            "61.27",
            "Classes: no_interaction left out (520); means over 175 annotated classes.",
        ),
    ],
)
def test_the_classes_are_printed_with_the_figure(run, shared, alone, more, soft, classes):
    folder = shared / "conformance"
    done = run(
        *("semantic", folder / "hico_det_official/one_stage_arrays.pkl"),
        *("--annotations", folder / "hico_det_official/annotations.json"),
        *("--similarity", f"{folder}/semantic/verbs.csv,{folder}/semantic/objects.csv"),
        *(*more, "--detail"),
    )
    figures = done.out.partition("Miss rates")[0]
    assert re.search(rf"Soft mAP +{soft}", figures)
    assert classes in figures
    assert "mF1: score rank >= 0.5. Soft AP: area under the envelope." in figures


def test_the_first_screen_has_the_numbers_and_what_to_beware_of(run, words, alone):
    done = run(*words, "--json", "r.json", "--theta", 0.6)
    lines, result = done.out.splitlines(), json.loads((alone / "r.json").read_text())
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    counts = result["counts"]
    assert lines[0] == (
        f"preds · HICO-DET · 12 images, {counts['annotated_triplets']} annotated and "
        f"{counts['predicted_triplets']:,} predicted triplets"
    )
    assert lines[1] == "! mAP with exact matching has IoU >= 0.5."
    assert lines[2].startswith("! 112 of 117 verbs are not in the table 'verbs'")
    for key, title in (("soft_map", "Soft mAP"), ("map", "mAP, exact matching"), ("mf1", "mF1")):
        assert re.search(
            rf"^{title.replace('mF1', 'Soft mF1')} +{100 * result[key]:.2f} ", done.out, re.M
        )
    assert re.search(
        rf"Annotated triplets without a prediction +{100 * result['gt_miss_rate']:.2f}", done.out
    )
    assert "Similarity changes soft mAP by 0.00: σ = 0.5 S_v + 0.5 S_o; IoU >= 0.6\n" in done.out
    assert "Tables: verbs.csv (5 of 117 verbs), objects.csv (4 of 80 objects)" in done.out
    line = next(line for line in lines if "|iou.5|" in line)
    assert "SHOE" not in done.out
    assert "more: --detail, --also diagnose, --out FOLDER" in done.out
    assert f"{len(result['notes'])} notes: --detail\n" in done.err
    # The words that it names work as they are printed.
    assert run(*words, "--protocol", line, "--theta", 0.6, "--json", "again.json").code == 0
    assert json.loads((alone / "again.json").read_text()) == result
    asked = run(*words, "--also", "diagnose").out
    assert "Action errors by meaning" in asked
    assert "more: --detail, --out FOLDER" in asked


def test_the_help_fits_its_screen(run):
    for command in (("semantic",), ("semantic", "ask"), ("similarity", "build")):
        assert len(run(*command, "--help").out.splitlines()) <= 70


def test_a_folder_gets_all_files_that_there_can_be(run, words, alone):
    assert run(*words, "--label", "mine", "--out", "all", "--quiet").code == 0
    with_errors = {path.name for path in (alone / "all").iterdir()}
    texts = {f"mine.{kind}" for kind in ("json", "csv", "md", "tex", "txt")}
    rows = {f"mine_{name}" for name in ("classes.csv", "classes.json")}
    rows |= {f"mine_examples.{kind}" for kind in ("txt", "csv", "json")}
    figures = {f"mine.{kind}" for kind in ("pdf", "svg", "png")}
    assert with_errors - {"mine.html"} == texts | rows | figures
    assert run(*words, "--label", "mine", "--out", "few", "--no-scores", "--quiet").code == 0
    assert {path.name for path in (alone / "few").iterdir()} == texts | rows
    assert "Note: " in (alone / "few/mine.txt").read_text(encoding="utf-8")
    assert run(*words, "--out", "-.md", "-q").out.startswith("Models on HICO-DET, 12 images")


def test_predictions_without_scores_have_no_errors_to_show(refuse, run, words, alone):
    said = {"human_box": [1, 2, 30, 40], "object_box": [5, 5, 40, 50], "verb": "ride"}
    row = said | {"image": "demo_000001.jpg", "object": "bicycle"}
    (alone / "words.jsonl").write_text(json.dumps(row) + "\n")
    words = (words[0], "words.jsonl", *words[2:])
    assert run(*words, "--out", "all", "--quiet").code == 0
    assert not list((alone / "all").glob("*.html"))
    for more in (("--also", "diagnose"), ("--out", "page.html"), ("--out", "f.svg")):
        assert (
            f"{' '.join(more)}: needs scores to describe the meaning of errors; leave this "
            f"out" in refuse(*words, *more)
        )
        assert not (alone / "page.html").exists()


def test_groups_of_classes_and_choices_of_the_protocol(run, words, alone):
    done = run(*words, "--zero-shot", "UV", "--protocol", "iou=0.7,top=3", "--json", "r.json")
    result = json.loads((alone / "r.json").read_text())
    assert {"unseen", "seen"} <= set(result["splits"]["soft_map"])
    assert result["counts"]["predicted_triplets"] == 3 * 12
    assert "hico-det|11pt|zero|iou.7|rare.train|top.3|groups: unseen (84), seen (516)" in done.out
    assert run(*words, "--protocol", "iou=7").code == 2


def test_json_on_stdout_and_quiet(run, words):
    done = run(*words, "--json", "-", "--quiet")
    result = json.loads(done.out)
    assert result["dataset"] == "hico-det"
    assert done.err == ""
    assert run(*words, "--quiet").out == ""


def test_all_files(run, words, alone):
    done = run(
        *words,
        *("--also", "diagnose,classes=3", "--json", "r.json", "--out", "my_classes.csv"),
        *("--out", "f.svg", "--out", "examples.txt", "--example-images", 2),
    )
    assert done.code == 0
    result = json.loads((alone / "r.json").read_text())
    assert {"action", "object_box", "verbs", "confusions"} <= set(result["diagnosis"])
    with (alone / "my_classes.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == result["counts"]["classes"]
    assert "<svg" in (alone / "f.svg").read_text()
    assert (alone / "examples.txt").read_text().count("jpg") <= 2
    for title in (
        "Largest gains from similarity",
        "Action errors by meaning",
        "Wrong verbs that cost the most",
    ):
        assert title in done.out


def test_classes_that_gain_by_similarity_are_listed_and_no_others(run, words, alone):
    pairs = itertools.combinations(VERBS_OF_HICO, 2)
    lines = ["a,b,score", *(f"{one},{other},{len(one) % 5}" for one, other in pairs)]
    (alone / "verbs.csv").write_text("\n".join(lines))
    done = run(*words, "--also", "classes=600", "--json", "r.json")
    result = json.loads((alone / "r.json").read_text())
    rows, splits = result["classes"], result["splits"]
    added = 100 * (splits["soft_map"]["full"] - splits["soft_map_exact"]["full"])
    assert f"Similarity changes soft mAP by {added:+.2f}: " in done.out
    gains = {row["name"]: 100 * (row["soft_ap"] - row["soft_ap_exact"]) for row in rows}
    first, *listed = done.out.partition("Largest gains from similarity")[2].splitlines()
    assert first.split() == [*(",", "%", "Annotated", "Gain", "Soft", "AP", "AP", "Soft", "F1")]
    listed = listed[1 : listed.index("Gain: soft AP minus soft AP if nothing were similar.")]
    assert len(listed) == sum(gain >= 0.005 for gain in gains.values()) > 0
    for line, gain in zip(listed, sorted(gains.values(), reverse=True), strict=False):
        assert f" +{gain:.2f} " in line
    assert "if nothing were similar" in done.out.partition("mAP, exact matching")[0]


def test_the_rule_of_wrong_predictions_is_a_choice(refuse, run, words, alone):
    for rule, whose in (("algorithm", "its image"), ("figure", "the data set")):
        done = run(*words, "--rule", rule, "--json", f"{rule}.json", "--detail")
        told = " ".join(done.out.split())
        assert f"false positives of the closest class of {whose} at sigma >= 0.5" in told
        assert json.loads((alone / f"{rule}.json").read_text())["measure"]["rule"] == rule
    figures = [json.loads((alone / f"{rule}.json").read_text()) for rule in ("algorithm", "figure")]
    assert figures[0]["soft_map"] != figures[1]["soft_map"]
    assert "rule algorithm" in refuse("compare", "algorithm.json", "figure.json", "--labels", "a,b")


def test_without_scores_classes_are_listed_without_a_gain(run, words):
    done = run(*words, "--no-scores", "--also", "classes=2", "--detail")
    assert "Classes, %" in done.out
    assert "similar" not in done.out.partition("Similarity of verbs")[0].lower()
    assert "Similarity: σ = 0.5 S_v + 0.5 S_o\n" in run(*words, "--no-scores").out


def test_where_nothing_is_similar_no_class_gains(run, words, alone):
    (alone / "verbs.csv").write_text("a,b,score\nride,ride,4\n")
    (alone / "objects.csv").write_text("a,b,score\ncup,cup,4\n")
    done = run(*words, "--also", "classes=3")
    assert "Gain: soft AP minus soft AP if nothing were similar; no class gains." in done.out


@pytest.mark.parametrize(
    ("more", "differs"),
    [
        ((), []),
        (("--theta", 0.6), ["IoU >= 0.5"]),
        (("--theta", 0.6, "--tau-before-map"), ["IoU >= 0.5", "all predictions"]),
        (("--theta", 0.6, "--no-scores"), []),
    ],
)
def test_it_is_said_where_the_standard_map_has_other_rules(run, words, alone, more, differs):
    done = run(*words, *more, "--json", "r.json", "--detail")
    assert json.loads((alone / "r.json").read_text())["map_differs"] == differs
    compared = run("compare", "r.json").out.replace("\n", " ")
    said = f"has {' and '.join(differs)}."
    assert (f"mAP with exact matching {said}" in done.out) == bool(differs)
    assert (f"mAP {said}" in compared) == bool(differs)
    assert ("different rules for false positives" in compared) == ("--no-scores" not in more)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            (),
            "σ = 0.5 S_v + 0.5 S_o of the whole interaction; with the right object, σ >= 0.75 "
            "means verb similarity >= 0.5, and σ > 0.5 means verb similarity > 0.",
        ),
        (
            ("--weight", 0.8),
            "σ = 0.8 S_v + 0.2 S_o of the whole interaction; with the right verb, σ >= 0.75 means "
            "any object, and σ > 0.5 means any object.",
        ),
        (
            ("--combine", "geometric"),
            "σ = S_v^0.5 S_o^0.5 of the whole interaction; with the right object, σ >= 0.75 means "
            "verb similarity >= 0.562, and σ > 0.5 means verb similarity > 0.25.",
        ),
        (("--combine", "minimum"), "means verb similarity >= 0.75, and σ > 0.5 means"),
        (("--weight", 1), "σ = 1 S_v + 0 S_o."),
    ],
)
def test_it_is_said_what_sigma_is(run, words, more, said):
    out = " ".join(run(*words, "--also", "diagnose", *more).out.split())
    assert said in out
    assert "Near (σ >= 0.75)" in out
    assert "The similarity is between the verbs alone, not σ;" in out


def test_the_page_of_the_report_tells_what_errors_mean(run, words, alone):
    pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")
    done = run(*words, "--out", "page.html", "--label", "mine", "--json", "r.json")
    assert done.code == 0
    page = (alone / "page.html").read_text(encoding="utf-8")
    text = " ".join(re.sub(r"<(script|style|svg).*?</\1>|<[^>]*>", " ", page, flags=re.S).split())
    result = json.loads((alone / "r.json").read_text())
    assert "mine on HICO-DET" in text
    soft = " ".join(f"{100 * value:.2f}" for value in result["splits"]["soft_map"].values())
    assert f"Soft mAP {soft}" in text
    near = result["diagnosis"]["action"]["kinds"][0]
    assert f"Near (σ &gt;= 0.75) {near['count']:,} {100 * near['share']:.2f}" in text
    first = result["diagnosis"]["confusions"][0]
    name = f"{first['predicted']}, where {first['annotated']} is annotated"
    assert f"{name} {first['count']:,} {first['not_found']:,}" in text
    assert "Similarity of verbs: verbs, verbs.csv; covers 5 of 117 verbs" in text
    # Single errors with their similarity and kind.
    told = json.dumps(page_data_of(page))
    assert re.search(r"Similarity to [a-z ]+ [01]\.\d{3}: (near|plausible|wrong)\.", told)


@pytest.mark.slow
def test_a_page_without_similarity_is_that_of_the_report(run, data, alone):
    pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")
    run("report", data.predictions, "--annotations", data.annotations, "--out", "page.html")
    page = (alone / "page.html").read_text(encoding="utf-8")
    assert 'id="meaning"' not in page
    assert "Similarity to" not in json.dumps(page_data_of(page))


def test_choices_change_the_figures_and_are_told(run, words):
    plain = json.loads(run(*words, "--json", "-").out)
    other = json.loads(
        run(*words, "--json", "-", "--weight", 0.2, "--delta", 0.9, "--theta", 0.6).out
    )
    assert other["soft_map"] != plain["soft_map"]
    assert other["measure"]["weight"] == 0.2
    assert "sigma = 0.2 S_v + 0.8 S_o | IoU >= 0.6" in other["measure"]["signature"]
    least = json.loads(run(*words, "--json", "-", "--combine", "minimum").out)
    assert "min(S_v, S_o)" in least["measure"]["signature"]


def test_without_scores(run, words):
    result = json.loads(run(*words, "--no-scores", "--json", "-").out)
    assert result["soft_map"] is None
    assert result["map"] is None
    assert result["mf1"] > 0
    assert result["counts"]["predicted_triplets_of_mf1"] == result["counts"]["predicted_triplets"]


def test_synsets(run, data, alone, tables):
    (alone / "synsets.csv").write_text("word,synset\nride,ride.v.02\nhold,hold.v.02\n")
    (alone / "verbs.csv").write_text("a,b,score\nride.v.02,hold.v.02,4\n")
    done = run(
        *("semantic", data.predictions, "--annotations", data.annotations, *tables),
        *("--verb-synsets", "synsets.csv", "--json", "-"),
    )
    assert json.loads(done.out)["similarity"]["verbs"]["covered"] == 2


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--weight", 2), "weight 2: must lie between 0 and 1"),
        (("--combine", "mean"), "combine 'mean': not known"),
        (("--similarity", "nothing.csv,objects.csv"), "nothing.csv: No such file"),
        (("--similarity", "wordnett"), "'wordnett' (did you mean 'wordnet'?): give two tables"),
        (
            ("--similarity", "own", "--scale", 4),
            "--scale: applies to tables; add --similarity VERBS",
        ),
        (("--scale", 3), "4 is outside 0 to 3"),
        (("--json", "verbs.csv"), "verbs.csv: would overwrite an input file"),
        (("--out", "examples.png.xlsx"), "examples.png.xlsx: unknown suffix .xlsx; give one of"),
        (("--wordnet", "nowhere"), "--wordnet nowhere: is not a folder; give WordNet's dict folde"),
        (("--out", "verbs.csv"), "verbs.csv: would overwrite an input file"),
        (
            ("--out", "p.html", "--no-scores"),
            "--out p.html: needs scores to describe the meaning of errors; leave this or --no-s",
        ),
        (
            ("--also", "diagnose", "--no-scores"),
            "--also diagnose: needs scores to describe the meaning of errors",
        ),
        (("--also", "diagnos"), "--also diagnos: not known (did you mean 'diagnose'?)"),
        (("--also", "classes=0"), "--also classes=0: give a whole number from 1"),
        (("--protocol", "v-coco-s1"), "protocol v-coco-s1 is not for hico-det"),
        (("--verb-synsets", "verbs.csv"), "the columns are a, b, score"),
    ],
)
def test_bad_input_is_one_line(refuse, words, alone, more, message):
    assert message in refuse(*words, *more)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ((), "Tables: ratings of this package, version 1: 117 of 117 verbs, 80 of 80 objects"),
        (("--similarity", "wordnet"), "Tables: WordNet Wu-Palmer similarity (not SHOE): 116 of "),
        (
            ("--similarity", "verbs.csv,objects.csv"),
            "Tables: verbs.csv (5 of 117 verbs), objects.csv (4 of 80 objects)",
        ),
    ],
)
def test_one_line_names_the_tables(run, data, tables, more, line):
    done = run("semantic", data.predictions, "--annotations", data.annotations, *more)
    assert done.code == 0
    assert line in done.out
    assert len(done.out.splitlines()) <= 24
    assert "not SHOE" not in done.out or "wordnet" in more


def test_the_old_options_name_the_new_one(run, words):
    done = run(*words, "--verb-similarity", "verbs.csv")
    assert done.code == 2
    assert "No such option: --verb-similarity; give --similarity VERBS,OBJECTS." in done.err


ZOO = """
name = "zoo"
objects = ["person", "cat", "ball"]
verbs = ["feed", "throw"]
"""


def of_one_image(run, dataset: str, category: int, annotated: int, predicted: int) -> Any:
    """Evaluate a triplet that is predicted with another verb, by v.csv and o.csv."""
    Path("o.csv").write_text("a,b,score\ncar,dog,0.1\ncat,ball,0.1\n")
    boxes = [
        {"bbox": [10.0, 20.0, 50.0, 80.0], "category_id": 0},
        {"bbox": [30.0, 40.0, 90.0, 95.0], "category_id": category},
    ]
    triplet = {"subject_id": 0, "object_id": 1, "category_id": annotated}
    said = triplet | {"category_id": predicted, "score": 0.5}
    image = {"filename": "a.jpg"}
    for name, more in (
        ("t.pkl", {"annotations": boxes, "hoi_annotation": [triplet]}),
        ("p.pkl", {"predictions": boxes, "hoi_prediction": [said]}),
    ):
        Path(name).write_bytes(pickle.dumps([image | more]))
    done = run(
        *("semantic", "p.pkl", "--annotations", "t.pkl", "--dataset", dataset, "--json", "-"),
        *("--similarity", "v.csv,o.csv"),
    )
    result = json.loads(done.out)
    assert result["soft_map"] == pytest.approx(0.75 * 0.75)
    return result


def test_described_data_sets(run, alone):
    (alone / "zoo.toml").write_text(ZOO)
    (alone / "v.csv").write_text("a,b,score\nfeed,throw,0.5\n")
    result = of_one_image(run, "zoo.toml", 1, 0, 1)
    assert result["map"] == 0
    assert set(result["splits"]["mf1"]) == {"full"}


def test_swig_hoi(run, alone):
    words = vocabulary("swig-hoi")
    hoi = int(next(n for n in range(len(words)) if words.evaluated[n]))
    others = words.evaluated & (words.class_object == words.class_object[hoi])
    other = int(next(n for n in others.nonzero()[0] if n != hoi))
    first, second = (int(words.class_verb[n]) for n in (hoi, other))
    verbs = f"{words.verbs[first]},{words.verbs[second]}"
    (alone / "v.csv").write_text(f"a,b,score\n{verbs},0.5\n")
    result = of_one_image(run, "swig-hoi", int(words.class_object[hoi]), first, second)
    assert set(result["splits"]["soft_map"]) == {"full", "zero_shot", "rare", "non_rare"}


@pytest.mark.slow
def test_v_coco_compares_actions(run, shared, tables, alone):
    folder = shared / "conformance/v_coco"
    (alone / "verbs.csv").write_text("a,b,score\nhold,carry,3\nsit,ride,2\n")
    done = run(
        *("semantic", folder / "one_stage.pkl", "--annotations", folder / "vcoco_test.json"),
        *(*tables, "--scale", 4, "--also", "diagnose", "--json", "-"),
    )
    result = json.loads(done.out)
    # Predictions that do not name their objects mean nothing by a wrong one.
    assert result["diagnosis"]["action"]["count"] > 0
    assert "object_box" not in result["diagnosis"]
    assert result["diagnosis"]["object_confusions"] == []
    assert result["dataset"] == "v-coco"
    assert 0 < result["map"] < result["soft_map"] < 1
    assert {row["name"] for row in result["classes"]} >= {"hold obj", "cut instr"}
    assert not any(row["name"].endswith("agent") for row in result["classes"])
    assert result["similarity"]["verbs"]["covered"] == 4
    assert any("do not name their objects" in note for note in result["notes"])
    printed = " ".join(
        run(
            *("semantic", folder / "one_stage.pkl", "--annotations", folder / "vcoco_test.json"),
            *(*tables, "--scale", 4, "--also", "diagnose"),
        ).out.split()
    )
    assert "Verbs are compared on found pairs: a wrong action with a person's own object" in printed


def test_its_results_are_told_from_predictions(refuse, run, words, alone):
    assert run(*words, "--json", "saved.json", "--quiet").code == 0
    truth = ("--annotations", words[3])
    assert (
        "saved.json: is a saved result of 'diaghoi semantic --json'; give the predictions "
        "themselves, or look at saved results with 'diaghoi compare'"
    ) in refuse("report", "saved.json", *truth)


def test_the_single_hoi_subset_is_named_and_compares_with_itself_alone(refuse, run, words):
    done = run(
        *words, "--subset", "single-hoi", "--label", "single", "--json", "single.json", "--detail"
    )
    assert done.code == 0
    measure = done.out.replace("\n", " ").partition("Measure: ")[2]
    assert "images with a single human-object pair (boxes the same from IoU 0.8)" in measure
    run(*words, "--label", "all", "--json", "all.json", "--quiet")
    assert "'single' has subset single-hoi, 'all' has subset all" in refuse(
        "compare", "single.json", "all.json"
    )
    assert "subset 'single': not known" in run(*words, "--subset", "single").err


def test_saved_results_are_compared_in_one_table(run, words, alone):
    for label, more in (("one", ()), ("few", ("--protocol", "top=3")), ("VLM", ("--no-scores",))):
        done = run(*words, "--label", label, *more, "--json", f"{label}.json", "--quiet")
        assert done.code == 0
    saved = {each: json.loads((alone / f"{each}.json").read_text()) for each in ("one", "VLM")}
    done = run("compare", "one.json", "few.json", "VLM.json", "--json", "compared.json")
    assert done.code == 0
    assert "Classes: all (600); means over the annotated classes." in done.out.replace("\n", " ")
    assert "mF1: score rank >= 0.5" in done.out.replace("\n", " ")
    assert "for models without scores, all predictions count (VLM)" in done.err
    compared = json.loads((alone / "compared.json").read_text())
    models = compared["tables"]["semantic"]["models"]
    assert list(models) == ["one", "few", "VLM"]
    for key in ("gt_miss_rate", "prediction_miss_rate"):
        assert models["one"][key] == saved["one"][key]
    for key in ("map", "soft_map", "mf1"):
        assert models["one"][f"{key}.rare"] == saved["one"]["splits"][key]["rare"]
    assert models["VLM"]["soft_map.full"] is None
    assert models["VLM"]["mf1.full"] == saved["VLM"]["mf1"]
    latex = run("compare", "one.json", "few.json", "--out", "-.tex").out
    caption = latex.partition(r"\caption{")[2].partition("\n")[0]
    assert "Classes: all (600)" in caption
    assert r"sigma = 0.5 S\_v + 0.5 S\_o" in caption
    assert "verbs (verbs.csv) and objects (objects.csv)" in caption


STUDY = """
annotations = "{annotations}"
similarity = "verbs.csv,objects.csv"
[[model]]
label = "one"
stage = "one"
file = "{predictions}"
[[model]]
label = "two"
stage = "two"
file = "two.json"
"""


def test_a_study_names_similarity_tables(run, words, data, alone):
    for label in ("one", "two"):
        run(*words, "--label", label, "--json", f"{label}.json", "--quiet")
    study = STUDY.format(annotations=data.annotations, predictions=data.predictions)
    (alone / "study.toml").write_text(study)
    saved = study.replace(str(data.predictions), "one.json").replace("similarity", "# ")
    (alone / "saved.toml").write_text(saved)
    done = run("compare", "study.toml", "--json", "evaluated.json")
    assert done.code == 0
    assert "Similarity: verbs (verbs.csv) and objects (objects.csv)" in done.out.replace("\n", " ")
    assert run("compare", "saved.toml", "--json", "read.json").code == 0
    evaluated, read = (
        json.loads((alone / f"{name}.json").read_text()) for name in ("evaluated", "read")
    )
    assert evaluated == read
    assert evaluated["models"][1]["stage"] == "two"
    models = evaluated["tables"]["semantic"]["models"]
    assert models["one"] == models["two"]


@pytest.mark.slow
def test_confusions_of_several_results_are_one_figure(run, words, alone):
    study = ""
    for label in ("one", "two"):
        run(*words, "--label", label, "--also", "diagnose", "--json", f"{label}.json", "--quiet")
        study += f'[[model]]\nlabel = "{label}"\nfile = "{label}.json"\n'
    (alone / "study.toml").write_text(study)
    for more in ([], ["--all"]):
        done = run("figures", "study.toml", "--out", "f", "--format", "svg", *more)
        assert done.code == 0
        written = {path.name for path in (alone / "f").iterdir()}
        assert written == {"confusions.svg", "captions.md", "captions.tex"}
    assert "Similarity of the two verbs" in (alone / "f/confusions.svg").read_text()
    assert "a result of 'diaghoi semantic' has data only for the confusions" in done.err
    run(*words, "--label", "two", "--json", "two.json", "--quiet")
    done = run("figures", "study.toml", "--out", "g", "--only", "confusions")
    assert "without two: needs a result of 'diaghoi semantic --also diagnose --json'" in done.err


@pytest.mark.parametrize(
    ("old", "new", "more", "message"),
    [
        (
            "verbs.csv,objects.csv",
            "verbs.csv",
            (),
            "study.toml: similarity 'verbs.csv': give two tables, VERBS,OBJECTS, or own or",
        ),
        (
            'similarity = "verbs.csv,objects.csv"',
            'verb_synsets = "s.csv"',
            (),
            "study.toml: verb_synsets: needs similarity; name the tables",
        ),
        ("verbs.csv", "none.csv", (), "none.csv"),
        (
            "two.json",
            "report.json",
            (),
            "report.json: is compared by mAP, but study.toml is compared by meani",
        ),
        (
            "",
            "",
            ("--also", "explain"),
            "--also: applies to mAP, but the models are compared by meaning",
        ),
        ("", "", ("--significance",), "--significance: applies to mAP, but the models"),
        ("", "", ("--table", "compact"), "--table, --columns: applies to mAP, but the models"),
        ("", "", ("--json", "verbs.csv"), "verbs.csv"),
    ],
)
def test_a_study_of_meaning_that_cannot_be_used(
    refuse, run, words, data, alone, old, new, more, message
):
    run(*words, "--label", "two", "--json", "two.json", "--quiet")
    truth = ("--annotations", data.annotations)
    run("report", data.predictions, *truth, "--json", "report.json", "--quiet")
    study = STUDY.format(annotations=data.annotations, predictions=data.predictions)
    (alone / "study.toml").write_text(study.replace(old, new))
    assert message in refuse("compare", "study.toml", *more)


def test_results_that_do_not_compare_are_refused(refuse, run, words, data, alone):
    run(*words, "--label", "one", "--json", "one.json", "--quiet")
    run(*words, "--label", "two", "--json", "two.json", "--quiet", "--weight", 0.3)
    (alone / "objects.csv").rename("other.csv")
    other = [*words[:-1], "verbs.csv,other.csv"]
    run(*other, "--label", "three", "--json", "three.json", "--quiet")
    truth = ("--annotations", data.annotations)
    run("report", data.predictions, *truth, "--json", "report.json", "--quiet")
    broken = json.loads((alone / "one.json").read_text()) | {"label": "broken", "splits": 3}
    (alone / "broken.json").write_text(json.dumps(broken))
    for given, message in (
        (
            "broken.json",
            "splits is 3, which has no parts; write the result again with 'diaghoi semantic",
        ),
        ("two.json", "'one' has weight 0.5, 'two' has weight 0.3; evaluate the models again"),
        ("three.json", "'one' has objects (objects.csv), 'three' has other (other.csv)"),
        ("report.json", "report.json: is compared by mAP, but one.json is compared by meaning"),
        (
            "--table=compact",
            "--table, --columns: applies to mAP, but the models are compared by meaning",
        ),
        (
            "--protocol=diag-hoi",
            "not diag-hoi; write the file again with the options of this comparison, by 'diaghoi s",
        ),
    ):
        assert message in refuse("compare", "one.json", given)


def test_inspecting_a_table(run, alone):
    (alone / "verbs.csv").write_text("a,b,x,y\nride,hold,2,4\nhold,ride,3,4\nride,walk,1,\n")
    done = run("similarity", "inspect", "verbs.csv", "--detail")
    assert done.code == 0
    assert "verbs of hico-det" in done.out
    assert "Correlation of raters" in done.out
    assert "1 pairs appear more than once" in done.err
    result = json.loads(run("similarity", "inspect", "verbs.csv", "--json", "-").out)
    assert result["coverage"]["verbs of hico-det"]["covered"] == 3
    assert result["contradictions"] == 1
    assert run("similarity", "inspect", "verbs.csv", "--quiet").out == ""


def test_merging_tables(run, alone):
    (alone / "one.csv").write_text("a,b,score\nride,hold,2\nride,walk,4\n")
    (alone / "two.csv").write_text("a,b,z\nride,hold,4\n")
    done = run("similarity", "merge", "one.csv", "two.csv", "--out", "all.csv")
    assert done.out == "all.csv: 3 words, 2 pairs, 2 raters: one, z\n"
    assert (alone / "all.csv").read_text().splitlines() == [
        "a,b,one,z",
        "ride,hold,0.5,1.0",
        "ride,walk,1.0,",
    ]
    done = run("similarity", "merge", "one.csv", "two.csv", "--out", "mean.csv", "--mean")
    assert (alone / "mean.csv").read_text().splitlines()[:2] == ["a,b,mean", "ride,hold,0.75"]


def test_subsets_of_raters(run, alone):
    (alone / "t.csv").write_text("a,b,x,y\nride,hold,4,2\nride,walk,2,0\n")
    (alone / "human.csv").write_text("a,b,anna,ben\nride,hold,4,2\nride,walk,0,0\nride,fly,0,4\n")
    done = run("similarity", "subset", "t.csv", "--human", "human.csv", "--detail")
    assert done.code == 0
    assert "x, y" in done.out
    assert "1 words are not in the tables" in done.err
    result = json.loads(
        run("similarity", "subset", "t.csv", "--human", "human.csv", "--json", "-").out
    )
    assert len(result["subsets"]) == 3
    assert result["notes"][:2] == [
        "human.csv: read as scores from 0 to 4 (if this is wrong, give --human-scale)",
        "t.csv: read as scores from 0 to 4 (if this is wrong, give --scale)",
    ]


def test_raters_by_what_differs(run, alone):
    (alone / "v.csv").write_text("a,b,x,y\nride,hold,4,2\n")
    (alone / "o.csv").write_text("a,b,x,y\ncar,bus,2,0\n")
    (alone / "human.csv").write_text(
        "verb_a,object_a,verb_b,object_b,anna\nride,car,ride,bus,1\nride,car,hold,car,4\n"
    )
    words = ("similarity", "subset", "v.csv", "--objects", "o.csv", "--human", "human.csv")
    done = run(*words, "--detail")
    assert done.code == 0
    assert re.search(r"Agreement with people, % +Raters +Mean +Majority", done.out)
    assert "Direct match, as in mAP: 37.50." in done.out.replace("\n", " ")
    assert re.search(r"Agreement by differing part, % +All +Object +Verb", done.out)
    assert re.search(r"Weight of the verb +w\*", done.out)
    assert max(map(len, done.out.splitlines())) <= 80
    assert "Weight of the verb" not in run(*words, "--detail", "--combine", "minimum").out
    # One screen holds what fits, and says how many tables are left; a text file holds all.
    first = run(*words, "--out", "all.txt")
    assert done.out.startswith(first.out)
    assert len(first.out.splitlines()) <= 24
    assert "1 more table: --detail\n3 notes: --detail\n" in first.err
    assert (alone / "all.txt").read_text(encoding="utf-8") == done.out


def test_people_may_have_a_scale_of_their_own(run, alone):
    (alone / "t.csv").write_text("a,b,x\nride,hold,4\nride,walk,0\n")
    (alone / "human.csv").write_text("a,b,anna\nride,hold,10\nride,walk,0\n")
    words = ("similarity", "subset", "t.csv", "--human", "human.csv", "--json", "-")
    assert "with --human-scale" in run(*words).err
    for scale, agreement in ((10, 1.0), (20, 0.75)):
        result = json.loads(run(*words, "--human-scale", scale).out)
        assert result["subsets"][0]["agreement"] == agreement
    assert "scale -1: must be a positive number" in run(*words, "--human-scale", -1).err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("inspect", "nothing.csv"), "nothing.csv: No such file"),
        (("inspect", "t.csv", "--dataset", "hico"), "unknown data set 'hico'"),
        (("merge", "t.csv", "--out", "t.csv"), "would overwrite an input file"),
        (("merge", "t.csv", "--out", "t.txt"), "are written as .csv or .npz"),
        (("merge", "t.csv", "t.csv", "--out", "m.csv"), "appears in two tables"),
        (("subset", "t.csv", "--human", "t.csv", "--weight", "3"), "weight 3"),
    ],
)
def test_bad_input_of_similarity(refuse, alone, words, message):
    (alone / "t.csv").write_text("a,b,x,y\nride,hold,4,2\n")
    assert message in refuse("similarity", *words)
    assert [path.name for path in alone.iterdir()] == ["t.csv"]


def test_tables_of_senses_need_no_list_for_hico(run, data, alone, tables):
    (alone / "verbs.csv").write_text("a,b,score\nride.v.10,hold.v.02,4\nsit.v.01,ride.v.10,2\n")
    done = run(
        *("semantic", data.predictions, "--annotations", data.annotations, *tables, "--json", "-")
    )
    result = json.loads(done.out)
    # sit_on and sit_at share a sense.
    assert set(VERBS_OF_HICO) - set(result["similarity"]["verbs"]["missing"]) >= {"hold", "sit_on"}
