"""The examples run as they stand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SAYS = {
    "report.py": ["two-stage detector on HICO-DET", "Costs most", "All numbers are in"],
    "training_loop.py": ["Epoch    mAP", "    3 "],
    "custom_protocol.py": ["IoU >= 0.75", "rare: < 10 test instances", "strict-area: "],
    "compare.py": ["2 models on HICO-DET", "Difference   +3.36", "The tables are also in"],
    "figures.py": ["delta_map.pdf: Cost of each error", "error_shares.pdf: "],
    "custom_error.py": ["False hold", "Remove wrong actions in which"],
    "sampl.py": ["Epoch  level", "Chosen: clean 6, low 0, middle 1, high 7"],
    "custom_data_set.py": ["detector on kitchen (kitchen)", "cut with knife   rare "],
}


def test_all_examples_are_tested() -> None:
    if not EXAMPLES.is_dir():
        pytest.skip("the examples are not installed with the package")
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAYS)
def test_example(name: str, tmp_path: Path) -> None:
    if not EXAMPLES.is_dir():
        pytest.skip("the examples are not installed with the package")
    # A copy, so that what it writes beside itself stays out of the repository.
    script = shutil.copy(EXAMPLES / name, tmp_path)
    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "COLUMNS": "80"},
        timeout=900,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    for words in SAYS[name]:
        assert words in done.stdout
