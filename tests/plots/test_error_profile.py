"""Errors of each verb and of each object."""

import numpy as np
import pytest
from support.figures import complaints

from diaghoi import simulate
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.evaluation.errors import LABELS
from diaghoi.plots import (
    DOUBLE_COLUMN,
    FIGURES,
    SINGLE_COLUMN,
    ModelData,
    NotApplicable,
    figure_of,
)
from diaghoi.plots.figures.matrices import (
    ErrorProfile,
    error_profile,
    error_profile_table,
    most_annotated,
)


def profile(names="abc", scale=1):
    rows = len(names)
    counts = np.arange(rows * len(LABELS)).reshape(rows, -1) * scale + 1
    return ErrorProfile(tuple(names), np.arange(rows)[::-1] * 10, counts)


def written(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("by", ["verb", "object"])
def test_counts_are_those_of_the_classes(sources, by):
    diagnosis = sources[0].diagnosis
    table = error_profile_table(diagnosis, by)
    classes = diagnosis.classes
    assert set(table.names) <= set(classes[by])
    for row, name in enumerate(table.names):
        mine = classes[by] == name
        assert table.annotated[row] == classes["annotated"][mine].sum()
        expected = [classes[label][mine].sum() for label in LABELS]
        assert table.counts[row].tolist() == expected
    assert table.counts.sum() == len(diagnosis.ledger.row_label)


def test_verbs_that_nothing_is_of_are_left_out(sources):
    table = error_profile_table(sources[0].diagnosis)
    assert len(table.names) < len(sources[0].diagnosis.vocabulary.verbs)
    assert "no_interaction" not in table.names
    assert ((table.annotated > 0) | (table.counts.sum(axis=1) > 0)).all()


def test_v_coco_is_left_out():
    truth = simulate.v_coco_annotations(20, np.random.default_rng(0))
    found = simulate.v_coco_detect(truth, np.random.default_rng(1))
    diagnosis = diagnose(truth, found)
    # Each person is predicted with each action: the rows would all be the same.
    with pytest.raises(NotApplicable, match="v-coco: every person is predicted with every verb"):
        error_profile_table(diagnosis)
    with pytest.raises(NotApplicable, match="v-coco: its classes do not name objects"):
        error_profile_table(diagnosis, "object")


def test_shares_of_rows_sum_to_one_or_are_undefined():
    table = profile()._replace(counts=np.array([[1, 3, 0, 0, 0, 0, 0], [0] * 7, [2] * 7]))
    assert table.shares[0].tolist() == [0.25, 0.75, 0, 0, 0, 0, 0]
    assert np.isnan(table.shares[1]).all()
    assert table.shares[2].sum() == pytest.approx(1)


def test_most_annotated_first_and_only_what_all_models_have():
    one = ErrorProfile(tuple("abcd"), np.array([5, 9, 9, 1]), np.ones((4, 7), dtype=int))
    two = ErrorProfile(tuple("bcda"), np.array([9, 9, 1, 5]), np.ones((4, 7), dtype=int))
    lacking = ErrorProfile(("a", "c"), np.array([5, 9]), np.ones((2, 7), dtype=int))
    assert most_annotated([one, two], 3) == ["b", "c", "a"]
    assert most_annotated([one, lacking], 3) == ["c", "a"]


def test_cells_hold_percents():
    counts = np.array([[1, 3, 0, 0, 0, 0, 0], [0] * 7])
    ax = error_profile(ErrorProfile(("a", "b_c"), np.array([2, 1]), counts))
    assert written(ax) == ["25", "75", "0", "0", "0", "0", "0"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b c"]
    assert [text.get_text() for text in ax.get_xticklabels()][:2] == ["True positive", "Human box"]
    assert complaints(ax.figure) == []


@pytest.mark.parametrize(
    ("one", "two", "shown"),
    [((1, 3), (3, 1), ["50", "−50"]), ((1000, 1001), (1001, 1000), ["0"] * 2)],
)
def test_differences_are_signed_points_unless_they_round_to_nothing(one, two, shown):
    tables = [
        ErrorProfile(("a",), np.array([1]), np.array([[*each, *[0] * 5]])) for each in (one, two)
    ]
    models = [ModelData(label=label, data=data) for label, data in zip("xy", tables, strict=True)]
    ax = figure_of(FIGURES["error_profile_verb"], models, DOUBLE_COLUMN).axes[2]
    assert written(ax) == [*shown, *["0"] * 5]
    cells = ax.collections[0]
    assert cells.norm.vmin == -cells.norm.vmax


@pytest.mark.parametrize(
    ("models", "width", "names", "numbers"),
    [
        (1, SINGLE_COLUMN, 25, True),
        (3, DOUBLE_COLUMN, 25, True),
        (12, DOUBLE_COLUMN, 14, True),
        (12, SINGLE_COLUMN, 14, False),
    ],
)
def test_panels_fit_a_page(models, width, names, numbers):
    table = profile([f"v{number}" for number in range(25)])
    shown = [ModelData(label=f"m{number}", data=table) for number in range(models)]
    figure = figure_of(FIGURES["error_profile_verb"], shown, width)
    assert len(figure.axes[0].get_yticklabels()) == names
    assert bool(written(figure.axes[0])) == numbers
    assert figure.get_figheight() < 9


def assert_two_models(models):
    kind = FIGURES["error_profile_verb"]
    labels = [each.label for each in models]
    figure = figure_of(kind, models, DOUBLE_COLUMN)
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles == [*labels, "Second minus first (points)"]
    assert complaints(figure) == []
    single = figure_of(kind, models, SINGLE_COLUMN)
    assert [ax.get_title("left") for ax in single.axes] == labels


@pytest.mark.slow
def test_two_models_and_their_difference():
    assert_two_models(
        [
            ModelData(label="One-stage", data=profile("abcdefghijklmno")),
            ModelData(label="Two-stage", data=profile("onmlkjihgfedcba", scale=3)),
        ]
    )


@pytest.mark.slow
def test_two_models_of_many_verbs_and_their_difference(models_of):
    assert_two_models(models_of(FIGURES["error_profile_verb"], 2))


@pytest.mark.slow
def test_many_models_have_colours_alone(models_of):
    kind = FIGURES["error_profile_object"]
    figure = figure_of(kind, models_of(kind, 12), SINGLE_COLUMN)
    *panels, bar = figure.axes
    assert len(panels) == 12
    assert not any(written(ax) for ax in panels)
    assert len({ax.collections[0].get_clim() for ax in panels}) == 1
    assert bar.get_xlabel() == "Share of the predictions (%)"
    assert complaints(figure) == []


def test_what_has_no_row_is_in_the_last_one():
    # The shares of the rows alone could be printed as those of all predictions.
    table = profile([f"v{number}" for number in range(30)])
    models = [ModelData(label=label, data=table) for label in "ab"]
    figure = figure_of(FIGURES["error_profile_verb"], models, DOUBLE_COLUMN)
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == [*(f"v{number}" for number in range(25)), "all others"]
    rest = table.counts[25:].sum(axis=0)
    shown = [text.get_text() for text in figure.axes[0].texts][-len(LABELS) :]
    assert shown == [f"{round(100 * each / rest.sum())}" for each in rest]
    few = [ModelData(label="a", data=profile())]
    figure = figure_of(FIGURES["error_profile_verb"], few, DOUBLE_COLUMN)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["a", "b", "c"]


def test_models_that_share_no_verb():
    models = [
        ModelData(label=name, data=replaced)
        for name, replaced in (("x", profile("abc")), ("y", profile("def")))
    ]
    with pytest.raises(NotApplicable, match="the models share no verbs"):
        figure_of(FIGURES["error_profile_verb"], models, DOUBLE_COLUMN)
