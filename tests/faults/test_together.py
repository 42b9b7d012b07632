"""Two runs at once on the same files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from itertools import combinations

import pytest
from support.faults import LONGEST, WORDS, Job, Left, command, finished, rate, run, these

pytestmark = pytest.mark.slow


def together(one: Job, times: int) -> list[Left]:
    running = [
        subprocess.Popen(
            command(*one.words),
            cwd=one.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(times)
    ]
    left = []
    for each in running:
        with each:
            out, err = each.communicate(timeout=LONGEST)
        left.append(Left(each.returncode, out, err))
    return left


@pytest.mark.parametrize("name", these("robustness", "report", "corrupt"))
def test_runs_at_once_write_what_a_single_one_writes(name: str, job: Callable[[str], Job]) -> None:
    one = job(name)
    assert run(*one.words, folder=one.folder).code == 0
    expected = finished(one.out)
    shutil.rmtree(one.out)
    one.out.mkdir()
    for left in together(one, 2):
        assert left.code == 0, left.err
    assert finished(one.out) == expected


def test_a_store_of_answers_is_for_one_run_at_a_time(job: Callable[[str], Job]) -> None:
    one = job("similarity")
    codes = {}
    for left in together(one, 2):
        codes[left.code] = left.err
    assert set(codes) <= {0, 2}
    if 2 in codes:
        assert "another run is writing to it; let it finish" in codes[2]
    assert run(*one.words, folder=one.folder).code == 0
    rows = (one.out / "verbs.csv").read_text().splitlines()[1:]
    similar = [pair for pair in combinations(WORDS, 2) if rate(*pair) > 0]
    assert len(rows) == len(WORDS) + len(similar)
