"""Scenes from formats that repeat both boxes in every triplet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from diaghoi.data.arrays import FloatArray, IntArray, StrArray, distinct
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.columns.pairs import PairTables


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
