"""Pair recall against the number of pairs: its data, and what is on the axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.figures import SIZES, complaints
from support.scenes import BICYCLE, PERSON, RIDE, image, scenes

from diaghoi import InputError, diagnose, plots, protocol
from diaghoi.diagnosis.curves import DETECTION_THRESHOLDS, NMS_OVERLAPS
from diaghoi.plots import notes_of
from diaghoi.plots.figure import source_of
from diaghoi.plots.figures.pairs import KeptPairs, pair_recall, pair_recall_table

ROWS = [
    KeptPairs("best", None, 60.0, 80.0),
    KeptPairs("best", 10, 10.0, 60.0),
    KeptPairs("best", 1, 1.0, 30.0),
    KeptPairs("nms", None, 60.0, 80.0),
    KeptPairs("nms", 0.5, 20.0, 70.0),
]
LONG = " with a label of $x_1$ that is long"


def points(ax: Any) -> list[list[tuple[float, float]]]:
    """The points of each line with dashes or without; single marks are left out."""
    return [
        [(float(x), float(y)) for x, y in line.get_xydata()]
        for line in ax.get_lines()
        if line.get_linestyle() != "None"
    ]


def numbers(ax: Any) -> list[str]:
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    return [t.get_text() for t in ax.get_xticklabels() if low <= t.get_position()[0] <= high]


# Data


def test_table_holds_each_sweep_from_all_pairs_to_few(sources: list[plots.Source]) -> None:
    source = sources[0]
    rows = plots.FIGURES["pair_recall"].data(source)
    assert [row.setting for row in rows if row.sweep == "nms"] == [None, *NMS_OVERLAPS]
    thresholds = [row.setting for row in rows if row.sweep == "detection"]
    assert thresholds == [None, *DETECTION_THRESHOLDS][: len(thresholds)]
    pairs = source.result["pairs"]
    for sweep in ("best", "detection", "nms"):
        first = next(row for row in rows if row.sweep == sweep)
        assert first[1:] == (None, pairs["per_image"], 100 * pairs["recall"])


def test_settings_that_leave_no_pair_are_left_out() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE)])], scored=False)
    found = scenes(
        [image("a.jpg", boxes, [(0, 1, RIDE, 0.5)], [(0, 1, 0.5)])],
        scored=True,
        box_score=np.array([0.35, 0.9]),
    )
    rows = pair_recall_table(truth, found, protocol("hico-det-520"))
    assert [row.setting for row in rows if row.sweep == "detection"] == [None, 0.05, 0.1, 0.2, 0.3]


def test_no_table_without_pairs() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", boxes, [])], scored=True)
    with pytest.raises(plots.NotApplicable, match="no annotated or no predicted pair"):
        pair_recall_table(truth, found, protocol("hico-det-520"))


# Axes


def test_lines_hold_the_points_of_a_sweep() -> None:
    ax = pair_recall({"a": ROWS, "b": ROWS[:3]}, sweep="nms")
    assert points(ax) == [[(60, 80), (20, 70)], []]
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "Pairs per image"
    assert ax.get_ylabel() == "Pair recall (%)"


def test_a_large_mark_stands_at_all_pairs() -> None:
    ax = pair_recall({"a": ROWS})
    line, mark = ax.get_lines()
    assert [tuple(point) for point in mark.get_xydata()] == [(60, 80)]
    assert mark.get_markersize() > line.get_markersize()


def test_legend_names_models_and_sweep() -> None:
    legend = pair_recall({"a": ROWS, "b": ROWS}, sweep="nms").figure.legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b", "large marks: all pairs"]
    assert legend.get_title().get_text() == "Pair NMS at overlap 0.9–0.3"


def test_the_end_below_a_pair_an_image_is_not_drawn() -> None:
    few = [*ROWS[:3], KeptPairs("best", 0.5, 0.5, 10.0)]
    assert points(pair_recall({"a": few}))[0][-1] == (1, 30)
    fewer = [KeptPairs("best", None, 0.5, 50.0), KeptPairs("best", 1, 0.3, 20.0)]
    assert points(pair_recall({"a": fewer})) == [[(0.5, 50)]]


@pytest.mark.parametrize(
    ("most", "least", "expected"),
    [
        (60, 1, ["1", "3", "10", "30"]),
        (60, 8, ["10", "20", "50"]),
        (64, 22, ["30", "40", "50", "60"]),
        (13.6, 7.8, ["8", "10", "12"]),
        (64, 61, ["61", "62", "63", "64"]),
    ],
)
def test_the_scale_has_round_numbers(most: float, least: float, expected: list[str]) -> None:
    rows = [KeptPairs("best", None, most, 80.0), KeptPairs("best", 1, least, 30.0)]
    assert numbers(pair_recall({"a": rows})) == expected


def test_axes_that_are_given_are_used() -> None:
    given = Figure(layout="constrained").add_subplot()
    assert pair_recall({"a": ROWS}, ax=given) is given
    assert given.get_legend() is not None


@pytest.mark.parametrize(("width", "number"), SIZES)
def test_the_figure_can_be_read(width: float, number: int, models_of: Any) -> None:
    figure = plots.figure_of(
        plots.FIGURES["pair_recall"], models_of(plots.FIGURES["pair_recall"], number, LONG), width
    )
    assert complaints(figure) == []
    assert [len(points(ax)) for ax in figure.axes] == [number] * 3


@pytest.mark.parametrize("width", [plots.SINGLE_COLUMN, plots.DOUBLE_COLUMN])
def test_each_panel_is_as_wide_as_its_lines(width: float, models_of: Any) -> None:
    """Suppression never leaves as few pairs as the best ones do, and would lie in a corner."""
    figure = plots.figure_of(
        plots.FIGURES["pair_recall"], models_of(plots.FIGURES["pair_recall"], 2), width
    )
    for ax in figure.axes:
        low, high = np.log(ax.get_xlim())
        pairs = np.log([x for line in points(ax) for x, _ in line])
        assert pairs.max() - pairs.min() > 0.8 * (high - low)


def test_sweeps_that_no_model_has_take_no_panel() -> None:
    data = [plots.ModelData(label="a", data=ROWS)]
    figure = plots.figure_of(plots.FIGURES["pair_recall"], data, plots.DOUBLE_COLUMN)
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles == ["Best pairs of each image", "Pair NMS at overlap 0.9–0.3"]
    (note,) = notes_of(figure)
    assert note == (
        "Detection threshold 0.05–0.9: not drawn, the predictions have no detection scores."
    )
    assert plots.FIGURES["pair_recall"].title_of(data) == (
        "Pair recall when fewer pairs are kept: the best ones, those after pair NMS at 0.9–0.3"
    )


def test_models_without_a_sweep_are_named() -> None:
    detected = [*ROWS, KeptPairs("detection", None, 60.0, 80.0)]
    data = [plots.ModelData(label="a", data=detected), plots.ModelData(label="b", data=ROWS)]
    figure = plots.figure_of(plots.FIGURES["pair_recall"], data, plots.DOUBLE_COLUMN)
    assert len(figure.axes) == 3
    assert "the best ones, those above a detection threshold" in plots.FIGURES[
        "pair_recall"
    ].title_of(data)
    (note,) = notes_of(figure)
    assert note.endswith("not drawn, the predictions of b have no detection scores.")


# Bad input


def test_a_saved_result_is_not_enough(sources: list[plots.Source]) -> None:
    with pytest.raises(plots.NotApplicable, match="a saved result is not enough"):
        plots.FIGURES["pair_recall"].data(plots.Source(result=sources[2].result))
    diagnosis = sources[2].diagnosis
    assert diagnosis is not None
    with pytest.raises(plots.NotApplicable, match="the figure needs the predictions themselves"):
        pair_recall(replace(diagnosis, scenes=()))


def test_bad_input() -> None:
    with pytest.raises(InputError, match="models: there is nothing to draw; give at least one"):
        pair_recall({})
    with pytest.raises(InputError) as caught:
        pair_recall({"a": ROWS}, sweep="mns")
    assert str(caught.value) == (
        "sweep: 'mns' is not known (did you mean 'nms'?); give one of best, detection, nms"
    )


def test_the_protocol_is_that_of_the_diagnosis(sources: list[plots.Source]) -> None:
    source = sources[0]
    assert source.diagnosis is not None
    strict = diagnose(*source.diagnosis.scenes[0], protocol("hico-det-520", iou=0.75))
    rows = plots.FIGURES["pair_recall"].data(source_of(strict))
    assert rows[0].recall == 100 * strict.pairs["recall"]
    assert rows[0].recall < plots.FIGURES["pair_recall"].data(source)[0].recall
