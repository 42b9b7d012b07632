"""``diaghoi inspect``: identify a file, and report what looks wrong with it."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.locate import in_folder
from diaghoi.cli.options import argument, option, options_class, with_options, without
from diaghoi.cli.progress import progress
from diaghoi.cli.reading import ReadingOptions, naming_own_data
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.diagnosis import inspection
from diaghoi.exceptions import InputError, printable
from diaghoi.formats import open_file, read_annotations, read_predictions
from diaghoi.formats.content import FIRST
from diaghoi.formats.own_data import write_draft
from diaghoi.formats.reading import check_fit

# Rows from which on files of the package are sampled, and the images that are read of these, in
# runs of neighbours.
ROWS, IMAGES, RUN = 2_000_000, 2000, 100


@options_class
class InspectOptions(outputs.ResultOptions):
    """Which file is inspected, and how it is read."""

    file: Path = argument(help="Predictions, pairs or annotations.")
    annotations: Path | None = option(
        None, help="Annotations of the same images, to compare predictions with."
    )
    pairs: options.Pairs = None
    reading: ReadingOptions = without(ReadingOptions, "top", "force")
    to_description: Path | None = option(
        None,
        help="Draft the description of a data set of its own from the numbers in the files: a "
        ".toml file for --dataset.",
    )


@with_options
def inspect(choices: InspectOptions) -> None:
    """Identify a file, and report what looks wrong with it."""
    file, annotations, pairs = choices.file, choices.annotations, choices.pairs
    json, to_description, dataset = choices.json, choices.to_description, choices.reading.dataset
    beside: dict[str, Any] = {"instances": choices.reading.instances, "ids": choices.reading.ids}
    outputs.check_files([json, to_description], [file, annotations, pairs, *beside.values()])
    if to_description is not None:
        if dataset is not None:
            raise InputError(
                "--to-description: drafts the description of a data set that has none; leave "
                "--dataset out"
            )
        write_draft(to_description, [file, *([] if annotations is None else [annotations])])
        dataset = str(to_description)
        if not choices.quiet and json != outputs.STDOUT:
            typer.echo(f"Wrote {to_description}: fill in the names of objects and verbs.")
    reading = choices.reading.words(*beside) | {"dataset": dataset}
    with progress(choices.quiet) as bar, naming_own_data(file, annotations, dataset):
        bar.start(f"reading {file}")
        own = beside if annotations is None and pairs is None else {}
        most = None if pairs is not None else FIRST
        alone = annotations is None
        recognised, source, held, cut = open_file(file, most=most, fitting=alone, **own, **reading)
        scenes, sample = _sampled(file, source, cut)
        if pairs is not None:
            scenes = read_predictions(file, pairs=pairs, **reading)
        truth = None if held is None else held.load()
        if annotations is not None:
            annotations = in_folder(annotations, scenes.vocabulary).path
            outputs.check_files([json], [annotations])
            truth = read_annotations(annotations, dataset=scenes.vocabulary, **beside)
            if dataset is None:
                check_fit(truth)
        found = inspection.inspect(scenes, truth, whole=sample is None)
    alone = truth is None and recognised.kind != "annotations"
    result = {
        "file": str(file),
        "kind": recognised.kind,
        "format": recognised.format,
        "title": recognised.title,
        "container": recognised.container,
        "numbering": dict(recognised.numbering),
        "annotations": held is not None,
        **({} if sample is None else {"sample": sample}),
        "facts": found.facts,
        "notes": list(scenes.notes),
        "warnings": list(found.warnings),
    }
    choices.deliver(result, lambda: _print(result, alone, annotations, pairs))


def _sampled(file: Path, source: SceneSource, cut: bool) -> tuple[Scenes, dict[str, Any] | None]:
    """Return the images to inspect, and where these are not all: which they are, and of what."""
    if cut:
        scenes = source.load()
        return scenes, {"images": len(scenes), "which": "first", "bytes": file.stat().st_size}
    rows = {} if isinstance(source, Scenes) else {n: int(b[-1]) for n, b in source.bounds.items()}
    if sum(rows.values()) <= ROWS or len(source) <= IMAGES:
        return source.load(), None
    starts = np.linspace(0, len(source) - RUN, IMAGES // RUN).astype(np.int64)
    scenes = source.take(np.unique(starts[:, None] + np.arange(RUN)))
    whole = {"images": len(source), "boxes": rows["box"], "triplets": rows["triplet"]}
    return scenes, {"images": len(scenes), "which": "spread", "of": whole}


def _print_sample(sample: dict[str, Any]) -> None:
    """Say which images were read: all that follows is about them alone."""
    if sample["which"] == "first":
        typer.echo(
            f"  The file has {sample['bytes'] / 1e6:,.0f} MB: only its first {sample['images']:,} "
            "images are read, and all below is about these."
        )
        return
    of = ", ".join(f"{value:,} {name}" for name, value in sample["of"].items())
    typer.echo(
        f"  The file has {of}: only {sample['images']:,} images spread over it are read, and all "
        "below is about these."
    )


def _print(
    result: dict[str, Any], alone: bool, annotations: Path | None, pairs: Path | None
) -> None:
    typer.echo(f"{result['file']}: {result['kind']}")
    typer.echo(f"  {result['title']} ({result['format']}, {result['container']})")
    if "sample" in result:
        _print_sample(result["sample"])
    facts = {name: _shown(value) for name, value in result["facts"].items()}
    facts |= {f"{name} read as": value for name, value in result["numbering"].items()}
    if result["annotations"]:
        facts["annotations"] = "in the file"
    if result["kind"] == "predictions" and inspection.PAIRS_OF_TRIPLETS in facts:
        facts["pair list"] = "none: pair recall is that of the pairs of the triplets"
    width = max(map(len, facts))
    for name, value in facts.items():
        typer.echo(f"  {name:{width}}  {value}")
    for note in result["notes"]:
        typer.echo(f"Note: {printable(note)}")
    for warning in result["warnings"]:
        typer.echo(f"Warning: {warning}")
    if not result["warnings"]:
        inside = " in the file itself" if alone else ""
        inside = " in these images" if "sample" in result else inside
        more = "; --annotations compares it with its annotations" if alone else ""
        typer.echo(f"Nothing looks wrong{inside}{more}.")
    _print_next(result, annotations, pairs)


def _print_next(result: dict[str, Any], annotations: Path | None, pairs: Path | None) -> None:
    """Print the command that a user of predictions runs next."""
    if result["kind"] != "predictions":
        return
    words = ["diaghoi report", quote(result["file"])]
    if annotations is not None:
        words += ["--annotations", quote(str(annotations))]
    elif not result["annotations"]:
        words.append("--annotations FILE")
    if pairs is not None:
        words += ["--pairs", quote(str(pairs))]
    typer.echo(f"Next: {' '.join(words)}")


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(f"{number:.4g}" for number in value)
    return f"{value:,}"
