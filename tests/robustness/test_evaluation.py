"""From a study to indices, tables, sentences, figures and JSON."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.robustness import CORRUPTIONS, SEVERITIES

from diaghoi.engines.engine import LocalEngine
from diaghoi.exceptions import InputError
from diaghoi.formats import own, read_predictions
from diaghoi.oracles import ERRORS
from diaghoi.plots import SINGLE_COLUMN, figure_of, notes_of
from diaghoi.plots.figures.robustness import ROBUSTNESS_FIGURES, models_of
from diaghoi.report.comparison import to_text
from diaghoi.report.latex import to_latex
from diaghoi.report.markdown import to_markdown
from diaghoi.report.spreadsheet import to_csv
from diaghoi.robustness.evaluation import Robustness, evaluate_study
from diaghoi.robustness.profile import score_paths
from diaghoi.robustness.study import CLEAN, read_robustness_study
from diaghoi.robustness.tables import sentences, summary

REST = "not comparable with MRI and CRI over all 20 corruptions at 5 severities"
WORDS = "3 of 20 corruptions (motion blur, Gaussian noise, occlusion), severities 1 and 5"
SIMILARITY = "Similarity: verb_scores (verb_scores.csv) and object_scores (object_scores.csv)."
MEASURE = "Measure: sigma = 0.5 S_v + 0.5 S_o; IoU >= 0.5;"


def evaluated(folder: Path, changed: dict[str, Any] | None = None, **choices: Any) -> Robustness:
    study = replace(read_robustness_study(folder / "study.toml"), **changed or {})
    return evaluate_study(study, LocalEngine(1), **choices)


@pytest.fixture(scope="module")
def whole(written: Path) -> Robustness:
    return evaluated(written)


@pytest.fixture(scope="module")
def tested(written: Path) -> Robustness:
    """One model and one corruption, with tests: they take most of the time."""
    models = read_robustness_study(written / "study.toml").models
    changed = {"models": models[:1], "corruptions": CORRUPTIONS[:1]}
    return evaluated(written, changed, exchanges=2)


@pytest.mark.slow
def test_what_tests_are_corrected_for_is_told(whole: Robustness, tested: Robustness) -> None:
    told = "p-values are corrected within each corruption (Holm), not for the number"
    assert sum(note.startswith(told) for note in tested.notes) == 1
    assert not any(note.startswith("p-values") for note in whole.notes)


def test_tests_stand_in_sentences_and_in_json(tested: Robustness) -> None:
    (profile,) = tested.profiles
    assert " (p = " in sentences(profile)["motion_blur"]
    (model,) = json.loads(json.dumps(tested.to_dict(), allow_nan=False))["models"]
    found = {(each["corruption"], each["severity"]) for each in model["cells"] if "tests" in each}
    assert found == {("motion_blur", max(SEVERITIES))}


def test_the_error_that_was_put_in_is_the_one_that_grows(whole: Robustness) -> None:
    grown = {"motion_blur": "human box", "gaussian_noise": "action", "occlusion": "object box"}
    for profile in whole.profiles:
        told = sentences(profile)
        assert {name: f"most grows {error}" in told[name] for name, error in grown.items()} == (
            dict.fromkeys(grown, True)
        )
        assert "mAP falls from" in told["motion_blur"]


def test_the_json_holds_every_figure(whole: Robustness) -> None:
    told = json.loads(json.dumps(whole.to_dict(), allow_nan=False))
    assert (told["metric"], told["severities"]) == ("official.default.full", list(SEVERITIES))
    assert [each["name"] for each in told["corruptions"]] == list(CORRUPTIONS)
    assert "percent" in told["scale"]
    assert told["scope"] == {
        "complete": False,
        "corruptions": "3 of 20 corruptions (motion blur, Gaussian noise, occlusion)",
        "severities": "severities 1 and 5",
    }
    for model in told["models"]:
        cells = {(cell["corruption"], cell["severity"]): cell for cell in model["cells"]}
        assert len(cells) == 1 + len(CORRUPTIONS) * len(SEVERITIES)
        clean = cells[None, 0]["score"]
        assert clean == model["clean"]
        terms = []
        for name in CORRUPTIONS:
            scores = [100 * cells[name, severity]["score"] for severity in SEVERITIES]
            index = model["indices"]["corruptions"][name]
            assert index["mri"] == pytest.approx(statistics.mean(scores) / 100)
            terms.append(
                statistics.mean(scores)
                / (100 * clean)
                / (math.log(1 + statistics.pstdev(scores)) + 1)
            )
            assert index["cri"] == pytest.approx(terms[-1])
            assert model["drops"][name] == pytest.approx(1 - index["mri"] / clean)
        assert model["indices"]["all"]["cri"] == pytest.approx(statistics.mean(terms))
        assert not model["indices"]["all"]["partial"]
        for cell in cells.values():
            for what in ("delta_map", "shares"):
                assert list(cell[what]) == list(ERRORS)
            assert "intervals" not in cell
        assert not any("tests" in cell for cell in cells.values())
        assert list(model["sentences"]) == list(CORRUPTIONS)


def test_intervals_stand_beside_every_figure(written: Path) -> None:
    found = evaluated(written, {"corruptions": ("occlusion",), "severities": (5,)}, resamples=4)
    made = found.to_dict()["bootstrap"]
    assert made == {"resamples": 4, "seed": 0, "confidence": 0.95, "method": "centred"}
    for cell in found.profiles[0].to_dict()["cells"]:
        intervals = cell["intervals"]
        for what in ("delta_map", "shares"):
            for error, value in cell[what].items():
                low, high = intervals[what][error] or (-1.0, 1.0)  # none for costs that few carry
                assert low - 1e-12 <= value <= high + 1e-12
        for what in ("score", "map"):
            low, high = intervals[what]
            assert low - 1e-12 <= cell[what] <= high + 1e-12


def test_tables_are_those_of_the_paper(whole: Robustness) -> None:
    tables = {table.key: table for table in whole.comparison().tables}
    assert list(tables) == ["robustness", "corruptions", "corruptions_cri", "groups", "severities"]
    overall = tables["robustness"]
    assert [column.title for column in overall.columns] == [
        *("Full", "Rare", "Non-rare"),
        *("MRI", "CRI"),
    ]
    profile = whole.profiles[0]
    row = next(row for row in overall.rows if row.title == "A")
    assert [cell.value for cell in row.cells[3:]] == [profile.index().mri, profile.index().cri]
    # As the paper prints it: MRI in percent, CRI as it is.
    assert [cell.text for cell in row.cells[3:]] == [
        f"{100 * (profile.index().mri or 0):.2f}",
        f"{profile.index().cri:.2f}",
    ]
    for key in ("robustness", "corruptions_cri", "groups"):
        assert "sigma of scores in percent and the natural logarithm" in tables[key].caption
        assert "%" not in tables[key].title
    assert [column.title for column in tables["corruptions"].columns] == ["MB", "GauN", "OCC"]
    assert "MB: Motion blur, GauN: Gaussian noise" in tables["corruptions"].caption
    assert [column.title for column in tables["severities"].columns] == ["L1", "L5"]


def test_tables_of_errors(whole: Robustness) -> None:
    tables = whole.comparison(errors=True).tables
    growth = {table.key: table for table in tables if table.key.startswith("growth_")}
    assert list(growth) == [f"growth_{error}" for error in ERRORS]
    row = next(row for row in growth["growth_action"].rows if row.title == "B")
    profile = whole.profiles[1]
    assert [cell.value for cell in row.cells] == [
        profile.mean_growth(name, "action") for name in CORRUPTIONS
    ]


@pytest.mark.parametrize("write", [to_text, to_markdown, to_latex, to_csv])
def test_every_writer_says_what_a_part_is_over(whole: Robustness, write) -> None:
    text = " ".join(write(whole.comparison(errors=True)).replace("-\n", "-").split())
    if write is to_csv:
        assert "mri" in text
        assert "occlusion" in text
        return
    assert "ll corruptions" not in text
    assert text.count(f"Over {WORDS}: {REST}.") == 2  # all, and groups
    assert f"over {WORDS.partition(', sev')[0]}." in text  # of each severity
    assert "over the severities" not in text
    assert text.count("over severities 1 and 5") == 2 + 7


def test_figures_say_what_a_part_is_over(whole: Robustness) -> None:
    told = whole.to_dict()
    for kind in ROBUSTNESS_FIGURES.values():
        figure = figure_of(kind, models_of(kind, told), SINGLE_COLUMN)
        text = " ".join(notes_of(figure))
        if kind.name in ("robustness_costs", "robustness_shares"):
            assert f"Means over {WORDS.partition(', sev')[0]}." in text, kind.name
        elif kind.name == "robustness_groups":
            assert f"Means over {WORDS}." in text
        elif kind.name != "robustness_severities":
            assert "Means over severities 1 and 5." in text, kind.name


@pytest.mark.slow
def test_gaps_are_named_and_marked(folder: Path) -> None:
    (folder / "A" / "occlusion_5.npz").unlink()
    (folder / "B" / "clean.npz").unlink()
    damaged = folder / "B" / "motion_blur_1.npz"
    damaged.unlink()
    damaged.write_bytes(b"")
    found = evaluated(folder)
    told = found.to_dict()
    assert [list(run.values()) for run in told["missing"]] == [
        ["A", "occlusion", 5, str(folder / "A" / "occlusion_5.npz")],
        ["B", None, 0, str(folder / "B" / "clean.npz")],
    ]
    assert list(told["missing"][0]) == ["model", "corruption", "severity", "file"]
    (failed,) = told["failed"]
    assert (failed["model"], failed["corruption"]) == ("B", "motion_blur")
    assert "the file is empty" in failed["error"]
    notes = "\n".join([*found.gaps, *found.notes])
    assert "A: 1 of 7 files are missing: Occlusion 5; the first is " in notes
    assert "B: CRI, drops and the growth of errors are undefined without predictions" in notes
    assert f"B, Motion blur 1: left out: {damaged}: the file is empty" in notes
    first, second = told["models"]
    assert first["indices"]["corruptions"]["occlusion"]["partial"]
    assert not first["indices"]["corruptions"]["motion_blur"]["partial"]
    assert (first["indices"]["all"]["conditions"], first["indices"]["all"]["of"]) == (5, 6)
    assert second["indices"]["all"]["cri"] is None
    text = to_text(found.comparison())
    assert "‡: computed over the available conditions only." in " ".join(text.split())
    table = next(each for each in found.comparison().tables if each.key == "corruptions")
    marks = {row.title: [cell.mark for cell in row.cells] for row in table.rows}
    assert marks["A"] == ["", "", "‡"]
    assert marks["B"] == ["‡", "", ""]


def test_the_first_detector_may_lack_all_files(folder: Path) -> None:
    for path in (folder / "A").iterdir():
        path.unlink()
    found = evaluated(folder, {"corruptions": ("occlusion",)})
    assert [model["clean"] is None for model in found.to_dict()["models"]] == [True, False]
    assert any(
        gap.startswith("A: CRI, drops and the growth of errors are undefined without")
        for gap in found.gaps
    )
    assert summary(found.profiles).startswith("B keeps ")


def test_notes_count_the_runs_that_they_are_about(folder: Path) -> None:
    path = folder / "A" / "occlusion_5.npz"
    found = read_predictions(path)
    path.unlink()
    own.write(path, found.take(range(1, len(found))))
    (note,) = (note for note in evaluated(folder).notes if "annotated images" in note)
    assert note.endswith("(1 of 14 runs, A, Occlusion 5 for instance)")


def test_one_severity_has_no_cri_and_any_score_of_the_report_is_a_metric(written: Path) -> None:
    few = {"corruptions": ("occlusion",), "severities": (5,)}
    found = evaluated(written, few, metric="pairs.recall")
    tables = found.comparison().tables
    assert [table.key for table in tables] == ["robustness", "corruptions", "groups"]
    assert [column.title for column in tables[0].columns] == ["pairs.recall", "MRI", "CRI"]
    assert found.to_dict()["models"][0]["indices"]["all"]["cri"] is None
    profile = found.profiles[0]
    assert profile.clean == profile.results[CLEAN]["pairs"]["recall"]
    with pytest.raises(InputError, match=r"`metric` mAP: is not a score of the report"):
        evaluated(written, few, metric="mAP")


def test_on_v_coco_the_paper_takes_scenario_2(tmp_path: Path) -> None:
    import numpy as np

    from diaghoi import simulate
    from diaghoi.formats import write

    rng = np.random.default_rng(0)
    truth = simulate.v_coco_annotations(12, rng)
    write(tmp_path / "gt.npz", truth)
    for name in ("clean", "exposure_1", "exposure_5"):
        write(tmp_path / f"{name}.npz", simulate.v_coco_detect(truth, rng))
    (tmp_path / "study.toml").write_text(
        'annotations = "gt.npz"\ncorruptions = ["EXP"]\nseverities = [1, 5]\n'
        '[[model]]\nlabel = "A"\nclean = "clean.npz"\nfiles = "{corruption}_{severity}.npz"\n'
    )
    found = evaluated(tmp_path)
    assert found.metric == "official.scenario_2.ap"
    columns = found.comparison().tables[0].columns
    assert [column.title for column in columns] == ["Scenario 1", "Scenario 2", "MRI", "CRI"]
    assert found.profiles[0].clean is not None


def softly(written: Path, folder: Path, metric: str | None, **changed: Any) -> Robustness:
    tables = folder / "verb_scores.csv", folder / "object_scores.csv"
    tables[0].write_text("a,b,score\nride,sit_on,0.5\n")
    tables[1].write_text("a,b,score\nbicycle,motorcycle,0.5\n")
    return evaluated(written, {"similarity": tables, **changed}, metric=metric)


@pytest.fixture(scope="module")
def soft(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Robustness:
    return softly(written, tmp_path_factory.mktemp("tables"), "soft_map")


def test_tables_of_soft_map_name_similarity_and_measure(soft: Robustness) -> None:
    tables = {table.key: table for table in soft.comparison().tables}
    overall = tables.pop("robustness")
    assert [column.title for column in overall.columns] == ["Soft mAP", "MRI", "CRI"]
    assert overall.caption.startswith("Scores: Soft mAP, classes of protocol hico-det-520, %.")
    for words in (MEASURE, "soft AP: area under the envelope", SIMILARITY):
        assert words in overall.caption
    for table in tables.values():
        assert table.caption.startswith(
            "Soft mAP by verb_scores (verb_scores.csv) and object_scores (object_scores.csv), "
            "classes of protocol hico-det-520, over "
        )
    for write in (to_text, to_latex):
        text = " ".join(write(soft.comparison()).replace("\\_", "_").split())
        assert SIMILARITY in text
        assert "Measure: sigma = 0.5 S_v + 0.5 S_o; IoU" in text
        assert "soft_map" not in text


def test_json_and_figures_of_soft_map_say_it_too(soft: Robustness) -> None:
    told = json.loads(json.dumps(soft.to_dict()))
    assert told["metric_title"] == "Soft mAP, classes of protocol hico-det-520"
    assert told["measure"]["soft_ap"] == "area under the envelope"
    assert told["similarity"]["verbs"]["source"] == "verb_scores.csv"
    for name in ("robustness_drops", "robustness_groups", "robustness_severities"):
        kind = ROBUSTNESS_FIGURES[name]
        figure = figure_of(kind, models_of(kind, told), SINGLE_COLUMN)
        text = " ".join(notes_of(figure))
        assert SIMILARITY in text
        assert "Score: Soft mAP, classes of protocol hico-det-520" in text


def test_soft_map_by_the_ratings_of_this_package(written: Path) -> None:
    found = evaluated(written, {"similarity": ("own", "own")}, metric="soft_map")
    told = found.to_dict()["similarity"]
    assert {table["name"] for table in told.values()} == {"ratings of this package, version 1"}


def test_mf1_has_a_name_and_other_scores_do_not_speak_of_similarity(
    written: Path, tmp_path: Path
) -> None:
    few = {"corruptions": ("occlusion",), "severities": (5,)}
    table = softly(written, tmp_path, "mf1", **few).comparison().tables[0]
    assert [column.title for column in table.columns] == ["mF1", "MRI", "CRI"]
    assert SIMILARITY in table.caption
    found = softly(written, tmp_path, None, **few)
    assert not any("Similarity" in table.caption for table in found.comparison().tables)
    assert not {"measure", "similarity"} & found.to_dict().keys()
    result = next(iter(found.profiles[0].results.values()))
    assert not any(path.startswith(("measure", "similarity")) for path in score_paths(result))
