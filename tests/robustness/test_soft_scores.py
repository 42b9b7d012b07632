"""Robustness by soft mAP: the output names the tables of similarity and the measure."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from diaghoi.engines.engine import LocalEngine
from diaghoi.plots import SINGLE_COLUMN, figure_of
from diaghoi.plots.robustness.figures import ROBUSTNESS_FIGURES, models_of
from diaghoi.report.comparison import to_text
from diaghoi.report.latex import to_latex
from diaghoi.robustness.evaluation import Robustness, evaluate_study
from diaghoi.robustness.profile import score_paths
from diaghoi.robustness.study import read_robustness_study

SIMILARITY = "Similarity: verb_scores (verb_scores.csv) and object_scores (object_scores.csv)."
MEASURE = "Measure: sigma = 0.5 S_v + 0.5 S_o; IoU >= 0.5;"


@pytest.fixture(scope="module")
def soft(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Robustness:
    return evaluated(written, tmp_path_factory.mktemp("tables"), "soft_map")


def evaluated(written: Path, folder: Path, metric: str | None) -> Robustness:
    tables = folder / "verb_scores.csv", folder / "object_scores.csv"
    tables[0].write_text("a,b,score\nride,sit_on,0.5\n")
    tables[1].write_text("a,b,score\nbicycle,motorcycle,0.5\n")
    study = replace(read_robustness_study(written / "study.toml"), similarity=tables)
    return evaluate_study(study, LocalEngine(1), metric=metric)


def test_tables_of_soft_map_name_similarity_and_measure(soft: Robustness) -> None:
    tables = {table.key: table for table in soft.comparison().tables}
    overall = tables["robustness"]
    assert [column.title for column in overall.columns] == ["Soft mAP", "MRI", "CRI"]
    assert overall.caption.startswith("Scores: Soft mAP, classes of protocol hico-det-520, %.")
    assert MEASURE in overall.caption
    assert "soft AP: area under the envelope" in overall.caption
    assert SIMILARITY in overall.caption
    for key in ("corruptions", "corruptions_cri", "groups", "severities"):
        assert tables[key].caption.startswith(
            "Soft mAP by verb_scores (verb_scores.csv) and object_scores (object_scores.csv), "
            "classes of protocol hico-det-520, over "
        )


@pytest.mark.parametrize("write", [to_text, to_latex])
def test_text_and_latex_say_it(soft: Robustness, write) -> None:
    text = " ".join(write(soft.comparison()).replace("\\_", "_").split())
    assert SIMILARITY in text
    assert "Measure: sigma = 0.5 S_v + 0.5 S_o; IoU" in text
    assert "soft_map" not in text


def test_the_json_holds_measure_and_tables(soft: Robustness) -> None:
    told = json.loads(json.dumps(soft.to_dict()))
    assert told["metric_title"] == "Soft mAP, classes of protocol hico-det-520"
    assert told["measure"]["soft_ap"] == "area under the envelope"
    assert told["similarity"]["verbs"]["source"] == "verb_scores.csv"


def test_figures_of_soft_scores_say_it_too(soft: Robustness) -> None:
    told = soft.to_dict()
    for name in ("robustness_drops", "robustness_groups", "robustness_severities"):
        kind = ROBUSTNESS_FIGURES[name]
        figure = figure_of(kind, models_of(kind, told), SINGLE_COLUMN)
        text = " ".join(" ".join(each.get_text() for each in figure.texts).split())
        assert SIMILARITY in text
        assert "Score: Soft mAP, classes of protocol hico-det-520" in text


def test_mf1_has_a_name(written: Path, tmp_path: Path) -> None:
    table = evaluated(written, tmp_path, "mf1").comparison().tables[0]
    assert [column.title for column in table.columns] == ["mF1", "MRI", "CRI"]
    assert SIMILARITY in table.caption


def test_other_scores_do_not_speak_of_similarity(written: Path, tmp_path: Path) -> None:
    found = evaluated(written, tmp_path, None)
    assert not any("Similarity" in table.caption for table in found.comparison().tables)
    assert not {"measure", "similarity"} & found.to_dict().keys()
    result = next(iter(found.profiles[0].results.values()))
    assert not any(path.startswith(("measure", "similarity")) for path in score_paths(result))
