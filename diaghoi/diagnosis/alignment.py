"""Align diagnoses whose images are in different orders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diaghoi.data.arrays import IntArray, StrArray
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.ledger import Ledger
from diaghoi.evaluation.negatives import Negatives
from diaghoi.evaluation.pairs import ImagePairs, ObjectBoxes
from diaghoi.exceptions import InputError, some_of


def check_same_annotations(first: Diagnosis, second: Diagnosis) -> None:
    """Check that two diagnoses have the same annotated triplets and protocol.

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
            f"({second.protocol.signature}); diagnose both detectors under one protocol"
        )
    # Images without names are identified by position.
    if not np.array_equal(first.names, second.names):
        only = set(first.names.tolist()) ^ set(second.names.tolist())
        if only or len(first.names) != len(second.names):
            raise InputError(
                f"{len(only)} images are in only one of the diagnoses ({some_of(sorted(only))}); "
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
            f"{second.label or 'the second'} was diagnosed with other annotations than "
            f"{first.label or 'the first'}; diagnose both detectors with the same annotation file"
        )


def image_numbers(diagnosis: Diagnosis, like: Diagnosis) -> IntArray:
    """Return the index of each image of one diagnosis in another diagnosis.

    Parameters
    ----------
    diagnosis, like : Diagnosis
        Diagnoses of the same N images, in any order.

    Returns
    -------
    (N,) int64 array
    """
    return _numbers(diagnosis.names, like.names)


def aligned_ledger(diagnosis: Diagnosis, like: Diagnosis) -> Ledger:
    """Return the ledger of a diagnosis with its images in the order of another diagnosis."""
    return diagnosis.ledger.arranged(image_numbers(diagnosis, like))


def arranged(diagnosis: Diagnosis, names: StrArray) -> Diagnosis:
    """Return a diagnosis with images in another order, which also reorders tied scores.

    Parameters
    ----------
    diagnosis : Diagnosis
        A diagnosis of N images. The scenes are not kept in the returned diagnosis.
    names : (N,) str array
        Names of the images in the new order.
    """
    place = _numbers(diagnosis.names, names)
    order = np.argsort(place)
    objects, negatives = diagnosis.object_boxes, diagnosis.negative_pairs
    boxes, pairs = (np.argsort(place[each.image], kind="stable") for each in (objects, negatives))
    return replace(
        diagnosis,
        names=names,
        annotated=diagnosis.annotated[order],
        predicted=diagnosis.predicted[order],
        known_objects=diagnosis.known_objects[order],
        benchmark=diagnosis.benchmark.arranged(place),
        ledger=diagnosis.ledger.arranged(place),
        image_pairs={
            split: ImagePairs({name: column[order] for name, column in of_split.columns.items()})
            for split, of_split in diagnosis.image_pairs.items()
        },
        object_boxes=ObjectBoxes(
            image=place[objects.image][boxes],
            category=objects.category[boxes],
            found=objects.found[boxes],
        ),
        negative_pairs=Negatives(
            score=negatives.score[pairs],
            negative=negatives.negative[pairs],
            image=place[negatives.image][pairs],
        ),
        scenes=(),
        counted={
            path: (of[order], among[order]) for path, (of, among) in diagnosis.all_counts().items()
        },
    )


def _numbers(names: StrArray, like: StrArray) -> IntArray:
    """Return the index, (N,), of each name in another ordering of the names."""
    if np.array_equal(names, like):
        return np.arange(len(names))
    number = {name: row for row, name in enumerate(like.tolist())}
    return np.array([number[name] for name in names.tolist()], dtype=np.int64)
