"""What became of each annotated triplet under two detectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays.types import BoolArray, FloatArray, IntArray
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import DUPLICATE, LABELS
from diaghoi.evaluation.ledger import Ledger
from diaghoi.exceptions import InputError

MISSED = "missed_gt"
FATES = (*LABELS[:-1], MISSED)
"""What can become of an annotated triplet: found, attempted with an error, or missed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Transitions:
    """The fate of each annotated triplet under two detectors.

    Parameters
    ----------
    labels : tuple of two str
        The detectors.
    fate : (2, A) int8 array
        Position in :data:`FATES`: the true positive that found it, else the error of the highest
        ranked prediction that is assigned to it, else missed.
    annotation_class, annotation_image : (A,) int array
        HOI class and image of each annotated triplet.
    """

    labels: tuple[str, str]
    fate: IntArray
    annotation_class: IntArray
    annotation_image: IntArray

    def matrix(self, of: BoolArray | None = None) -> IntArray:
        """Count annotated triplets by their fates.

        Parameters
        ----------
        of : (A,) bool array, optional
            The triplets to count; all by default.

        Returns
        -------
        (7, 7) int array
            A row for each fate under the first detector, a column for each under the second, in
            the order of :data:`FATES`.
        """
        first, second = self.fate if of is None else self.fate[:, of]
        cell = first.astype(np.int64) * len(FATES) + second
        return np.bincount(cell, minlength=len(FATES) ** 2).reshape(len(FATES), -1)

    @property
    def only_first(self) -> BoolArray:
        """(A,) whether only the first detector finds it."""
        return np.asarray((self.fate[0] == 0) & (self.fate[1] != 0))

    @property
    def only_second(self) -> BoolArray:
        """(A,) whether only the second detector finds it."""
        return np.asarray((self.fate[1] == 0) & (self.fate[0] != 0))

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain Python values."""
        matrix = {
            one: dict(zip(FATES, row, strict=True))
            for one, row in zip(FATES, self.matrix().tolist(), strict=True)
        }
        return {
            "labels": list(self.labels),
            "annotated": int(self.fate.shape[1]),
            "only_first": int(self.only_first.sum()),
            "only_second": int(self.only_second.sum()),
            "matrix": matrix,
        }


def transitions(first: Diagnosis, second: Diagnosis) -> Transitions:
    """Follow each annotated triplet from one detector to another.

    Parameters
    ----------
    first, second : Diagnosis
        Of the same annotations under the same protocol.

    Raises
    ------
    InputError
        If their protocols or their annotated triplets differ.
    """
    check_same(first, second)
    ledger = first.ledger
    return Transitions(
        labels=(first.label, second.label),
        fate=np.stack([_fate(each.ledger) for each in (first, second)]),
        annotation_class=ledger.annotation_class,
        annotation_image=ledger.annotation_image,
    )


def check_same(first: Diagnosis, second: Diagnosis) -> None:
    """Check that two diagnoses are of the same annotated triplets under one protocol.

    Raises
    ------
    InputError
        If they are not.
    """
    names = [
        each.label or ordinal
        for each, ordinal in zip((first, second), ("the first", "the second"), strict=True)
    ]
    if first.protocol != second.protocol:
        raise InputError(
            f"{names[1]}: has another protocol than {names[0]}; diagnose both under one"
        )
    one, other = first.ledger, second.ledger
    if not (
        np.array_equal(first.names, second.names)
        and np.array_equal(one.annotation_class, other.annotation_class)
        and np.array_equal(one.annotation_image, other.annotation_image)
    ):
        raise InputError(
            f"{names[1]}: has other annotations than {names[0]}; diagnose both on the same file"
        )


def _fate(ledger: Ledger) -> IntArray:
    """Return the position in FATES of each annotated triplet."""
    fate = np.full(len(ledger.annotation_class), FATES.index(MISSED), dtype=np.int8)
    assigned: list[tuple[IntArray, FloatArray, IntArray, IntArray]] = []
    for _, part in ledger.parts():
        rows = np.flatnonzero((part.row_annotation >= 0) & (part.row_label != DUPLICATE))
        assigned.append(
            (
                part.row_input[rows],
                part.row_score[rows],
                part.row_annotation[rows],
                part.row_label[rows],
            )
        )
    given, score, meant, label = map(np.concatenate, zip(*assigned, strict=True))
    # Of several, the last one written counts: the highest score, then the first of the input.
    order = np.lexsort((-given, score))
    fate[meant[order]] = label[order]
    fate[ledger.found] = 0
    return fate
