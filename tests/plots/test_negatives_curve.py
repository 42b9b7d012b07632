"""Rejecting pairs that do not interact: the data of the figure, and what is on the axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.figures import SIZES, complaints
from support.scenes import BICYCLE, PERSON, RIDE, image, scenes

from diaghoi import InputError, diagnose, plots
from diaghoi.diagnosis.curves import Curve
from diaghoi.plots.figures.pairs import NegativesCurve, negatives_curve, negatives_curve_table

CURVE = Curve(recall=np.array([0.5, 1.0]), precision=np.array([1.0, 0.9]))
ROW = NegativesCurve(curve=CURVE, ap=0.95, chance=0.9)
LONG = " with a label of $x_1$ that is long"


def test_table_holds_the_ap_of_the_report(sources: list[plots.Source]) -> None:
    diagnosis = sources[1].diagnosis
    assert diagnosis is not None
    row = negatives_curve_table(diagnosis)
    assert row.ap == diagnosis.negatives["ap"]
    pairs = diagnosis.negative_pairs
    assert row.chance == pytest.approx(pairs.negative.mean())
    assert row.curve.recall[-1] == 1
    assert row.curve.precision[-1] >= row.chance


def test_many_pairs_make_a_line_of_few_points(sources: list[plots.Source]) -> None:
    diagnosis = sources[0].diagnosis
    assert diagnosis is not None
    assert diagnosis.negatives["negatives"] > 1000
    assert len(negatives_curve_table(diagnosis).curve.recall) == 500


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([(0, 1, 0.9)], "no pair is negative, so no pair can be rejected"),
        ([], "no pair is negative, so no pair can be rejected"),
        (None, "no pair has a score, so no pair can be rejected"),
    ],
)
def test_no_table_where_the_ap_is_undefined(
    pairs: list[tuple[int, int, float]], reason: str
) -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9)), (BICYCLE, (50, 0, 59, 9))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE)])], scored=False)
    triplets = [(0, 1, RIDE, 0.5)] if pairs else [(0, 1, RIDE, 0.5), (0, 2, RIDE, 0.4)]
    found = scenes([image("a.jpg", boxes, triplets, pairs)], scored=True)
    if pairs is None:
        found = replace(found, triplet_action_score=None)
    with pytest.raises(plots.NotApplicable) as caught:
        negatives_curve_table(diagnose(truth, found))
    assert str(caught.value) == reason


def test_a_line_and_its_end_for_each_model() -> None:
    ax = negatives_curve({"a": ROW, "b": ROW})
    line, mark, *others = ax.get_lines()
    assert line.get_xydata().tolist() == [[0, 100], [50, 100], [100, 90]]
    assert line.get_drawstyle() == "steps-pre"
    assert mark.get_xydata().tolist() == [[100, 90]]
    assert len(others) == 2
    assert line.get_color() != others[0].get_color()


def test_negatives_are_named_for_what_they_are() -> None:
    assert (
        negatives_curve({"a": ROW}).get_xlabel()
        == "Recall of pairs that match no annotated pair (%)"
    )


def test_a_perfect_detector_ends_on_top() -> None:
    perfect = Curve(recall=np.array([0.5, 1.0]), precision=np.array([1.0, 1.0]))
    ax = negatives_curve({"a": NegativesCurve(curve=perfect, ap=1.0, chance=0.5)})
    assert ax.get_lines()[1].get_xydata().tolist() == [[100, 100]]
    ax.figure.draw_without_rendering()


def test_legend_gives_ap_and_share() -> None:
    legend = negatives_curve({"a": ROW, "b": ROW}).figure.legends[0]
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["a 95.00 / 90.00", "b 95.00 / 90.00"]
    assert legend.get_title().get_text() == "AP / share of such pairs (%)"


def test_long_labels_leave_the_figures_in_the_legend() -> None:
    names = [f"detector {'x' * 90} {number}" for number in range(2)]
    legend = negatives_curve(dict.fromkeys(names, ROW)).figure.legends[0]
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[0].endswith("x 0 95.00 / 90.00")
    assert labels[1].endswith("x 1 95.00 / 90.00")
    assert all(label.startswith("detector x") and "…" in label for label in labels)


@pytest.mark.parametrize(
    ("lowest", "bottom"), [(0.9, 88.8), (0.9999, 99.0), (0.5, 44.0), (0.05, 0.0)]
)
def test_the_scale_shows_the_lowest_line_but_no_noise(lowest: float, bottom: float) -> None:
    curve = Curve(recall=np.array([1.0]), precision=np.array([lowest]))
    ax = negatives_curve({"a": NegativesCurve(curve=curve, ap=lowest, chance=lowest)})
    assert ax.get_ylim()[0] == pytest.approx(bottom)


def test_axes_that_are_given_are_used() -> None:
    given = Figure(layout="constrained").add_subplot()
    assert negatives_curve({"a": ROW}, given) is given
    assert given.get_legend() is not None


@pytest.mark.parametrize(("width", "number"), SIZES)
def test_the_figure_can_be_read(width: float, number: int, models_of: Any) -> None:
    figure = plots.figure_of(
        plots.FIGURES["negatives_curve"],
        models_of(plots.FIGURES["negatives_curve"], number, LONG),
        width,
    )
    assert complaints(figure) == []


def test_models_of_other_protocols_are_marked() -> None:
    data = [
        plots.ModelData(label="a", data=ROW, protocol="hico-det"),
        plots.ModelData(label="b", data=ROW, protocol="upt"),
    ]
    legend = plots.figure_of(plots.FIGURES["negatives_curve"], data, plots.SINGLE_COLUMN).legends[0]
    assert legend.get_texts()[1].get_text() == "b (upt) 95.00 / 90.00"


def test_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="models: there is nothing to draw; give at least one"):
        negatives_curve({})


def test_a_saved_result_is_not_enough(sources: list[plots.Source]) -> None:
    with pytest.raises(plots.NotApplicable, match="a saved result is not enough"):
        plots.FIGURES["negatives_curve"].data(plots.Source(result=sources[2].result))
