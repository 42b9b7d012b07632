"""``diaghoi inspect``: what a file is, and what looks wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from diaghoi import inspection
from diaghoi.cli import options
from diaghoi.cli.progress import progress
from diaghoi.formats import read, read_annotations
from diaghoi.report.json import write_json


def inspect(
    file: Annotated[Path, typer.Argument(help="Predictions, pairs or annotations.")],
    annotations: Annotated[
        Path | None, typer.Option(help="The annotations that predictions are meant for.")
    ] = None,
    dataset: options.Dataset = "hico-det",
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    json: Annotated[Path | None, typer.Option(help="Write what is found to this file.")] = None,
    quiet: options.Quiet = False,
) -> None:
    """Say what a file is, what it holds, and what looks wrong with it."""
    with progress(quiet) as shown:
        shown.start(f"reading {file}")
        recognised, scenes = read(
            file, dataset=dataset, format=format, origin=origin, objects=objects
        )
        truth = None if annotations is None else read_annotations(annotations, dataset=dataset)
        found = inspection.inspect(scenes, truth)
    if not quiet:
        typer.echo(f"{file}: {recognised.kind} in the format {recognised.format}")
        for name, value in found.facts.items():
            typer.echo(f"  {name}: {_shown(value)}")
        for note in scenes.notes:
            typer.echo(f"Note: {note}")
        for warning in found.warnings:
            typer.echo(f"Warning: {warning}")
        if not found.warnings:
            typer.echo("Nothing looks wrong.")
    if json is not None:
        write_json(
            json,
            {"file": str(file), "kind": recognised.kind, "format": recognised.format}
            | {"facts": found.facts, "notes": list(scenes.notes)}
            | {"warnings": list(found.warnings)},
        )


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(f"{number:.4g}" for number in value)
    return f"{value:,}"
