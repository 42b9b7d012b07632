"""Drawing on axes of the user's own: nothing is clipped, and grids lie below bars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from support.figures import complaints
from support.robustness_results import model_of, study

from diaghoi import plots
from diaghoi.plots.figures.average_precision import action_ap, class_ap
from diaghoi.plots.figures.calibration import calibration
from diaghoi.plots.figures.causes import annotation_causes
from diaghoi.plots.figures.confusions import confusions
from diaghoi.plots.figures.error_profile import error_profile
from diaghoi.plots.figures.error_shares import error_shares
from diaghoi.plots.figures.operating_points import operating_points
from diaghoi.plots.figures.oracle_curve import mean_oracle_curve, most_costly, oracle_curve
from diaghoi.plots.figures.pairs import negatives_curve, pair_recall
from diaghoi.plots.figures.waterfall import waterfall
from diaghoi.plots.robustness.curves import robustness_curves, robustness_curves_table
from diaghoi.plots.robustness.errors import robustness_errors, robustness_errors_table
from diaghoi.plots.robustness.scores import (
    robustness_drops,
    robustness_drops_table,
    robustness_groups,
    robustness_groups_table,
    robustness_severities,
    robustness_severities_table,
)

# How each figure is drawn from the data of two models, by their labels.
Draw = Callable[[dict[str, Any], Axes], Any]
DIAGNOSED: dict[str, Draw] = {
    "waterfall": lambda data, ax: waterfall(data["One-stage"], ax),
    "error_shares": lambda data, ax: error_shares(data["One-stage"], ax),
    "error_profile_object": lambda data, ax: error_profile(data["One-stage"], ax),
    "pair_recall": lambda data, ax: pair_recall(data, ax, "best"),
    "negatives_curve": negatives_curve,
    "action_ap": lambda data, ax: action_ap(data, ax, verbs=8),
    "class_ap": lambda data, ax: class_ap(data["One-stage"], ax),
    "oracle_curve": lambda data, ax: oracle_curve(
        data["One-stage"][most_costly([data["One-stage"]])], ax
    ),
    "mean_oracle_curve": lambda data, ax: mean_oracle_curve(data["One-stage"], ax),
    "annotation_causes": lambda data, ax: annotation_causes(data, ax, "share"),
    "calibration": calibration,
    "operating_points": lambda data, ax: operating_points(data["One-stage"], ax),
    "confusions": lambda data, ax: confusions(data["One-stage"], ax),
}
ROBUSTNESS: dict[str, tuple[Callable[[Any], Any], Draw]] = {
    "drops": (robustness_drops_table, robustness_drops),
    "groups": (robustness_groups_table, robustness_groups),
    "severities": (robustness_severities_table, robustness_severities),
    "errors": (robustness_errors_table, lambda data, ax: robustness_errors(data["A"], ax)),
    "curves": (
        robustness_curves_table,
        lambda data, ax: robustness_curves(data["A"], "Environment", ax),
    ),
}


def check(draw: Callable[[Axes], Any], **options: Any) -> None:
    """Draw into a figure as ``plt.subplots(figsize=(6, 4))`` makes it."""
    with mpl.rc_context(mpl.rcParamsDefault):
        figure = Figure(figsize=(6, 4))
        ax = figure.add_subplot(**options)
        draw(ax)
        found = [each for each in complaints(figure) if "lies outside" in each]
    assert found == []
    assert ax.get_axisbelow() is True


@pytest.mark.parametrize("name", DIAGNOSED)
def test_diagnoses(name: str, sources: list[plots.Source]) -> None:
    kind = plots.FIGURES[name]
    data = {source.result["label"]: kind.data(source) for source in sources[:2]}
    check(lambda ax: DIAGNOSED[name](data, ax))


def test_costs(sources: list[plots.Source]) -> None:
    check(lambda ax: plots.delta_map([source.result for source in sources], ax))


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBUSTNESS)
def test_robustness(name: str) -> None:
    table, draw = ROBUSTNESS[name]
    whole = study(2)
    data = {label: table(model_of(whole, number)) for number, label in enumerate("AB")}
    check(lambda ax: draw(data, ax), projection="polar" if name == "drops" else None)


def test_a_layout_of_the_user_stays() -> None:
    figure = Figure(layout="tight")
    engine = figure.get_layout_engine()
    plots.delta_map([{"oracles": {"action": {"delta_map": {"full": 0.1}}}}], figure.add_subplot())
    assert figure.get_layout_engine() is engine
