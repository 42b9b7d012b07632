"""What each wrong prediction is compared with: the triplet that is annotated there.

There is where its boxes are, whatever the categories. That is not always the annotated triplet
that it is assigned to (spec of the errors, section 3): an action error may be assigned to what its
person does with something else, and an object error to the very interaction that it names, of
which it misses the object. Nothing of that is a matter of meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from diaghoi.cases.similarities import NEAR, PLAUSIBLE
from diaghoi.data.arrays.ragged import expand, first_of_run, runs
from diaghoi.data.arrays.types import BoolArray, FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.splits import counted_classes
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.evaluation.overlap import box_overlap
from diaghoi.evaluation.pairing import closest_person
from diaghoi.semantic.evaluation import SemanticEvaluation

AT_BOTH_BOXES = "other classes that are annotated at both boxes"
OF_THE_PERSON = "other actions of the annotated person"


@dataclass(frozen=True, kw_only=True, eq=False)
class Meanings:
    """The predictions with one error.

    Parameters
    ----------
    rows : (E,) int array
        Rows of the ledger.
    verb, object : (E,) int array
        What is predicted.
    annotated_verb, annotated_object : (E,) int array
        What it is compared with, -1 where nothing is annotated there.
    sigma : (E,) float64 array
        Similarity of both, NaN where nothing is annotated there.
    there : str
        What that is, in words.
    """

    rows: IntArray
    verb: IntArray
    object: IntArray
    annotated_verb: IntArray
    annotated_object: IntArray
    sigma: FloatArray
    there: str

    @cached_property
    def kinds(self) -> dict[str, BoolArray]:
        """(E,) mask of each kind, of which every error has one."""
        with np.errstate(invalid="ignore"):
            near, some = self.sigma >= NEAR, self.sigma > PLAUSIBLE
        nothing = np.isnan(self.sigma)
        return {
            "near": near,
            "plausible": some & ~near,
            "wrong": ~some & ~nothing,
            "nothing": nothing,
        }


def meanings(evaluation: SemanticEvaluation, diagnosis: Diagnosis, error: str) -> Meanings:
    """Compare each prediction with an error with what is annotated there.

    That are the annotated triplets both of whose boxes it finds. Of several it is the one that the
    prediction is assigned to, or else the most similar one, the first on ties. Where predictions
    are matched by the person (V-COCO), an action error has the right person and mostly names no
    object: it is compared with what that person does. An annotated triplet of the class that is
    predicted never counts: not to have found it is no confusion.

    Parameters
    ----------
    evaluation : SemanticEvaluation
        With scores.
    diagnosis : Diagnosis
        That of the evaluation.
    error : str
        One of :data:`diaghoi.cases.similarities.COMPARED`.
    """
    ledger, truth, found = (
        diagnosis.ledger,
        evaluation.annotated.scenes,
        evaluation.predicted.scenes,
    )
    rows = np.flatnonzero(ledger.row_label == LABELS.index(error))
    triplet = evaluation.diagnosed_rows[ledger.row_input[rows]]
    assigned = np.append(ledger.annotation_input, -1)[ledger.row_annotation[rows]]
    verb, thing = _named(found, triplet, evaluation.compares_objects)

    by_person = error == "action" and evaluation.protocol.pairing == "person"
    annotated_there = _done_by_the_person if by_person else _at_both_boxes
    owner, annotated = annotated_there(evaluation, triplet)
    other_verb, other_thing = _named(truth, annotated, evaluation.compares_objects)
    apart = (other_verb != verb[owner]) | (other_thing != thing[owner])
    owner, annotated, other_verb, other_thing = (
        column[apart] for column in (owner, annotated, other_verb, other_thing)
    )
    sigma = evaluation.tables.sigma(other_verb, other_thing, verb[owner], thing[owner])
    order = np.lexsort((annotated, -sigma, annotated != assigned[owner], owner))
    best = order[first_of_run(owner[order])]

    meant = {"verb": np.full(len(rows), -1), "object": np.full(len(rows), -1)}
    meant["verb"][owner[best]], meant["object"][owner[best]] = other_verb[best], other_thing[best]
    similarity = np.full(len(rows), np.nan)
    similarity[owner[best]] = sigma[best]
    return Meanings(
        rows=rows,
        verb=verb,
        object=thing,
        annotated_verb=meant["verb"],
        annotated_object=meant["object"],
        sigma=similarity,
        there=OF_THE_PERSON if by_person else AT_BOTH_BOXES,
    )


def _named(scenes: Scenes, triplet: IntArray, objects: bool) -> tuple[IntArray, IntArray]:
    """Verb and object of some triplets; objects -1 where they are not compared."""
    label = scenes.pair_label[scenes.triplet_pair[triplet]]
    return scenes.triplet_verb[triplet], label if objects else np.full_like(label, -1)


def _at_both_boxes(evaluation: SemanticEvaluation, triplet: IntArray) -> tuple[IntArray, IntArray]:
    """List the annotated triplets both of whose boxes are found, by place in ``triplet``."""
    met, truth, found = evaluation.candidates, evaluation.annotated, evaluation.predicted
    place = np.full(len(found.scenes.triplet_pair), -1, dtype=np.int64)
    place[triplet] = np.arange(len(triplet))
    owner = place[found.rows[met.prediction]]
    annotated = truth.rows[np.repeat(np.arange(len(met.count)), met.count)]
    return owner[owner >= 0], annotated[owner >= 0]


def _done_by_the_person(
    evaluation: SemanticEvaluation, triplet: IntArray
) -> tuple[IntArray, IntArray]:
    """List what the annotated person does whom a prediction is on, by place in ``triplet``."""
    truth, found = evaluation.annotated.scenes, evaluation.predicted.scenes
    person, _ = closest_person(truth, box_overlap(truth, found, evaluation.protocol))
    counted = counted_classes(evaluation.protocol, truth.vocabulary)[truth.triplet_class]
    actor = truth.pair_human[truth.triplet_pair]
    doing = np.flatnonzero(counted)
    doing = doing[np.argsort(actor[doing], kind="stable")]
    owner, place = expand(
        *runs(actor[doing], person[found.pair_human[found.triplet_pair[triplet]]])
    )
    return owner, doing[place]
