"""The figures of a semantic evaluation as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from diaghoi._version import __version__
from diaghoi.semantic.instances import verb_words
from diaghoi.semantic.notes import missing_words
from diaghoi.semantic.tables.similarity import Fitted

if TYPE_CHECKING:
    from diaghoi.semantic.evaluation import SemanticEvaluation


def semantic_result(evaluation: SemanticEvaluation) -> dict[str, Any]:
    """Collect all figures.

    Returns
    -------
    dict
        ``soft_map``, ``mf1``, the miss rates (``..._all_predictions``: without tau) and ``map``,
        the standard mAP, each over all classes; ``splits`` (the same of each split), ``classes``,
        ``similarity`` (name, source and coverage of both tables), ``measure``, ``protocol``,
        ``counts`` and ``notes``. None where undefined.
    """
    columns = {name: values.tolist() for name, values in evaluation.classes.items()}
    rows = zip(*columns.values(), strict=True)
    return {
        "diaghoi": __version__,
        "dataset": evaluation.annotated.scenes.vocabulary.name,
        "label": evaluation.label,
        "protocol": {"name": evaluation.protocol.name, "signature": evaluation.protocol.signature},
        "measure": {
            **asdict(evaluation.measure),
            "scores": evaluation.score is not None,
            "signature": evaluation.measure.signature
            if evaluation.score is not None
            else evaluation.measure.signature.rsplit(" | ", 1)[0],
        },
        "similarity": {
            "verbs": _table(evaluation.verbs, verb_words(evaluation.words)),
            "objects": _table(evaluation.objects, evaluation.words.objects),
        },
        "counts": {
            "images": len(evaluation.joined.annotated),
            "annotated_triplets": len(evaluation.annotated),
            "predicted_triplets": len(evaluation.predicted),
            "predicted_triplets_of_mf1": len(evaluation.predicted)
            if evaluation.taking_part is None
            else int(evaluation.taking_part.sum()),
            "classes": len(evaluation.positives),
        },
        "soft_map": evaluation.soft_map,
        "mf1": evaluation.mf1,
        **evaluation.miss_rates,
        "map": evaluation.standard_map,
        "splits": evaluation.split_figures,
        "classes": [
            {key: None if cell != cell else cell for key, cell in zip(columns, row, strict=True)}
            for row in rows
        ],
        "notes": list(evaluation.notes),
    }


def table_names(evaluation: SemanticEvaluation) -> dict[str, dict[str, str]]:
    """Name and source of the tables of ``verbs`` and, where they are compared, ``objects``."""
    return {
        what: {"name": fitted.similarity.name, "source": fitted.similarity.source}
        for what, fitted in (("verbs", evaluation.verbs), ("objects", evaluation.objects))
        if what == "verbs" or evaluation.compares_objects
    }


def _table(fitted: Fitted, names: Sequence[str]) -> dict[str, Any]:
    words, missing = len(set(names)), missing_words(fitted)
    return {
        "name": fitted.similarity.name,
        "source": fitted.similarity.source,
        "words": words,
        "covered": words - len(missing),
        "missing": missing,
    }
