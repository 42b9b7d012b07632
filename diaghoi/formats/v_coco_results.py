"""Read and write V-COCO predictions in the official layout: one dict per pair or person.

Each dict has ``image_id`` and ``person_box``, [x1, y1, x2, y2]; for each of the 26 actions,
``<action>_agent``, the score that the person performs it; and for each role of an action,
``<action>_<role>``, [x1, y1, x2, y2, score]. A role box of zeros or NaNs means no box; a NaN score
means no prediction. Files are pickles, or JSON with ``null`` or NaN. A dict may omit actions. An
omitted action gets score 0 and, for roles, a tiny box (:func:`diaghoi.data.scenes.filled_in`). The
``CacheTemplate`` of UPT and its descendants also fills in omitted actions; the omitted actions of
plain dicts are treated in the same way.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, repeat
from operator import itemgetter, ne
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, IntArray, distinct_boxes, first_of_run, place_in_group
from diaghoi.data.scenes import Scenes, filled_in
from diaghoi.exceptions import InputError, close_matches
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import Rows, check_amount, check_boxes, check_scores, shown, unwrapped
from diaghoi.formats.content import Content
from diaghoi.formats.output import replacing
from diaghoi.formats.pickle import CacheTemplate
from diaghoi.formats.records import RecordTable, missing
from diaghoi.formats.v_coco import ACTION, ACTIONS, AGENTS, IS_AGENT, KEYS, ROLES, image_number

# The full test set has 316,000 dicts and 16 million (action, role) predictions.
_CHUNK = 4096
# Functions that return the values of all agents, and of all other roles, in a dict.
_SIDES = [itemgetter(*(KEYS[n] for n in classes)) for classes in (AGENTS, ROLES)]
_SUFFIXES = ("_agent", "_obj", "_instr")
_CLASS = {key: n for n, key in enumerate(KEYS)}
# One bit per class; float64 holds sums of up to 51 such bits exactly.
_BIT = 1 << np.arange(len(KEYS))


class VCocoResults(Format):
    """Read V-COCO predictions in chunks of dicts."""

    name = "v-coco-results"
    title = "V-COCO predictions, official layout"
    kinds = ("predictions",)
    keys = ("image_id", "person_box", "hold_agent", "hold_obj")
    only = "v-coco"

    def recognise(self, content: Content) -> Kind | None:
        """Look for a person box."""
        return "predictions" if content.plain and "person_box" in content.first else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        """Read boxes, pairs and triplets, with images in the order of first use.

        In each dict the person box comes first, followed by its distinct role boxes. Each distinct
        combination of a person with a role box, or with no box, is a pair. Boxes and pairs are in
        the order of first use; triplets are in official class order, without triplets whose score
        is NaN.
        """
        file, dicts = content.file, content.value
        bad = next((n for n, row in enumerate(dicts) if not isinstance(row, dict)), -1)
        if bad >= 0:
            where = f"{file}: dict {bad} (counted from 0)"
            raise InputError(f"{where}: is {shown(dicts[bad])}; give a dict")
        check_amount(file, "dicts", sum(map(len, dicts)), content.size)
        names, image = _images(file, dicts, options.image_id)
        order = np.argsort(image, kind="stable")
        dicts, image = list(map(dicts.__getitem__, order.tolist())), image[order]
        rows, origin = Rows(file, names, "dict", np.bincount(image)), options.origin_or(0)
        people = RecordTable([dicts], rows).boxes("person_box")
        people = check_boxes(rows, people, "person_box", origin=origin)
        # If no dict is a CacheTemplate and one dict has all actions, no other dict may omit an
        # action.
        keys = frozenset(KEYS)
        partial = CacheTemplate in set(map(type, dicts)) or not (
            any(map(keys.issubset, dicts)) or all(map(keys.isdisjoint, dicts))
        )
        parts, pairs = list[dict[str, Array]](), 0
        for start in range(0, len(dicts), _CHUNK):
            part = _predictions(rows, dicts[start : start + _CHUNK], start, origin, partial)
            part["triplet_pair"] += pairs
            pairs += len(part["dict"])
            parts.append(part)
        # Parts of a column are freed as soon as they are joined.
        columns: dict[str, Any] = {
            key: np.concatenate([part.pop(key) for part in parts]) for key in [*parts[0]]
        }
        owner, boxed, left_out = (columns.pop(key) for key in ("dict", "boxed", "left_out"))
        count = np.bincount(owner[boxed], minlength=len(dicts))
        person = np.arange(len(dicts)) + np.cumsum(count) - count
        label = np.full(len(dicts) + len(columns["xyxy"]), -1, dtype=np.int8)
        label[person] = 0
        xyxy = np.empty((len(label), 4))
        xyxy[label == 0], xyxy[label < 0] = people, columns.pop("xyxy")
        objects = np.full(len(owner), -1, dtype=np.int32)
        objects[boxed] = np.flatnonzero(label < 0)
        notes = [
            f"{file}: V-COCO files have no separate verb scores; the agent scores replace them"
        ]
        if left_out.any():
            fewer = f"{np.count_nonzero(left_out):,} of {len(dicts):,} dicts"
            notes.append(
                f"{file}: {fewer} omit actions, which are read as not predicted; the official "
                "agent AP and scenario 2 count omitted actions with score 0, as if a "
                "CacheTemplate had filled them in"
            )
            of_triplet = owner[columns["triplet_pair"]]
            columns["triplet_filled"] = np.where(first_of_run(of_triplet), left_out[of_triplet], 0)
        return Scenes(
            vocabulary=options.vocabulary,
            names=np.array(names, dtype=np.str_),
            box_image=np.repeat(image, count + 1),
            box_xyxy=xyxy,
            box_label=label,
            pair_human=person[owner].astype(np.int32),
            pair_object=objects,
            **columns,
            source=file,
            notes=tuple(notes),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Values(Rows):
    """The origin of some values: the row of each value's dict, and the class in the value's key."""

    row: IntArray
    verb: IntArray

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, some: Array) -> _Values:
        return replace(self, row=self.row[some], verb=self.verb[some])

    def error(self, row: int, column: str, problem: str) -> InputError:
        """Create the error for a value."""
        return super().error(int(self.row[row]), KEYS[self.verb[row]], problem)


def _predictions(
    rows: Rows, dicts: Sequence[dict[str, Any]], start: int, origin: int, partial: bool
) -> dict[str, Array]:
    """Create columns from some dicts without a Python call per value."""
    row, left_out = np.arange(len(dicts)), np.zeros(len(dicts), dtype=np.int64)
    if partial:
        misspelt = next(filter(_is_misspelt, set().union(*dicts)), None)
        if misspelt is not None:
            bad = next(n for n, values in enumerate(dicts) if misspelt in values)
            problem = f"is not an action with a role of V-COCO{close_matches(misspelt, KEYS)}"
            raise rows.error(start + bad, misspelt, problem)
        keys = map(_CLASS.get, chain.from_iterable(dicts), repeat(-1))
        verb = np.fromiter(keys, dtype=np.int64)
        row = np.repeat(row, list(map(len, dicts)))
        some = np.flatnonzero(verb >= 0)
        # Dicts may contain their actions in any order.
        some = some[np.argsort(row[some] * len(KEYS) + verb[some], kind="stable")]
        row, verb = row[some], verb[some]
        left_out += _BIT.sum() - np.bincount(row, _BIT[verb], minlength=len(dicts)).astype(np.int64)
        values: list[Any] = list(chain.from_iterable(map(dict.values, dicts)))
        values = list(map(values.__getitem__, some.tolist()))
        sides = [
            list(compress(values, chosen.tolist())) for chosen in (IS_AGENT[verb], ~IS_AGENT[verb])
        ]
    else:
        row, verb = np.repeat(row, len(KEYS)), np.tile(np.arange(len(KEYS)), len(dicts))
        try:
            sides = [list(chain.from_iterable(map(side, dicts))) for side in _SIDES]
        except KeyError as error:
            bad = next(n for n, values in enumerate(dicts) if error.args[0] not in values)
            raise rows.error(start + bad, "", missing(dicts[bad], error.args[0])) from None
    origins = _Values(rows.file, rows.names, rows.field, rows.count, row=row + start, verb=verb)
    is_agent = IS_AGENT[verb]
    agents = RecordTable(sides[:1], origins[is_agent]).numbers()
    roles = RecordTable(sides[1:], origins[~is_agent])
    score, edges = np.empty(len(row)), np.full((4, len(row)), np.nan)
    numbers = roles.vectors(None, 5, "is not five numbers (x1, y1, x2, y2, score)").T
    score[is_agent], score[~is_agent], edges[:, ~is_agent] = agents, numbers[4], numbers[:4]
    of_agent = np.full((len(dicts), len(ACTIONS)), np.nan)
    of_agent[row[is_agent], ACTION[verb[is_agent]]] = score[is_agent]
    predicted = ~np.isnan(score)
    row, verb, score, edges = row[predicted], verb[predicted], score[predicted], edges[:, predicted]
    origins, action = origins[predicted], of_agent[row, ACTION[verb]]
    # Zeros or NaN mean a missing box. Adding zero turns -0.0 into 0.0.
    boxed = ~((edges == 0).all(axis=0) | np.isnan(edges).all(axis=0))
    box = np.where(boxed, edges, 0).T + 0.0
    first, pair = distinct_boxes(row, boxed, box)
    new = first[boxed[first]]
    return {
        "dict": row[first] + start,
        "boxed": boxed[first],
        "left_out": left_out,
        "xyxy": check_boxes(origins[new], box[new], "", origin=origin),
        "triplet_pair": pair.astype(np.int32),
        "triplet_verb": verb.astype(np.int8),
        "triplet_score": check_scores(origins, score, ""),
        "triplet_action_score": np.where(np.isnan(action), score, action),
    }


def _is_misspelt(key: Any) -> bool:
    """Check whether a key ends like an action with a role, but is not in V-COCO."""
    return isinstance(key, str) and key.endswith(_SUFFIXES) and key not in _CLASS


def _images(
    file: str, dicts: Sequence[dict[str, Any]], given: str | int | None
) -> tuple[list[str], IntArray]:
    """Return image names in the order of first use, and the image of each dict."""
    ids = [row.get("image_id") for row in dicts]
    unnamed = all(number is None for number in ids)
    if unnamed and given is None:
        raise InputError(
            f"{file}: the dicts have no 'image_id', which QPIC omits for a single image; give the "
            "number of this image with --read image-id=ID"
        )
    if given is not None and not unnamed:
        first = next(number for number in ids if number is not None)
        raise InputError(
            f"{file}: the dicts name their images (the first is {shown(first)}); leave --read "
            "image-id out"
        )
    ids = [given] * len(ids) if unnamed else ids
    # An image's dicts are usually consecutive.
    new = [True, *map(ne, ids[1:], ids)] if set(map(type, ids)) <= {int, str} else [True] * len(ids)
    first = list(compress(range(len(ids)), new))
    # Keys are text: Python's hashes of numbers are predictable, and many numbers with the same hash
    # would take hours.
    name_of = [image_number(unwrapped(ids[n])) for n in first]
    number_of = {name: n for n, name in enumerate(dict.fromkeys(name_of))}
    if "" in number_of:
        bad = first[name_of.index("")]
        raise InputError(
            f"{file}: dict {bad} (counted from 0): image_id: {shown(ids[bad])} is not the "
            "number of a COCO image; give 165 or '165'"
        )
    image = np.array([number_of[name] for name in name_of], dtype=np.int32)
    return list(number_of), np.repeat(image, np.diff([*first, len(ids)]))


def write_v_coco(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write a pickle for the official evaluator: one dict per pair or person.

    Parameters
    ----------
    path : path
        The file, which is written completely or not at all.
    scenes : Scenes
        Predictions. Every person box gets a dict; if a person has several predictions of a class,
        the second goes into a second dict, and so on. Classes without a prediction get NaN, and
        missing role boxes get zeros; values that a ``CacheTemplate`` would fill in are written
        explicitly. The format cannot store images without boxes, box scores, pair scores, or object
        categories.

    Raises
    ------
    InputError
        If the scenes are not predictions on V-COCO, an image has no number, or the file cannot be
        written.
    """
    source = scenes.source or "these scenes"
    if scenes.vocabulary.agents is None or scenes.vocabulary.name != "v-coco":
        raise InputError(
            f"{source}: are for {scenes.vocabulary.name}; the official V-COCO layout holds "
            "predictions on V-COCO"
        )
    if scenes.triplet_score is None:
        raise InputError(
            f"{source}: triplets have no scores; the layout is for predictions with scores"
        )
    bad = next((name for name in scenes.names.tolist() if not name.isdigit()), None)
    if bad is not None:
        raise InputError(f"{source}: image {bad!r} has no COCO number; the layout needs one")
    scenes, _ = filled_in(scenes)
    person, owner = _dicts(scenes)
    order = np.argsort(owner, kind="stable")
    dicts: list[dict[str, Any]] = []
    for start in range(0, len(person), _CHUNK):
        boxes = person[start : start + _CHUNK]
        first, stop = np.searchsorted(owner[order], [start, start + len(boxes)])
        triplets = order[first:stop]
        objects = scenes.pair_object[scenes.triplet_pair[triplets]]
        values = np.full((len(KEYS), len(boxes), 5), np.nan)
        verb, row = scenes.triplet_verb[triplets], owner[triplets] - start
        values[verb, row, 4] = scenes.scores[triplets]
        values[verb, row, :4] = np.where(objects[:, None] < 0, 0.0, scenes.box_xyxy[objects])
        columns = [
            list(map(int, scenes.names[scenes.box_image[boxes]].tolist())),
            scenes.box_xyxy[boxes].tolist(),
            *((values[n, :, 4] if IS_AGENT[n] else values[n]).tolist() for n in range(len(KEYS))),
        ]
        keys = ("image_id", "person_box", *KEYS)
        dicts += [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]
    with replacing(path) as temporary, temporary.open("wb") as stream:
        pickle.dump(dicts, stream, protocol=4)


def _dicts(scenes: Scenes) -> tuple[IntArray, IntArray]:
    """Return the person box of each dict, and the dict of each triplet."""
    human = scenes.pair_human[scenes.triplet_pair].astype(np.int64)
    key = human * len(KEYS) + scenes.triplet_verb
    order = np.argsort(key, kind="stable")
    again = np.empty(len(key), dtype=np.int64)
    again[order] = place_in_group(key[order])
    count = (scenes.box_label == scenes.vocabulary.person).astype(np.int64)
    count[scenes.pair_object[scenes.pair_object >= 0]] = 0
    count[scenes.pair_human] = 1
    np.maximum.at(count, human, again + 1)
    start = np.cumsum(count) - count
    return np.repeat(np.arange(len(count)), count), start[human] + again
