"""Match predictions to annotations.

The protocol defines how a prediction is matched to an annotation (``pairing``, ``claim``). The rest
of the matching is the same for all protocols: the *candidate* of a prediction is the one annotated
triplet that it may find, and the best-ranked prediction of each candidate is a true positive. In
the official evaluators, a prediction whose candidate is taken gets no other candidate, so no loop
over predictions is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    expand,
    first_of_run,
    marked,
    place_in_group,
    ranking,
    runs,
)
from diaghoi.data.groups import counted_classes
from diaghoi.data.protocol import MATCHING, MEASURING, OVERLAPPING, Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.overlap import Overlap, PairHits, box_overlap, pair_hits


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """The parts of each predicted triplet that are right.

    Parameters
    ----------
    claimed : (T,) int array
        The annotated triplet that the prediction claims, -1 for none.
    human_ok, object_ok : (T,) bool array
        Whether each box is right.
    joined : (T,) bool array
        Whether an annotated triplet joins the two boxes.
    of_pair : (T,) bool array
        Whether the boxes belong to an annotated person and an object of that person, for V-COCO,
        where the published Diag-HOI code does not test ``joined``; the same as ``joined`` for other
        data sets.
    on_pair : (T,) bool array
        For V-COCO, whether an annotated triplet joins the two boxes, or the person does another
        action with this object; for other data sets, the same as `of_pair`.
    ignored : (T,) bool array
        Whether the prediction counts as neither right nor wrong.
    attempts_by_human, attempts_by_object : (T,) bool array
        Whether a prediction that reaches the human box, or the object box, of an annotated triplet
        may attempt the triplet.
    """

    claimed: IntArray
    human_ok: BoolArray
    object_ok: BoolArray
    joined: BoolArray
    of_pair: BoolArray
    on_pair: BoolArray
    ignored: BoolArray
    attempts_by_human: BoolArray
    attempts_by_object: BoolArray


def by_triplet(
    annotations: Scenes,
    predictions: Scenes,
    boxes: Overlap,
    hits: PairHits,
    protocol: Protocol,
    order: IntArray,
) -> Candidates:
    """Find the annotation with which HICO-DET's official evaluator compares each prediction.

    The official evaluator takes the annotated triplet of the same HOI class with the largest
    min(IoU_human, IoU_object), if this minimum reaches the threshold. Other protocols choose the
    first remaining triplet that both boxes reach, or all remaining triplets. A box is right if it
    reaches any annotated box of its category; a human box must reach a person. Only annotated
    triplets of classes that the protocol counts can join two boxes.

    Parameters
    ----------
    annotations, predictions : Scenes
        Scenes of the same images.
    boxes, hits
        Overlap of boxes, and predicted pairs that localise annotated pairs.
    protocol : Protocol
        The choices.
    order : (T,) int array
        Predicted triplets image by image, from the highest to the lowest score.
    """
    reaches = boxes.reaches_any
    pair = predictions.triplet_pair
    object_box = predictions.pair_object[pair]
    human = predictions.pair_human[pair]
    # A human box whose category is not person counts as wrong, unless an annotated triplet has the
    # same subject.
    human_ok = reaches[human] & (predictions.box_label[human] == annotations.vocabulary.person)
    object_ok = reaches[object_box] & (object_box >= 0)

    joined = _joined(annotations, predictions, hits, protocol)
    claimant, claimed, value = _localised(annotations, predictions, hits)
    return Candidates(
        claimed=_best(claimant, claimed, value, len(pair))
        if protocol.claim == "best"
        else _first_left(claimant, claimed, order, every=protocol.claim == "all left"),
        human_ok=human_ok,
        object_ok=object_ok,
        joined=joined[pair],
        of_pair=joined[pair],
        on_pair=joined[pair],
        ignored=np.zeros(len(pair), dtype=bool),
        # If both boxes are right but do not belong together, the human box decides what was
        # attempted.
        attempts_by_human=human_ok,
        attempts_by_object=object_ok & ~human_ok,
    )


def _joined(
    annotations: Scenes, predictions: Scenes, hits: PairHits, protocol: Protocol
) -> BoolArray:
    """Return a mask, (P,), of the predicted pairs that localise the pair of a counted triplet."""
    # The extra last entry gives False for triplets of no HOI class (-1).
    counted = np.append(counted_classes(protocol, annotations.vocabulary), False)
    joins = np.zeros(len(annotations.pair_human), dtype=bool)
    joins[annotations.triplet_pair[counted[annotations.triplet_class]]] = True
    if protocol.pairing == "person":
        # A person alone is not a pair, although any box fits a missing role in scenario 2.
        joins &= annotations.pair_object >= 0
    joined = np.zeros(len(predictions.pair_human), dtype=bool)
    joined[hits.predicted[joins[hits.annotated]]] = True
    return joined


def _localised(
    annotations: Scenes, predictions: Scenes, hits: PairHits
) -> tuple[IntArray, IntArray, FloatArray]:
    """Pair each prediction with the annotated triplets of its verb that both of its boxes reach.

    Returns
    -------
    claimant, claimed : (K,) int array
        Predicted and annotated triplet.
    value : (K,) float64 array
        min(IoU_human, IoU_object).
    """
    verbs = np.int64(len(annotations.vocabulary.verbs))
    # The key needs 64 bits: in a large file, pairs times verbs exceeds 32 bits.
    key = annotations.triplet_pair * verbs + annotations.triplet_verb
    by_key = np.argsort(key, kind="stable")
    key = key[by_key]

    in_hits = np.bincount(hits.predicted, minlength=len(predictions.pair_human))
    triplets = np.flatnonzero(in_hits[predictions.triplet_pair])
    pair = predictions.triplet_pair[triplets]
    owner, hit = expand((np.cumsum(in_hits) - in_hits)[pair], in_hits[pair])
    wanted = hits.annotated[hit] * verbs + predictions.triplet_verb[triplets[owner]]
    start, count = runs(key, wanted)
    # A triplet that is annotated twice is listed twice.
    found, position = expand(start, count)
    return triplets[owner[found]], by_key[position], hits.value[hit[found]]


def _best(claimant: IntArray, claimed: IntArray, value: FloatArray, triplets: int) -> IntArray:
    """Find the annotated triplet with the largest value for each prediction."""
    candidate = np.full(triplets, -1, dtype=np.int64)
    # Among equal values the first annotated triplet wins, as in the official evaluator; if a
    # triplet is annotated twice, the second copy is never found.
    best = np.lexsort((claimed, -value, claimant))
    best = best[first_of_run(claimant[best])]
    candidate[claimant[best]] = claimed[best]
    return candidate


def _first_left(claimant: IntArray, claimed: IntArray, order: IntArray, *, every: bool) -> IntArray:
    """Find, for each prediction, (T,), the first annotated triplet that no better prediction takes.

    A prediction takes the first remaining triplet or, with ``every``, all remaining triplets that
    it reaches. If no triplet remains, the prediction claims the triplet that an earlier prediction
    found.
    """
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    candidate = np.full(len(order), -1, dtype=np.int64)
    by_rank = np.lexsort((claimed, rank[claimant]))
    served: set[int] = set()
    found_with: dict[int, int] = {}
    # The remaining triplets depend on all earlier predictions, so a loop is needed; the loop is
    # short because few predictions reach an annotation of their class.
    for one, wanted in zip(claimant[by_rank].tolist(), claimed[by_rank].tolist(), strict=True):
        if wanted in found_with:
            if candidate[one] < 0:
                candidate[one] = found_with[wanted]
        elif one not in served:
            served.add(one)
            candidate[one] = found_with[wanted] = wanted
        elif every:
            found_with[wanted] = int(candidate[one])
    return candidate


def by_person(
    annotations: Scenes,
    predictions: Scenes,
    boxes: Overlap,
    hits: PairHits,
    protocol: Protocol,
    order: IntArray,
) -> Candidates:
    """Find the annotation with which V-COCO's official evaluator compares each prediction.

    A prediction belongs to the annotated person that its person box overlaps most (the first, on
    ties), and is ignored if that person's actions are not annotated. The candidate is that person's
    annotation for the prediction's (action, role), if the person boxes overlap enough and the role
    fits. A role fits if the role boxes overlap; if the annotation has no role box, only a
    prediction without a role box fits (scenario 1), or any prediction fits (scenario 2).
    """
    human = predictions.pair_human[predictions.triplet_pair]
    object_box = predictions.pair_object[predictions.triplet_pair]
    person, reaches_person = closest_person(annotations, boxes)
    person, person_ok = person[human], reaches_person[human]

    doing = np.full(
        (len(annotations.box_label) + 1, len(annotations.vocabulary.verbs)), -1, dtype=np.int32
    )
    actor = annotations.pair_human[annotations.triplet_pair]
    doing[actor, annotations.triplet_verb] = np.arange(len(actor))
    done = doing[person, predictions.triplet_verb]
    role = np.append(annotations.pair_object[annotations.triplet_pair], -1)[done]
    role_ok = boxes.reaches(object_box, role)
    # If the person is not annotated with the predicted action, no role box can fit: only a missing
    # box is right.
    anything = (done >= 0) & (protocol.missing_role == "anything")
    role_ok |= (role < 0) & ((object_box < 0) | anything)

    # In images without an annotated person, the index -1 gives True: the predictions are ignored.
    people = annotations.box_ignored
    people = np.zeros(len(annotations.box_label), dtype=bool) if people is None else people
    ignored = np.append(people, True)[person]
    found = (done >= 0) & person_ok & role_ok & ~ignored
    reaches = boxes.reaches_any
    joined = person_ok & role_ok
    of_pair = _joined(annotations, predictions, hits, protocol)[predictions.triplet_pair]
    # A prediction may have attempted any annotation of its image that one of its boxes reaches.
    everything = np.ones(len(human), dtype=bool)
    return Candidates(
        claimed=np.where(found, done, -1),
        human_ok=person_ok | (role_ok & reaches[human]),
        object_ok=role_ok | (person_ok & reaches[object_box] & (object_box >= 0)),
        joined=joined,
        of_pair=of_pair,
        on_pair=joined | ((done < 0) & person_ok & of_pair),
        ignored=ignored,
        attempts_by_human=everything,
        attempts_by_object=everything,
    )


def closest_person(annotations: Scenes, boxes: Overlap) -> tuple[IntArray, BoolArray]:
    """Find the annotated person that each predicted box overlaps most.

    Parameters
    ----------
    annotations : Scenes
        Scenes of the same images.
    boxes : Overlap
        Overlap across all categories.

    Returns
    -------
    person : (Bp,) int array
        Row of the annotated box, the first on ties; -1 in images without people.
    reaches : (Bp,) bool array
        Whether the IoU reaches the threshold.
    """
    is_person = annotations.box_label == annotations.vocabulary.person
    # If no person overlaps the box (IoU 0), the first person of the image is closest.
    first = np.full(len(annotations), -1, dtype=np.int64)
    backwards = np.flatnonzero(is_person)[::-1]
    first[annotations.box_image[backwards]] = backwards
    closest = first[boxes.cell_of_predicted]
    reaches = np.zeros(len(closest), dtype=bool)
    people = np.flatnonzero(is_person[boxes.annotated])
    # People are listed in descending order of IoU. Among people with equal IoU, the first in the
    # annotation file wins, as with np.argmax in the official evaluator.
    best = people[np.lexsort((people, -boxes.value[people], boxes.predicted[people]))]
    best = best[first_of_run(boxes.predicted[best])]
    closest[boxes.predicted[best]] = boxes.annotated[best]
    reaches[boxes.predicted[best]] = boxes.reached[best]
    return closest, reaches


@dataclass(frozen=True, kw_only=True, eq=False)
class Match:
    """Predictions matched to the annotations of the same images.

    Parameters
    ----------
    protocol : Protocol
        The choices.
    overlap : Overlap
        IoU of boxes.
    hits : PairHits
        Predicted pairs that localise annotated pairs.
    candidates : Candidates
        The candidate of each prediction, and which of its parts are right.
    image : (T,) int array
        Image of each predicted triplet.
    order : (T,) int array
        Predicted triplets image by image, in each image from the highest to the lowest score; equal
        scores keep input order.
    found : (T,) bool array
        Whether the prediction is a true positive.
    """

    protocol: Protocol
    overlap: Overlap
    hits: PairHits
    candidates: Candidates
    image: IntArray
    order: IntArray
    found: BoolArray

    def among_best(self, top: int | None) -> BoolArray:
        """Return a mask, (T,), of the ``top`` best predictions of each image; all if None."""
        return among_best(self.image, self.order, top)


def among_best(image: IntArray, order: IntArray, top: int | None) -> BoolArray:
    """Return a mask, (T,), of the ``top`` best triplets of each image; all if None.

    ``order`` comes from :func:`score_order`, possibly with some triplets left out.
    """
    if top is None:
        return np.ones(len(image), dtype=bool)
    return marked(order[place_in_group(image[order]) < top], len(image))


def match(
    annotations: Scenes, predictions: Scenes, protocol: Protocol, others: Sequence[Match] = ()
) -> Match:
    """Match the predictions of all HOI classes to the annotations of the same images.

    Parameters
    ----------
    annotations, predictions : Scenes
        Annotations and predictions of the same images.
    protocol : Protocol
        Rules for matching predictions to annotations.
    others : sequence of Match
        Matches of the same scenes under other protocols; results on which the protocols agree are
        reused.
    """
    # Benchmarks mostly differ from the protocol only in the classes that count, which changes no
    # true positive.
    for other in others:
        if protocol.agrees(other.protocol, MATCHING):
            return other
    boxes = _overlap(annotations, predictions, protocol, others)
    # The order depends only on the scores, not on the protocol.
    order = others[0].order if others else score_order(predictions)
    hits = pair_hits(annotations, predictions, boxes, protocol)
    find = by_triplet if protocol.pairing == "triplet" else by_person
    candidates = find(annotations, predictions, boxes, hits, protocol, order)
    return Match(
        protocol=protocol,
        overlap=boxes,
        hits=hits,
        candidates=candidates,
        image=predictions.triplet_image,
        order=order,
        found=_best_of_each(candidates.claimed, order),
    )


def _overlap(
    annotations: Scenes, predictions: Scenes, protocol: Protocol, others: Sequence[Match]
) -> Overlap:
    """Reuse the box overlap of another match if the protocols agree, or compute the overlap."""
    for other in others:
        if protocol.agrees(other.protocol, OVERLAPPING):
            return other.overlap
    for other in others:
        same = protocol.agrees(other.protocol, MEASURING)
        if same and protocol.iou >= other.overlap.least:
            return other.overlap.under(protocol)
    return box_overlap(annotations, predictions, protocol)


def score_order(predictions: Scenes) -> IntArray:
    """Order the triplets of each image by descending score; equal scores keep their order."""
    image, score = predictions.triplet_image, predictions.scores
    # Most files already store the triplets of an image by descending score; checking that is much
    # cheaper than sorting.
    in_order = (image[1:] != image[:-1]) | (score[1:] <= score[:-1])
    return np.arange(len(score)) if in_order.all() else ranking(image, score)


def _best_of_each(candidate: IntArray, order: IntArray) -> BoolArray:
    """Return a mask of the best-ranked prediction of each candidate."""
    found = np.zeros(len(candidate), dtype=bool)
    claimants = order[candidate[order] >= 0]
    # np.unique gives the first index of each value; claimants are in rank order, so the first is
    # the best-ranked claimant. A later claimant is a duplicate, even if its boxes overlap more.
    _, first = np.unique(candidate[claimants], return_index=True)
    found[claimants[first]] = True
    return found
