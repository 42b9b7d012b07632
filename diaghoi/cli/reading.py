"""Reading what a command evaluates: predictions, and the annotations that they belong to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from diaghoi.cli.locate import find_annotations, in_folder
from diaghoi.cli.progress import Progress
from diaghoi.comparison.results import refuse_result
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.plausibility import plausibility_warnings
from diaghoi.exceptions import InputError
from diaghoi.formats import open_annotations, open_predictions
from diaghoi.formats.datasets import vocabulary


class Inputs(NamedTuple):
    """What was read.

    Parameters
    ----------
    annotations, predictions : Scenes or another source of them
        Of one data set; left in the file where they can be read when they are used.
    files : list of pathlib.Path
        The files of annotations, predictions and pairs.
    notes : list of str
        Where annotations were found, and what makes all figures meaningless.
    """

    annotations: SceneSource
    predictions: SceneSource
    files: list[Path]
    notes: list[str]

    @property
    def scenes(self) -> tuple[Scenes, Scenes]:
        """Annotations and predictions, all in memory."""
        return self.annotations.load(), self.predictions.load()

    @property
    def vocabulary(self) -> Vocabulary:
        """The data set."""
        return self.annotations.vocabulary


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What is to be read and how: the options of these names.

    Parameters
    ----------
    predictions, annotations, pairs, instances, ids : pathlib.Path or None
        Files; annotations are looked for where they are not given.
    dataset, format, origin, objects, top, image_id
        How to read them; None for what their content says.

    Raises
    ------
    InputError
        For an unknown data set.
    """

    predictions: Path
    annotations: Path | None
    pairs: Path | None = None
    dataset: str | None
    format: str | None
    origin: int | None
    objects: str | None
    top: int | None = None
    instances: Path | None
    ids: Path | None
    image_id: str | None

    def __post_init__(self) -> None:
        vocabulary(self.dataset or "hico-det")

    @property
    def vocabulary(self) -> Vocabulary:
        """The data set, as far as it is known before anything is read."""
        return vocabulary(self.dataset or "hico-det")

    @property
    def inputs(self) -> list[Path | None]:
        """The files that are given."""
        return [self.predictions, self.annotations, self.pairs, self.instances, self.ids]

    def read(self, shown: Progress, check: Callable[[list[Path | None]], Any]) -> Inputs:
        """Read predictions and annotations.

        Parameters
        ----------
        shown : Progress
            Tells what is being done.
        check : callable
            Gets all files that are read, as soon as they are known, and refuses those that would be
            overwritten.

        Raises
        ------
        InputError
            Where they cannot be read or found.
        """
        shown.start("reading predictions")
        found = self._predictions()
        vocabulary = found.vocabulary
        if self.annotations is None:
            located = find_annotations(vocabulary)
        else:
            located = in_folder(self.annotations, vocabulary)
        check([*self.inputs, located.path])
        shown.start("reading annotations")
        truth = self._annotations(located.path, vocabulary)
        if np.array_equal(truth.names, found.names):
            found = found.with_names(truth.names)  # so that they are kept once
        files = [self.predictions, located.path, *([] if self.pairs is None else [self.pairs])]
        return Inputs(truth, found, files, [*located.notes, *plausibility_warnings(truth, found)])

    def _predictions(self) -> SceneSource:
        choices: dict[str, Any] = {
            "format": self.format,
            "origin": self.origin,
            "objects": self.objects,
        }
        try:
            return open_predictions(
                self.predictions,
                pairs=self.pairs,
                dataset=self.vocabulary if self.dataset else None,
                image_id=self.image_id,
                top=self.top,
                **choices,
            )
        except InputError:
            refuse_result(self.predictions, "the predictions")
            raise

    def _annotations(self, path: Path, vocabulary: Vocabulary) -> SceneSource:
        try:
            return open_annotations(
                path, dataset=vocabulary, instances=self.instances, ids=self.ids
            )
        except InputError:
            refuse_result(path, "the annotations")
            raise
