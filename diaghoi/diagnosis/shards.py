"""Diagnose predictions in several files with different images: shards that workers share.

The total is the sum of the diagnoses of the files, and equals the diagnosis of a single file with
the same images to the last digit.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.groups import check_protocol
from diaghoi.data.joining import alike, only_images
from diaghoi.data.protocol import Protocol
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.diagnosis.alignment import arranged
from diaghoi.diagnosis.diagnose import check_choices, diagnose_images
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.plausibility import check_plausible
from diaghoi.engines.engine import Engine, Failure, Task
from diaghoi.exceptions import InputError
from diaghoi.formats import open_predictions, read_annotations
from diaghoi.formats.base import Reading
from diaghoi.formats.description import vocabulary
from diaghoi.formats.locations import fetched, is_remote


@dataclass(frozen=True, kw_only=True)
class Truth:
    """The annotations that workers evaluate against.

    Parameters
    ----------
    annotations : str
        The file.
    instances, ids : str or None
        The additional files of V-COCO's annotations.
    dataset, protocol : str or None
        Name or description file of the data set, and name of the protocol; None for the data set of
        the file, and for its default protocol.
    run : str
        Identifier of the run, so that a worker that outlives a run reads the files again in the
        next run.
    """

    annotations: str
    instances: str | None = None
    ids: str | None = None
    dataset: str | None = None
    protocol: str | None = None
    run: str = field(default_factory=lambda: secrets.token_hex(8))

    def protocol_for(self, scenes: Scenes) -> Protocol:
        """Return the chosen protocol and groups, or the defaults of the data set."""
        usual = scenes.vocabulary.protocol
        return protocol_named(self.protocol or usual, usual=usual)


# A worker with several tasks reads the file only once.
@lru_cache(maxsize=1)
def read_truth(truth: Truth) -> Scenes:
    """Read the annotations.

    Raises
    ------
    InputError
        If the annotations cannot be used or are empty, or the protocol is for other data sets.
    """
    words = None if truth.dataset is None else vocabulary(truth.dataset)
    scenes = read_annotations(
        truth.annotations, dataset=words, instances=truth.instances, ids=truth.ids
    )
    check_protocol(truth.protocol_for(scenes), scenes.vocabulary)
    return scenes


def open_alike(
    truth: Scenes, file: str, pairs: str | None = None, reading: Reading | None = None
) -> SceneSource:
    """Open local or remote predictions, with the names and the box unit of the annotations.

    Raises
    ------
    InputError
        If a file cannot be used.
    """
    how: Reading = {**(reading or {}), "dataset": truth.vocabulary}
    with ExitStack() as files:
        local = files.enter_context(fetched(file))
        beside = None if pairs is None else files.enter_context(fetched(pairs))
        predictions = open_predictions(local, pairs=beside, **how)
        if is_remote(file):
            # The local copy of the file is deleted when this block ends.
            predictions = replace(predictions.load(), source=file)
    return alike(truth, predictions)


@dataclass(frozen=True, kw_only=True)
class ShardSettings:
    """Settings that all shards share.

    Parameters
    ----------
    truth : Truth
        Annotations against which the shards are evaluated.
    reading : Reading
        How to read the predictions.
    protocol : Protocol
        The evaluation protocol.
    also : tuple of Protocol
        Further protocols for which to compute mAP.
    label : str
        Name of the detector.
    force : bool
        Whether to diagnose implausible predictions, too.
    shared_only : bool
        Whether to diagnose only the annotated images that one of the files has.
    """

    truth: Truth
    reading: Reading
    protocol: Protocol
    also: tuple[Protocol, ...] = ()
    label: str = ""
    force: bool = False
    shared_only: bool = False


class Shards(NamedTuple):
    """The outcome of one file, or of all files.

    Parameters
    ----------
    diagnosis : Diagnosis
        Diagnosis of the images, without scenes.
    warnings : list of str
        Problems, each with the name of its file.
    empty : Scenes
        Predictions without images, which preserve the settings of the file.
    """

    diagnosis: Diagnosis
    warnings: list[str]
    empty: Scenes


def diagnose_shard(settings: ShardSettings, file: str) -> Shards:
    """Diagnose the images in one file.

    Raises
    ------
    InputError
        If the file cannot be used, is implausible, or has no image names or no annotated image.
    """
    truth = read_truth(settings.truth)
    predictions = open_alike(truth, file, reading=settings.reading)
    if not (truth.named and predictions.named):
        raise InputError(
            f"{file}: files are joined by image name, but the predictions or annotations have no "
            "image names; report on one file"
        )
    shared = np.isin(truth.names, predictions.names)
    if len(predictions) and not shared.any():
        raise InputError(
            f"{file}: none of the {len(predictions)} images is annotated in "
            f"{settings.truth.annotations}; the first image is '{predictions.names[0]}' in the "
            f"file and '{truth.names[0]}' in the annotations; leave the file out if it belongs to "
            "another split"
        )
    annotated = truth.take(np.flatnonzero(shared))
    try:
        warnings = check_plausible(annotated, predictions, force=settings.force)
    except InputError as error:
        raise InputError(str(error) if file in str(error) else f"{file}: {error}") from None
    if settings.shared_only:
        predictions = only_images(predictions, truth.names)
    return Shards(
        _diagnosis(settings, annotated, predictions),
        [f"{file}: {text}" for text in warnings],
        predictions.between(0, 0),
    )


def _diagnosis(settings: ShardSettings, annotations: Scenes, predictions: SceneSource) -> Diagnosis:
    found = diagnose_images(
        annotations,
        predictions,
        settings.protocol,
        label=settings.label,
        also=settings.also,
    )
    return found.without_scenes()  # workers return only sums


def diagnose_shards(
    settings: ShardSettings,
    files: Sequence[str],
    engine: Engine,
    *,
    progress: Callable[[int], Any] | None = None,
) -> Shards:
    """Diagnose predictions in several files, and the annotated images without predictions.

    Parameters
    ----------
    settings : ShardSettings
        Settings that all shards share.
    files : sequence of str
        Paths or addresses of one or more files; no image may be in two files.
    engine : Engine
        Engine that runs the workers. If a worker is lost, another worker processes the file of the
        lost worker again.
    progress : callable, optional
        Called with 1 after each file.

    Raises
    ------
    InputError
        If a file cannot be used, two files have an image in common, or a worker is lost again
        and again.
    """
    truth = read_truth(settings.truth)
    check_choices(truth, settings.protocol)
    found: dict[str, Shards] = {}
    for file, outcome in engine.run(
        [Task(file, diagnose_shard, (settings, file)) for file in files]
    ):
        if isinstance(outcome, Failure):
            why = outcome.message
            raise InputError(why if file in why else f"{file}: {why}")
        found[file] = outcome
        if progress is not None:
            progress(1)
    parts = [found[file].diagnosis for file in files]
    empty = found[files[0]].empty
    rest = ~np.isin(truth.names, np.concatenate([part.names for part in parts]))
    if rest.any() and not settings.shared_only:
        left = truth.take(np.flatnonzero(rest))
        part = _diagnosis(settings, left, empty.with_names(left.names))
        parts.append(replace(part, predicted=np.zeros(len(left), dtype=bool)))
    total = Diagnosis.sum(parts)
    # Order images as for a single file: annotated images in order, then the others by name.
    further = np.sort(total.names[~total.annotated])
    annotated = truth.names[np.isin(truth.names, total.names)]
    total = arranged(total, np.concatenate([annotated, further]))
    warnings = [text for file in files for text in found[file].warnings]
    return Shards(total, warnings, empty)
