"""Average precision under image weights: that of the data set in which images are repeated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scenes import problems

from diaghoi import diagnose, protocol
from diaghoi.data.protocol import Protocol
from diaghoi.evaluation.average_precision import Evaluated, average_precision, class_scores
from diaghoi.evaluation.ledger import Ledger
from diaghoi.evaluation.weighted_ap import ImageCounts, WeightedRanking

AREA = Protocol(name="area", classes="all", average_precision="area")
PROTOCOLS = st.sampled_from(
    [
        protocol("hico-det"),
        protocol("diag-hoi"),
        AREA,
        protocol(AREA, average_precision="101-point"),
        protocol(AREA, top_of_class=3),
        protocol("hico-det", top_of_class=2),
    ]
)
CLASSES, IMAGES = 3, 4


@st.composite
def rankings(draw: st.DrawFn) -> Evaluated:
    row = st.tuples(st.integers(0, CLASSES - 1), st.booleans(), st.integers(0, IMAGES - 1))
    rows = sorted(draw(st.lists(row, max_size=25)), key=lambda each: each[0])
    annotated = draw(
        st.lists(st.tuples(st.integers(0, CLASSES - 1), st.integers(0, IMAGES - 1)), max_size=8)
    )
    # Each true positive found an annotated instance of its image.
    annotated += [(hoi, image) for hoi, true, image in rows if true]
    columns = np.array(rows, dtype=int).reshape(-1, 3).T
    instances = np.array(annotated, dtype=int).reshape(-1, 2).T
    return Evaluated(columns[0], columns[1] == 1, columns[2], *instances)


def repeated(evaluated: Evaluated, weights: np.ndarray) -> Evaluated:
    """Write the rows and annotations of each image out as often as it counts."""
    rows = np.repeat(np.arange(len(evaluated.row_class)), weights[evaluated.row_image])
    annotated = np.repeat(
        np.arange(len(evaluated.annotation_class)), weights[evaluated.annotation_image]
    )
    return Evaluated(
        *(column[rows] for column in evaluated[:3]),
        *(column[annotated] for column in evaluated[3:]),
    )


@given(rankings(), st.lists(st.integers(0, 3), min_size=IMAGES, max_size=IMAGES), PROTOCOLS)
def test_weights_repeat_images(evaluated: Evaluated, weights: list[int], chosen: Protocol) -> None:
    weight = np.array(weights, dtype=np.int32)
    expected = class_scores(repeated(evaluated, weight), CLASSES, chosen)
    found = WeightedRanking.of(evaluated, CLASSES, IMAGES).scores(
        weight[:, None], chosen.levels, chosen.top_of_class
    )
    for name in ("average_precision", "max_recall"):
        np.testing.assert_allclose(getattr(found, name)[:, 0], getattr(expected, name), atol=1e-15)
    assert found.ranked[:, 0].tolist() == expected.ranked.tolist()
    assert found.found[:, 0].tolist() == expected.found.tolist()


@given(rankings(), PROTOCOLS)
def test_columns_do_not_depend_on_one_another(evaluated: Evaluated, chosen: Protocol) -> None:
    weights = np.random.default_rng(0).integers(0, 3, (IMAGES, 5)).astype(np.int32)
    ranking = WeightedRanking.of(evaluated, CLASSES, IMAGES)
    together = ranking.scores(weights, chosen.levels, chosen.top_of_class)
    for column in range(5):
        alone = ranking.scores(weights[:, [column]], chosen.levels, chosen.top_of_class)
        np.testing.assert_array_equal(
            alone.average_precision[:, 0], together.average_precision[:, column]
        )


def test_many_runs_add_up_in_one_order_alone_and_together() -> None:
    # Sums of floats in pairs, as NumPy adds up a single column, end in other digits.
    rng = np.random.default_rng(0)
    hoi, true = np.zeros(4000, dtype=int), rng.random(4000) < 0.4
    image = rng.integers(0, 50, 4000)
    ranking = WeightedRanking.of(Evaluated(hoi, true, image, hoi[true], image[true]), 1, 50)
    weights = rng.integers(0, 3, (50, 4)).astype(np.int32)
    together = ranking.scores(weights, None).average_precision[0]
    alone = [ranking.scores(weights[:, [each]], None).average_precision[0, 0] for each in range(4)]
    assert together.tolist() == alone


@given(
    problems(),
    st.sampled_from(["hico-det", "diag-hoi"]),
    st.sampled_from(["11-point", "101-point"]),
)
def test_equal_weights_give_the_scores_to_the_last_digit(problem, name, kind) -> None:
    diagnosis = diagnose(*problem, protocol(name, average_precision=kind))
    ledger: Ledger = diagnosis.ledger
    images = len(diagnosis.names)
    ranking = WeightedRanking.of(ledger.evaluated, ledger.classes, images)
    weights = np.full((images, 1), 1, dtype=np.int32)
    found = ranking.scores(weights, diagnosis.protocol.levels)
    for key in ("average_precision", "max_recall", "ranked", "found"):
        np.testing.assert_array_equal(
            getattr(found, key)[:, 0], getattr(diagnosis.class_scores, key)
        )


def test_a_row_that_the_limit_cuts_counts_in_part() -> None:
    # One true positive in an image of weight three, of which two fit under the limit.
    one = np.zeros(1, dtype=int)
    evaluated = Evaluated(one, one == 0, one, one, one)
    ranking = WeightedRanking.of(evaluated, 1, 1)
    found = ranking.scores(np.array([[3]], dtype=np.int32), None, top=2)
    expected = average_precision(np.zeros(3, int), np.ones(3, bool), np.array([3]), None, top=2)
    assert found.average_precision[0, 0] == expected.average_precision[0] == 2 / 3
    assert found.max_recall[0, 0] == expected.max_recall[0] == 2 / 3


def test_rows_behind_the_limit_find_nothing() -> None:
    # Two of an image of weight two fill the limit; of the next image a false positive and a true
    # one are behind it.
    hoi, image, true = np.zeros(3, dtype=int), np.array([0, 1, 1]), np.array([True, False, True])
    evaluated = Evaluated(hoi, true, image, hoi[true], image[true])
    weights = np.array([[2], [1]], dtype=np.int32)
    found = WeightedRanking.of(evaluated, 1, 2).scores(weights, None, top=2)
    expected = average_precision(
        np.zeros(4, int), np.array([True, True, False, True]), np.array([3]), None, top=2
    )
    assert found.average_precision[0, 0] == expected.average_precision[0] == 2 / 3
    assert found.max_recall[0, 0] == expected.max_recall[0] == 2 / 3


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=6),
    st.lists(st.sampled_from([0, 1, 7, 2**12, 2**15, 2**21, 2**24 + 1]), min_size=1, max_size=6),
)
def test_sums_under_weights_are_exact(images: list[int], weights: list[int]) -> None:
    counts = np.bincount(images, minlength=len(weights))
    given_weights = np.resize(np.array(weights, dtype=np.int32), (len(counts), 2))
    row = np.zeros(len(images), dtype=np.int64)
    found = ImageCounts.of(row, np.array(images), (2, len(counts))).under(given_weights)
    expected = [
        sum(int(count) * int(weight) for count, weight in zip(counts, column, strict=True))
        for column in given_weights.T
    ]
    assert found.tolist() == [expected, [0, 0]]


def test_many_images_of_one_row_each_add_up_beyond_small_integers() -> None:
    images = np.arange(40_000)
    counts = ImageCounts.of(np.zeros_like(images), images, (1, len(images)))
    assert counts.under(np.ones((len(images), 1), dtype=np.int32)).tolist() == [[40_000]]


def test_nothing_to_add_up_gives_no_sums() -> None:
    none = np.zeros(0, dtype=np.int64)
    weights = np.ones((3, 2), dtype=np.int32)
    assert ImageCounts.of(none, none, (0, 3)).under(weights).shape == (0, 2)
    assert ImageCounts.of(none, none, (4, 0)).under(weights[:0]).tolist() == [[0, 0]] * 4


def test_weights_may_sum_to_more_than_32_bits() -> None:
    evaluated = Evaluated(
        np.array([0, 0, 0]),
        np.array([True, False, True]),
        np.array([0, 1, 2]),
        np.array([0, 0]),
        np.array([0, 2]),
    )
    ranking = WeightedRanking.of(evaluated, 1, 3)
    light, heavy = (
        ranking.scores(np.full((3, 1), weight, dtype=np.int32), AREA.levels)
        for weight in (1, 2**30)
    )
    assert heavy.average_precision == pytest.approx(light.average_precision)
