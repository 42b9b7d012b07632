"""Which prediction claims which annotation.

Official matching of HICO-DET (spec of the benchmark): in each image, predictions in score order;
the *candidate* of a prediction is the annotated triplet of its HOI class with the largest
min(IoU_human, IoU_object), if that reaches the threshold. The prediction is a true positive if its
candidate is still free. A taken candidate is not replaced by the second best. So a true positive is
the best-ranked prediction of its candidate, and no loop over predictions is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from diaghoi.overlap import Overlap, overlap
from diaghoi.protocol import Protocol
from diaghoi.ragged import expand, first_of_run, runs
from diaghoi.scenes import Scenes

IntArray = npt.NDArray[np.integer]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class PairHits:
    """Predicted pairs that localise annotated pairs: both boxes reach, categories are equal.

    Parameters
    ----------
    predicted, annotated : (H,) int array
        Rows of the two pair tables, ordered by predicted, then annotated pair.
    value : (H,) float64 array
        min(IoU_human, IoU_object).
    """

    predicted: IntArray
    annotated: IntArray
    value: npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Match:
    """What meets what in some images.

    Parameters
    ----------
    overlap : Overlap
        IoU of boxes.
    hits : PairHits
        Pairs that localise pairs.
    order : (T,) int array
        Predicted triplets image by image, in each image from the highest to the lowest score; equal
        scores keep the order of the input.
    candidate : (T,) int array
        Annotated triplet that each prediction claims, -1 for none.
    found : (T,) bool array
        Whether the prediction is a true positive.
    """

    overlap: Overlap
    hits: PairHits
    order: IntArray
    candidate: IntArray
    found: BoolArray


def match(annotations: Scenes, predictions: Scenes, protocol: Protocol) -> Match:
    """Match the predictions of all HOI classes to the annotations of the same images."""
    boxes = overlap(annotations, predictions, protocol)
    hits = pair_hits(annotations, predictions, boxes)
    order = score_order(predictions)
    candidate = _candidates(annotations, predictions, hits)
    return Match(
        overlap=boxes,
        hits=hits,
        order=order,
        candidate=candidate,
        found=_best_of_each(candidate, order),
    )


def pair_hits(annotations: Scenes, predictions: Scenes, boxes: Overlap) -> PairHits:
    """Find the annotated pairs that each predicted pair localises."""
    reaches = boxes.reaches_any
    human, thing = predictions.pair_human, predictions.pair_object
    possible = np.flatnonzero((thing >= 0) & reaches[human] & reaches[thing])
    labels = len(annotations.vocabulary.objects) + 1
    # Object -1 ("none") gets the last cell of its image and meets nothing.
    cell = annotations.pair_image * labels + annotations.pair_label % labels
    wanted = predictions.pair_image[possible] * labels + predictions.pair_label[possible]
    by_cell = np.argsort(cell, kind="stable")
    in_cell = np.bincount(cell, minlength=len(annotations) * labels)
    owner, position = expand((np.cumsum(in_cell) - in_cell)[wanted], in_cell[wanted])
    predicted, annotated = possible[owner], by_cell[position]

    # The two humans may differ in category: their IoU is then not in the table.
    annotated_human = annotations.pair_human[annotated]
    same = predictions.box_label[human[predicted]] == annotations.box_label[annotated_human]
    if not same.all():
        predicted, annotated = predicted[same], annotated[same]
        annotated_human = annotated_human[same]
    by_human = boxes.entry(human[predicted], annotated_human)
    by_object = boxes.entry(thing[predicted], annotations.pair_object[annotated])
    hit = boxes.reached[by_human] & boxes.reached[by_object]
    return PairHits(
        predicted=predicted[hit],
        annotated=annotated[hit],
        value=np.minimum(boxes.value[by_human[hit]], boxes.value[by_object[hit]]),
    )


def score_order(predictions: Scenes) -> IntArray:
    """Order the triplets of each image by descending score; equal scores keep their order."""
    image, score = predictions.triplet_image, predictions.scores
    in_order = (image[1:] != image[:-1]) | (score[1:] <= score[:-1])
    if in_order.all():
        return np.arange(len(score))
    return np.lexsort((-score, image))


def _candidates(annotations: Scenes, predictions: Scenes, hits: PairHits) -> IntArray:
    """Find the annotated triplet of the same verb with the largest value; the first, on ties."""
    candidate = np.full(len(predictions.triplet_pair), -1, dtype=np.int64)
    verbs = len(annotations.vocabulary.verbs)
    key = annotations.triplet_pair * np.int64(verbs) + annotations.triplet_verb
    by_key = np.argsort(key, kind="stable")
    key = key[by_key]

    in_hits = np.bincount(hits.predicted, minlength=len(predictions.pair_human))
    triplets = np.flatnonzero(in_hits[predictions.triplet_pair])
    pair = predictions.triplet_pair[triplets]
    owner, hit = expand((np.cumsum(in_hits) - in_hits)[pair], in_hits[pair])
    wanted = hits.annotated[hit] * np.int64(verbs) + predictions.triplet_verb[triplets[owner]]
    start, count = runs(key, wanted)
    same_verb = count > 0
    claimant = triplets[owner[same_verb]]
    claimed = by_key[start[same_verb]]
    best = np.lexsort((claimed, -hits.value[hit[same_verb]], claimant))
    best = best[first_of_run(claimant[best])]
    candidate[claimant[best]] = claimed[best]
    return candidate


def _best_of_each(candidate: IntArray, order: IntArray) -> BoolArray:
    """Mark the best-ranked prediction of every candidate."""
    found = np.zeros(len(candidate), dtype=bool)
    claimants = order[candidate[order] >= 0]
    _, first = np.unique(candidate[claimants], return_index=True)
    found[claimants[first]] = True
    return found
