"""From scenes to the evidence of a diagnosis, block of images by block of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays.ragged import batches, marked
from diaghoi.data.arrays.scratch import Scratch
from diaghoi.data.arrays.threads import threads
from diaghoi.data.arrays.types import Array, BoolArray, FloatArray
from diaghoi.data.known_object import annotated_objects
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes, SceneSource
from diaghoi.data.splits import counted_classes, split_classes
from diaghoi.diagnosis.evidence import Block, Evidence, Sorted, collected
from diaghoi.evaluation.errors import Errors, explain
from diaghoi.evaluation.matching import Match, match
from diaghoi.evaluation.pairs import COUNTED, count_pairs

# Triplets, pairs and boxes worked through at once: few enough for arrays to stay in the cache.
BLOCK = 50_000
# Triplets beyond which what blocks leave behind lies on disk.
LARGE = 2_000_000


def examine(
    annotations: SceneSource,
    predictions: SceneSource,
    protocol: Protocol,
    benchmarks: Sequence[Protocol] = (),
    progress: Callable[[int], Any] | None = None,
) -> Evidence:
    """Match, label and count.

    Parameters
    ----------
    annotations, predictions : Scenes or other source of scenes
        With the same images (see :func:`diaghoi.data.joining.join`).
    protocol : Protocol
        The choices.
    benchmarks : sequence of Protocol
        The protocols of the data set's own benchmark.
    progress : callable, optional
        Called with the number of images done since the last call.
    """

    def block(bounds: tuple[int, int]) -> Block:
        first = bounds[0]
        return _examine_block(
            annotations.between(*bounds),
            predictions.between(*bounds),
            protocol,
            benchmarks,
            first={
                "image": first,
                "annotation": int(annotations.bounds["triplet"][first]),
                "input": int(predictions.bounds["triplet"][first]),
            },
        )

    blocks = []
    large = int(predictions.bounds["triplet"][-1]) > LARGE
    with threads() as pool, closing(Scratch(on_disk=large)) as scratch:
        for done in pool.map(block, block_bounds(predictions)):
            blocks.append(done.kept(scratch))
            if progress is not None:
                progress(len(done.images["objects"]))
        return collected(blocks, tuple(benchmarks), pool, scratch)


def block_bounds(predictions: SceneSource) -> list[tuple[int, int]]:
    """Cut the images into runs of about ``BLOCK`` rows: first image, and one after the last."""
    bounds = predictions.bounds
    runs = batches(bounds["triplet"] + bounds["pair"] + bounds["box"], BLOCK)
    return [(run.start, run.stop) for run in runs] or [(0, 0)]


def _examine_block(
    annotations: Scenes,
    predictions: Scenes,
    protocol: Protocol,
    benchmarks: Sequence[Protocol],
    first: dict[str, int],
) -> Block:
    """Examine some images; ``first`` numbers their first image, annotation and input row."""
    vocabulary = annotations.vocabulary
    matched = match(annotations, predictions, protocol)
    counted = np.append(counted_classes(protocol, vocabulary), False)
    best = matched.among_best(protocol.top)
    image_counts = counted_images(annotations, protocol)
    of_protocol = counted[predictions.triplet_class] & best
    of_protocol &= image_counts[predictions.triplet_image]
    annotation_counts = counted[annotations.triplet_class]
    errors = explain(
        annotations, predictions, matched, annotation_counts, of_protocol, protocol.considered
    )

    listed = listed_pairs(predictions, best, image_counts)
    verdicts = _verdicts(annotations, predictions, matched, benchmarks)
    rows, labelled = _by_class(predictions, matched, errors, of_protocol, verdicts, first)
    return Block(
        images={
            "pairs": _pair_counts(
                annotations, predictions, listed, matched, protocol, image_counts
            ),
            "objects": annotated_objects(annotations),
        },
        rows=rows,
        labelled=labelled,
        annotations=_annotated(
            annotations, predictions, matched, errors, of_protocol, annotation_counts, protocol
        )
        | {"image": (annotations.triplet_image + first["image"]).astype(np.int32)},
        negatives=_negatives(
            predictions,
            listed,
            matched,
            annotated_pairs(annotations, annotation_counts),
            first["image"],
        ),
        ignored=int((of_protocol & matched.pairing.ignored).sum()),
        unknown_annotated=int((annotations.triplet_class < 0).sum()),
        unknown_predicted=int((predictions.triplet_class < 0).sum()),
    )


def _by_class(
    predictions: Scenes,
    matched: Match,
    errors: Errors,
    of_protocol: BoolArray,
    verdicts: npt.NDArray[np.int8],
    first: dict[str, int],
) -> tuple[Sorted, Sorted]:
    """Sort the predictions by class: all, and those of the protocol with what they are."""
    # Ignored predictions stand in no ledger, though an annotation may have been assigned to one.
    of_class = np.flatnonzero((predictions.triplet_class >= 0) & ~matched.pairing.ignored)
    hoi = predictions.triplet_class[of_class].astype(np.int16)
    by_class = np.argsort(hoi, kind="stable")
    row, hoi = of_class[by_class], hoi[by_class]
    classes = np.arange(len(predictions.vocabulary) + 1, dtype=np.int16)
    counts = of_protocol[row]
    rows = Sorted(
        bounds=np.searchsorted(hoi, classes),
        columns={
            "image": (predictions.triplet_image[row] + first["image"]).astype(np.int32),
            "score": predictions.scores[row],
            "verdict": verdicts[row],
            "counts": counts,
        },
    )
    row, hoi = row[counts], hoi[counts]
    action_score = predictions.triplet_action_score
    assigned = errors.annotation[row]
    labelled = Sorted(
        bounds=np.searchsorted(hoi, classes),
        columns={
            "input": (row + first["input"]).astype(np.int32),
            "label": errors.label[row],
            "annotation": np.where(assigned < 0, -1, assigned + first["annotation"]).astype(
                np.int32
            ),
            "action_score": np.full(len(row), np.nan)
            if action_score is None
            else action_score[row],
        },
    )
    return rows, labelled


def _annotated(
    annotations: Scenes,
    predictions: Scenes,
    matched: Match,
    errors: Errors,
    of_protocol: BoolArray,
    counts: BoolArray,
    protocol: Protocol,
) -> dict[str, Array]:
    """Say what became of the annotated triplets, of which those that ``counts`` are positives."""
    has_rows = marked(predictions.triplet_image[of_protocol], len(predictions))
    wrong = (errors.annotation >= 0) & ~matched.found
    examined = has_rows | (protocol.images_without_predictions == "counted")
    localised = _localised_by_triplets(annotations, predictions, matched, of_protocol)
    return {
        "class": annotations.triplet_class.astype(np.int16),
        "counts": counts,
        "examined": examined[annotations.triplet_image],
        "attempted": marked(errors.annotation[wrong], len(counts)),
        "reachable": localised | ~has_rows[annotations.triplet_image],
    }


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
    """Verdicts of the benchmarks, see :class:`~diaghoi.evaluation.ledger.Benchmark`."""
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
) -> Array:
    """(N,) records of the counts of :class:`~diaghoi.evaluation.pairs.ImagePairs`, by split."""
    predicted_box, annotated_box = matched.overlap.meeting
    reached = []
    for role in (predictions.pair_human, predictions.pair_object):
        of_pairs = marked(role[listed], len(predictions.box_label) + 1)
        found = annotated_box[of_pairs[predicted_box]]
        reached.append(marked(found, len(annotations.box_label)))

    splits = split_classes(protocol, annotations.vocabulary)
    record = [(name, np.int32) for name in COUNTED]
    counts = np.empty(len(images), dtype=[(split, record) for split in splits])
    for split, classes in splits.items():
        in_split = np.append(classes, False)[annotations.triplet_class]
        of_split = count_pairs(
            annotations,
            predictions,
            listed,
            matched.hits,
            (reached[0], reached[1]),
            annotated_pairs(annotations, in_split),
            images,
        )
        for name, column in of_split.columns.items():
            counts[split][name] = column
    return counts


def _negatives(
    predictions: Scenes, listed: BoolArray, matched: Match, wanted: BoolArray, first: int
) -> dict[str, Array]:
    hits = matched.hits
    positive = marked(hits.predicted[wanted[hits.annotated]], len(listed))
    score = predictions.pair_score
    if score is None:
        score = _pair_score_of_triplets(predictions)
    return {
        "score": 1 - score[listed],
        "negative": ~positive[listed],
        "image": (predictions.pair_image[listed] + first).astype(np.int32),
    }


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
