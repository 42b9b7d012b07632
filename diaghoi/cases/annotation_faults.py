"""Flaws of annotations that make predictions false: where they show in some images.

What they mean for a false positive is the business of :mod:`diaghoi.cases.causes`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays.ragged import expand, first_of_run, marked, runs
from diaghoi.data.arrays.types import BoolArray, FloatArray, IntArray
from diaghoi.data.boxes import iou
from diaghoi.data.protocol import Protocol
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.errors import DUPLICATE, TRUE_POSITIVE
from diaghoi.evaluation.matching import Match

SAME_BOX = 0.7
"""IoU beyond which two annotated boxes of one category are taken for one thing."""
APART = 0.1
"""IoU below which a person box is not a misplaced box of an annotated person; errors of
localisation begin at it in TIDE (Bolya et al., 2020)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """Some images with the verdicts on their triplets.

    Parameters
    ----------
    annotations, predictions : Scenes
        With the same images.
    matched : Match
        Their match.
    label : (T,) int8 array
        Position in :data:`diaghoi.evaluation.errors.LABELS` of each predicted triplet; -1 where it
        does not count.
    sought, found : (A,) bool array
        Which annotated triplets count, and which have a true positive.
    """

    annotations: Scenes
    predictions: Scenes
    matched: Match
    label: npt.NDArray[np.int8]
    sought: BoolArray
    found: BoolArray

    @property
    def protocol(self) -> Protocol:
        """The choices."""
        return self.matched.protocol

    @property
    def false(self) -> BoolArray:
        """(T,) the false positives."""
        return self.label > TRUE_POSITIVE

    def boxes(self, scenes: Scenes, triplets: IntArray) -> tuple[IntArray, IntArray]:
        """Boxes of the humans and of the objects of triplets; -1 for no object."""
        pair = scenes.triplet_pair[triplets]
        return scenes.pair_human[pair], scenes.pair_object[pair]


def annotated_again(judged: Judged) -> tuple[BoolArray, BoolArray]:
    """Mark false positives that fit a triplet of their class but for a box annotated twice.

    Two annotated boxes of one category are *twins* where their IoU exceeds :data:`SAME_BOX`. A
    prediction fits an annotated triplet of its class but for twins where each of its boxes reaches
    the box of the triplet or a twin of it, and one of them a twin. A duplicate fits the triplets
    whose boxes are those of the triplet that it repeats, or twins of them: official matching has it
    claim the one that overlaps most, and never another.

    Returns
    -------
    fits, fits_missed : (T,) bool array
        Whether there is such a triplet, and whether there is one that no prediction finds.
    """
    twins = _twins(judged.annotations, judged.protocol)
    predicted, annotated = _same_class(judged)
    repeats = judged.label[predicted] == DUPLICATE
    fits = np.where(
        repeats,
        _twin_of_candidate(judged, twins, predicted, annotated),
        _reaches_twins(judged, twins, predicted, annotated),
    )
    predicted, annotated = predicted[fits], annotated[fits]
    triplets = len(judged.label)
    return (
        marked(predicted, triplets),
        marked(predicted[~judged.found[annotated]], triplets),
    )


def _twins(annotations: Scenes, protocol: Protocol) -> tuple[IntArray, IntArray]:
    """List all (box, twin), ordered by the box."""
    labels = np.int64(len(annotations.vocabulary.objects) + 1)
    cell = annotations.box_image * labels + annotations.box_label + 1
    by_cell = np.argsort(cell, kind="stable")
    owner, position = expand(*runs(cell[by_cell], cell))
    other = by_cell[position]
    xyxy, margin = annotations.box_xyxy, protocol.margin
    twins = (owner != other) & (iou(xyxy[owner], xyxy[other], margin) > SAME_BOX)
    return owner[twins], other[twins]


def _same_class(judged: Judged) -> tuple[IntArray, IntArray]:
    """List false positives with the annotated triplets of their image and class that count."""
    classes = np.int64(len(judged.annotations.vocabulary))
    false, sought = np.flatnonzero(judged.false), np.flatnonzero(judged.sought)
    wanted, there = (
        scenes.triplet_image[rows] * classes + scenes.triplet_class[rows]
        for scenes, rows in ((judged.predictions, false), (judged.annotations, sought))
    )
    by_class = np.argsort(there, kind="stable")
    owner, position = expand(*runs(there[by_class], wanted))
    return false[owner], sought[by_class[position]]


def _reaches_twins(
    judged: Judged, twins: tuple[IntArray, IntArray], predicted: IntArray, annotated: IntArray
) -> BoolArray:
    """Tell row by row whether a prediction reaches a triplet by boxes or twins, one a twin."""
    overlap, (first, second) = judged.matched.overlap, twins
    boxes = np.int64(len(judged.annotations.box_label))
    reaching, reached = overlap.reaching
    owner, position = expand(*runs(first, reached))
    by_twin = np.unique(reaching[owner] * boxes + second[position])

    human, thing = judged.boxes(judged.predictions, predicted)
    human_there, thing_there = judged.boxes(judged.annotations, annotated)
    human_by_twin = _among(human * boxes + human_there, by_twin)
    both = (thing >= 0) & (thing_there >= 0)
    thing_by_twin = both & _among(thing * boxes + thing_there, by_twin)
    anything = judged.protocol.missing_role == "anything"
    fits_nothing = (thing_there < 0) & ((thing < 0) | anything)
    human_fits = human_by_twin | overlap.reaches(human, human_there)
    thing_fits = thing_by_twin | fits_nothing | overlap.reaches(thing, thing_there)
    return human_fits & thing_fits & (human_by_twin | thing_by_twin)


def _twin_of_candidate(
    judged: Judged, twins: tuple[IntArray, IntArray], predicted: IntArray, annotated: IntArray
) -> BoolArray:
    """Tell row by row whether a triplet is another one on the boxes of the candidate, or twins."""
    boxes = np.int64(len(judged.annotations.box_label))
    keys = np.sort(twins[0] * boxes + twins[1])
    candidate = judged.matched.pairing.candidate[predicted]
    same = np.ones(len(candidate), dtype=bool)
    for mine, theirs in zip(
        judged.boxes(judged.annotations, candidate),
        judged.boxes(judged.annotations, annotated),
        strict=True,
    ):
        same &= (mine == theirs) | (
            (mine >= 0) & (theirs >= 0) & _among(mine * boxes + theirs, keys)
        )
    return same


def _among(wanted: IntArray, keys: IntArray) -> BoolArray:
    """Tell which wanted values stand in sorted keys."""
    return np.asarray(runs(keys, wanted)[1] > 0)


def other_verbs(judged: Judged, counterpart: BoolArray | None) -> tuple[BoolArray, BoolArray]:
    """Mark false positives whose pair is annotated with other real verbs, but not with theirs.

    Their pair localises a pair of annotated triplets that count. A pair without an object
    localises only such pairs.

    Parameters
    ----------
    judged : Judged
        The images.
    counterpart : (C, C) bool array or None
        Which class is a counterpart (column) of which (row).

    Returns
    -------
    counterparts, others : (T,) bool array
        Whether a counterpart is among the other verbs, and whether there are any.
    """
    annotations, predictions = judged.annotations, judged.predictions
    real = np.append(annotations.vocabulary.interacting, False)
    given = np.flatnonzero(judged.sought & real[annotations.triplet_class])
    given = given[np.argsort(annotations.triplet_pair[given], kind="stable")]
    hits = judged.matched.hits
    alike = (predictions.pair_object[hits.predicted] < 0) == (
        annotations.pair_object[hits.annotated] < 0
    )
    pair, localised = hits.predicted[alike], hits.annotated[alike]
    owner, position = expand(*runs(annotations.triplet_pair[given], localised))
    pair, hoi = pair[owner], annotations.triplet_class[given[position]]

    unclaimed = judged.false & (judged.matched.pairing.candidate < 0)
    false = np.flatnonzero(unclaimed & real[predictions.triplet_class])
    owner, position = expand(*runs(pair, predictions.triplet_pair[false]))
    row, hoi = false[owner], hoi[position]
    own = predictions.triplet_class[row]
    # With matching by the person, what another person does may be annotated for the pair as well.
    annotated = marked(row[hoi == own], len(judged.label))
    others = ~annotated[row]
    row, own, hoi = row[others], own[others], hoi[others]
    timed = np.zeros(len(row), dtype=bool) if counterpart is None else counterpart[own, hoi]
    return marked(row[timed], len(judged.label)), marked(row, len(judged.label))


def unlabelled_people(judged: Judged) -> BoolArray:
    """Mark false positives whose person is annotated, but in no triplet.

    The human box reaches people that stand in no annotated triplet, and none that does. Where
    predictions are matched by the person, people without actions are annotated as such, and there
    is none.
    """
    annotations = judged.annotations
    people = annotations.box_label == annotations.vocabulary.person
    busy = _busy(judged)
    reaching, reached = judged.matched.overlap.reaching
    boxes = len(judged.predictions.box_label)
    by_idle = marked(reaching[(people & ~busy)[reached]], boxes)
    by_busy = marked(reaching[(people & busy)[reached]], boxes)
    return _of_triplets(judged, by_idle & ~by_busy)


def confident_people(judged: Judged) -> BoolArray:
    """Mark false positives whose person is annotated nowhere near, but as sure as those that are.

    How sure a detector is of a person is the highest score of the predictions whose human box
    reaches the annotated box. A human box whose IoU with every annotated person is below
    :data:`APART` is as sure where a prediction with this human box, or with another such box that
    reaches it, scores no less than half of the annotated people of the image that are found (of two
    or any even number, those who are found with less).
    """
    annotations, predictions = judged.annotations, judged.predictions
    overlap = judged.matched.overlap
    counted = np.flatnonzero(judged.label >= 0)
    best = np.full(len(predictions.box_label), -np.inf)
    human, _ = judged.boxes(predictions, counted)
    np.maximum.at(best, human, predictions.scores[counted])

    people = (annotations.box_label == annotations.vocabulary.person)[overlap.annotated]
    mine = np.repeat(np.arange(len(best)), overlap.count)
    near = marked(mine[people & (overlap.value >= APART)], len(best))
    wanted = _usual_score(judged, best)
    strangers = np.flatnonzero((best > -np.inf) & ~near)
    sure = strangers[best[strangers] >= wanted[predictions.box_image[strangers]]]
    owner, position = expand(*runs(predictions.box_image[sure], predictions.box_image[strangers]))
    stranger, other = strangers[owner], sure[position]
    xyxy, protocol = predictions.box_xyxy, judged.protocol
    value = iou(xyxy[stranger], xyxy[other], protocol.margin)
    agree = protocol.reached(value)
    agree |= stranger == other  # also a box without area
    return _of_triplets(judged, marked(stranger[agree], len(best)))


def _usual_score(judged: Judged, best: FloatArray) -> FloatArray:
    """(N,) lower median over found people of the score that each is found with; else infinite.

    ``best`` is the highest score of each predicted box as a human.
    """
    annotations = judged.annotations
    reaching, reached = judged.matched.overlap.reaching
    score = np.full(len(annotations.box_label), -np.inf)
    np.maximum.at(score, reached, best[reaching])
    score[~_busy(judged) | (annotations.box_label != annotations.vocabulary.person)] = -np.inf
    found = np.flatnonzero(score > -np.inf)
    ranked = found[np.lexsort((score[found], annotations.box_image[found]))]
    image = annotations.box_image[ranked]
    first = np.flatnonzero(first_of_run(image))
    count = np.diff(np.append(first, len(ranked)))
    usual = np.full(len(annotations), np.inf)
    usual[image[first]] = score[ranked[first + (count - 1) // 2]]
    return usual


def _busy(judged: Judged) -> BoolArray:
    """(Ba,) the annotated boxes whose interactions are annotated."""
    annotations = judged.annotations
    boxes = len(annotations.box_label)
    if judged.protocol.pairing == "person":
        return np.ones(boxes, dtype=bool)
    human, thing = judged.boxes(annotations, np.arange(len(annotations.triplet_pair)))
    return marked(np.concatenate([human, thing[thing >= 0]]), boxes)


def _of_triplets(judged: Judged, boxes: BoolArray) -> BoolArray:
    """(T,) the false positives whose human box is marked."""
    human, _ = judged.boxes(judged.predictions, np.arange(len(judged.label)))
    return judged.false & boxes[human]
