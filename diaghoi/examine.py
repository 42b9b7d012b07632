"""From scenes to the evidence of a diagnosis, block of images by block of images."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.errors import explain
from diaghoi.ledger import Ledger
from diaghoi.matching import Match, match
from diaghoi.negatives import Negatives
from diaghoi.pairs import PairCounts, count_pairs
from diaghoi.protocol import Protocol
from diaghoi.scenes import Scenes

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.integer]

# Images worked through at once: few enough for the arrays to stay in the processor's cache.
BLOCK = 256
# The label of a wrong prediction whose class the protocol does not count.
UNLABELLED = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What one pass over the images leaves behind.

    Parameters
    ----------
    everything : Ledger
        All predictions and annotated triplets of all HOI classes, as matched.
    ledger : Ledger
        Those that the protocol counts, labelled and assigned.
    pairs : dict of PairCounts
        For the annotated pairs of each split.
    negatives : Negatives
        The predicted pairs.
    """

    everything: Ledger
    ledger: Ledger
    pairs: dict[str, PairCounts]
    negatives: Negatives


@dataclass(frozen=True, kw_only=True, eq=False)
class _Block:
    """The evidence of one block: ledger columns in input order, and which of them count."""

    columns: dict[str, Any]
    row_counts: BoolArray
    annotation_counts: BoolArray
    pairs: dict[str, PairCounts]
    negatives: Negatives


def examine(
    annotations: Scenes,
    predictions: Scenes,
    protocol: Protocol,
    progress: Callable[[int], Any] | None = None,
) -> Evidence:
    """Match, label and count.

    Parameters
    ----------
    annotations, predictions : Scenes
        With the same images (see :func:`diaghoi.scenes.join`).
    protocol : Protocol
        The choices.
    progress : callable, optional
        Called with the number of images done since the last call.
    """

    def block(first: int) -> _Block:
        stop = min(first + BLOCK, len(annotations))
        return _examine_block(
            annotations.between(first, stop), predictions.between(first, stop), protocol
        )

    firsts = range(0, max(len(annotations), 1), BLOCK)
    blocks = []
    with ThreadPoolExecutor(min(len(firsts), os.cpu_count() or 1)) as pool:
        for first, done in zip(firsts, pool.map(block, firsts), strict=True):
            blocks.append(done)
            if progress is not None:
                progress(min(BLOCK, len(annotations) - first))

    everything = Ledger.ranked(classes=len(annotations.vocabulary), **_joined_columns(blocks))
    row_counts = np.concatenate([block.row_counts for block in blocks])
    annotation_counts = np.concatenate([block.annotation_counts for block in blocks])
    return Evidence(
        everything=everything.annotations(everything.annotation_class >= 0),
        ledger=everything.rows(row_counts[everything.row_input]).annotations(annotation_counts),
        pairs={
            split: sum((block.pairs[split] for block in blocks), PairCounts())
            for split in blocks[0].pairs
        },
        negatives=Negatives(
            score=np.concatenate([block.negatives.score for block in blocks]),
            negative=np.concatenate([block.negatives.negative for block in blocks]),
        ),
    )


def _joined_columns(blocks: list[_Block]) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    for name in blocks[0].columns:
        parts, before = [], 0
        for number, block in enumerate(blocks):
            part = block.columns[name]
            if name.endswith("_image"):
                part = part + number * BLOCK
            elif name == "row_annotation":
                part = np.where(part < 0, -1, part + before)
                before += len(block.columns["annotation_class"])
            parts.append(part)
        joined[name] = np.concatenate(parts)
    return joined


def _examine_block(annotations: Scenes, predictions: Scenes, protocol: Protocol) -> _Block:
    vocabulary = annotations.vocabulary
    matched = match(annotations, predictions, protocol)
    counted = np.append(protocol.counted(vocabulary), False)
    row_counts = counted[predictions.triplet_class]
    if protocol.top is not None:
        row_counts &= _among_best(predictions, matched, protocol.top)
    annotation_counts = counted[annotations.triplet_class]
    errors = explain(annotations, predictions, matched, annotation_counts, row_counts)

    is_class = predictions.triplet_class >= 0
    label = np.where(row_counts | matched.found, errors.label, UNLABELLED)
    has_rows = np.bincount(predictions.triplet_image[row_counts], minlength=len(predictions)) > 0
    examined = (
        np.ones(len(annotations.triplet_pair), dtype=bool)
        if protocol.images_without_predictions == "counted"
        else has_rows[annotations.triplet_image]
    )
    action_score = predictions.triplet_action_score
    if action_score is None:
        action_score = np.full(len(predictions.triplet_pair), np.nan)
    wanted = np.bincount(
        annotations.triplet_pair[annotation_counts], minlength=len(annotations.pair_human)
    )
    columns = {
        "row_class": predictions.triplet_class[is_class],
        "row_image": predictions.triplet_image[is_class],
        "row_label": label[is_class].astype(np.int8),
        "row_annotation": errors.annotation[is_class].astype(np.int32),
        "row_score": predictions.scores[is_class],
        "row_action_score": action_score[is_class],
        "annotation_class": annotations.triplet_class,
        "annotation_image": annotations.triplet_image,
        "annotation_counts": np.ones(len(annotations.triplet_pair), dtype=bool),
        "annotation_examined": examined,
        "annotation_localised": _localised_by_triplets(
            annotations, predictions, matched, row_counts
        ),
    }
    return _Block(
        columns=columns,
        row_counts=row_counts[is_class],
        annotation_counts=annotation_counts,
        pairs=_pair_counts(annotations, predictions, matched, protocol),
        negatives=_negatives(predictions, matched, wanted > 0),
    )


def _among_best(predictions: Scenes, matched: Match, top: int) -> BoolArray:
    """Mark the best-scored triplets of each image."""
    image = predictions.triplet_image[matched.order]
    in_image = np.bincount(image, minlength=len(predictions))
    rank_in_image = np.arange(len(image)) - (np.cumsum(in_image) - in_image)[image]
    best = np.zeros(len(image), dtype=bool)
    best[matched.order[rank_in_image < top]] = True
    return best


def _localised_by_triplets(
    annotations: Scenes, predictions: Scenes, matched: Match, row_counts: BoolArray
) -> BoolArray:
    """Mark annotated triplets whose pair is localised by the pair of a counted prediction."""
    used = np.zeros(len(predictions.pair_human), dtype=bool)
    used[predictions.triplet_pair[row_counts]] = True
    localised = np.zeros(len(annotations.pair_human), dtype=bool)
    localised[matched.hits.annotated[used[matched.hits.predicted]]] = True
    return np.asarray(localised[annotations.triplet_pair])


def _pair_counts(
    annotations: Scenes, predictions: Scenes, matched: Match, protocol: Protocol
) -> dict[str, PairCounts]:
    predicted_box, annotated_box = matched.overlap.meeting
    reached = []
    for role in (predictions.pair_human, predictions.pair_object):
        of_pairs = np.zeros(len(predictions.box_label) + 1, dtype=bool)
        of_pairs[role[predictions.listed]] = True
        found = np.zeros(len(annotations.box_label), dtype=bool)
        found[annotated_box[of_pairs[predicted_box]]] = True
        reached.append(found)

    counts = {}
    for split, classes in protocol.splits(annotations.vocabulary).items():
        in_split = np.append(classes, False)[annotations.triplet_class]
        wanted = np.zeros(len(annotations.pair_human), dtype=bool)
        wanted[annotations.triplet_pair[in_split]] = True
        counts[split] = count_pairs(
            annotations, predictions, matched.hits, (reached[0], reached[1]), wanted
        )
    return counts


def _negatives(predictions: Scenes, matched: Match, wanted: BoolArray) -> Negatives:
    positive = np.zeros(len(predictions.pair_human), dtype=bool)
    positive[matched.hits.predicted[wanted[matched.hits.annotated]]] = True
    score = predictions.pair_score
    if score is None:
        score = _pair_score_of_triplets(predictions)
    listed = predictions.listed
    return Negatives(score=1 - score[listed], negative=~positive[listed])


def _pair_score_of_triplets(predictions: Scenes) -> FloatArray:
    """Highest action score of a real verb among the triplets of each pair; NaN if there are none.

    A pair whose triplets are all `no_interaction` gets 0.
    """
    score = np.zeros(len(predictions.pair_human))
    if predictions.triplet_action_score is None:
        score[:] = np.nan
        return score
    real = predictions.triplet_verb != predictions.vocabulary.no_interaction
    np.maximum.at(score, predictions.triplet_pair[real], predictions.triplet_action_score[real])
    return score
