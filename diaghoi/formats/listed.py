"""Images with a list of boxes, and triplets that refer to the boxes by index.

The formats with this layout differ in their keys and numbering.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from diaghoi.data.arrays import IntArray, distinct
from diaghoi.data.scenes import UNREAD, Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.formats.base import Options
from diaghoi.formats.checks import check_boxes, check_range, rows_of_boxes
from diaghoi.formats.content import Content
from diaghoi.formats.numbering import (
    Numbering,
    TripletNumbers,
    check_objects,
    find_numbering,
    read_triplets,
)
from diaghoi.formats.records import Images, RecordTable, take

_FROM_ZERO = TripletNumbers("verb", 0)


@dataclass(frozen=True, kw_only=True)
class ListLayout:
    """The keys and numbering of a format; the defaults are CDN's.

    Parameters
    ----------
    name : str
        Key of the image name.
    boxes, triplets : str
        Keys of the list of boxes and of the list of triplets.
    verb : str
        Key of the verb of a triplet.
    scored : bool
        Whether triplets have a ``score``, and may have an ``action_score``. Triplets that contain
        only a subject, an object and a verb come from a detector without scores.
    objects : str
        Object numbering.
    numbers : TripletNumbers
        Usual numbering of triplets.
    labelled : bool
        Whether boxes have a category; boxes without a category take the categories of their
        triplets.
    verbs : tuple of int or None
        The vocabulary's verb for each verb of the format; None if the format numbers them like the
        vocabulary.
    box_arrays, triplet_arrays : mapping of str or None
        Names of the columns in messages if the two lists were created from arrays.
    """

    name: str
    boxes: str = "predictions"
    triplets: str = "hoi_prediction"
    verb: str = "category_id"
    scored: bool = True
    objects: str = "coco80"
    numbers: TripletNumbers = _FROM_ZERO
    labelled: bool = True
    verbs: tuple[int, ...] | None = None
    box_arrays: Mapping[str, str] | None = None
    triplet_arrays: Mapping[str, str] | None = None


def read_listed(
    content: Content, layout: ListLayout, options: Options, *, keep: bool = True
) -> Scenes:
    """Read images with listed boxes.

    Boxes are kept as listed. A box without a category becomes one row per category of its triplets.
    Each distinct (subject, object) of an image becomes one pair, in the order of first use;
    triplets keep their stored order.

    Parameters
    ----------
    content : Content
        A list with one dict per image.
    layout : ListLayout
        Keys and numbering of the format.
    options : Options
        The user's options.
    keep : bool
        Whether to keep the lists in the content for later use; otherwise they are freed during
        conversion.

    Returns
    -------
    Scenes
        The scenes, with scores if the layout has them.

    Raises
    ------
    InputError
        If the file has a value that cannot be used; the message names image, field and value.
    """
    images, vocabulary = Images.of(content, content.value, layout.name), options.vocabulary
    boxes = images.table(layout.boxes, layout.box_arrays)
    triplets = images.table(layout.triplets, layout.triplet_arrays)
    unscored = layout.scored and _without_scores(triplets, layout)
    if not keep:
        of_box = {"bbox": 4, "score": 0} | ({"category_id": 0} if layout.labelled else {})
        of_triplet = ("subject_id", "object_id", layout.verb, "score", "action_score")
        widths = of_box, dict.fromkeys(of_triplet, 0)
        optional = {"action_score"} if layout.scored and not unscored else {"score", "action_score"}
        boxes, triplets = take(images, (boxes, triplets), widths, ({"score"}, optional))
    if not layout.labelled:
        check_objects(content.file, vocabulary)
    corners = options.corners(boxes.boxes("bbox"))
    xyxy = check_boxes(boxes.rows, corners, "bbox", origin=options.origin_or(0))
    alone = vocabulary.any_object
    human, objects = (
        rows_of_boxes(triplets.rows, triplets.integers(key), boxes.rows, key, optional=optional)
        for key, optional in (("subject_id", False), ("object_id", alone))
    )
    score = None
    if layout.scored:
        score = np.ones(len(triplets.rows)) if unscored else triplets.scores("score")
    numbering, notes = Numbering(layout.objects, vocabulary, layout.scored), images.notes
    found: tuple[str, ...] = ()
    label: IntArray = np.full(len(boxes.rows), -1, dtype=np.int64)
    if layout.labelled:
        labels = boxes.integers("category_id")
        numbering = find_numbering(
            content.file,
            labels,
            human,
            options,
            fixed=layout.objects,
            predictions=layout.scored,
        )
        label = numbering.positions(boxes.rows, labels, "category_id", unknown=alone)
        notes += numbering.notes
        options.shown["objects"] = numbering.name
    # Index -1, a missing object, selects the extra label: an unknown category.
    category, verb = np.append(label, -1)[objects], triplets.integers(layout.verb)
    if layout.verbs is not None:
        known = np.array(layout.verbs, dtype=np.int64)
        verb = known[check_range(triplets.rows, verb, len(known), layout.verb, "verb")]
    else:
        category, verb, found = read_triplets(
            triplets.rows,
            verb,
            category,
            score,
            options,
            layout.verb,
            of_format=layout.numbers,
            numbering=numbering,
        )
    # Most formats use boxes as listed, which saves a copy of the whole table.
    rows: IntArray | slice = slice(None)
    if not layout.labelled:
        rows, label, human, objects = _label_boxes(label, human, objects, category, vocabulary)
    first, pair = distinct(human * np.int64(len(label) + 1) + objects + 1)
    box_score = None
    some, total = boxes.holding("score"), len(boxes.rows)
    if 0 < some < total:
        # MUREN's code writes scores only from the 65th box on.
        notes += (
            f"{content.file}: only {some:,} of {total:,} boxes have a score, so these scores "
            "are ignored",
        )
    elif some:
        box_score = boxes.scores("score")[rows]
    return Scenes(
        vocabulary=vocabulary,
        names=np.array(images.names, dtype=np.str_),
        box_image=boxes.rows.image[rows],
        box_xyxy=xyxy[rows],
        box_label=label,
        box_score=box_score,
        pair_human=human[first],
        pair_object=objects[first],
        triplet_pair=pair,
        triplet_verb=verb,
        triplet_score=score,
        triplet_action_score=(
            triplets.scores("action_score", optional=True) if layout.scored else None
        ),
        unread=np.zeros((len(images.names), len(UNREAD)), dtype=np.int64) if unscored else None,
        source=content.file,
        numbering=numbering.name if layout.labelled else None,
        numbering_found=numbering.found,
        notes=notes + found,
    )


def _without_scores(triplets: RecordTable, layout: ListLayout) -> bool:
    """Check whether triplets have only a subject, an object and a verb, and no scores."""
    first = next(iter(triplets), None)
    plain = isinstance(first, dict) and first.keys() == {"subject_id", "object_id", layout.verb}
    return plain and not triplets.has("score")


def _label_boxes(
    label: IntArray, human: IntArray, objects: IntArray, category: IntArray, vocabulary: Vocabulary
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Label boxes with the categories of their triplets.

    Returns, for each new box, its row in the file and its label; and for each triplet, its new
    boxes. A box that is used with several categories becomes several boxes; an unused box has no
    label.
    """
    kinds = np.int64(len(vocabulary.objects) + 1)
    unused = np.setdiff1d(np.arange(len(label)), np.concatenate([human, objects]))
    used = np.concatenate([human * kinds + vocabulary.person, objects * kinds + category])
    key, place = np.unique(np.concatenate([used, unused * kinds + kinds - 1]), return_inverse=True)
    row, labels = key // kinds, key % kinds
    human, objects = place[: len(human)], place[len(human) : 2 * len(human)]
    return row, np.where(labels == kinds - 1, -1, labels), human, objects
