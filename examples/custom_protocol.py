"""Choices that differ from the benchmark: a stricter IoU, and rare classes by the test set.

    python examples/custom_protocol.py

A protocol is a named, frozen set of choices. Every report prints its name and its signature, so
that numbers are compared only if they mean the same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import diaghoi
from diaghoi import simulate


def main() -> None:
    """Diagnose one detector under three protocols."""
    rng = np.random.default_rng(0)
    annotations = simulate.annotations(200, rng)
    predictions = simulate.detect(annotations, simulate.ONE_STAGE, rng)

    benchmark = diaghoi.protocol("hico-det-520")
    # On the command line: --protocol hico-det-520,iou=0.75,rare=test
    strict = diaghoi.protocol("hico-det-520", iou=0.75, rare="test")
    # Any other choice, under a new name.
    area = replace(strict, name="strict-area", average_precision="area", top=50)

    for protocol in (benchmark, strict, area):
        diagnosis = diaghoi.diagnose(annotations, predictions, protocol)
        print(f"{protocol.name}: {protocol.signature}")
        means = (
            f"{split.replace('_', '-')} {'–' if value is None else f'{100 * value:.2f}'}"
            for split, value in diagnosis.mean_ap.items()
        )
        boxes = diagnosis.errors["human_box"] + diagnosis.errors["object_box"]
        print(f"  mAP, %: {', '.join(means)}; wrong boxes: {boxes:,}\n")


if __name__ == "__main__":
    main()
