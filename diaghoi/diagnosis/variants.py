"""Reduce the pairs of a run: suppress duplicate pairs, or apply a detection threshold.

The Diag-HOI paper (section 4.3 and appendix C, tables 5 and 6) asks whether the number of pairs
explains the difference between detectors. The paper evaluates each detector again with duplicate
pairs suppressed, or with another detection threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, expand, first_of_run, runs
from diaghoi.data.boxes import iou_of
from diaghoi.data.protocol import protocol
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError

if TYPE_CHECKING:
    from diaghoi.diagnosis.diagnosis import Diagnosis


Variant = Callable[[Scenes], Scenes]

# Number of pair comparisons at a time.
BLOCK = 50_000


def pair_nms(predictions: Scenes, iou: float) -> Scenes:
    """Suppress pairs that repeat a better pair.

    The rule is CDN's pair-wise suppression, which GEN-VLKT and others adopted (their default is
    0.7). In each image, the best pair with an object of a category is kept, and pairs whose
    ``IoU_human * sqrt(IoU_object)`` with the best pair exceeds ``iou`` are dropped; next, the best
    of the remaining pairs is kept, and so on. As in CDN, a pair is better if its best triplet has
    the higher score; pairs without triplets, which CDN does not have, come last, ordered by pair
    score; ties go to the first.

    CDN on HICO-DET suppresses the triplets of each class separately; this function drops whole
    pairs (as CDN does on V-COCO), so that the number of pairs changes. A pair without an object
    repeats nothing and is kept. The data set determines whether boxes cover whole pixels.

    Parameters
    ----------
    predictions : Scenes
        The predictions.
    iou : float
        Largest overlap that two pairs may have, in (0, 1).

    Returns
    -------
    Scenes
        Scenes with fewer pairs and triplets, the same images and boxes, and a note.

    Raises
    ------
    InputError
        If ``iou`` is outside (0, 1), or the triplets have no scores.
    """
    check_overlap("pair NMS", iou)
    kept = ClosePairs.of(predictions, iou).kept(iou)
    note = f"pair NMS at {iou:g}: drops {_share(predictions, kept)} that repeat a better pair"
    return _noted(predictions.keep(kept), note)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClosePairs:
    """Pairs that overlap so much that :func:`pair_nms` may suppress one of them.

    Parameters
    ----------
    pairs : int
        Number of predicted pairs.
    better, worse : (K,) int array
        The higher-scored and the lower-scored pair in each of K couples of close pairs.
    overlap : (K,) float64 array
        Overlap of the two pairs of each couple.
    """

    pairs: int
    better: IntArray
    worse: IntArray
    overlap: FloatArray

    @classmethod
    def of(cls, predictions: Scenes, iou: float) -> ClosePairs:
        """Find all pairs that overlap by more than ``iou``."""
        group, order = _best_first(predictions)
        better, worse, overlap = [order[:0]], [order[:0]], [np.zeros(0)]
        for first, second, people in _near(predictions, group, order, iou):
            value = _overlap_of_pairs(predictions, order[first], order[second], people)
            close = np.flatnonzero(value > iou)
            better.append(order[first[close]])
            worse.append(order[second[close]])
            overlap.append(value[close])
        return cls(
            pairs=len(predictions.pair_human),
            better=np.concatenate(better),
            worse=np.concatenate(worse),
            overlap=np.concatenate(overlap),
        )

    def kept(self, iou: float) -> BoolArray:
        """Return a mask, (P,), of the pairs kept at ``iou``, at least the ``iou`` of :meth:`of`."""
        close = np.flatnonzero(self.overlap > iou)
        return ~_suppressed(self.pairs, self.better[close], self.worse[close])


def detection_threshold(predictions: Scenes, score: float) -> Scenes:
    """Drop the pairs whose boxes have detection scores below a threshold.

    A pair is dropped if the score of its human or its object is below the threshold. Pair scores
    are used if the file has no detection scores of boxes. Boxes and pairs of unknown score are
    kept.

    Parameters
    ----------
    predictions : Scenes
        The predictions.
    score : float
        Lowest detection score that counts.

    Returns
    -------
    Scenes
        Scenes with fewer pairs and triplets, the same images and boxes, and a note. A variant never
        has more pairs than the file: a threshold below the detector's own threshold changes
        nothing.

    Raises
    ------
    InputError
        If ``score`` is not a number, or the predictions have neither box scores nor pair scores.
    """
    check_threshold("detection threshold", score)
    of_pair, kind = detection_scores(predictions)
    # Not `>=`, which would drop pairs of unknown score (NaN).
    kept = ~(of_pair < score)
    note = (
        f"detection threshold {score:g}: drops {(~kept).sum():,} of {len(kept):,} pairs "
        f"according to {kind}"
    )
    known = of_pair[~np.isnan(of_pair)]
    if len(known) and kept.all():
        note += (
            f"; the lowest is {known.min():.3g}, and pairs that the detector already omitted "
            "cannot be restored"
        )
    return _noted(predictions.keep(kept), note)


def variants_of(
    *, nms: Sequence[float] = (), thresholds: Sequence[float] = ()
) -> dict[str, Variant]:
    """List the variants of a run by name, with the functions that create the variants.

    Parameters
    ----------
    nms : sequence of float
        IoU thresholds of :func:`pair_nms`.
    thresholds : sequence of float
        Scores of :func:`detection_threshold`.

    Returns
    -------
    dict of callable
        A function ``predictions -> variant`` for each name, such as ``pair NMS 0.7`` or ``detection
        threshold 0.2``. Diagnose the variant under the protocol of the original.
    """
    found: dict[str, Variant] = {f"pair NMS {iou:g}": partial(pair_nms, iou=iou) for iou in nms}
    return found | {
        f"detection threshold {score:g}": partial(detection_threshold, score=score)
        for score in thresholds
    }


def thresholds_pairs(predictions: Scenes) -> bool:
    """Whether :func:`detection_threshold` uses pair scores, because boxes have no scores."""
    boxes = predictions.box_score
    return boxes is None or bool(np.isnan(boxes).all())


def variant_title(name: str, figures: Sequence[Mapping[str, Any]]) -> str:
    """Return the display name of a variant.

    Parameters
    ----------
    name : str
        As from :func:`variants_of`.
    figures : sequence of mapping
        Numbers of the variant for each detector; the threshold applies to pair scores if
        ``of_pair_scores`` is true for all detectors.
    """
    if all(each.get("of_pair_scores") for each in figures):
        return name.replace("detection threshold", "pair score threshold")
    return name


def variant_figures(original: Diagnosis, variant: Diagnosis) -> dict[str, Any]:
    """Compare a variant of a run with the original, as tables 5 and 6 of the paper do.

    Parameters
    ----------
    original, variant : Diagnosis
        Diagnoses of one detector on the same annotations under the same protocol.

    Returns
    -------
    dict
        ``pairs`` and ``map`` of the variant as in :meth:`diaghoi.Diagnosis.to_dict`;
        ``difference``: variant minus original for the numbers in ``pairs`` and ``map``, or None if
        a number is undefined; ``notes``: the changes to the predictions.
    """
    figures = {"pairs": variant.pairs, "map": variant.mean_ap}
    return {
        **figures,
        "difference": _difference(figures, {"pairs": original.pairs, "map": original.mean_ap}),
        "notes": [note for note in variant.reading_notes if note not in original.reading_notes],
    }


def _difference(after: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Subtract the numbers of two mappings with the same keys; text is omitted."""
    difference: dict[str, Any] = {}
    for key, value in after.items():
        if isinstance(value, Mapping):
            difference[key] = _difference(value, before[key])
        elif not isinstance(value, str):
            undefined = value is None or before[key] is None
            difference[key] = None if undefined else value - before[key]
    return difference


def check_overlap(where: str, iou: float) -> None:
    """Reject an invalid threshold for :func:`pair_nms`; the message begins with ``where``."""
    if not 0 < iou < 1:
        raise InputError(f"{where}: the IoU must lie between 0 and 1, not {iou:g}")


def check_threshold(where: str, score: float) -> None:
    """Reject an invalid score for :func:`detection_threshold`."""
    if not isfinite(score):
        raise InputError(f"{where}: {score} is not a score")


def detection_scores(predictions: Scenes) -> tuple[FloatArray, str]:
    """Return the lower box detection score of each pair (NaN if unknown), and name the scores used.

    Raises
    ------
    InputError
        If the predictions have neither box scores nor pair scores.
    """
    boxes = predictions.box_score
    if boxes is not None and not thresholds_pairs(predictions):
        of_object = np.append(boxes, np.nan)[predictions.pair_object]
        of_human = boxes[predictions.pair_human]
        # fmin ignores NaN, so a single known score decides. A pair without an object (index -1) has
        # NaN as object score.
        return np.fmin(of_human, of_object), "the detection scores of their boxes"
    if predictions.pair_score is not None:
        kind = "their pair scores, because the file has no detection scores of boxes"
        return predictions.pair_score, kind
    raise InputError(
        f"{predictions.source or 'predictions'}: no detection scores of boxes and no scores of "
        "pairs, so a detection threshold cannot be applied; give the pairs with "
        "their scores (--pairs), or boxes with scores"
    )


def _share(predictions: Scenes, kept: BoolArray) -> str:
    """Describe how many of the listed pairs are dropped."""
    listed = predictions.listed
    return f"{(listed & ~kept).sum():,} of {listed.sum():,} pairs"


def _noted(scenes: Scenes, note: str) -> Scenes:
    return replace(scenes, notes=(*scenes.notes, note))


def _best_first(predictions: Scenes) -> tuple[IntArray, IntArray]:
    """Return groups (image, category) of pairs with objects, and the pairs, best first by group."""
    pairs = np.flatnonzero(predictions.pair_object >= 0)
    best = np.full(len(predictions.pair_human), -np.inf)
    np.maximum.at(best, predictions.triplet_pair, predictions.scores)
    of_pair = np.zeros(len(best)) if predictions.pair_score is None else predictions.pair_score
    group = predictions.pair_image.astype(np.int64) * (len(predictions.vocabulary.objects) + 1)
    group += predictions.pair_label + 1
    # NaN, the score of a pair that the detector does not list, sorts last.
    rank = np.lexsort((-of_pair[pairs], -best[pairs], group[pairs]))
    return group[pairs[rank]], pairs[rank]


def _near(
    predictions: Scenes, group: IntArray, order: IntArray, enough: float
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yield rows of a group two at a time, in blocks, if the IoU of their people is > ``enough``.

    Yields
    ------
    first, second, overlap : (K,) array
        The better row, the worse row, and the IoU of their people.
    """
    margin = protocol(predictions.vocabulary.protocol).margin
    boxes, human = predictions.box_xyxy, predictions.pair_human[order]
    # A detector that pairs all boxes lists each person many times, so any two people are compared
    # only once.
    by_person = np.lexsort((human, group))
    new = first_of_run(group[by_person]) | first_of_run(human[by_person])
    start = np.flatnonzero(new)
    count = np.diff(np.append(start, len(order)))
    person, of_group = human[by_person[start]], group[by_person[start]]
    for one, other in _together(of_group):
        iou = iou_of(boxes, person[one], boxes, person[other], margin)
        met = np.flatnonzero(iou > enough)
        one, other, iou = one[met], other[met], iou[met]
        # Combine each row of one person with each row of the other person.
        owner, mine = expand(start[one], count[one])
        again, theirs = expand(start[other[owner]], count[other[owner]])
        mine, theirs = by_person[mine[again]], by_person[theirs]
        # A person combined with itself yields every pair of different rows twice, and each row with
        # itself.
        once = (one != other)[owner[again]] | (mine < theirs)
        mine, theirs = mine[once], theirs[once]
        overlap = iou[owner[again[once]]]
        yield np.minimum(mine, theirs), np.maximum(mine, theirs), overlap


def _together(group: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield, in blocks, all row pairs of each group, including each row with itself."""
    at = np.arange(len(group))
    start, size = runs(group, group)
    count = start + size - at
    block = np.cumsum(count) // BLOCK
    bounds = np.flatnonzero(first_of_run(block))
    for first, last in pairwise([*bounds.tolist(), len(group)]):
        owner, other = expand(at[first:last], count[first:last])
        yield owner + first, other


def _overlap_of_pairs(
    predictions: Scenes, first: IntArray, second: IntArray, people: FloatArray
) -> FloatArray:
    """Return ``IoU_human * sqrt(IoU_object)``, given the IoU of the people."""
    boxes, object_box = predictions.box_xyxy, predictions.pair_object
    margin = protocol(predictions.vocabulary.protocol).margin
    objects = iou_of(boxes, object_box[first], boxes, object_box[second], margin)
    return np.asarray(people * np.sqrt(objects))


def _suppressed(rows: int, better: IntArray, worse: IntArray) -> BoolArray:
    """Return a mask of the rows that a better, kept row suppresses.

    A simple loop would decide row by row, starting with the best row. Instead, each round keeps
    every undecided row that no better undecided row suppresses, and drops the rows that the kept
    rows suppress.

    Parameters
    ----------
    rows : int
        Number of rows.
    better, worse : (K,) int array
        Couples of rows; the first row, if kept, suppresses the second row.
    """
    suppressed = np.zeros(rows, dtype=bool)
    while len(better):
        disputed = np.zeros(rows, dtype=bool)
        disputed[worse] = True
        suppressed[worse[~disputed[better]]] = True
        # Each round decides at least the best remaining row, so the loop ends.
        undecided = ~(suppressed[better] | suppressed[worse])
        better, worse = better[undecided], worse[undecided]
    return suppressed
