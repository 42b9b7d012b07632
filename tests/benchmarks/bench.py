"""Measure the speed and the memory of all jobs at full size: ``make bench``.

``python tests/benchmarks/bench.py report v-coco`` measures some of them. The data are made once, in
``build/bench``. Each job runs in a process of its own, import included, and in turn with its floor,
to whose run in the same round it is compared: bare ``pickle.load`` or ``np.load`` of the same
files, a copy of the same arrays, or reading and writing the same pictures. What a job may cost at
most stands beside it.
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from jobs import REPORTS, TOPICS, Job, families
from measure import JobError, Measured, in_turn
from store import CONFORMANCE, SIZES, counts_of, prepare
from table import HEAD, Line, markdown, widths

ROUNDS = 5
ROOT = Path(__file__).resolve().parents[2]


def command_line(about: str | None, rounds: int) -> argparse.ArgumentParser:
    """Take topics, rounds and sizes of data."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=rounds, help=f"runs of a job [{rounds}]")
    for name, size in SIZES.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=int, default=size, help=f"size of the data [{size}]")
    parser.add_argument(
        "topics", nargs="*", metavar="TOPIC", help=f"of {', '.join(TOPICS)} [all]", default=()
    )
    return parser


def chosen_topics(parser: argparse.ArgumentParser, names: list[str]) -> list[str]:
    """List the topics that were asked for and can be measured."""
    unknown = [name for name in names if name not in TOPICS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; give some of {', '.join(TOPICS)}")
    names = list(dict.fromkeys(names or TOPICS))
    if not CONFORMANCE.is_dir() and "repeated" in names:
        print(f"repeated: left out, because there is no {CONFORMANCE}", file=sys.stderr)
        names.remove("repeated")
    return names


def jobs_of(names: list[str], sizes: argparse.Namespace) -> list[tuple[Path, list[Job]]]:
    """Make the data of topics; give the families of their jobs, with the folder of the data."""
    found = []
    for topic in map(TOPICS.__getitem__, names):
        folder = prepare(topic.data, getattr(sizes, topic.data)) if topic.data else ROOT
        counts = counts_of(folder) if topic.data else {}
        found += [(folder, family) for family in families(list(topic.jobs(counts)))]
    return found


def machine() -> str:
    """Tell what the figures are of."""
    names = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    busy = f"load {os.getloadavg()[0]:.1f} at the start"
    told = Path("/proc/cpuinfo")
    models = (
        [line for line in told.read_text().splitlines() if line.startswith("model name")]
        if (told.is_file())
        else []
    )
    kind = models[0].partition(":")[2].strip() if models else platform.processor()
    return (
        f"{os.cpu_count()} cores of {kind or platform.machine()}, "
        f"Python {platform.python_version()}, {names}; {busy}"
    )


def limit_of(job: Job, cost: Measured, done: dict[str, Line]) -> str:
    """Say what a job may cost, and whether it is within that."""
    if not job.step:
        return job.limit.judged(cost, done[job.floor].measured) if job.limit else ""
    before = done[job.step]
    grown = _growth(cost, before.measured, "seconds") / (job.count / before.count)
    judged = [f"{_verdict(grown)}: 1.1 time / size"]
    # What is fixed weighs most before.
    if done[job.step].limit:
        judged.append(f"{_verdict(cost.megabytes / before.measured.megabytes)}: 1.1 memory")
    return ", ".join(judged)


def _verdict(found: float, limit: float = 1.1) -> str:
    return "met" if found <= limit else "MISSED"


def _growth(cost: Measured, before: Measured, what: str) -> float:
    return cost.least(what) / before.least(what)


def note_of(job: Job, cost: Measured, done: dict[str, Line]) -> str:
    """Say how a job compares to others that do the same on more or less."""
    if job.step:
        before = done[job.step]
        size = job.count / before.count
        return (
            f"time / size {_growth(cost, before.measured, 'seconds') / size:.2f}, "
            f"CPU / size {_growth(cost, before.measured, 'processor') / size:.2f}, "
            f"memory x {cost.megabytes / before.measured.megabytes:.2f}"
        )
    if not job.workers:
        return ""
    alone = done[REPORTS]
    less = alone.count / job.count
    processor = less * _growth(cost, alone.measured, "processor")
    wall = less * _growth(cost, alone.measured, "seconds") * job.workers
    return f"a triplet, of {REPORTS}: CPU x {processor:.2f}, wall x workers x {wall:.2f}"


def main() -> None:
    """Make the data, run the jobs, and print the table."""
    parser = command_line(__doc__, ROUNDS)
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there, too")
    chosen = parser.parse_args()
    # As an installation does; a source tree need not be compiled.
    for folder in ("diaghoi", "oracles", "plots"):
        compileall.compile_dir(ROOT / folder, quiet=1)
    found = jobs_of(chosen_topics(parser, chosen.topics), chosen)
    before = machine()
    jobs = [job for _, family in found for job in family]
    columns = widths([job.name for job in jobs], [job.floor for job in jobs])
    print(f"{before}\n\n{columns.line(HEAD)}", flush=True)
    done: dict[str, Line] = {}
    for folder, family in found:
        rounds = min(chosen.rounds, *(job.most or chosen.rounds for job in family))
        commands = {job.name: job.command for job in family}
        try:
            measured = in_turn(commands, folder, rounds, clock=family[0].clock)
        except JobError as error:
            raise SystemExit(str(error)) from None
        for job in family:
            cost = measured[job.name]
            done[job.name] = Line(
                name=job.name,
                measured=cost,
                count=job.count,
                floor=job.floor,
                least=measured[job.floor] if job.floor else None,
                limit=limit_of(job, cost, done),
                note=note_of(job, cost, done),
            )
            print(columns.line(done[job.name].cells()), flush=True)
    if chosen.markdown is not None:
        chosen.markdown.write_text(markdown(list(done.values()), before), encoding="utf-8")


if __name__ == "__main__":
    main()
