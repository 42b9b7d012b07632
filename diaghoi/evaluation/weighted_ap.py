"""Average precision under image weights: all resamples of a data set at once.

An image that a resample draws twice has weight 2: each of its predictions and annotations counts
twice, the copies next to one another in the ranking. Precision never falls along a run of true
positives, so the curve is known from the ends of these runs alone, and what weights do to it is
two products of a sparse matrix (runs x images) with the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays.division import ratios
from diaghoi.data.arrays.ragged import first_of_run, runs
from diaghoi.data.arrays.types import FloatArray, IntArray
from diaghoi.evaluation.average_precision import Evaluated


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedScores:
    """Scores of C classes under B weightings.

    Parameters
    ----------
    average_precision, max_recall : (C, B) float64 array
        NaN where a class has no annotated triplet.
    ranked, found : (C, B) int array
        Number of rows and of true positives.
    """

    average_precision: FloatArray
    max_recall: FloatArray
    ranked: IntArray
    found: IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedRanking:
    """A ranked list of predictions, prepared for many weightings of its images.

    Parameters
    ----------
    rows, true : (R, N) sparse int32 array
        For each run of true positives of a class, and each image: the rows that it brings, false
        ones before it included, and the true positives among them.
    start, stop : (C,) int array
        The runs of each class.
    ranked : (C, N) sparse int32 array
        Rows of each class.
    positives : (C, N) sparse int32 array
        Annotated triplets of each class.
    """

    rows: Any
    true: Any
    start: IntArray
    stop: IntArray
    ranked: Any
    positives: Any

    @classmethod
    def of(
        cls,
        evaluated: Evaluated,
        classes: int,
        images: int,
    ) -> WeightedRanking:
        """Prepare a ranked list of some classes and images."""
        row_class, row_true, row_image, annotation_class, annotation_image = evaluated
        # Ledgers keep classes in 16 bits, in which the products below would overflow.
        row_class = row_class.astype(np.int64)
        # A run ends at a true positive that no true positive of its class follows.
        last = row_true.copy()
        last[:-1] &= ~(row_true[1:] & (row_class[1:] == row_class[:-1]))
        ends = np.flatnonzero(last)
        run = np.cumsum(last) - last
        # Rows after the last run of a class belong to no run: their number is that of the next.
        whole = run < len(ends)
        whole[whole] = row_class[ends[run[whole]]] == row_class[whole]
        start, count = runs(row_class[ends], np.arange(classes))
        return cls(
            rows=image_counts(run[whole], row_image[whole], (len(ends), images)),
            true=image_counts(run[row_true], row_image[row_true], (len(ends), images)),
            start=start,
            stop=start + count,
            ranked=image_counts(row_class, row_image, (classes, images)),
            positives=image_counts(annotation_class, annotation_image, (classes, images)),
        )

    def scores(
        self, weights: IntArray, levels: FloatArray | None, top: int | None = None
    ) -> WeightedScores:
        """Average precision and max recall of each class under each weighting.

        Parameters
        ----------
        weights : (N, B) int32 array
            How often each image counts.
        levels, top
            As for :func:`diaghoi.evaluation.average_precision.average_precision`, to whose figures
            those of equal weights are equal to the last digit.
        """
        positives = self.positives @ weights
        ranked = self.ranked @ weights
        true = self.true @ weights
        place = self._within_class(self.rows @ weights)
        if top is not None:
            # Within a run false rows come first, so that what the limit cuts off are true ones.
            true = np.clip(top - (place - true), 0, true)
            place, ranked = np.minimum(place, top), np.minimum(ranked, top)
        found_at = self._within_class(true)
        precision = ratios(found_at, place, undefined=0.0)
        score = np.zeros(positives.shape)
        found = np.zeros(positives.shape, dtype=np.int64)
        for hoi in np.flatnonzero(self.stop > self.start).tolist():
            part = slice(self.start[hoi], self.stop[hoi])
            envelope = precision[part]
            backwards = envelope[::-1]
            np.maximum.accumulate(backwards, axis=0, out=backwards)
            found[hoi] = found_at[part][-1]
            if levels is None:
                score[hoi] = (true[part] * envelope).sum(axis=0)
            else:
                score[hoi] = _sampled(envelope, found_at[part], positives[hoi], levels)
        divisor = positives if levels is None else len(levels) * (positives > 0)
        return WeightedScores(
            average_precision=ratios(score, divisor),
            max_recall=ratios(found, positives),
            ranked=ranked,
            found=found,
        )

    def _within_class(self, counts: IntArray) -> IntArray:
        """Add the counts of the runs of each class up."""
        # 64 bits: sums over all classes under large weights.
        total = np.cumsum(counts, axis=0, dtype=np.int64)
        filled = np.flatnonzero((self.stop > self.start) & (self.start > 0))
        before = np.zeros((len(self.start), counts.shape[1]), dtype=np.int64)
        before[filled] = total[self.start[filled] - 1]
        return total - np.repeat(before, self.stop - self.start, axis=0)


def _sampled(
    envelope: FloatArray, found_at: IntArray, positives: IntArray, levels: FloatArray
) -> FloatArray:
    """Sum of the highest precisions at or beyond each recall level."""
    size, column = len(positives), np.arange(len(positives))
    # How many levels each run reaches: as quotients, as the evaluators have recall.
    passed = np.searchsorted(levels, ratios(found_at, positives, undefined=0.0), side="right")
    passed[found_at == 0] = 0
    runs_by_passed = np.bincount((passed * size + column).ravel(), minlength=len(levels) * size)
    before = runs_by_passed[: len(levels) * size].reshape(len(levels), size).cumsum(axis=0)
    total = np.zeros(size)
    # Level by level, as sums of floats in another order differ in the last digit.
    for at in before:
        reached = at < len(found_at)
        total += np.where(reached, envelope[np.minimum(at, len(found_at) - 1), column], 0.0)
    return total


def image_counts(row: IntArray, image: IntArray, shape: tuple[int, int]) -> Any:
    """Count the entries of each row and image: a sparse (R, N) int32 array.

    Parameters
    ----------
    row, image : (K,) int array
        Row and image of each entry.
    shape : (R, N)
        The number of rows and of images.
    """
    from scipy.sparse import csr_array

    # Sorted and counted here, so that SciPy is given no duplicate entries to add up.
    key = row.astype(np.int64) * shape[1] + image
    key.sort()
    first = np.flatnonzero(first_of_run(key))
    count = np.diff(np.append(first, len(key))).astype(np.int32)
    row, image = np.divmod(key[first], shape[1])
    pointer = np.searchsorted(row, np.arange(shape[0] + 1))
    return csr_array((count, image, pointer), shape=shape)
