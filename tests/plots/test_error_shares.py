"""Errors from the most to the least confident predictions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.figures import complaints

from diaghoi.evaluation.errors import LABELS
from diaghoi.plots import (
    DOUBLE_COLUMN,
    FIGURES,
    SINGLE_COLUMN,
    ModelData,
    NotApplicable,
    Source,
    figure_of,
)
from diaghoi.plots.figures.error_shares import ErrorShares, _edges, error_shares, error_shares_table


def shares_by_hand(ledger, edges):
    """Rank one prediction after the other, and count."""
    rows = sorted(
        range(len(ledger.row_score)),
        key=lambda row: (-ledger.row_score[row], ledger.row_input[row]),
    )
    found = np.zeros((len(edges) - 1, len(LABELS)))
    for first, stop, counts in zip(edges[:-1], edges[1:], found, strict=True):
        for row in rows[first:stop]:
            counts[ledger.row_label[row]] += 1
        counts /= stop - first
    return found


def test_shares_are_those_of_the_ranks(sources):
    for source in sources:
        table = error_shares_table(source.diagnosis)
        ledger = source.diagnosis.ledger
        np.testing.assert_allclose(table.shares, shares_by_hand(ledger, table.edges))
        np.testing.assert_allclose(table.shares.sum(axis=1), 1)
        assert table.edges[-1] == len(ledger.row_score)
        assert table.annotated == source.result["counts"]["annotated_triplets"]


def test_equal_scores_keep_the_order_of_the_input(sources):
    diagnosis = sources[0].diagnosis
    ledger = replace(diagnosis.ledger, row_score=np.zeros_like(diagnosis.ledger.row_score))
    table = error_shares_table(replace(diagnosis, ledger=ledger))
    first = ledger.row_label[np.argsort(ledger.row_input)][: table.edges[1]]
    expected = np.bincount(first, minlength=len(LABELS)) / len(first)
    np.testing.assert_allclose(table.shares[0], expected)


@given(st.integers(1, 10**7))
def test_bins_cover_all_ranks_once(rows):
    edges = _edges(rows)
    assert edges[0] == 0
    assert edges[-1] == rows
    assert (np.diff(edges) > 0).all()


@pytest.mark.parametrize(("rows", "first"), [(1, 1), (9, 1), (40, 1), (500, 10), (10**6, 100)])
def test_the_first_bin_holds_a_hundred_or_less(rows, first):
    assert _edges(rows)[1] == first


def test_bins_are_equally_wide_in_the_logarithm():
    widths = np.diff(np.log10(_edges(853_869)[1:]))
    np.testing.assert_allclose(widths, widths.mean(), rtol=0.02)


def test_no_predictions(sources):
    diagnosis = sources[0].diagnosis
    none = np.zeros(len(diagnosis.ledger.row_label), dtype=bool)
    empty = replace(diagnosis, ledger=diagnosis.ledger.rows(none))
    with pytest.raises(NotApplicable, match="there are no predictions"):
        error_shares_table(empty)


def table(annotated=1000):
    shares = np.zeros((3, len(LABELS)))
    shares[:, 0], shares[:, 4], shares[:, 5] = (0.8, 0.5, 0.1), (0.2, 0.2, 0.3), (0.0, 0.3, 0.6)
    return ErrorShares(np.array([0, 100, 1000, 10_000]), shares, annotated)


def heights(ax, label, rank):
    """Bottom and top of the steps of a label at a rank."""
    (steps,) = [area for area in ax.collections if area.get_gid() == label]
    outline = steps.get_paths()[0].vertices
    at = outline[np.isclose(outline[:, 0], rank)]
    return at[:, 1].min(), at[:, 1].max()


def test_steps_are_stacked_in_percent():
    ax = error_shares(table())
    assert heights(ax, "true_positive", 10_000) == pytest.approx((0, 10))
    assert heights(ax, "association", 10_000) == pytest.approx((10, 40))
    assert heights(ax, "action", 10_000) == pytest.approx((40, 100))
    assert heights(ax, "duplicate", 10_000) == pytest.approx((100, 100))


def test_axes_say_what_they_show():
    ax = error_shares(table())
    assert ax.get_xlabel() == "Rank by score"
    assert ax.get_ylabel() == "Predictions (%)"
    assert ax.get_xscale() == "log"
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert labels[:2] == ["1", "100"]  # the first bin is that of the best 100
    assert complaints(ax.figure) == []


@pytest.mark.parametrize(("annotated", "lines"), [(500, 2), (20_000, 0), (10, 0)])
def test_a_line_stands_at_the_number_of_annotations(annotated, lines):
    ax = error_shares(table(annotated))
    assert [line.get_xdata()[0] for line in ax.lines] == [annotated] * lines


def test_one_legend_for_all_panels(models_of):
    kind = FIGURES["error_shares"]
    figure = figure_of(kind, models_of(kind, 3), DOUBLE_COLUMN)
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words[0] == "True positive"
    assert words[-1] == "Number of annotations"
    assert len(words) == len(LABELS) + 1
    assert [ax.get_title("left") for ax in figure.axes] == ["One-stage 0", "Two-stage 1", "Weak 2"]


def test_panels_share_the_scale_of_the_longest_list():
    kind = FIGURES["error_shares"]
    tables = [table(), ErrorShares(np.array([0, 10, 50]), np.ones((2, 7)) / 7, 5)]
    models = [ModelData(label=f"m{n}", data=each) for n, each in enumerate(tables)]
    left, right = figure_of(kind, models, SINGLE_COLUMN).axes
    assert left.get_xlim() == right.get_xlim()
    assert left.get_xlim()[0] < 10
    assert left.get_xlim()[1] == 10_000


def test_saved_results_do_not_do():
    with pytest.raises(NotApplicable, match="give the predictions"):
        FIGURES["error_shares"].data(Source(result={}))
