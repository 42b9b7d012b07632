"""MRI and CRI on tables that were computed by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diaghoi.robustness.indices import (
    composite_robustness_index,
    index_of,
    mean_robustness_index,
)

# Two corruptions: means 20 and 30; population standard deviations 0 and 10 (sample: 14.14).
TABLE = {"a": [20.0, 20.0, 20.0], "b": [20.0, 40.0]}


def test_mri_is_the_mean_of_the_means_of_corruptions() -> None:
    assert mean_robustness_index(TABLE) == 25.0  # not 24, the mean of all five scores


def test_cri_divides_by_the_clean_score_and_by_the_population_deviation() -> None:
    by_hand = ((20 / 50) / 1 + (30 / 50) / (math.log(11) + 1)) / 2
    assert composite_robustness_index(TABLE, 50.0) == pytest.approx(by_hand, rel=1e-15)
    assert by_hand == pytest.approx(0.28828, abs=1e-5)


def test_the_logarithm_is_natural() -> None:
    scores = {"a": [10.0 - (math.e - 1), 10.0 + (math.e - 1)]}
    assert composite_robustness_index(scores, 10.0) == pytest.approx(0.5, rel=1e-12)


@given(st.floats(0.01, 100), st.integers(1, 5), st.integers(1, 20))
def test_constant_scores_give_mri_clean_and_cri_one(
    clean: float, severities: int, corruptions: int
) -> None:
    scores = {str(number): [clean] * severities for number in range(corruptions)}
    assert mean_robustness_index(scores) == clean
    assert composite_robustness_index(scores, clean) == 1.0


def test_the_scale_of_scores_changes_cri() -> None:
    fractions = {name: [value / 100 for value in row] for name, row in TABLE.items()}
    percent = composite_robustness_index(TABLE, 50.0)
    assert percent is not None
    assert composite_robustness_index(fractions, 0.5) > 1.5 * percent


def test_fractions_are_indexed_in_percent() -> None:
    index = index_of({"a": [0.2, 0.2, 0.2], "b": [0.2, 0.4]}, 0.5)
    assert index.mri == pytest.approx(0.25, rel=1e-15)
    assert index.cri == pytest.approx(composite_robustness_index(TABLE, 50.0), rel=1e-12)
    assert (index.conditions, index.of, index.partial) == (5, 5, False)


def test_missing_scores_leave_what_is_there_and_say_so() -> None:
    index = index_of({"a": [0.2, None], "b": [None, None], "c": [0.4, 0.4]}, 0.4)
    assert index.mri == pytest.approx(0.3, rel=1e-15)
    # A single score says nothing of how steady a corruption is.
    assert index.cri == pytest.approx(1.0, rel=1e-12)
    assert index.to_dict() == {
        "mri": index.mri,
        "cri": index.cri,
        "conditions": 3,
        "of": 6,
        "partial": True,
    }


@pytest.mark.parametrize("clean", [None, 0.0])
def test_cri_needs_a_clean_score(clean: float | None) -> None:
    index = index_of({"a": [0.2, 0.2]}, clean)
    assert (index.mri, index.cri) == (0.2, None)


def test_nothing_has_no_index() -> None:
    index = index_of({"a": [None]}, 0.4)
    assert (index.mri, index.cri, index.partial) == (None, None, True)
    assert mean_robustness_index({}) is None


def test_a_single_severity_has_no_cri() -> None:
    assert index_of({"a": [0.2]}, 0.4).cri is None


@pytest.mark.parametrize("model", ["CDN-L", "GEN-VLKT-L", "MUREN", "SAMPL"])
def test_tables_3_and_1_of_the_paper_are_tied_by_equation_1(shared: Path, model: str) -> None:
    """Not for RLIPv2, whose row in table 3 has the mean 46.81, and 45.05 in table 1."""
    text = (shared / "papers" / "004_820cbfcba1ebfcd9.txt").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line.startswith(model)]
    table_1 = next(row for row in rows if "✓" in row or "/" in row)
    table_3 = next(row for row in rows if len(row) == 21)
    numbers = [float(cell) for cell in table_3[1:]]
    mri = mean_robustness_index({str(place): [each] for place, each in enumerate(numbers)})
    assert mri == pytest.approx(float(table_1[-2]), abs=0.00501)
