"""Kinds of figures: what they promise, and that they can be put into a paper."""

import re
import shutil
import subprocess

import pytest
from matplotlib.text import Text
from support.figures import complaints

from diaghoi.plots import (
    DOUBLE_COLUMN,
    FIGURES,
    SINGLE_COLUMN,
    FigureKind,
    ModelData,
    NotApplicable,
    figure_of,
    save,
)
from diaghoi.plots.figure import shown_names

LONG = " with a backbone that has a very long name"


def draw_words(figure, models):
    figure.add_subplot().set_title(" and ".join(shown_names(models)))


def refuse(figure, models):
    raise NotApplicable("two models are needed")


PLAIN = FigureKind(
    name="plain", title="Words", needs="results", data=dict, draw=draw_words, height=1.5
)


def words(figure):
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


@pytest.mark.parametrize("width", [SINGLE_COLUMN, DOUBLE_COLUMN])
def test_figures_have_the_width_of_the_column(width):
    figure = figure_of(PLAIN, [ModelData(label="a", data={})], width)
    assert tuple(figure.get_size_inches()) == (width, 1.5)


def test_the_protocol_does_not_stand_in_the_figure():
    models = [ModelData(label=name, data={}, protocol="hico-det") for name in "ab"]
    figure = figure_of(PLAIN, models, SINGLE_COLUMN)
    assert words(figure) == ["a and b"]
    assert complaints(figure) == []


def test_different_protocols_stand_beside_the_models():
    models = [ModelData(label=name, data={}, protocol=f"p{name}") for name in "ab"]
    shown = words(figure_of(PLAIN, models, SINGLE_COLUMN))
    assert "a (pa) and b (pb)" in shown
    assert not any("Protocol" in text for text in shown)


def test_kinds_may_refuse():
    kind = FigureKind(name="pair", title="Pairs", needs="results", data=dict, draw=refuse)
    with pytest.raises(NotApplicable, match="two models are needed"):
        figure_of(kind, [ModelData(label="a", data={})], SINGLE_COLUMN)


def test_names_of_figures_are_names_of_files():
    for name, kind in FIGURES.items():
        assert kind.name == name
        assert re.fullmatch("[a-z_]+", name)
        assert not kind.title.endswith(".")
        assert re.match("[A-Z]|mAP", kind.title)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "models", "suffix"),
    [
        (SINGLE_COLUMN, 1, ""),
        (DOUBLE_COLUMN, 2, LONG),
        (SINGLE_COLUMN, 12, LONG),
        (DOUBLE_COLUMN, 12, ""),
    ],
)
@pytest.mark.parametrize("name", ["delta_map", "delta_map_rare", "error_shares"])
def test_no_words_overlap_or_leave_the_paper(name, width, models, suffix, models_of):
    figure = figure_of(FIGURES[name], models_of(FIGURES[name], models, suffix), width)
    assert complaints(figure) == []
    assert figure.get_figheight() < 9


@pytest.mark.parametrize(
    "name",
    [
        name if name == "delta_map" else pytest.param(name, marks=pytest.mark.slow)
        for name in FIGURES
    ],
)
def test_fonts_are_real(name, models_of, tmp_path):
    kind = FIGURES[name]
    figure = figure_of(kind, models_of(kind, 2 if name == "sheet" else 4), SINGLE_COLUMN)
    path = tmp_path / "figure.pdf"
    save(figure, path)
    content = path.read_bytes()
    assert b"/Subtype /Type0" in content
    assert b"/Subtype /Type3" not in content


def test_fonts_are_embedded(models_of, tmp_path):
    if shutil.which("pdffonts") is None:
        pytest.skip("pdffonts (poppler-utils) is not on this machine")
    kind = FIGURES["error_shares"]
    save(figure_of(kind, models_of(kind, 1), SINGLE_COLUMN), tmp_path / "figure.pdf")
    told = subprocess.run(
        ["pdffonts", tmp_path / "figure.pdf"], capture_output=True, encoding="utf-8", check=True
    )
    fonts = told.stdout.splitlines()[2:]
    assert fonts
    for font in fonts:
        assert "TrueType" in font
        assert re.search(r"\byes +(yes|no) +yes\b", font)  # embedded, and its letters can be read
