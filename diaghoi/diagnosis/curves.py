"""Compute the curves behind summary numbers: precision-recall, and recall of the kept pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    descending,
    marked,
    place_in_group,
    ranking,
    ratio,
)
from diaghoi.data.groups import counted_classes
from diaghoi.data.joining import join
from diaghoi.data.memory import threads
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.blocks import annotated_pairs, block_bounds, counted_images, listed_pairs
from diaghoi.diagnosis.variants import ClosePairs, detection_scores
from diaghoi.evaluation.average_precision import envelopes
from diaghoi.evaluation.ledger import Ledger
from diaghoi.evaluation.matching import among_best, score_order
from diaghoi.evaluation.negatives import Negatives
from diaghoi.evaluation.overlap import box_overlap, pair_hits
from diaghoi.evaluation.pairs import credited_pairs, pair_recall
from diaghoi.oracles import Oracle

BEST_PAIRS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)
"""Pairs per image that the sweep ``best`` keeps."""
DETECTION_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Detection scores below which the sweep ``detection`` drops pairs."""
NMS_OVERLAPS = (0.9, 0.7, 0.5, 0.3)
"""Overlaps above which the sweep ``nms`` suppresses pairs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """Envelope of a precision-recall curve, from which average precision is read.

    Parameters
    ----------
    recall : (K,) float64 array
        Ascending recalls at which the envelope is known; between them, it is a step function.
    precision : (K,) float64 array
        Highest precision at each of the recalls or above. Beyond the last recall the precision is
        0.
    """

    recall: FloatArray
    precision: FloatArray

    def thinned(self, points: int = 500) -> Curve:
        """Resample the envelope at ``points`` evenly spaced recalls if it has more than ``points``.

        Each point keeps the exact height of the envelope at its recall, so the thinned envelope
        deviates from the full envelope by at most ``1 / points`` in recall.
        """
        if len(self.recall) <= points:
            return self
        levels = np.linspace(self.recall[0], self.recall[-1], points)
        at = np.searchsorted(self.recall, levels, side="left")
        return Curve(recall=levels, precision=self.precision[at])


def precision_recall(true: BoolArray, positives: int) -> Curve:
    """Compute the envelope of the precision-recall curve of a ranked list.

    Parameters
    ----------
    true : (R,) bool array
        Whether each row of the list is a true positive, from best to worst rank.
    positives : int
        Number of annotated triplets.

    Returns
    -------
    Curve
        One point per true positive; empty if nothing is annotated.
    """
    rank = np.flatnonzero(true) + 1 if positives else np.zeros(0, dtype=np.int64)
    number = np.arange(1, len(rank) + 1)
    envelope = np.maximum.accumulate((number / rank)[::-1])[::-1]
    return Curve(recall=number / max(positives, 1), precision=envelope)


def class_curve(ledger: Ledger, hoi: int, protocol: Protocol) -> Curve:
    """Compute the precision-recall curve of one HOI class of a ledger, repaired or not.

    Parameters
    ----------
    ledger : Ledger
        Ledger of the predictions that the protocol counts.
    hoi : int
        The class, counted from zero.
    protocol : Protocol
        Determines how many top rows of a class count (``top_of_class``), and whether rows are
        ranked by score.
    """
    bounds = np.array([hoi, hoi + 1], dtype=ledger.row_class.dtype)
    first, stop = np.searchsorted(ledger.row_class, bounds).tolist()
    true = ledger.true[first:stop]
    if protocol.ranking == "as one":
        true = np.sort(true)  # false rows first; see Evaluated.ranked_by
    true = true[: protocol.top_of_class]
    return precision_recall(true, int(ledger.positives[hoi]))


class Corners(NamedTuple):
    """Corners of the precision-recall curves of all classes.

    Parameters
    ----------
    of_class : (K,) int array
        HOI class of each corner, ascending.
    recall, precision : (K,) float64 array
        Points as in :class:`Curve`: the envelope has this precision from the recall of the previous
        corner up to this recall.
    """

    of_class: IntArray
    recall: FloatArray
    precision: FloatArray

    @staticmethod
    def of(ledger: Ledger, protocol: Protocol) -> Corners:
        """Find the corners of a ledger or part of a ledger, repaired or not."""
        evaluated = ledger.evaluated.ranked_by(protocol)
        curves = envelopes(
            evaluated.row_class, evaluated.row_true, ledger.positives, protocol.top_of_class
        )
        corner = np.flatnonzero(curves.ends)
        group = curves.of_class[corner]
        number = corner + 1 - curves.start[group]
        recall = number / np.maximum(ledger.positives[group], 1)
        return Corners(group, recall, curves.precision[corner])

    @staticmethod
    def joined(parts: Sequence[Corners]) -> Corners:
        """Concatenate the corners of consecutive runs of classes."""
        return Corners(*map(np.concatenate, zip(*parts, strict=True)))


def curve_corners(
    ledger: Ledger, protocol: Protocol, oracles: Mapping[str, Oracle]
) -> dict[str, Corners]:
    """Find the corners of all precision-recall curves before and after repairs.

    Parameters
    ----------
    ledger : Ledger
        Ledger of a diagnosis.
    protocol : Protocol
        The protocol of the diagnosis.
    oracles : mapping of str to Oracle
        Repairs, each applied alone.

    Returns
    -------
    dict
        Corners by the name of the oracle; the empty name is for no repair.
    """
    found: dict[str, list[Corners]] = {name: [] for name in ("", *oracles)}

    def repaired(task: tuple[Oracle | None, Ledger, range]) -> Corners:
        oracle, part, classes = task
        corners = Corners.of(part if oracle is None else oracle(part, protocol), protocol)
        # A part may include rows of other parts, see Ledger.repairable_parts.
        group, recall, precision = corners
        mine = (group >= classes.start) & (group < classes.stop)
        return Corners(group[mine], recall[mine], precision[mine])

    with threads() as pool:
        for classes, part in ledger.repairable_parts():
            tasks = [(oracle, part, classes) for oracle in (None, *oracles.values())]
            for name, corners in zip(found, pool.map(repaired, tasks), strict=True):
                found[name].append(corners)
    return {name: Corners.joined(parts) for name, parts in found.items()}


def negatives_curve(pairs: Negatives) -> Curve:
    """Compute the precision-recall curve for finding pairs that localise no annotated pair.

    See :func:`diaghoi.evaluation.negatives.negative_scores`, whose ``ap`` is the area under the
    curve.
    """
    negative = pairs.negative[descending(pairs.score)]
    return precision_recall(negative, int(negative.sum()))


class PairPoint(NamedTuple):
    """Result of keeping only some of the predicted pairs, at one setting.

    Parameters
    ----------
    setting : float or None
        Setting of the sweep, or None for all pairs that the detector lists.
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
    """Compute pair recall and precision as pairs are removed (Diag-HOI, tables 5 and 6).

    Parameters
    ----------
    annotations, predictions : Scenes
        Scenes as :func:`diaghoi.diagnose` takes them.
    protocol : Protocol
        The protocol of the diagnosis.

    Returns
    -------
    dict
        The points of each sweep, from all pairs to few. ``best``: the best pairs of each image, by
        pair score, or by the score of the best triplet if the file lists no pairs. ``detection``:
        see :func:`diaghoi.diagnosis.variants.detection_threshold`; omitted if the file has no
        detection scores. ``nms``: see :func:`diaghoi.diagnosis.variants.pair_nms`. Each point
        equals a diagnosis of the remaining pairs exactly.

    Notes
    -----
    Dropping pairs does not change the matches and overlaps of the remaining pairs. Matches and
    overlaps are therefore computed once, and each point only counts the remaining pairs.
    """
    annotations, predictions, _ = join(annotations, predictions, protocol)
    settings: dict[str, Sequence[float]] = {"best": BEST_PAIRS[::-1]}
    detected = np.full(len(predictions.pair_human), np.nan)
    if predictions.box_score is not None and not np.isnan(predictions.box_score).all():
        settings["detection"] = DETECTION_THRESHOLDS
        detected, _ = detection_scores(predictions)
    settings["nms"] = NMS_OVERLAPS

    def counts(bounds: tuple[int, int]) -> _Counts:
        block = annotations.between(*bounds), predictions.between(*bounds)
        of_pairs = slice(*predictions.bounds["pair"][list(bounds)].tolist())
        return _counts(*block, detected[of_pairs], protocol, settings)

    with threads() as pool:
        blocks = list(pool.map(counts, block_bounds(predictions)))
    # Settings that keep all pairs of every image add no information.
    most = max(block.most for block in blocks)
    total = np.sum([block.kept for block in blocks], axis=0)
    images, annotated = (sum(each) for each in zip(*(block[1:3] for block in blocks), strict=True))
    single = protocol.single_precision_recall
    everything, *points = (
        PairPoint(
            setting=setting,
            per_image=ratio(listed, images),
            recall=pair_recall(localised, annotated, single_precision=single),
            precision=ratio(credited, listed),
        )
        for setting, (listed, localised, credited) in zip(
            [None, *chain(*settings.values())], total.tolist(), strict=True
        )
    )
    left = iter(points)
    sweeps = {sweep: list(islice(left, len(values))) for sweep, values in settings.items()}
    sweeps["best"] = [point for point in sweeps["best"] if (point.setting or 0) < most]
    return {sweep: [everything, *found] for sweep, found in sweeps.items() if found}


class _Counts(NamedTuple):
    """Counts of annotated and listed pairs in a block of images.

    Parameters
    ----------
    most : int
        Largest number of pairs in an image.
    images, annotated : int
        Number of images and of annotated pairs that count.
    kept : (1 + settings, 3) int array
        Number of listed pairs, localised annotated pairs, and credited listed pairs: first with all
        pairs, then at each setting of each sweep.
    """

    most: int
    images: int
    annotated: int
    kept: IntArray


def _counts(
    annotations: Scenes,
    predictions: Scenes,
    detected: FloatArray,
    protocol: Protocol,
    settings: Mapping[str, Sequence[float]],
) -> _Counts:
    """Count the remaining pairs of a block, as :mod:`~diaghoi.diagnosis.blocks` does."""
    boxes = box_overlap(annotations, predictions, protocol)
    hits = pair_hits(annotations, predictions, boxes, protocol)
    counted = np.append(counted_classes(protocol, annotations.vocabulary), False)
    wanted = annotated_pairs(annotations, counted[annotations.triplet_class])
    images = counted_images(annotations, protocol)
    order = score_order(predictions)
    every = listed_pairs(predictions, np.ones(len(order), dtype=bool), images)

    def count(kept: BoolArray) -> tuple[int, int, int]:
        listed = every & kept
        if predictions.pair_score is None:
            # The top triplets of an image are chosen among the remaining triplets.
            left = order[kept[predictions.triplet_pair[order]]]
            best = among_best(predictions.triplet_image, left, protocol.top)
            listed &= marked(predictions.triplet_pair[best], len(listed))
        credited = credited_pairs(hits, listed, wanted)
        return int(listed.sum()), len(credited), len(np.unique(credited))

    place, close = _best_pairs(predictions), ClosePairs.of(predictions, min(NMS_OVERLAPS))
    masks = [np.ones(len(place), dtype=bool), *(place < number for number in settings["best"])]
    # Not `>=`, which would drop pairs of unknown score (NaN).
    masks += [~(detected < score) for score in settings.get("detection", ())]
    masks += [close.kept(iou) for iou in settings["nms"]]
    return _Counts(
        most=int(place.max(initial=-1)) + 1,
        images=int(images.sum()),
        annotated=int(wanted.sum()),
        kept=np.array([count(mask) for mask in masks]),
    )


def _best_pairs(predictions: Scenes) -> IntArray:
    """Rank each listed pair within its image by score, from 0; unlisted pairs follow."""
    score = predictions.pair_score
    if score is None:
        score = np.full(len(predictions.pair_human), -np.inf)
        np.maximum.at(score, predictions.triplet_pair, predictions.scores)
    # Unlisted pairs come last, so that they are never among the best.
    order = ranking(predictions.pair_image, np.where(predictions.listed, score, -np.inf))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = place_in_group(predictions.pair_image[order])
    return place
