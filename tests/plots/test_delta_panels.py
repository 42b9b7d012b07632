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
    notes_of,
)
from diaghoi.plots.figures.delta_map import backbone_groups


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
    found = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    return [[text.get_text() for text in each.get_texts()] for each in found if each is not None]


def test_totals_have_a_scale_of_their_own():
    figure = figure_of(FIGURES["delta_map"], [model("a"), model("b")], DOUBLE_COLUMN)
    ((errors, totals),) = panels(figure)
    assert names(totals) == {
        f"{total}/{label}" for total in ("false_positive", "false_negative") for label in "ab"
    }
    assert len(names(errors)) == 14
    assert totals.get_ylim()[1] > 40 > 10 > errors.get_ylim()[1]
    assert legends(figure) == [["a", "b"]]


def test_the_caption_names_the_stages():
    models = [model("a", stage="two"), model("b", stage="one"), model("c", stage="two")]
    figure = figure_of(FIGURES["delta_map"], models, DOUBLE_COLUMN)
    assert notes_of(figure) == ["One-stage: b. Two-stage: a, c."]
    assert notes_of(figure_of(FIGURES["delta_map"], models[::2], DOUBLE_COLUMN)) == []


@pytest.mark.parametrize(
    ("number", "width", "lines", "written"),
    [
        (6, DOUBLE_COLUMN, 1, True),
        (10, DOUBLE_COLUMN, 2, True),
        (3, SINGLE_COLUMN, 2, True),
        (6, SINGLE_COLUMN, 3, True),
        (10, SINGLE_COLUMN, 3, False),
    ],
)
def test_many_models_have_a_look_and_a_number_each(number, width, lines, written):
    models = [model(f"m{each}") for each in range(number)]
    figure = figure_of(FIGURES["delta_map"], models, width)
    assert len(figure.axes) == lines + 1
    bars = [bar for ax in figure.axes for bar in ax.patches]
    assert len(bars) == number * len(ORACLES)
    looks = {(bar.get_facecolor(), bar.get_hatch()) for bar in bars}
    if number > 4:
        assert len(looks) == len({colour for colour, _ in looks}) == number
        assert len({hatch for _, hatch in looks}) == number
    texts = [text for ax in figure.axes for text in ax.texts]
    assert len(texts) == (len(bars) if written else 0)
    assert len({ax.get_ylim() for ax in figure.axes}) == 2
    assert figure.get_figheight() < 9
    assert complaints(figure) == []


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
    models = [model(label, backbone=backbone, stage=stage) for label, backbone, stage in told]
    return [(title, list(shown)) for title, shown in backbone_groups(models).items()]


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


def test_one_row_a_family_with_one_legend_if_backbones_are_the_same():
    models = [
        model(f"{family} {backbone}", backbone=backbone)
        for family in ("UPT", "GEN-VLKT")
        for backbone in ("R50", "R101")
    ]
    figure = figure_of(FIGURES["delta_map_backbone"], models, SINGLE_COLUMN)
    assert len(panels(figure)) == 2
    assert legends(figure) == [["R50", "R101"]]
    assert [row[0].get_title("left") for row in panels(figure)] == ["UPT", "GEN-VLKT"]
    assert complaints(figure) == []
    models.append(model("UPT R152", backbone="R152"))
    figure = figure_of(FIGURES["delta_map_backbone"], models, SINGLE_COLUMN)
    assert legends(figure) == [["R50", "R101", "R152"], ["R50", "R101"]]
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
    with pytest.raises(NotApplicable, match="give the keys backbone, and label or stage"):
        figure_of(FIGURES["delta_map_backbone"], models, DOUBLE_COLUMN)


def test_result_without_oracles_is_refused():
    with pytest.raises(InputError, match="a: the result has no 'oracles'"):
        figure_of(FIGURES["delta_map"], [model("a", {"oracles": None})], DOUBLE_COLUMN)


def test_drawing_needs_no_window():
    figure = figure_of(FIGURES["delta_map"], [model("a")], DOUBLE_COLUMN)
    assert isinstance(figure, Figure)
    assert figure.canvas.manager is None
