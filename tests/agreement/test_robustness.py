"""MRI and CRI against equations 1 and 2 of the RoHOI paper written out as loops."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import cases
from support.robustness import cri_by_loops, mri_by_loops

from diaghoi.robustness.profile import index_of

SCORES = st.one_of(st.none(), st.sampled_from([0.0, 0.2, 0.4]), st.floats(0, 1))
TABLES = st.dictionaries(
    st.sampled_from(["fog", "snow", "rain", "dust"]), st.lists(SCORES, max_size=5), max_size=4
)


@cases()
@given(TABLES, st.one_of(st.sampled_from([None, 0.0, 0.4]), st.floats(0.01, 1)))
def test_indices_are_those_of_the_equations(table, clean) -> None:
    found = index_of(table, clean)
    # A corruption with a single score has no deviation, and no part in CRI.
    several = {name: row for name, row in table.items() if len(row) - row.count(None) > 1}
    for value, expected in (
        (found.mri, mri_by_loops(table)),
        (found.cri, cri_by_loops(several, clean)),
    ):
        assert value == (None if expected is None else pytest.approx(expected, rel=1e-12))
