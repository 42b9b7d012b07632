"""One class before and after each oracle: the data of the figure, and what is on the axes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from support.figures import complaints
from support.scenes import BICYCLE, EAT, HOLD, PERSON, RIDE, image, scenes

from diaghoi import ORACLES, Diagnosis, diagnose, plots
from diaghoi.diagnosis.curves import Curve
from diaghoi.plots import notes_of
from diaghoi.plots.figure import drawn
from diaghoi.plots.figures.oracle_curve import (
    ClassCurves,
    RepairedCurve,
    candidates,
    most_costly,
    oracle_curve_table,
)
from diaghoi.plots.style import colour

LONG = " with a label of $x_1$ that is long"
TITLES = [oracle.title for oracle in ORACLES.values()]


def line(oracle: str | None, delta: float | None = 0.0, ap: float | None = 50.0) -> RepairedCurve:
    curve = Curve(recall=np.array([0.5, 0.8]), precision=np.array([1.0, 0.4]))
    return RepairedCurve(oracle, curve, ap, delta)


def curves(annotated: int = 30, **deltas: float | None) -> ClassCurves:
    lines = [line(None), *(line(oracle, deltas.get(oracle, 0.0)) for oracle in ORACLES)]
    return ClassCurves("ride bicycle", annotated, lines)


def draw(shown: ClassCurves, ax: Any = None) -> Any:
    return drawn(plots.FIGURES["oracle_curve"], {1: shown}, ax)


def titles(legend: Any) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]


@pytest.fixture(scope="module")
def small() -> Diagnosis:
    """Riding is found below a duplicate-free false positive, holding is missed."""
    boxes = [(PERSON, (0, 0, 9, 9)), (BICYCLE, (10, 0, 19, 9)), (BICYCLE, (50, 0, 59, 9))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE), (0, 1, HOLD)])], scored=False)
    boxes[2] = (BICYCLE, (500, 0, 509, 9))
    found = [(0, 2, RIDE, 0.9), (0, 1, RIDE, 0.5)]
    return diagnose(truth, scenes([image("a.jpg", boxes, found)], scored=True))


def class_of(diagnosis: Diagnosis, verb: int) -> int:
    return int(diagnosis.vocabulary.class_of[BICYCLE, verb])


# Data


def test_table_of_a_hand_made_case(small: Diagnosis) -> None:
    hoi = class_of(small, RIDE)
    table = oracle_curve_table(small, [hoi])[hoi]
    assert (table.name, table.annotated) == ("ride bicycle", 1)
    assert [one.oracle for one in table.curves] == [None, *ORACLES]
    by_oracle = {one.oracle: one for one in table.curves}
    before = by_oracle[None]
    assert before.curve.recall.tolist() == [1]
    assert before.curve.precision.tolist() == [0.5]
    assert (before.ap, before.delta) == (50, 0)
    assert (by_oracle["object_box"].ap, by_oracle["object_box"].delta) == (100, 50)
    assert by_oracle["object_box"].curve.precision.tolist() == [1]
    assert by_oracle["human_box"].delta == 0
    assert table.gain == 50  # false positives are the same error once more


def test_oracles_that_leave_no_annotation_have_no_ap(small: Diagnosis) -> None:
    hoi = class_of(small, HOLD)
    by_oracle = {one.oracle: one for one in oracle_curve_table(small, [hoi])[hoi].curves}
    assert by_oracle[None].ap == 0
    missed = by_oracle["missed_gt"]
    assert (missed.ap, missed.delta) == (None, None)
    assert not len(missed.curve.recall)


def test_table_has_the_figures_of_the_diagnosis(sources: list[plots.Source]) -> None:
    diagnosis = sources[1].diagnosis
    assert diagnosis is not None
    classes = np.flatnonzero(diagnosis.ledger.positives >= 3).tolist()
    table = oracle_curve_table(diagnosis, classes)
    columns = diagnosis.classes
    for hoi in classes:
        row = columns["class"].tolist().index(hoi + 1)
        for one in table[hoi].curves[1:]:
            delta = columns[f"delta_{one.oracle}"][row]
            assert (one.delta is None) == np.isnan(delta)
            assert one.delta is None or one.delta == pytest.approx(100 * delta)


def test_a_class_has_twenty_annotations_or_the_most(
    sources: list[plots.Source], small: Diagnosis
) -> None:
    diagnosis = sources[0].diagnosis
    assert diagnosis is not None
    ledger = diagnosis.ledger
    positives = ledger.positives
    assert positives.max() < 20
    assert candidates(diagnosis) == np.flatnonzero(positives == positives.max()).tolist()
    common = int(positives.argmax())
    more = np.append(ledger.annotation_class, [common] * 20)
    counts = np.ones(len(more), dtype=bool)
    grown = replace(ledger, annotation_class=more, annotation_counts=counts)
    assert candidates(replace(diagnosis, ledger=grown)) == [common]
    assert candidates(small) == sorted([class_of(small, RIDE), class_of(small, HOLD)])


def test_the_class_that_costs_most_over_all_models_is_shown() -> None:
    one = {1: curves(action=5.0), 2: curves(action=9.0), 3: curves(action=99.0)}
    other = {1: curves(action=9.0, duplicate=3.0), 2: curves(action=-1.0)}
    assert most_costly([one]) == 3
    assert most_costly([one, other]) == 1


def test_totals_do_not_decide_which_class_is_shown() -> None:
    assert most_costly([{1: curves(false_positive=90.0), 2: curves(action=1.0)}]) == 2


def test_no_class_to_show() -> None:
    with pytest.raises(plots.NotApplicable, match="there is no class with annotations"):
        most_costly([{1: curves()}, {}])


def test_the_class_that_is_asked_for(sources: list[plots.Source]) -> None:
    diagnosis = sources[0].diagnosis
    assert diagnosis is not None
    hoi = int(diagnosis.ledger.positives.argmax())
    assert list(plots.FIGURES["oracle_curve"].data(replace(sources[0], hoi=hoi))) == [hoi]
    absent = int(np.flatnonzero(diagnosis.ledger.positives == 0)[0])
    name = diagnosis.vocabulary.class_name(absent)
    with pytest.raises(plots.NotApplicable, match=f"no triplet of '{name}' counts"):
        plots.FIGURES["oracle_curve"].data(replace(sources[0], hoi=absent))


# Axes


def test_the_lines_and_their_colours() -> None:
    ax = draw(curves())
    *oracles, before = ax.get_lines()
    assert before.get_xydata().tolist() == [[0, 100], [50, 100], [80, 40]]
    assert before.get_drawstyle() == "steps-pre"
    assert to_rgb(before.get_color()) == (0, 0, 0)
    assert [to_rgb(one.get_color()) for one in oracles] == [colour(name) for name in ORACLES]
    dashes = [one._unscaled_dash_pattern for one in oracles]
    assert all(a != b for a, b in pairwise(dashes))  # told apart in grey print
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Recall (%)", "Precision (%)")
    assert "AP 50.0" in [text.get_text() for text in ax.texts]


def test_lines_without_points_are_empty() -> None:
    nothing = Curve(recall=np.zeros(0), precision=np.zeros(0))
    ax = draw(ClassCurves("x", 3, [RepairedCurve(None, nothing, None, None)]))
    assert ax.get_lines()[0].get_xydata().tolist() == []
    assert not ax.texts


def test_legend_says_what_each_oracle_gains() -> None:
    legend = draw(curves(action=7.31, missed_gt=-0.24, human_box=None)).figure.legends[0]
    assert legend.get_title().get_text() == "ride bicycle (30 annotated)"
    shown = titles(legend)
    assert shown[0] == "Before"
    assert {"Action +7.3", "Missed −0.2", "Human box", "Duplicate +0.0"} < set(shown)


def test_axes_that_are_given_are_used() -> None:
    given = Figure(layout="constrained").add_subplot()
    assert draw(curves(), given) is given
    assert given.get_legend() is not None


@pytest.mark.slow
@pytest.mark.parametrize("width", [plots.SINGLE_COLUMN, plots.DOUBLE_COLUMN])
@pytest.mark.parametrize("number", [1, 2, 3, 12])
def test_the_figure_can_be_read(width: float, number: int, models_of: Any) -> None:
    figure = plots.figure_of(
        plots.FIGURES["oracle_curve"], models_of(plots.FIGURES["oracle_curve"], number, LONG), width
    )
    assert complaints(figure) == []
    assert len(figure.axes) == number
    assert {len(ax.get_lines()) for ax in figure.axes} == {10}
    gains = any("+" in title for title in titles(figure.legends[0]))
    assert gains == (number == 1)  # the gains of several models differ


def test_all_models_show_the_same_class() -> None:
    models = [
        plots.ModelData(label="a", data={1: curves(action=5.0), 2: curves(31, action=9.0)}),
        plots.ModelData(label="b", data={1: curves(action=8.0), 2: curves(31, action=1.0)}),
    ]
    figure = plots.figure_of(plots.FIGURES["oracle_curve"], models, plots.DOUBLE_COLUMN)
    assert figure.legends[0].get_title().get_text() == "ride bicycle (30 annotated)"
    assert titles(figure.legends[0]) == ["Before", *TITLES]
    assert [ax.get_title("left") for ax in figure.axes] == ["a", "b"]


def test_it_says_why_the_class_is_shown() -> None:
    chosen = [plots.ModelData(label="a", data={1: curves(action=5.0), 2: curves(action=1.0)})]
    asked = [plots.ModelData(label="a", data={1: curves(action=5.0)})]
    figure = plots.figure_of(plots.FIGURES["oracle_curve"], chosen, plots.DOUBLE_COLUMN)
    assert notes_of(figure) == [
        "“ride bicycle” is the class with the largest sum of the ΔAP of its errors, of those with "
        "at least 20 annotated triplets."
    ]
    assert not notes_of(plots.figure_of(plots.FIGURES["oracle_curve"], asked, plots.DOUBLE_COLUMN))


def test_a_saved_result_is_not_enough(sources: list[plots.Source]) -> None:
    with pytest.raises(plots.NotApplicable, match="a saved result is not enough"):
        plots.FIGURES["oracle_curve"].data(plots.Source(result=sources[0].result))


def test_a_class_without_predictions(small: Diagnosis) -> None:
    hoi = class_of(small, EAT)
    assert oracle_curve_table(small, [hoi])[hoi].annotated == 0
