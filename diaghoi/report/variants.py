"""Variants of a run beside the run itself, as tables 5 and 6 of the Diag-HOI paper have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diaghoi.comparison.figures import Unit
from diaghoi.report.numbers import shown

# Part of a result, key in it, heading in two lines, and unit.
COLUMNS: tuple[tuple[str, str, str, Unit], ...] = (
    ("pairs", "per_image", "Pairs\nan image", "number"),
    ("pairs", "recall", "Pair\nrecall, %", "percent"),
    ("pairs", "precision", "Pair\nprecision, %", "percent"),
    ("map", "full", "\nmAP, %", "percent"),
)
HEADS = ("Variants", *(head for *_, head, _ in COLUMNS))
CAPTION = "In brackets the difference from the run as it was given."


def variant_rows(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Show a run and its variants: pairs an image, pair recall and precision, and mAP.

    Parameters
    ----------
    result : mapping
        As from :meth:`diaghoi.Diagnosis.to_dict`, with what
        :func:`diaghoi.diagnosis.variants.variant_figures` gives under ``variants``, by the name of
        each.

    Returns
    -------
    list of tuple of str
        Name and one cell for each of ``HEADS``; below each variant its difference in brackets.
    """
    rows = [("As given", *_cells(result))]
    for name, variant in result["variants"].items():
        rows.append((name[:1].upper() + name[1:], *_cells(variant)))
        rows.append(("", *(f"({cell})" for cell in _cells(variant["difference"], signed=True))))
    return rows


def _cells(figures: Mapping[str, Any], *, signed: bool = False) -> list[str]:
    return [shown(figures[part][key], unit, signed=signed) for part, key, _, unit in COLUMNS]
