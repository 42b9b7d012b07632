"""The figure of calibration: its data, its lines, and what it says of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.figures import SIZES, complaints
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, image, scenes

from diaghoi import InputError, diagnose, plots
from diaghoi.plots import notes_of
from diaghoi.plots.figure import ModelData, NotApplicable, Source, figure_of
from diaghoi.plots.figures.scores import FEW, LEAST, calibration, calibration_table
from diaghoi.statistics.calibration import measure_calibration


def result(ece: float = 0.25, counts: tuple[int, ...] = (1000, 0, 10)) -> dict[str, Any]:
    """Make what a result holds of three bins: calibrated, empty, and too confident by a half."""
    means = ((0.2, 0.2), (None, None), (0.9, 0.4))
    edges = ((0.0, 0.3), (0.3, 0.6), (0.6, 1.0))
    bins = [
        {
            "low": low,
            "high": high,
            "count": count,
            "mean_score": mean if count else None,
            "precision": precision if count else None,
        }
        for (low, high), count, (mean, precision) in zip(edges, counts, means, strict=True)
    ]
    return {"label": "a", "calibration": {"ece": ece, "note": "", "bins": bins}}


def lines(ax: Any) -> list[Any]:
    """Lines of models without marks, after the diagonal."""
    return [line for line in ax.lines[1:] if line.get_linestyle() != "None"]


def legend(figure: Figure) -> list[str]:
    (found,) = figure.legends
    return [text.get_text() for text in found.get_texts()]


def test_the_data_of_a_result() -> None:
    table = calibration_table(result())
    np.testing.assert_array_equal(table.edges, [0, 0.3, 0.6, 1])
    np.testing.assert_array_equal(table.counts, [1000, 0, 10])
    np.testing.assert_array_equal(table.scores, [0.2, np.nan, 0.9])
    np.testing.assert_array_equal(table.precisions, [0.2, np.nan, 0.4])
    assert table.ece == 0.25


def test_the_data_of_a_diagnosis_are_those_of_its_result() -> None:
    boxes = [(PERSON, (0, 0, 9, 19)), (BICYCLE, (10, 10, 29, 29))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE)])], scored=False)
    rows = [(0, 1, RIDE, 0.9), (0, 1, HOLD, 0.3)]
    diagnosis = diagnose(truth, scenes([image("a.jpg", boxes, rows)], scored=True))
    told = {"calibration": measure_calibration(diagnosis).to_dict()}
    for source in (Source(result={}, diagnosis=diagnosis), Source(result=told)):
        table = plots.FIGURES["calibration"].data(source)
        assert table.ece == pytest.approx((0.1 + 0.3) / 2)
        assert table.counts.sum() == 2


def test_a_result_without_figures_is_left_out() -> None:
    with pytest.raises(NotApplicable, match="the saved result has no calibration"):
        calibration_table({"label": "a"})
    undefined = {"ece": None, "note": "calibration: there are no predictions", "bins": []}
    with pytest.raises(NotApplicable, match=r"^there are no predictions"):
        calibration_table({"calibration": undefined})


@pytest.mark.parametrize("broken", [[], {}, {"ece": 1}, {"ece": 1, "bins": []}, "no", 3])
def test_a_broken_result(broken: Any) -> None:
    with pytest.raises(InputError, match="a: 'calibration' cannot be drawn"):
        calibration_table({"label": "a", "calibration": broken})
    spoilt = result()
    spoilt["calibration"]["bins"][0]["count"] = "many"
    with pytest.raises(InputError, match="a: 'calibration' cannot be drawn"):
        calibration_table(spoilt)


def test_lines_skip_empty_bins_and_follow_scores_and_precisions_in_percent() -> None:
    ax = calibration({"a": calibration_table(result())})
    diagonal = ax.lines[0]
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata()) == [0, 100]
    (line,) = lines(ax)
    np.testing.assert_allclose(line.get_xydata(), [[20, 20], [90, 40]])
    assert ax.get_xlim() == ax.get_ylim() == (0, 100)


def test_bins_of_few_predictions_have_hollow_marks_and_the_legend_says_so() -> None:
    ax = calibration({"a": calibration_table(result())})
    full, hollow = (line for line in ax.lines[1:] if line.get_linestyle() == "None")
    assert (list(full.get_xdata()), list(hollow.get_xdata())) == ([20], [90])
    assert hollow.get_markerfacecolor() == "white"
    assert legend(ax.figure) == ["a: ECE 25.0", "calibrated", f"bin of fewer than {FEW}"]
    many = calibration({"a": calibration_table(result(counts=(1000, 0, FEW)))})
    assert legend(many.figure) == ["a: ECE 25.0", "calibrated"]


def test_bins_of_very_few_predictions_are_not_drawn_and_a_note_says_so() -> None:
    """The share of a single prediction is 0 or 100 %."""
    table = calibration_table(result(counts=(1000, 0, LEAST - 1)))
    ax = calibration({"a": table})
    (line,) = lines(ax)
    np.testing.assert_allclose(line.get_xydata(), [[20, 20]])
    _, histogram = ax.figure.axes
    assert histogram.patches[0].get_data()[0][2] == LEAST - 1
    own = Figure().add_subplot()
    calibration({"a": table}, own)
    study = figure_of(
        plots.FIGURES["calibration"], [ModelData(label="a", data=table)], plots.SINGLE_COLUMN
    )
    for figure in (ax.figure, own.figure, study):
        assert f"Bins of fewer than {LEAST} predictions are not drawn." in " ".join(
            notes_of(figure)
        )
    enough = calibration({"a": calibration_table(result())}).figure
    assert not notes_of(enough)


def test_a_diagram_of_nothing_but_very_few() -> None:
    ax = calibration({"a": calibration_table(result(counts=(1, 0, 2)))})
    assert [len(line.get_xdata()) for line in lines(ax)] == [0]


@pytest.mark.parametrize("counts", [(1000, 0, 1000), (50, 0, 50), (1, 0, 2)])
def test_the_diagram_keeps_its_room_where_no_mark_is_full_or_hollow(
    counts: tuple[int, int, int],
) -> None:
    models = [ModelData(label="a", data=calibration_table(result(counts=counts)), protocol="p")]
    figure = figure_of(plots.FIGURES["calibration"], models, plots.SINGLE_COLUMN)
    assert complaints(figure) == []
    diagram, histogram = (ax.get_position().height for ax in figure.axes)
    assert diagram > 0.4
    assert histogram > 0.1


def test_the_histogram_shows_counts_with_gaps() -> None:
    ax = calibration({"a": calibration_table(result())})
    _, histogram = ax.figure.axes
    (steps,) = histogram.patches
    values, edges, _ = steps.get_data()
    np.testing.assert_array_equal(values, [1000, np.nan, 10])
    np.testing.assert_allclose(edges, [0, 30, 60, 100])
    assert histogram.get_yscale() == "log"
    assert (ax.get_xlabel(), histogram.get_xlabel()) == ("", "Triplet score (%)")


def test_the_scale_ends_where_the_scores_do() -> None:
    ax = calibration({"a": calibration_table(result(counts=(1000, 0, 0)))})
    assert ax.get_xlim() == (0, 30)


def test_one_axes_has_no_histogram() -> None:
    given = Figure(layout="constrained").add_subplot()
    assert calibration({"a": calibration_table(result())}, given) is given
    assert len(given.figure.axes) == 1
    assert given.get_xlabel() == "Triplet score (%)"
    assert given.get_legend() is not None
    with pytest.raises(InputError, match="nothing to draw"):
        calibration({})


@pytest.mark.parametrize(("width", "number"), SIZES)
def test_the_figure_of_a_study(width: float, number: int) -> None:
    data = calibration_table(result())
    models = [ModelData(label=f"model $ {n}", data=data, protocol="p") for n in range(number)]
    figure = figure_of(plots.FIGURES["calibration"], models, width)
    figure.draw_without_rendering()
    diagram, histogram = figure.axes
    assert len(lines(diagram)) == len(histogram.patches) == number
    marks = {line.get_marker() for line in diagram.lines[1:] if line.get_linestyle() == "None"}
    assert len(marks) == number
    for ax in (diagram, histogram):
        for text in (*ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label):
            assert text.get_fontsize() >= 5.5
    assert figure.get_figwidth() == width
    assert plots.FIGURES["calibration"] is plots.FIGURES["calibration"]
