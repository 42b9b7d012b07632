"""Individual annotations with their predictions, as in figure 6 of the supplement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diaghoi.data.vocabulary import Vocabulary
from diaghoi.semantic.evaluation import SemanticEvaluation
from diaghoi.semantic.triplets import class_names, of_interactions

UNMATCHED = 3
"""Number of unmatched predictions shown per image, highest scores first."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """An annotated triplet with its match, or a prediction without a match.

    Parameters
    ----------
    image : str
        Name of the image.
    annotated : str
        The annotated interaction; for an unmatched prediction, the interaction that the measure
        finds closest, empty if there is none.
    predicted : str
        The predicted interaction; empty if the annotated interaction has no match.
    matched : bool
        Whether the annotated triplet and the prediction are matched.
    score : float or None
        Score of the prediction.
    verb, object, total : float or None
        Similarity of the verbs, of the objects (None if not compared), and of the interactions.
    unmatched : int or None
        For an unmatched prediction: the number of such predictions in the image, of which
        :data:`UNMATCHED` are listed.
    """

    image: str
    annotated: str
    predicted: str
    matched: bool
    score: float | None
    verb: float | None
    object: float | None
    total: float | None
    unmatched: int | None = None


def examples_of(evaluation: SemanticEvaluation, *, images: int = 20) -> list[Example]:
    """Choose images that illustrate the effect of similarity.

    Parameters
    ----------
    evaluation : SemanticEvaluation
        Evaluation of the detector, whose mF1 matches are shown.
    images : int
        Maximum number of images. Images in which a prediction of another interaction was matched
        with high similarity come first.

    Returns
    -------
    list of Example
        Examples image by image, annotated triplets first.
    """
    matched, truth = evaluation.matched_counted, evaluation.annotated
    partial = (matched.prediction >= 0) & (matched.sigma < 1) & (matched.sigma > 0)
    best = np.zeros(len(truth.scenes))
    np.maximum.at(best, truth.image[partial], matched.sigma[partial])
    annotated = np.bincount(truth.image, minlength=len(best))
    chosen = np.lexsort((np.arange(len(best)), -best))[:images]
    chosen = chosen[annotated[chosen] > 0]
    return [
        example
        for image in chosen.tolist()
        for example in _matched(evaluation, image) + _unmatched(evaluation, image)
    ]


def _matched(evaluation: SemanticEvaluation, image: int) -> list[Example]:
    truth, matched = evaluation.annotated, evaluation.matched_counted
    rows = slice(*np.searchsorted(truth.image, [image, image + 1]).tolist())
    keys, predictions = truth.interaction[rows], matched.prediction[rows].tolist()
    return [
        _example(evaluation, image, key, row, matched=row >= 0)
        for key, row in zip(keys.tolist(), predictions, strict=True)
    ]


def _unmatched(evaluation: SemanticEvaluation, image: int) -> list[Example]:
    free = evaluation.free(evaluation.matched_counted, evaluation.counted)
    first, stop = np.searchsorted(evaluation.predicted.image, [image, image + 1]).tolist()
    rows = first + np.flatnonzero(free[first:stop])
    if evaluation.score is not None:
        rows = rows[np.argsort(-evaluation.score[rows], kind="stable")]
    nearest = evaluation.candidates.nearest
    return [
        _example(evaluation, image, int(nearest[row]), row, matched=False, unmatched=len(rows))
        for row in rows[:UNMATCHED].tolist()
    ]


def _example(
    evaluation: SemanticEvaluation,
    image: int,
    key: int,
    row: int,
    *,
    matched: bool,
    unmatched: int | None = None,
) -> Example:
    """Describe an annotated interaction and a prediction; -1 means none."""
    found, score = evaluation.predicted, evaluation.score
    vocabulary = found.scenes.vocabulary
    predicted = -1 if row < 0 else int(found.interaction[row])
    verb = object_ = total = None
    if key >= 0 and row >= 0:
        keys = np.array([[key], [predicted]])
        verbs, objects = of_interactions(vocabulary, keys)
        verb = float(evaluation.verbs.similarity.at(*verbs)[0])
        if (objects >= 0).all():
            object_ = float(evaluation.objects.similarity.at(*objects)[0])
        total = float(evaluation.sigma(*keys)[0])
    return Example(
        image=str(found.scenes.names[image]),
        annotated=_name(vocabulary, key),
        predicted=_name(vocabulary, predicted),
        matched=matched,
        score=None if row < 0 or score is None else float(score[row]),
        verb=verb,
        object=object_,
        total=total,
        unmatched=unmatched,
    )


def _name(vocabulary: Vocabulary, key: int) -> str:
    return class_names(vocabulary, np.array([key]))[0] if key >= 0 else ""
