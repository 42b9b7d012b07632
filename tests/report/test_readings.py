"""Two readings of errors: captions and sentences say which one they go by, on V-COCO in full."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diaghoi import Diagnosis, diagnose, simulate
from diaghoi.data.scenes import Scenes
from diaghoi.data.table import Table, shown
from diaghoi.oracles import ERRORS
from diaghoi.oracles.localised import OWN_OBJECT
from diaghoi.report.extras import extra_tables
from diaghoi.statistics.attribution import attribute

LOST = "a triplet whose pair nothing localises is missed"


def simulated(data_set: str, labels: str = "A") -> tuple[tuple[Scenes, ...], list[Diagnosis]]:
    """Return annotations and predictions of a data set, and a diagnosis of each label."""
    rng = np.random.default_rng(3)
    if data_set == "V-COCO":
        truth = simulate.v_coco_annotations(40, rng)
        found = [simulate.v_coco_detect(truth, rng) for _ in labels]
    else:
        truth = simulate.annotations(40, rng)
        found = [simulate.detect(truth, simulate.WEAK, rng) for _ in labels]
    diagnoses = [diagnose(truth, each, label=name) for each, name in zip(found, labels, strict=True)]
    return (truth, *found), diagnoses


DATA_SETS = pytest.mark.parametrize("data_set", ["HICO-DET", "V-COCO"])


def says_own_object(text: str) -> bool:
    return OWN_OBJECT in " ".join(text.split())


def table_named(tables: Any, title: str) -> Table:
    (found,) = [table for table in tables if (table.title or table.heads[0]).startswith(title)]
    return found


@DATA_SETS
def test_costs_alone_are_of_the_reading_of_those_that_add_up(data_set: str) -> None:
    _, (diagnosis,) = simulated(data_set)
    found = attribute(diagnosis)
    assert found is not None
    read = diagnosis.oracles | diagnosis.localised
    alone = {name: read[name]["delta_map"]["full"] for name in ERRORS}
    assert alone == pytest.approx(
        {name: found.coalitions[frozenset([name])] - found.start for name in ERRORS}
    )
    result = diagnosis.to_dict() | {"attribution": found.to_dict()}
    table = table_named(extra_tables(result, {"full": "Full"}), "What errors cost")
    printed = {row.key: row.cells[0].shown for row in table.rows if row.key in ERRORS}
    assert printed == {name: shown(value, "points") for name, value in alone.items()}
    assert LOST in table.caption
    assert says_own_object(table.caption) == (data_set == "V-COCO")
