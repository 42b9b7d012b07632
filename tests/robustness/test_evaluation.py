"""From a study to indices, tables, sentences and JSON."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.results import example
from support.robustness import CORRUPTIONS, SEVERITIES

from diaghoi.comparison.study import Model
from diaghoi.engines.engine import LocalEngine
from diaghoi.exceptions import InputError
from diaghoi.oracles import ERRORS
from diaghoi.report.comparison import to_text
from diaghoi.report.latex import to_latex
from diaghoi.report.markdown import to_markdown
from diaghoi.report.spreadsheet import to_csv
from diaghoi.robustness.evaluation import Robustness, evaluate_study
from diaghoi.robustness.profile import (
    DELTA,
    Profile,
    check_metric,
    costliest,
    metric_title,
    score_paths,
    scores_with,
)
from diaghoi.robustness.study import CLEAN, Condition, read_robustness_study
from diaghoi.robustness.tables import robustness_tables, sentences, summary, worst


def evaluated(folder: Path, **choices: Any) -> Robustness:
    study = read_robustness_study(folder / "study.toml")
    return evaluate_study(study, LocalEngine(1), **choices)


@pytest.fixture(scope="module")
def whole(written: Path) -> Robustness:
    return evaluated(written)


@pytest.fixture(scope="module")
def tested(written: Path) -> Robustness:
    """One model and one corruption, with tests: they take most of the time."""
    study = read_robustness_study(written / "study.toml")
    study = replace(study, models=study.models[:1], corruptions=CORRUPTIONS[:1])
    return evaluate_study(study, LocalEngine(1), exchanges=2)


@pytest.mark.slow
def test_what_tests_are_corrected_for_is_told(whole: Robustness, tested: Robustness) -> None:
    told = "p-values are corrected for the numbers of one corruption (Holm), not for the number"
    assert sum(note.startswith(told) for note in tested.notes) == 1
    assert not any(note.startswith("p-values") for note in whole.notes)


def test_tests_stand_in_sentences_and_in_json(tested: Robustness) -> None:
    (profile,) = tested.profiles
    assert " (p = " in sentences(profile)["motion_blur"]
    (model,) = json.loads(json.dumps(tested.to_dict(), allow_nan=False))["models"]
    found = {(each["corruption"], each["severity"]) for each in model["cells"] if "tests" in each}
    assert found == {("motion_blur", max(SEVERITIES))}


def result_of(score: float, **errors: float) -> dict[str, Any]:
    """A result with an official mAP, and some ΔmAP."""
    result = example()
    result["official"]["default"]["full"] = score
    for error, delta in errors.items():
        result["oracles"][error]["delta_map"]["full"] = delta
    return result


def profile_of(results: dict[Condition, dict[str, Any]]) -> Profile:
    return Profile(
        model=Model(label="A", file=Path("a")),
        metric="official.default.full",
        corruptions=("motion_blur", "gaussian_blur", "exposure"),
        severities=(1, 2),
        results=results,
        tests={},
    )


BY_HAND = profile_of(
    {
        CLEAN: result_of(0.5, action=0.1),
        Condition("motion_blur", 1): result_of(0.4, action=0.2),
        Condition("motion_blur", 2): result_of(0.2, action=0.4),
        Condition("gaussian_blur", 1): result_of(0.3),
        Condition("exposure", 1): result_of(0.25),
        Condition("exposure", 2): result_of(0.25),
    }
)


def test_indices_by_hand() -> None:
    """Means 30, 30 (of one severity, so not for CRI) and 25; deviations 10, none and 0."""
    index = BY_HAND.index()
    assert index.mri == pytest.approx(85 / 300)
    assert index.cri == pytest.approx((0.6 / (math.log(11) + 1) + 0.5) / 2)
    assert (index.conditions, index.of) == (5, 6)
    groups = BY_HAND.groups()
    assert list(groups) == ["optical", "environment"]
    optical, environment = (BY_HAND.index(members) for members in groups.values())
    assert optical.mri == pytest.approx(0.3)
    assert environment.cri == pytest.approx(0.5)
    assert not environment.partial
    assert BY_HAND.index(severities=[1]).mri == pytest.approx((0.4 + 0.3 + 0.25) / 3)
    assert BY_HAND.index(severities=[2]).mri == pytest.approx((0.2 + 0.25) / 2)
    assert BY_HAND.index(severities=[1]).cri is None


def test_drops_and_growth_by_hand() -> None:
    assert BY_HAND.drop("motion_blur") == pytest.approx(0.4)
    assert BY_HAND.change(Condition("motion_blur", 2), DELTA.format("action")) == pytest.approx(0.3)
    assert BY_HAND.mean_growth("motion_blur", "action") == pytest.approx(0.2)
    # 1,000 of 2,000 predictions; 5 of 2,000 annotations.
    assert BY_HAND.share(CLEAN, "action") == 0.5
    assert BY_HAND.share(CLEAN, "missed_gt") == 0.0025
    assert BY_HAND.share(Condition("gaussian_blur", 2), "action") is None


def test_without_clean_pictures_only_mri_is_left() -> None:
    results = {condition: each for condition, each in BY_HAND.results.items() if condition != CLEAN}
    profile = profile_of(results)
    assert profile.index().mri == BY_HAND.index().mri
    assert (profile.index().cri, profile.drop("exposure"), profile.clean) == (None, None, None)
    assert profile.mean_growth("exposure", "action") is None
    assert sentences(profile) == {}


def named(label: str, **changed: Any) -> Profile:
    return replace(BY_HAND, model=Model(label=label, file=Path("a"), stage="one"), **changed)


def test_the_summary_by_hand() -> None:
    """Of 50 on clean pictures 30, 30 and 25 are left: motion blur takes 40 %, exposure 50 %."""
    what = "of its clean official mAP under corruption"
    assert costliest([BY_HAND])[0] == "exposure"  # the others cost the same
    assert len(costliest([BY_HAND])) == 3
    assert summary([BY_HAND]) == (
        f"A keeps 57 % {what} (50.00 to 28.33). Exposure costs most, 50 %."
    )
    few = {CLEAN: result_of(0.5), Condition("motion_blur", 2): result_of(0.1)}
    worse = named("B", results=few)
    assert summary([worse, BY_HAND]) == (
        f"A keeps 57 % {what} (50.00 to 28.33), B 20 % (50.00 to 10.00). "
        "Motion blur costs most, 60 % on average."
    )
    assert summary([worse, BY_HAND, named("C")]) == (
        f"Of 3 models, A keeps most {what}, 57 % (50.00 to 28.33), B least, 20 % (50.00 to "
        "10.00). Motion blur costs most, 53 % on average."
    )
    assert [label for label, _ in worst([worse, BY_HAND, named("C")], 2)] == ["B", "A"]


def test_the_overview_by_hand() -> None:
    (table,) = robustness_tables([named("A")], BY_HAND.metric, overview=True)
    (row,) = table.rows
    assert row.titles == ("A",)
    shown = {column.key: cell.shown for column, cell in zip(table.columns, row.cells, strict=True)}
    assert list(shown)[:4] == ["clean.official.default.full", "mri", "cri", "exposure"]
    assert shown == {
        "clean.official.default.full": "50.00",
        "mri": "28.33‡",
        "cri": "0.34‡",
        "exposure": "25.00",
        "motion_blur": "30.00",
        "gaussian_blur": "30.00‡",
    }


def test_nothing_is_summed_up_without_clean_pictures_and_nothing_lost() -> None:
    results = {condition: each for condition, each in BY_HAND.results.items() if condition != CLEAN}
    profile = profile_of(results)
    assert (summary([profile]), worst([profile]), costliest([profile])) == ("", [], [])
    (table,) = robustness_tables([profile], profile.metric, overview=True)
    assert [column.key for column in table.columns][1:] == ["mri", "cri"]
    assert "lost. Over" in table.caption
    same = profile_of({each: result_of(0.5) for each in (CLEAN, Condition("exposure", 1))})
    assert summary([same]).endswith("(50.00 to 50.00). No corruption costs anything.")


def test_each_corruption_has_a_sentence() -> None:
    told = sentences(BY_HAND)
    assert told["motion_blur"] == (
        "Motion blur, severity 2: mAP stays at 56.8; most grows action, whose ΔmAP goes "
        "from +10.0 to +40.0 and whose share of the predictions from 50.0 to 50.0 %."
    )
    assert told["exposure"].startswith("Exposure, severity 2: ")


def test_what_is_partial_is_never_the_best() -> None:
    """B has the mild severity alone, and so the higher mean."""
    one = replace(BY_HAND, model=Model(label="A", file=Path("a"), stage="one"))
    few = {each: BY_HAND.results[each] for each in (CLEAN, Condition("motion_blur", 1))}
    two = replace(BY_HAND, model=Model(label="B", file=Path("b"), stage="two"), results=few)
    table = robustness_tables([one, two], one.metric)[1]
    cells = {row.title: row.cells[0] for row in table.rows}
    assert [(name, cell.mark, cell.best) for name, cell in cells.items()] == [
        ("A", "", False),
        ("B", "‡", False),
        ("Difference", "‡", False),
    ]
    whole = replace(two, model=Model(label="C", file=Path("c")), results=BY_HAND.results)
    table = robustness_tables([one, two, whole], one.metric)[1]
    assert {row.title: row.cells[0].best for row in table.rows if row.kind == "entry"} == {
        "A": True,
        "B": False,
        "C": True,
    }


def test_sentences_say_that_growth_is_undefined() -> None:
    before, after = result_of(0.5), result_of(0.4)
    for result in (before, after):
        result["map"]["full"] = None
        for error in ERRORS:
            result["oracles"][error]["delta_map"]["full"] = None
    told = sentences(profile_of({CLEAN: before, Condition("exposure", 1): after}))
    assert told == {
        "exposure": "Exposure, severity 1: mAP is undefined; the growth of errors is undefined."
    }


def test_sentences_say_what_does_not_grow() -> None:
    before, after = result_of(0.5, action=0.3), result_of(0.4, action=0.1)
    after["map"]["full"] = 0.4
    told = sentences(profile_of({CLEAN: before, Condition("exposure", 1): after}))
    assert told == {
        "exposure": "Exposure, severity 1: mAP falls from 56.8 to 40.0; no error costs more than "
        "on clean pictures."
    }
    after["map"]["full"] = None
    told = sentences(profile_of({CLEAN: before, Condition("exposure", 1): after}))
    assert "mAP is undefined" in told["exposure"]


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
    study = read_robustness_study(written / "study.toml")
    small = replace(study, models=study.models[:1], corruptions=("occlusion",), severities=(5,))
    found = evaluate_study(small, LocalEngine(1), resamples=4)
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
        assert "sigma of scores in percent, natural logarithm" in tables[key].caption
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
def test_all_writers_take_the_tables(whole: Robustness, write) -> None:
    text = write(whole.comparison(errors=True))
    for word in ("MRI", "OCC") if write is not to_csv else ("mri", "occlusion"):
        assert word in text


@pytest.mark.slow
def test_gaps_are_named_and_marked(folder: Path) -> None:
    (folder / "A" / "occlusion_5.npz").unlink()
    (folder / "B" / "clean.npz").unlink()
    damaged = folder / "B" / "motion_blur_1.npz"
    damaged.unlink()
    damaged.write_bytes(b"")
    found = evaluated(folder)
    told = found.to_dict()
    assert told["missing"] == [
        {
            "model": "A",
            "corruption": "occlusion",
            "severity": 5,
            "file": str(folder / "A" / "occlusion_5.npz"),
        },
        {
            "model": "B",
            "corruption": None,
            "severity": 0,
            "file": str(folder / "B" / "clean.npz"),
        },
    ]
    assert [(each["model"], each["corruption"]) for each in told["failed"]] == [
        ("B", "motion_blur")
    ]
    assert "the file is empty" in told["failed"][0]["error"]
    notes = "\n".join([*found.gaps, *found.notes])
    assert "A: 1 of 7 files are missing: Occlusion 5; the first is " in notes
    assert "B: without predictions on clean pictures CRI, drops and the growth of" in notes
    assert f"B, Motion blur 1: left out: {damaged}: the file is empty" in notes
    first, second = told["models"]
    assert first["indices"]["corruptions"]["occlusion"]["partial"]
    assert not first["indices"]["corruptions"]["motion_blur"]["partial"]
    assert (first["indices"]["all"]["conditions"], first["indices"]["all"]["of"]) == (5, 6)
    assert second["indices"]["all"]["cri"] is None
    text = to_text(found.comparison())
    assert "‡: over the conditions that there are." in " ".join(text.split())
    table = next(each for each in found.comparison().tables if each.key == "corruptions")
    marks = {row.title: [cell.mark for cell in row.cells] for row in table.rows}
    assert marks["A"] == ["", "", "‡"]
    assert marks["B"] == ["‡", "", ""]


def test_the_first_detector_may_lack_all_files(folder: Path) -> None:
    for path in (folder / "A").iterdir():
        path.unlink()
    study = read_robustness_study(folder / "study.toml")
    found = evaluate_study(replace(study, corruptions=("occlusion",)), LocalEngine(1))
    assert [model["clean"] is None for model in found.to_dict()["models"]] == [True, False]
    assert summary(found.profiles).startswith("B keeps ")


def test_one_severity_has_no_cri(folder: Path) -> None:
    path = folder / "study.toml"
    path.write_text(path.read_text().replace("severities = [1, 5]", "severities = [5]"))
    found = evaluated(folder)
    assert [table.key for table in found.comparison().tables] == [
        *("robustness", "corruptions"),
        "groups",
    ]
    assert found.to_dict()["models"][0]["indices"]["all"]["cri"] is None


def test_any_score_of_the_report_is_a_metric(written: Path) -> None:
    study = read_robustness_study(written / "study.toml")
    small = replace(study, corruptions=("occlusion",))
    found = evaluate_study(small, LocalEngine(1), metric="pairs.recall")
    profile = found.profiles[0]
    assert profile.clean == profile.results[CLEAN]["pairs"]["recall"]
    told = found.comparison().tables[0]
    assert [column.title for column in told.columns] == ["pairs.recall", "MRI", "CRI"]


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("map.ful", "`metric` map.ful: is no score of the report (did you mean 'map.full'"),
        ("soft_map", "or of a study with similarities soft_map or mf1"),
        ("errors.action", "`metric` errors.action: is no score of the report"),
        ("oracles.action.delta_map.full", "is no score"),
        ("pairs.per_image", "is no score"),
        ("negatives.pairs", "is no score"),
        ("map", "`metric` map: is no score of the report"),
    ],
)
def test_what_is_no_metric(metric: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        check_metric(metric, example())
    assert message in str(error.value)


def test_an_unknown_metric_is_refused(written: Path) -> None:
    with pytest.raises(InputError, match=r"`metric` mAP: is no score of the report"):
        evaluated(written, metric="mAP")


def test_scores_may_be_undefined() -> None:
    assert "pairs.object_recall" in set(score_paths(example()))


def test_what_stands_beside_a_metric() -> None:
    assert scores_with("official.scenario_2.ap", {}) == {
        "official.scenario_1.ap": "Scenario 1",
        "official.scenario_2.ap": "Scenario 2",
    }
    assert scores_with("soft_map", {"soft_map": 0.5}) == {"soft_map": "Soft mAP"}
    assert scores_with("official.known_object.rare", example()) == {
        f"official.known_object.{split}": title
        for split, title in (("full", "Full"), ("rare", "Rare"), ("non_rare", "Non-rare"))
    }


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


@pytest.mark.parametrize(
    ("dataset", "metric", "classes", "title"),
    [
        ("hico-det", "official.default.full", 600, "official mAP, Default, Full (all 600 classes)"),
        ("hico-det", "official.default.full", 520, "official mAP, Default, Full (520 classes)"),
        ("hico-det", "official.known_object.rare", 600, "official mAP, Known Object, Rare"),
        ("v-coco", "official.scenario_2.ap", None, "official role AP, scenario 2"),
        ("hico-det", "map.full", 600, "mAP, Full, under protocol P"),
        ("hico-det", "pairs.recall", 600, "pairs.recall, under protocol P"),
    ],
)
def test_metrics_are_named_with_their_classes(
    dataset: str, metric: str, classes: int | None, title: str
) -> None:
    counts = {"classes_in_official": {"full": classes}}
    result = {"dataset": dataset, "protocol": {"name": "P"}, "counts": counts}
    assert metric_title(metric, result) == title
