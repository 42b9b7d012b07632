"""Write the notes of a diagnosis, which count and name whatever is missing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, StrArray
from diaghoi.data.protocol import Protocol
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.evaluation.ledger import Benchmark
from diaghoi.evaluation.listing import Answers
from diaghoi.evaluation.means import TITLES
from diaghoi.exceptions import number_of, some_of

ONLY_INTERACTIONS = "the annotations contain no triplets of `no_interaction`"
"""Beginning of the note about the classes over which the official means run.

Saved results do not say elsewhere that `no_interaction` is not annotated, so the words of the note
belong to the JSON contract, like keys. Only :func:`diaghoi.comparison.results.only_interactions`
looks for the words.
"""

NOT_A_PERSON = "is not a person"
WITHOUT_SCORES = "the detector gives no scores"
FEW_DECIDE = ": a few predictions decide these means"
"""Parts of notes that determine the order of a report's first lines."""

FEW = 100
"""Number of annotated triplets below which a note warns about a group's mean."""


def image_notes(
    names: StrArray,
    annotated: BoolArray,
    predicted: BoolArray,
    empty: BoolArray,
    protocol: Protocol,
) -> list[str]:
    """Name the images that only one file has, or that lack annotations or predictions.

    Parameters
    ----------
    names : (N,) str array
        Names of the images.
    annotated, predicted : (N,) bool array
        Whether each image is in the annotation file, and whether it is in the prediction file.
    empty : (N,) bool array
        Mask of the predicted images with annotated but no predicted triplets, including images that
        only a pair file has.
    protocol : Protocol
        Determines what happens to predictions on images that are not annotated.
    """
    notes = []
    unpredicted = names[annotated & ~predicted].tolist()
    if unpredicted:
        notes.append(
            f"{len(unpredicted)} annotated images are not in the prediction file; their "
            f"annotations count as not found: {some_of(unpredicted)}"
        )
    left_empty = names[empty].tolist()
    if left_empty:
        notes.append(
            f"{number_of('image', len(left_empty))} without any predicted triplet, although "
            "triplets are annotated there; the annotated triplets count as not found: "
            f"{some_of(left_empty)}"
        )
    unannotated = names[predicted & ~annotated].tolist()
    if unannotated:
        notes.append(
            f"{len(unannotated)} predicted images are not in the annotation file; their "
            f"predictions are {_fate(protocol)}: {some_of(unannotated)}"
        )
    return notes


def class_notes(vocabulary: Vocabulary, unknown: Mapping[str, int]) -> list[str]:
    """Count the ``annotated`` and ``predicted`` triplets that belong to no HOI class."""
    return [
        f"{number} {side} triplets are left out because their object and verb form no HOI "
        f"class of {vocabulary.name}"
        for side, number in unknown.items()
        if number
    ]


def subject_notes(vocabulary: Vocabulary, other_subjects: IntArray) -> list[str]:
    """Count the annotated and predicted triplets whose subject is not a person.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    other_subjects : (2, objects) int array
        Annotated and predicted triplets, by subject category.
    """
    notes = []
    for noun, counts, what in zip(
        ("annotated triplet", "predicted triplet"),
        other_subjects,
        (
            "only predictions with the same subject find them",
            "unless the annotations have the same triplet, the human box is wrong",
        ),
        strict=True,
    ):
        kinds = np.flatnonzero(counts)
        if len(kinds):
            kinds = kinds[np.argsort(-counts[kinds], kind="stable")]
            named = [f"{vocabulary.objects[kind]} {counts[kind]:,}" for kind in kinds.tolist()]
            total = number_of(noun, int(counts.sum()))
            notes.append(f"the subject of {total} {NOT_A_PERSON} ({some_of(named)}): {what}")
    return notes


def answer_notes(answers: Answers | None, images: int) -> list[str]:
    """Describe how a detector without scores is evaluated, and count its unusable answers.

    Parameters
    ----------
    answers : Answers or None
        Counts of unusable answers; None for a detector with scores.
    images : int
        Number of images with an answer.
    """
    if answers is None:
        return []
    notes = [
        f"{WITHOUT_SCORES}: all its predictions of a class share one rank in mAP and in the cost "
        "of errors; wrong predictions are assigned to annotations in the order of the file"
    ]
    if answers.unreadable:
        notes.append(
            f"{answers.unreadable:,} of {number_of('answer', images)} could not be read: the "
            "annotated triplets of the images without a readable answer are missed"
        )
    if answers.outside_classes:
        notes.append(
            f"{number_of('listed triplet', answers.outside_classes)} of no HOI class "
            f"({answers.unreadable_triplets:,} unreadable, {answers.unknown_names:,} with unknown "
            f"names, {answers.no_class:,} that form no class): they count as wrong in precision "
            "and F1 of all classes, and are not ranked"
        )
    if answers.boxes_outside:
        notes.append(
            f"{answers.boxes_outside} predicted boxes extend past their image; they are compared "
            "unchanged"
        )
    return notes


def source_notes(pair_source: str, scored: Mapping[str, bool]) -> list[str]:
    """Describe the source of the pairs, and which numbers are undefined without action scores.

    Parameters
    ----------
    pair_source : {"pairs", "triplets"}
        Whether the detector lists its pairs.
    scored : mapping of bool
        Whether the file has the action scores for a number, by the number's name.
    """
    notes = []
    if pair_source == "triplets":
        notes.append("no pair file: the predicted pairs come from the triplets")
    undefined = [figure for figure, there in scored.items() if not there]
    if undefined:
        notes.append(f"the file has no action scores: {' and '.join(undefined)} are undefined")
    return notes


def no_interaction_notes(vocabulary: Vocabulary, benchmark: Benchmark) -> list[str]:
    """Name the classes that the official means cover if a file lacks `no_interaction`."""
    if not vocabulary.benchmarks or vocabulary.interacting.all():
        return []
    if vocabulary.interacting[benchmark.annotation_class].all():
        real, there = int(vocabulary.interacting.sum()), len(np.unique(benchmark.annotation_class))
        which = "" if there == real else f"{there} annotated ones of the "
        return [
            f"{ONLY_INTERACTIONS}: the official means run over the {which}{real} classes of real "
            "interactions"
        ]
    if vocabulary.interacting[np.diff(benchmark.bounds) > 0].all():
        return [
            "the predictions contain no triplets of `no_interaction`: the classes of "
            "`no_interaction` count as AP 0 in the official means"
        ]
    return []


def few_notes(splits: Mapping[str, BoolArray], positives: IntArray) -> list[str]:
    """Warn if the mean of a group of classes rests on few annotated triplets.

    Parameters
    ----------
    splits : mapping of (C,) bool array
        The classes of each group.
    positives : (C,) int array
        Annotated triplets of each class.
    """
    notes = []
    if positives.sum() < FEW:
        return []  # with so few triplets in all, no mean is worth quoting
    for split, members in splits.items():
        found = positives[members & (positives > 0)]
        if len(found) and found.sum() < FEW:
            notes.append(
                f"{TITLES.get(split, split)}: {number_of('class', len(found))} with "
                f"{number_of('annotated triplet', int(found.sum()))}; "
                f"{number_of('class', int((found == 1).sum()))} with a single triplet"
                f"{FEW_DECIDE}; see report --bootstrap"
            )
    return notes


def _fate(protocol: Protocol) -> str:
    """Describe what happens to predictions on images that are not annotated."""
    left_out = protocol.images_without_annotations == "left out" or protocol.pairing == "person"
    return "left out" if left_out else "false positives"
