"""The precision at which each annotated triplet is found, and how each image changes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray
from diaghoi.evaluation.average_precision import envelopes
from diaghoi.evaluation.weighted_ap import image_counts
from diaghoi.statistics.slice_figures import Sliced


@dataclass(frozen=True, kw_only=True, eq=False)
class FoundAt:
    """Precision at which each of T annotated triplets is found, and how each image changes it.

    Parameters
    ----------
    label : str
        The detector.
    counted : (T,) bool array
        Mask of the triplets that the protocol counts.
    precision : (T,) float64 array
        Precision in [0, 1]; 0 if nothing finds the triplet.
    ends : (K, T) sparse array
        The triplets that are found at the precision of each end, where an end is a rank whose
        precision no later rank of the class exceeds.
    rows, true : (K, N) sparse int32 array
        Number of predictions, and number of true positives, in each image after the previous end,
        up to and including each end.
    rank, at : (K,) array
        Number of predictions of the class up to each end, and the precision at each end.
    last : (K,) int array
        For each end, the index of the last end of the same class.
    """

    label: str
    counted: BoolArray
    precision: FloatArray
    ends: Any
    rows: Any
    true: Any
    rank: IntArray
    at: FloatArray
    last: IntArray

    @classmethod
    def of(cls, sliced: Sliced) -> FoundAt:
        """Compute the precisions from the ranking of a detector."""
        ranked, triplets = sliced.unrepaired, len(sliced.annotations.triplet_pair)
        row_class, row_true, row_image, *_ = ranked.evaluated
        diagnosis = sliced.diagnosis
        curves = envelopes(
            row_class, row_true, diagnosis.ledger.positives, diagnosis.protocol.top_of_class
        )
        true, of_class, ends = curves.true, curves.of_class, curves.ends
        end: IntArray = np.cumsum(ends) - ends
        at = np.flatnonzero(ends)
        triplet = sliced.triplet[ranked.row_annotation[true]]
        values = np.zeros(triplets)
        values[triplet] = curves.precision
        counted = np.zeros(triplets, dtype=bool)
        counted[sliced.triplet] = True
        # Predictions ranked after the last end of their class change no precision.
        segment = np.searchsorted(true[at], np.arange(len(row_class)))
        inside = segment < len(at)
        inside[inside] = row_class[true[at[segment[inside]]]] == row_class[inside]
        shape = len(at), sliced.images
        right = inside & row_true
        last = np.searchsorted(of_class[at], of_class[at], side="right") - 1
        return cls(
            label=diagnosis.label,
            counted=counted,
            precision=values,
            ends=image_counts(end, triplet, (len(at), triplets)),
            rows=image_counts(segment[inside], row_image[inside], shape),
            true=image_counts(segment[right], row_image[right], shape),
            rank=true[at] + 1 - curves.bounds[of_class[at]],
            at=curves.precision[at],
            last=last,
        )

    def of_others(self, weights: FloatArray) -> FloatArray:
        """Compute the effect of each image on the precision at which weighted triplets are found.

        Parameters
        ----------
        weights : (T, S) float64 array
            Weights of the triplets in each of S sums.

        Returns
        -------
        (N, S) float64 array
            Effect of each image on each sum; the effects of all images sum to 0.
        """
        share = (self.ends @ weights) / self.rank[:, None]
        return np.asarray(
            self.true.T @ self._from_here(share)
            - self.rows.T @ self._from_here(share * self.at[:, None])
        )

    def _from_here(self, values: FloatArray) -> FloatArray:
        """Sum the values of each end and of the later ends of the same class."""
        total = np.cumsum(values, axis=0)
        return np.asarray(total[self.last] - total + values)
