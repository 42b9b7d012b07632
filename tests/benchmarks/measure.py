"""Running jobs in processes of their own, in turn: how long they take, and how much memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """What a job costs once: wall time, user and system time, and peak memory."""

    seconds: float
    processor: float
    megabytes: float


@dataclass(frozen=True)
class Measured:
    """What the runs of a job cost; those of jobs that ran in turn are pairs."""

    runs: list[Run] = field(default_factory=list)

    def least(self, what: str) -> float:
        """Return the minimum of a measure, which disturbances change least."""
        return min(getattr(run, what) for run in self.runs)

    def median(self, what: str) -> float:
        return statistics.median(getattr(run, what) for run in self.runs)

    @property
    def megabytes(self) -> float:
        return max(run.megabytes for run in self.runs)

    def ratios(self, other: Measured, what: str, less: float = 0.0) -> list[float]:
        """Divide by the run of another job in the same round, which what is slow now slows, too.

        ``less`` is added before: what a limit takes off the multiple of the other.
        """
        return [
            (getattr(mine, what) + less) / getattr(its, what)
            for mine, its in zip(self.runs, other.runs, strict=True)
        ]


class JobError(Exception):
    """A job ended with an error."""


def in_turn(
    commands: Mapping[str, Sequence[str]],
    folder: Path,
    rounds: int,
    *,
    clock: bool = False,
    paths: Mapping[str, Path] | None = None,
) -> dict[str, Measured]:
    """Run commands in turn, as often as there are rounds, every other round the other way round.

    With ``clock`` they print the seconds that count; ``paths`` are where packages are taken from.
    """
    measured = {name: Measured() for name in commands}
    for number in range(rounds):
        for name in list(commands)[:: -1 if number % 2 else 1]:
            path = (paths or {}).get(name)
            measured[name].runs.append(_run(commands[name], folder, clock=clock, path=path))
    return measured


def _run(command: Sequence[str], folder: Path, *, clock: bool, path: Path | None) -> Run:
    variables = os.environ | ({} if path is None else {"PYTHONPATH": str(path)})
    start = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, cwd=folder, text=True, env=variables
    ) as child:
        printed = "" if child.stdout is None else child.stdout.read()
        # Of the children that are waited for, also theirs.
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise JobError(f"failed with status {child.returncode}: {' '.join(command)}")
    processor = usage.ru_utime + usage.ru_stime
    if clock:
        seconds, processor = map(float, printed.split())
    return Run(seconds, processor, usage.ru_maxrss / 1024)
