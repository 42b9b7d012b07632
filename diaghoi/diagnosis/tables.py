"""Tables of a diagnosis per HOI class and per image, as named columns."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diaghoi.data.arrays import Array, BoolArray, FloatArray, IntArray, StrArray, ratios
from diaghoi.data.protocol import Protocol
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.evaluation.average_precision import ClassScores
from diaghoi.evaluation.errors import LABELS
from diaghoi.evaluation.ledger import Ledger
from diaghoi.evaluation.means import counts_in_mean
from diaghoi.exceptions import InputError, close_matches
from diaghoi.oracles import ORACLES

Columns = dict[str, Array]
CLASS_COLUMNS = (
    *("class", "name", "verb", "object", "splits", "means", "annotated", "predicted"),
    *("ap", "max_recall", "ap_best_order"),
    *(*LABELS, "missed_gt"),
    *(f"delta_{name}" for name in ORACLES),
)
"""The columns of :func:`class_table`."""
IMAGE_COLUMNS = (
    *("image", "annotated", "predicted", "recall", "false_positive", "best_true", "best_false"),
    *(*LABELS, "missed_gt"),
)
"""The columns of :func:`image_table`."""


def class_table(
    vocabulary: Vocabulary,
    ledger: Ledger,
    protocol: Protocol,
    splits: Mapping[str, BoolArray],
    scores: ClassScores,
    best_order: ClassScores,
    repaired: Mapping[str, ClassScores],
) -> Columns:
    """Tabulate everything that is known about each HOI class that the protocol counts.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set, with C classes.
    ledger : Ledger
        The predictions that count.
    protocol : Protocol
        Determines the classes that count in a mean.
    splits : mapping of (C,) bool arrays
        The reported groups of classes, including ``full``.
    scores : ClassScores
        Scores of each class before any repair.
    best_order : ClassScores
        AP of each class if its true positives were ranked first.
    repaired : mapping of ClassScores
        Scores of each class after each oracle.

    Returns
    -------
    dict of (K,) arrays
        ``class`` (official number, from one, under every protocol), ``name``, ``verb``, ``object``,
        ``splits`` (keys of the groups to which the class belongs, such as ``rare``, separated by ";
        "), ``means`` (keys of the means in which the class counts, ``full`` and groups, also
        separated by "; "), ``annotated`` and ``predicted`` (triplets), ``ap``, ``max_recall`` and
        ``ap_best_order`` (fractions, NaN without annotations and if the full mean omits the class),
        one count per error label and ``missed_gt``, and ``delta_<oracle>`` (change of AP, signed,
        NaN without annotations before or after the oracle).
    """
    counted = np.flatnonzero(splits["full"])
    means = {
        name: counts_in_mean(scores, protocol, name, members) for name, members in splits.items()
    }

    def shown(values: FloatArray) -> FloatArray:
        return np.where(means["full"], values, np.nan)[counted]

    table: Columns = {
        "class": counted + 1,
        "name": np.array([vocabulary.class_name(hoi) for hoi in counted.tolist()], dtype=str),
        "verb": np.array(vocabulary.verbs)[vocabulary.class_verb[counted]],
        "object": np.array([*vocabulary.objects, ""])[vocabulary.class_object[counted]],
        "splits": _names({name: splits[name] for name in splits if name != "full"}, counted),
        "means": _names(means, counted),
        "annotated": ledger.positives[counted],
        "predicted": np.bincount(ledger.row_class, minlength=len(vocabulary))[counted],
        "ap": shown(scores.average_precision),
        "max_recall": shown(scores.max_recall),
        "ap_best_order": shown(best_order.average_precision),
    }
    counts = _error_counts(ledger, ledger.row_class, ledger.annotation_class, len(vocabulary))
    table |= {name: count[counted] for name, count in counts.items()}
    for name, after in repaired.items():
        delta = after.average_precision - scores.average_precision
        table[f"delta_{name}"] = delta[counted]
    return table


def image_table(names: StrArray, ledger: Ledger) -> Columns:
    """Count annotations, predictions and errors of each image.

    Parameters
    ----------
    names : (N,) str array
        Names of the images.
    ledger : Ledger
        The predictions that count.

    Returns
    -------
    dict of (N,) arrays
        ``image`` (name; ``image 1`` and so on if the files have no names), ``annotated`` and
        ``predicted`` (triplets), ``recall`` (share of the annotated triplets that were found, NaN
        without annotated triplets), ``false_positive`` (predictions that are not true positives),
        ``best_true`` and ``best_false`` (highest score of a true and of a false positive, NaN
        without any), one count per error label, and ``missed_gt``.
    """
    images = len(names)
    annotated = np.bincount(ledger.annotation_image, minlength=images)
    predicted = np.bincount(ledger.row_image, minlength=images)
    counts = _error_counts(ledger, ledger.row_image, ledger.annotation_image, images)
    found = counts["true_positive"]
    numbered = np.array([f"image {number}" for number in range(1, images + 1)], dtype=str)
    return {
        "image": np.where(names == "", numbered, names),
        "annotated": annotated,
        "predicted": predicted,
        "recall": ratios(found, annotated),
        "false_positive": predicted - found,
        "best_true": _highest(ledger.row_score, ledger.row_image, ledger.true, images),
        "best_false": _highest(ledger.row_score, ledger.row_image, ~ledger.true, images),
        **counts,
    }


def sorted_table(table: Columns, column: str, *, descending: bool = False) -> Columns:
    """Sort the rows of a table by one of its columns.

    Parameters
    ----------
    table : dict of arrays
        A table from :func:`class_table` or :func:`image_table`.
    column : str
        Name of any column, text or numeric.
    descending : bool
        Whether to put the highest value first. Rows without a value come last in either
        direction, and ties keep their order.

    Raises
    ------
    InputError
        If the table does not have the column.
    """
    if column not in table:
        raise InputError(
            f"unknown column '{column}'{close_matches(column, table)}; known: {', '.join(table)}"
        )
    values = table[column]
    # Ranks, unlike text, can be negated, so ties keep their order in both directions.
    _, rank = np.unique(values, return_inverse=True)
    undefined = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    order = np.lexsort((-rank if descending else rank, undefined))
    return {name: each[order] for name, each in table.items()}


def _names(groups: Mapping[str, BoolArray], classes: IntArray) -> StrArray:
    """Name the groups of each class."""
    members = [group[classes].tolist() for group in groups.values()]
    rows = zip(*members, strict=True) if members else [()] * len(classes)
    return np.array(
        [
            "; ".join(name for name, inside in zip(groups, row, strict=True) if inside)
            for row in rows
        ],
        dtype=str,
    )


def _highest(score: FloatArray, group: IntArray, of: BoolArray, groups: int) -> FloatArray:
    """Return the highest score of each group, NaN if the group has no rows."""
    highest = np.full(groups, np.nan)
    np.fmax.at(highest, group[of], score[of])
    return highest


def _error_counts(
    ledger: Ledger, row_group: IntArray, annotation_group: IntArray, groups: int
) -> Columns:
    # Ledgers store classes in 16 bits; the product needs 64 bits.
    cell = row_group.astype(np.int64) * len(LABELS) + ledger.row_label
    counts = np.bincount(cell, minlength=groups * len(LABELS)).reshape(groups, len(LABELS))
    missed = np.bincount(annotation_group[ledger.missed], minlength=groups)
    return dict(zip(LABELS, counts.T, strict=True)) | {"missed_gt": missed}
