"""Compare each wrong prediction with the triplet annotated at the same place.

The place is that of its boxes, whatever the categories. The triplet there is not always the one
that the prediction is assigned to (spec of the errors, section 3): an action error may be assigned
to what its person does with another object, and an object error to the very interaction that it
names, of which it misses the object. Neither is a matter of meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from diaghoi.cases.similarities import NEAR, PLAUSIBLE
from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, first_of_run
from diaghoi.data.scenes import Scenes
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.semantic.evaluation import SemanticEvaluation
from diaghoi.semantic.places import at_both_boxes, of_the_person

AT_BOTH_BOXES = "other classes that are annotated at both boxes"
OF_THE_PERSON = "other actions of the annotated person"


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedErrors:
    """The predictions with one error, each with the annotated triplet it is compared with.

    Parameters
    ----------
    rows : (E,) int array
        Rows of the ledger.
    verb, object : (E,) int array
        The predicted verb and object.
    annotated_verb, annotated_object : (E,) int array
        The annotated verb and object, -1 where nothing is annotated there.
    sigma : (E,) float64 array
        Similarity of both, NaN where nothing is annotated there.
    compared_with : str
        Which annotated triplets were compared, as text for results.
    """

    rows: IntArray
    verb: IntArray
    object: IntArray
    annotated_verb: IntArray
    annotated_object: IntArray
    sigma: FloatArray
    compared_with: str

    @cached_property
    def kinds(self) -> dict[str, BoolArray]:
        """(E,) mask of each kind; every error has exactly one kind."""
        with np.errstate(invalid="ignore"):
            near, related = self.sigma >= NEAR, self.sigma > PLAUSIBLE
        nothing = np.isnan(self.sigma)
        return {
            "near": near,
            "plausible": related & ~near,
            "wrong": ~related & ~nothing,
            "nothing": nothing,
        }


def compare_errors(
    evaluation: SemanticEvaluation, diagnosis: Diagnosis, error: str
) -> ComparedErrors:
    """Compare the predictions that have an error with what is annotated at their place.

    These are the annotated triplets whose boxes are both found. Of several, the one that the
    prediction is assigned to is taken, else the most similar one, the first on ties. Where
    predictions are matched by the person (V-COCO), an action error has the right person and mostly
    no object: it is compared with the other actions of that person. An annotated triplet of the
    predicted class is never taken: missing it is not a confusion.

    Parameters
    ----------
    evaluation : SemanticEvaluation
        Evaluation with scores.
    diagnosis : Diagnosis
        Diagnosis of the same evaluation.
    error : str
        One of :data:`diaghoi.cases.similarities.COMPARED`.
    """
    ledger, truth, found = (
        diagnosis.ledger,
        evaluation.annotated.scenes,
        evaluation.predicted.scenes,
    )
    rows = np.flatnonzero(ledger.row_label == LABELS.index(error))
    triplet = ledger.row_input[rows]
    assigned = np.append(ledger.annotation_input, -1)[ledger.row_annotation[rows]]
    verb, object_ = _labels(found, triplet, evaluation.compares_objects)

    by_person = error == "action" and evaluation.protocol.pairing == "person"
    if by_person:
        owner, annotated = of_the_person(truth, found, triplet, evaluation.protocol)
    else:
        theta, margin = evaluation.measure.theta, evaluation.protocol.margin
        owner, annotated = at_both_boxes(evaluation.annotated, found, triplet, theta, margin)
    other_verb, other_object = _labels(truth, annotated, evaluation.compares_objects)
    differs = (other_verb != verb[owner]) | (other_object != object_[owner])
    owner, annotated, other_verb, other_object = (
        column[differs] for column in (owner, annotated, other_verb, other_object)
    )
    sigma = evaluation.tables.sigma(other_verb, other_object, verb[owner], object_[owner])
    # By prediction; then the assigned triplet, the most similar one, the first in stored order.
    order = np.lexsort((annotated, -sigma, annotated != assigned[owner], owner))
    best = order[first_of_run(owner[order])]

    best_verb, best_object = np.full((2, len(rows)), -1)
    best_verb[owner[best]], best_object[owner[best]] = other_verb[best], other_object[best]
    similarity = np.full(len(rows), np.nan)
    similarity[owner[best]] = sigma[best]
    return ComparedErrors(
        rows=rows,
        verb=verb,
        object=object_,
        annotated_verb=best_verb,
        annotated_object=best_object,
        sigma=similarity,
        compared_with=OF_THE_PERSON if by_person else AT_BOTH_BOXES,
    )


def _labels(scenes: Scenes, triplet: IntArray, objects: bool) -> tuple[IntArray, IntArray]:
    """Verb and object of some triplets; objects -1 where they are not compared."""
    label = scenes.pair_label[scenes.triplet_pair[triplet]]
    return scenes.triplet_verb[triplet], label if objects else np.full_like(label, -1)
