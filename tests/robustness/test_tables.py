"""Indices, tables and sentences of profiles that were made up by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.results import example

from diaghoi.comparison.study import Model
from diaghoi.exceptions import InputError
from diaghoi.oracles import ERRORS
from diaghoi.robustness.corruptions import CORRUPTIONS, SEVERITIES
from diaghoi.robustness.profile import (
    DELTA,
    Profile,
    check_metric,
    costliest,
    metric_title,
    score_paths,
    scores_with,
)
from diaghoi.robustness.study import CLEAN, Condition, scope_of
from diaghoi.robustness.tables import robustness_tables, sentences, summary, worst

ALL = tuple(CORRUPTIONS)
NO_CRI = "CRI is undefined: it needs scores at two or more severities."


def result_of(score: float, whole: float | None = None, **errors: float | None) -> dict[str, Any]:
    """A result with an official mAP, one under the protocol, and some ΔmAP."""
    result = example()
    result["official"]["default"]["full"] = score
    if whole is not None:
        result["map"]["full"] = whole
    for error, delta in errors.items():
        result["oracles"][error]["delta_map"]["full"] = delta
    return result


def profile_of(
    results: dict[Condition, dict[str, Any]], label: str = "A", **changed: Any
) -> Profile:
    fields = {
        "model": Model(label=label, file=Path("a"), stage="one"),
        "metric": "official.default.full",
        "corruptions": ("motion_blur", "gaussian_blur", "exposure"),
        "severities": (1, 2),
        "tests": {},
    }
    return Profile(results=results, **fields | changed)


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


WITHOUT_CLEAN = replace(
    BY_HAND, results={each: result for each, result in BY_HAND.results.items() if each != CLEAN}
)


def named(label: str, **changed: Any) -> Profile:
    return replace(BY_HAND, model=Model(label=label, file=Path("a"), stage="one"), **changed)


def test_without_clean_pictures_only_mri_is_left() -> None:
    profile = WITHOUT_CLEAN
    assert profile.index().mri == BY_HAND.index().mri
    assert (profile.index().cri, profile.drop("exposure"), profile.clean) == (None, None, None)
    assert profile.mean_growth("exposure", "action") is None
    assert sentences(profile) == {}
    assert (summary([profile]), worst([profile]), costliest([profile])) == ("", [], [])
    (table,) = robustness_tables([profile], profile.metric, overview=True)
    assert [column.key for column in table.columns][1:] == ["mri", "cri"]
    assert "lost. Over" in table.caption


def test_nothing_is_lost() -> None:
    same = profile_of({each: result_of(0.5) for each in (CLEAN, Condition("exposure", 1))})
    assert summary([same]).endswith("(50.00 to 50.00). No corruption lowers the score.")


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


def test_each_corruption_has_a_sentence() -> None:
    told = sentences(BY_HAND)
    assert told["motion_blur"] == (
        "Motion blur, severity 2: mAP stays at 56.8; most grows action, whose ΔmAP goes "
        "from +10.0 to +40.0 and whose share of the predictions from 50.0 to 50.0 %."
    )
    assert told["exposure"].startswith("Exposure, severity 2: ")


def test_what_is_partial_is_never_the_best() -> None:
    """B has the mild severity alone, and so the higher mean."""
    one = named("A")
    few = {each: BY_HAND.results[each] for each in (CLEAN, Condition("motion_blur", 1))}
    two = replace(BY_HAND, model=Model(label="B", file=Path("b"), stage="two"), results=few)
    table = robustness_tables([one, two], one.metric)[1]
    cells = [(row.title, row.cells[0].mark, row.cells[0].best) for row in table.rows]
    assert cells == [("A", "", False), ("B", "‡", False), ("Difference", "‡", False)]
    whole = replace(two, model=Model(label="C", file=Path("c")), results=BY_HAND.results)
    table = robustness_tables([one, two, whole], one.metric)[1]
    best = {row.title: row.cells[0].best for row in table.rows if row.kind == "entry"}
    assert best == {"A": True, "B": False, "C": True}


@pytest.mark.parametrize(
    ("before", "after", "grown", "told"),
    [
        (None, None, None, "mAP is undefined; the growth of errors is undefined."),
        (0.5, None, 0.1, "mAP is undefined; no error costs more than on clean pictures."),
        (
            0.568,
            0.4,
            0.1,
            "mAP falls from 56.8 to 40.0; no error costs more than on clean pictures.",
        ),
    ],
)
def test_sentences_say_what_is_undefined_and_what_does_not_grow(before, after, grown, told) -> None:
    less = dict.fromkeys(ERRORS, grown)
    results = {CLEAN: result_of(0.5, **less), Condition("exposure", 1): result_of(0.4, **less)}
    for result, value in zip(results.values(), (before, after), strict=True):
        result["map"]["full"] = value
    assert sentences(profile_of(results)) == {"exposure": f"Exposure, severity 1: {told}"}


def test_sentences_have_intervals_where_there_are_some() -> None:
    before, after = result_of(0.5, whole=0.5), result_of(0.4, whole=0.4)
    profile = profile_of({CLEAN: before, Condition("motion_blur", 2): after})
    assert "%" not in sentences(profile)["motion_blur"].partition(";")[0]
    before["intervals"] = {"map.full": [0.45, 0.551]}
    after["intervals"] = {"map.full": [0.35, 0.449]}
    for result in (before, after):
        result["bootstrap"] = {"confidence": 0.9}
    assert sentences(profile)["motion_blur"].startswith(
        "Motion blur, severity 2: mAP falls from 50.0 (90 % 45.0 to 55.1) to 40.0 (90 % 35.0 to "
        "44.9); "
    )
    after["intervals"]["map.full"] = None
    assert "to 40.0; " in sentences(profile)["motion_blur"]


def test_a_collapsed_detector_is_not_the_best_where_errors_grow() -> None:
    collapsed = BY_HAND.results | {
        Condition("motion_blur", 2): result_of(0.1, **dict.fromkeys(ERRORS, 0.0))
    }
    profiles = [BY_HAND, named("B", results=collapsed)]
    growth = robustness_tables(profiles, "map.full", errors=True)[-len(ERRORS) :]
    for table in growth:
        assert table.key.startswith("growth_")
        assert not table.marked


@pytest.mark.parametrize("severities", [(2,), (1, 2)])
def test_captions_explain_abbreviations_and_why_there_is_no_cri(severities) -> None:
    profile = replace(BY_HAND, metric="map.full", severities=severities)
    tables = {t.key: t for t in robustness_tables([profile], "map.full", errors=True)}
    for key, table in tables.items():
        abbreviated = any(column.title == "MB" for column in table.columns)
        assert ("MB: Motion blur" in table.caption) == abbreviated
        limited = key in ("robustness", "groups") and len(severities) == 1
        assert (NO_CRI in table.caption) == limited
    if len(severities) == 1:
        assert tables["robustness"].rows[0].cells[-1].text == "–"
        assert tables["corruptions"].caption.startswith("mAP, Full, under protocol ")
        assert ", at severity 2. MB: Motion blur" in tables["corruptions"].caption


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
        (ALL, SEVERITIES, "All corruptions", "all 20 corruptions, all 5 severities"),
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
def test_part_of_the_paper_is_called_a_part(corruptions, severities, title, words) -> None:
    scope = scope_of(corruptions, severities)
    assert scope.complete == (title == "All corruptions")
    assert (scope.title, scope.words) == (title, words)


def test_tables_of_all_corruptions_in_all_severities() -> None:
    result = {"dataset": "hico-det", "protocol": {"name": "P"}, "pairs": {"recall": 0.5}}
    every = {"metric": "pairs.recall", "corruptions": ALL, "severities": SEVERITIES}
    tables = robustness_tables([profile_of({CLEAN: result}, **every)], "pairs.recall")
    assert tables[0].columns[-1].group == "All corruptions"
    assert tables[4].caption == "pairs.recall, under protocol P, over all 20 corruptions."
    assert not any("comparable" in table.caption for table in tables)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("map.ful", "`metric` map.ful: is not a score of the report (did you mean 'map.full'"),
        ("soft_map", "or, if the study has similarities, soft_map or mf1"),
        ("errors.action", "`metric` errors.action: is not a score of the report"),
        ("oracles.action.delta_map.full", "is not a score"),
        ("pairs.per_image", "is not a score"),
        ("negatives.pairs", "is not a score"),
        ("map", "`metric` map: is not a score of the report"),
    ],
)
def test_what_is_no_metric(metric: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        check_metric(metric, example())
    assert message in str(error.value)


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
def test_metrics_are_named_with_their_classes(dataset, metric, classes, title) -> None:
    counts = {"classes_in_official": {"full": classes}}
    result = {"dataset": dataset, "protocol": {"name": "P"}, "counts": counts}
    assert metric_title(metric, result) == title
