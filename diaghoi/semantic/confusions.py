"""Find which annotated verbs or objects are confused with other words, and what that costs.

A confusion is a word that is predicted where another word is annotated: at both boxes of the
prediction or, without an object box (V-COCO), for the annotated person. If several words are
annotated at the boxes or for the person, the word to which the prediction is assigned counts. If
the prediction is assigned to none of these words, the first of them in the annotations counts, so
the order of the annotations matters. Similarity tables are not used, so a confusion costs the same
with any table.

On V-COCO, verbs are counted on found pairs (:mod:`diaghoi.oracles.localised`): by the published
rule, a wrong verb on the person's own object is an association, and wrong actions have no object
box.

The annotated word may still be found: a detector that scores every verb of a pair often predicts
the annotated word too. Words without a true positive are therefore counted separately.

Whether the assigned triplet is found does not settle whether the word is found: the triplet may be
an action of the same person with another object.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, first_of_run, marked
from diaghoi.data.joining import join
from diaghoi.data.memory import threads
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.average_precision import ClassScores, class_scores
from diaghoi.evaluation.errors import BOTH_BOXES, LABELS
from diaghoi.evaluation.ledger import Ledger
from diaghoi.evaluation.means import split_means
from diaghoi.oracles import LOCALISED, ORACLES
from diaghoi.oracles.localised import by_pair
from diaghoi.semantic.triplets import (
    EvaluatedTriplets,
    at_both_boxes,
    of_the_person,
    select_triplets,
)

CONSIDERED = 100
"""Number of confusions whose cost is computed: the confusions with the highest sums of scores.
"""
Error = Literal["action", "object_box"]


@dataclass(frozen=True)
class Confusion:
    """A word predicted instead of an annotated word.

    Parameters
    ----------
    predicted, annotated : int
        Indices of the words.
    count : int
        Number of predictions with the confusion.
    not_found : int
        Number of predictions with the confusion whose annotated word is not found: the annotated
        triplets with this word that the prediction reaches have no true positive.
    delta_map : float or None
        Change in mAP when only the predictions with the confusion are repaired; None if undefined.
    """

    predicted: int
    annotated: int
    count: int
    not_found: int
    delta_map: float | None


def word_confusions(
    diagnosis: Diagnosis, annotations: Scenes, predictions: Scenes, error: Error = "action"
) -> list[Confusion]:
    """Find the most costly confusions of verbs, or of objects.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector.
    annotations, predictions : Scenes
        The diagnosed scenes.
    error : {"action", "object_box"}
        Confusions of verbs among action errors, or of objects among object errors.

    Returns
    -------
    list of Confusion
        The most costly first.
    """
    truth, found, _ = join(annotations, predictions, diagnosis.protocol)
    annotated, _ = select_triplets(truth, found, diagnosis.protocol)
    return costliest_confusions(diagnosis, error, annotated, found)


def costliest_confusions(
    diagnosis: Diagnosis,
    error: Error,
    annotated: EvaluatedTriplets,
    found: Scenes,
) -> list[Confusion]:
    """Find the most costly confusions of two words.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector.
    error : {"action", "object_box"}
        Confusions of verbs among action errors, or of objects among object errors.
    annotated : EvaluatedTriplets
        The annotated triplets.
    found : Scenes
        Annotations and predictions of the same images.

    Returns
    -------
    list of Confusion
        The most costly first.
    """
    ledger = diagnosis.ledger
    by_pair = error == "action" and diagnosis.protocol.pairing == "person"
    oracle = PartialOracle(diagnosis=diagnosis, error=error, by_pair=by_pair)
    rows = np.flatnonzero(oracle.error_rows)
    triplet = ledger.row_input[rows]
    owner, there = _annotated_there(diagnosis, error, annotated, found, triplet)
    predicted = _words(found, triplet, error)[owner]
    meant = _words(annotated.scenes, there, error)
    confused = (predicted != meant) & (predicted >= 0) & (meant >= 0)
    owner, there, predicted, meant = (
        column[confused] for column in (owner, there, predicted, meant)
    )
    assigned = np.append(ledger.annotation_input, -1)[oracle.ledger.row_annotation[rows]]
    order = np.lexsort((there, there != assigned[owner], owner))
    first = order[first_of_run(owner[order])]
    place = owner * np.int64(meant.max(initial=0) + 1) + meant
    found_there = marked(ledger.annotation_input[ledger.found], len(annotated.scenes.triplet_pair))
    not_found = ~np.isin(place[first], place[found_there[there]])
    return _costs(oracle, rows[owner[first]], predicted[first], meant[first], not_found)


def _annotated_there(
    diagnosis: Diagnosis,
    error: Error,
    annotated: EvaluatedTriplets,
    found: Scenes,
    triplet: IntArray,
) -> tuple[IntArray, IntArray]:
    protocol = diagnosis.protocol
    owner, there = at_both_boxes(annotated, found, triplet, protocol.iou, protocol.margin)
    if error != "action" or protocol.pairing != "person":
        return owner, there
    alone = np.flatnonzero(found.pair_object[found.triplet_pair[triplet]] < 0)
    of_alone, done = of_the_person(annotated.scenes, found, triplet[alone], protocol)
    return np.append(owner, alone[of_alone]), np.append(there, done)


def _words(scenes: Scenes, triplet: IntArray, error: Error) -> IntArray:
    """Return the verb of each triplet, (N,), or its object for object errors."""
    if error == "action":
        return scenes.triplet_verb[triplet].astype(np.int64)
    return scenes.pair_label[scenes.triplet_pair[triplet]].astype(np.int64)


def _costs(
    oracle: PartialOracle,
    rows: IntArray,
    predicted: IntArray,
    annotated: IntArray,
    not_found: BoolArray,
) -> list[Confusion]:
    """Compute the cost of each confusion, given which confusion each row of the ledger has."""
    ledger = oracle.diagnosis.ledger
    if not len(rows):
        return []
    size = np.int64(max(predicted.max(), annotated.max()) + 1)
    keys, of_row, count = np.unique(
        predicted * size + annotated, return_inverse=True, return_counts=True
    )
    # The higher predictions rank, the more their repair gains, so the sum of scores selects the
    # candidates.
    weight = np.bincount(of_row.ravel(), weights=ledger.row_score[rows], minlength=len(keys))
    lost = np.bincount(of_row.ravel()[not_found], minlength=len(keys))

    def confusion(key: int) -> Confusion:
        chosen = marked(rows[of_row.ravel() == key], len(ledger.row_class))
        wrong, right = divmod(int(keys[key]), int(size))
        return Confusion(wrong, right, int(count[key]), int(lost[key]), oracle.delta(chosen))

    with threads() as pool:
        considered = np.argsort(-weight, kind="stable")[:CONSIDERED].tolist()
        found = pool.map(confusion, considered)
        return sorted(found, key=lambda each: -(each.delta_map or 0.0))


FULL = "full"


@dataclass(frozen=True, kw_only=True, eq=False)
class PartialOracle:
    """An oracle for one error that repairs only some of the predictions with this error.

    Parameters
    ----------
    diagnosis : Diagnosis
        The detector.
    error : str
        ``action``, or another error whose oracle turns predictions into true positives.
    by_pair : bool
        Whether errors are counted on found pairs (:mod:`diaghoi.oracles.localised`) instead of by
        the published rule.
    """

    diagnosis: Diagnosis
    error: str
    by_pair: bool = False

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger of the diagnosis, under the chosen rule."""
        return by_pair(self.diagnosis.ledger) if self.by_pair else self.diagnosis.ledger

    @cached_property
    def error_rows(self) -> BoolArray:
        """(R,) mask of the ledger rows that have the error."""
        return np.asarray(self.ledger.row_label == LABELS.index(self.error))

    def delta(self, rows: BoolArray) -> float | None:
        """Compute the change in mAP when the given rows are repaired; None if mAP is undefined.

        Only classes that the repair affects are ranked again.
        """
        before = self.diagnosis.mean_ap[FULL]
        after = self._mean_ap(rows & self.error_rows)
        return None if before is None or after is None else after - before

    def _mean_ap(self, rows: BoolArray) -> float | None:
        ledger, scores = self.ledger, self.diagnosis.class_scores
        assigned = ledger.row_annotation[rows]
        affected = marked(ledger.row_class[rows], ledger.classes)
        affected[ledger.annotation_class[assigned[assigned >= 0]]] = True
        # Rows are sorted by class.
        inside = np.repeat(affected, np.diff(ledger.bounds))
        part = ledger.rows(inside)
        # The oracle selects rows by label, so rows that must not be repaired get another label. Any
        # other label will do, because no other oracle runs.
        kept = (part.row_label == LABELS.index(self.error)) & ~rows[inside]
        part = replace(part, row_label=np.where(kept, np.int8(BOTH_BOXES), part.row_label))
        repaired = (LOCALISED if self.by_pair else ORACLES)[self.error](part)
        found = class_scores(repaired.evaluated, ledger.classes, self.diagnosis.protocol)
        joined = ClassScores(
            **{
                name: np.where(affected, getattr(found, name), getattr(scores, name))
                for name in ("average_precision", "max_recall", "ranked", "found")
            }
        )
        splits = {FULL: self.diagnosis.splits[FULL]}
        return split_means(joined, self.diagnosis.protocol, splits)[0][FULL]
