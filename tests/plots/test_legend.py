"""Legends above figures."""

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from diaghoi.plots import SINGLE_COLUMN
from diaghoi.plots.panels import bar_legend, legend_above


@pytest.fixture
def figure():
    return Figure(figsize=(SINGLE_COLUMN, 2), layout="constrained")


def test_as_many_columns_as_fit(figure):
    assert legend_above(figure, [Patch(label=name) for name in "abcdef"]) == 1
    assert legend_above(figure, [Patch(label=f"{name} {'x' * 18}") for name in "abcdef"]) == 3


def test_figures_grow_by_further_lines(figure):
    legend_above(figure, [Patch(label="a")])
    assert figure.get_figheight() == 2
    legend_above(figure, [Patch(label=f"{name} {'x' * 60}") for name in "abc"])
    assert figure.get_figheight() == 2.25
    legend_above(figure, [Patch(label="a")], "title")
    assert figure.get_figheight() == 2.375


def test_labels_are_no_mathematics(figure):
    legend_above(figure, [Patch(label="$a_b$")])
    assert not figure.legends[0].get_texts()[0].get_parse_math()


def test_few_models_have_hatches_many_have_colours(figure):
    bar_legend(figure, ["a", "b"])
    bar_legend(figure, list("abcdefghij"), "Two-stage")
    few, many = figure.legends
    assert [text.get_text() for text in few.get_texts()] == ["a", "b"]
    assert [patch.get_hatch() for patch in few.get_patches()] == [None, "////"]
    assert few.get_title().get_text() == ""
    assert [text.get_text() for text in many.get_texts()] == list("abcdefghij")
    assert many.get_title().get_text() == "Two-stage"
    assert len({patch.get_facecolor() for patch in many.get_patches()}) == 10
    assert len({patch.get_hatch() for patch in many.get_patches()}) == 10


def test_one_model_needs_no_mark(figure):
    bar_legend(figure, ["a"])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a"]
    assert not legend.get_patches()[0].get_visible()
