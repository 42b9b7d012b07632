"""Run the semantic evaluation of a detector: :func:`evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from diaghoi.data.arrays import FloatArray, descending
from diaghoi.data.boxes import box_iou
from diaghoi.data.groups import check_protocol
from diaghoi.data.joining import Joined, join
from diaghoi.data.protocol import Protocol
from diaghoi.data.protocol import protocol as protocol_named
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnose import diagnose
from diaghoi.exceptions import InputError
from diaghoi.formats.flat import from_repeated
from diaghoi.language.open_vocabulary import OpenVocabulary
from diaghoi.semantic.evaluation import SemanticEvaluation
from diaghoi.semantic.fitting import fit_to
from diaghoi.semantic.matching import SimilarityTables, match_candidates
from diaghoi.semantic.measure import SAME_PAIR, Measure
from diaghoi.semantic.tables.senses import OWN
from diaghoi.semantic.tables.similarity import Similarity
from diaghoi.semantic.triplets import select_triplets


def evaluate(
    annotations: Scenes,
    predictions: Scenes,
    verbs: Similarity | str = OWN,
    objects: Similarity | str = OWN,
    *,
    measure: Measure | None = None,
    protocol: str | Protocol | None = None,
    scores: bool = True,
    verb_senses: Mapping[str, str] | None = None,
    object_senses: Mapping[str, str] | None = None,
    label: str = "",
    progress: Callable[[int], Any] | None = None,
) -> SemanticEvaluation:
    """Evaluate predictions with graded credit for similar meanings.

    Parameters
    ----------
    annotations, predictions : Scenes
        As read by :func:`diaghoi.read_annotations` and :func:`diaghoi.read_predictions`; images are
        joined by name.
    verbs, objects : Similarity or {"own", "wordnet"}
        Verb and object tables, by words or senses; by default the ratings of this package;
        "wordnet" is Wu-Palmer similarity.
    measure : Measure, optional
        Combination of similarities, and thresholds.
    protocol : str or Protocol, optional
        Protocol that defines the classes, the boxes and the standard mAP; by default
        :func:`default_protocol`.
    scores : bool
        False for confidence-free mode, which counts every prediction and has no soft mAP;
        predictions without scores always use this mode.
    verb_senses, object_senses : mapping, optional
        Names that the tables use for words of the data set.
    label : str
        Name of the detector.
    progress : callable, optional
        Called with the number of images done since the last call.

    Returns
    -------
    SemanticEvaluation

    Raises
    ------
    InputError
        If nothing is annotated, no image is shared, or annotations, predictions and protocol belong
        to different data sets.
    """
    measure = Measure() if measure is None else measure
    vocabulary = annotations.vocabulary
    if vocabulary.name != predictions.vocabulary.name:
        raise InputError(
            f"the annotations are of {vocabulary.name}, the predictions of "
            f"{predictions.vocabulary.name}"
        )
    protocol = protocol_named(default_protocol(annotations) if protocol is None else protocol)
    check_protocol(protocol, vocabulary)
    fitted = fit_to(predictions.vocabulary, vocabulary, verbs, objects, verb_senses, object_senses)
    if isinstance(predictions.vocabulary, OpenVocabulary):
        # The data set's words have the same numbers in both vocabularies.
        annotations = replace(annotations, vocabulary=predictions.vocabulary)
    scored = scores and predictions.ranked
    truth, found, joined = join(annotations, predictions)
    if measure.subset == "single-hoi":
        truth, found, joined = _of_single_pairs(truth, found, joined, protocol)
    if predictions.unboxed:
        measure = replace(measure, matching="class")
    if measure.matching == "class":
        truth, found = _by_class(truth), _by_class(found)
    diagnosis = diagnose(truth, found, protocol) if scored else None
    annotated, predicted = select_triplets(truth, found, protocol)
    if not len(annotated):
        raise InputError(
            f"{annotations.source or 'annotations'}: no annotated triplet is evaluated, so there "
            "is nothing to compare with"
        )
    score = found.scores[predicted.rows] if scored else None
    candidates = match_candidates(
        annotated,
        predicted,
        score,
        SimilarityTables(verbs=fitted[0].similarity, objects=fitted[1].similarity, measure=measure),
        protocol,
        progress,
    )
    counted = None
    if score is not None:
        # By default, tau is a rank, which has the same meaning for any range of scores.
        by_rank = measure.tau_by == "rank"
        counted = (score_ranks(score) if by_rank else score) >= measure.tau
    return SemanticEvaluation(
        label=label,
        measure=measure,
        protocol=protocol,
        verbs=fitted[0],
        objects=fitted[1],
        annotated=annotated,
        predicted=predicted,
        joined=joined,
        score=score,
        counted=counted,
        candidates=candidates,
        diagnosis=diagnosis,
    )


def _by_class(scenes: Scenes) -> Scenes:
    """Keep each class of an image once, with its highest score; all get the same dummy boxes."""
    rows = np.flatnonzero(scenes.pair_object[scenes.triplet_pair] >= 0)
    image, verb = scenes.triplet_image[rows], scenes.triplet_verb[rows]
    category = scenes.pair_label[scenes.triplet_pair[rows]]
    score = None if scenes.triplet_score is None else scenes.triplet_score[rows]
    keys = [rows] if score is None else [rows, -score]
    order = np.lexsort((*keys, verb, category, image))
    sorted_keys = np.stack([image, category, verb])[:, order]
    first = np.append(True, (np.diff(sorted_keys) != 0).any(axis=0))[: len(order)]
    kept = np.sort(order[first])
    boxes = np.tile([0.0, 0.0, 100.0, 100.0], (len(kept), 1))  # pixels, not fractions of the image
    return from_repeated(
        scenes.vocabulary,
        names=scenes.names,
        sizes=scenes.sizes,
        image=image[kept],
        human=boxes,
        object_box=boxes,
        category=category[kept].astype(np.int64),
        verb=verb[kept].astype(np.int64),
        score=None if score is None else score[kept],
        unread=scenes.unread,
        source=scenes.source,
        notes=scenes.notes,
    )


def _of_single_pairs(
    annotations: Scenes, predictions: Scenes, joined: Joined, protocol: Protocol
) -> tuple[Scenes, Scenes, Joined]:
    """Keep the images in which all annotated pairs are the same person and object."""
    pairs = np.flatnonzero(annotations.pair_object >= 0)
    image = annotations.pair_image[pairs]
    first = pairs[np.searchsorted(image, image)]
    same = np.ones(len(pairs), dtype=bool)
    for box in (annotations.pair_human, annotations.pair_object):
        boxes = annotations.box_xyxy[box[pairs]], annotations.box_xyxy[box[first]]
        same &= box_iou(*boxes, protocol.margin) >= SAME_PAIR
    all_pairs, same_pairs = (
        np.bincount(of, minlength=len(annotations)) for of in (image, image[same])
    )
    images = np.flatnonzero((all_pairs > 0) & (same_pairs == all_pairs))
    if not len(images):
        raise InputError(
            f"{annotations.source or 'annotations'}: no image has a single human-object pair; "
            "evaluate all images"
        )
    taken = Joined(annotated=joined.annotated[images], predicted=joined.predicted[images])
    return annotations.take(images), predictions.take(images), taken


def default_protocol(annotations: Scenes) -> Protocol:
    """Return a data set's protocol for semantic evaluation; annotated `no_interaction` counts.

    On HICO-DET, the protocol is the benchmark protocol with 600 classes. Without annotated
    `no_interaction`, and on other data sets, the protocol of the diagnosis is used, because a
    prediction of `no_interaction` could only be wrong.
    """
    vocabulary = annotations.vocabulary
    annotated = (annotations.triplet_verb == vocabulary.no_interaction).any()
    if annotated and vocabulary.benchmarks:
        return vocabulary.benchmarks[0]
    return vocabulary.protocol


def score_ranks(score: FloatArray) -> FloatArray:
    """Rank scores on a scale from 0 for the lowest to 1 for the highest.

    Of equal scores, the score that comes first in the input ranks higher. A single score has rank
    1.
    """
    rank = np.ones(len(score))
    if len(score) > 1:
        rank[descending(score)] = np.arange(len(score) - 1, -1, -1) / (len(score) - 1)
    return rank
