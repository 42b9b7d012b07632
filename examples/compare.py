"""Detectors side by side, as tables for the terminal, for a paper and for a spreadsheet.

    python examples/compare.py [ONE.json TWO.json ...]

The files are results of ``diaghoi report --json``. Without files, two simulated detectors are
compared. On the command line: ``diaghoi compare ONE.json TWO.json --out tables.tex``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console

import diaghoi
from diaghoi import simulate
from diaghoi.comparison.comparison import compare
from diaghoi.comparison.study import Model
from diaghoi.report.comparison import print_comparison
from diaghoi.report.json import write_json
from diaghoi.report.latex import to_latex
from diaghoi.report.spreadsheet import to_csv

DETECTORS = {"one": simulate.ONE_STAGE, "two": simulate.TWO_STAGE}


def make_models(folder: Path) -> list[Model]:
    """Write the results of two simulated detectors; set the stage and backbone of your own."""
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(200, rng)
    models = []
    for stage, detector in DETECTORS.items():
        model = Model(label=f"{stage}-stage", file=folder / f"{stage}.json", stage=stage)
        predictions = simulate.detect(annotations, detector, rng)
        diagnosis = diaghoi.diagnose(annotations, predictions, label=model.label)
        write_json(model.file, diagnosis.to_dict())
        models.append(model)
    return models


def main() -> None:
    """Compare the given files, or two that are made here."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(name) for name in sys.argv[1:]]
        models = [Model(label=file.stem, file=file) for file in files]
        models = models or make_models(Path(folder))
        results = [json.loads(model.file.read_text("utf-8")) for model in models]

    comparison = compare(*results, models=models)
    print_comparison(comparison, Console(highlight=False))

    output = Path(__file__).parent / "output"
    output.mkdir(exist_ok=True)
    (output / "compare.tex").write_text(to_latex(comparison), encoding="utf-8")
    (output / "compare.csv").write_text(to_csv(comparison), encoding="utf-8")
    print(f"\nThe tables are also in {output / 'compare.tex'} and in compare.csv beside it.")


if __name__ == "__main__":
    main()
