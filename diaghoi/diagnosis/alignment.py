"""Two diagnoses of the same annotations, whose images may be in another order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diaghoi.data.arrays.types import IntArray
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.ledger import Ledger
from diaghoi.exceptions import InputError, some_of


def check_same_annotations(first: Diagnosis, second: Diagnosis) -> None:
    """Check that two diagnoses are of the same annotated triplets under one protocol.

    Raises
    ------
    InputError
        If data sets, protocols, images or annotated triplets differ.
    """
    if first.vocabulary.name != second.vocabulary.name:
        raise InputError(
            f"{first.vocabulary.name} and {second.vocabulary.name}: detectors on different data "
            "sets cannot be compared"
        )
    if first.protocol != second.protocol:
        raise InputError(
            f"the detectors were diagnosed under different protocols, {first.protocol.name} "
            f"({first.protocol.signature}) and {second.protocol.name} "
            f"({second.protocol.signature}); diagnose both under one"
        )
    # Images without names are the same by position.
    if not np.array_equal(first.names, second.names):
        only = set(first.names.tolist()) ^ set(second.names.tolist())
        if only or len(first.names) != len(second.names):
            raise InputError(
                f"{len(only)} images are in one of the diagnoses alone ({some_of(sorted(only))}); "
                "compare predictions on the same images"
            )
    one, other = (
        np.sort(place * each.ledger.classes + each.ledger.annotation_class)
        for each, place in (
            (first, first.ledger.annotation_image.astype(np.int64)),
            (second, image_numbers(second, first)[second.ledger.annotation_image]),
        )
    )
    if not np.array_equal(one, other):
        raise InputError(
            f"{second.label or 'the second'} was diagnosed with different annotations than "
            f"{first.label or 'the first'}; diagnose both with the same file"
        )


def image_numbers(diagnosis: Diagnosis, like: Diagnosis) -> IntArray:
    """Return the numbers that the images of a diagnosis have in another one.

    Parameters
    ----------
    diagnosis, like : Diagnosis
        Of the same N images, in any order.

    Returns
    -------
    (N,) int64 array
    """
    if np.array_equal(diagnosis.names, like.names):
        return np.arange(len(diagnosis.names))
    number = {name: row for row, name in enumerate(like.names.tolist())}
    return np.array([number[name] for name in diagnosis.names.tolist()], dtype=np.int64)


def aligned_ledger(diagnosis: Diagnosis, like: Diagnosis) -> Ledger:
    """Return the ledger of a diagnosis, its images numbered as those of another one."""
    image = image_numbers(diagnosis, like).astype(np.int32)
    ledger = diagnosis.ledger
    return replace(
        ledger,
        row_image=image[ledger.row_image],
        annotation_image=image[ledger.annotation_image],
    )
