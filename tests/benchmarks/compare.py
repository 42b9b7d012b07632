"""Compare the speed of two commits: ``make bench-compare BASE=v0.1.0``.

Each job of ``make bench`` runs in turn with the commit and with this tree, so that what slows the
machine slows both. Printed are the medians of both, and the ratio of this tree to the commit: the
median over the rounds and its 95 % interval, from order statistics. A ratio whose interval holds 1
is no difference that shows. Both run with the installed dependencies.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tarfile
from compileall import compile_dir
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench import ROOT, chosen_topics, command_line, jobs_of, machine
from measure import JobError, in_turn
from scipy.stats import quantile_test

ROUNDS = 10
HEAD = f"{'job':<44}  {'base s':>8}  {'now s':>8}  {'wall':>22}  {'CPU':>22}"


def commit_of(parser: argparse.ArgumentParser, name: str) -> str:
    words = ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        parser.error(f"no commit {name!r} in this repository; list them with: git log --oneline")
    return found.stdout.strip()


def installed(commit: str) -> Path:
    """Install a commit into a folder of its own, unless it is there."""
    folder = ROOT / "build" / "base" / commit
    if not folder.exists():
        packed = subprocess.run(
            ["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE, check=True
        )
        with TemporaryDirectory() as tree, tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
            files.extractall(tree, filter="data")
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
            half = folder.with_name(f"{commit}.half")
            subprocess.run([*pip, "--target", half, tree], check=True)
            half.rename(folder)
    return folder


def shown(ratios: list[float]) -> str:
    low, high = quantile_test(ratios, p=0.5).confidence_interval(0.95)
    return f"{median(ratios):.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Install both, run the jobs, and print the table."""
    parser = command_line(__doc__, ROUNDS)
    parser.add_argument("--base", required=True, metavar="COMMIT", help="commit, tag or branch")
    chosen = parser.parse_args()
    if chosen.rounds < 6:
        parser.error("--rounds: a median of fewer than 6 ratios has no 95 % interval")
    commit = commit_of(parser, chosen.base)
    found = jobs_of(chosen_topics(parser, chosen.topics), chosen)
    paths = {"base": installed(commit), "now": ROOT / "build" / "plain"}
    # As pip does for the base; not all installers compile.
    compile_dir(paths["now"], quiet=1)
    print(f"{machine()}\nbase: {chosen.base} ({commit[:9]})\n\n{HEAD}", flush=True)
    for folder, family in found:
        for job in family:
            if not job.floor:
                continue
            commands = dict.fromkeys(paths, job.command)
            try:
                # The first round compiles, and fills the disk's cache.
                in_turn(commands, folder, 1, clock=job.clock, paths=paths)
                rounds = chosen.rounds
                cost = in_turn(commands, folder, rounds, clock=job.clock, paths=paths)
            except JobError as error:
                print(f"{job.name:<44}  {error}", flush=True)
                continue
            base, now = cost["base"], cost["now"]
            ratios = [shown(now.ratios(base, what)) for what in ("seconds", "processor")]
            print(
                f"{job.name:<44}  {base.median('seconds'):8.2f}  {now.median('seconds'):8.2f}  "
                f"{ratios[0]:>22}  {ratios[1]:>22}",
                flush=True,
            )


if __name__ == "__main__":
    main()
