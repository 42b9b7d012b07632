"""Captions, stars and sentences of robustness studies that could mislead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.results import example
from support.robustness import CORRUPTIONS

from diaghoi.comparison.study import Model
from diaghoi.oracles import ERRORS
from diaghoi.robustness.profile import Profile
from diaghoi.robustness.study import CLEAN, Condition
from diaghoi.robustness.tables import robustness_tables, sentences

CONDITIONS = (Condition("motion_blur", 5), Condition("occlusion", 5))
REASON = "CRI is undefined: it takes scores in two severities or more."


def profile_of(label: str, score: float, severities: tuple[int, ...] = (5,)) -> Profile:
    result: dict[str, Any] = example()
    result["map"]["full"] = score
    return Profile(
        model=Model(label=label, file=Path(label)),
        metric="map.full",
        corruptions=("motion_blur", "occlusion"),
        severities=severities,
        results=dict.fromkeys((CLEAN, *CONDITIONS), result),
        tests={},
    )


def test_a_collapsed_detector_is_not_the_best_where_errors_grow() -> None:
    one, two = profile_of("A", 0.5), profile_of("B", 0.1)
    errors = {error: {"delta_map": {"full": 0.0}} for error in ERRORS}
    collapsed = {**two.results[CLEAN], "oracles": errors}
    two = replace(two, results={**two.results, CONDITIONS[0]: collapsed})
    tables = robustness_tables([one, two], "map.full", errors=True)
    growth = [table for table in tables if table.key.startswith("growth_")]
    assert len(growth) == len(ERRORS)
    for table in growth:
        assert not table.marked
        assert "MB: Motion blur, OCC: Occlusion" in table.caption


def test_a_single_severity_says_why_there_is_no_cri() -> None:
    tables = {t.key: t for t in robustness_tables([profile_of("A", 0.5)], "map.full")}
    assert [cell.text for cell in tables["robustness"].rows[0].cells][-1] == "–"
    assert REASON in tables["robustness"].caption
    assert REASON in tables["groups"].caption
    assert tables["corruptions"].caption.startswith("mAP, Full, under protocol ")
    assert ", at severity 5. MB: Motion blur" in tables["corruptions"].caption
    several = robustness_tables([profile_of("A", 0.5, (1, 5))], "map.full")
    assert not any(REASON in table.caption for table in several)


def test_abbreviations_are_explained_in_every_table_that_has_them() -> None:
    for table in robustness_tables([profile_of("A", 0.5, (1, 5))], "map.full", errors=True):
        abbreviated = any(column.title == "MB" for column in table.columns)
        assert ("MB: Motion blur" in table.caption) == abbreviated


def test_sentences_have_intervals_where_there_are_some() -> None:
    before, after = example(), example()
    before["map"]["full"], after["map"]["full"] = 0.5, 0.4
    before["intervals"] = {"map.full": [0.45, 0.551]}
    after["intervals"] = {"map.full": [0.35, 0.449]}
    for result in (before, after):
        result["bootstrap"] = {"confidence": 0.9}
    profile = replace(
        profile_of("A", 0.5), results={CLEAN: before, Condition("motion_blur", 5): after}
    )
    assert sentences(profile)["motion_blur"].startswith(
        "Motion blur, severity 5: mAP falls from 50.0 (90 % 45.0 to 55.1) to 40.0 (90 % 35.0 to "
        "44.9); "
    )
    after["intervals"]["map.full"] = None
    assert "to 40.0; " in sentences(profile)["motion_blur"]


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_without_intervals_sentences_stay_short(name: str) -> None:
    profile = replace(
        profile_of("A", 0.5),
        corruptions=(name,),
        results={CLEAN: example(), Condition(name, 5): example()},
    )
    assert "%" not in sentences(profile)[name].partition(";")[0]
