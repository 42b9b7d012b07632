"""Curves behind single figures: precision against recall, and pair recall against pairs kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays.ragged import place_in_group
from diaghoi.data.arrays.ranking import descending, ranking
from diaghoi.data.arrays.threads import threads
from diaghoi.data.arrays.types import BoolArray, FloatArray, IntArray
from diaghoi.data.joining import join
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.data.splits import counted_classes
from diaghoi.diagnosis.blocks import annotated_pairs, counted_images, listed_pairs
from diaghoi.diagnosis.variants import detection_threshold, pair_nms
from diaghoi.evaluation.ledger import Ledger
from diaghoi.evaluation.localisation import pair_hits
from diaghoi.evaluation.matching import among_best, score_order
from diaghoi.evaluation.negatives import Negatives
from diaghoi.evaluation.overlap import Overlap, box_overlap
from diaghoi.evaluation.pairs import PairMatch, pair_scores

BEST_PAIRS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
"""Pairs per image that the sweep ``best`` keeps."""
DETECTION_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Detection scores below which the sweep ``detection`` drops pairs."""
NMS_OVERLAPS = (0.9, 0.7, 0.5, 0.3)
"""Overlaps beyond which the sweep ``nms`` suppresses pairs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """Envelope of a precision-recall curve, from which average precision is read.

    Parameters
    ----------
    recall : (K,) float64 array
        Rising fractions, those at which the envelope is known; it is a step between two of them.
    precision : (K,) float64 array
        Highest precision at that recall or a higher one. Beyond the last recall it is 0.
    """

    recall: FloatArray
    precision: FloatArray

    def thinned(self, points: int = 500) -> Curve:
        """Return the envelope at evenly spaced recalls where it has more points than that.

        Each point keeps the exact height of the envelope at its recall, so that the line lies at
        most ``1 / points`` beside the full one.
        """
        if len(self.recall) <= points:
            return self
        levels = np.linspace(self.recall[0], self.recall[-1], points)
        at = np.searchsorted(self.recall, levels, side="left")
        return Curve(recall=levels, precision=self.precision[at])


def precision_recall(true: BoolArray, positives: int) -> Curve:
    """Envelope of the precision-recall curve of a ranked list.

    Parameters
    ----------
    true : (R,) bool array
        Whether each row is right, from the best to the worst rank.
    positives : int
        How many rows should have been found.

    Returns
    -------
    Curve
        A point for each right row; none where nothing is there to be found.
    """
    rank = np.flatnonzero(true) + 1 if positives else np.zeros(0, dtype=np.int64)
    number = np.arange(1, len(rank) + 1)
    envelope = np.maximum.accumulate((number / rank)[::-1])[::-1]
    return Curve(recall=number / max(positives, 1), precision=envelope)


def class_curve(ledger: Ledger, hoi: int, protocol: Protocol) -> Curve:
    """Precision-recall curve of one HOI class of a ledger, repaired or not.

    Parameters
    ----------
    ledger : Ledger
        Of the protocol.
    hoi : int
        The class, counted from zero.
    protocol : Protocol
        How many of the best rows of a class count (``top_of_class``), and whether scores rank
        them.
    """
    bounds = np.array([hoi, hoi + 1], dtype=ledger.row_class.dtype)
    first, stop = np.searchsorted(ledger.row_class, bounds).tolist()
    true = ledger.true[first:stop]
    if protocol.ranking == "as one":
        true = np.sort(true)  # false rows first, see Evaluated.ranked_by
    true = true[: protocol.top_of_class]
    return precision_recall(true, int(ledger.positives[hoi]))


def negatives_curve(pairs: Negatives) -> Curve:
    """Precision-recall curve of finding the pairs that do not interact.

    See :func:`diaghoi.evaluation.negatives.negative_scores`, whose ``ap`` is the area below it.
    """
    negative = pairs.negative[descending(pairs.score)]
    return precision_recall(negative, int(negative.sum()))


class PairPoint(NamedTuple):
    """One way to keep some of the predicted pairs, and what is left.

    Parameters
    ----------
    setting : float or None
        What the sweep was set to; None for all pairs that the detector lists.
    per_image : float
        Pairs per image.
    recall, precision : float or None
        As in :func:`diaghoi.evaluation.pairs.pair_scores`.
    """

    setting: float | None
    per_image: float | None
    recall: float | None
    precision: float | None


def pair_sweeps(
    annotations: Scenes, predictions: Scenes, protocol: Protocol
) -> dict[str, list[PairPoint]]:
    """Pair recall and precision with fewer and fewer pairs (Diag-HOI paper, tables 5 and 6).

    Parameters
    ----------
    annotations, predictions : Scenes
        As :func:`diaghoi.diagnose` takes them.
    protocol : Protocol
        That of the diagnosis.

    Returns
    -------
    dict
        For each sweep its points, from all pairs to few. ``best``: the best pairs of each image, by
        the score of the pair, or of its best triplet where the file lists no pairs. ``detection``:
        see :func:`diaghoi.diagnosis.variants.detection_threshold`; left out where the file has no
        detection scores. ``nms``: see :func:`diaghoi.diagnosis.variants.pair_nms`. Each point is
        exactly what a diagnosis of the remaining pairs says.

    Notes
    -----
    Whether boxes meet does not change when pairs are dropped, so boxes are compared only once.
    """
    annotations, predictions, _ = join(annotations, predictions)
    detected = predictions.box_score
    boxes = box_overlap(annotations, predictions, protocol)
    best = _best_pairs(predictions)

    def point(task: tuple[str, float | None]) -> PairPoint:
        sweep, setting = task
        kept = predictions if setting is None else variants[sweep](setting)
        return PairPoint(setting, *_recall_precision(annotations, kept, boxes, protocol))

    variants: dict[str, Callable[[float], Scenes]] = {
        "best": lambda number: predictions.keep(best < number),
        "detection": lambda score: detection_threshold(predictions, score),
        "nms": lambda iou: pair_nms(predictions, iou),
    }
    settings = {
        # Those that keep all pairs of every image say nothing new.
        "best": [k for k in reversed(BEST_PAIRS) if k <= best.max(initial=0)],
        "detection": () if detected is None or np.isnan(detected).all() else DETECTION_THRESHOLDS,
        "nms": NMS_OVERLAPS,
    }
    tasks = [(sweep, value) for sweep, values in settings.items() for value in values]
    with threads() as pool:
        everything, *points = pool.map(point, [("", None), *tasks])
    sweeps = {sweep: [everything] for sweep, values in settings.items() if len(values)}
    for (sweep, _), found in zip(tasks, points, strict=True):
        sweeps[sweep].append(found)
    return sweeps


def _best_pairs(predictions: Scenes) -> IntArray:
    """Place of each listed pair among those of its image by score, from 0; then the others."""
    score = predictions.pair_score
    if score is None:
        score = np.full(len(predictions.pair_human), -np.inf)
        np.maximum.at(score, predictions.triplet_pair, predictions.scores)
    # Pairs that are not listed come last, so that they are never among the best.
    order = ranking(predictions.pair_image, np.where(predictions.listed, score, -np.inf))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = place_in_group(predictions.pair_image[order])
    return place


def _recall_precision(
    annotations: Scenes, predictions: Scenes, boxes: Overlap, protocol: Protocol
) -> tuple[float | None, float | None, float | None]:
    """Pairs per image, pair recall and precision, as :mod:`~diaghoi.diagnosis.blocks` counts."""
    counted = np.append(counted_classes(protocol, annotations.vocabulary), False)
    image_counts = counted_images(annotations, protocol)
    order = score_order(predictions)
    best = among_best(predictions.triplet_image, order, protocol.top)
    listed = listed_pairs(predictions, best, image_counts)
    matched = PairMatch(
        annotations=annotations,
        predictions=predictions,
        overlap=boxes,
        hits=pair_hits(annotations, predictions, boxes, protocol),
        listed=listed,
        images=image_counts,
    )
    counts = matched.count(annotated_pairs(annotations, counted[annotations.triplet_class]))
    scores = pair_scores(counts.total(), single_precision=protocol.single_precision_recall)
    return scores["per_image"], scores["recall"], scores["precision"]
