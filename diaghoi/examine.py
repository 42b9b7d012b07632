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
from diaghoi.ragged import marked, place_in_group
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
    ignored : int
        Predictions of the protocol's classes that count neither way.
    pairs : dict of PairCounts
        For the annotated pairs of each split.
    negatives : Negatives
        The predicted pairs.
    """

    everything: Ledger
    ledger: Ledger
    ignored: int
    pairs: dict[str, PairCounts]
    negatives: Negatives


@dataclass(frozen=True, kw_only=True, eq=False)
class _Block:
    """The evidence of one block: ledger columns in input order, and which of them count."""

    columns: dict[str, Any]
    row_counts: BoolArray
    annotation_counts: BoolArray
    ignored: int
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
        ignored=sum(block.ignored for block in blocks),
        pairs={
            split: sum((block.pairs[split] for block in blocks), PairCounts())
            for split in blocks[0].pairs
        },
        negatives=Negatives.concatenate([block.negatives for block in blocks]),
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
    best = np.ones(len(predictions.triplet_pair), dtype=bool)
    if protocol.top is not None:
        best = _among_best(predictions, matched, protocol.top)
    of_protocol = counted[predictions.triplet_class] & best
    annotation_counts = counted[annotations.triplet_class]
    errors = explain(
        annotations, predictions, matched, annotation_counts, of_protocol, protocol.considered
    )

    # Ignored predictions stand in no ledger, though an annotation may have been assigned to one.
    ignored = matched.pairing.ignored
    row_counts = of_protocol & ~ignored
    is_row = (predictions.triplet_class >= 0) & ~ignored
    label = np.where(row_counts | matched.found, errors.label, UNLABELLED)
    has_rows = np.bincount(predictions.triplet_image[of_protocol], minlength=len(predictions)) > 0
    wrong = (errors.annotation >= 0) & ~matched.found
    attempted = marked(errors.annotation[wrong], len(annotations.triplet_pair))
    examined = (
        np.ones(len(annotations.triplet_pair), dtype=bool)
        if protocol.images_without_predictions == "counted"
        else has_rows[annotations.triplet_image]
    )
    action_score = predictions.triplet_action_score
    if action_score is None:
        action_score = np.full(len(predictions.triplet_pair), np.nan)
    listed = predictions.listed
    if predictions.pair_score is None:
        # The pairs are those of the triplets, and of the triplets the best alone may count.
        listed = listed & marked(predictions.triplet_pair[best], len(listed))
    wanted = marked(annotations.triplet_pair[annotation_counts], len(annotations.pair_human))
    columns = {
        "row_class": predictions.triplet_class[is_row],
        "row_image": predictions.triplet_image[is_row],
        "row_label": label[is_row].astype(np.int8),
        "row_annotation": errors.annotation[is_row].astype(np.int32),
        "row_score": predictions.scores[is_row],
        "row_action_score": action_score[is_row],
        "annotation_class": annotations.triplet_class,
        "annotation_image": annotations.triplet_image,
        "annotation_counts": np.ones(len(annotations.triplet_pair), dtype=bool),
        "annotation_examined": examined,
        "annotation_attempted": attempted,
        "annotation_localised": _localised_by_triplets(
            annotations, predictions, matched, of_protocol
        ),
    }
    return _Block(
        columns=columns,
        row_counts=row_counts[is_row],
        annotation_counts=annotation_counts,
        ignored=int((of_protocol & ignored).sum()),
        pairs=_pair_counts(annotations, predictions, listed, matched, protocol),
        negatives=_negatives(predictions, listed, matched, wanted),
    )


def _among_best(predictions: Scenes, matched: Match, top: int) -> BoolArray:
    """Mark the best-scored triplets of each image."""
    best = np.zeros(len(matched.order), dtype=bool)
    best[matched.order[place_in_group(predictions.triplet_image[matched.order]) < top]] = True
    return best


def _localised_by_triplets(
    annotations: Scenes, predictions: Scenes, matched: Match, row_counts: BoolArray
) -> BoolArray:
    """Mark annotated triplets whose pair is localised by the pair of a counted prediction."""
    hits = matched.hits
    used = marked(predictions.triplet_pair[row_counts], len(predictions.pair_human))
    localised = marked(hits.annotated[used[hits.predicted]], len(annotations.pair_human))
    return np.asarray(localised[annotations.triplet_pair])


def _pair_counts(
    annotations: Scenes,
    predictions: Scenes,
    listed: BoolArray,
    matched: Match,
    protocol: Protocol,
) -> dict[str, PairCounts]:
    predicted_box, annotated_box = matched.overlap.meeting
    reached = []
    for role in (predictions.pair_human, predictions.pair_object):
        of_pairs = marked(role[listed], len(predictions.box_label) + 1)
        found = annotated_box[of_pairs[predicted_box]]
        reached.append(marked(found, len(annotations.box_label)))

    counts = {}
    for split, classes in protocol.splits(annotations.vocabulary).items():
        in_split = np.append(classes, False)[annotations.triplet_class]
        wanted = marked(annotations.triplet_pair[in_split], len(annotations.pair_human))
        wanted &= annotations.pair_object >= 0
        counts[split] = count_pairs(
            annotations, listed, matched.hits, (reached[0], reached[1]), wanted
        )
    return counts


def _negatives(
    predictions: Scenes, listed: BoolArray, matched: Match, wanted: BoolArray
) -> Negatives:
    hits = matched.hits
    positive = marked(hits.predicted[wanted[hits.annotated]], len(listed))
    score = predictions.pair_score
    if score is None:
        score = _pair_score_of_triplets(predictions)
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
