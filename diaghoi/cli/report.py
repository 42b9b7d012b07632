"""``diaghoi report``: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from diaghoi import diagnosis
from diaghoi.cli import options, outputs
from diaghoi.cli.further import Further
from diaghoi.cli.labels import read_labels
from diaghoi.cli.locate import find_annotations, in_folder
from diaghoi.cli.present import print_notes, print_result
from diaghoi.cli.progress import progress
from diaghoi.cli.report_files import Files
from diaghoi.cli.settings import CHANGE, setting_of
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations, read_predictions
from diaghoi.groups import read_groups
from diaghoi.groups import zero_shot as zero_shot_split
from diaghoi.known_object import ImageLabels
from diaghoi.meeting import sampled_warnings
from diaghoi.protocol import PROTOCOLS, Group
from diaghoi.protocol import protocol as protocol_named
from diaghoi.report.json import to_json
from diaghoi.scenes import Scenes
from diaghoi.vocabulary import Vocabulary, vocabulary

Protocol = Annotated[
    str | None,
    typer.Option(help=f"One of {', '.join(PROTOCOLS)} [that of the data set]."),
]
Figure = Annotated[
    Path | None,
    typer.Option(help="Draw ΔmAP per error to this .pdf, .svg or .png file.", readable=False),
]
Out = Annotated[
    Path | None,
    typer.Option(help="Write LABEL.txt, .json and .pdf into this folder.", readable=False),
]
Label = Annotated[
    str | None,
    typer.Option(help="Name of the detector in table, figure and files [name of the file]."),
]
Iou = Annotated[float | None, typer.Option(help="IoU threshold [0.5].")]
Rare = Annotated[
    str | None, typer.Option(help="Rare by instances in the 'train' or the 'test' set [train].")
]
ZeroShot = Annotated[
    str | None, typer.Option(help="Show unseen and seen classes of RF-UC, NF-UC, UO or UV.")
]
Groups = Annotated[
    Path | None,
    typer.Option(help='Show groups of classes: JSON of {"name": [classes]}.', readable=False),
]
Labels = Annotated[
    Path | None, typer.Option(help="HICO's anno.mat, for Known Object.", readable=False)
]
Html = Annotated[
    Path | None,
    typer.Option(help="Write a page with tables to sort and the worst cases.", readable=False),
]
ClassTable = Annotated[
    Path | None,
    typer.Option(help="Write all figures of each HOI class to this .csv or .json.", readable=False),
]
ImageTable = Annotated[
    Path | None,
    typer.Option(help="Write all figures of each image to this .csv or .json.", readable=False),
]
Sort = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Sort these tables by a column, highest first; -COLUMN: lowest."
    ),
]
PairNms = Annotated[
    list[float] | None,
    typer.Option(metavar="IOU", help="Show what suppressing duplicate pairs changes; repeatable."),
]
Threshold = Annotated[
    list[float] | None,
    typer.Option(metavar="SCORE", help="Show what dropping weak boxes changes; repeatable."),
]
Bootstrap = Annotated[
    int | None,
    typer.Option(metavar="N", help="Intervals of all figures from N resamples of the images."),
]
Interval = Annotated[
    str, typer.Option(help="How intervals follow from resamples: centred, percentile or bca.")
]
Attribution = Annotated[
    bool, typer.Option("--attribution", help="Costs of the errors that add up (Shapley values).")
]
Causes = Annotated[
    bool, typer.Option("--causes", help="How much of the loss the annotations may cause.")
]
Calibration = Annotated[
    bool, typer.Option("--calibration", help="How far scores are probabilities.")
]


def report(
    predictions: options.Predictions,
    annotations: options.Annotations = None,
    pairs: options.Pairs = None,
    dataset: options.Dataset = None,
    protocol: Protocol = None,
    json: options.Json = None,
    figure: Figure = None,
    out: Out = None,
    label: Label = None,
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    top: options.Top = None,
    instances: options.Instances = None,
    ids: options.Ids = None,
    image_id: options.ImageId = None,
    iou: Iou = None,
    rare: Rare = None,
    zero_shot: ZeroShot = None,
    groups: Groups = None,
    image_labels: Labels = None,
    html: Html = None,
    class_table: ClassTable = None,
    image_table: ImageTable = None,
    sort: Sort = None,
    pair_nms: PairNms = None,
    detection_threshold: Threshold = None,
    bootstrap: Bootstrap = None,
    confidence: options.Confidence = 0.95,
    interval: Interval = "centred",
    seed: options.Seed = 0,
    attribution: Attribution = False,
    causes: Causes = False,
    calibration: Calibration = False,
    quiet: options.Quiet = False,
) -> None:
    """Diagnose a detector: mAP, errors and what they cost."""
    words = vocabulary(dataset or "hico-det")
    changes: dict[str, Any] = {"top": top, "iou": iou, "rare": rare}
    protocol_named(protocol or words.protocol, **changes)
    name = predictions.stem if label is None else label
    files = Files(
        label=name,
        json=json,
        figure=figure,
        out=out,
        html=html,
        class_table=class_table,
        image_table=image_table,
        sort=sort,
    )
    further = Further(
        pair_nms=tuple(pair_nms or ()),
        thresholds=tuple(detection_threshold or ()),
        resamples=bootstrap,
        confidence=confidence,
        interval=interval,
        seed=seed,
        attribution=attribution,
        causes=causes,
        calibration=calibration,
    )
    files.check([predictions, annotations, pairs, image_labels, instances, ids])
    reading: dict[str, Any] = {"format": format, "origin": origin, "objects": objects, "top": top}
    with progress(quiet) as shown:
        shown.start("reading predictions")
        found = read_predictions(
            predictions,
            pairs=pairs,
            dataset=words if dataset else None,
            image_id=image_id,
            **reading,
        )
        words = found.vocabulary
        chosen = protocol_named(
            protocol or words.protocol, groups=_groups(zero_shot, groups, words), **changes
        )
        located = find_annotations(words) if annotations is None else in_folder(annotations, words)
        annotations, notes = located.path, located.notes
        files.check([predictions, annotations])
        shown.start("reading annotations")
        truth = read_annotations(annotations, dataset=words, instances=instances, ids=ids)
        labels, more = _image_labels(image_labels, words.name, (truth, found))
        shown.start("matching", total=len(truth))
        suspicions = sampled_warnings(truth, found)
        diagnosed = diagnosis.diagnose(
            truth, found, chosen, label=name, image_labels=labels, progress=shown.advance
        )
        shown.start("repairing each error")
        result = diagnosed.to_dict()
        result["notes"] = [*notes, *more, *suspicions, *result["notes"]]
        further.add(result, diagnosed, (truth, found), labels, shown)
        shown.start("writing")
        read = [predictions, annotations, *([] if pairs is None else [pairs])]
        drawn = files.write(result, diagnosed, (truth, found), read)
    if json == outputs.STDOUT:
        typer.echo(to_json(result))
    elif not quiet:
        print_result(result)
        print_notes(drawn)


def _groups(name: str | None, file: Path | None, words: Vocabulary) -> tuple[Group, ...]:
    """Collect the groups of classes that are asked for."""
    if name is not None and file is not None:
        raise InputError("--zero-shot and --groups: give one of them")
    if name is not None:
        return zero_shot_split(name, words)
    return () if file is None else read_groups(file, words)


def _image_labels(
    given: Path | None, dataset: str, scenes: tuple[Scenes, Scenes]
) -> tuple[ImageLabels | None, list[str]]:
    """Read the image labels that are given, or those of the settings where they fit.

    Settings hold for every report of this user, also for those on other images; then the boxes
    decide, and a note says so.
    """
    if given is not None:
        return read_labels(given), []
    key = f"{dataset}.image-labels"
    setting = setting_of(key)
    if setting is None:
        return None, []
    try:
        labels = read_labels(setting)
    except InputError as error:
        raise InputError(f"{error}; it is the setting {key}: {CHANGE.format(key=key)}") from None
    if all(np.isin(each.names, labels.names).all() for each in scenes):
        return labels, [f"image labels: {setting}, from the settings"]
    return None, [
        f"{setting}, from the settings, does not label all of these images: Known Object goes by "
        "the box annotations"
    ]
