"""Figures of multiple choice against the same counted option by option."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import cases
from support.choice import OPTIONS, Row, answered, by_loops

from diaghoi.choice import evaluate_answers

LISTS = st.lists(st.sampled_from(OPTIONS), max_size=3)
ROWS = st.lists(
    st.tuples(LISTS, LISTS, LISTS).filter(lambda row: bool(row[0] or row[1])),
    min_size=1,
    max_size=12,
)


@cases()
@given(ROWS, st.data())
def test_sums_and_loops_agree(rows: list[Row], data: st.DataObject) -> None:
    rows = [
        (good, bad, [option for option in dict.fromkeys([*good, *bad]) if option in chosen])
        for good, bad, chosen in rows
    ]
    several = data.draw(
        st.lists(st.sampled_from([True, False, None]), min_size=len(rows), max_size=len(rows))
    )
    answers = answered(rows)
    images = [question.image for question in answers.questions.questions]
    people = {name: one for name, one in zip(images, several, strict=True) if one is not None}
    figures = evaluate_answers(answers, people=people).metrics
    for part, kinds in (
        (figures, (True, False, None)),
        (figures["single"], (False,)),
        (figures["multi"], (True,)),
    ):
        chosen = [row for row, one in zip(rows, several, strict=True) if one in kinds]
        assert part["questions"] == len(chosen)
        expected = by_loops(chosen) if chosen else {}
        for name, value in expected.items():
            found = -1 if part[name] is None else part[name]
            assert found == pytest.approx(value, abs=1e-12), name
