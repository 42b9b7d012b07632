"""Confidence intervals of the metrics of answers, and tests of two models.

Images are resampled and exchanged, as for detectors (:mod:`diaghoi.statistics.bootstrap`,
:mod:`diaghoi.statistics.significance`): questions on one image are not independent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diaghoi.choice.evaluation import ChoiceEvaluation
from diaghoi.choice.score import METRICS, Tally
from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.exceptions import InputError
from diaghoi.statistics.bootstrap import Bootstrap, bootstrap_of, check_settings
from diaghoi.statistics.significance import Difference, paired_differences, resampled_alone

SHARES = (*METRICS, "micro_precision", "micro_recall")
TITLES = {
    "instance_f1": "Instance-F1",
    "macro_f1": "Macro-F1",
    "micro_f1": "Micro-F1",
    "exact_match": "exact match",
}
TESTED = "choice.{}.overall"
"""Path of a tested metric: table and column of a comparison."""


def choice_bootstrap(
    evaluation: ChoiceEvaluation,
    resamples: int = 1000,
    *,
    seed: int = 0,
    confidence: float = 0.95,
    progress: Callable[[int], Any] | None = None,
) -> Bootstrap:
    """Compute intervals of all metrics of a model: centred quantiles over resampled images.

    Parameters
    ----------
    evaluation : ChoiceEvaluation
        The model.
    resamples, seed, confidence, progress
        As of :func:`diaghoi.statistics.bootstrap.bootstrap`.

    Returns
    -------
    Bootstrap
        By the path of each metric in the JSON: ``instance_f1``, ``single.instance_f1``.

    Raises
    ------
    InputError
        As :func:`diaghoi.statistics.bootstrap.bootstrap`.
    """
    tallies = evaluation.tallies

    def figures(weights: IntArray) -> dict[str, FloatArray]:
        found: dict[str, FloatArray] = {}
        for part, counts in tallies.items():
            values = counts.figures(weights)
            found |= {f"{part}.{name}".lstrip("."): values[name] for name in SHARES}
        return found

    return bootstrap_of(
        figures,
        tallies[""].images,
        resamples,
        seed=seed,
        confidence=confidence,
        progress=progress,
    )


def compare_choices(
    first: ChoiceEvaluation,
    second: ChoiceEvaluation,
    resamples: int = 1000,
    *,
    seed: int = 0,
    confidence: float = 0.95,
    progress: Callable[[int], Any] | None = None,
) -> list[Difference]:
    """Test the four metrics of two models that answered the same questions.

    Parameters
    ----------
    first, second : ChoiceEvaluation
        The models.
    resamples, seed, confidence, progress
        As of :func:`diaghoi.statistics.significance.compare_pair`.

    Raises
    ------
    InputError
        Where the questions are not the same, and as
        :func:`diaghoi.statistics.significance.compare_pair`.
    """
    mine, theirs = (each.answers.questions for each in (first, second))
    if mine.questions != theirs.questions:
        raise InputError(
            f"{mine.file} and {theirs.file}: models that answered different questions cannot be "
            "compared; give answers to the same questions"
        )
    one, other = first.tallies[""], second.tallies[""]
    check_settings(one.images, resamples, confidence)
    return paired_differences(
        (
            resampled_alone(_tested(one), one.images, resamples, seed),
            resampled_alone(_tested(other), one.images, resamples, seed, progress),
        ),
        _tested(one.with_images_of(other)),
        one.images,
        titles={TESTED.format(name): title for name, title in TITLES.items()},
        labels=(first.answers.label, second.answers.label),
        resamples=resamples,
        seed=seed,
        confidence=confidence,
        progress=progress,
    )


def _tested(counts: Tally) -> Callable[[IntArray], dict[str, FloatArray]]:
    def figures(weights: IntArray) -> dict[str, FloatArray]:
        values = counts.figures(weights)
        return {TESTED.format(name): values[name] for name in TITLES}

    return figures
