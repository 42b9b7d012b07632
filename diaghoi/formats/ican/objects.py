"""How a file with scores of all classes numbers objects: from one, in COCO's or in HICO's order.

Evidence are the interactions with the highest scores. Of 600 HOI classes each names its object, and
a detector gives the highest scores to those of the object before it; of the 117 verbs most go with
a few objects only. How people are numbered says little: they are objects of few pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, FloatArray, IntArray
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.checks import Rows
from diaghoi.formats.hico_det.detections import file_orders
from diaghoi.formats.numbering import (
    CLEAR,
    DOUBTFUL,
    ENOUGH,
    FEW,
    LEAST,
    TripletNumbers,
    most_confident,
    percent,
)

_OWN, _OTHER = "coco80", "hico80"


class Clearest(NamedTuple):
    """The interaction of each pair with the highest score.

    Parameters
    ----------
    numbers : TripletNumbers
        What ``number`` is of: a verb, or an HOI class.
    number : (P,) int array
        Counted from zero.
    score : (P,) float64 array
        Its score, times those of the boxes.
    """

    numbers: TripletNumbers
    number: IntArray
    score: FloatArray


def find_objects(
    file: str,
    numbers: IntArray,
    clearest: Clearest,
    vocabulary: Vocabulary,
    *,
    given: str | None,
) -> tuple[dict[int, int], tuple[str, ...]]:
    """Determine the order in which a file numbers objects.

    COCO's order, which the known code bases write, counts unless the scores contradict it.

    Parameters
    ----------
    file : str
        The file, for messages.
    numbers : (P,) int array
        Object of each pair, as the file numbers it.
    clearest : Clearest
        What each pair shows most clearly.
    vocabulary : Vocabulary
        HICO-DET.
    given : str or None
        The order given by the user.

    Returns
    -------
    order : dict of int
        Object of each number.
    notes : tuple of str
        What was found, if it is not COCO's order.

    Raises
    ------
    InputError
        If the scores contradict COCO's order without showing the other clearly.
    """
    orders = file_orders(given)
    if given is not None:
        return orders[given], ()
    labels = {name: _labels(numbers, order) for name, order in orders.items()}
    # Where both orders have the same object, or no score is above zero, nothing is shown.
    telling = (labels[_OWN] != labels[_OTHER]) & (clearest.score > 0)
    count = int(telling.sum())
    best = np.flatnonzero(telling)[most_confident(clearest.score[telling], count)]
    fits = {name: _fits(label[best], clearest, best, vocabulary) for name, label in labels.items()}
    own, other = (float(fits[name].mean()) if len(best) else 1.0 for name in (_OWN, _OTHER))
    if other <= own * DOUBTFUL:
        return orders[_OWN], ()
    # A class names its object: then every pair is evidence. Verbs are shared by objects.
    certain = clearest.numbers.of == "class" and own == 0 and other == 1
    fewer = 1 - own >= CLEAR * (1 - other)
    if certain or (count >= FEW and other >= LEAST and (other >= own * CLEAR or fewer)):
        return orders[_OTHER], (
            f"{file}: objects are numbered from 1 in HICO's order (hico80): the highest score is "
            f"one of the object in {percent(other)} of the best pairs, in COCO's order in "
            f"{percent(own)}",
        )
    if count < ENOUGH:
        return orders[_OWN], ()
    raise InputError(
        f"{file}: cannot determine how objects are numbered: in COCO's order the highest score is "
        f"one of the object in {percent(own)} of the best pairs, in HICO's order in "
        f"{percent(other)}; give --read objects={_OWN} or --read objects={_OTHER}"
    )


def check_objects(rows: Rows, numbers: IntArray, order: dict[int, int], column: str) -> IntArray:
    """Return the object categories as positions in the vocabulary.

    Raises
    ------
    InputError
        For a number that the order does not have.
    """
    label = _labels(numbers, order)
    if (label < 0).any():
        bad = int(np.argmax(label < 0))
        raise rows.error(
            bad,
            column,
            f"unknown object category {int(numbers[bad])}; objects are numbered {min(order)} to "
            f"{max(order)} in this format",
        )
    return label


def _labels(numbers: IntArray, order: dict[int, int]) -> IntArray:
    """Position of each number in an order; -1 for others."""
    table: IntArray = np.full(max(order) + 2, -1, dtype=np.int64)
    table[list(order)] = list(order.values())
    known = (numbers >= 0) & (numbers <= max(order))
    return np.asarray(table[np.where(known, numbers, -1)])


def _fits(label: IntArray, clearest: Clearest, rows: IntArray, vocabulary: Vocabulary) -> BoolArray:
    """Whether the clearest interaction of each pair is one with its object."""
    hoi = clearest.numbers.classes(clearest.number[rows], label, vocabulary)
    return np.asarray((hoi >= 0) & (label >= 0))
