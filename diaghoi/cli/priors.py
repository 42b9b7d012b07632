"""``--shortcuts`` and ``--prior-annotations``: detectors beside priors of their verbs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from diaghoi.cli import options
from diaghoi.cli.progress import Progress
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError
from diaghoi.formats import read_annotations

Shortcuts = Annotated[
    bool,
    typer.Option(
        "--shortcuts",
        help="Show what mAP the object's category alone gives on the pairs of the detector.",
        rich_help_panel=options.EXTRAS,
    ),
]
PriorAnnotations = Annotated[
    Path | None,
    typer.Option(
        metavar="TRAIN",
        help="Annotations in which --shortcuts counts verbs [those given, without the image].",
        readable=False,
        rich_help_panel=options.EXTRAS,
    ),
]


@dataclass(frozen=True)
class PriorOptions:
    """Whether detectors are held against priors of their verbs.

    Parameters
    ----------
    asked : bool
        Whether they are.
    annotations : pathlib.Path or None
        What the priors are counted from; None for the annotations of the diagnosis.
    """

    asked: bool
    annotations: Path | None

    def check(self) -> None:
        """Refuse annotations that nothing is counted in.

        Raises
        ------
        InputError
            With the option.
        """
        if self.annotations is not None and not self.asked:
            raise InputError("--prior-annotations: is for --shortcuts; add it or leave this out")

    def read(self, vocabulary: Vocabulary, bar: Progress) -> Scenes | None:
        """Read what the priors are counted from; None for the annotations of the diagnosis."""
        if self.annotations is None:
            return None
        bar.start("reading the annotations of the prior")
        return read_annotations(self.annotations, dataset=vocabulary)

    def add(
        self, result: dict[str, Any], diagnosis: Diagnosis, given: Scenes | None, bar: Progress
    ) -> None:
        """Add ``shortcuts`` to the JSON result of a run, and what to know of it to its notes.

        Parameters
        ----------
        result : dict
            Of the diagnosis.
        diagnosis : Diagnosis
            With its scenes.
        given : Scenes or None
            What :meth:`read` returned.
        bar : Progress
            Shows what is done.
        """
        bar.start("predicting verbs by the object")
        found = diagnosis.shortcuts(given)
        result["shortcuts"] = found.to_dict()
        result["notes"] = [*result["notes"], *found.notes]
