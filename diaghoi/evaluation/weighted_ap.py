"""Compute average precision under image weights: all resamples of a data set at once.

An image that a resample draws twice has weight 2: each of its predictions and annotations counts
twice, with the copies next to each other in the ranking. Precision never falls along a run of true
positives, so the ends of these runs determine the curve. The weights are used in two products: each
multiplies a sparse matrix (runs x images) by the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, first_of_run, ratios, runs
from diaghoi.evaluation.average_precision import Evaluated, needed_for


@dataclass(frozen=True, eq=False)
class ImageCounts:
    """Counts of R kinds of items in N images.

    Parameters
    ----------
    table : (R, N) sparse int array
        The counts, none negative.
    """

    table: Any

    @classmethod
    def of(cls, row: IntArray, image: IntArray, shape: tuple[int, int]) -> ImageCounts:
        """Count the entries of each row and image; see :func:`image_counts`."""
        return cls(image_counts(row, image, shape))

    @cached_property
    def total(self) -> int:
        """Sum of all counts."""
        return int(self.table.data.sum(dtype=np.int64))

    def under(self, weights: IntArray) -> IntArray:
        """Sum the image counts, multiplied by (N, B) int32 weights, as (R, B) 64-bit integers."""
        return np.asarray(self.product(weights).astype(np.int64))

    def product(self, weights: IntArray) -> Any:
        """Compute :meth:`under` in the smallest integer type that holds every sum exactly."""
        if not all(self.table.shape):
            return np.zeros((self.table.shape[0], weights.shape[1]), dtype=np.int64)
        most = self._most * int(weights.max(initial=0))
        # 16-bit products take a third of the time of 32-bit ones.
        if most < 2**15:
            return self._small @ weights.astype(np.int16)
        if most < 2**24:
            return (self.table.astype(np.float32) @ weights.astype(np.float32)).astype(np.int32)
        return self.table.astype(np.int64) @ weights

    # The two values below are the same for all weightings, and take as long to compute as the
    # product.
    @cached_property
    def _most(self) -> int:
        """Largest sum of a row."""
        return int(self.table.sum(axis=1, dtype=np.int64).max())

    @cached_property
    def _small(self) -> Any:
        return self.table.astype(np.int16)


def image_counts(row: IntArray, image: IntArray, shape: tuple[int, int]) -> Any:
    """Count the K entries by row and image, in a sparse (R, N) int32 array."""
    from scipy.sparse import csr_array

    # Entries are sorted and counted here, so that SciPy has no duplicates to sum.
    key = row.astype(np.int64) * shape[1] + image
    key.sort()
    first = np.flatnonzero(first_of_run(key))
    count = np.diff(np.append(first, len(key))).astype(np.int32)
    row, image = np.divmod(key[first], shape[1])
    pointer = np.searchsorted(row, np.arange(shape[0] + 1))
    return csr_array((count, image, pointer), shape=shape)


# Number of weightings whose recall levels are looked up together: few enough for the CPU caches.
ROWS = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedScores:
    """Scores of C classes under B weightings.

    Parameters
    ----------
    average_precision, max_recall : (C, B) float64 array
        NaN if a class has no annotated triplet.
    found : (C, B) int array
        Number of true positives.
    rows : ImageCounts
        Rows of each of the C classes in each of N images.
    weights : (N, B) int32 array
        How often each image counts.
    top : int or None
        Number of best-ranked rows of each class that count.
    """

    average_precision: FloatArray
    max_recall: FloatArray
    found: IntArray
    rows: ImageCounts
    weights: IntArray
    top: int | None

    @cached_property
    def ranked(self) -> IntArray:
        """(C, B) number of rows, computed on demand because few protocols need it."""
        ranked = self.rows.under(self.weights)
        return ranked if self.top is None else np.minimum(ranked, self.top)


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedRanking:
    """A ranked list of predictions, prepared for many weightings of its images.

    Parameters
    ----------
    rows, true : ImageCounts
        Counts for each of R runs (successive true positives of a class) and N images: the rows
        after the previous run up to the end of the run, including false positives, and the true
        positives among these rows.
    start, stop : (C,) int array
        The runs of each class.
    ranked, positives : ImageCounts
        Rows and annotated triplets of each of C classes.
    """

    rows: ImageCounts
    true: ImageCounts
    start: IntArray
    stop: IntArray
    ranked: ImageCounts
    positives: ImageCounts

    @classmethod
    def of(
        cls,
        evaluated: Evaluated,
        classes: int,
        images: int,
    ) -> WeightedRanking:
        """Prepare a ranked list with the given numbers of classes and images."""
        row_class, row_true, row_image, annotation_class, annotation_image = evaluated
        # Ledgers keep classes in 16 bits, in which the products below would overflow.
        row_class = row_class.astype(np.int64)
        # A run ends at a true positive whose next row in its class is not a true positive.
        last = row_true.copy()
        last[:-1] &= ~(row_true[1:] & (row_class[1:] == row_class[:-1]))
        ends = np.flatnonzero(last)
        run = np.cumsum(last) - last
        # Rows after the last run of a class belong to no run, although they carry the number of the
        # next run.
        whole = run < len(ends)
        whole[whole] = row_class[ends[run[whole]]] == row_class[whole]
        start, count = runs(row_class[ends], np.arange(classes))
        return cls(
            rows=ImageCounts.of(run[whole], row_image[whole], (len(ends), images)),
            true=ImageCounts.of(run[row_true], row_image[row_true], (len(ends), images)),
            start=start,
            stop=start + count,
            ranked=ImageCounts.of(row_class, row_image, (classes, images)),
            positives=ImageCounts.of(annotation_class, annotation_image, (classes, images)),
        )

    def asked_for(self, evaluated: Evaluated) -> WeightedRanking:
        """Combine the rows of this ranking with the annotated triplets of another list."""
        triplets = evaluated.annotation_class, evaluated.annotation_image
        return replace(self, positives=ImageCounts.of(*triplets, self.positives.table.shape))

    def scores(
        self, weights: IntArray, levels: FloatArray | None, top: int | None = None
    ) -> WeightedScores:
        """Compute average precision and max recall of each class under each weighting.

        Parameters
        ----------
        weights : (N, B) int32 array
            How often each image counts.
        levels, top
            As for :func:`diaghoi.evaluation.average_precision.average_precision`; with equal
            weights, the results equal those of that function to the last digit.
        """
        return self.scored(self.curve(weights, top), levels)

    def curve(self, weights: IntArray, top: int | None = None) -> WeightedCurve:
        """Compute the curve that yields the scores at any recall levels; see :meth:`scores`."""
        filled = np.flatnonzero(self.stop > self.start)
        start, length = self.start[filled], (self.stop - self.start)[filled]
        most = self.rows.total * int(weights.max(initial=0))
        kind = np.int32 if most < 2**31 else np.int64
        # From here on, each weighting is a row of the arrays, because sums along the runs are much
        # faster in memory order.
        true, rows = (
            np.ascontiguousarray(counts.product(weights).T, dtype=kind)
            for counts in (self.true, self.rows)
        )
        place = np.cumsum(rows, axis=1, dtype=kind)
        place -= np.repeat(_before(place, start), length, axis=1)
        if top is not None:
            # Within a run, false positives come first, so a limit inside the run cuts off true
            # positives.
            true = np.clip(top - (place - true), 0, true)
            place = np.minimum(place, top)
        total = np.cumsum(true, axis=1, dtype=kind)
        before = _before(total, start)
        found = total - np.repeat(before, length, axis=1)
        precision = np.zeros((len(total), total.shape[1] + 1))
        # Before the first ranked row, precision is 0 / 1, because no true positive is found.
        np.divide(found, np.maximum(place, 1), out=precision[:, :-1])
        return WeightedCurve(
            weights=weights,
            top=top,
            classes=filled,
            start=start,
            stop=start + length,
            true=true,
            total=total,
            before=before,
            precision=precision,
        )

    def scored(self, curve: WeightedCurve, levels: FloatArray | None) -> WeightedScores:
        """Score a curve of this ranking; see :meth:`scores`."""
        positives = self.positives.under(curve.weights)
        score, found = np.zeros(positives.shape), np.zeros(positives.shape, dtype=np.int64)
        if len(curve.classes):
            found[curve.classes] = (curve.total[:, curve.stop - 1] - curve.before).T
            asked = positives[curve.classes].T
            area = curve.area() if levels is None else curve.sampled(asked, levels)
            score[curve.classes] = area.T
        divisor = positives if levels is None else len(levels) * (positives > 0)
        return WeightedScores(
            average_precision=ratios(score, divisor),
            max_recall=ratios(found, positives),
            found=found,
            rows=self.ranked,
            weights=curve.weights,
            top=curve.top,
        )


def _before(total: IntArray, start: IntArray) -> IntArray:
    """Return the sum of all runs before each class, (B, F), given (B, R) running sums."""
    before = np.zeros((len(total), len(start)), dtype=total.dtype)
    before[:, 1:] = total[:, start[1:] - 1]
    return before


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedCurve:
    """Precision of F classes at the ends of R runs of true positives, under B weightings.

    Parameters
    ----------
    weights : (N, B) int32 array
        How often each image counts.
    top : int or None
        Number of best-ranked rows of each class that count.
    classes : (F,) int array
        The classes that have runs.
    start, stop : (F,) int array
        First run of each class in ``classes``, and the run after its last run.
    true, total : (B, R) int array
        True positives of each run, and of all runs up to and including this run, whatever their
        class.
    before : (B, F) int array
        True positives of all earlier classes.
    precision : (B, R + 1) float64 array
        Precision within the class at the end of each run, plus a column of zeros.
    """

    weights: IntArray
    top: int | None
    classes: IntArray
    start: IntArray
    stop: IntArray
    true: IntArray
    total: IntArray
    before: IntArray
    precision: FloatArray

    def area(self) -> FloatArray:
        """Sum, (B, F), the highest precision at or after each true positive."""
        area = np.empty(self.before.shape)
        for place, (start, stop) in enumerate(zip(self.start, self.stop, strict=True)):
            backwards = self.precision[:, start:stop][:, ::-1]
            envelope = np.maximum.accumulate(backwards, axis=1)[:, ::-1]
            # Sum run by run, because float sums in a different order would differ in the last
            # digit.
            area[:, place] = np.cumsum(self.true[:, start:stop] * envelope, axis=1)[:, -1]
        return area

    def sampled(self, positives: IntArray, levels: FloatArray) -> FloatArray:
        """Sum, (B, F), the highest precision of each class at or beyond each recall level.

        Parameters
        ----------
        positives : (B, F) int array
            Annotated triplets.
        levels : (L,) float64 array
            The levels, rising.
        """
        distinct, which = np.unique(positives, return_inverse=True)
        which = which.reshape(positives.shape)  # before NumPy 2, unique returns a flat array
        needed = np.stack([needed_for(float(level), distinct) for level in levels], axis=1)
        stop, size = self.stop[:, None], int(self.total[:, -1].max()) + 1
        best = np.empty((len(levels), *positives.shape))
        for first in range(0, len(positives), ROWS):
            rows = slice(first, first + ROWS)
            total, precision = self.total[rows], self.precision[rows]
            row = np.arange(len(total))[:, None, None]
            # For each n, count the runs that end with at most n true positives. A search for each
            # level would take three times as long.
            cell = total + row[:, 0] * size
            table = np.bincount(cell.ravel(), minlength=len(total) * size).reshape(-1, size)
            np.cumsum(table, axis=1, out=table)
            place = self.before[rows, :, None] + needed[which[rows]] - 1
            np.minimum(place, size - 1, out=place)
            at = np.minimum(table.ravel()[place + row * size], stop)
            # Find the highest precision from each level to the next, and from the last level to the
            # end.
            bounds = np.concatenate([at, np.broadcast_to(stop, (*at.shape[:2], 1))], axis=2)
            bounds += row * precision.shape[1]
            highest = np.maximum.reduceat(precision.ravel(), bounds.ravel())
            highest = highest.reshape(bounds.shape)[:, :, :-1]
            best[:, rows] = np.where(at < stop, highest, 0.0).transpose(2, 0, 1)
        for level in reversed(range(len(levels) - 1)):
            np.maximum(best[level], best[level + 1], out=best[level])
        score = np.zeros(positives.shape)
        # Sum level by level, because float sums in a different order would differ in the last
        # digit.
        for each in best:
            score += each
        return score
