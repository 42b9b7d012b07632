"""``diaghoi choice``: multiple-choice evaluation of models that answer, and of detectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diaghoi.cli import choice_options as given
from diaghoi.cli import options, outputs
from diaghoi.cli.choice_ask import ask
from diaghoi.cli.choice_build import build
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import Progress, progress
from diaghoi.exceptions import InputError
from diaghoi.report.json import to_json, write_json

if TYPE_CHECKING:
    from diaghoi.choice.answers import Answers
    from diaghoi.choice.detect import Selection
    from diaghoi.choice.evaluation import ChoiceEvaluation
    from diaghoi.choice.questions import Questions
    from diaghoi.cli.compare import Tests
    from diaghoi.significance import Difference

choice = typer.Typer(
    no_args_is_help=True,
    help="Multiple-choice questions: score models that answer them, and detectors.",
)

VLM, DETECTOR = "VLM", "HOI-specific methods"


@choice.callback()
def _group() -> None:
    """Multiple-choice questions about interactions in images."""


choice.command()(ask)
choice.command()(build)


@choice.command()
def score(
    questions: given.QuestionFile,
    answers: given.AnswerFile,
    people: given.People = None,
    dataset: given.Dataset = None,
    label: given.Label = None,
    json: options.Json = None,
    class_table: given.ClassTable = None,
    bootstrap: given.Bootstrap = None,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    diagnose: given.Diagnose = False,
    figure: given.Figure = None,
    quiet: options.Quiet = False,
) -> None:
    """Score the answers of a model: Instance-F1, Macro-F1, Micro-F1 and exact match."""
    from diaghoi.choice.answers import read_answers
    from diaghoi.study import refuse_result

    written = [json, class_table, figure]
    _check(written, [questions, answers, people], class_table, figure)
    with progress(quiet) as shown:
        asked, several, notes = _asked(questions, dataset, people, shown)
        shown.start("reading answers")
        try:
            found = read_answers(answers, asked, label=label)
        except InputError:
            refuse_result(answers, "the answers")
            raise
        result, evaluation = _evaluated(found, several, "replies", notes)
        _add(
            result, evaluation, (bootstrap, confidence, seed), diagnose or figure is not None, shown
        )
        if figure is not None:
            _draw_positions(result, figure)
        _write(result, json, class_table, shown)
    _present(result, json, quiet, diagnose)


@choice.command()
def detect(
    questions: given.QuestionFile,
    predictions: options.Predictions,
    people: given.People = None,
    dataset: given.Dataset = None,
    top: given.Top = None,
    threshold: given.Threshold = None,
    top_all: given.TopAll = None,
    match: given.Match = None,
    label: given.Label = None,
    json: options.Json = None,
    class_table: given.ClassTable = None,
    bootstrap: given.Bootstrap = None,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    diagnose: given.Diagnose = False,
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    image_id: options.ImageId = None,
    quiet: options.Quiet = False,
) -> None:
    """Score a detector: its best triplets on the person asked about, matched to the options."""
    selected = _selection(top, threshold, top_all)
    _check([json, class_table], [questions, predictions, people], class_table, None)
    reading = {"format": format, "origin": origin, "objects": objects, "image_id": image_id}
    with progress(quiet) as shown:
        asked, several, notes = _asked(questions, dataset, people, shown)
        shown.start("reading predictions")
        found = _detected(predictions, asked, selected, match, label, reading)
        result, evaluation = _evaluated(found, several, selected.words, notes)
        _add(result, evaluation, (bootstrap, confidence, seed), diagnose, shown)
        _write(result, json, class_table, shown)
    _present(result, json, quiet, diagnose)


@choice.command()
def compare(
    questions: given.QuestionFile,
    files: given.Files,
    labels: given.Labels = None,
    groups: given.Groups = None,
    people: given.People = None,
    dataset: given.Dataset = None,
    top: given.Top = None,
    threshold: given.Threshold = None,
    top_all: given.TopAll = None,
    match: given.Match = None,
    format: given.Format = None,
    out: given.Out = None,
    json: options.Json = None,
    figure: given.ScoreFigure = None,
    significance: given.Significance = False,
    resamples: given.Resamples = 1000,
    confidence: options.Confidence = 0.95,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Set models that answer and detectors side by side, in the layout of the paper."""
    from diaghoi.choice.tables import compare_choices_table
    from diaghoi.cli.compare import (
        listed,
        show_comparison,
        table_kind,
        tests_wanted,
        too_few,
        write_comparison,
    )
    from diaghoi.significance import level_of

    kind = table_kind(format, out)
    tests = tests_wanted(significance, resamples, confidence, seed)
    selected = _selection(top, threshold, top_all)
    _check([out, json, figure], [questions, people, *files], None, figure)
    told = [
        listed(name, value, len(files))
        for name, value in (("--labels", labels), ("--groups", groups))
    ]
    with progress(quiet) as shown:
        asked, several, notes = _asked(questions, dataset, people, shown)
        evaluations, kinds = [], []
        for file, label in zip(files, told[0], strict=True):
            shown.start(f"reading {label or file.stem}")
            found, how = _answered(file, asked, selected, match, label or None)
            evaluations.append(_evaluated(found, several, how, notes)[1])
            kinds.append(VLM if how == "replies" else DETECTOR)
        chosen = [group or own for group, own in zip(told[1], kinds, strict=True)]
        comparison = compare_choices_table(
            evaluations, chosen if len(set(chosen)) > 1 or groups else ()
        )
        if tests is not None:
            differences = _differences(evaluations, tests, shown)
            comparison = replace(
                comparison.with_differences(differences, level_of(confidence)),
                notes=(*too_few(len(differences), tests), *comparison.notes),
            )
        write_comparison(comparison, kind, out, json)
        if figure is not None:
            _draw_scores(evaluations, figure)
    show_comparison(comparison, kind, out, json, quiet)


def _check(
    written: Sequence[Path | None],
    read: Sequence[Path | None],
    class_table: Path | None,
    figure: Path | None,
) -> None:
    """Refuse what could not be written, before the work begins."""
    outputs.check_files(written, read)
    if class_table is not None:
        from diaghoi.report.columns import check_table_file

        check_table_file(class_table)
    if figure is not None:
        from diaghoi.plots.style import check_suffix

        check_suffix(figure)


def _selection(top: int | None, threshold: float | None, top_all: int | None) -> Selection:
    from diaghoi.choice.detect import TOP, Selection

    ways = {"--top": top, "--threshold": threshold, "--top-all": top_all}
    named = [name for name, value in ways.items() if value is not None]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)}: are ways to choose triplets; give one of them")
    return Selection(top=top if named else TOP, threshold=threshold, top_all=top_all)


def _asked(
    questions: Path, dataset: str | None, people: Path | None, shown: Progress
) -> tuple[Questions, dict[str, bool] | None, tuple[str, ...]]:
    """Read the questions, and which images show several people, with notes on these."""
    from diaghoi.choice.people import read_people
    from diaghoi.choice.questions import read_questions

    shown.start("reading questions")
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
    from diaghoi.formats import read_predictions
    from diaghoi.study import refuse_result

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

    content = load_answers(path)
    if content is not None:
        return answers_of(content, asked, label=label), "replies"
    return _detected(path, asked, selected, match, label, {}), selected.words


def _evaluated(
    answers: Answers, several: Mapping[str, bool] | None, how: str, notes: tuple[str, ...]
) -> tuple[dict[str, Any], ChoiceEvaluation]:
    from diaghoi.choice.evaluation import evaluate_answers

    evaluation = evaluate_answers(answers, people=several, how=how, notes=notes)
    return evaluation.to_dict(), evaluation


def _add(
    result: dict[str, Any],
    evaluation: ChoiceEvaluation,
    resampling: tuple[int | None, float, int],
    diagnose: bool,
    shown: Progress,
) -> None:
    """Add what was asked for beyond the figures: keys of the JSON."""
    resamples, confidence, seed = resampling
    if resamples is not None:
        from diaghoi.choice.intervals import choice_bootstrap

        shown.start("resampling", total=resamples)
        result |= choice_bootstrap(
            evaluation, resamples, seed=seed, confidence=confidence, progress=shown.advance
        ).to_dict()
    if diagnose:
        from diaghoi.choice.distractors import distractors
        from diaghoi.choice.positions import position_bias
        from diaghoi.choice.selection import selection

        bias = position_bias(evaluation.answers)
        result["selection"] = selection(evaluation.answers, evaluation.tallies[""])
        result["distractors"] = distractors(evaluation.answers)
        result["positions"] = None if bias is None else bias.to_dict()


def _differences(
    evaluations: Sequence[ChoiceEvaluation],
    tests: Tests,
    shown: Progress,
) -> list[Difference]:
    """Test each model against the first, all together."""
    from diaghoi.choice.intervals import compare_choices
    from diaghoi.significance import corrected

    if len(evaluations) < 2:
        raise InputError("--significance: compares models, and there is one; give at least two")
    first, *others = evaluations
    found: list[Difference] = []
    for other in others:
        shown.start(f"testing {other.answers.label}", total=2 * tests.resamples)
        found += compare_choices(
            first,
            other,
            tests.resamples,
            seed=tests.seed,
            confidence=tests.confidence,
            progress=shown.advance,
        )
    return corrected(found, tests.confidence)


def _write(
    result: dict[str, Any], json: Path | None, class_table: Path | None, shown: Progress
) -> None:
    shown.start("writing")
    if json not in (None, outputs.STDOUT):
        write_json(json, result)
    if class_table is not None:
        import numpy as np

        from diaghoi.report.columns import write_table

        rows = result["classes"]
        keys = ("class", "verb", "object", "right", "picked", "hit", "f1")
        write_table(class_table, {key: np.array([row[key] for row in rows]) for key in keys})


def _draw_positions(result: Mapping[str, Any], path: Path) -> None:
    from diaghoi import plots
    from diaghoi.plots.choice_positions import choice_positions

    ax = choice_positions(result)
    figure = ax.get_figure(root=True)
    assert figure is not None
    plots.save(figure, path, caption=f"{result['label']} on {result['dataset']}: picks by position")


def _draw_scores(evaluations: Sequence[ChoiceEvaluation], path: Path) -> None:
    from diaghoi import plots
    from diaghoi.plots.choice_scores import choice_scores

    ax = choice_scores([evaluation.to_dict() for evaluation in evaluations])
    figure = ax.get_figure(root=True)
    assert figure is not None
    names = ", ".join(evaluation.answers.label for evaluation in evaluations)
    plots.save(figure, path, caption=f"{names}: multiple-choice figures")


def _present(result: dict[str, Any], json: Path | None, quiet: bool, diagnose: bool) -> None:
    if json == outputs.STDOUT:
        typer.echo(to_json(result))
    elif not quiet:
        from rich.console import Console

        from diaghoi.report.choice import print_choice

        kept = result if diagnose else {key: result[key] for key in result if key not in DIAGNOSED}
        print_choice(kept, Console(highlight=False), notes=False)
        print_notes(result["notes"])


DIAGNOSED = ("selection", "distractors", "positions")
