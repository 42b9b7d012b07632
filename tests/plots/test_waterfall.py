"""Additive costs as a waterfall."""

from __future__ import annotations

import numpy as np
import pytest
from support.figures import complaints

from diaghoi import diagnose, plots, simulate
from diaghoi.oracles import ERRORS
from diaghoi.plots import notes_of
from diaghoi.plots.figure import ModelData, NotApplicable, Source
from diaghoi.plots.figures.waterfall import waterfall, waterfall_table
from diaghoi.statistics.attribution import attribute

COSTS = dict(zip(ERRORS, (0.1, 0.2, -0.05, 0.0, 0.3, 0.05, 0.1), strict=True))
ATTRIBUTION = COSTS | {"total": 0.7, "map": 0.2, "map_repaired": 0.9, "pairing": "triplet"}


def test_the_bars_lead_from_map_to_map_without_errors() -> None:
    steps = waterfall_table(ATTRIBUTION)
    assert [step.name for step in steps] == ["map", *ERRORS, "map_repaired"]
    level = steps[0].high
    assert (steps[0].low, level) == (0, pytest.approx(20))
    for step in steps[1:-1]:
        low, high = sorted((level, level + step.value))
        assert (step.low, step.high) == (pytest.approx(low), pytest.approx(high))
        level += step.value
    assert level == pytest.approx(steps[-1].high) == pytest.approx(90)


def test_it_draws_a_bar_for_each_step() -> None:
    ax = waterfall(ATTRIBUTION)
    assert len(ax.patches) == len(ERRORS) + 2
    assert [text.get_text() for text in ax.texts] == [
        *("20.0", "+10.0", "+20.0", "−5.0", "0", "+30.0", "+5.0", "+10.0", "90.0"),
    ]
    assert ax.get_xlabel() == "mAP (%)"


def test_it_says_why_repairing_everything_is_not_enough() -> None:
    perfect = ATTRIBUTION | {"missed_gt": 0.2, "total": 0.8, "map_repaired": 1.0}
    for attribution, explained in ((ATTRIBUTION, True), (perfect, False)):
        ax = waterfall(attribution)
        assert ax.get_yticklabels()[-1].get_text() == "All repaired"
        model = ModelData(label="a", data=attribution)
        for figure in (
            ax.figure,
            plots.figure_of(plots.FIGURES["waterfall"], [model], plots.SINGLE_COLUMN),
        ):
            text = " ".join(notes_of(figure))
            assert ("attempted only by predictions that repairs remove" in text) == explained


def test_it_says_how_errors_are_read() -> None:
    older = {key: value for key, value in ATTRIBUTION.items() if key != "pairing"}
    clause = "; a wrong action with a person's own object is an action error."
    for attribution, says, of_persons in (
        (ATTRIBUTION, True, False),
        (ATTRIBUTION | {"pairing": "person"}, True, True),
        (older, False, False),
    ):
        figure = plots.figure_of(
            plots.FIGURES["waterfall"],
            [ModelData(label="a", data=attribution)],
            plots.SINGLE_COLUMN,
        )
        text = " ".join(notes_of(figure))
        said = "on found pairs: if no prediction finds a triplet's pair" in text
        assert (
            said == ("ΔmAP in other figures and tables follows the published rule." in text) == says
        )
        assert (clause in text) == of_persons


@pytest.mark.slow
@pytest.mark.parametrize("width", [plots.SINGLE_COLUMN, plots.DOUBLE_COLUMN])
@pytest.mark.parametrize("models", [1, 2, 3, 12])
def test_nothing_overlaps(width: float, models: int) -> None:
    data = [
        ModelData(label=f"Detector {number}", data=ATTRIBUTION, protocol="hico-det-520")
        for number in range(models)
    ]
    assert complaints(plots.figure_of(plots.FIGURES["waterfall"], data, width)) == []


def test_a_saved_result_with_costs_is_enough() -> None:
    assert (
        plots.FIGURES["waterfall"].data(Source(result={"attribution": ATTRIBUTION})) == ATTRIBUTION
    )
    with pytest.raises(NotApplicable, match="a saved result is not enough"):
        plots.FIGURES["waterfall"].data(Source(result={}))


def test_a_diagnosis_gives_the_costs() -> None:
    rng = np.random.default_rng(0)
    truth = simulate.annotations(30, rng)
    diagnosis = diagnose(truth, simulate.detect(truth, simulate.ONE_STAGE, rng))
    costs = attribute(diagnosis)
    assert costs is not None
    assert (
        plots.FIGURES["waterfall"].data(Source(result={}, diagnosis=diagnosis)) == costs.to_dict()
    )
