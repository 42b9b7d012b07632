"""Colours, the style for print, and saving."""

from itertools import combinations, pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from diaghoi import plots
from diaghoi.evaluation.errors import LABELS
from diaghoi.exceptions import InputError
from diaghoi.oracles import ORACLES
from diaghoi.plots.style import HATCHES, check_suffix, colour, lighter, model_style


@pytest.fixture
def figure():
    drawing = Figure(figsize=(plots.SINGLE_COLUMN, 2))
    drawing.suptitle("a title")
    return drawing


def luminance(rgb):
    return float(np.dot(rgb, (0.299, 0.587, 0.114)))


def test_every_oracle_has_its_own_colour_in_order():
    assert list(plots.COLOURS) == ["true_positive", *ORACLES]
    assert len(set(plots.COLOURS.values())) == len(plots.COLOURS)
    assert all(
        sum(abs(a - b) for a, b in zip(colour(x), colour(y), strict=True)) > 0.25
        for x, y in combinations(plots.COLOURS, 2)
    )


def test_neighbours_differ_in_grey_print():
    shades = [luminance(colour(name)) for name in ORACLES]
    assert all(abs(a - b) > 0.05 for a, b in pairwise(shades))


def test_areas_that_touch_can_be_told_apart_in_grey_print():
    """By lightness or by hatch."""
    marks = [(luminance(colour(label)), HATCHES.get(label)) for label in LABELS]
    assert all(
        abs(one[0] - other[0]) > 0.05 or one[1] != other[1] for one, other in pairwise(marks)
    )
    dark = [mark for lightness, mark in marks if lightness < 0.4]
    assert len(set(dark)) == len(dark)


def test_lines_of_twelve_models_can_be_told_apart():
    styles = [model_style(number) for number in range(12)]
    assert len({style["marker"] for style in styles}) == 12
    assert len({(style["color"], str(style["linestyle"])) for style in styles}) == 12
    assert model_style(25)["marker"] in {style["marker"] for style in styles}


def test_unknown_errors_are_grey():
    red, green, blue = colour("something new")
    assert red == green == blue


def test_lighter():
    assert lighter((0.2, 0.4, 0.6), 0) == (0.2, 0.4, 0.6)
    assert lighter((0.2, 0.4, 0.6), 1) == (1, 1, 1)
    assert luminance(lighter((0.2, 0.4, 0.6), 0.5)) > luminance((0.2, 0.4, 0.6))


def test_paper_style_ends_with_its_block():
    before = mpl.rcParams["pdf.fonttype"], mpl.rcParams["font.size"]
    with plots.paper():
        assert mpl.rcParams["pdf.fonttype"] == 42
        assert mpl.rcParams["font.size"] == 8
    assert (mpl.rcParams["pdf.fonttype"], mpl.rcParams["font.size"]) == before


@pytest.mark.parametrize("suffix", ["pdf", "png", "svg", "PDF"])
def test_save_chooses_the_format_by_the_ending(tmp_path, figure, suffix):
    path = tmp_path / f"figure.{suffix}"
    plots.save(figure, path)
    start = {"pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<?xml"}[suffix.lower()]
    assert path.read_bytes().startswith(start)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_save_is_repeatable(tmp_path, figure):
    plots.save(figure, tmp_path / "a.pdf")
    plots.save(figure, str(tmp_path / "b.pdf"))
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("pdf", b"/Subject (what it shows)"),
        ("png", b"Description\0what it shows"),
        ("svg", b"shows"),
    ],
)
def test_caption_stands_in_the_file(tmp_path, figure, kind, field):
    path = tmp_path / f"a.{kind}"
    plots.save(figure, path)
    assert field not in path.read_bytes()
    plots.save(figure, path, caption="what it shows")
    assert field in path.read_bytes()
    plots.save(figure, path, caption="名 \udcff")


def test_save_keeps_the_size(tmp_path, figure):
    with mpl.rc_context({"savefig.bbox": "tight"}):
        plots.save(figure, tmp_path / "a.svg")
    assert f'width="{plots.SINGLE_COLUMN * 72:g}pt"' in (tmp_path / "a.svg").read_text()


def test_save_leaves_the_old_file_when_it_fails(tmp_path):
    class Broken(Figure):
        def savefig(self, path, **options):
            path.write(b"half")
            raise RuntimeError("no ink")

    path = tmp_path / "figure.pdf"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="no ink"):
        plots.save(Broken(), path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["figure.pdf"]


@pytest.mark.parametrize("kind", ["pdf", "png", "svg"])
def test_a_full_disk_is_told(tmp_path, figure, kind, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        plots.save(figure, tmp_path / f"figure.{kind}")
    assert not list(tmp_path.iterdir())


def test_unknown_ending(tmp_path, figure):
    with pytest.raises(InputError) as caught:
        plots.save(figure, tmp_path / "figure.pngg")
    message = str(caught.value)
    assert "figure.pngg: cannot be drawn: the file type '.pngg' is not supported" in message
    assert "(did you mean 'png'" in message
    assert message.endswith("; give one of pdf, svg, png")
    assert not list(tmp_path.iterdir())


def test_pictures_without_a_fixed_look_are_refused():
    with pytest.raises(
        InputError, match=r"a\.gif: cannot be drawn: the file type '\.gif' is not supported"
    ):
        check_suffix("a.gif")


def test_no_ending():
    with pytest.raises(InputError, match="figure: cannot be drawn: the name has no ending; give"):
        check_suffix("figure")


def test_no_folder(tmp_path, figure):
    with pytest.raises(InputError, match=r"absent/figure\.pdf: cannot be written"):
        plots.save(figure, tmp_path / "absent" / "figure.pdf")
