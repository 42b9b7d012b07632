"""The figure of causes: its data, its bars and its note."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.figure import Figure
from support.scenes import BICYCLE, HOLD, PERSON, RIDE, image, scenes

from diaghoi import InputError, diagnose, plots
from diaghoi.cases.causes import CAUSES
from diaghoi.plots import notes_of
from diaghoi.plots.figure import ModelData, NotApplicable, Source, figure_of, source_of
from diaghoi.plots.figures.causes import CauseShare, annotation_causes, causes_table

SHARES = {
    "near_duplicate_annotation": 0.001,
    "time_sensitive": 0.01,
    "other_verb": 0.25,
    "person_without_triplet": 0.0,
    "confident_person": 0.02,
    "model": 0.719,
}


def result(scale: float = 1.0) -> dict[str, Any]:
    """Make what a result holds; the difference is a tenth of the share, and one is undefined."""
    return {
        "label": "a",
        "annotation_causes": {
            name: {
                "count": round(1000 * share),
                "share": share * scale,
                "action_share": 0.0,
                "delta_map": {
                    "full": None if name == "time_sensitive" else share * scale / 10,
                    "rare": -share,
                },
            }
            for name, share in SHARES.items()
        },
    }


def bars(ax: Any) -> list[float]:
    return [pytest.approx(bar.get_width()) for bar in ax.patches]


def test_the_data_are_percentages_without_the_rest() -> None:
    table = causes_table(result())
    assert [row.cause for row in table] == [name for name in CAUSES if name != "model"]
    assert table[1] == CauseShare("time_sensitive", pytest.approx(1.0), None)
    assert table[2] == CauseShare("other_verb", pytest.approx(25), pytest.approx(2.5))
    assert causes_table(result(), "rare")[2].delta == pytest.approx(-25)


def test_the_data_of_a_diagnosis() -> None:
    boxes = [(PERSON, (0, 0, 9, 19)), (BICYCLE, (10, 10, 29, 29))]
    truth = scenes([image("a.jpg", boxes, [(0, 1, RIDE)])], scored=False)
    found = scenes([image("a.jpg", boxes, [(0, 1, HOLD, 0.3), (0, 1, RIDE, 0.2)])], scored=True)
    shares = {
        row.cause: row.share
        for row in plots.FIGURES["annotation_causes"].data(source_of(diagnose(truth, found)))
    }
    assert shares == dict.fromkeys(shares, 0) | {"other_verb": 100}


def test_results_without_causes_are_left_out() -> None:
    with pytest.raises(NotApplicable, match="the saved result has no causes"):
        causes_table({"label": "a"})
    with pytest.raises(NotApplicable, match="no false positive has a cause"):
        causes_table(result(0.0))
    assert plots.FIGURES["annotation_causes"].data(Source(result=result())) == causes_table(
        result()
    )


@pytest.mark.parametrize("broken", [{"other_verb": {}}, {"other_verb": 1}, 3, {"other_verb": None}])
def test_a_broken_result(broken: Any) -> None:
    with pytest.raises(InputError, match="a: 'annotation_causes' cannot be drawn"):
        causes_table({"label": "a", "annotation_causes": broken})
    with pytest.raises(InputError, match="cannot be drawn"):
        causes_table(result(), "no such split")


def test_bars_stand_in_order_and_causes_of_nothing_are_left_out() -> None:
    models = {"a": causes_table(result()), "b": causes_table(result(0.5))}
    ax = annotation_causes(models)
    assert bars(ax) == [0.1, 1, 25, 2, 0.05, 0.5, 12.5, 1]
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        CAUSES[name].title
        for name in (
            "near_duplicate_annotation",
            "time_sensitive",
            "other_verb",
            "confident_person",
        )
    ]
    first, last = ax.get_ylim()
    assert first > last  # the first cause is at the top
    assert ax.patches[0].get_y() < ax.patches[4].get_y()  # and so is the first model
    figures = [text.get_text() for text in ax.texts]
    assert figures == ["0.1", "1.0", "25.0", "2.0", "0.05", "0.5", "12.5", "1.0"]


def test_undefined_differences_have_no_bar() -> None:
    ax = annotation_causes({"a": causes_table(result())}, Figure().add_subplot(), of="delta")
    assert bars(ax) == [0.01, 2.5, 0.2]


def test_negative_differences_hang_to_the_left_and_carry_their_figure_on_the_right() -> None:
    table = causes_table(result(), "rare")
    ax = annotation_causes({"a": table}, Figure().add_subplot(), of="delta")
    assert bars(ax) == [-0.1, -1, -25, -2]
    assert ax.texts[2].get_text() == "−25.0"
    assert ax.texts[2].xy[0] == 0


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(InputError, match="nothing to draw"):
        annotation_causes({})
    with pytest.raises(InputError, match="of: 'shares' is not known; give one of share, delta"):
        annotation_causes({"a": causes_table(result())}, of="shares")


def test_one_axes() -> None:
    given = Figure(layout="constrained").add_subplot()
    assert annotation_causes({"a": causes_table(result())}, given) is given


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 3, 12])
@pytest.mark.parametrize("width", [plots.SINGLE_COLUMN, plots.DOUBLE_COLUMN])
def test_the_figure_of_a_study(number: int, width: float) -> None:
    data = causes_table(result())
    models = [ModelData(label=f"model $ {n}", data=data, protocol="p") for n in range(number)]
    figure = figure_of(plots.FIGURES["annotation_causes"], models, width)
    figure.draw_without_rendering()
    left, right = figure.axes
    assert (len(left.patches), len(right.patches)) == (4 * number, 3 * number)
    assert (left.get_xlabel(), right.get_xlabel()) == ("False positives (%)", "ΔmAP (points)")
    assert any("A pattern is no proof" in note for note in notes_of(figure))
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words[-1] == ("model $ 11" if number == 12 else f"model $ {number - 1}")
    for ax in (left, right):
        frames = [text.get_window_extent() for text in ax.texts]
        assert all(frame.x1 <= figure.bbox.x1 for frame in frames)
        for text in (*ax.texts, *ax.get_yticklabels(), *ax.get_xticklabels()):
            assert text.get_fontsize() >= 5.5
    labels = [ax.xaxis.label.get_window_extent() for ax in (left, right)]
    assert labels[0].x1 < labels[1].x0
    assert plots.FIGURES["annotation_causes"] is plots.FIGURES["annotation_causes"]
