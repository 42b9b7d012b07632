"""Read the predictions that a command evaluates, and their annotations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from diaghoi.cli.locate import LocatedFile, find_annotations, in_folder
from diaghoi.cli.progress import Progress
from diaghoi.comparison.results import refuse_result
from diaghoi.data.joining import named_alike
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.plausibility import plausibility_warnings
from diaghoi.exceptions import InputError
from diaghoi.formats import open_annotations, open_both, recognise
from diaghoi.formats.base import UnclearDataSetError
from diaghoi.formats.datasets import vocabulary as vocabulary_named


class Inputs(NamedTuple):
    """The data that a command evaluates.

    Parameters
    ----------
    annotations, predictions : Scenes or another source of them
        Of one data set; left in the file if they can be read on demand.
    files : list of pathlib.Path
        The files of annotations, predictions and pairs.
    notes : list of str
        Where annotations were found, and warnings about implausible input.
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
class InputFiles:
    """The input files of a command, and how to read them: the options of the same names.

    Parameters
    ----------
    predictions, annotations, pairs, instances, ids : pathlib.Path or None
        Files; annotations are searched for if they are not given.
    dataset, format, origin, objects, top, image_id
        How to read them; None to determine it from the content.

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
        vocabulary_named(self.dataset or "hico-det")

    @property
    def vocabulary(self) -> Vocabulary:
        """The data set, as far as it is known before the files are read."""
        return vocabulary_named(self.dataset or "hico-det")

    @property
    def inputs(self) -> list[Path | None]:
        """The files that are given."""
        return [self.predictions, self.annotations, self.pairs, self.instances, self.ids]

    def read(self, bar: Progress, check: Callable[[list[Path | None]], Any]) -> Inputs:
        """Read predictions and annotations.

        Parameters
        ----------
        bar : Progress
            Shows the current step.
        check : callable
            Called with all input files as soon as they are known, to refuse output files that would
            overwrite them.

        Raises
        ------
        InputError
            If they cannot be read or found.
        """
        bar.start("reading predictions")
        found, own = self._predictions()
        vocabulary = found.vocabulary
        if self.annotations is not None:
            located = in_folder(self.annotations, vocabulary)
        elif own is not None:
            located = LocatedFile(self.predictions, [f"annotations: those in {self.predictions}"])
        else:
            located = find_annotations(vocabulary)
        check([*self.inputs, located.path])
        bar.start("reading annotations")
        if own is None or located.path != self.predictions:
            truth = self._annotations(located.path, vocabulary)
        else:
            truth = own
        found = named_alike(truth, found)
        if np.array_equal(truth.names, found.names):
            found = found.with_names(truth.names)  # keep the names in memory only once
        files = [self.predictions, located.path, *([] if self.pairs is None else [self.pairs])]
        return Inputs(truth, found, files, [*located.notes, *plausibility_warnings(truth, found)])

    def _predictions(self) -> tuple[SceneSource, SceneSource | None]:
        try:
            return self._opened(self.vocabulary if self.dataset else None)
        except UnclearDataSetError:
            if self.annotations is None or self.annotations.is_dir():
                raise
            return self._opened(vocabulary_named(recognise(self.annotations).dataset))

    def _opened(self, dataset: Vocabulary | None) -> tuple[SceneSource, SceneSource | None]:
        choices: dict[str, Any] = {
            "format": self.format,
            "origin": self.origin,
            "objects": self.objects,
        }
        try:
            return open_both(
                self.predictions,
                pairs=self.pairs,
                dataset=dataset,
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
