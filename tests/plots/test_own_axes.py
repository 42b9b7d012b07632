"""Drawing on axes of the user's own: nothing is clipped, and grids lie below bars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from support.figures import complaints

from diaghoi import plots
from diaghoi.plots.figure import drawn

# Figures that draw the data of one model, and those that draw any number of models.
SINGLE = ("waterfall", "error_shares", "error_profile_object", "operating_points", "confusions")
SEVERAL = ("pair_recall", "negatives_curve", "action_ap", "annotation_causes", "calibration")


def check(draw: Callable[[Axes], Any], **options: Any) -> None:
    """Draw into a figure as ``plt.subplots(figsize=(6, 4))`` makes it."""
    with mpl.rc_context(mpl.rcParamsDefault):
        figure = Figure(figsize=(6, 4))
        ax = figure.add_subplot(**options)
        draw(ax)
        found = [each for each in complaints(figure) if "lies outside" in each]
    assert found == []
    assert ax.get_axisbelow() is True


@pytest.mark.parametrize("name", [*SINGLE, *SEVERAL, "oracle_curve"])
def test_diagnoses(name: str, sources: list[plots.Source]) -> None:
    kind = plots.FIGURES[name]
    data = {source.result["label"]: kind.data(source) for source in sources[:2]}
    given = data if name in SEVERAL else data["One-stage"]
    check(lambda ax: drawn(kind, given, ax))


def test_costs(sources: list[plots.Source]) -> None:
    check(lambda ax: plots.delta_map([source.result for source in sources], ax))


def test_a_layout_of_the_user_stays() -> None:
    figure = Figure(layout="tight")
    engine = figure.get_layout_engine()
    plots.delta_map([{"oracles": {"action": {"delta_map": {"full": 0.1}}}}], figure.add_subplot())
    assert figure.get_layout_engine() is engine
