"""One page of one detector or of two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image
from support.figures import complaints

from diaghoi import diagnose, plots, simulate
from diaghoi.exceptions import InputError
from diaghoi.plots import (
    DOUBLE_COLUMN,
    FIGURES,
    SINGLE_COLUMN,
    USUAL,
    ModelData,
    NotApplicable,
    Source,
    figure_of,
    notes_of,
)
from diaghoi.plots.figure import source_of
from diaghoi.plots.sheet import LEAST, weak_classes

A4 = (8.27, 11.69)
LONG = " with a backbone that has a very long name"


def words(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


def sheet_of(*sources: Source, label: str = "") -> Figure:
    models = [
        ModelData(
            label=f"m{number}{label}",
            data=plots.FIGURES["sheet"].data(source),
            protocol="hico-det-520",
        )
        for number, source in enumerate(sources)
    ]
    return figure_of(plots.FIGURES["sheet"], models, SINGLE_COLUMN)


@pytest.fixture(scope="module")
def saved(sources: list[Source]) -> Source:
    """A result with intervals, as a file holds it."""
    diagnosis = sources[1].diagnosis
    assert diagnosis is not None
    result = diagnosis.bootstrap(resamples=100, seed=0).to_dict() | dict(diagnosis.to_dict())
    return Source(result=result)


@pytest.fixture(scope="module")
def pictures(sources: list[Source], tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("pictures")
    diagnosis = sources[0].diagnosis
    assert diagnosis is not None
    for name in diagnosis.names.tolist():
        Image.new("RGB", (640, 480), "grey").save(folder / name)
    return folder


def test_it_is_drawn_by_default():
    assert FIGURES["sheet"] is plots.FIGURES["sheet"]
    assert USUAL[-1] == "sheet"


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("width", [SINGLE_COLUMN, DOUBLE_COLUMN])
def test_an_a4_page_on_which_nothing_is_cut(models_of, number, width):
    figure = figure_of(
        plots.FIGURES["sheet"], models_of(plots.FIGURES["sheet"], number, LONG), width
    )
    assert tuple(figure.get_size_inches()) == A4
    assert complaints(figure) == []


def test_numbers_are_those_of_the_result(sources):
    for source in sources[:2]:
        result = source.result
        shown = words(sheet_of(source))
        for value in (
            result["official"]["default"]["full"],
            result["map"]["rare"],
            result["pairs"]["recall"],
            result["negatives"]["ap"],
            result["actions"]["map"],
        ):
            assert f"{100 * value:.2f}" in shown
        assert f"{result['pairs']['per_image']:.1f}" in shown
        share = 100 * result["errors"]["action"] / result["counts"]["predicted_triplets"]
        assert f"{share:.1f}" in shown


def test_the_classes_of_lowest_ap(sources):
    diagnosis = sources[2].diagnosis
    found, table = weak_classes(diagnosis), diagnosis.classes
    enough = (table["annotated"] >= LEAST) & np.isfinite(table["ap"])
    assert [each.ap for each in found] == pytest.approx(100 * np.sort(table["ap"][enough])[:10])
    for each in found:
        row = table["name"].tolist().index(each.name)
        assert each.annotated == table["annotated"][row]
        assert each.delta == pytest.approx(100 * table[f"delta_{each.error}"][row])
        assert all(
            table[f"delta_{error}"][row] * 100 <= each.delta + 1e-9
            for error in ("action", "association", "duplicate", "missed_gt")
        )


def test_a_saved_result_lacks_what_needs_predictions(saved, sources):
    figure = sheet_of(saved, label=LONG)
    assert complaints(figure) == []
    shown = words(figure)
    low, high = saved.result["intervals"]["map.full"]
    assert f"{100 * low:.1f}–{100 * high:.1f}" in shown
    assert not any("lowest AP" in text or "By rank" in text for text in shown)
    assert notes_of(figure) == [
        "Lines: 95 % bootstrap intervals. None where fewer than 30 annotated triplets or "
        "predictions carry this cost. Ranges beside numbers are intervals, too."
    ]
    # One with predictions beside it shows its own.
    both = sheet_of(sources[0], saved)
    assert complaints(both) == []
    assert sum("lowest AP" in text for text in words(both)) == 1


def test_three_are_too_many(models_of):
    with pytest.raises(
        NotApplicable, match="the sheet shows one or two detectors, and there are 3"
    ):
        figure_of(plots.FIGURES["sheet"], models_of(plots.FIGURES["sheet"], 3), DOUBLE_COLUMN)


@pytest.mark.parametrize("number", [1, 2])
def test_typical_cases_on_pictures(sources, pictures, number):
    figure = sheet_of(*(replace(each, images=pictures) for each in sources[:number]))
    assert complaints(figure) == []
    assert sum(bool(ax.images) for ax in figure.axes) == 4
    assert any("Pictures: " in note for note in notes_of(figure))


def test_a_folder_without_the_pictures(sources, tmp_path):
    with pytest.raises(InputError, match="has no picture of the images"):
        plots.FIGURES["sheet"].data(replace(sources[0], images=tmp_path))


def test_v_coco_has_role_ap():
    truth = simulate.v_coco_annotations(30, np.random.default_rng(0))
    found = simulate.v_coco_detect(truth, np.random.default_rng(1))
    figure = sheet_of(source_of(diagnose(truth, found, label="a")))
    assert complaints(figure) == []
    assert "Role AP, scenario 1" in words(figure)
