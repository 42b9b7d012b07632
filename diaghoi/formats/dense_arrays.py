"""Dense arrays: a score for every verb of every pair of an image.

A list of one dict per image, ``filename``, ``boxes`` (B, 4), ``labels`` (B,), ``verb_scores``
(P, V), ``sub_ids`` and ``obj_ids`` (P,); optionally ``scores`` (B,) and ``action_scores`` (P, V).
In a pickle, where it may be a dict of these images by the path of the picture (RLIP), or in an
``.npz`` as one array per key (of objects, or with the images along the first
axis) or as one array of dicts. ``verb_scores`` are triplet scores: human, object and verb
multiplied; for those of V-COCO see :mod:`diaghoi.formats.v_coco.dense`. Boxes are xyxy counted from
zero; how objects are numbered is found from the labels.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, IntArray, runs
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary, hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options, UnknownNumberError
from diaghoi.formats.checks import Rows, check_boxes, check_range
from diaghoi.formats.content import Content
from diaghoi.formats.dense_best import TOP, best_triplets, check_dense_scores, cut_note
from diaghoi.formats.dense_columns import (
    KEYS,
    DenseColumns,
    box_scores,
    dense_images,
    listed,
    only_member,
    shape_of,
)
from diaghoi.formats.numbering import (
    check_labels,
    find_numbering,
    numberings,
    numbers_of_files,
)
from diaghoi.formats.output import replacing
from diaghoi.formats.v_coco.dense import WIDTHS, read_v_coco_arrays


def _recognise(content: Content) -> Kind | None:
    content = listed(content)
    found: Mapping[str, Any] = {}
    if content.plain:
        found = content.value if isinstance(content.value, dict) else content.first
    elif content.container == "npz":
        found = content.value
        if len(found) == 1 and "verb_scores" not in found:
            found = Content(content.path, "pickle", only_member(content)).first
    return "predictions" if "verb_scores" in found else None


def _dataset(content: Content) -> str | None:
    """Infer the data set from the number of verbs of the first image."""
    width = verb_count(content)
    return "hico-det" if width == len(hico_det().verbs) else "v-coco" if width in WIDTHS else None


def verb_count(content: Content) -> int | None:
    """Return the number of verbs that the first image has scores of, None if it shows none."""
    value: Any = listed(content).value
    if content.container == "npz":
        rows: Any = dense_images(content).rows
    else:
        rows = value if isinstance(value, list | tuple) else value.get("verb_scores")
    try:
        first: Any = rows[0]
        scores: Any = first["verb_scores"] if isinstance(first, dict) else first
        return shape_of(scores)[1]
    except (IndexError, KeyError, ValueError, TypeError):
        return None


def _read(content: Content, kind: Kind, options: Options) -> Scenes:
    """Read the arrays, and keep the best valid triplets of each image in score order."""
    content, vocabulary = listed(content), options.vocabulary
    if vocabulary.name == "v-coco":
        return read_v_coco_arrays(content, options)
    images = dense_images(content)
    columns = DenseColumns(images)
    boxes, rows = columns.column("boxes", width=4)
    labels, label_rows = columns.integers("labels", like="boxes")
    human = _box_rows(columns, "sub_ids", rows)
    objects = _box_rows(columns, "obj_ids", rows)
    numbering = find_numbering(
        content.file, labels, human, vocabulary, given=options.objects, fixed=None
    )
    unknown = vocabulary.any_object
    if unknown:
        # QPIC's label of no object, whose box is NaN in some files.
        nothing = labels == max(numberings(vocabulary)[numbering.name]) + 1
        labels = np.where(nothing, -1, labels)
        boxes = np.where((nothing & np.isnan(boxes).all(axis=1))[:, None], 0, boxes)
    label = check_labels(label_rows, labels, vocabulary, "", numbering.name, unknown=unknown)
    xyxy = check_boxes(rows, options.corners(boxes), "", origin=options.origin_or(0))
    # The official evaluators use 100 triplets per image, even if the protocol keeps fewer.
    top = max(options.top or TOP, TOP)
    try:
        best = best_triplets(*_scores(columns, vocabulary), label[objects], vocabulary, top)
    except InputError as error:
        if verb_count(content) in (None, len(vocabulary.verbs)):
            raise
        raise UnknownNumberError(str(error), np.ones(len(human), dtype=bool)) from None
    notes = (
        *numbering.notes(content.file),
        cut_note(f"{content.file}: dense arrays", top, options.top),
    )
    if not columns.has("action_scores"):
        notes += (f"{content.file}: no 'action_scores'; the triplet scores stand in for them",)
    return Scenes(
        vocabulary=vocabulary,
        names=np.array(images.names, dtype=np.str_),
        box_image=rows.image,
        box_xyxy=xyxy,
        box_label=label,
        box_score=box_scores(columns),
        pair_human=human,
        pair_object=objects,
        pair_score=best.pair_score,
        triplet_pair=best.pair,
        triplet_verb=best.verb,
        triplet_score=best.score,
        triplet_action_score=best.action_score,
        top=top,
        source=content.file,
        numbering=numbering.name,
        numbering_found=numbering.found,
        notes=images.notes + notes,
    )


def _scores(
    columns: DenseColumns, vocabulary: Vocabulary
) -> tuple[Rows, Iterator[tuple[Array, Array]]]:
    """Return the pairs, and the scores of triplets and of actions of each image."""
    verbs = len(vocabulary.verbs)
    scores, rows = columns.parts("verb_scores", like="sub_ids", width=verbs)
    if not columns.has("action_scores"):
        return rows, ((part, part) for part in scores)
    actions, action_rows = columns.parts("action_scores", like="sub_ids", width=verbs)
    return rows, _checked_actions(scores, actions, action_rows)


def _checked_actions(
    scores: Sequence[Array], actions: Sequence[Array], rows: Rows
) -> Iterator[tuple[Array, Array]]:
    for image, (score, action) in enumerate(zip(scores, actions, strict=True)):
        check_dense_scores(action, image, rows)
        yield score, action


def _box_rows(columns: DenseColumns, key: str, boxes: Rows) -> IntArray:
    """Turn indices into the boxes of an image into rows of the box table."""
    index, rows = columns.integers(key, like="sub_ids")
    index = check_range(rows, index, boxes.count[rows.image], "", "box in 'boxes'")
    return index + boxes.start[rows.image]


FORMAT = Format(
    name="dense-arrays",
    title="dense arrays of pairs and verbs",
    kinds=("predictions",),
    keys=KEYS,
    recognise=_recognise,
    read=_read,
    dataset=_dataset,
)


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
    verbs, every = len(scenes.vocabulary.verbs), np.arange(len(scenes))
    written = numbers_of_files(scenes)
    nothing = 0.0 if scenes.vocabulary.agents is None else np.nan
    pair_start, pair_count = runs(scenes.pair_image, every)
    box_start, box_count = runs(scenes.box_image, every)
    triplet_start, triplet_count = runs(scenes.triplet_image, every)
    images = []
    for n, name in enumerate(scenes.names.tolist()):
        pair = slice(pair_start[n], pair_start[n] + pair_count[n])
        box = slice(box_start[n], box_start[n] + box_count[n])
        triplet = slice(triplet_start[n], triplet_start[n] + triplet_count[n])
        cell = (scenes.triplet_pair[triplet] - pair_start[n], scenes.triplet_verb[triplet])
        image: dict[str, Any] = {"filename": name} if name else {}
        image |= {"boxes": written.box_xyxy[box], "labels": written.box_label[box]}
        for key, column in _score_columns(scenes):
            dense = np.full((pair_count[n], verbs), nothing)
            np.fmax.at(dense, cell, column[triplet])
            image[key] = dense
        if scenes.box_score is not None and not np.isnan(scenes.box_score).any():
            image["scores"] = scenes.box_score[box]
        image["sub_ids"] = scenes.pair_human[pair] - box_start[n]
        objects = scenes.pair_object[pair]
        image["obj_ids"] = np.where(objects < 0, -1, objects - box_start[n])
        images.append({key: np.array(v) if key != "filename" else v for key, v in image.items()})
    with replacing(path) as temporary, temporary.open("wb") as stream:
        pickle.dump(images, stream, protocol=4)


def _score_columns(scenes: Scenes) -> Sequence[tuple[str, Array]]:
    columns = {
        "verb_scores": scenes.triplet_score,
        "action_scores": scenes.triplet_action_score,
    }
    return [(key, column) for key, column in columns.items() if column is not None]
