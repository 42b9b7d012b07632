"""Compare the fate of each annotated triplet under two detectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray
from diaghoi.data.table import data_frame
from diaghoi.diagnosis.alignment import check_same_annotations, image_numbers
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import (
    ACTION,
    ASSOCIATION,
    HUMAN_BOX,
    LABELS,
    OBJECT_BOX,
    TRUE_POSITIVE,
)
from diaghoi.evaluation.ledger import Ledger
from diaghoi.oracles.localised import labels_by_pair

MISSED = "missed_gt"
_BY_LABEL = (TRUE_POSITIVE, HUMAN_BOX, OBJECT_BOX, ASSOCIATION, ACTION)
FATES = (*(LABELS[label] for label in _BY_LABEL), MISSED)
"""Fates of an annotated triplet: found, attempted with an error, or missed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Transitions:
    """The fate of each annotated triplet under two detectors.

    Parameters
    ----------
    labels : tuple of two str
        The detectors.
    fate : (2, A) int8 array
        Index into :data:`FATES`: found, or else the error of the wrong prediction that attempts the
        triplet, or else missed. Errors are counted on found pairs
        (:mod:`diaghoi.oracles.localised`).
    annotation_class, annotation_image : (A,) int array
        HOI class of each annotated triplet, and its image in the first diagnosis; sorted by image
        and class.
    pairing : {"triplet", "person"}
        The protocol's pairing. With pairing by person (V-COCO), another action with a person's own
        object counts as a wrong action.
    """

    labels: tuple[str, str]
    fate: IntArray
    annotation_class: IntArray
    annotation_image: IntArray
    pairing: str = "triplet"

    def matrix(self, of: BoolArray | None = None) -> IntArray:
        """Count annotated triplets by their two fates.

        Parameters
        ----------
        of : (A,) bool array, optional
            Mask of the triplets to count; all by default.

        Returns
        -------
        (6, 6) int array
            One row per fate under the first detector, one column per fate under the second
            detector, in the order of :data:`FATES`.
        """
        first, second = self.fate if of is None else self.fate[:, of]
        cell = first.astype(np.int64) * len(FATES) + second
        return np.bincount(cell, minlength=len(FATES) ** 2).reshape(len(FATES), -1)

    @property
    def only_first(self) -> BoolArray:
        """(A,) mask of the triplets that only the first detector finds."""
        return np.asarray((self.fate[0] == 0) & (self.fate[1] != 0))

    @property
    def only_second(self) -> BoolArray:
        """(A,) mask of the triplets that only the second detector finds."""
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

    def to_frame(self) -> Any:
        """Return the counts of :meth:`matrix` as a pandas data frame.

        Raises
        ------
        InputError
            If pandas is not installed.
        """
        columns = zip(FATES, self.matrix().T.tolist(), strict=True)
        return data_frame({"fate": FATES, **dict(columns)})


def transitions(first: Diagnosis, second: Diagnosis) -> Transitions:
    """Compare the fates of each annotated triplet under two detectors.

    Parameters
    ----------
    first, second : Diagnosis
        Diagnoses on the same annotations under the same protocol.

    Raises
    ------
    InputError
        If the diagnoses differ in protocol or in annotated triplets.
    """
    check_same_annotations(first, second)
    fate, other = (fates(each, image_numbers(each, first)) for each in (first, second))
    return Transitions(
        labels=(first.label, second.label),
        fate=np.stack([fate.fate, other.fate]),
        annotation_class=fate.annotation_class,
        annotation_image=fate.annotation_image,
        pairing=fate.pairing,
    )


class Fates(NamedTuple):
    """The fate of each annotated triplet under one detector; see :class:`Transitions`.

    Parameters
    ----------
    fate : (A,) int8 array
        Index into :data:`FATES`.
    annotation_class, annotation_image : (A,) int array
        HOI class and image of each annotated triplet.
    annotation : (A,) int array
        Index of the annotated triplet in the ledger.
    pairing : {"triplet", "person"}
        Pairing of the protocol, as in :class:`Transitions`.
    """

    fate: IntArray
    annotation_class: IntArray
    annotation_image: IntArray
    annotation: IntArray
    pairing: str


def fates(diagnosis: Diagnosis, image: IntArray) -> Fates:
    """Return the fate of each annotated triplet, in an order independent of the files.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector.
    image : (N,) int array
        New number of each image, because the files of two detectors may list images in different
        orders.
    """
    ledger = diagnosis.ledger
    number = image[ledger.annotation_image]
    order = np.lexsort((ledger.annotation_input, ledger.annotation_class, number))
    return Fates(
        _fate(ledger)[order],
        ledger.annotation_class[order],
        number[order],
        order,
        diagnosis.protocol.pairing,
    )


def _fate(ledger: Ledger) -> IntArray:
    """Return the index into FATES of each annotated triplet."""
    fate = np.full(len(ledger.annotation_class), FATES.index(MISSED), dtype=np.int8)
    place = np.zeros(len(LABELS), dtype=np.int8)
    place[list(_BY_LABEL)] = np.arange(len(_BY_LABEL))
    for _, part in ledger.parts():
        # At most one wrong prediction attempts a triplet.
        rows = np.flatnonzero((part.row_attempt >= 0) & ~part.true)
        fate[part.row_attempt[rows]] = place[labels_by_pair(part)[rows]]
    fate[ledger.found] = 0
    return fate
