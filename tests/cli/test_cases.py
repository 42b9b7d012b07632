"""``diaghoi figures cases``: a folder of pictures with an index, one page, or a figure."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from diaghoi.cases.cases import ERRORS
from diaghoi.formats.pictures import Picture
from diaghoi.report.case_pictures import words_for

CASES = ("figures", "cases")
NAMES = ("one.jpg", "two.jpg")
HOLD = 36
FAR = [400.0, 300.0, 450.0, 350.0]


@pytest.fixture
def images(alone: Path) -> Path:
    folder = alone / "images"
    folder.mkdir()
    for name in NAMES:
        Image.new("RGB", (640, 480), (90, 120, 150)).save(folder / name)
    return folder


@pytest.fixture
def files(save, truth, found, images) -> dict[str, Any]:
    """Predictions of which the first image has a wrong object box."""
    found[0]["predictions"].append({"bbox": FAR, "category_id": 1})
    found[0]["hoi_prediction"].append(
        {"subject_id": 0, "object_id": 2, "category_id": 76, "score": 0.75, "action_score": 0.7}
    )
    return {
        "predictions": save("preds.pkl", found),
        "words": ("--annotations", save("gt.pkl", truth), "--images", images),
    }


def show(run, files, *more: object):
    return run(*CASES, files["predictions"], *files["words"], *more)


class Page(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


# A folder.


def test_a_folder_holds_one_picture_a_case_and_an_index(run, files, alone) -> None:
    done = show(run, files, "--error", "object-box", "--out", "out")
    assert (done.code, done.out) == (0, "out: 1 case: object_box 1 of 1\n")
    assert "two.jpg" not in done.err
    out = alone / "out"
    picture = "object-box-001-one.png"
    assert sorted(path.name for path in out.iterdir()) == ["index.csv", "index.json", picture]
    with Image.open(out / picture) as image:
        assert image.width == 975
    index = json.loads((out / "index.json").read_text())
    assert (index["dataset"], index["label"], index["class"]) == ("hico-det", "preds", None)
    assert index["protocol"]["name"] == "hico-det-520"
    assert index["errors"] == {"object_box": 1}
    (case,) = index["cases"]
    assert (case["file"], case["picture"], case["image"]) == (picture, "found", "one.jpg")
    assert (case["name"], case["score"], case["object"]) == ("ride bicycle", 0.75, FAR)
    assert case["repair"].startswith(
        "becomes a true positive of ride bicycle (IoU 1.00 and 0.00), in place of the true "
        "positive with score "
    )
    # Without tables there is no similarity.
    assert (index["similarity"], index["kinds"]) == (None, None)
    assert (case["similarity"], case["kind"], case["meant"]) == (None, None, None)
    assert "Similarity" not in case["sentence"]


def test_the_index_for_spreadsheets_has_one_number_a_cell(run, files, alone, save, found) -> None:
    found[0]["filename"] = "=1+1.jpg"
    files["predictions"] = save("preds.pkl", found)
    assert show(run, files, "--error", "object_box", "--out", "out").code == 0
    assert (alone / "out" / "index.csv").read_bytes().count(b"\r\n") == 1
    show(run, files, "--error", "Object box,both_boxes, missed", "--out", "out")
    with (alone / "out" / "index.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["image"] for row in rows} == {"'=1+1.jpg", "one.jpg"}
    wrong = next(row for row in rows if row["error"] == "both_boxes" and row["score"] == "0.75")
    assert (wrong["object_left"], wrong["object_bottom"]) == ("400.0", "350.0")
    missed = next(row for row in rows if row["error"] == "missed_gt")
    assert (missed["score"], missed["human_left"], missed["width"]) == ("", "", "")
    assert missed["annotated_human_left"] == "10.0"


@pytest.mark.slow
def test_the_same_cases_have_the_same_names(run, files, alone) -> None:
    written = []
    for out in ("first", "second"):
        assert show(run, files, "--out", out).code == 0
        written.append({path.name: path.read_bytes() for path in (alone / out).iterdir()})
    assert written[0] == written[1]


def test_names_of_files_are_safe_whatever_the_images_are_called(run, files, alone, save, found):
    found[0]["filename"] = "../../etc/<b>évil name\n" + "x" * 300
    files["predictions"] = save("preds.pkl", found)
    done = show(run, files, "--error", "both_boxes", "--out", "out")
    assert done.code == 0
    for path in (alone / "out").iterdir():
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,90}", path.name)
    assert "names that lead out of" in done.err
    assert not (alone.parent.parent / "etc").exists()


# A page.


def test_a_page_holds_its_pictures_and_loads_nothing(run, files, alone) -> None:
    done = show(run, files, "--out", "cases.html")
    assert done.code == 0
    assert done.out.startswith("cases.html: 1 case: human_box 0 of 0, object_box 1 of 1, ")
    page = Page(alone / "cases.html")
    (picture,) = page.all("img")
    assert picture["src"].startswith("data:image/jpeg;base64,")
    assert (picture["width"], picture["height"]) == ("640", "480")
    assert picture["alt"] == "predicted ride bicycle in one.jpg"
    assert not [tag for tag, _ in page.tags if tag in ("script", "link", "iframe")]
    assert "http" not in (alone / "cases.html").read_text().replace("http-equiv", "")
    assert [section["id"] for section in page.all("section")] == list(ERRORS)
    assert [anchor["href"] for anchor in page.all("a")] == [f"#{error}" for error in ERRORS]
    assert "but the object box overlaps no annotated bicycle." in page.text
    assert "Under its oracle it becomes a true positive of ride bicycle" in page.text
    assert "1 case, of which 1 is shown" in page.text
    assert "Protocol hico-det-520: classes: no_interaction left out" in page.text


def test_names_in_a_page_are_words_and_not_html(run, files, alone, save, found, tmp_path) -> None:
    evil = '"><script>alert(1)</script>\x07.jpg'
    found[0]["filename"] = evil
    path = save("<img src=x>.pkl", found)
    done = run(*CASES, path, *files["words"], "--error", "both_boxes", "--out", "cases.html")
    assert done.code == 0
    page = Page(alone / "cases.html")
    assert not page.all("script")
    assert {picture["src"][:5] for picture in page.all("img")} == {"data:"}
    shown = evil.replace("\x07", "\N{REPLACEMENT CHARACTER}")
    assert page.all("img")[0]["alt"] == f"predicted ride bicycle in {shown}"
    assert page.text.count("<img src=x> on HICO-DET") == 2


def test_a_described_class_in_a_page_is_words(run, alone, save, images) -> None:
    Path("own.toml").write_text(
        'name = "own"\nobjects = ["person", "<script>alert(1)</script>"]\nverbs = ["日本 & $x"]\n',
        encoding="utf-8",
    )
    boxes = [
        {"bbox": [10.0, 20.0, 50.0, 80.0], "category_id": 0},
        {"bbox": [30.0, 40.0, 90.0, 95.0], "category_id": 1},
    ]
    pair = {"subject_id": 0, "object_id": 1, "category_id": 0}
    truth = [{"filename": "one.jpg", "annotations": boxes, "hoi_annotation": [pair]}]
    found = [{"filename": "one.jpg", "predictions": boxes[:1] * 2, "hoi_prediction": []}]
    words = ("--dataset", "own.toml", "--images", images, "--out", "cases.html", "--force")
    gt, preds = save("gt.pkl", truth), save("p.pkl", found)
    done = run(*CASES, preds, "--annotations", gt, *words)
    assert (done.code, done.out[:22]) == (0, "cases.html: 1 case: hu")
    assert (
        "Note: the font lacks some letters of the names; the figure shows placeholders for these "
        "letters\n" in done.err
    )
    page = Page(alone / "cases.html")
    assert not page.all("script")
    assert "日本 & $x <script>alert(1)</script>" in page.text


# What is shown.


def test_missing_and_damaged_pictures_are_told(run, files, images, save, truth, found) -> None:
    for each, name in ((truth, "three.jpg"), (found, "three.jpg")):
        each.append(each[0] | {"filename": name})
    files["predictions"] = save("preds.pkl", found)
    save("gt.pkl", truth)
    (images / "one.jpg").write_bytes(b"no picture")
    done = show(run, files, "--error", "object_box", "--out", "out")
    assert done.code == 0
    assert "Note: 1 of 2 pictures are not in " in done.err
    assert "their boxes are drawn in empty frames: three.jpg\n" in done.err
    types = "JPEG nor PNG nor BMP nor GIF nor TIFF nor WEBP nor PPM"
    assert f"Note: one.jpg cannot be read (is neither {types})\n" in done.err
    index = json.loads(Path("out/index.json").read_text())
    assert [case["picture"] for case in index["cases"]] == ["damaged", "missing"]
    for case in index["cases"]:
        with Image.open(Path("out") / case["file"]) as picture:
            # The grey of an empty frame.
            assert picture.convert("RGB").getpixel((900, 60)) == (219, 219, 219)


@pytest.mark.slow
def test_one_class_by_name_with_hyphens_or_number(run, files) -> None:
    counts = []
    for name in ("ride bicycle", "ride-bicycle", "ride_bicycle", "48", "hold bicycle"):
        done = show(run, files, "--class", name, "--error", "object_box", "--out", "out")
        counts.append(done.out)
    of = "out: 1 case of 'ride bicycle': object_box 1 of 1\n"
    assert counts[:3] == [of] * 3
    assert "object_box 0 of 0" in counts[4]
    assert show(run, files, "--class", "ride bicycle", "--out", "cases.html").code == 0
    assert "Only the class ride bicycle." in Page(Path("cases.html")).text
    assert show(run, files, "--class", "ride", "--out", "out").err.startswith(
        "diaghoi: error: --class: unknown class 'ride'"
    )


def test_top_and_several_errors(run, data, images) -> None:
    words = ("--annotations", data.annotations, "--images", images, "--pairs", data.pairs)
    more = ("--error", "duplicate", "--error", "action,association", "--most", 1, "--out", "out")
    done = run(*CASES, data.predictions, *words, *more)
    assert re.fullmatch(
        r"out: 3 cases: duplicate 1 of \d+, action 1 of \d+, association 1 of \d+\n", done.out
    )
    index = json.loads(Path("out/index.json").read_text())
    assert [case["error"] for case in index["cases"]] == ["duplicate", "action", "association"]


def test_cases_of_some_images(run, files, save, found) -> None:
    found[0]["filename"], found[1]["filename"] = "two.jpg", "one.jpg"
    files["predictions"] = save("preds.pkl", found)
    words = ("--error", "object_box", "--image")
    assert show(run, files, *words, "one.jpg", "--out", "o").out.endswith("object_box 0 of 0\n")
    assert show(run, files, *words, "two.jpg", "--out", "o").out.endswith("object_box 1 of 1\n")
    assert json.loads(Path("o/index.json").read_text())["images"] == ["two.jpg"]
    assert show(run, files, *words, "two.jpg", "--out", "cases.html").code == 0
    assert "Only on two.jpg." in Page(Path("cases.html")).text
    done = show(run, files, *words, "tow.jpg", "--out", "o")
    assert "--image 'tow.jpg': no such image" in done.err


# How similar errors are to what is annotated.


@pytest.fixture
def meanings(files, alone, save, found) -> tuple[object, ...]:
    """Tables by which holding is near to riding, and predictions of both and of washing."""
    found[1]["hoi_prediction"] += [
        {"subject_id": 0, "object_id": 1, "category_id": verb, "score": score, "action_score": 0.5}
        for verb, score in ((36, 0.9), (111, 0.8))
    ]
    files["predictions"] = save("preds.pkl", found)
    (alone / "verbs.csv").write_text("a,b,score\nride,hold,2.5\n")
    (alone / "objects.csv").write_text("a,b,score\nbicycle,motorcycle,3\n")
    return (*BOTH, "--scale", 4, "--error", "action,object_box")


def test_the_index_tells_similarity_and_kind(run, files, meanings) -> None:
    done = show(run, files, *meanings, "--out", "out")
    assert done.out == "out: 3 cases: action 2 of 2, object_box 1 of 1\n"
    assert "Note: 115 of 117 verbs are not in the table 'verbs'" in done.err
    index = json.loads(Path("out/index.json").read_text())
    assert index["similarity"]["sigma"] == "sigma = 0.5 S_v + 0.5 S_o"
    assert index["similarity"]["verbs"] == {"name": "verbs", "source": "verbs.csv"}
    told = [
        [case[key] for key in ("name", "similarity", "kind", "meant")] for case in index["cases"]
    ]
    assert told == [
        ["hold bicycle", 0.8125, "near", "ride bicycle"],
        ["wash bicycle", 0.5, "wrong", "ride bicycle"],
        ["ride bicycle", None, "nothing", None],
    ]
    assert index["cases"][0]["sentence"].endswith("Similarity to ride bicycle 0.812: near.")
    assert index["cases"][2]["sentence"].endswith("No annotated triplet is near enough to compare.")
    with Path("out/index.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["similarity"] for row in rows] == ["0.8125", "0.5", ""]
    assert [row["kind"] for row in rows] == ["near", "wrong", "nothing"]


def test_the_page_tells_similarity_and_its_tables(run, files, meanings) -> None:
    assert show(run, files, *meanings, "--out", "cases.html").code == 0
    text = " ".join(Page(Path("cases.html")).text.split())
    assert "Similarity to ride bicycle 0.812: near." in text
    assert (
        "σ = 0.5 S_v + 0.5 S_o, with the other classes annotated at both boxes (or, if predictions "
        "are matched by person, with the other actions of the person): verbs by the table verbs "
        "(verbs.csv), objects by" in text
    )
    assert "Only errors" not in text


@pytest.mark.slow
def test_cases_of_one_kind(run, files, meanings) -> None:
    words = meanings[:-2]  # the errors are those that can have a kind
    done = show(run, files, *words, "--kind", "wrong", "--out", "cases.html")
    assert done.out == "cases.html: 1 case, wrong: action 1 of 1, object_box 0 of 0\n"
    assert "Only errors of these kinds: Wrong." in Page(Path("cases.html")).text
    done = show(run, files, *words, "--kind", "near,wrong", "--error", "action", "--out", "out")
    assert done.out == "out: 2 cases, near or wrong: action 2 of 2\n"
    assert json.loads(Path("out/index.json").read_text())["kinds"] == ["near", "wrong"]


@pytest.mark.slow
def test_choices_of_similarity_change_it(run, files, meanings) -> None:
    found = []
    for more in ((), ("--weight", 0.8), ("--combine", "minimum")):
        show(run, files, *meanings, *more, "--out", "out")
        index = json.loads(Path("out/index.json").read_text())
        found.append((index["cases"][0]["similarity"], index["similarity"]["sigma"]))
    assert found == [
        (0.8125, "sigma = 0.5 S_v + 0.5 S_o"),
        (pytest.approx(0.7), "sigma = 0.8 S_v + 0.2 S_o"),
        (0.625, "sigma = min(S_v, S_o)"),
    ]


def test_an_empty_frame_says_little_and_the_page_says_why(run, files, images) -> None:
    (images / "one.jpg").unlink()
    assert show(run, files, "--error", "object_box", "--out", "cases.html").code == 0
    assert f"one.jpg: not in {images}" in Page(Path("cases.html")).text


@pytest.mark.parametrize(
    ("problem", "words"),
    [("missing", "no picture"), ("unsafe", "no picture"), ("damaged", "picture damaged")],
)
def test_words_of_an_empty_frame_are_short(problem: str, words: str) -> None:
    reason = "not in a folder with a very long name"
    assert words_for(Picture(image=None, problem=problem, reason=reason)) == words


def test_quiet_and_a_folder_without_jinja2(run, files, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = show(run, files, "--error", "object_box", "--out", "out", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_no_cases_at_all(run, files, alone) -> None:
    done = show(run, files, "--error", "human_box", "--out", "cases.html")
    assert (done.code, done.out) == (0, "cases.html: 0 cases: human_box 0 of 0\n")
    assert "Human box none" in Page(alone / "cases.html").text


# What cannot be done.


BOTH = ("--similarity", "verbs.csv,objects.csv")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--out", "o", "--scale", 4),
            "--scale: applies to tables; add --similarity VERBS,OBJECTS",
        ),
        (("--out", "o", "--similarity", "verbs.csv"), "--similarity 'verbs.csv': give two tables"),
        (("--out", "o", *BOTH), "verbs.csv: No such file"),
        (("--out", "o", *BOTH, "--kind", "nar"), "--kind 'nar': not known (did you mean 'near'?)"),
        (("--out", "o", *BOTH, "--weight", 2), "weight 2: must lie between 0 and 1"),
        (("--out", "o", *BOTH, "--combine", "mean"), "combine 'mean': not known"),
        (
            ("--out", "o", *BOTH, "--kind", "near", "--error", "duplicate"),
            "--kind: 'duplicate' is not compared with annotations; only action and object_b",
        ),
        (
            ("--out", "c.html", "--similarity", "c.html,o.csv"),
            "c.html: would overwrite an input file",
        ),
        (("--error", "asociation", "--out", "o"), "--error 'asociation': not known (did you mean"),
        (("--error", "false-positive", "--out", "o"), "--error 'false_positive': not known"),
        (("--images", "none", "--out", "o"), "none: no such folder; give the folder with"),
        (("--out", "images"), "images: is the folder with the input pictures; give another folder"),
        (("--out", "gt"), "gt: cannot be the output folder: gt is a file"),
        (("--out", "cases.jpg"), "--out cases.jpg: the name must end in .pdf, .svg, .png, .html, "),
        (("--out", "none/cases.html"), "none/cases.html: cannot be written: the folder none"),
        (("--out", "o", "--protocol", "hico"), "unknown protocol 'hico' (did you mean 'hico-det'"),
        (("--out", "o", "--class", "601"), "--class: unknown class 601"),
        (("--image", "tow.jpg", "--out", "p.png"), "(did you mean 'two.jpg'"),
        (("--image", "tow.jpg", "--out", "p.png", "--outcomes"), "(did you mean 'two.jpg'"),
        (("--repairs", "--out", "o"), "--repairs: is for a figure of errors, not for a folder or"),
        (("--most", 3, "--out", "p.pdf"), "--most: is for a folder or a page of cases and a figur"),
        (("--threshold", 0.3, "--out", "p.pdf"), "(of several files, or with --outcomes), not for"),
        (("--error", "action", "--outcomes", "--out", "p.pdf"), "--error: is for a folder or a"),
        (("--no-captions", "--out", "p.pdf"), "--no-captions: is for a folder or a"),
        (("--similarity", "own", "--out", "p.pdf"), "--similarity: is for a folder or a"),
        (
            ("--most", 31, "--outcomes", "--out", "p.pdf"),
            "--most 31: at most 30 images fit a figure",
        ),
        (("--severity", 3, "--out", "p.pdf"), "--severity: is for a figure of a corrupted picture"),
    ],
)
def test_bad_requests(refuse, files, words, message) -> None:
    Path("gt").touch()
    assert message in show(refuse, files, *words)


def test_a_page_that_cannot_be_finished_is_not_left(run, files, alone, monkeypatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("diaghoi.plots.figures.picture.card", fail)
    (alone / "cases.html").write_text("old")
    assert show(run, files, "--out", "cases.html").code == 2
    assert (alone / "cases.html").read_text() == "old"
    assert not list(alone.glob(".cases*"))


def test_a_page_needs_jinja2_before_anything_is_read(run, files, alone, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    (alone / "preds.pkl").write_bytes(b"nothing that can be read")
    done = show(run, files, "--out", "cases.html")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("diaghoi: error: a page needs jinja2, which is not installed: pip")


def test_a_folder_that_cannot_be_made_is_told(run, files, images: Path) -> None:
    done = show(run, files, "--out", images / NAMES[0] / "out")
    assert done.code == 2
    assert "/out: cannot be the output folder: " in done.err


def test_images_and_out_are_needed(run, files) -> None:
    predictions = files["predictions"]
    done = run(*CASES, predictions, "--out", "o")
    assert done.code == 2
    assert done.err == (
        "diaghoi: error: --images: give the folder with the pictures; without them, 'diaghoi "
        f"report {predictions} --out PAGE.html' shows the worst cases\n"
    )
    done = run(*CASES, predictions, *files["words"])
    assert (done.code, "Missing option '--out'" in done.err) == (2, True)


def test_help(run) -> None:
    done = run(*CASES, "--help")
    assert done.code == 0
    assert done.out.startswith("Usage: diaghoi figures cases")
    assert done.out.count("\n") <= 70


# Figures for a paper.


@pytest.fixture
def models(save, truth, found, images) -> dict[str, Any]:
    """Two models; the first image of the first has a wrong object box, that of the second none."""
    truth[0]["hoi_annotation"].append({"subject_id": 0, "object_id": 1, "category_id": HOLD})
    better = [dict(each, hoi_prediction=list(each["hoi_prediction"])) for each in found]
    better[0]["hoi_prediction"].append(
        {"subject_id": 0, "object_id": 1, "category_id": HOLD, "score": 0.4, "action_score": 0.4}
    )
    found[0]["predictions"].append({"bbox": FAR, "category_id": 1})
    found[0]["hoi_prediction"].append(
        {"subject_id": 0, "object_id": 2, "category_id": 76, "score": 0.75, "action_score": 0.7}
    )
    return {
        "first": save("first.pkl", found),
        "second": save("second.pkl", better),
        "words": ("--annotations", save("gt.pkl", truth), "--images", images),
    }


def texts(path: Path) -> list[str]:
    found = re.findall(r"<text [^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))
    return [text.replace("&quot;", '"') for text in found]


def pictures(path: Path) -> int:
    return len(re.findall("<image ", path.read_text(encoding="utf-8")))


# Errors.


def test_a_picture_for_each_error(run, models, alone) -> None:
    done = run(*CASES, models["first"], *models["words"], "--out", "p.svg")
    assert done.code == 0
    assert "Wrote p.svg" in done.err
    shown = texts(alone / "p.svg")
    assert "ride bicycle 0.75" in shown
    assert [each for each in shown if each in ("Object box", "Missed triplet")]
    assert "no case of" in done.err
    assert "human_box" in done.err
    assert shown[-2:] == ["prediction, coloured by its error", "annotation"]


@pytest.mark.parametrize(("column", "pixels"), [("single", 975), ("double", 2062)])
def test_figures_have_the_width_of_a_column(run, models, alone, column, pixels) -> None:
    words = (*CASES, models["first"], *models["words"], "--column", column)
    assert run(*words, "--out", "p.png").code == 0
    with Image.open(alone / "p.png") as image:
        assert image.width == pixels


def test_one_error_before_and_after_its_repair(run, models, alone) -> None:
    words = ("--error", "object_box", "--repairs", "--out", "p.svg")
    done = run(*CASES, models["first"], *models["words"], *words)
    assert (done.code, pictures(alone / "p.svg")) == (0, 2)
    shown = texts(alone / "p.svg")
    # What is repaired takes the place of a weaker true positive.
    assert shown.index("Object box") < shown.index("Repaired") < shown.index("annotation")
    assert shown.count("ride bicycle") == 1


def test_errors_that_are_removed_and_not_counted(run, models, save, truth, found, alone) -> None:
    found[1]["hoi_prediction"].append(found[1]["hoi_prediction"][0] | {"score": 0.3})
    found[0]["hoi_prediction"] = []
    both = save("both.pkl", found)
    words = ("--error", "duplicate,missed_gt", "--repairs", "--out", "p.svg")
    assert run(*CASES, both, *models["words"], *words).code == 0
    shown = texts(alone / "p.svg")
    assert {"Removed", "Not counted"} < set(shown)


def test_cases_of_a_chosen_image(run, models, alone) -> None:
    words = ("--image", "two.jpg", "--error", "object_box", "--out", "p.png")
    done = run(*CASES, models["first"], *models["words"], *words)
    assert (done.code, (alone / "p.png").exists()) == (2, False)
    assert "no case of object_box on the requested images" in done.err


def test_a_case_of_a_chosen_class(run, models, alone) -> None:
    words = ("--class", "hold-bicycle", "--out", "p.svg")
    done = run(*CASES, models["first"], *models["words"], *words)
    assert done.code == 0
    shown = texts(alone / "p.svg")
    assert ("hold bicycle" in shown, "ride bicycle 0.75" in shown) == (True, False)


def test_only_images_with_a_picture_are_chosen(run, models, images) -> None:
    (images / "one.jpg").unlink()
    done = run(*CASES, models["first"], *models["words"], "--out", "p.png")
    assert done.code == 2
    words = ("--image", "one.jpg", "--out", "p.png")
    done = run(*CASES, models["first"], *models["words"], *words)
    assert done.code == 0
    assert "pictures are not in" in done.err


# Models.


def test_two_models_on_one_picture(run, models, alone) -> None:
    both = (models["first"], models["second"])
    words = ("--image", "one.jpg", "--threshold", "0.1", "--out", "p.svg")
    done = run(*CASES, *both, *models["words"], *words)
    assert (done.code, pictures(alone / "p.svg")) == (0, 2)
    shown = texts(alone / "p.svg")
    assert [each for each in shown if re.match(r"\d ", each)] == [
        "1 ride bicycle 0.50",
        "2 ride bicycle 0.75",
        "3 hold bicycle",
        "1 ride 0.50, hold 0.40 bicycle",
    ]
    assert {"first", "second", "right", "false", "missed"} < set(shown)
    assert "from a score of 0.1 (first), 0.1 (second)" in done.err


def test_images_are_chosen_where_models_differ(run, models, alone) -> None:
    both = (models["first"], models["second"])
    words = ("--most", "1", "--out", "p.svg")
    done = run(*CASES, *both, *models["words"], *words)
    assert done.code == 0
    assert "Images: one.jpg" in (alone / "p.svg").read_text(encoding="utf-8")


def test_the_threshold_is_that_of_best_f1(run, models) -> None:
    done = run(*CASES, models["second"], *models["words"], "--outcomes", "--out", "p.png")
    assert done.code == 0
    assert "predictions from a score of 0.4 (second)" in done.err


def test_many_pairs_are_counted(run, models, save, found, alone) -> None:
    for number in range(7):
        found[1]["predictions"].append({"bbox": [10.0 * number, 200, 99, 300], "category_id": 1})
        found[1]["hoi_prediction"].append(
            {"subject_id": 0, "object_id": 2 + number, "category_id": 76, "score": 0.2}
            | {"action_score": 0.2}
        )
    many = save("many.pkl", found)
    words = ("--image", "two.jpg", "--outcomes", "--threshold", "0", "--out", "p.svg")
    assert run(*CASES, many, *models["words"], *words).code == 0
    assert "and 2 more" in texts(alone / "p.svg")


# Corruptions.


def test_corruptions_and_severities(run, images, alone) -> None:
    picture = images / "one.jpg"
    words = ("--corruption", "MB,JPEG", "--severity", "1,3", "--out", "p.svg")
    assert run(*CASES, picture, *words).code == 0
    shown = texts(alone / "p.svg")
    assert shown == ["Severity 1", "Severity 3", "Motion blur", "JPEG artifacts"]
    assert pictures(alone / "p.svg") == 4


def test_one_severity_names_each_corruption_below(run, images, alone) -> None:
    words = ("--corruption", "OS", "--severity", "2", "--out", "p.svg", "--quiet")
    done = run(*CASES, images / "two.jpg", *words)
    assert (done.code, done.out, done.err) == (0, "", "")
    shown = texts(alone / "p.svg")
    assert shown == ["Motion blur", "Defocus blur", "Gaussian blur", "Glass blur"]


def test_a_grey_picture(run, images, alone) -> None:
    Image.fromarray(np.full((60, 80), 99, np.uint8)).save(images / "grey.png")
    words = ("--corruption", "JPEG", "--severity", "1", "--out", "p.png")
    assert run(*CASES, images / "grey.png", *words).code == 0
    with Image.open(alone / "p.png") as image:
        red, green, blue, *_ = image.convert("RGB").getpixel((400, 300))
    assert abs(red - green) < 3
    assert abs(green - blue) < 3


# Bad input.


def test_wrong_options_of_models(refuse, models) -> None:
    first, words = models["first"], (*models["words"], "--out")
    for many, more, message in (
        (2, ["o"], "2 models: at most 1 for a folder or a page of cases; give fewer"),
        (7, ["p.png"], "7 models: at most 6"),
        (1, ["p.png", "--outcomes", "--threshold", "nan"], "--threshold nan: give a number"),
    ):
        assert message in refuse(*CASES, *[first] * many, *words, *more)


def test_models_on_other_images(refuse, models, save, found) -> None:
    found[1]["filename"] = "three.jpg"
    words = (*models["words"], "--out", "p.png", "--force")
    assert "other: has other images than first" in refuse(
        *CASES, models["first"], save("other.pkl", found), *words
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("one.jpg", "--corruption", "fog"), "unknown corruption 'fog'"),
        (("one.jpg", "--severity", "6"), "--severity 6"),
        (("none.png",), "none.png"),
        (("bad.png",), "bad.png: is neither JPEG nor PNG"),
    ],
)
def test_wrong_options_of_corruptions(refuse, images, words, message) -> None:
    (images / "bad.png").write_bytes(b"no picture")
    picture, *more = words
    assert message in refuse(*CASES, images / picture, *more, "--out", "p.png")


def test_pictures_without_captions(run, models, alone) -> None:
    words = ("--error", "object_box", "--out")
    both = (*CASES, models["first"], *models["words"])
    assert run(*both, *words, "with").code == run(*both, "--no-captions", *words, "without").code
    tall = []
    for folder in ("with", "without"):
        (path,) = (alone / folder).glob("*.png")
        with Image.open(path) as image:
            tall.append(image.height)
    assert tall[0] > tall[1]


# Real pictures.


@pytest.fixture
def street(shared: Path, alone: Path, save) -> tuple[Any, ...]:
    """A few real pictures with boxes and triplets, and a detector that shifts object boxes."""
    folder = shared / "data" / "hoi_w"
    if not folder.is_dir():
        pytest.skip("the pictures of ../shared/data/hoi_w are not on this machine")
    there = {path.name for path in (folder / "images").iterdir()}
    annotated = [
        one
        for one in json.loads((folder / "example.json").read_text())
        if one["file_name"] in there
    ]
    Path("gt.json").write_text(json.dumps(annotated))
    Path("hoi_w.toml").write_text(
        'name = "hoi-w"\nannotations = "gt.json"\nnumbers = { objects = 1, verbs = 1 }\n'
        'objects = ["person", "cellphone", "cigarette", "drink", "food", "bike", "motorbike", '
        '"horse", "ball", "computer", "document"]\n'
        'verbs = ["smoke", "call", "play (cellphone)", "eat", "drink", "ride", "hold", "kick", '
        '"read", "play (computer)"]\n'
    )
    predicted = []
    for one in annotated:
        boxes = [dict(box) for box in one["annotations"]]
        for box in boxes:
            left, top, right, bottom = box["bbox"]
            shift = 0 if box["category_id"] == "1" else right - left
            box["bbox"] = [left + shift, top, right + shift, bottom]
        scores = [0.9 - n / 10 for n in range(len(one["hoi_annotation"]))]
        hois = [
            hoi | {"score": score, "action_score": score}
            for hoi, score in zip(one["hoi_annotation"], scores, strict=True)
        ]
        predicted.append(
            {"filename": one["file_name"], "predictions": boxes, "hoi_prediction": hois}
        )
    words = ("--dataset", "hoi_w.toml", "--images", folder / "images")
    return (save("preds.pkl", predicted), *words)


@pytest.mark.slow
def test_real_pictures(run, street) -> None:
    done = run(*CASES, *street, "--error", "object_box", "--most", 4, "--out", "out")
    assert done.code == 0
    assert done.out.startswith("out: 4 cases: object_box 4 of ")
    assert done.err == "Note: annotations: gt.json\n"
    index = json.loads(Path("out/index.json").read_text())
    for case in index["cases"]:
        assert case["picture"] == "found"
        with Image.open(Path("out") / case["file"]) as picture:
            assert len(picture.convert("RGB").resize((50, 50)).getcolors(2500)) > 100


@pytest.mark.slow
def test_a_browser_shows_the_page(run, street, alone) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not on this machine")
    assert run(*CASES, *street, "--error", "object_box", "--out", "cases.html").code == 0
    picture = alone / "page.png"
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")
    subprocess.run(
        [
            browser,
            *flags,
            "--disable-background-networking",
            f"--user-data-dir={alone / 'profile'}",
            "--window-size=800,900",
            f"--screenshot={picture}",
            (alone / "cases.html").as_uri(),
        ],
        check=True,
        capture_output=True,
        timeout=900,
    )
    with Image.open(picture) as shown:
        assert len(shown.convert("RGB").resize((80, 90)).getcolors(7200)) > 300
