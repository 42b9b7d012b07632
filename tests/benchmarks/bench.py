"""Measure the speed and the memory of the main job at full size: ``make bench``.

Makes a data set of the size of HICO-DET's test set once (in ``build/bench``), then runs each job
in a process of its own, import included, and prints its best wall time, its peak memory, and the
ratio of both to the floor: bare ``pickle.load`` of the same three pickles in the same run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "build" / "bench"
BARE = "import pickle, sys; kept = [pickle.load(open(f, 'rb')) for f in sys.argv[1:]]"
WITHOUT_COLLECTOR = f"import gc; gc.disable(); {BARE}"


@dataclass(frozen=True)
class Run:
    """Best wall time (s) and peak memory (MB) of a job."""

    seconds: float
    megabytes: float


def run(command: list[str], repeat: int) -> Run:
    """Run a command some times in processes of its own."""
    seconds, megabytes = [], []
    for _ in range(repeat):
        start = time.perf_counter()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=FOLDER)
        _, status, usage = os.wait4(child.pid, 0)
        seconds.append(time.perf_counter() - start)
        megabytes.append(usage.ru_maxrss / 1024)
        if status:
            raise SystemExit(f"failed with status {status}: {' '.join(command)}")
    return Run(min(seconds), max(megabytes))


def prepare(images: int) -> None:
    """Simulate the data set where it is not there yet."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    stamp = FOLDER / "images.txt"
    if not stamp.exists() or stamp.read_text() != str(images):
        print(f"simulating {images} images ...", file=sys.stderr)
        demo = ["demo", "--out", str(FOLDER), "--images", str(images), "--quiet"]
        subprocess.run([sys.executable, "-m", "diaghoi", *demo], check=True)
        stamp.write_text(str(images))


def main() -> None:
    """Run all jobs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=9658)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    prepare(arguments.images)
    python = sys.executable
    for detector in ("one_stage", "two_stage"):
        pickles = ("annotations.pkl", f"{detector}.pkl", f"{detector}_pairs.pkl")
        report = [python, "-m", "diaghoi", "report", "--quiet", "--json", "out.json"]
        jobs = {
            "bare pickle.load of three pickles": [python, "-c", BARE, *pickles],
            "the same, garbage collector off": [python, "-c", WITHOUT_COLLECTOR, *pickles],
            "report from the columnar files": [
                *report,
                f"{detector}.npz",
                "--annotations",
                "annotations.npz",
            ],
            "report from the pickles": [
                *report,
                f"{detector}.pkl",
                "--pairs",
                f"{detector}_pairs.pkl",
                "--annotations",
                "annotations.pkl",
            ],
            "diaghoi --help": [python, "-m", "diaghoi", "--help"],
            "import diaghoi": [python, "-c", "import diaghoi"],
        }
        print(f"\n{arguments.images} images, {detector}, best of {arguments.repeat}")
        print(f"{'job':36}{'seconds':>9}{'x floor':>9}{'MB':>8}{'x floor':>9}")
        floor = None
        for name, command in jobs.items():
            done = run(command, arguments.repeat)
            floor = floor or done
            print(
                f"{name:36}{done.seconds:9.2f}{done.seconds / floor.seconds:9.2f}"
                f"{done.megabytes:8.0f}{done.megabytes / floor.megabytes:9.2f}"
            )


if __name__ == "__main__":
    main()
