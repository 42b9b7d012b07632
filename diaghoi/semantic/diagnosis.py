"""How close wrong predictions come in meaning to what is annotated, and what they cost.

Not in any of the papers. Each action error and each object error gets the similarity of the
prediction to what is annotated at its place (:mod:`diaghoi.semantic.compared_errors`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np

from diaghoi.cases.similarities import COMPARED, KINDS, NEAR, PLAUSIBLE, Similarities
from diaghoi.data.arrays import BoolArray, ratio
from diaghoi.diagnosis.diagnosis import Diagnosis
from diaghoi.exceptions import InputError
from diaghoi.semantic.compared_errors import ComparedErrors, compare_errors
from diaghoi.semantic.confusions import Error, costliest_confusions
from diaghoi.semantic.evaluation import SemanticEvaluation
from diaghoi.semantic.partial_oracle import PartialOracle
from diaghoi.semantic.tables.similarity import FittedSimilarity
from diaghoi.semantic.triplets import class_names
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
        For an evaluation without scores, which has no diagnosis.
    """
    if evaluation.diagnosis is None:
        raise InputError("the semantic diagnosis needs scores; evaluate with scores")
    return SemanticDiagnosis(
        evaluation=evaluation,
        diagnosis=evaluation.diagnosis,
        errors={
            name: compare_errors(evaluation, evaluation.diagnosis, name)
            for name in COMPARED
            # Where predictions do not name their objects, a wrong object means nothing.
            if name != "object_box" or evaluation.compares_objects
        },
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class SemanticDiagnosis:
    """The action and object errors of a detector by meaning.

    Parameters
    ----------
    evaluation : SemanticEvaluation
        Evaluation of the detector.
    diagnosis : Diagnosis
        Its diagnosis.
    errors : dict of ComparedErrors
        Of ``action``, and of ``object_box`` where the predictions name their objects.
    """

    evaluation: SemanticEvaluation
    diagnosis: Diagnosis
    errors: dict[str, ComparedErrors]

    def rows_of(self, error: str, mask: BoolArray) -> BoolArray:
        """(R,) mask of the rows of the ledger of some predictions with an error."""
        rows = np.zeros(len(self.diagnosis.ledger.row_class), dtype=bool)
        rows[self.errors[error].rows[mask]] = True
        return rows

    def costs(self, error: str) -> dict[str, float | None]:
        """ΔmAP of each kind of an error: Shapley values, which add up to the ΔmAP of the error.

        None where mAP is undefined.
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
        for verb in np.unique(found.annotated_verb[found.annotated_verb >= 0]).tolist():
            mine = found.annotated_verb == verb
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
                # None where that is not known, such as of free words with several senses.
                "in_table": listed,
                "count": each.count,
                "not_found": each.not_found,
                "delta_map": each.delta_map,
            }
            for each, similarity, listed in zip(found, similar, in_table, strict=True)
        ]

    def similarities(self) -> Similarities:
        """Similarity of all action and object errors, by predicted triplet of the scenes."""
        evaluation, ledger = self.evaluation, self.diagnosis.ledger
        found, vocabulary = evaluation.predicted.scenes, self.diagnosis.vocabulary
        number, verbs = len(found.triplet_pair), np.int64(len(vocabulary.verbs))
        value, kind = np.full(number, np.nan), np.full(number, -1, dtype=np.int8)
        key = np.full(number, -1, dtype=np.int64)
        for error in self.errors.values():
            triplet = ledger.row_input[error.rows]
            value[triplet] = error.sigma
            kind[triplet] = np.select(
                list(error.kinds.values()), [list(KINDS).index(name) for name in error.kinds]
            )
            # An object of -1 is not compared, as in V-COCO.
            annotated = (error.annotated_object.astype(np.int64) + 1) * verbs + error.annotated_verb
            key[triplet] = np.where(error.annotated_verb >= 0, annotated, -1)
        keys = np.unique(key[key >= 0])
        return Similarities(
            value=value,
            kind=kind,
            meant=np.where(key >= 0, np.searchsorted(keys, key), -1),
            names=class_names(vocabulary, (keys % verbs).tolist(), (keys // verbs - 1).tolist()),
            sigma=self._sigma,
            tables=_table_names(evaluation),
        )

    @property
    def _sigma(self) -> str:
        """Formula of the similarity of two interactions."""
        measure = self.evaluation.measure
        return measure.formula if self.evaluation.compares_objects else "sigma = S_v"

    def to_dict(self) -> dict[str, Any]:
        """All numbers as plain Python values."""
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
            # Similarity of the part that is wrong from which sigma is reached if the other part is
            # right; None where verbs alone are compared.
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
    """Name and source of the tables of ``verbs`` and, where they are compared, ``objects``."""
    return {
        what: {"name": fitted.similarity.name, "source": fitted.similarity.source}
        for what, fitted in (("verbs", evaluation.verbs), ("objects", evaluation.objects))
        if what == "verbs" or evaluation.compares_objects
    }
