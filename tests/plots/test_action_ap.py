"""Action AP of verbs: the data of the figure, and what is on the axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.figures import SIZES, complaints
from support.scenes import BICYCLE, CAR, HOLD, PERSON, RIDE, WASH, image, scenes

from diaghoi import InputError, diagnose, plots, simulate
from diaghoi.plots import notes_of
from diaghoi.plots.figures.action_ap import ActionAP, action_ap, action_ap_table, shown_verbs

FEW = [ActionAP("ride", 10, 50.0), ActionAP("hold", 30, 80.0), ActionAP("wash", 20, None)]
AP = (("a", 20.0), ("b", 20.5), ("c", 30.0))
LONG = " with a label of $x_1$ that is long"


def test_table_of_a_hand_made_case() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9)), (CAR, (50, 0, 89, 9))]
    truth = scenes(
        [image("a.jpg", boxes, [(0, 1, RIDE), (0, 1, HOLD), (0, 2, WASH)])], scored=False
    )
    # Riding is found, holding is not named, and nothing reaches the car.
    found = scenes([image("a.jpg", boxes, [(0, 1, RIDE, 0.5)])], scored=True)
    assert action_ap_table(diagnose(truth, found)) == [
        ActionAP("hold", 1, 0.0),
        ActionAP("ride", 1, 100.0),
        ActionAP("wash", 1, None),
    ]


def test_table_has_the_mean_of_the_report(sources: list[plots.Source]) -> None:
    diagnosis = sources[1].diagnosis
    assert diagnosis is not None
    rows = action_ap_table(diagnosis)
    known = [row.ap for row in rows if row.ap is not None]
    assert np.mean(known) == pytest.approx(100 * diagnosis.actions["map"])
    assert sum(row.annotated for row in rows) == diagnosis.counts["annotated_triplets"]
    assert "no interaction" not in [row.verb for row in rows]
    assert "sit on" in [row.verb for row in rows]


def test_no_table_without_action_scores() -> None:
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", boxes, [(0, 1, RIDE, 0.5)])], scored=True)
    with pytest.raises(plots.NotApplicable, match="the predictions have no action scores"):
        action_ap_table(diagnose(truth, replace(found, triplet_action_score=None)))


def test_the_most_annotated_verbs_are_shown_the_best_on_top() -> None:
    rows = [ActionAP("a", 5, 10.0), ActionAP("b", 9, 20.0), ActionAP("c", 7, 30.0)]
    assert shown_verbs([rows]) == ["c", "b", "a"]


def test_verbs_are_ordered_by_the_mean_of_the_models() -> None:
    one = [ActionAP("a", 5, 10.0), ActionAP("b", 5, 50.0)]
    other = [ActionAP("a", 5, 95.0), ActionAP("b", 5, 40.0)]
    assert shown_verbs([one, other]) == ["a", "b"]


def test_verbs_without_ap_come_last() -> None:
    assert shown_verbs([FEW]) == ["hold", "ride", "wash"]
    assert shown_verbs([[*FEW, ActionAP("eat", 40, 0.0)]]) == ["hold", "ride", "eat", "wash"]


def test_a_row_a_verb_and_a_dot_a_model() -> None:
    other = [ActionAP("ride", 10, 60.0), ActionAP("hold", 30, 20.0)]
    ax = action_ap({"a": FEW, "b": other})
    rows = [text.get_text() for text in ax.get_yticklabels()]
    assert rows == ["ride (10)", "hold (30)", "wash (20)"]
    first, second = ax.get_lines()
    assert sorted(first.get_xydata().tolist()) == [[50, 0], [80, 1]]
    assert sorted(second.get_xydata().tolist()) == [[20, 1], [60, 0]]
    assert first.get_marker() != second.get_marker()
    (spans,) = ax.collections
    assert [segment.tolist() for segment in spans.get_segments()] == [
        [[50, 0], [60, 0]],
        [[20, 1], [80, 1]],
    ]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first row on top


def test_dots_of_equal_models_stand_apart() -> None:
    tables = {name: [ActionAP("hold", 30, 40.0), ActionAP("ride", 10, ap)] for name, ap in AP}
    heights = [line.get_ydata().tolist() for line in action_ap(tables).get_lines()]
    hold, ride = zip(*heights, strict=True)
    assert len(set(hold)) == 3
    assert np.mean(hold) == pytest.approx(0)
    assert max(hold) - min(hold) < 1  # still in their row
    assert len(set(ride[:2])) == 2
    assert ride[2] == 1


def test_v_coco_says_what_is_left_out() -> None:
    truth = simulate.v_coco_annotations(20, np.random.default_rng(0))
    diagnosis = diagnose(truth, simulate.v_coco_detect(truth, np.random.default_rng(1)))
    source = plots.Source(result={}, diagnosis=diagnosis)
    model = plots.ModelData(label="a", data=plots.FIGURES["action_ap"].data(source))
    for figure in (
        action_ap(diagnosis).figure,
        plots.figure_of(plots.FIGURES["action_ap"], [model], 3.25),
    ):
        text = " ".join(notes_of(figure))
        assert "Wrong actions with an object box are left out: the published rule" in text
    (note,) = notes_of(action_ap({"a": FEW}).figure)
    assert "associations" not in note


def test_the_numbers_in_brackets_are_explained(models_of: Any) -> None:
    study = plots.figure_of(
        plots.FIGURES["action_ap"],
        models_of(plots.FIGURES["action_ap"], 2, LONG),
        plots.SINGLE_COLUMN,
    )
    for figure in (action_ap({"a": FEW}).figure, study):
        assert "In brackets: annotated triplets of the verb." in notes_of(figure)


def test_verbs_that_have_no_ap_anywhere() -> None:
    ax = action_ap({"a": [ActionAP("wash", 20, None)]})
    ax.figure.draw_without_rendering()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["wash (20)"]


def test_axes_that_are_given_are_used() -> None:
    given = Figure(layout="constrained").add_subplot()
    assert action_ap({"a": FEW}, given) is given
    assert [text.get_text() for text in given.get_legend().get_texts()] == ["a"]


@pytest.mark.parametrize(("width", "number"), SIZES)
def test_the_figure_can_be_read(width: float, number: int, models_of: Any) -> None:
    figure = plots.figure_of(
        plots.FIGURES["action_ap"], models_of(plots.FIGURES["action_ap"], number, LONG), width
    )
    assert complaints(figure) == []
    assert len(figure.axes[0].get_yticklabels()) == 25
    assert len(figure.axes[0].get_lines()) == number


def test_bad_input() -> None:
    with pytest.raises(InputError, match="models: there is nothing to draw; give at least one"):
        action_ap({})


def test_a_saved_result_is_not_enough(sources: list[plots.Source]) -> None:
    with pytest.raises(plots.NotApplicable, match="a saved result is not enough"):
        plots.FIGURES["action_ap"].data(plots.Source(result=sources[2].result))
