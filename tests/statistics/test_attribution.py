"""Shapley values of the errors."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import v_coco
from support.scenes import BICYCLE, PERSON, RIDE, image, problems, scenes

from diaghoi import Diagnosis, InputError, diagnose, protocol, simulate
from diaghoi.data.protocol import Group
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.evaluation.average_precision import class_scores
from diaghoi.evaluation.means import split_means
from diaghoi.oracles import ERRORS
from diaghoi.statistics.attribution import attribute, repaired, shapley

ORDERS = st.permutations(ERRORS)
PROTOCOLS = st.sampled_from(["hico-det", "hico-det-520", "diag-hoi"])


def mean_ap(diagnosis: Diagnosis, ledger) -> float | None:
    scores = class_scores(ledger.evaluated, ledger.classes, diagnosis.protocol)
    members = {"full": diagnosis.splits["full"]}
    return split_means(scores, diagnosis.protocol, members)[0]["full"]


@given(problems(), ORDERS, ORDERS, st.integers(0, 7), PROTOCOLS)
def test_the_order_of_repairs_does_not_matter(
    problem: tuple, one: list[str], other: list[str], count: int, name: str
) -> None:
    diagnosis = diagnose(*problem, name)
    chosen = set(one[:count])
    ledgers = [
        repaired(diagnosis.ledger, [error for error in order if error in chosen])
        for order in (one, other)
    ]
    for column in ("row_class", "row_input", "row_label", "row_annotation", "annotation_counts"):
        np.testing.assert_array_equal(*(getattr(ledger, column) for ledger in ledgers))


@given(v_coco.problems(), ORDERS, st.sampled_from([1, 2]))
def test_the_order_does_not_matter_in_v_coco(
    problem: tuple, order: list[str], scenario: int
) -> None:
    """Some associations are wrong actions there, by the reading that costs go by."""
    truth, found = v_coco.annotations(problem[0]), v_coco.predictions(problem[1])
    diagnosis = diagnose_images(truth, found, protocol(f"v-coco-s{scenario}"))
    one, other = (repaired(diagnosis.ledger, errors) for errors in (order, order[::-1]))
    for column in ("row_class", "row_input", "true", "annotation_counts"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


@given(problems(), st.permutations(ERRORS))
def test_a_triplet_gains_at_most_one_true_positive(problem: tuple, order: list[str]) -> None:
    ledger = repaired(diagnose(*problem).ledger, order)
    found = ledger.row_annotation[ledger.true]
    assert len(found) == len(np.unique(found))
    # Of the predictions, only those of the wrong-pair kinds that found nothing are gone.
    assert ledger.true.all()


@given(problems(), PROTOCOLS)
def test_values_add_up_and_absent_errors_cost_nothing(problem: tuple, name: str) -> None:
    diagnosis = diagnose(*problem, name)
    found = attribute(diagnosis)
    if found is None:
        return
    assert sum(found.values.values()) == pytest.approx(found.end - found.start, abs=1e-12)
    assert found.start == diagnosis.mean_ap["full"]
    assert found.end == mean_ap(diagnosis, repaired(diagnosis.ledger, ERRORS))
    assert len(found.coalitions) == 128
    outcomes = diagnosis.oracles | diagnosis.localised
    for error in ERRORS:
        # Triplets of pairs that nothing localises are missed, too, though wrong actions are
        # assigned to them.
        if diagnosis.errors[error] == 0 and error != "missed_gt":
            assert found.values[error] == pytest.approx(0, abs=1e-15), error
        alone = found.coalitions[frozenset([error])] - found.start
        # Repairs that are combined leave equal scores in the order of the input.
        if diagnosis.protocol.repaired_ties == "input":
            assert alone == outcomes[error]["delta_map"]["full"]
    assert found.to_dict()["total"] == found.end - found.start


@given(st.lists(st.floats(-1, 1), min_size=8, max_size=8))
def test_the_shapley_value_is_the_mean_over_all_orders(worths: list[float]) -> None:
    players = ("a", "b", "c")
    coalitions = [frozenset(p for n, p in enumerate(players) if k >> n & 1) for k in range(8)]
    worth = dict(zip(coalitions, worths, strict=True))
    for player in players:
        gains = []
        for order in permutations(players):
            before = frozenset(order[: order.index(player)])
            gains.append(worth[before | {player}] - worth[before])
        assert shapley(player, worth, players) == pytest.approx(np.mean(gains), abs=1e-12)


def test_splits_have_values_of_their_own() -> None:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(20, rng)
    diagnosis = diagnose(truth, simulate.detect(truth, simulate.ONE_STAGE, rng))
    rare, full = attribute(diagnosis, "rare"), attribute(diagnosis)
    assert rare is not None
    assert full is not None
    assert rare.start == diagnosis.mean_ap["rare"] != full.start


def test_no_group_of_classes_can_hide_a_value() -> None:
    # In JSON the values of groups stand beside those of the errors.
    rng = np.random.default_rng(0)
    truth = simulate.annotations(5, rng)
    found = attribute(diagnose(truth, simulate.detect(truth, simulate.WEAK, rng)))
    assert found is not None
    for name in found.to_dict():
        with pytest.raises(InputError, match=f"cannot be called '{name}': that is taken"):
            protocol("hico-det", groups=(Group(name, (0,)),))


def test_progress_counts_coalitions() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    diagnosis = diagnose(
        scenes([image("a", boxes, [(0, 1, RIDE)])], scored=False),
        scenes([image("a", boxes, [(0, 1, RIDE, 0.5, 0.5)])], scored=True),
    )
    done: list[int] = []
    found = attribute(diagnosis, progress=done.append)
    assert sum(done) == 128
    assert found is not None
    assert found.values == dict.fromkeys(ERRORS, 0.0)


def test_an_undefined_map_has_no_attribution() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    diagnosis = diagnose(
        scenes([image("a", boxes, [(0, 1, RIDE)])], scored=False),
        scenes([image("a", boxes, [(0, 1, RIDE, 0.5, 0.5)])], scored=True),
    )
    assert attribute(diagnosis, "rare") is None


def test_sums_of_errors_cannot_be_combined() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    annotated = scenes([image("a", boxes, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a", boxes, [(0, 1, RIDE, 0.5, 0.5)])], scored=True)
    ledger = diagnose(annotated, found).ledger
    with pytest.raises(InputError, match="error 'false_positive': cannot be combined"):
        repaired(ledger, ["false_positive"])
