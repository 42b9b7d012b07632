"""SIGKILL at any moment: nothing half-written, and the next run gives the same digits.

``DIAGHOI_MOMENTS`` sets the number of moments of each command.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable

import pytest
from support.faults import (
    MOMENTS,
    Job,
    after,
    ended,
    everything,
    finished,
    run,
    these,
    when_written,
)

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "name", these("report corrupt robustness similarity", "convert", "questions")
)
def test_a_killed_run_leaves_nothing_half_written(name: str, job: Callable[[str], Job]) -> None:
    one = job(name)
    begun = time.monotonic()
    expected = undisturbed(one)
    seconds = time.monotonic() - begun
    for number in range(MOMENTS):
        moment = (
            when_written(one.out, 1 + number)
            if number % 2 == 0
            else after(seconds * (number + 0.5) / MOMENTS)
        )
        ended(one.words, one.folder, moment, signal.SIGKILL)
        for path, content in told(one).items():
            assert content == expected[path], path
    last = run(*one.words, folder=one.folder)
    assert last.code == 0, last.err
    assert told(one) == expected


def test_what_killed_runs_left_is_cleared_away(job: Callable[[str], Job]) -> None:
    one = job("convert")
    old, young, other = (
        one.out / name
        for name in (".preds.0123abcd.npz", ".preds.4567abcd.npz", ".other.0123abcd.npz")
    )
    for path in (old, young, other):
        path.write_bytes(b"half")
    for path in (old, other):
        os.utime(path, (time.time() - 120,) * 2)
    assert run(*one.words, folder=one.folder).code == 0
    # What is young may be written by another run just now.
    assert {path.name for path in everything(one.out)} == {"preds.npz", young.name, other.name}


def undisturbed(one: Job) -> dict[str, bytes]:
    """Run a job to its end, and start afresh; return its files."""
    done = run(*one.words, folder=one.folder)
    assert done.code == 0, done.err
    files = told(one)
    shutil.rmtree(one.out)
    one.out.mkdir()
    return files


def told(one: Job) -> dict[str, bytes]:
    """Give the finished files of a job, without the store of answers, which grows with each run."""
    return {
        path: content
        for path, content in finished(one.out).items()
        if not path.endswith(".answers.jsonl")
    }
