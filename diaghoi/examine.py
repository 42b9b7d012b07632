"""From scenes to the evidence of a diagnosis, block of images by block of images."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.errors import explain
from diaghoi.ledger import Benchmark, Ledger
from diaghoi.matching import Match, match
from diaghoi.negatives import Negatives
from diaghoi.pairs import ImagePairs, count_pairs
from diaghoi.protocol import Protocol
from diaghoi.ragged import first_of_run, marked
from diaghoi.ranking import ranking
from diaghoi.scenes import Scenes

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.integer]

# Triplets worked through at once: few enough for the arrays to stay in the processor's cache.
BLOCK = 50_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What one pass over the images leaves behind.

    Parameters
    ----------
    benchmark : Benchmark
        All predictions and annotated triplets of all HOI classes.
    ledger : Ledger
        Those that the protocol counts, labelled and assigned.
    ignored : int
        Predictions of the protocol's classes that count neither way.
    pairs : dict of ImagePairs
        For the annotated pairs of each split.
    negatives : Negatives
        The predicted pairs.
    unknown_annotated, unknown_predicted : int
        Triplets whose object and verb form no HOI class.
    """

    benchmark: Benchmark
    ledger: Ledger
    ignored: int
    pairs: dict[str, ImagePairs]
    negatives: Negatives
    unknown_annotated: int
    unknown_predicted: int


@dataclass(frozen=True, kw_only=True, eq=False)
class _Block:
    """The evidence of one block: columns of ledger and benchmark in input order."""

    images: int
    triplets: int
    columns: dict[str, Any]
    ignored: int
    pairs: dict[str, ImagePairs]
    negatives: Negatives
    unknown: tuple[int, int]


def examine(
    annotations: Scenes,
    predictions: Scenes,
    protocol: Protocol,
    benchmarks: Sequence[Protocol] = (),
    progress: Callable[[int], Any] | None = None,
) -> Evidence:
    """Match, label and count.

    Parameters
    ----------
    annotations, predictions : Scenes
        With the same images (see :func:`diaghoi.scenes.join`).
    protocol : Protocol
        The choices.
    benchmarks : sequence of Protocol
        The protocols of the data set's own benchmark.
    progress : callable, optional
        Called with the number of images done since the last call.
    """

    def block(bounds: tuple[int, int]) -> _Block:
        return _examine_block(
            annotations.between(*bounds), predictions.between(*bounds), protocol, benchmarks
        )

    blocks = []
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for done in pool.map(block, block_bounds(predictions)):
            blocks.append(done)
            if progress is not None:
                progress(done.images)

    ledger, benchmark = _ranked(len(annotations.vocabulary), blocks, tuple(benchmarks))
    return Evidence(
        benchmark=benchmark,
        ledger=ledger,
        ignored=sum(block.ignored for block in blocks),
        pairs={
            split: ImagePairs.concatenate([block.pairs[split] for block in blocks])
            for split in blocks[0].pairs
        },
        negatives=Negatives.concatenate(
            [block.negatives for block in blocks], [block.images for block in blocks]
        ),
        unknown_annotated=sum(block.unknown[0] for block in blocks),
        unknown_predicted=sum(block.unknown[1] for block in blocks),
    )


def block_bounds(predictions: Scenes) -> list[tuple[int, int]]:
    """Cut the images into runs of about ``BLOCK`` triplets: first image, and one after the last."""
    in_image = np.bincount(predictions.triplet_image, minlength=len(predictions))
    block = np.cumsum(in_image) // BLOCK
    first = np.flatnonzero(first_of_run(block)).tolist()
    return list(pairwise([*first, len(predictions)])) or [(0, 0)]


def _ranked(
    classes: int, blocks: list[_Block], protocols: tuple[Protocol, ...]
) -> tuple[Ledger, Benchmark]:
    """Sort the rows of all blocks once, for the ledger and the benchmark."""
    columns = _joined(blocks)
    row_counts = columns.pop("row_counts")
    annotation_counts = columns.pop("annotation_counts")
    position = np.append(np.cumsum(annotation_counts) - 1, -1)
    order = ranking(columns["row_class"], columns["row_score"])
    of_ledger = order[row_counts[order]]
    # Labels are kept for the rows of the ledger alone.
    labelled = (np.cumsum(row_counts) - 1)[of_ledger]
    ledger = Ledger(
        classes=classes,
        row_class=columns["row_class"][of_ledger],
        row_input=columns["row_input"][of_ledger],
        row_image=columns["row_image"][of_ledger],
        row_score=columns["row_score"][of_ledger],
        row_label=columns.pop("row_label")[labelled],
        row_annotation=position[columns.pop("row_annotation")[labelled]],
        row_action_score=columns.pop("row_action_score")[labelled],
        annotation_class=columns["annotation_class"][annotation_counts],
        annotation_image=columns["annotation_image"][annotation_counts],
        annotation_input=np.flatnonzero(annotation_counts).astype(np.int32),
        annotation_counts=np.ones(annotation_counts.sum(), dtype=bool),
        annotation_examined=columns.pop("annotation_examined")[annotation_counts],
        annotation_attempted=columns.pop("annotation_attempted")[annotation_counts],
        annotation_localised=columns.pop("annotation_localised")[annotation_counts],
    )
    of_class = columns["annotation_class"] >= 0
    benchmark = Benchmark(
        classes=classes,
        protocols=protocols,
        row_class=columns.pop("row_class")[order],
        row_input=columns.pop("row_input")[order],
        row_image=columns.pop("row_image")[order],
        row_score=columns.pop("row_score")[order],
        row_verdict=columns.pop("row_verdict")[order],
        annotation_class=columns["annotation_class"][of_class],
        annotation_input=np.flatnonzero(of_class).astype(np.int32),
        annotation_image=columns["annotation_image"][of_class],
    )
    return ledger, benchmark


def _joined(blocks: list[_Block]) -> dict[str, Any]:
    """Concatenate the columns of all blocks, each freed as it is taken."""
    first_image = np.cumsum([0, *(block.images for block in blocks)])
    first_annotation = np.cumsum([0, *(len(b.columns["annotation_class"]) for b in blocks)])
    first_triplet = np.cumsum([0, *(block.triplets for block in blocks)])
    joined: dict[str, Any] = {}
    for name in list(blocks[0].columns):
        parts = []
        for number, block in enumerate(blocks):
            part = block.columns.pop(name)
            if name.endswith("_image"):
                part = part + np.int32(first_image[number])
            elif name == "row_input":
                part = part + np.int32(first_triplet[number])
            elif name == "row_annotation":
                part = np.where(part < 0, -1, part + np.int32(first_annotation[number]))
            parts.append(part)
        joined[name] = np.concatenate(parts)
    return joined


def _examine_block(
    annotations: Scenes,
    predictions: Scenes,
    protocol: Protocol,
    benchmarks: Sequence[Protocol],
) -> _Block:
    vocabulary = annotations.vocabulary
    matched = match(annotations, predictions, protocol)
    counted = np.append(protocol.counted(vocabulary), False)
    best = matched.among_best(protocol.top)
    image_counts = counted_images(annotations, protocol)
    of_protocol = counted[predictions.triplet_class] & best
    of_protocol &= image_counts[predictions.triplet_image]
    annotation_counts = counted[annotations.triplet_class]
    errors = explain(
        annotations, predictions, matched, annotation_counts, of_protocol, protocol.considered
    )

    # Ignored predictions stand in no ledger, though an annotation may have been assigned to one.
    ignored = matched.pairing.ignored
    is_row = (predictions.triplet_class >= 0) & ~ignored
    row_counts = of_protocol & is_row
    has_rows = marked(predictions.triplet_image[of_protocol], len(predictions))
    wrong = (errors.annotation >= 0) & ~matched.found
    examined = has_rows | (protocol.images_without_predictions == "counted")
    action_score = predictions.triplet_action_score
    if action_score is None:
        action_score = np.full(len(predictions.triplet_pair), np.nan)
    columns = {
        "row_class": predictions.triplet_class[is_row].astype(np.int16),
        "row_input": np.flatnonzero(is_row).astype(np.int32),
        "row_image": predictions.triplet_image[is_row].astype(np.int32),
        "row_score": predictions.scores[is_row],
        "row_verdict": _verdicts(annotations, predictions, matched, benchmarks)[is_row],
        "row_counts": row_counts[is_row],
        "row_label": errors.label[row_counts],
        "row_annotation": errors.annotation[row_counts].astype(np.int32),
        "row_action_score": action_score[row_counts],
        "annotation_class": annotations.triplet_class,
        "annotation_image": annotations.triplet_image.astype(np.int32),
        "annotation_counts": annotation_counts,
        "annotation_examined": examined[annotations.triplet_image],
        "annotation_attempted": marked(errors.annotation[wrong], len(annotation_counts)),
        "annotation_localised": _localised_by_triplets(
            annotations, predictions, matched, of_protocol
        ),
    }
    listed = listed_pairs(predictions, best, image_counts)
    return _Block(
        images=len(annotations),
        triplets=len(predictions.triplet_pair),
        columns=columns,
        ignored=int((of_protocol & ignored).sum()),
        pairs=_pair_counts(annotations, predictions, listed, matched, protocol, image_counts),
        negatives=_negatives(
            predictions, listed, matched, annotated_pairs(annotations, annotation_counts)
        ),
        unknown=(
            int((annotations.triplet_class < 0).sum()),
            int((predictions.triplet_class < 0).sum()),
        ),
    )


def counted_images(annotations: Scenes, protocol: Protocol) -> BoolArray:
    """Mark the images whose predictions count: all, or those that are annotated."""
    if protocol.images_without_annotations == "left out":
        return marked(annotations.triplet_image, len(annotations))
    if protocol.pairing == "person":
        # The official evaluator of V-COCO goes through the images of the split alone.
        return marked(annotations.box_image, len(annotations))
    return np.ones(len(annotations), dtype=bool)


def listed_pairs(predictions: Scenes, best: BoolArray, images: BoolArray) -> BoolArray:
    """Mark the pairs that a detector lists in the images that count.

    Where it lists none they are those of the triplets, of which the best alone may count.

    Parameters
    ----------
    predictions : Scenes
        With P pairs.
    best : (T,) bool array
        The triplets that the protocol takes of each image.
    images : (N,) bool array
        The images that count.
    """
    listed = predictions.listed & images[predictions.pair_image]
    if predictions.pair_score is None:
        listed &= marked(predictions.triplet_pair[best], len(listed))
    return listed


def annotated_pairs(annotations: Scenes, triplets: BoolArray) -> BoolArray:
    """Mark the annotated pairs, of a person and an object, of some annotated triplets."""
    pairs = marked(annotations.triplet_pair[triplets], len(annotations.pair_human))
    return pairs & (annotations.pair_object >= 0)


def _verdicts(
    annotations: Scenes, predictions: Scenes, matched: Match, benchmarks: Sequence[Protocol]
) -> npt.NDArray[np.int8]:
    """Verdict of each benchmark on each prediction; see :class:`diaghoi.ledger.Benchmark`."""
    verdicts = np.full((len(predictions.triplet_pair), len(benchmarks)), -1, dtype=np.int8)
    for column, benchmark in enumerate(benchmarks):
        official = match(annotations, predictions, benchmark, like=matched)
        best = official.among_best(benchmark.top)
        verdicts[best, column] = official.found[best]
    return verdicts


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
    images: BoolArray,
) -> dict[str, ImagePairs]:
    predicted_box, annotated_box = matched.overlap.meeting
    reached = []
    for role in (predictions.pair_human, predictions.pair_object):
        of_pairs = marked(role[listed], len(predictions.box_label) + 1)
        found = annotated_box[of_pairs[predicted_box]]
        reached.append(marked(found, len(annotations.box_label)))

    counts = {}
    for split, classes in protocol.splits(annotations.vocabulary).items():
        in_split = np.append(classes, False)[annotations.triplet_class]
        counts[split] = count_pairs(
            annotations,
            predictions,
            listed,
            matched.hits,
            (reached[0], reached[1]),
            annotated_pairs(annotations, in_split),
            images,
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
    return Negatives(
        score=1 - score[listed],
        negative=~positive[listed],
        image=predictions.pair_image[listed].astype(np.int32),
    )


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
