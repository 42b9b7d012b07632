"""Vary the constants by which words that are not rated get ratings.

``python tests/benchmarks/nearness.py LEVELS.csv ZEROS.csv``, where ``LEVELS.csv`` are the pairs of
interactions that the authors of SHOE published with a level, of which every other one is fitted to,
and ``ZEROS.csv`` their sample for the user study, which has pairs of level 0. Each line has one
constant changed: the mean absolute difference and the correlation on the fitted half of the first
file, for pairs whose verb or object differs, and the difference on the second.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

from diaghoi.semantic.published import agreement_with_published
from diaghoi.semantic.tables import senses
from diaghoi.semantic.tables.people import read_human_scores

STEPS = {"up": 0.05, "down": 0.1, "mentioned": 0.1, "least": 0.1}
OF_POS = {"v": "verb", "n": "object"}


def varied() -> Iterator[tuple[str, str, senses.Nearness]]:
    """Give the constants as they are, and with one changed."""
    for pos, now in senses.NEARNESS.items():
        yield pos, "as it is", now
        for name, step in STEPS.items():
            for value in (getattr(now, name) - step, getattr(now, name) + step):
                yield pos, f"{name} {value:.2f}", now._replace(**{name: value})


def main(levels: Path, zeros: Path) -> None:
    """Print a line for each set of constants."""
    published = [read_human_scores(path, scale=4) for path in (levels, zeros)]
    for pos, title, constants in varied():
        with patch.dict(senses.NEARNESS, {pos: constants}):
            found = [agreement_with_published(each, ("own", "own"))["rows"] for each in published]
        fitted, sample = (
            next(
                row["tables"][senses.NAME]
                for row in rows
                if (row["differs"], row["half"]) == (OF_POS[pos], half)
            )
            for rows, half in zip(found, ("fitted", "all"), strict=True)
        )
        print(
            f"{OF_POS[pos]:7} {title:16} {fitted['mean_absolute_difference']:.3f} "
            f"{fitted['correlation']:.3f} {sample['mean_absolute_difference']:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
