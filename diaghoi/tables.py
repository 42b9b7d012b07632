"""Tables per HOI class and per image of a diagnosis, as named columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from diaghoi.errors import LABELS
from diaghoi.oracles import ORACLES

if TYPE_CHECKING:
    from diaghoi.diagnosis import Diagnosis

Table = dict[str, npt.NDArray[Any]]


def class_table(diagnosis: Diagnosis) -> Table:
    """Everything that is known of each HOI class that the protocol counts.

    Returns
    -------
    dict of (K,) arrays
        ``class`` (one-based official number), ``name``, ``verb``, ``object``, ``rare``,
        ``annotated`` (triplets), ``ap``, ``max_recall`` (fractions, NaN without annotations), one
        count per error label and ``missed_gt``, and ``delta_<oracle>`` (signed, NaN where the
        oracle leaves the class without annotations).
    """
    vocabulary, ledger = diagnosis.vocabulary, diagnosis.ledger
    counted = np.flatnonzero(diagnosis.splits["full"])
    scores = diagnosis.class_scores
    table: Table = {
        "class": counted + 1,
        "name": np.array([vocabulary.class_name(hoi) for hoi in counted.tolist()]),
        "verb": np.array(vocabulary.verbs)[vocabulary.class_verb[counted]],
        "object": np.array([*vocabulary.objects, ""])[vocabulary.class_object[counted]],
        "rare": diagnosis.splits.get("rare", np.zeros(len(vocabulary), dtype=bool))[counted],
        "annotated": ledger.positives[counted],
        "ap": scores.average_precision[counted],
        "max_recall": scores.max_recall[counted],
    }
    table |= _error_counts(diagnosis, ledger.row_class, ledger.annotation_class, len(vocabulary))
    for name in (*LABELS, "missed_gt"):
        table[name] = table[name][counted]
    for name in ORACLES:
        repaired = diagnosis.repaired_scores[name].average_precision
        table[f"delta_{name}"] = (repaired - scores.average_precision)[counted]
    return table


def image_table(diagnosis: Diagnosis) -> Table:
    """Count annotations, predictions and errors of each image.

    Returns
    -------
    dict of (N,) arrays
        ``image`` (name), ``annotated`` and ``predicted`` (triplets), one count per error label, and
        ``missed_gt``.
    """
    ledger, images = diagnosis.ledger, len(diagnosis.names)
    table: Table = {
        "image": diagnosis.names,
        "annotated": np.bincount(ledger.annotation_image, minlength=images),
        "predicted": np.bincount(ledger.row_image, minlength=images),
    }
    return table | _error_counts(diagnosis, ledger.row_image, ledger.annotation_image, images)


def _error_counts(
    diagnosis: Diagnosis,
    row_group: npt.NDArray[np.integer],
    annotation_group: npt.NDArray[np.integer],
    groups: int,
) -> Table:
    ledger = diagnosis.ledger
    cell = row_group.astype(np.int64) * len(LABELS) + ledger.row_label
    counts = np.bincount(cell, minlength=groups * len(LABELS)).reshape(groups, len(LABELS))
    missed = np.bincount(annotation_group[ledger.missed], minlength=groups)
    return dict(zip(LABELS, counts.T, strict=True)) | {"missed_gt": missed}
