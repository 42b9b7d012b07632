"""``diaghoi convert``: any format to the package's own, which loads in milliseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from diaghoi.cli import options
from diaghoi.cli.progress import progress
from diaghoi.exceptions import InputError
from diaghoi.formats import read, read_predictions, write


def convert(
    source: Annotated[Path, typer.Argument(help="Predictions or annotations.")],
    target: Annotated[Path, typer.Argument(help="The .npz file to write.")],
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
    with progress(quiet) as shown:
        shown.start(f"reading {source}")
        options_of_file: dict[str, Any] = {
            "format": format,
            "dataset": dataset,
            "origin": origin,
            "objects": objects,
            "top": top,
        }
        if pairs is None:
            _, scenes = read(source, **options_of_file)
        else:
            scenes = read_predictions(source, pairs=pairs, **options_of_file)
        shown.start(f"writing {target}")
        write(target, scenes)
    if not quiet:
        typer.echo(
            f"{target}: {len(scenes):,} images, {len(scenes.box_label):,} boxes, "
            f"{len(scenes.pair_human):,} pairs, {len(scenes.triplet_pair):,} triplets"
        )
