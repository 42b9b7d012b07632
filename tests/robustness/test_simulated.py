"""Simulated detectors under corruption."""

from __future__ import annotations

from dataclasses import fields

import pytest

from diaghoi.robustness.corruptions import CORRUPTIONS, SEVERITIES
from diaghoi.robustness.simulated import FAULTS, under_corruption
from diaghoi.simulate import ONE_STAGE


@pytest.mark.parametrize("corruption", list(CORRUPTIONS))
def test_the_faults_of_the_group_grow_with_severity_and_no_others(corruption: str) -> None:
    faults = FAULTS[CORRUPTIONS[corruption].group]
    detectors = [ONE_STAGE, *(under_corruption(ONE_STAGE, corruption, s) for s in SEVERITIES)]
    for field in fields(ONE_STAGE):
        values = [getattr(detector, field.name) for detector in detectors]
        if field.name in faults:
            assert sorted(set(values)) == values
        else:
            assert len(set(values)) == 1
