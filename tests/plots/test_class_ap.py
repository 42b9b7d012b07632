"""AP of classes against their annotations: the data of the figure, and what is on the axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from support.figures import complaints
from support.scenes import BICYCLE, PERSON, RIDE, image, scenes

from diaghoi import InputError, diagnose, plots, protocol
from diaghoi.data.protocol import Group
from diaghoi.plots.figures.average_precision import (
    CLASS_AP,
    ClassAP,
    class_ap,
    class_ap_table,
    running_median,
)

ROWS = [
    ClassAP("ride bicycle", 100, 40.0, "non_rare"),
    ClassAP("hold bicycle", 10, 30.0, "non_rare"),
    ClassAP("wash bicycle", 1, 0.0, "rare"),
]
LONG = " with a label of $x_1$ that is long"


def titles(legend: Any) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]


# Data


def test_table_holds_all_annotated_classes(sources: list[plots.Source]) -> None:
    diagnosis = sources[1].diagnosis
    assert diagnosis is not None
    rows = class_ap_table(diagnosis)
    assert np.mean([row.ap for row in rows]) == pytest.approx(100 * diagnosis.mean_ap["full"])
    rare = [row.ap for row in rows if row.split == "rare"]
    assert np.mean(rare) == pytest.approx(100 * diagnosis.mean_ap["rare"])
    assert {row.split for row in rows} == {"rare", "non_rare"}
    assert sum(row.annotated for row in rows) == diagnosis.counts["annotated_triplets"]


def test_table_of_a_hand_made_case() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", boxes, [(0, 1, RIDE, 0.5)])], scored=True)
    assert class_ap_table(diagnose(truth, found)) == [ClassAP("ride bicycle", 1, 100.0, "non_rare")]


def test_a_class_of_several_groups_belongs_to_the_first() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", boxes, [(0, 1, RIDE, 0.5)])], scored=True)
    hoi = truth.triplet_class[0]
    choices = protocol("hico-det-520", groups=(Group("unseen", (hoi,)),))
    assert class_ap_table(diagnose(truth, found, choices))[0].split == "non_rare"


def test_running_median_of_neighbours() -> None:
    rows = [ClassAP("", number, ap, "") for number in (10, 100) for ap in (10.0, 20.0, 30.0, 0, 90)]
    annotated, ap = running_median(rows)
    # Between the two numbers there are no classes.
    assert (annotated.tolist(), ap.tolist()) == ([10, 100], [20, 20])
    near = [ClassAP("", 15, ap, "") for ap in (0.0, 0.0, 0.0)]
    annotated, ap = running_median([*rows, *near])
    assert (annotated.tolist(), ap.tolist()) == ([10, 15, 100], [5, 5, 20])


def test_no_running_median_of_few_classes() -> None:
    annotated, ap = running_median(ROWS)
    assert len(annotated) == len(ap) == 0


# Axes


def test_dots_of_each_group_and_the_median() -> None:
    ax = class_ap([*ROWS, *[ClassAP("", 1, ap, "rare") for ap in (1.0, 2.0, 3.0, 4.0)]])
    other, rare, median = ax.get_lines()
    assert other.get_xydata().tolist() == [[100, 40], [10, 30]]
    assert rare.get_xydata().tolist()[0] == [1, 0]
    assert other.get_marker() != rare.get_marker()
    assert (other.get_linestyle(), rare.get_linestyle()) == ("None", "None")
    assert set(median.get_ydata()) == {2}
    assert ax.get_xscale() == "log"
    assert ax.get_ylim() == (0, 100)


def test_legend_names_the_groups_that_occur() -> None:
    shown = titles(class_ap(ROWS).figure.legends[0])
    assert shown == ["Non-rare classes", "Rare classes", "Running median"]
    shown = titles(class_ap([ClassAP("", 3, 1.0, "zero_shot"), ROWS[2]]).figure.legends[0])
    assert shown == ["Rare classes", "Zero-shot classes", "Running median"]
    shown = titles(class_ap([ClassAP("", 3, 1.0, "wheels")]).figure.legends[0])
    assert shown == ["wheels", "Running median"]
    shown = titles(class_ap([ClassAP("", 3, 1.0, "")]).figure.legends[0])
    assert shown == ["Classes", "Running median"]


def test_groups_keep_their_colours_whatever_else_is_there() -> None:
    alone = class_ap([ROWS[2]]).get_lines()[0]
    beside = class_ap(ROWS).get_lines()[1]
    assert to_hex(alone.get_color()) == to_hex(beside.get_color())
    many = class_ap([ClassAP("", 3, 1.0, f"group {number}") for number in range(8)])
    assert len(many.get_lines()) == 9


def test_axes_that_are_given_are_used() -> None:
    given = Figure(layout="constrained").add_subplot()
    assert class_ap(ROWS, given) is given
    assert given.get_legend() is not None


@pytest.mark.slow
@pytest.mark.parametrize("width", [plots.SINGLE_COLUMN, plots.DOUBLE_COLUMN])
@pytest.mark.parametrize("number", [1, 2, 3, 12])
def test_the_figure_can_be_read(width: float, number: int, models_of: Any) -> None:
    figure = plots.figure_of(CLASS_AP, models_of(CLASS_AP, number, LONG), width)
    assert complaints(figure) == []
    assert len(figure.axes) == number
    # Two groups, the median, and those of all other models in grey.
    assert {len(ax.get_lines()) for ax in figure.axes} == {number + 2}


def test_one_model_has_no_others_in_its_legend(models_of: Any) -> None:
    one, two = (
        plots.figure_of(CLASS_AP, models_of(CLASS_AP, number), plots.SINGLE_COLUMN)
        for number in (1, 2)
    )
    assert titles(two.legends[0]) == [*titles(one.legends[0]), "Medians of other models"]


def test_no_figure_without_annotations_that_count(sources: list[plots.Source]) -> None:
    source = sources[0]
    assert source.diagnosis is not None
    ledger = source.diagnosis.ledger
    nothing = replace(ledger, annotation_counts=np.zeros_like(ledger.annotation_counts))
    empty = replace(source, diagnosis=replace(source.diagnosis, ledger=nothing))
    with pytest.raises(plots.NotApplicable, match="no class has annotations"):
        CLASS_AP.data(empty)


def test_bad_input(sources: list[plots.Source]) -> None:
    with pytest.raises(InputError, match="diagnosis: there is nothing to draw; give at least"):
        class_ap([])
    with pytest.raises(plots.NotApplicable, match="a saved result is not enough"):
        CLASS_AP.data(plots.Source(result=sources[0].result))
