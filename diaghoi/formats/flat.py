"""Build tables and scenes for formats that repeat both boxes in every pair or triplet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from diaghoi.data.arrays import (
    FloatArray,
    IntArray,
    StrArray,
    distinct,
    distinct_boxes,
    runs_of_images,
)
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.formats.base import Options
from diaghoi.formats.checks import Rows, check_boxes, check_scores, names_array
from diaghoi.formats.numbering import hoi_classes


def pair_tables(
    vocabulary: Vocabulary,
    *,
    image: IntArray,
    human: FloatArray,
    object_box: FloatArray,
    category: IntArray,
    box_scores: tuple[FloatArray, FloatArray] | None = None,
    merged: bool = True,
) -> dict[str, Any]:
    """Merge an image's boxes with equal coordinates and category; keep pairs as listed.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    image : (P,) int array
        Image of each pair, ascending.
    human, object_box : (P, 4) float64 array
        Boxes in zero-based coordinates.
    category : (P,) int array
        Object category of each pair.
    box_scores : two (P,) float64 arrays or None
        Scores of the human and object boxes; a merged box takes the first score.
    merged : bool
        False if each pair keeps its own two boxes, even if they equal other boxes.

    Returns
    -------
    dict
        Box and pair columns of :class:`~diaghoi.data.scenes.Scenes`.
    """
    # Images are converted in parts, because a table of all boxes would be as large as the file.
    parts, boxes = list[dict[str, Any]](), 0
    for start, stop in runs_of_images(image):
        rows = slice(start, stop)
        # Interleave human and object boxes to keep their order in the file.
        people = np.full_like(category[rows], vocabulary.person)
        label = np.stack([people, category[rows]], axis=1).reshape(-1)
        xyxy = np.stack([human[rows], object_box[rows]], axis=1).reshape(-1, 4)
        image_of_box = np.repeat(image[rows], 2)
        first: IntArray = np.arange(len(label))
        box = first
        if merged:
            first, box = distinct_boxes(image_of_box, label, xyxy)
        score = None
        if box_scores is not None:
            score = np.stack([side[rows] for side in box_scores], axis=1).reshape(-1)[first]
        parts.append(
            {
                "box_image": image_of_box[first],
                "box_xyxy": xyxy[first],
                "box_label": label[first],
                "box_score": score,
                "pair_human": box[0::2] + boxes,
                "pair_object": box[1::2] + boxes,
            }
        )
        boxes += len(first)
    columns: dict[str, Any] = {}
    for key in list(parts[0]):  # the parts of each column are freed as soon as they are joined
        column = [part.pop(key) for part in parts]
        columns[key] = None if column[0] is None else np.concatenate(column)
    return columns


class Flat:
    """The common reader of formats that repeat both boxes in every triplet.

    Parameters
    ----------
    rows : Rows
        The triplets.
    options : Options
        The user's options.
    origin : {0, 1}
        Number of the first pixel in the format.
    notes : iterable of str
        Notes for readers of the results; :meth:`classes` adds to them.
    """

    def __init__(
        self, rows: Rows, options: Options, *, origin: int = 0, notes: Iterable[str] = ()
    ) -> None:
        self.rows, self.options, self.origin, self.notes = rows, options, origin, [*notes]

    def classes(
        self, numbers: IntArray, score: FloatArray | None = None, column: str = "", first: int = 0
    ) -> IntArray:
        """Return the HOI class of each row, counted from zero.

        The parameters and errors are as in :func:`~diaghoi.formats.numbering.hoi_classes`.
        """
        hoi, notes = hoi_classes(self.rows, numbers, score, self.options, column, first=first)
        self.notes += notes
        return hoi

    def scenes(
        self,
        sides: Mapping[str, FloatArray],
        *,
        vocabulary: Vocabulary | None = None,
        score: FloatArray | None = None,
        action_score: FloatArray | None = None,
        box_scores: tuple[FloatArray, FloatArray] | None = None,
        **columns: Any,
    ) -> Scenes:
        """Create scenes from human and object boxes, given as (rows, 4) arrays by column name.

        The other columns are as in :func:`from_repeated`.

        Raises
        ------
        InputError
            As for :func:`~diaghoi.formats.checks.check_boxes`, and if scores are not finite.
        """
        rows, options = self.rows, self.options
        human, object_box = (
            check_boxes(rows, options.corners(boxes), column, origin=options.origin_or(self.origin))
            for column, boxes in sides.items()
        )
        for scores in (*(box_scores or ()), score, action_score):
            if scores is not None:
                check_scores(rows, scores, "score")
        return from_repeated(
            vocabulary or options.vocabulary,
            names=names_array(rows.file, rows.names),
            image=rows.image,
            human=human,
            object_box=object_box,
            score=score,
            action_score=action_score,
            box_scores=box_scores,
            source=rows.file,
            notes=tuple(self.notes),
            **columns,
        )


def from_repeated(
    vocabulary: Vocabulary,
    *,
    names: StrArray,
    sizes: IntArray | None = None,
    image: IntArray,
    human: FloatArray,
    object_box: FloatArray,
    hoi: IntArray | None = None,
    category: IntArray | None = None,
    verb: IntArray | None = None,
    score: FloatArray | None = None,
    action_score: FloatArray | None = None,
    box_scores: tuple[FloatArray, FloatArray] | None = None,
    unread: IntArray | None = None,
    merged: bool = True,
    source: str,
    notes: tuple[str, ...] = (),
) -> Scenes:
    """Create scenes from triplets, merging equal boxes of an image and equal pairs of boxes.

    Parameters
    ----------
    vocabulary : Vocabulary
        The data set.
    names : (N,) str array
        Image names.
    sizes : (N, 2) int array or None
        Width and height of each image.
    image : (T,) int array
        Image of each triplet, ascending.
    human, object_box : (T, 4) float64 array
        Boxes in zero-based coordinates.
    hoi : (T,) int array or None
        HOI class, in a data set whose classes determine the object.
    category, verb : (T,) int array or None
        Object category and verb, if ``hoi`` is not given.
    score, action_score : (T,) float64 array or None
        Triplet score, and score of the verb alone.
    box_scores : two (T,) float64 arrays or None
        Scores of the human and object boxes; a merged box takes the first score.
    unread : (N, 3) int array or None
        Unreadable answers of a detector without scores, as in :class:`~diaghoi.data.scenes.Scenes`.
    merged : bool
        False if each triplet comes from its own query and keeps its own pair, even if boxes are
        equal.
    source : str
        The file.
    notes : tuple of str
        Notes about how the file was read.

    Returns
    -------
    Scenes
        Boxes of an image with the same coordinates and category are merged; pairs are the distinct
        pairs of merged boxes, in the order of first use. Without merging, each triplet has its own
        two boxes.
    """
    if hoi is not None:
        category = vocabulary.class_object[hoi].astype(np.int64)
        verb = vocabulary.class_verb[hoi].astype(np.int64)
    tables = pair_tables(
        vocabulary,
        image=image,
        human=human,
        object_box=object_box,
        category=np.asarray(category),
        box_scores=box_scores,
        merged=merged,
    )
    base = np.int64(max(len(tables["box_image"]), 1))
    used, pair = distinct(tables["pair_human"] * base + tables["pair_object"])
    tables |= {key: tables[key][used] for key in ("pair_human", "pair_object")}
    return Scenes(
        vocabulary=vocabulary,
        names=names,
        sizes=sizes,
        **tables,
        triplet_pair=pair,
        triplet_verb=np.asarray(verb),
        triplet_score=score,
        triplet_action_score=action_score,
        unread=unread,
        source=source,
        notes=notes,
    )
