"""The figure of slices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.figures import complaints

from diaghoi import Diagnosis, diagnose, plots, simulate
from diaghoi.comparison.slices import SliceResult, Slices, slices
from diaghoi.plots import notes_of
from diaghoi.plots.figure import ModelData, models_for


@pytest.fixture(scope="module")
def models() -> list[Diagnosis]:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(60, rng)
    return [
        diagnose(truth, simulate.detect(truth, detector, rng), label=label)
        for label, detector in (("A", simulate.ONE_STAGE), ("$B_1$", simulate.TWO_STAGE))
    ]


@pytest.fixture(scope="module")
def found(models: list[Diagnosis]) -> Slices:
    tags = {"weather": lambda name: "rain" if name < "demo_000031" else "$un"}
    return slices(*models, own=tags, attributes=False, resamples=10)


@pytest.fixture(scope="module")
def found_alone(models: list[Diagnosis]) -> list[ModelData]:
    return models_for(plots.FIGURES["slices"], models)


def test_dots_and_intervals_are_those_of_the_slices(found: Slices) -> None:
    ax = plots.slices(found)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["weather", "$un", "rain"]
    for place, (line, bars) in enumerate(
        zip((line for line in ax.lines if line.get_marker() != "None"), ax.collections, strict=True)
    ):
        expected = [100 * each.models[place].figures["map"] for each in found.slices]
        np.testing.assert_allclose(line.get_xdata(), expected)
        bounds = [100 * np.array(each.models[place].intervals["map"]) for each in found.slices]
        ends = [segment[:, 0] for segment in bars.get_segments()]
        np.testing.assert_allclose(ends, bounds)


def test_rare_classes_of_the_annotations_alone_are_defined() -> None:
    truth = simulate.v_coco_annotations(60, np.random.default_rng(0))
    diagnosis = diagnose(truth, simulate.v_coco_detect(truth, np.random.default_rng(1)))
    found = slices(diagnosis, resamples=10, search=False)
    for attribute, said in (("rarity", True), ("object_box", False)):
        some = tuple(each for each in found.slices if each.attribute == attribute)
        figure = plots.slices(replace(found, slices=some)).figure
        text = " ".join(notes_of(figure))
        assert ("Rare: classes with fewer than 10 annotated triplets" in text) == said


def test_no_attribute_that_is_left_out_differs_more_clearly(found: Slices) -> None:
    def cuts(title: str, number: int, gap: float) -> list[SliceResult]:
        """One detector whose mAP differs between the slices by up to a gap."""
        return [
            replace(
                found.slices[0],
                attribute=title,
                title=title,
                name=f"{title} {n}",
                models=(
                    replace(
                        found.slices[0].models[0],
                        figures={"map": value},
                        intervals={"map": (value - 0.02, value + 0.02)},
                    ),
                ),
            )
            for n, value in enumerate(np.linspace(0.5, 0.5 + gap, number).tolist())
        ]

    # Of three attributes, the second does not fit below the first, while the third would.
    made = (*cuts("clear", 3, 0.4), *cuts("less clear", 30, 0.3), *cuts("least clear", 2, 0.1))
    ax = plots.slices(replace(found, labels=("A",), slices=made))
    shown = [name.get_text() for name in ax.get_yticklabels()]
    assert shown == ["clear", "clear 0", "clear 1", "clear 2"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 6])
@pytest.mark.parametrize("column", [plots.SINGLE_COLUMN, plots.DOUBLE_COLUMN])
def test_a_study_in_slices(found_alone: list[ModelData], number: int, column: float) -> None:
    figure = plots.figure_of(plots.FIGURES["slices"], (found_alone * 3)[:number], column)
    assert complaints(figure) == []
    assert figure.get_figheight() < 8


@pytest.mark.slow
def test_what_has_no_figure(models: list[Diagnosis]) -> None:
    rng = np.random.default_rng(1)
    kind = plots.FIGURES["slices"]
    few = simulate.annotations(8, rng)
    small = diagnose(few, simulate.detect(few, simulate.WEAK, rng), label="C")
    with pytest.raises(plots.NotApplicable, match="no two slices of an attribute"):
        plots.figure_of(kind, [small], plots.SINGLE_COLUMN)
    with pytest.raises(plots.NotApplicable, match="different annotations"):
        plots.figure_of(kind, [models[0], small], plots.SINGLE_COLUMN)
