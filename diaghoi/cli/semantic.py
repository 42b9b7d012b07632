"""``diaghoi semantic``: soft mAP and mF1, and what errors mean."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.locate import find_annotations, in_folder
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import progress
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations, read_predictions
from diaghoi.meeting import sampled_warnings
from diaghoi.protocol import PROTOCOLS
from diaghoi.protocol import protocol as protocol_named
from diaghoi.report.json import to_json, write_json
from diaghoi.vocabulary import vocabulary

if TYPE_CHECKING:
    from diaghoi.semantic.evaluation import SemanticEvaluation

VerbTable = Annotated[
    Path,
    typer.Option(
        "--verb-similarity", help="Similarity of verbs: CSV a,b,score, or .npz.", readable=False
    ),
]
ObjectTable = Annotated[
    Path,
    typer.Option("--object-similarity", help="Similarity of objects, likewise.", readable=False),
]
VerbSenses = Annotated[
    Path | None,
    typer.Option(
        help="CSV of verbs and their names in the table, such as synsets.", readable=False
    ),
]
ObjectSenses = Annotated[Path | None, typer.Option(help="The same of objects.", readable=False)]
Scale = Annotated[
    float | None,
    typer.Option(help="Highest score of the scale of the tables [1 or 4, by their scores]."),
]
Weight = Annotated[float, typer.Option(help="Weight of the verb; the object has the rest.")]
Combine = Annotated[str, typer.Option(help="arithmetic, geometric or minimum.")]
Theta = Annotated[float, typer.Option(help="IoU at which a box is found.")]
Delta = Annotated[
    float, typer.Option(help="Similarity at which a class is charged with what nothing took.")
]
Tau = Annotated[float, typer.Option(help="Rank of the score, 0 to 1, from which mF1 counts.")]
NoScores = Annotated[
    bool, typer.Option("--no-scores", help="Count every prediction, whatever its score.")
]
Protocol = Annotated[
    str | None, typer.Option(help=f"One of {', '.join(PROTOCOLS)} [that of the data set].")
]
Label = Annotated[str | None, typer.Option(help="Name of the detector [name of the file].")]
ClassTable = Annotated[
    Path | None,
    typer.Option(help="Write the figures of each class to this .csv or .json.", readable=False),
]
Classes = Annotated[
    int, typer.Option(min=0, help="Show so many of the classes that gain most by similarity.")
]
Diagnose = Annotated[
    bool, typer.Option("--diagnose", help="Show what action and object errors mean and cost.")
]
Examples = Annotated[
    Path | None,
    typer.Option(
        help="Write what was predicted for single annotations to this .txt, .csv or .json.",
        readable=False,
    ),
]
Figure = Annotated[
    Path | None,
    typer.Option(
        help="Draw the confusions that cost most to this .pdf, .svg or .png.", readable=False
    ),
]
WordNet = Annotated[
    Path | None,
    typer.Option(help="WordNet's dict folder, instead of the extract inside.", readable=False),
]
ExampleImages = Annotated[int, typer.Option(min=1, help="Images of --examples.")]


def semantic(
    predictions: options.Predictions,
    verb_table: VerbTable,
    object_table: ObjectTable,
    annotations: options.Annotations = None,
    weight: Weight = 0.5,
    combine: Combine = "arithmetic",
    theta: Theta = 0.5,
    delta: Delta = 0.5,
    tau: Tau = 0.5,
    no_scores: NoScores = False,
    scale: Scale = None,
    verb_synsets: VerbSenses = None,
    object_synsets: ObjectSenses = None,
    dataset: options.Dataset = None,
    protocol: Protocol = None,
    json: options.Json = None,
    class_table: ClassTable = None,
    classes: Classes = 0,
    diagnose: Diagnose = False,
    figure: Figure = None,
    examples: Examples = None,
    example_images: ExampleImages = 20,
    label: Label = None,
    wordnet: WordNet = None,
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    top: options.Top = None,
    instances: options.Instances = None,
    ids: options.Ids = None,
    image_id: options.ImageId = None,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate with credit for what comes close in meaning: soft mAP, mF1 and miss rates.

    By tables of similarity between verbs and between objects, as SHOE does.
    """
    from diaghoi.semantic.evaluation import evaluate
    from diaghoi.semantic.lexicon import wordnet as using_wordnet
    from diaghoi.semantic.measure import Measure
    from diaghoi.semantic.senses import read_senses
    from diaghoi.semantic.similarity import read_similarity

    choices: Any = {"weight": weight, "combine": combine}
    measure = Measure(**choices, theta=theta, delta=delta, tau=tau)
    words = vocabulary(dataset or "hico-det")
    protocol_named(protocol or words.protocol, top=top)
    tables = [verb_table, object_table, verb_synsets, object_synsets]
    inputs = [predictions, annotations, *tables, instances, ids]
    files = _Files(json=json, table=class_table, figure=figure, examples=examples)
    files.check(inputs)
    if (diagnose or figure is not None) and no_scores:
        raise InputError("--diagnose and --figure: go by scores; leave --no-scores out")
    with progress(quiet) as shown, using_wordnet(wordnet):
        shown.start("reading tables of similarity")
        similar = [read_similarity(path, scale=scale) for path in (verb_table, object_table)]
        senses = [
            None if path is None else read_senses(path) for path in (verb_synsets, object_synsets)
        ]
        shown.start("reading predictions")
        reading: dict[str, Any] = {"format": format, "origin": origin, "objects": objects}
        found = read_predictions(
            predictions,
            dataset=words if dataset else None,
            image_id=image_id,
            top=top,
            **reading,
        )
        words = found.vocabulary
        located = find_annotations(words) if annotations is None else in_folder(annotations, words)
        files.check([*inputs, located.path])
        shown.start("reading annotations")
        truth = read_annotations(located.path, dataset=words, instances=instances, ids=ids)
        suspicions = sampled_warnings(truth, found)
        shown.start("matching", total=len(truth))
        evaluated = evaluate(
            truth,
            found,
            similar[0],
            similar[1],
            measure=measure,
            protocol=protocol_named(protocol or words.protocol, top=top),
            scores=not no_scores,
            verb_senses=senses[0],
            object_senses=senses[1],
            label=predictions.stem if label is None else label,
            progress=shown.advance,
        )
        shown.start("adding up")
        result = evaluated.to_dict()
        result["notes"] = [*located.notes, *suspicions, *result["notes"]]
        if diagnose or figure is not None:
            shown.start("finding out what errors mean")
            result["diagnosis"] = _diagnosed(evaluated)
        shown.start("writing")
        files.write(result, evaluated, example_images)
    _present(result, json, classes, quiet)


def _diagnosed(evaluated: SemanticEvaluation) -> dict[str, Any]:
    from diaghoi.semantic.diagnosis import semantic_diagnosis

    return semantic_diagnosis(evaluated).to_dict()


@dataclass(frozen=True, kw_only=True)
class _Files:
    """What is to be written; None for nothing."""

    json: Path | None
    table: Path | None
    figure: Path | None
    examples: Path | None

    def check(self, inputs: list[Path | None]) -> None:
        """Refuse what could not be written, before the work begins."""
        outputs.check_files([self.json, self.table, self.figure, self.examples], inputs)
        if self.table is not None:
            from diaghoi.report.columns import check_table_file

            check_table_file(self.table)
        if self.figure is not None:
            from diaghoi.plots.style import check_suffix

            check_suffix(self.figure)
        if self.examples is not None:
            from diaghoi.report.examples import check_examples_file

            check_examples_file(self.examples)

    def write(
        self, result: dict[str, Any], evaluated: SemanticEvaluation, example_images: int
    ) -> None:
        """Write all of them."""
        if self.json not in (None, outputs.STDOUT):
            write_json(self.json, result)
        if self.table is not None:
            from diaghoi.report.columns import write_table

            write_table(self.table, evaluated.classes)
        if self.figure is not None:
            _draw(self.figure, result)
        if self.examples is not None:
            from diaghoi.report.examples import write_examples
            from diaghoi.semantic.examples import examples_of

            write_examples(self.examples, examples_of(evaluated, images=example_images))


def _draw(path: Path, result: dict[str, Any]) -> None:
    """Draw the confusions that cost most one paper column wide."""
    from diaghoi import plots
    from diaghoi.plots.confusions import CONFUSIONS

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
