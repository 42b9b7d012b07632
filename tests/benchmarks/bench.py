"""Measure the speed and the memory of all jobs at full size: ``make bench``.

``python tests/benchmarks/bench.py report v-coco`` measures some of them. The data are made once, in
``build/bench``. Each job runs in a process of its own, import included, and is compared to a floor
in the same run: bare ``pickle.load`` or ``np.load`` of the same files, a copy of the same arrays,
or reading and writing the same pictures. What a job may cost at most stands beside it.
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import sys
from dataclasses import astuple
from importlib.metadata import version
from pathlib import Path

from jobs import REPORTS, TOPICS, Job
from measure import Measured, measure
from store import CONFORMANCE, SIZES, counts_of, prepare
from table import HEAD, Line, markdown, widths

REPEAT = 5
ROOT = Path(__file__).resolve().parents[2]


def asked() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "topics", nargs="*", metavar="TOPIC", help=f"of {', '.join(TOPICS)} [all]", default=()
    )
    parser.add_argument("--repeat", type=int, default=REPEAT, help=f"runs of a job [{REPEAT}]")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there, too")
    for name, size in SIZES.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=int, default=size, help=f"size of the data [{size}]")
    found = parser.parse_args()
    unknown = [name for name in found.topics if name not in TOPICS]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; give some of {', '.join(TOPICS)}")
    return found


def machine() -> str:
    """Tell what the figures are of."""
    names = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    busy = f"load {os.getloadavg()[0]:.1f} at the start"
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {names}; {busy}"


def limit_of(job: Job, cost: Measured, done: dict[str, Line]) -> str:
    """Say what a job may cost, and whether it is within that."""
    if not job.step:
        return job.limit.judged(cost, done[job.floor].measured) if job.limit else ""
    before = done[job.step]
    grown = cost.seconds / before.measured.seconds / (job.count / before.count)
    more = cost.megabytes / before.measured.megabytes
    judged = [f"{_verdict(grown)}: 1.1 time / size"]
    # What is fixed weighs most before.
    judged += [f"{_verdict(more)}: 1.1 memory"] if done[job.step].limit else []
    return ", ".join(judged)


def _verdict(found: float, limit: float = 1.1) -> str:
    return "met" if found <= limit else "MISSED"


def note_of(job: Job, cost: Measured, done: dict[str, Line]) -> str:
    """Say how a job compares to others that do the same on more or less."""
    if job.step:
        before = done[job.step]
        size = job.count / before.count
        more = Measured(
            *(now / then for now, then in zip(astuple(cost), astuple(before.measured), strict=True))
        )
        return (
            f"time / size {more.seconds / size:.2f}, CPU / size {more.processor / size:.2f}, "
            f"memory x {more.megabytes:.2f}"
        )
    if not job.workers:
        return ""
    alone = done[REPORTS]
    less = alone.count / job.count
    processor = less * cost.processor / alone.measured.processor
    wall = less * cost.seconds * job.workers / alone.measured.seconds
    return f"a triplet, of {REPORTS}: CPU x {processor:.2f}, wall x workers x {wall:.2f}"


def main() -> None:
    """Make the data, run the jobs, and print the table."""
    chosen = asked()
    # As an installation does; a source tree need not be compiled.
    for folder in ("diaghoi", "oracles", "plots"):
        compileall.compile_dir(ROOT / folder, quiet=1)
    names = list(dict.fromkeys(chosen.topics or TOPICS))
    if not CONFORMANCE.is_dir() and "repeated" in names:
        print(f"repeated: left out, because there is no {CONFORMANCE}", file=sys.stderr)
        names.remove("repeated")
    topics = [TOPICS[name] for name in names]
    folders = {each.data: prepare(each.data, getattr(chosen, each.data)) for each in topics}
    jobs = [
        (job, folders[each.data])
        for each in topics
        for job in each.jobs(counts_of(folders[each.data]))
    ]
    before = machine()
    columns = widths([job.name for job, _ in jobs], [job.floor for job, _ in jobs])
    print(f"{before}\n\n{columns.line(HEAD)}", flush=True)
    done: dict[str, Line] = {}
    for job, folder in jobs:
        repeat = min(chosen.repeat, job.most or chosen.repeat)
        cost = measure(job.command, folder, repeat, clock=job.clock)
        done[job.name] = Line(
            name=job.name,
            measured=cost,
            count=job.count,
            unit=job.unit,
            floor=job.floor,
            least=done[job.floor].measured if job.floor else None,
            limit=limit_of(job, cost, done),
            note=note_of(job, cost, done),
        )
        print(columns.line(done[job.name].cells()), flush=True)
    if chosen.markdown is not None:
        chosen.markdown.write_text(markdown(list(done.values()), before), encoding="utf-8")


if __name__ == "__main__":
    main()
