"""How often bootstrap intervals hold the expected figure: many simulated test sets of one size.

``python tests/benchmarks/interval_coverage.py`` prints the table of docs/certainty.md for one
detector, in about five minutes on one core.

The truth is the mean of a figure over all the sets. The value of a large population would be the
wrong one: mAP depends on the size of the test set, and an interval is one for the figure that is to
be expected of sets of this size. The error of the mean of 200 sets is a fourteenth of the spread of
the sets, little beside the width of an interval.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from typing import Any

import numpy as np

from diaghoi import simulate
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.oracles import ORACLES
from diaghoi.statistics.bootstrap import bootstrap

PATHS = {"mAP": "map.full"} | {
    f"ΔmAP, {oracle.title.lower()}": f"oracles.{name}.delta_map.full"
    for name, oracle in ORACLES.items()
}
Sample = dict[str, tuple[float, tuple[float, float] | None]]


def samples(detector: str, sets: int, images: int, resamples: int, seed: int) -> Iterator[Sample]:
    """Diagnose simulated sets: the value of each figure with its interval."""
    for number, own in enumerate(np.random.SeedSequence(seed).spawn(sets)):
        rng = np.random.default_rng(own)
        truth = simulate.annotations(images, rng)
        found = simulate.detect(truth, simulate.DETECTORS[detector], rng)
        diagnosis = diagnose(truth, found)
        result: Any = diagnosis.to_dict()
        intervals = bootstrap(diagnosis, resamples, seed=number).intervals
        yield {
            title: (float(reduce(getitem, path.split("."), result)), intervals[path])
            for title, path in PATHS.items()
        }


def table(drawn: list[Sample]) -> str:
    """Write coverage as Markdown: of the sets whose figure has an interval."""
    rows = [
        "| | expected | spread of the sets | sets with an interval | of them hold the expected |",
        "|---|---:|---:|---:|---:|",
    ]
    for title in PATHS:
        values = np.array([sample[title][0] for sample in drawn])
        expected = values.mean()
        bounds = [sample[title][1] for sample in drawn if sample[title][1] is not None]
        held = [low <= expected <= high for low, high in bounds]
        share = f"{100 * np.mean(held):.0f} %" if held else "–"
        cells = (f"{100 * expected:.2f}", f"{100 * values.std():.2f}", str(len(bounds)), share)
        rows.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    """Print the table for the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--detector", default="one_stage", choices=simulate.DETECTORS)
    for name, default in (("sets", 200), ("images", 300), ("resamples", 250), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    settings = (given.detector, given.sets, given.images, given.resamples, given.seed)
    print(table(list(samples(*settings))))


if __name__ == "__main__":
    main()
