"""Tables and scenes from formats that repeat both boxes in every pair or triplet."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from diaghoi.data.arrays.distinct import distinct, distinct_boxes, runs_of_images
from diaghoi.data.arrays.types import FloatArray, IntArray, StrArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError


@dataclass(frozen=True, kw_only=True, eq=False)
class PairTables:
    """Boxes, and the pairs that refer to them.

    Parameters
    ----------
    box_image, box_label : (B,) int array
        Image and category of each box.
    box_xyxy : (B, 4) float64 array
        Coordinates.
    box_score : (B,) float64 array or None
        Detection score.
    human, object : (P,) int array
        Boxes of each pair.
    """

    box_image: IntArray
    box_xyxy: FloatArray
    box_label: IntArray
    box_score: FloatArray | None
    human: IntArray
    object: IntArray

    @classmethod
    def of(
        cls,
        vocabulary: Vocabulary,
        *,
        image: IntArray,
        human: FloatArray,
        object_box: FloatArray,
        category: IntArray,
        box_scores: tuple[FloatArray, FloatArray] | None = None,
        merged: bool = True,
    ) -> PairTables:
        """Merge the boxes with equal coordinates and category in one image; pairs stay as listed.

        Parameters
        ----------
        vocabulary : Vocabulary
            The data set.
        image : (P,) int array
            Image of each pair, ascending.
        human, object_box : (P, 4) float64 array
            Its boxes, counted from zero.
        category : (P,) int array
            Category of its object.
        box_scores : two (P,) float64 arrays or None
            Scores of the human boxes and of the object boxes; that of a merged box is the first.
        merged : bool
            False where each pair has its own two boxes, even if they are equal to others.
        """
        # Some images at a time: a table of all boxes, one after the other, would be as large as
        # the file.
        columns: dict[str, list[Any]] = {each.name: [] for each in fields(cls)}
        boxes = 0
        for start, stop in runs_of_images(image):
            rows = slice(start, stop)
            scores = None if box_scores is None else (box_scores[0][rows], box_scores[1][rows])
            sides = human[rows], object_box[rows]
            part = _tables(vocabulary, image[rows], sides, category[rows], scores, merged)
            moved = replace(part, human=part.human + boxes, object=part.object + boxes)
            for name, column in columns.items():
                column.append(getattr(moved, name))
            boxes += len(part.box_image)
        joined: dict[str, Any] = {}
        while columns:  # each column is freed as soon as it is joined
            name, column = columns.popitem()
            joined[name] = None if column[0] is None else np.concatenate(column)
        return cls(**joined)


def _tables(
    vocabulary: Vocabulary,
    image: IntArray,
    sides: tuple[FloatArray, FloatArray],
    category: IntArray,
    box_scores: tuple[FloatArray, FloatArray] | None,
    merged: bool,
) -> PairTables:
    """Make the tables of some images."""
    # Interleave human and object, so that the boxes keep their order in the file.
    people = np.full_like(category, vocabulary.person)
    label = np.stack([people, category], axis=1).reshape(-1)
    xyxy = np.stack(sides, axis=1).reshape(-1, 4)
    image_of_box = np.repeat(image, 2)
    first: IntArray = np.arange(len(label))
    box = first
    if merged:
        first, box = distinct_boxes(image_of_box, label, xyxy)
    return PairTables(
        box_image=image_of_box[first],
        box_xyxy=xyxy[first],
        box_label=label[first],
        box_score=None if box_scores is None else np.stack(box_scores, 1).reshape(-1)[first],
        human=box[0::2],
        object=box[1::2],
    )


class Meaning(NamedTuple):
    """What triplets are of.

    Parameters
    ----------
    category, verb : (T,) int array
        Category of the object, and verb.
    """

    category: IntArray
    verb: IntArray

    @classmethod
    def of_classes(cls, vocabulary: Vocabulary, hoi: IntArray) -> Meaning:
        """Return what HOI classes are of; each must have an object (:func:`check_objects`)."""
        category, verb = vocabulary.class_object[hoi], vocabulary.class_verb[hoi]
        return cls(category.astype(np.int64), verb.astype(np.int64))


def check_objects(file: str, vocabulary: Vocabulary) -> None:
    """Refuse a data set whose HOI classes do not say the object, for formats that rely on it.

    Raises
    ------
    InputError
        For V-COCO.
    """
    if vocabulary.any_object:
        raise InputError(
            f"{file}: holds HOI classes instead of objects, but those of {vocabulary.name} do not "
            "say the object; give --dataset hico-det, or a file with the categories of boxes"
        )


def from_repeated(
    vocabulary: Vocabulary,
    *,
    names: StrArray,
    sizes: IntArray | None = None,
    image: IntArray,
    human: FloatArray,
    object_box: FloatArray,
    meaning: Meaning,
    score: FloatArray | None = None,
    action_score: FloatArray | None = None,
    box_scores: tuple[FloatArray, FloatArray] | None = None,
    unread: IntArray | None = None,
    merged: bool = True,
    source: str,
    notes: tuple[str, ...] = (),
) -> Scenes:
    """Merge equal boxes of an image, and equal pairs of boxes.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    names : (N,) str array
        Image names.
    sizes : (N, 2) int array or None
        Width and height.
    image : (T,) int array
        Image of each triplet, ascending.
    human, object_box : (T, 4) float64 array
        Its boxes, counted from zero.
    meaning : Meaning
        Category of its object, and its verb.
    score, action_score : (T,) float64 array or None
        Its score, and that of the verb alone.
    box_scores : two (T,) float64 arrays or None
        Scores of the human boxes and of the object boxes; that of a merged box is the first.
    unread : (N, 3) int array or None
        For a detector without scores, as in :class:`~diaghoi.data.scenes.Scenes`.
    merged : bool
        False where each triplet is the pair of a query of its own, even with equal boxes.
    source : str
        The file.
    notes : tuple of str
        Notes about how it was read.

    Returns
    -------
    Scenes
        Boxes with the same coordinates and category in one image are one box; pairs are the
        distinct pairs of distinct boxes, in the order of first use. If not merged, each triplet has
        its own two boxes.
    """
    tables = PairTables.of(
        vocabulary,
        image=image,
        human=human,
        object_box=object_box,
        category=meaning.category,
        box_scores=box_scores,
        merged=merged,
    )
    base = np.int64(max(len(tables.box_image), 1))
    used, pair = distinct(tables.human * base + tables.object)
    return Scenes(
        vocabulary=vocabulary,
        names=names,
        sizes=sizes,
        box_image=tables.box_image,
        box_xyxy=tables.box_xyxy,
        box_label=tables.box_label,
        box_score=tables.box_score,
        pair_human=tables.human[used],
        pair_object=tables.object[used],
        triplet_pair=pair,
        triplet_verb=meaning.verb,
        triplet_score=score,
        triplet_action_score=action_score,
        unread=unread,
        source=source,
        notes=notes,
    )
