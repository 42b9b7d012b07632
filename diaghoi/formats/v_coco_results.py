"""V-COCO predictions in the official layout: one dict per pair or person.

``image_id``; ``person_box`` [x1, y1, x2, y2]; for each of the 26 actions ``<action>_agent``, the
score that the person does it; for each of its roles ``<action>_<role>``, [x1, y1, x2, y2, score]. A
role box of zeros or NaNs means no box, a score of NaN no prediction. Stored as a pickle, or as JSON
with ``null`` or NaN. A dict may leave out actions: the ``CacheTemplate`` of UPT and its descendants
then supplies score 0, and a tiny box for roles (:func:`diaghoi.data.scenes.filled_in`), also where
it was written as plain dicts.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from operator import is_, itemgetter, methodcaller, ne
from typing import Any, NamedTuple, NoReturn

import numpy as np

from diaghoi.data.arrays import Array, BoolArray, IntArray, first_of_run, place_in_group
from diaghoi.data.scenes import Scenes, filled_in
from diaghoi.exceptions import InputError, close_matches, some_of
from diaghoi.formats.base import Format, Kind, Options
from diaghoi.formats.checks import (
    LARGEST,
    TOO_LARGE,
    TURNED,
    check_amount,
    image_name,
    key_names,
    shown,
)
from diaghoi.formats.content import Content
from diaghoi.formats.output import replacing
from diaghoi.formats.pickle import CacheTemplate
from diaghoi.formats.v_coco import ACTION, ACTIONS, AGENTS, IS_AGENT, KEYS, ROLES, image_number

# The full test set has 316,000 dicts and 16 million (action, role) predictions.
_CHUNK = 4096
_of_agents, _of_roles = (itemgetter(*(KEYS[n] for n in classes)) for classes in (AGENTS, ROLES))
_SUFFIXES = ("_agent", "_obj", "_instr")
_BAD_ROW = (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError)
_CLASS = {key: n for n, key in enumerate(KEYS)}
# One bit for each class; sums of 51 of them are exact.
_BIT = 1 << np.arange(len(KEYS))
# How many numbers there are under a key, by its last word.
_SHAPES = {
    "box": (4, "four numbers (x1, y1, x2, y2)"),
    "agent": (1, "a number"),
    "role": (5, "five numbers (x1, y1, x2, y2, score)"),
}


class VCocoResults(Format):
    """Read the dicts in chunks, into columns that are allocated once."""

    name = "v-coco-results"
    title = "V-COCO predictions, official layout"
    kinds = ("predictions",)
    keys = ("image_id", "person_box", "hold_agent", "hold_obj")
    only = "v-coco"

    def recognise(self, content: Content) -> Kind | None:
        """Look for the box of a person."""
        return "predictions" if content.plain and "person_box" in content.first else None

    def read(self, content: Content, kind: Kind, options: Options) -> Scenes:
        """Read boxes, pairs and triplets in the order of the images' first use.

        In each dict the box of the person comes first, then its distinct role boxes; a pair is a
        distinct (person, role box or none), both in the order of first use; triplets are in
        official class order, without those whose score is NaN.
        """
        file, dicts = content.file, content.value
        if not all(issubclass(kind, dict) for kind in set(map(type, dicts))):
            bad = next(n for n, row in enumerate(dicts) if not isinstance(row, dict))
            where = f"{file}: dict {bad} (counted from 0)"
            raise InputError(f"{where}: is {shown(dicts[bad])}; give a dict")
        check_amount(file, "dicts", sum(map(len, dicts)), content.size)
        names, image = _images(file, dicts, options.image_id)
        order = np.argsort(image, kind="stable")
        dicts = list(map(dicts.__getitem__, order.tolist()))
        tables = _Tables(file, dicts, names, image[order], order, options.origin_or(0))
        for start in range(0, len(dicts), _CHUNK):
            tables.add(start)
        notes = [
            f"{file}: V-COCO files have no score of the verb alone; the agent's score stands in"
        ]
        if tables.left_out:
            notes.append(
                f"{file}: {tables.left_out:,} of {len(dicts):,} dicts leave out actions, which are "
                "no predictions; the official agent AP and scenario 2 count them with score 0, as "
                "a CacheTemplate fills them in"
            )
        return Scenes(
            vocabulary=options.vocabulary,
            names=np.array(names, dtype=np.str_),
            source=file,
            notes=tuple(notes),
            **tables.columns(),
        )


class _Values(NamedTuple):
    """The values of some dicts."""

    person: Array  # (N, 4) boxes
    agent: Array  # (N, 26) scores by action, NaN where there is none
    left_out: IntArray  # (N,) bits of the classes that each dict leaves out
    row: IntArray  # (E,) dict and class of each prediction, in the order of both
    verb: IntArray
    score: Array
    box: Array  # (4, E) edges of its role box, of zeros or NaN where it has none


def _values(dicts: Sequence[dict[str, Any]], *, partial: bool) -> _Values:
    """Convert dicts to arrays without a Python call for each value.

    Only what they hold is looked at where they may leave out actions.
    """
    people, every = list(map(itemgetter("person_box"), dicts)), np.arange(len(dicts))
    left_out = np.zeros(len(dicts), dtype=np.int64)
    if partial:
        if any(map(_is_misspelt, set().union(*dicts))):
            raise ValueError
        keys = map(_CLASS.get, chain.from_iterable(dicts), repeat(-1))
        verb = np.fromiter(keys, dtype=np.int64)
        row = np.repeat(every, list(map(len, dicts)))
        known = np.flatnonzero(verb >= 0)
        # Dicts may hold their actions in any order.
        known = known[np.argsort(row[known] * len(KEYS) + verb[known], kind="stable")]
        row, verb = row[known], verb[known]
        left_out += _BIT.sum() - np.bincount(row, _BIT[verb], minlength=len(dicts)).astype(np.int64)
        values = list(chain.from_iterable(map(dict.values, dicts)))
        values = list(map(values.__getitem__, known.tolist()))
        is_agent = IS_AGENT[verb]
        agents: Iterator[Any] = compress(values, is_agent.tolist())
        roles = list(compress(values, (~is_agent).tolist()))
    else:
        row, verb = np.repeat(every, len(KEYS)), np.tile(np.arange(len(KEYS)), len(dicts))
        is_agent = IS_AGENT[verb]
        agents = chain.from_iterable(map(_of_agents, dicts))
        roles = list(chain.from_iterable(map(_of_roles, dicts)))
    if set(map(len, people)) - {4} or set(map(len, roles)) - {5}:
        raise ValueError
    person = np.fromiter(chain.from_iterable(people), dtype=np.float64, count=4 * len(people))
    flat = np.fromiter(chain.from_iterable(roles), dtype=np.float64, count=5 * len(roles))
    score, box = np.empty(len(row)), np.full((4, len(row)), np.nan)
    score[is_agent] = np.fromiter(agents, dtype=np.float64)
    score[~is_agent], box[:, ~is_agent] = flat[4::5], flat.reshape(-1, 5)[:, :4].T
    agent = np.full((len(dicts), len(ACTIONS)), np.nan)
    agent[row[is_agent], ACTION[verb[is_agent]]] = score[is_agent]
    given = ~np.isnan(score)
    row, verb, score, box = row[given], verb[given], score[given], box[:, given]
    return _Values(person.reshape(-1, 4), agent, left_out, row, verb, score, box)


@dataclass(eq=False)
class _Tables:
    """The tables of boxes, pairs and triplets, filled chunk by chunk.

    Dicts are in the order of images; image and index in the file are (D,) int arrays.
    """

    file: str
    dicts: list[dict[str, Any]]
    names: list[str]
    image: IntArray
    position: IntArray
    origin: int

    def __post_init__(self) -> None:
        # A plain dict with all actions shows that none may leave out any.
        keys, dicts = frozenset(KEYS), self.dicts
        self.partial = CacheTemplate in set(map(type, dicts)) or not (
            any(map(keys.issubset, dicts)) or all(map(keys.isdisjoint, dicts))
        )
        # The upper limit: memory pages that are never written to cost nothing.
        most = len(dicts) * len(KEYS)
        self.triplets: dict[str, Array] = {
            "triplet_pair": np.empty(most, dtype=np.int32),
            "triplet_verb": np.empty(most, dtype=np.int8),
            "triplet_score": np.empty(most, dtype=np.float64),
            "triplet_action_score": np.empty(most, dtype=np.float64),
            "triplet_filled": np.zeros(most, dtype=np.int64),
        }
        self.parts: list[dict[str, Array]] = []
        self.boxes = self.pairs = self.total = self.left_out = 0

    def add(self, start: int) -> None:
        """Append the dicts of a chunk."""
        dicts = self.dicts[start : start + _CHUNK]
        try:
            values = _values(dicts, partial=self.partial)
        except _BAD_ROW:
            self._blame(start, dicts)
        row, verb, box = values.row, values.verb, values.box
        boxed = ~((box == 0).all(axis=0) | np.isnan(box).all(axis=0))
        self._check(start, values, boxed)
        first, pair = _first_uses(row, box, boxed)
        new = boxed[first]
        count = np.bincount(row[first[new]], minlength=len(dicts))
        person = np.arange(len(dicts)) + np.cumsum(count) - count
        # The row of each new box: after those before it, and the people so far.
        place = np.arange(len(first[new])) + row[first[new]] + 1
        xyxy = np.empty((len(person) + len(place), 4))
        xyxy[person], xyxy[place] = values.person, box[:, first[new]].T
        label = np.full(len(xyxy), -1, dtype=np.int8)
        label[person] = 0
        object_box = np.full(len(first), -1, dtype=np.int32)
        object_box[new] = self.boxes + place
        self.parts.append(
            {
                "box_image": np.repeat(self.image[start : start + _CHUNK], count + 1),
                # Adding zero turns -0.0 into 0.0, so that equal boxes are equal to the last bit.
                "box_xyxy": xyxy - float(self.origin) + 0.0,
                "box_label": label,
                "pair_human": (self.boxes + person[row[first]]).astype(np.int32),
                "pair_object": object_box,
            }
        )
        score, action = values.score, values.agent[row, ACTION[verb]]
        rows = slice(self.total, self.total + len(row))
        self.triplets["triplet_pair"][rows] = self.pairs + pair
        self.triplets["triplet_verb"][rows] = verb
        self.triplets["triplet_score"][rows] = score
        self.triplets["triplet_action_score"][rows] = np.where(np.isnan(action), score, action)
        if self.partial:
            filled = np.where(first_of_run(row), values.left_out[row], 0)
            self.triplets["triplet_filled"][rows] = filled
            self.left_out += np.count_nonzero(values.left_out)
        self.boxes, self.pairs = self.boxes + len(xyxy), self.pairs + len(first)
        self.total = rows.stop

    def columns(self) -> dict[str, Any]:
        """Return the columns of all dicts added."""
        columns = {key: np.concatenate([part[key] for part in self.parts]) for key in self.parts[0]}
        columns |= {key: column[: self.total] for key, column in self.triplets.items()}
        if not columns["triplet_filled"].any():
            del columns["triplet_filled"]
        return columns

    def _check(self, start: int, values: _Values, boxed: BoolArray) -> None:
        """Refuse infinite scores and invalid boxes."""
        infinite = np.flatnonzero(np.isinf(values.score))
        if len(infinite):
            row, verb = values.row[infinite[0]], values.verb[infinite[0]]
            problem = "the score is infinite; give a finite number or NaN"
            raise self._error(start + row, KEYS[verb], problem)
        role = np.flatnonzero(boxed)
        for box, of in ((values.person.T, None), (values.box[:, role], role)):
            finite = np.asarray(np.isfinite(box).all(axis=0))
            with np.errstate(invalid="ignore"):
                turned = (box[2] < box[0]) | (box[3] < box[1])
                large = (np.abs(box) > LARGEST).any(axis=0)
            wrong = np.asarray(~finite | turned | large)
            if wrong.any():
                bad = int(np.argmax(wrong))
                problem = TURNED if turned[bad] else TOO_LARGE
                if not finite[bad]:
                    problem = "is not finite; only a role box may be NaN, and then as a whole"
                row, key = bad, "person_box"
                if of is not None:
                    row, key = int(values.row[of[bad]]), KEYS[values.verb[of[bad]]]
                raise self._error(start + row, key, f"the box {box[:, bad].tolist()} {problem}")

    def _error(self, row: int, key: str, problem: str) -> InputError:
        where = f"dict {self.position[row]} (counted from 0)" + (f": {key}" if key else "")
        return InputError(
            f"{self.file}: {image_name(self.names, int(self.image[row]))}: {where}: {problem}"
        )

    def _blame(self, start: int, dicts: Sequence[dict[str, Any]]) -> NoReturn:
        """Find the first value that cannot be read."""
        for n, row in enumerate(dicts, start):
            bad = next(filter(_is_misspelt, row), None) if self.partial else None
            if bad is not None:
                hint = close_matches(bad, KEYS)
                raise self._error(n, bad, f"is not an action with a role of V-COCO{hint}")
            for key in ("person_box", *KEYS):
                if key not in row and self.partial and key != "person_box":
                    continue
                if key not in row:
                    known = key_names(row)
                    hint = f"{close_matches(key, known)}; it has {some_of(known)}"
                    raise self._error(n, "", f"the key {key!r} is missing{hint}")
                length, what = _SHAPES.get(key.rpartition("_")[2], _SHAPES["role"])
                value = [row[key]] if length == 1 else row[key]
                try:
                    fits = len(value) == length
                    np.fromiter(value, dtype=np.float64, count=length)
                except Exception:
                    fits = False
                if not fits:
                    raise self._error(n, key, f"{shown(row[key])} is not {what}")
        raise InputError(f"{self.file}: a value is not a number")


def _first_uses(row: IntArray, box: Array, boxed: BoolArray) -> tuple[IntArray, IntArray]:
    """Find the distinct boxes of each row, none being one, and number them by first use."""
    leader, rest = np.empty(len(row), dtype=np.int64), np.flatnonzero(~boxed)
    leader[rest] = _first_of_row(row, rest)
    rest = np.flatnonzero(boxed)
    while len(rest):  # a round for the next box of all rows
        first = _first_of_row(row, rest)
        same = np.logical_and.reduce([edge[rest] == edge[first] for edge in box])
        leader[rest[same]] = first[same]
        rest = rest[~same]
    new = leader == np.arange(len(leader))
    return np.flatnonzero(new), (np.cumsum(new) - 1)[leader]


def _first_of_row(row: IntArray, some: IntArray) -> IntArray:
    """Find the first prediction of the row of each, among some predictions."""
    starts = first_of_run(row[some])
    return np.asarray(some[starts][np.cumsum(starts) - 1])


def _is_misspelt(key: Any) -> bool:
    """Whether a key looks like an action with a role, but is none."""
    return isinstance(key, str) and key.endswith(_SUFFIXES) and key not in _CLASS


def _images(
    file: str, dicts: Sequence[dict[str, Any]], given: str | int | None
) -> tuple[list[str], IntArray]:
    """Return the image names in the order of first use, and the image of each dict."""
    ids = list(map(methodcaller("get", "image_id"), dicts))
    without = sum(map(is_, ids, repeat(None)))
    if without == len(ids):
        if given is None:
            raise InputError(
                f"{file}: the dicts have no 'image_id', as QPIC writes them for a single image; "
                "say which image it is with --read image-id=ID"
            )
        ids = [given] * len(ids)
    elif without:
        bad = next(n for n, number in enumerate(ids) if number is None)
        raise InputError(
            f"{file}: dict {bad} (counted from 0): the key 'image_id' is missing; it "
            "is needed in every dict"
        )
    elif given is not None:
        raise InputError(
            f"{file}: the dicts name their images (the first is {shown(ids[0])}); leave --read "
            "image-id out"
        )
    # The dicts of an image mostly follow one another.
    new = [True, *map(ne, ids[1:], ids)] if set(map(type, ids)) <= {int, str} else [True] * len(ids)
    first = list(compress(range(len(ids)), new))
    # Texts are the keys: Python's hash of numbers can be foreseen, and many numbers with one hash
    # would take hours.
    name_of = [image_number(_single(ids[n])) for n in first]
    number_of = {name: n for n, name in enumerate(dict.fromkeys(name_of))}
    if "" in number_of:
        bad = first[name_of.index("")]
        raise InputError(
            f"{file}: dict {bad} (counted from 0): image_id: {shown(ids[bad])} is not the "
            "number of a COCO image; give 165 or '165'"
        )
    image = np.array([number_of[name] for name in name_of], dtype=np.int32)
    return list(number_of), np.repeat(image, np.diff([*first, len(ids)]))


def _single(value: Any) -> Any:
    """Unwrap an image number from an array or list of one; None for anything else."""
    number = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else value
    if isinstance(number, list | tuple):
        number = number[0] if len(number) == 1 else None
    return number


def write_v_coco(path: str | os.PathLike[str], scenes: Scenes) -> None:
    """Write the pickle of the official evaluator: one dict per pair or person.

    Parameters
    ----------
    path : path
        The file; it appears complete or not at all.
    scenes : Scenes
        Predictions. Every person box gets a dict; if a person has several predictions of the same
        class, the second goes to a second dict, and so on. Classes without a prediction get NaN,
        and missing role boxes zeros; what a ``CacheTemplate`` fills in is written. The format
        cannot store images without boxes, scores of boxes and pairs, and object categories.

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
        raise InputError(f"{source}: triplets have no scores; the layout holds predictions")
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
