"""``--pair-nms`` and ``--detection-threshold``: runs once more with fewer pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from diaghoi.cli import options
from diaghoi.cli.progress import Progress
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.variants import (
    Variant,
    check_overlap,
    check_threshold,
    thresholds_pairs,
    variant_figures,
    variants_of,
)
from diaghoi.exceptions import InputError
from diaghoi.formats.hico_det.image_labels import ImageLabels

PairNms = Annotated[
    list[float] | None,
    typer.Option(
        metavar="IOU",
        help="Show the effect of non-maximum suppression of pairs; repeatable.",
        rich_help_panel=options.EXTRAS,
    ),
]
Threshold = Annotated[
    list[float] | None,
    typer.Option(
        metavar="SCORE",
        help="Show the effect of dropping boxes with lower scores; repeatable.",
        rich_help_panel=options.EXTRAS,
    ),
]


@dataclass(frozen=True)
class VariantOptions:
    """Which variants of a run are asked for.

    Parameters
    ----------
    pair_nms, thresholds : list of float or None
        The values of the two options.
    """

    pair_nms: list[float] | None
    thresholds: list[float] | None

    def check(self) -> None:
        """Refuse invalid values before anything is read.

        Raises
        ------
        InputError
            With the option.
        """
        for iou in self.pair_nms or ():
            check_overlap("--pair-nms", iou)
        for score in self.thresholds or ():
            check_threshold("--detection-threshold", score)

    @property
    def asked(self) -> dict[str, Variant]:
        """The variants by name."""
        return variants_of(nms=self.pair_nms or (), thresholds=self.thresholds or ())

    def add(
        self,
        result: dict[str, Any],
        diagnosis: Diagnosis,
        scenes: tuple[Scenes, Scenes],
        bar: Progress,
        image_labels: ImageLabels | None = None,
    ) -> None:
        """Add ``variants`` to the JSON result of a run, and what was done to its notes.

        Parameters
        ----------
        result : dict
            Of the diagnosis.
        diagnosis : Diagnosis
            Of the run.
        scenes : tuple of Scenes
            Its annotations and predictions.
        bar : Progress
            Shows which variant is diagnosed.
        image_labels : ImageLabels, optional
            For Known Object.
        """
        annotations, predictions = scenes
        found = {}
        thresholds = variants_of(thresholds=self.thresholds or ())
        for name, variant in self.asked.items():
            bar.start(name)
            other = diagnose(
                annotations, variant(predictions), diagnosis.protocol, image_labels=image_labels
            )
            found[name] = variant_figures(diagnosis, other)
            if name in thresholds:
                found[name]["of_pair_scores"] = thresholds_pairs(predictions)
        result["variants"] = found
        result["notes"] = [*result["notes"], *(n for each in found.values() for n in each["notes"])]


def check_ranked(predictions: SceneSource, asked: Mapping[str, bool]) -> None:
    """Refuse options that ask for the best predictions of a detector that does not rank them.

    Parameters
    ----------
    predictions : Scenes or other source of scenes
        Of the detector.
    asked : mapping
        By option, whether it is given.

    Raises
    ------
    InputError
        With the option.
    """
    if predictions.ranked or not predictions.scored:
        return
    for option, given in asked.items():
        if given:
            raise InputError(
                f"{option}: the detector gives no scores, so that none of its predictions is "
                "better than another; leave it out"
            )
