"""The figures of the agreement of people show its figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from diaghoi.plots.figures.answers import agreement_figure
from diaghoi.semantic.tables.agreement import measure_agreement
from diaghoi.semantic.tables.people import HumanRatings

RATINGS = np.array([[0, 4, 2, math.nan], [0, 4, 3, 1], [1, 4, 2, 1]], dtype=float)


@pytest.fixture
def result() -> dict:
    people = HumanRatings(
        annotators=("ann", "bob", "cem"), ratings=RATINGS, metrics={}, highest=4, source="r.csv"
    )
    return measure_agreement(people, np.random.default_rng(0)).to_dict()


def heights(ax) -> list[list[float]]:
    return [[bar.get_height() for bar in bars] for bars in ax.containers]


def test_bars_are_the_counts_of_each_annotator(result) -> None:
    figure = agreement_figure(result)
    assert figure.get_size_inches()[0] == 6.875
    scores, kappa, *majorities = figure.axes
    assert heights(scores) == list(result["distribution"].values())
    assert [text.get_text() for text in scores.get_legend().get_texts()] == ["ann", "bob", "cem"]
    assert len(majorities) == 5
    for level, ax in enumerate(majorities):
        assert heights(ax) == list(result["by_majority"][level].values())
        assert ax.get_title() == f"Majority {level}"
    (image,) = kappa.get_images()
    values = np.asarray(image.get_array())
    assert (np.diag(values) == 1).all()
    assert (values == values.T).all()
    assert values[0, 1] == result["kappa"]["pairs"][0]["value"]


@pytest.mark.slow
def test_counts_of_five_annotators_stay_apart() -> None:
    """As in figure 3 of the supplement: 500 items, five annotators."""
    ratings = np.random.default_rng(0).integers(0, 5, (5, 500)).astype(float)
    people = HumanRatings(
        annotators=("A1", "A2", "A3", "A4", "A5"),
        ratings=ratings,
        metrics={},
        highest=4,
        source="r.csv",
    )
    figure = agreement_figure(measure_agreement(people, np.random.default_rng(0)).to_dict())
    figure.draw_without_rendering()
    panels = [ax for ax in figure.axes if ax.get_title().startswith("Majority")]
    assert len(panels) == 5
    for ax in panels:
        bar = ax.containers[0][0].get_window_extent()
        counts = ax.texts
        assert len(counts) == 25
        # The height of a digit, which is the width of a count as it stands upright.
        digit = 0.73 * counts[0].get_fontsize() * figure.dpi / 72
        assert bar.width > digit
        top = ax.get_window_extent().y1
        assert max(count.get_window_extent().y1 for count in counts) < top + 1
