"""``diaghoi corrupt``: the pictures of a robustness study."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.present import print_notes
from diaghoi.cli.progress import progress
from diaghoi.data.arrays.threads import cores
from diaghoi.exceptions import InputError, some_of
from diaghoi.robustness.corruptions.registry import (
    CORRUPTIONS,
    GROUPS,
    SEVERITIES,
    Corruption,
    find,
)

ABBREVIATIONS = ", ".join(
    f"{group.abbreviation} ("
    + ", ".join(each.abbreviation for each in CORRUPTIONS.values() if each.group == group.name)
    + ")"
    for group in GROUPS.values()
)

Images = Annotated[Path, typer.Argument(help="Folder with the pictures.", readable=False)]
Out = Annotated[
    Path, typer.Argument(help="Folder to write CORRUPTION/SEVERITY/PICTURE to.", readable=False)
]
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--corruption",
        help=f"Name or abbreviation of a corruption or of a group: {ABBREVIATIONS}; repeatable "
        "[all].",
    ),
]
Severity = Annotated[
    list[str] | None,
    typer.Option(help="1 (mild) to 5 (strong), or a range like 1-3; repeatable [1-5]."),
]


def corrupt(
    images: Images,
    out: Out,
    corruption: Names = None,
    severity: Severity = None,
    workers: options.Workers = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Apply the 20 corruptions of the RoHOI benchmark to pictures, in 5 severities.

    Files keep their size in pixels, name and type. A result depends only on the name of the picture
    and the seed, and finished pictures are kept: an interrupted run resumes where it stopped.
    """
    from diaghoi.robustness.corrupt import corrupt_folder, picture_names

    chosen = [each.name for each in corruptions_named(corruption)]
    levels = severities_of(severity)
    outputs.check_folder(out)
    with progress(quiet) as bar:
        bar.start("corrupting", total=len(picture_names(images)))
        done = corrupt_folder(
            images,
            out,
            chosen,
            levels,
            seed=seed,
            workers=workers or cores(),
            progress=bar.advance,
        )
    if not quiet:
        ways = "1 corruption" if len(chosen) == 1 else f"{len(chosen)} corruptions"
        steps = "1 severity" if len(levels) == 1 else f"{len(levels)} severities"
        typer.echo(
            f"{out}: {done.written:,} pictures written, {done.kept:,} kept, "
            f"of {done.pictures:,} pictures in {ways} and {steps}"
        )
        print_notes(done.notes)
    if done.damaged:
        named = [f"{name} ({problem})" for name, problem in done.damaged.items()]
        raise InputError(
            f"{images}: {len(named)} of {done.pictures:,} pictures cannot be read and were left "
            f"out: {some_of(named)}; fix or remove them and run the command again"
        )


def corruptions_named(given: list[str] | None) -> tuple[Corruption, ...]:
    """Find corruptions by the names of them or groups; all by default.

    Raises
    ------
    InputError
        For an unknown name.
    """
    return find(name for each in given or CORRUPTIONS for name in each.split(","))


def severities_of(given: list[str] | None) -> list[int]:
    """Read severities: numbers, ranges, and several of them with commas; all by default.

    Raises
    ------
    InputError
        For what is no severity.
    """
    if not given:
        return list(SEVERITIES)
    wanted: set[int] = set()
    for word in (word.strip() for each in given for word in each.split(",")):
        numbers = re.fullmatch(r"([1-5])(?:-([1-5]))?", word, re.ASCII)
        levels = range(int(numbers[1]), int(numbers[2] or numbers[1]) + 1) if numbers else ()
        if not levels:
            raise InputError(f"--severity {word}: give 1, 2, 3, 4, 5 or a range like 1-3")
        wanted.update(levels)
    return sorted(wanted)
