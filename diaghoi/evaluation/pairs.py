"""Measure how well a detector finds pairs (Diag-HOI paper, section 3.2, appendix G)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from diaghoi.data.arrays import BoolArray, IntArray, first_of_run, marked, ratio, ratios, slices
from diaghoi.data.memory import in_parts
from diaghoi.data.scenes import Scenes
from diaghoi.evaluation.overlap import Overlap, PairHits

if TYPE_CHECKING:
    from typing_extensions import Self

# Number of images whose counts are added at once.
_IMAGES = 500_000


@dataclass(frozen=True, kw_only=True)
class PairCounts:
    """Counts from which pair recall and precision are computed.

    Parameters
    ----------
    images : int
        Evaluated images.
    predicted : int
        Predicted pairs.
    annotated, localised : int
        Distinct annotated pairs of the counted classes, and how many of them any predicted pair
        localises (both boxes reach the IoU threshold, categories are equal). Pairs are distinct
        unless they have the same two boxes: in the HICO-DET test set, each triplet is a separate
        pair.
    credited : int
        Predicted pairs that are credited with an annotated pair. Each annotated pair credits the
        first predicted pair, in stored order, that localises it; no predicted pair counts twice.
    humans, humans_found, objects, objects_found : int
        Distinct boxes in the annotated pairs, and how many of them a box of any predicted pair
        reaches.
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
    """The counts of :class:`PairCounts`, image by image.

    Parameters
    ----------
    columns : dict of (N,) int32 array
        Counts by name.
    """

    columns: dict[str, IntArray]

    def total(self) -> PairCounts:
        """Add the counts of all images."""
        counts = dict.fromkeys(self.columns, 0)
        for part in in_parts(self.columns, slices(len(self.columns["images"]), _IMAGES)):
            for name, column in part.items():
                counts[name] += int(column.sum())
        return PairCounts(**counts)

    @classmethod
    def concatenate(cls, parts: Sequence[ImagePairs]) -> ImagePairs:
        """Join the counts of disjoint images, in order."""
        return cls(
            {name: np.concatenate([part.columns[name] for part in parts]) for name in COUNTED}
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class OfImages:
    """Table with a column ``image``, the image of each row."""

    image: IntArray

    @classmethod
    def concatenate(cls, parts: Sequence[Self], images: Sequence[int]) -> Self:
        """Join the rows of disjoint images; ``images`` is the number of images of each part."""
        columns: dict[str, Any] = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)
        }
        first = np.cumsum([0, *images[:-1]]).astype(np.int32)
        columns["image"] += np.repeat(first, [len(part.image) for part in parts])
        return cls(**columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class ObjectBoxes(OfImages):
    """Distinct object boxes in annotated pairs of the counted classes.

    Parameters
    ----------
    image, category : (K,) int array
        Image and category of each box.
    found : (K,) bool array
        Whether a box of any predicted pair reaches this box.
    """

    category: IntArray
    found: BoolArray

    @property
    def mean_recall(self) -> float | None:
        """Mean share of found boxes, over the annotated categories; None without categories."""
        annotated = np.bincount(self.category)
        recall = ratios(np.bincount(self.category, weights=self.found), annotated)[annotated > 0]
        return float(recall.mean()) if len(recall) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class PairMatch:
    """The listed pairs of a detector and the annotated pairs, ready to be counted.

    Parameters
    ----------
    annotations, predictions : Scenes
        Annotations and predictions of the same N images.
    overlap : Overlap
        IoU of predicted and annotated boxes.
    hits : PairHits
        Predicted pairs that localise annotated pairs.
    listed : (P,) bool array
        Mask of the predicted pairs that count as listed by the detector.
    images : (N,) bool array
        Images whose pairs count.
    """

    annotations: Scenes
    predictions: Scenes
    overlap: Overlap
    hits: PairHits
    listed: BoolArray
    images: BoolArray

    def count(self, wanted: BoolArray) -> ImagePairs:
        """Count, by image, the annotated pairs in ``wanted``, (Pa,), that listed pairs find."""
        annotations, predictions = self.annotations, self.predictions
        credited = credited_pairs(self.hits, self.listed, wanted)
        humans = np.unique(annotations.pair_human[wanted])
        objects = self._objects(wanted)
        rows = {
            "predicted": predictions.pair_image[self.listed],
            "annotated": annotations.pair_image[wanted],
            "localised": predictions.pair_image[credited],
            "credited": predictions.pair_image[np.unique(credited)],
            "humans": annotations.box_image[humans],
            "humans_found": annotations.box_image[humans[self._humans_reached[humans]]],
            "objects": annotations.box_image[objects],
            "objects_found": annotations.box_image[objects[self._objects_reached[objects]]],
        }
        counts = {
            name: np.bincount(image, minlength=len(self.images)) for name, image in rows.items()
        }
        columns = {"images": self.images} | counts
        return ImagePairs({name: column.astype(np.int32) for name, column in columns.items()})

    def object_boxes(self, wanted: BoolArray) -> ObjectBoxes:
        """List the distinct object boxes of the wanted annotated pairs; see :meth:`count`."""
        objects = self._objects(wanted)
        return ObjectBoxes(
            image=self.annotations.box_image[objects],
            category=self.annotations.box_label[objects],
            found=self._objects_reached[objects],
        )

    def _objects(self, wanted: BoolArray) -> IntArray:
        objects = np.unique(self.annotations.pair_object[wanted])
        return objects[objects >= 0]

    @cached_property
    def _humans_reached(self) -> BoolArray:
        return self._reached(self.predictions.pair_human)

    @cached_property
    def _objects_reached(self) -> BoolArray:
        return self._reached(self.predictions.pair_object)

    def _reached(self, box: IntArray) -> BoolArray:
        """Return a mask, (Ba,), of the annotated boxes that a ``box`` of a listed pair reaches."""
        # One extra row, for pairs without an object (-1).
        of_pairs = marked(box[self.listed], len(self.predictions.box_label) + 1)
        predicted, annotated = self.overlap.reaching
        return marked(annotated[of_pairs[predicted]], len(self.annotations.box_label))


def credited_pairs(hits: PairHits, listed: BoolArray, wanted: BoolArray) -> IntArray:
    """Find the predicted pairs that are credited with an annotated pair.

    Only hits between the predicted pairs in ``listed``, (P,), and the annotated pairs in
    ``wanted``, (Pa,), count.
    """
    use = listed[hits.predicted] & wanted[hits.annotated]
    predicted, annotated = hits.predicted[use], hits.annotated[use]
    # Each annotated pair credits the first predicted pair in stored order, not the best pair; hits
    # are in stored order.
    by_annotated = np.argsort(annotated, kind="stable")
    first = by_annotated[first_of_run(annotated[by_annotated])]
    return np.asarray(predicted[first])


def pair_recall(localised: int, annotated: int, *, single_precision: bool) -> float | None:
    """Return the share of annotated pairs that are localised; see :func:`pair_scores`."""
    recall = ratio(localised, annotated)
    # The published code averages in 32 bits, where 2/3 is 0.6666666865348816.
    if single_precision and recall is not None:
        recall = float(np.float32(recall))
    return recall


def pair_scores(counts: PairCounts, *, single_precision: bool = False) -> dict[str, Any]:
    """Compute pair recall, pair precision and pairs per image from the counts.

    Returns
    -------
    dict
        ``recall`` (rounded to 32 bits, as in the published code, if requested), ``precision``,
        ``per_image``, ``human_recall`` and ``object_recall``: fractions (pairs per image for
        ``per_image``), None if the denominator is 0.
    """
    single = single_precision
    return {
        "recall": pair_recall(counts.localised, counts.annotated, single_precision=single),
        "precision": ratio(counts.credited, counts.predicted),
        "per_image": ratio(counts.predicted, counts.images),
        "human_recall": ratio(counts.humans_found, counts.humans),
        "object_recall": ratio(counts.objects_found, counts.objects),
    }
