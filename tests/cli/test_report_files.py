"""``diaghoi report --out``: which files are written, and what stands on stdout instead."""

from __future__ import annotations

import csv
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest
from PIL import Image
from support.commands import Outcome

import diaghoi
from diaghoi.report import pages
from diaghoi.report.comparison import to_text
from diaghoi.report.latex import to_latex
from diaghoi.report.markdown import to_markdown
from diaghoi.report.spreadsheet import to_csv

pytest.importorskip("jinja2", reason="jinja2 (the extra html) is not installed")
FOLDER = (".json", ".txt", ".html", ".pdf", ".svg", ".png", ".csv", ".md", ".tex")
ROWS = ("_classes.csv", "_images.csv", "_classes.json", "_images.json")


@pytest.fixture
def report(run, data) -> Callable[..., Outcome]:
    def command(*words: object) -> Outcome:
        return run("report", data.predictions, "--annotations", data.annotations, *words)

    return command


def outs(*names: str) -> list[str]:
    return [word for name in names for word in ("--out", name)]


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_the_end_of_a_name_says_what_is_written(report, alone: Path) -> None:
    names = [*(f"r{kind}" for kind in FOLDER if kind != ".html"), "My_Classes.CSV", "images.json"]
    done = report(*outs(*names), "--also", "attribution", "--out", "x_attribution.pdf")
    assert done.code == 0
    assert done.err.splitlines()[-1] == f"Wrote {', '.join([*names, 'x_attribution.pdf'])}"
    assert {path.name for path in alone.iterdir()} == {*names, "x_attribution.pdf"}
    result = json.loads(Path("r.json").read_text())
    compared = diaghoi.compare(result)
    assert Path("r.md").read_text() == to_markdown(compared)
    assert Path("r.tex").read_text() == to_latex(compared)
    assert Path("r.csv").read_bytes().decode() == to_csv(compared)
    assert to_text(compared) != Path("r.txt").read_text()  # the report, not the tables of papers
    for name, start in (("r.pdf", b"%PDF"), ("r.png", b"\x89PNG"), ("x_attribution.pdf", b"%PDF")):
        assert Path(name).read_bytes().startswith(start)
    errors = [row["action"] for row in rows_of(Path("My_Classes.CSV").read_text())]
    images = json.loads(Path("images.json").read_text())
    assert sum(map(int, errors)) == sum(row["action"] for row in images)
    assert sum(map(int, errors)) == result["errors"]["action"]


@pytest.mark.slow
def test_a_folder_gets_all_files(report, alone: Path) -> None:
    done = report("--out", "deep/er", "--label", "my model", "--detail")
    folder = alone / "deep" / "er"
    names = {path.name.removeprefix("my model"): path for path in folder.iterdir()}
    assert set(names) == {*FOLDER, *ROWS}
    text = names[".txt"].read_text(encoding="utf-8")
    shown = "".join(f"{line.rstrip()}\n" for line in (done.out + done.err).splitlines())
    # Only the notes, which a terminal gets apart, are wrapped in the file.
    assert text.split("Note: ")[0] == shown.split("Note: ")[0]
    assert text.count("Note: ") == 1
    assert max(map(len, text.splitlines())) <= 80
    assert json.loads(names[".json"].read_text())["label"] == "my model"
    assert "Duplicate" in names[".html"].read_text(encoding="utf-8")


def test_a_folder_gets_no_page_where_jinja2_is_missing(report, alone: Path, monkeypatch) -> None:
    def missing() -> None:
        raise diaghoi.InputError("pages need jinja2; install diaghoi[html]")

    monkeypatch.setattr(pages, "check_installed", missing)
    assert report("--out", "all", "-q").code == 0
    names = {path.name.removeprefix("preds") for path in (alone / "all").iterdir()}
    assert names == {*FOLDER, *ROWS} - {".html"}
    done = report("--out", "page.html")
    assert (done.code, done.out) == (2, "")
    assert "pages need jinja2" in done.err


def test_text_that_is_printed_is_that_of_the_file(report) -> None:
    for kind in (".json", ".csv", ".md", ".tex", ".txt", "classes.csv", "images.json"):
        done = report("--out", f"-{kind}", "--out", f"r{kind}")
        assert done.code == 0
        assert done.out == Path(f"r{kind}").read_bytes().decode()
    assert report("--out", "-.JSON").out == report("--json", "-").out
    assert report("--out", "-.csv", "-q").out.startswith("topic,")


def test_quiet_prints_nothing(report, alone: Path) -> None:
    done = report("--quiet", "--json", "r.json", *outs("f.png", "c_classes.csv"))
    assert (done.code, done.out, done.err) == (0, "", "")
    assert {path.name for path in alone.iterdir()} == {"r.json", "f.png", "c_classes.csv"}


def test_an_older_output_is_replaced(report, alone: Path) -> None:
    (alone / "r.json").write_text("old")
    assert report("-q", "--json", "r.json").code == 0
    assert json.loads((alone / "r.json").read_text())["label"] == "preds"
    assert [path.name for path in alone.iterdir()] == ["r.json"]


def test_a_label_with_a_folder_names_no_files_in_a_folder(report, alone: Path) -> None:
    words = ("-q", "--label", "../../[bold]x")
    assert "so it must be a name without '/'" in report(*words, "--out", "o").err
    assert list(alone.iterdir()) == []
    assert report(*words, "--json", "r.json", "--out", "f.svg").code == 0
    svg = (alone / "f.svg").read_text()
    assert "../../[bold]x</text>" in svg
    assert (
        "[bold]x on HICO-DET, protocol hico-det-520 (classes: no_interaction left out | AP" in svg
    )


def test_labels_that_make_odd_names(report, alone: Path) -> None:
    words = ("--label", "[bold]x $a$ 模", *outs("f.pdf"))
    assert (
        "Note: the font lacks some letters of the names; the figure shows placeholders for these "
        "letters" in report(*words).err
    )
    assert report(*words, "-q").err == ""


def test_files_are_written_before_anything_is_printed(report, alone: Path, monkeypatch) -> None:
    """So that a closed pipe, as in `| head`, does not lose them."""

    def closed(*_: Any, **__: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("diaghoi.report.text.print_screen", closed)
    report("--json", "r.json", *outs("f.pdf", "r.tex"))
    assert {path.name for path in alone.iterdir()} == {"r.json", "f.pdf", "r.tex"}


def test_a_figure_without_numbers_is_left_out(run, alone: Path) -> None:
    boxes = [
        {"bbox": [0, 0, 9, 9], "category_id": 0},
        {"bbox": [10, 0, 19, 9], "category_id": 1},
    ]
    hold = {"subject_id": 0, "object_id": 1, "category_id": 57}  # no class of this object
    truth, found = alone / "gt.json", alone / "preds.json"
    annotated = {"file_name": "a.jpg", "annotations": boxes, "hoi_annotation": [hold]}
    truth.write_text(json.dumps([annotated]))
    scored = {"file_name": "a.jpg", "predictions": boxes, "hoi_prediction": [hold | {"score": 0.5}]}
    found.write_text(json.dumps([scored]))
    done = run("report", found, "--annotations", truth, "--force", "--out", "f.pdf")
    assert "f.pdf: not drawn: the results have no numbers for this figure" in done.err
    assert "Wrote" not in done.err
    assert not (alone / "f.pdf").exists()


def test_a_figure_can_be_as_wide_as_one_column(report, alone: Path) -> None:
    assert report("--column", "single", "--out", "f.svg").code == 0
    assert f'width="{3.25 * 72:g}pt"' in (alone / "f.svg").read_text(encoding="utf-8")


def test_tables_of_classes_and_images_are_sorted(report, alone: Path) -> None:
    report("--out", "before_images.json")
    done = report(*outs("classes.csv", "images.json"), "--sort", "-ap")
    found = [float(row["ap"]) for row in rows_of(Path("classes.csv").read_text()) if row["ap"]]
    assert found == sorted(found)
    assert done.code == 0
    # It has no such column.
    assert Path("images.json").read_bytes() == Path("before_images.json").read_bytes()
    report("--out", "classes.json", "--sort", "action")
    counts = [row["action"] for row in json.loads(Path("classes.json").read_text())]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.slow
def test_a_page_with_pictures(report) -> None:
    Path("images").mkdir()
    Image.new("RGB", (640, 480), (90, 120, 150)).save("images/demo_000001.jpg")
    notes = report("--out", "page.html", "--images", "images").err
    page = Path("page.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    assert '["data:image/jpeg;base64,' in page or ', "data:image/jpeg;base64,' in page
    assert "Note: 11 of 12 pictures are not in images; their boxes are drawn in empty" in notes


@pytest.mark.slow
def test_open_shows_the_page_of_one_model(data, alone: Path) -> None:
    words = ["report", data.predictions, "--annotations", data.annotations, "--open", "--json", "r"]
    with subprocess.Popen(
        [sys.executable, "-m", "diaghoi", *map(str, words), "--label", "mine"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as program:
        assert program.stdout is not None
        *shown, address = until(program.stdout)
        with urllib.request.urlopen(address, timeout=60) as answer:
            page = answer.read().decode()
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=60)
    assert (program.returncode, out) == (0, "")
    assert "Open this address in a browser on this machine; Ctrl-C stops the server." in err
    assert "If repaired alone" in "".join(shown)
    assert "mine" in page
    assert "Duplicate" in page
    assert json.loads(Path("r").read_text())["label"] == "mine"


def until(lines: IO[str]) -> list[str]:
    found = [lines.readline()]
    while found[-1] and not found[-1].startswith("http://127.0.0.1:"):
        found.append(lines.readline())
    return found


def test_a_port_that_is_taken_is_refused_before_the_work(report) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = report("--open", "--port", port)
    assert (done.code, done.out) == (2, "")
    assert f"--port {port}: cannot be used (Address already in use); give another" in done.err


REFUSED = {
    "table of another kind": (outs("classes.txt", "classes.xml"), "unknown suffix .xml"),
    "a page on stdout": (outs("-.html"), "--out -.html: cannot be printed; give the name of a"),
    "a figure on stdout": (outs("-.pdf"), "--out -.pdf: cannot be printed; give the name of a"),
    "stdout of no kind": (
        outs("-"),
        "--out -: cannot be printed; give the name of a file, or one of -.json, -.txt, -.csv, ",
    ),
    "two texts on stdout": (outs("-.md", "-.csv"), "-: would be written twice; give two names"),
    "JSON and a text on stdout": (("--json", "-", *outs("-.csv")), "-: would be written twice"),
    "twice the same": (outs("a.csv", "a.csv"), "a.csv: would be written twice; give two names"),
    "twice by two ways": (outs("a.csv", "new/../a.csv"), "new/../a.csv: would be written twice"),
    "one name in two options": (("--json", "a.json", *outs("a.json")), "would be written twice"),
    "no folder": (outs("no/a.csv"), "no/a.csv: cannot be written: the folder no does not exist"),
    "a file as folder": (outs("taken"), "taken: cannot be the output folder: taken is a file"),
    "a file within a file": (outs("taken/a.csv"), "taken is a file, not a folder"),
    "a folder as file": (("--json", "folder"), "folder: cannot be written: it is a folder"),
    "a name of dots": (("--label", "..", *outs("o")), "--label '..': names the files in --out"),
    "sorting nothing": (
        ("--sort", "ap"),
        "--sort: applies to classes.csv and images.csv; add --out",
    ),
    "pictures without a page": (
        ("--images", "."),
        "--images: applies to pages, which draw cases on pict",
    ),
    "no folder of pictures": (
        ("--images", "no", *outs("p.html")),
        "no: no such folder; give the",
    ),
    "port": (("--port", "80"), "--port: applies to --open; add --open, or leave out --port"),
    "width": (("--column", "singel"), "(did you mean 'single'?); give one of single, double"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_written_is_refused_before_the_work(refuse, data, name: str) -> None:
    Path("taken").write_text("kept")
    Path("folder").mkdir()
    words, message = REFUSED[name]
    given = (data.predictions, "--annotations", data.annotations)
    assert message in refuse("report", *given, *words, "--out", "fine.csv")


def test_inputs_are_not_overwritten(report, data, alone: Path) -> None:
    for link in ("linked.csv", "linked.json"):
        Path(link).symlink_to(data.predictions)
    before = data.predictions.read_bytes()
    for words in (outs("linked.csv"), ("--json", "linked.json")):
        assert "would overwrite an input file" in report(*words).err
    assert data.predictions.read_bytes() == before


def test_a_file_that_fails_leaves_no_half(report, alone: Path, monkeypatch) -> None:
    """The second one cannot be made: the first is whole, and nothing of the others is there."""

    def full(*_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("diaghoi.report.markdown.to_markdown", full)
    done = report("--json", "r.json", *outs("new", "r.md", "r.tex"))
    assert (done.code, done.out) == (2, "")
    assert "No space left on device" in done.err
    json.loads(Path("r.json").read_text())
    assert "r.tex" not in {path.name for path in alone.iterdir()}
    assert not list(alone.rglob("*.tmp*"))
