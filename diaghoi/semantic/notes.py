"""What a reader of a semantic evaluation has to know: everything missing is counted and named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from diaghoi.exceptions import some_of
from diaghoi.semantic.instances import verb_words
from diaghoi.semantic.tables.similarity import Fitted

if TYPE_CHECKING:
    from diaghoi.semantic.evaluation import SemanticEvaluation


def semantic_notes(evaluation: SemanticEvaluation) -> tuple[str, ...]:
    """State in one sentence each what tables and files say about the figures."""
    truth, found, words = evaluation.annotated, evaluation.predicted, evaluation.words
    notes = [*dict.fromkeys(truth.scenes.notes + found.scenes.notes)]
    tables = [("verbs", evaluation.verbs, verb_words(words))]
    if evaluation.compares_objects:
        tables.append(("objects", evaluation.objects, words.objects))
    for what, fitted, names in tables:
        notes += [*fitted.similarity.notes, *_uncovered(what, fitted, names)]
    return (*notes, *_about_images(evaluation), *_about_triplets(evaluation))


def missing_words(fitted: Fitted) -> list[str]:
    """Words that a table does not cover, each once."""
    return list(dict.fromkeys(fitted.missing))


def _uncovered(what: str, fitted: Fitted, names: Sequence[str]) -> list[str]:
    """Say which words a table does not cover."""
    name, missing = fitted.similarity.name, missing_words(fitted)
    notes = list(fitted.notes)
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


def _about_images(evaluation: SemanticEvaluation) -> list[str]:
    joined, names = evaluation.joined, evaluation.annotated.scenes.names
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


def _about_triplets(evaluation: SemanticEvaluation) -> list[str]:
    notes = []
    for side, of in (("annotated", evaluation.annotated), ("predicted", evaluation.predicted)):
        if of.left_out:
            notes.append(
                f"{of.left_out} {side} triplets are left out: they have no object box, or are on "
                "people whose actions are not annotated"
            )
    if not evaluation.compares_objects:
        notes.append("the predictions do not name their objects: only verbs are compared")
    if evaluation.score is None:
        notes.append("without scores: every prediction counts, and no mAP is defined")
    return notes
