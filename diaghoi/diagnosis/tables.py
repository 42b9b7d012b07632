"""Tables per HOI class and per image of a diagnosis, as named columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from diaghoi.evaluation.errors import LABELS
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import ORACLES

if TYPE_CHECKING:
    from diaghoi.diagnosis.diagnosis import Diagnosis

Table = dict[str, npt.NDArray[Any]]
IntArray = npt.NDArray[np.integer]
FloatArray = npt.NDArray[np.float64]


def class_table(diagnosis: Diagnosis) -> Table:
    """Everything that is known of each HOI class that the protocol counts.

    Returns
    -------
    dict of (K,) arrays
        ``class`` (official number, from one, under every protocol), ``name``, ``verb``, ``object``,
        ``splits`` (the groups of classes that it belongs to by their keys in results, such as
        ``rare``, with "; " between them), ``annotated`` and ``predicted`` (triplets), ``ap``,
        ``max_recall`` (fractions, NaN without annotations), one count per error label and
        ``missed_gt``, and ``delta_<oracle>`` (change of AP, signed, NaN without annotations before
        or after the oracle).
    """
    vocabulary, ledger = diagnosis.vocabulary, diagnosis.ledger
    counted = np.flatnonzero(diagnosis.splits["full"])
    scores = diagnosis.class_scores
    table: Table = {
        "class": counted + 1,
        "name": np.array([vocabulary.class_name(hoi) for hoi in counted.tolist()], dtype=str),
        "verb": np.array(vocabulary.verbs)[vocabulary.class_verb[counted]],
        "object": np.array([*vocabulary.objects, ""])[vocabulary.class_object[counted]],
        "splits": _splits(diagnosis)[counted],
        "annotated": ledger.positives[counted],
        "predicted": np.bincount(ledger.row_class, minlength=len(vocabulary))[counted],
        "ap": scores.average_precision[counted],
        "max_recall": scores.max_recall[counted],
    }
    counts = _error_counts(diagnosis, ledger.row_class, ledger.annotation_class, len(vocabulary))
    table |= {name: count[counted] for name, count in counts.items()}
    for name in ORACLES:
        repaired = diagnosis.repaired_scores[name].average_precision
        table[f"delta_{name}"] = (repaired - scores.average_precision)[counted]
    return table


def image_table(diagnosis: Diagnosis) -> Table:
    """Count annotations, predictions and errors of each image.

    Returns
    -------
    dict of (N,) arrays
        ``image`` (name; ``image 1`` and so on where the files have no names), ``annotated`` and
        ``predicted`` (triplets), ``recall`` (share of the annotated triplets that were found, NaN
        without any), ``false_positive`` (predictions that are no true positives), ``best_true`` and
        ``best_false`` (highest score of a true and of a false positive, NaN without any), one
        count per error label, and ``missed_gt``.
    """
    ledger, images = diagnosis.ledger, len(diagnosis.names)
    annotated = np.bincount(ledger.annotation_image, minlength=images)
    predicted = np.bincount(ledger.row_image, minlength=images)
    counts = _error_counts(diagnosis, ledger.row_image, ledger.annotation_image, images)
    found = counts["true_positive"]
    recall = np.full(images, np.nan)
    np.divide(found, annotated, out=recall, where=annotated > 0)
    numbered = np.array([f"image {number}" for number in range(1, images + 1)], dtype=str)
    return {
        "image": np.where(diagnosis.names == "", numbered, diagnosis.names),
        "annotated": annotated,
        "predicted": predicted,
        "recall": recall,
        "false_positive": predicted - found,
        "best_true": _highest(ledger.row_score, ledger.row_image, ledger.true, images),
        "best_false": _highest(ledger.row_score, ledger.row_image, ~ledger.true, images),
        **counts,
    }


def sorted_table(table: Table, column: str, *, descending: bool = False) -> Table:
    """Sort the rows of a table by one of its columns.

    Parameters
    ----------
    table : dict of arrays
        As from :func:`class_table` and :func:`image_table`.
    column : str
        Any of its columns, words and numbers alike.
    descending : bool
        Highest first. Rows without a value stand last either way, and equal ones keep their order.

    Raises
    ------
    InputError
        For a column that the table does not have.
    """
    if column not in table:
        raise InputError(
            f"unknown column '{column}'{close_matches(column, table)}; known: {', '.join(table)}"
        )
    values = table[column]
    _, rank = np.unique(values, return_inverse=True)
    undefined = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    order = np.lexsort((-rank if descending else rank, undefined))
    return {name: each[order] for name, each in table.items()}


def _splits(diagnosis: Diagnosis) -> npt.NDArray[np.str_]:
    """(C,) the groups of each class, apart from all."""
    groups = {name: mask for name, mask in diagnosis.splits.items() if name != "full"}
    return np.array(
        [
            "; ".join(name for name, mask in groups.items() if mask[hoi])
            for hoi in range(len(diagnosis.vocabulary))
        ],
        dtype=str,
    )


def _highest(
    score: FloatArray, group: IntArray, of: npt.NDArray[np.bool_], groups: int
) -> FloatArray:
    """Highest score in each group among some rows, NaN where it has none."""
    highest = np.full(groups, np.nan)
    np.fmax.at(highest, group[of], score[of])
    return highest


def _error_counts(
    diagnosis: Diagnosis, row_group: IntArray, annotation_group: IntArray, groups: int
) -> Table:
    ledger = diagnosis.ledger
    cell = row_group.astype(np.int64) * len(LABELS) + ledger.row_label
    counts = np.bincount(cell, minlength=groups * len(LABELS)).reshape(groups, len(LABELS))
    missed = np.bincount(annotation_group[ledger.missed], minlength=groups)
    return dict(zip(LABELS, counts.T, strict=True)) | {"missed_gt": missed}
