"""Small diagnoses to draw."""

from __future__ import annotations

import numpy as np
import pytest

from diaghoi import simulate
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.plots import FigureKind, ModelData, Source
from diaghoi.plots.figure import source_of


@pytest.fixture(scope="session")
def sources() -> list[Source]:
    """A one-stage, a two-stage and a weak detector on the same 60 simulated images."""
    truth = simulate.annotations(60, np.random.default_rng(0))
    detectors = {
        "One-stage": simulate.ONE_STAGE,
        "Two-stage": simulate.TWO_STAGE,
        "Weak": simulate.WEAK,
    }
    found = []
    for label, detector in detectors.items():
        predictions = simulate.detect(truth, detector, np.random.default_rng(1))
        found.append(source_of(diagnose(truth, predictions, label=label)))
    return found


@pytest.fixture(scope="session")
def models_of(sources: list[Source]):
    """Return a function that makes many models of a kind of figure out of three."""
    known: dict[tuple[str, int], object] = {}

    def make(kind: FigureKind, models: int, suffix: str = "") -> list[ModelData]:
        made = []
        for number in range(models):
            source = number % len(sources)
            if (kind.name, source) not in known:
                known[kind.name, source] = kind.data(sources[source])
            made.append(
                ModelData(
                    label=f"{sources[source].result['label']} {number}{suffix}",
                    data=known[kind.name, source],
                    stage=("one", "two", "two")[source],
                    backbone=f"ResNet-{50 * (1 + number % 2)}",
                    protocol="hico-det-520",
                )
            )
        return made

    return make
