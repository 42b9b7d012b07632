"""Running a job in a process of its own: how long it takes, and how much memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measured:
    """What a job costs.

    Parameters
    ----------
    seconds : float
        Wall time; the shortest of several runs.
    processor : float
        User and system time of the same run, of all its processes.
    megabytes : float
        Peak memory of the largest of its processes; the highest of several runs.
    """

    seconds: float
    processor: float
    megabytes: float


def measure(command: Sequence[str], folder: Path, repeat: int, *, clock: bool = False) -> Measured:
    """Run a command some times.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    folder : pathlib.Path
        Where it runs.
    repeat : int
        How many times.
    clock : bool
        Whether the command prints the seconds that count, of the wall and of the processors.

    Raises
    ------
    SystemExit
        Where it fails.
    """
    runs = [_run(command, folder, clock=clock) for _ in range(repeat)]
    best = min(runs, key=lambda run: run.seconds)
    return Measured(best.seconds, best.processor, max(run.megabytes for run in runs))


def _run(command: Sequence[str], folder: Path, *, clock: bool) -> Measured:
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=folder, text=True) as child:
        printed = "" if child.stdout is None else child.stdout.read()
        # Of the children that are waited for, also theirs.
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"failed with status {child.returncode}: {' '.join(command)}")
    processor = usage.ru_utime + usage.ru_stime
    if clock:
        seconds, processor = map(float, printed.split())
    return Measured(seconds, processor, usage.ru_maxrss / 1024)
