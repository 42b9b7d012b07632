"""Diagnose after every epoch of training, without writing files.

    python examples/training_loop.py

``Accumulator.update`` takes the arrays or tensors of a batch (tensors are detached and moved to the
CPU). ``Accumulator.log_to`` diagnoses and logs to TensorBoard or Weights & Biases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import diaghoi
from diaghoi import simulate

BATCH = 32
Image = dict[str, Any]


def as_arrays(scenes: diaghoi.Scenes, image: int) -> Image:
    """Return one image as the arrays that a data loader or a detector returns."""
    one = scenes.between(image, image + 1)
    arrays: Image = {
        "boxes": one.box_xyxy,
        "labels": one.box_label,
        "sub_ids": one.pair_human[one.triplet_pair],
        "obj_ids": one.pair_object[one.triplet_pair],
        "verbs": one.triplet_verb,
    }
    if one.triplet_score is not None:
        arrays |= {"scores": one.triplet_score, "action_scores": one.triplet_action_score}
    return arrays


def batches(
    annotations: diaghoi.Scenes, predictions: diaghoi.Scenes
) -> Iterator[tuple[list[str], list[Image], list[Image]]]:
    """Simulate the evaluation loop over a data loader."""
    for first in range(0, len(annotations), BATCH):
        images = range(first, min(first + BATCH, len(annotations)))
        yield (
            annotations.names[images.start : images.stop].tolist(),
            [as_arrays(predictions, image) for image in images],
            [as_arrays(annotations, image) for image in images],
        )


def main() -> None:
    """Evaluate a simulated detector that improves from epoch to epoch."""
    annotations = simulate.annotations(150, np.random.default_rng(0))
    accumulator = diaghoi.Accumulator("hico-det-520", label="my model")
    print("Epoch    mAP  Gain of repairing: association  action  duplicate")
    for epoch, confused in enumerate((0.6, 0.3, 0.1), start=1):
        detector = replace(simulate.ONE_STAGE, confused_verbs=confused)
        predictions = simulate.detect(annotations, detector, np.random.default_rng(epoch))

        accumulator.reset()
        for names, predicted, annotated in batches(annotations, predictions):
            accumulator.update(names, predicted, annotated)
        diagnosis = accumulator.compute()

        # With a tracker: diagnosis = accumulator.log_to(SummaryWriter("runs/mine"), step=epoch)
        gains = [
            100 * (diagnosis.oracles[name]["delta_map"]["full"] or 0.0)
            for name in ("association", "action", "duplicate")
        ]
        print(
            f"{epoch:5} {100 * (diagnosis.mean_ap['full'] or 0.0):6.2f}"
            f"{gains[0]:+31.2f} {gains[1]:+7.2f} {gains[2]:+10.2f}"
        )


if __name__ == "__main__":
    main()
