"""Models and detectors side by side, and their figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from support.choice import HOLD, RIDE, WASH, answered
from support.figures import complaints

from diaghoi import InputError
from diaghoi.choice import ChoiceEvaluation, evaluate_answers
from diaghoi.choice.analyses import position_bias
from diaghoi.choice.comparison import compare_choices, compare_choices_table
from diaghoi.choice.evaluation import choice_bootstrap
from diaghoi.plots.figures.answers import (
    choice_positions,
    choice_positions_table,
    choice_scores,
    choice_scores_table,
)
from diaghoi.report.comparison import to_text
from diaghoi.report.latex import to_latex
from diaghoi.report.markdown import to_markdown
from diaghoi.report.spreadsheet import to_csv

PARTS = ("Single", "Multi", "Overall")
PEOPLE = {"HICO_0.jpg": False, "HICO_1.jpg": True, "HICO_2.jpg": True}


def evaluation(label: str, *picked: list[str], people: bool = True) -> ChoiceEvaluation:
    rows = [([RIDE], [HOLD, WASH], each) for each in picked]
    answers = answered(rows)
    how = "replies" if label.startswith("V") else "top 5 triplets of each image"
    answers = replace(answers, label=label, how=how)
    return evaluate_answers(answers, people=PEOPLE if people else None)


@pytest.fixture
def models() -> list[ChoiceEvaluation]:
    return [
        evaluation("VLM-7B", [RIDE], [HOLD], [RIDE]),
        evaluation("Detector", [RIDE, HOLD], [RIDE], []),
        evaluation("VLM-32B", [RIDE], [RIDE], [RIDE]),
    ]


HEADINGS = ["VLM", "HOI-specific methods", "VLM"]


def test_the_layout_is_that_of_the_paper(models: list[ChoiceEvaluation]) -> None:
    comparison = compare_choices_table(models, HEADINGS)
    table = comparison.tables[0]
    heads = [f"{column.group} {column.title}" for column in table.columns[:4]]
    assert heads == [*(f"Instance-F1 {of}" for of in PARTS), "Macro-F1 Single"]
    assert [(group.title, [row.title for row in group.rows]) for group in table.row_groups] == [
        ("VLM", ["VLM-7B", "VLM-32B"]),
        ("HOI-specific methods", ["Detector"]),
    ]
    assert [cell.value for cell in table.rows[0].cells[:3]] == pytest.approx([1, 0.5, 2 / 3])
    assert [cell.best for cell in table.rows[1].cells[:3]] == [True, True, True]
    assert [cell.best for cell in table.rows[2].cells[:3]] == [False, False, False]
    assert comparison.signature == "3 questions | detectors: top 5 triplets of each image"


def test_every_renderer_shows_the_table(models: list[ChoiceEvaluation]) -> None:
    comparison = compare_choices_table(models, HEADINGS)
    assert "| Group | Model | Instance-F1 Single | Instance-F1 Multi |" in to_markdown(comparison)
    assert "| VLM | VLM-32B | **100.00** | **100.00** |" in to_markdown(comparison)
    assert r"\multicolumn{3}{c}{Instance-F1}" in to_latex(comparison)
    assert r"\textbf{100.00}" in to_latex(comparison)
    line = (
        "choice,hico-det,multiple choice,Detector,HOI-specific "
        "methods,,,,,instance_f1.multi,0.5,,,,,,"
    )
    assert f"{line}\r\n" in to_csv(comparison)
    text = to_text(comparison)
    assert "HOI-specific methods\n  Detector" in text
    assert "100.00*" in text
    assert max(map(len, text.splitlines())) <= 80
    found = comparison.to_dict()["tables"]["choice"]
    assert found["models"]["VLM-7B"]["exact_match.overall"] == pytest.approx(2 / 3)
    assert found["best"]["micro_f1.single"] == ["VLM-7B", "VLM-32B"]


def test_the_caption_says_whose_people_count_and_which_triplets(models) -> None:
    comparison = compare_choices_table(models)
    for text in (to_text(comparison), to_latex(comparison).partition("label")[0]):
        said = " ".join(text.split())
        assert "Single, multi: questions on images with one or several annotated people" in said
        assert "Detectors: top 5 triplets of each image." in said
    alone = to_latex(compare_choices_table([evaluation("V", [RIDE], people=False)]))
    assert "Single" not in alone
    assert "Detectors" not in alone


def test_without_people_there_is_one_column_a_figure() -> None:
    table = compare_choices_table([evaluation("V", [RIDE], people=False)]).tables[0]
    heads = [column.title for column in table.columns]
    assert heads == ["Instance-F1", "Macro-F1", "Micro-F1", "EM"]


def test_how_much_is_picked_is_shown_too(models: list[ChoiceEvaluation]) -> None:
    table = compare_choices_table(models).tables[1]
    detector = dict(zip([column.key for column in table.columns], table.rows[1].cells, strict=True))
    assert detector["picked"].value == 1
    assert detector["empty"].value == pytest.approx(1 / 3)


def test_models_that_differ_are_marked() -> None:
    good = evaluation("V1", *[[RIDE]] * 30, people=False)
    bad = evaluation("V2", *[[HOLD]] * 30, people=False)
    found = compare_choices(good, bad, 200)
    comparison = compare_choices_table([good, bad]).with_differences(found)
    table = comparison.tables[0]
    assert [cell.mark for cell in table.rows[1].cells] == ["†"] * 4
    assert "†: differs from V1 (p < 0.05" in " ".join(table.remarks)
    sentences = "\n".join(f"- {each.sentence}." for each in found)
    assert f"\n\n{sentences}\n\nProtocol " in to_markdown(comparison).replace("\\", "")
    assert comparison.tables[1].caption == compare_choices_table([good, bad]).tables[1].caption


def test_what_does_not_compare_is_refused() -> None:
    one = evaluation("V", [RIDE])
    with pytest.raises(InputError, match="there is no model"):
        compare_choices_table([])
    with pytest.raises(InputError, match="label 'V': used for two models"):
        compare_choices_table([one, one])
    with pytest.raises(InputError, match="compare answers to the same questions"):
        compare_choices_table([one, evaluation("W", [RIDE], [RIDE])])


def test_the_dots_are_the_figures_in_percent(models: list[ChoiceEvaluation]) -> None:
    results = [each.to_dict() for each in models]
    results[0] |= choice_bootstrap(models[0], 20).to_dict()
    table = choice_scores_table(results)
    assert table[0].label == "VLM-7B"
    assert table[0].values["exact_match"] == pytest.approx(200 / 3)
    assert set(table[0].bounds) == {"instance_f1", "macro_f1", "micro_f1", "exact_match"}
    ax = choice_scores(results)
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    assert complaints(figure) == []
    drawn = [line.get_ydata() for line in ax.get_lines() if len(line.get_ydata()) == 4]
    assert np.allclose(drawn[2], 100)


def test_scores_that_are_undefined_are_not_drawn() -> None:
    result = evaluate_answers(answered([([], [HOLD], [])])).to_dict()
    ax = choice_scores([result])
    assert np.isnan(ax.get_lines()[0].get_ydata()[1])
    with pytest.raises(InputError, match="nothing to draw"):
        choice_scores([])


def test_bars_are_picks_beyond_chance() -> None:
    answers = answered([([RIDE], [HOLD, WASH], [HOLD])] * 40)
    shown = tuple(
        each._replace(shown=(HOLD, RIDE, WASH), places=(0,), how="letters")
        for each in answers.answers
    )
    result = {"label": "V", "positions": position_bias(replace(answers, answers=shown))}
    bars = choice_positions_table(result)
    assert [(bar.letter, bar.excess, bar.certain) for bar in bars] == [
        ("A", 50, True),
        ("B", 0, False),
        ("C", -50, True),
    ]
    ax = choice_positions(result)
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    assert complaints(figure) == []
    assert [bar.get_height() for bar in ax.patches] == [50, 0, -50]
    assert ax.get_ylabel() == "Picked minus expected\n(% of shown)"
    with pytest.raises(InputError, match="do not tell in which order"):
        choice_positions({"label": "V", "positions": None})
