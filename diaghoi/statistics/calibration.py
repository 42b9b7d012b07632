"""Calibration: whether triplet scores are probabilities of being a true positive.

The counted predictions are binned by score. If scores are calibrated, the *precision* of a bin (the
share of true positives) equals the mean score of the bin. The *gap* of a bin is mean score -
precision: the detector is overconfident in bins whose gap is above 0. The expected calibration
error (ECE) is the mean size of the gap over predictions. The maximum calibration error (MCE) is the
largest size of the gap in any bin, however few predictions it holds (Guo et al., On Calibration of
Modern Neural Networks, 2017). The Brier score is the mean of (score - true)², which needs no bins.

The gap of a bin is the mean of score - true over its predictions. Each error label contributes to
the gap: an error adds its score, and a true positive adds its score - 1. The contributions of all
labels sum to the gap. Contributions that are given the sign of their bin's gap, and weighted by the
bin's share of the predictions, sum to the ECE.

Two caveats: with few predictions the ECE is above 0 even if scores are calibrated, and most
predictions of a detector have low scores, where gaps are small. Compare detectors with equally many
predictions per image.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, ratios
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.exceptions import InputError

MOST_BINS = 1000


@dataclass(frozen=True, kw_only=True)
class VerbCalibration:
    """Calibration of the predictions with one verb.

    Parameters
    ----------
    count : int
        Number of predictions.
    mean_score, precision : float
        Mean score and share of true positives.
    ece : float
        Expected calibration error of the verb's predictions, in the same bins as for all
        predictions.
    """

    count: int
    mean_score: float
    precision: float
    ece: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Calibration:
    """Calibration of the triplet scores of a detector.

    Parameters
    ----------
    edges : (B + 1,) float64 array
        Bin b contains the scores above ``edges[b]`` up to ``edges[b + 1]``; the first bin also
        contains ``edges[0]``.
    counts : (B, 7) int array
        Number of predictions in each bin with each label of
        :data:`diaghoi.evaluation.errors.LABELS`.
    score_sums : (B, 7) float64 array
        Sum of the scores of the predictions counted in each cell of ``counts``.
    brier : float or None
        Brier score.
    verbs : dict of VerbCalibration
        Calibration of each predicted verb, by name.
    equal_mass : bool
        Whether the bins contain about equally many predictions rather than being equally wide.
    note : str
        Reason for missing numbers; empty if there are numbers.
    """

    edges: FloatArray
    counts: IntArray
    score_sums: FloatArray
    brier: float | None
    verbs: dict[str, VerbCalibration]
    equal_mass: bool
    note: str = ""

    @property
    def bin_counts(self) -> IntArray:
        """(B,) number of predictions in each bin."""
        return np.asarray(self.counts.sum(axis=1))

    @property
    def mean_scores(self) -> FloatArray:
        """Mean score of each bin, (B,), NaN if empty."""
        return ratios(self.score_sums.sum(axis=1), self.bin_counts)

    @property
    def precisions(self) -> FloatArray:
        """Share of true positives of each bin, (B,), NaN if empty."""
        return ratios(self.counts[:, 0], self.bin_counts)

    @property
    def parts(self) -> FloatArray:
        """Contribution of each label to the gap of each bin, (B, 7); each row sums to a gap.

        NaN if the bin is empty.
        """
        surplus = self.score_sums.copy()
        surplus[:, 0] -= self.counts[:, 0]
        return ratios(surplus, self.bin_counts[:, None])

    @property
    def gaps(self) -> FloatArray:
        """Mean score - precision of each bin, (B,), NaN if empty."""
        return np.asarray(self.parts.sum(axis=1))

    @property
    def ece(self) -> float | None:
        """Expected calibration error; None if there are no numbers."""
        return None if self.note else float(self.ece_parts.sum())

    @property
    def mce(self) -> float | None:
        """Maximum calibration error; None if there are no numbers."""
        return None if self.note else float(np.nanmax(np.abs(self.gaps)))

    @property
    def mce_count(self) -> int | None:
        """Number of predictions in the bin with the largest gap; None if there are no numbers."""
        return None if self.note else int(self.bin_counts[np.nanargmax(np.abs(self.gaps))])

    @property
    def ece_parts(self) -> FloatArray:
        """Contribution of each label to the ECE, (7,); the contributions sum to the ECE.

        The contribution of a label is negative if the predictions with the label reduce gaps.
        """
        share = self.bin_counts / max(int(self.bin_counts.sum()), 1)
        signed = np.sign(self.gaps)[:, None] * self.parts
        return np.asarray(np.nansum(share[:, None] * signed, axis=0))

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python: the JSON key ``calibration``.

        The main keys are ``ece``, ``mce``, ``mce_count`` (the number of predictions in the bin of
        ``mce``) and ``brier``; ``bins`` with their bounds, ``count``, ``mean_score``, ``precision``
        and ``gap``; ``errors`` with the ``count``, ``mean_score`` and ``ece_part`` of each label,
        and the ``counts`` and ``gap_parts`` of each label in each bin; and ``verbs``. A mean,
        precision or gap is None if there are no predictions to average.
        """
        return {
            "binning": "equal mass" if self.equal_mass else "equal width",
            "count": int(self.counts.sum()),
            "ece": self.ece,
            "mce": self.mce,
            "mce_count": self.mce_count,
            "brier": self.brier,
            "bins": [
                {
                    "low": float(self.edges[b]),
                    "high": float(self.edges[b + 1]),
                    "count": int(count),
                    "mean_score": _plain(self.mean_scores[b]),
                    "precision": _plain(self.precisions[b]),
                    "gap": _plain(self.gaps[b]),
                }
                for b, count in enumerate(self.bin_counts)
            ],
            "errors": {} if self.note else self._errors(),
            "verbs": {name: asdict(verb) for name, verb in self.verbs.items()},
            "note": self.note,
        }

    def _errors(self) -> dict[str, Any]:
        totals = self.counts.sum(axis=0)
        means = ratios(self.score_sums.sum(axis=0), totals)
        return {
            name: {
                "count": int(totals[n]),
                "mean_score": _plain(means[n]),
                "ece_part": float(self.ece_parts[n]),
                "counts": self.counts[:, n].tolist(),
                "gap_parts": [_plain(part) for part in self.parts[:, n]],
            }
            for n, name in enumerate(LABELS)
        }


def measure_calibration(
    diagnosis: Diagnosis,
    bins: int = 15,
    *,
    equal_mass: bool = False,
    threshold: float | None = None,
) -> Calibration:
    """Measure how well triplet scores are calibrated.

    Parameters
    ----------
    diagnosis : Diagnosis
        Diagnosis of the detector, or a sum of diagnoses.
    bins : int
        Number of bins.
    equal_mass : bool
        If true, split the scores at their quantiles, so that bins contain about equally many
        predictions; if false, split [0, 1] into equally wide bins. Equal scores share a bin, so
        there may be fewer bins than requested.
    threshold : float, optional
        Lowest score at which a prediction counts; by default, all predictions count.

    Returns
    -------
    Calibration
        If a score lies outside [0, 1], there are no scores, or nothing is predicted, the result has
        no numbers but a note with the reason.

    Raises
    ------
    InputError
        If the number of bins is outside 1 to 1000.
    """
    if not 1 <= bins <= MOST_BINS:
        raise InputError(f"bins {bins}: give a number from 1 to {MOST_BINS}, usually 15")
    ledger, vocabulary = diagnosis.ledger, diagnosis.vocabulary
    if threshold is not None:
        ledger = ledger.rows(ledger.row_score >= threshold)
    score, label = ledger.row_score, ledger.row_label.astype(np.int64)
    note = _note(score) if diagnosis.answers is None else "calibration: there are no scores"
    if note:
        nothing = np.zeros((0, len(LABELS)))
        return Calibration(
            edges=np.zeros(1),
            counts=nothing.astype(np.int64),
            score_sums=nothing,
            brier=None,
            verbs={},
            equal_mass=equal_mass,
            note=note,
        )
    edges = np.linspace(0, 1, bins + 1)
    if equal_mass:
        edges = np.unique(np.quantile(score, edges))
        # If all scores are equal, there is a single bin of zero width.
        edges = edges if len(edges) > 1 else np.repeat(edges, 2)
    # side='left' puts a score that equals an edge into the bin below; the lowest edge has no bin
    # below.
    place = np.maximum(np.searchsorted(edges, score, side="left") - 1, 0)
    count, total = _sums(place, label, score, (len(edges) - 1, len(LABELS)))
    return Calibration(
        edges=edges,
        counts=count,
        score_sums=total,
        brier=float(np.mean((score - ledger.true) ** 2)),
        verbs=_verbs(
            vocabulary.verbs,
            vocabulary.class_verb[ledger.row_class].astype(np.int64),
            place,
            score,
            ledger.true.astype(np.float64),
        ),
        equal_mass=equal_mass,
    )


def _note(score: FloatArray) -> str:
    """Explain why scores are not probabilities; return an empty string if they are."""
    if not len(score):
        return "calibration: there are no predictions"
    low, high = float(score.min()), float(score.max())
    if low >= 0 and high <= 1:
        return ""
    return (
        f"calibration: scores run from {low:.4g} to {high:.4g}, so they are not probabilities; "
        "give scores in [0, 1]"
    )


def _verbs(
    names: tuple[str, ...],
    verb: IntArray,
    place: IntArray,
    score: FloatArray,
    true: FloatArray,
) -> dict[str, VerbCalibration]:
    """Compute the calibration of each predicted verb; ``place`` is the bin of each prediction."""
    shape = len(names), int(place.max()) + 1
    count, score_sum = _sums(verb, place, score, shape)
    _, true_sum = _sums(verb, place, true, shape)
    total = count.sum(axis=1)
    error = ratios(np.abs(score_sum - true_sum).sum(axis=1), total)
    mean, precision = (ratios(sums.sum(axis=1), total) for sums in (score_sum, true_sum))
    return {
        names[n]: VerbCalibration(
            count=int(total[n]),
            mean_score=float(mean[n]),
            precision=float(precision[n]),
            ece=float(error[n]),
        )
        for n in np.flatnonzero(total).tolist()
    }


def _sums(
    row: IntArray, column: IntArray, value: FloatArray, shape: tuple[int, int]
) -> tuple[IntArray, FloatArray]:
    """Count and sum values in the cells of a table with the given shape."""
    cell = row * shape[1] + column
    size = shape[0] * shape[1]
    count = np.bincount(cell, minlength=size)
    total = np.bincount(cell, weights=value, minlength=size)
    return np.reshape(count, shape).astype(np.int64), np.reshape(total, shape)


def _plain(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)
