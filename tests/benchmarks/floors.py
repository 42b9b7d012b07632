"""What jobs are compared to: short programs that do no more than touch the same data."""

from __future__ import annotations

import sys

PYTHON = sys.executable
DIAGHOI = (PYTHON, "-m", "diaghoi")
EVERY = 10  # of how many runs of a study one is taken, where a part stands for all

NUMPY = "import numpy"
PICKLES = "import pickle, sys; kept = [pickle.load(open(f, 'rb')) for f in sys.argv[1:]]"
ARRAYS = """
import sys
import numpy as np
kept = [[archive[name] for name in archive.files] for archive in map(np.load, sys.argv[1:])]
"""
EACH_OF_MANY = """
from pathlib import Path
import numpy as np
for archive in map(np.load, sorted(Path().rglob("*.npz"))):
    kept = [archive[name] for name in archive.files]
"""
LINES = """
import json, sys
for file in sys.argv[1:]:
    for text in open(file) if file.endswith("l") else [open(file).read()]:
        json.loads(text)
"""
TEXT_OF_JSON = "import json, sys; kept = json.load(open(sys.argv[1]))"
LITERAL = """
import json, sys
from diaghoi.formats.text import load_literal
kept = load_literal(json.load(open(sys.argv[1])), sys.argv[1])
"""
PICTURES = """
from pathlib import Path
import numpy as np
from PIL import Image
for _ in range(5):
    for file in Path("clean").iterdir():
        Image.fromarray(np.asarray(Image.open(file))).save("floor.jpg", quality=95, subsampling=0)
"""

# These print the seconds that count, of the wall and of the processors: the data are read before.
_TIMED = """
import time
import diaghoi
from diaghoi.diagnosis.diagnose import diagnose_images
from diaghoi.data.scenes import COLUMNS

truth = diaghoi.read_annotations("annotations.npz")
found = diaghoi.read_predictions("one_stage.npz")
protocol = found.vocabulary.protocol
columns = [getattr(found, name) for name in COLUMNS if getattr(found, name) is not None]
clocks = time.perf_counter, time.process_time
seconds = []
for _ in range(5):
    start = [clock() for clock in clocks]
    kept = WORK
    seconds.append([clock() - since for clock, since in zip(clocks, start)])
print(*map(min, zip(*seconds)))
"""


def _timed(work: str) -> str:
    return _TIMED.replace("WORK", work)


COPYING = _timed("[column.copy() for column in columns]")
MATCHING = _timed("diagnose_images(truth, found, protocol)")


REPORTS = f"""
import time
from pathlib import Path
import diaghoi

truth = diaghoi.read_annotations("annotations.npz")
start = time.perf_counter(), time.process_time()
for file in sorted(Path().rglob("*/*.npz"))[::{EVERY}]:
    diaghoi.diagnose(truth, diaghoi.read_predictions(file)).to_dict()
print(time.perf_counter() - start[0], time.process_time() - start[1])
"""
"""One run of a study after the other, and nothing of what a sweep adds."""


def script(code: str, *arguments: str) -> tuple[str, ...]:
    return (PYTHON, "-c", code, *arguments)
