"""Measure the speed and the memory of the main job at full size: ``make bench``.

Makes data of the size of the test sets of HICO-DET and V-COCO once (in ``build/bench``), then runs
each job in a process of its own, import included, and prints its best wall time, its peak memory,
and the ratio of both to the floor: bare ``pickle.load`` of the same pickles in the same run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

MAKE_V_COCO = """
import sys
import numpy as np
from diaghoi import simulate
from diaghoi.formats import write, write_v_coco

rng = np.random.default_rng(0)
truth = simulate.v_coco_annotations(int(sys.argv[1]), rng)
found = simulate.v_coco_detect(truth, rng)
write("v_coco_annotations.npz", truth)
write("v_coco.npz", found)
write_v_coco("v_coco.pkl", found)
"""
MAKE_WEAK = """
import numpy as np
import diaghoi
from diaghoi import simulate
from diaghoi.formats import write

truth = diaghoi.read_annotations("annotations.npz")
write("weak.npz", simulate.detect(truth, simulate.WEAK, np.random.default_rng(1)))
"""
MODELS = {"one_stage": "one", "two_stage": "two", "weak": "two"}
STUDY = 'annotations = "annotations.npz"\n' + "".join(
    f'[[model]]\nlabel = "{name}"\nfile = "{name}.npz"\nstage = "{stage}"\nbackbone = "{name}"\n'
    for name, stage in MODELS.items()
)
DIAGHOI = [sys.executable, "-m", "diaghoi"]
FOLDER = Path(__file__).resolve().parents[2] / "build" / "bench"
BARE = "import pickle, sys; kept = [pickle.load(open(f, 'rb')) for f in sys.argv[1:]]"
BARE_ARRAYS = """
import sys
import numpy as np
kept = [[archive[name] for name in archive.files] for archive in map(np.load, sys.argv[1:])]
"""
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
        subprocess.run([*DIAGHOI, *demo], check=True)
        subprocess.run([sys.executable, "-c", MAKE_WEAK], cwd=FOLDER, check=True)
        (FOLDER / "study.toml").write_text(STUDY)
        stamp.write_text(str(images))


def prepare_v_coco(images: int) -> None:
    """Simulate V-COCO where it is not there yet.

    In a process of its own, because the memory of this one would count as that of its children.
    """
    stamp = FOLDER / "v_coco_images.txt"
    if not stamp.exists() or stamp.read_text() != str(images):
        print(f"simulating {images} V-COCO images ...", file=sys.stderr)
        subprocess.run([sys.executable, "-c", MAKE_V_COCO, str(images)], cwd=FOLDER, check=True)
        stamp.write_text(str(images))


def measure(title: str, jobs: dict[str, list[str]], repeat: int) -> None:
    """Run jobs and print a table; the first is the floor."""
    print(f"\n{title}, best of {repeat}")
    print(f"{'job':36}{'seconds':>9}{'x floor':>9}{'MB':>8}{'x floor':>9}")
    floor = None
    for name, command in jobs.items():
        done = run(command, repeat)
        floor = floor or done
        print(
            f"{name:36}{done.seconds:9.2f}{done.seconds / floor.seconds:9.2f}"
            f"{done.megabytes:8.0f}{done.megabytes / floor.megabytes:9.2f}",
            flush=True,
        )


def jobs_of(detector: str, truth: str, pickles: list[str]) -> dict[str, list[str]]:
    """List the jobs on the files of one detector.

    ``pickles`` are, beside the predictions, the files that the report from pickles reads: options
    and names.
    """
    files = [f"{detector}.pkl", *(name for name in pickles if name.endswith(".pkl"))]
    report = [*DIAGHOI, "report", "--quiet", "--json", "out.json"]
    return {
        "bare pickle.load of the pickles": [sys.executable, "-c", BARE, *files],
        "the same, garbage collector off": [sys.executable, "-c", WITHOUT_COLLECTOR, *files],
        "report from the columnar files": [
            *report,
            *(f"{detector}.npz", "--annotations", f"{truth}.npz"),
        ],
        "report from the pickles": [*report, f"{detector}.pkl", *pickles],
    }


def study_jobs() -> dict[str, list[str]]:
    """List the jobs on three detectors, and those that go further than a report."""
    files = [f"{name}.npz" for name in ("annotations", *MODELS)]
    report = [*DIAGHOI, "report", "one_stage.npz", "--annotations", "annotations.npz", "--quiet"]
    return {
        "bare np.load of the four files": [sys.executable, "-c", BARE_ARRAYS, *files],
        "compare three models": [*DIAGHOI, "compare", "study.toml", "--quiet"],
        "all figures of three models": [
            *(*DIAGHOI, "figures", "study.toml", "--out", "figures", "--quiet"),
        ],
        "page of one model": [*report, "--html", "page.html"],
        "attribution of one model": [*report, "--attribution"],
        "1,000 resamples, attribution": [*report, "--bootstrap", "1000", "--attribution"],
        "causes and calibration": [*report, "--causes", "--calibration"],
    }


def main() -> None:
    """Run all jobs and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=9658)
    parser.add_argument("--v-coco-images", type=int, default=4946)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    prepare(arguments.images)
    for detector in ("one_stage", "two_stage"):
        pickles = ["--annotations", "annotations.pkl", "--pairs", f"{detector}_pairs.pkl"]
        jobs = jobs_of(detector, "annotations", pickles)
        jobs["diaghoi --help"] = [*DIAGHOI, "--help"]
        jobs["import diaghoi"] = [sys.executable, "-c", "import diaghoi"]
        measure(f"HICO-DET, {arguments.images} images, {detector}", jobs, arguments.repeat)
    title = f"HICO-DET, {arguments.images} images, a study of three models"
    measure(title, study_jobs(), min(arguments.repeat, 2))
    prepare_v_coco(arguments.v_coco_images)
    pickles = ["--annotations", "v_coco_annotations.npz"]
    jobs = jobs_of("v_coco", "v_coco_annotations", pickles)
    measure(f"V-COCO, {arguments.v_coco_images} images", jobs, min(arguments.repeat, 2))


if __name__ == "__main__":
    main()
