"""The programs behind ``make bench`` and ``make bench-compare``."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "benchmarks"


def run(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / program), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)


@pytest.mark.slow
def test_jobs_stand_beside_their_floor(tmp_path: Path) -> None:
    table = tmp_path / "table.md"
    done = run("bench.py", "start", "--rounds", "2", "--markdown", str(table))
    assert done.returncode == 0, done.stderr
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.read_text().splitlines()
        if line.startswith("|")
    ]
    head, floor, *jobs = (row for row in rows if row[0] != "---")
    assert (floor[0], floor[head.index("x floor s")]) == ("import numpy", "")
    for job in jobs:
        least, middle = (float(each) for each in job[1:3])
        assert 0 < least <= middle
        assert float(job[head.index("x floor CPU")]) > 0
        assert "5 x floor s" in job[head.index("limit")]


@pytest.mark.parametrize(
    ("program", "words", "message"),
    [
        ("bench.py", ["nothing"], "unknown: nothing; give some of start, report"),
        ("compare.py", ["--base", "no-such-commit"], "no commit 'no-such-commit'"),
        ("compare.py", ["--base", "HEAD", "--rounds", "5"], "fewer than 6 ratios"),
        ("compare.py", [], "required: --base"),
    ],
)
def test_what_cannot_be_measured(program, words, message, capsys, monkeypatch) -> None:
    before = dict(sys.modules)
    monkeypatch.setattr(sys, "argv", [program, *words])
    monkeypatch.syspath_prepend(FOLDER)
    try:
        with pytest.raises(SystemExit) as left:
            runpy.run_path(str(FOLDER / program), run_name="__main__")
    finally:
        for name in sys.modules.keys() - before:  # its modules have names that others may have
            if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]
    assert left.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_coverage_of_intervals() -> None:
    done = run("interval_coverage.py", "--sets", "2", "--images", "20", "--resamples", "4")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert rows[2].startswith("| mAP | ")
    assert rows[5] == "| ΔmAP, both boxes | 0.00 | 0.00 | 0 | – |"
