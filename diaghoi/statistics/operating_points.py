"""Measure a detector at score thresholds: precision, recall, F1 and errors.

All classes are pooled (micro): every prediction and every annotated triplet counts the same,
regardless of class. The best threshold is :attr:`diaghoi.Diagnosis.best_threshold`, for which all
scores are tried. The curves have a point at every hundredth of the true positives and of all
predictions, from the highest score to the lowest, plus the best threshold and the lowest score. At
each point, all numbers are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, ratios
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.diagnosis.saved import as_one, scenes_of
from diaghoi.evaluation.errors import LABELS
from diaghoi.evaluation.ledger import Ledger
from diaghoi.exceptions import InputError
from diaghoi.statistics.calibration import Calibration, measure_calibration

QUANTILES = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class OperatingPoints:
    """Numbers for the predictions at or above each score threshold, in descending order.

    Parameters
    ----------
    thresholds : (K,) float64 array
        Scores of the detector, in descending order.
    counts : (K, 7) int array
        Number of kept predictions with each label of :data:`diaghoi.evaluation.errors.LABELS`.
    pairs : (K,) int array or None
        Number of pairs with a kept prediction; None if the diagnosis has no scenes.
    annotated, images : int
        Number of annotated triplets and of images.
    best : int or None
        Index of the point with the highest F1 (with the highest threshold if tied); None if
        there is no true positive.
    calibration : Calibration or None
        Calibration of the kept predictions at the best point.
    """

    thresholds: FloatArray
    counts: IntArray
    pairs: IntArray | None
    annotated: int
    images: int
    best: int | None
    calibration: Calibration | None

    @property
    def predicted(self) -> IntArray:
        """(K,) number of kept predictions."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def found(self) -> IntArray:
        """(K,) number of kept true positives."""
        return self.counts[:, 0]

    @property
    def precision(self) -> FloatArray:
        """(K,) share of kept predictions that are true positives."""
        return ratios(self.found, self.predicted)

    @property
    def recall(self) -> FloatArray:
        """(K,) share of the annotated triplets that are found; NaN if no triplet is annotated."""
        return ratios(self.found, self.annotated)

    @property
    def f1(self) -> FloatArray:
        """(K,) harmonic mean of precision and recall."""
        return ratios(2 * self.found, self.predicted + self.annotated)

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python: the JSON key ``operating_points``.

        The keys are ``images`` and ``annotated``; ``curve``, with lists of ``threshold``,
        ``precision``, ``recall``, ``f1``, ``triplets_per_image``, ``pairs_per_image`` (None if
        unknown) and ``errors``: the number of kept predictions with each label and, as
        ``false_negative``, of annotated triplets not found; and ``best``, with these values at the
        best threshold, and the ``calibration`` of the kept predictions (None if scores are not
        probabilities). ``best`` is None without a true positive.
        """
        curve: dict[str, Any] = {
            "threshold": self.thresholds.tolist(),
            "precision": self.precision.tolist(),
            "recall": None if not self.annotated else self.recall.tolist(),
            "f1": self.f1.tolist(),
            "triplets_per_image": (self.predicted / self.images).tolist(),
            "pairs_per_image": None if self.pairs is None else (self.pairs / self.images).tolist(),
        }
        errors = {name: self.counts[:, n].tolist() for n, name in enumerate(LABELS)}
        errors["false_negative"] = (self.annotated - self.found).tolist()
        best = None
        if self.best is not None:
            best = {key: None if each is None else each[self.best] for key, each in curve.items()}
            best["errors"] = {name: each[self.best] for name, each in errors.items()}
            best["calibration"] = self._calibration()
        return {
            "images": self.images,
            "annotated": self.annotated,
            "best": best,
            "curve": curve | {"errors": errors},
        }

    def _calibration(self) -> dict[str, float | None] | None:
        found = self.calibration
        if found is None or found.ece is None:
            return None
        count = int(found.counts.sum())
        mean, precision = found.score_sums.sum() / count, found.counts[:, 0].sum() / count
        return {
            "mean_score": float(mean),
            "precision": float(precision),
            "gap": float(mean - precision),
            "ece": found.ece,
        }


def operating_points(diagnosis: Diagnosis) -> OperatingPoints:
    """Count the hits and errors of a detector at each score threshold.

    Parameters
    ----------
    diagnosis : Diagnosis
        Diagnosis of the detector, or a sum of diagnoses.

    Raises
    ------
    InputError
        If the detector has no scores.
    """
    if diagnosis.answers is not None:
        raise InputError("operating points: the detector gives no scores, so there is no threshold")
    ledger, best = diagnosis.ledger, diagnosis.best_threshold
    thresholds = _thresholds(ledger, best)
    counts = np.zeros((len(LABELS), len(thresholds) + 1), dtype=np.int64)
    for _, part in ledger.parts():
        cell = part.row_label.astype(np.int64) * counts.shape[1] + _place(
            thresholds, part.row_score
        )
        counts += np.bincount(cell, minlength=counts.size).reshape(counts.shape)
    return OperatingPoints(
        thresholds=thresholds,
        counts=np.cumsum(counts, axis=1)[:, :-1].T,
        pairs=_pairs(diagnosis, thresholds) if diagnosis.scenes else None,
        annotated=int(ledger.positives.sum()),
        images=len(diagnosis.names),
        best=None if best is None else int(np.flatnonzero(thresholds == best)[0]),
        calibration=None if best is None else measure_calibration(diagnosis, threshold=best),
    )


def _thresholds(ledger: Ledger, best: float | None) -> FloatArray:
    """Choose thresholds among the scores of the detector, in descending order."""
    if not len(ledger.row_class):
        return np.zeros(0)
    score = np.concatenate([part.row_score for _, part in ledger.parts()])
    true = np.concatenate([part.true for _, part in ledger.parts()])
    levels = np.linspace(0, 1, QUANTILES + 1)
    # Only scores that occur matter: all thresholds between two neighbouring scores keep the same
    # predictions.
    chosen = [
        np.quantile(some, levels, method="inverted_cdf")
        for some in (score, score[true])
        if len(some)
    ]
    return np.unique(np.concatenate([*chosen, [] if best is None else [best]]))[::-1]


def _place(thresholds: FloatArray, score: FloatArray) -> IntArray:
    """Find the highest threshold that each score reaches, among descending thresholds."""
    return np.searchsorted(-thresholds, -score, side="left")


def _pairs(diagnosis: Diagnosis, thresholds: FloatArray) -> IntArray:
    """Count the pairs of two boxes with a prediction at or above each threshold."""
    # In a sum of diagnoses, the row numbers of the ledgers do not match the scenes.
    diagnosis = as_one(diagnosis)
    _, predictions = scenes_of(diagnosis)
    highest = np.full(len(predictions.pair_human), -np.inf)
    for _, part in diagnosis.ledger.parts():
        np.maximum.at(highest, predictions.triplet_pair[part.row_input], part.row_score)
    highest[predictions.pair_object < 0] = -np.inf  # a person alone
    place = _place(thresholds, highest[np.isfinite(highest)])
    return np.cumsum(np.bincount(place, minlength=len(thresholds) + 1))[:-1]
