"""``--significance``: permutation tests of each model against the first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import floor
from typing import Annotated, NamedTuple

import typer

from diaghoi.cli import options
from diaghoi.cli.progress import Progress
from diaghoi.comparison.comparison import Comparison
from diaghoi.exceptions import InputError
from diaghoi.statistics.significance import Difference, corrected, level_of

Significance = Annotated[
    bool,
    typer.Option(
        "--significance", help="Test each model against the first.", rich_help_panel=options.SURE
    ),
]


class SignificanceOptions(NamedTuple):
    """Settings of the tests of models against the first."""

    resamples: int
    confidence: float
    seed: int


def significance_options(
    significance: bool, resamples: int, confidence: float, seed: int, models: int
) -> SignificanceOptions | None:
    """Collect how some models are tested, if they are.

    Raises
    ------
    InputError
        For fewer than two models or resamples.
    """
    if not significance:
        return None
    if models < 2:
        raise InputError("--significance: compares models, but only one is given; give two or more")
    if resamples < 2:
        raise InputError(f"--resamples {resamples}: give at least two resamples, usually 1000")
    return SignificanceOptions(resamples, confidence, seed)


def with_tests(
    comparison: Comparison,
    tested: Iterator[list[Difference]],
    tests: SignificanceOptions,
    bar: Progress,
) -> Comparison:
    """Test each model against the first, correct for all comparisons, and add the differences.

    Parameters
    ----------
    comparison : Comparison
        The models side by side.
    tested : iterator of list of Difference
        Tests each model but the first as it is asked for, as
        :func:`diaghoi.statistics.significance.compare_each` does.
    tests : SignificanceOptions
        Settings of the tests.
    bar : Progress
        Shows which model is tested.
    """
    found: list[Difference] = []
    for model in comparison.models[1:]:
        # The resamples of the images, and as many exchanges of the models.
        bar.start_slow(f"testing {model.label}", tests.resamples, twice=True)
        found += next(tested)
    differences = corrected(found, tests.confidence)
    compared = comparison.with_differences(differences, level_of(tests.confidence))
    return replace(compared, notes=(*_too_few(len(differences), tests), *comparison.notes))


def _too_few(comparisons: int, tests: SignificanceOptions) -> list[str]:
    """Note where so few resamples cannot show any difference, however large."""
    level = level_of(tests.confidence)
    # The smallest p-value is 1 / (1 + resamples).
    needed = floor(comparisons / level + 1e-6)
    if tests.resamples >= needed:
        return []
    return [
        f"{tests.resamples:,} exchanges are too few to tell models apart: corrected for "
        f"{comparisons} comparisons, no p-value can be below {level:g}, however large the "
        "difference; give "
        f"--resamples {needed} or more"
    ]
