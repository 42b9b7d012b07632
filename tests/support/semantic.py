"""Tables and views of semantic evaluation that only tests need."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diaghoi.diagnosis.tables import Columns
from diaghoi.semantic.diagnosis import SemanticDiagnosis
from diaghoi.semantic.tables.similarity import Similarity
from diaghoi.semantic.triplets import class_names


def identity(names: Sequence[str], name: str = "identity") -> Similarity:
    """Return the table by which only equal words are similar: exact matching."""
    return Similarity(names=tuple(names), values=np.eye(len(names)), name=name)


def error_table(meaning: SemanticDiagnosis) -> Columns:
    """List all action and object errors; nothing annotated there is an empty name."""
    ledger = meaning.diagnosis.ledger
    vocabulary = meaning.diagnosis.vocabulary
    parts: list[Columns] = []
    for error, found in meaning.errors.items():
        annotated = class_names(vocabulary, np.maximum(found.annotated, 0))
        parts.append(
            {
                "error": np.full(len(found.rows), error),
                "predicted": np.array(class_names(vocabulary, found.predicted), dtype=str),
                "score": ledger.row_score[found.rows],
                "annotated": np.where(found.annotated < 0, "", np.array(annotated, dtype=str)),
                "similarity": found.sigma,
                "kind": np.select(list(found.kinds.values()), list(found.kinds), ""),
            }
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
