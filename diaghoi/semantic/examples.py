"""Single annotations beside what was predicted for them, as in figure 6 of the supplement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays.ragged import marked
from diaghoi.semantic.evaluation import SemanticEvaluation
from diaghoi.semantic.instances import Instances, class_names

UNMATCHED = 3
"""Unmatched predictions of an image that are shown: those of the highest scores."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """One annotated triplet with the prediction it took, or one prediction that nothing took.

    Parameters
    ----------
    image : str
        Name of the image.
    annotated : str
        The annotated interaction; of an unmatched prediction the one that it is most similar to,
        empty in images without any.
    predicted : str
        The predicted interaction; empty where nothing was predicted for the annotated one.
    matched : bool
        Whether the annotated triplet took the prediction.
    score : float or None
        Of the prediction.
    verb, object, total : float or None
        Similarity of the verbs, of the objects (None where they are not compared) and of both.
    """

    image: str
    annotated: str
    predicted: str
    matched: bool
    score: float | None
    verb: float | None
    object: float | None
    total: float | None


def examples_of(evaluation: SemanticEvaluation, *, images: int = 20) -> list[Example]:
    """Choose images that show what similarity changes.

    Parameters
    ----------
    evaluation : SemanticEvaluation
        The detector; its matching is that of mF1.
    images : int
        How many images at most. Those come first in which an annotated triplet took a prediction
        of another interaction with the highest similarity.

    Returns
    -------
    list of Example
        Image by image, the annotated triplets first.
    """
    matched, truth = evaluation.matched_in_part, evaluation.annotated
    partial = (matched.prediction >= 0) & (matched.sigma < 1) & (matched.sigma > 0)
    best = np.zeros(len(truth.scenes))
    np.maximum.at(best, truth.image[partial], matched.sigma[partial])
    annotated = np.bincount(truth.image, minlength=len(best))
    chosen = np.lexsort((np.arange(len(best)), -best))[:images]
    chosen = chosen[annotated[chosen] > 0]
    found: list[Example] = []
    for image in chosen.tolist():
        found += _matched(evaluation, image) + _unmatched(evaluation, image)
    return found


def _matched(evaluation: SemanticEvaluation, image: int) -> list[Example]:
    truth, matched = evaluation.annotated, evaluation.matched_in_part
    first, stop = np.searchsorted(truth.image, [image, image + 1]).tolist()
    return [
        _example(evaluation, image, row, int(matched.prediction[row]), matched=True)
        for row in range(first, stop)
    ]


def _unmatched(evaluation: SemanticEvaluation, image: int) -> list[Example]:
    found, matched = evaluation.predicted, evaluation.matched_in_part
    rows = np.arange(*np.searchsorted(found.image, [image, image + 1]).tolist())
    taken = marked(matched.prediction[matched.prediction >= 0], len(found))
    free = ~taken[rows]
    if evaluation.taking_part is not None:
        free &= evaluation.taking_part[rows]
    rows = rows[free]
    if evaluation.score is not None:
        rows = rows[np.argsort(-evaluation.score[rows], kind="stable")]
    nearest = evaluation.candidates.nearest
    return [
        _example(evaluation, image, int(nearest[row]), row, matched=False)
        for row in rows[:UNMATCHED].tolist()
    ]


def _example(
    evaluation: SemanticEvaluation, image: int, annotated: int, predicted: int, *, matched: bool
) -> Example:
    """Describe an annotated triplet and a prediction; -1 for none."""
    truth, found = evaluation.annotated, evaluation.predicted
    both = annotated >= 0 and predicted >= 0
    verb = thing = total = None
    if both:
        pairs = (
            (truth.verb[[annotated]], found.verb[[predicted]]),
            (truth.object[[annotated]], found.object[[predicted]]),
        )
        verb = float(evaluation.verbs.similarity.at(*pairs[0])[0])
        if pairs[1][0][0] >= 0 and pairs[1][1][0] >= 0:
            thing = float(evaluation.objects.similarity.at(*pairs[1])[0])
        total = float(
            evaluation.tables.sigma(pairs[0][0], pairs[1][0], pairs[0][1], pairs[1][1])[0]
        )
    score = evaluation.score
    return Example(
        image=str(found.scenes.names[image]),
        annotated=_name(truth, annotated),
        predicted=_name(found, predicted),
        matched=matched and both,
        score=None if predicted < 0 or score is None else float(score[predicted]),
        verb=verb,
        object=thing,
        total=total,
    )


def _name(of: Instances, row: int) -> str:
    """Name the interaction of a triplet."""
    if row < 0:
        return ""
    return class_names(of.scenes.vocabulary, [int(of.verb[row])], [int(of.object[row])])[0]
