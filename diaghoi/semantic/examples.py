"""Single annotations next to the predictions for them, as in figure 6 of the supplement."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from diaghoi.data.arrays import marked
from diaghoi.semantic.evaluation import SemanticEvaluation
from diaghoi.semantic.triplets import EvaluatedTriplets, class_names, of_interactions

UNMATCHED = 3
"""Unmatched predictions shown per image: those with the highest scores."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """One annotated triplet with its match, or one prediction without a match.

    Parameters
    ----------
    image : str
        Name of the image.
    annotated : str
        The annotated interaction; for an unmatched prediction the one it is closest to by the rule
        of the measure, empty where there is none.
    predicted : str
        The predicted interaction; empty where the annotated one has no match.
    matched : bool
        Whether the two are matched.
    score : float or None
        Score of the prediction.
    verb, object, total : float or None
        Similarity of the verbs, of the objects (None where they are not compared) and of both.
    unmatched : int or None
        Of a prediction without a match: how many the image has; :data:`UNMATCHED` are listed.
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
    """Choose images that show what similarity changes.

    Parameters
    ----------
    evaluation : SemanticEvaluation
        Evaluation of the detector; the matching is that of mF1.
    images : int
        Maximum number of images. Those come first where the prediction of another interaction was
        matched with the highest similarity.

    Returns
    -------
    list of Example
        Image by image, the annotated triplets first.
    """
    matched, truth = evaluation.matched_counted, evaluation.annotated
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
    truth, matched = evaluation.annotated, evaluation.matched_counted
    first, stop = np.searchsorted(truth.image, [image, image + 1]).tolist()
    return [
        _example(
            evaluation,
            image,
            int(truth.interaction[row]),
            int(matched.prediction[row]),
            matched=True,
        )
        for row in range(first, stop)
    ]


def _unmatched(evaluation: SemanticEvaluation, image: int) -> list[Example]:
    found, matched = evaluation.predicted, evaluation.matched_counted
    rows = np.arange(*np.searchsorted(found.image, [image, image + 1]).tolist())
    taken = marked(matched.prediction[matched.prediction >= 0], len(found))
    free = ~taken[rows]
    if evaluation.counted is not None:
        free &= evaluation.counted[rows]
    rows = rows[free]
    if evaluation.score is not None:
        rows = rows[np.argsort(-evaluation.score[rows], kind="stable")]
    nearest = evaluation.candidates.nearest
    shown = [
        _example(evaluation, image, int(nearest[row]), row, matched=False)
        for row in rows[:UNMATCHED].tolist()
    ]
    return [replace(each, unmatched=len(rows)) for each in shown]


def _example(
    evaluation: SemanticEvaluation, image: int, key: int, predicted: int, *, matched: bool
) -> Example:
    """Describe an interaction and a prediction; -1 for none."""
    found = evaluation.predicted
    both = key >= 0 and predicted >= 0
    verb = object_ = total = None
    if both:
        one = of_interactions(found.scenes.vocabulary, np.array([key]))
        pairs = (one[0], found.verb[[predicted]]), (one[1], found.object[[predicted]])
        verb = float(evaluation.verbs.similarity.at(*pairs[0])[0])
        if pairs[1][0][0] >= 0 and pairs[1][1][0] >= 0:
            object_ = float(evaluation.objects.similarity.at(*pairs[1])[0])
        total = float(
            evaluation.tables.sigma(pairs[0][0], pairs[1][0], pairs[0][1], pairs[1][1])[0]
        )
    score = evaluation.score
    return Example(
        image=str(found.scenes.names[image]),
        annotated=_name(found, key),
        predicted=_name(found, -1 if predicted < 0 else int(found.interaction[predicted])),
        matched=matched and both,
        score=None if predicted < 0 or score is None else float(score[predicted]),
        verb=verb,
        object=object_,
        total=total,
    )


def _name(triplets: EvaluatedTriplets, key: int) -> str:
    """Name an interaction."""
    if key < 0:
        return ""
    vocabulary = triplets.scenes.vocabulary
    verb, object_ = of_interactions(vocabulary, np.array([key]))
    return class_names(vocabulary, verb.tolist(), object_.tolist())[0]
