"""``diaghoi figures``."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from diaghoi import simulate
from diaghoi.cli.figures import FORMATS
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.formats import read_annotations, write
from diaghoi.plots import FIGURES
from diaghoi.report.json import write_json

CAPTIONS = {"captions.md", "captions.tex"}
QUICK = "delta_map,error_shares"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Annotations, predictions of two detectors and the results of one of them."""
    folder = tmp_path_factory.mktemp("files")
    truth = simulate.annotations(15, np.random.default_rng(0))
    write(folder / "truth.npz", truth)
    for name, detector in (("one", simulate.ONE_STAGE), ("two", simulate.TWO_STAGE)):
        found = simulate.detect(truth, detector, np.random.default_rng(1))
        write(folder / f"{name}.npz", found)
    diagnosis = diagnose(truth, found)
    write_json(folder / "two.json", diagnosis.to_dict() | {"notes": []})
    diagnosis.save(folder / "two_saved.npz")
    return folder


@pytest.fixture
def study(files: Path, alone: Path) -> Callable[..., Path]:
    def describe(*models: str, annotations: bool = True, **labels: str) -> Path:
        lines = [f'annotations = "{files / "truth.npz"}"'] if annotations else []
        for number, model in enumerate(models):
            label = labels.get(f"label{number}", f"m{number}")
            lines += ["[[model]]", f'file = "{files / model}"', f'label = "{label}"']
        path = alone / "study.toml"
        path.write_text("\n".join(lines))
        return path

    return describe


def test_the_figures_are_listed(run) -> None:
    assert "--column" in run("figures", "--help").out
    done = run("figures", "--only", "help")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines] == list(FIGURES)
    default = [line.split()[0] for line in lines if line.endswith("(default)")]
    assert default == [name for name, kind in FIGURES.items() if kind.usual]
    assert next(line for line in lines if line.startswith("waterfall")).split(None, 1)[1] == (
        FIGURES["waterfall"].title
    )


@pytest.mark.slow
def test_all_figures_of_a_study(run, study, alone) -> None:
    words = ("--out", "pictures", "--format", "svg")
    done = run("figures", study("one.npz", "two.npz"), "--all", *words)
    assert done.code == 0
    written = {path.name for path in (alone / "pictures").iterdir()} - CAPTIONS
    # Slices of so few images have no intervals.
    skipped = {"delta_map_backbone", "slices"}
    assert written == {f"{name}.svg" for name in FIGURES if name not in skipped}
    shown = [line.split(": ")[0] for line in done.out.splitlines()]
    assert shown == [f"pictures/{name}.svg" for name in FIGURES if name not in skipped]
    assert "Note: delta_map_backbone: not drawn: the figure shows models of one name" in done.err


def test_formats_and_column(run, study, alone) -> None:
    done = run(
        *("figures", study("two.json"), "--out", "x", "--only", "delta_map"),
        *("--column", "single", "--format", "pdf, svg,png"),
    )
    assert done.code == 0
    title = FIGURES["delta_map"].title
    assert done.out == f"x/delta_map.pdf, .svg, .png: {title}\n"
    assert done.err == ""
    caption = (alone / "x" / "captions.md").read_text()
    assert caption.startswith(f"**delta_map.** {title}. m0 on HICO-DET, protocol hico-det-520 (")
    assert "Classes that a repair leaves without annotated triplets drop out" in caption
    latex = (alone / "x" / "captions.tex").read_text()
    assert latex.startswith("\\begin{figure}\n")
    assert "hico-det-520 (classes: no\\_interaction left out $|$" in latex
    svg = (alone / "x" / "delta_map.svg").read_text()
    assert f'width="{3.25 * 72:g}pt"' in svg
    # The caption is in the file, too.
    assert "m0 on HICO-DET, protocol hico-det-520 (classes: no_interaction left out" in svg
    assert len(list((alone / "x").iterdir())) == len(FORMATS) + len(CAPTIONS)


def test_captions_of_figures_that_were_drawn_before_are_kept(run, study, alone) -> None:
    draw = partial(run, "figures", study("one.npz"), "--out", "x", "--format", "svg", "--only")
    draw("delta_map", "--column", "single")
    texts = {name: (alone / "x" / name).read_text() for name in CAPTIONS}
    draw("waterfall")
    both = {name: (alone / "x" / name).read_text() for name in CAPTIONS}
    for name, text in texts.items():
        assert both[name].startswith(f"{text.rstrip()}\n\n")
        assert "waterfall" in both[name].removeprefix(text)
    draw("waterfall")
    assert both == {name: (alone / "x" / name).read_text() for name in CAPTIONS}
    (alone / "x" / "delta_map.svg").unlink()
    draw("error_shares")
    for name in CAPTIONS:
        text = (alone / "x" / name).read_text()
        assert "delta_map" not in text
        assert text.index("waterfall") < text.index("error_shares")


@pytest.mark.parametrize("column", ["single", "double"])
def test_the_sheet_has_a_page_of_its_own(run, refuse, study, alone, column) -> None:
    words = ("figures", study("two.json"), "--out", "x", "--only", "sheet", "--format", "svg")
    assert run(*words, "--column", column).code == 0
    svg = (alone / "x" / "sheet.svg").read_text()
    assert f'width="{8.27 * 72:g}pt" height="{11.69 * 72:g}pt"' in svg
    assert "height=0.8\\textheight" in (alone / "x" / "captions.tex").read_text()
    assert "nowhere: no such folder" in refuse(*words, "--images", "nowhere")


@pytest.mark.slow
def test_many_models_have_no_sheet(run, refuse, study, alone) -> None:
    three = study("two.json", "two.json", "two.json")
    done = run("figures", three, "--out", "x")
    assert done.code == 0
    assert "sheet" not in done.out + done.err
    message = refuse("figures", three, "--out", "x", "--images", ".")
    assert "--images: only the figure 'sheet' shows pictures, and the sheet is not drawn" in message


@pytest.mark.slow
def test_saved_results_serve_the_figures_that_they_can(run, study, alone) -> None:
    done = run("figures", study("one.npz", "two.json"), "--out", "x", "--only", QUICK)
    assert done.code == 0
    assert len(done.out.splitlines()) == 2
    assert (
        "Note: error_shares: without m1: a saved result is not enough for this figure; " in done.err
    )


def test_saved_diagnoses_are_drawn_without_annotations(run, study, alone) -> None:
    saved = study("two_saved.npz", annotations=False)
    words = ("--out", "x", "--only", f"{QUICK},pair_recall,oracle_curve", "--class", "ride bicycle")
    done = run("figures", saved, *words, "--format", "svg")
    assert done.code == 0
    assert done.err == ""
    assert len(list((alone / "x").iterdir())) == 4 + len(CAPTIONS)
    assert "ride bicycle" in (alone / "x" / "oracle_curve.svg").read_text()
    assert "m0 on HICO-DET" in (alone / "x" / "delta_map.svg").read_text()


def test_figures_that_do_not_apply_are_noted(run, study, alone) -> None:
    done = run("figures", study("two.json", annotations=False), "--out", "x", "--only", QUICK)
    assert done.code == 0
    assert {path.name for path in (alone / "x").iterdir()} == {"delta_map.pdf"} | CAPTIONS
    assert "Note: error_shares: not drawn: a saved result is not enough" in done.err


def test_no_figure_at_all(refuse, study, alone) -> None:
    assert "study.toml: no figure could be drawn: error_shares: not drawn: a saved" in refuse(
        "figures", study("two.json"), "--out", "x", "--only", "error_shares", "-q"
    )
    assert not (alone / "x").exists()


@pytest.mark.slow
def test_quiet_figures_are_repeatable(run, study, alone) -> None:
    for out in ("x", "y"):
        done = run("figures", study("two.json"), "--out", out, "--only", QUICK, "--quiet")
        assert (done.code, done.out, done.err) == (0, "", "")
    first, second = ((alone / out / "delta_map.pdf").read_bytes() for out in ("x", "y"))
    assert first == second


@pytest.mark.slow
def test_processes_draw_the_same_files_and_say_the_same(run, study, alone) -> None:
    words = ("--class", "ride bicycle", "--only", f"{QUICK},oracle_curve,delta_map_backbone")
    described = study("one.npz", "two.npz", "two.json", annotations=True)
    said = {}
    for number in (1, 2):
        done = run("figures", described, "--out", f"by{number}", "--workers", number, *words)
        assert done.code == 0
        said[number] = (done.out + done.err).replace(f"by{number}", "by")
    assert said[1] == said[2]
    assert "oracle_curve: without m2" in said[2]
    for path in (alone / "by1").iterdir():
        assert (alone / "by2" / path.name).read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_processes_name_the_file_that_cannot_be_read(refuse, study, alone, files) -> None:
    bad = alone / "bad.npz"
    bad.write_bytes((files / "two.npz").read_bytes()[:-300])
    assert f"{bad}: " in refuse("figures", study("one.npz", str(bad)), "--out", "x", "--workers", 2)
    assert not (alone / "x").exists()


def test_one_class(refuse, run, study, files, alone) -> None:
    truth = read_annotations(files / "truth.npz")
    frequent = truth.vocabulary.class_name(int(np.bincount(truth.triplet_class).argmax()))
    words = ("figures", study("one.npz"), "--out", "x", "--only", "oracle_curve")
    assert run(*words, "--format", "svg", "--class", frequent).code == 0
    assert frequent in (alone / "x" / "oracle_curve.svg").read_text()
    assert run(*words, "--class", frequent.replace(" ", "-")).code == 0
    assert "class: unknown class 'ride bicicle' (did you mean 'ride bicycle'" in refuse(
        *words, "--class", "ride bicicle"
    )


@pytest.mark.slow
def test_letters_that_the_font_lacks(run, study, alone) -> None:
    done = run("figures", study("two.json", label0="模型"), "--out", "x", "--only", "delta_map")
    assert done.code == 0
    assert "Note: delta_map: the font lacks some letters of the names; the figure" in done.err


def test_annotations_are_found_as_for_a_report(run, study, files, alone, monkeypatch) -> None:
    monkeypatch.setenv("DIAGHOI_DATA", str(files / "truth.npz"))
    path = study("one.npz", annotations=False)
    done = run("figures", path, "--out", "x", "--only", "error_shares")
    assert done.code == 0
    assert f"Note: annotations: {files / 'truth.npz'}, from DIAGHOI_DATA" in done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "delta_mapp"], "--only 'delta_mapp': not known (did you mean 'delta_map'"),
        (["--only", ""], "--only '': not known; give some of delta_map, "),
        (["--format", "pdf,gif"], "--format 'gif': not known"),
        (["--column", "tripple"], "--column 'tripple': not known; give one of single, double"),
        (["--column", "single,double"], "--column 'single,double': not known (did you mean"),
    ],
)
def test_bad_options(refuse, study, alone, options, message) -> None:
    assert message in refuse("figures", study("two.json"), "--out", "x", *options)
    assert not (alone / "x").exists()


def test_out_must_be_a_folder(refuse, study, alone) -> None:
    (alone / "x").write_text("")
    assert "x: cannot be the output folder: x is a file" in refuse(
        "figures", study("two.json"), "--out", "x"
    )


def test_a_figure_never_overwrites_what_is_read(refuse, files, alone) -> None:
    saved = alone / "delta_map.pdf"
    saved.write_bytes((files / "two.json").read_bytes())
    (alone / "study.toml").write_text('[[model]]\nfile = "delta_map.pdf"\nlabel = "a"')
    assert "delta_map.pdf: would overwrite an input file" in refuse(
        "figures", "study.toml", "--out", ".", "--only", "delta_map"
    )
    assert json.loads(saved.read_text())["dataset"] == "hico-det"


def test_a_study_that_is_not_there(refuse, alone) -> None:
    assert "absent.toml" in refuse("figures", "absent.toml", "--out", "x")


# Several data sets.


@pytest.mark.slow
def test_costs_on_several_data_sets_are_drawn_together(run, study, files, alone) -> None:
    first = study("one.npz", "two.npz")
    other = first.read_text().replace("[[model]]", 'protocol = "cdn"\n[[model]]', 1)
    (alone / "other.toml").write_text(other)
    (alone / "both.toml").write_text('studies = ["study.toml", "other.toml"]')
    done = run("figures", "both.toml", "--all", "--out", "out", "--format", "svg")
    assert done.code == 0
    assert {path.name for path in (alone / "out").iterdir()} - CAPTIONS == {
        "delta_map.svg",
        "delta_map_rare.svg",
    }
    text = (alone / "out" / "delta_map.svg").read_text(encoding="utf-8")
    assert "HICO-DET (cdn)" in text
    assert "pair_recall" in done.err
    assert "not drawn: show one data set at a time" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--only", "waterfall"), "waterfall: show one data set at a time"),
        (("--class", "ride bicycle"), "--class: both.toml lists studies on several data sets"),
    ],
)
def test_what_shows_one_data_set_is_refused(run, study, alone, words, message) -> None:
    study("one.npz")
    (alone / "other.toml").write_text((alone / "study.toml").read_text())
    (alone / "both.toml").write_text('studies = ["study.toml", "other.toml"]')
    done = run("figures", "both.toml", "--out", "out", *words)
    assert (done.code, message in done.err, (alone / "out").exists()) == (2, True, False)
