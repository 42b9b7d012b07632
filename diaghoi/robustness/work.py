"""What the workers of a sweep do: functions of plain values, here or on another machine.

A run is cut into blocks of images. Each block becomes a partial :class:`~diaghoi.Diagnosis`, and
their sum is exactly the diagnosis of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from diaghoi.data.joining import Joined, join
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.plausibility import doubts
from diaghoi.diagnosis.shards import Truth, open_alike, read_truth
from diaghoi.formats.base import Reading


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run.

    Parameters
    ----------
    truth : Truth
        What it is evaluated against.
    file : str
        The predictions.
    pairs : str or None
        The pairs that the detector lists apart.
    reading : tuple of (str, object)
        How to read them: the items of a :class:`diaghoi.formats.base.Reading`.
    """

    truth: Truth
    file: str
    pairs: str | None = None
    reading: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is computed of every run beside its diagnosis.

    Parameters
    ----------
    resamples : int or None
        Of the bootstrap; None for no intervals.
    confidence : float
        Of intervals.
    seed : int
        Of resamples and exchanges.
    similarity : tuple of str or None
        Tables of verbs and of objects for soft mAP and mF1.
    """

    resamples: int | None = None
    confidence: float = 0.95
    seed: int = 0
    similarity: tuple[str, str] | None = None


@lru_cache(maxsize=1)
def _joined(job: Job) -> tuple[Scenes, SceneSource, Joined, tuple[str, ...]]:
    """Open a run and join it to the annotations; also what is suspicious about it."""
    truth = read_truth(job.truth)
    predictions = open_alike(truth, job.file, job.pairs, cast(Reading, dict(job.reading)))
    return *join(truth, predictions), tuple(doubt.text for doubt in doubts(truth, predictions))


def diagnose_block(job: Job, number: int, of: int) -> Diagnosis:
    """Diagnose one of the blocks that the images of a run are cut into.

    Parameters
    ----------
    job : Job
        The run.
    number, of : int
        Which block, from 0, of how many.

    Raises
    ------
    InputError
        Where a file cannot be used.
    """
    truth, predictions, joined, warnings = _joined(job)
    first, stop = (len(truth) * each // of for each in (number, number + 1))
    block = diagnose_images(
        truth.between(first, stop),
        predictions.between(first, stop),
        job.truth.protocol_for(truth),
    )
    # Both sides of a block have the same images; which file they come from is known of the whole.
    return replace(
        block,
        annotated=joined.annotated[first:stop],
        predicted=joined.predicted[first:stop],
        reading_notes=(*warnings, *block.reading_notes),
        scenes=(),  # what other processes need of a block is only what adds up
    )


def finish(job: Job, asked: Asked, *blocks: Diagnosis) -> dict[str, Any]:
    """Turn the diagnosis of all blocks of a run into its result.

    Returns
    -------
    dict
        As of :meth:`diaghoi.Diagnosis.to_dict`, with ``intervals`` and ``bootstrap`` where asked
        for, and where there are tables of similarity also ``soft_map`` and ``mf1``, with their
        ``measure`` and ``similarity``.
    """
    diagnosis = blocks[0] if len(blocks) == 1 else Diagnosis.sum(blocks)
    result = diagnosis.to_dict()
    if asked.resamples is not None:
        from diaghoi.statistics.bootstrap import bootstrap

        settings: dict[str, Any] = {"seed": asked.seed, "confidence": asked.confidence}
        result |= bootstrap(diagnosis, asked.resamples, **settings).to_dict()
    if asked.similarity is not None:
        result |= _semantic(job, asked.similarity)
    return result


def diagnose_run(job: Job, asked: Asked) -> dict[str, Any]:
    """Do all work on a run at once: :func:`finish` of a single block."""
    return finish(job, asked, diagnose_block(job, 0, 1))


def compare_to_clean(
    clean: Job, job: Job, labels: tuple[str, str], asked: Asked, exchanges: int
) -> list[dict[str, Any]]:
    """Test whether a detector does differently on corrupted pictures.

    Parameters
    ----------
    clean, job : Job
        Its predictions on clean and on corrupted pictures.
    labels : tuple of str
        What the two are called.
    asked : Asked
        Seed and confidence.
    exchanges : int
        Resamples, and exchanges of the images.

    Returns
    -------
    list of dict
        As :meth:`diaghoi.statistics.significance.Difference.to_dict`.
    """
    from diaghoi.statistics.significance import compare_pair

    first = replace(_clean(clean), label=labels[0])
    second = replace(diagnose_block(job, 0, 1), label=labels[1])
    found = compare_pair(first, second, exchanges, seed=asked.seed, confidence=asked.confidence)
    return [each.to_dict() for each in found]


@lru_cache(maxsize=1)
def _clean(job: Job) -> Diagnosis:
    """Diagnose clean pictures once for all that is compared to them."""
    return diagnose_block(job, 0, 1)


def _semantic(job: Job, similarity: tuple[str, str]) -> dict[str, Any]:
    """Evaluate a run by tables of similarity."""
    from diaghoi.semantic import evaluate, read_similarity

    truth, predictions, *_ = _joined(job)
    verbs, objects = (read_similarity(Path(path)) for path in similarity)
    evaluated = evaluate(
        truth, predictions.load(), verbs, objects, protocol=job.truth.protocol_for(truth)
    )
    result = evaluated.to_dict()
    return {key: result[key] for key in ("soft_map", "mf1", "measure", "similarity")}
