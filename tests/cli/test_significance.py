"""``diaghoi compare --significance``: tests of models against the first, in every output."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.results import example
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, WASH, image, scenes

from diaghoi.comparison.comparison import DIFFERS
from diaghoi.formats import write

FAST = ("--significance", "--resamples", "200")
MORE = ("--significance", "--resamples", "700")


@pytest.fixture(scope="module")
def detectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write annotations, a detector with few wrong actions, one with many, and the first again."""
    folder = tmp_path_factory.mktemp("detectors")
    boxes = [(PERSON, (0, 0, 19, 19)), (BICYCLE, (30, 30, 49, 49))]
    verbs = [(RIDE, HOLD)[number % 2] for number in range(24)]

    def images(wrong: set[int]) -> list[dict[str, Any]]:
        said = [WASH if number in wrong else verb for number, verb in enumerate(verbs)]
        scores = [0.9 - number / 100 for number in range(24)]
        triplets = [(0, 1, verb, score) for verb, score in zip(said, scores, strict=True)]
        return [image(f"{n}.jpg", boxes, [triplet]) for n, triplet in enumerate(triplets)]

    write(folder / "gt.npz", scenes(images(set()), scored=False))
    for name, wrong in (
        ("one", {3, 8}),
        ("same", {3, 8}),
        ("few", {3}),
        ("right", set()),
        ("half", {number for number in range(24) if number % 4 < 2}),
        ("two", {*range(24)} - {5}),
    ):
        write(folder / f"{name}.npz", scenes(images(wrong), scored=True))
    return folder


@pytest.fixture
def compare(run, detectors: Path):
    def command(*words: object, models: tuple[str, ...] = ("one", "two")):
        files = [detectors / f"{name}.npz" for name in models]
        return run("compare", *files, "--annotations", detectors / "gt.npz", *words)

    return command


def test_differences_stand_in_json_and_text(compare, alone: Path) -> None:
    done = compare(*FAST, "--json", "x.json", "--detail")
    assert done.code == 0, done.err
    found = json.loads(Path("x.json").read_text())
    assert [each["path"] for each in found["differences"]][:1] == ["map.full"]
    assert len(found["differences"]) == 10
    mean = found["tables"]["map"]["models"]
    first = found["differences"][0]
    assert first["difference"] == pytest.approx(mean["two"]["map.full"] - mean["one"]["map.full"])
    told = [each for each in found["differences"] if each["p_holm"] < 0.05]
    assert told
    for each in found["differences"]:
        assert " ".join(each["sentence"].split()) in " ".join(done.out.split())
    assert f"{DIFFERS}: differs from one (p < 0.05, corrected for 10 comparisons)." in " ".join(
        done.out.split()
    )
    assert DIFFERS in done.out.split("\nΔmAP, percentage points\n")[1]


def test_nothing_is_best_that_the_tests_do_not_tell_from_all_others(compare) -> None:
    stars = re.compile(r"\d\*")
    assert stars.search(compare(models=("one", "few")).out)
    done = compare(*FAST, "--json", "x.json", models=("one", "few"))
    # The first has one wrong action more, and a mean that is no different by the test.
    found = json.loads(Path("x.json").read_text())
    means = found["tables"]["map"]["models"]
    assert means["one"]["map.full"] < means["few"]["map.full"]
    assert found["differences"][0]["p_holm"] > 0.05
    assert not stars.search(done.out)
    assert {*map(tuple, found["tables"]["map"]["best"].values())} == {()}
    outs = ("--out", "x.md", "--out", "x.tex", "--quiet")
    for layout in ((), ("--table", "compact")):
        for tested in ((), FAST):
            compare(*tested, *outs, *layout, models=("one", "few"))
            text = Path("x.md").read_text(), Path("x.tex").read_text()
            marked = ("**" in text[0], "Bold" in text[0], r"\textbf" in text[1])
            assert marked == (not tested,) * 3


def test_the_best_that_tests_tell_from_all_others_keeps_its_mark(compare) -> None:
    told = "Bold: best of its column, confirmed against all others by the tests."
    done = compare(*FAST, "--out", "-.md", "--json", "x.json")
    tables = json.loads(Path("x.json").read_text())["tables"]
    assert tables["map"]["best"]["map.full"] == ["one"]
    assert tables["map"]["best"]["map.rare"] == []  # not tested
    assert told in done.out
    # The third is better than the first by chance: no test says which is the best.
    compare(*MORE, "--json", "x.json", models=("one", "two", "few"))
    tables = json.loads(Path("x.json").read_text())["tables"]
    assert tables["map"]["best"]["map.full"] == []
    # Both are told from the first, and lie on either side of it.
    compare(*MORE, "--json", "x.json", models=("half", "right", "two"))
    found = json.loads(Path("x.json").read_text())
    assert found["tables"]["map"]["best"]["map.full"] == ["right"]


@pytest.mark.slow
def test_latex_with_marks_compiles(compare, tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed")
    words = ("--significance", "--resamples", "200", "--out", "-.tex")
    assert compare(*words, "--out", tmp_path / "tables.tex").code == 0
    assert r"\dag{}" in (tmp_path / "tables.tex").read_text()
    (tmp_path / "x.tex").write_text(
        "\\documentclass[twocolumn]{article}\\usepackage{booktabs}\\begin{document}"
        "\\input{tables}\\end{document}"
    )
    subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "x.tex"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )


def test_too_few_exchanges_are_told_and_enough_are_marked_in_latex(compare) -> None:
    # The smallest p is 1 / (1 + resamples), and 10 times as large when it is corrected.
    words = (
        "are too few to distinguish models: after correction for 10 comparisons, no p-value can be "
        "below"
    )
    however = "0.05, however large the difference; give --resamples 200 or more"
    few = compare("--significance", "--resamples", "199", "--detail")
    assert f"Note: 199 exchanges {words} {however}" in few.err
    assert DIFFERS not in few.out
    enough = compare("--significance", "--resamples", "200", "--out", "-.tex")
    assert "exchanges" not in enough.err
    assert r"\dag{}" in enough.out
    none = compare("--significance", "--resamples", "1", "--out", "x.txt")
    assert none.code == 2
    assert none.err == "diaghoi: error: --resamples 1: give at least two resamples, usually 1000\n"


def test_each_model_is_tested_against_the_first(compare) -> None:
    words = ("--significance", "--resamples", "32", "--json", "x.json")
    done = compare(*words, models=("one", "two", "same"))
    found = json.loads(Path("x.json").read_text())["differences"]
    assert [each["labels"] for each in found] == [["one", "two"]] * 10 + [["one", "same"]] * 10
    # All together are corrected for their number.
    assert max(each["p_holm"] for each in found) == 1
    # Equal models are not told apart.
    assert {each["difference"] for each in found[10:]} == {0}
    assert {each["p_holm"] for each in found[10:]} == {1}
    assert "mAP: no significant difference: same minus one +0.0" in done.out
    assert DIFFERS not in done.out


@pytest.mark.slow
def test_the_same_seed_gives_the_same_digits(compare) -> None:
    words = ("--significance", "--resamples", "10", "--json", "-", "--seed")
    first, again, other = (compare(*words, seed).out for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_without_it_nothing_is_tested(compare) -> None:
    assert json.loads(compare("--json", "-").out)["differences"] == []


def test_saved_results_and_single_models_cannot_be_tested(refuse, compare, alone: Path) -> None:
    for name in "ab":
        (alone / f"{name}.json").write_text(json.dumps(example(name)))
    assert "a.json: is a saved result, but --significance tests" in refuse(
        "compare", "a.json", "b.json", "--significance"
    )
    done = compare("--significance", models=("one",))
    assert done.code == 2
    assert "--significance: compares models, and only one is given" in done.err
