"""Panels of several models: how many stand in a row, and what is written beside them."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure
from support.figures import complaints

from diaghoi.plots import DOUBLE_COLUMN, SINGLE_COLUMN, paper
from diaghoi.plots.panels import one_panel, panel_grid

LABELS = ("Recall (%)", "Precision (%)")


def grid(number: int, width: float, labels: tuple[str, str] = LABELS) -> list[tuple[str, str, str]]:
    """Title and labels of each panel."""
    with paper():
        figure = Figure(figsize=(width, 2.0), layout="constrained")
        panels = panel_grid(figure, [f"m{n}" for n in range(number)], labels, 1.0)
    assert complaints(figure) == []
    assert len(figure.axes) == number
    return [(ax.get_title("left"), ax.get_xlabel(), ax.get_ylabel()) for ax in panels]


@pytest.mark.parametrize(
    ("width", "number", "rows"),
    [
        (SINGLE_COLUMN, 1, 1),
        (SINGLE_COLUMN, 2, 1),
        (SINGLE_COLUMN, 3, 2),
        (SINGLE_COLUMN, 12, 6),
        (DOUBLE_COLUMN, 4, 1),
        (DOUBLE_COLUMN, 5, 2),
        (DOUBLE_COLUMN, 12, 3),
    ],
)
def test_a_figure_grows_by_rows(width: float, number: int, rows: int) -> None:
    figure = Figure(figsize=(width, 2.0))
    panels = panel_grid(figure, [""] * number, LABELS, 1.5)
    assert panels[0].get_gridspec().nrows == rows
    assert figure.get_figheight() == min(2.0 + 1.5 * (rows - 1), 8.3)  # as a page has room for


def test_rows_are_filled_evenly() -> None:
    figure = Figure(figsize=(DOUBLE_COLUMN, 2.0))
    assert panel_grid(figure, [""] * 5, LABELS, 1.5)[0].get_gridspec().ncols == 3


def test_labels_stand_left_and_at_the_bottom_of_each_column() -> None:
    x, y = LABELS
    assert grid(3, SINGLE_COLUMN) == [("m0", "", y), ("m1", x, ""), ("m2", x, y)]


def test_a_label_wider_than_a_panel_stands_once() -> None:
    x, y = "A label that is wider than the panels are", "Precision (%)"
    shown = grid(3, DOUBLE_COLUMN / 1.5, (x, y))
    assert [label for _, label, _ in shown] == ["", x, ""]


@pytest.mark.slow
@pytest.mark.parametrize("width", [SINGLE_COLUMN, DOUBLE_COLUMN])
@pytest.mark.parametrize("number", [1, 2, 4, 12])
def test_long_titles_are_set_smaller_and_shortened(width: float, number: int) -> None:
    titles = [f"detector {'x' * 60} {n}" for n in range(number)]
    with paper():
        figure = Figure(figsize=(width, 2.0), layout="constrained")
        panels = panel_grid(figure, titles, LABELS, 1.0)
    assert complaints(figure) == []
    last = panels[-1].get_title("left")
    assert last.startswith("detector")
    assert last.endswith(f" {number - 1}")
    assert panels[-1].title.get_fontsize() <= 8
    assert panels[-1]._left_title.get_fontsize() in (6, 7)


def test_titles_are_no_formulas() -> None:
    with paper():
        figure = Figure(figsize=(SINGLE_COLUMN, 2.0), layout="constrained")
        (ax,) = panel_grid(figure, ["a $\\nothing$"], LABELS, 1.0)
    figure.draw_without_rendering()
    assert ax.get_title("left") == "a $\\nothing$"


def test_one_panel_of_its_own_can_grow() -> None:
    ax, target = one_panel(None, 1.25)
    assert target is ax.get_figure()
    assert tuple(ax.get_figure().get_size_inches()) == (SINGLE_COLUMN, 1.25)


def test_axes_that_are_given_keep_their_figure() -> None:
    given = Figure().add_subplot()
    assert one_panel(given, 1.25) == (given, given)
