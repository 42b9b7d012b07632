"""Diagnose all runs of a study, as far as that is not done already."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any

from diaghoi.comparison.results import other_protocol, read_result, text
from diaghoi.data.protocol import protocol
from diaghoi.data.vocabulary import VOCABULARIES
from diaghoi.diagnosis.shards import Truth, read_truth
from diaghoi.engines.engine import Engine, Failure, Task
from diaghoi.exceptions import InputError
from diaghoi.formats.description import vocabulary
from diaghoi.formats.locations import exists, is_remote
from diaghoi.formats.v_coco import companions
from diaghoi.robustness.study import CLEAN, Condition, RobustnessStudy, Run
from diaghoi.robustness.work import (
    Asked,
    Job,
    Kept,
    Store,
    compare_to_clean,
    diagnose_block,
    diagnose_run,
    finish,
)
from diaghoi.statistics.significance import Difference

Place = tuple[str, Condition]
"""A detector and its pictures."""


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """The results of the runs of a study, and the reasons why some have none.

    Parameters
    ----------
    results : dict
        By detector and condition what :meth:`diaghoi.Diagnosis.to_dict` gives, and intervals.
    missing : tuple of (Run, str)
        Runs of which a file is missing, and which.
    failed : tuple of (Run, str)
        Runs whose file cannot be used, and why.
    tests : dict
        By detector and condition how its numbers differ from those on clean pictures. The p-values
        are corrected for the numbers of one condition, not for that of the conditions.
    notes : tuple of str
        Why a test could not be made.
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
    asked: Asked | None = None,
    exchanges: int | None = None,
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
    start, advance : callable
        Told what begins and of how many steps it is, and how many were made.

    Raises
    ------
    InputError
        Where the annotations or the tables of similarity cannot be used, no file of the study
        exists, or none can be used.
    """
    asked = replace(asked or Asked(), similarity=study.similarity)
    plan = _Plan(study, engine, asked, store or Store(None), start, advance)
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
        from diaghoi.semantic import read_similarity

        for path in study.similarity:  # or every run would fail by them
            read_similarity(path)
    outcomes: dict[Run, Any] = {}
    for run, outcome in plan.diagnosed([run for run in runs if run not in missing], block):
        outcomes[run] = outcome
        if check is not None and not isinstance(outcome, Failure):
            check(outcome)
            check = None
    # In the order of the study, whatever was finished first.
    results = {run.place: outcomes[run] for run in runs if isinstance(outcomes.get(run), dict)}
    if not results:
        why = next(iter(outcomes.values())).message
        raise InputError(f"no file of the study can be used: {why}")
    tests = {} if exchanges is None else plan.tested(results, exchanges)
    return Outcomes(
        results=results,
        missing=tuple(missing.items()),
        failed=tuple(
            (run, outcomes[run].message) for run in runs if isinstance(outcomes.get(run), Failure)
        ),
        tests={
            run.place: [_difference(test) for test in outcome]
            for run, outcome in tests.items()
            if not isinstance(outcome, Failure)
        },
        notes=tuple(
            f"{run.title}: not tested: {outcome.message}"
            for run, outcome in tests.items()
            if isinstance(outcome, Failure)
        ),
    )


@dataclass(frozen=True)
class _Plan:
    """The work of a study as tasks, with what is done already taken from the store."""

    study: RobustnessStudy
    engine: Engine
    asked: Asked
    store: Store
    start: Callable[[str, int], Any]
    advance: Callable[[int], Any]

    @cached_property
    def truth(self) -> Truth:
        """What predictions are evaluated against; a study of saved results needs none."""
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

    @cached_property
    def images(self) -> int:
        """The number of annotated images."""
        self.start("reading annotations", 0)
        return len(read_truth(self.truth))

    def saved(self, run: Run) -> dict[str, Any] | None:
        """Read the result that the file of a run holds; None where it holds predictions."""
        result = None if is_remote(run.file) else read_result(run.file, self.study.dataset)
        if result is None:
            return None
        if other := self._other_protocol(result):
            problem = f"of protocol {other}, but the study asks for {self.study.protocol}"
        elif self.asked.similarity is not None:
            problem = "without soft mAP and mF1"
        elif self.asked.resamples is not None and "intervals" not in result:
            problem = "without intervals"
        else:
            return result
        raise InputError(
            f"{run.file}: is a saved result {problem}; give the predictions themselves"
        )

    def _other_protocol(self, result: Mapping[str, Any]) -> str:
        name, dataset = self.study.protocol, self.study.dataset or text(result, "dataset")
        if name is None:
            return ""
        known = self.study.dataset is not None or dataset in VOCABULARIES
        usual = vocabulary(dataset).protocol if known else None
        return other_protocol(result, protocol(name, usual=usual))

    def job(self, run: Run) -> Job:
        reading = tuple(self.study.reading.items())
        return Job(truth=self.truth, file=run.file, pairs=run.pairs, reading=reading)

    def key(self, run: Run, *more: Any) -> str:
        """Name the result of a run by the content of all that it is made from."""
        truth, described = self.truth, self.truth.dataset or ""
        files: list[str | None] = [truth.annotations]
        # Those that are read with annotations of V-COCO, also where nobody names them.
        beside = companions(Path(truth.annotations))
        for named, found in zip((truth.instances, truth.ids), beside, strict=True):
            files.append(named or (None if found is None else str(found)))
        files += [run.file, run.pairs]
        if described.endswith(".toml"):
            files.append(described)
        files += map(str, self.asked.similarity or ())
        return self.store.key(
            [self.store.hash_of(file) for file in files],
            vocabulary(described).fingerprint if described else "",
            truth.protocol,
            asdict(self.asked) | {"similarity": None},
            *([dict(self.study.reading)] if self.study.reading else []),
            *more,
        )

    def diagnosed(self, runs: Iterable[Run], block: int | None) -> Iterator[tuple[Run, Any]]:
        """Give the outcome of each run, kept ones first."""
        self.start("looking for finished work", 0)
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
            job, images = self.job(run), self.images
            blocks = 1 if block is None else min(max(1, ceil(images / block)), images)
            parts = tuple(f"{name}-{number}" for number in range(blocks))
            if blocks == 1:
                yield Task(name, diagnose_run, (job, self.asked))
                return
            for number, part in enumerate(parts):
                yield Task(part, diagnose_block, (job, number, blocks), wanted=False)
            yield Task(name, finish, (job, self.asked), needs=parts)

        yield from self._worked("diagnosing", dict, keys, tasks)

    def tested(self, results: Collection[Place], exchanges: int) -> dict[Run, Any]:
        """Test each detector against itself on clean pictures, under what is strongest."""
        runs = {run.place: run for run in self.study.runs()}
        outcomes: dict[Run, Any] = {}
        keys: dict[Run, str] = {}
        for label, condition in self._strongest(results):
            clean, run = runs[label, CLEAN], runs[label, condition]
            saved = [each.file for each in (clean, run) if self.saved(each) is not None]
            if saved:
                why = f"{saved[0]}: is a saved result; give the predictions themselves"
                outcomes[run] = Failure(why)
                continue
            hashes = [self.store.hash_of(clean.file), self.store.hash_of(clean.pairs)]
            keys[run] = self.key(run, "test", hashes, (clean.title, run.title), exchanges)

        def tasks(name: str, run: Run) -> Iterator[Task]:
            clean = runs[run.label, CLEAN]
            jobs, labels = (self.job(clean), self.job(run)), (clean.title, run.title)
            yield Task(name, compare_to_clean, (*jobs, labels, self.asked, exchanges))

        outcomes |= self._worked("testing", list, keys, tasks)
        return {run: outcomes[run] for run in runs.values() if run in outcomes}

    def _strongest(self, results: Collection[Place]) -> Iterator[Place]:
        """List the highest severity of each corruption with a result, where clean pictures have."""
        for model in self.study.models:
            for corruption in self.study.corruptions if (model.label, CLEAN) in results else ():
                places = [(model.label, Condition(corruption, n)) for n in self.study.severities]
                yield from [place for place in places if place in results][-1:]

    def _worked(
        self,
        title: str,
        kind: type[Kept],
        keys: Mapping[Run, str],
        tasks: Callable[[str, Run], Iterable[Task]],
    ) -> Iterator[tuple[Run, Any]]:
        """Give what is kept of some runs, do the work on the others, and keep what comes of it."""
        left: dict[str, Run] = {}
        for number, (run, key) in enumerate(keys.items()):
            kept = self.store.get(key, kind)
            if kept is None:
                left[f"run-{number}"] = run
            else:
                yield run, kept
        if not left:
            return
        work = [task for name, run in left.items() for task in tasks(name, run)]
        self.start(title, len(left))
        for name, outcome in self.engine.run(work):
            if not isinstance(outcome, Failure):
                self.store.put(keys[left[name]], outcome)
            yield left[name], outcome
            self.advance(1)


def _difference(fields: Mapping[str, Any]) -> Difference:
    bounds = fields["interval"]
    interval = None if bounds is None else tuple(bounds)
    return Difference(**{**fields, "labels": tuple(fields["labels"]), "interval": interval})
