"""Strength of each severity: the table ``strengths.csv`` of the package.

The paper describes what grows with severity (appendix A.3) without values. Those of the table start
from customary ones and are set by eye: severity 1 is visible at once, and a person still recognises
the scene at severity 5. They are stronger or weaker if table 3 of the paper shows that a corruption
costs detectors much (glass, defocus and motion blur, pixelation) or little (vignette, exposure,
shot noise). Perspective distortion moves objects, and boxes do not follow: with the strengths of
the table, a V-COCO detector that follows the objects keeps 78 to 79 % of its role AP, and the
models of table 3 keep 75 to 78 %. Results with other strengths are not comparable, so an output
folder keeps a digest of the table.
"""

from __future__ import annotations

import csv
import hashlib
from functools import cache
from importlib import resources

# Shorter side, in pixels, of the pictures for which the lengths in the table are meant.
REFERENCE = 480


def strengths_digest() -> str:
    """Return a digest of the table, which changes with any strength."""
    return hashlib.sha256(_text().encode()).hexdigest()[:16]


def strength(corruption: str, severity: int, shorter: int) -> dict[str, float]:
    """Return the parameters of a corruption for a picture.

    Parameters
    ----------
    corruption : str
        Its name.
    severity : int
        1 to 5.
    shorter : int
        Pixels of the shorter side of the picture. Lengths in pixels grow with it, so that a
        severity looks the same in small and large pictures.

    Returns
    -------
    dict
        Value of each parameter.
    """
    return {
        parameter: values[severity - 1] * (shorter / REFERENCE if unit == "pixels" else 1)
        for parameter, (unit, values) in strengths()[corruption].items()
    }


@cache
def strengths() -> dict[str, dict[str, tuple[str, tuple[float, ...]]]]:
    """Read the table.

    Returns
    -------
    dict of dict
        Unit and the values of the five severities, by corruption and parameter.
    """
    table: dict[str, dict[str, tuple[str, tuple[float, ...]]]] = {}
    for row in csv.DictReader(_text().splitlines()):
        values = tuple(float(row[str(severity)]) for severity in range(1, 6))
        table.setdefault(row["corruption"], {})[row["parameter"]] = (row["unit"], values)
    return table


def _text() -> str:
    return (resources.files("diaghoi.robustness") / "strengths.csv").read_text(encoding="utf-8")
