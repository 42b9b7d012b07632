"""All runs of a study: what has to be done, what is done already, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any

from diaghoi.comparison.results import other_protocol, read_result, text
from diaghoi.data.protocol import Protocol, protocol
from diaghoi.data.vocabulary import VOCABULARIES
from diaghoi.diagnosis.shards import Truth, read_truth
from diaghoi.engines.engine import Engine, Failure, Task
from diaghoi.exceptions import InputError
from diaghoi.formats.datasets import vocabulary
from diaghoi.formats.locations import exists, is_remote
from diaghoi.formats.v_coco import companions
from diaghoi.robustness.store import Store
from diaghoi.robustness.study import CLEAN, Condition, RobustnessStudy, Run
from diaghoi.robustness.work import (
    Asked,
    Job,
    compare_to_clean,
    diagnose_block,
    diagnose_run,
    finish,
)
from diaghoi.statistics.significance import Difference

Results = dict[tuple[str, Condition], dict[str, Any]]
Start = Callable[[str, int], Any]
Advance = Callable[[int], Any]


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """What comes of the runs of a study.

    Parameters
    ----------
    results : dict
        By detector and condition what :meth:`diaghoi.Diagnosis.to_dict` gives, and intervals.
    missing : tuple of (Run, str)
        Runs of which a file is missing, and which.
    failed : tuple of (Run, str)
        Runs whose file cannot be used, and why.
    tests : dict
        By detector and condition how its figures differ from those on clean pictures. The p-values
        are corrected for the number of figures of one condition, not for that of the conditions.
    notes : tuple of str
        Why a test could not be made.
    """

    results: Results
    missing: tuple[tuple[Run, str], ...] = ()
    failed: tuple[tuple[Run, str], ...] = ()
    tests: dict[tuple[str, Condition], list[Difference]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def sweep(
    study: RobustnessStudy,
    engine: Engine,
    *,
    asked: Asked | None = None,
    exchanges: int | None = None,
    block: int | None = None,
    store: Store | None = None,
    check: Callable[[Mapping[str, Any]], Any] | None = None,
    start: Start | None = None,
    advance: Advance | None = None,
) -> Outcomes:
    """Diagnose all runs of a study.

    Parameters
    ----------
    study : RobustnessStudy
        With annotations.
    engine : Engine
        Where the work is done.
    asked : Asked, optional
        What is computed beside the diagnosis; the tables of similarity are those of the study.
    exchanges : int, optional
        Test each detector under the highest severity of each corruption against clean pictures,
        with so many resamples and exchanges.
    block : int, optional
        Images of a unit of work; by default a whole run.
    store : Store, optional
        Where finished work is kept and found.
    check : callable, optional
        Called with the first result that is there, to refuse what is asked of all of them.
    start, advance : callable, optional
        Told what begins and of how many steps it is, and how many were made.

    Raises
    ------
    InputError
        Where the annotations or the tables of similarity cannot be used, no file of the study
        exists, or none can be used.
    """
    plan = _Plan(study, asked or Asked(), store or Store(None))
    start, advance = start or _silent, advance or _silent
    start("looking for files", 0)
    runs = list(study.runs())
    missing = {run: file for run in runs for file in [_absent(run)] if file is not None}
    there = [run for run in runs if run not in missing]
    if not there:
        raise InputError(
            f"{study.source or 'the study'}: none of its {len(runs)} runs has its files; the first "
            f"that is missing is {missing[runs[0]]}"
        )
    plan.check_similarity()
    results: Results = {}
    failures: dict[Run, str] = {}
    for run, outcome in plan.diagnosed(there, engine, block, start, advance):
        if isinstance(outcome, Failure):
            failures[run] = outcome.message
            continue
        if not results and check is not None:
            check(outcome)
        results[run.label, run.condition] = outcome
    if not results:
        raise InputError(f"no file of the study can be used: {next(iter(failures.values()))}")
    # In the order of the study, whatever was finished first.
    outcomes = Outcomes(
        results={
            (run.label, run.condition): results[run.label, run.condition]
            for run in runs
            if (run.label, run.condition) in results
        },
        missing=tuple(missing.items()),
        failed=tuple((run, failures[run]) for run in runs if run in failures),
    )
    if exchanges is None:
        return outcomes
    return plan.tested(outcomes, engine, exchanges, start, advance)


def _absent(run: Run) -> str | None:
    """Name the first file of a run that does not exist."""
    files = (run.file,) if run.pairs is None else (run.file, run.pairs)
    return next((file for file in files if not exists(file)), None)


def _silent(*_: Any) -> None:
    """Tell nobody of progress."""


class _Plan:
    """The work of a study as tasks, with what is done already taken from the store."""

    def __init__(self, study: RobustnessStudy, asked: Asked, store: Store) -> None:
        similar = study.similarity
        self.study, self.store = study, store
        self.asked = replace(
            asked, similarity=None if similar is None else (str(similar[0]), str(similar[1]))
        )

    @cached_property
    def truth(self) -> Truth:
        """What predictions are evaluated against; a study of saved results needs none.

        Raises
        ------
        InputError
            Where the study does not name the annotations.
        """
        study = self.study
        if study.annotations is None:
            raise InputError(f"{study.source or 'the study'}: annotations: missing; name the file")
        return Truth(
            annotations=str(study.annotations),
            instances=None if study.instances is None else str(study.instances),
            ids=None if study.ids is None else str(study.ids),
            dataset=study.dataset,
            protocol=study.protocol,
        )

    def check_similarity(self) -> None:
        """Refuse tables of similarity that cannot be used, before every run fails by them."""
        if self.asked.similarity is not None:
            from diaghoi.semantic import read_similarity

            for path in self.asked.similarity:
                read_similarity(Path(path))

    def saved(self, run: Run) -> dict[str, Any] | None:
        """Read the result that the file of a run holds; None where it holds predictions.

        Raises
        ------
        InputError
            Where the result lacks what the study asks for, or is of another protocol.
        """
        result = None if is_remote(run.file) else read_result(run.file, self.study.dataset)
        if result is None:
            return None
        wanted, problem = self.study.protocol, ""
        if wanted is not None and (line := other_protocol(result, self._asked_for(wanted, result))):
            problem = f"of protocol {line}, but the study asks for {wanted}"
        elif self.asked.similarity is not None:
            problem = "without soft mAP and mF1"
        elif self.asked.resamples is not None and "intervals" not in result:
            problem = "without intervals"
        if problem:
            raise InputError(
                f"{run.file}: is a saved result {problem}; give the predictions themselves"
            )
        return result

    def _asked_for(self, name: str, result: Mapping[str, Any]) -> Protocol:
        dataset = self.study.dataset or text(result, "dataset")
        known = self.study.dataset is not None or dataset in VOCABULARIES
        return protocol(name, usual=vocabulary(dataset).protocol if known else None)

    def job(self, run: Run) -> Job:
        reading = tuple(self.study.reading.items())
        return Job(truth=self.truth, file=run.file, pairs=run.pairs, reading=reading)

    def key(self, run: Run, *more: Any) -> str:
        """Name the result of a run by the content of all that it is made from."""
        described = self.truth.dataset or ""
        files = [self.truth.annotations, *self._of_v_coco(), run.file, run.pairs]
        if described.endswith(".toml"):
            files.append(described)
        asked = asdict(self.asked) | {"similarity": None}
        return self.store.key(
            [self.store.hash_of(file) for file in (*files, *(self.asked.similarity or ()))],
            vocabulary(described).fingerprint if described else "",
            self.truth.protocol,
            asked,
            *([dict(self.study.reading)] if self.study.reading else []),
            *more,
        )

    def _of_v_coco(self) -> Iterator[str | None]:
        """List the files that are read with annotations of V-COCO, also where nobody names them."""
        beside = companions(Path(self.truth.annotations))
        for given, found in zip((self.truth.instances, self.truth.ids), beside, strict=True):
            yield given or (None if found is None else str(found))

    def diagnosed(
        self, runs: list[Run], engine: Engine, block: int | None, start: Start, advance: Advance
    ) -> Iterator[tuple[Run, Any]]:
        """Give the outcome of each run, kept ones first."""
        start("looking for finished work", 0)
        left: dict[str, Run] = {}
        keys: dict[str, str] = {}
        for number, run in enumerate(runs):
            name = f"run-{number}"
            try:
                kept = self.saved(run)
                if kept is None:
                    keys[name] = self.key(run)
                    kept = self.store.get(keys[name], dict)
            except (InputError, OSError) as error:
                yield run, Failure(str(error))
                continue
            if kept is None:
                left[name] = run
            else:
                yield run, kept
        if not left:
            return
        start("reading annotations", 0)
        images = len(read_truth(self.truth))
        blocks = 1 if block is None else min(max(1, ceil(images / block)), images)
        tasks = [task for name, run in left.items() for task in self._tasks(name, run, blocks)]
        start("diagnosing", len(left))
        for name, outcome in engine.run(tasks):
            if not isinstance(outcome, Failure):
                self.store.put(keys[name], outcome)
            yield left[name], outcome
            advance(1)

    def _tasks(self, name: str, run: Run, blocks: int) -> Iterator[Task]:
        job = self.job(run)
        if blocks == 1:
            yield Task(name, diagnose_run, (job, self.asked))
            return
        parts = tuple(f"{name}-{number}" for number in range(blocks))
        for number, part in enumerate(parts):
            yield Task(part, diagnose_block, (job, number, blocks), wanted=False)
        yield Task(name, finish, (job, self.asked), needs=parts)

    def tested(
        self, outcomes: Outcomes, engine: Engine, exchanges: int, start: Start, advance: Advance
    ) -> Outcomes:
        """Add the tests of each detector against itself on clean pictures."""
        runs = {(run.label, run.condition): run for run in self.study.runs()}
        found: dict[tuple[str, Condition], Any] = {}
        tasks: list[Task] = []
        keys: dict[str, tuple[tuple[str, Condition], str]] = {}
        for label, condition in _strongest(self.study, outcomes.results):
            clean, run = runs[label, CLEAN], runs[label, condition]
            results = [each.file for each in (clean, run) if self.saved(each) is not None]
            if results:
                why = f"{results[0]}: is a saved result; give the predictions themselves"
                found[label, condition] = Failure(why)
                continue
            labels = f"{label}, clean", f"{label}, {condition.title}"
            hashes = [self.store.hash_of(clean.file), self.store.hash_of(clean.pairs)]
            key = self.key(run, "test", hashes, labels, exchanges)
            kept = self.store.get(key, list)
            if kept is not None:
                found[label, condition] = kept
                continue
            name = f"test-{len(tasks)}"
            arguments = (self.job(clean), self.job(run), labels, self.asked, exchanges)
            tasks.append(Task(name, compare_to_clean, arguments))
            keys[name] = (label, condition), key
        start("testing", len(tasks))
        for name, outcome in engine.run(tasks) if tasks else ():
            place, key = keys[name]
            if not isinstance(outcome, Failure):
                self.store.put(key, outcome)
            found[place] = outcome
            advance(1)
        notes = tuple(
            f"{label}, {condition.title}: not tested: {outcome.message}"
            for (label, condition), outcome in found.items()
            if isinstance(outcome, Failure)
        )
        tests = {
            place: [_difference(each) for each in found[place]]
            for place in _strongest(self.study, outcomes.results)
            if not isinstance(found[place], Failure)
        }
        return replace(outcomes, tests=tests, notes=notes)


def _strongest(study: RobustnessStudy, results: Results) -> Iterator[tuple[str, Condition]]:
    """List the highest severity that there is of each corruption, where clean pictures are too."""
    for model in study.models:
        for corruption in study.corruptions if (model.label, CLEAN) in results else ():
            conditions = [Condition(corruption, each) for each in study.severities]
            there = [each for each in conditions if (model.label, each) in results]
            if there:
                yield model.label, there[-1]


def _difference(fields: Mapping[str, Any]) -> Difference:
    bounds = fields["interval"]
    interval = None if bounds is None else tuple(bounds)
    return Difference(**{**fields, "labels": tuple(fields["labels"]), "interval": interval})
