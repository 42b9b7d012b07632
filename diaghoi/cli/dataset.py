"""``diaghoi dataset``: descriptions of data sets that the package does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.options import argument, options_class, sparing, with_options
from diaghoi.cli.progress import progress
from diaghoi.data.protocol import phrases_of
from diaghoi.data.splits import split_classes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.inspection import inspect
from diaghoi.exceptions import printable, some_of
from diaghoi.formats import read_annotations
from diaghoi.formats.datasets import vocabulary as vocabulary_named

dataset = typer.Typer(no_args_is_help=True, help="Check the description of a data set.")


@dataset.callback()
def _group() -> None:
    """Keep `check` a command of its own, so that others can stand beside it."""


@options_class
class CheckOptions(outputs.ResultOptions):
    """Which description is checked."""

    file: str = argument(help="The .toml description, or the name of a known data set.")
    annotations: options.Annotations = None


@dataset.command()
@sparing
@with_options
def check(choices: CheckOptions) -> None:
    """Show how the description of a data set was understood, and inspect its annotations.

    By default these are the annotations that the description names.
    """
    file, annotations, json = choices.file, choices.annotations, choices.json
    outputs.check_outputs([json], [Path(file)])  # which may be the name of a data set
    outputs.check_files([json], [annotations])
    vocabulary = vocabulary_named(file)
    result = _understood(vocabulary)
    path = annotations or vocabulary.annotations
    if path is not None:
        with progress(choices.quiet) as bar:
            bar.start(f"reading {path}")
            truth = read_annotations(path, dataset=vocabulary)
            found = inspect(truth)
        result["annotations"] = {"file": str(path)} | found.facts
        result["notes"] = list(truth.notes)
        result["warnings"] = list(found.warnings)
    choices.deliver(result, lambda: _print(result))


def _understood(vocabulary: Vocabulary) -> dict[str, Any]:
    files = vocabulary.conventions
    return {
        "name": vocabulary.name,
        "objects": len(vocabulary.objects),
        "verbs": len(vocabulary.verbs),
        "classes": len(vocabulary),
        "class_names": [vocabulary.class_name(hoi) for hoi in range(len(vocabulary))],
        "person": vocabulary.objects[vocabulary.person],
        "no_interaction": None
        if vocabulary.no_interaction < 0
        else vocabulary.verbs[vocabulary.no_interaction],
        "object_numbers": None
        if files is None
        else dict(zip(files.objects, vocabulary.objects, strict=True)),
        "verb_numbers": None
        if files is None
        else dict(zip(files.verbs, vocabulary.verbs, strict=True)),
        "boxes": None if files is None else {"origin": files.origin, "layout": files.boxes},
        "splits": {
            name: int(members.sum())
            for name, members in split_classes(vocabulary.protocol, vocabulary).items()
            if name != "full"
        },
        "protocol": {"name": vocabulary.protocol.name, "signature": vocabulary.protocol.signature},
        "annotations": None,
        "notes": [],
        "warnings": [],
    }


def _print(result: dict[str, Any]) -> None:
    typer.echo(f"{result['name']}: {result['classes']:,} HOI classes")
    rows = {
        "objects": f"{result['objects']:,}{_numbered(result['object_numbers'])}",
        "verbs": f"{result['verbs']:,}{_numbered(result['verb_numbers'])}",
        "classes": some_of(result["class_names"], 4),
        "person": result["person"],
        "no interaction": result["no_interaction"] or "no such verb",
        "boxes in files": _boxes(result["boxes"]),
        "splits": ", ".join(f"{name} {size:,}" for name, size in result["splits"].items())
        or "none",
        "protocol": result["protocol"]["name"],
    }
    for name, value in rows.items():
        typer.echo(f"  {name:15} {value}")
    for choice in phrases_of(result["protocol"]["signature"]):
        typer.echo(f"  {'':15} {choice}")
    if result["annotations"] is None:
        typer.echo(
            "The description names no annotations; give them with --annotations to inspect them."
        )
        return
    for name, value in result["annotations"].items():
        typer.echo(f"  {name:27} {value:,}" if isinstance(value, int) else f"Annotations: {value}")
    for note in result["notes"]:
        typer.echo(f"Note: {printable(note)}")
    for warning in result["warnings"]:
        typer.echo(f"Warning: {warning}")
    if not result["warnings"]:
        typer.echo("Nothing looks wrong.")


def _numbered(numbers: dict[int, str] | None) -> str:
    if numbers is None:
        return ", numbered as each format does"
    shown = [f"{name} {number}" for number, name in numbers.items()]
    return f": {some_of(shown, 4)}"


def _boxes(boxes: dict[str, Any] | None) -> str:
    if boxes is None:
        return "as each format has them"
    corners = {"xyxy": "left, top, right, bottom", "xywh": "left, top, width, height"}
    return f"{corners[boxes['layout']]}, counted from {boxes['origin']}"
