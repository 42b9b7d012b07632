"""Tables per class and per image agree with the totals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from support.scenes import problems

from diaghoi import ORACLES, diagnose
from diaghoi.scenes import Scenes


@given(problems())
def test_rows_sum_to_the_totals(problem: tuple[Scenes, Scenes]) -> None:
    diagnosis = diagnose(*problem)
    for table in (diagnosis.classes, diagnosis.images):
        assert len({len(column) for column in table.values()}) == 1
        for name, count in diagnosis.errors.items():
            assert table[name].sum() == count, name
    assert diagnosis.images["annotated"].sum() == diagnosis.counts["annotated_triplets"]
    assert diagnosis.images["predicted"].sum() == diagnosis.counts["predicted_triplets"]
    classes = diagnosis.classes
    assert len(classes["class"]) == 520
    if diagnosis.mean_ap["full"] is not None:
        assert np.nanmean(classes["ap"]) == pytest.approx(diagnosis.mean_ap["full"])
    for name in ORACLES:
        assert f"delta_{name}" in classes
