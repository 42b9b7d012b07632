"""``diaghoi choice``: scoring answers and detectors, and setting them side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, image, scenes

from diaghoi.formats import write

Run = Callable[..., Any]
DIAGNOSED = ("--also", "selection,distractors,positions")
OPTIONS = ["hold a/an bicycle", "ride a/an bicycle", "wash a/an bicycle", "eat a/an apple"]
QUESTION = {
    "gt_choices": OPTIONS[1:2],
    "wrong_choices": [OPTIONS[0], *OPTIONS[2:]],
    "boxes": {"human": [1, 1, 20, 20]},
}
SETTINGS = {
    "allscene": "crosshoi_bench_allscene_final.json",
    "hum_box": "crosshoi_bench_hum_box_final.json",
    "hum_obj_box": "crosshoi_bench_hum_obj_box_final.json",
}


@pytest.fixture
def asked(alone: Path) -> Path:
    path = alone / "questions.json"
    path.write_text(json.dumps({f"HICO_{number}.jpg": QUESTION for number in range(6)}))
    return path


def replies(path: Path, texts: list[str]) -> Path:
    lines = [
        {"image": f"HICO_{number}.jpg", "question": "QA_0", "options": OPTIONS, "reply": text}
        for number, text in enumerate(texts)
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.fixture
def answers(alone: Path) -> Path:
    """Replies to the six questions: three right, one half right, one wrong, one refusal."""
    texts = ["B", "(B)", "The answer is B.", "A,B", "C", "I'm sorry, I can't."]
    return replies(alone / "model.jsonl", texts)


@pytest.fixture
def predictions(alone: Path) -> Path:
    boxes = [(PERSON, (0, 0, 19, 19)), (BICYCLE, (30, 30, 49, 49))]
    found = [
        image(f"HICO_{number}.jpg", boxes, [(0, 1, RIDE if number else HOLD, 0.9)])
        for number in range(6)
    ]
    write(alone / "det.npz", scenes(found, scored=True))
    return alone / "det.npz"


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_conformance_cases_agree(run: Run, shared: Path, alone: Path, setting: str) -> None:
    cases = shared / "conformance" / "choice"
    questions = shared / "data" / "choice" / "hicodet" / SETTINGS[setting]
    outcome = run("choice", "score", questions, cases / f"{setting}.jsonl", "--json", "out.json")
    assert outcome.code == 0
    result = json.loads((alone / "out.json").read_text())
    expected = json.loads((cases / f"{setting}_expected.json").read_text())
    assert {key: result[key] for key in expected} == pytest.approx(expected, abs=1e-9)


def test_the_figures_are_shown_and_written(run: Run, asked: Path, answers: Path) -> None:
    outcome = run("choice", "score", asked, answers, "--json", "out.json")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "model · HICO-DET · 6 questions on 6 images, 3 classes"
    assert lines[1].startswith(
        "! 6 questions: by chance, numbers can be off by several points; add"
    )
    assert "! model.jsonl: 1 of 6 replies have no readable choice and count" in outcome.out
    for name, value in {"Instance-F1": "61.11", "Exact match": "50.00"}.items():
        assert [line.split()[-1] for line in lines if line.startswith(name)] == [value]
    assert "precision" not in outcome.out
    assert "Single" not in outcome.out
    assert lines[-2:] == [
        "Answers: 5 letters, 1 refusals",
        "more: --detail, --also selection,distractors,positions, 'choice compare'",
    ]
    assert outcome.err == "Wrote out.json\n"
    whole = run("choice", "score", asked, answers, "--detail")
    assert "model on HICO-DET, multiple choice" in whole.out
    assert "6 questions on 6 images, 3 classes; answers: 5 letters, 1 refusals" in whole.out
    assert "precision" in whole.out
    assert "model.jsonl: 1 of 6 replies have no readable choice and count" in whole.err
    result = json.loads(Path("out.json").read_text())
    assert list(result)[:4] == ["diaghoi", "label", "dataset", "how"]
    assert result["instance_f1"] == pytest.approx((3 + 2 / 3) / 6)
    assert result["exact_match"] == 0.5
    assert (result["single"], result["multi"]) == (None, None)
    assert result["unread"] == [
        {
            "image": "HICO_5.jpg",
            "question": "QA_0",
            "reason": "refusal",
            "reply": "I'm sorry, I can't.",
        }
    ]


def test_single_and_multi_have_the_same_keys(run: Run, asked: Path, answers: Path) -> None:
    Path("people.json").write_text(
        json.dumps({f"HICO_{number}.jpg": 1 + number % 2 for number in range(6)})
    )
    outcome = run("choice", "score", asked, answers, "--people", "people.json", "--json", "-")
    result = json.loads(outcome.out)
    assert set(result["single"]) == set(result["multi"]) < set(result)
    assert set(result["single"]) == {
        "questions",
        "images",
        "instance_f1",
        "macro_f1",
        "macro_classes",
        "micro_f1",
        "micro_precision",
        "micro_recall",
        "exact_match",
        "exact_match_published",
    }
    assert (result["single"]["exact_match"], result["multi"]["exact_match"]) == (2 / 3, 1 / 3)
    said = "multi: questions on images with one or several"
    assert said in run("choice", "score", asked, answers, "--people", "people.json").out


def test_the_first_screen_has_24_lines_whatever_there_is_to_say(run, asked, alone) -> None:
    """Single and multi, intervals, questions without answers, replies, and answers to others."""
    people = {f"HICO_{number}.jpg": 1 + number % 2 for number in range(6)}
    (alone / "people.json").write_text(json.dumps(people))
    replied = replies(alone / f"{'long name ' * 9}.jsonl", ["B", "(A", "no idea", ""])
    others = {"image": "x.jpg", "question": "QA_0", "options": OPTIONS, "reply": "A"}
    chosen = {"image": "HICO_5.jpg", "question": "QA_0", "chosen": ["fly a/an kite"]}
    with replied.open("a") as file:
        file.write(f"{json.dumps(others)}\n{json.dumps(chosen)}\n")
    words = ("choice", "score", asked, replied, "--people", "people.json", "--bootstrap", 100)
    lines = run(*words).out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert [line[:2] for line in lines].count("! ") == 4
    assert "! 1 more remark like these: --detail" in lines
    assert lines[-1].startswith("more: --detail")
    assert run(*words, "--detail").err.count("Note: ") == 4


def test_everything_that_can_be_asked_for_is_shown(run: Run, asked: Path, answers: Path) -> None:
    outcome = run(
        *("choice", "score", asked, answers, *DIAGNOSED, "--bootstrap", "100", "--seed", "1"),
        *("--out", "classes.csv", "--out", "bias.pdf", "--json", "out.json"),
    )
    assert outcome.code == 0
    assert "chance moves" not in outcome.out
    for words in ("95 % of resamples", "What is picked", "Wrong options picked most", "Position"):
        assert words in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    result = json.loads(Path("out.json").read_text())
    assert {"intervals", "bootstrap", "selection", "distractors", "positions"} < set(result)
    assert Path("classes.csv").read_text().splitlines()[0] == (
        "class,verb,object,right,picked,hit,f1"
    )
    assert Path("bias.pdf").read_bytes().startswith(b"%PDF")


def test_confusions_that_never_happen_are_not_listed(run: Run, asked: Path, answers: Path) -> None:
    outcome = run("choice", "score", asked, answers, *DIAGNOSED, "--json", "out.json")
    verbs, objects = (
        json.loads(Path("out.json").read_text())["distractors"][f"confused_{part}"]
        for part in ("verbs", "objects")
    )
    assert [row["picked"] for row in verbs + objects] == [1, 1, 0]
    assert "hold → ride" in outcome.out
    assert "apple → bicycle" not in outcome.out
    assert "Confusions of objects" not in outcome.out


def test_the_excess_of_a_position_is_in_points_of_the_shown(run, asked, answers) -> None:
    out = run("choice", "score", asked, answers, "--also", "positions").out
    assert "What is picked" not in out
    head, _, row = out.partition("Position ")[2].splitlines()[:3]
    assert head.split() == ["Shown", "Picked", "Expected", "Excess,", "points", "p,", "corrected"]
    letter, shown, picked, expected, excess, _ = row.split()
    points = 100 * (int(picked) - float(expected)) / int(shown)
    assert (letter, float(excess.replace("−", "-"))) == ("A", pytest.approx(points, abs=1))
    assert "Excess: picked minus expected, in percent of the times shown." in " ".join(out.split())


def test_a_figure_does_not_lengthen_what_is_shown(run: Run, asked: Path, answers: Path) -> None:
    plain = run("choice", "score", asked, answers)
    assert run("choice", "score", asked, answers, "--out", "f.svg").out == plain.out


def test_a_folder_gets_all_files(run: Run, asked: Path, answers: Path, predictions: Path) -> None:
    assert run("choice", "score", asked, answers, "--out", "all").code == 0
    tables = {".json", ".csv", ".md", ".tex", ".txt", "_classes.csv", "_classes.json"}
    figures = {".pdf", ".svg", ".png"}
    assert {path.name for path in Path("all").iterdir()} == {
        f"model{end}" for end in tables | figures
    }
    assert "Exact match" in Path("all/model.txt").read_text()
    assert "choice,hico-det,multiple choice,model," in Path("all/model.csv").read_text()
    run("choice", "detect", asked, predictions, "--out", "detector", "--label", "D")
    assert {path.name for path in Path("detector").iterdir()} == {f"D{end}" for end in tables}
    compared = run("choice", "compare", asked, answers, predictions, "--out", "both")
    assert compared.code == 0
    assert {path.suffix for path in Path("both").iterdir()} == figures | {
        *(".json", ".csv", ".md", ".tex", ".txt")
    }
    printed = run("choice", "score", asked, answers, "--out", "-.csv").out
    assert printed == Path("all/model.csv").read_bytes().decode()


def test_the_analyses_are_listed(run: Run) -> None:
    listed = run("choice", "score", "--also", "help")
    assert listed.code == 0
    names = [line.split()[0] for line in listed.out.splitlines()[1:]]
    assert names == ["selection", "distractors", "positions"]


@pytest.mark.parametrize("name", ["ask", "build", "score", "detect", "compare"])
def test_the_help_is_short(run: Run, name: str) -> None:
    usual, whole = run("choice", name, "--help").out, run("choice", name, "--help-all").out
    assert len(usual.splitlines()) <= 70
    assert len(whole) > len(usual)
    assert "--memory" in whole


def test_a_detector_is_scored_by_its_best_triplets(run, asked, predictions) -> None:
    outcome = run("choice", "detect", asked, predictions, "--json", "out.json", "--label", "D")
    assert outcome.code == 0
    assert outcome.out.startswith("D · HICO-DET · 6 questions")
    assert "! det.npz: finds the person in 6 of 6 questions" in outcome.out
    result = json.loads(Path("out.json").read_text())
    assert result["exact_match"] == pytest.approx(5 / 6)
    assert result["how"] == "top 5 triplets of each image"
    high = run("choice", "detect", asked, predictions, "--threshold", "0.95", "--json", "-")
    assert json.loads(high.out)["micro_recall"] == 0


def test_predictions_are_read_as_the_user_says(run: Run, asked: Path, predictions: Path) -> None:
    words = ("choice", "detect", asked, predictions)
    assert json.loads(run(*words, "--read", "origin=0", "--json", "-").out)["questions"] == 6
    for key in ("ids=gt.pkl", "instances=gt.pkl"):
        done = run(*words, "--read", key)
        assert (done.code, done.out) == (2, "")
        assert f"--read {key[:3]}" in done.err
        assert "does not apply to this command" in done.err


def test_models_and_detectors_stand_in_one_table(run, asked, answers, predictions) -> None:
    outcome = run("choice", "compare", asked, answers, predictions, "--labels", "V,D")
    assert outcome.code == 0
    assert "VLM\n  V" in outcome.out
    assert "HOI-specific methods\n  D" in outcome.out
    assert outcome.err == "2 notes: --detail\n"
    assert len(outcome.out.splitlines()) <= 30
    assert "What is picked" not in outcome.out
    whole = run("choice", "compare", asked, answers, predictions, "--detail")
    assert "finds the person" in whole.err
    assert "What is picked" in whole.out
    some = run("choice", "compare", asked, answers, predictions, "--table", "selection").out
    assert ("What is picked" in some, "Multiple choice, %" in some) == (True, False)
    out = run("choice", "compare", asked, answers, predictions, "--out", "t.tex", "--json", "-")
    latex = Path("t.tex").read_text()
    assert latex.count(r"\begin{table") == 2
    said = "Detectors: top 5 triplets of each image, on the person asked about."
    assert said in latex.partition("label")[0]
    scene = run("choice", "compare", asked, predictions, "--match", "scene", "--top", 3).out
    said = "Detectors: top 3 triplets of each image, anywhere in the image."
    assert said in " ".join(scene.split())
    tables = json.loads(out.out)["tables"]
    assert tables["choice"]["models"]["det"]["exact_match.overall"] == pytest.approx(5 / 6)
    assert tables["choice"]["best"]["instance_f1.overall"] == ["det"]


def test_the_first_screen_of_a_comparison_has_30_lines(run, asked, answers, predictions) -> None:
    """The metric that papers print first is told of, and a mark shows what else differs."""
    people = {f"HICO_{number}.jpg": 1 + number % 2 for number in range(6)}
    Path("people.json").write_text(json.dumps(people))
    words = ("choice", "compare", asked, answers, predictions, "--people", "people.json")
    done = run(*words, "--significance", "--resamples", 200)
    lines = done.out.splitlines()
    assert len(lines) <= 30
    assert next(line for line in lines if "significant" in line).startswith("Instance-F1: no ")
    assert lines[-1] == "more: --detail, --table selection, --out choice.tex"
    whole = run(*words, "--significance", "--resamples", 200, "--detail").out
    assert whole.count("no significant difference") == 4


def test_models_are_tested_against_the_first(run: Run, asked: Path, answers: Path) -> None:
    other = replies(Path("other.jsonl"), ["A"] * 6)
    outcome = run(
        *("choice", "compare", asked, answers, other, "--significance", "--resamples", "60"),
        *("--out", "scores.png", "--headings", "small,large", "--detail"),
    )
    assert outcome.code == 0
    assert "small\n  model" in outcome.out
    assert "Instance-F1: no significant difference" in outcome.out
    assert "60 exchanges are too few to distinguish models" in outcome.err
    assert "give --resamples 80 or more" in outcome.err
    assert Path("scores.png").read_bytes().startswith(b"\x89PNG")


BAD: list[tuple[list[str], str]] = [
    (["score", "no.json", "{answers}"], "no.json: No such file"),
    (["score", "{asked}", "no.jsonl"], "no.jsonl: No such file"),
    (["score", "{answers}", "{asked}"], "holds no questions"),
    (["score", "{asked}", "{predictions}"], "holds no answers"),
    (["score", "{asked}", "{answers}", "--json", "{asked}"], "would overwrite an input file"),
    (["score", "{asked}", "{answers}", "--out", "t.html"], "t.html: unknown suffix .html; give"),
    (["score", "{asked}", "{answers}", "--also", "diagnose"], "--also diagnose: not known"),
    (["score", "{asked}", "{answers}", "--out", "-.pdf"], "-.pdf: cannot be printed"),
    (["detect", "{asked}", "{predictions}", "--out", "f.pdf"], "f.pdf: unknown suffix .pdf; give"),
    (
        ["compare", "{asked}", "{answers}", "--table", "pairs"],
        "--table 'pairs': not known; give some of choice, selection",
    ),
    (["detect", "{asked}", "{predictions}", "--threshold", "nan"], "threshold nan: not a score"),
    (
        ["compare", "{asked}", "{answers}", "{predictions}", "--significance", "--resamples", "1"],
        "--resamples 1: give at least two resamples",
    ),
    (
        ["score", "{asked}", "{answers}", "--out", "f.xyz"],
        "f.xyz: unknown suffix .xyz; give one of",
    ),
    (
        ["score", "{asked}", "{answers}", "--bootstrap", "99"],
        "99: too few for intervals; give at least 100",
    ),
    (["score", "{asked}", "{answers}", "--dataset", "hico"], "did you mean 'hico-det'"),
    (["detect", "{asked}", "{answers}"], "model.jsonl"),
    (["detect", "{asked}", "{predictions}", "--match", "pair"], "has no box of the object"),
    (
        ["detect", "{asked}", "{predictions}", "--top", "3", "--threshold", "0.5"],
        "--top and --threshold: select triplets in different ways; give only one",
    ),
    (["compare", "{asked}", "{answers}", "{answers}"], "label 'model': used for two models"),
    (["compare", "{asked}", "{answers}", "--labels", "a,b"], "--labels a,b: has 2 values"),
    (["compare", "{asked}", "{answers}", "--significance"], "only one is given; give two or more"),
    (["compare", "{asked}", "{answers}", "--headings", "a,b"], "--headings a,b: has 2 values"),
]


@pytest.mark.parametrize(("words", "message"), BAD)
def test_bad_input_is_one_line_and_exit_code_2(run, asked, answers, predictions, words, message):
    files = {"asked": asked, "answers": answers, "predictions": predictions}
    before = sorted(Path.cwd().iterdir())
    outcome = run("choice", *(word.format(**files) for word in words))
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.startswith("diaghoi: error: ")
    assert outcome.err.count("\n") == 1
    assert sorted(Path.cwd().iterdir()) == before


def test_positions_need_the_order_of_the_options(run: Run, asked: Path) -> None:
    Path("chosen.jsonl").write_text('{"image": "HICO_0.jpg", "chosen": ["ride a/an bicycle"]}\n')
    outcome = run("choice", "score", asked, "chosen.jsonl", "--also", "positions")
    assert "The answers do not show the order of their options." in outcome.out
    outcome = run("choice", "score", asked, "chosen.jsonl", "--out", "f.pdf", "--json", "j.json")
    assert (outcome.code, Path("f.pdf").exists(), Path("j.json").exists()) == (2, False, False)
    assert "do not tell in which order" in outcome.err
    assert run("choice", "score", asked, "chosen.jsonl", "--out", "folder").code == 0
    assert {path.suffix for path in Path("folder").iterdir()} == {
        *(".json", ".csv", ".md", ".tex", ".txt")
    }


def test_quiet_prints_nothing(run: Run, asked: Path, answers: Path) -> None:
    outcome = run("choice", "score", asked, answers, "--quiet", *DIAGNOSED)
    assert (outcome.out, outcome.err) == ("", "")
