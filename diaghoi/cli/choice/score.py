"""``diaghoi choice``: multiple-choice evaluation of models that answer, and of detectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.choice.ask import QuestionFile, ask
from diaghoi.cli.choice.build import build
from diaghoi.cli.comparison_tables import (
    Format,
    Out,
    show_comparison,
    table_format,
    write_comparison,
)
from diaghoi.cli.options import argument, option, options_class, sparing, with_options, without
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import ReadingOptions
from diaghoi.cli.significance import Significance, significance_options, with_tests
from diaghoi.data.vocabulary import printed_name
from diaghoi.exceptions import InputError
from diaghoi.report.json import to_json, write_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from diaghoi.choice.answers import Answers
    from diaghoi.choice.detect import Selection
    from diaghoi.choice.evaluation import ChoiceEvaluation
    from diaghoi.choice.questions import Questions

choice = typer.Typer(
    no_args_is_help=True,
    help="Multiple-choice questions: score models that answer them, and detectors.",
)

VLM, DETECTOR = "VLM", "HOI-specific methods"
DIAGNOSED = ("selection", "distractors", "positions")
"""Keys of a result that ``--diagnose`` shows."""


People = Annotated[
    Path | None,
    typer.Option(
        help="Which images show one person or several: JSON or CSV with single, multi or a "
        "number per image, or annotations.",
        readable=False,
    ),
]


@choice.callback()
def _group() -> None:
    """Multiple-choice questions about interactions in images."""


choice.command()(ask)
choice.command()(sparing(build))


@options_class
class SelectionOptions:
    """Which triplets of a detector answer a question."""

    top: int | None = option(
        None,
        min=1,
        max=options.MOST_ROWS,
        help="Answer by the best triplets of each image, this many [5], as the published script.",
    )
    top_question: int | None = option(
        None,
        min=1,
        max=options.MOST_ROWS,
        help="Answer each question by the best triplets on its boxes, this many, instead.",
    )
    threshold: float | None = option(
        None, help="Answer by all triplets with at least this score instead."
    )
    top_all: int | None = option(
        None,
        min=1,
        max=options.MOST_ROWS,
        help="Answer by this many best triplets of the whole prediction file instead.",
    )
    match: str | None = option(
        None,
        help="Where triplets count: scene, person (IoU >= 0.5 with the person asked about) or pair "
        "(both boxes) [person, where the questions have boxes].",
    )

    def selection(self) -> Selection:
        """Choose by one of them.

        Raises
        ------
        InputError
            For several.
        """
        from diaghoi.choice.detect import TOP, Selection

        ways = {name: value for name, value in vars(self).items() if name != "match"}
        ways = {name: value for name, value in ways.items() if value is not None}
        if len(ways) > 1:
            names = " and ".join(f"--{name.replace('_', '-')}" for name in ways)
            raise InputError(f"{names}: choose triplets in different ways; give only one of them")
        return Selection(**({"top": None} | ways if ways else {"top": TOP}))


@options_class
class ScoreResults:
    """What is computed and written of the scores of a model."""

    label: options.Label = None
    json: options.Json = None
    class_table: options.ClassTable = None
    bootstrap: options.Bootstrap = None
    confidence: options.Confidence = 0.95
    seed: options.Seed = 0
    diagnose: bool = option(
        False,
        help="Show which wrong options attract the model, how many it picks, and its position "
        "bias.",
    )

    def check(self, read: list[Path | None], figure: Path | None = None) -> None:
        """Check files and settings before the work begins."""
        from diaghoi.statistics.bootstrap import check_settings

        _check(read, self.json, class_table=self.class_table, figure=figure)
        if self.bootstrap is not None:
            # Images are counted when they are read.
            check_settings(2, self.bootstrap, self.confidence)


@options_class
class ScoreOptions:
    """Which answers are scored, and what is shown of it."""

    questions: QuestionFile
    answers: Path = argument(help="Answers: JSON lines with options and reply.")
    people: People = None
    dataset: options.Dataset = None
    results: ScoreResults
    figure: Path | None = option(
        None, help="Draw the picks by position to this .pdf, .png or .svg."
    )
    quiet: options.Quiet = False


@choice.command()
@with_options
def score(choices: ScoreOptions) -> None:
    """Score the answers of a model: Instance-F1, Macro-F1, Micro-F1 and exact match."""
    from diaghoi.choice.answers import read_answers
    from diaghoi.choice.evaluation import evaluate_answers
    from diaghoi.comparison.results import refuse_result

    results, figure = choices.results, choices.figure
    results.check([choices.questions, choices.answers, choices.people], figure)
    with progress(choices.quiet) as bar:
        asked, several, notes = _asked(choices.questions, choices.dataset, choices.people, bar)
        bar.start("reading answers")
        try:
            found = read_answers(choices.answers, asked, label=results.label)
        except InputError:
            refuse_result(choices.answers, "the answers")
            raise
        evaluation = evaluate_answers(found, people=several, notes=notes)
        result = _result(evaluation, results, results.diagnose or figure is not None, bar)
        if figure is not None:
            _draw_positions(result, figure)
        _write(result, results, bar)
    _present(result, results, choices.quiet)


@options_class
class DetectOptions:
    """Which detector is scored, and what is shown of it."""

    questions: QuestionFile
    predictions: options.Predictions
    people: People = None
    dataset: options.Dataset = None
    selection: SelectionOptions
    results: ScoreResults
    reading: ReadingOptions = without(
        ReadingOptions,
        *("dataset", "verbs", "classes", "boxes", "top", "instances", "ids", "force"),
    )
    quiet: options.Quiet = False


@choice.command()
@sparing
@with_options
def detect(choices: DetectOptions) -> None:
    """Score a detector: its best triplets on the person asked about, matched to the options."""
    from diaghoi.choice.evaluation import evaluate_answers

    selected = choices.selection.selection()
    results = choices.results
    results.check([choices.questions, choices.predictions, choices.people])
    reading = choices.reading.words("dataset", "instances", "ids")
    with progress(choices.quiet) as bar:
        asked, several, notes = _asked(choices.questions, choices.dataset, choices.people, bar)
        bar.start("reading predictions")
        match = choices.selection.match
        found = _detected(choices.predictions, asked, selected, match, results.label, reading)
        evaluation = evaluate_answers(found, people=several, how=selected.description, notes=notes)
        result = _result(evaluation, results, results.diagnose, bar)
        _write(result, results, bar)
    _present(result, results, choices.quiet)


@options_class
class CompareOptions(outputs.ResultOptions):
    """Which models are compared, and how."""

    questions: QuestionFile
    files: list[Path] = argument(help="Answers and prediction files of detectors.")
    labels: options.Labels = None
    groups: str | None = option(
        None, help="Groups of the models, separated by commas [VLM, HOI-specific methods]."
    )
    people: People = None
    dataset: options.Dataset = None
    selection: SelectionOptions
    format: Format = None
    out: Out = None
    json: options.Json = None
    figure: Path | None = option(
        None, help="Draw the scores of all models to this .pdf, .png or .svg."
    )
    significance: Significance = False
    resamples: options.Resamples = 1000
    confidence: options.Confidence = 0.95
    seed: options.Seed = 0


@choice.command()
@sparing
@with_options
def compare(choices: CompareOptions) -> None:
    """Compare models that answer questions and detectors, in the layout of the paper."""
    from diaghoi.choice.evaluation import evaluate_answers
    from diaghoi.choice.intervals import compare_choices
    from diaghoi.choice.tables import compare_choices_table

    files, out, json, figure = choices.files, choices.out, choices.json, choices.figure
    kind = table_format(choices.format, out)
    tests = significance_options(
        choices.significance, choices.resamples, choices.confidence, choices.seed, len(files)
    )
    selected = choices.selection.selection()
    _check([choices.questions, choices.people, *files], out, json, figure=figure)
    named = options.split_list("--labels", choices.labels, len(files))
    grouped = options.split_list("--groups", choices.groups, len(files))
    with progress(choices.quiet) as bar:
        asked, several, notes = _asked(choices.questions, choices.dataset, choices.people, bar)
        evaluations = []
        for file, label in zip(files, named, strict=True):
            bar.start(f"reading {label or file.stem}")
            match = choices.selection.match
            found, how = _answered(file, asked, selected, match, label or None)
            evaluations.append(evaluate_answers(found, people=several, how=how, notes=notes))
        comparison = compare_choices_table(evaluations, _groups(evaluations, grouped))
        if tests is not None:
            first, *others = evaluations
            settings = tests._asdict() | {"progress": bar.advance}
            tested = (compare_choices(first, each, **settings) for each in others)
            comparison = with_tests(comparison, tested, tests, bar)
        write_comparison(comparison, kind, out, json)
        if figure is not None:
            _draw_scores(evaluations, figure)
    show_comparison(comparison, kind, out, json, choices.quiet)


def _check(
    read: Sequence[Path | None],
    *written: Path | None,
    class_table: Path | None = None,
    figure: Path | None = None,
) -> None:
    """Check all files before the work begins."""
    outputs.check_outputs([*written, class_table, figure], read)
    if class_table is not None:
        from diaghoi.report.columns import check_table_file

        check_table_file(class_table)
    if figure is not None:
        from diaghoi.plots.style import check_suffix

        check_suffix(figure)
    outputs.check_inputs(read)


def _asked(
    questions: Path, dataset: str | None, people: Path | None, bar: Progress
) -> tuple[Questions, dict[str, bool] | None, tuple[str, ...]]:
    """Read the questions, and which images show several people, with notes on these."""
    from diaghoi.choice.people import read_people
    from diaghoi.choice.questions import read_questions

    bar.start("reading questions")
    asked = read_questions(questions, dataset=dataset)
    if people is None:
        return asked, None, ()
    return asked, *read_people(people, asked)


def _detected(
    path: Path,
    asked: Questions,
    selected: Selection,
    match: str | None,
    label: str | None,
    reading: Mapping[str, Any],
) -> Answers:
    from diaghoi.choice.detect import detected_answers, match_of
    from diaghoi.comparison.results import refuse_result
    from diaghoi.formats import read_predictions

    where = match_of(asked, match)
    try:
        found = read_predictions(path, dataset=asked.vocabulary, **reading)
    except InputError:
        refuse_result(path, "the predictions or answers")
        raise
    answers = detected_answers(
        found, asked, selection=selected, match=where, label=label or path.stem
    )
    return replace(answers, notes=(*found.notes, *answers.notes))


def _answered(
    path: Path, asked: Questions, selected: Selection, match: str | None, label: str | None
) -> tuple[Answers, str]:
    """Read answers, or make them of predictions; also tell how they came about."""
    from diaghoi.choice.answers import answers_of, load_answers
    from diaghoi.choice.evaluation import REPLIES

    content = load_answers(path)
    if content is not None:
        return answers_of(content, asked, label=label), REPLIES
    return _detected(path, asked, selected, match, label, {}), selected.description


def _groups(evaluations: Sequence[ChoiceEvaluation], given_groups: Sequence[str]) -> list[str]:
    """Group models as the user says, else by how they answered; no groups where there is one."""
    from diaghoi.choice.evaluation import REPLIES

    chosen = [
        group or (VLM if each.how == REPLIES else DETECTOR)
        for group, each in zip(given_groups, evaluations, strict=True)
    ]
    return chosen if len(set(chosen)) > 1 or any(given_groups) else []


def _result(
    evaluation: ChoiceEvaluation,
    results: ScoreResults,
    diagnose: bool,
    bar: Progress,
) -> dict[str, Any]:
    """Give the figures, and what was asked for beyond them, as keys of the JSON."""
    result = evaluation.to_dict()
    resamples, confidence, seed = results.bootstrap, results.confidence, results.seed
    if resamples is not None:
        from diaghoi.choice.intervals import choice_bootstrap

        bar.start_slow("computing intervals", resamples)
        result |= choice_bootstrap(
            evaluation, resamples, seed=seed, confidence=confidence, progress=bar.advance
        ).to_dict()
    if diagnose:
        from diaghoi.choice.distractors import count_distractors
        from diaghoi.choice.positions import position_bias
        from diaghoi.choice.selection import selection_rates

        bias = position_bias(evaluation.answers)
        result["selection"] = selection_rates(evaluation.answers, evaluation.tallies[""])
        result["distractors"] = count_distractors(evaluation.answers)
        result["positions"] = None if bias is None else bias.to_dict()
    return result


def _write(result: dict[str, Any], results: ScoreResults, bar: Progress) -> None:
    bar.start("writing")
    if results.json not in (None, outputs.STDOUT):
        write_json(results.json, result)
    if results.class_table is not None:
        import numpy as np

        from diaghoi.report.columns import write_table

        rows = result["classes"]
        keys = ("class", "verb", "object", "right", "picked", "hit", "f1")
        write_table(
            results.class_table, {key: np.array([row[key] for row in rows]) for key in keys}
        )


def _draw_positions(result: Mapping[str, Any], path: Path) -> None:
    from diaghoi.plots.figures.choice_positions import choice_positions

    caption = f"{result['label']} on {printed_name(result['dataset'])}: picks by position"
    _save(choice_positions(result), path, caption)


def _draw_scores(evaluations: Sequence[ChoiceEvaluation], path: Path) -> None:
    from diaghoi.plots.figures.choice_scores import choice_scores

    names = ", ".join(evaluation.answers.label for evaluation in evaluations)
    ax = choice_scores([evaluation.to_dict() for evaluation in evaluations])
    _save(ax, path, f"{names}: multiple-choice scores")


def _save(ax: Axes, path: Path, caption: str) -> None:
    from diaghoi import plots

    figure = ax.get_figure(root=True)
    assert figure is not None
    plots.save(figure, path, caption=caption)


def _present(result: dict[str, Any], results: ScoreResults, quiet: bool) -> None:
    if results.json == outputs.STDOUT:
        typer.echo(to_json(result))
    elif not quiet:
        from rich.console import Console

        from diaghoi.report.choice import print_choice

        left_out = () if results.diagnose else DIAGNOSED
        kept = {key: value for key, value in result.items() if key not in left_out}
        print_choice(kept, Console(highlight=False), notes=False)
        print_notes(result["notes"])
