"""Columns of :class:`~diaghoi.data.scenes.Scenes` from the values of V-COCO result dicts.

The full test set has 316,000 dicts and 16 million (action, role) predictions, so the columns are
allocated once and filled in chunks, with the smallest integer types that fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diaghoi.data.arrays import Array, BoolArray, IntArray, first_of_run
from diaghoi.data.scenes import Scenes
from diaghoi.data.vocabulary import Vocabulary
from diaghoi.exceptions import InputError
from diaghoi.formats.checks import LARGEST, TOO_LARGE, TURNED, image_name
from diaghoi.formats.v_coco.keys import roles


@dataclass(frozen=True, kw_only=True, eq=False)
class Values:
    """The values of some dicts: people, and what is predicted of them.

    Parameters
    ----------
    person : (N, 4) float64 array
        Person boxes.
    agent : (N, 26) float64 array
        Agent scores by action, NaN where there are none.
    row, verb : (E,) int array
        Dict and class of each prediction, in the order of both.
    score : (E,) float64 array
        Its score, never NaN.
    box : (4, E) float64 array
        x1, y1, x2 and y2 of its role, of zeros or NaN where it has no box.
    filled : (N,) int64 array or None
        Classes that each dict leaves out, as of ``triplet_filled`` of
        :class:`~diaghoi.data.scenes.Scenes`; None where none does.
    """

    person: Array
    agent: Array
    row: IntArray
    verb: IntArray
    score: Array
    box: Array
    filled: IntArray | None = None


class SceneColumns:
    """The tables of boxes, pairs and triplets, filled chunk by chunk.

    In each dict the box of the person comes first, then its distinct role boxes; a pair is a
    distinct (person, role box or none), both in the order of first use; triplets are in official
    class order, without those whose score is NaN.

    Parameters
    ----------
    file : str
        The file, for messages.
    names : sequence of str
        Image names.
    image : (D,) int array
        Image of each dict, ascending.
    position : sequence of int
        Index of each dict in the file, for messages.
    origin : {0, 1}
        Whether boxes are counted from zero or one.
    """

    def __init__(
        self,
        file: str,
        names: Sequence[str],
        image: IntArray,
        position: Sequence[int],
        *,
        origin: int,
    ) -> None:
        self.file, self.names, self.image, self.position = file, names, image, position
        self.origin = origin
        most = len(image) * len(roles().keys)
        # The upper limit: memory pages that are never written to cost nothing.
        self.triplet_pair = np.empty(most, dtype=np.int32)
        self.triplet_verb = np.empty(most, dtype=np.int8)
        self.triplet_score = np.empty(most, dtype=np.float64)
        self.triplet_action_score = np.empty(most, dtype=np.float64)
        self.triplets = self.pairs = self.boxes = 0
        self.parts: dict[str, list[Array]] = {
            key: []
            for key in (
                "box_image", "box_xyxy", "box_label", "pair_human", "pair_object", "triplet_filled"
            )
        }  # fmt: skip

    def error(self, row: int, key: str, problem: str) -> InputError:
        """Make the error for one dict."""
        where = f"dict {self.position[row]} (counted from 0)" + (f": {key}" if key else "")
        return InputError(
            f"{self.file}: {image_name(self.names, int(self.image[row]))}: {where}: {problem}"
        )

    def add(self, start: int, values: Values) -> None:
        """Append the dicts from number ``start`` on.

        Raises
        ------
        InputError
            For infinite scores and invalid boxes.
        """
        boxed = ~_empty(values.box)
        self._check(start, values, boxed)
        people = len(values.person)
        leader = _first_uses(values.row, values.box, boxed)
        new = leader == np.arange(len(leader))
        new_box = np.flatnonzero(new & boxed)
        count = np.bincount(values.row[new_box], minlength=people)
        person = np.arange(people) + np.cumsum(count) - count
        # The row of each new box: after those before it, and the people so far.
        place = np.arange(len(new_box)) + values.row[new_box] + 1
        xyxy = np.empty((people + len(new_box), 4))
        xyxy[person], xyxy[place] = values.person, values.box[:, new_box].T
        label = np.full(len(xyxy), -1, dtype=np.int8)
        label[person] = 0
        image = np.repeat(self.image[start : start + people], count + 1)
        object_box = np.full(len(leader), -1, dtype=np.int32)
        object_box[new_box] = self.boxes + place
        pair = self.pairs + np.cumsum(new) - 1
        self._append(
            box_image=image,
            # Adding zero turns -0.0 into 0.0, so that equal boxes are equal to the last bit.
            box_xyxy=xyxy - float(self.origin) + 0.0,
            box_label=label,
            pair_human=(self.boxes + person[values.row[new]]).astype(np.int32),
            pair_object=object_box[new],
            triplet_filled=_at_first(values),
        )
        action = values.agent[values.row, roles().action[values.verb]]
        rows = slice(self.triplets, self.triplets + len(leader))
        self.triplet_pair[rows] = pair[leader]
        self.triplet_verb[rows] = values.verb
        self.triplet_score[rows] = values.score
        self.triplet_action_score[rows] = np.where(np.isnan(action), values.score, action)
        self.triplets, self.pairs = rows.stop, self.pairs + int(new.sum())
        self.boxes += len(xyxy)

    def _append(self, **columns: Array) -> None:
        for key, column in columns.items():
            self.parts[key].append(column)

    def _check(self, start: int, values: Values, boxed: BoolArray) -> None:
        known = roles()
        infinite = np.isinf(values.score)
        if infinite.any():
            bad = int(np.argmax(infinite))
            raise self.error(
                start + int(values.row[bad]),
                known.keys[values.verb[bad]],
                "the score is infinite; give a finite number or NaN",
            )
        people, role = np.arange(len(values.person)), np.flatnonzero(boxed)
        for box, row, verb in (
            (values.person.T, people, None),
            (values.box[:, role], values.row[role], values.verb[role]),
        ):
            finite = np.asarray(np.isfinite(box).all(axis=0))
            with np.errstate(invalid="ignore"):
                turned = (box[2] < box[0]) | (box[3] < box[1])
                large = (np.abs(box) > LARGEST).any(axis=0)
            wrong: BoolArray = np.asarray(~finite | turned | large)
            if wrong.any():
                bad = int(np.argmax(wrong))
                problem = (
                    "is not finite; only a role box may be NaN, and then as a whole"
                    if not finite[bad]
                    else TURNED
                    if turned[bad]
                    else TOO_LARGE
                )
                key = "person_box" if verb is None else known.keys[verb[bad]]
                raise self.error(
                    start + int(row[bad]), key, f"the box {box[:, bad].tolist()} {problem}"
                )

    def scenes(self, vocabulary: Vocabulary, notes: tuple[str, ...]) -> Scenes:
        """Return the scenes of all dicts added."""
        joined: dict[str, Any] = {
            key: np.concatenate(parts) if parts else np.zeros((0, 4) if "xyxy" in key else 0)
            for key, parts in self.parts.items()
        }
        if not joined["triplet_filled"].any():
            del joined["triplet_filled"]
        triplets: dict[str, Any] = {
            key: getattr(self, key)[: self.triplets]
            for key in ("triplet_pair", "triplet_verb", "triplet_score", "triplet_action_score")
        }
        return Scenes(
            vocabulary=vocabulary,
            names=np.array(self.names, dtype=np.str_),
            source=self.file,
            notes=notes,
            **joined,
            **triplets,
        )


def _at_first(values: Values) -> IntArray:
    """(E,) the classes that each dict leaves out, at its first prediction; else 0."""
    column = np.zeros(len(values.row), dtype=np.int64)
    if values.filled is not None:
        first = first_of_run(values.row)
        column[first] = values.filled[values.row[first]]
    return column


def _empty(box: Array) -> BoolArray:
    """(E,) true where a box (4, E) is all zeros or all NaN."""
    zero, lost = np.ones(box.shape[1], dtype=bool), np.ones(box.shape[1], dtype=bool)
    for edge in box:
        zero &= edge == 0
        lost &= np.isnan(edge)
    return zero | lost


def _first_uses(row: IntArray, box: Array, boxed: BoolArray) -> IntArray:
    """(E,) find the first prediction of the same row with the same box, or with none.

    Every round finds those of the next box of all rows.
    """
    leader = np.empty(len(row), dtype=np.int64)
    alone, rest = np.flatnonzero(~boxed), np.flatnonzero(boxed)
    leader[alone] = _leading(row, alone)
    while len(rest):
        first = _leading(row, rest)
        same = np.ones(len(rest), dtype=bool)
        for edge in box:
            same &= edge[rest] == edge[first]
        leader[rest[same]] = first[same]
        rest = rest[~same]
    return leader


def _leading(row: IntArray, chosen: IntArray) -> IntArray:
    """Find, for some predictions, the first of them in the row of each."""
    first = first_of_run(row[chosen])
    leading: IntArray = chosen[first][np.cumsum(first) - 1]
    return leading
