"""A data set of your own, from a description in one small file.

    python examples/custom_data_set.py

With the description everything works as on HICO-DET, here and on the command line:
``diaghoi report preds.json --dataset kitchen.toml``.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import diaghoi
from diaghoi.report.text import print_report

DESCRIPTION = """\
name = "kitchen"
objects = ["person", "cup", "knife", "pan"]
verbs = ["hold", "wash", "cut with"]
annotations = "annotations.json"

[classes]  # which verbs go with which objects
hold = ["cup", "knife", "pan"]
wash = ["cup", "pan"]
"cut with" = ["knife"]

[rare]
classes = ["cut with knife"]
"""
PAIRS = [(0, 1), (0, 2), (0, 3), (1, 1), (1, 3), (2, 2)]  # verb and object of each class


def make_files(folder: Path, rng: np.random.Generator, images: int = 60) -> None:
    """Write the files that you have already, in the simplest layout: a list of boxes, of triplets.

    The detector finds all boxes within a few pixels, and takes every fourth action for another.
    """
    annotated, predicted = [], []
    for number in range(images):
        verb, thing = PAIRS[number % len(PAIRS)]
        corner = rng.uniform(0, 200, (2, 2))
        boxes = np.hstack([corner, corner + rng.uniform(60, 200, (2, 2))])
        seen = boxes + rng.normal(0, 4, boxes.shape)
        taken_for = verb if rng.random() < 0.75 else 0
        score = float(rng.uniform(0.3, 0.9))
        image = {"filename": f"{number:03}.jpg"}
        triplet = {"subject_id": 0, "object_id": 1, "category_id": verb}
        found = triplet | {"category_id": taken_for, "score": score, "action_score": score}
        annotated.append(image | {"annotations": listed(boxes, thing), "hoi_annotation": [triplet]})
        predicted.append(image | {"predictions": listed(seen, thing), "hoi_prediction": [found]})
    (folder / "annotations.json").write_text(json.dumps(annotated))
    (folder / "preds.json").write_text(json.dumps(predicted))
    (folder / "kitchen.toml").write_text(DESCRIPTION)


def listed(boxes: np.ndarray, thing: int) -> list[dict[str, Any]]:
    """List the box of a person and that of an object."""
    labels = (0, thing)
    return [
        {"bbox": box, "category_id": label}
        for box, label in zip(boxes.tolist(), labels, strict=True)
    ]


def main() -> None:
    """Read both files by the description, and report."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_files(folder, np.random.default_rng(0))
        kitchen = folder / "kitchen.toml"
        annotations = diaghoi.read_annotations(folder / "annotations.json", dataset=str(kitchen))
        predictions = diaghoi.read_predictions(folder / "preds.json", dataset=str(kitchen))

    diagnosis = diaghoi.diagnose(annotations, predictions, label="detector")
    print_report(diagnosis.to_dict(), Console(highlight=False))
    table = diagnosis.classes
    for name, splits, ap in zip(table["name"], table["splits"], table["ap"], strict=True):
        print(f"{name:16} {splits:10} {100 * ap:6.2f}")


if __name__ == "__main__":
    main()
