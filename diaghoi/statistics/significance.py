"""Test whether two detectors differ: paired bootstrap and approximate randomisation.

Both detectors see the same images, so the difference is tested image by image. The bootstrap draws
images and computes the difference on each draw. Approximate randomisation exchanges the predictions
of the two detectors on each image with probability one half. If the detectors were equally good,
the observed difference would not stand out among the differences after exchanges (Noreen,
Computer-Intensive Methods for Testing Hypotheses, 1989).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.diagnosis.alignment import aligned_ledger, check_same_annotations
from diaghoi.diagnosis.benchmark import headlines
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.ledger import Ledger
from diaghoi.exceptions import InputError, number_of
from diaghoi.measures import MEASURES
from diaghoi.oracles import ORACLES
from diaghoi.statistics.bootstrap import (
    BLOCK,
    TOO_FEW,
    away_from_mean,
    check_settings,
    draws,
    groups_left_out,
    resampled,
    tails,
    too_few,
)
from diaghoi.statistics.weighted_figures import MeanPrecisions, Ratios

Progress = Callable[[int], Any]
Figured = Callable[[IntArray], Mapping[str, FloatArray]]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The difference in one number between two detectors.

    Parameters
    ----------
    path : str
        Path of the number in a report's JSON, such as ``map.full``.
    title : str
        Display name of the number.
    labels : tuple of str
        The two detectors.
    first, second : float
        Values of the number; fractions.
    difference : float
        Second less first.
    interval : tuple of float or None
        Bounds of the difference, by the centred paired bootstrap; None for a cost that is carried
        by too few predictions or triplets of one of the detectors
        (:data:`diaghoi.statistics.bootstrap.FEW`).
    p : float
        Probability of a difference at least as large as the observed one if the detectors are
        exchanged at random.
    p_bootstrap : float
        Probability that a resampled difference, stretched as for ``interval``, deviates from the
        mean of the resamples by at least the observed difference.
    p_holm : float
        ``p`` corrected for the number of comparisons (Holm, 1979).
    sentence : str
        The result as a sentence.
    p_least : float
        Smallest ``p`` that the number of exchanges allows. If ``p`` equals ``p_least``, it is only
        an upper bound: no exchange gave a difference as large as the observed one.
    together : int
        Number of comparisons for which ``p_holm`` is corrected.
    significant : bool
        Whether ``p_holm`` is below one minus the confidence.
    """

    path: str
    title: str
    labels: tuple[str, str]
    first: float
    second: float
    difference: float
    interval: tuple[float, float] | None
    p: float
    p_bootstrap: float
    p_holm: float
    sentence: str
    p_least: float = 0.0
    together: int = 1
    significant: bool = False

    @property
    def shown_p(self) -> str:
        """The corrected p-value as text; an upper bound if no exchange differed as much."""
        return shown_p(self.p_holm, at_most=self.p <= self.p_least)

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python."""
        bounds = None if self.interval is None else list(self.interval)
        return asdict(self) | {"labels": list(self.labels), "interval": bounds}


def compare_pair(
    first: Diagnosis, second: Diagnosis, resamples: int = 1000, **settings: Any
) -> list[Difference]:
    """Compare mAP and the ΔmAP of each error of two detectors on the same images.

    The settings, results and exceptions are those of :func:`compare_each`.
    """
    (found,) = compare_each(first, [second], resamples, **settings)
    return found


def compare_each(
    first: Diagnosis,
    others: Sequence[Diagnosis],
    resamples: int = 1000,
    *,
    seed: int = 0,
    confidence: float = 0.95,
    split: str = "full",
    oracles: Iterable[str] = tuple(ORACLES),
    progress: Progress | None = None,
) -> Iterator[list[Difference]]:
    """Compare each of several detectors with a first detector, which is resampled only once.

    Parameters
    ----------
    first : Diagnosis
        The detector to which the others are compared.
    others : sequence of Diagnosis
        Diagnoses under the same protocol, on the same data set.
    resamples : int
        Number of bootstrap resamples, which is also the number of random exchanges.
    seed : int
        The same seed gives the same digits.
    confidence : float
        Share of the resamples between the bounds of an interval.
    split : str
        Group of classes over which mAP is averaged.
    oracles : iterable of str
        Oracles whose ΔmAP is compared in addition to mAP; p-values are corrected for all tests.
    progress : callable, optional
        Called with the number of weightings done since the last call; the total is twice
        ``resamples``.

    Yields
    ------
    list of Difference
        Differences between another detector and the first detector, mAP first; numbers that are
        undefined for either detector are omitted.

    Raises
    ------
    InputError
        If protocols, data sets or annotations differ, or no interval can be computed.
    """
    images, oracles = len(first.names), tuple(oracles)
    for second in others:
        _check_pair(first, second, split)
    check_settings(images, resamples, confidence)

    tested = [measure for measure in MEASURES.values() if measure.tested and measure.has(split)]

    def prepared(ledger: Ledger, *diagnoses: Diagnosis) -> tuple[Figured, dict[str, int]]:
        splits = {split: first.splits[split]}
        total = images * len(diagnoses)
        means = MeanPrecisions.of(ledger, total, first.protocol, splits, oracles)
        counted = Ratios.of(tested, splits, *diagnoses, like=first)
        return (
            lambda weights: means.figures(weights) | counted.figures(weights),
            too_few(means.carriers),
        )

    figures, few = prepared(first.ledger, first)
    one = resampled_alone(figures, images, resamples, seed)
    for second in others:
        ledgers = first.ledger, aligned_ledger(second, first)
        figures, also_few = prepared(ledgers[1], second)
        other = resampled_alone(figures, images, resamples, seed, progress)
        mixed, _ = prepared(Ledger.concatenate(ledgers, [images, images]), first, second)
        titles = {f"map.{split}": _mean_title((first, second), split)} | {
            f"oracles.{name}.delta_map.{split}": f"ΔmAP of {ORACLES[name].title.lower()}"
            for name in ORACLES
            if name in oracles
        }
        titles |= {measure.at(split): measure.title for measure in tested}
        yield paired_differences(
            one,
            other,
            mixed,
            titles=titles,
            labels=(first.label or "the first", second.label or "the second"),
            confidence=confidence,
            few=few.keys() | also_few.keys(),
            progress=progress,
        )


def _mean_title(pair: Sequence[Diagnosis], split: str) -> str:
    """Name the mean over classes; add the protocol if the official mean differs."""
    for each in pair:
        values = [found["value"] for found in headlines(each.official)] if split == "full" else []
        official, mean = [value for value in values if value is not None], each.mean_ap[split]
        if official and mean is not None and not np.isclose(official, mean, 0, 1e-9).any():
            return f"mAP under {each.protocol.name}"
    return "mAP"


def paired_differences(
    one: ResampledAlone,
    other: ResampledAlone,
    mixed: Figured,
    *,
    titles: Mapping[str, str],
    labels: tuple[str, str],
    confidence: float = 0.95,
    few: Set[str] = frozenset(),
    progress: Progress | None = None,
) -> list[Difference]:
    """Compare two models by numbers that are functions of image weights.

    Parameters
    ----------
    one, other, mixed, progress
        As in :func:`sample_pair`.
    titles : mapping of str
        Titles of the numbers to compare, by name.
    labels : tuple of str
        The two models.
    confidence : float
        Share of the resamples between the bounds of an interval.
    few : set of str
        Costs without an interval, because too few predictions and triplets carry them.

    Returns
    -------
    list of Difference
        In the order of ``titles``; numbers undefined for either model are omitted.
    """
    differences = []
    sampled = sample_pair(one, other, mixed, titles, progress)
    for path, title in titles.items():
        first, second = (float(each.whole[path][0]) for each in (one, other))
        difference, (away, chance) = second - first, sampled[path]
        if np.isnan(difference):
            continue
        low, high = difference + np.quantile(away, tails(confidence))
        # Differences in the last digits are due to rounding, not chance.
        least = abs(difference) * (1 - 1e-9)
        chance = chance[~np.isnan(chance)]
        differences.append(
            Difference(
                path=path,
                title=title,
                labels=labels,
                first=first,
                second=second,
                difference=difference,
                interval=None if path in few else (float(low), float(high)),
                p=float((1 + (np.abs(chance) >= least).sum()) / (1 + len(chance))),
                p_least=1 / (1 + len(chance)),
                p_bootstrap=float((1 + (np.abs(away) >= least).sum()) / (1 + len(away))),
                p_holm=1.0,
                sentence="",
            )
        )
    return corrected(differences, confidence)


class ResampledAlone(NamedTuple):
    """Numbers of one model by name; models with the same seed are resampled alike.

    Parameters
    ----------
    images, resamples, seed : int
        Number of images, and the settings of the draws.
    whole : dict of (1,) float64 array
        Numbers over all images.
    drawn : dict of (B,) float64 array
        Numbers in each of B resamples.
    left_out : dict of (G,) float64 array
        Numbers without each of G groups of images.
    """

    images: int
    resamples: int
    seed: int
    whole: Mapping[str, FloatArray]
    drawn: Mapping[str, FloatArray]
    left_out: Mapping[str, FloatArray]


def resampled_alone(
    figures: Figured, images: int, resamples: int, seed: int = 0, progress: Progress | None = None
) -> ResampledAlone:
    """Resample the images of one model.

    Parameters
    ----------
    figures : callable
        Function from (images, B) weights to (B,) values by name.
    images : int
        Number of images.
    resamples, seed, progress
        As in :func:`compare_each`.
    """
    return ResampledAlone(
        images,
        resamples,
        seed,
        whole=figures(np.ones((images, 1), dtype=np.int32)),
        drawn=resampled(figures, draws(images, resamples, seed), progress),
        left_out=resampled(figures, groups_left_out(images)),
    )


def sample_pair(
    one: ResampledAlone,
    other: ResampledAlone,
    mixed: Figured,
    names: Iterable[str],
    progress: Progress | None = None,
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Exchange the results of two models at random, and compare the resamples of the models.

    Parameters
    ----------
    one, other : ResampledAlone
        The models, resampled alike.
    mixed : callable
        Function that computes (B,) values by name for both models together, given (2 * images, B)
        weights: a row for each image of the first model, then a row for each image of the second
        model.
    names : iterable of str
        Names of the numbers to compare.
    progress : callable, optional
        As in :func:`compare_each`.

    Returns
    -------
    dict of tuple
        For each name, two float64 arrays: the stretched deviations of the resampled differences
        from their mean, at most B; and B differences between the models after their results are
        swapped, on each image with probability one half.
    """
    names = tuple(names)

    def exchanged(swap: IntArray) -> dict[str, FloatArray]:
        # Both detectors form one ledger with twice as many images: weights of 0 and 1 choose whose
        # predictions count in an image.
        values = mixed(np.concatenate([1 - swap, swap]))
        others = mixed(np.concatenate([swap, 1 - swap]))
        return {name: others[name] - values[name] for name in names}

    chance = resampled(exchanged, _swaps(one.images, one.resamples, one.seed), progress)
    return {
        name: (
            away_from_mean(
                other.drawn[name] - one.drawn[name], other.left_out[name] - one.left_out[name]
            ),
            chance[name],
        )
        for name in names
    }


def corrected(differences: Sequence[Difference], confidence: float = 0.95) -> list[Difference]:
    """Correct the p-values of differences for multiple testing, and write the sentences.

    Parameters
    ----------
    differences : sequence of Difference
        All differences considered together, for instance between several detectors and the first.
    confidence : float
        Confidence of the intervals; a difference is significant if the corrected p is below one
        minus the confidence.
    """
    found = zip(differences, holm([each.p for each in differences]), strict=True)
    level, together = level_of(confidence), len(differences)
    tested = [
        replace(each, p_holm=p, together=together, significant=p < level) for each, p in found
    ]
    return [replace(each, sentence=_sentence(each, confidence)) for each in tested]


def holm(p: list[float]) -> list[float]:
    """Correct p-values for multiple testing (Holm, A simple sequentially rejective test, 1979)."""
    order = np.argsort(p, kind="stable")
    # The smallest p is multiplied by the number of tests, the next by one less, and so on; no value
    # falls below the previous value.
    stepped = np.array(p)[order] * np.arange(len(p), 0, -1)
    values = np.empty(len(p))
    values[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return [float(value) for value in values]


def step_down(differences: FloatArray, chance: FloatArray) -> FloatArray:
    """Compute p-values corrected for multiple testing, with account of dependence between tests.

    The procedure is the step-down method of Westfall and Young (Resampling-Based Multiple Testing,
    1993, algorithm 2.8). Each difference is divided by its spread, or by the median spread if that
    is larger. For each exchange, an observed quotient is compared with the largest exchanged
    quotient among the differences that rank no higher. With this method, many tests need no more
    exchanges than one test; with Holm's correction, many tests need many times more exchanges.

    Parameters
    ----------
    differences : (K,) float64 array
        The observed differences.
    chance : (K, B) float64 array
        The differences in B exchanges.

    Returns
    -------
    (K,) float64 array
        Corrected p-values.
    """
    spread = chance.std(axis=1)
    moving = spread > 0
    if moving.any():
        # A difference that depends on few images takes the same value in nearly all exchanges, and
        # division by the tiny spread would exaggerate the difference (Tusher et al., Significance
        # analysis of microarrays, 2001).
        spread = np.maximum(spread, np.median(spread[moving]))
    # A difference that no exchange changes provides no evidence.
    spread[~moving] = np.inf
    # Differences in the last digits are due to rounding, not chance.
    found = np.abs(differences) / spread * (1 - 1e-9)
    order = np.argsort(-found, kind="stable")
    largest = (np.abs(chance) / spread[:, None])[order]
    np.maximum.accumulate(largest[::-1], axis=0, out=largest[::-1])
    p = (1 + (largest >= found[order, None]).sum(axis=1)) / (1 + chance.shape[1])
    values = np.empty(len(p))
    values[order] = np.maximum.accumulate(p)
    return values


def _check_pair(first: Diagnosis, second: Diagnosis, split: str) -> None:
    """Reject detectors that cannot be compared."""
    if (first.answers is None) != (second.answers is None):
        without = first if second.answers is None else second
        raise InputError(
            f"{without.label or 'one of the detectors'} gives no scores, so its predictions "
            "cannot be exchanged with ranked predictions; compare the detectors without a test"
        )
    check_same_annotations(first, second)
    if split not in first.splits:
        raise InputError(f"'{split}' is not a split; known: {', '.join(first.splits)}")


def _swaps(images: int, resamples: int, seed: int) -> Iterator[IntArray]:
    """Draw the images on which the detectors are exchanged, block by block."""
    # The random numbers must differ from the bootstrap's.
    starts = range(0, resamples, BLOCK)
    seeds = np.random.SeedSequence([seed, 1]).spawn(len(starts))
    for start, own in zip(starts, seeds, strict=True):
        size = min(BLOCK, resamples - start)
        yield np.random.default_rng(own).integers(0, 2, (images, size), dtype=np.int32)


def _sentence(found: Difference, confidence: float) -> str:
    labels = found.labels
    points = 100 * found.difference
    if not found.significant:
        # The interval is not corrected for the other tests, so it may exclude zero.
        return (
            f"{found.title}: no significant difference: {labels[1]} minus {labels[0]} "
            f"{_signed(points)}, {_bounds(found, confidence, _signed)} "
            f"({found.shown_p}, {_corrected(found)})"
        )
    return (
        f"{labels[1]}'s {found.title} is {'higher' if points > 0 else 'lower'} than that of "
        f"{labels[0]} by {_plain(abs(points))}, {_bounds(found, confidence, _plain, points < 0)} "
        f"({found.shown_p}, {_corrected(found)})"
    )


def _bounds(
    found: Difference, confidence: float, write: Callable[[float], str], turned: bool = False
) -> str:
    """Describe the interval of a difference, or why there is none; ``turned`` negates bounds."""
    if found.interval is None:
        return f"no interval: {TOO_FEW}"
    low, high = (100 * bound for bound in found.interval)
    if turned:
        # If the interval contains zero although the test is significant, the bound beyond zero is
        # negative.
        low, high = -high, -low
    return f"{100 * confidence:g} % {write(low)} to {write(high)} uncorrected"


def _corrected(found: Difference) -> str:
    return f"corrected for {number_of('test', found.together)}"


def _signed(points: float) -> str:
    return f"{points:+.{_decimals(points)}f}".replace("-", "−")


def _plain(points: float) -> str:
    return f"{points:.{_decimals(points)}f}".replace("-", "−")


def _decimals(points: float) -> int:
    """Return the fewest decimals that show on which side of zero a bound lies."""
    return next((few for few in (1, 2, 3) if round(points, few)), 1)


def level_of(confidence: float) -> float:
    """Return the significance level: 0.05 for a confidence of 0.95."""
    return round(1 - confidence, 12)


def p_cell(p: float) -> str:
    """Format a p-value for a table: ``0.041`` or ``< 0.001``."""
    return shown_p(p).removeprefix("p ").removeprefix("= ")


def shown_p(p: float, *, at_most: bool = False) -> str:
    """Format a p-value, or its bound, with as many digits as a reader needs.

    A bound is rounded up, so that the p-value cannot exceed the bound shown.
    """
    if p < 0.001:
        return "p < 0.001"
    if not at_most or p >= 1:
        return f"p = {p:.3f}"
    return f"p ≤ {ceil(round(1000 * p, 9)) / 1000:.3f}"
