"""The bars of a study in panels: errors and totals, groups of classes, backbones."""

import pytest
from matplotlib.figure import Figure
from support.figures import complaints

from diaghoi.exceptions import InputError
from diaghoi.oracles import ORACLES
from diaghoi.plots import (
    DOUBLE_COLUMN,
    FIGURES,
    SINGLE_COLUMN,
    ModelData,
    NotApplicable,
    figure_of,
)
from diaghoi.plots.captions import notes_of
from diaghoi.plots.figures.delta_panels import backbone_groups


def result(splits=("full", "rare", "non_rare"), **deltas):
    values = dict.fromkeys(ORACLES, 0.05) | {"false_positive": 0.4} | deltas
    return {
        "oracles": {
            name: {"delta_map": dict.fromkeys(splits, delta)} for name, delta in values.items()
        }
    }


def model(label, data=None, **more):
    return ModelData(label=label, data=data or result(), **more)


def panels(figure):
    """Axes with bars, two a row."""
    shown = [ax for ax in figure.axes if ax.axison]
    return list(zip(shown[::2], shown[1::2], strict=True))


def names(ax):
    return {bar.get_gid() for bar in ax.patches}


def legends(figure):
    return [
        [text.get_text() for text in ax.get_legend().get_texts()]
        for ax in figure.axes
        if ax.get_legend() is not None
    ]


def test_totals_have_a_scale_of_their_own():
    figure = figure_of(FIGURES["delta_map"], [model("a"), model("b")], DOUBLE_COLUMN)
    ((errors, totals),) = panels(figure)
    assert names(totals) == {
        f"{total}/{label}" for total in ("false_positive", "false_negative") for label in "ab"
    }
    assert len(names(errors)) == 14
    assert totals.get_ylim()[1] > 40 > 10 > errors.get_ylim()[1]
    assert legends(figure) == [["a", "b"]]


def test_bars_of_two_stage_models_are_hatched():
    models = [model("a", stage="two"), model("b", stage="one"), model("c", stage="two")]
    figure = figure_of(FIGURES["delta_map"], models, DOUBLE_COLUMN)
    ((errors, _),) = panels(figure)
    bars = [bar for bar in errors.patches if str(bar.get_gid()).startswith("action/")]
    bars.sort(key=lambda bar: bar.get_x())
    assert [bar.get_gid() for bar in bars] == ["action/a", "action/b", "action/c"]
    assert [bar.get_hatch() for bar in bars] == ["////", None, "////"]
    assert len({bar.get_facecolor() for bar in bars}) == 3
    assert legends(figure) == [["a", "b", "c"]]
    (title,) = (ax.get_legend().get_title().get_text() for ax in figure.axes if ax.get_legend())
    assert title == "Hatched: two-stage"


def test_dots_of_two_stage_models_are_hollow():
    stages = ["one", "two"] * 4
    models = [model(f"m{number}", stage=stage) for number, stage in enumerate(stages)]
    figure = figure_of(FIGURES["delta_map"], models, SINGLE_COLUMN)
    ((errors, _),) = panels(figure)
    dots = [line for line in errors.lines if str(line.get_gid()).startswith("action/")]
    dots.sort(key=lambda dot: dot.get_xdata()[0])
    assert [dot.get_markerfacecolor() == "white" for dot in dots] == [False, True] * 4
    assert [dot.get_gid()[-1] for dot in dots] == list("01234567")
    legend = next(ax.get_legend() for ax in figure.axes if ax.get_legend())
    assert legend.get_title().get_text() == "Hollow: two-stage"
    hollow = [mark.get_markerfacecolor() == "white" for mark in legend.legend_handles]
    assert hollow == [False, True] * 4


def test_models_of_one_stage_differ_by_hatch():
    models = [model(label, stage="two") for label in "ab"]
    figure = figure_of(FIGURES["delta_map"], models, DOUBLE_COLUMN)
    assert {bar.get_hatch() for bar in panels(figure)[0][0].patches} == {None, "////"}


def test_each_group_of_classes_has_a_row():
    models = [model(label) for label in "ab"]
    figure = figure_of(FIGURES["delta_map_rare"], models, SINGLE_COLUMN)
    rows = panels(figure)
    assert [errors.get_title("left") for errors, _ in rows] == ["Rare classes", "Non-rare classes"]
    assert rows[0][0].get_ylim() == rows[1][0].get_ylim()
    assert legends(figure) == [["a", "b"]]


def test_groups_of_other_data_sets():
    splits = ("full", "zero_shot", "rare", "non_rare")
    figure = figure_of(
        FIGURES["delta_map_rare"], [model("a", result(splits=splits))], DOUBLE_COLUMN
    )
    titles = [errors.get_title("left") for errors, _ in panels(figure)]
    assert titles == ["Zero-shot classes", "Rare classes", "Non-rare classes"]
    assert complaints(figure) == []


def test_only_groups_that_all_models_have_and_no_mean_of_them():
    splits = ("full", "unseen", "seen", "harmonic", "rare")
    models = [model("a", result(splits=splits)), model("b", result(splits=splits[:-1]))]
    figure = figure_of(FIGURES["delta_map_rare"], models, DOUBLE_COLUMN)
    titles = [errors.get_title("left") for errors, _ in panels(figure)]
    assert titles == ["Unseen classes", "Seen classes"]


@pytest.mark.parametrize("other", [("full",), ("full", "mine")])
def test_without_shared_groups_there_is_no_such_figure(other):
    models = [model("a"), model("b", result(splits=other))]
    with pytest.raises(NotApplicable, match="share no groups of classes"):
        figure_of(FIGURES["delta_map_rare"], models, DOUBLE_COLUMN)


def test_undefined_everywhere():
    nothing = result(**dict.fromkeys(ORACLES))
    with pytest.raises(NotApplicable, match="have no numbers"):
        figure_of(FIGURES["delta_map"], [model("a", nothing)], DOUBLE_COLUMN)


def test_negative_bars_are_shown():
    data = result(human_box=-0.02)
    figure = figure_of(FIGURES["delta_map"], [model("a", data)], DOUBLE_COLUMN)
    errors, _ = panels(figure)[0]
    assert min(bar.get_height() for bar in errors.patches) == pytest.approx(-2)
    assert complaints(figure) == []


# Backbones


def groups(*told):
    found = backbone_groups(
        [model(label, backbone=backbone, stage=stage) for label, backbone, stage in told]
    )
    return [(title, shown) for title, shown, _ in found]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("UPT", "UPT ResNet-101"),
        ("UPT-R50", "UPT-R101"),
        ("UPT (ResNet-50)", "UPT (ResNet-101)"),
        ("UPT_resnet50", "UPT_resnet101"),
        ("ResNet-50 UPT", "ResNet-101 UPT"),
    ],
)
def test_models_of_one_name_form_a_family(one, other):
    told = [(one, "ResNet-50", "two"), (other, "ResNet-101", ""), ("CDN", "ResNet-50", "one")]
    assert groups(*told) == [("UPT", ["ResNet-50", "ResNet-101"])]


def test_families_by_names_of_any_form():
    told = [("QAHOI Swin-B", "Swin-B", ""), ("QAHOI Swin-L", "Swin-L", "")]
    assert groups(*told) == [("QAHOI", ["Swin-B", "Swin-L"])]


def test_equal_backbones_of_a_family_are_told_apart():
    told = [("UPT R50", "R50", ""), ("UPT", "R50", ""), ("UPT R101", "R101", "")]
    assert groups(*told) == [("UPT", ["R50", "R50 (2)", "R101"])]


def test_a_label_that_is_its_backbone_stays():
    assert groups(("R50", "R50", "one"), ("R101", "R101", "one")) == [
        ("One-stage", ["R50 (R50)", "R101 (R101)"])
    ]


def test_without_families_stages_are_compared():
    told = [("A", "R50", "one"), ("B", "R101", "one"), ("C", "R50", "two"), ("D", "R50", "two")]
    assert groups(*told) == [("One-stage", ["A (R50)", "B (R101)"])]


def test_models_without_a_backbone_are_left_out():
    assert groups(("A", "R50", ""), ("B", "", ""), ("C", "R101", "")) == [
        ("", ["A (R50)", "C (R101)"])
    ]


def test_one_row_a_family_each_with_its_legend():
    models = [
        model(f"{family} {backbone}", backbone=backbone)
        for family in ("UPT", "GEN-VLKT")
        for backbone in ("R50", "R101")
    ]
    figure = figure_of(FIGURES["delta_map_backbone"], models, SINGLE_COLUMN)
    assert len(panels(figure)) == 2
    assert legends(figure) == [["R50", "R101"], ["R50", "R101"]]
    assert complaints(figure) == []


def test_models_and_splits_that_are_left_out_are_named():
    models = [
        model("UPT R50", backbone="R50"),
        model("UPT R101", backbone="R101"),
        model("QPIC", result(("full", "unseen", "rare"))),
    ]
    for name, note in (
        ("delta_map_backbone", "Without another backbone to compare: QPIC."),
        ("delta_map_rare", "Not all models have non-rare classes, unseen classes."),
        ("delta_map", None),
    ):
        figure = figure_of(FIGURES[name], models, SINGLE_COLUMN)
        assert complaints(figure) == []
        assert notes_of(figure) == [note][: bool(note)]


@pytest.mark.parametrize("backbones", [("", ""), ("R50", ""), ("R50", "R50")])
def test_one_backbone_is_no_comparison(backbones):
    models = [model(f"m{n}", backbone=backbone) for n, backbone in enumerate(backbones)]
    with pytest.raises(NotApplicable, match="give backbone, and label or stage"):
        figure_of(FIGURES["delta_map_backbone"], models, DOUBLE_COLUMN)


def test_result_without_oracles_is_refused():
    with pytest.raises(InputError, match="a: the result has no 'oracles'"):
        figure_of(FIGURES["delta_map"], [model("a", {"oracles": None})], DOUBLE_COLUMN)


def test_drawing_needs_no_window():
    figure = figure_of(FIGURES["delta_map"], [model("a")], DOUBLE_COLUMN)
    assert isinstance(figure, Figure)
    assert figure.canvas.manager is None
