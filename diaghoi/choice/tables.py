"""Language models and detectors side by side, in the layout of the paper.

Tables 1 to 4 of paper 002: four metrics, each for single- and multi-person questions and overall,
with the models in groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from diaghoi.choice.evaluation import REPLIES, ChoiceEvaluation
from diaghoi.choice.score import SUBSETS
from diaghoi.choice.selection import selection_rates
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.study import StudyModel, check_models
from diaghoi.comparison.tables import model_rows
from diaghoi.data.protocol import SEPARATOR
from diaghoi.data.table import Cell, Column, RowGroup, Table
from diaghoi.exceptions import InputError

OVERALL = "overall"
METRIC_TITLES = {
    "instance_f1": "Instance-F1",
    "macro_f1": "Macro-F1",
    "micro_f1": "Micro-F1",
    "exact_match": "EM",
}
PEOPLE = (
    "Single, multi: questions on images with one annotated person, or several, unless a list of "
    "images says which."
)
PART_TITLES = {"single": "Single", "multi": "Multi", OVERALL: "Overall"}
SELECTED = (
    Column(key="right", title="Right", unit="number", group="Options a question"),
    Column(key="picked", title="Picked", unit="number", group="Options a question"),
    Column(key="right_picked", title="Right", better="higher", group="Share picked"),
    Column(key="wrong_picked", title="Wrong", better="lower", group="Share picked"),
    Column(key="under", title="Too few", group="Questions"),
    Column(key="over", title="Too many", group="Questions"),
    Column(key="empty", title="None", group="Questions"),
)


def compare_choices_table(
    evaluations: Sequence[ChoiceEvaluation], groups: Sequence[str] = ()
) -> Comparison:
    """Compare the metrics of some models side by side.

    Parameters
    ----------
    evaluations : sequence of ChoiceEvaluation
        Evaluations on the same questions, with different labels.
    groups : sequence of str
        Group of each model, such as "VLM"; none for a table without groups.

    Raises
    ------
    InputError
        Where there is no model, a label appears twice, or the questions differ.
    """
    if not evaluations:
        raise InputError("there is no model to compare; give at least one")
    questions = evaluations[0].answers.questions
    for each in evaluations:
        if each.answers.questions.questions != questions.questions:
            raise InputError(
                f"'{each.answers.label}' answers {each.answers.questions.file}, others "
                f"{questions.file}; compare answers to the same questions"
            )
    groups = groups or [""] * len(evaluations)
    labelled = check_models([StudyModel(label=each.answers.label) for each in evaluations])
    models = tuple(
        replace(model, stage=group) for model, group in zip(labelled, groups, strict=True)
    )
    ways = dict.fromkeys(each.how for each in evaluations if each.how != REPLIES)
    return Comparison(
        dataset=questions.dataset,
        protocol="multiple choice",
        signature=SEPARATOR.join(
            [f"{len(questions):,} questions", *(f"detectors: {way}" for way in ways)]
        ),
        images=len(questions.images),
        models=models,
        tables=(_scores(evaluations, models), _selected(evaluations, models)),
        caveats=(),
        notes=tuple(dict.fromkeys(note for each in evaluations for note in each.notes)),
    )


def _scores(evaluations: Sequence[ChoiceEvaluation], models: Sequence[StudyModel]) -> Table:
    parted = all(each.figures[part] is not None for each in evaluations for part in SUBSETS)
    parts = (*SUBSETS, OVERALL) if parted else (OVERALL,)
    columns = tuple(
        Column(
            key=f"{metric}.{part}",
            title=PART_TITLES[part] if parted else title,
            better="higher",
            group=title if parted else "",
        )
        for metric, title in METRIC_TITLES.items()
        for part in parts
    )

    def values(evaluation: ChoiceEvaluation) -> list[float | None]:
        figures = evaluation.figures
        return [
            (figures if part == OVERALL else figures[part])[metric]
            for metric in METRIC_TITLES
            for part in parts
        ]

    caption = ["EM: exact match.", *([PEOPLE] if parted else []), *_detectors(evaluations)]
    return _table(
        "choice",
        "Multiple choice, %",
        " ".join(caption),
        columns,
        [values(each) for each in evaluations],
        models,
    )


def _detectors(evaluations: Sequence[ChoiceEvaluation]) -> list[str]:
    """Say which triplets of detectors count, and where."""
    ways = dict.fromkeys(
        ", ".join(filter(None, (each.how, each.answers.where)))
        for each in evaluations
        if each.how != REPLIES
    )
    return [f"Detectors: {'; '.join(ways)}."] if ways else []


def _selected(evaluations: Sequence[ChoiceEvaluation], models: Sequence[StudyModel]) -> Table:
    def values(evaluation: ChoiceEvaluation) -> list[float | None]:
        found: Mapping[str, Any] = selection_rates(evaluation.answers, evaluation.tallies[""])
        return [found[column.key] for column in SELECTED]

    return _table(
        "selection",
        "What is picked",
        "Share of the right and of the wrong options that are picked, and of the questions with "
        "fewer or more options picked than are right, or with none, %.",
        SELECTED,
        [values(each) for each in evaluations],
        models,
    )


def _table(
    key: str,
    title: str,
    caption: str,
    columns: Sequence[Column],
    values: Sequence[Sequence[float | None]],
    models: Sequence[StudyModel],
) -> Table:
    """Build a table: models in the order of the groups, the best of each column in bold."""
    rows = model_rows(models, columns, [[Cell(value=value) for value in row] for row in values])
    row_groups = tuple(
        RowGroup(
            title=group,
            rows=tuple(row for row, each in zip(rows, models, strict=True) if each.stage == group),
        )
        for group in dict.fromkeys(model.stage for model in models)
    )
    return Table(
        key=key,
        title=title,
        heads=("Model",),
        columns=tuple(columns),
        row_groups=row_groups,
        grouping="Group",
        caption=caption,
        best="the best of each column",
    )
