"""``diaghoi panel errors``: one picture for each error."""

from __future__ import annotations

from typing import Annotated

import typer

from diaghoi.cli import figure_options, options, outputs
from diaghoi.cli.gallery import Error, error_names
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
from diaghoi.exceptions import InputError, some_of

Repairs = Annotated[
    bool,
    typer.Option("--repairs", help="Show beside each picture what the oracle makes of the error."),
]


def errors(
    predictions: options.Predictions,
    images: options.Images,
    out: Out,
    annotations: options.Annotations = None,
    error: Error = None,
    image: Names = None,
    repairs: Repairs = False,
    columns: Columns = None,
    column: figure_options.Column = "single",
    pairs: options.Pairs = None,
    dataset: options.Dataset = None,
    protocol: options.ProtocolName = None,
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    verbs: options.Verbs = None,
    classes: options.Classes = None,
    boxes: options.Boxes = None,
    instances: options.Instances = None,
    ids: options.Ids = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
) -> None:
    """Draw a typical case of each error, of the class that has it most often.

    Of that class it is the prediction with the highest score. With --image, cases are those of
    these images.
    """
    from diaghoi import plots
    from diaghoi.cases.typical import typical_cases
    from diaghoi.formats.pictures.folder import Pictures
    from diaghoi.plots.figures.error_panel import error_panel
    from diaghoi.report.case_pictures import FoundPictures

    reading = InputFiles(
        predictions=predictions,
        annotations=annotations,
        pairs=pairs,
        force=force,
        reading={
            "dataset": dataset,
            "format": format,
            "origin": origin,
            "objects": objects,
            "verbs": verbs,
            "classes": classes,
            "boxes": boxes,
            "instances": instances,
            "ids": ids,
        },
    )
    wanted = error_names(error, [])
    protocol_named(protocol or reading.vocabulary.protocol)
    check_figure(out, reading.inputs)
    outputs.check_inputs(reading.inputs)
    pictures = Pictures(images)
    with progress(quiet) as bar:
        read = reading.read(bar, lambda inputs: check_figure(out, inputs))
        bar.start("matching", total=len(read.annotations))
        label = predictions.stem
        diagnosed = diagnosing.diagnose(*read.scenes, protocol, label=label, progress=bar.advance)
        shown, notes = chosen_images(image, diagnosed.names.tolist(), pictures)
        cases = typical_cases(diagnosed, *read.scenes, wanted, images=shown)
    lacking = [name for name in wanted if name not in {case.error for case in cases}]
    if not cases:
        raise InputError(f"{predictions}: no case of {some_of(lacking)} on the images asked for")
    if lacking:
        notes.append(f"no case of {some_of(lacking)}")
    found = FoundPictures(pictures)
    drawn = [found.read(case.image, case.size).image for case in cases]
    write_figure(
        out,
        lambda: error_panel(
            cases, drawn, width=width_of(column), columns=columns or 0, repairs=repairs
        ),
        caption=f"Errors of {plots.caption([subject_of(diagnosed)])}",
        notes=[*read.notes, *diagnosed.reading_notes, *notes, *found.notes],
        quiet=quiet,
    )
