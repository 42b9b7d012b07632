"""Two detectors in one figure, from the JSON files that ``diaghoi report --json`` writes.

    python examples/compare.py [ONE.json TWO.json ...]

Without files, two simulated detectors are compared.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import diaghoi
from diaghoi import plots, simulate
from diaghoi.report.json import write_json


def make_files(folder: Path) -> list[Path]:
    """Write the reports of two simulated detectors, as the command line does."""
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(200, rng)
    files = []
    for name, detector in (("one-stage", simulate.ONE_STAGE), ("two-stage", simulate.TWO_STAGE)):
        predictions = simulate.detect(annotations, detector, rng)
        diagnosis = diaghoi.diagnose(annotations, predictions, label=name)
        files.append(folder / f"{name}.json")
        write_json(files[-1], diagnosis.to_dict())
    return files


def compare(files: list[Path]) -> None:
    """Draw the bars of all files side by side, and print their heights."""
    results: list[dict[str, Any]] = [json.loads(file.read_text("utf-8")) for file in files]
    output = Path(__file__).parent / "output"
    output.mkdir(exist_ok=True)
    axes = plots.delta_map(results)
    plots.save(axes.figure, output / "compare.pdf", caption=plots.caption(results))

    print(f"{'ΔmAP, points':16}" + "".join(f"{result['label']:>12}" for result in results))
    for name, oracle in diaghoi.ORACLES.items():
        gains = (result["oracles"][name]["delta_map"]["full"] for result in results)
        shown = ("–" if gain is None else f"{100 * gain:+.2f}" for gain in gains)
        print(f"{oracle.title:16}" + "".join(f"{gain:>12}" for gain in shown))
    print(f"\nThe figure is {output / 'compare.pdf'}.")


def main() -> None:
    """Compare the files that are given, or two that are made here."""
    with tempfile.TemporaryDirectory() as folder:
        compare([Path(name) for name in sys.argv[1:]] or make_files(Path(folder)))


if __name__ == "__main__":
    main()
