"""How well a detector finds pairs, whatever they do (Diag-HOI paper, section 3.2, appendix G)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from diaghoi.data.arrays.ragged import first_of_run
from diaghoi.data.arrays.scratch import let_go
from diaghoi.data.arrays.types import BoolArray
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.pairing import PairHits


@dataclass(frozen=True, kw_only=True)
class PairCounts:
    """Counts behind pair recall and precision.

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

    images: int
    predicted: int
    annotated: int
    localised: int
    credited: int
    humans: int
    humans_found: int
    objects: int
    objects_found: int


COUNTED = tuple(field.name for field in fields(PairCounts))


@dataclass(frozen=True, eq=False)
class ImagePairs:
    """The counts of :class:`PairCounts` for each image.

    Parameters
    ----------
    columns : dict of (N,) int32 array
        By the name of the count.
    """

    columns: dict[str, npt.NDArray[np.int32]]

    def total(self) -> PairCounts:
        """Add the counts of all images."""
        counts = {name: int(column.sum()) for name, column in self.columns.items()}
        let_go(*self.columns.values())
        return PairCounts(**counts)

    @classmethod
    def concatenate(cls, parts: Sequence[ImagePairs]) -> ImagePairs:
        """Join the counts of disjoint images, in order."""
        return cls(
            {name: np.concatenate([part.columns[name] for part in parts]) for name in COUNTED}
        )


def ratio(part: float, whole: float) -> float | None:
    """Return ``part / whole``, None where there is nothing to divide by."""
    return part / whole if whole else None


def count_pairs(
    annotations: Scenes,
    predictions: Scenes,
    listed: BoolArray,
    hits: PairHits,
    reached: tuple[BoolArray, BoolArray],
    wanted: BoolArray,
    images: BoolArray,
) -> ImagePairs:
    """Count what the listed pairs find of the wanted annotated pairs, for each image.

    Parameters
    ----------
    annotations, predictions : Scenes
        With the same N images.
    listed : (P,) bool array
        The predicted pairs that count as the detector's list of pairs.
    hits : PairHits
        Which pairs localise which.
    reached : tuple of (Ba,) bool arrays
        Annotated boxes that the human, and the object, of some listed pair reaches.
    wanted : (Pa,) bool array
        Annotated pairs to count, for instance those of rare classes.
    images : (N,) bool array
        Images whose pairs count.
    """
    use = listed[hits.predicted] & wanted[hits.annotated]
    predicted, annotated = hits.predicted[use], hits.annotated[use]
    by_annotated = np.lexsort((predicted, annotated))
    first = by_annotated[first_of_run(annotated[by_annotated])]
    humans = np.unique(annotations.pair_human[wanted])
    objects = np.unique(annotations.pair_object[wanted])
    objects = objects[objects >= 0]
    rows = {
        "predicted": predictions.pair_image[listed],
        "annotated": annotations.pair_image[wanted],
        "localised": predictions.pair_image[predicted[first]],
        "credited": predictions.pair_image[np.unique(predicted[first])],
        "humans": annotations.box_image[humans],
        "humans_found": annotations.box_image[humans[reached[0][humans]]],
        "objects": annotations.box_image[objects],
        "objects_found": annotations.box_image[objects[reached[1][objects]]],
    }
    counts = {name: np.bincount(image, minlength=len(images)) for name, image in rows.items()}
    columns = {"images": images} | counts
    return ImagePairs({name: column.astype(np.int32) for name, column in columns.items()})


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
