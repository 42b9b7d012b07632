"""Dense arrays for V-COCO: every pair of an image with a score for every role, or every action.

As in :mod:`diaghoi.formats.dense_arrays`, but ``verb_scores`` are (P, 25) for the roles in official
order; or (P, 26) for the actions, each score then holding for all roles of its action; or (P, 29)
as QPIC numbers its verbs: roles, and the actions that have none; or (P, 51) for all classes of the
vocabulary. NaN means no prediction. ``obj_ids`` may be -1 if there is no object, and
``labels`` -1 where the category is not known. An object box of NaN is none, nor is one whose label
is the number after the last category: QPIC's 80, for roles without a box. Nothing is cut.

The agent of an action appears once per person box, with the highest score among the person's pairs:
that of the agent if the array has it, else that of the action. Files of the official evaluator
repeat the agent in every pair, and its agent AP counts the duplicates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, IntArray, distinct
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Options
from diaghoi.formats.checks import Rows, check_boxes, check_range, image_name
from diaghoi.formats.content import Content
from diaghoi.formats.dense_columns import DenseColumns, box_scores, dense_images, shape_of
from diaghoi.formats.numbering import find_numbering
from diaghoi.formats.v_coco import ACTION, ACTIONS, AGENTS, IS_AGENT, KEYS, LISTED, ROLES, numbered

WIDTHS = (len(ROLES), len(ACTIONS), len(LISTED), len(KEYS))


def read_v_coco_arrays(content: Content, options: Options) -> Scenes:
    """Read dense arrays of V-COCO predictions.

    Parameters
    ----------
    content : Content
        A list of one dict per image, or one array per key.
    options : Options
        For V-COCO.

    Returns
    -------
    Scenes
        Pairs with an object have the highest score of their roles; triplets are in the order of
        pairs and classes.

    Raises
    ------
    InputError
        For anything in the file that cannot be used, naming image, key and value.
    """
    images, vocabulary = dense_images(content), options.vocabulary
    images = replace(images, names=numbered(images.names))
    columns = DenseColumns(images)
    boxes, rows = columns.column("boxes", width=4)
    human = _box_rows(columns, "sub_ids", rows)
    object_box = _box_rows(columns, "obj_ids", rows, optional=True)
    labels, label_rows = columns.integers("labels", like="boxes")
    numbering = find_numbering(content.file, labels, human, options)
    notes, after = numbering.notes, numbering.nothing
    nothing = labels == after
    nothing[human] = False
    labels = np.where(nothing, -1, labels)
    label = numbering.positions(label_rows, labels, "", unknown=True)
    nothing |= np.isnan(boxes).all(axis=1)
    nothing[human] = False
    if nothing.any():
        notes += (
            f"{content.file}: {int(nothing.sum()):,} object boxes have the label {after} or are "
            "NaN: their pairs have no object",
        )
    xyxy = check_boxes(rows, np.where(nothing[:, None], 0, boxes), "", origin=options.origin_or(0))
    score, kept = box_scores(columns), ~nothing
    place = np.append(np.where(nothing, -1, np.cumsum(kept) - 1), -1)
    scores = actions = _by_class(columns, "verb_scores")
    if columns.has("action_scores"):
        actions = _by_class(columns, "action_scores")
        actions = np.where(np.isnan(actions), scores, actions)
    else:
        notes += (f"{content.file}: no 'action_scores'; the triplet scores stand in for them",)
    return Scenes(
        vocabulary=vocabulary,
        names=np.array(images.names, dtype=np.str_),
        box_image=rows.image[kept],
        box_xyxy=xyxy[kept],
        box_label=label[kept],
        box_score=None if score is None else score[kept],
        **_tables(place[human], place[object_box], rows.image[kept], scores, actions),
        source=content.file,
        numbering=numbering.name,
        numbering_found=numbering.found,
        notes=images.notes + notes,
    )


def _box_rows(columns: DenseColumns, key: str, boxes: Rows, *, optional: bool = False) -> IntArray:
    """Turn indices into the boxes of an image into rows of the box table; -1 may stay."""
    index, rows = columns.integers(key, like="sub_ids")
    missing = (index == -1) & optional
    stop = np.where(missing, 1, boxes.count[rows.image])
    check_range(rows, np.where(missing, 0, index), stop, "", "box in 'boxes'")
    return np.where(missing, -1, index + boxes.start[rows.image])


def _by_class(columns: DenseColumns, key: str) -> Array:
    """Return the scores of one key as (P, 51), NaN where there are none."""
    values, rows = columns.column(key, like="sub_ids", width=_width(columns, key))
    if np.isinf(values).any():
        row, verb = np.argwhere(np.isinf(values))[0].tolist()
        raise rows.error(
            row, "", f"the score of verb {verb} is {values[row, verb]}; give a finite number or NaN"
        )
    width = values.shape[1]
    if width == len(ACTIONS):
        values = values[:, ACTION]
    if values.shape[1] == len(KEYS):
        return values.astype(np.float64)
    scores = np.full((len(values), len(KEYS)), np.nan)
    scores[:, LISTED if width == len(LISTED) else ROLES] = values
    for action, agent in enumerate(AGENTS):
        scores[:, agent] = np.fmax.reduce(scores[:, np.flatnonzero(action == ACTION)], axis=1)
    return scores


def _width(columns: DenseColumns, key: str) -> int:
    """Return the number of columns of a key, which must be one that V-COCO knows."""
    images, width = columns.images, 0
    for n, row in enumerate(images.rows):
        shape = shape_of(row.get(key, ()))
        if 0 in shape:
            continue
        if not shape or shape[-1] not in WIDTHS or shape[-1] != (width or shape[-1]):
            raise InputError(
                f"{images.file}: {image_name(images.names, n)}: {key}: has shape {shape}; for "
                "V-COCO give (rows, 25) for its roles, 26 for its actions, 29 as QPIC or 51 for "
                "all classes, and the same in every image"
            )
        width = shape[-1]
    return width or WIDTHS[0]


def _tables(
    human: IntArray, object_box: IntArray, box_image: IntArray, scores: Array, actions: Array
) -> dict[str, Any]:
    """Make the tables of pairs and triplets; agents belong to a pair without an object."""
    predicted = ~np.isnan(scores)
    row, verb = np.nonzero(predicted & ~IS_AGENT)
    listed = np.flatnonzero(object_box >= 0)
    best_role = np.fmax.reduce(scores[listed][:, ROLES], axis=1, initial=-np.inf)
    # The agents of each person, with the highest scores of all pairs.
    agents = np.nonzero(predicted & IS_AGENT)
    person, doing = human[agents[0]], agents[1]
    first, number = distinct(person * np.int64(len(KEYS)) + doing)
    best, best_action = np.full((2, len(first)), -np.inf)
    np.maximum.at(best, number, scores[agents])
    np.maximum.at(best_action, number, actions[agents])
    person, doing = person[first], doing[first]
    # The first pair of each person without an object, or else a new one.
    alone = np.full(len(box_image), -1)
    without = np.flatnonzero(object_box < 0)[::-1]
    alone[human[without]] = without
    new = person[distinct(person)[0]]
    new = new[alone[new] < 0]
    alone[new] = len(human) + np.arange(len(new))

    human, object_box = np.append(human, new), np.append(object_box, np.full(len(new), -1))
    pair_score = np.full(len(human), np.nan)
    pair_score[listed] = np.where(np.isinf(best_role), 0.0, best_role)
    order = np.argsort(box_image[human], kind="stable")
    pair = np.argsort(order)[np.append(row, alone[person])]
    by_class = np.argsort(pair * len(KEYS) + np.append(verb, doing), kind="stable")
    return {
        "pair_human": human[order],
        "pair_object": object_box[order],
        "pair_score": pair_score[order],
        "triplet_pair": pair[by_class],
        "triplet_verb": np.append(verb, doing)[by_class],
        "triplet_score": np.append(scores[row, verb], best)[by_class],
        "triplet_action_score": np.append(actions[row, verb], best_action)[by_class],
    }
