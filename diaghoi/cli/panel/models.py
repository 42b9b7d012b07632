"""``diaghoi panel models``: what detectors find, invent and miss on the same pictures."""

from __future__ import annotations

from math import inf, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diaghoi.cli import figure_options, options, outputs
from diaghoi.cli.panel.options import (
    Columns,
    Names,
    Out,
    check_figure,
    chosen_images,
    subject_of,
    write_figure,
)
from diaghoi.cli.present import width_of
from diaghoi.cli.progress import progress
from diaghoi.cli.reading import InputFiles
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.diagnosis import diagnose as diagnosing
from diaghoi.exceptions import InputError

if TYPE_CHECKING:
    from diaghoi.cases.outcomes import ImageOutcomes
    from diaghoi.data.scenes import Scenes
    from diaghoi.diagnosis.diagnosis import Diagnosis

MOST = 6  # models: more rows fit no page

Files = Annotated[
    list[Path], typer.Argument(help="Prediction files of one or more models.", readable=False)
]
Top = Annotated[int, typer.Option(min=1, max=30, help="Images, where none is named.")]
Threshold = Annotated[
    float | None,
    typer.Option(help="Least score of predictions [the one of best F1, for each model]."),
]


def models(
    predictions: Files,
    images: options.Images,
    out: Out,
    annotations: options.Annotations = None,
    image: Names = None,
    top: Top = 2,
    threshold: Threshold = None,
    columns: Columns = None,
    column: figure_options.Column = "single",
    dataset: options.Dataset = None,
    protocol: options.ProtocolName = None,
    instances: options.Instances = None,
    ids: options.Ids = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Draw right, false and missed pairs of detectors on the same pictures.

    Without --image, several models are shown where the first and the last differ most, in turn
    where the last and where the first finds more; one model is shown where it is right, wrong and
    misses something, with few pairs.
    """
    from diaghoi import plots
    from diaghoi.cases.outcomes import image_outcomes, outcome_counts, telling
    from diaghoi.formats.pictures.folder import Pictures
    from diaghoi.plots.figures.outcome_panel import outcome_panel
    from diaghoi.plots.labels import model_names
    from diaghoi.report.case_pictures import FoundPictures

    if threshold is not None and isnan(threshold):
        raise InputError("--threshold nan: give a number")
    if len(predictions) > MOST:
        raise InputError(f"{len(predictions)} models: at most {MOST} fit a figure; give fewer")
    files = [
        InputFiles(
            predictions=path,
            annotations=annotations,
            force=force,
            reading={"dataset": dataset, "instances": instances, "ids": ids},
        )
        for path in predictions
    ]
    inputs = [path for each in files for path in each.inputs]
    protocol_named(protocol or files[0].vocabulary.protocol)
    check_figure(out, inputs)
    outputs.check_inputs(inputs)
    pictures = Pictures(images)
    notes: list[str] = []
    read: list[tuple[Diagnosis, Scenes, Scenes]] = []
    with progress(quiet) as bar:
        for each in files:
            found = each.read(bar, lambda inputs: check_figure(out, inputs))
            bar.start("matching", total=len(found.annotations))
            truth, predicted = found.scenes
            diagnosed = diagnosing.diagnose(
                truth, predicted, protocol, label=each.predictions.stem, progress=bar.advance
            )
            read.append((diagnosed, truth, predicted))
            notes += [*found.notes, *diagnosed.reading_notes]
    for diagnosed, *_ in read[1:]:
        if set(diagnosed.names.tolist()) != set(read[0][0].names.tolist()):
            raise InputError(
                f"{diagnosed.label}: has other images than {read[0][0].label}; give models on the "
                "same annotations"
            )
    thresholds = [_least(each) if threshold is None else threshold for each, *_ in read]
    names = read[0][0].names.tolist()
    shown, chosen_notes = chosen_images(image, names, pictures)
    if not image:
        counts = [
            dict(zip(each.names.tolist(), outcome_counts(each, least).tolist(), strict=True))
            for (each, *_), least in zip(read, thresholds, strict=True)
        ]
        shown = telling([[each[name] for name in shown] for each in counts], shown, top)
    labels = model_names(each.label for each, *_ in read)
    outcomes: dict[str, list[ImageOutcomes]] = {
        label: image_outcomes(*each, shown, least)
        for label, each, least in zip(labels, read, thresholds, strict=True)
    }
    collected = FoundPictures(pictures)
    drawn = [collected.read(each.image, each.size).image for each in outcomes[labels[0]]]
    at = ", ".join(f"{each:.3g} ({name})" for each, name in zip(thresholds, labels, strict=True))
    notes.append(f"predictions from a score of {at}")
    write_figure(
        out,
        lambda: outcome_panel(outcomes, drawn, width=width_of(column), columns=columns or 0),
        caption=f"{plots.caption([subject_of(each) for each, *_ in read])} Images: "
        f"{', '.join(shown)}; predictions from a score of {at}.",
        notes=list(dict.fromkeys([*notes, *chosen_notes, *collected.notes])),
        quiet=quiet,
    )


def _least(diagnosed: Diagnosis) -> float:
    """Return the score of best F1; all predictions count where none is right."""
    best = diagnosed.best_threshold
    return -inf if best is None else best
