"""Write examples of semantic matching as text, CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from diaghoi.report.spreadsheet import csv_text
from diaghoi.semantic.examples import Example

FIELDS = (
    *("image", "annotated", "predicted", "matched", "score", "verb", "object", "total"),
    "unmatched",
)


def examples_text(examples: Sequence[Example], suffix: str = ".txt") -> str:
    """Write examples as text, in the style of the SHOE supplement, or as CSV or JSON.

    Parameters
    ----------
    examples : sequence of Example
        Examples, with the examples of one image next to each other.
    suffix : {".txt", ".csv", ".json"}
        ``.txt`` for people; ``.csv`` or ``.json`` (a list) for programs.
    """
    rows = [asdict(example) for example in examples]
    if suffix == ".json":
        return json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if suffix == ".csv":
        return csv_text(FIELDS, [[row[field] for field in FIELDS] for row in rows])
    lines: list[str] = []
    for image, of_image in groupby(examples, key=lambda example: example.image):
        lines += [image or "image without a name"]
        for predicted, same in groupby(of_image, key=lambda example: example.unmatched):
            of_kind = list(same)
            if predicted is not None and predicted > len(of_kind):
                best = "" if of_kind[0].score is None else " best"
                lines += [f"  unmatched, {len(of_kind)}{best} of {predicted:,}:"]
            lines += [f"  {line}" for example in of_kind for line in _lines(example)]
        lines += [""]
    return "\n".join(lines)


def _lines(example: Example) -> list[str]:
    score = "" if example.score is None else f" (score {example.score:.3f})"
    if not example.predicted:
        return [f"annotated: {example.annotated}", "  nothing predicted"]
    if example.matched:
        return [
            f"annotated: {example.annotated}",
            f"  predicted: {example.predicted}{score}",
            f"  similarity: {_similarity(example)}",
        ]
    lines = [f"unmatched: {example.predicted}{score}"]
    if example.total is not None:
        lines.append(f"  most similar to: {example.annotated}, {_similarity(example)}")
    return lines


def _similarity(example: Example) -> str:
    parts = (("verb", example.verb), ("object", example.object), ("both", example.total))
    return ", ".join(f"{name} {value:.3f}" for name, value in parts if value is not None)
