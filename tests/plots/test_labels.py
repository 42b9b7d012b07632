"""Words in figures."""

import pytest
from matplotlib.figure import Figure

from diaghoi.oracles import error_title
from diaghoi.plots.labels import (
    fitted,
    fitted_pair,
    inches_of,
    model_names,
    split_title,
    text_width,
)


def test_models_without_or_with_equal_labels_are_told_apart():
    assert model_names(["", "a", "a", None, "a"]) == ["model 1", "a", "a (2)", "model 4", "a (3)"]


def test_a_number_that_a_label_already_has_is_passed_over():
    assert model_names(["a", "a (2)", "a"]) == ["a", "a (2)", "a (3)"]


def test_labels_stand_in_one_line_of_unicode():
    assert model_names(["two\nlines  \udcff"]) == ["two lines ?"]


def test_splits_and_errors_have_titles():
    assert split_title("non_rare") == "Non-rare classes"
    assert split_title("my_wheels") == "my wheels"
    assert error_title("object_box") == "Object box"
    assert error_title("true_positive") == "True positive"
    assert error_title("new_error") == "New error"


def test_wider_words_take_more_inches():
    assert text_width("i", 7) < text_width("W", 7) < text_width("W", 14)
    assert text_width("10 words of this width", 7) < 2


def test_long_labels_lose_their_middle():
    label = "detector " + "x" * 80 + " 1"
    shown = fitted(label, 1.0, 7)
    assert text_width(shown, 7) <= 1.0
    assert shown.startswith("detector")
    assert shown.endswith("x 1")
    assert shown.count("…") == 1
    assert fitted(label, 100.0, 7) == label
    assert len(fitted(label, 0.0, 7)) == 8


def test_width_of_figures_and_axes():
    figure = Figure(figsize=(3.25, 2))
    left, right = figure.subplots(1, 2)
    assert 3 < inches_of(figure) < 3.25
    assert inches_of(left) == pytest.approx(inches_of(right))
    assert 0.5 < inches_of(left) < 1.6


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("snowboard instr", "skateboard instr"),
        ("hit", "work on computer instr, and on other machines"),
        ("work on computer instr, and on other machines", "hit"),
    ],
)
def test_of_two_labels_each_is_shortened_by_itself(first: str, second: str) -> None:
    room = 1.25
    one, other = fitted_pair(first, second, room, 6).removesuffix(")").split(" (")
    for shown, whole in ((one, first), (other, second)):
        assert shown[:3] == whole[:3]
        assert shown[-3:] == whole[-3:]
        assert shown == whole or len(whole) > 10
    assert text_width(f"{one} ({other})", 6) <= room
    assert fitted_pair("ride", "hold", room, 6) == "ride (hold)"
