"""What MRI and CRI of a study are over, wherever they are shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from support.robustness import CORRUPTIONS, SEVERITIES

from diaghoi.comparison.study import Model
from diaghoi.engines.engine import LocalEngine
from diaghoi.plots import SINGLE_COLUMN, figure_of
from diaghoi.plots.robustness.figures import ROBUSTNESS_FIGURES, models_of
from diaghoi.report.comparison import to_text
from diaghoi.report.latex import to_latex
from diaghoi.report.markdown import to_markdown
from diaghoi.robustness import corruptions
from diaghoi.robustness.evaluation import Robustness, evaluate_study
from diaghoi.robustness.profile import Profile
from diaghoi.robustness.study import CLEAN, read_robustness_study, scope_of
from diaghoi.robustness.tables import robustness_tables

ALL = tuple(corruptions.CORRUPTIONS)
REST = "not comparable with MRI and CRI over all 20 corruptions in 5 severities"
WORDS = "3 of 20 corruptions (motion blur, Gaussian noise, occlusion), severities 1 and 5"


@pytest.fixture(scope="module")
def some(written: Path) -> Robustness:
    return evaluate_study(read_robustness_study(written / "study.toml"), LocalEngine(1))


@pytest.mark.parametrize(
    ("corruptions", "severities", "title", "words"),
    [
        (
            ("motion_blur", "occlusion"),
            (1, 5),
            "2 of 20 corruptions",
            "2 of 20 corruptions (motion blur, occlusion), severities 1 and 5",
        ),
        (ALL, (1, 3, 5), "3 of 5 severities", "all 20 corruptions, severities 1, 3 and 5"),
        (ALL, (5,), "1 of 5 severities", "all 20 corruptions, severity 5"),
        (
            ("jpeg_artifacts",),
            (1, 2, 3, 4, 5),
            "1 of 20 corruptions",
            "1 of 20 corruptions (JPEG artifacts), all 5 severities",
        ),
        (
            ALL[:-1],
            (5, 4, 3, 2, 1),
            "19 of 20 corruptions",
            "19 of 20 corruptions (all but zoom blur), all 5 severities",
        ),
        (
            ALL[:10],
            (1, 2, 3, 4, 5),
            "10 of 20 corruptions",
            "10 of 20 corruptions (motion blur, defocus blur, Gaussian blur, glass blur, Gaussian "
            "noise and 5 more), all 5 severities",
        ),
    ],
)
def test_part_of_the_paper_is_called_a_part(
    corruptions: tuple[str, ...], severities: tuple[int, ...], title: str, words: str
) -> None:
    scope = scope_of(corruptions, severities)
    assert not scope.complete
    assert (scope.title, scope.words) == (title, words)


def test_all_is_said_of_all_alone() -> None:
    scope = scope_of(ALL, (1, 2, 3, 4, 5))
    assert (scope.complete, scope.title) == (True, "All corruptions")


def test_tables_of_all_corruptions_in_all_severities() -> None:
    profile = Profile(
        model=Model(label="A", file=Path("a")),
        metric="pairs.recall",
        corruptions=ALL,
        severities=corruptions.SEVERITIES,
        results={},
        tests={},
    )
    result = {"dataset": "hico-det", "protocol": {"name": "P"}, "pairs": {"recall": 0.5}}
    tables = robustness_tables([replace(profile, results={CLEAN: result})], "pairs.recall")
    assert tables[0].columns[-1].group == "All corruptions"
    assert tables[4].caption == "pairs.recall, under protocol P, over all 20 corruptions."
    assert not any("comparable" in table.caption for table in tables)


@pytest.mark.parametrize("write", [to_text, to_latex, to_markdown])
def test_every_writer_says_what_a_part_is_over(some: Robustness, write) -> None:
    text = " ".join(write(some.comparison(errors=True)).replace("-\n", "-").split())
    assert "ll corruptions" not in text
    assert "3 of 20 corruptions" in text
    assert text.count(f"Over {WORDS}: {REST}.") == 2  # all, and groups
    assert f"over {WORDS.partition(', sev')[0]}." in text  # of each severity
    assert "over the severities" not in text
    assert text.count("over severities 1 and 5") == 2 + 7


def test_the_json_says_it_too(some: Robustness) -> None:
    told = json.loads(json.dumps(some.to_dict()))
    assert told["scope"] == {
        "complete": False,
        "corruptions": "3 of 20 corruptions (motion blur, Gaussian noise, occlusion)",
        "severities": "severities 1 and 5",
    }
    assert [each["name"] for each in told["corruptions"]] == list(CORRUPTIONS)
    assert told["severities"] == list(SEVERITIES)


def test_and_so_do_figures(some: Robustness) -> None:
    told = some.to_dict()
    for kind in ROBUSTNESS_FIGURES.values():
        figure = figure_of(kind, models_of(kind, told), SINGLE_COLUMN)
        text = " ".join(" ".join(each.get_text() for each in figure.texts).split())
        if kind.name in ("robustness_costs", "robustness_shares"):
            assert f"Means over {WORDS.partition(', sev')[0]}." in text, kind.name
        elif kind.name == "robustness_groups":
            assert f"Means over {WORDS}." in text
        elif kind.name != "robustness_severities":
            assert "Means over severities 1 and 5." in text, kind.name
