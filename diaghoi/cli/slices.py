"""``--slices``: detectors in parts of the annotations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from diaghoi.cli import options
from diaghoi.cli.progress import Progress
from diaghoi.comparison.slices import RESAMPLES, Slices, slices
from diaghoi.data.scenes import Scenes
from diaghoi.data.tags import Own, read_tags
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError

ATTRIBUTES = "attributes"

SlicesOption = Annotated[
    str | None,
    typer.Option(
        "--slices",
        metavar=f"{ATTRIBUTES},FILE.csv",
        help=f"Show figures in slices of the annotations: '{ATTRIBUTES}' for number, size, overlap "
        "and so on of people and objects, or a CSV file with tags of the images, or both.",
        rich_help_panel=options.EXTRAS,
    ),
]


class SliceOptions(NamedTuple):
    """How detectors are sliced: by what, and the settings of all intervals that are asked for."""

    by: tuple[str, ...]
    resamples: int | None
    seed: int
    confidence: float

    @property
    def files(self) -> list[Path]:
        """The files of tags."""
        return [Path(each) for each in self.by if each != ATTRIBUTES]

    def check(self) -> None:
        """Refuse what cannot be read, before anything else is.

        Raises
        ------
        InputError
            With what to give.
        """
        for file in self.files:
            if file.suffix.lower() != ".csv":
                raise InputError(
                    f"--slices {file}: give '{ATTRIBUTES}' or a .csv file with a tag per image"
                )
        self.tags()

    def tags(self) -> dict[str, Own]:
        """Read the tags of all files."""
        tags: dict[str, Own] = {}
        for file in self.files:
            for attribute, given in read_tags(file).items():
                if attribute in tags:
                    raise InputError(f"{file}: '{attribute}' is also a column of another file")
                tags[attribute] = given
        return tags

    def of(self, diagnoses: Sequence[Diagnosis], annotations: Scenes, bar: Progress) -> Slices:
        """Slice the detectors."""
        bar.start("slices")
        return slices(
            *diagnoses,
            annotations=annotations,
            own=self.tags(),
            attributes=ATTRIBUTES in self.by,
            resamples=RESAMPLES if self.resamples is None else self.resamples,
            seed=self.seed,
            confidence=self.confidence,
            deltas=self.resamples is not None,
            source=", ".join(map(str, self.files)),
        )


def slice_options(
    by: str | None, resamples: int | None, seed: int, confidence: float
) -> SliceOptions | None:
    """Collect how detectors are sliced, if they are."""
    if by is None:
        return None
    named = tuple(part.strip() for part in by.split(","))
    return SliceOptions(named, resamples, seed, confidence)
