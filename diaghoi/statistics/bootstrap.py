"""Compute intervals for the numbers by a bootstrap over images.

The images of the test set are the sample: another draw of images would give other numbers. A
resample draws as many images as the test set has, with replacement. Each number of a resample is
computed as if the predictions and annotations of an image appeared as often as the image was drawn
(Efron and Tibshirani, An Introduction to the Bootstrap, 1993; BCa intervals: chapter 14).

Mean average precision depends on the size of the test set: a class with few annotations has a
higher expected AP than the same class with many, and a class that a resample does not draw drops
out. Resamples contain about 63 % of the distinct images, so they have a higher mAP than the whole
set, and an interval of plain quantiles may not even contain the mAP of the whole set. By default
the quantiles are therefore centred: moved by the difference between the mean of a number over the
resamples and the number in the whole set. The interval then refers to the expected number for test
sets of this size.

For a class with n annotated images, resamples show too little variance, by a factor of about (n -
1) / n; for a class with a single image, they show none. The jackknife, which leaves out images,
shows too much variance (it is biased upwards: Efron and Stein, The jackknife estimate of variance,
1981). Centred intervals are therefore stretched to the geometric mean of the bootstrap's and the
jackknife's standard deviation if the jackknife's is larger. docs/certainty.md reports how often
these intervals contained the expected number in simulations
(tests/benchmarks/interval_coverage.py). On sets of 300 images, mAP intervals without the stretch
contained the expected mAP in 88 % of the cases, and plain quantiles in 55 %.

A cost that few predictions or triplets carry is zero in one test set and large in another, which
resamples of one set cannot show. A cost that fewer than :data:`FEW` predictions and triplets carry
has no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray
from diaghoi.data.memory import threads
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError
from diaghoi.statistics.weighted_figures import Figures, Resampler

Method = Literal["centred", "percentile", "bca"]

# Number of resamples drawn together: enough for fast array code, and few enough for the caches. The
# block size is part of the meaning of a seed: each block has its own generator.
BLOCK = 128
# Number of weightings processed at once: larger arrays do not fit into the caches.
TOGETHER = 64
# Number of groups of images that the jackknife leaves out in turn.
GROUPS = 200
FEW = 30
"""A cost has an interval only if at least this number of predictions and annotated triplets carry
it."""
TOO_FEW = f"fewer than {FEW} annotated triplets or predictions carry this cost"
"""Reason why a cost has no interval."""


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """Intervals of all numbers of a diagnosis.

    Parameters
    ----------
    intervals : dict
        Lower and upper bound, keyed by the path of the number in the JSON of a report
        (``oracles.action.delta_map.full``); None if the number is undefined in all resamples, or if
        too few predictions and triplets carry a cost.
    resamples, seed : int
        Number of resamples, and seed of their generator.
    confidence : float
        Share of resamples between the bounds.
    method : {"centred", "percentile", "bca"}
        Method by which bounds are derived from the resamples.
    undefined : dict
        Number of resamples in which a number is undefined; numbers that are always defined are left
        out.
    few : dict
        By path of each cost that has no interval because fewer than :data:`FEW` predictions and
        annotated triplets carry it: their number.
    """

    intervals: dict[str, tuple[float, float] | None]
    resamples: int
    seed: int
    confidence: float
    method: Method
    undefined: dict[str, int]
    few: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python: ``intervals``, with settings in ``bootstrap``.

        The key ``few`` is present if any cost is carried by too few predictions and triplets.
        """
        return {
            "intervals": {
                path: None if bounds is None else list(bounds)
                for path, bounds in self.intervals.items()
            },
            "bootstrap": {
                "resamples": self.resamples,
                "seed": self.seed,
                "confidence": self.confidence,
                "method": self.method,
                "undefined": self.undefined,
                **({"few": self.few} if self.few else {}),
            },
        }


def bootstrap(diagnosis: Diagnosis, resamples: int = 1000, **settings: Any) -> Bootstrap:
    """Compute intervals for all numbers of a diagnosis of at least two images.

    The settings and exceptions are those of :func:`bootstrap_of`.
    """
    images = len(diagnosis.names)
    prepared = Resampler.of(diagnosis)
    found = bootstrap_of(prepared.figures, images, resamples, **settings)
    defined = {path for path, bounds in found.intervals.items() if bounds is not None}
    few = {path: n for path, n in too_few(prepared.means.carriers).items() if path in defined}
    return replace(found, intervals=found.intervals | dict.fromkeys(few), few=few)


def too_few(carriers: Mapping[str, int]) -> dict[str, int]:
    """Select the costs that too few predictions and triplets carry for an interval.

    Parameters
    ----------
    carriers : mapping of int
        Number of carriers by cost: see :func:`diaghoi.statistics.weighted_figures.carriers_of`.
    """
    return {cost: number for cost, number in carriers.items() if number < FEW}


def bootstrap_of(
    figures: Callable[[IntArray], Mapping[str, FloatArray]],
    images: int,
    resamples: int = 1000,
    *,
    seed: int = 0,
    confidence: float = 0.95,
    method: Method = "centred",
    progress: Callable[[int], Any] | None = None,
) -> Bootstrap:
    """Compute intervals for numbers that are functions of image weights.

    Parameters
    ----------
    figures : callable
        Function from (images, B) weights to (B,) values by name, NaN if undefined.
    images : int
        Number of images.
    resamples : int
        Number of resamples of the images.
    seed : int
        The same seed gives the same digits, whatever the number of processors.
    confidence : float
        Share of the resamples between the bounds, in (0, 1).
    method : {"centred", "percentile", "bca"}
        In this order: stretched quantiles of the resamples, shifted so that the mean of the
        resamples equals the number; plain quantiles; quantiles corrected for bias and skewness. The
        stretch and the skewness come from a jackknife that leaves out groups of images.
    progress : callable, optional
        Called with the number of resamples done since the last call.

    Raises
    ------
    InputError
        If there are fewer than two images or resamples, the confidence is outside (0, 1), or the
        method is unknown.
    """
    check_settings(images, resamples, confidence)
    if method not in get_args(Method):
        raise InputError(f"intervals '{method}': give one of {', '.join(get_args(Method))}")
    drawn = resampled(figures, draws(images, resamples, seed), progress)
    if method == "percentile":
        plain = tails(confidence)
        intervals = {path: _bounds(values, plain) for path, values in drawn.items()}
    else:
        point = figures(np.ones((images, 1), dtype=np.int32))
        left_out = resampled(figures, groups_left_out(images))
        bounds = centred_bounds if method == "centred" else _bca_bounds
        intervals = {
            path: bounds(values, float(point[path][0]), left_out[path], confidence)
            for path, values in drawn.items()
        }
    return Bootstrap(
        intervals=intervals,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
        method=method,
        undefined={
            path: int(np.isnan(values).sum())
            for path, values in drawn.items()
            if np.isnan(values).any()
        },
    )


def check_settings(images: int, resamples: int, confidence: float) -> None:
    """Reject settings for which no interval can be computed.

    Raises
    ------
    InputError
        If there are fewer than two images or resamples, or the confidence is outside (0, 1).
    """
    if images < 2:
        raise InputError(f"intervals need at least two images to draw from, found {images}")
    if resamples < 2:
        raise InputError(f"{resamples} resamples: give at least two, usually 1000")
    if not 0 < confidence < 1:
        raise InputError(f"--confidence {confidence:g}: must lie between 0 and 1")


def draws(images: int, resamples: int, seed: int) -> Iterator[IntArray]:
    """Draw the images of each resample with replacement, block by block.

    Yields
    ------
    (images, B) int32 array
        How often each image was drawn, for B resamples.
    """
    starts = range(0, resamples, BLOCK)
    # One generator per block, so that the order in which threads take blocks does not change the
    # digits.
    seeds = np.random.SeedSequence(seed).spawn(len(starts))
    for start, own in zip(starts, seeds, strict=True):
        rng = np.random.default_rng(own)
        size = min(BLOCK, resamples - start)
        weights = np.empty((images, size), dtype=np.int32)
        for column in range(size):
            weights[:, column] = np.bincount(rng.integers(0, images, images), minlength=images)
        yield weights


def resampled(
    figures: Callable[[IntArray], Mapping[str, FloatArray]],
    weights: Iterable[IntArray],
    progress: Callable[[int], Any] | None = None,
) -> Figures:
    """Compute numbers under many weightings, on all processors.

    Parameters
    ----------
    figures : callable
        Function from (N, B) weights to (B,) values by name.
    weights : iterable of (N, B) int32 array
        The weightings, in blocks.
    progress : callable, optional
        Called with the number of weightings done since the last call.

    Returns
    -------
    dict of (total,) float64 array
        The values under all weightings, in order.
    """
    found: list[Mapping[str, FloatArray]] = []
    with threads() as pool:
        for part in pool.map(figures, _together(weights)):
            found.append(part)
            if progress is not None:
                progress(len(next(iter(part.values()))))
    return {path: np.concatenate([part[path] for part in found]) for path in found[0]}


def _together(blocks: Iterable[IntArray]) -> Iterator[IntArray]:
    """Split blocks of weightings into parts that are processed at once."""
    for block in blocks:
        for start in range(0, block.shape[1], TOGETHER):
            yield np.ascontiguousarray(block[:, start : start + TOGETHER])


def groups_left_out(images: int, groups: int = GROUPS) -> Iterator[IntArray]:
    """Yield weightings of the images that each leave out one group of images.

    Parameters
    ----------
    images : int
        Number of images.
    groups : int
        Largest number of groups.

    Yields
    ------
    (images, B) int32 array
        Weightings of zeros and ones.
    """
    groups = min(groups, images)
    # Adjacent images of a file are often alike, so they go into different groups.
    group = np.arange(images) % groups
    for start in range(0, groups, BLOCK):
        out = np.arange(start, min(start + BLOCK, groups))
        yield (group[:, None] != out).astype(np.int32)


def tails(confidence: float) -> FloatArray:
    """Return the levels of the two quantiles that enclose the given share of the values."""
    tail = (1 - confidence) / 2
    return np.array([tail, 1 - tail])


def _bca_bounds(
    values: FloatArray, point: float, left_out: FloatArray, confidence: float
) -> tuple[float, float] | None:
    """Correct bounds for bias and skewness (Efron and Tibshirani, section 14.3)."""
    from scipy.stats import norm

    drawn, plain = values, tails(confidence)
    values, left_out = values[~np.isnan(values)], left_out[~np.isnan(left_out)]
    # Values equal to ``point`` count half; they are common, because numbers from few images take
    # few distinct values.
    below = (values < point).mean() + (values == point).mean() / 2 if len(values) else 0.0
    if not 0 < below < 1 or len(left_out) < 2:
        return _bounds(drawn, plain)
    bias = norm.ppf(below)
    away = left_out.mean() - left_out
    spread = (away**2).sum() ** 1.5
    acceleration = (away**3).sum() / (6 * spread) if spread else 0.0
    shifted = bias + norm.ppf(plain)
    return _bounds(drawn, norm.cdf(bias + shifted / (1 - acceleration * shifted)))


def centred_bounds(
    values: FloatArray, point: float, left_out: FloatArray, confidence: float
) -> tuple[float, float] | None:
    """Bound a number by stretched quantiles of resamples whose mean is shifted to the number.

    Parameters
    ----------
    values, left_out : (B,) and (G,) float64 array
        As in :func:`stretch_of`.
    point : float
        The number; NaN if it is undefined.
    confidence : float
        Share of the resamples between the bounds.

    Returns
    -------
    tuple of float or None
        None if no resample defines the number. If a number lies in [0, 1] in all resamples, the
        bounds are clipped to [0, 1].
    """
    defined = values[~np.isnan(values)]
    shift = point - float(defined.mean()) if len(defined) and not np.isnan(point) else 0.0
    return _bounds(values, tails(confidence), shift, stretch_of(values, left_out))


def stretch_of(values: FloatArray, left_out: FloatArray) -> float:
    """Return the factor, at least 1, by which to stretch the spread of the resamples.

    Parameters
    ----------
    values : (B,) float64 array
        The number in the resamples.
    left_out : (G,) float64 array
        The number without each of G groups of images.
    """
    values, left_out = values[~np.isnan(values)], left_out[~np.isnan(left_out)]
    if len(values) < 2 or len(left_out) < 2 or not values.std():
        return 1.0
    groups = len(left_out)
    jackknife = np.sqrt((groups - 1) / groups * ((left_out - left_out.mean()) ** 2).sum())
    # The geometric mean of the standard deviations of jackknife and resamples, divided by the
    # standard deviation of the resamples.
    return float(np.sqrt(max(1.0, jackknife / values.std())))


def away_from_mean(values: FloatArray, left_out: FloatArray) -> FloatArray:
    """Return the stretched deviations of the defined resampled values from their mean.

    The parameters are as in :func:`stretch_of`.
    """
    defined = values[~np.isnan(values)]
    return np.asarray(stretch_of(values, left_out) * (defined - defined.mean()))


def _bounds(
    values: FloatArray, quantiles: FloatArray, shift: float = 0.0, stretch: float = 1.0
) -> tuple[float, float] | None:
    """Take two quantiles of the defined values, stretched about the mean and then shifted."""
    defined = values[~np.isnan(values)]
    if not len(defined):
        return None
    mean = defined.mean()
    low, high = mean + stretch * (np.quantile(defined, quantiles) - mean) + shift
    # Signed differences and counts can lie outside [0, 1]; if any resample does, the bounds are not
    # clipped.
    if defined.min() >= 0 and defined.max() <= 1:
        low, high = max(low, 0.0), min(high, 1.0)
    return float(low), float(high)
