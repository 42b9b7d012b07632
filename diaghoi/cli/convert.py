"""``diaghoi convert``: any format to the package's own, which loads in milliseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import progress
from diaghoi.exceptions import InputError, number_of
from diaghoi.formats import read, read_predictions, write


def convert(
    source: Annotated[Path, typer.Argument(help="Predictions or annotations.", readable=False)],
    target: Annotated[Path, typer.Argument(help="The .npz file to write.", readable=False)],
    pairs: options.Pairs = None,
    dataset: options.Dataset = None,
    format: options.Format = None,
    origin: options.Origin = None,
    objects: options.Objects = None,
    verbs: options.Verbs = None,
    classes: options.Classes = None,
    boxes: options.Boxes = None,
    top: options.Top = None,
    instances: options.Instances = None,
    ids: options.Ids = None,
    image_id: options.ImageId = None,
    quiet: options.Quiet = False,
) -> None:
    """Convert a file to the package's own format, which loads fast.

    The input may be in any known format; the output is a columnar .npz with triplets and pairs.
    """
    if target.suffix != ".npz":
        raise InputError(
            f"{target}: the package's own format is .npz; give a name that ends with .npz"
        )
    outputs.check_files([target], [source, pairs, instances, ids])
    reading: dict[str, Any] = {
        "dataset": dataset,
        "format": format,
        "origin": origin,
        "objects": objects,
        "verbs": verbs,
        "classes": classes,
        "boxes": boxes,
        "top": top,
        "image_id": image_id,
    }
    with progress(quiet) as bar:
        bar.start(f"reading {source}")
        if pairs is None:
            _, scenes = read(source, instances=instances, ids=ids, **reading)
        else:
            scenes = read_predictions(source, pairs=pairs, **reading)
        bar.start(f"writing {target}")
        write(target, scenes)
    if not quiet:
        typer.echo(
            f"{target}: {number_of('image', len(scenes))}, {len(scenes.box_label):,} boxes, "
            f"{number_of('pair', len(scenes.pair_human))}, "
            f"{number_of('triplet', len(scenes.triplet_pair))}"
        )
        print_notes(scenes.notes)
