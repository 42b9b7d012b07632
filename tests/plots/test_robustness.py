"""Figures of robustness studies: their data, and drawings without complaints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from support.figures import complaints
from support.robustness_results import SEVERITIES, incomplete, model_of, study

from diaghoi.oracles import ERRORS
from diaghoi.plots import (
    DOUBLE_COLUMN,
    SINGLE_COLUMN,
    ModelData,
    NotApplicable,
    figure_of,
    notes_of,
)
from diaghoi.plots.figures.robustness import (
    ROBUSTNESS_FIGURES,
    models_of,
    robustness_curves_table,
    robustness_drops_table,
    robustness_errors_table,
    robustness_groups_table,
    robustness_severities_table,
)
from diaghoi.robustness.corruptions import GROUPS

BAND = "band: 95 % interval"


def axes_of(name: str, tables: dict[str, Any], place: int = 0) -> Any:
    models = [ModelData(label=label, data=data) for label, data in tables.items()]
    return figure_of(ROBUSTNESS_FIGURES[name], models, SINGLE_COLUMN).axes[place]


@pytest.mark.slow
@pytest.mark.parametrize(("models", "width"), [(4, DOUBLE_COLUMN), (10, SINGLE_COLUMN)])
@pytest.mark.parametrize("kind", ROBUSTNESS_FIGURES.values(), ids=lambda kind: kind.name)
def test_nothing_overlaps_or_lies_outside(kind, models: int, width: float) -> None:
    told = study(models)
    figure = figure_of(kind, models_of(kind, told), width)
    assert figure.get_figwidth() == width
    assert complaints(figure) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROBUSTNESS_FIGURES.values(), ids=lambda kind: kind.name)
def test_long_names_and_gaps(kind) -> None:
    told = study(2, label="A detector with $quite a long name, version 2.0, " * 2)
    first = told["models"][0]
    first["drops"]["motion_blur"] = None
    first["growth"]["action"]["motion_blur"] = None
    first["cells"] = first["cells"][3:]
    for each in first["cells"]:
        each["delta_map"]["action"] = None
        each["intervals"]["shares"]["action"] = None
    first["indices"]["groups"]["optical"]["mri"] = None
    figure = figure_of(kind, models_of(kind, told), SINGLE_COLUMN)
    assert complaints(figure) == []


def test_drops_are_what_is_left_in_percent() -> None:
    rows = robustness_drops_table(model_of(study(), 1))
    assert [row.name for row in rows[:3]] == ["MB", "DB", "GauB"]
    assert [row.remaining for row in rows[:3]] == pytest.approx([99, 98, 97])
    ax = axes_of("robustness_drops", {"A": rows})
    line = ax.lines[0]
    assert line.get_ydata()[:3] == pytest.approx([99, 98, 97])
    assert line.get_ydata()[-1] == line.get_ydata()[0]
    assert np.unique(ax.lines[-1].get_ydata()) == 100


def test_groups_stand_beside_clean_pictures() -> None:
    rows = robustness_groups_table(model_of(study(), 1))
    assert rows[0] == ("Clean", 40.0, False)
    assert [row.score for row in rows[1:]] == pytest.approx([29] * 4)
    ax = axes_of("robustness_groups", {"A": rows, "B": rows})
    assert sorted(bar.get_height() for bar in ax.patches) == pytest.approx([29] * 8 + [40] * 2)


def test_severities_of_the_corruptions_that_cost_most() -> None:
    rows = robustness_severities_table(model_of(study()))
    assert len(rows) == 120
    ax = axes_of("robustness_severities", {"A": rows, "B": rows})
    # Severities are ordered: lines, which do not join one corruption with the next.
    assert ax.name == "rectilinear"
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert labels == ["0", "1", "2", "3", "4", "5"] * 3
    names = [text.get_text() for text in ax.get_xticklabels(minor=True)]
    assert names == ["PD", "PIX", "ZB"]
    lines = [line for line in ax.lines if len(line.get_xdata()) == 6]
    assert len(lines) == 2 * 3
    assert lines[0].get_ydata() == pytest.approx([40, 39, 38, 37, 36, 35])
    assert [line.get_xdata()[0] for line in lines[:3]] == [0, 6, 12]


def test_errors_by_corruption_in_points() -> None:
    table = robustness_errors_table(model_of(study()))
    assert table.errors == ERRORS
    assert table.growth.shape == (7, 20)
    assert table.growth[6, 10] == pytest.approx(1.5)
    ax = axes_of("robustness_errors", {"A": table})
    (image,) = ax.get_images()
    assert image.get_array().tolist() == table.growth.tolist()
    # White is nothing.
    assert image.norm.vmin == -image.norm.vmax


@pytest.mark.parametrize(("quantity", "factor"), [("delta_map", 1), ("shares", 2)])
def test_curves_are_means_over_the_corruptions_of_a_group(quantity: str, factor: int) -> None:
    table = robustness_curves_table(model_of(study(), 1), quantity)
    assert table.errors == ERRORS
    assert table.groups == tuple(each.label for each in GROUPS.values())
    assert table.severities == (0, *SEVERITIES)
    assert table.values.shape == (7, 4, 6)
    # Clean pictures are the same for all groups; human box: 0, and 1 for the model.
    assert table.values[0, :, 0] == pytest.approx([factor] * 4)
    # Corruptions 0 to 3 at severity 2: 3 points, and 0.1 each.
    assert table.values[0, 0, 2] == pytest.approx(factor * 3.15)
    # The mean of the intervals of single corruptions is no interval of their mean.
    assert np.isnan([table.low, table.high]).all()


@pytest.mark.parametrize("quantity", ["delta_map", "shares"])
def test_curves_of_a_single_corruption_have_its_intervals(quantity: str) -> None:
    told = study(2, corruptions=1)
    table = robustness_curves_table(model_of(told), quantity)
    assert table.low == pytest.approx(table.values - 2)
    assert table.high == pytest.approx(table.values + 3)
    ax = axes_of("robustness_costs", {"A": table})
    assert len(ax.collections) == len(ERRORS)
    assert BAND in [text.get_text() for text in ax.figure.legends[0].get_texts()]


@pytest.mark.parametrize("models", [2, 5])
def test_bands_are_labelled_where_there_are_any(models: int) -> None:
    kind = ROBUSTNESS_FIGURES["robustness_costs"]
    for corruptions, labelled in ((1, True), (4, False), (5, True)):
        told = study(models, corruptions)
        figure = figure_of(kind, models_of(kind, told), DOUBLE_COLUMN)
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert (BAND in labels) == labelled
        assert any(ax.collections for ax in figure.axes) == labelled
    told["bootstrap"] = {"confidence": 0.9}
    figure = figure_of(kind, models_of(kind, told), DOUBLE_COLUMN)
    assert BAND.replace("95", "90") in [t.get_text() for t in figure.legends[0].get_texts()]


def test_curves_are_over_what_there_is() -> None:
    model = model_of(study(corruptions=4))
    model["cells"] = [
        each
        for each in model["cells"]
        if each["severity"] != 3 and (each["corruption"], each["severity"]) != ("motion_blur", 2)
    ]
    table = robustness_curves_table(model)
    assert table.groups == (GROUPS["optical"].label,)
    # Corruptions 1 to 3 are left at severity 2.
    assert table.values[0, 0, [0, 2]] == pytest.approx([0, 2.2])
    assert np.isnan(table.values[0, 0]).tolist() == [False] * 3 + [True] + [False] * 2


def test_curves_of_one_group() -> None:
    table = robustness_curves_table(model_of(study()))
    ax = axes_of("robustness_costs", {"A": table}, 2)
    lines = [line for line in ax.lines if len(line.get_xdata()) == 6]
    assert [line.get_ydata().tolist() for line in lines] == table.values[:, 2].tolist()
    assert not ax.collections


@pytest.mark.slow
def test_few_models_have_panels_and_many_have_lines() -> None:
    kind = ROBUSTNESS_FIGURES["robustness_shares"]
    for models, panels, lines in ((2, 8, 7), (5, 28, 5)):
        figure = figure_of(kind, models_of(kind, study(models)), DOUBLE_COLUMN)
        assert len(figure.axes) == panels
        assert {len(ax.lines) for ax in figure.axes} == {lines}
    labels = [ax.get_ylabel() for ax in figure.axes if ax.get_ylabel()]
    assert labels[-2:] == ["Duplicate", "Missed\n(of annotated)"]
    narrow = figure_of(kind, models_of(kind, study(3)), SINGLE_COLUMN)
    assert len(narrow.axes) == 28


def test_bands_of_many_models_are_left_out() -> None:
    kind = ROBUSTNESS_FIGURES["robustness_costs"]
    figure = figure_of(kind, models_of(kind, study(6, 1)), DOUBLE_COLUMN)
    assert not any(ax.collections for ax in figure.axes)
    assert not any("band" in text.get_text() for text in figure.legends[0].get_texts())


def test_groups_in_narrow_panels_are_abbreviated() -> None:
    kind = ROBUSTNESS_FIGURES["robustness_costs"]
    figure = figure_of(kind, models_of(kind, study(2)), 2.4)
    titles = [ax.get_title(loc="left") for ax in figure.axes[:4]]
    assert titles == [each.abbreviation for each in GROUPS.values()]


def test_what_cannot_be_drawn() -> None:
    few = model_of(study(1, corruptions=2))
    with pytest.raises(NotApplicable, match="a radar chart needs 3 corruptions"):
        robustness_drops_table(few)
    few["severities"] = [1]
    with pytest.raises(NotApplicable, match="the figure needs several severities"):
        robustness_severities_table(few)
    none = model_of(study(1))
    none["drops"] = dict.fromkeys(none["drops"])
    none["growth"] = {error: dict.fromkeys(row) for error, row in none["growth"].items()}
    none["indices"]["groups"] = {name: {"mri": None, "partial": True} for name in GROUPS}
    with pytest.raises(NotApplicable, match="without a score on clean pictures"):
        robustness_drops_table(none)
    with pytest.raises(NotApplicable, match="without a score on clean pictures the costliest"):
        robustness_severities_table(none)
    with pytest.raises(NotApplicable, match="without results on clean pictures"):
        robustness_errors_table(none)
    with pytest.raises(NotApplicable, match="no group has a score"):
        robustness_groups_table(none)
    none["cells"] = none["cells"][:1]
    with pytest.raises(NotApplicable, match="the figure needs results at two severities"):
        robustness_curves_table(none)


@pytest.mark.parametrize("width", [2.4, SINGLE_COLUMN, DOUBLE_COLUMN])
@pytest.mark.parametrize("kind", ROBUSTNESS_FIGURES.values(), ids=lambda kind: kind.name)
def test_short_names_are_explained(kind, width: float) -> None:
    figure = figure_of(kind, models_of(kind, study(2)), width)
    told = " ".join(notes_of(figure))
    for short, name in (("ZB", "zoom blur"), ("MB", "motion blur"), ("OS", "optical system")):
        shown = short in words(figure)
        assert (f"{short}: {name}" in told.lower().replace(short.lower(), short)) == shown


def test_the_line_of_clean_pictures_is_that_of_no_model() -> None:
    table = robustness_drops_table(model_of(study()))
    ax = axes_of("robustness_drops", {str(number): table for number in range(5)})
    *lines, clean = ax.lines
    looks = [(line.get_linestyle(), line.get_color()) for line in lines]
    assert (clean.get_linestyle(), clean.get_color()) not in looks
    assert clean.get_linestyle() == "-"
    assert clean.get_linewidth() > max(line.get_linewidth() for line in lines)


def test_models_that_a_figure_cannot_show_are_left_out() -> None:
    told = study(2)
    kind = ROBUSTNESS_FIGURES["robustness_drops"]
    told["models"][0]["drops"] = dict.fromkeys(told["models"][0]["drops"])
    assert [model.label for model in models_of(kind, told)] == ["Model 1"]
    told["models"].pop()
    with pytest.raises(NotApplicable, match="clean pictures"):
        models_of(kind, told)


def test_corruptions_without_a_drop_are_not_the_most_costly() -> None:
    model = model_of(study(1, corruptions=5))
    model["drops"] = dict(zip(model["drops"], (-0.1, -0.2, None, -0.3, -0.4), strict=True))
    ax = axes_of("robustness_severities", {"A": robustness_severities_table(model)})
    names = {text.get_text() for text in ax.get_xticklabels(minor=True)}
    assert names == {"motion blur", "defocus blur", "glass blur"}


def test_chosen_corruptions_are_shown_whatever_they_cost() -> None:
    told = study(2)
    chosen = ("motion_blur", "occlusion", "zoom_blur", "glass_blur")
    severities = ROBUSTNESS_FIGURES["robustness_severities"]
    ax = axes_of("robustness_severities", {"A": models_of(severities, told, chosen)[0].data})
    assert len([line for line in ax.lines if len(line.get_xdata()) == 6]) == 4
    drops = ROBUSTNESS_FIGURES["robustness_drops"]
    assert [row.corruption for row in models_of(drops, told, chosen)[0].data] == [
        *("motion_blur", "glass_blur", "occlusion", "zoom_blur")
    ]
    groups = ROBUSTNESS_FIGURES["robustness_groups"]
    assert len(models_of(groups, told, chosen)[0].data) == 5


def test_figures_say_what_the_score_is_and_of_which_classes() -> None:
    for kind in ROBUSTNESS_FIGURES.values():
        figure = figure_of(kind, models_of(kind, study()), SINGLE_COLUMN)
        told = notes_of(figure)
        scores = kind.name in ("robustness_drops", "robustness_groups", "robustness_severities")
        wanted = "Score: official mAP, Default, Full (all 600 classes)."
        assert (wanted in told) == scores, kind.name


@pytest.mark.parametrize("width", [SINGLE_COLUMN, DOUBLE_COLUMN])
@pytest.mark.parametrize("corruptions", [3, 7, 20])
def test_no_name_of_a_radar_lies_on_the_ring(width: float, corruptions: int) -> None:
    kind = ROBUSTNESS_FIGURES["robustness_drops"]
    figure = figure_of(kind, models_of(kind, study(2, corruptions)), width)
    figure.draw_without_rendering()
    (ax,) = figure.axes
    middle = ax.transAxes.transform((0.5, 0.5))
    radius = ax.transAxes.transform((1.0, 0.5))[0] - middle[0]
    for label in ax.get_xticklabels():
        box = label.get_window_extent()
        near = np.clip(middle, box.min, box.max)  # the point of the box nearest to the middle
        assert np.hypot(*(near - middle)) > radius, label.get_text()
    for label in ax.get_yticklabels():
        box = label.get_window_extent()
        corners = [(x, y) for x in (box.x0, box.x1) for y in (box.y0, box.y1)]
        if label.get_text():
            assert max(np.hypot(*(np.array(each) - middle)) for each in corners) < radius


GAPS = "‡: computed over the available conditions only."


@pytest.mark.parametrize("width", [SINGLE_COLUMN, DOUBLE_COLUMN])
@pytest.mark.parametrize("models", [1, 2, 6])
@pytest.mark.parametrize("kind", ROBUSTNESS_FIGURES.values(), ids=lambda kind: kind.name)
def test_incomplete_models_carry_the_mark_of_the_tables(kind, models: int, width: float) -> None:
    chosen = ("motion_blur", "occlusion", "zoom_blur") if kind.name.endswith("severities") else ()
    whole = figure_of(kind, models_of(kind, study(models), chosen), width)
    assert "‡" not in " ".join(map(str, words(whole)))
    figure = figure_of(kind, models_of(kind, incomplete(study(models)), chosen), width)
    marked = [text for text in words(figure) if "‡" in text and GAPS not in " ".join(text.split())]
    # A bar or the panels of a group, or else the name of the model, and nothing else.
    assert len(marked) == 1, marked
    group = f"{GROUPS['optical'].label}‡"
    panel = " ".join(marked[0].split())
    assert panel.endswith(("Model 0‡", group, "OS‡")) or marked == ["‡"]
    assert any(GAPS in note for note in notes_of(figure))
    assert complaints(figure) == []


def words(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible()]


def test_what_is_missing_as_a_whole_has_no_mark() -> None:
    told = incomplete(study(1))
    told["models"][0]["indices"]["groups"]["optical"]["mri"] = None
    kind = ROBUSTNESS_FIGURES["robustness_groups"]
    figure = figure_of(kind, models_of(kind, told), SINGLE_COLUMN)
    assert not any("‡" in text for text in words(figure))


def test_scores_of_zero_are_drawn_without_a_warning() -> None:
    model = model_of(study(1))
    for each in model["cells"]:
        each["score"] = 0.0
    model["clean"] = 0.0
    ax = axes_of("robustness_severities", {"A": robustness_severities_table(model)})
    assert ax.get_ylim()[0] == 0
