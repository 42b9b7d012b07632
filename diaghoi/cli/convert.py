"""``diaghoi convert``: any format to the package's own, which loads in milliseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import progress
from diaghoi.exceptions import InputError
from diaghoi.formats import read, read_predictions, write


def convert(
    source: Annotated[Path, typer.Argument(help="Predictions or annotations.", readable=False)],
    target: Annotated[Path, typer.Argument(help="The .npz file to write.", readable=False)],
    pairs: options.Pairs = None,
    dataset: options.Dataset = "hico-det",
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    top: options.Top = None,
    quiet: options.Quiet = False,
) -> None:
    """Convert predictions (with their pairs) or annotations to the package's columnar .npz."""
    if target.suffix != ".npz":
        raise InputError(f"{target}: the package's own format is .npz; give a name that ends so")
    outputs.check_files([target], [source, pairs])
    reading: dict[str, Any] = {"format": format, "origin": origin, "objects": objects}
    with progress(quiet) as shown:
        shown.start(f"reading {source}")
        if pairs is None:
            _, scenes = read(source, dataset=dataset, top=top, **reading)
        else:
            scenes = read_predictions(source, pairs=pairs, dataset=dataset, top=top, **reading)
        shown.start(f"writing {target}")
        write(target, scenes)
    if not quiet:
        typer.echo(
            f"{target}: {len(scenes):,} images, {len(scenes.box_label):,} boxes, "
            f"{len(scenes.pair_human):,} pairs, {len(scenes.triplet_pair):,} triplets"
        )
        print_notes(scenes.notes)
