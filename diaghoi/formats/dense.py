"""Read dense arrays: scores of every pair for every verb, or for every V-COCO class."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, FloatArray, IntArray, distinct
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import hico_det
from diaghoi.exceptions import InputError
from diaghoi.formats.base import Format, Kind, Options, UnknownNumberError
from diaghoi.formats.checks import (
    Rows,
    check_amount,
    check_boxes,
    check_lengths,
    check_scores,
    check_whole,
    image_name,
    rows_of_boxes,
    shown,
)
from diaghoi.formats.content import Content
from diaghoi.formats.numbering import find_numbering, numbers_of_files
from diaghoi.formats.output import rows_of_images, write_pickle
from diaghoi.formats.records import Images, missing, strictly
from diaghoi.formats.v_coco import ACTION, ACTIONS, AGENTS, IS_AGENT, KEYS, LISTED, ROLES, numbered

TOP = 100
_SCORES, _ACTIONS = "verb_scores", "action_scores"
# Possible numbers of score columns in V-COCO files.
_WIDTHS = (len(ROLES), len(ACTIONS), len(LISTED), len(KEYS))
_WIDEST = 8  # bytes per number


class DenseArrays(Format):
    """Read a list with one dict of arrays per image.

    The keys are ``filename``, ``boxes`` (B, 4), ``labels`` (B,), ``verb_scores`` (P, V),
    ``sub_ids`` and ``obj_ids`` (P,); optionally ``scores`` (B,) and ``action_scores`` (P, V). A
    pickle may also contain a dict with one dict of arrays per image path (RLIP). An ``.npz``
    contains one array of dicts, or one array per key: an array of objects, or an array with the
    images along the first axis. ``verb_scores`` are triplet scores: the product of the human,
    object and verb scores. Boxes are zero-based xyxy; the numbering of objects is inferred from the
    labels.

    For V-COCO, ``verb_scores`` are (P, 25) for the roles in official order; (P, 26) for the
    actions, where each score applies to all roles of its action; (P, 29) for QPIC's verbs, which
    are the roles and the actions without roles; or (P, 51) for all classes of the vocabulary. NaN
    means no prediction. ``obj_ids`` may be -1 if there is no object; ``labels`` may be -1 if the
    category is unknown. An object box is missing if it is NaN or if its label is the number after
    the last category, which is QPIC's 80 for roles without a box. Nothing is cut.
    """

    name = "dense-arrays"
    title = "dense arrays of pairs and verbs"
    kinds = ("predictions",)
    keys = ("filename", "boxes", "labels", _SCORES, "sub_ids", "obj_ids")

    def recognise(self, content: Content) -> Kind | None:
        """Look for verb scores in every layout that a file of dense arrays may have."""
        value = content.value
        if content.container == "npz":
            value = value if _SCORES in value or len(value) != 1 else _value(content, ())
        elif not content.plain:
            return None
        image = replace(content, value=value).first if isinstance(value, list | tuple) else value
        return "predictions" if isinstance(image, dict) and _SCORES in image else None

    def dataset(self, content: Content) -> str | None:
        """Infer the data set from the number of verbs that the first image has scores for."""
        width = verb_count(content)
        if width == len(hico_det().verbs):
            return "hico-det"
        return "v-coco" if width in _WIDTHS else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        """Read the arrays.

        The best valid triplets of each image are kept, sorted by score; for V-COCO all are kept, in
        the order of pairs and classes.
        """
        vocabulary, file = options.vocabulary, content.file
        v_coco, columns = vocabulary.name == "v-coco", _Columns(_images(content))
        names = columns.images.names
        boxes, rows = columns.joined("boxes", widths=(4,))
        labels, of_labels = columns.integers("labels", rows)
        places, pairs = columns.integers("sub_ids")
        human = rows_of_boxes(pairs, places, rows, "")
        places, of_objects = columns.integers("obj_ids", pairs)
        objects = rows_of_boxes(of_objects, places, rows, "", optional=v_coco)
        numbering = find_numbering(file, labels, human, options)
        # QPIC's label for a missing object, whose box is NaN in some files.
        after, unknown = numbering.nothing, vocabulary.any_object
        nothing = (labels == after) & unknown
        nothing[human] &= not v_coco
        labels = np.where(nothing, -1, labels)
        label = numbering.positions(of_labels, labels, "", unknown=unknown)
        absent = np.isnan(boxes).all(axis=1)
        blank = nothing | absent if v_coco else nothing & absent
        blank[human] &= not v_coco
        boxes = np.where(blank[:, None], 0, boxes)
        xyxy = check_boxes(rows, options.corners(boxes), "", origin=options.origin_or(0))
        notes = [*columns.images.notes, *numbering.notes]
        kept: Any = slice(None)
        if not v_coco:
            notes.append(cut_note(f"{file}: dense arrays", options.top))
            tables: dict[str, Any] = {"pair_human": human, "pair_object": objects}
            tables |= _best(columns, pairs, label[objects], options)
        else:
            if blank.any():
                notes.append(
                    f"{file}: {int(blank.sum()):,} object boxes have the label {after} or are "
                    "NaN: their pairs have no object"
                )
            # Omit boxes that mean "no object".
            kept = ~blank
            place = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
            image = rows.image[kept]
            tables = _of_v_coco(columns, pairs, place[human], place[objects], image)
        score = None
        if columns.has("scores"):
            scores, of_scores = columns.joined("scores", rows)
            score = check_scores(of_scores, scores, "").astype(np.float64)[kept]
        if not columns.has(_ACTIONS):
            notes.append(f"{file}: no 'action_scores'; the triplet scores replace them")
        return Scenes(
            vocabulary=vocabulary,
            names=np.array(numbered(names) if v_coco else names, dtype=np.str_),
            box_image=rows.image[kept],
            box_xyxy=xyxy[kept],
            box_label=label[kept],
            box_score=score,
            **tables,
            source=file,
            numbering=numbering.name,
            numbering_found=numbering.found,
            notes=tuple(notes),
        )


def _value(content: Content, keys: Sequence[str]) -> Any:
    """Return a list of images or a dict of columns, limited to ``keys`` for an ``.npz``."""
    arrays = content.value
    if content.container != "npz":
        return arrays
    if _SCORES in arrays:
        return {key: arrays[key].read() for key in keys if key in arrays}
    array = next(iter(arrays.values())).read()
    return array.reshape(-1).tolist() if array.dtype == object else []


def _images(content: Content) -> Images:
    """Convert any layout to a list with one dict per image."""
    keys = (*DenseArrays.keys, "scores", _ACTIONS)
    value = _value(content, keys)
    if isinstance(value, dict):
        columns = {key: value[key] for key in keys if key in value}
        check_lengths(content.file, columns, "image")
        value = [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]
    return Images.of(content, value, "filename")


def verb_count(content: Content) -> int | None:
    """Return the number of verbs that the first image has scores for, or None."""
    value = _value(content, (_SCORES,))
    try:
        first = value[_SCORES][0] if isinstance(value, dict) else value[0][_SCORES]
        return _shape(first)[1]
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of an array, or of nested lists (from their first items), else ()."""
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    if not isinstance(value, list | tuple):
        return ()
    first = value[0] if value else None
    if isinstance(first, np.ndarray):
        return (len(value), *first.shape)
    return (len(value), len(first)) if isinstance(first, list | tuple) else (len(value),)


def _numbers(value: Any, *, nested: bool) -> Array:
    """Create an integer or float array with at most 64 bits per value."""
    if isinstance(value, list | tuple):
        # numpy.asarray would descend through 64 levels of lists, and a hostile file can make the
        # array grow at each level.
        if nested and len(set(map(len, value))) > 1:
            raise ValueError
        flat = np.fromiter(chain.from_iterable(value) if nested else value, dtype=np.float64)
        return flat.reshape(len(value), -1) if nested and flat.size else flat
    array = np.asarray(value)
    if array.dtype.kind in "cmMV":
        raise TypeError
    usual = array.dtype.kind in "if" and array.dtype.itemsize <= _WIDEST
    return array if usual else array.astype(np.float64)


class _Columns:
    """The arrays of all images by key, with one row per box or pair."""

    def __init__(self, images: Images) -> None:
        self.images = images

    def has(self, key: str) -> bool:
        """Check whether any image has this key; :meth:`parts` then requires it of all images."""
        return any(key in row for row in self.images.rows)

    def parts(
        self, key: str, like: Rows | None = None, widths: Sequence[int] = ()
    ) -> tuple[list[Array], Rows]:
        """Return the arrays of a key, one per image, with as many rows as ``like``.

        A row is a single number or, given ``widths``, a list of numbers; all rows of all images
        have the same one of the ``widths``.
        """
        images, total, parts = self.images, 0, list[Array]()
        shapes: list[tuple[int, ...]] = [(width,) for width in widths] or [()]
        with strictly(), np.errstate(over="ignore"):  # infinity is refused later
            for image, row in enumerate(images.rows):
                if key not in row:
                    raise self._error(image, missing(row, key, 8))
                value = row[key]
                total += math.prod(_shape(value))
                check_amount(images.file, key, total, images.size)
                try:
                    part = _numbers(value, nested=bool(widths))
                except (TypeError, ValueError, OverflowError, Warning):
                    problem = f"{shown(value)} is not an array of numbers, in rows of equal length"
                    raise self._error(image, f"{key}: {problem}") from None
                if part.size:
                    if not part.ndim or part.shape[1:] not in shapes:
                        wanted = " or ".join(f"(rows, {shape[0]})" for shape in shapes if shape)
                        problem = f"has shape {part.shape}; give {wanted or '(rows,)'}"
                        raise self._error(image, f"{key}: {problem}")
                    shapes = [part.shape[1:]]
                parts.append(part)
        parts = [part.reshape(-1, *shapes[0]) for part in parts]
        count = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
        if like is not None and (count != like.count).any():
            image = int(np.argmax(count != like.count))
            problem = f"has {count[image]} rows, but {like.field!r} has {like.count[image]}"
            raise self._error(
                image, f"{key}: {problem}; both keys need one row for each box or pair"
            )
        return parts, Rows(images.file, images.names, key, count)

    def joined(
        self, key: str, like: Rows | None = None, widths: Sequence[int] = ()
    ) -> tuple[Array, Rows]:
        """Concatenate the arrays of one key over all images."""
        parts, rows = self.parts(key, like, widths)
        return np.concatenate(parts) if parts else np.zeros((0, *widths[:1])), rows

    def integers(self, key: str, like: Rows | None = None) -> tuple[IntArray, Rows]:
        """Concatenate the arrays of a key that holds whole numbers."""
        values, rows = self.joined(key, like)
        return check_whole(rows, values, ""), rows

    def scores(
        self, key: str, pairs: Rows, widths: Sequence[int], *, optional: bool = False
    ) -> list[Array]:
        """Return the pair scores of each image; NaN marks a missing optional score."""
        parts, rows = self.parts(key, pairs, widths)
        for image, part in enumerate(parts):
            check_dense_scores(part, image, rows, optional=optional)
        return parts

    def _error(self, image: int, problem: str) -> InputError:
        return InputError(f"{self.images.file}: {image_name(self.images.names, image)}: {problem}")


def check_dense_scores(part: Array, image: int, rows: Rows, *, optional: bool = False) -> None:
    """Reject an image's pair scores if they are not finite; optional scores may be NaN.

    Raises
    ------
    InputError
        If a score is rejected; the message names the first such score.
    """
    wrong = np.isinf(part) if optional else ~np.isfinite(part)
    if wrong.any():
        pair, verb = np.argwhere(wrong)[0].tolist()
        problem = f"score {verb} is {part[pair, verb]}; give a finite number"
        raise rows.error(int(rows.start[image]) + pair, "", problem + " or NaN" * optional)


def _best(columns: _Columns, pairs: Rows, label: IntArray, options: Options) -> dict[str, Any]:
    """Read the scores for the verbs of a data set, and find the best triplets."""
    verbs = len(options.vocabulary.verbs)
    try:
        scores = actions = columns.scores(_SCORES, pairs, (verbs,))
        if columns.has(_ACTIONS):
            actions = columns.scores(_ACTIONS, pairs, (verbs,))
    except InputError as error:
        if _shape(columns.images.rows[0].get(_SCORES))[1:] in ((), (verbs,)):
            raise
        raise UnknownNumberError(str(error), np.ones(len(label), dtype=bool)) from None
    return best_triplets(pairs, zip(scores, actions, strict=True), label, options)


def best_triplets(
    rows: Rows, parts: Iterable[tuple[Array, Array]], label: IntArray, options: Options
) -> dict[str, Any]:
    """Find each image's best valid triplets, and the highest score of a real verb for each pair.

    Equal scores stay in row-major order: pair by pair, verb by verb. Images are processed one by
    one, because the concatenated arrays would be a second copy of the whole file.

    Parameters
    ----------
    rows : Rows
        The pairs of all images.
    parts : iterable of two (pairs of the image, V) float arrays
        Finite triplet scores and verb scores, image by image; the same array twice if the file has
        only triplet scores.
    label : (P,) int array
        Object category of each pair.
    options : Options
        The data set with V verbs, and the number of triplets to keep: at least 100, even if
        the protocol keeps fewer, because the official evaluators use 100 per image.

    Returns
    -------
    dict
        Columns of :class:`~diaghoi.data.scenes.Scenes`: triplets image by image, best first.
    """
    vocabulary, top = options.vocabulary, max(options.top or TOP, TOP)
    verbs = len(vocabulary.verbs)
    valid = vocabulary.class_of >= 0
    real = np.flatnonzero(np.arange(verbs) != vocabulary.no_interaction)
    none = np.zeros(0)
    cells, scores, actions, of_pairs = [none.astype(np.int64)], [none], [none], [none]
    for start, (score, action) in zip(rows.start.tolist(), parts, strict=True):
        possible = np.flatnonzero(valid[label[start : start + len(score)]])
        chosen = possible[np.argsort(-score.reshape(-1)[possible], kind="stable")[:top]]
        cells.append(chosen + start * verbs)
        scores.append(score.reshape(-1)[chosen])
        actions.append(action.reshape(-1)[chosen])
        of_pairs.append(score[:, real].max(axis=1))
    cell = np.concatenate(cells)
    return {
        "pair_score": np.concatenate(of_pairs),
        "triplet_pair": cell // verbs,
        "triplet_verb": cell % verbs,
        "triplet_score": np.concatenate(scores),
        "triplet_action_score": np.concatenate(actions),
        "top": top,
    }


def cut_note(what: str, asked: int | None) -> str:
    """State how many triplets of ``what`` are kept per image, and any smaller number asked for."""
    top = max(asked or TOP, TOP)
    note = f"{what}, cut to the {top} best triplets of each image"
    if asked is None or asked == top:
        return note
    return f"{note}, the fewest that are read; the protocol uses only the best {asked}"


def _of_classes(parts: list[Array]) -> FloatArray:
    """Return the scores of V-COCO's pairs as (P, 51), NaN if missing."""
    values = np.concatenate(parts) if parts else np.zeros((0, len(KEYS)))
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


def _of_v_coco(
    columns: _Columns, pairs: Rows, human: IntArray, objects: IntArray, box_image: IntArray
) -> dict[str, Any]:
    """Create the pair and triplet tables of V-COCO; the object is -1 if missing.

    The agent role of an action appears once per person box, in a pair without an object. The
    agent's score is the highest among the person's pairs: the agent score if the array has one,
    otherwise the action score. Files for the official evaluator repeat the agent in every pair, and
    the evaluator's agent AP counts the duplicates.
    """
    scores = actions = _of_classes(columns.scores(_SCORES, pairs, _WIDTHS, optional=True))
    if columns.has(_ACTIONS):
        actions = _of_classes(columns.scores(_ACTIONS, pairs, _WIDTHS, optional=True))
        actions = np.where(np.isnan(actions), scores, actions)
    predicted = ~np.isnan(scores)
    row, verb = np.nonzero(predicted & ~IS_AGENT)
    listed = np.flatnonzero(objects >= 0)
    best_role = np.fmax.reduce(scores[listed][:, ROLES], axis=1, initial=-np.inf)
    # Find the agents of each person, with the highest score over all of the person's pairs.
    agents = np.nonzero(predicted & IS_AGENT)
    person, doing = human[agents[0]], agents[1]
    first, number = distinct(person * np.int64(len(KEYS)) + doing)
    best, best_action = np.full((2, len(first)), -np.inf)
    np.maximum.at(best, number, scores[agents])
    np.maximum.at(best_action, number, actions[agents])
    person, doing = person[first], doing[first]
    # An agent belongs to the person's first pair without an object, or else to a new pair.
    alone = np.full(len(box_image), -1)
    without = np.flatnonzero(objects < 0)[::-1]
    alone[human[without]] = without
    new = person[distinct(person)[0]]
    new = new[alone[new] < 0]
    alone[new] = len(human) + np.arange(len(new))

    human, objects = np.append(human, new), np.append(objects, np.full(len(new), -1))
    pair_score = np.full(len(human), np.nan)
    pair_score[listed] = np.where(np.isinf(best_role), 0.0, best_role)
    order = np.argsort(box_image[human], kind="stable")
    pair = np.argsort(order)[np.append(row, alone[person])]
    by_class = np.argsort(pair * len(KEYS) + np.append(verb, doing), kind="stable")
    return {
        "pair_human": human[order],
        "pair_object": objects[order],
        "pair_score": pair_score[order],
        "triplet_pair": pair[by_class],
        "triplet_verb": np.append(verb, doing)[by_class],
        "triplet_score": np.append(scores[row, verb], best)[by_class],
        "triplet_action_score": np.append(actions[row, verb], best_action)[by_class],
    }


def write_dense_arrays(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write a pickle of dense arrays, with NumPy arrays as detectors save them.

    Parameters
    ----------
    path : path
        The file, which is written completely or not at all.
    scenes : Scenes
        Predictions. Verbs for which a pair has no triplet get the score 0, or NaN in V-COCO. If
        several triplets have the same pair and verb, the best score is kept. Box scores are written
        if all boxes have a score; pair scores are computed from the triplets when the file is read.

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
