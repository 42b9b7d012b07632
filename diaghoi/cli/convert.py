"""``diaghoi convert``: any format to the package's own, which loads in milliseconds."""

from __future__ import annotations

from pathlib import Path

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.options import argument, options_class, with_options, without
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import progress
from diaghoi.cli.reading import ReadingOptions
from diaghoi.exceptions import InputError, number_of
from diaghoi.formats import read, read_predictions, write


@options_class
class ConvertOptions:
    """Which file is converted, and how it is read."""

    source: Path = argument(help="Predictions or annotations.")
    target: Path = argument(help="The .npz file to write.")
    pairs: options.Pairs = None
    reading: ReadingOptions = without(ReadingOptions, "force")
    quiet: options.Quiet = False


@with_options
def convert(choices: ConvertOptions) -> None:
    """Convert a file to the package's own format, which loads fast.

    The input may be in any known format; the output is a columnar .npz with triplets and pairs.
    """
    source, target, pairs, reading = choices.source, choices.target, choices.pairs, choices.reading
    if target.suffix != ".npz":
        raise InputError(
            f"{target}: the package's own format is .npz; give a name that ends with .npz"
        )
    outputs.check_files([target], [source, pairs, reading.instances, reading.ids])
    with progress(choices.quiet) as bar:
        bar.start(f"reading {source}")
        if pairs is None:
            _, scenes = read(source, **reading.words())
        else:
            scenes = read_predictions(source, pairs=pairs, **reading.words("instances", "ids"))
        bar.start(f"writing {target}")
        write(target, scenes)
    if not choices.quiet:
        typer.echo(
            f"{target}: {number_of('image', len(scenes))}, {len(scenes.box_label):,} boxes, "
            f"{number_of('pair', len(scenes.pair_human))}, "
            f"{number_of('triplet', len(scenes.triplet_pair))}"
        )
        print_notes(scenes.notes)
