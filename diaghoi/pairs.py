"""How well a detector finds pairs, whatever they do (Diag-HOI paper, section 3.2, appendix G)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.pairing import PairHits
from diaghoi.ragged import first_of_run
from diaghoi.scenes import Scenes

IntArray = npt.NDArray[np.integer]
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class PairCounts:
    """Counts behind pair recall and precision; counts of disjoint images add.

    Parameters
    ----------
    images : int
        Images of the evaluation.
    predicted : int
        Predicted pairs.
    annotated, localised : int
        Distinct annotated pairs of the classes that count, and those that some predicted pair
        localises (both boxes reach the IoU threshold, categories equal).
    credited : int
        Predicted pairs that are credited with an annotated pair: each annotated pair credits the
        first predicted pair, in stored order, that localises it; a predicted pair counts once.
    humans, humans_found, objects, objects_found : int
        Distinct boxes in the annotated pairs, and those that a box of some predicted pair reaches.
    """

    images: int = 0
    predicted: int = 0
    annotated: int = 0
    localised: int = 0
    credited: int = 0
    humans: int = 0
    humans_found: int = 0
    objects: int = 0
    objects_found: int = 0

    def __add__(self, other: PairCounts) -> PairCounts:
        return PairCounts(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )


def ratio(part: float, whole: float) -> float | None:
    """Return ``part / whole``, None where there is nothing to divide by."""
    return part / whole if whole else None


def count_pairs(
    annotations: Scenes,
    listed: BoolArray,
    hits: PairHits,
    reached: tuple[BoolArray, BoolArray],
    wanted: BoolArray,
    images: int,
) -> PairCounts:
    """Count what the listed pairs find of the wanted annotated pairs.

    Parameters
    ----------
    annotations : Scenes
        The annotations.
    listed : (P,) bool array
        The predicted pairs that count as the detector's list of pairs.
    hits : PairHits
        Which pairs localise which.
    reached : tuple of (Ba,) bool arrays
        Annotated boxes that the human, and the object, of some listed pair reaches.
    wanted : (Pa,) bool array
        Annotated pairs to count, for instance those of rare classes.
    images : int
        Images whose pairs count.
    """
    use = listed[hits.predicted] & wanted[hits.annotated]
    predicted, annotated = hits.predicted[use], hits.annotated[use]
    by_annotated = np.lexsort((predicted, annotated))
    first = by_annotated[first_of_run(annotated[by_annotated])]
    humans = np.unique(annotations.pair_human[wanted])
    objects = np.unique(annotations.pair_object[wanted])
    objects = objects[objects >= 0]
    return PairCounts(
        images=images,
        predicted=int(listed.sum()),
        annotated=int(wanted.sum()),
        localised=len(first),
        credited=len(np.unique(predicted[first])),
        humans=len(humans),
        humans_found=int(reached[0][humans].sum()),
        objects=len(objects),
        objects_found=int(reached[1][objects].sum()),
    )


def pair_scores(counts: PairCounts, *, single_precision: bool = False) -> dict[str, Any]:
    """Pair recall, precision and number, from their counts.

    Parameters
    ----------
    counts : PairCounts
        The counts.
    single_precision : bool
        Round the recall to 32 bits, as the published Diag-HOI code does.

    Returns
    -------
    dict
        ``recall``, ``precision``, ``per_image``, ``human_recall`` and ``object_recall``: fractions
        (pairs an image for ``per_image``), None where there is nothing to divide by.
    """
    recall = ratio(counts.localised, counts.annotated)
    if single_precision and recall is not None:
        recall = float(np.float32(recall))
    return {
        "recall": recall,
        "precision": ratio(counts.credited, counts.predicted),
        "per_image": ratio(counts.predicted, counts.images),
        "human_recall": ratio(counts.humans_found, counts.humans),
        "object_recall": ratio(counts.objects_found, counts.objects),
    }
