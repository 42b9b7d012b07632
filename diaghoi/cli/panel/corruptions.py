"""``diaghoi panel corruptions``: a picture under corruptions and severities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from diaghoi.cli import figure_options, options, outputs
from diaghoi.cli.corrupt import Names, Severity, corruptions_named, severities_of
from diaghoi.cli.panel.options import Columns, Out, check_figure, write_figure
from diaghoi.cli.present import width_of
from diaghoi.cli.progress import progress
from diaghoi.exceptions import InputError

Picture = Annotated[Path, typer.Argument(help="The picture.", readable=False)]


def corruptions(
    picture: Picture,
    out: Out,
    corruption: Names = None,
    severity: Severity = None,
    columns: Columns = None,
    column: figure_options.Column = "single",
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Draw one picture under the corruptions of RoHOI.

    Several severities have a column each. With one severity, the corruptions follow each other.
    """
    from diaghoi.formats.pictures.files import read_picture
    from diaghoi.plots.figures.corruption_panel import corruption_panel
    from diaghoi.robustness.corruptions.apply import corrupt, generator

    chosen = corruptions_named(corruption)
    levels = severities_of(severity)
    check_figure(out, [picture])
    outputs.check_inputs([picture])
    try:
        clean = read_picture(picture).image
    except InputError as error:
        raise InputError(f"{picture}: {error}") from None
    if clean.ndim == 2:
        clean = np.repeat(clean[..., None], 3, axis=2)
    corrupted = {}
    with progress(quiet) as bar:
        bar.start("corrupting", total=len(chosen))
        for each in chosen:
            corrupted[each.label] = [
                corrupt(clean, each.name, level, rng=generator(seed, picture.name, each.name))
                for level in levels
            ]
            bar.advance(1)
    words = "severity" if len(levels) == 1 else "severities"
    write_figure(
        out,
        lambda: corruption_panel(corrupted, levels, width=width_of(column), columns=columns or 0),
        caption=f"{picture.name} under {', '.join(corrupted)}; {words} "
        f"{', '.join(map(str, levels))}.",
        notes=[],
        quiet=quiet,
    )
