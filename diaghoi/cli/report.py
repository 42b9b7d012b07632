"""``diaghoi report``: the main job."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from diaghoi.cli import options, outputs, priors, shards, variants
from diaghoi.cli.extras import Extras
from diaghoi.cli.labels import read_labels
from diaghoi.cli.present import print_notes, print_result, print_written
from diaghoi.cli.progress import Progress, progress
from diaghoi.cli.reading import InputFiles, Inputs, check_choice
from diaghoi.cli.report_files import ReportFiles
from diaghoi.cli.settings import CHANGE, setting_of
from diaghoi.cli.slices import SlicesOption, slice_options
from diaghoi.data.groups import UnclearBaseError, read_groups
from diaghoi.data.groups import zero_shot as zero_shot_split
from diaghoi.data.protocol import Group, Protocol
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.scenes import SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis import diagnose as diagnosing
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError
from diaghoi.formats.containers.locations import is_remote
from diaghoi.formats.hico_det.image_labels import ImageLabels
from diaghoi.report.json import to_json

Predictions = Annotated[
    str,
    typer.Argument(
        help="Prediction file (or folder of .mat files); in quotes, a pattern of several."
    ),
]
Figure = Annotated[
    Path | None,
    typer.Option(
        help="Draw ΔmAP per error to this .pdf, .svg or .png file.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]
Column = Annotated[
    str,
    typer.Option(
        callback=options.check_column,
        help="Width of figures: a single (3.25 in) or a double (6.875 in) column.",
        rich_help_panel=options.FILES,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Write LABEL.txt, .json and .pdf into this folder.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]
Iou = Annotated[
    float | None, typer.Option(help="IoU threshold [0.5].", rich_help_panel=options.COUNTS)
]
Rare = Annotated[
    str | None,
    typer.Option(
        help="Count the instances of rare classes in the 'train' or the 'test' set [train].",
        rich_help_panel=options.COUNTS,
    ),
]
ZeroShot = Annotated[
    str | None,
    typer.Option(
        help="Report the unseen and seen classes of RF-UC, NF-UC, UO, UV or uc0 to uc4.",
        rich_help_panel=options.COUNTS,
    ),
]
Groups = Annotated[
    Path | None,
    typer.Option(
        help='Report groups of classes, from a JSON file {"name": [classes], "base": 1}.',
        readable=False,
        rich_help_panel=options.COUNTS,
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        help="HICO's anno.mat, for the Known Object setting.",
        readable=False,
        rich_help_panel=options.COUNTS,
    ),
]
Html = Annotated[
    Path | None,
    typer.Option(
        help="Write an HTML page with sortable tables and the worst cases.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]
PageImages = Annotated[
    Path | None,
    typer.Option(
        help="Folder with the pictures, to draw the worst cases of --html on.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]
ImageTable = Annotated[
    Path | None,
    typer.Option(
        help="Write the numbers of each image to this .csv or .json file.",
        readable=False,
        rich_help_panel=options.FILES,
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Sort these tables by a column, highest first; -COLUMN: lowest first.",
        rich_help_panel=options.FILES,
    ),
]
Interval = Annotated[
    str,
    typer.Option(
        help="Type of the intervals: centred, percentile or bca.",
        rich_help_panel=options.SURE,
    ),
]
Attribution = Annotated[
    bool,
    typer.Option(
        "--attribution",
        help="Divide the loss of mAP among the errors (Shapley values).",
        rich_help_panel=options.EXTRAS,
    ),
]
Causes = Annotated[
    bool,
    typer.Option(
        "--causes",
        help="Count false positives by patterns that incomplete annotations show.",
        rich_help_panel=options.EXTRAS,
    ),
]
Calibration = Annotated[
    bool,
    typer.Option(
        "--calibration",
        help="Measure how well scores are calibrated.",
        rich_help_panel=options.EXTRAS,
    ),
]
ScoreThreshold = Annotated[
    float | None,
    typer.Option(
        metavar="SCORE",
        help="Give precision, recall and F1 of predictions with at least this score.",
        rich_help_panel=options.EXTRAS,
    ),
]
OperatingPoints = Annotated[
    bool,
    typer.Option(
        "--operating-points",
        help="Give precision, recall, F1 and errors over the score threshold, and the best F1.",
        rich_help_panel=options.EXTRAS,
    ),
]
Rosetta = Annotated[
    bool,
    typer.Option(
        "--rosetta",
        help="Show the mAP that the evaluators of other code bases print (HICO-DET).",
        rich_help_panel=options.EXTRAS,
    ),
]


def report(
    predictions: Predictions,
    annotations: options.Annotations = None,
    pairs: options.Pairs = None,
    dataset: options.Dataset = None,
    protocol: options.ProtocolName = None,
    json: options.Json = None,
    figure: Figure = None,
    column: Column = "double",
    out: Out = None,
    label: options.Label = None,
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    verbs: options.Verbs = None,
    classes: options.Classes = None,
    boxes: options.Boxes = None,
    top: options.Top = None,
    instances: options.Instances = None,
    ids: options.Ids = None,
    image_id: options.ImageId = None,
    only_predicted_images: options.OnlyPredicted = False,
    iou: Iou = None,
    ap: options.Ap = None,
    rare: Rare = None,
    zero_shot: ZeroShot = None,
    groups: Groups = None,
    image_labels: Labels = None,
    html: Html = None,
    images: PageImages = None,
    class_table: options.ClassTable = None,
    image_table: ImageTable = None,
    sort: Sort = None,
    pair_nms: variants.PairNms = None,
    detection_threshold: variants.Threshold = None,
    score_threshold: ScoreThreshold = None,
    bootstrap: options.Bootstrap = None,
    confidence: options.Confidence = 0.95,
    interval: Interval = "centred",
    seed: options.Seed = 0,
    attribution: Attribution = False,
    causes: Causes = False,
    calibration: Calibration = False,
    operating_points: OperatingPoints = False,
    shortcuts: priors.Shortcuts = False,
    prior_annotations: priors.PriorAnnotations = None,
    slices: SlicesOption = None,
    rosetta: Rosetta = False,
    engine: shards.EngineName = None,
    scheduler: shards.Scheduler = None,
    workers: shards.Workers = None,
    force: options.Force = False,
    detail: options.Detail = False,
    quiet: options.Quiet = False,
) -> None:
    """Diagnose a detector: mAP, errors and what each error costs."""
    several = shards.ShardOptions(
        predictions=predictions, engine=engine, scheduler=scheduler, workers=workers
    )
    reading = InputFiles(
        predictions=Path(predictions),
        annotations=annotations,
        pairs=pairs,
        force=force,
        only_predicted=only_predicted_images,
        reading={
            "dataset": dataset,
            "format": format,
            "origin": origin,
            "objects": objects,
            "verbs": verbs,
            "classes": classes,
            "boxes": boxes,
            "top": top,
            "instances": instances,
            "ids": ids,
            "image_id": image_id,
        },
    )
    files = ReportFiles(
        label=several.label if label is None else label,
        json=json,
        figure=figure,
        out=out,
        html=html,
        images=images,
        class_table=class_table,
        image_table=image_table,
        column=column,
        sort=sort,
    )
    extras = Extras(
        variants=variants.VariantOptions(pair_nms, detection_threshold),
        score_threshold=score_threshold,
        resamples=bootstrap,
        confidence=confidence,
        interval=interval,
        seed=seed,
        attribution=attribution,
        causes=causes,
        calibration=calibration,
        rosetta=rosetta,
        operating_points=operating_points,
        priors=priors.PriorOptions(shortcuts, prior_annotations),
        slices=slice_options(slices, bootstrap, seed, confidence),
    )
    changes = {"top": top, "iou": iou, "rare": rare, "average_precision": ap}
    choices = _Choices(protocol, changes, zero_shot, groups)
    choices.check(reading)
    extras.check(reading)
    tags = [] if extras.slices is None else extras.slices.files
    beside = [image_labels, prior_annotations, *tags]
    with progress(quiet) as bar:
        if several.asked:
            refused = {"--pairs": pairs is not None, **files.of_boxes, **extras.of_boxes}
            found = several.check(refused)
            local = [Path(each) for each in found if not is_remote(each)]
            files.check([*reading.beside, *local, *beside])
            diagnosed = _of_several(
                several, found, reading, choices, image_labels, extras, files, bar
            )
        else:
            files.check([*reading.inputs, *beside])
            diagnosed = _of_one(reading, choices, image_labels, extras, files, bar)
        result, notes = _reported(diagnosed, extras, files, bar)
    if json == outputs.STDOUT:
        typer.echo(to_json(result))
    elif not quiet:
        print_result(result, detail=detail)
        print_notes(notes)
    if not quiet:
        print_written(files.written(result))


class _Choices(NamedTuple):
    """The protocol: its name, changes to it, and groups of classes to report."""

    protocol: str | None
    changes: dict[str, Any]
    zero_shot: str | None
    groups: Path | None

    def check(self, reading: InputFiles) -> None:
        """Refuse invalid settings before anything is read."""
        try:
            check_choice(self.made, reading.vocabulary if reading.dataset else None)
        except UnclearBaseError:
            # Its names are those of the data set, which the files may show.
            if reading.dataset:
                raise

    def made(self, vocabulary: Vocabulary) -> Protocol:
        """Make the protocol for a data set."""
        groups = _groups(self.zero_shot, self.groups, vocabulary, [])
        return protocol_named(self.protocol or vocabulary.protocol, groups=groups, **self.changes)

    def notes(self, vocabulary: Vocabulary) -> list[str]:
        """Say how the groups of classes were read."""
        notes: list[str] = []
        _groups(self.zero_shot, self.groups, vocabulary, notes)
        return notes


class _Diagnosed(NamedTuple):
    """A diagnosis, what was read for it, and what to know of its image labels."""

    diagnosis: Diagnosis
    read: Inputs
    labels: ImageLabels | None
    notes: list[str]


def _of_one(
    reading: InputFiles,
    choices: _Choices,
    image_labels: Path | None,
    extras: Extras,
    files: ReportFiles,
    bar: Progress,
) -> _Diagnosed:
    """Read and diagnose a prediction file."""
    read = reading.read(bar, files.check)
    extras.check_ranked(read.predictions, choices.changes["top"])
    chosen = choices.made(read.vocabulary)
    labels, notes = _image_labels(image_labels, read.annotations, read.predictions)
    notes += choices.notes(read.vocabulary)
    bar.start("matching", total=len(read.annotations))
    diagnosis = diagnosing.diagnose(
        read.annotations,
        read.predictions,
        chosen,
        label=files.label,
        image_labels=labels,
        also=extras.families(read.vocabulary),
        progress=bar.advance,
    )
    return _Diagnosed(diagnosis, read, labels, notes)


def _of_several(
    several: shards.ShardOptions,
    found: list[str],
    reading: InputFiles,
    choices: _Choices,
    image_labels: Path | None,
    extras: Extras,
    files: ReportFiles,
    bar: Progress,
) -> _Diagnosed:
    """Diagnose prediction files of different images."""
    read, diagnosis = several.diagnose(
        found, reading, choices.made, extras.families, files.label, bar
    )
    extras.check_ranked(read.predictions, choices.changes["top"])
    labels, notes = _image_labels(image_labels, read.annotations, read.predictions)
    notes += choices.notes(read.vocabulary)
    if labels is not None:
        diagnosis = replace(
            diagnosis,
            known_objects=labels.objects(read.predictions),
            known_object_source="image labels",
        )
    return _Diagnosed(diagnosis, read, labels, notes)


def _reported(
    diagnosed: _Diagnosed, extras: Extras, files: ReportFiles, bar: Progress
) -> tuple[dict[str, Any], list[str]]:
    """Add what is asked for, and write the files; return the result, and notes on figures."""
    diagnosis, read, labels, notes = diagnosed
    bar.start("repairing each error")
    result = diagnosis.to_dict()
    if read.coverage is not None:
        result["coverage"] = read.coverage
    result["notes"] = [*read.notes, *notes, *result["notes"]]
    sliced = extras.add(result, diagnosis, read, labels, bar)
    bar.start("writing" if files.images is None else "drawing the worst cases")
    return result, files.write(result, diagnosis, read, sliced)


def _groups(
    name: str | None, file: Path | None, vocabulary: Vocabulary, notes: list[str]
) -> tuple[Group, ...]:
    """Collect the groups of classes to report; add to ``notes`` what they showed."""
    if name is not None and file is not None:
        raise InputError("--zero-shot and --groups: give only one of them")
    if name is not None:
        return zero_shot_split(name, vocabulary)
    return () if file is None else read_groups(file, vocabulary, notes)


def _image_labels(
    given: Path | None, annotations: SceneSource, predictions: SceneSource
) -> tuple[ImageLabels | None, list[str]]:
    """Read the image labels given, or those of the settings if they fit.

    Settings apply to every report of this user, including those on other images; for those images
    Known Object falls back to the boxes, with a note.
    """
    if given is not None:
        return read_labels(given), []
    key = f"{annotations.vocabulary.name}.image-labels"
    setting = setting_of(key)
    if setting is None:
        return None, []
    try:
        labels = read_labels(setting)
    except InputError as error:
        raise InputError(f"{error}; it is the setting {key}: {CHANGE.format(key=key)}") from None
    if all(np.isin(each.names, labels.names).all() for each in (annotations, predictions)):
        return labels, [f"image labels: {setting}, from the settings"]
    return None, [
        f"{setting}, from the settings, does not label all of these images: Known Object goes by "
        "the box annotations"
    ]
