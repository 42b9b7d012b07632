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

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, BoolArray, IntArray, distinct
from diaghoi.data.scenes import Scenes
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Options
from diaghoi.formats.checks import Rows, check_boxes, check_range, image_name
from diaghoi.formats.content import Content
from diaghoi.formats.dense_columns import DenseColumns, box_scores, dense_images, shape_of
from diaghoi.formats.numbering import (
    Numbering,
    check_labels,
    find_numbering,
    numberings,
)
from diaghoi.formats.v_coco.keys import numbered, roles

WIDTHS = (25, 26, 29, 51)


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
    images = dense_images(content)
    images = replace(images, names=numbered(images.names))
    columns = DenseColumns(images)
    boxes, rows = columns.column("boxes", width=4)
    human, pair_rows = _box_rows(columns, "sub_ids", rows)
    object_box, _ = _box_rows(columns, "obj_ids", rows, optional=True)
    label, nothing, numbering = _labels(columns, human, options)
    nothing |= np.isnan(boxes).all(axis=1)
    nothing[human] = False
    notes = numbering.notes(content.file)
    if nothing.any():
        after = max(numberings(options.vocabulary)[numbering.name]) + 1
        notes += (
            f"{content.file}: {int(nothing.sum()):,} object boxes have the label {after} or are "
            "NaN: their pairs have no object",
        )
    xyxy = check_boxes(rows, np.where(nothing[:, None], 0, boxes), "", origin=options.origin_or(0))
    score = box_scores(columns)
    place = np.append(np.where(nothing, -1, np.cumsum(~nothing) - 1), -1)
    human, object_box = place[human], place[object_box]
    scores = _by_class(columns, "verb_scores")
    actions = scores
    if columns.has("action_scores"):
        actions = _by_class(columns, "action_scores")
        actions = np.where(np.isnan(actions), scores, actions)
    else:
        notes += (f"{content.file}: no 'action_scores'; the triplet scores stand in for them",)
    return Scenes(
        vocabulary=options.vocabulary,
        names=np.array(images.names, dtype=np.str_),
        box_image=rows.image[~nothing],
        box_xyxy=xyxy[~nothing],
        box_label=label[~nothing],
        box_score=None if score is None else score[~nothing],
        **_tables(
            _Pairs(human, object_box, pair_rows.image, scores, actions), int((~nothing).sum())
        ),
        source=content.file,
        numbering=numbering.name,
        numbering_found=numbering.found,
        notes=images.notes + notes,
    )


def _box_rows(
    columns: DenseColumns, key: str, boxes: Rows, *, optional: bool = False
) -> tuple[IntArray, Rows]:
    """Turn indices into the boxes of an image into rows of the box table; -1 may stay."""
    index, rows = columns.integers(key, like="sub_ids")
    missing = (index == -1) & optional
    stop = np.where(missing, 1, boxes.count[rows.image])
    check_range(rows, np.where(missing, 0, index), stop, "", "box in 'boxes'")
    return np.where(missing, -1, index + boxes.start[rows.image]), rows


def _labels(
    columns: DenseColumns, human: IntArray, options: Options
) -> tuple[IntArray, BoolArray, Numbering]:
    """Return the category of each box, which boxes are labelled as no object, and the numbering."""
    labels, rows = columns.integers("labels", like="boxes")
    numbering = find_numbering(
        columns.images.file,
        labels,
        human,
        options.vocabulary,
        given=options.objects,
        fixed=None,
    )
    nothing = labels == max(numberings(options.vocabulary)[numbering.name]) + 1
    nothing[human] = False
    labels = np.where(nothing, -1, labels)
    label = check_labels(rows, labels, options.vocabulary, "", numbering.name, unknown=True)
    return label, nothing, numbering


def _by_class(columns: DenseColumns, key: str) -> Array:
    """Return the scores of one key as (P, 51), NaN where there are none."""
    known = roles()
    values, rows = columns.column(key, like="sub_ids", width=_width(columns, key))
    if np.isinf(values).any():
        row, verb = np.argwhere(np.isinf(values))[0].tolist()
        raise rows.error(
            row, "", f"the score of verb {verb} is {values[row, verb]}; give a finite number or NaN"
        )
    width = values.shape[1]
    if width == len(known.keys):
        return values.astype(np.float64)
    if width == len(known.actions):
        return values[:, known.action].astype(np.float64)
    scores = np.full((len(values), len(known.keys)), np.nan)
    scores[:, known.listed if width == len(known.listed) else known.roles] = values
    for action, agent in enumerate(known.agents):
        of_action = np.flatnonzero(known.action == action)
        scores[:, agent] = np.fmax.reduce(scores[:, of_action], axis=1)
    return scores


def _width(columns: DenseColumns, key: str) -> int:
    """Return the number of columns of a key, which must be one that V-COCO knows."""
    images = columns.images
    found = [shape_of(row.get(key, ())) for row in images.rows]
    filled = [n for n, shape in enumerate(found) if 0 not in shape]
    shapes = [found[n] for n in filled]
    for n, shape in zip(filled, shapes, strict=True):
        if not shape or shape[-1] not in WIDTHS or shape[-1] != shapes[0][-1]:
            raise InputError(
                f"{images.file}: {image_name(images.names, n)}: {key}: has shape {shape}; for "
                "V-COCO give (rows, 25) for its roles, 26 for its actions, 29 as QPIC or 51 for "
                "all classes, and the same in every image"
            )
    return int(shapes[0][-1]) if shapes else WIDTHS[0]


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The pairs of the file with their scores by class."""

    human: IntArray
    object_box: IntArray
    image: IntArray
    scores: Array
    actions: Array


def _tables(pairs: _Pairs, boxes: int) -> dict[str, Any]:
    """Make the tables of pairs and triplets; agents belong to a pair without an object."""
    agent = np.isin(np.arange(pairs.scores.shape[1]), roles().agents)
    predicted = ~np.isnan(pairs.scores)
    row, verb = np.nonzero(predicted & ~agent)
    score, action = pairs.scores[row, verb], pairs.actions[row, verb]
    person, doing, agent_score, agent_action = _agents(pairs, predicted & agent)

    alone = np.full(boxes, -1, dtype=np.int64)
    without = np.flatnonzero(pairs.object_box < 0)[::-1]
    alone[pairs.human[without]] = without  # NumPy keeps the last assignment: the first such pair
    first, _ = distinct(person)
    new = person[first][alone[person[first]] < 0]
    old = len(pairs.human)
    alone[new] = old + np.arange(len(new))
    image_of = np.zeros(boxes, dtype=np.int64)
    image_of[pairs.human] = pairs.image
    image = np.concatenate([pairs.image, image_of[new]])
    order = np.argsort(image, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))

    pair = place[np.concatenate([row, alone[person]])]
    verb = np.concatenate([verb, doing])
    by_class = np.argsort(pair * len(agent) + verb, kind="stable")
    return {
        "pair_human": np.concatenate([pairs.human, new])[order],
        "pair_object": np.concatenate([pairs.object_box, np.full(len(new), -1)])[order],
        "pair_score": np.concatenate([_pair_scores(pairs), np.full(len(new), np.nan)])[order],
        "triplet_pair": pair[by_class],
        "triplet_verb": verb[by_class],
        "triplet_score": np.concatenate([score, agent_score])[by_class],
        "triplet_action_score": np.concatenate([action, agent_action])[by_class],
    }


def _agents(pairs: _Pairs, predicted: Array) -> tuple[IntArray, IntArray, Array, Array]:
    """List the agents: person box, class, score and action score."""
    row, verb = np.nonzero(predicted)
    person = pairs.human[row]
    score, action = pairs.scores[row, verb], pairs.actions[row, verb]
    first, number = distinct(person * np.int64(predicted.shape[1]) + verb)
    best, best_action = np.full((2, len(first)), -np.inf)
    np.maximum.at(best, number, score)
    np.fmax.at(best_action, number, action)
    return person[first], verb[first], best, best_action


def _pair_scores(pairs: _Pairs) -> Array:
    """Score pairs with an object by their highest role."""
    best = np.fmax.reduce(pairs.scores[:, roles().roles], axis=1, initial=-np.inf)
    best[np.isinf(best)] = 0.0
    return np.where(pairs.object_box < 0, np.nan, best)
