"""Detect predicted object categories that are not numbered as expected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.formats.numbering import numberings

# Minimum number of boxes close to annotated boxes that a statement requires.
ENOUGH = 20
# Categories count as numbered differently if less than the share AGREEING of the close boxes has
# the annotated category. Another numbering is suggested if it gives at least the share EXPLAINED of
# the boxes that it changes the annotated category.
AGREEING, EXPLAINED = 0.2, 0.5


def category_doubts(annotated: IntArray, predicted: IntArray, predictions: Scenes) -> list[str]:
    """Find predicted boxes whose category differs from that of a close annotated box.

    Parameters
    ----------
    annotated, predicted : (R,) int array
        Categories of an annotated and a predicted box that are close to each other, -1 if unknown;
        annotated people only serve to reject other numberings.
    predictions : Scenes
        The predictions, which tell how their file numbers categories.

    Returns
    -------
    list of str
        At most one sentence, which describes a problem that makes the numbers meaningless.
    """
    vocabulary, numbering = predictions.vocabulary, predictions.numbering
    if not vocabulary.protocol.categories_count:
        return []
    known = (annotated >= 0) & (predicted >= 0)
    annotated, predicted = annotated[known], predicted[known]
    found = _explained(annotated, predicted, predictions)
    chosen = annotated != vocabulary.person if found is None else found.changed
    annotated, predicted = annotated[chosen], predicted[chosen]
    agreeing = annotated == predicted
    if len(agreeing) < ENOUGH or agreeing.mean() >= AGREEING:
        return []
    labels = len(vocabulary.objects)
    usual = int(np.bincount(annotated[~agreeing] * labels + predicted[~agreeing]).argmax())
    names = [vocabulary.objects[label] for label in divmod(usual, labels)]
    have = f"have its category (most often '{names[0]}' is called '{names[1]}')"
    if found is None:
        return [
            f"only {int(agreeing.sum())} of {len(agreeing)} predicted objects that are close to "
            f"an annotated object {have}: the categories may be numbered differently (--read "
            "objects=NUMBERING)"
        ]
    return [
        f"{100 * agreeing.mean():.1f} % of {len(agreeing)} predicted objects that are close to an "
        f"annotated object, and that {numbering} and {found.name} number differently, {have}; "
        "read as "
        f"{found.name}, {100 * found.share:.1f} % would: give --read objects={found.name}"
    ]


class _Explanation(NamedTuple):
    """A numbering under which close boxes have the annotated categories.

    Parameters
    ----------
    name : str
        The numbering.
    changed : (B,) bool array
        Mask of the boxes, other than people, whose category the numbering changes.
    share : float
        Share of the changed boxes that have the annotated category under the numbering.
    """

    name: str
    changed: BoolArray
    share: float


def _explained(
    annotated: IntArray, predicted: IntArray, predictions: Scenes
) -> _Explanation | None:
    """Find the numbering that explains why close boxes have different categories."""
    vocabulary, numbering = predictions.vocabulary, predictions.numbering
    tables = numberings(vocabulary)
    if numbering is None or numbering not in tables:
        return None
    number = {place: n for n, place in tables[numbering].items()}
    people, right = annotated == vocabulary.person, annotated == predicted
    found = []
    for name, table in tables.items():
        places = [table.get(number[label], -1) for label in range(len(vocabulary.objects))]
        label = np.array(places)[predicted]
        agreeing, changed = label == annotated, (label != predicted) & ~people
        if changed.sum() < ENOUGH or (people.any() and agreeing[people].mean() < EXPLAINED):
            continue
        if right[changed].mean() < AGREEING and agreeing[changed].mean() >= EXPLAINED:
            found.append(_Explanation(name, changed, float(agreeing[changed].mean())))
    return max(found, key=lambda each: each.share, default=None)
