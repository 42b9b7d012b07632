"""Read, diagnose, print: the output of ``diaghoi report``, and the most costly error per class.

    python examples/report.py

Runs on simulated files; replace ``annotations.pkl`` and ``preds.pkl`` by your own.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console

import diaghoi
from diaghoi import simulate
from diaghoi.formats import write_pair_lists, write_triplet_lists
from diaghoi.report.columns import write_table
from diaghoi.report.json import write_json
from diaghoi.report.text import print_report

WORST = 8


def make_files(folder: Path) -> None:
    """Write what you already have: annotations, triplets and pairs."""
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(200, rng)
    predictions = simulate.detect(annotations, simulate.TWO_STAGE, rng)
    write_triplet_lists(folder / "annotations.pkl", annotations)
    write_triplet_lists(folder / "preds.pkl", predictions)
    write_pair_lists(folder / "pairs.pkl", predictions)


def print_worst_classes(diagnosis: diaghoi.Diagnosis) -> None:
    """Print the classes that lose most, weighted by the number of their annotations."""
    table = diagnosis.classes
    lost = np.nan_to_num((1 - table["ap"]) * table["annotated"])
    kinds = [name for name in diaghoi.ORACLES if not name.startswith("false")]
    gains = np.stack([np.nan_to_num(table[f"delta_{name}"]) for name in kinds])
    print(f"\n{'Class':28} {'Annotated':>9} {'AP, %':>7}  Costs most")
    for row in np.argsort(-lost, kind="stable")[:WORST]:
        worst = int(gains[:, row].argmax())
        print(
            f"{table['name'][row]:28} {table['annotated'][row]:9} {100 * table['ap'][row]:7.2f}  "
            f"{kinds[worst]} (+{100 * gains[worst, row]:.2f})"
        )


def main() -> None:
    """Diagnose a simulated two-stage detector."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_files(folder)
        annotations = diaghoi.read_annotations(folder / "annotations.pkl")
        predictions = diaghoi.read_predictions(folder / "preds.pkl", pairs=folder / "pairs.pkl")

    diagnosis = diaghoi.diagnose(annotations, predictions, label="two-stage detector")
    result = diagnosis.to_dict()
    print_report(result, Console(highlight=False))
    print_worst_classes(diagnosis)

    output = Path(__file__).parent / "output"
    output.mkdir(exist_ok=True)
    write_json(output / "report.json", result)
    write_table(output / "classes.csv", diagnosis.classes, sort="ap")
    write_table(output / "images.csv", diagnosis.images, sort="missed_gt", descending=True)
    print(f"\nAll numbers are in {output}: report.json, classes.csv and images.csv.")


if __name__ == "__main__":
    main()
