"""Measure how close wrong predictions are in meaning to annotations, and what each kind costs.

The semantic diagnosis is not in any of the papers. Each action error and each object error gets the
similarity between the prediction and the annotation at the same location.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np

from diaghoi.cases.similarities import COMPARED, KINDS, NEAR, PLAUSIBLE, Similarities
from diaghoi.data.arrays import BoolArray, FloatArray, IntArray, first_of_run, ratio
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.evaluation.errors import LABELS
from diaghoi.exceptions import InputError
from diaghoi.semantic.confusions import Error, PartialOracle, costliest_confusions
from diaghoi.semantic.evaluation import SemanticEvaluation
from diaghoi.semantic.tables.similarity import FittedSimilarity
from diaghoi.semantic.triplets import (
    at_both_boxes,
    class_names,
    interactions,
    of_interactions,
    of_the_person,
)
from diaghoi.statistics.attribution import shapley


def semantic_diagnosis(evaluation: SemanticEvaluation) -> SemanticDiagnosis:
    """Diagnose the action and object errors of a detector by meaning.

    Parameters
    ----------
    evaluation : SemanticEvaluation
        Evaluation with scores.

    Raises
    ------
    InputError
        If the evaluation has no scores and so no diagnosis.
    """
    if evaluation.diagnosis is None:
        raise InputError("the semantic diagnosis needs scores; evaluate with scores")
    return SemanticDiagnosis(
        evaluation=evaluation,
        diagnosis=evaluation.diagnosis,
        errors={
            name: compare_errors(evaluation, evaluation.diagnosis, name)
            for name in COMPARED
            # If predictions do not name objects, object errors cannot be compared by meaning.
            if name != "object_box" or evaluation.compares_objects
        },
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class SemanticDiagnosis:
    """Action and object errors of a detector by meaning.

    Parameters
    ----------
    evaluation : SemanticEvaluation
        Evaluation of the detector.
    diagnosis : Diagnosis
        Diagnosis of the detector by exact matching.
    errors : dict of ComparedErrors
        Results for ``action``, and for ``object_box`` if the predictions name their objects.
    """

    evaluation: SemanticEvaluation
    diagnosis: Diagnosis
    errors: dict[str, ComparedErrors]

    def rows_of(self, error: str, mask: BoolArray) -> BoolArray:
        """Return a mask, (R,), of the ledger rows of the given predictions with an error."""
        rows = np.zeros(len(self.diagnosis.ledger.row_class), dtype=bool)
        rows[self.errors[error].rows[mask]] = True
        return rows

    def costs(self, error: str) -> dict[str, float | None]:
        """Compute ΔmAP of each kind of an error: Shapley values, which sum to the error's ΔmAP.

        None if mAP is undefined.
        """
        oracle = PartialOracle(diagnosis=self.diagnosis, error=error)
        kinds = {name: mask for name, mask in self.errors[error].kinds.items() if mask.any()}
        worth: dict[frozenset[str], float] = {}
        for size in range(len(kinds) + 1):
            for names in combinations(kinds, size):
                mask = np.zeros(len(self.errors[error].rows), dtype=bool)
                for name in names:
                    mask |= kinds[name]
                delta = oracle.delta(self.rows_of(error, mask))
                if delta is None:
                    return dict.fromkeys(KINDS)
                worth[frozenset(names)] = delta
        return {
            name: shapley(name, worth, tuple(kinds)) if name in kinds else 0.0 for name in KINDS
        }

    def verbs(self) -> list[dict[str, Any]]:
        """Count the action errors by annotated verb, the most costly verb first."""
        found = self.errors["action"]
        oracle = PartialOracle(diagnosis=self.diagnosis, error="action")
        rows = []
        verbs, _ = of_interactions(self.diagnosis.vocabulary, found.annotated)
        verbs = np.where(found.annotated < 0, -1, verbs)
        for verb in np.unique(verbs[verbs >= 0]).tolist():
            mine = verbs == verb
            rows.append(
                {
                    "verb": self._verbs[verb].replace("_", " "),
                    "count": int(mine.sum()),
                    "shares": {
                        name: float(mask[mine].mean()) for name, mask in found.kinds.items()
                    },
                    "mean_similarity": float(found.sigma[mine].mean()),
                    "delta_map": oracle.delta(self.rows_of("action", mine)),
                }
            )
        return sorted(rows, key=lambda row: -(row["delta_map"] or 0.0))

    def verb_confusions(self) -> list[dict[str, Any]]:
        """Confusions of verbs, the most costly first."""
        return self._confusions("action", self._verbs, self.evaluation.verbs)

    def object_confusions(self) -> list[dict[str, Any]]:
        """Confusions of objects, the most costly first."""
        if "object_box" not in self.errors:
            return []
        objects = self.diagnosis.vocabulary.objects
        return self._confusions("object_box", objects, self.evaluation.objects)

    @property
    def _verbs(self) -> tuple[str, ...]:
        return self.diagnosis.vocabulary.verbs

    def _confusions(
        self, error: Error, names: tuple[str, ...], fitted: FittedSimilarity
    ) -> list[dict[str, Any]]:
        evaluation = self.evaluation
        found = costliest_confusions(
            self.diagnosis,
            error,
            evaluation.annotated,
            evaluation.predicted.scenes,
        )
        predicted = np.array([each.predicted for each in found], dtype=np.int64)
        annotated = np.array([each.annotated for each in found], dtype=np.int64)
        similar = fitted.similarity.at(annotated, predicted).tolist()
        in_table = fitted.in_table(annotated, predicted)
        return [
            {
                "predicted": names[each.predicted].replace("_", " "),
                "annotated": names[each.annotated].replace("_", " "),
                "similarity": similarity,
                # None if the definition is unknown, as for free words with several senses.
                "in_table": listed,
                "count": each.count,
                "not_found": each.not_found,
                "delta_map": each.delta_map,
            }
            for each, similarity, listed in zip(found, similar, in_table, strict=True)
        ]

    def similarities(self) -> Similarities:
        """Return the similarities of all action and object errors, by predicted triplet."""
        evaluation, ledger = self.evaluation, self.diagnosis.ledger
        found, vocabulary = evaluation.predicted.scenes, self.diagnosis.vocabulary
        number = len(found.triplet_pair)
        value, kind = np.full(number, np.nan), np.full(number, -1, dtype=np.int8)
        key = np.full(number, -1, dtype=np.int64)
        for error in self.errors.values():
            triplet = ledger.row_input[error.rows]
            value[triplet] = error.sigma
            kind[triplet] = np.select(
                list(error.kinds.values()), [list(KINDS).index(name) for name in error.kinds]
            )
            key[triplet] = error.annotated
        keys = np.unique(key[key >= 0])
        return Similarities(
            value=value,
            kind=kind,
            meant=np.where(key >= 0, np.searchsorted(keys, key), -1),
            names=class_names(vocabulary, keys),
            sigma=self._sigma,
            tables=_table_names(evaluation),
        )

    @property
    def _sigma(self) -> str:
        """Formula of the similarity of two interactions."""
        measure = self.evaluation.measure
        return measure.formula if self.evaluation.compares_objects else "sigma = S_v"

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain Python values."""
        return {
            "sigma": self._sigma,
            "near": NEAR,
            "plausible": PLAUSIBLE,
            **{error: self._kinds(error) for error in self.errors},
            "verbs": self.verbs(),
            "confusions": self.verb_confusions(),
            "object_confusions": self.object_confusions(),
        }

    def _kinds(self, error: str) -> dict[str, Any]:
        found, costs = self.errors[error], self.costs(error)
        total = self.diagnosis.oracles[error]["delta_map"]["full"]
        part: Literal["verb", "object"] = "verb" if error == "action" else "object"
        measure, whole = self.evaluation.measure, self.evaluation.compares_objects
        return {
            "title": f"{COMPARED[error].capitalize()} errors by meaning",
            "compared_with": found.compared_with,
            # Similarity that the wrong part needs to reach sigma if the other part is right; None
            # if only verbs are compared.
            "least": {
                name: measure.least(sigma, part) if whole else None
                for name, sigma in (("near", NEAR), ("plausible", PLAUSIBLE))
            },
            "count": len(found.rows),
            "delta_map": total,
            "kinds": [
                {
                    "kind": name,
                    "title": title,
                    "count": int(found.kinds[name].sum()),
                    "share": float(found.kinds[name].mean()) if len(found.rows) else None,
                    "delta_map": costs[name],
                    "delta_share": ratio(costs[name], total),
                }
                for name, title in KINDS.items()
            ],
        }


def _table_names(evaluation: SemanticEvaluation) -> dict[str, dict[str, str]]:
    """Return the name and source of each table: ``verbs`` and, if compared, ``objects``."""
    return {
        what: {"name": fitted.similarity.name, "source": fitted.similarity.source}
        for what, fitted in (("verbs", evaluation.verbs), ("objects", evaluation.objects))
        if what == "verbs" or evaluation.compares_objects
    }


AT_BOTH_BOXES = "other classes that are annotated at both boxes"
OF_THE_PERSON = "other actions of the annotated person"


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedErrors:
    """Predictions with one error, and the annotated triplets with which they are compared.

    Parameters
    ----------
    rows : (E,) int array
        Rows of the ledger.
    predicted, annotated : (E,) int array
        The predicted and the annotated interaction, as
        :attr:`~diaghoi.semantic.triplets.EvaluatedTriplets.interaction`; -1 if nothing is annotated
        at the predicted boxes.
    sigma : (E,) float64 array
        Similarity of the two interactions; NaN if nothing is annotated at the predicted boxes.
    compared_with : str
        Description, for results, of the annotated triplets with which the errors are compared.
    """

    rows: IntArray
    predicted: IntArray
    annotated: IntArray
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
    """Compare the predictions that have an error with the annotations at their location.

    A prediction is compared with the annotated triplets whose two boxes it finds. Among several
    triplets, the assigned triplet counts, otherwise the most similar triplet; among equally similar
    triplets, the first counts. If predictions are matched by person (V-COCO), an action error has
    the right person and usually no object, and is compared with the other actions of that person.
    An annotated triplet of the predicted class never counts: missing that triplet is not a
    confusion.

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
    objects = evaluation.compares_objects
    predicted = interactions(found, triplet, objects=objects)

    by_person = error == "action" and evaluation.protocol.pairing == "person"
    if by_person:
        owner, annotated = of_the_person(truth, found, triplet, evaluation.protocol)
    else:
        theta, margin = evaluation.measure.theta, evaluation.protocol.margin
        owner, annotated = at_both_boxes(evaluation.annotated, found, triplet, theta, margin)
    meant = interactions(truth, annotated, objects=objects)
    differs = meant != predicted[owner]
    owner, annotated, meant = (column[differs] for column in (owner, annotated, meant))
    sigma = evaluation.sigma(meant, predicted[owner])
    # Order by prediction, assigned triplet first, then by similarity, then in stored order.
    order = np.lexsort((annotated, -sigma, annotated != assigned[owner], owner))
    best = order[first_of_run(owner[order])]

    closest = np.full(len(rows), -1, dtype=np.int64)
    closest[owner[best]] = meant[best]
    similarity = np.full(len(rows), np.nan)
    similarity[owner[best]] = sigma[best]
    return ComparedErrors(
        rows=rows,
        predicted=predicted,
        annotated=closest,
        sigma=similarity,
        compared_with=OF_THE_PERSON if by_person else AT_BOTH_BOXES,
    )
