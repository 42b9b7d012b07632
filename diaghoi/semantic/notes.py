"""Notes on a semantic evaluation: everything missing is counted and named."""

from __future__ import annotations

from collections.abc import Sequence

from diaghoi.data.arrays import StrArray
from diaghoi.data.joining import Joined
from diaghoi.exceptions import some_of
from diaghoi.semantic.tables.similarity import FittedSimilarity
from diaghoi.semantic.triplets import EvaluatedTriplets


def semantic_notes(
    annotated: EvaluatedTriplets,
    predicted: EvaluatedTriplets,
    joined: Joined,
    tables: Sequence[tuple[str, FittedSimilarity, Sequence[str]]],
    *,
    scored: bool,
) -> tuple[str, ...]:
    """State in one sentence each what tables and files imply for the numbers.

    Parameters
    ----------
    annotated, predicted : EvaluatedTriplets
        The evaluated triplets.
    joined : Joined
        Which files have each image.
    tables : sequence of (str, FittedSimilarity, sequence of str)
        For ``verbs`` and, where they are compared, ``objects``: the table, and the words of the
        data set that it should cover.
    scored : bool
        Whether the predictions are evaluated with their scores.
    """
    notes = [*dict.fromkeys(annotated.scenes.notes + predicted.scenes.notes)]
    for what, fitted, names in tables:
        notes += [*fitted.similarity.notes, *_uncovered(what, fitted, names)]
    notes += _about_images(joined, annotated.scenes.names)
    notes += _about_triplets(annotated, predicted)
    if all(what != "objects" for what, _, _ in tables):
        notes.append("the predictions do not name their objects: only verbs are compared")
    if not scored:
        notes.append("without scores: every prediction counts, and no mAP is defined")
    return tuple(notes)


def missing_words(fitted: FittedSimilarity) -> list[str]:
    """Words that a table does not cover, each once."""
    return list(dict.fromkeys(fitted.missing))


def _uncovered(what: str, fitted: FittedSimilarity, names: Sequence[str]) -> list[str]:
    """Say which words a table does not cover."""
    name, missing = fitted.similarity.name, missing_words(fitted)
    notes = []
    if missing:
        notes.append(
            f"{len(missing)} of {len(set(names))} {what} are not in the table '{name}' and are "
            f"similar to nothing but themselves: {some_of(missing)}"
        )
    ambiguous = list(dict.fromkeys(fitted.ambiguous))
    if ambiguous:
        notes.append(
            f"of {len(ambiguous)} {what} the table '{name}' has several senses and none is named: "
            f"{some_of(ambiguous)}"
        )
    return notes


def _about_images(joined: Joined, names: StrArray) -> list[str]:
    notes = []
    for mask, what in (
        (
            joined.annotated & ~joined.predicted,
            "annotated images are not in the prediction file; their triplets count as missed",
        ),
        (
            joined.predicted & ~joined.annotated,
            "predicted images are not in the annotation file; their predictions match nothing",
        ),
    ):
        if mask.any():
            notes.append(f"{int(mask.sum())} {what}: {some_of(names[mask].tolist())}")
    return notes


def _about_triplets(annotated: EvaluatedTriplets, predicted: EvaluatedTriplets) -> list[str]:
    return [
        f"{of.left_out} {side} triplets are left out: they have no object box, or are on people "
        "whose actions are not annotated"
        for side, of in (("annotated", annotated), ("predicted", predicted))
        if of.left_out
    ]
