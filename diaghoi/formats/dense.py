"""Dense arrays: a score for every verb of every pair of an image."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, IntArray
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options, UnknownNumberError
from diaghoi.formats.checks import Rows, check_boxes, check_range
from diaghoi.formats.content import Content
from diaghoi.formats.dense_columns import (
    KEYS,
    DenseColumns,
    best_triplets,
    box_scores,
    check_dense_scores,
    cut_note,
    dense_images,
    listed,
    only_member,
    shape_of,
)
from diaghoi.formats.numbering import find_numbering, numbers_of_files
from diaghoi.formats.output import rows_of_images, write_pickle
from diaghoi.formats.v_coco_dense import WIDTHS, read_v_coco_arrays


class DenseArrays(Format):
    """Read a list of one dict of arrays per image.

    ``filename``, ``boxes`` (B, 4), ``labels`` (B,), ``verb_scores`` (P, V), ``sub_ids`` and
    ``obj_ids`` (P,); optionally ``scores`` (B,) and ``action_scores`` (P, V). In a pickle, where it
    may be a dict of these images by the path of the picture (RLIP), or in an ``.npz`` as one array
    per key (of objects, or with the images along the first axis) or as one array of dicts.
    ``verb_scores`` are triplet scores: human, object and verb multiplied; for those of V-COCO see
    :mod:`diaghoi.formats.v_coco_dense`. Boxes are xyxy counted from zero; how objects are numbered
    is found from the labels.
    """

    name = "dense-arrays"
    title = "dense arrays of pairs and verbs"
    kinds = ("predictions",)
    keys = KEYS

    def recognise(self, content: Content) -> Kind | None:
        """Look for the scores of verbs, in any of the layouts."""
        content = listed(content)
        found: Mapping[str, Any] = {}
        if content.plain:
            found = content.value if isinstance(content.value, dict) else content.first
        elif content.container == "npz":
            found = content.value
            if len(found) == 1 and "verb_scores" not in found:
                found = Content(content.path, "pickle", only_member(content)).first
        return "predictions" if "verb_scores" in found else None

    def dataset(self, content: Content) -> str | None:
        """Infer the data set from the number of verbs of the first image."""
        width = verb_count(content)
        if width == len(hico_det().verbs):
            return "hico-det"
        return "v-coco" if width in WIDTHS else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        """Read the arrays, and keep the best valid triplets of each image in score order."""
        content, vocabulary = listed(content), options.vocabulary
        if vocabulary.name == "v-coco":
            return read_v_coco_arrays(content, options)
        images, file = dense_images(content), content.file
        columns = DenseColumns(images)
        boxes, rows = columns.column("boxes", width=4)
        labels, label_rows = columns.integers("labels", like="boxes")
        human = _box_rows(columns, "sub_ids", rows)
        objects = _box_rows(columns, "obj_ids", rows)
        numbering = find_numbering(file, labels, human, options)
        unknown = vocabulary.any_object
        if unknown:
            # QPIC's label of no object, whose box is NaN in some files.
            nothing = labels == numbering.nothing
            labels = np.where(nothing, -1, labels)
            boxes = np.where((nothing & np.isnan(boxes).all(axis=1))[:, None], 0, boxes)
        label = numbering.positions(label_rows, labels, "", unknown=unknown)
        xyxy = check_boxes(rows, options.corners(boxes), "", origin=options.origin_or(0))
        notes = (*numbering.notes, cut_note(f"{file}: dense arrays", options.top))
        verbs = len(vocabulary.verbs)
        try:
            scores, pair_rows = columns.parts("verb_scores", like="sub_ids", width=verbs)
            actions: Iterable[Array] = scores
            if columns.has("action_scores"):
                parts = columns.parts("action_scores", like="sub_ids", width=verbs)
                actions = _checked(*parts)
            else:
                notes += (f"{file}: no 'action_scores'; the triplet scores stand in for them",)
            both = zip(scores, actions, strict=True)
            triplets = best_triplets(pair_rows, both, label[objects], options)
        except InputError as error:
            if verb_count(content) in (None, verbs):
                raise
            raise UnknownNumberError(str(error), np.ones(len(human), dtype=bool)) from None
        return Scenes(
            vocabulary=vocabulary,
            names=np.array(images.names, dtype=np.str_),
            box_image=rows.image,
            box_xyxy=xyxy,
            box_label=label,
            box_score=box_scores(columns),
            pair_human=human,
            pair_object=objects,
            **triplets,
            source=file,
            numbering=numbering.name,
            numbering_found=numbering.found,
            notes=images.notes + notes,
        )


def verb_count(content: Content) -> int | None:
    """Return the number of verbs that the first image has scores of, None if it shows none."""
    value: Any = listed(content).value
    if content.container == "npz":
        rows: Any = dense_images(content).rows
    else:
        rows = value if isinstance(value, list | tuple) else value.get("verb_scores")
    try:
        first: Any = rows[0]
        return shape_of(first["verb_scores"] if isinstance(first, dict) else first)[1]
    except (IndexError, KeyError, ValueError, TypeError):
        return None


def _checked(parts: Iterable[Array], rows: Rows) -> Iterator[Array]:
    for image, part in enumerate(parts):
        check_dense_scores(part, image, rows)
        yield part


def _box_rows(columns: DenseColumns, key: str, boxes: Rows) -> IntArray:
    """Turn indices into the boxes of an image into rows of the box table."""
    index, rows = columns.integers(key, like="sub_ids")
    index = check_range(rows, index, boxes.count[rows.image], "", "box in 'boxes'")
    return index + boxes.start[rows.image]


def write_dense_arrays(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write the pickle of this format, with NumPy arrays as detectors save them.

    Parameters
    ----------
    path : path
        The file; it appears complete or not at all.
    scenes : Scenes
        Predictions. Verbs that a pair has no triplet for get the score 0, in V-COCO NaN; of several
        triplets with the same pair and verb the best score is kept. Scores of boxes are written
        where all boxes have one; scores of pairs follow from the triplets when the file is read.

    Raises
    ------
    InputError
        If the scenes have no scores, or the file cannot be written.
    """
    if scenes.triplet_score is None:
        raise InputError(
            f"{scenes.source or 'annotations'}: triplets have no scores; dense arrays hold "
            "predictions"
        )
    written, box_score = numbers_of_files(scenes), scenes.box_score
    nothing = 0.0 if scenes.vocabulary.agents is None else np.nan
    tables = (scenes.box_image, scenes.pair_image, scenes.triplet_image)
    rows = (rows_of_images(table, len(scenes)) for table in tables)
    images = []
    for name, box, pair, triplet in zip(scenes.names.tolist(), *rows, strict=True):
        cell = (scenes.triplet_pair[triplet] - pair.start, scenes.triplet_verb[triplet])
        image: dict[str, Any] = {"filename": name} if name else {}
        image |= {"boxes": written.box_xyxy[box], "labels": written.box_label[box]}
        columns = {"verb_scores": scenes.triplet_score}
        if scenes.triplet_action_score is not None:
            columns["action_scores"] = scenes.triplet_action_score
        for key, column in columns.items():
            image[key] = np.full((pair.stop - pair.start, len(scenes.vocabulary.verbs)), nothing)
            np.fmax.at(image[key], cell, column[triplet])
        if box_score is not None and not np.isnan(box_score).any():
            image["scores"] = box_score[box]
        objects = scenes.pair_object[pair]
        image["sub_ids"] = scenes.pair_human[pair] - box.start
        image["obj_ids"] = np.where(objects < 0, -1, objects - box.start)
        images.append(image)
    write_pickle(path, images)
