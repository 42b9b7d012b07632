"""What the workers of a sweep do, here or on another machine, and where it is kept.

A run is cut into blocks of images. Each block becomes a partial :class:`~diaghoi.Diagnosis`, and
their sum is exactly the diagnosis of the run.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from diaghoi._version import __version__
from diaghoi.data.files import ordinary
from diaghoi.data.joining import Joined, join
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.plausibility import doubts
from diaghoi.diagnosis.shards import Truth, open_alike, read_truth
from diaghoi.formats.base import Reading
from diaghoi.formats.locations import content_hash, is_remote, stamp
from diaghoi.formats.output import replacing

# Of what is kept; another one makes everything anew.
LAYOUT = 2
Kept = TypeVar("Kept", dict[str, Any], list[Any])


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
    similarity : tuple of pathlib.Path or None
        Tables of verbs and of objects for soft mAP and mF1.
    """

    resamples: int | None = None
    confidence: float = 0.95
    seed: int = 0
    similarity: tuple[Path, Path] | None = None


@lru_cache(maxsize=1)
def _joined(job: Job) -> tuple[Scenes, SceneSource, Joined, tuple[str, ...]]:
    """Open a run and join it to the annotations; also what is suspicious about it."""
    truth = read_truth(job.truth)
    predictions = open_alike(truth, job.file, job.pairs, cast(Reading, dict(job.reading)))
    return *join(truth, predictions), tuple(doubt.text for doubt in doubts(truth, predictions))


def diagnose_block(job: Job, number: int, of: int) -> Diagnosis:
    """Diagnose block ``number``, from 0, of as many as the images of a run are cut into.

    Raises
    ------
    InputError
        Where a file cannot be used.
    """
    truth, predictions, joined, warnings = _joined(job)
    first, stop = (len(truth) * place // of for place in (number, number + 1))
    block = diagnose_images(
        truth.between(first, stop),
        predictions.between(first, stop),
        job.truth.protocol_for(truth),
    )
    # Both sides of a block have the same images; which file they come from is known of the whole.
    return replace(
        block.without_scenes(),  # what other processes need of a block is only what adds up
        annotated=joined.annotated[first:stop],
        predicted=joined.predicted[first:stop],
        reading_notes=(*warnings, *block.reading_notes),
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

        result |= bootstrap(
            diagnosis, asked.resamples, seed=asked.seed, confidence=asked.confidence
        ).to_dict()
    if asked.similarity is not None:
        from diaghoi.semantic import evaluate, read_similarity

        truth, predictions, *_ = _joined(job)
        tables = map(read_similarity, asked.similarity)
        protocol = job.truth.protocol_for(truth)
        soft = evaluate(truth, predictions.load(), *tables, protocol=protocol).to_dict()
        result |= {key: soft[key] for key in ("soft_map", "mf1", "measure", "similarity")}
    return result


def diagnose_run(job: Job, asked: Asked) -> dict[str, Any]:
    """Do all work on a run at once: :func:`finish` of a single block."""
    return finish(job, asked, diagnose_block(job, 0, 1))


def compare_to_clean(
    clean: Job, job: Job, labels: tuple[str, str], asked: Asked, exchanges: int
) -> list[dict[str, Any]]:
    """Test whether a detector does differently on corrupted pictures, with labels for both.

    Parameters
    ----------
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
    tests = compare_pair(first, second, exchanges, seed=asked.seed, confidence=asked.confidence)
    return [test.to_dict() for test in tests]


@lru_cache(maxsize=1)
def _clean(job: Job) -> Diagnosis:
    """Diagnose clean pictures once for all that is compared to them."""
    return diagnose_block(job, 0, 1)


class Store:
    """A folder of finished work; without one nothing is kept.

    Results are found by the content of what they were made from, not by names or dates. Files are
    read for that once: their hash is kept with size and time of writing.

    Parameters
    ----------
    folder : pathlib.Path or None
        Made where it is missing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self._hashes: dict[str, str] = {}
        for name in ("results", "hashes"):
            if folder is not None:
                (folder / name).mkdir(parents=True, exist_ok=True)

    def key(self, *made_from: Any) -> str:
        """Return the name of what is made from some values, by this version of the package."""
        identity = json.dumps([LAYOUT, __version__, *made_from], sort_keys=True)
        return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()

    def hash_of(self, path: str | None) -> str:
        """Hash the content of a file; empty for None, and where nothing is kept."""
        if self.folder is None or path is None:
            return ""
        if path not in self._hashes:
            place = path if is_remote(path) else str(Path(path).absolute())
            name = hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:32]
            memo, now = self.folder / "hashes" / f"{name}.json", stamp(place)
            digest = _kept_hash(_read(memo), place, now)
            if digest is None:
                digest = content_hash(place)
                _write(memo, {"path": place, "stamp": now, "sha256": digest})
            self._hashes[path] = digest
        return self._hashes[path]

    def get(self, key: str, kind: type[Kept]) -> Kept | None:
        """Return finished work of a kind; None where there is none, or it is damaged or empty."""
        value = None if self.folder is None else _read(self.folder / "results" / f"{key}.json")
        return value if isinstance(value, kind) and value else None

    def put(self, key: str, value: Any) -> None:
        """Keep finished work; it is there as a whole or not at all.

        Raises
        ------
        InputError
            Where the folder cannot be written to.
        """
        if self.folder is not None:
            _write(self.folder / "results" / f"{key}.json", value)


def _kept_hash(memo: Any, path: str, now: str) -> str | None:
    """Return the hash of a file that has not changed since it was kept."""
    if not isinstance(memo, dict) or (memo.get("path"), memo.get("stamp")) != (path, now):
        return None
    digest = memo.get("sha256")
    return digest if isinstance(digest, str) else None


def _read(path: Path) -> Any:
    """Read what was kept; None where it is not there, or damaged."""
    try:
        return json.loads(ordinary(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _write(path: Path, value: Any) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, allow_nan=False), encoding="ascii")
