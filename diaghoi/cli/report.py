"""``diaghoi report``: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from diaghoi import diagnosis
from diaghoi.cli import options, outputs
from diaghoi.cli.labels import read_labels
from diaghoi.cli.locate import find_annotations, in_folder
from diaghoi.cli.present import draw, print_notes, print_result, write_text
from diaghoi.cli.progress import progress
from diaghoi.cli.settings import CHANGE, setting_of
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations, read_predictions
from diaghoi.groups import read_groups
from diaghoi.groups import zero_shot as zero_shot_split
from diaghoi.known_object import ImageLabels
from diaghoi.meeting import sampled_warnings
from diaghoi.protocol import PROTOCOL_OF, PROTOCOLS, Group
from diaghoi.protocol import protocol as protocol_named
from diaghoi.report.json import to_json, write_json
from diaghoi.scenes import Scenes
from diaghoi.vocabulary import Vocabulary, vocabulary

DEFAULTS = ", ".join(f"{dataset}: {name}" for dataset, name in PROTOCOL_OF.items())
Protocol = Annotated[str | None, typer.Option(help=f"One of {', '.join(PROTOCOLS)} [{DEFAULTS}].")]
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
    quiet: options.Quiet = False,
) -> None:
    """Diagnose a detector: mAP, errors and what they cost."""
    if dataset is not None:
        vocabulary(dataset)
    changes: dict[str, Any] = {"top": top, "iou": iou, "rare": rare}
    protocol_named(protocol or PROTOCOL_OF[dataset or "hico-det"], **changes)
    name = predictions.stem if label is None else label
    files = _Files(name, json, figure, out)
    files.check([predictions, annotations, pairs, image_labels, instances, ids])
    reading: dict[str, Any] = {"format": format, "origin": origin, "objects": objects, "top": top}
    with progress(quiet) as shown:
        shown.start("reading predictions")
        found = read_predictions(
            predictions, pairs=pairs, dataset=dataset, image_id=image_id, **reading
        )
        dataset = found.vocabulary.name
        chosen = protocol_named(
            protocol or PROTOCOL_OF[dataset],
            groups=_groups(zero_shot, groups, found.vocabulary),
            **changes,
        )
        located = (
            find_annotations(dataset) if annotations is None else in_folder(annotations, dataset)
        )
        annotations, notes = located.path, located.notes
        files.check([predictions, annotations])
        shown.start("reading annotations")
        truth = read_annotations(annotations, dataset=dataset, instances=instances, ids=ids)
        labels, more = _image_labels(image_labels, dataset, (truth, found))
        shown.start("matching", total=len(truth))
        suspicions = sampled_warnings(truth, found)
        diagnosed = diagnosis.diagnose(
            truth, found, chosen, label=name, image_labels=labels, progress=shown.advance
        )
        shown.start("repairing each error")
        result = diagnosed.to_dict()
        result["notes"] = [*notes, *more, *suspicions, *result["notes"]]
        shown.start("writing")
        drawn = files.write(result)
    if json == outputs.STDOUT:
        typer.echo(to_json(result))
    elif not quiet:
        print_result(result)
        print_notes(drawn)


class _Files:
    """The files that a report writes."""

    def __init__(self, label: str, json: Path | None, figure: Path | None, out: Path | None):
        self.json, self.figure, self.out = json, figure, out
        stem = label or "report"
        if out is not None and not outputs.is_name(stem):
            raise InputError(
                f"--label '{label}': names the files in --out, so it must be a name without '/'; "
                "give another label, or --json and --figure instead of --out"
            )
        self.in_folder = (
            [] if out is None else [out / f"{stem}.{kind}" for kind in ("txt", "json", "pdf")]
        )

    def check(self, inputs: list[Path | None]) -> None:
        """Refuse what could not be written, before the work begins."""
        outputs.check_folder(self.out)
        exists = self.out is not None and self.out.exists()
        inside = self.in_folder if exists else []
        outputs.check_files([self.json, self.figure, *inside], inputs)
        if self.figure is not None:
            from diaghoi.plots.style import check_suffix

            check_suffix(self.figure)

    def write(self, result: dict[str, Any]) -> list[str]:
        """Write all of them; return notes on the figures."""
        notes = []
        if self.json not in (None, outputs.STDOUT):
            write_json(self.json, result)
        if self.figure is not None:
            notes += draw([result], self.figure)
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            text, json, figure = self.in_folder
            write_text(text, result)
            write_json(json, result)
            notes += draw([result], figure)
        return notes


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
