"""What the benchmark measures, topic by topic, and what each job is compared to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import median

import floors
from floors import DIAGHOI, script
from measure import Measured
from store import MODELS, STEPS

REPORTS = "reports one by one"
Counts = dict[str, int]
Command = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a job may cost: seconds, MB, and times its floor once ``less`` seconds are taken off."""

    seconds: float | None = None
    megabytes: float | None = None
    times: float | None = None
    times_memory: float | None = None
    less: float = 0.0

    def judged(self, cost: Measured, least: Measured | None) -> str:
        """Write each limit, and whether it is met."""
        asked = [("s", cost.least("seconds"), self.seconds), ("MB", cost.megabytes, self.megabytes)]
        if least is not None:
            taken = f" - {self.less:g} s" if self.less else ""
            seconds = median(cost.ratios(least, "seconds", self.less))
            asked += [
                (f"x floor s{taken}", seconds, self.times),
                ("x floor MB", cost.megabytes / least.megabytes, self.times_memory),
            ]
        return ", ".join(
            f"{'met' if found <= limit else 'MISSED'}: {limit:g} {unit}"
            for unit, found, limit in asked
            if limit is not None
        )


@dataclass(frozen=True, kw_only=True)
class Job:
    """One thing to measure, beside its ``floor``; ``step`` is the same job on less data."""

    name: str
    command: Command
    count: int = 0  # of triplets, pictures or questions
    floor: str = ""
    clock: bool = False  # it prints the seconds that count
    most: int | None = None  # runs
    step: str = ""
    limit: Limit | None = None
    workers: int = 0  # that share a sweep


@dataclass(frozen=True, kw_only=True)
class Topic:
    """Jobs that are asked for by one name, floors first, and the data set that they need."""

    data: str
    jobs: Callable[[Counts], Iterator[Job]]


def _report(file: str, truth: str, *options: str) -> Command:
    words = ("report", file, "--annotations", truth, "--quiet", "--json", "out.json", *options)
    return (*DIAGHOI, *words)


def _alone(file: str) -> Command:
    """Report on a file that holds its annotations."""
    return (*DIAGHOI, "report", file, "--quiet", "--json", "out.json")


def _beside(
    floor: str,
    command: Command,
    jobs: dict[str, Command],
    count: int = 0,
    limits: dict[str, Limit] | None = None,
    **more: object,
) -> Iterator[Job]:
    """Make a floor and the jobs that are compared to it."""
    yield Job(name=floor, command=command, count=count, **more)  # type: ignore[arg-type]
    for name, job in jobs.items():
        limit = (limits or {}).get(name)
        yield Job(name=name, command=job, count=count, floor=floor, limit=limit, **more)  # type: ignore[arg-type]


def _start(counts: Counts) -> Iterator[Job]:
    jobs = {"import diaghoi": script("import diaghoi"), "diaghoi --help": (*DIAGHOI, "--help")}
    limit = Limit(times=5, less=0.05)
    yield from _beside(
        "import numpy", script(floors.NUMPY), jobs, limits=dict.fromkeys(jobs, limit)
    )


def _reports(counts: Counts) -> Iterator[Job]:
    for name in MODELS[:2]:
        pickles = (f"{name}.pkl", "annotations.pkl", f"{name}_pairs.pkl")
        from_pickles, from_columns = f"report from pickles, {name}", f"report from columns, {name}"
        yield from _beside(
            f"bare load of the pickles, {name}",
            script(floors.PICKLES, *pickles),
            {
                from_pickles: _report(*pickles[:2], "--pairs", pickles[2]),
                from_columns: _report(f"{name}.npz", "annotations.npz"),
            },
            counts[name],
            {
                from_pickles: Limit(times=1.1, megabytes=400, times_memory=0.8),
                from_columns: Limit(times=0.25, megabytes=400, times_memory=0.8),
            },
        )


def _dense(counts: Counts) -> Iterator[Job]:
    yield from _beside(
        "bare load of dense arrays, one_stage",
        script(floors.PICKLES, "one_stage_arrays.pkl"),
        {"report from dense arrays, one_stage": _report("one_stage_arrays.pkl", "annotations.npz")},
        counts["one_stage"],
        most=2,
    )


def _matching(counts: Counts) -> Iterator[Job]:
    jobs = {"matching and labels, one_stage": script(floors.MATCHING)}
    copying = script(floors.COPYING)
    yield from _beside("numpy copy of the columns", copying, jobs, counts["one_stage"], clock=True)


def _v_coco(counts: Counts) -> Iterator[Job]:
    for kind, file, bare in (
        ("columns", "detector.npz", floors.ARRAYS),
        ("official pickle", "detector.pkl", floors.PICKLES),
    ):
        yield from _beside(
            f"bare load, V-COCO, {kind}",
            script(bare, file),
            {f"report, V-COCO, {kind}": _report(file, "annotations.npz")},
            counts["detector"],
            most=2,
        )


def _study(counts: Counts) -> Iterator[Job]:
    files = ("annotations.npz", *(f"{name}.npz" for name in MODELS))
    compare = (*DIAGHOI, "compare", "study.toml", "--quiet")
    figures = {
        f"figures of {number} models": (*DIAGHOI, "figures", file, "--out", "figures", "--quiet")
        for number, file in (("two", "two.toml"), ("six", "six.toml"))
    }
    yield from _beside(
        "bare load of three models",
        script(floors.ARRAYS, *files),
        {
            "compare three models": compare,
            "paired tests of three models": (*compare, "--significance"),
            **figures,
        },
        sum(counts[name] for name in MODELS),
        {
            "paired tests of three models": Limit(seconds=20),
            "figures of two models": Limit(seconds=8),
            "figures of six models": Limit(seconds=20),
        },
        most=2,
    )


def _resamples(counts: Counts) -> Iterator[Job]:
    files = ("one_stage.npz", "annotations.npz")
    yield from _beside(
        "bare load of one model",
        script(floors.ARRAYS, *files),
        {
            "1,000 resamples": _report(*files, "--bootstrap", "1000"),
            "1,000 resamples, attribution": _report(
                *files, "--bootstrap", "1000", "--also", "attribution"
            ),
        },
        counts["one_stage"],
        {
            "1,000 resamples": Limit(seconds=12),
            "1,000 resamples, attribution": Limit(seconds=15, megabytes=1000),
        },
        most=2,
    )


def _further(counts: Counts) -> Iterator[Job]:
    files = ("one_stage.npz", "annotations.npz")
    yield from _beside(
        "bare load of one model",
        script(floors.ARRAYS, *files),
        {
            "page": _report(*files, "--out", "page.html"),
            "attribution": _report(*files, "--also", "attribution"),
            "causes and calibration": _report(*files, "--also", "causes,calibration"),
        },
        counts["one_stage"],
        most=2,
    )


def _repeated(counts: Counts) -> Iterator[Job]:
    """What is asked for, of real annotations that are repeated."""
    for topic in (_reports, _study, _resamples):
        for job in topic(counts):
            floor = job.floor and f"{job.floor}, repeated"
            yield replace(job, name=f"{job.name}, repeated", floor=floor)


def _semantic(counts: Counts) -> Iterator[Job]:
    files = ("one_stage.npz", "annotations.npz")
    tables = ("--similarity", "verbs.csv,objects.csv")
    words = ("semantic", files[0], "--annotations", files[1], *tables, "--quiet")
    yield from _beside(
        "bare load for semantic",
        script(floors.ARRAYS, *files),
        {
            "semantic": (*DIAGHOI, *words, "--json", "out.json"),
            "semantic --also diagnose": (
                *(*DIAGHOI, *words, "--json", "out.json", "--also", "diagnose"),
            ),
        },
        counts["one_stage"],
        most=2,
    )


def _choice(counts: Counts) -> Iterator[Job]:
    files = ("questions.json", "answers.jsonl")
    yield from _beside(
        "json.loads of questions and replies",
        script(floors.LINES, *files),
        {"choice score": (*DIAGHOI, "choice", "score", *files, "--quiet")},
        counts["questions"],
    )


def _literals(counts: Counts) -> Iterator[Job]:
    """Read results saved by ``json.dump(str(results), file)``, beside the same as plain JSON."""
    for kind in ("plain", "numpy2"):
        yield from _beside(
            f"json.load of the dict, {kind}",
            script(floors.TEXT_OF_JSON, f"{kind}_dict.json"),
            {
                f"literals, {kind}": script(floors.LITERAL, f"{kind}.json"),
                f"report from the dict, {kind}": _alone(f"{kind}_dict.json"),
                f"report from literals, {kind}": _alone(f"{kind}.json"),
            },
            counts[kind],
            most=3,
        )


def _corrupt(counts: Counts) -> Iterator[Job]:
    """Corrupt each picture in five severities, by one process."""
    made = "import shutil; shutil.rmtree('out', True)\nfrom diaghoi.cli import main\nmain()"
    words = ("robustness", "corrupt", "clean", "out", "--workers", "1", "--quiet", "--corruption")
    names = [name for name in counts if name != "size"]
    yield from _beside(
        "reading and writing pictures",
        script(floors.PICTURES),
        {f"corrupt: {name}": script(made, *words, name) for name in names},
        counts[names[0]],
        most=1,
    )


def _sweep(counts: Counts) -> Iterator[Job]:
    runs = sorted(name for name in counts if "/" in name)[:: floors.EVERY]
    some, bare = sum(counts[name] for name in runs), "bare load of all runs"
    yield Job(name=REPORTS, command=script(floors.REPORTS), count=some, clock=True, most=2)
    yield Job(name=bare, command=script(floors.EACH_OF_MANY), count=counts["all"], most=1)
    for engine, workers in (("local", 1), ("local", 2), ("dask", 2)):
        words = ("robustness", "study.toml", "--engine", engine, "--workers", str(workers))
        yield Job(
            name=f"sweep of 3 x 101 runs, {engine}, {workers} workers",
            command=(*DIAGHOI, *words, "--quiet", "--json", f"{engine}_{workers}.json"),
            count=counts["all"],
            floor=bare,
            most=1,
            workers=workers,
        )


def _growth(counts: Counts) -> Iterator[Job]:
    before = ""
    for times in STEPS:
        files = (f"detector_{times}.npz", f"annotations_{times}.npz")
        floor, name = f"bare load, {times}x", f"report, {times}x"
        count = counts[f"detector_{times}"]
        most = 3 if times < 16 else 1
        yield Job(name=floor, command=script(floors.ARRAYS, *files), count=count, most=most)
        yield Job(
            name=name, command=_report(*files), count=count, floor=floor, most=most, step=before
        )
        before = name


def families(jobs: list[Job]) -> list[list[Job]]:
    """Group each floor with what is compared to it, which run in turn."""
    found: list[list[Job]] = []
    for job in jobs:
        if not job.floor:
            found.append([])
        found[-1].append(job)
    return found


TOPICS = {
    "start": Topic(data="", jobs=_start),
    "report": Topic(data="hico", jobs=_reports),
    "dense": Topic(data="hico", jobs=_dense),
    "matching": Topic(data="hico", jobs=_matching),
    "v-coco": Topic(data="v_coco", jobs=_v_coco),
    "study": Topic(data="hico", jobs=_study),
    "resamples": Topic(data="hico", jobs=_resamples),
    "repeated": Topic(data="repeated", jobs=_repeated),
    "further": Topic(data="hico", jobs=_further),
    "semantic": Topic(data="hico", jobs=_semantic),
    "choice": Topic(data="questions", jobs=_choice),
    "literals": Topic(data="literals", jobs=_literals),
    "corrupt": Topic(data="pictures", jobs=_corrupt),
    "sweep": Topic(data="sweep", jobs=_sweep),
    "growth": Topic(data="growth", jobs=_growth),
}
"""By the name on the command line."""
