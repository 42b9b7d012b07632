"""Soft mAP, mF1 and miss rates against the two algorithms of SHOE written out as loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import shoe
from support.cases import cases
from support.scenes import (
    BICYCLE,
    CAR,
    EAT,
    HOLD,
    HUG,
    NO_INTERACTION,
    PERSON,
    RIDE,
    VOCABULARY,
    WASH,
    problems,
)

from diaghoi.data.scenes import Scenes
from diaghoi.semantic import Measure, Similarity, evaluate

Problem = tuple[Scenes, Scenes]
Values = dict[tuple[int, int], float]
LEVELS = st.sampled_from([0.0, 0.25, 0.4, 0.5, 1.0])


def values(some: list[int], most: int) -> st.SearchStrategy[Values]:
    """Similarity of some pairs of words, in either order."""
    pair = st.tuples(st.sampled_from(some), st.sampled_from(some))
    return st.dictionaries(pair.filter(lambda each: each[0] < each[1]), LEVELS, max_size=most)


INTERACTIONS = tuple(
    (verb, thing)
    for verb, thing in zip(
        VOCABULARY.class_verb.tolist(), VOCABULARY.class_object.tolist(), strict=True
    )
    if verb != NO_INTERACTION
)
TABLES = st.tuples(values([RIDE, HOLD, WASH, HUG, EAT], 8), values([PERSON, BICYCLE, CAR], 3))
MEASURES = st.builds(
    Measure,
    combine=st.sampled_from(["arithmetic", "geometric", "minimum"]),
    weight=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    theta=st.sampled_from([0.25, 0.5, 0.75]),
    tau=st.sampled_from([0.0, 0.4, 0.5, 0.75, 1.0]),
    tau_by=st.sampled_from(["rank", "score"]),
    tau_before_map=st.booleans(),
    integrator=st.sampled_from(["area", "trapezoid", "11-point"]),
    delta=st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    rule=st.sampled_from(["algorithm", "figure"]),
)


def looked_up(known: Values, one: int, other: int) -> float:
    """Words that are not in the table are similar to themselves alone."""
    return 1.0 if one == other else known.get((min(one, other), max(one, other)), 0.0)


def table(names: tuple[str, ...], known: Values) -> Similarity:
    square = [
        [looked_up(known, one, other) for other in range(len(names))] for one in range(len(names))
    ]
    return Similarity(names=names, values=np.array(square), name="drawn")


@cases()
@given(problems(), TABLES, MEASURES, st.sampled_from(["yes", "no", "ignored"]))
def test_array_code_gives_the_figures_of_the_loops(problem, tables, measure, scores) -> None:
    truth, found = problem
    assume((truth.triplet_verb != NO_INTERACTION).any())
    if scores == "no":
        found = replace(found, triplet_score=None, triplet_action_score=None)

    def similarity(one: tuple[int, int], other: tuple[int, int]) -> float:
        verb, thing = (looked_up(*each) for each in zip(tables, one, other, strict=True))
        return shoe.sigma(verb, thing, measure.weight, measure.combine)

    expected = shoe.evaluate(
        truth,
        found,
        similarity,
        theta=measure.theta,
        delta=measure.delta,
        tau=measure.tau,
        tau_by=measure.tau_by,
        tau_before_map=measure.tau_before_map,
        integrator=measure.integrator,
        classes=INTERACTIONS if measure.rule == "figure" else None,
        left_out=(NO_INTERACTION,),
        scored=scores == "yes",
    )
    verbs, objects = table(VOCABULARY.verbs, tables[0]), table(VOCABULARY.objects, tables[1])
    result: dict[str, Any] = evaluate(
        *(truth, found, verbs, objects),
        measure=measure,
        scores=scores != "ignored",
        protocol="hico-det-520",
    ).to_dict()
    for key in shoe.KEYS:
        wanted = expected[key]
        assert result[key] == (None if wanted is None else pytest.approx(wanted, abs=1e-12)), key
