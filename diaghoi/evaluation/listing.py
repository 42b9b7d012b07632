"""Detectors that list triplets without scores: what mAP they could have.

A language model says which triplets it sees, not how sure it is. Which annotations its predictions
claim does not depend on scores, where each claims the one that it overlaps most; how its rows would
be ranked does. So mAP is known up to bounds: over all ways to rank the list, that which ranks the
true positives of each class first has the highest, and that which ranks them as late as can be the
lowest. All rows in one rank can have a lower one still: a duplicate is then beside the true
positive, behind which every ranking puts it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import IntArray
from diaghoi.evaluation.average_precision import Evaluated


class Answers(NamedTuple):
    """What of the answers of a detector could not be evaluated as it stands.

    Parameters
    ----------
    unreadable : int
        Images whose answer could not be read at all.
    unreadable_triplets : int
        Triplets that could not.
    unknown_names : int
        Triplets with an object or a verb that the data set does not have.
    no_class : int
        Triplets whose object and verb form no HOI class.
    boxes_outside : int
        Boxes that reach outside the picture, where its size is known; they are compared as they
        are.
    """

    unreadable: int
    unreadable_triplets: int
    unknown_names: int
    no_class: int
    boxes_outside: int

    @property
    def outside_classes(self) -> int:
        """Triplets that were listed and are of no class."""
        return self.unreadable_triplets + self.unknown_names + self.no_class

    @classmethod
    def sum(cls, parts: Iterable[Answers | None]) -> Answers | None:
        """Add up those of disjoint images; None for detectors with scores."""
        found = [part for part in parts if part is not None]
        return cls(*map(sum, zip(*found, strict=True))) if found else None


def best_ranking(evaluated: Evaluated) -> Evaluated:
    """Rank the true positives of each class first."""
    return evaluated.reordered(np.lexsort((~evaluated.row_true, evaluated.row_class)))


def worst_ranking(evaluated: Evaluated, claims: IntArray) -> Evaluated:
    """Rank the true positives of each class as late as any scores can.

    Predictions that claim no annotation come first. Of those that claim the same, the first ranked
    is the true positive and the others are duplicates. So they stay together, and annotations that
    most predictions claim come before others: no true positive could come later.

    Parameters
    ----------
    evaluated : Evaluated
        The predictions, in any order within a class.
    claims : (A,) int array
        How many of them claim each annotated instance.
    """
    true, classes = evaluated.row_true, evaluated.annotation_class
    found = np.flatnonzero(claims)
    # The largest group of each class first.
    found = found[np.lexsort((-claims[found], classes[found]))]
    size = claims[found]
    # Places of the true positives: behind what claims nothing, and the groups before.
    count = max(int(classes.max(initial=-1)), int(evaluated.row_class.max(initial=-1))) + 1
    rows = np.bincount(evaluated.row_class, minlength=count)
    claimed = np.bincount(classes[found], weights=size, minlength=count).astype(np.int64)
    first = np.cumsum(rows) - claimed
    before = np.cumsum(size) - size
    start = np.cumsum(claimed) - claimed
    place = first[classes[found]] + before - start[classes[found]]
    # Which row of a class is which does not matter to average precision; images follow their rows.
    order = np.empty(len(true), dtype=np.int64)
    late = np.zeros(len(true), dtype=bool)
    late[place] = True
    by_truth = np.lexsort((true, evaluated.row_class))
    order[~late] = by_truth[~true[by_truth]]
    order[late] = by_truth[true[by_truth]]
    return evaluated.reordered(order)
