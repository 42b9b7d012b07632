"""Diagnose all unfinished runs of a robustness study, on one computer or on a cluster.

A run is split into blocks of images. Each block becomes a partial :class:`~diaghoi.Diagnosis`, and
the sum of the blocks is exactly the diagnosis of the run. Workers run :func:`diagnose_block`,
:func:`finish` and :func:`compare_to_clean`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, cast

from diaghoi._version import __version__
from diaghoi.comparison.results import other_protocol, read_result, text
from diaghoi.comparison.study import Sources
from diaghoi.data.joining import Joined, join
from diaghoi.data.protocol import protocol
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.vocabulary import VOCABULARIES
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.inputs import read_object
from diaghoi.diagnosis.plausibility import doubts
from diaghoi.diagnosis.shards import Truth, open_alike, read_truth
from diaghoi.engines.engine import Engine, Failure, Task
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Reading
from diaghoi.formats.description import vocabulary
from diaghoi.formats.locations import content_hash, exists, is_remote, stamp
from diaghoi.formats.output import replacing
from diaghoi.formats.v_coco import companions
from diaghoi.robustness.study import CLEAN, Condition, RobustnessStudy, Run
from diaghoi.statistics.significance import Difference

# Version of cached results; a change recomputes everything.
LAYOUT = 4
Place = tuple[str, Condition]
"""A detector and a condition."""


class Settings(NamedTuple):
    """Settings that all runs of a study share.

    ``reading`` contains the items of a :class:`diaghoi.formats.base.Reading`, and ``similarity``
    contains the sources of the verb and object tables. ``resamples`` is the number of bootstrap
    resamples, and ``exchanges`` the number of exchanges in tests against clean pictures; None omits
    the intervals or the tests.
    """

    truth: Truth
    reading: tuple[tuple[str, Any], ...]
    similarity: Sources | None
    resamples: int | None
    exchanges: int | None
    confidence: float
    seed: int


@lru_cache(maxsize=1)
def _joined(settings: Settings, run: Run) -> tuple[Scenes, SceneSource, Joined, tuple[str, ...]]:
    """Open a run and join it with the annotations; also return suspicious findings."""
    truth, reading = read_truth(settings.truth), cast(Reading, dict(settings.reading))
    predictions = open_alike(truth, run.file, run.pairs, reading)
    return *join(truth, predictions), tuple(doubt.text for doubt in doubts(truth, predictions))


def diagnose_block(settings: Settings, run: Run, number: int = 0, of: int = 1) -> Diagnosis:
    """Diagnose one block of the images of a run; blocks are counted from 0.

    Raises
    ------
    InputError
        If a file cannot be used.
    """
    truth, predictions, joined, warnings = _joined(settings, run)
    first, stop = (len(truth) * place // of for place in (number, number + 1))
    block = diagnose_images(
        truth.between(first, stop),
        predictions.between(first, stop),
        settings.truth.protocol_for(truth),
    )
    # Annotations and predictions of a block have the same images; which of the files contains an
    # image is known only from the whole run.
    return replace(
        block.without_scenes(),  # other processes need only the block's sums
        annotated=joined.annotated[first:stop],
        predicted=joined.predicted[first:stop],
        reading_notes=(*warnings, *block.reading_notes),
    )


def finish(settings: Settings, run: Run, *blocks: Diagnosis) -> dict[str, Any]:
    """Combine the diagnoses of a run's blocks into its result.

    Returns
    -------
    dict
        The result of :meth:`diaghoi.Diagnosis.to_dict`, with ``intervals`` and ``bootstrap`` if
        there are resamples, and ``soft_map``, ``mf1``, ``measure`` and ``similarity`` if there are
        similarity tables.
    """
    diagnosis = Diagnosis.sum(blocks) if blocks else diagnose_block(settings, run)
    result = diagnosis.to_dict()
    if settings.resamples is not None:
        from diaghoi.statistics.bootstrap import bootstrap

        result |= bootstrap(
            diagnosis, settings.resamples, seed=settings.seed, confidence=settings.confidence
        ).to_dict()
    if settings.similarity is not None:
        from diaghoi.semantic import evaluate
        from diaghoi.semantic.tables.senses import read_tables

        truth, predictions, *_ = _joined(settings, run)
        tables, rules = read_tables(settings.similarity), settings.truth.protocol_for(truth)
        soft = evaluate(truth, predictions.load(), **tables, protocol=rules).to_dict()
        result |= {key: soft[key] for key in ("soft_map", "mf1", "measure", "similarity")}
    return result


def compare_to_clean(settings: Settings, clean: Run, run: Run) -> dict[str, Any]:
    """Test whether a detector performs differently on corrupted pictures.

    Returns
    -------
    dict
        ``tests`` contains results of :meth:`diaghoi.statistics.significance.Difference.to_dict`.
    """
    from diaghoi.statistics.significance import compare_pair

    tests = compare_pair(
        _clean(settings, clean),
        replace(diagnose_block(settings, run), label=run.title),
        settings.exchanges or 0,
        seed=settings.seed,
        confidence=settings.confidence,
    )
    return {"tests": [test.to_dict() for test in tests]}


@lru_cache(maxsize=1)
def _clean(settings: Settings, run: Run) -> Diagnosis:
    """Diagnose clean pictures once for all comparisons."""
    return replace(diagnose_block(settings, run), label=run.title)


class Store:
    """Cache of finished work in a folder; without a folder, nothing is stored.

    Results are identified by the content of their inputs, not by names or dates. To hash the
    content, each file is read once, and again if its size or a time stamp changes. The folder is
    created if missing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = None if folder is None else folder / "results"
        self._hashes: dict[str, str] = {}
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def key(self, *made_from: Any) -> str:
        """Return the name of a result, which depends on its inputs and the package version."""
        identity = json.dumps([LAYOUT, __version__, *made_from], sort_keys=True)
        return hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()

    def hash_of(self, file: str | Path | None) -> str:
        """Hash the content of a file; return an empty string for None or without a folder."""
        if self.folder is None or file is None:
            return ""
        path = str(file)
        if path not in self._hashes:
            place = path if is_remote(path) else str(Path(path).absolute())
            key = self.key("hash", place, stamp(place))
            digest = (self.get(key) or {}).get("sha256")
            if not isinstance(digest, str):
                digest = content_hash(place)
                self.put(key, {"sha256": digest})
            self._hashes[path] = digest
        return self._hashes[path]

    def get(self, key: str) -> dict[str, Any] | None:
        """Return a stored result; None if the result is missing or was altered."""
        if self.folder is None:
            return None
        with suppress(InputError):
            kept = read_object(self.folder / f"{key}.json")
            value = kept.get("value")
            if isinstance(value, dict) and kept.get("seal") == _seal(key, value):
                return value or None
        return None

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Store a result, completely or not at all.

        Raises
        ------
        InputError
            If the folder cannot be written to.
        """
        if self.folder is not None:
            with replacing(self.folder / f"{key}.json") as temporary:
                content = {"seal": _seal(key, value), "value": value}
                temporary.write_text(json.dumps(content, allow_nan=False), encoding="ascii")


def _seal(key: str, value: dict[str, Any]) -> str:
    """Hash a value with its key, so that altered or renamed files are detected."""
    content = json.dumps([key, value], sort_keys=True)
    return hashlib.sha256(content.encode("ascii")).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """Results of the runs of a study, and the reasons why results are missing.

    Parameters
    ----------
    results : dict
        Results of :meth:`diaghoi.Diagnosis.to_dict`, with intervals, by detector and condition.
    missing : tuple of (Run, str)
        Runs whose file is missing, with the file.
    failed : tuple of (Run, str)
        Runs whose file is unusable, with the reason.
    tests : dict
        Differences from clean pictures, by detector and condition. The p-values are corrected for
        the tests of one condition, not for the number of conditions.
    notes : tuple of str
        Reasons why tests were not possible.
    """

    results: dict[Place, dict[str, Any]]
    missing: tuple[tuple[Run, str], ...] = ()
    failed: tuple[tuple[Run, str], ...] = ()
    tests: dict[Place, list[Difference]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def sweep(
    study: RobustnessStudy,
    engine: Engine,
    *,
    resamples: int | None = None,
    exchanges: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    block: int | None = None,
    store: Store | None = None,
    check: Callable[[Mapping[str, Any]], Any] | None = None,
    start: Callable[[str, int], Any] = lambda *_: None,
    advance: Callable[[int], Any] = lambda _: None,
) -> Outcomes:
    """Diagnose all runs of a study.

    Parameters
    ----------
    study : RobustnessStudy
        A study that has annotations, or only saved results.
    engine : Engine
        Engine that runs the tasks.
    resamples : int, optional
        Number of resamples of the bootstrap; by default there are no intervals.
    exchanges : int, optional
        Number of resamples and exchanges in tests of each corruption's highest severity against
        clean pictures; by default there are no tests.
    confidence, seed
        Confidence of intervals, and seed of resamples and exchanges.
    block : int, optional
        Number of images per task; by default a whole run.
    store : Store, optional
        Folder of finished work.
    check : callable, optional
        Called with the first result, to reject requests that no result can satisfy.
    start, advance : callable
        ``start`` is called with the name and the number of steps of each task, ``advance`` with the
        number of finished steps.

    Raises
    ------
    InputError
        If the annotations or the similarity tables cannot be used, no file of the study exists, or
        no file can be used.
    """
    truth = Truth(
        annotations=str(study.annotations),
        instances=None if study.instances is None else str(study.instances),
        ids=None if study.ids is None else str(study.ids),
        dataset=study.dataset,
        protocol=study.protocol,
    )
    reading = tuple(study.reading.items())
    settings = Settings(truth, reading, study.similarity, resamples, exchanges, confidence, seed)
    plan = _Plan(study, settings, engine, store or Store(None), start, advance)
    start("looking for files", 0)
    runs = list(study.runs())
    absent = ((run, next((file for file in run.files if not exists(file)), None)) for run in runs)
    missing = {run: file for run, file in absent if file is not None}
    if len(missing) == len(runs):
        raise InputError(
            f"{study.source or 'the study'}: none of its {len(runs)} runs has its files; the first "
            f"that is missing is {missing[runs[0]]}"
        )
    if study.similarity is not None:
        from diaghoi.semantic.tables.senses import read_tables

        read_tables(study.similarity)  # unusable tables would make every run fail
    outcomes: dict[Run, Any] = {}
    for run, outcome in plan.diagnosed([run for run in runs if run not in missing], block):
        outcomes[run] = outcome
        if check is not None and not isinstance(outcome, Failure):
            check(outcome)
            check = None
    # Results keep the order of the study, whichever finished first.
    done, failed = _sorted_out(runs, outcomes)
    results = {run.place: result for run, result in done.items()}
    if not results:
        raise InputError(f"no file of the study can be used: {next(iter(failed.values()))}")
    tested, not_tested = _sorted_out(runs, {} if exchanges is None else plan.tested(results))
    return Outcomes(
        results=results,
        missing=tuple(missing.items()),
        failed=tuple(failed.items()),
        tests={
            run.place: [_difference(test) for test in outcome["tests"]]
            for run, outcome in tested.items()
        },
        notes=tuple(f"{run.title}: not tested: {why}" for run, why in not_tested.items()),
    )


def _sorted_out(
    runs: Iterable[Run], outcomes: Mapping[Run, Any]
) -> tuple[dict[Run, dict[str, Any]], dict[Run, str]]:
    """Separate the outcomes of successful runs from the reasons why runs failed."""
    ordered = {run: outcomes[run] for run in runs if run in outcomes}
    failed = {run: each.message for run, each in ordered.items() if isinstance(each, Failure)}
    return {run: each for run, each in ordered.items() if run not in failed}, failed


def _difference(fields: Mapping[str, Any]) -> Difference:
    bounds = fields["interval"]
    interval = None if bounds is None else tuple(bounds)
    return Difference(**{**fields, "labels": tuple(fields["labels"]), "interval": interval})


@dataclass(frozen=True)
class _Plan:
    """The tasks of a study; results of finished tasks come from the store."""

    study: RobustnessStudy
    settings: Settings
    engine: Engine
    store: Store
    start: Callable[[str, int], Any]
    advance: Callable[[int], Any]

    def saved(self, run: Run) -> dict[str, Any] | None:
        """Read the saved result in a run's file; None if the file contains predictions."""
        study = self.study
        result = None if is_remote(run.file) else read_result(run.file, study.dataset)
        if result is None:
            if study.annotations is None:
                raise InputError(
                    f"{study.source or 'the study'}: annotations: missing; name the file"
                )
            return None
        problem = other = ""
        if study.protocol is not None:
            dataset = study.dataset or text(result, "dataset")
            known = study.dataset is not None or dataset in VOCABULARIES
            usual = vocabulary(dataset).protocol if known else None
            other = other_protocol(result, protocol(study.protocol, usual=usual))
        if other:
            problem = f"of protocol {other}, but the study asks for {study.protocol}"
        elif study.similarity is not None:
            problem = "without soft mAP and mF1"
        elif self.settings.resamples is not None and "intervals" not in result:
            problem = "without intervals"
        if problem:
            raise InputError(
                f"{run.file}: is a saved result {problem}; give the predictions themselves"
            )
        return result

    def key(self, run: Run, *more: Any) -> str:
        """Return the name of a run's result, which depends on the content of all its inputs."""
        settings, truth = self.settings, self.settings.truth
        described = truth.dataset or ""
        # V-COCO also reads the files next to the annotations, even if they are not named.
        beside = companions(Path(truth.annotations))
        files = (
            *(truth.annotations, truth.instances or beside[0], truth.ids or beside[1]),
            *(run.file, run.pairs, described if described.endswith(".toml") else None),
            *(each for each in settings.similarity or () if isinstance(each, Path)),
        )
        made = [each for each in settings.similarity or () if isinstance(each, str)]
        return self.store.key(
            [self.store.hash_of(file) for file in files],
            vocabulary(described).fingerprint if described else "",
            truth.protocol,
            dict(settings.reading),
            (settings.resamples, settings.confidence, settings.seed),
            *made,
            *more,
        )

    def diagnosed(self, runs: Iterable[Run], block: int | None) -> Iterator[tuple[Run, Any]]:
        """Yield the outcome of each run, with stored outcomes first."""
        self.start("looking for finished runs", 0)
        keys: dict[Run, str] = {}
        for run in runs:
            saved: Any
            try:
                saved = self.saved(run)
                if saved is None:
                    keys[run] = self.key(run)
            except (InputError, OSError) as error:
                saved = Failure(str(error))
            if saved is not None:
                yield run, saved

        def tasks(name: str, run: Run) -> Iterator[Task]:
            images = len(read_truth(self.settings.truth))
            blocks = 1 if block is None else min(max(1, ceil(images / block)), images)
            parts = tuple(f"{name}-{number}" for number in range(blocks if blocks > 1 else 0))
            for number, part in enumerate(parts):
                yield Task(part, diagnose_block, (self.settings, run, number, blocks))
            yield Task(name, finish, (self.settings, run), needs=parts)

        yield from self._worked("diagnosing", keys, tasks)

    def tested(self, results: Mapping[Place, Any]) -> dict[Run, Any]:
        """Test each detector under the strongest corruptions against itself on clean pictures.

        Each corruption is tested at the highest severity that has a result, if clean pictures have
        a result.
        """
        runs = {run.place: run for run in self.study.runs()}
        outcomes: dict[Run, Any] = {}
        keys: dict[Run, str] = {}
        strongest = {
            (label, condition.corruption): run
            for (label, condition), run in runs.items()
            if condition != CLEAN and results.keys() >= {(label, CLEAN), (label, condition)}
        }
        for run in strongest.values():
            clean = runs[run.label, CLEAN]
            saved = [each.file for each in (clean, run) if self.saved(each) is not None]
            if saved:
                why = f"{saved[0]}: is a saved result; give the predictions themselves"
                outcomes[run] = Failure(why)
                continue
            hashes = [self.store.hash_of(file) for file in (clean.file, clean.pairs)]
            exchanges = self.settings.exchanges
            keys[run] = self.key(run, "test", hashes, (clean.title, run.title), exchanges)

        def tasks(name: str, run: Run) -> Iterator[Task]:
            clean = runs[run.label, CLEAN]
            yield Task(name, compare_to_clean, (self.settings, clean, run))

        return outcomes | dict(self._worked("testing", keys, tasks))

    def _worked(
        self, title: str, keys: Mapping[Run, str], tasks: Callable[[str, Run], Iterable[Task]]
    ) -> Iterator[tuple[Run, Any]]:
        """Yield stored results, then do the missing work, and store and yield the new results."""
        left: dict[str, Run] = {}
        for number, (run, key) in enumerate(keys.items()):
            kept = self.store.get(key)
            if kept is None:
                left[f"run-{number}"] = run
            else:
                yield run, kept
        if not left:
            return
        self.start("reading annotations", 0)
        work = [task for name, run in left.items() for task in tasks(name, run)]
        self.start(title, len(left))
        for name, outcome in self.engine.run(work):
            if not isinstance(outcome, Failure):
                self.store.put(keys[left[name]], outcome)
            yield left[name], outcome
            self.advance(1)
