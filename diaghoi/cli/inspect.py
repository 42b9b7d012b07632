"""``diaghoi inspect``: what a file is, and what looks wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from diaghoi import inspection
from diaghoi.cli import options, outputs
from diaghoi.cli.progress import progress
from diaghoi.formats import read, read_annotations
from diaghoi.report.json import to_json, write_json


def inspect(
    file: Annotated[
        Path, typer.Argument(help="Predictions, pairs or annotations.", readable=False)
    ],
    annotations: Annotated[
        Path | None,
        typer.Option(help="The annotations that predictions are meant for.", readable=False),
    ] = None,
    dataset: options.Dataset = "hico-det",
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
) -> None:
    """Say what a file is, what it holds, and what looks wrong with it."""
    outputs.check_files([json], [file, annotations])
    with progress(quiet) as shown:
        shown.start(f"reading {file}")
        recognised, scenes = read(
            file, dataset=dataset, format=format, origin=origin, objects=objects
        )
        truth = None if annotations is None else read_annotations(annotations, dataset=dataset)
        found = inspection.inspect(scenes, truth)
    result = {
        "file": str(file),
        "kind": recognised.kind,
        "format": recognised.format,
        "title": recognised.title,
        "container": recognised.container,
        "facts": found.facts,
        "notes": list(scenes.notes),
        "warnings": list(found.warnings),
    }
    if json == outputs.STDOUT:
        typer.echo(to_json(result))
    elif not quiet:
        _print(result)
    if json not in (None, outputs.STDOUT):
        write_json(json, result)


def _print(result: dict[str, Any]) -> None:
    typer.echo(f"{result['file']}: {result['kind']}")
    typer.echo(f"  {result['title']} ({result['format']}, {result['container']})")
    width = max(map(len, result["facts"]))
    for name, value in result["facts"].items():
        typer.echo(f"  {name:{width}}  {_shown(value)}")
    for note in result["notes"]:
        typer.echo(f"Note: {note}")
    for warning in result["warnings"]:
        typer.echo(f"Warning: {warning}")
    if not result["warnings"]:
        typer.echo("Nothing looks wrong.")


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(f"{number:.4g}" for number in value)
    return f"{value:,}"
