"""``diaghoi choice``: multiple-choice evaluation of language models and detectors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from diaghoi.choice.analyses import count_distractors, position_bias, selection_rates
from diaghoi.choice.answers import REPLIES, Answers, load_answers, read_answers
from diaghoi.choice.comparison import compare_choices, compare_choices_table
from diaghoi.choice.detect import TOP, WAYS, Selection, detected_answers, match_of
from diaghoi.choice.evaluation import (
    METRICS,
    OF_CLASSES,
    ChoiceEvaluation,
    choice_bootstrap,
    evaluate_answers,
)
from diaghoi.choice.people import read_people
from diaghoi.choice.questions import Questions, read_questions
from diaghoi.cli import options, outputs
from diaghoi.cli.analyses import IntervalOptions, SignificanceOptions, with_tests
from diaghoi.cli.compare import TableOptions
from diaghoi.cli.options import Key, argument, option, options_class, with_options, without
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.questions import ask, build
from diaghoi.cli.reading import ReadingOptions
from diaghoi.comparison.comparison import Comparison
from diaghoi.comparison.joint import AnyComparison
from diaghoi.comparison.results import refuse_result
from diaghoi.comparison.selection import selected
from diaghoi.data.vocabulary import printed_name
from diaghoi.exceptions import InputError
from diaghoi.formats import read_predictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

choice = typer.Typer(
    no_args_is_help=True,
    help="Multiple-choice questions: score models that answer them, and detectors.",
)
choice.command()(ask)
choice.command()(build)

VLM, DETECTOR = "VLM", "HOI-specific methods"
ALSO = {
    "selection": Key("number of picked options by number of right options", alone=True, metavar=""),
    "distractors": Key("the most misleading wrong options and confusions", alone=True, metavar=""),
    "positions": Key("the effect of an option's position", alone=True, metavar=""),
}
"""Keys that ``--also`` accepts; a result uses the same keys."""
TABLES = ("choice", "selection")
"""Tables of a comparison."""
KINDS = (".json", *outputs.TABLES, "classes.csv", "classes.json")
"""Suffixes of score files."""


@options_class
class AskedOptions:
    """Options for the answered questions."""

    questions: Path = argument(help="Questions in the benchmark's published format.")
    people: Path | None = option(
        None,
        panel=options.READING,
        help="Annotations, or a JSON or CSV file that gives each image 'single', 'multi' or a "
        "number of people.",
    )

    @property
    def files(self) -> list[Path | None]:
        """Input files."""
        return [self.questions, self.people]

    def read(
        self, dataset: str | None, bar: Progress
    ) -> tuple[Questions, dict[str, bool] | None, tuple[str, ...]]:
        """Read the questions, whether each image shows several people, and notes on the images."""
        bar.start("reading questions")
        asked = read_questions(self.questions, dataset=dataset)
        if self.people is None:
            return asked, None, ()
        return asked, *read_people(self.people, asked)


def _best(which: str) -> Any:
    return option(
        None,
        min=1,
        max=options.MOST_ROWS,
        metavar="N",
        panel=options.COUNTS,
        help=f"Answer by {which}.",
    )


@options_class
class DetectorOptions:
    """Options for reading detectors, and for choosing the triplets that answer questions."""

    reading: ReadingOptions = without(ReadingOptions, "force")
    top: int | None = _best(
        f"the N best triplets of each image [{TOP}], as in the published script"
    )
    top_question: int | None = _best("the N best triplets on the boxes of each question instead")
    threshold: float | None = option(
        None,
        metavar="SCORE",
        panel=options.COUNTS,
        help="Answer with all triplets that have at least this score instead of the best triplets.",
    )
    top_all: int | None = _best("the N best triplets of the whole prediction file instead")
    match: str | None = option(
        None,
        panel=options.COUNTS,
        help="Where triplets count: scene, person (IoU >= 0.5 with the person in question) or pair "
        "(both boxes) [person if the questions have boxes].",
    )

    @property
    def selection(self) -> Selection:
        """Which triplets count.

        Raises
        ------
        InputError
            If several options select the triplets.
        """
        ways = {name: getattr(self, name) for name in WAYS if getattr(self, name) is not None}
        if len(ways) > 1:
            given = " and ".join(f"--{name.replace('_', '-')}" for name in ways)
            raise InputError(
                f"{given}: select triplets in different ways; give only one of the options"
            )
        return Selection(*next(iter(ways.items()), ()))

    @property
    def words(self) -> dict[str, Any]:
        """Options for reading predictions; the questions determine the data set."""
        return self.reading.words("dataset", "instances", "ids")

    def answers(self, path: Path, asked: Questions, label: str) -> Answers:
        """Answer questions with the predictions of a detector."""
        match = match_of(asked, self.match)
        try:
            found = read_predictions(path, dataset=asked.vocabulary, **self.words)
        except InputError:
            refuse_result(path, "the predictions or answers")
            raise
        answers = detected_answers(found, asked, selection=self.selection, match=match, label=label)
        return replace(answers, notes=(*found.notes, *answers.notes))


@options_class
class ScoredOptions(outputs.OutputOptions):
    """Options for analyses and outputs of a model's scores."""

    label: options.Label = None
    also: list[str] | None = options.also(ALSO)
    sure: IntervalOptions = without(IntervalOptions, "interval")
    detail: options.Detail = False

    def check(self, kinds: Collection[str], inputs: Iterable[Path | None], stem: str = "") -> None:
        """Refuse unusable files and settings before any work."""
        super().check(kinds, inputs, stem)
        _ = self.wanted

    @property
    def wanted(self) -> list[str]:
        """The requested analyses."""
        given = options.keyed("--also", self.also or (), ALSO)
        return [name for name in ALSO if name in given]

    def result(self, evaluation: ChoiceEvaluation, bar: Progress, *more: str) -> dict[str, Any]:
        """Compute all numbers, including those of the analyses, as keys of the JSON.

        Parameters
        ----------
        evaluation : ChoiceEvaluation
            Evaluation of the model.
        bar : Progress
            Shows the progress.
        *more : str
            Analyses needed in addition to the requested analyses.
        """
        result, answers = evaluation.to_dict(), evaluation.answers
        if (resamples := self.sure.bootstrap) is not None:
            bar.start_slow("computing intervals", resamples)
            sure: Any = {"seed": self.sure.seed, "confidence": self.sure.confidence}
            intervals = choice_bootstrap(evaluation, resamples, progress=bar.advance, **sure)
            result |= intervals.to_dict()
        names = {*self.wanted, *more}
        if "selection" in names:
            result["selection"] = selection_rates(answers, evaluation.counts)
        if "distractors" in names:
            result["distractors"] = count_distractors(answers)
        if "positions" in names:
            result["positions"] = position_bias(answers)
        return result

    def finish(
        self,
        result: Mapping[str, Any],
        evaluation: ChoiceEvaluation,
        stem: str,
        writers: Mapping[str, outputs.Writer] | None = None,
    ) -> None:
        """Write the files of a result; print one screen, or with ``--detail`` everything.

        The tables for papers are the tables of a comparison with only this model.
        """
        from diaghoi.report.choice import print_choice, print_choice_screen
        from diaghoi.report.columns import table_text

        def show() -> None:
            # A figure may require analyses that the user did not request.
            left_out = set(ALSO).difference(self.wanted)
            shown = {key: value for key, value in result.items() if key not in left_out}
            if self.detail:
                print_choice(shown, notes=False)
                outputs.print_notes(result["notes"])
            else:
                print_choice_screen(shown)

        rows = result["classes"]
        classes = {key: np.array([row[key] for row in rows]) for key in OF_CLASSES}
        texts: dict[str, outputs.Text] = {
            **TableOptions().texts(compare_choices_table([evaluation])),
            **outputs.as_json(result),
            ".txt": lambda: outputs.plain_text(lambda console: print_choice(result, console)),
            **{f"classes.{kind}": partial(table_text, classes, kind) for kind in ("csv", "json")},
        }
        self.deliver(texts, show, (), writers, stem)


@options_class
class ScoreOptions(ScoredOptions):
    """Options for scoring answers, and for outputs."""

    asked: AskedOptions
    answers: Path = argument(help="Answers: JSON Lines with options and reply.")
    dataset: options.Dataset = None


@choice.command()
@with_options
def score(choices: ScoreOptions) -> None:
    """Score the answers of a model: Instance-F1, Macro-F1, Micro-F1 and exact match.

    Figures (.pdf, .svg, .png) show how much more often than expected each position is picked.
    """
    stem, kinds = choices.label or choices.answers.stem, (*KINDS, *outputs.FIGURES)
    choices.check(kinds, [choices.answers, *choices.asked.files], stem)
    drawn = any(kind in outputs.FIGURES for kind in choices.output_files(kinds, stem).values())
    with progress(choices.quiet) as bar:
        asked, several, notes = choices.asked.read(choices.dataset, bar)
        bar.start("reading answers")
        try:
            found = read_answers(choices.answers, asked, label=choices.label)
        except InputError:
            refuse_result(choices.answers, "the answers")
            raise
        evaluation = evaluate_answers(found, people=several, notes=notes)
        result = choices.result(evaluation, bar, *(["positions"] if drawn else []))
    choices.finish(result, evaluation, stem, _position_figures(choices, result) if drawn else {})


@options_class
class DetectOptions(ScoredOptions):
    """Options for scoring a detector, and for outputs."""

    asked: AskedOptions
    predictions: options.Predictions
    detector: DetectorOptions


@choice.command()
@with_options
def detect(choices: DetectOptions) -> None:
    """Score a detector: compare its best triplets for the person in question with the options."""
    stem, detector = choices.label or choices.predictions.stem, choices.detector
    _ = detector.selection, detector.words
    choices.check(KINDS, [choices.predictions, *choices.asked.files], stem)
    with progress(choices.quiet) as bar:
        asked, several, notes = choices.asked.read(detector.reading.dataset, bar)
        bar.start("reading predictions")
        found = detector.answers(choices.predictions, asked, stem)
        evaluation = evaluate_answers(found, people=several, notes=notes)
        result = choices.result(evaluation, bar)
    choices.finish(result, evaluation, stem)


@options_class
class CompareOptions(TableOptions):
    """Options for comparing models."""

    asked: AskedOptions
    files: list[Path] = argument(
        metavar="FILES...", help="Answers, and prediction files of detectors."
    )
    labels: options.Labels = None
    headings: str | None = option(
        None,
        help=f"A heading for each model, separated by commas [{VLM}, {DETECTOR}].",
    )
    detector: DetectorOptions
    tests: SignificanceOptions
    table: list[str] | None = option(
        None,
        metavar="NAME,...",
        panel=options.FILES,
        help=f"Only these tables: {', '.join(TABLES)}. JSON holds all.",
    )

    def check_tables(self) -> None:
        """Reject unknown table names."""
        if self.table:
            options.named("--table", ",".join(self.table), TABLES)

    def show_tables(self, comparison: AnyComparison) -> None:
        """Print the scores and tests, or with ``--detail`` all tables, or the requested tables."""
        from diaghoi.report.comparison import print_comparison

        def told(part: Comparison) -> Comparison:
            first = (each for each in part.differences if METRICS[0] in each.path)
            return replace(part, differences=tuple(first))

        if self.detail or self.table or self.columns:
            super().show_tables(comparison)
            return
        # The table marks significant differences, so only the tests of Instance-F1 are listed below
        # it.
        print_comparison(selected(comparison.each(told), TABLES[:1]), notes=False)
        typer.echo("more: --detail, --table selection, --out choice.tex")
        outputs.print_number(comparison.notes)


@choice.command()
@with_options
def compare(choices: CompareOptions) -> None:
    """Compare detectors with models that answer questions, in the layout of the paper.

    Figures (.pdf, .svg, .png) show the scores of all models.
    """
    files, detector, tests = choices.files, choices.detector, choices.tests
    choices.check_tables()
    tests.check(len(files))
    _ = detector.selection, detector.words
    choices.check(
        (".json", *outputs.TABLES, *outputs.FIGURES), [*files, *choices.asked.files], "choice"
    )
    labels = options.split_list("--labels", choices.labels, len(files))
    headings = options.split_list("--headings", choices.headings, len(files))
    with progress(choices.quiet) as bar:
        asked, several, notes = choices.asked.read(detector.reading.dataset, bar)
        evaluations = []
        for file, label in zip(files, labels, strict=True):
            bar.start(f"reading {label or file.stem}")
            content = load_answers(file)
            if content is not None:
                found = read_answers(content, asked, label=label or None)
            else:
                found = detector.answers(file, asked, label or file.stem)
            evaluations.append(evaluate_answers(found, people=several, notes=notes))
        comparison = compare_choices_table(evaluations, _headings(evaluations, headings))
        if tests.significance:
            first, *others = evaluations
            settings = tests.settings | {"progress": bar.advance}
            tested = (compare_choices(first, each, **settings) for each in others)
            comparison = with_tests(comparison, tested, tests, bar)
    texts = choices.texts(comparison)

    def draw() -> Axes:
        from diaghoi.plots.figures.answers import choice_scores

        return choice_scores([evaluation.to_dict() for evaluation in evaluations])

    names = ", ".join(evaluation.answers.label for evaluation in evaluations)
    writers = _figures(draw, f"{names}: multiple-choice scores")
    choices.deliver(texts, lambda: choices.show_tables(comparison), writers=writers, stem="choice")


def _headings(evaluations: Sequence[ChoiceEvaluation], given: Sequence[str]) -> list[str]:
    """Return a heading per model, given or by kind of answers; empty if one kind, none given."""
    groups = [
        heading or (VLM if each.answers.how == REPLIES else DETECTOR)
        for heading, each in zip(given, evaluations, strict=True)
    ]
    return groups if len(set(groups)) > 1 or any(given) else []


def _position_figures(
    choices: ScoreOptions, result: Mapping[str, Any]
) -> dict[str, outputs.Writer]:
    """Draw the excess picks of each position; a folder gets no figure without the option order."""
    from diaghoi.plots.figures.answers import choice_positions, choice_positions_table

    named = any(path.suffix.lower() in outputs.FIGURES for path in choices.out or ())
    if result["positions"] is None and not named:
        return {}
    # Without the order of the options, this call fails before any file is written.
    choice_positions_table(result)
    caption = f"{result['label']} on {printed_name(result['dataset'])}: picks by position"
    return _figures(lambda: choice_positions(result), caption)


def _figures(draw: Callable[[], Axes], caption: str) -> dict[str, outputs.Writer]:
    def write(path: Path) -> list[str]:
        from diaghoi import plots

        def drawn() -> list[str]:
            figure = draw().get_figure(root=True)
            assert figure is not None
            plots.save(figure, path, caption=caption)
            return []

        return outputs.noting_letters(drawn)

    return dict.fromkeys(outputs.FIGURES, write)
