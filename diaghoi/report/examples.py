"""Examples of semantic matching as text, CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from os import PathLike
from pathlib import Path

from diaghoi.exceptions import InputError
from diaghoi.formats.output import replacing
from diaghoi.report.spreadsheet import csv_text
from diaghoi.semantic.examples import Example

SUFFIXES = (".txt", ".csv", ".json")
FIELDS = (
    *("image", "annotated", "predicted", "matched", "score", "verb", "object", "total"),
    "unmatched",
)


def check_examples_file(path: str | PathLike[str]) -> None:
    """Refuse a file whose name does not say how to write examples.

    Raises
    ------
    InputError
        For another ending than ``.txt``, ``.csv`` and ``.json``.
    """
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{path}: examples are written as {', '.join(SUFFIXES)}; give a file with such a name"
        )


def write_examples(path: str | PathLike[str], examples: Sequence[Example]) -> None:
    """Write examples; the file appears whole or not at all.

    Parameters
    ----------
    path : path
        ``.txt`` for people, ``.csv`` or ``.json`` (a list) for programs.
    examples : sequence of Example
        Those of an image stand together.

    Raises
    ------
    InputError
        For another ending, and a file that cannot be written.
    """
    check_examples_file(path)
    suffix = Path(path).suffix.lower()
    rows = [asdict(example) for example in examples]
    if suffix == ".json":
        text = json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    elif suffix == ".csv":
        text = csv_text(FIELDS, [[row[field] for field in FIELDS] for row in rows])
    else:
        text = examples_text(examples)
    with replacing(path) as temporary:
        # Names of images need not be Unicode.
        temporary.write_bytes(text.encode("utf-8", errors="replace"))


def examples_text(examples: Sequence[Example]) -> str:
    """Write examples as the supplement of SHOE shows them, image by image."""
    lines: list[str] = []
    for image, of_image in groupby(examples, key=lambda example: example.image):
        lines += [image or "image without a name"]
        for predicted, same in groupby(of_image, key=lambda example: example.unmatched):
            rows = list(same)
            if predicted is not None and predicted > len(rows):
                best = "" if rows[0].score is None else " best"
                lines += [f"  unmatched, {len(rows)}{best} of {predicted:,}:"]
            lines += [f"  {line}" for example in rows for line in _lines(example)]
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
