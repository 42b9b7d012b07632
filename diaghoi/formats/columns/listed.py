"""Images with a list of boxes, and triplets that refer to them by index.

CDN, QPIC and the Diag-HOI code share this layout; the formats differ in keys and numbering.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays.distinct import distinct
from diaghoi.data.arrays.types import FloatArray, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.formats.base import Options
from diaghoi.formats.columns.checks import Rows, check_boxes, check_range, check_scores
from diaghoi.formats.columns.numbering import check_labels, file_verbs, find_numbering
from diaghoi.formats.columns.records import Images, RecordTable
from diaghoi.formats.containers.content import Content


@dataclass(frozen=True, kw_only=True)
class ListLayout:
    """How a format names and numbers its values.

    Parameters
    ----------
    name : str
        Key of the image name.
    boxes, triplets : str
        Keys of the two lists.
    verb : str
        Key of the verb of a triplet.
    scored : bool
        Whether triplets have a ``score``, and may have an ``action_score``.
    objects : str
        Object numbering.
    verb_origin : {0, 1}
        Number of the first verb.
    verbs : tuple of int or None
        The verb of the vocabulary for each verb of the format; None where they are the same.
    box_arrays, triplet_arrays : mapping of str or None
        Where the lists were made of arrays: what messages call each column of the two.
    """

    name: str
    boxes: str
    triplets: str
    verb: str = "category_id"
    scored: bool
    objects: str
    verb_origin: int
    verbs: tuple[int, ...] | None = None
    box_arrays: Mapping[str, str] | None = None
    triplet_arrays: Mapping[str, str] | None = None


def read_listed(content: Content, layout: ListLayout, options: Options) -> Scenes:
    """Read images with listed boxes.

    Boxes stay as they are listed. A pair is one row per distinct (subject, object) of an image,
    in the order of first use; triplets keep their stored order.

    Parameters
    ----------
    content : Content
        A list of one dict per image.
    layout : ListLayout
        Names and numbers of the format.
    options : Options
        The user's options.

    Returns
    -------
    Scenes
        With scores if the layout has them.

    Raises
    ------
    InputError
        For anything in the file that cannot be used, naming image, field and value.
    """
    images = Images.of(content, content.value, layout.name)
    boxes = images.table(layout.boxes, layout.box_arrays)
    triplets = images.table(layout.triplets, layout.triplet_arrays)
    vocabulary = options.vocabulary

    corners = options.corners(boxes.boxes("bbox"))
    xyxy = check_boxes(boxes.rows, corners, "bbox", origin=options.origin_or(0))
    labels = boxes.integers("category_id")
    score = _optional(boxes, "score")
    human = _box_rows(triplets, "subject_id", boxes.rows)
    alone = bool((vocabulary.class_object < 0).any())
    objects = _box_rows(triplets, "object_id", boxes.rows, optional=alone)
    numbering = find_numbering(
        content.file, labels[human], vocabulary, given=options.objects, fixed=layout.objects
    )
    first, pair = distinct(human * np.int64(len(boxes.rows) + 1) + objects + 1)
    return Scenes(
        vocabulary=vocabulary,
        names=np.array(images.names, dtype=np.str_),
        box_image=boxes.rows.image,
        box_xyxy=xyxy,
        box_label=check_labels(
            boxes.rows, labels, vocabulary, "category_id", numbering.name, unknown=alone
        ),
        box_score=score,
        pair_human=human[first],
        pair_object=objects[first],
        triplet_pair=pair,
        triplet_verb=_verbs(triplets, layout, vocabulary),
        triplet_score=_scores(triplets, "score") if layout.scored else None,
        triplet_action_score=_optional(triplets, "action_score") if layout.scored else None,
        source=content.file,
        numbering=numbering.found,
        notes=images.notes + numbering.notes(content.file),
    )


def _box_rows(triplets: RecordTable, key: str, boxes: Rows, *, optional: bool = False) -> IntArray:
    """Convert box indices within an image to rows of the box table.

    If the box is optional, -1 means no box and is kept.
    """
    image = triplets.rows.image
    index = triplets.integers(key)
    # For the check only, the index of a missing box is replaced by a valid one.
    missing = (index == -1) & optional
    stop = np.where(missing, 1, boxes.count[image])
    index = check_range(
        triplets.rows, np.where(missing, 0, index), stop, key, f"box in {boxes.field!r}"
    )
    return np.where(missing, -1, index + boxes.start[image])


def _verbs(triplets: RecordTable, layout: ListLayout, vocabulary: Vocabulary) -> IntArray:
    """Translate the verbs of the format to those of the vocabulary."""
    rows, verbs = triplets.rows, triplets.integers(layout.verb)
    if layout.verbs is None:
        return file_verbs(rows, verbs, vocabulary, layout.verb, origin=layout.verb_origin)
    table = np.array(layout.verbs, dtype=np.int64)
    return np.asarray(table[check_range(rows, verbs, len(table), layout.verb, "verb")])


def _scores(table: RecordTable, key: str) -> FloatArray:
    return check_scores(table.rows, table.numbers(key), key)


def _optional(table: RecordTable, key: str) -> FloatArray | None:
    return _scores(table, key) if table.has(key) else None
