"""Compare language models and detectors in the paper's layout, and test two models.

Tables 1 to 4 of the CrossHOI-Bench paper: four metrics, each for single-person questions,
multi-person questions and overall, with grouped models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from diaghoi.choice.analyses import selection_rates
from diaghoi.choice.answers import REPLIES
from diaghoi.choice.evaluation import METRICS, SUBSETS, ChoiceEvaluation
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.study import StudyModel, check_models
from diaghoi.comparison.tables import model_rows
from diaghoi.data.protocol import SEPARATOR
from diaghoi.data.table import Cell, Column, Row, RowGroup, Table
from diaghoi.exceptions import InputError
from diaghoi.statistics.bootstrap import check_settings
from diaghoi.statistics.significance import Difference, paired_differences, resampled_alone

OVERALL = "overall"
TITLES = dict(zip(METRICS, ("Instance-F1", "Macro-F1", "Micro-F1", "exact match"), strict=True))
PEOPLE = (
    "Single, multi: questions on images with one or several annotated people, unless a list of "
    "images decides."
)
SELECTED = (
    Column(key="right", title="Right", unit="number", group="Options a question"),
    Column(key="picked", title="Picked", unit="number", group="Options a question"),
    Column(key="right_picked", title="Right", better="higher", group="Share picked"),
    Column(key="wrong_picked", title="Wrong", better="lower", group="Share picked"),
    Column(key="under", title="Too few", group="Questions"),
    Column(key="over", title="Too many", group="Questions"),
    Column(key="empty", title="None", group="Questions"),
)


def compare_choices(
    first: ChoiceEvaluation,
    second: ChoiceEvaluation,
    resamples: int = 1000,
    *,
    seed: int = 0,
    confidence: float = 0.95,
    progress: Callable[[int], Any] | None = None,
) -> list[Difference]:
    """Test the four metrics of two models that answered the same questions.

    The settings and errors are as in :func:`diaghoi.statistics.significance.compare_pair`.

    Raises
    ------
    InputError
        If the questions differ.
    """
    _check_same((first, second))
    one, other = first.counts, second.counts
    check_settings(one.images, resamples, confidence)
    differences = paired_differences(
        resampled_alone(one.metrics, one.images, resamples, seed),
        resampled_alone(other.metrics, one.images, resamples, seed, progress),
        one.with_images_of(other).metrics,
        titles=TITLES,
        labels=(first.answers.label, second.answers.label),
        confidence=confidence,
        progress=progress,
    )
    # The path of a difference names the table and the column of a comparison.
    return [replace(each, path=f"choice.{each.path}.{OVERALL}") for each in differences]


def _check_same(evaluations: Sequence[ChoiceEvaluation]) -> None:
    """Raise an error for models that answered different questions."""
    questions = evaluations[0].answers.questions
    for each in evaluations:
        if each.answers.questions.questions != questions.questions:
            raise InputError(
                f"'{each.answers.label}' answers {each.answers.questions.file}, but other models "
                f"answer {questions.file}; compare answers to the same questions"
            )


def compare_choices_table(
    evaluations: Sequence[ChoiceEvaluation], groups: Sequence[str] = ()
) -> Comparison:
    """Compare the metrics of models; each model may have a group, such as "VLM".

    Raises
    ------
    InputError
        If there is no model, a label appears twice, or the questions differ.
    """
    if not evaluations:
        raise InputError("there is no model to compare; give at least one")
    questions = evaluations[0].answers.questions
    _check_same(evaluations)
    labelled = check_models([StudyModel(label=each.answers.label) for each in evaluations])
    groups = groups or [""] * len(evaluations)
    models = tuple(replace(each, stage=of) for each, of in zip(labelled, groups, strict=True))
    ways = dict.fromkeys(each.answers.how for each in evaluations if each.answers.how != REPLIES)
    signature = [f"{len(questions):,} questions", *(f"detectors: {way}" for way in ways)]
    return Comparison(
        dataset=questions.dataset,
        protocol="multiple choice",
        signature=SEPARATOR.join(signature),
        images=len(questions.images),
        models=models,
        tables=(_scores(evaluations, models), _selected(evaluations, models)),
        caveats=(),
        notes=tuple(dict.fromkeys(note for each in evaluations for note in each.notes)),
    )


def _scores(evaluations: Sequence[ChoiceEvaluation], models: Sequence[StudyModel]) -> Table:
    parted = all(each.metrics[part] is not None for each in evaluations for part in SUBSETS)
    parts = (*SUBSETS, OVERALL) if parted else (OVERALL,)
    columns = [
        Column(
            key=f"{metric}.{part}",
            title=part.capitalize() if parted else title,
            better="higher",
            group=title if parted else "",
        )
        for metric, title in (TITLES | {"exact_match": "EM"}).items()
        for part in parts
    ]
    rows = [
        [of.get(part, of)[metric] for metric in METRICS for part in parts]
        for of in (each.metrics for each in evaluations)
    ]
    # Settings for the triplets that count as a detector's answers.
    ways = dict.fromkeys(
        f"{each.answers.how}, {each.answers.where}".removesuffix(", ")
        for each in evaluations
        if each.answers.how != REPLIES
    )
    caption = "EM: exact match." + (f" {PEOPLE}" if parted else "")
    caption += f" Detectors: {'; '.join(ways)}." if ways else ""
    return _table("choice", "Multiple choice, %", caption, columns, rows, models)


def _selected(evaluations: Sequence[ChoiceEvaluation], models: Sequence[StudyModel]) -> Table:
    rates = [selection_rates(each.answers, each.counts) for each in evaluations]
    caption = (
        "Percentage of right and of wrong options that are picked, and of questions with too "
        "few, too many or no picked options."
    )
    rows = [[of_model[column.key] for column in SELECTED] for of_model in rates]
    return _table("selection", "What is picked", caption, SELECTED, rows, models)


def _table(
    key: str,
    title: str,
    caption: str,
    columns: Sequence[Column],
    values: Sequence[Sequence[float | None]],
    models: Sequence[StudyModel],
) -> Table:
    """Create a table: models in group order, the best of each column in bold."""
    rows = model_rows(models, columns, [[Cell(value=value) for value in row] for row in values])
    groups: dict[str, list[Row]] = {}
    for row, model in zip(rows, models, strict=True):
        groups.setdefault(model.stage, []).append(row)
    return Table(
        key=key,
        title=title,
        heads=("Model",),
        columns=tuple(columns),
        row_groups=tuple(RowGroup(title=name, rows=tuple(of)) for name, of in groups.items()),
        grouping="Group",
        caption=caption,
        best="the best of each column",
    )
