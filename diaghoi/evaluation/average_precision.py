"""Average precision of each class, from ranked predictions and annotated instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, first_of_run, ratios
from diaghoi.data.protocol import Protocol


class Evaluated(NamedTuple):
    """Columns for the computation of average precision.

    Parameters
    ----------
    row_class, row_image : (R,) int array
        Class and image of each prediction; sorted by class and descending score.
    row_true : (R,) bool array
        True positives.
    annotation_class, annotation_image : (A,) int array
        Class and image of each annotated instance.
    """

    row_class: IntArray
    row_true: BoolArray
    row_image: IntArray
    annotation_class: IntArray
    annotation_image: IntArray

    @property
    def rows(self) -> tuple[IntArray, BoolArray, IntArray]:
        """Class, correctness and image of each prediction."""
        return self[:3]

    def ranked_by(self, protocol: Protocol) -> Evaluated:
        """Rank the predictions of each class as the protocol prescribes.

        If all predictions share one rank, false positives come first. With false positives first,
        the precision at the last true positive is the precision of the whole class, and the
        envelope has this value at every recall.
        """
        if protocol.ranking == "by score":
            return self
        return self.reordered(np.lexsort((self.row_true, self.row_class)))

    def reordered(self, order: IntArray) -> Evaluated:
        """Return a copy with the rows in the given order."""
        return self._replace(
            row_class=self.row_class[order],
            row_true=self.row_true[order],
            row_image=self.row_image[order],
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassScores:
    """Scores of each class.

    Parameters
    ----------
    average_precision, max_recall : (C,) float64 array
        NaN for classes without annotated triplets.
    ranked, found : (C,) int array
        Numbers of rows and of true positives.
    """

    average_precision: FloatArray
    max_recall: FloatArray
    ranked: IntArray
    found: IntArray

    @classmethod
    def concatenate(cls, parts: Sequence[tuple[range, ClassScores]]) -> ClassScores:
        """Join the scores of consecutive runs of classes; each part's arrays cover all classes."""
        return cls(
            **{
                name: np.concatenate(
                    [getattr(scores, name)[some.start : some.stop] for some, scores in parts]
                )
                for name in ("average_precision", "max_recall", "ranked", "found")
            }
        )


def class_scores(evaluated: Evaluated, classes: int, protocol: Protocol) -> ClassScores:
    """Compute average precision and maximum recall of each class under a protocol."""
    positives = np.bincount(evaluated.annotation_class, minlength=classes)
    evaluated = evaluated.ranked_by(protocol)
    return average_precision(
        evaluated.row_class,
        evaluated.row_true,
        positives,
        protocol.levels,
        protocol.top_of_class,
    )


def average_precision(
    row_class: IntArray,
    row_true: BoolArray,
    positives: IntArray,
    levels: FloatArray | None,
    top: int | None = None,
) -> ClassScores:
    """Compute the average precision of each class.

    Parameters
    ----------
    row_class : (R,) int array
        Class of each row; rows sorted by class and descending score.
    row_true : (R,) bool array
        True positives.
    positives : (C,) int array
        Number of annotated instances.
    levels : (L,) float64 array or None
        Recall levels. AP is the mean, over these levels, of the highest precision at a recall of at
        least the level; levels beyond the highest recall count as 0. With None, AP is the area
        under the envelope of the precision-recall curve.
    top : int or None
        Number of best-ranked rows of each class that count; None for all.

    Notes
    -----
    The highest precision at or beyond a recall always occurs at a true positive, so only true
    positives are visited. The mean is the sum over the L levels, divided by L, so that a perfect
    class scores exactly 1; the widely copied sum of ``precision / 11`` gives 1.0000000000000002.
    """
    curves = envelopes(row_class, row_true, positives, top)
    if levels is None:
        area = np.bincount(curves.of_class, weights=curves.precision, minlength=len(positives))
        score = ratios(area, positives, undefined=0.0)
    else:
        score = np.zeros(len(positives))
        for level in levels:
            score += curves.at(level)
        score /= len(levels)
    return ClassScores(
        average_precision=np.where(positives > 0, score, np.nan),
        max_recall=ratios(curves.found, positives),
        ranked=curves.ranked,
        found=curves.found,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Envelopes:
    """Envelopes of precision-recall curves: the highest precision at a given or a higher recall.

    Parameters
    ----------
    true, of_class : (T,) int array
        Row and class of each true positive, class by class in ranking order.
    precision : (T,) float64 array
        Value of the envelope at each true positive.
    bounds : (C + 1,) int array
        First row of each class, followed by the number of rows.
    found, ranked, positives : (C,) int array
        Numbers of true positives, rows and annotated instances of each class.
    """

    true: IntArray
    of_class: IntArray
    precision: FloatArray
    bounds: IntArray
    found: IntArray
    ranked: IntArray
    positives: IntArray

    @property
    def start(self) -> IntArray:
        """(C,) first true positive of each class."""
        return np.cumsum(self.found) - self.found

    @property
    def ends(self) -> BoolArray:
        """(T,) mask of the last true positive of each run of equal precision in a class."""
        starts = first_of_run(self.precision) | first_of_run(self.of_class)
        return np.append(starts, True)[1:]

    def at(self, level: float) -> FloatArray:
        """Return the highest precision, (C,), at a recall >= the level; 0 without such a recall."""
        needed = needed_for(level, self.positives)
        reached = (self.positives > 0) & (needed <= self.found)
        precision = np.zeros(len(self.positives))
        precision[reached] = self.precision[(self.start + needed - 1)[reached]]
        return precision


def envelopes(
    row_class: IntArray, row_true: BoolArray, positives: IntArray, top: int | None = None
) -> Envelopes:
    """Compute the envelopes of all classes; see :func:`average_precision` for the parameters."""
    classes = len(positives)
    # searchsorted would convert the whole column if the class numbers had a different type.
    bounds = np.searchsorted(row_class, np.arange(classes + 1, dtype=row_class.dtype))
    ranked = np.diff(bounds)
    true = np.flatnonzero(row_true)
    if top is not None:
        # SWIG-HOI's evaluator reads only the best 19,999 rows of a class and ignores the
        # rest.
        true = true[true - bounds[row_class[true]] < top]
        ranked = np.minimum(ranked, top)
    of_class = row_class[true]
    found = np.bincount(of_class, minlength=classes)
    start = np.cumsum(found) - found
    precision = (np.arange(1, len(true) + 1) - start[of_class]) / (true + 1 - bounds[of_class])
    return Envelopes(
        true=true,
        of_class=of_class,
        bounds=bounds,
        precision=envelope_of(precision, start, start + found),
        found=found,
        ranked=ranked,
        positives=positives,
    )


def envelope_of(precision: FloatArray, start: IntArray, stop: IntArray) -> FloatArray:
    """Replace each precision by the highest precision from its row to the end of its class."""
    envelope: FloatArray = precision.copy()
    # NumPy has no grouped running maximum; the loop is fast, as most classes have few true
    # positives.
    for first, end in zip(start.tolist(), stop.tolist(), strict=True):
        if end - first > 1:
            backwards = envelope[first:end][::-1]
            np.maximum.accumulate(backwards, out=backwards)
    return np.asarray(envelope)


def needed_for(level: float, positives: IntArray) -> IntArray:
    """Return the smallest number of true positives, at least 1, whose recall reaches the level."""
    needed = np.maximum(np.floor(level * positives).astype(np.int64) - 1, 1)
    # level * positives may be rounded up or down, so needed / positives decides, as in the official
    # evaluators.
    with np.errstate(divide="ignore"):
        for _ in range(3):
            needed += needed / positives < level
    return np.asarray(needed)
