"""Collect the true positives, false positives and misses of individual images, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from diaghoi.cases.cases import Box, box_of, check_single, size_of
from diaghoi.cases.sentences import shown_score
from diaghoi.data.arrays import BoolArray, IntArray
from diaghoi.data.joining import join
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.ledger import Ledger
from diaghoi.exceptions import InputError

RIGHT, FALSE, MISSED = "right", "false", "missed"
OUTCOMES = (RIGHT, FALSE, MISSED)
LEGIBLE = 8
"""Largest number of triplets of a model in one image whose boxes can still be told apart.
"""


@dataclass(frozen=True, kw_only=True)
class PairOutcome:
    """The verbs of one pair that share an outcome.

    Parameters
    ----------
    outcome : {"right", "false", "missed"}
        Whether the verbs are from true positives, from other predictions, or from annotated
        triplets that no true positive finds.
    human, object : box or None
        Predicted boxes, or annotated boxes if the pair is missed; None for a role without a box.
    name : str
        The interactions: ``ride, straddle bicycle``.
    caption : str
        The interactions with the detector's scores, if any: ``ride 0.90, straddle 0.80 bicycle``.
    score : float or None
        Highest score of the predictions; None if the pair is missed or the detector gives no
        scores.
    """

    outcome: str
    human: Box | None
    object: Box | None
    name: str
    caption: str
    score: float | None


@dataclass(frozen=True, kw_only=True)
class ImageOutcomes:
    """All pairs of one image with their outcomes.

    Parameters
    ----------
    image : str
        Name of the image.
    size : (width, height) or None
        Size of the image in pixels, if known.
    pairs : tuple of PairOutcome
        True positives come first, then false positives, then misses; within each outcome, the
        highest scores come first.
    """

    image: str
    size: tuple[int, int] | None
    pairs: tuple[PairOutcome, ...]


def outcome_counts(diagnosis: Diagnosis, threshold: float) -> IntArray:
    """Count the triplets of each image by outcome.

    Parameters
    ----------
    diagnosis : Diagnosis
        Any diagnosis.
    threshold : float
        Lowest score of the predictions that count.

    Returns
    -------
    (images, 3) int array
        Counts in the order of :data:`OUTCOMES`.
    """
    ledger = diagnosis.ledger
    shown = ledger.row_score >= threshold
    images = len(diagnosis.names)
    return np.stack(
        [
            np.bincount(ledger.row_image[shown & ledger.true], minlength=images),
            np.bincount(ledger.row_image[shown & ~ledger.true], minlength=images),
            np.bincount(ledger.annotation_image[_unfound(ledger, shown)], minlength=images),
        ],
        axis=1,
    )


def telling(
    counts: Sequence[Sequence[Sequence[int]]], images: Sequence[str], top: int
) -> list[str]:
    """Choose images that illustrate true positives, false positives and misses.

    Parameters
    ----------
    counts : (models, images, 3) sequences of int
        Numbers of triplets, as from :func:`outcome_counts`.
    images : sequence of str
        Names of the images.
    top : int
        Number of images to choose.

    Returns
    -------
    list of str
        For one detector, images with many different outcomes and few triplets come first. For
        several detectors, images where the last detector gains most over the first alternate with
        images where the last detector loses most; images with more than :data:`LEGIBLE` triplets of
        a detector come last.
    """
    table = np.asarray(counts).reshape(len(counts), len(images), len(OUTCOMES))
    total = table.sum(axis=(0, 2))
    crowded = table.sum(axis=2).max(axis=0) > LEGIBLE
    if len(table) == 1:
        chosen = np.lexsort((total, -(table[0] > 0).sum(axis=1)))
    else:
        more = table[-1, :, 0] - table[0, :, 0]
        better, worse = (np.lexsort((total, each, crowded)) for each in (-more, more))
        chosen = np.array(list(dict.fromkeys(np.stack([better, worse], axis=1).ravel().tolist())))
    return [images[place] for place in chosen[:top].tolist()]


def shared_outcomes(
    models: Sequence[tuple[Diagnosis, Scenes, Scenes]],
    images: Sequence[str],
    *,
    threshold: float | None = None,
    top: int | None = None,
) -> tuple[list[float], list[list[ImageOutcomes]]]:
    """Collect what several detectors find and miss in the same images, and their false positives.

    Parameters
    ----------
    models : sequence of (Diagnosis, Scenes, Scenes)
        Diagnoses of the same images, each with its annotations and predictions.
    images : sequence of str
        Names of images in these diagnoses.
    threshold : float, optional
        Lowest score of the predictions that count. The default is the score at which each detector
        has its best F1; if no prediction is right, all predictions count.
    top : int, optional
        Number of images to choose with :func:`telling`.

    Returns
    -------
    thresholds : list of float
        Threshold of each detector.
    outcomes : list of lists of ImageOutcomes
        Outcomes of each detector, in the order of the images.

    Raises
    ------
    InputError
        As in :func:`image_outcomes`, or if the diagnoses have different images.
    """
    first = models[0][0]
    for other, *_ in models[1:]:
        if set(other.names.tolist()) != set(first.names.tolist()):
            raise InputError(
                f"{other.label}: has other images than {first.label}; give models with the same "
                "annotations"
            )
    least = [_least(model[0]) if threshold is None else threshold for model in models]
    if top is not None:
        counts = []
        for (diagnosis, *_), score in zip(models, least, strict=True):
            place = {name: row for row, name in enumerate(diagnosis.names.tolist())}
            rows = [place[name] for name in images]
            counts.append(outcome_counts(diagnosis, score)[rows].tolist())
        images = telling(counts, images, top)
    shown = (
        image_outcomes(*each, images, score) for each, score in zip(models, least, strict=True)
    )
    return least, list(shown)


def _least(diagnosis: Diagnosis) -> float:
    best = diagnosis.best_threshold
    return -np.inf if best is None else best


def image_outcomes(
    diagnosis: Diagnosis,
    annotations: Scenes,
    predictions: Scenes,
    images: Sequence[str],
    threshold: float,
) -> list[ImageOutcomes]:
    """Collect the outcomes of one detector on the given images.

    Parameters
    ----------
    diagnosis : Diagnosis
        The diagnosis of these annotations and predictions. A sum of diagnoses is refused, because
        sums do not keep boxes.
    annotations, predictions : Scenes
        The scenes that were diagnosed.
    images : sequence of str
        Names of images in the annotations or predictions.
    threshold : float
        Lowest score of the predictions that count.

    Raises
    ------
    InputError
        If the diagnosis is a sum or belongs to other scenes.
    """
    annotations, predictions, _ = join(annotations, predictions, diagnosis.protocol)
    check_single(diagnosis, annotations, predictions)
    place = {name: row for row, name in enumerate(diagnosis.names.tolist())}
    ledger = diagnosis.ledger
    shown = ledger.row_score >= threshold
    unfound = _unfound(ledger, shown)
    found = []
    for name in images:
        image = place[name]
        rows = np.flatnonzero(shown & (ledger.row_image == image))
        rows = rows[np.argsort(-ledger.row_score[rows], kind="stable")]
        true = ledger.true[rows]
        missed = ledger.annotation_input[unfound & (ledger.annotation_image == image)]
        found.append(
            ImageOutcomes(
                image=name,
                size=size_of(annotations, predictions, image),
                pairs=(
                    *_pairs(predictions, ledger.row_input[rows[true]], RIGHT),
                    *_pairs(predictions, ledger.row_input[rows[~true]], FALSE),
                    *_pairs(annotations, missed, MISSED),
                ),
            )
        )
    return found


def _unfound(ledger: Ledger, shown: BoolArray) -> BoolArray:
    """Find the annotated triplets that no shown prediction finds."""
    unfound = np.ones(len(ledger.annotation_class), bool)
    unfound[ledger.row_annotation[shown & ledger.true]] = False
    return unfound


def _pairs(scenes: Scenes, triplets: IntArray, outcome: str) -> Iterator[PairOutcome]:
    """Combine the triplets of each pair into one outcome, in the order of the triplets."""
    by_pair: dict[int, list[int]] = {}
    for triplet in triplets.tolist():
        by_pair.setdefault(int(scenes.triplet_pair[triplet]), []).append(triplet)
    scored = outcome != MISSED and scenes.ranked
    for pair, own in by_pair.items():
        classes = scenes.triplet_class[own].tolist()
        scores = list(map(shown_score, scenes.scores[own].tolist())) if scored else []
        yield PairOutcome(
            outcome=outcome,
            human=box_of(scenes, int(scenes.pair_human[pair])),
            object=box_of(scenes, int(scenes.pair_object[pair])),
            name=_name(scenes.vocabulary, classes),
            caption=_name(scenes.vocabulary, classes, scores),
            score=float(scenes.scores[own].max()) if scored else None,
        )


def _name(vocabulary: Vocabulary, classes: Sequence[int], scores: Sequence[str] = ()) -> str:
    """Join classes with a common object: ``ride, straddle bicycle``.

    Each score follows its verb (``ride 0.90, straddle 0.80 bicycle``); a single score follows the
    class (``ride bicycle 0.90``).
    """
    of_class = dict(zip(reversed(classes), reversed(scores or [""] * len(classes)), strict=True))
    classes = list(dict.fromkeys(classes))
    objects = {int(vocabulary.class_object[hoi]) for hoi in classes}
    if len(classes) == 1 or len(objects) > 1 or min(objects) < 0:
        return ", ".join(
            f"{vocabulary.class_name(hoi)} {of_class[hoi]}".rstrip() for hoi in classes
        )
    verbs = [
        f"{vocabulary.verbs[vocabulary.class_verb[hoi]]} {of_class[hoi]}".rstrip()
        for hoi in classes
    ]
    return f"{', '.join(verbs)} {vocabulary.objects[objects.pop()]}".replace("_", " ")
