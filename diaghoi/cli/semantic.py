"""``diaghoi semantic``: soft mAP and mF1, what errors mean, and predictions of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from diaghoi.cli import asking, options, outputs
from diaghoi.cli.asking import AskingOptions
from diaghoi.cli.options import (
    COUNTS,
    FILES,
    argument,
    option,
    options_class,
    with_options,
    without,
)
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import Inputs, ReadingOptions
from diaghoi.cli.report_files import check_page
from diaghoi.cli.similarity import options as similar
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.exceptions import InputError, some_of
from diaghoi.report.json import to_json, write_json

if TYPE_CHECKING:
    from diaghoi.formats.pictures.asking import Unasked
    from diaghoi.semantic.ask import Estimate, Pair, PairAsker
    from diaghoi.semantic.diagnosis import SemanticDiagnosis
    from diaghoi.semantic.evaluation import SemanticEvaluation


@options_class
class MeasureOptions:
    """How soft mAP and mF1 are computed: :class:`diaghoi.semantic.measure.Measure`."""

    theta: float = option(0.5, panel=COUNTS, help="IoU threshold of a correct box.")
    delta: float = option(
        0.5,
        panel=COUNTS,
        help="Similarity from which an unmatched prediction is a false positive of its closest "
        "class.",
    )
    tau: float = option(
        0.5,
        panel=COUNTS,
        help="Score rank, 0 (lowest) to 1, or score from which predictions count for mF1.",
    )
    tau_by: str = option("rank", panel=COUNTS, help="What --tau is: rank or score.")
    tau_before_map: bool = option(False, panel=COUNTS, help="Use --tau for soft mAP, too.")
    integrator: str = option(
        "area",
        panel=COUNTS,
        help="How soft AP is computed: area (under the envelope), trapezoid or 11-point.",
    )
    rule: str = option(
        "algorithm",
        panel=COUNTS,
        help="Which classes an unmatched prediction can count against: those annotated in its "
        "image, by the algorithm of the paper, or all, by its figure 6 (algorithm, figure).",
    )
    subset: str = option(
        "all",
        panel=COUNTS,
        help="Images that count: all, or single-hoi for those with a single human-object pair.",
    )


@options_class
class SemanticOptions(outputs.ResultOptions):
    """What is evaluated with similarity, how, and what is written of it."""

    predictions: options.Predictions
    verb_table: similar.VerbTable
    object_table: similar.ObjectTable
    annotations: options.Annotations = None
    combination: similar.CombinationOptions
    measure: MeasureOptions
    no_scores: bool = option(
        False, panel=COUNTS, help="Count every prediction, regardless of its score."
    )
    reading: ReadingOptions = without(ReadingOptions, "classes")
    protocol: options.ProtocolName = None
    json: options.Json = None
    class_table: options.ClassTable = None
    classes: int = option(
        0,
        min=0,
        max=1_000_000,
        help="Number of classes to show, those that gain most from similarity.",
    )
    diagnose: bool = option(
        False, help="Show how similar action and object errors are, and what they cost."
    )
    figure: Path | None = option(
        None,
        panel=FILES,
        help="Draw the most expensive confusions to this .pdf, .svg or .png file.",
    )
    html: Path | None = option(
        None,
        panel=FILES,
        help="Write the page of 'report --html', with the similarity of errors.",
    )
    examples: Path | None = option(
        None,
        panel=FILES,
        help="Write example predictions for single annotations to this .txt, .csv or .json file.",
    )
    example_images: int = option(
        20, min=1, max=1000, panel=FILES, help="Number of images in --examples."
    )
    label: options.Label = None
    wordnet: options.WordNet = None

    @property
    def meaning(self) -> bool:
        """Whether anything shows what errors mean."""
        return self.diagnose or self.figure is not None or self.html is not None

    def check(self, inputs: list[Path | None]) -> None:
        """Check all files before the work begins."""
        written = [self.json, self.class_table, self.figure, self.html, self.examples]
        outputs.check_outputs(written, inputs)
        if self.class_table is not None:
            from diaghoi.report.columns import check_table_file

            check_table_file(self.class_table)
        if self.figure is not None:
            from diaghoi.plots.style import check_suffix

            check_suffix(self.figure)
        if self.html is not None:
            check_page(self.html)
        if self.examples is not None:
            from diaghoi.report.examples import check_examples_file

            check_examples_file(self.examples)
        outputs.check_inputs(inputs)


@with_options
def semantic(choices: SemanticOptions) -> None:
    """Evaluate with credit for similar classes: soft mAP, mF1 and miss rates.

    Similarity comes from tables of verbs and of objects, as in SHOE. `diaghoi semantic ask` asks a
    vision-language model for the predictions.
    """
    from diaghoi.language.lexicon import using_wordnet

    tables = similar.SimilarityOptions(
        verbs=choices.verb_table,
        objects=choices.object_table,
        reading=choices.combination,
        measure=choices.combination.measure(**vars(choices.measure)),
    )
    files = choices.reading.files(choices.predictions, choices.annotations)
    protocol_named(choices.protocol or files.vocabulary.protocol, top=choices.reading.top)
    choices.check([*files.inputs, *tables.inputs])
    if choices.no_scores and choices.meaning:
        raise InputError("--diagnose, --figure and --html: need scores; leave --no-scores out")
    with progress(choices.quiet) as bar, using_wordnet(choices.wordnet):
        similarity = tables.read(bar)
        read = files.read(bar, lambda inputs: choices.check([*inputs, *tables.inputs]))
        found = _evaluated(read, similarity, choices, bar)
        result, meaning = _result(found, read.notes, choices.meaning, bar)
        bar.start("writing")
        used = [*read.files, choices.verb_table, choices.object_table]
        _write(choices, result, found, meaning, used)
    _present(result, choices.json, choices.classes, choices.quiet)


def _evaluated(
    read: Inputs, tables: dict[str, Any], choices: SemanticOptions, bar: Progress
) -> SemanticEvaluation:
    from diaghoi.semantic.run_evaluation import default_protocol, evaluate

    bar.start("matching", total=len(read.annotations))
    protocol = choices.protocol or default_protocol(read.scenes[0])
    return evaluate(
        *read.scenes,
        **tables,
        protocol=protocol_named(protocol, top=choices.reading.top),
        scores=not choices.no_scores,
        label=choices.predictions.stem if choices.label is None else choices.label,
        progress=bar.advance,
    )


def _result(
    evaluated: SemanticEvaluation, notes: list[str], diagnose: bool, bar: Progress
) -> tuple[dict[str, Any], SemanticDiagnosis | None]:
    """Collect all figures, and where it is asked for what errors mean."""
    from diaghoi.semantic.diagnosis import semantic_diagnosis

    bar.start("adding up")
    result = evaluated.to_dict()
    result["notes"] = [*notes, *result["notes"]]
    if not diagnose:
        return result, None
    bar.start("finding out what errors mean")
    meaning = semantic_diagnosis(evaluated)
    result["diagnosis"] = meaning.to_dict()
    return result, meaning


def _write(
    choices: SemanticOptions,
    result: dict[str, Any],
    evaluated: SemanticEvaluation,
    meaning: SemanticDiagnosis | None,
    read: list[Path],
) -> None:
    """Write all files that are asked for."""
    if choices.json not in (None, outputs.STDOUT):
        write_json(choices.json, result)
    if choices.class_table is not None:
        from diaghoi.report.columns import write_table

        write_table(choices.class_table, evaluated.classes)
    if choices.figure is not None:
        _draw(choices.figure, result)
    if choices.html is not None and meaning is not None:
        _write_page(choices.html, result, meaning, read)
    if choices.examples is not None:
        from diaghoi.report.examples import write_examples
        from diaghoi.semantic.examples import examples_of

        write_examples(choices.examples, examples_of(evaluated, images=choices.example_images))


def _write_page(
    path: Path, result: dict[str, Any], meaning: SemanticDiagnosis, read: list[Path]
) -> None:
    """Write the page of the report, with what the semantic evaluation adds to it."""
    from diaghoi.diagnosis.diagnose import diagnose
    from diaghoi.report.html import write_html

    evaluated = meaning.evaluation
    scenes = evaluated.annotated.scenes, evaluated.predicted.scenes
    diagnosis = diagnose(*scenes, evaluated.protocol, label=evaluated.label)
    report = diagnosis.to_dict()
    report["notes"] = list(dict.fromkeys([*result["notes"], *report["notes"]]))
    report["semantic"] = result
    similarities = meaning.similarities()
    write_html(path, diagnosis, scenes, result=report, files=read, similarities=similarities)


def _draw(path: Path, result: dict[str, Any]) -> None:
    """Draw the confusions that cost most one paper column wide."""
    from diaghoi import plots
    from diaghoi.plots.figures.confusions import CONFUSIONS

    try:
        data = CONFUSIONS.data(plots.Source(result=result))
    except plots.NotApplicable as error:
        raise InputError(f"{path}: cannot be drawn: {error}") from None
    model = plots.ModelData(label=result["label"], data=data, protocol=result["protocol"]["name"])
    plots.save(plots.figure_of(CONFUSIONS, [model], plots.SINGLE_COLUMN), path)


def _present(result: dict[str, Any], json: Path | None, classes: int, quiet: bool) -> None:
    if json == outputs.STDOUT:
        typer.echo(to_json(result))
    elif not quiet:
        from rich.console import Console

        from diaghoi.report.semantic import print_semantic

        print_semantic(result, Console(highlight=False), classes=classes, notes=False)
        print_notes(result["notes"])


@options_class
class AskOptions(outputs.ResultOptions):
    """Which pairs are asked about, and how."""

    pairs: Path = argument(
        help="File with the pairs to ask about: predictions, pairs or annotations."
    )
    images: options.Images
    model: asking.Model
    out: Path = option(
        help="File for the answers: JSON lines, which `semantic` reads; an interrupted run resumes "
        "from it."
    )
    coordinates: asking.Coordinates = "pixels"
    limit: int | None = option(
        None, min=1, max=options.MOST_ROWS, metavar="N", help="The first N pairs only."
    )
    asking: AskingOptions = without(AskingOptions, "asks", "ask_again")
    reading: ReadingOptions = without(
        ReadingOptions,
        *("objects", "verbs", "classes", "top", "instances", "ids", "image_id", "force"),
    )


@with_options
def ask(choices: AskOptions) -> None:
    """Ask a vision-language model for the verb and the object of each pair of boxes.

    The probabilities of its words are the scores, where the endpoint gives them. Answers are stored
    as they arrive: an interrupted run resumes where it stopped.
    """
    from diaghoi.formats.pictures.folder import Pictures
    from diaghoi.language.answer_file import AnswerFile
    from diaghoi.language.asking import PICTURE_REFUSED
    from diaghoi.language.endpoint import read_endpoint
    from diaghoi.semantic.ask import PairAsker

    out, quiet = choices.out, choices.quiet
    endpoint = read_endpoint(choices.model, "--model")
    prices = choices.asking.prices
    unit = asking.unit_of(choices.coordinates)
    outputs.check_files([out, choices.json], [choices.pairs])
    find = Pictures(choices.images).find
    client = choices.asking.client(endpoint, single=PICTURE_REFUSED)
    listed = _pairs(choices)
    with AnswerFile(out) as answers:
        asker = PairAsker(
            pairs=listed,
            client=client,
            find=find,
            answers=answers,
            unit=unit,
            limit=choices.limit,
            workers=choices.asking.concurrent,
        )
        with progress(quiet) as bar:
            bar.start("estimating")
            cost = asker.estimate()
        spent = asking.price_of(cost.tokens_in, cost.tokens_out, prices)
        if cost.outside and not quiet:
            print_notes(
                [
                    f"{len(cost.outside)} pictures do not hold the boxes asked about: "
                    f"{some_of(cost.outside)}; are these the pictures of the file?"
                ]
            )
        if cost.pairs and not asking.goes_on(
            [_in_words(asker, cost, spent)], choices.asking.yes, quiet
        ):
            return
        with progress(quiet) as bar:
            bar.start(f"asking {endpoint.model}", total=cost.pairs)
            asker.progress = bar.advance
            unasked = asker.run()
        result = _ask_result(asker, cost, spent, unasked)
    _present_answers(result, choices)


def _pairs(choices: AskOptions) -> tuple[Pair, ...]:
    from diaghoi.formats import read
    from diaghoi.semantic.ask import pairs_of

    with progress(choices.quiet) as bar:
        bar.start("reading pairs")
        _, scenes = read(choices.pairs, **choices.reading.words())
    if scenes.notes and not choices.quiet:
        print_notes(list(scenes.notes))
    return pairs_of(scenes)


def _in_words(asker: PairAsker, cost: Estimate, price: float | None) -> str:
    """Say what asking takes."""
    before = f" ({len(asker.before):,} are answered)" if asker.before else ""
    return (
        f"{asker.client.endpoint.model}: {cost.pairs:,} pairs to ask about{before}, "
        f"{asking.tokens_in_words(cost.tokens_in, cost.tokens_out, price)}"
    )


def _ask_result(
    asker: PairAsker, cost: Estimate, price: float | None, unasked: Unasked
) -> dict[str, Any]:
    return {
        "answers": str(asker.answers.path),
        **asker.recorded,
        "scores": asker.scores,
        "pairs": len(asker.asked),
        "answered": asker.answered,
        "answered_before": len(asker.before & set(asker.asked)),
        "without_interaction": asker.without_interaction,
        **asking.listed(unasked.problems, unasked.unanswered),
        "estimate": {
            "pairs": cost.pairs,
            "tokens_in": cost.tokens_in,
            "tokens_out": cost.tokens_out,
            "price": price,
        },
    }


def _present_answers(result: dict[str, Any], choices: AskOptions) -> None:
    from diaghoi.semantic.ask import UNSCORED

    now = result["answered"] - result["answered_before"]
    told = (
        f"{result['answers']}: {result['answered']:,} of {result['pairs']:,} pairs answered, "
        f"{now:,} now, {result['without_interaction']:,} without an interaction; {result['model']}"
    )
    notes = []
    if result["scores"] == UNSCORED:
        notes.append(
            f"{result['model']} gives no token probabilities, so that the answers have no scores: "
            "'diaghoi semantic' counts them all, and has no mAP"
        )
    asking.show_answers(result, choices, told, notes)
