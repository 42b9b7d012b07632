"""``diaghoi corrupt``: the pictures of a robustness study."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from diaghoi.cli import options, outputs
from diaghoi.cli.options import argument, with_options
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


@dataclass(frozen=True, kw_only=True)
class CorruptOptions:
    """Which pictures are corrupted, and how."""

    images: Path = argument(help="Folder with the pictures.")
    out: Path = argument(help="Folder to write CORRUPTION/SEVERITY/PICTURE to.")
    corruption: Names = None
    severity: Severity = None
    workers: options.Workers = None
    seed: options.Seed = 0
    quiet: options.Quiet = False


@with_options
def corrupt(choices: CorruptOptions) -> None:
    """Apply the 20 corruptions of the RoHOI benchmark to pictures, in 5 severities.

    Files keep their size in pixels, name and type. A result depends only on the name of the picture
    and the seed, and finished pictures are kept: an interrupted run resumes where it stopped.
    """
    from diaghoi.robustness.corrupt import corrupt_folder, picture_names

    images, out = choices.images, choices.out
    chosen = [each.name for each in corruptions_named(choices.corruption)]
    levels = severities_of(choices.severity)
    outputs.check_folder(out)
    with progress(choices.quiet) as bar:
        bar.start("corrupting", total=len(picture_names(images)))
        done = corrupt_folder(
            images,
            out,
            chosen,
            levels,
            seed=choices.seed,
            workers=choices.workers or cores(),
            progress=bar.advance,
        )
    if not choices.quiet:
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
