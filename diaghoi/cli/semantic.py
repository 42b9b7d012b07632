"""``diaghoi semantic``: soft mAP and mF1, and what errors mean."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import InputFiles, Inputs
from diaghoi.cli.report_files import check_page
from diaghoi.cli.similarity import options as similar
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.exceptions import InputError
from diaghoi.report.json import to_json, write_json

if TYPE_CHECKING:
    from diaghoi.semantic.diagnosis import SemanticDiagnosis
    from diaghoi.semantic.evaluation import SemanticEvaluation

Theta = Annotated[
    float, typer.Option(help="IoU threshold of a correct box.", rich_help_panel=options.COUNTS)
]
Delta = Annotated[
    float,
    typer.Option(
        help="Similarity from which an unmatched prediction is a false positive of its closest "
        "class.",
        rich_help_panel=options.COUNTS,
    ),
]
Tau = Annotated[
    float,
    typer.Option(
        help="Score rank, 0 (lowest) to 1, or score from which predictions count for mF1.",
        rich_help_panel=options.COUNTS,
    ),
]
TauBy = Annotated[
    str,
    typer.Option(help="What --tau is: rank or score.", rich_help_panel=options.COUNTS),
]
TauBeforeMap = Annotated[
    bool,
    typer.Option(
        "--tau-before-map", help="Use --tau for soft mAP, too.", rich_help_panel=options.COUNTS
    ),
]
Integrator = Annotated[
    str,
    typer.Option(
        help="How soft AP is computed: area (under the envelope), trapezoid or 11-point.",
        rich_help_panel=options.COUNTS,
    ),
]
Rule = Annotated[
    str,
    typer.Option(
        help="Which classes an unmatched prediction can count against: those annotated in its "
        "image, by the algorithm of the paper, or all, by its figure 6 (algorithm, figure).",
        rich_help_panel=options.COUNTS,
    ),
]
Subset = Annotated[
    str,
    typer.Option(
        help="Images that count: all, or single-hoi for those with a single human-object pair.",
        rich_help_panel=options.COUNTS,
    ),
]
NoScores = Annotated[
    bool,
    typer.Option(
        "--no-scores",
        help="Count every prediction, regardless of its score.",
        rich_help_panel=options.COUNTS,
    ),
]
Classes = Annotated[
    int,
    typer.Option(
        min=0,
        max=1_000_000,
        help="Number of classes to show, those that gain most from similarity.",
    ),
]
Diagnose = Annotated[
    bool,
    typer.Option(
        "--diagnose", help="Show how similar action and object errors are, and what they cost."
    ),
]
Examples = Annotated[
    Path | None,
    typer.Option(
        help="Write example predictions for single annotations to this .txt, .csv or .json file.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]
Figure = Annotated[
    Path | None,
    typer.Option(
        help="Draw the most expensive confusions to this .pdf, .svg or .png file.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        help="Write the page of 'report --html', with the similarity of errors.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]
ExampleImages = Annotated[
    int,
    typer.Option(
        min=1, max=1000, help="Number of images in --examples.", rich_help_panel=options.FILES
    ),
]


def semantic(
    predictions: options.Predictions,
    verb_table: similar.VerbTable,
    object_table: similar.ObjectTable,
    annotations: options.Annotations = None,
    weight: similar.Weight = 0.5,
    combine: similar.Combine = "arithmetic",
    theta: Theta = 0.5,
    delta: Delta = 0.5,
    tau: Tau = 0.5,
    tau_by: TauBy = "rank",
    tau_before_map: TauBeforeMap = False,
    integrator: Integrator = "area",
    rule: Rule = "algorithm",
    subset: Subset = "all",
    no_scores: NoScores = False,
    scale: similar.Scale = None,
    verb_synsets: similar.VerbSenses = None,
    object_synsets: similar.ObjectSenses = None,
    dataset: options.Dataset = None,
    protocol: options.ProtocolName = None,
    json: options.Json = None,
    class_table: options.ClassTable = None,
    classes: Classes = 0,
    diagnose: Diagnose = False,
    figure: Figure = None,
    html: Html = None,
    examples: Examples = None,
    example_images: ExampleImages = 20,
    label: options.Label = None,
    wordnet: options.WordNet = None,
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    verbs: options.Verbs = None,
    boxes: options.Boxes = None,
    top: options.Top = None,
    instances: options.Instances = None,
    ids: options.Ids = None,
    image_id: options.ImageId = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate with credit for similar classes: soft mAP, mF1 and miss rates.

    Similarity comes from tables of verbs and of objects, as in SHOE. `diaghoi semantic ask` asks a
    vision-language model for the predictions.
    """
    from diaghoi.language.lexicon import using_wordnet
    from diaghoi.semantic.measure import Measure

    choices: Any = {
        "weight": weight,
        "combine": combine,
        "tau_by": tau_by,
        "tau_before_map": tau_before_map,
        "integrator": integrator,
        "subset": subset,
        "rule": rule,
    }
    tables = similar.SimilarityOptions(
        verbs=verb_table,
        objects=object_table,
        verb_senses=verb_synsets,
        object_senses=object_synsets,
        scale=scale,
        measure=Measure(**choices, theta=theta, delta=delta, tau=tau),
    )
    reading = InputFiles(
        predictions=predictions,
        annotations=annotations,
        force=force,
        reading={
            "dataset": dataset,
            "format": format,
            "origin": origin,
            "objects": objects,
            "verbs": verbs,
            "boxes": boxes,
            "top": top,
            "instances": instances,
            "ids": ids,
            "image_id": image_id,
        },
    )
    protocol_named(protocol or reading.vocabulary.protocol, top=top)
    name = predictions.stem if label is None else label
    files = _Files(json=json, table=class_table, figure=figure, html=html, examples=examples)
    files.check([*reading.inputs, *tables.inputs])
    if no_scores and (diagnose or files.with_diagnosis):
        raise InputError("--diagnose, --figure and --html: need scores; leave --no-scores out")
    with progress(quiet) as bar, using_wordnet(wordnet):
        given = tables.read(bar)
        read = reading.read(bar, lambda inputs: files.check([*inputs, *tables.inputs]))
        found = _evaluated(read, given, protocol, top, name, no_scores, bar)
        result, meaning = _result(found, read.notes, diagnose or files.with_diagnosis, bar)
        bar.start("writing")
        files.write(result, found, meaning, [*read.files, verb_table, object_table], example_images)
    _present(result, json, classes, quiet)


def _evaluated(
    read: Inputs,
    tables: dict[str, Any],
    protocol: str | None,
    top: int | None,
    label: str,
    no_scores: bool,
    bar: Progress,
) -> SemanticEvaluation:
    from diaghoi.semantic.run_evaluation import default_protocol, evaluate

    bar.start("matching", total=len(read.annotations))
    return evaluate(
        *read.scenes,
        **tables,
        protocol=protocol_named(protocol or default_protocol(read.scenes[0]), top=top),
        scores=not no_scores,
        label=label,
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


@dataclass(frozen=True, kw_only=True)
class _Files:
    """What is to be written; None for nothing."""

    json: Path | None
    table: Path | None
    figure: Path | None
    html: Path | None
    examples: Path | None

    @property
    def with_diagnosis(self) -> bool:
        """Whether any of them shows what errors mean."""
        return self.figure is not None or self.html is not None

    def check(self, inputs: list[Path | None]) -> None:
        """Check all files before the work begins."""
        written = [self.json, self.table, self.figure, self.html, self.examples]
        outputs.check_outputs(written, inputs)
        if self.table is not None:
            from diaghoi.report.columns import check_table_file

            check_table_file(self.table)
        if self.figure is not None:
            from diaghoi.plots.style import check_suffix

            check_suffix(self.figure)
        if self.html is not None:
            check_page(self.html)
        if self.examples is not None:
            from diaghoi.report.examples import check_examples_file

            check_examples_file(self.examples)
        outputs.check_inputs(inputs)

    def write(
        self,
        result: dict[str, Any],
        evaluated: SemanticEvaluation,
        meaning: SemanticDiagnosis | None,
        read: list[Path],
        example_images: int,
    ) -> None:
        """Write all of them."""
        if self.json not in (None, outputs.STDOUT):
            write_json(self.json, result)
        if self.table is not None:
            from diaghoi.report.columns import write_table

            write_table(self.table, evaluated.classes)
        if self.figure is not None:
            _draw(self.figure, result)
        if self.html is not None and meaning is not None:
            _write_page(self.html, result, meaning, read)
        if self.examples is not None:
            from diaghoi.report.examples import write_examples
            from diaghoi.semantic.examples import examples_of

            write_examples(self.examples, examples_of(evaluated, images=example_images))


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
