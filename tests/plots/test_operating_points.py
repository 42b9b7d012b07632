"""Precision, recall, F1 and errors over the score threshold: the data, and what is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.figures import complaints

from diaghoi import InputError, plots
from diaghoi.plots.figures.scores import Thresholds, operating_points, operating_points_table


def result(**changes: object) -> dict:
    """Four predictions at three scores, of two images."""
    curve = {
        "threshold": [0.9, 0.6, 0.1],
        "precision": [1.0, 2 / 3, 0.5],
        "recall": [0.5, 1.0, 1.0],
        "f1": [2 / 3, 0.8, 2 / 3],
        "errors": {"true_positive": [1, 2, 2], "action": [0, 1, 1], "duplicate": [0, 0, 0]},
    }
    best = {"threshold": 0.6, "f1": 0.8}
    found = {"images": 2, "annotated": 2, "best": best, "curve": curve} | changes
    return {"label": "x", "operating_points": found}


@pytest.fixture
def table() -> Thresholds:
    return operating_points_table(result())


def test_table_has_the_errors_that_occur(table: Thresholds) -> None:
    assert {name: each.tolist() for name, each in table.errors.items()} == {"action": [0, 0.5, 0.5]}
    assert table.best == (0.6, 0.8)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"annotated": 0}, "none of the annotated triplets is counted"),
        ({"curve": {"threshold": []}}, "nothing is predicted"),
        ({"images": None}, "x: 'operating_points' cannot be drawn"),
        ({"curve": 1}, "x: 'operating_points' cannot be drawn"),
    ],
)
def test_what_cannot_be_drawn(changes: dict, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        operating_points_table(result(**changes))
    with pytest.raises(plots.NotApplicable, match="the saved result has no operating points"):
        operating_points_table({})


def test_what_is_drawn(table: Thresholds) -> None:
    ax = operating_points(table)
    shares, errors = ax.figure.axes
    assert shares is ax
    lines = [line.get_ydata().tolist() for line in ax.lines[:3]]
    np.testing.assert_allclose(lines, 100 * np.array([table.shares[key] for key in table.shares]))
    assert errors.get_title("left") == "F1 80.0 from 0.6"
    labels = [text.get_text() for text in ax.figure.legends[0].get_texts()]
    assert labels == ["Precision", "Recall", "F1", "Action"]
    assert complaints(ax.figure) == []


def test_into_axes_of_the_user(table: Thresholds) -> None:
    alone = operating_points(table, Figure().add_subplot())
    legend = alone.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()][-1] == "F1 80.0 from 0.6"
    nothing = operating_points(operating_points_table(result(best=None)))
    assert not nothing.figure.axes[1].get_title("left")


@pytest.mark.parametrize("models", [1, 2, 6])
@pytest.mark.parametrize("width", [plots.SINGLE_COLUMN, plots.DOUBLE_COLUMN])
def test_figure(models_of, models: int, width: float) -> None:
    figure = plots.figure_of(
        plots.FIGURES["operating_points"],
        models_of(plots.FIGURES["operating_points"], models),
        width,
    )
    assert len(figure.axes) == 2 * models
    assert complaints(figure) == []
