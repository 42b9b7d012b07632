"""``diaghoi report``: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from diaghoi import diagnosis
from diaghoi.cli import options
from diaghoi.cli.locate import find_annotations
from diaghoi.cli.progress import progress
from diaghoi.cli.settings import read_settings
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations, read_predictions
from diaghoi.formats.atomic import replacing
from diaghoi.known_object import read_image_labels
from diaghoi.protocol import protocol as protocol_named
from diaghoi.report.json import write_json


def report(
    predictions: options.Predictions,
    annotations: options.Annotations = None,
    pairs: options.Pairs = None,
    dataset: options.Dataset = "hico-det",
    protocol: Annotated[
        str, typer.Option(help="hico-det, hico-det-520 or diag-hoi.")
    ] = "hico-det-520",
    json: Annotated[Path | None, typer.Option(help="Write all figures to this file.")] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw ΔmAP per error to this .pdf, .svg or .png file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write text, JSON and figure into this folder.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Name of the detector [name of the file].")
    ] = None,
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    top: options.Top = None,
    iou: Annotated[float | None, typer.Option(help="IoU threshold [0.5].")] = None,
    rare: Annotated[
        str | None, typer.Option(help="Rare by instances in the 'train' or the 'test' set [train].")
    ] = None,
    image_labels: Annotated[
        Path | None, typer.Option(help="HICO's anno.mat, for Known Object.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Diagnose a detector: mAP, errors and their cost, pairs, negatives, actions."""
    chosen = protocol_named(protocol, top=top, iou=iou, rare=rare)
    _check_outputs(json, figure, out)
    with progress(quiet) as shown:
        shown.start("reading annotations")
        truth = read_annotations(annotations or find_annotations(dataset), dataset=dataset)
        shown.start("reading predictions")
        found = read_predictions(
            predictions,
            pairs=pairs,
            format=format,
            dataset=dataset,
            origin=origin,
            objects=objects,
            top=top,
        )
        labels = image_labels or read_settings().get(f"{dataset}.image-labels")
        shown.start("matching", total=len(truth))
        result = diagnosis.diagnose(
            truth,
            found,
            chosen,
            label=predictions.stem if label is None else label,
            image_labels=None if labels is None else read_image_labels(labels),
            progress=shown.advance,
        ).to_dict()
    if not quiet:
        print_result(result)
    if json is not None:
        write_json(json, result)
    if figure is not None:
        draw([result], figure)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        stem = Path(result["label"]).name or "report"
        write_text(out / f"{stem}.txt", result)
        write_json(out / f"{stem}.json", result)
        draw([result], out / f"{stem}.pdf")


def _check_outputs(json: Path | None, figure: Path | None, out: Path | None) -> None:
    """Refuse what could not be written before the work begins."""
    for path in (json, figure):
        if path is not None and not path.resolve().parent.is_dir():
            raise InputError(f"{path}: the folder {path.parent} does not exist; create it first")
    if figure is not None:
        from diaghoi.plots.style import check_suffix

        check_suffix(figure)
    if out is not None and out.exists() and not out.is_dir():
        raise InputError(f"{out}: not a folder")


def print_result(result: dict[str, Any]) -> None:
    """Print the report of a detector on stdout."""
    from rich.console import Console

    from diaghoi.report.text import print_report

    print_report(result, Console(highlight=False))


def write_text(path: Path, result: dict[str, Any]) -> None:
    """Write the report of a detector as plain text."""
    from rich.console import Console

    from diaghoi.report.text import print_report

    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        print_report(result, Console(file=file, width=100, highlight=False))


def draw(results: list[dict[str, Any]], path: Path) -> None:
    """Draw the ΔmAP bars of some detectors in the width of two paper columns."""
    from matplotlib.figure import Figure

    from diaghoi import plots

    with plots.paper():
        drawing = Figure(figsize=(plots.DOUBLE_COLUMN, 2.4), layout="constrained")
        plots.delta_map(results, ax=drawing.add_subplot())
        plots.save(drawing, path)
