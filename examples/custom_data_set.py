"""A data set of your own, described in one small file.

    python examples/custom_data_set.py

With the description, everything works as for HICO-DET, in Python and on the command line:
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
    """Write what you already have, in the simplest layout: a list of boxes, a list of triplets.

    The detector finds all boxes within a few pixels, and gets about every fourth action wrong.
    """
    annotated, predicted = [], []
    for number in range(images):
        verb, target = PAIRS[number % len(PAIRS)]
        corner = rng.uniform(0, 200, (2, 2))
        boxes = np.hstack([corner, corner + rng.uniform(60, 200, (2, 2))])
        detected = boxes + rng.normal(0, 4, boxes.shape)
        predicted_verb = verb if rng.random() < 0.75 else 0
        score = float(rng.uniform(0.3, 0.9))
        image = {"filename": f"{number:03}.jpg"}
        triplet = {"subject_id": 0, "object_id": 1, "category_id": verb}
        found = triplet | {"category_id": predicted_verb, "score": score, "action_score": score}
        truth = {"annotations": as_dicts(boxes, target), "hoi_annotation": [triplet]}
        annotated.append(image | truth)
        output = {"predictions": as_dicts(detected, target), "hoi_prediction": [found]}
        predicted.append(image | output)
    (folder / "annotations.json").write_text(json.dumps(annotated))
    (folder / "preds.json").write_text(json.dumps(predicted))
    (folder / "kitchen.toml").write_text(DESCRIPTION)


def as_dicts(boxes: np.ndarray, target: int) -> list[dict[str, Any]]:
    """Give the box of a person and the box of an object as dicts."""
    labels = (0, target)
    return [
        {"bbox": box, "category_id": label}
        for box, label in zip(boxes.tolist(), labels, strict=True)
    ]


def main() -> None:
    """Read both files with the description, and report."""
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
