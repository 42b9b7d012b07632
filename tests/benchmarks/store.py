"""Where the data of the benchmark are kept, and how much there is of each.

The data are made in a process of their own, and nothing heavy is imported here: the memory of the
process that measures would count as that of its children.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "build" / "bench"
MAKER = Path(__file__).with_name("data.py")
SIZES = {
    "hico": 9658,
    "repeated": 9658,
    "v_coco": 4946,
    "growth": 9658,
    "sweep": 1000,
    "questions": 10_000,
    "literals": 9658,
    "pictures": 8,
}
"""Of each data set: images, questions or pictures."""
STEPS = (1, 4, 16, 64)
"""How many times the images of HICO-DET are repeated, to see how time and memory grow."""
MODELS = ("one_stage", "two_stage", "weak")
CONFORMANCE = Path(__file__).resolve().parents[3] / "shared" / "conformance" / "hico_det_diagnosis"
"""400 images with real annotations, beside the repository: the data set ``repeated`` needs them."""


def prepare(name: str, size: int) -> Path:
    """Make a data set where it is not there yet, or there in another size; return its folder."""
    folder = FOLDER / name
    told = folder / "counts.json"
    if not told.exists() or json.loads(told.read_text())["size"] != size:
        print(f"making {name} ({size:,}) ...", file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        subprocess.run([sys.executable, MAKER, name, str(size)], cwd=folder, check=True)
    return folder


def counts_of(folder: Path) -> dict[str, int]:
    """Tell how many triplets, pictures or questions the files of a data set hold."""
    counts: dict[str, int] = json.loads((folder / "counts.json").read_text())
    return counts
