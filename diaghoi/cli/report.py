"""``diaghoi report``: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from diaghoi import diagnosis
from diaghoi.cli import options, outputs
from diaghoi.cli.locate import find_annotations
from diaghoi.cli.present import draw, print_result, write_text
from diaghoi.cli.progress import progress
from diaghoi.cli.settings import read_settings
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations, read_predictions
from diaghoi.known_object import ImageLabels, read_image_labels
from diaghoi.protocol import protocol as protocol_named
from diaghoi.report.json import to_json, write_json
from diaghoi.scenes import Scenes
from diaghoi.vocabulary import vocabulary

Protocol = Annotated[str, typer.Option(help="hico-det, hico-det-520 or diag-hoi.")]
Figure = Annotated[
    Path | None,
    typer.Option(help="Draw ΔmAP per error to this .pdf, .svg or .png file.", readable=False),
]
Out = Annotated[
    Path | None, typer.Option(help="Write text, JSON and figure into this folder.", readable=False)
]
Label = Annotated[str | None, typer.Option(help="Name of the detector [name of the file].")]
Iou = Annotated[float | None, typer.Option(help="IoU threshold [0.5].")]
Rare = Annotated[
    str | None, typer.Option(help="Rare by instances in the 'train' or the 'test' set [train].")
]
Labels = Annotated[
    Path | None, typer.Option(help="HICO's anno.mat, for Known Object.", readable=False)
]


def report(
    predictions: options.Predictions,
    annotations: options.Annotations = None,
    pairs: options.Pairs = None,
    dataset: options.Dataset = "hico-det",
    protocol: Protocol = "hico-det-520",
    json: options.Json = None,
    figure: Figure = None,
    out: Out = None,
    label: Label = None,
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    top: options.Top = None,
    iou: Iou = None,
    rare: Rare = None,
    image_labels: Labels = None,
    quiet: options.Quiet = False,
) -> None:
    """Diagnose a detector: mAP, errors and their cost, pairs, negatives, actions."""
    vocabulary(dataset)
    chosen = protocol_named(protocol, top=top, iou=iou, rare=rare)
    name = predictions.stem if label is None else label
    files = _Files(name, json, figure, out)
    notes: list[str] = []
    if annotations is None:
        located = find_annotations(dataset)
        annotations = located.path
        notes.append(located.note)
    files.check([predictions, annotations, pairs, image_labels])
    with progress(quiet) as shown:
        shown.start("reading annotations")
        truth = read_annotations(annotations, dataset=dataset)
        shown.start("reading predictions")
        reading: dict[str, Any] = {"format": format, "origin": origin, "objects": objects}
        found = read_predictions(predictions, pairs=pairs, dataset=dataset, top=top, **reading)
        labels, more = _image_labels(image_labels, dataset, (truth, found))
        shown.start("matching", total=len(truth))
        diagnosed = diagnosis.diagnose(
            truth, found, chosen, label=name, image_labels=labels, progress=shown.advance
        )
        shown.start("repairing each error")
        result = diagnosed.to_dict()
    result["notes"] = [*notes, *more, *result["notes"]]
    if not quiet and json != outputs.STDOUT:
        print_result(result)
    files.write(result)


class _Files:
    """The files that a report writes."""

    def __init__(self, label: str, json: Path | None, figure: Path | None, out: Path | None):
        self.json, self.figure, self.out = json, figure, out
        stem = Path(label).name or "report"
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

    def write(self, result: dict[str, Any]) -> None:
        """Write all of them."""
        if self.json == outputs.STDOUT:
            typer.echo(to_json(result))
        elif self.json is not None:
            write_json(self.json, result)
        if self.figure is not None:
            draw([result], self.figure)
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            text, json, figure = self.in_folder
            write_text(text, result)
            write_json(json, result)
            draw([result], figure)


def _image_labels(
    given: Path | None, dataset: str, scenes: tuple[Scenes, Scenes]
) -> tuple[ImageLabels | None, list[str]]:
    """Read the image labels that are given, or those of the settings where they fit.

    Settings hold for every report of this user, also for those on other images; then the boxes
    decide, and a note says so.
    """
    if given is not None:
        return read_image_labels(given), []
    key = f"{dataset}.image-labels"
    setting = read_settings().get(key)
    if setting is None:
        return None, []
    try:
        labels = read_image_labels(setting)
    except InputError as error:
        raise InputError(f"{error}; it is a setting: 'diaghoi config unset {key}'") from None
    if all(np.isin(each.names, labels.names).all() for each in scenes):
        return labels, [f"image labels: {setting}, from the settings"]
    return None, [
        f"{setting}, from the settings, does not label all of these images: Known Object goes by "
        "the box annotations"
    ]
