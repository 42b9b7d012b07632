"""Descriptions of data sets that nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

NEEDED = """
name = "zoo"
objects = ["person", "cat", "ball"]
verbs = ["feed", "throw"]
"""


def write_description(folder: Path, text: str = "", needed: str = NEEDED) -> Path:
    path = folder / "zoo.toml"
    path.write_text(needed + text, encoding="utf-8")
    return path


# A data set of its own: a detector of it is written as many code bases would.
KITCHEN = """
name = "kitchen"
objects = ["person", "knife", "cup", "pan"]
verbs = ["hold", "wash", "cut with"]
numbers = { objects = 1, verbs = 1 }
annotations = "gt.json"

[classes]
hold = ["knife", "cup", "pan"]
wash = ["knife", "pan"]
"cut with" = ["knife"]
"""
# (verb, object) of its HOI classes, in their order.
CLASSES = [(0, 1), (0, 2), (0, 3), (1, 1), (1, 3), (2, 1)]
HUMAN, THING = (10, 10, 60, 200), (80, 50, 180, 120)
Image = dict[str, Any]


def annotated(
    *,
    first: int,
    first_verb: int | None = None,
    classes: Sequence[tuple[int, int]] = tuple(CLASSES),
    name: str = "file_name",
) -> list[Image]:
    """Return 60 images with one triplet each, objects and verbs counted from ``first``."""
    verbs = first if first_verb is None else first_verb
    return [
        {
            name: f"camera_{number % 3}/frame_{number:04}.jpg",
            "annotations": [
                {"bbox": list(HUMAN), "category_id": first},
                {"bbox": list(THING), "category_id": first + label},
            ],
            "hoi_annotation": [{"subject_id": 0, "object_id": 1, "category_id": verbs + verb}],
        }
        for number in range(60)
        for verb, label in [classes[number % len(classes)]]
    ]


def predicted(
    *,
    first: int,
    first_verb: int | None = None,
    classes: Sequence[tuple[int, int]] = tuple(CLASSES),
    name: str = "filename",
) -> list[Image]:
    """Return predictions on :func:`annotated`: right ones, wrong classes and missed boxes."""
    draw = np.random.default_rng(0)
    verbs = first if first_verb is None else first_verb
    images = []
    for number, truth in enumerate(annotated(first=first, classes=classes)):
        boxes: list[dict[str, Any]] = []
        rows: list[dict[str, Any]] = []
        right = classes[number % len(classes)]
        for verb, label in [right, right, classes[draw.integers(len(classes))]]:
            far = 70 * (draw.random() < 0.3)
            corners = np.array([HUMAN, THING]) + draw.normal(0, 4, (2, 4)) + [[0], [far]]
            rows.append(
                {
                    "subject_id": len(boxes),
                    "object_id": len(boxes) + 1,
                    "category_id": verbs + verb,
                    "score": float(draw.random()),
                }
            )
            boxes += [
                {"bbox": box, "category_id": category}
                for box, category in zip(corners.tolist(), (first, first + label), strict=True)
            ]
        images.append({name: truth["file_name"], "predictions": boxes, "hoi_prediction": rows})
    return images


def by_class(
    images: list[Image],
    *,
    first: int = 0,
    bare: bool = True,
    classes: Sequence[tuple[int, int]] = tuple(CLASSES),
) -> list[Image]:
    """Return images counted from 0 as GEN-VLKT numbers triplets, and without categories if bare."""
    result = []
    for image in images:
        boxes = image.get("predictions") or image["annotations"]
        key = "hoi_prediction" if "hoi_prediction" in image else "hoi_annotation"
        rows = [
            row
            | {
                "category_id": first
                + classes.index((row["category_id"], boxes[row["object_id"]]["category_id"]))
            }
            for row in image[key]
        ]
        listed = {"predictions": [{"bbox": box["bbox"]} for box in boxes]} if bare else {}
        result.append(image | listed | {key: rows})
    return result
